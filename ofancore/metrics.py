"""Statistics on tables of runs: means with intervals, fitted exponents, ratios. Pure functions, no files.

A table has one row per run, with dotted scenario columns, `label`, `seed` and the metrics. Seeds are the replicates: an
interval always says what another set of seeds would give, never anything about the model.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

# Two-sided 95% quantiles of Student's t for 1..30 degrees of freedom; beyond, the normal one with its first correction.
T_95 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448, 2.1314,
    2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
BOOTSTRAP_DRAWS = 4000

_QUEUES = ("host_edge", "edge_agg", "agg_core", "core_agg", "agg_edge", "edge_host")
# The metrics of a raw table, a column of numbers each.
METRICS = (
    "ended_ns", "cct_ns", "mean_done_ns", "last_data_ns", "lower_bound_ns", "ideal_ns", "cct_over_ideal", "cct_inflation",
    *(f"queue_max_bytes_{link}" for link in _QUEUES), *(f"queue_mean_bytes_{link}" for link in _QUEUES),
    "queue_max_packets", "queue_mean_packets", *(f"link_overload_{link}" for link in _QUEUES[1:5]),
    "drops_buffer", "drops_dead_link", "drops_no_route", "drops_random",
    "replaced_packets", "resent_packets", "spurious_packets", "timeouts", "trimmed_packets", "refused_packets", "ecn_marks",
    "packets_sent", "packets_delivered", "packets_dropped", "packets_in_flight", "reorder_fraction", "reorder_max_packets", "utilisation",
    "pointers_per_switch_edge", "state_bytes_per_switch_edge", "state_bytes_per_host", "packet_hops", "step_ns", "compute_ns", "exposed_ns",
)  # fmt: skip
OF_THREE_TIERS = ("pointers_per_switch_agg", "state_bytes_per_switch_agg")  # there as well if a run's fabric has three tiers


def t_quantile(degrees: int) -> float:
    """The factor of a 95% interval; NaN without a degree of freedom."""
    if degrees < 1:
        return math.nan
    return T_95[degrees - 1] if degrees <= len(T_95) else 1.95996 + 2.4 / degrees


def mean_interval(values) -> tuple[float, float, float]:
    """Mean and 95% t-interval. One value has no interval: its ends are the value itself. Not-finished runs are NaN and spoil the mean."""
    x = np.asarray(values, dtype=float)
    mean = float(x.mean()) if len(x) else math.nan
    if len(x) < 2 or not math.isfinite(mean):
        return mean, mean, mean
    half = t_quantile(len(x) - 1) * float(x.std(ddof=1)) / math.sqrt(len(x))
    return mean, mean - half, mean + half


def summarise(runs: pd.DataFrame, by: list[str], metric: str, scale: float = 1.0) -> pd.DataFrame:
    """One row per combination of `by`: mean, low, high, seeds (runs), unfinished (runs that hit their time limit).

    The metric times `scale` (a unit); its mean is over the finished runs, so a figure must show `unfinished` where it is not 0.
    """
    rows = []
    for key, group in runs.groupby(by, sort=True, dropna=False, observed=True):
        done = group[group["finished"].astype(bool)] if "finished" in group else group
        mean, low, high = mean_interval(done[metric] * scale)
        rows.append([*(key if isinstance(key, tuple) else (key,)), mean, low, high, len(group), len(group) - len(done)])
    return pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "seeds", "unfinished"])


def exponent(x, y) -> float:
    """Least-squares slope of log y against log x."""
    x, y = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    x = x - x.mean()
    return float((x @ y) / (x @ x))


def fitted_exponent(runs: pd.DataFrame, along: str, metric: str, beyond: float | None = None) -> tuple[float, float, float]:
    """The power b in metric ~ along^b with its interval: one fit per seed, then mean and t-interval over seeds.

    `runs` holds one scheme; points below `beyond` are left out. A metric of zero or below has no logarithm: NaN.
    """
    if beyond is not None:
        runs = runs[runs[along] >= beyond]
    if runs[along].nunique() < 2 or not (runs[metric] > 0).all():
        return math.nan, math.nan, math.nan
    slopes = [exponent(group[along], group[metric]) for _, group in runs.groupby("seed")]
    return mean_interval(slopes)


def ratio_interval(top, bottom) -> tuple[float, float, float]:
    """Ratio of means, with a 95% percentile-bootstrap interval over paired seeds.

    The same seed gives all schemes the same workload and failures, so seeds are drawn together. The draws are the same
    every time: a result file is a function of its inputs.
    """
    a, b = np.asarray(top, dtype=float), np.asarray(bottom, dtype=float)
    if len(a) != len(b):
        raise ValueError(f"a ratio needs the same seeds above and below, got {len(a)} and {len(b)}")
    point = float(a.mean() / b.mean()) if b.mean() else math.nan
    if len(a) < 2 or not math.isfinite(point):
        return point, point, point
    picks = np.random.default_rng(20250728).integers(0, len(a), (BOOTSTRAP_DRAWS, len(a)))
    below = b[picks].mean(axis=1)
    ratios = a[picks].mean(axis=1)[below != 0] / below[below != 0]
    low, high = np.percentile(ratios, [2.5, 97.5])
    return point, float(low), float(high)


def ratios(runs: pd.DataFrame, by: list[str], metric: str, against: str) -> pd.DataFrame:
    """How many times the metric of the scheme `against` each other scheme has: one row per combination of `by` and `label`.

    The columns are those of `summarise`. Seeds of which the run of either scheme did not finish are left out, and counted.
    """
    rows = []
    below = runs[runs["label"] == against]
    for key, group in runs[runs["label"] != against].groupby([*by, "label"], sort=True, dropna=False, observed=True):
        there = below
        for column, value in zip(by, key, strict=False):
            there = there[there[column].isna() if pd.isna(value) else there[column] == value]
        pairs = group.merge(there, on="seed", suffixes=("", "_below"))
        done = pairs[pairs["finished"].astype(bool) & pairs["finished_below"].astype(bool)]
        ratio, low, high = ratio_interval(done[metric], done[f"{metric}_below"]) if len(done) else (math.nan,) * 3
        rows.append([*key, ratio, low, high, len(pairs), len(pairs) - len(done)])
    return pd.DataFrame(rows, columns=[*by, "label", "mean", "low", "high", "seeds", "unfinished"])


def collective_steps(runs: pd.DataFrame) -> pd.Series:
    """Steps of a training run's collectives: what its scenario says, or all that there are for its ranks."""
    ranks = runs["workload.ranks"].astype(float).fillna(runs["fabric.radix"] ** 3 // 4)
    return runs["workload.steps"].astype(float).fillna(ranks - 1).astype(int)


def select(runs: pd.DataFrame, where: dict) -> pd.DataFrame:
    """The rows at a point: dotted key -> value. An unknown key or an empty answer is an error, never an empty result."""
    chosen = runs
    for key, value in where.items():
        if key not in chosen:
            raise KeyError(f"{key} is not a column of the runs")
        column = chosen[key]
        chosen = chosen[column.isna() if value is None else column == value]
    if chosen.empty:
        raise KeyError(f"no runs where {where}")
    return chosen


def shown(value: float, low: float | None = None, high: float | None = None, digits: int = 2) -> str:
    """`1.23 [1.1, 1.4]` for prose and tables, with `digits` significant digits and no exponent where it can be helped."""

    def text(x: float) -> str:
        if x is None or not math.isfinite(x):
            return "n/a"
        if x == 0 or 1e-4 <= abs(x) < 1e6:
            decimals = 0 if x == 0 else max(0, digits - 1 - math.floor(math.log10(abs(x))))
            return f"{x:.{decimals}f}"
        return f"{x:.{digits - 1}e}"

    if low is None or high is None or low == high:
        return text(value)
    return f"{text(value)} [{text(low)}, {text(high)}]"


def span(values, digits: int = 2) -> str:
    """`1.2 to 3.4`: smallest and largest, for prose."""
    low, high = shown(min(values), digits=digits), shown(max(values), digits=digits)
    return low if low == high else f"{low} to {high}"


def hosts(runs: pd.DataFrame) -> pd.Series:
    """The number of hosts of each run (a row with the scenario's `fabric.` columns; without the one for tiers, of a fat tree of three)."""
    if "fabric.tiers" not in runs:
        return runs["fabric.radix"] ** 3 // 4
    return (runs["fabric.radix"] ** 3 // 4).where(runs["fabric.tiers"] == 3, runs["fabric.radix"] ** 2 // 2)


def extent(values) -> str:
    """`16 to 1,024`: smallest and largest as they are, for what was set and not measured."""
    low, high = f"{min(values):,g}", f"{max(values):,g}"
    return low if low == high else f"{low} to {high}"


def percent(value: float, digits: int = 2) -> str:
    return shown(100 * value, digits=digits) + "%"
