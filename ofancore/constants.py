"""Constants of schemes varied one at a time: what each value does to the CCT beside ours.

The table of runs is that of an experiment with `one_at_a_time` (see `plan.Group`): at every point a scheme runs as it is, with our
constants, and then with one key at another value. A run's slowdown is the league's (`league.slowdowns`): CCT over its lower bound, or the
time at which the run was stopped. A value is compared with ours seed by seed, under the same traffic and the same failures: its factor is
the geometric mean, over seeds (and over settings), of its slowdown over that of ours; below 1 it is faster. Intervals are over seeds.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ofancore.metrics import mean_interval
from ofancore.palette import order

PART = "balancer."
MATTERS = 1.1  # a constant matters if its slowest value takes a tenth longer than its fastest one; clearly so, if the interval is above 1
UNSET = {"gap_ns": "half a base RTT", "units": "16 a path", "sample_ns": "none: no delay"}  # what a default of null means, in short


def in_words(name: str, value) -> str:
    """A value with its unit: a constant named _ns in ns or µs."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return UNSET.get(name, "null")
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if name.endswith("_ns"):
        return f"{value / 1000:,.6g} µs" if value >= 1000 else f"{value:,.6g} ns"
    return f"{value:,.6g}"


def title(name: str) -> str:
    """A key of a scheme, as figures name it; its unit goes with the values."""
    return name.removesuffix("_ns").replace("_", " ")


def _rank(value) -> tuple:
    """What is not a number first (as null is), then by size."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_) and not math.isnan(value)
    return (1, float(value)) if number else (0, 0.0)


def one_by_one(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with `constant`, `value` (in words), `place` (of the value among the constant's) and `ours`.

    Those of a scheme as it is stand there once for each of its constants. A scheme's first run says what it is (`Group.variants` puts it
    first). ValueError if a run differs from it in more than one constant: then nothing could be said of either.
    """
    parts = []
    for label in dict.fromkeys(runs["label"]):
        of = runs[runs["label"] == label]
        keys = [c for c in of if c.startswith(PART) and c not in (f"{PART}kind", f"{PART}code") and of[c].nunique(dropna=False) > 1]
        ours = of.iloc[0]
        same = pd.DataFrame({key: of[key].isna() if pd.isna(ours[key]) else of[key] == ours[key] for key in keys}, index=of.index)
        if (len(keys) - same.sum(axis=1)).max() > 1:
            raise ValueError(f"{label}: a run has more than one constant at another value than the first run")
        as_it_is = same.all(axis=1)
        for key in keys:
            part, name = of[as_it_is | ~same[key]], key.removeprefix(PART)
            values = sorted(part[key].astype(object).drop_duplicates(), key=_rank)
            words = [in_words(name, value) for value in values]
            said = part[key].map(lambda value, name=name: in_words(name, value))
            parts.append(part.assign(constant=name, value=said, place=said.map(words.index), ours=same.loc[part.index, key]))
    if not parts:
        raise ValueError("no scheme has a constant at more than one value: say which in `one_at_a_time`")
    return pd.concat(parts, ignore_index=True)


def _factor(logs: pd.Series) -> tuple[float, float, float]:
    """Factor and its interval from logarithms, one a seed."""
    return tuple(float(x) for x in np.exp(mean_interval(logs)))


def _against(varied: pd.DataFrame, value: str, other: str, settings: list[str]) -> pd.Series:
    """Logarithm of the slowdown at a value over that at another one, by setting and seed. `varied`: one constant."""
    at = {v: np.log(varied[varied["value"] == v].set_index([*settings, "seed"])["slowdown"]) for v in {value, other}}
    return at[value] - at[other]


def effects(varied: pd.DataFrame, setting: str) -> pd.DataFrame:
    """One row a setting, constant and value: CCT above the lower bound in percent with its interval, the factor over ours with its interval
    (`factor`, `factor_low`, `factor_high`), largest queue, dropped packets, seeds, runs not finished."""
    rows = []
    for (label, constant, at), part in varied.groupby(["label", "constant", setting], sort=False):
        ours = part.loc[part["ours"], "value"].iloc[0]
        for (place, value), group in part.groupby(["place", "value"], sort=True):
            if group["seed"].duplicated().any():
                raise ValueError(f"{label}, {at}: several runs a seed; the settings' names must tell runs apart")
            mean, low, high = mean_interval(100 * (group["slowdown"] - 1))
            factor, factor_low, factor_high = _factor(_against(part, value, ours, []))
            rows.append({
                "label": label, "constant": constant, setting: at, "value": value, "place": place, "ours": value == ours,
                "mean": mean, "low": low, "high": high, "factor": factor, "factor_low": factor_low, "factor_high": factor_high,
                "queue_max_packets": group["queue_max_packets"].max(), "dropped_percent": group["dropped_percent"].mean(),
                "seeds": len(group), "unfinished": int(group["unfinished"].sum()),
            })  # fmt: skip
    return pd.DataFrame(rows)


def verdicts(varied: pd.DataFrame, setting: str) -> pd.DataFrame:
    """One row a constant, those that matter most first: ours, the values, over all settings the best and the worst value with their factors
    over ours (ours: 1), the worst's over the best's (`spread`), whether ours is within the interval of the best, whether it matters
    (yes, no; perhaps: by its mean, but seeds differ).
    """
    rows = []
    for (label, constant), part in varied.groupby(["label", "constant"], sort=False):
        values = part.sort_values("place")["value"].drop_duplicates().tolist()
        ours = part.loc[part["ours"], "value"].iloc[0]

        def factor(value: str, other: str, part: pd.DataFrame = part) -> tuple[float, float, float]:
            return _factor(_against(part, value, other, [setting]).groupby("seed").mean())

        by_value = {value: factor(value, ours) for value in values}
        best = min(values, key=lambda v: (by_value[v][0], v != ours))
        worst = max(values, key=lambda v: (by_value[v][0], v != ours))
        spread, low, high = factor(worst, best)
        rows.append({
            "label": label, "constant": constant, "ours": ours, "values": ", ".join(v for v in values if v != ours),
            "best": best, "best_factor": by_value[best][0], "best_low": by_value[best][1], "best_high": by_value[best][2],
            "worst": worst, "worst_factor": by_value[worst][0], "worst_low": by_value[worst][1], "worst_high": by_value[worst][2],
            "spread": spread, "spread_low": low, "spread_high": high,
            "ours_within": best == ours or by_value[best][1] <= 1 <= by_value[best][2],
            "matters": "no" if spread < MATTERS else "yes" if low > 1 else "perhaps",
        })  # fmt: skip
    table = pd.DataFrame(rows)
    return table.sort_values("spread", ascending=False, kind="stable", ignore_index=True)


def extremes(table: pd.DataFrame, setting: str) -> dict:
    """Of the effects of one constant, by setting: least and most mean CCT above the lower bound (percent), at which values, and ours."""
    found = {}
    for at, part in table.groupby(setting, sort=False):
        low, high, ours = part.loc[part["mean"].idxmin()], part.loc[part["mean"].idxmax()], part[part["ours"]].iloc[0]
        found[at] = {
            "ours": ours["mean"], "smallest": low["mean"], "smallest_at": low["value"],
            "largest": high["mean"], "largest_at": high["value"], "unfinished": int(part["unfinished"].sum()),
        }  # fmt: skip
    return found


def halves(table: pd.DataFrame) -> list[list[str]]:
    """The labels in the palette's order, cut in two where the number of rows to draw is most alike."""
    labels = order(table["label"])
    rows = table.drop_duplicates(["label", "constant", "value"]).groupby("label").size() + 1
    total = [int(rows[labels[:i]].sum()) for i in range(len(labels) + 1)]
    cut = min(range(len(labels) + 1), key=lambda i: abs(2 * total[i] - total[-1]))
    return [labels[:cut], labels[cut:]]
