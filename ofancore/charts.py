"""The chart forms that figures are made of, and their set-up in words; how they look is in `theme.py`, how they are written in `saving.py`.

Lines are labelled at their ends. Every form takes a tidy table with `label` and the columns of `metrics.summarise`, and
every mark has a tooltip; in the HTML version a click isolates a scheme and a double click brings all back.
"""

from __future__ import annotations

import itertools
import math
import re

import altair as alt
import pandas as pd

from ofancore.metrics import extent, hosts
from ofancore.palette import Style, name_of, order, style, text_colour
from ofancore.saving import save
from ofancore.theme import (
    FAINT,
    GRID,
    HEIGHT,
    INK,
    WIDTH,
    Axis,
    faded,
    one_selection,
    panel_title,
    pick,
    powers_of_two,
    scales,
    spread,
    title,
)

__all__ = ["Axis", "dots", "figure", "lines", "marked", "name_of", "order", "powers_of_two", "rows", "save", "setup", "style", "vertical",
           "with_own"]  # fmt: skip


def _tooltips(x: str, x_axis: Axis, y_axis: Axis, extra: dict) -> list:
    tips = [alt.Tooltip("scheme:N", title="scheme"), alt.Tooltip(f"{x}:Q", title=x_axis.title, format=",.6~g")]
    tips += [
        alt.Tooltip(f"{c}:Q", title=f"{y_axis.title}: {t}", format=",.4~g")
        for c, t in (("mean", "mean"), ("low", "95% from"), ("high", "95% to"))
    ]
    return tips + [alt.Tooltip(f"{c}:Q", title=t) for c, t in extra.items()]


CUT = "intervals that reach below the axis are cut"


def _within(data: pd.DataFrame, axis: Axis, others=(), signed: bool = False) -> tuple[Axis, pd.DataFrame, str]:
    """The axis with limits, the table with `from` and `to` (the part of an interval that is drawn), and `CUT` if that is not all of it.

    A log axis ends at half the smallest mean, and one of a quantity that cannot be negative at zero, however far an interval reaches.
    """
    lows = data["low"]
    if axis.log:
        lows = lows[lows >= data["mean"].min() / 2]
    elif not signed and data["mean"].min() >= 0:
        lows = lows.clip(lower=0)
    axis = axis.over([*data["mean"], *lows, *data["high"], *others])
    drawn = data[["low", "high"]].clip(*axis.limits)
    cut = bool((data["low"] < axis.limits[0]).any())
    return axis, data.assign(**{"from": drawn["low"], "to": drawn["high"]}), CUT if cut else ""


def _is_cut(chart) -> bool:
    parts = (x for how in ("layer", "hconcat", "vconcat") for x in getattr(chart, how, ()))
    return getattr(chart, "description", None) == CUT or any(map(_is_cut, parts))


def _panel(layers: list, width: int, height: int, name: str | list[str], cut: str) -> alt.LayerChart:
    described = {"description": cut} if cut else {}
    return alt.layer(*layers).properties(width=width, height=height, title=panel_title(name), **described)


def _hollow(table: pd.DataFrame, size: int) -> alt.Chart:
    """Marks of runs of which some did not finish."""
    return alt.Chart(table).mark_point(size=size, filled=False, fill="white", strokeWidth=1.5, opacity=1)


def _names(texts: list[tuple[str, Style | None, float]], y_axis: Axis, width: int) -> list[alt.Chart]:
    """Names beside a panel, each at its place on the y axis, after the mark of its scheme; a law (no style) has none."""
    rows = [
        {"scheme": name, "y": y, "ink": text_colour(s.colour) if s else FAINT, "colour": s and s.colour, "marker": s and s.marker}
        for name, s, y in texts
    ]
    data = pd.DataFrame(rows)
    ye = y_axis.encode(alt.Y, "y")
    # Colours as values, not by the scale: the laws are no schemes.
    text = alt.Chart(data).mark_text(align="left", dx=17, fontSize=10.5, clip=False)
    marks = alt.Chart(data[data["marker"].notna()]).mark_point(size=30, filled=True, xOffset=9)
    return [
        marks.encode(
            x=alt.value(width), y=ye, color=alt.Color("colour:N", scale=None), shape=alt.Shape("marker:N", scale=None), opacity=faded
        ),
        text.encode(x=alt.value(width), y=ye, text="scheme:N", color=alt.Color("ink:N", scale=None), opacity=faded),
    ]


def lines(
    table: pd.DataFrame,
    x: str,
    x_axis: Axis,
    y_axis: Axis,
    laws: pd.DataFrame | None = None,
    panel: str = "",
    width: int = WIDTH,
    height: int = HEIGHT,
    ends: bool = True,
) -> alt.LayerChart:
    """Mean against `x`, one line per scheme with its 95% band, labelled at its right end.

    `laws` (columns: law, `x`, y) are drawn thin and named where they end. Points without a finite mean are left out, and
    points of runs of which some did not finish are drawn hollow.
    """  # fmt: skip
    labels = order(table["label"])
    data = table[table["mean"].notna()].copy()
    data["scheme"] = data["label"].map(name_of)
    data["x"] = data[x].astype(float)
    if y_axis.log:
        data = data[data["mean"] > 0]
    law_values = [] if laws is None else list(laws["y"])
    x_axis = x_axis.over(list(data["x"]) + ([] if laws is None else list(laws[x])))
    y_axis, data, cut = _within(data, y_axis, law_values)
    sc = scales(labels)
    base = alt.Chart(data)
    xe, ye = x_axis.encode(alt.X, "x"), y_axis.encode(alt.Y, "mean")
    tips = _tooltips("x", x_axis, y_axis, {"seeds": "seeds", "unfinished": "runs not finished"})
    layers = [
        base.mark_area(opacity=0.16).encode(xe, alt.Y("from:Q", scale=ye["scale"], title=y_axis.title), alt.Y2("to:Q"), sc["color"],
                                            opacity=alt.when(pick).then(alt.value(0.16)).otherwise(alt.value(0.02))),
        base.mark_line(strokeWidth=1.8).encode(xe, ye, sc["color"], sc["strokeDash"], opacity=faded),
        base.mark_point(size=34, filled=True).encode(xe, ye, sc["color"], sc["shape"], tooltip=tips, opacity=faded).add_params(pick),
    ]  # fmt: skip
    hollow = data[data["unfinished"] > 0]
    if len(hollow):
        layers.append(_hollow(hollow, 46).encode(xe, ye, sc["color"], sc["shape"], tooltip=tips, opacity=faded))
    ending = [] if not ends else [(name_of(k), k, g.sort_values("x").iloc[-1]) for k, g in data.groupby("label")]
    texts = [(n, style(k), r["mean"]) for n, k, r in ending]
    if laws is not None:
        lawful = laws.rename(columns={x: "x"})
        lawful = lawful[(lawful["y"] >= y_axis.limits[0]) & (lawful["y"] <= y_axis.limits[1])]
        line = alt.Chart(lawful).mark_line(strokeWidth=0.9, color=FAINT)
        layers.insert(0, line.encode(xe, y_axis.encode(alt.Y, "y"), detail="law:N", tooltip=[alt.Tooltip("law:N", title="closed form")]))
        texts += [(k, None, g.sort_values("x").iloc[-1]["y"]) for k, g in lawful.groupby("law")]
    if texts:
        places = spread([y_axis.pixel(v, height) for *_, v in texts], 12.5, 2, height - 2)
        layers += _names([(n, s, y_axis.value_at(p, height)) for (n, s, _), p in zip(texts, places, strict=True)], y_axis, width)
    return _panel(layers, width, height, panel, cut)


Mark = tuple[float, float, str]  # from, to, text: a band, or a dashed line where both are the same
NARROW, LETTER = 130, 5.5  # pixels: the narrowest panel that the report's page makes, and a letter of a mark's text


def marked(axis: Axis, marks: tuple[Mark, ...]) -> tuple[list, list]:
    """Values to compare with on an x axis that has limits: (bands and lines to lay below the marks, their texts above the panel).

    The texts of two that are close stand to the left of the one and to the right of the other, so that no panel is too narrow for them.
    """

    def middle(mark: Mark) -> float:
        return math.sqrt(mark[0] * mark[1]) if axis.log else (mark[0] + mark[1]) / 2

    def close(a: Mark, b: Mark) -> bool:
        return axis.pixel(middle(b), NARROW) - axis.pixel(middle(a), NARROW) < LETTER * (len(a[2]) + len(b[2])) / 2

    ordered, places = sorted(marks, key=middle), {}  # mark -> (which end of its text stands at x, x, pixels to the right)
    for a, b in itertools.pairwise(ordered):
        if close(a, b):
            places[a], places[b] = ("right", "high", 0), ("left", "low", 0)
    below, above = [], []
    for low, high, text in marks:
        band = low < high
        at = (low, high, text)
        mark = alt.Chart(pd.DataFrame({"low": [low], "high": [high], "middle": [middle(at)], "text": [text]}))
        x = axis.encode(alt.X, "low")
        if band:
            below.append(mark.mark_rect(color=FAINT, opacity=0.18).encode(x=x, x2="high:Q"))
        else:
            below.append(mark.mark_rule(color=INK, strokeDash=[3, 3], strokeWidth=1).encode(x=x))
        align, end, dx = places.get(at, ("center", "middle", 0) if band else ("left", "middle", -3))
        words = mark.mark_text(color=INK, align=align, dx=dx, dy=-6, baseline="bottom", fontSize=10.5)
        above.append(words.encode(x=axis.encode(alt.X, end), y=alt.value(0), text="text:N"))
    return below, above


def dots(
    table: pd.DataFrame,
    y_axis: Axis,
    panel: str | list[str] = "",
    width: int = WIDTH,
    row: int = 22,
    marks: tuple[Mark, ...] = (),
    names: bool = True,
    signed: bool = False,
    each: pd.Series | None = None,
    ranked: bool = False,
) -> alt.LayerChart:
    """One row per scheme: mean as a dot, 95% interval as a bar. For comparisons at one point, with each other and with `marks`.

    `signed`: a quantity that may be negative. `each`: single runs (indexed by label), drawn in place of mean and interval. Where runs did
    not finish, the mark is hollow and a note beside the panel counts them. `ranked`: schemes in the table's order, not the palette's.
    """
    data = table.copy()
    data["scheme"] = data["label"].map(name_of)
    shown = data[data["mean"].notna()].copy()
    if y_axis.log:
        shown = shown[shown["mean"] > 0]
    if each is not None:
        shown[["low", "high"]] = math.nan
    others = [*(v for mark in marks for v in mark[:2]), *(() if each is None else each)]
    y_axis, shown, cut = _within(shown, y_axis, others, signed)
    labels = list(dict.fromkeys(table["label"])) if ranked else order(table["label"])
    sc = scales(labels)
    rows = alt.Y(
        "scheme:N",
        sort=[name_of(x) for x in labels],
        title=None,
        axis=alt.Axis(grid=True, ticks=False, domain=False, labels=names, labelPadding=8, labelLimit=220),
    )
    xe = y_axis.encode(alt.X, "mean")
    tips = _tooltips("mean", y_axis, y_axis, {"seeds": "seeds", "unfinished": "runs not finished"})
    del tips[1]
    if each is None:
        base = alt.Chart(shown)
        layers = [
            base.mark_rule(strokeWidth=2.4).encode(
                y=rows, x=alt.X("from:Q", scale=xe["scale"], title=y_axis.title), x2="to:Q", color=sc["color"], opacity=faded
            ),
            base.mark_point(size=70, filled=True, opacity=1)
            .encode(xe, rows, sc["color"], sc["shape"], tooltip=tips, opacity=faded)
            .add_params(pick),
        ]
        hollow = shown[shown["unfinished"] > 0]
        if len(hollow):
            layers.append(_hollow(hollow, 70).encode(xe, rows, sc["color"], sc["shape"], tooltip=tips, opacity=faded))
    else:
        single = pd.DataFrame({"scheme": [name_of(x) for x in each.index], "mean": each.to_numpy()})
        base = alt.Chart(single).mark_point(size=46, filled=False, strokeWidth=1.5, opacity=0.8)
        layers = [base.encode(xe, rows, sc["color"], sc["shape"], tooltip=["scheme:N", "mean:Q"]).add_params(pick)]
    lost = data[data["unfinished"] > 0].copy()
    if len(lost):
        lost["note"] = [f"{u} of {s} runs did not finish" for u, s in zip(lost["unfinished"], lost["seeds"], strict=True)]
        text = alt.Chart(lost).mark_text(align="left", dx=9, fontSize=10, color=FAINT)
        layers.append(text.encode(x=alt.value(width), y=rows, text="note:N"))
    under, over = marked(y_axis, marks)
    layers = [*under, *layers, *over]
    return _panel(layers, width, row * len(labels), panel, cut)


def rows(
    table: pd.DataFrame,
    row: str,
    x_axis: Axis,
    panel: str = "",
    width: int = WIDTH,
    step: int = 26,
    marks: tuple[Mark, ...] = (),
    names: bool = True,
) -> alt.LayerChart:
    """One row per value of `row` (in the table's order), one mark per scheme, and a legend: what a choice moves."""
    data = table[table["mean"].notna()].copy()
    data["scheme"], data["row"] = data["label"].map(name_of), data[row]
    if x_axis.log:
        data = data[data["mean"] > 0]
    x_axis, data, cut = _within(data, x_axis, [v for mark in marks for v in mark[:2]])
    labels = order(table["label"])
    schemes = [name_of(x) for x in labels]
    legend = alt.Legend(title=None, orient="bottom", columns=3)
    scales(labels)
    color = alt.Color("scheme:N", scale=alt.Scale(domain=schemes, range=[style(x).colour for x in labels]), legend=legend)
    shape = alt.Shape("scheme:N", scale=alt.Scale(domain=schemes, range=[style(x).marker for x in labels]), legend=legend)
    y = alt.Y(
        "row:N",
        sort=list(dict.fromkeys(table[row])),
        title=None,
        axis=alt.Axis(ticks=False, domain=False, grid=False, labels=names, labelLimit=300, labelPadding=8),
    )
    # A little apart, so that no mark hides another.
    offset = alt.YOffset("scheme:N", sort=schemes, scale=alt.Scale(domain=schemes, paddingOuter=1))
    xe = x_axis.encode(alt.X, "mean")
    tips = [alt.Tooltip("row:N", title="choice"), *_tooltips("mean", x_axis, x_axis, {"seeds": "seeds", "unfinished": "runs not finished"})]
    del tips[2]
    base = alt.Chart(data)
    bars = base.mark_rule(strokeWidth=2).encode(
        y=y, yOffset=offset, x=alt.X("from:Q", scale=xe["scale"], title=x_axis.title), x2="to:Q", color=color, opacity=faded
    )
    points = (
        base.mark_point(size=46, filled=True, opacity=1).encode(xe, y, offset, color, shape, tooltip=tips, opacity=faded).add_params(pick)
    )
    under, over = marked(x_axis, marks)
    # Every other row on a ground of its own: a mark that lies apart still belongs to one row.
    striped = pd.DataFrame({"row": list(dict.fromkeys(data["row"]))[::2]})
    under.insert(0, alt.Chart(striped).mark_rect(color=GRID, opacity=0.45).encode(y=y, x=alt.value(0), x2=alt.value(width)))
    size = step * data["row"].nunique()
    return _panel([*under, bars, points, *over], width, size, panel, cut)


def vertical(x_axis: Axis, at: float, text: str, height: int = HEIGHT) -> alt.LayerChart:
    """A named vertical rule, to lay over a `lines` panel whose x axis has limits."""
    mark = alt.Chart(pd.DataFrame({"x": [at], "text": [text]}))
    x = x_axis.encode(alt.X, "x")
    line = mark.mark_rule(color=FAINT, strokeDash=[3, 3], strokeWidth=1).encode(x=x)
    return line + mark.mark_text(align="left", dx=4, dy=8, color=FAINT, fontSize=10.5).encode(x=x, y=alt.value(0), text="text:N")


def setup(runs: pd.DataFrame, *more: str) -> str:
    """The set-up of a table of runs in a line: hosts, rate, workload, seeds."""
    seeds = extent(runs.groupby(["experiment", "label"])["seed"].nunique())
    words = [
        f"{extent(hosts(runs))} hosts",
        f"{extent(runs['fabric.link_gbps'])} Gb/s",
        *more,
        "one seed" if seeds == "1" else f"{seeds} seeds, mean and 95% interval",
    ]
    return ", ".join(words)


def figure(panels: list, finding: str, setup: str | list[str], columns: int = 2) -> alt.ConcatChart:
    """Panels under one title; the set-up says so where an interval does not fit."""
    if any(_is_cut(panel) for panel in panels):
        setup = [*([setup] if isinstance(setup, str) else setup), CUT]
    with one_selection():
        together = alt.concat(*panels, columns=columns).properties(title=title(finding, setup))
        # Each panel has scales of its own schemes; shared ones would repaint them.
        return together.resolve_scale(color="independent", shape="independent", strokeDash="independent")


def with_own(chart, labels):
    """A chart of `figure`, whose set-up names the schemes of one's own among `labels` of which its title does not speak.

    Titles are written for the schemes that a figure's notebook knows. Other charts are given back as they are.
    """
    finding, setup = (getattr(chart.title, part, None) for part in ("text", "subtitle"))
    if not (isinstance(finding, list) and isinstance(setup, list)):
        return chart
    names = [name_of(label) for label in order(labels) if style(label).family == "other"]
    silent = [name for name in names if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", " ".join(finding))]
    said = f"of one's own, and not in the title: {', '.join(silent)}"
    return chart.properties(title=title("\n".join(finding), [*setup, said])) if silent else chart
