"""Chart forms of the league: heat maps of schemes against settings, columns of numbers beside them, and such panels in a row."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import altair as alt
import pandas as pd

from ofancore.league import Quantity, short, with_interval
from ofancore.palette import contrast, name_of
from ofancore.theme import FAINT, LINK, faded, one_selection, panel_title, pick

CELL, STEP, LETTER = 36, 19, 7  # pixels: width of a cell, height of a row, width of a letter in a title
# Viridis in nine steps: colour-blind safe, and rises in lightness.
COLOURS = ("#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725")
NAMES = "names of the rows"  # of the panel that stays in sight where the report scrolls a chart
CHOICE = "quantity"  # the parameter by which a reader chooses what the cells show


def colour_at(place: float) -> str:
    """The colour at 0 (lowest) to 1 (highest) of the scale."""
    at = min(1.0, max(0.0, place)) * (len(COLOURS) - 1)
    i = min(int(at), len(COLOURS) - 2)
    mixed = (round((1 - (at - i)) * int(COLOURS[i][c : c + 2], 16) + (at - i) * int(COLOURS[i + 1][c : c + 2], 16)) for c in (1, 3, 5))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def ink_on(colour: str) -> str:
    """Black or white, whichever is read better on the colour: one of them always has a contrast of 4.58 or more."""
    return max("#000000", "#ffffff", key=lambda ink: contrast(ink, colour))


def place(value: float, limits: tuple[float, float]) -> float:
    """Where a value lies on the log scale of colours; what is not above zero lies at its lower end."""
    low, high = limits
    return min(1.0, max(0.0, math.log(value / low) / math.log(high / low))) if value > 0 else 0.0


def rows(labels: list[str], names: bool) -> alt.Y:
    """A row for each label, in that order."""
    axis = alt.Axis(ticks=False, domain=False, grid=False, labels=names, labelPadding=8, labelLimit=220)
    return alt.Y("scheme:N", sort=[name_of(x) for x in labels], title=None, axis=axis)


def choice(quantities: Sequence[Quantity]) -> alt.Parameter:
    """What a reader of the interactive version chooses: the quantity in the cells. A picture shows the first one."""
    options = [q.stem for q in quantities]
    bind = alt.binding_select(options=options, labels=[q.title for q in quantities], name="Cells show: ")
    return alt.param(name=CHOICE, value=options[0], bind=bind)


def heat(table: pd.DataFrame, labels: list[str], column: str, quantities: Sequence[Quantity], panel: str) -> alt.LayerChart:
    """A row for each label, in that order, a cell for each value of `column` (in the table's order): colour on a log scale, and the number.

    `table` is of the form of `league.cells`. Which of the quantities is shown is the parameter of `choice`, which the figure must have.
    A cell of which runs did not finish says ">" before what can only have grown, its CCT. The tooltip has all quantities with intervals.
    """
    data = table[["label", "seeds"]].assign(scheme=table["label"].map(name_of), column=table[column], unfinished=table["unfinished_runs"])
    for q in quantities:
        values = table[list(q.columns)].to_numpy(float)
        cut = (table["unfinished_runs"] > 0) & (q.stem == "inflation")
        fills = [colour_at(place(mean, q.limits)) for mean, _, _ in values]
        data[f"text_{q.stem}"] = [("> " if c else "") + short(mean) for (mean, _, _), c in zip(values, cut, strict=True)]
        data[f"fill_{q.stem}"], data[f"ink_{q.stem}"] = fills, [ink_on(fill) for fill in fills]
        intervals = [with_interval(*row, seeds) for row, seeds in zip(values, table["seeds"], strict=True)]
        data[f"tip_{q.stem}"] = [("> " if c else "") + interval for interval, c in zip(intervals, cut, strict=True)]
    x = alt.X(
        "column:N",
        sort=list(dict.fromkeys(table[column])),
        title=None,
        axis=alt.Axis(labelAngle=-45, labelOverlap=False, ticks=False, domain=False, labelLimit=160),
    )
    y = rows(labels, False)
    tips = [alt.Tooltip("scheme:N"), alt.Tooltip("column:N", title=panel)]
    tips += [alt.Tooltip(f"tip_{q.stem}:N", title=f"{q.title}, mean [95% interval]") for q in quantities]
    tips += [alt.Tooltip("seeds:Q"), alt.Tooltip("unfinished:Q", title="runs not finished")]
    base = alt.Chart(data).transform_calculate(**{part: f"datum['{part}_' + {CHOICE}]" for part in ("text", "fill", "ink")})
    cells = base.mark_rect(stroke="white").encode(x=x, y=y, color=alt.Color("fill:N", scale=None), opacity=faded, tooltip=tips)
    text = base.mark_text(fontSize=9.5).encode(x=x, y=y, text="text:N", color=alt.Color("ink:N", scale=None), opacity=faded, tooltip=tips)
    size = {"width": CELL * data["column"].nunique(), "height": STEP * len(labels)}
    return alt.layer(cells.add_params(pick), text).properties(title=panel_title(panel), **size)


def names(labels: list[str], links: Sequence[str], width: int = 146) -> alt.Chart:
    """The names of the schemes, to stand to the left of a row of panels; each leads to where the scheme is described (empty: nowhere)."""
    files = [link.lstrip("./") for link in links]
    data = pd.DataFrame({"scheme": [name_of(x) for x in labels], "href": [link or None for link in links], "file": files})
    text = alt.Chart(data).mark_text(align="right", fontSize=11, color=LINK, limit=width)
    tips = [alt.Tooltip("scheme:N"), alt.Tooltip("file:N", title="described in")]
    encoded = text.encode(x=alt.value(width), y=rows(labels, False), text="scheme:N", href="href:N", opacity=faded, tooltip=tips)
    return encoded.properties(width=width, height=STEP * len(labels), description=NAMES)


def column(table: pd.DataFrame, labels: list[str], field: str, panel: str, width: int = 52, texts: list[str] | None = None) -> alt.Chart:
    """A number for each label, as text (or `texts` in their place). The title is broken to the width, its unit in a line of its own."""
    shown = [short(v) for v in table[field]] if texts is None else texts
    data = table[[field]].assign(scheme=table["label"].map(name_of), text=shown)
    text = alt.Chart(data).mark_text(fontSize=10, align="right", color=FAINT, xOffset=width - 6)
    encoded = text.encode(
        x=alt.value(0),
        y=rows(labels, False),
        text="text:N",
        opacity=faded,
        tooltip=["scheme:N", alt.Tooltip("text:N", title=" ".join(panel.split()))],
    )
    return encoded.add_params(pick).properties(title=panel_title(_lines(panel, width // LETTER)), width=width, height=STEP * len(labels))


def _lines(text: str, letters: int) -> list[str]:
    name, bracket, unit = text.partition(" (")
    return [*textwrap.wrap(name, letters, break_long_words=False), *([f"({unit}"] if bracket else [])]


def in_a_row(panels: list) -> alt.HConcatChart:
    """Panels side by side, close together, each with scales of its own."""
    with one_selection():
        return alt.hconcat(*panels, spacing=12).resolve_scale(color="independent", shape="independent", strokeDash="independent")
