"""The result of a run: metrics by name, tables of flows and links, and where they come from.

Nothing here depends on the machine or the clock on the wall: the same scenario gives the same bytes.
"""

from __future__ import annotations

import io
import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ofancore.fabric import LINK_CLASSES
from ofancore.files import write_whole
from ofancore.jit import digest_of
from ofancore.scenario import Scenario

# what a raw run depends on; charts, claims and the command line are not among it
FILES = ("bits", "units", "fabric", "failures", "bounds", "scenario", "prepare", "simulation", "outcome", "collectives", "result")
FOLDERS = ("jit", "engine", "balancers", "workloads", "congestion", "recovery", "../data/models")


@cache
def source_digest() -> str:
    """Digest of all sources that a raw run depends on, as they were when first asked for."""
    return digest_of((*(f"{name}.py" for name in FILES), *FOLDERS))


@dataclass(frozen=True)
class Result:
    """What `simulate` returns.

    `values`: the metrics, nested dicts of numbers (`collectives`: a list of dicts). `flow`: columns with an entry a flow; `link`: with
    one a directed link. `glossary.py` says what each means. `wall_s`: seconds in the loop (not part of the metrics).
    """

    scenario: Scenario
    values: dict[str, Any]
    flow: dict[str, np.ndarray]
    link: dict[str, np.ndarray]
    wall_s: float

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        if name in values:
            return values[name]
        raise AttributeError(name)

    def metrics(self) -> dict[str, Any]:
        """The metrics as nested dicts."""
        return self.values

    def to_json(self) -> str:
        """One JSON object: the metrics and the full scenario; a number that does not exist is null."""
        return json.dumps(_plain({**self.values, "scenario": self.scenario.to_dict(), "source": source_digest()}), allow_nan=False)

    def row(self) -> dict[str, Any]:
        """One flat row of a raw table: scenario keys with dots, metrics with underscores, provenance."""
        out = scenario_columns(self.scenario)
        for key, value in _flat(self.values, "_"):
            out[key] = json.dumps(_plain(value)) if isinstance(value, list) else value
        out["scenario"] = self.scenario.to_json()
        out["digest"] = self.scenario.digest
        out["source"] = source_digest()
        return out

    @property
    def flows(self):
        """A DataFrame of flows, with the columns of `glossary.FLOWS`; times of what has not happened are NaN."""
        import pandas as pd

        return pd.DataFrame(self.flow)

    @property
    def links(self):
        """A DataFrame of directed links, with the columns of `glossary.LINK_ROWS`; packets enter at `tail` and leave at `head`."""
        import pandas as pd

        return pd.DataFrame(self.link)

    def summary(self) -> str:
        """A line for people."""
        v = self.values
        if not v["finished"]:
            return f"{self.scenario.balancer.kind}: not finished by {v['ended_ns']:.0f} ns"
        return (
            f"{self.scenario.balancer.kind}: CCT {v['cct_ns']:.1f} ns, {100 * v['cct_inflation']:.2f}% above the bound, "
            f"max queue {v['queue_max_packets']:.1f} packets, {v['packets']['dropped']} drops"
        )


def scenario_columns(scenario: Scenario) -> dict[str, Any]:
    """The columns of a raw table that say what was run: dotted key -> number, text (JSON, of a list) or None."""
    out = {key: json.dumps(value) if isinstance(value, (list, dict)) else value for key, value in _flat(scenario.to_dict(), ".")}
    out["failures.convergence_ns"] = float(scenario.failures.convergence_ns)
    return out


def write_table(rows: list[dict[str, Any]], path: str | Path) -> None:
    """Write rows as Parquet, whole or not at all, with provenance in the file's metadata. A key that a row lacks is null there."""
    import numba
    import pyarrow as pa
    import pyarrow.json
    import pyarrow.parquet as pq

    # By way of JSON, since `pa.array` imports pandas, which takes as long as a short run.
    texts = {key: pa.string() for row in rows for key, value in row.items() if isinstance(value, str)}  # or a date would be no text
    lines = "\n".join(map(json.dumps, rows)).encode()
    table = pa.json.read_json(
        io.BytesIO(lines),
        pa.json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        pa.json.ParseOptions(explicit_schema=pa.schema(texts)),
    )
    table = table.select(list(dict.fromkeys(key for row in rows for key in row)))
    about = {"source": source_digest(), "numba": numba.__version__, "numpy": np.__version__, "ofancore": "0.1.0"}
    table = table.replace_schema_metadata({b"ofan": json.dumps(about, sort_keys=True).encode()})
    write_whole(path, lambda temporary: pq.write_table(table, temporary, compression="zstd"))


def class_values(values: np.ndarray) -> dict[str, float]:
    """Six numbers by link class."""
    return {name: float(v) for name, v in zip(LINK_CLASSES, values)}


def _flat(data: dict[str, Any], separator: str, prefix: str = ""):
    for key, value in data.items():
        name = f"{prefix}{separator}{key}" if prefix else key
        if isinstance(value, dict):
            yield from _flat(value, separator, name)
        else:
            yield name, value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
