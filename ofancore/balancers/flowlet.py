"""LetFlow: a flow that pauses draws a new uplink (Vanini et al., NSDI 2017).

A switch hashes the flow of a packet to an entry of its flowlet table. While packets of the entry follow each other within the gap they
leave by the entry's uplink; after a longer pause, or where that uplink no longer leads to the destination, the entry draws a random live
uplink. Flows that share an entry share its uplink and keep each other's flowlets alive. A flow's ACKs are a flow of their own.

LetFlow keeps no times: a timer strikes every `gap_ns`, and an entry that saw no packet between two strikes is void, so pauses of one to
two gaps end a flowlet (`timer: age_bit`). The default measures each pause exactly (our choice: the gap means what it says).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import BY_FLOWLET, Balancer, Shape, leads, slot, slots_of
from ofancore.bits import hash_below, random_below
from ofancore.jit import inner
from ofancore.units import ticks

UPLINK, HIGH, LOW = range(3)  # registers of an entry: uplink + 1 (0: never used), time of the last packet as HIGH * 2**31 + LOW
WORDS = 3
LOW_BITS = 31


class Flowlet(Balancer):
    """Flowlet granularity: each switch draws an uplink for every burst of a flow."""

    kind: Literal["flowlet"] = "flowlet"
    gap_ns: float | None = Field(
        None,
        ge=0.001,
        le=1e12,
        description="pause of a flow that ends its flowlet; null: half a base RTT (as the REPS artifact's flowlets)",
    )
    entries: int = Field(
        4096, ge=1, le=1 << 20, description="entries of a switch's flowlet table; flows that collide share one (our choice)"
    )
    timer: Literal["exact", "age_bit"] = Field(
        "exact", description="how pauses are measured; age_bit: by a timer that strikes every gap, so one to two gaps (LetFlow)"
    )
    title: ClassVar[str] = "LetFlow"
    family: ClassVar[str] = "flow"
    switch_code: ClassVar[int] = BY_FLOWLET

    def constants(self, shape: Shape) -> list[int]:
        gap = shape.base_rtt_ticks // 2 if self.gap_ns is None else ticks(self.gap_ns)
        return [self.entries, gap, int(self.timer == "age_bit")]

    def switch_registers(self, shape: Shape, tier: int) -> int:
        return WORDS * self.entries

    def switch_bytes(self, shape: Shape, tier: int) -> int:
        return self.entries * (2 if self.timer == "age_bit" else 5)  # uplink and two bits, or uplink and a time of four bytes


@inner(apart=True)
def choose_by_flowlet(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """The uplink of the flow's entry, drawn anew after a pause; the entry remembers the packet's time."""
    at = sw.first[node] + WORDS * hash_below(small, flow, sw.salt[node], sw.par[0])
    uplink = np.int64(sw.reg[at + UPLINK]) - 1
    before = (np.int64(sw.reg[at + HIGH]) << LOW_BITS) | np.int64(sw.reg[at + LOW])
    gap = sw.par[1]
    paused = now // gap - before // gap > 1 if sw.par[2] != 0 else now - before > gap
    if uplink < 0 or paused or not leads(sw, sched, uplink):
        uplink = slot(sw, width, sched, random_below(sw.rng, node, slots_of(sw, width, sched)))
        sw.reg[at + UPLINK] = uplink + 1
    sw.reg[at + HIGH] = now >> LOW_BITS
    sw.reg[at + LOW] = now & ((1 << LOW_BITS) - 1)
    return uplink
