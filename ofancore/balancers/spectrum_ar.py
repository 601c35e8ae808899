"""Spectrum-style adaptive routing: the shortest uplink queue after quantising (the paper's "Switch Pkt AR").

Queue lengths are quantised into bins at 5, 10 and 20% of the buffer; ties are broken at random.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from ofancore.balancers.base import BY_BINNED, Balancer, Shape
from ofancore.balancers.jsq import FREE
from ofancore.balancers.switch_rr import leads
from ofancore.bits import random_below
from ofancore.jit import inner


class SpectrumAr(Balancer):
    """Packet granularity, each switch picks among the least loaded bins of its uplink queues."""

    kind: Literal["spectrum_ar"] = "spectrum_ar"
    bins: list[Annotated[float, Field(gt=0, le=1)]] = Field(
        default=[0.05, 0.10, 0.20], min_length=1, max_length=7, description="rising bin edges as shares of the buffer (paper: 5, 10, 20%)"
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
        return [len(self.bins), *(round(share * shape.buffer_ticks) for share in self.bins)]


@inner
def choose_binned(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """As `choose_shortest`, with the number of bin edges at or below the queue in place of its length."""
    best = np.int64(-1)
    lowest = np.int64(0)
    ties = np.int64(0)
    for j in range(width):
        queue = sw.link[up + j, FREE] - now
        level = np.int64(0)
        while level < sw.par[0] and queue >= sw.par[1 + level]:
            level += 1
        if best >= 0 and level > lowest:
            continue
        if sched >= 0 and not leads(sw, sched, j):
            continue
        if best < 0 or level < lowest:
            best, lowest, ties = j, level, 1
        else:
            ties += 1
            if random_below(sw.rng, node, ties) == 0:
                best = j
    return best
