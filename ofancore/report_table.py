"""The table below a chart of the report's page: what its columns hold, in words and with units, and numbers as they are read."""

from __future__ import annotations

import html
import math

from ofancore import docstrings
from ofancore.palette import name_of
from ofancore.report_charts import nodes

DESCRIBED = "described_in"  # column: the file of the checkout that describes the scheme
TABLE_ROWS = 60  # that are shown; the rest is in the table's file
QUANTITY = ("metric", "what", "time")  # columns that say what a row's mean is of
UNITS = {"percent": "%", "packets": "packets", "bytes": "B", "ns": "ns", "us": "µs", "kb": "kB", "thousands": "thousands"}  # a name's end
WORDS = {  # columns, and quantities, whose names do not say it
    "label": "scheme",
    "seeds": "seeds (runs)",
    "unfinished": "runs not finished",
    "described_in": "described in",
    "KiB": "message (KiB)",
    "message": "message (B)",
    "workload.kind": "workload",
    "workload.message_packets": "message (packets)",
    "workload.tokens": "tokens a GPU and step",
    "workload.steps": "ring steps simulated",
    "failures.convergence_ns": "convergence time G (ns)",
    "failures.link_failure_rate": "dead cables (share)",
    "congestion.median_windows": "delays in the median (windows)",
    "share": "switches that run Ofan (%)",
    "skew": "exponent of the experts' popularity",
    "radix": "radix (ports)",
    "of": "there are",
    "over_ecmp": "over ECMP (percentage points)",
    "factor": "CCT over ours (times)",
    "factor_low": "CCT over ours, 95% from (times)",
    "factor_high": "CCT over ours, 95% to (times)",
    "overload": "most loaded link over the mean (ratio)",
    "cv": "coefficient of variation (ratio)",
    "min": "least run",
    "max": "largest run",
    "p10": "10th percentile",
    "p90": "90th percentile",
    "queue_max_packets": "largest queue (packets)",
    "queue_max_low_packets": "largest queue, 95% from (packets)",
    "queue_max_high_packets": "largest queue, 95% to (packets)",
    "switch_bytes": "state a switch (B)",
    "host_bytes": "state a host (B)",
    "inflation_percent": "CCT inflation (%)",
    "inflation_percent_by_target": "by target",
    "inflation_percent_by_median": "by median",
    "cct_over_reps": "CCT over that of REPS (times)",
    "over_ofan": "over Ofan's",
    "over_pofan4": "over that of pOfan, 4 pipes",
    "step_over_ofan": "step over Ofan's (times)",
    "step_over_ofan_by_model": "by model",
    "last": "last flow",
    "mean_flow": "mean over flows",
}
INTERVAL = {"low": "95% from", "high": "95% to"}
e = html.escape


def in_words(name: str) -> str:
    """A column, or what a column's mean is of, in words with its unit, as far as the name says it."""
    first, comma, rest = name.partition(",")  # a quantity, and where
    if first in WORDS:
        return WORDS[first] + comma + rest
    *parts, end = first.rpartition(".")[2].split("_")
    unit = f" ({UNITS[end]})" if parts and end in UNITS else ""
    if not unit:
        parts.append(end)
    interval = INTERVAL.get(parts[-1], "") if unit else ""
    return " ".join(parts[:-1] if interval else parts) + (interval and f", {interval}") + unit + comma + rest


def number(text: str) -> str:
    """A number of a table with the digits of a chart's tooltips: four that count, or all before the point."""
    value = float(text)
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    shown = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.4g}"
    return shown.replace("-", "−", 1) if value < 0 else shown


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


Along = dict[str, dict[tuple[str, str], set[str]]]


def drawn_along(spec: dict) -> Along:
    """Column -> (scheme, value) -> titles of the axes that a chart draws it along, with their units."""
    found: Along = {}
    for node, data in nodes(spec):
        for channel in ("x", "y"):
            ends = [node.get("encoding", {}).get(end, {}) for end in (channel, f"{channel}2")]
            title = ends[0].get("title")
            for field in (end["field"] for end in ends if title and "field" in end):
                for row in spec.get("datasets", {}).get(data, ()):
                    if isinstance(value := row.get(field), int | float):
                        found.setdefault(field, {}).setdefault((row.get("scheme", ""), f"{value:.6g}"), set()).add(title)
    return found


def quantities(head: list[str], rows: list[list[str]], along: Along) -> tuple[int | None, dict[str, str]]:
    """What the means of a table are of, by the chart's axes: (the column that tells one quantity from another, its value -> words).

    What is in the table and not in the chart goes by its name. Without such a column, all means are of one quantity (key: "").
    """
    tells = next((i for i, column in enumerate(head) if column in QUANTITY), None)
    if not {"mean", "label"} <= set(head):
        return None, {}
    mean, label = head.index("mean"), head.index("label")
    votes: dict[str, dict[str, int]] = {}
    for row in rows:
        titles = along.get("mean", {}).get((name_of(row[label]), f"{float(row[mean] or 'nan'):.6g}"), ())
        tally = votes.setdefault("" if tells is None else row[tells], {})
        for title in titles:  # one value may stand in two panels by chance
            tally[title] = tally.get(title, 0) + 1
    titles = {value: max(tally, key=tally.get) if tally else in_words(value) for value, tally in votes.items()}
    shared = [*titles.values()]
    return tells, {
        v: title if shared.count(title) == 1 or in_words(v) == title else f"{in_words(v)}: {title}" for v, title in titles.items()
    }


def headings(head: list[str], of: dict[str, str], along: Along) -> list[str]:
    """A table's headings with quantities and units; `of`: see `quantities`."""
    titles = {column: {t for found in by.values() for t in found} for column, by in along.items()}
    one = f": {of['']}" if of.get("") else ""
    ends = INTERVAL if {"mean", "simulated"} & set(head) else {"low": "least", "high": "largest"}
    if "simulated" in head:
        ends = {**ends, "model": "model: mean queue (packets)", "simulated": "simulated: mean queue (packets)"}
    said = []
    for column in head:
        words = "quantity (unit)" if column in QUANTITY and of else ends.get(column) or in_words(column)
        if column == "mean":
            words += one
        elif not of and len(titles.get(column, ())) == 1:
            words += f": {next(iter(titles[column]))}"
        said.append(words)
    return said


def caption(name: str, head: list[str], rows: list[list[str]], of: dict[str, str], along: Along) -> str:
    """What the table of a figure holds, in a line."""
    drawn = [title for column in ("mean", "low", "high") for titles in along.get(column, {}).values() for title in sorted(titles)]
    what = "; ".join(of.values() or dict.fromkeys(drawn))
    over = {"mean", "low", "high", "seeds"} <= set(head) and any(float(row[head.index("seeds")] or 0) > 1 for row in rows)
    return f"{name} by scheme{what and ': '}{what}.{' Means over seeds, with their 95% intervals.' if over else ''}"


def table_html(name: str, results) -> str:
    """The table that a figure draws, folded up and cut where it is long. Rows carry their scheme, for the filter. The scheme's name leads
    to its docstring in the page, the path of the file that describes it to the file."""
    head, *rows = results.table(name) or [[]]
    along = drawn_along(results.specs[name])
    tells, of = quantities(head, rows, along)
    if tells is not None:  # the quantity stands before its mean
        order = [i for i in range(len(head)) if i != tells]
        order.insert(order.index(head.index("mean")), tells)
        head, rows, tells = [head[i] for i in order], [[row[i] for i in order] for row in rows], order.index(tells)
    label = head.index("label") if "label" in head else None
    described = head.index(DESCRIBED) if DESCRIBED in head else None
    filled = [[row[i] for row in rows if row[i]] for i in range(len(head))]
    numeric = [bool(values) and all(map(_is_number, values)) for values in filled]
    to_the_right = [' class="n"' if is_numeric else "" for is_numeric in numeric]
    lines = []
    for row in rows[:TABLE_ROWS]:
        cells = [e(number(value) if numeric[i] and value else value) for i, value in enumerate(row)]
        of_scheme = ""
        if label is not None:
            cells[label] = e(name_of(row[label]))
            of_scheme = f' data-of-scheme="{cells[label]}"'
        if tells is not None:
            cells[tells] = e(of[row[tells]])
        if described is not None and row[described]:
            path = row[described]
            cells[described] = f'<a href="{e(docstrings.link(path, results.folder / "report"))}">{e(path)}</a>'
            if label is not None and path in results.docs:
                cells[label] = f'<a href="#{docstrings.anchor(path)}">{cells[label]}</a>'
        inside = "".join(f"<td{right}>{cell}</td>" for cell, right in zip(cells, to_the_right, strict=True))
        lines.append(f"<tr{of_scheme}>{inside}</tr>")
    said = zip(headings(head, of, along), to_the_right, strict=True)
    columns = "".join(f'<th scope="col"{right}>{e(words)}</th>' for words, right in said)
    more = f"The first {TABLE_ROWS}; all are in" if len(rows) > TABLE_ROWS else "Also as"
    return (
        f'<details class="data"><summary>Show as table ({len(rows)} rows)</summary>'
        f'<p>{more} <a href="../tables/{name}.csv">{name}.csv</a>.</p>'
        f'<div class="box" role="region" tabindex="0" aria-label="Table of {name}"><table>'
        f"<caption><span>{e(caption(name, head, rows, of, along))}</span></caption>"
        f"<thead><tr>{columns}</tr></thead><tbody>{''.join(lines)}</tbody></table></div></details>"
    )
