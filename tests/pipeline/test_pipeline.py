"""The pipeline on a grid of seconds, in a copy of the checkout: what runs, what reruns, what survives a kill.

The tests of this file build on each other's results and run in order, in one process.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.pipeline, pytest.mark.slow, pytest.mark.xdist_group("pipeline")]

CONFIG = {
    "results": "out",
    "seeds": 2,
    "schemes": {"ops": {"kind": "ops"}, "ofan": {"kind": "ofan"}, "rsq": {"kind": "rsq"}},
    "experiments": {
        "tiny": {
            "about": "a test",
            "scenario": {"fabric": {"radix": 4}},
            "sweep": {"workload.message_packets": [8, 32]},
            "schemes": ["ops", "ofan"],
        }
    },
    "figures": {"fig_new": {"notebook": "fig_new", "category": "Test", "experiments": ["tiny"]}},
    "claims": {
        "C1": {
            "text": "fails", "paper": "p", "source": "s",
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
    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("Snakefile", "workflow", "ofancore", "data", "pyproject.toml", "profiles"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)
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

    def command(self, *arguments: str) -> list[str]:
        return [
            sys.executable,
            "-m",
            "snakemake",
            "--configfile",
            "config.yaml",
            "--profile",
            "profiles/default",
            "--cores",
            "2",
            *arguments,
        ]

    @property
    def environment(self) -> dict:
        return {**os.environ, "PYTHONPATH": str(self.folder)}

    def run(self, *arguments: str, fails: bool = False) -> str:
        done = subprocess.run(self.command(*arguments), cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300)
        text = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, text[-3000:]
        return text

    def raw(self) -> dict[str, bytes]:
        return {p.name: p.read_bytes() for p in sorted((self.folder / "out/raw").rglob("*.parquet"))}

    def made(self) -> dict[str, bytes]:
        """Everything that is a result: not logs, not the executed notebook, which hold times."""
        files = [p for d in ("figures", "numbers", "tables", "report") for p in (self.folder / "out" / d).iterdir()]
        return self.raw() | {p.name: p.read_bytes() for p in [*files, *(self.folder / "out").glob("claims.*")] if p.suffix != ".log"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def first(checkout) -> dict[str, bytes]:
    text = checkout.run()
    assert "[4/4]" not in text  # 2 groups, 1 figure; the claims job is too small to be counted
    assert "[3/3] fig_new" in text
    return checkout.made()


def test_a_run_makes_everything_whole(checkout, first):
    names = ["fig_new.csv", "fig_new.html", "fig_new.json", "fig_new.png", "fig_new.svg", "claims.html", "claims.json", "claims.md"]
    assert sorted(first) == sorted([*names, "index.html", "ofan.parquet", "ops.parquet"])
    assert [p for p in (checkout.folder / "out").rglob(".*.*") if p.suffix not in (".log", ".compiled")] == []
    # A claim that fails is a result.
    assert json.loads(first["claims.json"])["claims"][0]["verdict"] == "not reproduced"
    assert "Nothing to be done" in checkout.run()


def test_one_core_makes_the_same_bytes(first, tmp_path):
    alone = Checkout(tmp_path)
    alone.run("--cores", "1")
    assert alone.made() == first


def test_the_report_is_one_page_without_addresses_to_load_from(checkout, first):
    for page in (first["index.html"].decode(), provenance(checkout)):
        assert "A caption." in page
        assert 'src="http' not in page


def provenance(checkout: Checkout) -> str:
    """Snakemake's own report: rules, code, run times."""
    checkout.run("--report", "provenance.html")
    return (checkout.folder / "provenance.html").read_text()


def test_a_new_scheme_runs_alone(checkout, first):
    before = checkout.raw()
    config = json.loads(json.dumps(CONFIG))
    config["experiments"]["tiny"]["schemes"].append("rsq")
    checkout.configure(config)
    text = checkout.run()
    assert "Simulating tiny: rsq" in text
    assert "Simulating tiny: ops" not in text
    assert "Drawing fig_new" in text
    assert {k: v for k, v in checkout.raw().items() if k != "rsq.parquet"} == before
    checkout.configure(CONFIG)


def test_an_edit_reruns_what_depends_on_it(checkout, first):
    checkout.run()
    assert planned(checkout, "bounds.py") == {"runs": 2, "figures": 1, "pages": 1}
    assert planned(checkout, "palette.py") == {"runs": 0, "figures": 1, "pages": 1}
    assert planned(checkout, "page/page.js") == {"runs": 0, "figures": 0, "pages": 1}
    assert planned(checkout, "bench.py") == {"runs": 0, "figures": 0, "pages": 0}


def planned(checkout: Checkout, edited: str) -> dict[str, int]:
    """What would run if a file of the package had been edited."""
    file = checkout.folder / "ofancore" / edited
    text = file.read_text()
    try:
        file.write_text(text + "# edited\n")
        plan = checkout.run("--dry-run")
    finally:
        file.write_text(text)
    kinds = {"runs": ": Simulating tiny", "figures": ": Drawing fig_new", "pages": ": Building the report"}
    return {kind: plan.count(message) for kind, message in kinds.items()}


@pytest.mark.parametrize("after", [4.0, 9.0])
def test_a_kill_at_any_moment_changes_nothing(checkout, first, after):
    shutil.rmtree(checkout.folder / "out")
    process = subprocess.Popen(
        checkout.command(), cwd=checkout.folder, env=checkout.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    time.sleep(after)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    checkout.run()
    assert checkout.made() == first


def test_a_damaged_raw_file_stops_its_figure_with_a_clear_line(checkout, first):
    raw = checkout.folder / "out/raw/tiny/ops.parquet"
    whole = raw.read_bytes()
    raw.write_bytes(whole[: len(whole) // 2])
    checkout.run(fails=True)
    log = (checkout.folder / "out/notebooks/fig_new.log").read_text()
    assert "out/raw/tiny/ops.parquet: not readable" in log
    assert "delete it" in log
    assert "not readable" in (checkout.folder / "out/notebooks/fig_new.ipynb").read_text()
    assert "not readable" in (checkout.folder / "out/claims.log").read_text()
    raw.unlink()
    checkout.run()
    assert checkout.made() == first


def test_a_config_that_is_not_valid_stops_before_any_job(checkout, first):
    config = json.loads(json.dumps(CONFIG))
    config["experiments"]["tiny"]["sweep"]["workload.message_packets"] = [0]
    checkout.configure(config)
    text = checkout.run(fails=True)
    assert "experiments.tiny.workload.message_packets" in text
    assert "Simulating" not in text
    checkout.configure(CONFIG)


def test_a_key_given_twice_stops_before_any_job(checkout, first):
    file = checkout.folder / "config.yaml"
    file.write_text(file.read_text() + "seeds: 3\n")
    text = checkout.run(fails=True)
    assert "seeds = 3: is given twice, on lines 2 and " in text
    assert "Simulating" not in text
    checkout.configure(CONFIG)


def test_raw_files_of_another_version_stop_their_figure(checkout, first):
    """Also where nothing tells Snakemake that they are, as when a folder was copied."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in (checkout.folder / "out/raw/tiny").glob("*.parquet"):
        table = pq.read_table(path)
        i = table.column_names.index("source")
        pq.write_table(table.set_column(i, "source", pa.array(["0123456789abcdef"] * len(table))), path)
    checkout.run(fails=True)
    for log in ("notebooks/fig_new.log", "claims.log"):
        assert "made by another version of the simulator (0123456789abcdef, this is " in (checkout.folder / "out" / log).read_text()
