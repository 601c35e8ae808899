"""Two jobs, or more, that share a fabric: each a workload of its own on hosts of its own, all starting together.

The jobs know nothing of each other but meet at switches. Every collective of a job is one of the run, so that its completion time and its
bound, which is that of the job alone, are in the result's `collectives`. A job draws from a random stream of its own: another job beside
it does not change its traffic, but for the hosts that it gets.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError
from pydantic_core import PydanticCustomError

from ofancore.bits import MAX_FLOWS
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.workloads.base import PAYLOAD_BYTES, Flows, Hosts, Workload, participants

UNLIMITED = 1 << 40  # open flows
LARGEST = 1e15  # of a number among the keys of a job


def _refused(key: str, value: Any, rule: str) -> PydanticCustomError:
    return PydanticCustomError("broken", "{rule}", {"key": key, "value": value, "rule": rule})


def _job(data: Any) -> Any:
    """The workload of a job from its keys. Any kind with a key `hosts` can be one; the key itself is set here."""
    from ofancore.workloads import WORKLOADS  # which holds this kind, too

    if isinstance(data, Workload):
        return data
    kinds = [kind for kind, entry in WORKLOADS.items() if "hosts" in entry.model_fields and entry is not TwoJobs]
    if not isinstance(data, dict):
        raise PydanticCustomError("job", "must be a mapping of keys")
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise _refused("kind", kind, f"must be one of {', '.join(kinds)}")
    try:
        job = WORKLOADS[kind].model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        rule = "unknown key" if first["type"] == "extra_forbidden" else first["msg"].replace("Input should be", "must be")
        raise _refused(".".join(map(str, first["loc"])) or "kind", first["input"], rule) from None
    for key, value in job:
        if isinstance(value, (int, float)) and abs(value) > LARGEST:
            raise _refused(key, value, f"must be at most {LARGEST:g}")
    if job.hosts is not None:
        raise _refused("hosts", data["hosts"], "the hosts of a job are those that it gets by `ranks` and `mix`")
    return job


Job = Annotated[SerializeAsAny[Workload], BeforeValidator(_job)]


class TwoJobs(Workload):
    """Jobs side by side."""

    kind: Literal["two_jobs"] = "two_jobs"
    jobs: Annotated[list[Job], Field(min_length=2, max_length=64, fail_fast=True)] = Field(
        default=[{"kind": "permutation"}, {"kind": "permutation"}],
        validate_default=True,
        description="workloads (kind and keys) that have a key hosts, which is not given here",
    )
    ranks: list[Annotated[int, Field(ge=2)]] | None = Field(None, description="hosts of each job; null: equal shares")
    mix: Literal["random", "interleaved", "contiguous"] = Field(
        "random", description="who gets which hosts; interleaved: in turn; contiguous: one job after the other (our choice: random)"
    )
    hosts: Hosts = None
    title: ClassVar[str] = "jobs that share a fabric"

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        return max(job.most_packets(fabric, payload_bytes) for job in self.jobs)

    def shares(self, fabric: Fabric, rng: np.random.Generator) -> list[np.ndarray]:
        """The hosts of each job, ascending."""
        who = np.sort(participants(self.hosts, fabric))
        ranks = self.ranks or [len(who) // len(self.jobs)] * len(self.jobs)
        if len(ranks) != len(self.jobs):
            raise ScenarioError("workload.ranks", ranks, f"must have a number for each of the {len(self.jobs)} jobs")
        if sum(ranks) > len(who) or min(ranks) < 2:
            raise ScenarioError("workload.ranks", ranks, f"{len(who)} hosts take part, and a job has at least 2")
        if self.mix == "random":
            who = rng.permutation(who)
        if self.mix != "interleaved":
            return [np.sort(part) for part in np.split(who, np.cumsum(ranks))[: len(ranks)]]
        turn = [job for i in range(max(ranks)) for job, size in enumerate(ranks) if i < size]
        return [who[: len(turn)][np.array(turn) == job] for job in range(len(ranks))]

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        parts = []
        for i, (job, who, own) in enumerate(zip(self.jobs, self.shares(fabric, rng), rng.spawn(len(self.jobs)))):
            try:
                parts.append(job.model_copy(update={"hosts": who.tolist()}).flows(fabric, own, payload_bytes))
            except ScenarioError as error:
                key = f"workload.jobs.{i}" + error.key.removeprefix("workload")
                raise ScenarioError(key, error.value, error.rule) from None
        first = np.cumsum([0, *map(len, parts)])
        if first[-1] > MAX_FLOWS:
            raise ScenarioError("workload.jobs", len(parts), f"have {first[-1]} flows, of which at most {MAX_FLOWS} are possible")
        groups, group = [], []
        for i, (job, part) in enumerate(zip(self.jobs, parts)):
            group.append(np.where(part.group < 0, -1, part.group + len(groups)))
            groups += [f"job {i}: {job.kind}" + ("" if part.groups == ["all"] else f", {name}") for name in part.groups]
        return Flows(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("src", "dst", "packets")),
            after=np.concatenate([part.after + at for part, at in zip(parts, first)]),
            open_flows=self._open_flows(parts),
            delay_ns=np.concatenate([part.delay_ns for part in parts]),
            group=np.concatenate(group),
            groups=groups,
            after_acked=np.concatenate([part.after_acked + at for part, at in zip(parts, first)]),
            after_some=np.concatenate([part.after_some + np.array([at, at, 0, 0]) for part, at in zip(parts, first)]),
        )

    def _open_flows(self, parts: list[Flows]) -> int:
        """The one limit of a run: that of all jobs, if it is one to any of them."""
        limits = [UNLIMITED if part.open_flows >= np.bincount(part.src[part.packets > 0]).max() else part.open_flows for part in parts]
        if len(set(limits)) > 1:
            shown = [None if limit == UNLIMITED else limit for limit in limits]
            raise ScenarioError("workload.jobs", shown, "jobs must agree on the flows that a host keeps open (null: all)")
        return limits[0]
