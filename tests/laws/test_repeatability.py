"""Common random numbers across balancers, and the same bytes for the same seed in any process and at any number of threads."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from scenarios import connected, examples, rails_for, scenarios

from ofancore import BALANCERS, Scenario, simulate
from ofancore.config import load_config
from ofancore.digests import digest_of_rows
from ofancore.prepare import prepare

ROOT = Path(__file__).parents[2]


def keys_of(kind, **more):
    return {
        "fabric": {"radix": 6, "buffer_bytes": 40_000, **({"rails": 3} if rails_for(kind) else {})},
        "workload": {"kind": "permutation", "message_packets": 60},
        "balancer": {"kind": kind},
        "failures": {"link_failure_rate": 0.03, "at_ns": 2_000.0, "detection_ns": 500.0, "convergence_ns": 6_000.0},
        "seed": 11,
    } | more


def digest(result) -> str:
    """Of everything in a result."""
    text = result.to_json() + result.flows.to_csv() + result.links.to_csv()
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("workload", [{"kind": "permutation"}, {"kind": "ring_all_gather", "message_packets": 2}], ids=lambda w: w["kind"])
def test_every_balancer_sees_the_same_traffic_failures_and_start_times(workload):
    fabric = {"radix": 6, "rails": 3}
    seen = [prepare(Scenario.from_dict(keys_of(kind, workload=workload, fabric=fabric))) for kind in sorted(BALANCERS)]
    for one in seen[1:]:
        for name in ("src", "dst", "packets", "after"):
            assert (getattr(one.messages, name) == getattr(seen[0].messages, name)).all()
        assert (one.damage.share == seen[0].damage.share).all()
        assert (one.sw.salt == seen[0].sw.salt).all()
        assert (one.sw.orders == seen[0].sw.orders).all()
        assert one.lower_bound_ticks == seen[0].lower_bound_ticks
        if not one.scenario.balancer.needs_rails:  # a scheme of rails sends by other NICs
            assert (one.flows.src == seen[0].flows.src).all()
            assert (one.start == seen[0].start).all()
    assert seen[0].damage.any


def test_more_failures_at_a_higher_rate_include_those_of_a_lower_one():
    def dead(rate):
        keys = keys_of("ofan", failures={"link_failure_rate": rate}, workload={"kind": "pairs"})
        return set((prepare(Scenario.from_dict(keys)).damage.share == 0).nonzero()[0].tolist())

    assert dead(0.0) == set() < dead(0.05) < dead(0.2)


def test_seeds_differ():
    flows = [simulate(Scenario.from_dict(keys_of("ofan", seed=seed))).flows for seed in (1, 2)]
    assert (flows[0]["dst"] != flows[1]["dst"]).any()


def test_results_survive_other_balancers_in_between():
    first = digest(simulate(Scenario.from_dict(keys_of("reps"))))
    simulate(Scenario.from_dict(keys_of("jsq", seed=5)))
    assert digest(simulate(Scenario.from_dict(keys_of("reps")))) == first


SCRIPT = """
import json, sys
sys.path.insert(0, "tests")
from laws.test_repeatability import digest, keys_of
from ofancore import BALANCERS, Scenario, simulate
from ofancore.config import load_config
from ofancore.digests import digest_of_rows
print(json.dumps({kind: digest(simulate(Scenario.from_dict(keys_of(kind)))) for kind in sorted(BALANCERS)}))
"""


def test_another_process_gives_the_same_bytes():
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT), "TZ": "Asia/Tokyo"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {kind: digest(simulate(Scenario.from_dict(keys_of(kind)))) for kind in sorted(BALANCERS)}


@pytest.mark.parametrize("kind", sorted(BALANCERS))
def test_threads_do_not_change_the_result(kind):
    scenario = Scenario.from_dict(keys_of(kind))
    one = digest(simulate(scenario))
    assert digest(simulate(scenario, threads=2)) == one
    assert digest(simulate(scenario, threads=5)) == one  # more than there are cores: nodes are shared out, threads need not exist


@examples(20)
@given(scenarios())
def test_threads_do_not_change_small_runs(keys):
    scenario = connected(keys)
    assert digest(simulate(scenario, threads=2)) == digest(simulate(scenario))


def test_one_fabric_through_the_papers_balancers_with_two_threads():
    """128 hosts, ring dependencies across threads, loss notices from both."""
    keys = {
        "fabric": {"buffer_bytes": 30_000},
        "workload": {"kind": "ring_all_gather", "message_packets": 10, "steps": 5},
        "balancer": {"kind": "ops"},
    }
    scenario = Scenario.from_dict(keys)
    one = simulate(scenario)
    assert one.packets["dropped"] > 0
    assert digest(simulate(scenario, threads=2)) == digest(one)


RECORDED = json.loads((ROOT / "data/expected/reference.json").read_text())
REPEAT = """
import json
from ofancore import Scenario, simulate
from ofancore.digests import digest_of_rows
kept = json.load(open("data/expected/reference.json"))
found = [digest_of_rows([simulate(Scenario.from_dict(run["scenario"])).row()], kept["columns"]) for run in kept["runs"]]
print(json.dumps(found))
"""


def test_the_recorded_runs_show_every_strategy_of_the_grid():
    """Of those in the raw runs; a strategy that has none there is tested against its twin only."""
    kinds = {run["scenario"]["balancer"]["kind"] for run in RECORDED["runs"]}
    grid = load_config(ROOT / "config/paper.yaml", scenarios=False)
    recorded = {name.split("/")[1] for name in RECORDED["groups"]}
    assert kinds >= {balancer["kind"] for label, balancer in grid.schemes.items() if label in recorded} - {"own"}
    assert {run["scenario"]["recovery"]["kind"] for run in RECORDED["runs"]} >= {"erasure", "sack", "trim"}


def test_runs_give_what_was_recorded_on_another_machine():
    """All metrics, digit for digit; `python -m ofancore.expected` records them."""
    rows = [simulate(Scenario.from_dict(run["scenario"])).row() for run in RECORDED["runs"]]
    found = [digest_of_rows([row], RECORDED["columns"]) for row in rows]
    assert [run["group"] for run, digest in zip(RECORDED["runs"], found) if run["digest"] != digest] == []
    assert digest_of_rows([{**rows[0], "cct_ns": rows[0]["cct_ns"] + 1e-6}], RECORDED["columns"]) != found[0]


@pytest.mark.slow
def test_a_cpu_without_wide_and_fused_instructions_gives_the_same():
    """The loop compiled for the least CPU of its kind, and numpy without what it has for larger ones: nothing may depend on them."""
    from numpy._core._multiarray_umath import __cpu_dispatch__

    least = {"NUMBA_CPU_NAME": "generic", "NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", REPEAT], cwd=ROOT, env={**os.environ, **least}, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [run["digest"] for run in RECORDED["runs"]]
