"""All-to-all: each host sends a message to every other one, in the rotated order i+1, i+2, ... (mod n).

The paper leaves the message per pair and the number of flows open at once undecided: `message_packets` is per pair, and by default
all flows of a host are open and take turns packet by packet; `open_flows = 1` sends one message after the other.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.bits import MAX_FLOWS
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.workloads.base import PAYLOAD_BYTES, Flows, Hosts, MessagePackets, Workload, count, participants, rotated, same


class AllToAll(Workload):
    """Every host to every other one."""

    kind: Literal["all_to_all"] = "all_to_all"
    message_packets: MessagePackets = Field(8, description="data packets a pair (our choice: 32 KiB)")
    open_flows: int | None = Field(None, ge=1, description="flows a host keeps open at a time; null: all")
    hosts: Hosts = None
    title: ClassVar[str] = "all-to-all"

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        return self.message_packets * count(self.hosts, fabric)

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        who = participants(self.hosts, fabric)
        n = len(who)
        if n * (n - 1) > MAX_FLOWS:
            raise ScenarioError(
                "workload.hosts", n, f"an all-to-all of n hosts has n(n-1) flows, of which at most {MAX_FLOWS} are possible"
            )
        src, dst = rotated(n, n - 1)
        return Flows(who[src], who[dst], same(len(src), self.message_packets), open_flows=self.open_flows or n)
