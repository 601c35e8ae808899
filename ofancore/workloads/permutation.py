"""Random permutation: each host sends one message to one other host and receives one (the paper's main workload)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.fabric import Fabric
from ofancore.workloads.base import PAYLOAD_BYTES, Flows, Hosts, MessagePackets, Workload, participants, same


class Permutation(Workload):
    """Every host to another one, chosen uniformly among the permutations without a fixed point."""

    kind: Literal["permutation"] = "permutation"
    message_packets: MessagePackets = Field(256, description="data packets a flow (paper: 256 = 1 MiB)")
    hosts: Hosts = None
    title: ClassVar[str] = "permutation"

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        return self.message_packets

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        who = participants(self.hosts, fabric)
        while True:  # about e tries: drawing again keeps the choice uniform
            to = rng.permutation(len(who))
            if not (to == np.arange(len(who))).any():
                return Flows(who, who[to], same(len(who), self.message_packets))
