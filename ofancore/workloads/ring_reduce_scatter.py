"""Ring reduce-scatter: n - 1 steps; in each, a rank passes on to its right neighbour the partial sum that came in the step before, its
own part added.

A rank starts with n shards. In step 0 it sends one of them as it is; what a rank sends in step s + 1 is the shard that it received in
step s, with its own summand. After n - 1 steps each rank holds one shard of the whole sum. Messages and dependencies are those of the
ring all-gather; only the adding is new, `reduce_ns` of it before each step but the first.

Reference: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009).
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from ofancore.fabric import Fabric
from ofancore.workloads.base import PAYLOAD_BYTES, Flows, ReduceTime
from ofancore.workloads.ring_all_gather import RingAllGather


class RingReduceScatter(RingAllGather):
    """Sum of all ranks' shards around a ring, a shard of it for each."""

    kind: Literal["ring_reduce_scatter"] = "ring_reduce_scatter"
    reduce_ns: ReduceTime = 0.0
    title: ClassVar[str] = "ring reduce-scatter"

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        flows = super().flows(fabric, rng, payload_bytes)
        delay_ns = np.zeros(len(flows))
        delay_ns[flows.after[:, 1]] = self.reduce_ns
        return replace(flows, delay_ns=delay_ns)
