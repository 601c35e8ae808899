"""Switch DR: every switch rotates over its uplinks with one pointer per (destination host, size bin).

The paper's destination rotation before Ofan merges destinations; each pointer has a random start and its own random port order.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ofancore.balancers.base import BY_HOST, Balancer, Shape, draw_pointers, turn
from ofancore.fabric import EDGE
from ofancore.jit import inner


class SwitchDr(Balancer):
    """Destination rotation at each switch, a pointer per destination host."""

    kind: Literal["switch_dr"] = "switch_dr"
    title: ClassVar[str] = "Switch DR"
    family: ClassVar[str] = "rotation"
    switch_code: ClassVar[int] = BY_HOST

    def switch_registers(self, shape: Shape, tier: int) -> int:
        return 2 * shape.fabric.n_hosts

    def init_switch(self, shape: Shape, tier: int, rng: np.random.Generator) -> np.ndarray:
        return draw_pointers(self.switch_registers(shape, tier), shape.width(tier), tier, rng)

    def pointers(self, shape: Shape, tier: int) -> int:
        fabric = shape.fabric
        own = fabric.S if tier == EDGE else fabric.S * fabric.E  # hosts below need no choice
        return 2 * (fabric.n_hosts - own)


@inner
def choose_by_host(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """Turn the pointer of the destination host."""
    return turn(sw, sw.first[node] + 2 * host + small, width, sched)
