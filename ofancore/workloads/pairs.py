"""Pairs: an explicit list of flows, for small experiments, incasts and hand-worked cases."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.workloads.base import PAYLOAD_BYTES, Flows, MessagePackets, Workload, same

Host = Annotated[int, Field(ge=0)]


class Pairs(Workload):
    """The flows given, all starting together."""

    kind: Literal["pairs"] = "pairs"
    message_packets: MessagePackets = Field(256, description="data packets a flow")
    pairs: Annotated[list[Annotated[list[Host], Field(min_length=2, max_length=2)]], Field(fail_fast=True)] = Field(
        default=[[0, 1]], min_length=1, description="[source, destination] of each flow"
    )
    title: ClassVar[str] = "pairs"

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        return self.message_packets * len(self.pairs)

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        for i, (src, dst) in enumerate(self.pairs):
            for h in (src, dst):
                if h >= fabric.n_hosts:
                    raise ScenarioError(f"workload.pairs.{i}", h, f"no such host: the fabric has hosts 0 to {fabric.n_hosts - 1}")
            if src == dst:
                raise ScenarioError(f"workload.pairs.{i}", [src, dst], "a flow needs two different hosts")
        ends = np.array(self.pairs, np.int64)
        return Flows(ends[:, 0], ends[:, 1], same(len(ends), self.message_packets))
