"""A scenario: what may be asked of a simulation, as frozen data that cannot exist unless it is valid.

Defaults are the paper's setup (v2): 128 hosts, 800 Gb/s, 0.5 us a link, 800 KB a port, RoCEv2 sizes, a permutation of 1 MiB. Keys that
the paper leaves open say so in their description. Unknown keys are refused; errors name the dotted key, the value and the rule.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from ofancore.balancers import BALANCERS, Own
from ofancore.balancers.definitions import FILE_KIND, names
from ofancore.congestion import CONGESTION
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.reading import parse_yaml, read_yaml
from ofancore.recovery import RECOVERY
from ofancore.units import ticks_per_byte
from ofancore.workloads import WORKLOADS

REGISTRIES = {"balancer": BALANCERS, "workload": WORKLOADS, "congestion": CONGESTION, "recovery": RECOVERY}
DEFAULTS = {"balancer": "ofan", "workload": "permutation", "congestion": "line_rate", "recovery": "erasure"}

# what 64-bit time can hold
LONGEST_BUFFER = 1 << 60  # ticks to drain one
LONGEST_RAMP = 1 << 31  # ticks of queue over which the share of marks rises: what `random_below` can draw from
LONGEST_SEND = 1 << 54  # ticks that all packets of a host may take: the default time limit is 100 times that
SLOWEST_PACE = 1280  # times the healthy pace under failures: 64 hosts behind a cable of a twentieth of its rate
LARGEST = 1e15  # of the numbers that a strategy takes without a limit of its own


def _broken(key: str, value: Any, rule: str) -> PydanticCustomError:
    """The error of a rule that joins several keys, named by the key (dotted, below the model) that is to blame."""
    return PydanticCustomError("broken", rule, {"key": key, "value": value})


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Ecn(_Part):
    """ECN marking of data at enqueue, as shares of the buffer: none below, all above, linear between."""

    min_fraction: float | None = Field(None, ge=0, le=1, description="null: the balancer's own threshold (10%; PLB 50%)")
    max_fraction: float | None = Field(None, ge=0, le=1, description="null: as min_fraction (a step)")

    @model_validator(mode="after")
    def _ordered(self) -> Ecn:
        if self.max_fraction is not None and self.max_fraction < (self.min_fraction or 0):
            raise _broken("max_fraction", self.max_fraction, f"must be at least min_fraction = {self.min_fraction}")
        return self


class FabricKeys(_Part):
    """The fat tree."""

    radix: int = Field(8, ge=4, le=128, multiple_of=2, description="ports of a switch (paper: 8, 128 hosts)")
    tiers: int = Field(3, ge=2, le=3, description="3: fat tree of k pods; 2: leaf-spine of k leaves")
    oversubscription: int = Field(1, ge=1, description="hosts to uplinks of an edge switch; divides radix / 2")
    rails: int = Field(
        1, ge=1, description="NICs of a server: with R > 1 host h is NIC h mod R of server h div R, on an edge switch of rail h mod R only"
    )
    link_gbps: float = Field(800.0, ge=0.001, le=100_000, description="rate of every link, Gb/s (paper: 800)")
    link_delay_ns: float = Field(500.0, ge=0, le=1e9, description="propagation of every link (paper: 0.5 us)")
    buffer_bytes: int = Field(800_000, ge=1, le=10**12, description="buffer of every switch port (paper: 800 KB)")
    unlimited_buffer: bool = Field(False, description="never drop; thresholds still refer to buffer_bytes")
    ecn: Ecn = Ecn()

    @model_validator(mode="after")
    def _divides(self) -> FabricKeys:
        if (self.radix // 2) % self.oversubscription:
            raise _broken("oversubscription", self.oversubscription, f"must divide radix / 2 = {self.radix // 2}")
        edges, what = (self.radix // 2, "edge switches of a pod") if self.tiers == 3 else (self.radix, "leaves")
        if edges % self.rails:
            raise _broken("rails", self.rails, f"must divide the number of {what}, {edges}")
        return self


class PacketKeys(_Part):
    """Sizes on the wire (paper: RoCEv2)."""

    payload_bytes: int = Field(4096, ge=1, le=1_000_000, description="payload of a data packet (paper: 4096)")
    header_bytes: int = Field(62, ge=0, le=10_000, description="headers of a data packet (paper: 62)")
    gap_bytes: int = Field(20, ge=0, le=10_000, description="inter-packet gap, after every packet on every link (paper: 20)")
    ack_bytes: int = Field(64, ge=1, le=10_000, description="an ACK on the wire, not larger than a data packet (paper: 64)")
    ack_label: Literal["echo", "fresh"] = Field(
        "echo",
        description="label of an ACK: that of its data packet, or one of its own (left open by the paper). Host DR always rotates its ACKs",
    )
    control: Literal["shared", "priority"] = Field(
        "shared",
        description="ACKs, NACKs, trimmed headers at switches: in the data's queue (left open by the paper) or in their own, served first",
    )
    control_queue_packets: int = Field(512, ge=1, le=1 << 16, description="places of that queue at every switch port (our choice)")

    @model_validator(mode="after")
    def _sizes(self) -> PacketKeys:
        if self.ack_bytes > self.payload_bytes + self.header_bytes:
            most = self.payload_bytes + self.header_bytes
            raise _broken("ack_bytes", self.ack_bytes, f"must not be larger than a data packet (payload_bytes + header_bytes = {most})")
        return self


def _dead_or_slow(capacity: float) -> float:
    if 0 < capacity < 0.001:
        raise ValueError("must be 0 (dead) or at least 0.001")
    return capacity


Capacity = Annotated[float, Field(ge=0, lt=1), AfterValidator(_dead_or_slow)]


class CableKeys(_Part):
    """One failing cable."""

    cable: str = Field(description="edge:POD:INDEX-agg:POD:INDEX or agg:POD:INDEX-core:J:I")
    capacity: Capacity = Field(0.0, description="share of the rate that is left; 0: dead")


class FailureKeys(_Part):
    """What breaks, when, and when who knows."""

    link_failure_rate: float = Field(0.0, ge=0, le=1, description="each cable between switches fails independently with this probability")
    cables: Annotated[list[CableKeys], Field(fail_fast=True)] = Field(default=[], description="cables that fail in any case")
    capacity: Capacity = Field(0.0, description="share of the rate left on randomly failed cables; 0: dead")
    at_ns: float = Field(0.0, ge=0, le=1e12, description="time of the failure")
    loss_rate: float = Field(0.0, ge=0, le=0.5, description="each packet that comes to a switch is lost with this probability, always")
    detection_ns: float = Field(0.0, ge=0, le=1e12, description="until the adjacent switches know (left open by the paper)")
    convergence_ns: Annotated[float, Field(ge=0, allow_inf_nan=True)] = Field(
        0.0, description="until all switches know, the paper's G; inf: never"
    )

    @field_validator("convergence_ns", mode="before")
    @classmethod
    def _inf(cls, value: Any) -> Any:
        return math.inf if value in ("inf", ".inf", "infinity") else value

    @field_validator("convergence_ns")
    @classmethod
    def _bounded(cls, value: float) -> float:
        if math.isnan(value) or (value > 1e12 and not math.isinf(value)):
            raise ValueError("must be at most 1e12 ns, or inf")
        return value

    @property
    def any(self) -> bool:
        return self.link_failure_rate > 0 or bool(self.cables)


def _balancer_tag(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) and kind in BALANCERS else FILE_KIND


# built-in ones by their kind, all others are functions of a user's own
AnyBalancer = Annotated[
    Union[(*(Annotated[model, Tag(kind)] for kind, model in BALANCERS.items()), Annotated[Own, Tag(FILE_KIND)])],
    Discriminator(_balancer_tag),
]


def _by_kind(registry: dict[str, type]) -> Any:
    classes = tuple(registry.values())
    return Annotated[Union[classes], Field(discriminator="kind")] if len(classes) > 1 else classes[0]  # noqa: UP007


class Scenario(_Part):
    """One simulation: fabric, packets, traffic, scheme, failures and seed."""

    fabric: FabricKeys = FabricKeys()
    packet: PacketKeys = PacketKeys()
    workload: _by_kind(WORKLOADS) = WORKLOADS["permutation"]()
    balancer: AnyBalancer = BALANCERS["ofan"]()
    congestion: _by_kind(CONGESTION) = CONGESTION["line_rate"]()
    recovery: _by_kind(RECOVERY) = RECOVERY["erasure"]()
    failures: FailureKeys = FailureKeys()
    start_jitter_ns: float | None = Field(
        0.0,
        ge=0,
        le=1e9,
        description="each host starts at a uniform time in [0, jitter]; null: one data packet's time (left open by the paper)",
    )
    time_limit_ns: float | None = Field(
        None, gt=0, le=1e12, description="stop a run that has not finished by then; null: 100 lower bounds, at least 1 ms"
    )
    seed: int = Field(0, ge=0, le=2**63 - 1, description="of traffic, failures, jitter, initial states and decisions, each its own stream")

    @model_validator(mode="after")
    def _representable(self) -> Scenario:
        """Rules that join parts: a buffer holds a packet, and every time fits the engine's 64 bits."""
        fabric, packet, failures = self.fabric, self.packet, self.failures
        if self.balancer.needs_rails and fabric.rails == 1:
            raise _broken(
                "fabric.rails", 1, f"must be at least 2, since balancer.kind = {self.balancer.kind} shares traffic out over rails"
            )
        per_byte = ticks_per_byte(fabric.link_gbps)
        if per_byte * packet.ack_bytes < 1:
            raise _broken("fabric.link_gbps", fabric.link_gbps, "is too high: an ACK must take at least one picosecond on a link")
        slot = packet.payload_bytes + packet.header_bytes + packet.gap_bytes
        if fabric.buffer_bytes < slot and not fabric.unlimited_buffer:
            raise _broken("fabric.buffer_bytes", fabric.buffer_bytes, f"must hold a data packet and its gap, {slot} bytes")
        if packet.control == "priority" and (fabric.unlimited_buffer or fabric.buffer_bytes > slot << 16):
            raise _broken("packet.control", packet.control, f"needs a buffer of at most 65,536 data packets ({slot << 16} bytes)")
        drain = fabric.buffer_bytes * per_byte
        slowest = min([1.0, *(x for x in (failures.capacity, *(cable.capacity for cable in failures.cables)) if x)])
        if drain / slowest > LONGEST_BUFFER:
            raise _broken("fabric.buffer_bytes", fabric.buffer_bytes, "is too large: the slowest link must drain it within 13 days")
        low, high = fabric.ecn.min_fraction, fabric.ecn.max_fraction
        if high and (high - (low or 0)) * drain >= LONGEST_RAMP:
            rule = "is too far above min_fraction: a link must drain what lies between in 2 ms"
            raise _broken("fabric.ecn.max_fraction", high, rule)
        for part in REGISTRIES:
            for key, value in getattr(self, part):
                if isinstance(value, (int, float)) and abs(value) > LARGEST:
                    raise _broken(f"{part}.{key}", value, f"must be at most {LARGEST:g}")
        most = self.workload.most_packets(self.shape, packet.payload_bytes)
        longest = LONGEST_SEND / (SLOWEST_PACE if failures.any else 1)
        if most * (slot + packet.ack_bytes + packet.gap_bytes) * per_byte > longest:
            rule = f"is too large: a host's {most} packets must take at most {longest / 1e12:.0f} s at this rate"
            raise _broken("workload.message_packets", getattr(self.workload, "message_packets", None), rule)
        return self

    # --- from and to data
    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Scenario:
        """A scenario from nested dicts; ScenarioError for the first rule that is broken."""
        if not isinstance(data, dict):
            raise ScenarioError("scenario", data, "must be a mapping of keys")
        for part, registry in REGISTRIES.items():
            if isinstance(data.get(part), dict):
                kind = data[part].get("kind", DEFAULTS[part])
                data = {**data, part: {"kind": kind, **data[part]}}
                known = [*registry, *(names() if part == "balancer" else [])]
                if not isinstance(kind, str) or (kind not in known and (part, kind) != ("balancer", FILE_KIND)):
                    raise ScenarioError(f"{part}.kind", kind, f"must be one of {', '.join(known)}")
        try:
            return cls.model_validate(data)
        except ValidationError as e:
            raise _refusal(e, data) from None

    @classmethod
    def from_yaml(cls, path: str | Path | None = None, sets: Sequence[str] = ()) -> Scenario:
        """A scenario from a YAML file (or the defaults) with `key=value` overrides, the values being YAML."""
        data: Any = {}
        if path is not None:
            data = read_yaml(path, "scenario")
            data = {} if data is None else data  # an empty file
            if not isinstance(data, dict):
                raise ScenarioError("scenario", str(path), "must hold a mapping of keys")
        for text in sets:
            key, eq, value = text.partition("=")
            if not eq or not all(key.split(".")):
                raise ScenarioError("--set", text, "must read key=value, the key being names joined by dots")
            set_key(data, key, parse_yaml(value, key, value))
        return cls.from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """Nested dicts of plain JSON values, all keys present (infinity as the string "inf")."""
        data = self.model_dump()
        if math.isinf(self.failures.convergence_ns):
            data["failures"]["convergence_ns"] = "inf"
        return data

    def to_json(self) -> str:
        """Canonical JSON: the identity of the scenario."""
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)

    @cached_property
    def digest(self) -> str:
        """16 hex digits of the canonical JSON."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    @cached_property
    def shape(self) -> Fabric:
        """The fabric that the keys describe."""
        return Fabric.build(self.fabric.radix, self.fabric.tiers, self.fabric.oversubscription, self.fabric.rails)


def set_key(data: dict[str, Any], dotted: str, value: Any) -> None:
    """Set `a.b.c` in nested dicts, making them on the way. A new `kind` drops the keys of the old one."""
    *path, last = dotted.split(".")
    for name in path:
        data = data.setdefault(name, {})
        if not isinstance(data, dict):
            raise ScenarioError(dotted, value, f"{name} is not a mapping")
    if last == "kind" and data.get("kind") not in (None, value):
        data.clear()
    data[last] = value


def _refusal(error: ValidationError, data: dict[str, Any]) -> ScenarioError:
    first = error.errors()[0]
    path = list(first["loc"])
    if len(path) > 1 and path[0] in REGISTRIES and path[1] in (*REGISTRIES[path[0]], FILE_KIND):
        del path[1]  # the tag of the union is not a key
    rule = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be").replace(" after validation", "")
    value = first["input"]
    match first["type"]:
        case "extra_forbidden":
            rule = "unknown key"
        case "model_type" | "model_attributes_type":
            rule = "must be a mapping of keys"
        case "broken":
            path += first["ctx"]["key"].split(".")
            value = first["ctx"]["value"]
        case "float_type" if isinstance(value, str) and _reads_as_number(value):
            rule += ", but this is text (YAML reads 1.0e+5 as a number, 1e5 not)"
    return ScenarioError(".".join(str(p) for p in path) or "scenario", value, rule[:1].lower() + rule[1:])


def _reads_as_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
