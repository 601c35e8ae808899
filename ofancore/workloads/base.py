"""What every workload is made of: its parameters and the flows they expand to.

A workload is a frozen pydantic model with `flows(fabric, rng) -> Flows`. A flow starts when the flows it depends on have arrived at
its own source; that is the only mechanism, no collective is a special case in the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric

MessagePackets = Annotated[int, Field(ge=1, le=1_000_000)]
Hosts = Annotated[list[Annotated[int, Field(ge=0)]] | None, Field(description="hosts that take part; null: all")]


@dataclass(frozen=True)
class Flows:
    """The flows of a run.

    src, dst, packets: int64[n_flows] (hosts, message size in data packets); `after`: pairs (earlier, later): `later` starts once
    `earlier` has arrived whole at the source of `later`; `open_flows`: flows a host keeps open at a time.
    """

    src: np.ndarray
    dst: np.ndarray
    packets: np.ndarray
    after: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    open_flows: int = 1 << 40

    def __len__(self) -> int:
        return len(self.src)


class Workload(BaseModel):
    """Base of all workloads."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    kind: str
    title: ClassVar[str]

    def flows(self, fabric: Fabric, rng: np.random.Generator) -> Flows:
        raise NotImplementedError

    def most_packets(self, fabric: Fabric) -> int:
        """The data packets of the busiest host, or of a chain of messages; decides whether the run's time can be counted."""
        raise NotImplementedError


def participants(hosts: list[int] | None, fabric: Fabric, least: int = 2) -> np.ndarray:
    """The hosts that take part; refuses hosts that do not exist, repeated ones and too few."""
    if hosts is None:
        return np.arange(fabric.n_hosts)
    for h in hosts:
        if h >= fabric.n_hosts:
            raise ScenarioError("workload.hosts", h, f"no such host: the fabric has hosts 0 to {fabric.n_hosts - 1}")
    if len(set(hosts)) != len(hosts):
        raise ScenarioError("workload.hosts", hosts, "a host may be named once")
    if len(hosts) < least:
        raise ScenarioError("workload.hosts", hosts, f"at least {least} hosts must take part")
    return np.array(hosts, np.int64)


def count(hosts: list[int] | None, fabric: Fabric) -> int:
    """The number of hosts that take part."""
    return fabric.n_hosts if hosts is None else len(hosts)


def same(count: int, value: int) -> np.ndarray:
    """int64[count] of one value."""
    return np.full(count, value, np.int64)
