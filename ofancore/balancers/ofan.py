"""Ofan: destination rotation with destinations merged at their mandatory waypoint (the paper, section on Ofan).

All packets for a destination edge switch must pass it, so an edge switch keeps one pointer per (destination edge switch, size
bin), and an aggregation switch one per (destination pod, size bin). Each pointer starts at a random position of its own random
port order. Where capacities differ, W-ECMP weights divided by their gcd give an interleaved weighted round robin: in cycle
c = 1..max weight, port i is served iff its weight is at least c.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ofancore.balancers.base import BY_GROUP, Balancer, Shape, draw_pointers, turn
from ofancore.jit import inner


class Ofan(Balancer):
    """Destination rotation at each switch, a pointer per destination edge switch (edge) or pod (aggregation)."""

    kind: Literal["ofan"] = "ofan"
    title: ClassVar[str] = "Ofan"
    family: ClassVar[str] = "rotation"
    switch_code: ClassVar[int] = BY_GROUP

    def switch_registers(self, shape: Shape, tier: int) -> int:
        return 2 * shape.groups(tier)

    def init_switch(self, shape: Shape, tier: int, rng: np.random.Generator) -> np.ndarray:
        return draw_pointers(self.switch_registers(shape, tier), shape.width(tier), tier, rng)

    def pointers(self, shape: Shape, tier: int) -> int:
        return 2 * (shape.groups(tier) - 1)  # none for the switch's own edge or pod


@inner
def choose_by_group(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """Turn the pointer of the destination's edge switch or pod."""
    return turn(sw, sw.first[node] + 2 * group + small, width, sched)
