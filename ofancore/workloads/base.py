"""What every workload is made of: its parameters and the flows they expand to.

A workload is a frozen pydantic model with `flows(fabric, rng, payload_bytes) -> Flows`. A flow starts when the flows it depends on have
arrived (or are acknowledged); that is the only mechanism, no collective is a special case in the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric

MessagePackets = Annotated[int, Field(ge=1, le=1_000_000)]
PAYLOAD_BYTES = 4096  # the default of packet.payload_bytes
Placement = Annotated[
    Literal["random", "contiguous", "striped"], Field(description="ranks on hosts; striped: consecutive ranks in consecutive pods")
]
ReduceTime = Annotated[
    float, Field(ge=0, le=1e9, description="a rank's time to add up what arrived before it is passed on (our choice: none)")
]


def _hosts(value: object) -> object:
    if value is not None and not isinstance(value, list):
        raise PydanticCustomError("hosts", "must be a list of the hosts that take part, such as [0, 1, 2, 3], or null for all")
    return value


Hosts = Annotated[
    Annotated[list[Annotated[int, Field(ge=0)]], Field(fail_fast=True)] | None,
    BeforeValidator(_hosts),
    Field(description="hosts that take part; null: all"),
]


@dataclass(frozen=True)
class Flows:
    """The flows of a run.

    src, dst, packets: int64[n_flows] (hosts, message size in data packets). A flow with src == dst and no packets is local, a
    computation at its host: complete when it starts, and never in the way of other flows.
    after: int64[n, 2], pairs (earlier, later): `later` starts once `earlier` has arrived whole at its destination (or, if local, is
    complete). after_acked: int64[n, 2], the same, but once the source of `earlier` has all its ACKs. Where that is not the source of
    `later`, the news travels there in the time of an ACK over an empty path (our choice: a control message outside of the fabric).
    after_some: int64[n, 4], rows (earlier, later, acked, needed): `later` starts once any `needed` of its rows have happened: `earlier` has
    arrived whole (acked 0) or is acknowledged (1), news as above. Such a flow waits in no other way, and all its rows have one `needed`,
    from 1 to their number. Flows may stand before themselves and each other here, as long as all of them start in the end.
    open_flows: flows that a host keeps open at a time.
    delay_ns: float64[n_flows] (default: zeros): a flow starts so long after the last flow that it waits for has arrived, or after its
    host's start if it waits for none.
    group: int64[n_flows] (default: zeros), the collective that a flow belongs to, an index into the names `groups`; -1: a local flow.
    """

    src: np.ndarray
    dst: np.ndarray
    packets: np.ndarray
    after: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    open_flows: int = 1 << 40
    delay_ns: np.ndarray = None
    group: np.ndarray = None
    groups: list[str] = field(default_factory=lambda: ["all"])
    after_acked: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    after_some: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.int64))

    def __post_init__(self) -> None:
        if self.delay_ns is None:
            object.__setattr__(self, "delay_ns", np.zeros(len(self.src)))
        if self.group is None:
            object.__setattr__(self, "group", np.zeros(len(self.src), np.int64))

    def __len__(self) -> int:
        return len(self.src)

    @property
    def waits(self) -> bool:
        """Whether any flow waits for another one."""
        return len(self.after) + len(self.after_acked) + len(self.after_some) > 0

    def dependencies(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(earlier, later, acked, place) int64[n]: all that is waited for, `acked` 0 or 1, and the host at which it happens."""
        earlier, later = np.concatenate([self.after, self.after_acked, self.after_some[:, :2]]).T
        acked = np.concatenate([np.repeat([0, 1], [len(self.after), len(self.after_acked)]), self.after_some[:, 2]])
        return earlier, later, acked, np.where(acked == 1, self.src[earlier], self.dst[earlier])

    def needed(self) -> np.ndarray:
        """int64[n_flows]: how many of its `dependencies` must have happened before a flow starts."""
        needed = np.bincount(self.dependencies()[1], minlength=len(self))
        needed[self.after_some[:, 1]] = self.after_some[:, 3]
        return needed


class Workload(BaseModel):
    """Base of all workloads."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    kind: str
    title: ClassVar[str]

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        """The flows; `payload_bytes` is what a data packet carries, for workloads that count in bytes."""
        raise NotImplementedError

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
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


def placed(who: np.ndarray, placement: str, fabric: Fabric, rng: np.random.Generator) -> np.ndarray:
    """The hosts `who` (ascending) in the order of the ranks that they get."""
    if placement == "random":
        return rng.permutation(who)
    if placement == "striped":
        pod = fabric.pod_of(who)
        return who[np.lexsort((pod, who % (fabric.S * fabric.E)))]
    return who


def ranks_of(hosts: list[int] | None, placement: str, fabric: Fabric, rng: np.random.Generator) -> np.ndarray:
    """int64[n]: the hosts that take part, by rank."""
    return placed(np.sort(participants(hosts, fabric)), placement, fabric, rng)


def ring(n: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(rank, to, earlier, later) of a ring of n ranks: flow s * n + r is what rank r sends to its right neighbour in step s.

    rank, to: int64[steps * n]; earlier, later: int64[(steps - 1) * n]: step s of a rank follows step s - 1 of its left neighbour.
    """
    rank = np.tile(np.arange(n), steps)
    later = np.arange(n, steps * n)
    return rank, (rank + 1) % n, later - n - rank[n:] + (rank[n:] - 1) % n, later


def rotated(n: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """(rank, to) int64[n * steps] of a rotated exchange: flow r * steps + s goes from rank r to rank r + s + 1 (mod n)."""
    rank = np.repeat(np.arange(n), steps)
    return rank, (rank + 1 + np.tile(np.arange(steps), n)) % n


def same(count: int, value: int) -> np.ndarray:
    """int64[count] of one value."""
    return np.full(count, value, np.int64)
