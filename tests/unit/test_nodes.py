"""What the pipeline asks of a cluster."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml

from ofancore import nodes
from ofancore.config import load_config
from ofancore.plan import Group, seconds

ROOT = Path(__file__).parents[2]


def group(packets: int, **given) -> Group:
    return Group("e", "ofan", {"workload": {"message_packets": packets}, **given}, {"kind": "ofan"}, {}, [], 1)


def test_long_groups_are_jobs_of_their_own():
    short, long = group(256), group(2_000_000)
    assert seconds(short) < nodes.LONG_SECONDS < seconds(long)
    assert (nodes.group_of(short), nodes.group_of(long)) == ("runs", "long_runs")
    together = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())["group-components"]
    assert [entry.split("=")[0] for entry in together] == ["runs", "figures"]


def test_limits_are_above_what_is_expected_and_grow_with_attempts():
    for config in ("paper", "full"):
        for given in load_config(ROOT / "config" / f"{config}.yaml", scenarios=False).groups():
            minutes = [nodes.minutes(given, attempt) for attempt in (1, 2, 3)]
            assert minutes[0] >= 2 + nodes.SLOWER * seconds(given) / 60
            assert minutes == [minutes[0], 2 * minutes[0], 3 * minutes[0]]
            assert nodes.memory_mb(given, 2) == 2 * nodes.memory_mb(given, 1) > 4000


def test_memory_is_that_of_the_largest_fabric():
    def largest(**given) -> int:
        return nodes.memory_mb(Group("e", "ofan", **{"scenario": {}, "balancer": {}, "sweep": {}, "points": [], "seeds": 1, **given}), 1)

    assert largest() == 2000 + math.ceil(128 / 50)
    big = 2000 + math.ceil(65_536 / 50)
    assert largest(scenario={"fabric": {"radix": 64}}) == largest(sweep={"fabric.radix": [4, 64, 8]}) == big
    assert largest(points=[{"fabric.radix": 64}, {}]) == largest(one_at_a_time={"fabric.radix": [64]}) == big
    ring = {"kind": "fsdp", "phase": "step", "layers": 1}
    flows = 3 * 1024 * 1023
    assert largest(scenario={"fabric": {"radix": 16}, "workload": ring}) == 2000 + math.ceil(1024 / 50 + flows / 800)
    assert largest(scenario={"workload": {"kind": "fsdp", "steps": 4}}) == 2000 + math.ceil(128 / 50 + 4 * 128 / 800)


def test_each_kind_of_processor_has_a_folder_for_machine_code(monkeypatch):
    import numba

    used = Path("/home/me/.cache/ofancore/0123-numba1")
    here = nodes.cache_folder(used)
    assert here == f"/home/me/.cache/ofancore/{nodes.cpu()}"
    assert nodes.cache_folder(Path(here) / "0123-numba1") == here  # a job in a job stays there
    monkeypatch.setattr(numba.config, "CPU_NAME", "generic")
    assert nodes.cache_folder(used) != here
    monkeypatch.undo()
    monkeypatch.setattr(numba.config, "CPU_FEATURES", "+sse2")
    assert nodes.cache_folder(used) != here
    assert nodes.cache_folder(None) is None


@pytest.mark.parametrize("name", ["paper", "full"])
def test_no_flood(name):
    """At most 12 run groups a job, and one for each that takes long."""
    groups = load_config(ROOT / "config" / f"{name}.yaml", scenarios=False).groups()
    long = sum(nodes.group_of(given) == "long_runs" for given in groups)
    assert long + math.ceil((len(groups) - long) / 12) <= 70
