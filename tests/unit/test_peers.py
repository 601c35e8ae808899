"""The peers' data: what the configs simulate is what was simulated there."""

import csv
from pathlib import Path

import pytest

from ofancore.config import load_config
from ofancore.workloads.connection_matrix import parse_matrix

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "data" / "peers"


@pytest.mark.parametrize("name", ["paper", "smoke"])
def test_the_pairs_are_those_of_the_matrices(name):
    experiment = load_config(ROOT / "config" / f"{name}.yaml", scenarios=False).experiments["peers"]
    for point in experiment.points:
        hosts = point["fabric.radix"] ** 3 // 4
        matrix = parse_matrix((PEERS / f"permutation_{hosts}.cm").read_text(), "it")
        pairs = [[at.src, at.dst] for at in matrix.connections]
        assert matrix.nodes == len(pairs) == hosts
        assert {(at.start, at.size) for at in matrix.connections} == {(0, 2_000_000)}
        assert point["workload.pairs"] == pairs
        assert sorted(a for a, _ in pairs) == sorted(b for _, b in pairs) == list(range(hosts))


def test_a_message_has_the_packets_of_2_000_000_bytes():
    scenario = load_config(ROOT / "config" / "paper.yaml", scenarios=False).experiments["peers"].scenario
    payload, packets = scenario["packet"]["payload_bytes"], scenario["workload"]["message_packets"]
    assert (packets - 1) * payload < 2_000_000 <= packets * payload
    assert scenario["fabric"]["buffer_bytes"] == 153 * (payload + scenario["packet"]["header_bytes"])


def test_the_published_run_is_one_of_the_seeds():
    """The default seed, 13, gives the times of the table of single runs."""
    with open(PEERS / "uet_htsim_seeds.csv") as file:
        seeds = {(r["scheme"], r["hosts"]): r for r in csv.DictReader(file) if (r["variant"], r["seed"]) == ("default", "13")}
    with open(PEERS / "htsim_permutation_2MB.csv") as file:
        single = [r for r in csv.DictReader(file) if r["simulator"].startswith("ultraethernet") and (r["scheme"], r["hosts"]) in seeds]
    assert len(single) == len(seeds) == 10
    for row in single:
        for time in ("last_completion_us", "mean_completion_us"):
            assert float(row[time]) == pytest.approx(float(seeds[row["scheme"], row["hosts"]][time]), abs=0.002)


def rows(name: str) -> list[dict]:
    with open(PEERS / name) as file:
        return list(csv.DictReader(file))


def test_queues_are_of_the_same_runs():
    """What was added there to see the queues changed no decision."""
    times = {(r["scheme"], r["hosts"], r["variant"], r["seed"]): float(r["last_completion_us"]) for r in rows("uet_htsim_seeds.csv")}
    queues = rows("uet_htsim_queues.csv")
    compared = 0
    for row in queues:
        at = (row["scheme"], row["hosts"], row["variant"], row["seed"])
        assert times.get(at, float(row["last_completion_us"])) == float(row["last_completion_us"])
        compared += at in times
    assert compared == 120  # 5 schemes and round robin with one list a switch, 2 sizes, 10 seeds
    assert {(r["scheme"], r["hosts"]) for r in queues} == {(s, n) for s in {r["scheme"] for r in queues} for n in ("16", "128")}


def test_our_speed_is_of_the_same_traffic():
    """The hops that are divided by seconds, recounted from the matrices, and of random permutations for the rest."""
    ours = rows("ofan_speed.csv")
    assert {int(r["hosts"]) for r in ours} == {16, 128, 1024, 8192} == {int(r["hosts"]) for r in rows("htsim_speed.csv")}
    for row in ours:
        hosts, hops = int(row["hosts"]), int(row["data_hops"])
        assert int(row["data_packets"]) == 497 * hosts
        half = round((hosts / 2) ** (1 / 3))  # of a k-ary fat tree with k = 2 half: hosts of an edge switch; half ** 2 of a pod
        if hosts <= 128:
            matrix = parse_matrix((PEERS / f"permutation_{hosts}.cm").read_text(), "it")
            assert hops == 497 * sum(
                2 + 2 * (c.src // half != c.dst // half) + 2 * (c.src // half**2 != c.dst // half**2) for c in matrix.connections
            )
        else:
            assert hops / int(row["data_packets"]) == pytest.approx(6 - 2 * (half - 1 + half**2 - 1) / (hosts - 1), rel=0.01)
