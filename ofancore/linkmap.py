"""Chart form of link loads: a heat map a stage, a row a switch, a column a port."""

from __future__ import annotations

import json

import altair as alt
import numpy as np
import pandas as pd

from ofancore.errors import OfanError
from ofancore.paths import BETWEEN_SWITCHES
from ofancore.theme import FAINT, INK, panel_title, title

# Titles by class: rows are the switches that send, columns their ports.
TITLES = {1: "edge, uplinks", 2: "aggregation, uplinks", 3: "core, to pods", 4: "aggregation, to edges"}
COLOURS = "blueorange"  # colour-blind safe, and pale at the middle: 1, the fair share
CHOICE = "run"  # the parameter by which a reader chooses the run of `chosen_map`
MOST_LINKS = 5_000  # cells of a stage; more are neither seen nor taken by the charts' library


def cells(links: pd.DataFrame) -> pd.DataFrame:
    """`paths.link_table`'s links between switches with `row` (sending switch within its tier) and `column` (its port), from 0.

    Links are numbered by stage, then by the sending switch and its port, so the ports of a switch follow one another.
    """
    inner = links[links["class"].isin(BETWEEN_SWITCHES)]
    row = inner["tail"] - inner.groupby("class")["tail"].transform("min")
    return inner.assign(row=row, column=inner.groupby(["class", "tail"]).cumcount())


def link_map(runs: dict[str, pd.DataFrame], finding: str, setup: str | list[str], most: float | None = None) -> alt.VConcatChart:
    """Bytes over the mean of the stage for every link between switches: panels side by side, a strip a name in `runs`.

    `runs`: name -> `paths.link_table`. One scale for all, pale at 1; it ends at `most`, by default the largest value; tooltips go on.
    Dead links are crossed out. OfanError for stages of more than 5,000 links.
    """
    tables = {name: cells(links) for name, links in runs.items()}
    largest = max(table["over_mean"].max() for table in tables.values())
    top = max(1.1, largest if most is None else most)
    strips = [_strip(name, table, top) for name, table in tables.items()]
    return alt.vconcat(*strips, spacing=18).properties(title=title(finding, setup))


def _strip(name: str, table: pd.DataFrame, top: float) -> alt.HConcatChart:
    panels = [_panel(stage, TITLES[number], top) for number, stage in table.groupby("class", sort=True)]
    return alt.hconcat(*panels, spacing=16).properties(title=panel_title(name))


def _panel(stage: pd.DataFrame, name: str, top: float) -> alt.LayerChart:
    fields = ("cable", "direction", "stage", "over_mean", "bytes", "data", "acks", "drops", "capacity", "queue_max_bytes")
    tips = [
        alt.Tooltip("cable:N"), alt.Tooltip("direction:N"), alt.Tooltip("over_mean:Q", title="over the mean", format=".3f"),
        alt.Tooltip("bytes:Q", format=","), alt.Tooltip("data:Q", title="data packets", format=","), alt.Tooltip("acks:Q", format=","),
        alt.Tooltip("drops:Q", format=","), alt.Tooltip("queue_max_bytes:Q", title="longest queue (B)", format=",.0f"),
        alt.Tooltip("capacity:Q", title="share of rate left"),
    ]  # fmt: skip
    base = alt.Chart(stage[["row", "column", *fields]])
    return _grid(base, stage, name, top, "over_mean", tips, "datum.capacity == 0")


def _grid(base: alt.Chart, stage: pd.DataFrame, name: str, top: float, field: str, tips: list, dead: str) -> alt.LayerChart:
    """The links of a stage, coloured by `field` on a scale that is pale at 1 and ends at `top`; those of which `dead` is true crossed."""
    if len(stage) > MOST_LINKS:
        raise OfanError(f"a map of links shows stages of up to {MOST_LINKS:,} links, not {len(stage):,}")
    rows, columns = int(stage["row"].max()) + 1, int(stage["column"].max()) + 1
    height = int(np.clip(200 / rows, 2, 14)) * rows
    width = int(np.clip(130 / columns, 3, 16)) * columns
    bare = {"ticks": False, "domain": False, "grid": False, "labelOverlap": True, "labelPadding": 4, "labelColor": FAINT}
    x = alt.X("column:O", title="port", axis=alt.Axis(**bare, labelAngle=0))
    y = alt.Y("row:O", title="switch", axis=alt.Axis(**bare))
    scale = alt.Scale(scheme=COLOURS, domain=[0, top], domainMid=1, clamp=True)
    key = alt.Legend(title="bytes over the mean of the stage", orient="bottom", gradientLength=200, titleLimit=0)
    base = base.encode(x=x, y=y)
    load = base.mark_rect(stroke="white", strokeWidth=0.5).encode(color=alt.Color(f"{field}:Q", scale=scale, legend=key), tooltip=tips)
    crossed = base.transform_filter(dead).mark_text(text="×", color=INK, fontSize=11)
    return alt.layer(load, crossed).properties(width=width, height=height, title=panel_title(name, offset=4))


def choice(runs: list[str], first: str) -> alt.Parameter:
    """What a reader of the interactive version chooses: the run on the map. A picture shows `first`."""
    return alt.param(name=CHOICE, value=first, bind=alt.binding_select(options=runs, name="The map shows the links of: "))


def chosen_map(runs: dict[str, pd.DataFrame], most: float | None = None) -> alt.HConcatChart:
    """One map for many runs on the same fabric: that of the run named by the parameter of `choice`, which the figure must have.

    `runs`: name -> `paths.per_link`. The tooltip has how many flows a link carried and the largest one's share. `most` as for `link_map`.
    """
    first, *_ = tables = [cells(links).reset_index(drop=True) for links in runs.values()]
    top = max(1.1, max(table["over_mean"].max() for table in tables) if most is None else most)
    wide = first[["class", "row", "column", "cable", "direction"]].copy()
    # Lists with an entry a run: columns would say their names once more for every link.
    for field, column in (("load", "over_mean"), ("flows", "flows"), ("largest", "largest")):
        each = np.transpose([table[column].to_numpy(float) for table in tables])
        wide[f"{field}_of"] = [[float(f"{value:.3g}") if value == value else None for value in row] for row in each]
    wide["dead_in"] = [np.flatnonzero(row).tolist() for row in np.transpose([table["capacity"] == 0 for table in tables])]
    tips = [
        alt.Tooltip("cable:N"), alt.Tooltip("direction:N"), alt.Tooltip("load:Q", title="bytes over the mean", format=".3f"),
        alt.Tooltip("flows:Q", title="flows"), alt.Tooltip("largest:Q", title="largest flow's share of its data packets", format=".0%"),
    ]  # fmt: skip
    which = f"indexof({json.dumps(list(runs))}, {CHOICE})"
    base = alt.Chart(wide).transform_calculate(**{field: f"datum.{field}_of[{which}]" for field in ("load", "flows", "largest")})
    dead = f"indexof(datum.dead_in, {which}) >= 0"
    panels = [
        _grid(base.transform_filter(f"datum.class == {number}"), stage, TITLES[number], top, "load", tips, dead)
        for number, stage in wide.groupby("class", sort=True)
    ]
    return alt.hconcat(*panels, spacing=16).properties(title=panel_title(alt.ExprRef(f"'Links of: ' + {CHOICE}")))
