"""Constants varied one at a time: their arithmetic, on runs made up by hand, and the chart form."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from ofancore import constants, league
from ofancore.charts import CUT, Axis, figure
from ofancore.constants import effects, extremes, halves, in_words, one_by_one, verdicts
from ofancore.ladder import ladder, placed

OURS = {"gap_ns": math.nan, "entries": 64.0, "timer": "exact"}


def runs(label: str, *slowness: tuple[dict, dict], ours: dict = OURS) -> pd.DataFrame:
    """Two seeds; of each run what differs from ours, and by setting how many times the bound of 100 ns for each seed (None: never)."""
    rows = []
    for changes, settings in slowness:
        for setting, times in settings.items():
            for seed, time in enumerate(times):
                values = {f"balancer.{name}": value for name, value in (ours | changes).items()}
                rows.append({
                    "label": label, "balancer.kind": label, "seed": seed, "setting": setting, **values, "finished": time is not None,
                    "cct_ns": math.nan if time is None else 100.0 * time, "ended_ns": 6400.0, "lower_bound_ns": 100.0,
                    "queue_max_packets": 5.0 + seed, "packets_dropped": 1, "packets_sent": 50, "reorder_fraction": 0.25,
                    "state_bytes_per_switch_edge": 8, "state_bytes_per_host": 3,
                })  # fmt: skip
    return league.slowdowns(pd.DataFrame(rows))


GAPS = runs(
    "flowlet",
    ({}, {"a": (2.0, 4.0), "b": (2.0, 2.0)}),
    ({"gap_ns": 100.0}, {"a": (1.0, 2.0), "b": (2.0, 2.0)}),
    ({"gap_ns": 5000.0}, {"a": (8.0, 16.0), "b": (8.0, 8.0)}),
    ({"timer": "age_bit"}, {"a": (2.0, 4.0), "b": (8.0, 0.5)}),
)


def test_a_scheme_as_it_is_stands_at_each_of_its_constants():
    table = one_by_one(GAPS)
    found = table.groupby("constant", sort=False)[["value", "ours", "place"]].apply(lambda t: t.drop_duplicates().to_numpy().tolist())
    assert dict(found) == {
        "gap_ns": [["half a base RTT", True, 0], ["100 ns", False, 1], ["5 µs", False, 2]],
        "timer": [["exact", True, 0], ["age_bit", False, 1]],
    }
    assert len(table) == 4 * 3 + 4 * 2  # entries: always ours


def test_two_changes_at_once_say_nothing_of_either():
    both = runs("flowlet", ({}, {"a": (1.0, 1.0)}), ({"gap_ns": 100.0, "timer": "age_bit"}, {"a": (1.0, 1.0)}))
    with pytest.raises(ValueError, match="flowlet: a run has more than one constant at another value"):
        one_by_one(both)


def test_a_value_is_compared_with_ours_seed_by_seed():
    """Twice and twice the time is a factor of 2 without doubt, however much the seeds differ."""
    table = effects(one_by_one(GAPS), "setting").set_index(["constant", "setting", "value"])
    half = table.loc[("gap_ns", "a", "100 ns")]
    assert [half[x] for x in ("factor", "factor_low", "factor_high")] == pytest.approx([0.5] * 3)
    assert (half["mean"], half["seeds"], half["unfinished"]) == (pytest.approx(50.0), 2, 0)  # 0 and 100% above the bound
    assert half["high"] > half["mean"] > half["low"]
    assert (half["queue_max_packets"], half["dropped_percent"]) == (6.0, 2.0)
    assert table.loc[("gap_ns", "a", "5 µs"), "factor"] == pytest.approx(4.0)
    unsure = table.loc[("timer", "b", "age_bit")]  # 4 and 1/4 times ours
    assert unsure["factor"] == pytest.approx(1.0)
    assert unsure["factor_high"] == pytest.approx(math.exp(12.7062 * math.log(4)), rel=1e-4)
    assert table[table["ours"]]["factor"].eq(1.0).all()


def test_what_did_not_finish_counts_with_the_time_it_had():
    table = effects(one_by_one(runs("flowlet", ({}, {"a": (4.0, 4.0)}), ({"gap_ns": 1.0}, {"a": (None, 4.0)}))), "setting")
    row = table[~table["ours"]].iloc[0]
    assert (row["factor"], row["unfinished"]) == (pytest.approx(4.0), 1)  # 16 times and once


def test_a_constant_matters_if_its_values_are_clearly_apart():
    table = verdicts(one_by_one(GAPS), "setting")
    assert list(table["constant"]) == ["gap_ns", "timer"]  # by spread
    gap, timer = table.iloc[0], table.iloc[1]
    assert (gap["ours"], gap["values"], gap["best"], gap["worst"]) == ("half a base RTT", "100 ns, 5 µs", "100 ns", "5 µs")
    assert gap["best_factor"] == pytest.approx(math.sqrt(0.5))  # half in one setting, the same in the other
    assert gap["worst_factor"] == pytest.approx(4.0)
    assert gap["spread"] == pytest.approx(4.0 / math.sqrt(0.5))
    assert (gap["ours_within"], gap["matters"]) == (False, "yes")
    assert timer["spread"] == pytest.approx(1.0)
    assert (timer["ours_within"], timer["matters"]) == (True, "no")


def test_seeds_that_differ_leave_it_open():
    unsure = runs("flowlet", ({}, {"a": (2.0, 2.0)}), ({"timer": "age_bit"}, {"a": (2.0, 8.0)}))
    row = verdicts(one_by_one(unsure), "setting").iloc[0]
    assert (row["worst"], row["spread"], row["matters"]) == ("age_bit", pytest.approx(2.0), "perhaps")
    assert row["spread_low"] < 1 < row["spread_high"]


def test_ours_is_called_best_in_a_tie():
    table = verdicts(
        one_by_one(runs("drill", ({}, {"a": (2.0, 2.0)}), ({"engines": 2.0}, {"a": (2.0, 2.0)}), ours={"engines": 1.0})), "setting"
    )
    row = table.iloc[0]
    assert (row["best"], row["best_factor"], row["worst"], row["ours_within"], row["matters"]) == ("1", 1.0, "2", True, "no")


def test_extremes_are_by_setting():
    table = effects(one_by_one(GAPS), "setting")
    found = extremes(table[table["constant"] == "gap_ns"], "setting")
    assert found["a"] == {
        "ours": 200.0, "smallest": 50.0, "smallest_at": "100 ns", "largest": 1100.0, "largest_at": "5 µs", "unfinished": 0,
    }  # fmt: skip
    assert (found["b"]["smallest"], found["b"]["largest_at"]) == (100.0, "5 µs")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("gap_ns", 300.0, "300 ns"), ("gap_ns", 1e5, "100 µs"), ("gap_ns", None, "half a base RTT"), ("units", math.nan, "16 a path"),
        ("labels", 65536.0, "65,536"), ("decay_rtts", 0.3, "0.3"), ("penalise_losses", np.True_, "yes"), ("size_bins", False, "no"),
        ("per", "edge", "edge"), ("other", None, "null"),
    ],
)  # fmt: skip
def test_values_are_said_with_their_units(name, value, words):
    assert in_words(name, value) == words


def test_names_for_null_are_of_keys_that_have_it():
    from ofancore.balancers import BALANCERS

    for name in constants.UNSET:
        assert any(name in entry.model_fields and entry.model_fields[name].default is None for entry in BALANCERS.values()), name


def two_schemes() -> pd.DataFrame:
    more = runs(
        "drill", ({}, {"a": (2.0, 2.0), "b": (2.0, 2.0)}), ({"engines": 2.0}, {"a": (3.0, 3.0), "b": (None, 3.0)}), ours={"engines": 1.0}
    )
    return effects(one_by_one(pd.concat([GAPS, more], ignore_index=True)), "setting")


def test_rows_follow_each_other_under_the_name_of_their_scheme():
    heads, rows = placed(two_schemes())
    assert heads.to_numpy().tolist() == [["flowlet", 0.5, 6], ["drill", 6.5, 9]]  # a name and five rows, a name and two
    at = rows[rows["setting"] == "a"].sort_values("y")
    assert list(at["y"]) == [1.5, 2.5, 3.5, 4.5, 5.5, 7.5, 8.5]
    assert list(at["value"]) == ["half a base RTT", "100 ns", "5 µs", "exact", "age_bit", "1", "2"]
    assert list(at["first"]) == [True, False, False, True, False, True, False]


def test_schemes_are_cut_in_two_halves():
    assert halves(two_schemes()) == [["flowlet"], ["drill"]]
    alone = two_schemes()
    first, second = halves(alone[alone["label"] == "drill"])
    assert [*first, *second] == ["drill"]


def test_the_form_draws_what_it_is_given():
    axes = {at: Axis("above the bound (%)", log=True, limits=(40.0, 2000.0)) for at in ("a", "b")}
    chart = figure([ladder(two_schemes(), "setting", axes)], "a finding", "a set-up")
    spec = chart.to_dict()
    assert CUT in spec["title"]["subtitle"]  # the interval of 0 and 100%
    text = json.dumps(spec)
    for word in ("LetFlow", "DRILL", "half a base RTT", "100 ns", '"gap"', '"engines"'):
        assert word in text
    rows = [row for rows in spec["datasets"].values() for row in rows if {"from", "unfinished"} <= row.keys()]
    assert all(40.0 <= row["from"] <= row["to"] <= 2000.0 for row in rows)
    assert any(row["unfinished"] for row in rows)


def test_nothing_varied_is_said():
    with pytest.raises(ValueError, match="no scheme has a constant at more than one value"):
        one_by_one(pd.DataFrame({"label": ["ofan"], "balancer.kind": ["ofan"], "seed": [0]}))
