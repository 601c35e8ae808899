"""Chart forms of the league: heat maps of schemes against settings, columns of numbers beside them, and such panels in a row."""

from __future__ import annotations

import altair as alt
import pandas as pd

from ofancore.metrics import shown
from ofancore.palette import name_of
from ofancore.theme import FAINT, INK, Axis, faded, one_selection, panel_title, pick

CELL, STEP = 36, 19  # pixels: width of a cell, height of a row
COLOURS = "viridis"  # colour-blind safe, and rises in lightness


def _rows(labels: list[str], names: bool) -> alt.Y:
    axis = alt.Axis(ticks=False, domain=False, grid=False, labels=names, labelPadding=8, labelLimit=220)
    return alt.Y("scheme:N", sort=[name_of(x) for x in labels], title=None, axis=axis)


def heat(table: pd.DataFrame, labels: list[str], column: str, value: Axis, panel: str, names: bool = False) -> alt.LayerChart:
    """A row for each label, in that order, a cell for each value of `column` (in the table's order): colour on a log scale, and the number.

    `value` has limits: colours end there, numbers do not. A cell of which runs did not finish says ">".
    """
    low, high = value.limits
    data = table.assign(scheme=table["label"].map(name_of), column=table[column], drawn=table["mean"].clip(low, high))
    data["text"] = [("> " if unfinished else "") + _short(mean) for mean, unfinished in zip(data["mean"], data["unfinished"], strict=True)]
    data["ink"] = ["#ffffff" if v < (low * high) ** 0.5 else INK for v in data["drawn"]]
    x = alt.X(
        "column:N",
        sort=list(dict.fromkeys(table[column])),
        title=None,
        axis=alt.Axis(labelAngle=-45, labelOverlap=False, ticks=False, domain=False, labelLimit=160),
    )
    y = _rows(labels, names)
    scale = alt.Scale(type="log", domain=[low, high], scheme=COLOURS, clamp=True)
    tips = [alt.Tooltip("scheme:N"), alt.Tooltip("column:N", title=panel)]
    tips += [
        alt.Tooltip(f"{c}:Q", title=f"{value.title}: {t}", format=",.4~g")
        for c, t in (("mean", "mean"), ("low", "95% from"), ("high", "95% to"))
    ]
    tips += [alt.Tooltip("seeds:Q"), alt.Tooltip("unfinished:Q", title="runs not finished")]
    base = alt.Chart(data)
    cells = base.mark_rect(stroke="white").encode(
        x=x, y=y, color=alt.Color("drawn:Q", scale=scale, legend=None), opacity=faded, tooltip=tips
    )
    text = base.mark_text(fontSize=9.5).encode(x=x, y=y, text="text:N", color=alt.Color("ink:N", scale=None), opacity=faded)
    size = {"width": CELL * data[column].nunique(), "height": STEP * len(labels)}
    together = alt.layer(cells.add_params(pick), text).resolve_scale(color="independent")
    return together.properties(title=panel_title(panel), **size)


def column(table: pd.DataFrame, labels: list[str], field: str, panel: str, width: int = 66) -> alt.Chart:
    """A number for each label, as text. The unit in the title stands in a line of its own."""
    data = table.assign(scheme=table["label"].map(name_of), text=[_short(v) for v in table[field]])
    text = alt.Chart(data).mark_text(fontSize=10, align="right", color=FAINT, xOffset=width - 6)
    encoded = text.encode(
        x=alt.value(0), y=_rows(labels, False), text="text:N", opacity=faded, tooltip=["scheme:N", alt.Tooltip(f"{field}:Q", title=panel)]
    )
    return encoded.add_params(pick).properties(
        title=panel_title(panel.replace(" (", "\n(").split("\n")), width=width, height=STEP * len(labels)
    )


def in_a_row(panels: list) -> alt.HConcatChart:
    """Panels side by side, close together, each with scales of its own."""
    with one_selection():
        return alt.hconcat(*panels, spacing=12).resolve_scale(color="independent", shape="independent", strokeDash="independent")


def _short(value: float) -> str:
    """Two significant digits, thousands as k and millions as M."""
    for size, letter in ((1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            divisor = 1e6 if letter == "M" else 1e3
            return f"{value / divisor:.3g}{letter}"
    if abs(value) >= 100 or value == round(value):
        return f"{value:.0f}"
    return shown(value)
