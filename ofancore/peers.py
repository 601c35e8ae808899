"""How fast this simulator is on the traffic that public simulators were run on: what made `data/peers/ofan_speed.csv`.

    NUMBA_NUM_THREADS=1 python -m ofancore.peers > ofan_speed.csv

The experiment `peers` of `config/paper.yaml`, seed 0, each run in a process of its own, as theirs; beyond 128 hosts a random permutation
(as theirs were, of another seed). Columns: `user_s` is the process's time in user mode, start of Python and loading of machine code
included; `simulate_s` the processor seconds of `simulate` alone, set-up and metrics included; both medians over `repeats`. `data_packets`
and `data_hops` are what was to be done: packets of the messages, and the links that they cross on a shortest path, without ACKs and what
was sent again.
"""

from __future__ import annotations

import csv
import json
import resource
import statistics
import subprocess
import sys

import numpy as np

from ofancore.config import ROOT, load_config
from ofancore.plan import expand
from ofancore.scenario import Scenario

SCHEMES = ("ecmp", "ops_64", "reps_64", "spectrum_ar", "ofan")
ON_LARGEST = ("ops_64", "reps_64", "ofan")
LARGER = (16, 32)  # radixes that the experiment does not have
REPEATS = 3

CHILD = """
import json, resource, sys, time
from ofancore import Scenario, simulate
scenario = Scenario.from_dict(json.load(sys.stdin))
simulate(Scenario.from_dict({"fabric": {"radix": 4}}), 1)  # loads the machine code
start = time.process_time()
result = simulate(scenario, 1)
seconds = time.process_time() - start
pairs = result.flows[["src", "dst", "packets"]].values.tolist()
print(json.dumps([seconds, pairs, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def timed(scenario: dict) -> tuple[float, float, list, float]:
    """User seconds of a process that runs a scenario, processor seconds of `simulate`, its flows, peak MiB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([sys.executable, "-c", CHILD], input=json.dumps(scenario), capture_output=True, text=True, check=True)
    seconds, flows, memory = json.loads(done.stdout)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, seconds, flows, memory


def cases():
    """(label, radix, scenario)."""
    for group in load_config(ROOT / "config/paper.yaml", scenarios=False).groups(["peers"]):
        if group.label not in SCHEMES:
            continue
        small = expand(group, seeds=1)
        for scenario in small:
            yield group.label, scenario["fabric"]["radix"], scenario
        for radix in LARGER:
            if radix == max(LARGER) and group.label not in ON_LARGEST:
                continue
            workload = {"kind": "permutation", "message_packets": small[0]["workload"]["message_packets"]}
            yield group.label, radix, small[0] | {"fabric": small[0]["fabric"] | {"radix": radix}, "workload": workload}


def main() -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["scheme", "hosts", "repeats", "user_s", "simulate_s", "peak_rss_mb", "data_packets", "data_hops"])
    for label, radix, scenario in sorted(cases(), key=lambda case: case[1]):
        user, seconds, flows, memory = zip(*(timed(scenario) for _ in range(REPEATS)))
        src, dst, n = np.array(flows[0]).T
        packets, links = n.sum(), (n * Scenario.from_dict(scenario).shape.hops(src, dst)).sum()
        times = [f"{statistics.median(x):.3f}" for x in (user, seconds)]
        out.writerow([label, radix**3 // 4, REPEATS, *times, f"{max(memory):.0f}", packets, links])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
