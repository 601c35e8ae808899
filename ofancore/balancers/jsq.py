"""JSQ: the uplink with the shortest queue (the paper's idealised adaptive switch, no quantisation), the time that sending it takes: so
bytes count for more where an uplink is slower.

Ties go to a random port, or to the first one (`ties = first`: the paper's deterministic JSQ, as we read it).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import BY_JSQ, Balancer, Shape, leads
from ofancore.bits import random_below
from ofancore.jit import inner

FREE = 0  # column of `sw.link`: the time at which the link has sent all it holds


class Jsq(Balancer):
    """Packet granularity, each switch joins its shortest uplink queue."""

    kind: Literal["jsq"] = "jsq"
    ties: Literal["random", "first"] = Field("random", description="port among equally short queues")
    title: ClassVar[str] = "JSQ"
    family: ClassVar[str] = "switch"
    switch_code: ClassVar[int] = BY_JSQ

    def constants(self, shape: Shape) -> list[int]:
        return [int(self.ties == "first")]


@inner
def choose_shortest(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """One pass over the uplinks; the i-th port of a random tie replaces the earlier ones with probability 1/i."""
    best = np.int64(-1)
    shortest = np.int64(0)
    ties = np.int64(0)
    for j in range(width):
        queue = max(sw.link[up + j, FREE] - now, 0)
        if best >= 0 and queue > shortest:
            continue
        if not leads(sw, sched, j):
            continue
        if best < 0 or queue < shortest:
            best, shortest, ties = j, queue, 1
        elif sw.par[0] == 0:
            ties += 1
            if random_below(sw.rng, node, ties) == 0:
                best = j
    return best
