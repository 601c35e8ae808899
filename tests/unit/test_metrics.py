"""Statistics: against hand-worked numbers and known laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofancore import Scenario, metrics, simulate
from ofancore.result import scenario_columns


def test_mean_interval_by_hand():
    mean, low, high = metrics.mean_interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert high - mean == pytest.approx(4.3027 / math.sqrt(3))
    assert mean - low == pytest.approx(high - mean)


def test_one_value_is_its_own_interval_and_nan_spreads():
    assert metrics.mean_interval([5.0]) == (5.0, 5.0, 5.0)
    assert all(math.isnan(x) for x in metrics.mean_interval([1.0, math.nan]))
    assert all(math.isnan(x) for x in metrics.mean_interval([]))


def test_interval_covers_as_it_says():
    rng = np.random.default_rng(1)
    samples = rng.normal(0, 1, (4000, 5))
    inside = sum(low <= 0 <= high for _, low, high in map(metrics.mean_interval, samples))
    assert 0.94 < inside / 4000 < 0.96


def test_t_quantiles_decrease_towards_the_normal_one():
    values = [metrics.t_quantile(d) for d in range(1, 200)]
    assert all(a > b for a, b in itertools.pairwise(values))
    assert values[-1] == pytest.approx(1.972, abs=0.002)
    assert math.isnan(metrics.t_quantile(0))


@given(power=st.floats(-2, 2), factor=st.floats(0.1, 10))
def test_exact_powers_are_found(power, factor):
    x = np.array([1.0, 4.0, 16.0, 64.0])
    assert metrics.exponent(x, factor * x**power) == pytest.approx(power, abs=1e-9)


def table(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_fitted_exponent_is_one_fit_a_seed():
    m = [1, 4, 16] * 2
    runs = table(m=m, y=[v**0.5 for v in m[:3]] + [v**0.7 for v in m[3:]], seed=[0] * 3 + [1] * 3)
    power, low, high = metrics.fitted_exponent(runs, "m", "y")
    assert power == pytest.approx(0.6)
    assert (low, high) == (pytest.approx(0.6 - 12.7062 * 0.1), pytest.approx(0.6 + 12.7062 * 0.1))
    assert math.isnan(metrics.fitted_exponent(runs, "m", "y", beyond=16)[0])
    assert math.isnan(metrics.fitted_exponent(runs.assign(y=0.0), "m", "y")[0])


def test_ratio_of_paired_seeds():
    top, bottom = np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0])
    assert metrics.ratio_interval(top, bottom) == (2.0, 2.0, 2.0)  # paired: every draw gives 2
    with pytest.raises(ValueError, match="same seeds"):
        metrics.ratio_interval(top, bottom[:2])


def test_ratio_is_repeatable():
    rng = np.random.default_rng(0)
    a, b = rng.random(10) + 1, rng.random(10) + 1
    assert metrics.ratio_interval(a, b) == metrics.ratio_interval(a, b)
    point, low, high = metrics.ratio_interval(a, b)
    assert low < point < high


def test_ratios_by_point_and_scheme():
    runs = table(
        at=[1, 1, 1, 1, 2, 2],
        label=["a", "a", "b", "b", "a", "b"],
        seed=[0, 1, 1, 0, 0, 0],
        q=[4.0, 8.0, 2.0, 1.0, 9.0, 3.0],
        finished=[True] * 6,
    )
    found = metrics.ratios(runs, ["at"], "q", "b")
    assert found[["at", "label", "mean", "low", "high", "seeds"]].values.tolist() == [
        [1, "a", 4.0, 4.0, 4.0, 2],
        [2, "a", 3.0, 3.0, 3.0, 1],
    ]
    assert metrics.ratios(runs[runs["at"] == 2], [], "q", "b")["mean"].tolist() == [3.0]


def test_ratios_leave_out_seeds_of_which_a_run_did_not_finish():
    runs = table(label=["a", "a", "b", "b"], seed=[0, 1, 0, 1], q=[4.0, 8.0, 1.0, math.nan], finished=[True, True, True, False])
    (row,) = metrics.ratios(runs, [], "q", "b").to_dict("records")
    assert (row["mean"], row["seeds"], row["unfinished"]) == (4.0, 2, 1)
    (row,) = metrics.ratios(runs[runs["seed"] == 1], [], "q", "b").to_dict("records")
    assert math.isnan(row["mean"])


def test_collective_steps_are_all_where_nothing_is_said():
    runs = pd.DataFrame({"workload.ranks": [None, 10, None], "workload.steps": [None, None, 4], "fabric.radix": [8, 8, 8]})
    assert metrics.collective_steps(runs).tolist() == [127, 9, 4]


def test_unfinished_runs_are_counted_and_left_out_of_the_mean():
    runs = table(label=["a", "a", "b"], cct=[1.0, math.nan, math.nan], finished=[True, False, False])
    s = metrics.summarise(runs, ["label"], "cct", scale=10).set_index("label")
    assert s.loc["a", ["mean", "seeds", "unfinished"]].tolist() == [10.0, 2, 1]
    assert math.isnan(s.loc["b", "mean"])
    assert s.loc["b", "unfinished"] == 1


def test_select_never_answers_with_nothing():
    runs = table(a=[1, 2], b=[0.1, None])
    assert len(metrics.select(runs, {"a": 1})) == 1
    assert metrics.select(runs, {"b": None})["a"].tolist() == [2]
    with pytest.raises(KeyError, match="no runs"):
        metrics.select(runs, {"a": 3})
    with pytest.raises(KeyError, match="not a column"):
        metrics.select(runs, {"c": 3})


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (1.234, "1.2"), (0.01234, "0.012"), (123.4, "123"), (-2.5e-7, "-2.5e-07"), (math.nan, "n/a")]
)
def test_numbers_for_prose(value, text):
    assert metrics.shown(value) == text


def test_intervals_for_prose():
    assert metrics.shown(1.234, 1.1, 1.4) == "1.2 [1.1, 1.4]"
    assert metrics.shown(2.0, 2.0, 2.0) == "2.0"
    assert metrics.percent(0.01234) == "1.2%"
    assert metrics.span([3.21, 1.0, 2.0]) == "1.0 to 3.2"
    assert metrics.span([1.0, 1.0]) == "1.0"


@pytest.mark.parametrize("tiers", [2, 3])
def test_the_metrics_are_those_of_a_run(tiers):
    row = simulate(Scenario.from_dict({"fabric": {"radix": 4, "tiers": tiers}, "workload": {"message_packets": 1}})).row()
    others = {*scenario_columns(Scenario()), "finished", "collectives", "scenario", "digest", "source"}
    assert sorted(row.keys() - others) == sorted(metrics.METRICS + (metrics.OF_THREE_TIERS if tiers == 3 else ()))
    assert all(isinstance(row[name], int | float) for name in metrics.METRICS)
