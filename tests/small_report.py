"""Small results of every kind that the report's page reads, drawn by the real chart forms from made-up numbers."""

from __future__ import annotations

import json
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ofancore import charts, claims, palette
from ofancore.charts import Axis
from ofancore.config import Claim
from ofancore.docstrings import described_in, link
from ofancore.heatmap import choice, column, heat, in_a_row, names
from ofancore.league import QUANTITIES

SCHEMES = ("ecmp", "ops", "ofan", "mine")
PLAN = {
    "results": "results",
    "figures": {
        "lines_f": {"category": "Lines & laws", "experiments": ["sweep"]},
        "dots_f": {"category": "Points", "experiments": ["point"]},
        "rows_f": {"category": "Points", "experiments": ["point", "sweep"]},
        "heat_f": {"category": "League", "experiments": ["league"], "more": ["_cells.csv"]},
    },
    "experiments": {
        "sweep": {"about": 'What grows, and "how" <fast>.', "schemes": list(SCHEMES)},
        "point": {"about": "One point.", "schemes": ["ops", "ofan"]},
        "league": {"about": "All.", "schemes": ["ecmp", "ofan"]},
    },
    "animation": True,
    "names": {"mine": "mine"},
    "schemes": {"ecmp": {"kind": "ecmp"}, "ops": {"kind": "ops", "labels": 64}, "ofan": {"kind": "ofan"}, "mine": {"kind": "mine"}},
    "claims": {"C1": ["sweep"], "C2": []},
}
CAPTIONS = {
    "workflow": "A small report\n==============\n\nWhat it is.",
    "claims": "How claims are judged, by ``config``.",
    "lines_f": "**Lines, with laws.** Queues against the message.",
    "dots_f": "**Dots.** One point; claim C2.",
    "rows_f": "**Rows.** One choice a row.\n\n- a list",
    "heat_f": "Without a heading of its own.",
}
RUNS = {"ofancore": "0.1.0", "source": "0123456789abcdef"}


def table(labels=SCHEMES, over=(64, 256, 1024)) -> pd.DataFrame:
    rows = [
        {"label": label, "m": m, "mean": (i + 1) * m**0.5, "low": 0.9 * (i + 1) * m**0.5, "high": 1.1 * (i + 1) * m**0.5, "seeds": 3}
        for i, label in enumerate(labels)
        for m in over
    ]
    return pd.DataFrame(rows).assign(unfinished=0)


def drawn(folder: Path) -> dict:
    """Name -> (chart, its table), for results in `folder`."""
    palette.know(PLAN["names"])
    many, one = table(), table(over=(64,))
    laws = pd.DataFrame({"m": [64, 1024], "y": [8.0, 32.0], "law": "a law"})
    message, queue = Axis("message (packets)", log=True, ticks=tuple(range(64, 1025, 32))), Axis("queue (packets)", log=True)
    panels = [charts.lines(many, "m", message, queue, laws, panel=f"Panel {i}") for i in (1, 2)]
    panels[1] = panels[1] + charts.vertical(message.over([64, 1024]), 256, "a rule")
    marks = ((10.0, 20.0, "a band"), (30.0, 30.0, "a line"))
    dots = [charts.dots(one, queue, panel="Left", marks=marks), charts.dots(one, queue, panel="Right", names=False)]
    choices = pd.concat([one.assign(choice=c) for c in ("default", "other")])
    ranked = [x for x in SCHEMES if x != "mine"]
    known = one[one["label"].isin(ranked)]
    cells = pd.concat([known.assign(setting=s, unfinished_runs=i) for i, s in enumerate(("healthy", "dead cables"))])
    for i, quantity in enumerate(QUANTITIES):
        cells[list(quantity.columns)] = 10**i * cells[["mean", "low", "high"]].to_numpy()
    links = [link(described_in(x), folder / "figures") for x in ranked]
    heats = [names(ranked, links), heat(cells, ranked, "setting", QUANTITIES, "CCT")]
    costs = [column(known, ranked, "mean", title) for title in ("state (B)", "largest queue (packets)", "dropped (%)", "reordered (%)")]
    # As wide as two panels, and too wide for a phone.
    league = charts.figure([in_a_row([*heats, *costs]), in_a_row([heats[0], *costs])], "A league", "made up", columns=2)
    described = one.assign(described_in=[described_in(x) for x in one["label"]])
    marks_of = alt.Chart(pd.DataFrame({"who": ["a simulator", "another"], "us": [1, 2], "scheme": "OPS (host random)"}))
    colour = alt.Color("scheme:N", scale=alt.Scale(range=["#08306b"]), legend=None)
    key = marks_of.mark_point(filled=True).encode(x="us:Q", shape="who:N", color=colour)  # its legend has no colour
    return {
        "lines_f": (charts.figure(panels, "Queues grow\nwith the message", ["made up", "3 seeds"]), many),
        "dots_f": (charts.figure(dots, "Ofan < OPS", "made up"), one),
        "rows_f": (charts.figure([charts.rows(choices, "choice", queue), key], "A choice moves it", "made up"), choices),
        "heat_f": (league.add_params(choice(QUANTITIES)), pd.concat([described.assign(n=n) for n in range(20)])),
    }


def verdicts() -> list[dict]:
    seeds = pd.DataFrame({"label": "ops", "seed": range(3), "finished": True, "cct_ns": [99.0, 100.0, 101.0]})
    check = {"says": "at most 200 <ns>", "experiment": "sweep", "measure": "value", "metric": "cct_ns", "schemes": ["ops"]}
    given = {
        "C1": {"text": "Queues grow", "checks": [{**check, "at_most": 200.0}, {**check, "at_least": 300.0}]},
        "C2": {"text": "Nothing was measured"},
    }
    found = {key: Claim.model_validate({"paper": "yes", "source": "abstract", "figure": "lines_f", **c}) for key, c in given.items()}
    return claims.evaluate(found, lambda _: seeds)


def make(folder: Path) -> Path:
    """The results and captions below `folder`; returns the results."""
    results, captions = folder / "results", folder / "captions"
    for name in ("numbers", "tables", "raw", "notebooks"):
        (results / name).mkdir(parents=True)
    captions.mkdir()
    for name, text in CAPTIONS.items():
        (captions / f"{name}.rst").write_text(text + "\n")
    for name, (chart, data) in drawn(results).items():
        charts.save(chart, name, results / "figures")
        data.to_csv(results / "tables" / f"{name}.csv", index=False)
        for end in PLAN["figures"][name].get("more", []):
            data.to_csv(results / "tables" / f"{name}{end}", index=False)
        (results / "numbers" / f"{name}.json").write_text("{}\n")
        (results / "notebooks" / f"{name}.ipynb").write_text("{}\n")
    for experiment, e in PLAN["experiments"].items():
        (results / "raw" / experiment).mkdir()
        for label in e["schemes"]:
            runs = pa.table({"seed": np.arange(3)}).replace_schema_metadata({b"ofan": json.dumps(RUNS).encode()})
            pq.write_table(runs, results / "raw" / experiment / f"{label}.parquet")
    (results / "figures/queues_on_the_tree.html").write_text("<!DOCTYPE html>\n")
    (results / "claims.json").write_text(json.dumps({"notice": "A <small> grid.", "rests_on": "From 3 runs.", "claims": verdicts()}))
    return results
