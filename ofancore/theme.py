"""How a chart looks before anything is drawn in it: theme, encodings of the schemes, axes, titles; colours are in `palette.py`."""

from __future__ import annotations

import contextlib
import math
import warnings
from dataclasses import dataclass, replace

import altair as alt

from ofancore.palette import name_of, order, style

FONT = "Liberation Sans"
SANS = f"'{FONT}', Arial, Helvetica, sans-serif"  # in SVG: where that font is not installed, one of the same widths
INK, FAINT, GRID, LINK = "#222222", "#767676", "#e6e6e6", "#0b5f8a"
WIDTH, HEIGHT = 300, 250


@alt.theme.register("ofan", enable=True)
def theme() -> alt.theme.ThemeConfig:
    text = {"labelFontSize": 11, "titleFontSize": 12, "labelColor": INK, "titleColor": INK, "titleFontWeight": "normal"}
    return {
        "config": {
            "font": FONT,
            "background": "white",
            "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
            "title": {
                "anchor": "start", "frame": "group", "fontSize": 14, "fontWeight": "bold", "color": INK, "offset": 14,
                "subtitleFontSize": 11.5, "subtitleColor": FAINT, "subtitlePadding": 5, "subtitleLineHeight": 15,
            },
            "axis": {
                **text, "gridColor": GRID, "domainColor": FAINT, "tickColor": FAINT,
                "titlePadding": 8, "tickSize": 4, "labelOverlap": "greedy",
            },
            "header": {"labelFontSize": 12, "labelColor": INK, "titleFontSize": 12, "labelFontWeight": "bold"},
            "legend": {**text, "symbolSize": 60, "orient": "bottom", "symbolBaseFillColor": INK, "symbolBaseStrokeColor": INK},
            "text": {"font": FONT, "fontSize": 11},
            "concat": {"spacing": 28},
        }
    }  # fmt: skip


# The kernel's default renderer loads scripts from the network; SVG shows offline, in JupyterLab and under papermill.
alt.renderers.enable("svg")

pick = alt.selection_point(name="pick", fields=["scheme"], on="click", clear="dblclick")
faded = alt.when(pick).then(alt.value(1.0)).otherwise(alt.value(0.12))


@contextlib.contextmanager
def one_selection():
    """All panels share the selection `pick` on purpose: a click isolates a scheme in every one. Altair warns of that."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Automatically deduplicated selection parameter")
        yield


def scales(labels) -> dict:
    """Colour, dash and shape encodings of the schemes in a chart, without a legend."""
    labels = order(labels)
    names = [name_of(label) for label in labels]

    def scale(values):
        return alt.Scale(domain=names, range=values)

    return {
        "color": alt.Color("scheme:N", scale=scale([style(x).colour for x in labels]), legend=None),
        "strokeDash": alt.StrokeDash("scheme:N", scale=scale([list(style(x).dash) for x in labels]), legend=None),
        "shape": alt.Shape("scheme:N", scale=scale([style(x).marker for x in labels]), legend=None),
    }


def title(finding: str, setup: str | list[str]) -> alt.TitleParams:
    """The finding in bold (broken at newlines), the set-up below it."""
    return alt.TitleParams(text=finding.split("\n"), subtitle=[setup] if isinstance(setup, str) else setup)


def spread(positions: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart to at least `gap`, as little as possible, within [low, high]; order is kept."""
    if not positions:
        return []
    gap = min(gap, (high - low) / max(1, len(positions) - 1))
    by_place = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks: list[list] = []  # [members, centre]
    for i in by_place:
        blocks.append([[i], min(max(positions[i], low), high)])
        while True:
            members, centre = blocks[-1]
            half = gap * (len(members) - 1) / 2
            centre = blocks[-1][1] = min(max(centre, low + half), high - half)
            if len(blocks) < 2:
                break
            before, centre_before = blocks[-2]
            if centre - half - (centre_before + gap * (len(before) - 1) / 2) >= gap - 1e-9:
                break
            merged = before + members
            blocks[-2:] = [[merged, (centre_before * len(before) + centre * len(members)) / len(merged)]]
    placed = [0.0] * len(positions)
    for members, centre in blocks:
        for rank, i in enumerate(members):
            placed[i] = centre + gap * (rank - (len(members) - 1) / 2)
    return placed


@dataclass(frozen=True)
class Axis:
    """An axis: its title with the unit, its scale and, if wanted, limits, ticks and a number format."""

    title: str
    log: bool = False
    limits: tuple[float, float] | None = None
    ticks: tuple | None = None
    format: str = ",.6~g"
    names: tuple[tuple[float, str], ...] = ()  # ticks with a text of their own; they replace all others unless `ticks` lists more

    def over(self, values) -> Axis:
        """With limits that hold the values (and zero, on a linear axis)."""
        if self.limits is not None:
            return self
        finite = [float(v) for v in values if v is not None and math.isfinite(v) and (v > 0 or not self.log)]
        if not finite:
            return self._with((0.1, 1) if self.log else (0, 1))
        low, high = min(finite), max(finite)
        if self.log:
            room = (high / low) ** 0.04 if high > low else 1.5
            return self._with((low / room, high * room))
        low = min(low, 0.0)
        high = high if high > low else low + 1
        return self._with((low if low == 0 else low - 0.04 * (high - low), high + 0.04 * (high - low)))

    def _with(self, limits):
        return replace(self, limits=limits)

    def _place(self, value: float) -> float:
        low, high = (math.log(v) if self.log else v for v in self.limits)
        return ((math.log(value) if self.log else value) - low) / (high - low)

    def pixel(self, value: float, size: float) -> float:
        return min(1.0, max(0.0, self._place(value))) * size if not self.log or value > 0 else 0.0

    def value_at(self, pixel: float, size: float) -> float:
        low, high = (math.log(v) if self.log else v for v in self.limits)
        at = low + pixel / size * (high - low)
        return math.exp(at) if self.log else at

    def encode(self, channel, field: str):
        scale = alt.Scale(type="log" if self.log else "linear", domain=list(self.limits), nice=False)
        ticks = decades(*self.limits) if self.ticks is None and self.log else self.ticks
        if self.names and self.ticks is None:
            ticks = [value for value, _ in self.names]
        text = "datum.label"
        for value, name in self.names:
            text = f"datum.value == {value} ? '{name}' : {text}"
        if ticks is None:
            axis = alt.Axis(format=self.format, tickCount=5)
        else:
            axis = alt.Axis(format=self.format, values=[t for t in ticks if self.limits[0] <= t <= self.limits[1]], labelExpr=text)
        return channel(f"{field}:Q", title=self.title, scale=scale, axis=axis)


def powers_of_two(low: int, high: int, step: int = 1) -> tuple[int, ...]:
    return tuple(2**i for i in range(low, high + 1, step))


def decades(low: float, high: float) -> list[float]:
    """Ticks of a log axis, as close as their labels allow: 1, 2 and 5 of every decade; 1 and 3 over more than two decades, 1 alone over
    more than three; even steps within a short range."""
    steps = (1,) if high > 1000 * low else (1, 3) if high > 100 * low else (1, 2, 5)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [step * 10.0**e for e in range(first, last + 1) for step in steps]
    if sum(low <= tick <= high for tick in ticks) >= 3:
        return ticks
    step = 10.0 ** math.floor(math.log10((high - low) / 3))
    step *= max(k for k in (1, 2, 5) if k * step <= (high - low) / 3)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def panel_title(text: str | list[str] | alt.ExprRef, offset: int = 8) -> alt.TitleParams:
    return alt.TitleParams(text, fontSize=12, anchor="start", frame="group", offset=offset)
