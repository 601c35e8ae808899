"""The peers' data: what the configs simulate is what was simulated there."""

import csv
import re
from pathlib import Path

import pytest

from ofancore.config import load_config

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "data" / "peers"


def read_cm(path: Path) -> tuple[int, list[list[int]]]:
    """Hosts and pairs of a connection matrix of which every flow starts at 0 and has 2,000,000 bytes."""
    text = path.read_text()
    nodes, flows = (int(re.search(rf"^{word} (\d+)$", text, re.M)[1]) for word in ("Nodes", "Connections"))
    pairs = [[int(a), int(b)] for a, b in re.findall(r"^(\d+)->(\d+) id \d+ start 0 size 2000000$", text, re.M)]
    assert len(pairs) == flows
    return nodes, pairs


@pytest.mark.parametrize("name", ["paper", "smoke"])
def test_the_pairs_are_those_of_the_matrices(name):
    experiment = load_config(ROOT / "config" / f"{name}.yaml", scenarios=False).experiments["peers"]
    for point in experiment.points:
        hosts = point["fabric.radix"] ** 3 // 4
        nodes, pairs = read_cm(PEERS / f"permutation_{hosts}.cm")
        assert nodes == hosts
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
