"""Switch round robin: one pointer over the uplinks of a switch, whatever the destination (the paper's "Switch Pkt").

The port order is reshuffled every `reshuffle_wraps` wraparounds: 5 in the paper's setting, 0 (never) for its Simple RR. Ports
that cannot reach the destination are passed over. The paper leaves open whether ACKs, which travel on the same queues, turn the same
pointer: `size_bins` gives them one of their own.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import BY_RR, Balancer, Shape, leads
from ofancore.bits import random_below
from ofancore.jit import inner

POSITION, WRAPS, ORDER = range(3)  # registers; the order takes one a port


class SwitchRr(Balancer):
    """Packet granularity, destination-oblivious round robin at each switch."""

    kind: Literal["switch_rr"] = "switch_rr"
    reshuffle_wraps: int = Field(
        5, ge=0, le=1_000_000, description="wraparounds between reshuffles of the port order; 0: never (Simple RR)"
    )
    size_bins: bool = Field(False, description="separate pointers for data and ACKs (left open by the paper)")
    title: ClassVar[str] = "Switch Pkt (RR)"
    family: ClassVar[str] = "switch"
    switch_code: ClassVar[int] = BY_RR

    def constants(self, shape: Shape) -> list[int]:
        return [self.reshuffle_wraps, int(self.size_bins)]

    def switch_registers(self, shape: Shape, tier: int) -> int:
        return (1 + self.size_bins) * (ORDER + shape.width(tier))

    def init_switch(self, shape: Shape, tier: int, rng: np.random.Generator) -> np.ndarray:
        width = shape.width(tier)
        pointers = [[rng.integers(0, max(width, 1)), 0, *rng.permutation(width)] for _ in range(1 + self.size_bins)]
        return np.concatenate(pointers).astype(np.int32)

    def pointers(self, shape: Shape, tier: int) -> int:
        return 1 + self.size_bins

    def switch_bytes(self, shape: Shape, tier: int) -> int:
        return (1 + self.size_bins) * (2 + shape.width(tier))  # pointer, wrap counter, port order


@inner
def choose_round_robin(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """The next port of the order that leads to the destination."""
    at = sw.first[node] + small * sw.par[1] * (ORDER + width)
    position = np.int64(sw.reg[at + POSITION])
    uplink = np.int64(0)
    for _ in range(2 * width):  # a reshuffle on the way may bring the same ports again
        uplink = np.int64(sw.reg[at + ORDER + position])
        position += 1
        if position == width:
            position = 0
            if sw.par[0] > 0:
                sw.reg[at + WRAPS] += 1
                if sw.reg[at + WRAPS] == sw.par[0]:
                    sw.reg[at + WRAPS] = 0
                    shuffle(sw, node, at + ORDER, width)
        if leads(sw, sched, uplink):
            break
    sw.reg[at + POSITION] = position
    return uplink


@inner
def shuffle(sw, node, at, n):
    """Fisher-Yates over n registers."""
    for i in range(n - 1, 0, -1):
        j = random_below(sw.rng, node, i + 1)
        swap = sw.reg[at + i]
        sw.reg[at + i] = sw.reg[at + j]
        sw.reg[at + j] = swap
