"""Chart form of constants: under each scheme a row for every value of each of its constants, a panel for each setting."""

from __future__ import annotations

import altair as alt
import pandas as pd

from ofancore.charts import CUT
from ofancore.constants import title
from ofancore.heatmap import NAMES, in_a_row
from ofancore.palette import name_of, order, style, text_colour
from ofancore.theme import FAINT, GRID, INK, Axis, faded, one_selection, panel_title, pick, scales

STEP = 13  # pixels: height of a row
WIDE, PANEL = 190, 165  # pixels: width of the names and of a setting's panel


def placed(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(heads, rows): where the schemes' names stand (`label`, `y`, `end`) and the table with `y`, in rows from the top."""
    heads, rows, y = [], [], 0
    for label in order(table["label"]):
        of = table[table["label"] == label]
        lines = of[["constant", "place", "value", "ours"]].drop_duplicates()
        heads.append({"label": label, "y": y + 0.5, "end": y + 1 + len(lines)})
        for _, constant in lines.groupby("constant", sort=False):
            for n, line in enumerate(constant.sort_values("place").to_dict("records")):
                y += 1
                rows.append({"label": label, "y": y + 0.5, "first": n == 0, **line})
        y += 1
    at = pd.DataFrame(rows)
    return pd.DataFrame(heads), table.merge(at[["label", "constant", "place", "y", "first"]], on=["label", "constant", "place"])


def _y(total: int, field: str = "y:Q") -> alt.Y:
    return alt.Y(field, scale=alt.Scale(domain=[0, total], reverse=True, nice=False, zero=False), axis=None)


def _bands(rows: pd.DataFrame, total: int, width: int) -> alt.Chart:
    """A grey ground behind the rows of our values."""
    ours = rows[rows["ours"]].drop_duplicates("y")
    ground = alt.Chart(pd.DataFrame({"top": ours["y"] - 0.5, "end": ours["y"] + 0.5})).mark_rect(color=GRID, opacity=0.7)
    return ground.encode(y=_y(total, "top:Q"), y2="end:Q", x=alt.value(0), x2=alt.value(width))


def _names(heads: pd.DataFrame, rows: pd.DataFrame, total: int) -> alt.LayerChart:
    lines = rows.drop_duplicates("y")
    heads = heads.assign(text=heads["label"].map(name_of), ink=heads["label"].map(lambda x: text_colour(style(x).colour)))
    firsts = lines[lines["first"]].assign(text=lambda t: t["constant"].map(title))
    head = alt.Chart(heads).mark_text(align="left", fontWeight="bold", fontSize=11.5)
    constant = alt.Chart(firsts).mark_text(align="left", fontSize=10.5, color=INK)
    layers = [
        _bands(rows, total, WIDE),
        head.encode(x=alt.value(0), y=_y(total), text="text:N", color=alt.Color("ink:N", scale=None)),
        constant.encode(x=alt.value(10), y=_y(total), text="text:N"),
    ]
    for ours, weight in ((True, "bold"), (False, "normal")):
        text = alt.Chart(lines[lines["ours"] == ours]).mark_text(align="right", fontSize=10.5, fontWeight=weight, color=INK)
        layers.append(text.encode(x=alt.value(WIDE - 6), y=_y(total), text="value:N"))
    return alt.layer(*layers).properties(width=WIDE, height=STEP * total, description=NAMES)


def ladder(table: pd.DataFrame, setting: str, axes: dict[str, Axis]) -> alt.HConcatChart:
    """Rows of the effects (`constants.effects`) of the schemes in the table; `axes`: setting -> its axis, with limits.

    A dot is the mean, the bar its 95% interval; the dashed line through a scheme's rows is the mean of the scheme with our constants. A
    value of which runs did not finish has a hollow mark.
    """
    heads, rows = placed(table)
    total = int(heads["end"].max())
    panels = [_names(heads, rows, total)]
    rows = rows.assign(scheme=rows["label"].map(name_of), name=rows["constant"].map(title))
    sc = scales(rows["label"])
    for at, axis in axes.items():
        here = rows[rows[setting] == at]
        drawn = here[["low", "high"]].clip(*axis.limits)
        cut = bool((here["low"] < axis.limits[0]).any())
        here = here.assign(**{"from": drawn["low"], "to": drawn["high"]})
        ours = here[here["ours"]].drop_duplicates("label")[["label", "scheme", "mean"]].merge(heads, on="label")
        xe = axis.encode(alt.X, "mean")
        tips = ["scheme:N", alt.Tooltip("name:N", title="constant"), alt.Tooltip("value:N")]
        tips += [
            alt.Tooltip(f"{c}:Q", title=t, format=",.4~g")
            for c, t in (
                ("mean", f"{axis.title}: mean"), ("low", "95% from"), ("high", "95% to"), ("factor", "CCT over that with our value"),
                ("factor_low", "over ours: 95% from"), ("factor_high", "over ours: 95% to"),
                ("queue_max_packets", "largest queue (packets)"), ("dropped_percent", "dropped (%)"),
            )
        ]  # fmt: skip
        tips += [alt.Tooltip("seeds:Q"), alt.Tooltip("unfinished:Q", title="runs not finished")]
        base, done, not_all = alt.Chart(here), alt.Chart(here[here["unfinished"] == 0]), alt.Chart(here[here["unfinished"] > 0])
        rule = alt.Chart(ours).mark_rule(color=FAINT, strokeDash=[3, 3], strokeWidth=1)
        layers = [
            _bands(rows, total, PANEL),
            rule.encode(x=xe, y=_y(total), y2="end:Q", opacity=faded),
            base.mark_rule(strokeWidth=2).encode(
                y=_y(total), x=alt.X("from:Q", scale=xe["scale"], title=axis.title), x2="to:Q", color=sc["color"], opacity=faded
            ),
            done.mark_point(size=30, filled=True, opacity=1).encode(xe, _y(total), sc["color"], sc["shape"], tooltip=tips, opacity=faded),
        ]
        if here["unfinished"].any():
            hollow = not_all.mark_point(size=30, filled=False, fill="white", strokeWidth=1.5, opacity=1)
            layers.append(hollow.encode(xe, _y(total), sc["color"], sc["shape"], tooltip=tips, opacity=faded))
        layers[2] = layers[2].add_params(pick)
        described = {"description": CUT} if cut else {}
        panels.append(alt.layer(*layers).properties(width=PANEL, height=STEP * total, title=panel_title(at), **described))
    return in_a_row(panels)


def below(*panels) -> alt.VConcatChart:
    """One under the other, each with scales of its own."""
    with one_selection():
        return alt.vconcat(*panels).resolve_scale(color="independent", shape="independent")
