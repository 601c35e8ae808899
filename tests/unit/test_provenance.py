"""Figures carry what made them, and the drawing is told apart from that."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import altair as alt
import pandas as pd
import pytest
import vl_convert
from scenarios import rows_without_runs

from ofancore import cli, provenance
from ofancore.config import load_config
from ofancore.figures import Figure
from ofancore.plan import Group
from ofancore.provenance import commit, drawing, drawing_digest, embedded, record_in, said
from ofancore.result import source_digest, write_table

GROUPS = [
    Group("one", label, {"fabric": {"radix": 4}}, {"kind": label}, {"workload.message_packets": [1, 2]}, [], 3) for label in ("ops", "ofan")
]
RECORD = {"record": 1, "figure": "f", "odd": "<>&]]></metadata></script>\u00e9\u2028", "commit": None}
SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="60" height="60"><circle r="40"/></svg>'
PNG = vl_convert.svg_to_png(SVG.decode())
HTML = b"<!DOCTYPE html>\n<html><head></head>\n<body>\n<script>const a = '</body>'</script>\n</body>\n</html>\n"
FORMS = {"svg": SVG, "png": PNG, "html": HTML}


@pytest.mark.parametrize("form", FORMS)
def test_a_record_goes_in_and_comes_out_and_the_drawing_is_as_before(form):
    data = embedded(FORMS[form], form, RECORD)
    assert data != FORMS[form]
    assert record_in(data) == RECORD
    assert drawing(data) == FORMS[form]
    assert drawing_digest(data) == drawing_digest(FORMS[form]) == drawing_digest(embedded(FORMS[form], form, {**RECORD, "figure": "g"}))
    assert record_in(FORMS[form]) is None


def test_files_with_a_record_are_still_what_they_were():
    import xml.etree.ElementTree as xml

    root = xml.fromstring(embedded(SVG, "svg", RECORD))
    assert json.loads(root[0].text) == RECORD  # an XML reader sees the same
    data, at, kinds = embedded(PNG, "png", RECORD), 8, []
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        kinds.append(data[at + 4 : at + 8])
        assert zlib.crc32(data[at + 4 : at + 8 + size]) == int.from_bytes(data[at + 8 + size : at + 12 + size], "big")
        at += 12 + size
    assert kinds[:2] == [b"IHDR", b"iTXt"]
    assert kinds[-1] == b"IEND"
    assert embedded(HTML, "html", RECORD).count(b"</script>") == HTML.count(b"</script>") + 1


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", PNG[:40], b"<svg>", b"\x89PNG\r\n\x1a\n\0\0\0\0"])
def test_what_is_cut_off_has_no_record(data):
    assert record_in(data) is None
    assert drawing(data) == data


def test_a_record_of_which_a_byte_changed_is_none():
    data = embedded(PNG, "png", RECORD)
    assert record_in(data) == RECORD
    at = data.index(b'"figure"') + 1
    assert record_in(data[:at] + b"F" + data[at + 1 :]) is None  # the chunk's check sum tells


@pytest.mark.parametrize("text", ["{", "[1]", '{"record": 2}', "[" * 100_000])
def test_a_damaged_record_is_none(text):
    assert record_in(SVG.replace(b"<circle", f'<metadata id="ofan-provenance">{text}</metadata><circle'.encode())) is None


# ---- commits


def git(folder: Path, *arguments: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    outside = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return subprocess.run(["git", *arguments], cwd=folder, env=outside | who, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def clone(tmp_path) -> Path:
    folder = tmp_path / "clone"
    (folder / "config").mkdir(parents=True)
    (folder / "config/a.yaml").write_text("a")
    (folder / "README.md").write_text("a")
    git(tmp_path, "init", "-q", "clone")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "a")
    return folder


def test_a_commit_is_named_and_what_decides_a_result_makes_it_dirty(clone):
    head = git(clone, "rev-parse", "HEAD")
    found = commit(clone)
    assert (found["id"], found["changed"]) == (head, False)
    assert re.match(r"\d{4}-\d\d-\d\dT", found["date"])
    (clone / "README.md").write_text("b")
    assert not commit(clone)["changed"]
    (clone / "config/b.yaml").write_text("new")
    assert commit(clone)["changed"]
    assert said(commit(clone)) == f"commit {head[:12]}, with changes that are not committed"


def test_without_a_clone_of_its_own_the_commit_is_unknown(clone, tmp_path, monkeypatch):
    assert commit(tmp_path) is None
    (clone / "unpacked").mkdir()
    assert commit(clone / "unpacked") is None  # inside of somebody else's
    monkeypatch.setenv("GIT_DIR", str(clone / ".git"))
    assert commit(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit(clone) is None
    assert said(None) == "commit unknown"


# ---- figures as the pipeline makes them


@pytest.fixture
def results(tmp_path, monkeypatch) -> Path:
    """Results with one figure, of runs that are not real."""
    monkeypatch.setattr(provenance, "commit", lambda: {"id": "c" * 40, "date": "2026-01-01T00:00:00+00:00", "changed": False})
    folder = tmp_path / "results"
    for group in GROUPS:
        write_table(rows_without_runs(group, source_digest()), group.raw_path(folder))
    (folder / "p4").mkdir()
    (folder / "p4/reports.json").write_text("{}")
    drawn = {
        "notebook": "notebooks/figures/fig_granularity.ipynb", "parameters": {"other": "one", "figures": 2}, "category": "Test",
        "config": "config/paper.yaml", "inputs": [str(folder / "p4/reports.json")],
    }  # fmt: skip
    source = {"results": str(folder), "groups": [json.loads(g.to_json()) for g in GROUPS], "drawn": drawn}
    figure = Figure.open("f", source)
    runs = figure.runs("one")
    chart = alt.Chart(pd.DataFrame({"x": [1, 2]})).mark_point().encode(x="x:Q")
    figure.publish(chart, {"runs": len(runs)}, runs[["label", "seed"]], {"_all.csv": runs[["label"]], ".md": "| a |\n"})
    return folder


def explain(capsys, *arguments) -> str:
    assert cli.main(["explain", *map(str, arguments)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "path", ["figures/f.svg", "figures/f.png", "figures/f.html", "numbers/f.json", "tables/f.csv", "tables/f_all.csv", "tables/f.md"]
)
def test_every_file_of_a_figure_is_explained(results, capsys, path):
    found = json.loads(explain(capsys, results / path, "--json"))
    assert found["figure"] == "f"
    assert found["sources"] == source_digest()
    assert found["commit"]["id"] == "c" * 40
    assert found["parameters"] == {"other": "one", "figures": 2}
    assert {"ofancore", "python", "numpy", "pandas", "altair", "vl-convert-python"} == set(found["versions"])
    assert found["now"]["files"] == dict.fromkeys(
        ["figures/f.svg", "figures/f.png", "figures/f.html", "numbers/f.json", "tables/f.csv", "tables/f_all.csv", "tables/f.md"], "as then"
    )
    run = found["runs"]["raw/one/ofan.parquet"]
    assert (run["runs"], run["seeds"]) == (6, 3)
    assert set(run) >= {"sha256", "scenarios", "numba", "numpy"}
    assert found["runs"]["raw/one/ops.parquet"]["scenarios"] != run["scenarios"]
    assert found["now"]["runs"] == dict.fromkeys(found["runs"], "as then")
    assert found["now"]["inputs"] == {"p4/reports.json": "as then"}


def test_what_has_changed_since_is_said(results, capsys):
    (results / "raw/one/ops.parquet").unlink()
    (results / "raw/one/ofan.parquet").write_bytes(b"other")
    (results / "numbers/f.json").write_text("{}")
    (results / "p4/reports.json").write_text("[]")
    text = explain(capsys, results / "figures/f.svg")
    assert re.search(r"raw/one/ops\.parquet +not here ", text)
    assert re.search(r"raw/one/ofan\.parquet +changed since ", text)
    assert re.search(r"numbers/f\.json +changed since ", text)
    assert re.search(r"p4/reports\.json +changed since ", text)
    assert re.search(r"figures/f\.svg +as then ", text)
    assert "3 of its inputs are not what they were" in text


def test_the_text_says_how_to_make_it_again(results, capsys):
    text = explain(capsys, results / "figures/f.svg")
    target = f"{results}/figures/f.svg"
    assert f"    .venv/bin/snakemake {target} --profile profiles/default --configfile config/paper.yaml --forcerun figure_f\n" in text
    assert "-f " + f"{results}/notebooks/f.yaml" in text
    assert "commit cccccccccccc\n" in text
    assert f"sources {source_digest()}" in text
    assert "one: 0 to 2" in text
    assert "git checkout" not in text


def test_other_sources_are_told_with_the_commit_to_go_to(results, capsys, monkeypatch):
    monkeypatch.setattr("ofancore.result.source_digest", lambda: "0123456789abcdef")
    text = explain(capsys, results / "figures/f.svg")
    assert "another one (0123456789abcdef)" in text
    assert "git checkout cccccccccccc\n" in text


def test_the_grid_asks_for_the_same_runs(results, capsys, tmp_path):
    explain(capsys, results / "figures/f.svg", "--grid", tmp_path / "grid.yaml")
    assert load_config(tmp_path / "grid.yaml", scenarios=False).groups() == GROUPS


def test_a_grid_keeps_what_single_schemes_vary(tmp_path):
    varied = [replace(GROUPS[0], one_at_a_time={"balancer.order": ["permuted"], "balancer.labels": [4, 2]}), GROUPS[1]]
    grid = provenance.grid_of(varied)
    assert grid["experiments"]["one"]["one_at_a_time"] == {"ops": varied[0].one_at_a_time}
    rest = {"results": "out", "seeds": 1, "figures": {}, "claims": {}}
    for block in grid["experiments"].values():
        block["about"] = "a test"
    assert load_config(grid | rest, scenarios=False).groups() == varied
    assert "one_at_a_time" not in provenance.grid_of(GROUPS)["experiments"]["one"]


def test_another_commit_changes_the_files_but_not_the_drawings(results, capsys, monkeypatch):
    kinds = ("svg", "png", "html")
    before = {kind: (results / f"figures/f.{kind}").read_bytes() for kind in kinds}
    monkeypatch.setattr(provenance, "commit", lambda: None)
    source = {"results": str(results), "groups": [json.loads(g.to_json()) for g in GROUPS]}
    figure = Figure.open("f", source)
    runs = figure.runs("one")
    figure.publish(alt.Chart(pd.DataFrame({"x": [1, 2]})).mark_point().encode(x="x:Q"), {"runs": len(runs)}, runs[["label", "seed"]])
    for kind in kinds:
        after = (results / f"figures/f.{kind}").read_bytes()
        assert after != before[kind]
        assert drawing_digest(after) == drawing_digest(before[kind])
    assert cli.main(["drawing-digest", str(results / "figures/f.svg"), str(results / "figures/f.png")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{drawing_digest(before[kind])}  {results}/figures/f.{kind}" for kind in ("svg", "png")]
    assert "commit unknown" in explain(capsys, results / "figures/f.svg")


@pytest.mark.parametrize("command", ["explain", "drawing-digest"])
def test_what_cannot_be_read_ends_with_one_line(tmp_path, capsys, command):
    os.mkfifo(tmp_path / "pipe.svg")
    for path, what in ((tmp_path / "no.svg", "cannot be read"), (tmp_path, "Is a directory"), (tmp_path / "pipe.svg", "plain file")):
        assert cli.main([command, str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert what in err


def test_foreign_and_damaged_files_end_with_one_line(tmp_path, capsys):
    (tmp_path / "numbers").mkdir()
    foreign = {"a.svg": SVG, "a.png": PNG, "a.html": HTML, "numbers/a.json": b"{}", "a.txt": b"\xff", "b.svg": embedded(SVG, "svg", RECORD)}
    for name, data in foreign.items():
        (tmp_path / name).write_bytes(data)
        assert cli.main(["explain", str(tmp_path / name)]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith(f"ofancore: {tmp_path / name}: ")


def test_the_grid_does_not_take_the_figures_place(results, capsys):
    path = results / "figures/f.svg"
    before = path.read_bytes()
    assert cli.main(["explain", str(path), "--grid", str(path)]) == 2
    assert "--grid" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize("runs", [{"raw/a.parquet": {}}, {"raw/a.parquet": 3}, {"raw/a.parquet": {"sha256": "0"}}])
def test_a_record_that_is_damaged_inside_ends_with_one_line(runs, tmp_path, capsys):
    (tmp_path / "a.png").write_bytes(embedded(PNG, "png", RECORD | {"runs": runs}))
    assert cli.main(["explain", str(tmp_path / "a.png")]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "its record is damaged" in err


WHOLE = {
    "record": 1, "figure": "f", "sources": "s", "versions": {}, "files": {}, "runs": {}, "inputs": {}, "schemes": {}, "experiments": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ({"command": []}, "command"),
        ({"figure": "\ud800"}, "figure: holds half"),
        ({"schemes": {"\udfff": {}}}, "holds half"),
        ({"parameters": json.loads("[" * 400 + "]" * 400)}, "more than 40 levels"),
    ],
)
def test_what_cannot_be_told_from_a_record_is_damage(part, wrong, tmp_path, capsys):
    (tmp_path / "a.svg").write_bytes(embedded(SVG, "svg", WHOLE))
    assert cli.main(["explain", str(tmp_path / "a.svg")]) == 0
    capsys.readouterr()
    nested = {"parameters": {"a": part["parameters"]}} if "parameters" in part else part
    (tmp_path / "a.svg").write_bytes(embedded(SVG, "svg", WHOLE | nested))
    assert cli.main(["explain", str(tmp_path / "a.svg")]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "its record is damaged" in err
    assert wrong in err


def test_what_a_terminal_would_obey_is_escaped(tmp_path, capsys):
    hostile = {"files": {"a\x1b[2J\nb": "0"}, "made_by": "\x9b31m\u202e", "parameters": {"\r": "\x07\x7f"}}
    (tmp_path / "a.svg").write_bytes(embedded(SVG, "svg", WHOLE | hostile))
    text = explain(capsys, tmp_path / "a.svg")
    assert all(line.isprintable() for line in text.split("\n"))
    assert "a\\x1b[2J\\nb" in text
    told = explain(capsys, tmp_path / "a.svg", "--json")
    assert all(line.isprintable() for line in told.split("\n"))
    assert json.loads(told)["made_by"] == hostile["made_by"]


def test_nothing_of_the_kernels_is_opened(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to("/proc/version")
    (tmp_path / "plain").write_text("a")
    up = "../" * len(tmp_path.parts)
    read = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or b"")
    for name in ("/proc/version", up + "proc/version", "link", "/sys/kernel/mm/transparent_hugepage/enabled", "/dev/null"):
        assert provenance.digest_beside(tmp_path / name) is None
    assert not read
    assert provenance.digest_beside(tmp_path / "plain") is not None
    assert read == [tmp_path.resolve() / "plain"]


def test_what_a_record_names_is_opened_only_if_it_is_a_plain_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert provenance.digest_beside(tmp_path / "pipe") is None
    assert provenance.digest_beside(tmp_path / "a\0") is None
