"""Figures: the palette keeps its promises, forms hold what they are given, files are complete and work offline."""

from __future__ import annotations

import itertools
import json
import re

import altair as alt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofancore import charts, claims, palette, theme
from ofancore.balancers import BALANCERS
from ofancore.charts import Axis
from ofancore.report_charts import spec_in


@pytest.fixture
def table() -> pd.DataFrame:
    rows = [
        {"label": label, "m": m, "mean": v, "low": 0.9 * v, "high": 1.1 * v, "seeds": 3, "unfinished": 0}
        for label in ("ops", "ofan", "mine")
        for m, v in ((64, 2.0), (256, 4.0))
    ]
    return pd.DataFrame(rows)


def test_every_balancer_has_a_style_in_its_own_family():
    for kind, balancer in BALANCERS.items():
        assert kind in palette.STYLES
        assert palette.style(kind).family == balancer.family


def test_no_two_schemes_look_alike_and_none_by_colour_alone():
    styles = list(palette.STYLES.values())
    assert len({s.colour for s in styles}) == len(styles) - 1  # pofan and pofan2 are the same thing in different figures
    assert len({s.name for s in styles}) == len(styles)
    for family in ("flow", "host", "switch"):
        marks = [(s.dash, s.marker) for s in styles if s.family == family]
        assert len(set(marks)) == len(marks)


@pytest.fixture
def own_names(monkeypatch):
    monkeypatch.setattr(palette, "NAMES", {})


def test_schemes_of_ones_own_look_different_in_turn(own_names):
    n = len(palette.RESERVE)
    labels = [f"mine_{i}" for i in range(5 * n)]
    palette.know({label: label.title() for label in labels})
    styles = [palette.style(label) for label in labels]
    first = styles[:n]
    assert n >= 12
    assert len({s.colour for s in first}) == n
    assert len({(s.dash, s.marker) for s in styles[: 2 * n]}) == 2 * n
    looks = [(s.colour, s.dash, s.marker) for s in styles]
    assert len(set(looks[: 4 * n])) == 4 * n
    assert looks[4 * n :] == looks[:n]
    assert not {s.colour for s in styles} & {s.colour for s in palette.STYLES.values()}
    # told apart on a grey print as well, within each pair of neighbours
    grey = sorted(map(palette.luminance, (s.colour for s in first)))
    assert min(b - a for a, b in itertools.pairwise(grey)) > 0.01
    assert palette.order([*labels[::-1], "unknown", "ofan"]) == ["ofan", *labels, "unknown"]


def test_the_set_up_names_schemes_of_ones_own_that_the_title_does_not(own_names):
    palette.know({"a": "Mine", "b": "Min", "c": "Other (new)", "d": "not drawn"})
    panel = alt.Chart(pd.DataFrame({"x": [1]})).mark_point()

    def setup(finding: str) -> list[str]:
        return charts.with_own(charts.figure([panel], finding, "16 hosts"), {"c", "b", "a", "ofan"}).title.subtitle

    assert setup("OPS is slow,\nMine and Ofan are not") == ["16 hosts", "of one's own, and not in the title: Min, Other (new)"]
    assert setup("Mine, Min and Other (new)") == ["16 hosts"]
    assert charts.with_own(panel, {"a"}) is panel


def test_a_name_that_is_taken_is_told_apart(own_names):
    palette.know({"a": "Mine", "b": "Mine", "c": "Ofan", "ofan": "another"})
    assert [palette.name_of(x) for x in "abc"] == ["Mine", "Mine (b)", "Ofan (c)"]
    assert palette.name_of("ofan") == "Ofan"
    look = palette.style("b")
    palette.know({"a": "Mine", "b": "Mine"})
    assert palette.style("b") == look


@pytest.mark.parametrize(
    "names", [{"c": "T (b)", "a": "T", "b": "T"}, {"a": "T", "b": "T", "c": "T (b)"}, {"c": "Ofan (b)", "b": "Ofan", "a": "Ofan (b) (b)"}]
)
def test_names_are_unique_in_any_order(own_names, names):
    palette.know(names)
    found = [palette.name_of(label) for label in names]
    assert len({*found, "Ofan"}) == len(names) + 1
    palette.know(names)
    assert [palette.name_of(label) for label in names] == found


def test_contrast_is_that_of_the_definition():
    assert palette.contrast("#000000") == pytest.approx(21)
    assert palette.contrast("#ffffff") == 1
    assert palette.contrast("#777777") == pytest.approx(4.48, abs=0.01)


def test_words_can_be_read():
    for colour in [style.colour for style in palette.STYLES.values()] + [colour for colour, *_ in palette.RESERVE] + list(palette.OTHER):
        shade = palette.text_colour(colour)
        assert palette.contrast(shade) >= palette.READABLE
        assert shade == colour or palette.contrast(colour) < palette.READABLE
    assert min(map(palette.contrast, (theme.INK, theme.FAINT))) >= palette.READABLE
    words = re.findall(r"color: (#[0-9a-fA-F]{3,6})", claims.PAGE)
    assert len(words) >= 5
    for colour in words:
        assert palette.contrast(colour if len(colour) == 7 else "#" + "".join(2 * c for c in colour[1:])) >= palette.READABLE


def test_names_beside_a_panel_are_readable_and_carry_their_mark(table):
    chart = charts.lines(table.assign(label="rsq"), "m", Axis("m"), Axis("q"))
    spec = drawn(chart)
    assert palette.text_colour(palette.style("rsq").colour) in spec
    assert '"xOffset": 9' in spec


def test_an_unknown_scheme_is_drawn_and_comes_last():
    assert palette.style("mine").family == "other"
    assert palette.order(["mine", "ofan", "ops"]) == ["ops", "ofan", "mine"]


@given(st.lists(st.floats(0, 100), max_size=12), st.floats(1, 20))
def test_labels_are_spread_within_bounds_and_in_order(places, gap):
    moved = theme.spread(places, gap, 0, 100)
    assert len(moved) == len(places)
    assert all(-1e-6 <= p <= 100 + 1e-6 for p in moved)
    ranked = sorted(moved)
    room = min(gap, 100 / max(1, len(places) - 1))
    assert all(b - a >= room - 1e-6 for a, b in itertools.pairwise(ranked))
    assert [moved[i] for i in sorted(range(len(places)), key=lambda i: places[i])] == ranked


@pytest.mark.parametrize("log", [False, True])
def test_axis_goes_from_value_to_pixel_and_back(log):
    axis = Axis("t", log=log).over([1.0, 50.0])
    for value in (1.0, 7.0, 50.0):
        assert axis.value_at(axis.pixel(value, 200), 200) == pytest.approx(value)
    assert axis.limits[0] <= 1 <= 50 <= axis.limits[1]
    assert Axis("t", log=log).over([]).limits[0] < Axis("t", log=log).over([]).limits[1]
    assert Axis("t", log=log).over([3.0, float("nan"), float("inf")]).limits[1] >= 3


def test_decades():
    assert theme.decades(1, 10) == [1, 2, 5, 10, 20, 50]
    assert theme.decades(1, 1e5) == [10.0**i for i in range(6)]
    assert theme.decades(200, 90_000)[1:4] == [300, 1000, 3000]


def drawn(chart) -> str:
    return json.dumps(chart.to_dict())


def test_lines_label_ends_and_carry_tooltips(table):
    laws = pd.DataFrame({"m": [64, 256], "y": [1.0, 2.0], "law": "a law"})
    text = drawn(charts.lines(table, "m", Axis("message (packets)", log=True), Axis("queue (packets)"), laws, panel="P"))
    for word in ("Ofan", "OPS (host random)", "mine", "a law", "message (packets)", "queue (packets)", "95% from", "seeds"):
        assert word in text


def test_points_without_a_value_are_left_out(table):
    table.loc[0, ["mean", "low", "high"]] = float("nan")
    table.loc[1, "mean"] = 0.0
    charts.lines(table, "m", Axis("m", log=True), Axis("q", log=True)).to_dict()
    charts.dots(table[table["m"] == 64], Axis("q", log=True)).to_dict()
    charts.rows(table.assign(c="x"), "c", Axis("q", log=True)).to_dict()


def test_dots_say_what_did_not_finish(table):
    table.loc[table["label"] == "ops", ["mean", "unfinished"]] = [float("nan"), 3]
    assert "3 of 3 runs did not finish" in drawn(charts.dots(table[table["m"] == 64], Axis("q")))


def test_values_to_compare_with_are_drawn_and_within_the_axis(table):
    at, marks = table[table["m"] == 64], ((16.0, 39.0, "a band"), (52.0, 52.0, "a line"))
    for chart in (charts.dots(at, Axis("q", log=True), marks=marks), charts.rows(at.assign(c="x"), "c", Axis("q"), marks=marks)):
        text = drawn(chart)
        assert "a band" in text
        assert "a line" in text
        limits = [scale["domain"] for scale in x_scales(chart.to_dict())]
        assert limits
        assert all(low <= 16 and high >= 52 for low, high in limits)


@pytest.mark.parametrize("log", [False, True])
def test_texts_of_close_marks_stand_on_opposite_sides(table, log):
    """Whatever a panel's width: the one ends where its band does, the other begins at its line."""
    axis = Axis("q", log=log, limits=(1, 1000))

    def places(*marks):
        texts = [text.to_dict() for text in charts.marked(axis, marks)[1]]
        return [(text["mark"]["align"], text["encoding"]["x"]["field"]) for text in texts]

    band, line = (16.0, 39.0, "v3: 16-39"), (52.0, 52.0, "v2: 52")
    assert places(band, line) == [("right", "high"), ("left", "low")]
    assert places(line, band) == [("left", "low"), ("right", "high")]
    assert places(band) == [("center", "middle")]
    assert places(line) == [("left", "middle")]
    assert places(band, (900.0, 900.0, "far")) == [("center", "middle"), ("left", "middle")]


def x_scales(spec) -> list[dict]:
    """All scales of x in a chart."""
    if isinstance(spec, list):
        return [s for part in spec for s in x_scales(part)]
    if not isinstance(spec, dict):
        return []
    own = [spec["x"]["scale"]] if isinstance(spec.get("x"), dict) and "scale" in spec["x"] else []
    return own + [s for part in spec.values() for s in x_scales(part)]


def test_a_figures_own_page_has_a_title_and_a_language(tmp_path, table):
    chart = charts.figure([charts.dots(table[table["m"] == 64], Axis("queue"))], "Ofan < OPS </script>,\nand so on", "made up")
    page = charts.save(chart, "one", tmp_path)[2].read_text()
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert "<title>one: Ofan &lt; OPS &lt;/script&gt;,</title>" in page
    assert page.count("</script>") == 2  # nothing in the chart ends a script
    assert spec_in(page) == json.loads(json.dumps(chart.to_dict()))


def test_saved_files_are_complete_offline_and_repeatable(tmp_path, table):
    chart = charts.figure([charts.lines(table, "m", Axis("m", log=True), Axis("q"))], "A finding\nin two lines", "a set-up")
    svg, png, html = charts.save(chart, "one", tmp_path)
    assert "A finding" in svg.read_text()
    assert png.read_bytes().startswith(b"\x89PNG")
    page = html.read_text()
    assert not re.findall(r"""(?:src|href)=["']https?://""", page)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"one.{s}" for s in ("html", "png", "svg")]
    again = charts.save(chart, "one", tmp_path / "again")
    assert [f.read_bytes() for f in (svg, png, html)] == [f.read_bytes() for f in again]


def test_setup_names_hosts_rate_and_seeds():
    runs = pd.DataFrame({"fabric.radix": [4, 8], "fabric.link_gbps": 800.0, "experiment": "e", "label": "a", "seed": [0, 1]})
    assert charts.setup(runs, "more") == "16 to 128 hosts, 800 Gb/s, more, 2 seeds, mean and 95% interval"


def test_an_interval_that_does_not_fit_is_cut_at_the_axis_and_the_figure_says_so(table):
    at = table[table["m"] == 64]
    whole = charts.figure([charts.dots(at.assign(low=at["mean"], high=at["mean"]), Axis("q", log=True))], "A finding", "a set-up")
    assert charts.CUT not in drawn(whole)
    for axis in (Axis("q", log=True), Axis("q")):
        panels = (charts.dots(at.assign(low=-1.0), axis), charts.rows(at.assign(low=-1.0, c="x"), "c", axis))
        for panel in (*panels, charts.lines(table.assign(low=-1.0), "m", Axis("m"), axis)):
            assert charts.CUT in drawn(charts.figure([panel], "A finding", "a set-up"))


def test_single_runs_take_the_place_of_mean_and_interval(table):
    at = table[table["m"] == 64]
    text = drawn(charts.dots(at, Axis("q"), each=pd.Series([1.0, 2.0], index=[at["label"].iloc[0]] * 2)))
    assert charts.name_of(at["label"].iloc[0]) in text
