"""pOfan: Ofan for switches made of pipes, with pointers local to the pipe of the ingress port (paper, v3).

A pipe cannot share registers with another, so each has its own pointers, updated by one atomic read-modify-write per packet. The
pipe of port p is p mod `pipes` (our choice: an operator spreads up- and downlinks over the pipes). All pipes use the
same random order for a destination, and their start positions are staggered evenly around it.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import BY_PIPE, Balancer, Shape, draw_pointers, turn
from ofancore.jit import inner


class Pofan(Balancer):
    """Ofan with one set of pointers per pipe."""

    kind: Literal["pofan"] = "pofan"
    pipes: int = Field(4, ge=1, le=64, description="pipes of a switch (Tofino 1: 2 or 4)")
    title: ClassVar[str] = "pOfan"
    family: ClassVar[str] = "rotation"
    switch_code: ClassVar[int] = BY_PIPE

    def constants(self, shape: Shape) -> list[int]:
        return [self.pipes]

    def switch_registers(self, shape: Shape, tier: int) -> int:
        return 2 * shape.groups(tier) * self.pipes

    def init_switch(self, shape: Shape, tier: int, rng: np.random.Generator) -> np.ndarray:
        width = max(shape.width(tier), 1)
        first = draw_pointers(2 * shape.groups(tier), width, tier, rng)
        stagger = np.arange(self.pipes) * width // self.pipes
        position = ((first & 0xFFFF)[:, None] + stagger) % width
        return (position | (first >> 16 << 16)[:, None]).astype(np.int32).ravel()

    def pointers(self, shape: Shape, tier: int) -> int:
        return 2 * (shape.groups(tier) - 1) * self.pipes


@inner
def choose_by_pipe(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """Turn the pointer of the destination group in the pipe of the ingress port."""
    pipes = sw.par[0]
    return turn(sw, sw.first[node] + (2 * group + small) * pipes + port % pipes, width, sched)
