"""The league's arithmetic, on runs made up by hand, its tables, and its chart forms."""

import itertools
import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest

from ofancore import docstrings, league, palette
from ofancore.balancers import BALANCERS
from ofancore.charts import figure
from ofancore.errors import ScenarioError
from ofancore.heatmap import COLOURS, choice, colour_at, column, heat, in_a_row, ink_on, names, place
from ofancore.league import QUANTITIES

ROOT = Path(__file__).parents[2]
SETTINGS = ["workload", "condition"]


def runs(seconds: float = 1.0, **slowness) -> pd.DataFrame:
    """Two seeds of two settings; a scheme takes so many times the bound of 100 ns in the one and in the other, None: it did not finish.
    The second seed takes `seconds` times as long as the first."""
    rows = []
    for label, settings in slowness.items():
        for seed in (0, 1):
            for workload, times in zip("ab", settings, strict=True):
                rows.append({
                    "label": label, "balancer.kind": label, "seed": seed, "condition": "healthy", "workload": workload,
                    "finished": times is not None, "cct_ns": math.nan if times is None else 100.0 * times * seconds**seed,
                    "ended_ns": 10_000.0, "lower_bound_ns": 100.0, "queue_max_packets": 10.0 * (1 + seed), "packets_dropped": 1,
                    "packets_sent": 50, "reorder_fraction": 0.25, "state_bytes_per_switch_edge": 8, "state_bytes_per_switch_agg": 16,
                    "state_bytes_per_host": 3,
                })  # fmt: skip
    return league.slowdowns(pd.DataFrame(rows).assign(experiment="league"))


def test_the_distance_is_that_of_a_geometric_mean_and_ranks():
    table = league.standings(runs(ops=(2.0, 8.0), ofan=(1.0, 4.0), ecmp=(3.0, None)), SETTINGS)
    assert list(table["label"]) == ["ofan", "ops", "ecmp"]
    assert list(table["rank"]) == [1, 2, 3]
    assert list(table["distance_to_optimal_percent"]) == pytest.approx([100.0, 300.0, 100 * (math.sqrt(300.0) - 1)])
    assert list(table["unfinished"]) == [0, 0, 2]
    mean, low, _ = league.DISTANCE
    assert list(table[low]) == pytest.approx(list(table[mean]))  # the seeds are alike
    first = table.iloc[0]
    assert (first["queue_max_packets"], first["dropped_percent"], first["reordered_percent"]) == (15.0, 2.0, 25.0)
    queues = [first[f"queue_max{end}_packets"] for end in ("_low", "_high")]
    assert queues == pytest.approx([0.0, 15.0 + 12.7062 * 5.0], rel=1e-4)  # 15 - 63.5 is no queue
    assert (first["dropped_low_percent"], first["dropped_high_percent"]) == (2.0, 2.0)
    assert league.cost_of(first, "queue_max_packets") == "15 [0, 79]"
    assert league.cost_of(first, "host_bytes") == "3"
    assert (first["switch_bytes"], first["host_bytes"]) == (16, 3)
    assert first["described_in"] == "ofancore/balancers/ofan.py"


def test_the_interval_of_the_distance_is_a_t_interval_of_logs_cut_at_optimal():
    """Seeds of 2 and 8 times the bound: logs 1 and 3 times that of 2, their mean 2, half an interval 12.7 times their deviation."""
    row = league.standings(runs(4.0, ofan=(2.0, 2.0)), SETTINGS).iloc[0]
    assert row["distance_to_optimal_percent"] == pytest.approx(300.0)
    assert row["distance_to_optimal_low_percent"] == 0.0  # it would be below the lower bound
    assert row["distance_to_optimal_high_percent"] == pytest.approx(100 * (2 ** (2 + 12.7062) - 1), rel=1e-3)


def test_the_distance_is_told_apart_by_a_column_of_settings():
    table = league.standings(runs(ops=(2.0, 8.0), ofan=(1.0, 4.0)), SETTINGS, part_by="workload")
    assert league.parts_of(table) == {f"{league.PART}{w}": f"{w} (%)" for w in "ab"}
    assert list(table[league.PART + "a"]) == pytest.approx([0.0, 100.0])
    assert list(table[league.PART + "b"]) == pytest.approx([300.0, 700.0])
    head, rows = league.shown_rows(table)
    assert dict(zip(head, rows[0], strict=True))["b (%)"] == "300"


@pytest.mark.parametrize(
    ("dead", "cables", "known_ns", "more", "words"),
    [
        (0.0, [], 0.0, {}, "healthy"),
        (0.0, [], math.inf, {}, "healthy"),
        (0.01, [], 0.0, {}, "1% dead, known"),
        (0.005, [], math.inf, {}, "0.5% dead, unknown"),
        (0.0, [0.5], math.inf, {}, "a cable at 50%, unknown"),
        (0.0, [0.0], 1e4, {}, "a cable dead, known after 10 µs"),
        (0.0, [0.25, 0.25], 0.0, {}, "2 cables at 25%, known"),
        (0.02, [0.25, 0.5], 0.0, {}, "2% dead and 2 cables degraded, known"),
        (0.02, [], 0.0, {"capacity": 0.5}, "2% at 50%, known"),
        (0.0, [], 0.0, {"loss_rate": 0.001}, "0.1% of packets lost"),
        (0.01, [], math.inf, {"loss_rate": 0.01}, "1% dead, unknown; 1% of packets lost"),
    ],
)
def test_a_condition_says_what_is_broken_and_who_knows(dead, cables, known_ns, more, words):
    row = {
        "failures.link_failure_rate": dead,
        "failures.cables": json.dumps([{"cable": f"edge:0:{i}-agg:0:0", "capacity": share} for i, share in enumerate(cables)]),
        "failures.convergence_ns": known_ns,
    } | {f"failures.{key}": {"capacity": 0.0, "loss_rate": 0.0, **more}[key] for key in ("capacity", "loss_rate")}
    assert league.condition(row) == words


def test_a_scheme_without_a_setting_is_not_compared():
    some = runs(ops=(2.0, 8.0), ofan=(1.0, 4.0))
    short = some[(some["label"] != "ops") | (some["workload"] == "a")]
    with pytest.raises(ScenarioError) as e:
        league.standings(short, SETTINGS)
    assert e.value.value == {"workload": "b", "condition": "healthy", "seed": 0}
    assert str(e.value).startswith("experiments.league = {")
    assert e.value.rule == "a run of ops is missing here that another scheme has (2 of 4 settings and seeds)"


def test_a_setting_has_every_quantity_with_an_interval_cut_where_it_ends():
    table = league.cells(runs(ops=(2.0, None)), SETTINGS)
    means = ["workload", "seeds", "unfinished_runs", *(q.columns[0] for q in QUANTITIES)]
    assert table[means].to_numpy().tolist() == [["a", 2, 0, 100.0, 15.0, 2.0, 25.0], ["b", 2, 2, 9900.0, 15.0, 2.0, 25.0]]
    queue = table.loc[0, list(QUANTITIES[1].columns)]
    assert list(queue) == pytest.approx([15.0, 0.0, 15.0 + 12.7062 * 5.0], rel=1e-4)  # 15 - 63.5 is no queue
    assert list(table.columns[:5]) == ["workload", "condition", "label", "seeds", "unfinished_runs"]
    assert all(re.search("_(percent|packets)$", name) for name in table.columns[5:])


def test_an_interval_of_a_share_ends_at_all_of_it():
    assert league.bounded_interval([70.0, 98.0], 100.0) == (84.0, 0.0, 100.0)
    assert league.bounded_interval([5.0, 5.0]) == (5.0, 5.0, 5.0)
    assert league.bounded_interval([-0.5, -0.5]) == (-0.5, -0.5, -0.5)  # what is measured is not moved


@pytest.mark.parametrize("place", ["tables", "notebooks"])
def test_rows_lead_to_docstrings_in_markdown_and_html(tmp_path, place):
    table = league.standings(runs(ops=(2.0, 8.0), mine=(1.0, 4.0)), SETTINGS)
    folder = tmp_path / place
    text, page = league.as_markdown(table, folder), league.as_html(table, folder)
    link = re.search(r"\| 2 \| \[OPS \(host random\)\]\((.*?)\) \| 300 \[300, 300\] \|", text)[1]
    assert (folder / link).resolve() == ROOT / "ofancore/balancers/ops.py"
    assert f'<tr><td>2</td><th scope="row"><a href="{link}">OPS (host random)</a></th><td>300 [300, 300]</td>' in page
    assert "| 1 | mine | 100 [100, 100] |" in text  # described nowhere
    assert '<th scope="row">mine</th>' in page
    assert "distance to optimal: mean CCT above the lower bound (%)" in text
    assert "2 seeds" in text


def test_one_seed_has_no_interval(tmp_path):
    some = runs(ops=(2.0, 8.0))
    one = some[some["seed"] == 0]
    table = league.standings(one, SETTINGS)
    assert table.loc[0, list(league.DISTANCE)].tolist() == pytest.approx([300.0] * 3)
    for text in (league.as_markdown(table, tmp_path), league.as_html(table, tmp_path)):
        assert "one seed, so no interval" in text
        assert not re.search(r"95%|\d \[", text)
    assert league.cost_of(table.iloc[0], "queue_max_packets") == "10"
    assert "1 seed" not in league.as_markdown(league.standings(some, SETTINGS), tmp_path)
    drawn = json.dumps(heat(league.cells(one, SETTINGS), ["ops"], "workload", QUANTITIES, "A").to_dict())
    assert '"tip_queue_max": "10"' in drawn


def test_every_balancer_has_a_docstring_where_it_is_said_to_be():
    for kind in BALANCERS:
        path = docstrings.described_in(kind)
        assert (ROOT / path).is_file()
        assert len(docstrings.docstring(path)) > 60
    anchors = {docstrings.anchor(docstrings.described_in(kind)) for kind in BALANCERS}
    assert len(anchors) == len(BALANCERS)


def test_schemes_of_ones_own_are_described_by_their_files(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text('"""Mine: a rule."""\nraise SystemExit')
    assert docstrings.described_in("own", "my/mine.py") == "my/mine.py"
    assert docstrings.described_in("registered") == ""
    assert docstrings.docstring("mine.py", tmp_path) == "Mine: a rule."  # it was not run
    file.write_text("def")
    assert docstrings.docstring("mine.py", tmp_path) == ""
    assert docstrings.docstring("none.py", tmp_path) == ""
    assert docstrings.link("a/b.py", tmp_path / "results" / "figures", tmp_path) == "../../a/b.py"


def test_numbers_in_cells_can_be_read_on_every_colour():
    steps = [colour_at(i / 1000) for i in range(1001)]
    assert (steps[0], steps[-1]) == (COLOURS[0], COLOURS[-1])
    assert min(palette.contrast(ink_on(colour), colour) for colour in steps) >= palette.READABLE
    lightness = [palette.luminance(colour) for colour in steps]
    assert all(b >= a - 0.002 for a, b in itertools.pairwise(lightness))  # it rises, but for rounding


def test_colours_follow_the_logarithm_within_limits():
    assert [place(v, (1.0, 100.0)) for v in (0.0, 0.5, 1.0, 10.0, 100.0, 1e4)] == pytest.approx([0, 0, 0, 0.5, 1, 1])


def test_the_forms_draw_what_they_are_given():
    some = runs(ops=(2.0, None), ofan=(1.02, 4.0))
    table, ranks = league.cells(some, SETTINGS), league.standings(some, SETTINGS)
    labels = list(ranks["label"])
    panels = [names(labels, ["../../ofan.py", ""]), heat(table, labels, "workload", QUANTITIES, "A")]
    panels.append(column(ranks, labels, "queue_max_packets", "largest queue (packets)"))
    spec = figure([in_a_row(panels)], "finding", "set-up", columns=1).add_params(choice(QUANTITIES)).to_dict()
    rows = [row for rows in spec["datasets"].values() for row in rows]
    assert {row["text"] for row in rows if "text" in row} == {"15"}
    assert {row["text_inflation"] for row in rows if "text_inflation" in row} == {"100", "> 9900", "2.0", "300"}
    assert {row["text_queue_max"] for row in rows if "text_queue_max" in row} == {"15"}
    assert {row["tip_queue_max"] for row in rows if "tip_queue_max" in row} == {"15 [0, 79]"}
    for row in rows:
        for q in QUANTITIES if "fill_inflation" in row else ():
            assert palette.contrast(row[f"ink_{q.stem}"], row[f"fill_{q.stem}"]) >= palette.READABLE
    assert {row["href"] for row in rows if "href" in row} == {"../../ofan.py", None}
    chosen = next(param for param in spec["params"] if param["name"] == "quantity")
    assert chosen["value"] == "inflation"
    assert chosen["bind"]["options"] == ["inflation", "queue_max", "dropped", "reordered"]
    tips = json.dumps(spec)
    for q in QUANTITIES:
        assert f"{q.title}, mean [95% interval]" in tips


def test_runs_that_settings_do_not_tell_apart_are_refused():
    some = runs(ops=(2.0, 8.0), ofan=(1.0, 4.0)).assign(**{"workload.message_packets": 8})
    league.refuse_alike(some, league.TOLD_APART["fig_league"][1])
    both = pd.concat([some, some.assign(**{"workload.message_packets": 32, "cct_ns": 1.0})])
    with pytest.raises(ScenarioError) as e:
        league.standings(both, SETTINGS)
    assert str(e.value) == (
        "experiments.league = {'condition': 'healthy', 'label': 'ops', 'seed': 0, 'workload': 'a'}: 2 runs are so, of which the figure can "
        "show one; they differ in workload.message_packets [8, 32]"
    )
    with pytest.raises(ScenarioError, match=r"'label': 'ops'}: 4 runs are so, .* differ in seed \[0, 1\]$"):
        league.refuse_alike(some, ["label", "condition"])
    with pytest.raises(ScenarioError, match=r"2 runs are so, .* differ in no key$"):
        league.standings(pd.concat([some, some]), SETTINGS)


def test_settings_are_said_in_words():
    keys = {"failures.link_failure_rate": 0.0, "failures.cables": "[]", "failures.convergence_ns": 0.0, "failures.loss_rate": 0.0}
    kinds = ["permutation", "halving_doubling", "permutation"]
    some = pd.DataFrame({"workload.kind": kinds, "fabric.radix": [8, 8, 16], "fabric.tiers": 3, **keys})
    found = league.with_settings(some)[league.SETTING]
    assert found.to_numpy().tolist() == [
        ["Permutation", "healthy"], ["halving doubling", "healthy"], ["Permutation (1,024 hosts)", "healthy"]
    ]  # fmt: skip


def test_workloads_are_named_by_what_they_are():
    """A model other than the paper's, and experts that are all alike, are not called what most runs are."""
    training, experts = {"workload.kind": "fsdp", "workload.model": "llama3_8b"}, {"workload.kind": "moe_all_to_all"}
    assert league.workload_name(training) == "FSDP2, Llama-3 8B"
    assert league.workload_name({**experts, "workload.zipf_exponent": 0.0}) == "MoE"
    assert league.workload_name({**experts, "workload.zipf_exponent": 1.0}) == "MoE, skewed"
    assert league.workload_name({"workload.kind": "two_jobs"}) == "two jobs"


def test_keys_that_differ_are_written_as_a_config_has_them():
    runs = pd.DataFrame({"experiment": "e", "label": "ops", "balancer.labels": [65536.0, 4.0], "fabric.rate": [0.5, None]})
    with pytest.raises(ScenarioError, match=r"they differ in balancer.labels \[65536, 4\], fabric.rate \[0.5, None\]$"):
        league.refuse_alike(runs, ["label"])
