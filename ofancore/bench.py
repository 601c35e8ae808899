"""Packet-hops a second on fixed cases: permutation with in-band ACKs, default buffers, ECN on.

A packet-hop is one packet or ACK over one link. The loop alone is timed (`Result.wall_s`); compilation, set-up and metrics are not.
`peak_mib` is the largest resident size of the process so far, so cases run from small to large.
"""

from __future__ import annotations

import platform
import resource
import statistics
import sys
from typing import Any

from ofancore.scenario import Scenario
from ofancore.simulate import simulate

OPEN = {"congestion": {"kind": "line_rate"}, "recovery": {"kind": "erasure"}}
CLOSED = {"congestion": {"kind": "mswift"}, "recovery": {"kind": "sack"}}
CASES = [  # radix, packets, schemes, runs, threads, transport
    (8, 4096, ("ofan", "ops"), 5, 1, OPEN),
    (8, 4096, ("ofan", "ops"), 5, 1, CLOSED),
    (16, 489, ("ofan", "ops"), 5, 1, OPEN),
    (16, 489, ("ofan", "ops"), 5, 1, CLOSED),
    (16, 489, ("ofan", "ops"), 5, 2, OPEN),
    (32, 489, ("ofan", "ops"), 5, 1, OPEN),
    (32, 489, ("ofan", "ops"), 5, 2, OPEN),
    (64, 64, ("ofan",), 1, 1, OPEN),
]


def bench(quick: bool = False) -> dict[str, Any]:
    """Medians by case, and a line about the machine."""
    rows = []
    for radix, packets, schemes, runs, threads, transport in CASES[:2] if quick else CASES:
        for scheme in schemes:
            scenario = Scenario.from_dict(
                {"fabric": {"radix": radix}, "workload": {"message_packets": packets}, "balancer": {"kind": scheme}} | transport
            )
            simulate(Scenario.from_dict({"fabric": {"radix": 4}}), threads)  # compile before the clock runs
            results = [simulate(scenario, threads) for _ in range(3 if quick else runs)]
            rates = [r.packet_hops / r.wall_s / 1e6 for r in results]
            rows.append(
                {
                    "hosts": scenario.shape.n_hosts,
                    "packets": packets,
                    "balancer": scheme,
                    "congestion": transport["congestion"]["kind"],
                    "recovery": transport["recovery"]["kind"],
                    "threads": threads,
                    "packet_hops": results[0].packet_hops,
                    "million_hops_per_s": {
                        "median": round(statistics.median(rates), 2),
                        "min": round(min(rates), 2),
                        "max": round(max(rates), 2),
                    },
                    "loop_s": round(statistics.median(r.wall_s for r in results), 3),
                    "runs": len(rates),
                    "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
                }
            )
            row = rows[-1]
            speed = row["million_hops_per_s"]["median"]
            print(f"{row['hosts']} hosts, {scheme}, {row['congestion']}, {threads} thread(s): {speed} M/s", file=sys.stderr)
    return {"machine": f"{platform.machine()} {platform.system()} Python {platform.python_version()}", "cases": rows}
