"""A balancer of your own: `register` its functions, and what these may call.

>>> from ofancore import Scenario, own, simulate
>>> def choose_uplink(sw, width):
...     return own.random_below(sw, width)
>>> own.register("mine", choose_uplink=choose_uplink)
>>> simulate(Scenario.from_dict({"balancer": {"kind": "mine"}}))

What functions are given, and what they may do, is said in README.md under "Your own scheme", and in `balancers/views.py`.
"""

from __future__ import annotations

import difflib
import functools
import inspect

from ofancore import palette
from ofancore.balancers import definitions
from ofancore.balancers.base import leads, slot, slots_of
from ofancore.balancers.definitions import names
from ofancore.balancers.views import queue, random_below, random_bits, random_label
from ofancore.bits import hash_below, mix32
from ofancore.errors import ScenarioError
from ofancore.units import ticks

KEYS = list(inspect.signature(definitions.register).parameters)[1:]

__all__ = [
    "forget",
    "hash_below",
    "leads",
    "mix32",
    "names",
    "queue",
    "random_below",
    "random_bits",
    "random_label",
    "register",
    "slot",
    "slots_of",
    "ticks",
]


@functools.wraps(definitions.register)
def register(name: str, **keys) -> None:
    for key in keys:
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            raise ScenarioError(
                f"register of {name}", key, f"is no setting; did you mean {near[0]}?" if near else f"may be {', '.join(KEYS)}"
            )
    definitions.register(name, **keys)
    palette.know({name: keys.get("title") or name})


def title_of(balancer) -> str:
    """What a scenario's balancer is called in texts: by its kind; one of a user's own by its title, or else the name of its file."""
    definition = getattr(balancer, "definition", None)
    if definition is None:
        return balancer.kind
    return definition.title or (balancer.kind if balancer.module is None else definition.name)


def forget(name: str) -> None:
    """Take `register` back. Scenarios that were made with it stay as they are."""
    definitions.forget(name)
    palette.NAMES.pop(name, None)
