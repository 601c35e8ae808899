"""Packet-hops a second on fixed cases: permutation with in-band ACKs, default buffers, ECN on.

A packet-hop is one packet or ACK over one link. The loop alone is timed (`Result.wall_s`); compilation, set-up and metrics are not. The
variants of a case run in turn, so that their ratios mean something on a machine whose speed drifts. `peak_mib` is the largest resident
size of the process so far, so cases run from small to large.
"""

from __future__ import annotations

import platform
import resource
import statistics
import sys
from typing import Any

from ofancore.scenario import Scenario
from ofancore.simulation import simulate

OPEN = {"congestion": {"kind": "line_rate"}, "recovery": {"kind": "erasure"}}
CLOSED = {"congestion": {"kind": "mswift"}, "recovery": {"kind": "sack"}}
BASE = (OPEN, 1)  # transport and threads
CASES = [  # radix, packets, schemes, runs, variants
    (8, 4096, ("ofan", "ops"), 5, (BASE, (CLOSED, 1))),
    (16, 489, ("ofan", "ops"), 5, (BASE, (CLOSED, 1), (OPEN, 2))),
    (32, 489, ("ofan", "ops"), 5, (BASE, (OPEN, 2))),
    (64, 64, ("ofan",), 1, (BASE,)),
]


def bench(quick: bool = False, balancers: list[str] | None = None) -> dict[str, Any]:
    """Medians by case, and a line about the machine. `balancers`: kinds in place of the cases' own."""
    rows = []
    for radix, packets, schemes, runs, variants in CASES[:1] if quick else CASES:
        for scheme in balancers or schemes:
            rows += run_case(radix, packets, scheme, 3 if quick else runs, variants)
    return {"machine": f"{platform.machine()} {platform.system()} Python {platform.python_version()}", "cases": rows}


def run_case(radix: int, packets: int, scheme: str, runs: int, variants) -> list[dict[str, Any]]:
    """One row a variant, the first of which the others' ratios refer to."""
    common = {"fabric": {"radix": radix}, "workload": {"message_packets": packets}, "balancer": {"kind": scheme}}
    scenarios = [Scenario.from_dict(common | transport) for transport, _ in variants]
    for threads in {threads for _, threads in variants}:
        simulate(Scenario.from_dict({"fabric": {"radix": 4}}), threads)  # compile before the clock runs
    results = [[simulate(s, threads) for s, (_, threads) in zip(scenarios, variants)] for _ in range(runs)]
    rates = [[r.packet_hops / r.wall_s / 1e6 for r in turn] for turn in results]
    rows = []
    for i, (transport, threads) in enumerate(variants):
        own = [turn[i] for turn in rates]
        row = {
            "hosts": scenarios[i].shape.n_hosts,
            "packets": packets,
            "balancer": scheme,
            "congestion": transport["congestion"]["kind"],
            "recovery": transport["recovery"]["kind"],
            "threads": threads,
            "packet_hops": results[0][i].packet_hops,
            "million_hops_per_s": {"median": round(statistics.median(own), 2), "min": round(min(own), 2), "max": round(max(own), 2)},
            "over_open_loop_on_one_thread": round(statistics.median(turn[i] / turn[0] for turn in rates), 2),
            "loop_s": round(statistics.median(turn[i].wall_s for turn in results), 3),
            "runs": runs,
            "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }
        rows.append(row)
        speed = row["million_hops_per_s"]["median"]
        print(f"{row['hosts']} hosts, {scheme}, {row['congestion']}, {threads} thread(s): {speed} M/s", file=sys.stderr)
    return rows
