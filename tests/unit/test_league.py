"""The league's arithmetic, on runs made up by hand, and its chart forms."""

import math

import pandas as pd
import pytest

from ofancore import league
from ofancore.charts import Axis, figure
from ofancore.heatmap import column, heat, in_a_row

SETTINGS = ["workload", "condition"]


def runs(**slowness) -> pd.DataFrame:
    """Two seeds of two settings; a scheme takes so many times the ideal of 100 ns in the one and in the other, None: it did not finish."""
    rows = []
    for label, (first, second) in slowness.items():
        for seed in (0, 1):
            for workload, times in (("a", first), ("b", second)):
                rows.append({
                    "label": label, "balancer.kind": label, "seed": seed, "workload": workload, "condition": "healthy",
                    "finished": times is not None, "cct_ns": math.nan if times is None else 100.0 * times, "ended_ns": 10_000.0,
                    "ideal_ns": 100.0, "queue_max_packets": 10.0 * (1 + seed), "packets_dropped": 1, "packets_sent": 50,
                    "reorder_fraction": 0.25, "state_bytes_per_switch_edge": 8, "state_bytes_per_switch_agg": 16,
                    "state_bytes_per_host": 3,
                })  # fmt: skip
    return league.slowdowns(pd.DataFrame(rows))


def test_the_slowdown_is_a_geometric_mean_and_ranks():
    table = league.standings(runs(ops=(2.0, 8.0), ofan=(1.0, 4.0), ecmp=(3.0, None)), SETTINGS)
    assert list(table["label"]) == ["ofan", "ops", "ecmp"]
    assert list(table["rank"]) == [1, 2, 3]
    assert list(table["mean"]) == pytest.approx([2.0, 4.0, math.sqrt(3.0 * 100.0)])
    assert list(table["unfinished"]) == [0, 0, 2]
    assert list(table["low"]) == pytest.approx(list(table["mean"]))  # the seeds are alike
    first = table.iloc[0]
    assert (first["queue_max_packets"], first["dropped_percent"], first["reordered_percent"]) == (20.0, 2.0, 25.0)
    assert (first["switch_bytes"], first["host_bytes"]) == (16, 3)
    assert first["described_in"] == "ofancore/balancers/ofan.py"


def test_a_scheme_without_a_setting_is_not_compared():
    some = runs(ops=(2.0, 8.0), ofan=(1.0, 4.0))
    short = some[(some["label"] != "ops") | (some["workload"] == "a")]
    with pytest.raises(ValueError, match="ops: 2 of 4 settings and seeds are missing"):
        league.standings(short, SETTINGS)


def test_a_setting_has_percent_above_the_ideal():
    table = league.in_settings(runs(ops=(2.0, None)), SETTINGS)
    assert table[["workload", "mean", "seeds", "unfinished"]].to_numpy().tolist() == [["a", 100.0, 2, 0], ["b", 9900.0, 2, 2]]


def test_the_forms_draw_what_they_are_given():
    some = runs(ops=(2.0, None), ofan=(1.02, 4.0))
    table, ranks = league.in_settings(some, SETTINGS), league.standings(some, SETTINGS)
    labels = list(ranks["label"])
    above = Axis("CCT above the ideal (%)", limits=(0.3, 3000.0))
    panels = [heat(table, labels, "workload", above, "A"), column(ranks, labels, "queue_max_packets", "largest queue (packets)")]
    spec = figure([in_a_row(panels)], "finding", "set-up", columns=1).to_dict()
    texts = {row["text"] for rows in spec["datasets"].values() for row in rows if "text" in row}
    assert {"100", "> 9900", "2.0", "300", "20"} <= texts
