"""Run groups: one scheme of one experiment, its scenarios, where its raw runs lie and what it should cost.

A group travels between Snakemake and its jobs as compact JSON (`Group.to_json`), which is also what decides whether the
group is stale; the scenarios themselves are expanded from it wherever they are needed.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ofancore.errors import ScenarioError

# What a run costs, for the estimate of the time left only: start-up of a process, set-up of a run, packet-hops a second.
# Of the process: user and system time of workflow/scripts/run_group.py for one run of one packet, median of 6 (2-core cloud machine,
# machine code on disk; 1.2 to 1.6 s). CPU time, since by the clock it depends on what else runs.
START_SECONDS = 1.5
RUN_SECONDS = 0.01
HOPS_PER_SECOND = 18e6
COUNTED = ("permutation", "all_to_all", "ring_all_gather", "pairs")  # workloads of which the packets follow from few keys
CLOSED_LOOP_HOPS_PER_SECOND = 12e6  # with a congestion control or a loss recovery that reacts


def json_text(value) -> str:
    """Canonical JSON: the same value gives the same text. Infinity is kept as Python writes and reads it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True)
class Group:
    experiment: str
    label: str
    scenario: dict
    balancer: dict
    sweep: dict
    points: list
    seeds: int
    one_at_a_time: dict = field(default_factory=dict)  # dotted key -> values; a group that has none is told as if there were no such thing

    def to_json(self) -> str:
        # Sorting keys would lose the order of the axes, which is the order of the runs: keep the sweep as pairs.
        data = {**asdict(self), "sweep": list(self.sweep.items())}
        varied = data.pop("one_at_a_time")
        return json_text(data | {"one_at_a_time": list(varied.items())} if varied else data)

    @classmethod
    def from_json(cls, text: str) -> Group:
        data = json.loads(text)
        return cls(**{**data, "sweep": dict(data["sweep"]), "one_at_a_time": dict(data.get("one_at_a_time", []))})

    def variants(self) -> list[dict]:
        """The scheme as it is, then with one key at a time at each of its values (dotted key -> value)."""
        return [{}, *({key: value} for key, values in self.one_at_a_time.items() for value in values)]

    @property
    def name(self) -> str:
        return f"{self.experiment}/{self.label}"

    def raw_path(self, results: str | Path) -> Path:
        return Path(results) / "raw" / self.experiment / f"{self.label}.parquet"


def set_dotted(tree: dict, key: str, value) -> None:
    """tree["a"]["b"] = value for the key "a.b"; parents are made as needed. ScenarioError if one is there and no mapping."""
    *parents, last = key.split(".")
    for parent in parents:
        tree = tree.setdefault(parent, {})
        if not isinstance(tree, dict):
            raise ScenarioError(key, value, f"{parent} is not a mapping")
    tree[last] = value


def expand(group: Group, seeds: int | None = None) -> list[dict]:
    """The scenarios of a group, as nested dicts: points, then the product of the axes, then variants, then seeds."""
    axes = [[(key, value) for value in values] for key, values in group.sweep.items()]
    scenarios = []
    for point in group.points or [{}]:
        for combination, variant in itertools.product(itertools.product(*axes), group.variants()):
            for seed in range(group.seeds if seeds is None else seeds):
                scenario = copy.deepcopy(group.scenario)
                scenario["balancer"] = copy.deepcopy(group.balancer)
                for key, value in [*point.items(), *combination, *variant.items()]:
                    set_dotted(scenario, key, copy.deepcopy(value))
                scenario.setdefault("seed", seed)
                scenarios.append(scenario)
    return scenarios


def hosts(scenario: dict) -> int:
    fabric = scenario.get("fabric", {})
    radix = fabric.get("radix", 8)
    return radix**3 // 4 if fabric.get("tiers", 3) == 3 else radix**2 // 2


def run_hops(scenario: dict) -> float:
    """Expected packet-hops of a run: data and ACKs over six links each way (a little less in a small fabric)."""
    workload = scenario.get("workload", {})
    n = len(workload.get("hosts") or []) or workload.get("ranks") or hosts(scenario)
    kind = workload.get("kind", "permutation")
    if kind == "fsdp":
        return 12.0 * n * training_packets(scenario)
    if kind not in COUNTED:
        return 12.0 * drawn_packets(scenario)
    m = workload.get("message_packets", 8 if kind == "all_to_all" else 256)
    steps = workload.get("steps") or n - 1
    flows = {"permutation": n, "all_to_all": n * (n - 1), "ring_all_gather": n * steps}.get(kind, len(workload.get("pairs") or []))
    return 12.0 * flows * m


def sends_one_packet(scenario: dict) -> bool:
    """Whether a run sends a single data packet, which sets up all state of the switches and shows nothing of queues."""
    workload = scenario.get("workload", {})
    return workload.get("kind") == "pairs" and len(workload.get("pairs") or []) == 1 and workload.get("message_packets") == 1


def drawn_packets(scenario: dict) -> int:
    """Data packets of a workload that is easier drawn than counted; drawn once for all schemes and failures that it runs under."""
    return _packets_of(json.dumps({part: scenario[part] for part in ("fabric", "packet", "workload") if part in scenario}))


@functools.cache
def _packets_of(parts: str) -> int:
    import numpy as np

    from ofancore.scenario import Scenario

    given = Scenario.from_dict(json.loads(parts))
    return int(given.workload.flows(given.shape, np.random.default_rng(0), given.packet.payload_bytes).packets.sum())


def training_packets(scenario: dict) -> int:
    """Data packets that a rank of FSDP training sends: all collectives of the phase."""
    from ofancore.fabric import Fabric
    from ofancore.workloads import WORKLOADS

    fabric = scenario.get("fabric", {})
    shape = Fabric.build(fabric.get("radix", 8), fabric.get("tiers", 3))
    payload = scenario.get("packet", {}).get("payload_bytes", 4096)
    return WORKLOADS["fsdp"].model_validate(scenario["workload"]).most_packets(shape, payload)


def training_flows(scenario: dict) -> int:
    """Messages of all ranks of FSDP training; 0 for other workloads."""
    from ofancore.workloads.fsdp import COLLECTIVES, Fsdp

    if scenario.get("workload", {}).get("kind") != "fsdp":
        return 0
    training = Fsdp.model_validate(scenario["workload"])
    n = training.ranks or hosts(scenario)
    layers = training.layers if training.phase in ("backward", "step") else 1
    return n * (training.steps or n - 1) * layers * COLLECTIVES[training.phase]


def reacts(scenario: dict) -> bool:
    """Whether senders react to what they hear, which takes the simulator more time a packet."""
    kinds = [scenario.get(part, {}).get("kind", default) for part, default in (("congestion", "line_rate"), ("recovery", "erasure"))]
    return kinds != ["line_rate", "erasure"]


def run_seconds(scenario: dict) -> float:
    """Expected seconds of a run on one core."""
    return RUN_SECONDS + run_hops(scenario) / (CLOSED_LOOP_HOPS_PER_SECOND if reacts(scenario) else HOPS_PER_SECOND)


def packet_hops(group: Group) -> float:
    return group.seeds * sum(run_hops(s) for s in expand(group, seeds=1))


def seconds(group: Group) -> float:
    """Expected seconds of the group's job on one core."""
    return START_SECONDS + group.seeds * sum(map(run_seconds, expand(group, seeds=1)))


def simulate_group(group: Group) -> list[dict]:
    """Simulate the group's scenarios one after the other: the rows of its raw table."""
    from ofancore.scenario import Scenario
    from ofancore.simulation import simulate

    names = {"experiment": group.experiment, "label": group.label}
    return [{**names, **simulate(Scenario.from_dict(s)).row()} for s in expand(group)]
