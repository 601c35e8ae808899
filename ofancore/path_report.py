"""What `ofancore paths` prints and writes: tables for people, one file for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from ofancore import paths
from ofancore.errors import ScenarioError
from ofancore.files import write_whole
from ofancore.metrics import shown
from ofancore.own import title_of
from ofancore.result import Result, source_digest

SUFFIXES = (".csv", ".parquet")


def check_suffix(path: str) -> None:
    """ScenarioError for a file that would be neither CSV nor Parquet."""
    if Path(path).suffix not in SUFFIXES:
        raise ScenarioError("--out", path, "must end in .csv or .parquet")


def write(table: pd.DataFrame, path: str, result: Result) -> None:
    """The table as CSV or Parquet by the name's ending, whole or not at all; Parquet has the scenario in its metadata."""

    def make(temporary):
        if Path(path).suffix == ".csv":
            table.to_csv(temporary, index=False)
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        about = {"scenario": result.scenario.to_dict(), "source": source_digest()}
        plain = pa.Table.from_pandas(table, preserve_index=False)
        pq.write_table(plain.replace_schema_metadata({b"ofan": json.dumps(about, sort_keys=True).encode()}), temporary, compression="zstd")

    write_whole(path, make)


def report(result: Result, links: pd.DataFrame, use: pd.DataFrame | None, top: int) -> str:
    """The stages, the `top` most loaded links between switches and, with `use`, the flows on each and the pairs that go together."""
    balancer = result.scenario.balancer
    parts = [title_of(balancer) + result.summary().removeprefix(balancer.kind), stages(links)]
    worst = paths.busiest(links, top)
    parts.append(f"Most loaded links between switches, against the mean of their stage:\n{loaded(worst)}")
    if use is not None:
        parts += [f"{where(link)}\n{on_link(use, int(link['link']), result, top)}" for _, link in worst.iterrows()]
        parts.append(together(use, links, result, top))
    return "\n\n".join(parts)


def stages(links: pd.DataFrame) -> str:
    """The table of `paths.tiers`."""
    rows = [
        [
            tier.stage, f"{tier.links:,}", f"{tier.used:,}", f"{tier.dead or '-'}", f"{tier.degraded or '-'}",
            kilobytes(tier.mean_bytes), kilobytes(tier.max_bytes), shown(tier.overload, digits=3), shown(tier.cv),
        ]
        for tier in paths.tiers(links).itertuples()
    ]  # fmt: skip
    return text_table(["stage", "links", "used", "dead", "degraded", "mean kB", "max kB", "overload", "cv"], rows, left=1)


def loaded(worst: pd.DataFrame) -> str:
    rows = [
        [where(link), kilobytes(link["bytes"]), shown(link["over_mean"], digits=3), f"{link['data']:,}", f"{link['drops']:,}"]
        for _, link in worst.iterrows()
    ]
    return text_table(["link", "kB", "over mean", "data packets", "drops"], rows, left=1)


def on_link(use: pd.DataFrame, link: int, result: Result, top: int) -> str:
    """The flows on a link, at most `top`; how many others there are."""
    flows = paths.sharers(use, link)
    rows = [
        [
            f"  {flow_name(result, row.flow)}", f"{row.data:,}", f"{row.acks:,}", f"{100 * row.share:.1f}%",
            f"{row.first_ns:,.0f}", f"{row.last_ns:,.0f}",
        ]
        for row in flows.head(top).itertuples()
    ]  # fmt: skip
    text = text_table(["  flow", "data packets", "acks", "share", "from ns", "to ns"], rows, left=1)
    return text + (f"\n  and {len(flows) - top:,} more" if len(flows) > top else "")


def together(use: pd.DataFrame, links: pd.DataFrame, result: Result, top: int) -> str:
    """Pairs of flows that share half of their paths or more, at most `top`."""
    try:
        found = paths.pairs(use, links)
    except paths.TooManyPairs as e:
        return f"Pairs of flows: not compared, {e}."
    if found.empty:
        return "No two flows share half of their paths between switches."
    head = ["flow", "and flow", "overlap"]
    rows = [[flow_name(result, row.a), flow_name(result, row.b), f"{row.overlap:.2f}"] for row in found.head(top).itertuples()]
    more = f"\nand {len(found) - top:,} more" if len(found) > top else ""
    about = "Pairs of flows that share half of their paths between switches or more (1: one and the same path):"
    return f"{about}\n{text_table(head, rows, 2)}{more}"


def where(link) -> str:
    """Name, direction and state of a link."""
    state = "" if link["capacity"] == 1 else ", dead" if link["capacity"] == 0 else f", at {100 * link['capacity']:.0f}% of its rate"
    return f"{link['cable']} {link['direction']}{state}"


def flow_name(result: Result, flow: int) -> str:
    return f"{flow} (host:{result.flow['src'][flow]} to host:{result.flow['dst'][flow]})"


def kilobytes(count: float) -> str:
    """Thousands of bytes."""
    return f"{count / 1000:,.1f}"


def text_table(head: list[str], rows: list[list[str]], left: int) -> str:
    """Columns as wide as they need; the first `left` ones start at the left, numbers end at the right."""
    wide = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["  ".join(v.ljust(n) if i < left else v.rjust(n) for i, (v, n) in enumerate(zip(row, wide))).rstrip() for row in [head, *rows]]
    return "\n".join(lines)
