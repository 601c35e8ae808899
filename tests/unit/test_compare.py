"""The table at the end of `make figures`: the same numbers, numbers within the reference's intervals, and others."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from scenarios import rows_without_runs

from ofancore import compare as comparing
from ofancore import digests
from ofancore.claims import evaluate
from ofancore.compare import DIFFERS, MISSING, NO_REFERENCE, SAME, WITHIN, compare, judged, main, targets
from ofancore.config import load_config
from ofancore.errors import ScenarioError
from ofancore.figures import Source
from ofancore.p4.resources import REFUSED, Found, cells, recorded, to_document
from ofancore.result import source_digest, write_table
from ofancore.scenario import Scenario

ROOT = Path(__file__).parents[2]
EXPERIMENT = {"about": "a test", "schemes": ["ops", "ofan"], "scenario": {"fabric": {"radix": 4}}}
CHECK = {"experiment": "one", "measure": "value", "metric": "cct_ns", "schemes": ["ops"], "says": "short", "at_most": 150.0}
CONFIG = {
    "results": "out",
    "seeds": 3,
    "schemes": {"ops": {"kind": "ops"}, "ofan": {"kind": "ofan"}},
    "experiments": {"one": EXPERIMENT, "two": dict(EXPERIMENT)},
    "figures": {"f": {"notebook": "fig_granularity", "category": "Test", "experiments": ["one"]}},
    "claims": {
        "C1": {"text": "It is short", "paper": "short", "source": "s", "figure": "f", "checks": [CHECK]},
        "C2": {
            "text": "It is short, too",
            "paper": "short",
            "source": "s",
            "checks": [{**CHECK, "experiment": "two", "schemes": ["ofan"]}],
        },
    },
}


class Machine:
    """A config with results whose CCTs are given: 100 a seed and more, times `scale`, by these sources unless others are named."""

    def __init__(self, folder: Path, config: dict = CONFIG):
        self.folder, self.data, self.path = folder / "out", copy.deepcopy(config), folder / "grid.yaml"
        self.run()

    def run(self, scale: float = 1.0, about: dict | None = None) -> None:
        self.path.write_text(yaml.safe_dump(self.data))
        for group in self.config.groups():
            rows = rows_without_runs(group, source_digest())
            path = group.raw_path(self.folder)
            write_table([{**row, "cct_ns": scale * (100.0 + row["seed"] / 3)} for row in rows], path)
            if about:
                table = pq.read_table(path)
                kept = {**json.loads(table.schema.metadata[b"ofan"]), **about}
                pq.write_table(table.replace_schema_metadata({b"ofan": json.dumps(kept).encode()}), path)

    @property
    def config(self):
        return load_config(self.data, scenarios=False)

    def reference(self) -> dict:
        groups = self.config.groups()
        tables = {g.name: digests.rows_of(g, self.folder) for g in groups}
        columns = digests.metrics_of(row for rows in tables.values() for row in rows)
        claims = evaluate(self.config.claims, Source(str(self.folder), groups).runs)
        made = {name: values[0] for name, values in digests.made_with(groups, self.folder).items()}
        kept = {g.name: {"asked": digests.asked(g), "got": digests.digest_of_rows(tables[g.name], columns)} for g in groups}
        return {"config": "grid.yaml", "made_with": made, "claims": claims, "groups": kept, "columns": columns, "drawings": {"f": "0" * 16}}

    def verdicts(self, reference: dict) -> list[str]:
        return [c["verdict"] for c in compare(self.config, self.folder, reference)["claims"]]


@pytest.fixture
def machine(tmp_path) -> Machine:
    return Machine(tmp_path)


def test_the_same_run_gives_the_same_numbers(machine):
    found = compare(machine.config, machine.folder, machine.reference())
    assert [c["verdict"] for c in found["claims"]] == [SAME, SAME]
    assert found["other_runs"] == []
    assert found["claims"][0]["reference"] == found["claims"][0]["here"] == "reproduced"
    assert not comparing.differs(found)


def test_by_the_same_sources_and_versions_a_number_must_be_the_same(machine):
    reference = machine.reference()
    machine.run(scale=1 + 1e-6)
    found = compare(machine.config, machine.folder, reference)
    assert [c["verdict"] for c in found["claims"]] == [DIFFERS, DIFFERS]
    assert found["other_runs"] == ["one/ops", "one/ofan", "two/ops", "two/ofan"]
    assert comparing.differs(found)


@pytest.mark.parametrize(("scale", "expected"), [(1.0, SAME), (1 + 1e-6, WITHIN), (1.1, DIFFERS)])
def test_by_another_version_it_must_lie_in_the_interval(machine, scale, expected):
    reference = machine.reference()
    machine.run(scale, about={"numpy": "1.0"})
    found = compare(machine.config, machine.folder, reference)
    assert [c["verdict"] for c in found["claims"]] == [expected, expected]
    assert found["made_with"]["numpy"] == ["1.0"]


def test_other_sources_are_judged_by_intervals_and_said(machine, capsys):
    reference = machine.reference()
    reference["made_with"]["source"] = "0123456789abcdef"
    machine.run(scale=1 + 1e-6)
    found = compare(machine.config, machine.folder, reference)
    assert [c["verdict"] for c in found["claims"]] == [WITHIN, WITHIN]
    text = comparing.text(found, "grid.yaml", "out", "make it")
    assert f"Here: source {source_digest()}, which is not the reference's." in text
    assert "within the reference's 95% interval" in text


NUMBER = {"value": 2.0, "low": 1.0, "high": 3.0}


@pytest.mark.parametrize(
    ("here", "exact", "expected"),
    [
        ({"value": 2.0, "low": 1.0, "high": 3.0}, True, SAME),
        ({"value": 2.0 * (1 + 5e-10), "low": 1.0, "high": 3.0}, True, SAME),
        ({"value": 2.0, "low": 1.0, "high": 3.1}, True, DIFFERS),
        ({"value": 3.0, "low": 2.0, "high": 4.0}, False, WITHIN),
        ({"value": 3.01, "low": 2.0, "high": 4.0}, False, DIFFERS),
        ({"value": None, "low": None, "high": None}, False, DIFFERS),
        (None, False, MISSING),
    ],
)
def test_judgement(here, exact, expected):
    assert judged(here, NUMBER, exact) == expected


def test_what_does_not_exist_in_both_is_the_same():
    nothing = dict.fromkeys(NUMBER)
    assert judged(nothing, nothing, True) == SAME
    assert judged(NUMBER, nothing, False) == DIFFERS


def test_settings_of_ones_own_have_no_reference_and_the_rest_has(machine):
    reference = machine.reference()
    machine.data["experiments"]["two"]["sweep"] = {"workload.message_packets": [4]}
    machine.run()
    assert machine.verdicts(reference) == [SAME, NO_REFERENCE]
    machine.data["claims"]["C1"]["checks"][0]["says"] = "another criterion"
    machine.run()
    assert machine.verdicts(reference) == [NO_REFERENCE, NO_REFERENCE]


def test_missing_runs_are_said_and_the_rest_is_compared(machine):
    reference = machine.reference()
    (machine.folder / "raw/two/ofan.parquet").unlink()
    found = compare(machine.config, machine.folder, reference)
    assert [c["verdict"] for c in found["claims"]] == [SAME, MISSING]
    assert found["claims"][1]["here"] is None
    assert comparing.differs(found)


def test_what_is_missing_is_named_with_the_command_that_makes_it(machine, tmp_path, capsys):
    (tmp_path / "reference.json").write_text(json.dumps(machine.reference()))
    (machine.folder / "raw/two/ofan.parquet").unlink()
    assert run(machine, tmp_path, "--strict") == 1
    out = capsys.readouterr().out
    assert f"Missing in {machine.folder}: raw/two/ofan.parquet.\nWhat is missing is made by: make figures CONFIG={machine.path}" in out
    assert "differs" not in out
    assert "git status" not in out
    assert run(machine, tmp_path, "--claim", "C2") == 0
    assert f"make claim CLAIM=C2 CONFIG={machine.path}" in capsys.readouterr().out
    machine.run(scale=1.1)
    (machine.folder / "raw/two/ofan.parquet").unlink()
    run(machine, tmp_path)
    out = capsys.readouterr().out
    assert out.index("What is missing is made by") < out.index("What to do about what differs") < out.index("git status")


def test_the_command_that_makes_what_is_compared():
    assert comparing.made_by(str(comparing.PAPER), []) == "make figures"
    assert comparing.made_by("config/smoke.yaml", ["C1"]) == "make claim CLAIM=C1 CONFIG=config/smoke.yaml"


def test_another_grid_is_told_at_once_and_where_the_report_is(machine, tmp_path, capsys):
    (tmp_path / "reference.json").write_text(json.dumps(machine.reference()))
    machine.data["seeds"] = 2
    machine.run()
    assert run(machine, tmp_path, "--strict") == 0
    out = capsys.readouterr().out
    assert re.fullmatch(r"Nothing to compare: [^\n]*grid\.yaml[^\n]*\nVerdicts, if there are any, are of that grid, [^\n]*\n", out)
    page = machine.folder / "report/index.html"
    page.parent.mkdir()
    page.touch()
    assert run(machine, tmp_path) == 0
    assert capsys.readouterr().out == f"{out}\nReport: {page}\n"


def run(machine: Machine, folder: Path, *more: str) -> int:
    paths = ["--config", machine.path, "--results", machine.folder, "--reference", folder / "reference.json"]
    return main([*map(str, paths), *more])


def test_texts_of_a_config_stay_on_their_line_of_markdown(tmp_path):
    config = copy.deepcopy(CONFIG)
    config["claims"]["C1"] |= {"text": "- a|b\n# c <script>", "paper": "a|b\n<i>"}
    config["claims"]["C1"]["checks"] = [{**CHECK, "says": "a|b\n<b>"}]
    machine = Machine(tmp_path, config)
    found = compare(machine.config, machine.folder, machine.reference())
    page = comparing.markdown(found, "grid.yaml", machine.folder, "make")
    assert "<" not in page
    assert r"| **C1** - a\|b # c &lt;script> | a\|b &lt;i> | reproduced (1 of 1) |" in page
    assert "\n\\- a\\|b # c &lt;script>\n" in page
    assert r"| a\|b &lt;b> | OPS (host random) | ≤ 150 |" in page
    assert [x for x in page.splitlines() if x.startswith("# ")] == ["# This machine and the reference"]


def test_a_claim_of_a_config_without_claims_is_refused_in_words(tmp_path, capsys):
    machine = Machine(tmp_path, {name: block for name, block in CONFIG.items() if name != "claims"})
    assert main(["--config", str(machine.path), "--claim", "C1", "--targets"]) == 2
    assert "claim = 'C1': the config has no claims\n" in capsys.readouterr().err


def test_the_table_the_files_and_the_status(machine, tmp_path, capsys):
    (tmp_path / "reference.json").write_text(json.dumps(machine.reference()))
    assert run(machine, tmp_path, "--strict") == 0
    out = capsys.readouterr().out
    assert "Simulations: 4 of 4 raw files hold the reference's results, digit for digit." in out
    assert "Drawings: 0 of 1 are the reference's to the byte." in out
    assert out.split().count("same") >= 2
    kept = json.loads((machine.folder / "comparison.json").read_text())
    assert [c["verdict"] for c in kept["claims"]] == ["same", "same"]
    page = (machine.folder / "comparison.md").read_text()
    assert "| **C1** It is short | short | reproduced (1 of 1) | reproduced (1 of 1) | **same** |" in page
    machine.run(scale=1.1)
    assert run(machine, tmp_path) == 0
    assert run(machine, tmp_path, "--strict") == 1
    out = capsys.readouterr().out
    assert "DIFFERS (1 of 1)" in out
    assert "What to do about what differs:" in out
    assert "short: reference 100 [" in out
    assert "Raw files with other results than the reference's: one/ops, one/ofan, two/ops, two/ofan." in out
    assert "**DIFFERS (1 of 1)**" in (machine.folder / "comparison.md").read_text()


def test_one_claim_needs_its_own_runs_only_and_writes_nothing(machine, tmp_path, capsys):
    (tmp_path / "reference.json").write_text(json.dumps(machine.reference()))
    (machine.folder / "raw/two/ofan.parquet").unlink()
    assert run(machine, tmp_path, "--claim", "C1", "--strict") == 0
    out = capsys.readouterr().out
    assert "\nC1 " in out
    assert "\nC2 " not in out
    assert not (machine.folder / "comparison.json").exists()


def test_targets_of_a_claim_are_its_figure_and_its_runs(machine):
    assert targets(machine.config, ["C1"]) == ["out/figures/f.svg", "out/raw/one/ops.parquet", "out/raw/one/ofan.parquet"]
    paper = load_config(ROOT / "config/paper.yaml", scenarios=False)
    assert "results/p4/reports.json" in targets(paper, ["C7"])
    assert "results/figures/p4_resources.svg" in targets(paper, ["C7"])


def test_an_unknown_claim_and_a_reference_that_is_none_are_refused(machine, tmp_path, capsys):
    with pytest.raises(ScenarioError, match="C9"):
        targets(machine.config, ["C9"])
    assert run(machine, tmp_path) == 2
    (tmp_path / "reference.json").write_text("[]")
    assert run(machine, tmp_path) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "cannot be read" in lines[0]
    assert "is not what" in lines[1]


def test_a_claim_on_compilers_reports_needs_no_runs(tmp_path):
    """C7: what is recorded in data/p4/reports is what the reference has; a program that takes more differs."""
    paper, reference = load_config(ROOT / "config/paper.yaml", scenarios=False), comparing.read_reference()
    found = [Found(cell, *recorded(cell)) for cell in cells()]
    (tmp_path / "p4").mkdir()
    (tmp_path / "p4/reports.json").write_text(to_document(found))
    same = compare(paper, tmp_path, reference, ["C7"])
    assert [k["verdict"] for k in same["claims"][0]["checks"]] == [SAME] * 12
    assert same["missing"] == ["raw/state/ofan.parquet", "raw/state/pofan4.parquet"]
    said = comparing.text(same, "paper.yaml", "results", "make claim CLAIM=C7")
    assert "No raw runs are here yet." in said
    assert "Nothing to compare" not in said
    paper.claims["C7"] = paper.claims["C7"].model_copy(update={"figure": None})
    smoke = compare(load_config(ROOT / "config/smoke.yaml", scenarios=False), tmp_path, reference, ["C7"])
    assert smoke["claims"][0]["verdict"] == SAME  # reports are the same on every grid
    assert "Its simulations are others than the reference's." in comparing.text(smoke, "smoke.yaml", "results", "make it")
    alone = compare(paper, tmp_path, reference, ["C7"])
    assert "No simulations are behind it." in comparing.text(alone, "paper.yaml", "results", "make it")
    (tmp_path / "p4/reports.json").write_text(to_document([Found(f.cell, REFUSED, None) if f.cell.program == "ofan" else f for f in found]))
    other = compare(paper, tmp_path, reference, ["C7"])["claims"][0]
    assert {(k["scheme"], k["verdict"]) for k in other["checks"]} == {("ofan", DIFFERS), ("pofan", SAME)}
    (tmp_path / "p4/reports.json").unlink()
    assert compare(paper, tmp_path, reference, ["C7"])["claims"][0]["verdict"] == MISSING


# ---- digests of runs


def test_a_digest_is_of_metrics_only_and_of_every_digit():
    row = {"cct_ns": 1.5, "drops": 2, "finished": True, "collectives": "[]", "queue": float("nan")}
    columns = list(row)
    kept = digests.digest_of_rows([row], columns)
    assert digests.digest_of_rows([{**row, "drops": 2.0, "queue": None, "fabric.radix": 8, "new": 1}], columns) == kept
    assert digests.digest_of_rows([{**row, "cct_ns": 1.5000000000000002}], columns) != kept
    assert digests.digest_of_rows([row, row], columns) != kept


def test_keys_of_scenarios_are_no_metrics():
    top = {name for name, value in Scenario().to_dict().items() if not isinstance(value, dict)}
    assert set(digests._TOP_KEYS) == top


def test_the_reference_is_of_the_default_grid():
    """What it holds is asked for in the same words; otherwise `make figures` would compare little or nothing."""
    kept = comparing.read_reference()
    paper = load_config(ROOT / "config/paper.yaml", scenarios=False)
    assert kept["config"] == "paper.yaml"
    assert [c["id"] for c in kept["claims"]] == list(paper.claims)
    needed = {g.name: digests.asked(g) for g in paper.groups(paper.experiments_of_claims())}
    assert {name: kept["groups"][name]["asked"] for name in needed} == needed
    text = (ROOT / "data/expected/claims.md").read_text()
    for c in kept["claims"]:
        assert f"## {c['id']}: {c['verdict']}\n" in text
