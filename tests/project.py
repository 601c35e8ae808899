"""A project with complete results, in a folder of its own, made in a second: metrics are zeros, the picture is a dot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import altair as alt
import pandas as pd
import yaml
from scenarios import rows_without_runs

from ofancore import claims, compare
from ofancore.config import load_config
from ofancore.figures import Figure
from ofancore.plan import json_text
from ofancore.result import source_digest, write_table

ROOT = Path(__file__).parents[1]
NAME = "fig06_queue_scaling"
CONFIG = {
    "results": "results",
    "seeds": 2,
    "schemes": {"ops": {"kind": "ops"}, "ofan": {"kind": "ofan"}},
    "experiments": {"one": {"about": "a test", "schemes": ["ops", "ofan"], "scenario": {"fabric": {"radix": 4}}}},
    "figures": {NAME: {"notebook": "fig_queue_scaling", "category": "Test", "experiments": ["one"], "parameters": {"fit_from": 64}}},
    "animation": True,
    "claims": {
        "C1": {
            "text": "t", "paper": "p", "source": "s", "figure": NAME,
            "checks": [{"says": "low", "experiment": "one", "measure": "value", "metric": "cct_ns", "schemes": ["ops"], "at_most": 1.0}],
        }
    },
}  # fmt: skip
PARTS = (
    "Snakefile",
    "Makefile",
    "pyproject.toml",
    "CITATION.cff",
    "codemeta.json",
    "requirements.lock",
    "LICENSE",
    "README.md",
    "ARTIFACT.md",
)


class Project:
    """`root`, `config` (a path) and `results` (a folder) of a small project; the current folder is not changed."""

    def __init__(self, root: Path):
        self.root, self.config, self.results = root, root / "config/small.yaml", root / "results"
        for folder in ("config", "notebooks/figures", "results", "ofancore"):
            (root / folder).mkdir(parents=True)
        for name in PARTS:
            shutil.copy(ROOT / name, root / name)
        (root / "results/.gitignore").write_text("*\n!.gitignore\n")
        (root / ".gitignore").write_text("__pycache__/\n/dist/\n")
        (root / "ofancore/run.sh").write_text("#!/bin/sh\n")
        (root / "ofancore/run.sh").chmod(0o755)
        (root / "notebooks/figures/fig_queue_scaling.ipynb").write_text("{}")
        self.config.write_text(yaml.safe_dump(CONFIG))
        self.simulate()
        self.draw()

    def simulate(self, cct_ns: float = 0.5) -> None:
        for group in load_config(CONFIG, scenarios=False).groups():
            rows = [{**row, "cct_ns": cct_ns} for row in rows_without_runs(group, source_digest())]
            write_table(rows, group.raw_path(self.results))

    def draw(self) -> None:
        config, results = load_config(CONFIG, scenarios=False), self.results
        source = {"results": str(results), "groups": [json.loads(g.to_json()) for g in config.groups()]}
        notebook = "notebooks/figures/fig_queue_scaling.ipynb"
        drawn = {"notebook": notebook, "parameters": {"fit_from": 64}, "category": "Test", "config": "config/small.yaml", "inputs": []}
        figure = Figure.open(NAME, {**source, "drawn": drawn})
        runs = figure.runs("one")
        chart = alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q")
        figure.publish(chart, {"runs": len(runs)}, runs[["label", "seed"]])
        (results / "notebooks").mkdir(exist_ok=True)
        times = {"papermill": {"start_time": "2026-01-01T00:00:00+00:00", "end_time": "2026-01-01T00:00:09+00:00"}}
        (results / f"notebooks/{NAME}.ipynb").write_text(json.dumps({"cells": [], "metadata": times}))
        (results / f"notebooks/{NAME}.yaml").write_text("figure: a\n")
        criteria = json_text({key: claim.model_dump(mode="json") for key, claim in config.claims.items()})
        assert claims.main(["--source", json.dumps(source), "--claims", criteria, "--out", str(results / "claims")]) == 0
        (results / "figures/queues_on_the_tree.html").write_text("<html></html>")
        (results / "report").mkdir(exist_ok=True)
        (results / "report/index.html").write_text("<html></html>")
        assert compare.main(["--config", str(self.config), "--results", str(results)]) == 0
