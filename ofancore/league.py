"""The league: every balancer in the same settings, ranked by how long its collectives take.

A setting is a workload under a condition (healthy, failures). A run's slowdown is its CCT over the ideal; a run that did not finish has the
time at which it was stopped in place of its CCT, so its slowdown is a lower bound. A scheme's slowdown is the geometric mean over all
settings: half the time in one setting makes up for twice the time in another. Means and intervals are over seeds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ofancore.balancers import BALANCERS
from ofancore.metrics import mean_interval

# What a scheme costs and does beside its slowdown: column -> (title with unit, how the runs of all settings become one number)
COSTS = {
    "unfinished": ("not finished (runs)", "sum"),
    "queue_max_packets": ("largest queue (packets)", "max"),
    "dropped_percent": ("dropped (%)", "mean"),
    "reordered_percent": ("reordered (%)", "mean"),
    "switch_bytes": ("state a switch (B)", "max"),
    "host_bytes": ("state a host (B)", "max"),
}


def slowdowns(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with `slowdown` (see above) and the columns of `COSTS`."""
    time = runs["cct_ns"].where(runs["finished"].astype(bool), runs["ended_ns"])
    states = [c for c in ("state_bytes_per_switch_edge", "state_bytes_per_switch_agg") if c in runs]
    return runs.assign(
        slowdown=time / runs["ideal_ns"],
        unfinished=~runs["finished"].astype(bool),
        dropped_percent=100 * runs["packets_dropped"] / runs["packets_sent"],
        reordered_percent=100 * runs["reorder_fraction"],
        switch_bytes=runs[states].max(axis=1),
        host_bytes=runs["state_bytes_per_host"],
    )


def in_settings(runs: pd.DataFrame, settings: list[str]) -> pd.DataFrame:
    """One row a setting and scheme: mean CCT above the ideal in percent with its 95% interval, seeds, runs not finished."""
    rows = []
    for key, group in runs.groupby([*settings, "label"], sort=False):
        mean, low, high = mean_interval(100 * (group["slowdown"] - 1))
        rows.append([*key, mean, low, high, len(group), int(group["unfinished"].sum())])
    return pd.DataFrame(rows, columns=[*settings, "label", "mean", "low", "high", "seeds", "unfinished"])


def standings(runs: pd.DataFrame, settings: list[str]) -> pd.DataFrame:
    """One row a scheme, best first: rank, slowdown with its 95% interval, the columns of `COSTS`, and where the scheme is described.

    ValueError if a scheme lacks a setting or a seed that another one has: it would be compared on other ground.
    """
    grounds = {label: set(map(tuple, group[[*settings, "seed"]].to_numpy())) for label, group in runs.groupby("label")}
    full = set.union(*grounds.values())
    for label, ground in grounds.items():
        if ground != full:
            raise ValueError(f"{label}: {len(full - ground)} of {len(full)} settings and seeds are missing")
    rows = []
    for label, group in runs.groupby("label"):
        per_seed = np.log(group["slowdown"]).groupby(group["seed"]).mean()
        mean, low, high = np.exp(mean_interval(per_seed))
        costs = {name: getattr(group[name], how)() for name, (_, how) in COSTS.items()}
        kind = group["balancer.kind"].iloc[0]
        described = f"{BALANCERS[kind].__module__.replace('.', '/')}.py" if kind in BALANCERS else ""
        rows.append({"label": label, "mean": mean, "low": low, "high": high, "seeds": len(per_seed)} | costs | {"described_in": described})
    table = pd.DataFrame(rows).sort_values("mean", kind="stable", ignore_index=True)
    table.insert(0, "rank", np.arange(1, len(table) + 1))
    return table
