"""RSQ: a uniformly random live uplink per packet (the paper's idealised random switch, one bin)."""

from __future__ import annotations

from typing import ClassVar, Literal

from ofancore.balancers.base import BY_RSQ, Balancer, slot, slots_of
from ofancore.bits import random_below
from ofancore.jit import inner


class Rsq(Balancer):
    """Packet granularity, chosen by each switch at random."""

    kind: Literal["rsq"] = "rsq"
    title: ClassVar[str] = "RSQ"
    family: ClassVar[str] = "switch"
    switch_code: ClassVar[int] = BY_RSQ


@inner
def choose_random(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """A random slot of the schedule."""
    return slot(sw, width, sched, random_below(sw.rng, node, slots_of(sw, width, sched)))
