"""Spectrum-style adaptive routing: the shortest uplink queue after quantising (the paper's "Switch Pkt AR").

NVIDIA's white paper ("Spectrum-X Network Platform Architecture") says that a Spectrum-4 switch sends each packet to the port with the
least load on its queue; bins and their edges are this paper's.

Queues, as times to send them, are quantised into bins at 5, 10 and 20% of a healthy link's buffer; ties are broken at random. With
`sample_ns` a switch looks at its queues at most so often: a decision uses the bins as they were at the last look, and looks again if that
is `sample_ns` old or older (htsim: 0.1 us). Before its first look a switch takes all queues to be empty, as they are at time 0.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from ofancore.balancers.base import BY_BINNED, Balancer, Shape, leads
from ofancore.balancers.jsq import FREE
from ofancore.bits import random_below
from ofancore.jit import inner
from ofancore.units import ticks

SAMPLE = 8  # constant: ticks between two looks; 0: none
HIGH, LOW, LEVEL = range(3)  # registers: time of the last look as HIGH * 2**31 + LOW, then the bin of each uplink
LOW_BITS = 31


class SpectrumAr(Balancer):
    """Packet granularity, each switch picks among the least loaded bins of its uplink queues."""

    kind: Literal["spectrum_ar"] = "spectrum_ar"
    bins: list[Annotated[float, Field(gt=0, le=1)]] = Field(
        default=[0.05, 0.10, 0.20], min_length=1, max_length=7, description="rising bin edges as shares of the buffer (paper: 5, 10, 20%)"
    )
    sample_ns: float | None = Field(
        None,
        ge=0.001,
        le=1e9,
        description="least time between two looks at the queues (htsim: 100 ns); null: as they are, at every decision",
    )
    title: ClassVar[str] = "Switch Pkt AR (Spectrum)"
    family: ClassVar[str] = "switch"
    switch_code: ClassVar[int] = BY_BINNED

    @field_validator("bins")
    @classmethod
    def _rising(cls, bins: list[float]) -> list[float]:
        if any(a >= b for a, b in pairwise(bins)):
            raise ValueError("bin edges must rise")
        return bins

    def constants(self, shape: Shape) -> list[int]:
        edges = [len(self.bins), *(round(share * shape.buffer_ticks) for share in self.bins)]
        if self.sample_ns is None:
            return edges
        return edges + [0] * (SAMPLE - len(edges)) + [ticks(self.sample_ns)]

    def switch_registers(self, shape: Shape, tier: int) -> int:
        return 0 if self.sample_ns is None else LEVEL + shape.width(tier)

    def switch_bytes(self, shape: Shape, tier: int) -> int:
        return 0 if self.sample_ns is None else 4 + shape.width(tier)  # a time and a bin for each uplink


@inner
def choose_binned(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """As `choose_shortest`, with the number of bin edges at or below the queue in place of its length."""
    best = np.int64(-1)
    lowest = np.int64(0)
    ties = np.int64(0)
    sampled = sw.par[SAMPLE] > 0
    if sampled:
        look(sw, node, up, width, now)
    for j in range(width):
        level = np.int64(sw.reg[sw.first[node] + LEVEL + j]) if sampled else level_of(sw, up + j, now)
        if best >= 0 and level > lowest:
            continue
        if not leads(sw, sched, j):
            continue
        if best < 0 or level < lowest:
            best, lowest, ties = j, level, 1
        else:
            ties += 1
            if random_below(sw.rng, node, ties) == 0:
                best = j
    return best


@inner
def level_of(sw, link, now):
    """Bin edges at or below the queue of a link."""
    queue = sw.link[link, FREE] - now
    level = np.int64(0)
    while level < sw.par[0] and queue >= sw.par[1 + level]:
        level += 1
    return level


@inner
def look(sw, node, up, width, now):
    """Look at the queues if the last look is old enough."""
    at = sw.first[node]
    before = (np.int64(sw.reg[at + HIGH]) << LOW_BITS) | np.int64(sw.reg[at + LOW])
    if now - before < sw.par[SAMPLE]:
        return
    sw.reg[at + HIGH] = now >> LOW_BITS
    sw.reg[at + LOW] = now & ((1 << LOW_BITS) - 1)
    for j in range(width):
        sw.reg[at + LEVEL + j] = level_of(sw, up + j, now)
