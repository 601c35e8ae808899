"""Who was on which link in the runs of a group: two tables beside its raw file, made by the pipeline and read by figures.

`links.parquet` has the rows of `paths.link_table` of every run, `flows.parquet` those of `watch.flow_use`; `digest` tells runs apart. Raw
files have a row a run, so each run is simulated again, and followed packet by packet by the slow twin: short runs only.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from ofancore.figures import ANEW, MissingRun, Source, read_group, read_rows
from ofancore.files import write_whole
from ofancore.plan import START_SECONDS, Group, expand, run_hops

TABLES = ("links", "flows")
NOTEBOOKS = ("fig_paths",)  # of figures that read them


def files(group: Group, results: str | Path) -> list[Path]:
    """Where the tables of a group lie, in the order of `TABLES`."""
    return [Path(results) / "paths" / group.experiment / group.label / f"{name}.parquet" for name in TABLES]


def job(group: Group) -> str:
    """What progress calls the making of them."""
    return f"paths/{group.name}"


def seconds(group: Group) -> float:
    """Expected seconds of the job on one core."""
    from ofancore.watch import HOPS_PER_S

    return START_SECONDS + sum(map(run_hops, expand(group))) / HOPS_PER_S


def tables(runs: pd.DataFrame) -> list[pd.DataFrame]:
    """The two tables of runs (rows of a raw file), simulated. ScenarioError for runs that are too long to be followed."""
    from ofancore.paths import link_table
    from ofancore.scenario import Scenario
    from ofancore.simulation import simulate
    from ofancore.watch import flow_use

    parts: list[list[pd.DataFrame]] = [[], []]
    for text in runs["scenario"]:
        scenario = Scenario.from_dict(json.loads(text))
        result = simulate(scenario)
        for part, table in zip(parts, (link_table(result), flow_use(result)), strict=True):
            table.insert(0, "digest", scenario.digest)
            part.append(table)
    return [pd.concat(part, ignore_index=True) for part in parts]


def make(group: Group, results: str | Path) -> None:
    """Write the tables of a group whose raw file is there."""
    for table, path in zip(tables(read_group(group, results)), files(group, results), strict=True):
        write_whole(path, lambda temporary, table=table: table.to_parquet(temporary, index=False, compression="zstd"))


def read(group: Group, runs: pd.DataFrame, results: str | Path) -> list[pd.DataFrame]:
    """The tables of a group, of exactly these runs. MissingRun if they are not there whole."""
    found = []
    for path in files(group, results):
        table = read_rows(path)
        if list(dict.fromkeys(table.get("digest", []))) != list(runs["digest"]):
            raise MissingRun(f"{path}: of other runs than the raw file has; {ANEW}")
        found.append(table)
    return found


def of(source: Source, experiment: str) -> list[pd.DataFrame]:
    """The two tables of all runs of an experiment, with `label`. MissingRun as `read`; a source that simulates makes what is missing."""
    runs, parts = source.runs(experiment), []
    for group in (g for g in source.groups if g.experiment == experiment):
        here = runs[runs["label"] == group.label]
        try:
            found = read(group, here, source.results)
        except MissingRun:
            if not source.simulate:
                raise
            found = tables(here)
        parts.append([table.assign(label=group.label) for table in found])
    return [pd.concat(found, ignore_index=True) for found in zip(*parts, strict=True)]
