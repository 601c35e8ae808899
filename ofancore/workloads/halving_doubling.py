"""Recursive halving and doubling: reduce-scatter and all-gather in log2(n) steps each, n a power of two.

Reduce-scatter by recursive vector halving, distance halving: in step i = 0, 1, ... a rank exchanges with the rank that differs in the
bit n / 2^(i+1); each sends the half of what it still sums up that the other one keeps, n / 2^(i+1) shards. All-gather by recursive
doubling: the same steps backwards; a rank sends all shards that it has, 1, 2, ..., n / 2.

What a rank sends holds parts of all that it received before, so a message waits for every earlier one to its source: the one of the
step before is not enough, since the partner of that step may have been ahead. `reduce_ns` passes between the last of them and a
message that holds a sum made of it: all of the reduce-scatter but the first, and the first of an all-gather after it.

Reference: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.workloads.base import PAYLOAD_BYTES, Flows, Hosts, MessagePackets, Placement, ReduceTime, Workload, count, ranks_of

MOST_PACKETS = 1_000_000  # of a message
SCATTER, GATHER = "reduce-scatter", "all-gather"


class HalvingDoubling(Workload):
    """All-reduce, or one half of it, in a logarithmic number of steps."""

    kind: Literal["halving_doubling"] = "halving_doubling"
    message_packets: MessagePackets = Field(
        64, description="data packets a shard, the n-th part of a vector; messages have 1 to n / 2 shards"
    )
    phase: Literal["all_reduce", "reduce_scatter", "all_gather"] = Field("all_reduce", description="all_reduce: one after the other")
    reduce_ns: ReduceTime = 0.0
    placement: Placement = "random"
    hosts: Hosts = None
    title: ClassVar[str] = "recursive halving and doubling"

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        return self.message_packets * 2 * count(self.hosts, fabric)

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        who = ranks_of(self.hosts, self.placement, fabric, rng)
        n = len(who)
        if n & (n - 1):
            raise ScenarioError("workload.hosts", self.hosts, f"halving and doubling need a power of two of ranks, not {n}")
        if n // 2 * self.message_packets > MOST_PACKETS:
            rule = f"the largest message has {n // 2} shards and at most {MOST_PACKETS} packets"
            raise ScenarioError("workload.message_packets", self.message_packets, rule)
        shares = [n >> i for i in range(1, n.bit_length())]  # the distance in ranks, and the shards of a message
        steps = [(0, share) for share in shares] if self.phase != "all_gather" else []
        if self.phase != "reduce_scatter":
            steps += [(1, share) for share in reversed(shares)]
        rank = np.arange(n)
        rows, pairs = [], [np.zeros((0, 2), np.int64)]
        for s, (gathers, share) in enumerate(steps):
            sums = s > 0 and (not gathers or not steps[s - 1][0])
            rows.append((rank, rank ^ share, np.full(n, share), np.full(n, self.reduce_ns if sums else 0.0), np.full(n, gathers)))
            for t, (_, distance) in enumerate(steps[:s]):
                pairs.append(np.stack([t * n + (rank ^ distance), s * n + rank], axis=1))
        src, to, shards, delay_ns, group = (np.concatenate(column) for column in zip(*rows))
        groups = [SCATTER, GATHER]
        if self.phase != "all_reduce":
            group, groups = np.zeros_like(group), [groups[steps[0][0]]]
        packets = shards * self.message_packets
        return Flows(who[src], who[to], packets, np.concatenate(pairs), delay_ns=delay_ns, group=group, groups=groups)
