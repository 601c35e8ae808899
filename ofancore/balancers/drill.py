"""DRILL(d, m): the shortest of d random uplink queues and the m remembered ones (Ghorbani et al., SIGCOMM 2017).

A forwarding engine draws `samples` live uplinks at random, compares their queues (as times to send them) with those of the `memory` uplinks
that it remembers, sends the packet to the shortest, and remembers the shortest of them all. Memory is per engine, as in DRILL; an engine
serves the input ports p with p mod `engines` = its number, and the default is one engine a switch (our choice).

Draws are with replacement, and of equally short queues the one drawn last is taken, before any remembered one (our choices). A
remembered uplink that does not lead to the destination is passed over. All engines see the queues as they are.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import BY_DRILL, Balancer, Shape, leads, slot, slots_of
from ofancore.balancers.jsq import FREE
from ofancore.bits import random_below
from ofancore.jit import inner


class Drill(Balancer):
    """Packet granularity, each switch takes the shorter of a few random uplink queues and those it remembers."""

    kind: Literal["drill"] = "drill"
    samples: int = Field(2, ge=1, le=64, description="uplinks drawn for a packet, with replacement (DRILL's d: 2)")
    memory: int = Field(1, ge=0, le=64, description="uplinks that an engine remembers (DRILL's m: 1)")
    engines: int = Field(1, ge=1, le=64, description="forwarding engines of a switch, each with a memory of its own (our choice: 1)")
    title: ClassVar[str] = "DRILL"
    family: ClassVar[str] = "switch"
    switch_code: ClassVar[int] = BY_DRILL

    def constants(self, shape: Shape) -> list[int]:
        return [self.samples, self.memory, self.engines]

    def switch_registers(self, shape: Shape, tier: int) -> int:
        return self.engines * self.memory  # uplink + 1, shortest queue first when it was written; 0: free

    def switch_bytes(self, shape: Shape, tier: int) -> int:
        return self.engines * self.memory


@inner(apart=True)
def choose_by_drill(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """Draw, compare, remember."""
    size = sw.par[1]
    at = sw.first[node] + port % sw.par[2] * size
    sort_memory(sw, up, at, size, now)
    best, shortest = np.int64(-1), np.int64(0)
    for i in range(size):
        uplink = np.int64(sw.reg[at + i]) - 1
        if uplink >= 0 and leads(sw, sched, uplink):
            best, shortest = uplink, queue_at(sw, up + uplink, now)
            break
    for _ in range(sw.par[0]):
        uplink = np.int64(slot(sw, width, sched, random_below(sw.rng, node, slots_of(sw, width, sched))))
        queue = queue_at(sw, up + uplink, now)
        if best < 0 or queue <= shortest:
            best, shortest = uplink, queue
        remember(sw, up, at, size, now, uplink, queue)
    return best


@inner
def queue_at(sw, link, now):
    """What is to be sent at a link, in ticks."""
    return max(sw.link[link, FREE] - now, 0)


@inner
def sort_memory(sw, up, at, size, now):
    """Put what is remembered in the order of the queues as they are now; free places stay last."""
    for i in range(1, size):
        moved = sw.reg[at + i]
        if moved == 0:
            break
        queue = queue_at(sw, up + moved - 1, now)
        j = i
        while j > 0 and queue_at(sw, up + sw.reg[at + j - 1] - 1, now) > queue:
            sw.reg[at + j] = sw.reg[at + j - 1]
            j -= 1
        sw.reg[at + j] = moved


@inner
def remember(sw, up, at, size, now, uplink, queue):
    """Place an uplink in the sorted memory, before equals and once; the last one falls out of a full memory."""
    i = 0
    while i < size and sw.reg[at + i] != 0 and queue_at(sw, up + sw.reg[at + i] - 1, now) < queue:
        i += 1
    moved = np.int32(uplink + 1)
    while i < size:
        pushed = sw.reg[at + i]
        sw.reg[at + i] = moved
        if pushed == 0 or pushed == uplink + 1:
            break
        moved = pushed
        i += 1
