"""The league: every balancer in the same settings, ranked by its distance to optimal.

A setting is a workload under a condition (healthy, failures). A run's slowdown is its CCT over its lower bound; a run that did not finish
has the time at which it was stopped in place of its CCT, so its slowdown is at least that. A scheme's slowdown is the geometric mean over
all settings: half the time in one setting makes up for twice the time in another. What it is above one, in percent, is the distance to
optimal. Means and 95% t-intervals are over seeds; an interval ends where the quantity does (nothing is below zero, no share above 100%).
"""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ofancore import docstrings, markdown
from ofancore.errors import ScenarioError, brief
from ofancore.metrics import hosts, mean_interval, shown
from ofancore.palette import name_of


@dataclass(frozen=True)
class Quantity:
    """What a cell of the league holds, in columns `<stem>_<unit>`, `<stem>_low_<unit>`, `<stem>_high_<unit>`.

    `limits`: where its colours end (on a log scale; numbers go on). `most`: what it cannot exceed.
    """

    stem: str
    unit: str
    title: str
    limits: tuple[float, float]
    most: float = np.inf

    @property
    def columns(self) -> tuple[str, str, str]:
        return f"{self.stem}_{self.unit}", f"{self.stem}_low_{self.unit}", f"{self.stem}_high_{self.unit}"


QUANTITIES = (
    Quantity("inflation", "percent", "CCT above the lower bound (%)", (0.3, 3000.0)),
    Quantity("queue_max", "packets", "largest queue (packets)", (4.0, 400.0)),
    Quantity("dropped", "percent", "dropped (%)", (0.01, 10.0), 100.0),
    Quantity("reordered", "percent", "reordered (%)", (0.1, 100.0), 100.0),
)
# What a scheme costs and does beside its slowdown: column -> (title with unit, how the runs of all settings become one number). A mean has
# the 95% interval over seeds beside it, in the columns `<stem>_low_<unit>` and `<stem>_high_<unit>`.
COSTS = {
    "unfinished": ("not finished (runs)", "sum"),
    "queue_max_packets": ("largest queue, mean (packets)", "mean"),  # the largest of all runs is a full buffer for every scheme
    "dropped_percent": ("dropped (%)", "mean"),
    "reordered_percent": ("reordered (%)", "mean"),
    "switch_bytes": ("state a switch (B)", "max"),
    "host_bytes": ("state a host (B)", "max"),
}
DISTANCE = ("distance_to_optimal_percent", "distance_to_optimal_low_percent", "distance_to_optimal_high_percent")
PART = "distance_to_optimal_percent, "  # columns of the distance over some of the settings only; what follows names these
DISTANCE_TITLE = "distance to optimal: mean CCT above the lower bound (%)"
DISTANCE_NOTE = (
    "Ranked by the distance to optimal, the geometric mean over all settings of the CCT over its lower bound, less one; "
    "{intervals}. Columns named after a condition are the same over its settings."
)
SETTING = ["workload", "condition"]  # columns, see `with_settings`
WORKLOADS = {
    "permutation": "Permutation",
    "all_to_all": "All-to-all",
    "ring_all_gather": "Ring all-gather",
    "moe_all_to_all": "MoE",
}
# Notebooks that show each run, or each setting, by itself: the experiment that they read, and the columns that tell its runs apart.
TOLD_APART = {"fig_paths": ("paths", ["label", "condition"]), "fig_league": ("league", ["label", *SETTING, "seed"])}


def with_settings(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs (rows with the scenario's columns) with those of `SETTING`, in words."""
    workload = runs.apply(workload_name, axis=1)
    size = hosts(runs)
    other = size != size.mode()[0]  # a setting on a fabric of another size says so
    workload = workload.mask(other, workload + " (" + size.map("{:,}".format) + " hosts)")
    return runs.assign(workload=workload, condition=runs.apply(condition, axis=1))


def workload_name(run) -> str:
    """A run's workload in words."""
    kind = run["workload.kind"]
    if kind == "fsdp":
        return f"FSDP2, Llama-3 {run['workload.model'].removeprefix('llama3_').upper()}"
    skewed = kind == "moe_all_to_all" and run["workload.zipf_exponent"] > 0
    return WORKLOADS.get(kind, kind.replace("_", " ")) + ", skewed" * skewed


def refuse_alike(runs: pd.DataFrame, by: list[str]) -> None:
    """ScenarioError if runs of an experiment are alike in all of the columns `by`; it names the scenario keys in which they differ."""
    from ofancore.scenario import Scenario

    twins = runs[runs.duplicated(by, keep=False)]
    if twins.empty:
        return
    values, alike = next(iter(twins.groupby(by, sort=False)))
    keys = [key for key in alike if key.split(".")[0] in Scenario.model_fields and key not in {*by, *SETTING}]
    values_of = {key: [_typed(x) for x in alike[key].unique().tolist()] for key in keys}
    differ = ", ".join(f"{key} {brief(found)}" for key, found in values_of.items() if len(found) > 1) or "no key"
    rule = f"{len(alike)} runs are so, of which the figure can show one; they differ in {differ}"
    raise ScenarioError(f"experiments.{alike['experiment'].iloc[0]}", dict(zip(by, values, strict=True)), rule)


def _typed(value):
    """A number of a table as a config has it: whole ones are no floats, and what a run lacks is None."""
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    return value


def condition(run) -> str:
    """What is broken in a run, in words, and whether routing knows: from a row with the scenario's `failures.` columns."""
    share, cables = run["failures.link_failure_rate"], json.loads(run["failures.cables"])
    parts = [f"{100 * share:g}% {_left(run['failures.capacity'])}"] if share else []
    if cables:
        what = _left(cables[0]["capacity"]) if len({cable["capacity"] for cable in cables}) == 1 else "degraded"
        parts.append(f"a cable {what}" if len(cables) == 1 else f"{len(cables)} cables {what}")
    known = run["failures.convergence_ns"]
    who = ", known" if known == 0 else ", unknown" if math.isinf(known) else f", known after {known / 1000:g} µs"
    parts = [" and ".join(parts) + who] if parts else []
    lost = run["failures.loss_rate"]
    return "; ".join([*parts, *[f"{100 * lost:g}% of packets lost"] * bool(lost)]) or "healthy"


def _left(capacity: float) -> str:
    """What failed cables are, by the share of their rate that is left."""
    return f"at {100 * capacity:g}%" if capacity else "dead"


def slowdowns(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with `slowdown` (see above), the columns of `QUANTITIES` and of `COSTS`."""
    time = runs["cct_ns"].where(runs["finished"].astype(bool), runs["ended_ns"])
    states = [c for c in ("state_bytes_per_switch_edge", "state_bytes_per_switch_agg") if c in runs]
    slowdown = time / runs["lower_bound_ns"]
    return runs.assign(
        slowdown=slowdown,
        inflation_percent=100 * (slowdown - 1),
        unfinished=~runs["finished"].astype(bool),
        dropped_percent=100 * runs["packets_dropped"] / runs["packets_sent"],
        reordered_percent=100 * runs["reorder_fraction"],
        switch_bytes=runs[states].max(axis=1),
        host_bytes=runs["state_bytes_per_host"],
    )


def bounded_interval(values, most: float = np.inf) -> tuple[float, float, float]:
    """Mean and 95% t-interval, cut at zero and at the most that the quantity can be: with few seeds a t-interval goes beyond."""
    mean, low, high = mean_interval(values)
    return mean, max(low, min(0.0, mean)), min(high, max(most, mean))


def cells(runs: pd.DataFrame, settings: list[str]) -> pd.DataFrame:
    """One row a setting and scheme: seeds, runs not finished, and each of `QUANTITIES` as mean over seeds with its 95% interval."""
    rows = []
    for key, group in runs.groupby([*settings, "label"], sort=False):
        row = dict(zip([*settings, "label"], key, strict=True)) | {"seeds": len(group), "unfinished_runs": int(group["unfinished"].sum())}
        for quantity in QUANTITIES:
            row |= zip(quantity.columns, bounded_interval(group[quantity.columns[0]], quantity.most), strict=True)
        rows.append(row)
    return pd.DataFrame(rows)


def standings(runs: pd.DataFrame, settings: list[str], part_by: str | None = None) -> pd.DataFrame:
    """One row a scheme, best first: rank, distance to optimal (`DISTANCE`, with its 95% interval), seeds, the distance over the settings
    that share a value of `part_by` (columns `PART` + value), the columns of `COSTS` with intervals, and where the scheme is described.

    ScenarioError if a scheme lacks a setting or a seed that another one has (it would be compared on other ground), or has one twice.
    """
    refuse_alike(runs, ["label", *settings, "seed"])
    grounds = {label: set(map(tuple, group[[*settings, "seed"]].to_numpy())) for label, group in runs.groupby("label")}
    full = set().union(*grounds.values())
    for label, ground in grounds.items():
        if lost := full - ground:
            first = dict(zip([*settings, "seed"], min(lost), strict=True))
            rule = f"a run of {label} is missing here that another scheme has ({len(lost)} of {len(full)} settings and seeds)"
            raise ScenarioError(f"experiments.{runs['experiment'].iloc[0]}", first, rule)
    rows = []
    for label, group in runs.groupby("label"):
        logs = np.log(group["slowdown"])
        per_seed = logs.groupby(group["seed"]).mean()
        parts = logs.groupby(group[part_by], sort=False).mean() if part_by else {}
        mean, low, high = np.exp(bounded_interval(per_seed))
        distance = dict(zip(DISTANCE, (100 * (x - 1) for x in (mean, low, high)), strict=True))
        costs = {}
        for name, (_, how) in COSTS.items():
            costs[name] = getattr(group[name], how)()
            if how == "mean":
                most = 100.0 if name.endswith("_percent") else np.inf
                costs |= zip(ends(name), bounded_interval(group.groupby("seed")[name].mean(), most)[1:], strict=True)
        kind, module = (group[c].iloc[0] if c in group else None for c in ("balancer.kind", "balancer.module"))
        described = docstrings.described_in(kind, module)
        rows.append(
            {"label": label}
            | distance
            | {"seeds": len(per_seed)}
            | {PART + name: 100 * math.expm1(log) for name, log in parts.items()}
            | costs
            | {"described_in": described}
        )
    table = pd.DataFrame(rows).sort_values(DISTANCE[0], kind="stable", ignore_index=True)
    table.insert(0, "rank", np.arange(1, len(table) + 1))
    return table


def ends(column: str) -> tuple[str, str]:
    """The columns of the ends of a column's interval."""
    stem, unit = column.rsplit("_", 1)
    return f"{stem}_low_{unit}", f"{stem}_high_{unit}"


def short(value: float) -> str:
    """Two significant digits, thousands as k and millions as M."""
    for size, letter in ((1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            divisor = 1e6 if letter == "M" else 1e3
            return f"{value / divisor:.3g}{letter}"
    if abs(value) >= 100 or value == round(value):
        return f"{value:.0f}"
    return shown(value)


def with_interval(mean: float, low: float, high: float, seeds: int) -> str:
    """A mean with its interval in brackets, which one seed does not have."""
    return short(mean) if seeds == 1 else f"{short(mean)} [{short(low)}, {short(high)}]"


def distance_of(row) -> str:
    """A scheme's distance to optimal with its interval, from a row of the standings."""
    return with_interval(*(max(0.0, row[c]) for c in DISTANCE), row["seeds"])


def cost_of(row, column: str) -> str:
    """One of the `COSTS` of a row of the standings; a mean with its interval."""
    if COSTS[column][1] != "mean":
        return short(row[column])
    return with_interval(*(row[c] for c in (column, *ends(column))), row["seeds"])


def parts_of(table: pd.DataFrame) -> dict[str, str]:
    """Column -> title of the distances over some of the settings."""
    return {c: f"{c.removeprefix(PART)} (%)" for c in table if c.startswith(PART)}


def note_of(table: pd.DataFrame) -> str:
    """What is said below (or above) the standings."""
    seeds = table["seeds"].iloc[0]
    one = "one seed, so no interval (columns of its ends hold the value itself)"
    return DISTANCE_NOTE.format(intervals=one if seeds == 1 else f"in brackets the 95% interval over {seeds} seeds")


def shown_rows(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """The standings as people read them: (head, rows). The second cell of a row is the scheme's name."""
    parts = parts_of(table)
    head = ["rank", "scheme", DISTANCE_TITLE, *parts.values(), *(title for title, _ in COSTS.values())]
    records = table.to_dict("records")
    rows = []
    for r in records:
        numbers = [*(short(r[c]) for c in parts), *(cost_of(r, c) for c in COSTS)]
        rows.append([str(r["rank"]), name_of(r["label"]), distance_of(r), *numbers])
    return head, rows


def as_markdown(table: pd.DataFrame, folder: str | Path) -> str:
    """The standings as a Markdown table in `folder`; each scheme's name leads to its docstring."""
    head, rows = shown_rows(table)
    for row, path in zip(rows, table["described_in"], strict=True):
        if path:
            row[1] = f"[{row[1]}]({docstrings.link(path, folder)})"
    return markdown.table(head, rows) + "\n\n" + note_of(table) + "\n"


def as_html(table: pd.DataFrame, folder: str | Path) -> str:
    """The standings as a table in HTML, in a page in `folder`; each scheme's name leads to its docstring."""
    head, rows = shown_rows(table)
    lines = []
    for row, path in zip(rows, table["described_in"], strict=True):
        place, name, *numbers = map(html.escape, row)
        name = f'<a href="{html.escape(docstrings.link(path, folder))}">{name}</a>' if path else name
        numbers = "".join(f"<td>{number}</td>" for number in numbers)
        lines.append(f'<tr><td>{place}</td><th scope="row">{name}</th>{numbers}</tr>')
    columns = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in head)
    note = html.escape(note_of(table))
    return f"<table><caption>{note}</caption><thead><tr>{columns}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
