"""Notebooks as committed: no outputs, one parameters cell, a stated claim; and the runner's refusals."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from ofancore.notebook import NotebookError, check_parameters, execute

ROOT = Path(__file__).resolve().parents[2]
FIGURES = sorted((ROOT / "notebooks/figures").glob("*.ipynb"))
ALL = sorted((ROOT / "notebooks").rglob("*.ipynb"))


def source(cell: dict) -> str:
    return "".join(cell["source"])


CAPTIONS = sorted((ROOT / "workflow/report").glob("*.rst"))
# Shares and ratios that texts may state: the paper's (16 to 39, 52), of intervals, of one bound over another, of what refutes a claim.
STATED = {"16 times", "39 times", "52 times", "95%", "2%"}


@pytest.mark.parametrize("path", [*CAPTIONS, *FIGURES], ids=lambda p: p.stem)
def test_texts_state_no_results(path):
    """Measured shares and ratios belong into titles, which a run writes; what stands in a text would stay when the next run differs."""
    text = path.read_text()
    if path.suffix == ".ipynb":
        text = "\n".join(source(cell) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    found = re.findall(r"(\d[\d.,]*)\s*(%|times\b|percent\b)", text)
    assert {number + ("%" if unit in ("%", "percent") else " times") for number, unit in found} <= STATED


@pytest.mark.parametrize("path", ALL, ids=lambda p: p.stem)
def test_stored_without_outputs_and_for_any_python3(path):
    book = json.loads(path.read_text())
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    assert "version" not in book["metadata"].get("language_info", {})
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.parametrize("path", FIGURES, ids=lambda p: p.stem)
def test_a_figure_states_its_claim_and_takes_parameters_in_one_cell(path):
    cells = json.loads(path.read_text())["cells"]
    for word in ("**Claim.**", "**Figure.**", "**What would refute it.**"):
        assert word in source(cells[0])
    tagged = [c for c in cells if "parameters" in c["metadata"].get("tags", [])]
    assert len(tagged) == 1
    assert "source = {}" in source(tagged[0])
    assert "fig.publish(" in source(cells[-1])
    check_parameters(path, {"figure": "x", "source": {}})


def write(path: Path, *cells: str) -> Path:
    code = [
        {
            "cell_type": "code", "id": f"c{i}", "metadata": {"tags": ["parameters"] if i == 0 else []},
            "source": text, "outputs": [], "execution_count": None,
        }
        for i, text in enumerate(cells)
    ]  # fmt: skip
    meta = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"cells": code, "metadata": meta, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_unknown_parameters_are_refused(tmp_path):
    book = write(tmp_path / "n.ipynb", "known = 1")
    check_parameters(book, {"known": 2})
    with pytest.raises(NotebookError, match=r"unknown parameters knwon; its parameters cell defines known"):
        execute(book, {"knwon": 2}, tmp_path / "out.ipynb")
    assert not (tmp_path / "out.ipynb").exists()


@pytest.mark.parametrize("text", ["", "{}", "not json"])
def test_files_that_are_no_notebooks(tmp_path, text):
    (tmp_path / "n.ipynb").write_text(text)
    with pytest.raises(NotebookError, match=r"n\.ipynb"):
        check_parameters(tmp_path / "n.ipynb", {})
    with pytest.raises(NotebookError, match="no such notebook"):
        check_parameters(tmp_path / "none.ipynb", {})


@pytest.mark.pipeline
def test_a_failed_notebook_is_kept_with_its_traceback(tmp_path):
    book = write(tmp_path / "n.ipynb", "x = 1", "print(x + 1)", "raise ValueError('told you')")
    with pytest.raises(NotebookError, match="ValueError: told you"):
        execute(book, {"x": 4}, tmp_path / "out.ipynb")
    kept = (tmp_path / "out.ipynb").read_text()
    assert "told you" in kept
    assert "5\\n" in kept


@pytest.mark.pipeline
def test_a_kernel_is_ended_without_an_interrupt(tmp_path, monkeypatch):
    """Of which it would write in the figure's log, if the last cell's answer was on its way still."""
    monkeypatch.chdir(tmp_path)
    listen = """import os, signal
kernel = get_ipython().kernel
kernel.pre_handler_hook = kernel.post_handler_hook = lambda: None
signal.signal(signal.SIGINT, lambda *_: open("interrupted", "w").close())
open("process", "w").write(str(os.getpid()))"""
    execute(write(tmp_path / "n.ipynb", "x = 1", listen), {}, tmp_path / "out.ipynb")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "process").read_text()), 0)
    assert not (tmp_path / "interrupted").exists()


@pytest.mark.pipeline
@pytest.mark.slow
def test_the_notebook_of_a_scheme_of_ones_own_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    execute(ROOT / "notebooks/your_own_balancer.ipynb", {}, tmp_path / "out.ipynb")
    out = (tmp_path / "out.ipynb").read_text()
    assert "two_choices: CCT " in out
    assert "keep_good: CCT " in out
    outputs = [output for cell in json.loads(out)["cells"] for output in cell.get("outputs", [])]
    (figure,) = ["".join(output["data"]["image/svg+xml"]) for output in outputs if "image/svg+xml" in output.get("data", {})]
    assert all(f">{name}</text>" in figure for name in ("Keep until a mark", "Two choices", "Flowlet (50 ns)", "REPS", "Ofan"))
    assert "image/svg+xml" in out
    assert "choose_uplink of off_by_one = 4: must return an uplink from 0 to 3" in out


@pytest.mark.pipeline
@pytest.mark.slow
def test_the_tour_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    execute(ROOT / "notebooks/tour.ipynb", {}, tmp_path / "out.ipynb")
    out = (tmp_path / "out.ipynb").read_text()
    assert "fabric.radix = 7: must be a multiple of 2" in out
    assert "ofan: CCT " in out
    assert out.count('"image/svg+xml"') == 2


@pytest.mark.pipeline
@pytest.mark.slow
def test_the_notebook_of_widgets_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    execute(ROOT / "notebooks/explore.ipynb", {}, tmp_path / "out.ipynb")
    cells = json.loads((tmp_path / "out.ipynb").read_text())["cells"]
    outputs = [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]
    assert sum("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in outputs) == 1
    printed = "".join("".join(output.get("text", "")) for output in outputs)
    assert re.search(r"3 schemes: \d+\.\d\d s from the change to the pictures", printed)
    assert any("<iframe srcdoc=" in "".join(output.get("data", {}).get("text/html", "")) for output in outputs)


@pytest.mark.pipeline
@pytest.mark.slow
def test_the_notebook_of_paths_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    execute(ROOT / "notebooks/paths.ipynb", {}, tmp_path / "out.ipynb")
    cells = json.loads((tmp_path / "out.ipynb").read_text())["cells"]
    outputs = [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs) == 3
    printed = "".join("".join(output.get("text", "")) for output in outputs)
    assert re.search(r"edge:0:0-agg:0:1 +up +0\.0 ", printed)


@pytest.mark.pipeline
@pytest.mark.slow
def test_a_figure_notebook_runs_alone_on_a_small_version(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks/figures")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    execute(ROOT / "notebooks/figures/fig_overload.ipynb", {}, tmp_path / "out.ipynb")
    assert "image/svg+xml" in (tmp_path / "out.ipynb").read_text()
