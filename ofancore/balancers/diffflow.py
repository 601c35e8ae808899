"""DiffFlow: ECMP for short flows, random spraying for long ones (Carpio et al., GLOBECOM 2016).

A flow's first packets take its hashed uplink; once it is found to be long, its packets are sprayed over random live uplinks. In the paper a
controller samples traffic, finds the long flows, and tells the switches. Here every switch finds them by itself, by counting (our
choice: no controller, no delay, but a switch behind a sprayed one counts only what comes by). The count of a flow is kept in an entry of
a hash table that belongs to the flow which came last: a flow that collides with it takes the entry over, and both begin at 0. ACKs are few
bytes, so short flows of their own, and always hashed.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ofancore.balancers.base import BY_LENGTH, Balancer, Shape
from ofancore.balancers.ecmp import choose_by_hash
from ofancore.balancers.rsq import choose_random
from ofancore.bits import hash_below
from ofancore.jit import inner

OWNER, COUNT = range(2)  # registers of an entry: flow + 1 (0: free), its data packets so far, up to the threshold
WORDS = 2
TABLE = 1  # in place of the label: where a flow is counted is drawn apart from where it goes


class DiffFlow(Balancer):
    """Flow granularity for a flow's first packets, random packets at each switch for the rest."""

    kind: Literal["diffflow"] = "diffflow"
    threshold_packets: int = Field(
        25, ge=0, le=1 << 20, description="data packets of a flow that a switch hashes before it sprays the rest (our choice: 100 KB)"
    )
    entries: int = Field(4096, ge=1, le=1 << 20, description="entries of a switch's table of counts; a collision starts over (our choice)")
    title: ClassVar[str] = "DiffFlow"
    family: ClassVar[str] = "switch"
    switch_code: ClassVar[int] = BY_LENGTH

    def constants(self, shape: Shape) -> list[int]:
        return [self.threshold_packets, self.entries]

    def switch_registers(self, shape: Shape, tier: int) -> int:
        return WORDS * self.entries

    def switch_bytes(self, shape: Shape, tier: int) -> int:
        return 8 * self.entries  # four bytes to tell the flow, four to count


@inner(apart=True)
def choose_by_length(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """Count the flow's packets up to the threshold, hashed; then spray."""
    if small == 0:
        at = sw.first[node] + WORDS * hash_below(TABLE, flow, sw.salt[node], sw.par[1])
        if sw.reg[at + OWNER] != flow + 1:
            sw.reg[at + OWNER] = flow + 1
            sw.reg[at + COUNT] = 0
        if sw.reg[at + COUNT] >= sw.par[0]:
            return choose_random(sw, node, up, width, sched, group, small, port, host, label, flow, now)
        sw.reg[at + COUNT] += 1
    return choose_by_hash(sw, node, up, width, sched, group, small, port, host, label, flow, now)
