"""A balancer of your own: `register` its functions, and what these may call.

>>> from ofancore import Scenario, own, simulate
>>> def choose_uplink(sw, node, width):
...     return own.random_below(sw.rng, node, width)
>>> own.register("mine", choose_uplink=choose_uplink)
>>> simulate(Scenario.from_dict({"balancer": {"kind": "mine"}}))

What functions are given, and what they may do, is said in `balancers/definitions.py` and `balancers/base.py`.
"""

from __future__ import annotations

import functools

from ofancore import palette
from ofancore.balancers import definitions
from ofancore.balancers.base import slot, slots_of, turn
from ofancore.balancers.definitions import names
from ofancore.balancers.jsq import FREE
from ofancore.balancers.switch_rr import leads
from ofancore.bits import hash_below, mix32, random_below, random_bits, random_label
from ofancore.units import ticks

__all__ = [
    "FREE",
    "forget",
    "hash_below",
    "leads",
    "mix32",
    "names",
    "random_below",
    "random_bits",
    "random_label",
    "register",
    "slot",
    "slots_of",
    "ticks",
    "turn",
]


@functools.wraps(definitions.register)
def register(name: str, **keys) -> None:
    definitions.register(name, **keys)
    palette.TITLES[name] = keys.get("title") or name


def forget(name: str) -> None:
    """Take `register` back. Scenarios that were made with it stay as they are."""
    definitions.forget(name)
    palette.TITLES.pop(name, None)
