"""`data/expected` is refreshed whole from a full run, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import vl_convert
import yaml
from scenarios import rows_without_runs

from ofancore import expected
from ofancore.config import load_config
from ofancore.provenance import drawing, embedded, record_in
from ofancore.result import source_digest, write_table

ROOT = Path(__file__).parents[2]
EXPERIMENT = {"about": "a test", "schemes": ["ops", "ofan"], "scenario": {"fabric": {"radix": 4}}}
CONFIG = {
    "results": "results",
    "seeds": 2,
    "schemes": {"ops": {"kind": "ops"}, "ofan": {"kind": "ofan"}},
    "experiments": {"one": EXPERIMENT},
    "figures": {name: {"notebook": f"nb_{name}", "category": "Test", "experiments": ["one"]} for name in (*expected.FIGURES, "not_shown")},
    "claims": {},
}


PICTURE = vl_convert.svg_to_png("<svg xmlns='http://www.w3.org/2000/svg' width='60' height='60'><circle r='40'/></svg>")


def pixels(png: bytes) -> bytes:
    """Header and pixel data, read apart from the code under test."""
    parts = re.findall(rb"IDAT(.*?)(?=....(?:IDAT|IEND))", png, re.DOTALL)
    assert png.endswith(b"\0\0\0\0IEND\xaeB`\x82")
    return png[:33] + zlib.decompress(b"".join(part[:-4] for part in parts))


def test_a_packed_picture_is_the_same_picture():
    small = expected.packed(PICTURE)
    assert pixels(small) == pixels(PICTURE)
    assert len(small) <= len(PICTURE)
    assert expected.packed(small) == small


def write_runs(results: Path, source: str) -> None:
    """Rows as a run group has them, so far as they are looked at."""
    for group in load_config(CONFIG, scenarios=False).groups(["one"]):
        write_table(rows_without_runs(group, source), group.raw_path(results))


@pytest.fixture
def run(tmp_path):
    """A full run without simulation: `run()` refreshes from it and returns (status, folder)."""
    results, out, config = tmp_path / "elsewhere", tmp_path / "data" / "expected", tmp_path / "grid.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    write_runs(results, source_digest())
    for name in CONFIG["figures"]:
        for folder in ("figures", "numbers"):
            (results / folder).mkdir(exist_ok=True)
        (results / f"figures/{name}.png").write_bytes(embedded(PICTURE, "png", {"record": 1, "figure": name, "commit": "old"}))
        (results / f"figures/{name}.svg").write_text(f"picture of {name}")
        (results / f"numbers/{name}.json").write_text(json.dumps({"of": name}))
    (results / "claims.md").write_text("# Claims\n")

    def refresh():
        return expected.main(["--config", str(config), "--results", str(results), "--out", str(out)])

    refresh.results, refresh.out = results, out
    return refresh


def test_a_full_run_is_kept(run):
    assert run() == 0
    pictures = {f"{name}.png" for name in expected.FIGURES}
    assert {p.name for p in run.out.iterdir()} == pictures | {"claims.md", "numbers.json", "reference.json", "README.md"}
    kept = (run.out / "fig06_queue_scaling.png").read_bytes()
    assert drawing(kept) == expected.packed(PICTURE)
    assert record_in(kept) == {"record": 1, "figure": "fig06_queue_scaling", "commit": "old", "folder": "../../results"}
    assert json.loads((run.out / "numbers.json").read_text())["not_shown"] == {"of": "not_shown"}
    about = (run.out / "README.md").read_text()
    assert source_digest() in about
    assert "grid.yaml" in about
    assert "4 runs" in about
    assert hashlib.sha256(b"picture of fig06_queue_scaling").hexdigest()[:16] in about


def test_the_reference_has_digests_of_all_runs_and_drawings(run):
    run()
    kept = json.loads((run.out / "reference.json").read_text())
    assert (kept["config"], kept["made_with"]["source"]) == ("grid.yaml", source_digest())
    assert set(kept["groups"]) == {"one/ops", "one/ofan"}
    assert kept["drawings"]["not_shown"] == hashlib.sha256(b"picture of not_shown").hexdigest()[:16]
    assert "cct_ns" in kept["columns"]
    assert not {"seed", "source", "fabric.radix", "time_limit_ns"} & set(kept["columns"])


def test_another_commit_changes_what_pictures_say_and_no_digest(run):
    """Digests are of drawings; the pictures say what made them, as figures do."""
    run()
    before = {p.name: p.read_bytes() for p in run.out.iterdir()}
    for name in CONFIG["figures"]:
        for form in ("png", "svg"):
            path = run.results / f"figures/{name}.{form}"
            data = PICTURE if form == "png" else f"<svg>picture of {name}</svg>".encode()
            path.write_bytes(embedded(data, form, {"record": 1, "commit": "new"}))
    plain = {name: hashlib.sha256(f"<svg>picture of {name}</svg>".encode()).hexdigest()[:16] for name in CONFIG["figures"]}
    assert run() == 0
    assert json.loads((run.out / "reference.json").read_text())["drawings"] == plain
    for name in expected.FIGURES:
        now, then = (run.out / f"{name}.png").read_bytes(), before[f"{name}.png"]
        assert (drawing(now), record_in(now)["commit"]) == (drawing(then), "new")
        assert record_in(then)["commit"] == "old"
        assert plain[name] in (run.out / "README.md").read_text()


def test_a_picture_that_does_not_say_what_made_it_is_refused(run, capsys):
    (run.results / "figures/league.png").write_bytes(PICTURE)
    assert run() == 2
    assert "league.png: does not say what made it" in capsys.readouterr().err
    assert not run.out.exists()


def test_runs_of_two_versions_are_refused(run, capsys):
    path = load_config(CONFIG, scenarios=False).groups(["one"])[0].raw_path(run.results)
    table = pq.read_table(path)
    about = {**json.loads(table.schema.metadata[b"ofan"]), "numpy": "1.0"}
    pq.write_table(table.replace_schema_metadata({b"ofan": json.dumps(about).encode()}), path)
    os.utime(path, (1, 1))
    assert run() == 2
    assert "raw runs of more than one numpy" in capsys.readouterr().err
    assert not run.out.exists()


def test_a_second_time_gives_the_same_and_leaves_nothing_else(run):
    run()
    before = {p.name: p.read_bytes() for p in run.out.iterdir()}
    (run.out / "left_over.png").write_text("of an older version")
    assert run() == 0
    assert {p.name: p.read_bytes() for p in run.out.iterdir()} == before
    assert [p.name for p in run.out.parent.iterdir()] == ["expected"]


@pytest.mark.parametrize("lost", ["figures/pofan_pipes.png", "numbers/not_shown.json", "claims.md", "raw/one/ofan.parquet"])
def test_a_missing_file_is_refused_by_name_and_nothing_changes(run, capsys, lost):
    run()
    before = {p.name: p.read_bytes() for p in run.out.iterdir()}
    (run.results / lost).unlink()
    assert run() == 2
    assert lost in capsys.readouterr().err
    assert {p.name: p.read_bytes() for p in run.out.iterdir()} == before


def test_runs_of_other_sources_are_refused(run, capsys):
    write_runs(run.results, "0123456789abcdef")
    assert run() == 2
    assert "0123456789abcdef" in capsys.readouterr().err
    assert not run.out.exists()


def test_runs_that_do_not_say_what_made_them_are_refused(run, capsys):
    path = load_config(CONFIG, scenarios=False).groups(["one"])[0].raw_path(run.results)
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    os.utime(path, (1, 1))  # not younger than the figures
    assert run() == 2
    assert f"{path}: does not say what made it" in capsys.readouterr().err
    assert not run.out.exists()


def test_a_figure_older_than_its_runs_is_refused(run, capsys):
    os.utime(run.results / "figures" / "fig01_granularity.png", (1, 1))
    assert run() == 2
    assert "fig01_granularity.png: older than its runs" in capsys.readouterr().err


def test_an_interrupted_replacement_puts_the_old_folder_back(run, monkeypatch):
    run()
    rename = Path.rename

    def fails(self, target):
        if self.name == "new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    before = {p.name: p.read_bytes() for p in run.out.iterdir()}
    assert run() == 2
    assert {p.name: p.read_bytes() for p in run.out.iterdir()} == before
    assert [p.name for p in run.out.parent.iterdir()] == ["expected"]


def test_the_readme_shows_these_figures_and_the_config_draws_them():
    shown = re.findall(r"data/expected/(\w+)\.png", (ROOT / "README.md").read_text())
    assert sorted(set(shown)) == sorted(expected.FIGURES)
    assert set(expected.FIGURES) <= set(load_config(ROOT / "config/paper.yaml", scenarios=False).figures)
