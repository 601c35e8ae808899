"""Incast: so many hosts send one message each to the same host, all at once."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.workloads.base import PAYLOAD_BYTES, Flows, Hosts, MessagePackets, Workload, participants, same


class Incast(Workload):
    """Many hosts to one."""

    kind: Literal["incast"] = "incast"
    message_packets: MessagePackets = Field(64, description="data packets a sender (our choice: 256 KiB)")
    senders: int = Field(8, ge=1, le=10**6, description="hosts that send, drawn at random (our choice: 8)")
    receiver: Annotated[int, Field(ge=0)] | None = Field(None, description="the host that receives; null: drawn at random")
    hosts: Hosts = None
    title: ClassVar[str] = "incast"

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        return self.message_packets * self.senders

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        who = rng.permutation(np.sort(participants(self.hosts, fabric)))
        if self.senders > len(who) - 1:
            raise ScenarioError("workload.senders", self.senders, f"{len(who)} hosts take part, one of them to receive")
        to = who[0] if self.receiver is None else self.receiver
        if to not in who:
            raise ScenarioError("workload.receiver", self.receiver, "must be one of the hosts that take part")
        src = np.sort(who[who != to][: self.senders])
        return Flows(src, same(len(src), to), same(len(src), self.message_packets))
