"""A copy of the checkout with a grid of seconds, for tests that run the pipeline."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]

CONFIG = {
    "results": "out",
    "seeds": 2,
    "schemes": {"ops": {"kind": "ops"}, "ofan": {"kind": "ofan"}, "rsq": {"kind": "rsq"}},
    "experiments": {
        "tiny": {
            "about": "a test of {braces}",
            "scenario": {"fabric": {"radix": 4}},
            "sweep": {"workload.message_packets": [8, 32]},
            "schemes": ["ops", "ofan"],
        }
    },
    "animation": True,
    "figures": {"fig_new": {"notebook": "fig_new", "category": "Test {of} figures", "experiments": ["tiny"]}},
    "claims": {
        "C1": {
            "text": "fails {here}", "paper": "p", "source": "s",
            "checks": [
                {"says": "never", "experiment": "tiny", "measure": "value", "metric": "cct_ns", "schemes": ["ops"], "at_most": 0.0}
            ],
        }
    },
}  # fmt: skip

NOTEBOOK = """from ofancore import charts, metrics
from ofancore.figures import Figure
fig = Figure.open(figure, source)
table = metrics.summarise(fig.runs("tiny"), ["workload.message_packets", "label"], "cct_ns")
panel = charts.lines(table, "workload.message_packets", charts.Axis("message (packets)"), charts.Axis("CCT (ns)"))
fig.publish(charts.figure([panel], "A finding", "a set-up"), {"longest_ns": table["mean"].max()}, table)"""


class Checkout:
    def __init__(self, folder: Path, profile: str = "default", options: tuple[str, ...] = ("--cores", "2"), **environment: str):
        """`options` follow the profile on Snakemake's command line; `environment` is added to the process's."""
        self.folder, self.profile, self.options, self.added = folder, profile, options, environment
        for name in ("Snakefile", "workflow", "ofancore", "data", "pyproject.toml", "profiles"):
            take = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            take(ROOT / name, folder / name)
        # A new figure is a notebook, a caption and a block in the config; no rule is written.
        cells = [
            {"cell_type": "code", "id": f"c{i}", "metadata": m, "source": s, "outputs": [], "execution_count": None}
            for i, (m, s) in enumerate([({"tags": ["parameters"]}, 'figure = "f"\nsource = {}'), ({}, NOTEBOOK)])
        ]
        meta = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        book = {"cells": cells, "metadata": meta, "nbformat": 4, "nbformat_minor": 5}
        (folder / "notebooks/figures").mkdir(parents=True)
        (folder / "notebooks/figures/fig_new.ipynb").write_text(json.dumps(book))
        (folder / "workflow/report/fig_new.rst").write_text("A caption.\n")
        self.configure(CONFIG)

    def configure(self, config: dict) -> None:
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))

    def copied_to(self, folder: Path, *without: str) -> Checkout:
        """One with all that this one holds but for files of these names (patterns)."""
        other = copy.copy(self)
        other.folder = shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns(*without))
        return other

    def command(self, *arguments: str) -> list[str]:
        start = [sys.executable, "-m", "snakemake", "--configfile", "config.yaml", "--workflow-profile", f"profiles/{self.profile}"]
        return [*start, *self.options, *arguments]

    @property
    def environment(self) -> dict:
        return {**os.environ, "PYTHONPATH": str(self.folder), **self.added}

    def run(self, *arguments: str, fails: bool = False) -> str:
        return self.run_as(self.command(*arguments), fails)

    def run_as(self, command: list[str], fails: bool = False) -> str:
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300)
        text = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, text[-3000:]
        return text

    def raw(self) -> dict[str, bytes]:
        return {p.name: p.read_bytes() for p in sorted((self.folder / "out/raw").rglob("*.parquet"))}

    def made(self) -> dict[str, bytes]:
        """Everything that is a result: not logs, not the executed notebook, which hold times."""
        files = [p for d in ("figures", "numbers", "tables", "report") for p in (self.folder / "out" / d).iterdir()]
        return self.raw() | {p.name: p.read_bytes() for p in [*files, *(self.folder / "out").glob("claims.*")] if p.suffix != ".log"}
