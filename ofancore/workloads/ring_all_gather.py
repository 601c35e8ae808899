"""Ring all-gather: n - 1 steps; in each, a rank passes on to its right neighbour the shard it received in the step before.

Iterated permutations: step s + 1 of a rank starts when step s has arrived whole from its left neighbour.
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
    Workload,
    count,
    ranks_of,
    ring,
    same,
)


class RingAllGather(Workload):
    """All-gather of one shard a rank around a ring."""

    kind: Literal["ring_all_gather"] = "ring_all_gather"
    message_packets: MessagePackets = Field(256, description="data packets a shard")
    steps: int | None = Field(None, ge=1, description="steps simulated; null: all n - 1")
    placement: Placement = "random"
    hosts: Hosts = None
    title: ClassVar[str] = "ring all-gather"

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        return self.message_packets * (self.steps or count(self.hosts, fabric))

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        who = ranks_of(self.hosts, self.placement, fabric, rng)
        n = len(who)
        steps = self.steps or n - 1
        if steps > n - 1:
            raise ScenarioError("workload.steps", steps, f"a ring of {n} ranks has {n - 1} steps")
        if n * steps > MAX_FLOWS:
            raise ScenarioError("workload.hosts", n, f"a ring of n ranks has n a step, together at most {MAX_FLOWS} flows")
        rank, to, earlier, later = ring(n, steps)
        return Flows(who[rank], who[to], same(n * steps, self.message_packets), np.stack([earlier, later], axis=1))
