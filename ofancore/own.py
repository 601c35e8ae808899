"""A balancer of your own: `register` its functions, and what they may call.

>>> from ofancore import Scenario, own, simulate
>>> def choose_uplink(sw, node, width):
...     return own.random_below(sw.rng, node, width)
>>> own.register("mine", choose_uplink=choose_uplink)
>>> simulate(Scenario.from_dict({"balancer": {"kind": "mine"}}))
"""

from ofancore.balancers.base import slot, slots_of, turn
from ofancore.balancers.definitions import forget, names, register
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
