"""Ring all-reduce: a reduce-scatter and then an all-gather around the same ring, 2 (n - 1) steps in all.

The shard that a rank receives in the last step of the reduce-scatter is whole once its own summand is added, and is the one that it
sends in the first step of the all-gather. So step s + 1 of a rank follows step s of its left neighbour all the way; the two phases
overlap where ranks have drifted apart.

Reference: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.bits import MAX_FLOWS
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.workloads.base import (
    PAYLOAD_BYTES,
    Flows,
    Hosts,
    MessagePackets,
    Placement,
    ReduceTime,
    Workload,
    count,
    ranks_of,
    ring,
    same,
)


class RingAllReduce(Workload):
    """Sum of all ranks' vectors around a ring, whole for each."""

    kind: Literal["ring_all_reduce"] = "ring_all_reduce"
    message_packets: MessagePackets = Field(256, description="data packets a shard, the n-th part of a vector")
    reduce_ns: ReduceTime = 0.0
    placement: Placement = "random"
    hosts: Hosts = None
    title: ClassVar[str] = "ring all-reduce"

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        return self.message_packets * 2 * count(self.hosts, fabric)

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        who = ranks_of(self.hosts, self.placement, fabric, rng)
        n = len(who)
        steps = 2 * (n - 1)
        if n * steps > MAX_FLOWS:
            raise ScenarioError(
                "workload.hosts", n, f"an all-reduce of n ranks has 2n(n-1) flows, of which at most {MAX_FLOWS} are possible"
            )
        rank, to, earlier, later = ring(n, steps)
        step = np.arange(n * steps) // n
        delay_ns = np.where((step > 0) & (step < n), self.reduce_ns, 0.0)  # the first step of the all-gather waits for a last sum
        return Flows(
            who[rank],
            who[to],
            same(n * steps, self.message_packets),
            np.stack([earlier, later], axis=1),
            delay_ns=delay_ns,
            group=(step >= n - 1).astype(np.int64),
            groups=["reduce-scatter", "all-gather"],
        )
