"""Resource reports: read from a compiler's outputs, stored with their sources, refused when of others, and claims on them."""

import json
import math
import os

import pytest

from ofancore.claims import evaluate
from ofancore.config import Claim
from ofancore.p4 import reports, resources
from ofancore.p4.reports import record
from ofancore.p4.resources import (
    FOLDER,
    RESOURCES,
    Cell,
    Found,
    Refused,
    Report,
    ReportError,
    cells,
    from_document,
    recorded,
    shares_in,
    to_document,
)

CELL = Cell("ofan", "tofino", 64)


def report(program="ofan", target="tofino", radix=64, sram=40, source=None) -> Report:
    cell = Cell(program, target, radix)
    stages = 12 if target == "tofino" else 20
    used = {name: [1, 2] + [0] * (stages - 2) for name in RESOURCES} | {"sram": [sram] + [0] * (stages - 1)}
    return Report(program, target, radix, source or cell.source, {"p4c-barefoot": "1.2"}, stages, used, 768)


def test_shares_are_of_the_whole_chip():
    shares = report().shares()
    assert shares["sram"] == 40 / (80 * 12)
    assert shares["stateful_alu"] == 3 / 48
    assert shares["stages"] == 2 / 12
    assert shares["phv"] == 768 / 6144


def test_a_report_is_kept_whole(tmp_path):
    path = tmp_path / CELL.name / "report.json"
    path.parent.mkdir()
    path.write_text(report().to_json())
    assert recorded(CELL, tmp_path) == ("recorded", report())
    assert recorded(Cell("ofan", "tofino", 8), tmp_path) == ("none", None)
    path.write_text(report(source="0" * 16).to_json())
    assert recorded(CELL, tmp_path) == ("stale", None)
    path.write_text(report(program="ecmp").to_json())
    with pytest.raises(ReportError, match="is a report on ecmp-tofino-r64"):
        recorded(CELL, tmp_path)
    path.write_text("{")
    with pytest.raises(ReportError, match="not a resource report"):
        recorded(CELL, tmp_path)


@pytest.mark.parametrize("cell", cells(), ids=lambda c: c.name)
def test_recorded_reports_are_of_these_sources(cell):
    """A stale one fails here: compile again (`ofancore p4-reports`)."""
    status, found = recorded(cell)
    assert status == "recorded", f"{FOLDER / cell.name}: of other sources"
    totals = found.totals()
    assert all(0 <= used <= there for used, there in totals.values())
    assert totals["stages"][0] > 0


def test_a_collection_of_other_sources_is_refused(tmp_path):
    path = tmp_path / "reports.json"
    path.write_text(to_document([Found(CELL, "recorded", report())]))
    assert from_document(path)[0].report == report()
    path.write_text(to_document([Found(CELL, "recorded", report(source="0" * 16))]))
    with pytest.raises(ReportError, match="ofan-tofino-r64 is of other sources"):
        from_document(path)
    with pytest.raises(ReportError, match="missing"):
        from_document(tmp_path / "none.json")


def claim(measure: str, at_most: float, quantity="largest") -> Claim:
    check = {
        "says": "s",
        "measure": measure,
        "quantity": quantity,
        "programs": ["ofan"],
        "targets": ["tofino"],
        "radix": 64,
        "at_most": at_most,
    }
    return Claim.model_validate({"text": "t", "paper": "p", "source": "s", "reports": [check]})


@pytest.mark.parametrize(
    ("measure", "at_most", "verdict"),
    [
        ("share", 0.2, "reproduced"),
        ("share", 0.05, "not reproduced"),
        ("increment", 0.02, "not reproduced"),
        ("increment", 0.05, "reproduced"),
    ],
)
def test_claims_on_reports(tmp_path, measure, at_most, verdict):
    path = tmp_path / "reports.json"
    found = [Found(CELL, "recorded", report()), Found(Cell("ecmp", "tofino", 64), "recorded", report("ecmp", sram=10))]
    path.write_text(to_document(found))
    (row,) = evaluate({"C7": claim(measure, at_most)}, None, shares_in(path))
    assert row["verdict"] == verdict
    (check,) = row["checks"]
    assert math.isclose(check["value"], 768 / 6144 if measure == "share" else 30 / 960)
    assert check["measure"].startswith("phv" if measure == "share" else "sram")


def test_a_claim_without_a_report_is_not_yet_measured(tmp_path):
    path = tmp_path / "reports.json"
    path.write_text(to_document([Found(CELL, "none", None)]))
    (row,) = evaluate({"C7": claim("share", 1.0, "stages")}, None, shares_in(path))
    assert row["verdict"] == "not yet measured"
    assert "no report" in row["checks"][0]["measure"]


def test_a_refused_program_is_a_result(tmp_path, monkeypatch, capsys):
    """The pipeline goes on, and a claim on that program fails."""

    def compiled(cell, keep=None):
        if cell.program == "ofan":
            raise Refused(f"{cell.name}: p4c-barefoot ended with status 1: does not fit")
        return report(cell.program, cell.target, cell.radix)

    monkeypatch.setattr(reports, "missing", list)
    monkeypatch.setattr(reports, "compiled", compiled)
    path = tmp_path / "reports.json"
    found = reports.collect(path)
    assert {f.status for f in found if f.cell.program == "ofan"} == {"refused"}
    assert {f.status for f in found if f.cell.program != "ofan"} == {"compiled"}
    assert "does not fit" in capsys.readouterr().err
    (row,) = evaluate({"C7": claim("share", 1.0, "stages")}, None, shares_in(path))
    assert row["verdict"] == "not reproduced"
    assert reports.record(None, str(tmp_path / "kept"), None) == 1
    assert len(list((tmp_path / "kept").iterdir())) == 16


COMPILERS = {  # what a stand-in for p4c-barefoot does -> what becomes of the program
    "exit 0": "wrote no assembly",
    "echo tna.p4: No such file >&2; exit 1": "No such file",
    "echo no room >&2; exit 1": "no room",
    'while [ "$1" != -o ]; do shift; done; echo "parser ingress:" > "$2/x.bfa"': "dropped what the parser matches on",
    "echo Compiler Bug: oh >&2; exit 1": "Compiler Bug",
    "kill -9 $$": "status -9",
    "sleep 60": "was stopped after",
}


@pytest.mark.parametrize("does", COMPILERS)
def test_only_a_compiler_that_says_no_refuses(tmp_path, monkeypatch, does):
    """A header that is not found, a crash or a time-out says nothing of the program."""
    for name in (reports.COMPILER, reports.ASSEMBLER):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(reports, "TIMEOUT_S", 1 if does.startswith("sleep") else 60)
    with pytest.raises(ReportError, match=COMPILERS[does]) as error:
        reports.compiled(CELL)
    assert isinstance(error.value, Refused) == ("no room" in does)
    status = reports.compiled_or_recorded(CELL).status
    assert (status == "refused") == ("no room" in does)


def outputs(folder, cell: Cell, source: str):
    """A folder as the compiler leaves it: two stages in use."""

    def stage(number):
        n = 2 - number if number < 2 else 0
        return {
            "stage_number": number,
            "rams": {"srams": [{}] * 3 * n},
            "map_rams": {"maprams": [{}] * n},
            "tcams": {"tcams": []},
            "meter_alus": {"meters": [{}] * n},
            "vliw": {"instructions": [{}] * n},
            "xbar_bytes": {"bytes": [{"byte_type": "exact"}] * n + [{"byte_type": "ternary"}]},
            "hash_bits": {"bits": [{}] * 10 * n},
            "hash_distribution_units": {"units": []},
            "gateways": {"gateways": [{}]},
            "logical_tables": {"ids": [{}] * n},
        }

    logs = folder / cell.name / "pipe" / "logs"
    logs.mkdir(parents=True)
    (logs / "resources.json").write_text(
        json.dumps({"program_name": "ofan.p4", "resources": {"mau": {"nStages": 12, "mau_stages": [stage(i) for i in range(12)]}}})
    )
    (logs / "phv.json").write_text(json.dumps(PHV))
    (folder / cell.name / "source").write_text(source + "\n")
    (folder / cell.name / "versions.json").write_text('{"p4c-barefoot": "9.13.4"}')
    (folder / cell.name / "assembled").touch()


PHV = {
    "containers": [
        {"phv_number": 1, "bit_width": 8, "slices": [{}]},
        {"phv_number": 2, "bit_width": 32, "slices": [{}, {}]},
        {"phv_number": 2, "bit_width": 32, "slices": [{}]},
        {"phv_number": 3, "bit_width": 16, "slices": []},
    ]
}


def test_a_folder_of_outputs_is_stored(tmp_path, capsys):
    outputs(tmp_path / "raw", CELL, CELL.source)
    assert record(str(tmp_path / "raw"), str(tmp_path / "kept"), None) == 0
    status, found = recorded(CELL, tmp_path / "kept")
    assert status == "recorded"
    assert found.totals()["sram"] == (9, 960)
    assert found.totals()["stages"] == (2, 12)
    assert found.totals()["phv"] == (40, 6144)
    assert found.totals()["exact_xbar"] == (3, 12 * 128)
    assert "ofan-tofino-r8: not in" in capsys.readouterr().err


@pytest.mark.parametrize("lost", ["source", "versions.json", "assembled", "pipe/logs/resources.json", "pipe/logs/phv.json"])
def test_incomplete_outputs_are_refused(tmp_path, lost):
    outputs(tmp_path / "raw", CELL, CELL.source)
    (tmp_path / "raw" / CELL.name / lost).unlink()
    with pytest.raises(ReportError, match=lost.rpartition("/")[2]):
        record(str(tmp_path / "raw"), str(tmp_path / "kept"), None)
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("source", b"\xff\xfe", "not text"),
        ("versions.json", b'"x"', "an object of texts"),
        ("pipe/logs/resources.json", b"{}", "not a resource report"),
        ("pipe/logs/resources.json", b"[]", "not a resource report"),
        ("pipe/logs/resources.json", b'{"program_name": "ecmp.p4"}', "is of ecmp.p4, not of ofan.p4"),
        (
            "pipe/logs/resources.json", b'{"program_name": "ofan.p4", "resources": {"mau": {"nStages": 20, "mau_stages": []}}}',
            "has 0 of 20 stages, and a tofino has 12",
        ),
        ("pipe/logs/phv.json", b'{"containers": [{}]}', "not a report on containers"),
        ("pipe/logs/phv.json", b"null", "not a report on containers"),
        ("pipe/logs/phv.json", b"{", "not JSON"),
    ],
)  # fmt: skip
def test_broken_outputs_are_refused(tmp_path, file, text, said):
    outputs(tmp_path / "raw", CELL, CELL.source)
    (tmp_path / "raw" / CELL.name / file).write_bytes(text)
    with pytest.raises(ReportError, match=said):
        record(str(tmp_path / "raw"), str(tmp_path / "kept"), None)
    assert not (tmp_path / "kept").exists()


def test_outputs_of_other_sources_are_refused(tmp_path):
    outputs(tmp_path / "raw", CELL, "0123456789abcdef")
    with pytest.raises(ReportError, match=r"is of sources 0123456789abcdef"):
        record(str(tmp_path / "raw"), str(tmp_path / "kept"), None)


def test_a_folder_without_outputs_is_refused(tmp_path, capsys):
    from ofancore.cli import main

    assert main(["p4-reports", str(tmp_path)]) == 2
    assert "has none of the builds" in capsys.readouterr().err
    assert main(["p4-reports", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_every_resource_has_a_title():
    assert set(resources.TITLES) == set(report().totals())
