"""What simulations gave, as digests: to see whether another machine's runs gave the same, digit for digit.

A digest is of metrics only. Keys of scenarios are left out, since one that is added with a default changes no result, and so are the names
of sources; which metrics were digested is kept beside the digests, so a metric that is added later changes none.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from pathlib import Path

from ofancore.figures import MissingRun
from ofancore.plan import Group

APART = ("experiment", "label", "scenario", "digest", "source")  # columns of a raw table that are neither keys nor metrics


def _exact(value):
    """A number as it is, whether a table holds it as an integer or not; what does not exist is null."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def digest_of_rows(rows: Iterable[dict], columns: list[str]) -> str:
    """16 hex digits of the named metrics of rows, in their order; a metric that a row lacks is null."""
    h = hashlib.sha256()
    for row in rows:
        h.update(json.dumps([_exact(row.get(name)) for name in columns]).encode())
    return h.hexdigest()[:16]


def asked(group: Group) -> str:
    """Digest of what a config asks of a group."""
    return hashlib.sha256(group.to_json().encode()).hexdigest()[:16]


def rows_of(group: Group, results: str | Path) -> list[dict]:
    """The rows of a raw file, as plain Python values."""
    import pyarrow.parquet as pq

    return pq.read_table(group.raw_path(results)).to_pylist()


def made_with(groups: Iterable[Group], results: str | Path) -> dict[str, list[str]]:
    """Sources and versions that made raw files: one of each, unless they are mixed. MissingRun if a file does not say."""
    import pyarrow.parquet as pq

    found: dict[str, set] = {}
    for group in groups:
        path = group.raw_path(results)
        kept = (pq.read_schema(path).metadata or {}).get(b"ofan")
        if kept is None:
            raise MissingRun(f"{path}: does not say what made it; delete it and run the pipeline again")
        for name, value in json.loads(kept).items():
            found.setdefault(name, set()).add(value)
    return {name: sorted(values) for name, values in found.items()}


def metrics_of(rows: Iterable[dict]) -> list[str]:
    """The columns of raw tables that are metrics, sorted."""
    return sorted({name for row in rows for name in row if "." not in name and name not in APART and name not in _TOP_KEYS})


_TOP_KEYS = ("seed", "start_jitter_ns", "time_limit_ns")  # scenario keys without a dot; a test compares


def few_runs(tables: dict[str, list[dict]], columns: list[str]) -> list[dict]:
    """The cheapest runs that together show every kind of balancer, workload, congestion control and recovery, and failures.

    `tables`: group name -> rows. One `{"group", "scenario", "digest"}` each; simulating the scenario again must give the digest.
    """
    runs = [(row["packet_hops"], name, row) for name, rows in tables.items() for row in rows]
    seen, chosen = set(), []
    for _, name, row in sorted(runs, key=lambda run: (run[0], run[1])):
        if row["packet_hops"] < LEAST_HOPS or row.get("balancer.kind") == "own":
            continue
        shows = {(part, row[f"{part}.kind"]) for part in ("balancer", "workload", "congestion", "recovery")}
        shows.add(("failures", row["drops_dead_link"] > 0))
        if shows - seen:
            seen |= shows
            chosen.append({"group": name, "scenario": json.loads(row["scenario"]), "digest": digest_of_rows([row], columns)})
    return chosen


LEAST_HOPS = 10_000  # of a run that is worth repeating
