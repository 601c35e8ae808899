"""What ARTIFACT.md says is so: its tables are generated, and every command in it is executed.

The cheap ones run as they are. Long ones run in a form that ends soon: a dry run, or on results of a second's making. A command that has no
rule here fails the test.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from project import NAME, Project

from ofancore import bundle, cli, compare, readme
from ofancore.claims import band
from ofancore.config import load_config

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARTIFACT.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
PAPER = load_config(ROOT / "config/paper.yaml", scenarios=False)
REFERENCE = json.loads((ROOT / "data/expected/reference.json").read_text())
BLOCKS = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
FENCED = [line for block in BLOCKS for line in block.splitlines() if line.strip()]
INLINE = [code for code in re.findall(r"`([^`\n]+)`", TEXT) if re.match(r"(make|ofancore|git|\.venv/bin/\S+) ", code)]
COMMANDS = list(dict.fromkeys([*FENCED, *INLINE]))


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    return Project(tmp_path_factory.mktemp("artifact") / "project")


@pytest.fixture(scope="module")
def venv():
    """A folder that make takes for a finished .venv: this Python's."""
    folder = ROOT / "build" / f"venv-{os.getpid()}"
    folder.mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "include", "pyvenv.cfg"):
        if (Path(sys.prefix) / name).exists():
            (folder / name).symlink_to(Path(sys.prefix) / name)
    for stamp in (".locked", ".ready"):
        (folder / stamp).touch()
    yield folder.relative_to(ROOT)
    shutil.rmtree(folder)


def make(venv, *words: str, status: int = 0) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "CONFIG", "ARGS")}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(["make", *words, f"VENV={venv}"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_another_python_than_that_of_venv_builds_it_anew(venv, tmp_path):
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho another\n")
    other.chmod(0o755)
    build = "-m venv --clear"
    assert build not in make(venv, "-n", "setup")
    assert build not in make(venv, "-n", "setup", f"PYTHON={sys.executable}")
    assert build in make(venv, "-n", "setup", f"PYTHON={other}")
    other.write_text("#!/bin/sh\nexit 1\n")
    assert f"{other} is not one" in make(venv, "setup", f"PYTHON={other}", status=2)  # and .venv stays
    assert (ROOT / venv / "bin").exists()


@pytest.mark.parametrize("status", [0, 1])
def test_the_set_up_shows_that_it_works_and_ends_as_pip_does(tmp_path, status):
    fake, venv = tmp_path / "python3", tmp_path / "venv"
    fake.write_text(f"""#!/bin/sh
case "$*" in
    "-m venv --clear "*) mkdir -p {venv}/bin && cp "$0" {venv}/bin/python ;;
    "-m pip install "*)
        for i in $(seq 90); do echo "Collecting a$i==1"; echo "  Downloading a$i"; done
        echo "Installing collected packages: a1"
        exit {status} ;;
esac
""")
    fake.chmod(0o755)
    command = ["make", "--no-print-directory", f"{venv}/.locked", f"VENV={venv}", f"PYTHON={fake}"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    told = ["  40 packages fetched", "  80 packages fetched", "  90 packages fetched; installing them, which takes a minute"]
    assert done.stdout.splitlines()[1:] == told
    assert (done.returncode != 0, (venv / ".locked").exists()) == (bool(status), not status)


def test_there_are_commands_and_no_stray_ones():
    assert len(FENCED) >= 10
    assert {"make smoke", "make figures", "make bundle"} <= set(COMMANDS)
    assert TEXT.count("```") == 2 * len(BLOCKS)  # no block of another kind, where a command could hide


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command, project, venv, tmp_path, capsys, monkeypatch):
    words = shlex.split(command)
    results = str(project.results)
    match words:
        case ["make", "setup"]:
            make(venv, "setup")
        case ["make", "smoke"]:
            assert "stage make smoke\n" in (ROOT / ".ci/run").read_text()  # there in full
            assert "config/smoke.yaml" in make(venv, "smoke", "--dry-run")
        case ["make", "figures"]:
            text = make(venv, "figures", "ARGS=--dry-run")
            assert any(x in text for x in ("Simulating granularity: ofan", "Drawing ", "Nothing to be done"))  # by what results there are
        case ["make", "figures", setting]:
            path = setting.removeprefix("CONFIG=")
            if (ROOT / path).exists():
                load_config(ROOT / path, scenarios=False)
            else:
                assert path == "my.yaml"  # the reader's own
        case ["make", "claim", setting] if setting.startswith("CLAIM="):
            key = setting.removeprefix("CLAIM=")
            assert compare.main(["--targets", "--claim", key]) == 0
            made = capsys.readouterr().out.split()
            assert f"results/figures/{PAPER.claims[key].figure}.svg" in made
            if key == "C7":  # once through make: the claim with the fewest runs
                text = make(venv, "claim", setting, "ARGS=--dry-run", "CONFIG=config/smoke.yaml")
                assert "p4_resources" in text or "Nothing to be done" in text
        case ["make", "compare"]:
            text = make(venv, "compare", "CONFIG=config/smoke.yaml", f"ARGS=--results {tmp_path}")
            assert text.startswith("Nothing to compare")
        case ["make", "bundle"]:
            assert "missing" in make(venv, "bundle", f"ARGS=--results {tmp_path} --out {tmp_path}", status=2)
            monkeypatch.setattr(bundle, "ROOT", project.root)
            assert bundle.main(["--config", str(project.config), "--results", results, "--out", str(tmp_path)]) == 0
        case ["make", "test"]:
            assert "test_artifact" in make(venv, "test", "ARGS=--collect-only -n0 tests/unit/test_artifact.py")
        case ["make", "clean" | "distclean" as target]:
            assert "results" in make(venv, target, "--dry-run")
        case [".venv/bin/ofancore" | "ofancore", *arguments]:
            named = [text.replace("results/", f"{results}/").replace("/NAME.", f"/{NAME}.") for text in arguments]
            expanded = [path for text in named for path in (sorted(glob.glob(text)) if "*" in text else [text])]
            assert cli.main(expanded) == 0
            assert capsys.readouterr().out
        case ["git", "status"]:
            assert shutil.which("git")
        case [".venv/bin/python", *arguments]:
            done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
            assert done.returncode == 0 or "No module named pip" in done.stderr  # a venv that uv made
        case ["sha256sum", *_]:
            monkeypatch.setattr(bundle, "ROOT", project.root)
            bundle.main(["--config", str(project.config), "--results", results, "--out", str(tmp_path)])
            (archive,) = tmp_path.iterdir()
            subprocess.run(["tar", "-xf", archive], cwd=tmp_path, check=True)
            subprocess.run(words, cwd=tmp_path / archive.name.removesuffix(".tar.xz"), check=True)
        case ["docker", "build", "-t", name, "."] | ["docker", "run", "--rm", "-v", _, name]:
            assert name == "ofan"
            assert (ROOT / "Dockerfile").is_file()  # what is in it: see test_environment.py
        case _:
            pytest.fail(f"no rule for the command: {command}")


def test_tables_are_those_of_config_and_reference():
    assert readme.updated(TEXT, "ARTIFACT.md") == TEXT, "run: python -m ofancore.readme"


def test_every_claim_has_its_command_its_verdict_and_its_values():
    for c in REFERENCE["claims"]:
        row = next(line for line in TEXT.splitlines() if line.startswith(f"| **{c['id']}** "))
        assert f"`make claim CLAIM={c['id']}`" in row
        passed = sum(k["passed"] == "yes" for k in c["checks"])
        assert f"| {c['verdict']} ({passed} of {len(c['checks'])} checks), `{PAPER.claims[c['id']].figure}` |" in row
        assert {check.experiment for check in PAPER.claims[c["id"]].checks} <= set(re.findall(r"`(\w+)`", row.split("|")[2]))
        for k in c["checks"]:
            rows = [line for line in TEXT.splitlines() if line.startswith(f"| {c['id']} | {k['says']} | ")]
            assert len(rows) == 1
            assert f"| {band(k)} |" in rows[0]


def test_links_lead_somewhere():
    def anchors(text: str) -> set[str]:
        return {re.sub(r"[^a-z0-9 -]", "", t.lower()).replace(" ", "-") for t in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}

    for link in re.findall(r"\]\(([^)]+)\)", TEXT.replace("\n  ", " ")):
        path, _, anchor = link.partition("#")
        assert not path or (ROOT / path).exists(), link
        assert not anchor or anchor in anchors((ROOT / path).read_text() if path else TEXT), link


def test_files_named_are_there():
    outputs = ("results", "dist", ".venv", "~", "SHA256SUMS", "ro-crate-metadata.json", "report/", "figures/", "my.yaml", "comparison.json")
    named = {code for code in re.findall(r"`([\w./~-]+)`", TEXT) if "/" in code or re.search(r"\.(md|json|yaml|lock|ipynb)$", code)}
    assert len(named) > 6
    for path in named:
        assert path.startswith(outputs) or (ROOT / path).exists(), path


def test_targets_of_make_are_all_in_its_help(venv):
    listed = set(re.findall(r"^make (\w+)", make(venv, "help"), re.MULTILINE))
    assert set(re.findall(r"^([a-z]+):.* ## ", MAKEFILE, re.MULTILINE)) == listed >= {"claim", "compare", "bundle"}


def test_an_unknown_claim_ends_with_one_line(venv):
    text = make(venv, "claim", "CLAIM=C99", "ARGS=--dry-run", "CONFIG=config/smoke.yaml", status=2)
    assert "claim = 'C99': must be one of" in text
    assert "Simulating" not in text
