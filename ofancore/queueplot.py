"""Chart forms of runs over time (`timeline.Timeline`, by label of the scheme): queues against time, and loads of links side by side.

They are drawn while somebody waits, so each is one chart with little in it; `linkmap` and `charts` have the forms for files.
"""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from ofancore.linkmap import COLOURS, TITLES, cells
from ofancore.palette import name_of, order, style
from ofancore.paths import link_table
from ofancore.theme import INK, panel_title
from ofancore.timeline import Timeline, queues

MOST_CELLS = 4_000  # links that are drawn one by one, over all schemes; more are drawn as curves
CURVE = 97  # points of a curve of loads: every link, on a stage of 96
TICKS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
LEFT, WIDE, HIGH = 320, 116, 190  # pixels: width of a panel of queues and of a stage, height


def _encodings(labels: list[str]) -> dict:
    """Colour and dash of the schemes, with a legend."""
    names = [name_of(label) for label in labels]
    legend = alt.Legend(title=None, orient="top", symbolType="stroke", symbolSize=400, labelLimit=0, columns=4)
    return {
        "color": alt.Color("scheme:N", scale=alt.Scale(domain=names, range=[style(x).colour for x in labels]), legend=legend),
        "strokeDash": alt.StrokeDash("scheme:N", scale=alt.Scale(domain=names, range=[list(style(x).dash) for x in labels]), legend=legend),
    }


def over_time(runs: dict[str, Timeline]) -> alt.HConcatChart:
    """The longest queue at any switch port, and the mean over the ports, against time, a line a scheme.

    The axis of queues is linear up to one packet and logarithmic above. Time ends with the last run that finished, or else the last.
    """
    labels = order(runs)
    tables = [queues(runs[label]).assign(scheme=name_of(label)) for label in labels]
    finished = [run.result.ended_ns for run in runs.values() if run.result.finished]
    last = max(finished or [run.result.ended_ns for run in runs.values()])
    data = pd.concat(table[table["time_ns"].shift(fill_value=-1) < last] for table in tables)  # up to the first look at the end or later
    data = pd.DataFrame({"scheme": data["scheme"], "us": data["time_ns"] / 1000, "largest": data["largest"], "mean": data["mean"]}).round(4)
    x = alt.X("us:Q", title="time (µs)", scale=alt.Scale(domain=[0, last / 1000], nice=False), axis=alt.Axis(tickCount=6))
    base = alt.Chart(data).mark_line(strokeWidth=1.6, clip=True)
    panels = []
    for field, name in (("largest", "Longest queue at a switch port"), ("mean", "Queue at a switch port, mean over ports")):
        top = max(1.0, float(data[field].max())) * 1.05
        ticks = [t for t in TICKS if t <= top] if top > 10 else None
        scale = alt.Scale(type="symlog", constant=1, domain=[0, top], nice=False) if top > 10 else alt.Scale(domain=[0, top], nice=False)
        axis = alt.Axis(values=ticks, format="~s") if ticks else alt.Axis(tickCount=5)
        y = alt.Y(f"{field}:Q", title="data packets", scale=scale, axis=axis)
        panels.append(base.encode(x=x, y=y, **_encodings(labels)).properties(width=LEFT, height=HIGH, title=panel_title(name)))
    return alt.hconcat(*panels, spacing=24)


def loads(runs: dict[str, Timeline]) -> alt.Chart:
    """Load of every link between switches over the mean of its stage: as `link_maps` if those are not too many, else as `load_curves`."""
    links = {label: link_table(runs[label].result) for label in order(runs)}
    drawn = sum(int(table["class"].isin(tuple(TITLES)).sum()) for table in links.values())
    return link_maps(links) if drawn <= MOST_CELLS else load_curves(links)


def link_maps(links: dict[str, pd.DataFrame]) -> alt.Chart:
    """Maps of a scheme (label -> `paths.link_table`) in a row, one a stage: a row a switch, a column a port; dead links crossed."""
    tables = []
    for label, table in links.items():
        shown = cells(table)
        columns = {"scheme": name_of(label), "stage": shown["class"].map(TITLES), "switch": shown["row"], "port": shown["column"]}
        tables.append(pd.DataFrame({**columns, "load": shown["over_mean"].round(4), "dead": shown["capacity"] == 0}))
    data = pd.concat(tables)
    names = [name_of(label) for label in links]
    stages = [name for name in TITLES.values() if name in set(data["stage"])]
    bare = {"ticks": False, "domain": False, "labels": False, "grid": False}
    top = max(1.1, float(data["load"].max()))
    key = alt.Legend(title="bytes over the mean of the stage", orient="bottom", gradientLength=200, titleLimit=0, format=".2~f")
    colour = alt.Color("load:Q", scale=alt.Scale(scheme=COLOURS, domain=[0, top], domainMid=1, clamp=True), legend=key)
    base = alt.Chart().encode(x=alt.X("port:O", title=None, axis=alt.Axis(**bare)), y=alt.Y("switch:O", title=None, axis=alt.Axis(**bare)))
    layers = [base.mark_rect(stroke="white", strokeWidth=0.3).encode(color=colour)]
    if data["dead"].any():
        layers.append(base.mark_text(text="×", color=INK, fontSize=11).transform_filter("datum.dead"))
    half = alt.layer(*layers, data=data).properties(width=WIDE + 24, height=110)
    head = alt.Header(title=None, labelFontSize=11, labelPadding=4)
    # Room beyond the text, which a browser may draw in a wider font than the one it was measured in.
    text = {"labelFontSize": 11, "labelFontWeight": "normal", "labelLimit": 160}
    side = alt.Header(title=None, labelAngle=0, labelAlign="left", labelPadding=20, **text)
    facets = half.facet(
        column=alt.Column("stage:N", sort=stages, header=head), row=alt.Row("scheme:N", sort=names, header=side), spacing=10
    )
    title = panel_title("Load of every link: rows are switches, columns their ports")
    return facets.resolve_scale(x="independent", y="independent").properties(title=title)


def load_curves(links: dict[str, pd.DataFrame]) -> alt.Chart:
    """Links of each stage from the least to the most loaded one (label -> `paths.link_table`): a panel a stage, a line a scheme."""
    tables = []
    for label, table in links.items():
        for number, stage in table[table["class"].isin(tuple(TITLES))].groupby("class", sort=True):
            share = np.linspace(0, 1, CURVE)
            values = np.quantile(stage["over_mean"], share, method="nearest")
            tables.append(pd.DataFrame({"scheme": name_of(label), "stage": TITLES[number], "share": 100 * share, "load": values}).round(4))
    data = pd.concat(tables)
    stages = [name for name in TITLES.values() if name in set(data["stage"])]
    x = alt.X("share:Q", title="links, from the least loaded one (%)", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=4))
    y = alt.Y("load:Q", title="bytes over the mean", scale=alt.Scale(domain=[0, max(1.1, float(data["load"].max()))], nice=False))
    line = alt.Chart(data).mark_line(strokeWidth=1.6).encode(x=x, y=y, **_encodings(list(links)))
    head = alt.Header(title=None, labelFontSize=11, labelPadding=4)
    facets = line.properties(width=WIDE + 24, height=130).facet(column=alt.Column("stage:N", sort=stages, header=head), spacing=16)
    return facets.properties(title=panel_title("Links between switches, sorted by load"))


def numbers(runs: dict[str, Timeline]) -> pd.DataFrame:
    """A row a scheme (its label), in the palette's order, with what the pictures do not say; CCT is NaN of a run that was stopped."""
    rows = {}
    for label in order(runs):
        r = runs[label].result
        rows[label] = {
            "CCT (µs)": r.cct_ns / 1000,
            "above the bound (%)": 100 * r.cct_inflation,
            "longest queue (packets)": r.queue_max_packets,
            "mean queue (packets)": r.queue_mean_packets,
            "lost": r.packets["dropped"],
            "sent again": r.replaced_packets + r.resent_packets,
        }
    return pd.DataFrame.from_dict(rows, orient="index")
