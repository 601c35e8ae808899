"""What a grid really takes: runs that are made, one seed of each point, and from them what all seeds should take.

A group's runs are made in a process of their own, as in the pipeline. Seconds are those of the processor, so that other work on the
machine counts little; they are of this machine all the same.

    python -m ofancore.config measure config/full.yaml              an experiment a line
    python -m ofancore.config measure config/full.yaml training     of these experiments only
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ofancore.config import Config
from ofancore.plan import Group, expand, packet_hops, seconds


@dataclass(frozen=True)
class Sample:
    """Processor seconds of a group's start and of one seed of its points; peak memory of the process."""

    start_s: float
    runs_s: float
    memory_mib: float


def _sample(text: str) -> Sample:
    from ofancore.scenario import Scenario
    from ofancore.simulation import simulate

    start = time.process_time()
    for scenario in expand(Group.from_json(text), seeds=1):
        simulate(Scenario.from_dict(scenario)).row()
    end = time.process_time()
    return Sample(start, end - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def sample(group: Group) -> Sample:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_sample, [group.to_json()])


def measured(config: Config, experiments: list[str]) -> Iterator[str]:
    """A line an experiment: core-hours by the estimate, core-hours extrapolated from runs made now, memory of the largest job."""
    for name in experiments:
        groups = config.groups([name])
        samples = [sample(group) for group in groups]
        expected = sum(map(seconds, groups)) / 3600
        found = sum(s.start_s + s.runs_s * group.seeds for s, group in zip(samples, groups)) / 3600
        made = sum(len(expand(group, seeds=1)) for group in groups)
        memory = max(s.memory_mib for s in samples)
        yield f"{name:24} {expected:7.3f} core-hours estimated, {found:7.3f} from {made} runs made now, {memory:5.0f} MiB"


def cost_table(config: Config) -> str:
    """Expected packet-hops and seconds of one core, an experiment a line."""
    lines, total_hops, total_seconds, jobs = [], 0.0, 0.0, 0
    for name in config.experiments:
        groups = config.groups([name])
        hops, time = sum(packet_hops(g) for g in groups), sum(seconds(g) for g in groups)
        runs = sum(len(expand(g)) for g in groups)
        lines.append(f"{name:24} {len(groups):4} groups {runs:6} runs {hops:9.1e} packet-hops {time:7.0f} s")
        total_hops, total_seconds, jobs = total_hops + hops, total_seconds + time, jobs + len(groups)
    lines.append(f"{'all':24} {jobs:4} groups {'':11} {total_hops:9.1e} packet-hops {total_seconds:7.0f} s of one core")
    return "\n".join(lines)
