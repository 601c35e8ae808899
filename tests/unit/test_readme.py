"""What README.md says of commands, files, figures and defaults is so."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ofancore import cli, own, readme, simulate
from ofancore.balancers.definitions import FUNCTIONS, SETTINGS
from ofancore.balancers.views import VIEWS
from ofancore.config import load_config
from ofancore.plan import expand
from ofancore.scenario import REGISTRIES, Scenario

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAPER = load_config(ROOT / "config/paper.yaml", scenarios=False)
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
NEW = ("two_choices", "my/scheme.py")  # the balancers that the README adds as its examples


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


COMMANDS = [line for block in blocks("sh") for line in block.splitlines() if line.strip()]


def test_tables_are_those_of_the_code():
    assert readme.updated(README) == README, "run: python -m ofancore.readme"


@pytest.mark.parametrize("command", COMMANDS)
def test_command_exists(command):
    words = shlex.split(command, comments=True)
    match words:
        case ["make", target, *variables]:
            assert target in TARGETS
            assert all("=" in v for v in variables)
        case [".venv/bin/ofancore", *arguments]:
            args = cli._parser().parse_args(arguments)
            if args.call is cli._run and not any(new in text for text in args.set for new in NEW):
                Scenario.from_yaml(args.scenario, args.set)
        case [".venv/bin/snakemake", "--profile", profile, target]:
            assert (ROOT / profile / "config.yaml").is_file()
            made = [f"{PAPER.results}/figures/{name}.svg" for name in PAPER.figures] + [f"{PAPER.results}/claims.md"]
            assert target.replace("FIGURE", next(iter(PAPER.figures))) in made
        case [".venv/bin/python", "-m", module, *arguments]:
            assert importlib.util.find_spec(module) is not None
            assert all((ROOT / a).exists() for a in arguments if "/" in a)
        case _:
            pytest.fail(f"no rule for the command: {command}")


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make ([a-z]+)", README))))
def test_target_in_the_text_exists(target):
    assert target in TARGETS


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`ofancore ([a-z][a-z0-9-]*)", README))))
def test_subcommand_in_the_text_exists(command):
    with pytest.raises(SystemExit) as end:
        cli._parser().parse_args([command, "--help"])
    assert end.value.code == 0


def test_figures_named_are_those_of_the_config():
    table = README[README.index("## Claims") : README.index("## Reading the results")]
    named = set(
        re.findall(
            r"`(fig\d\w+|pofan_pipes|switch_state|p4_resources|open_choices|constants|peers|league|paths|moe_skew|partial_deployment|rails)`",
            table,
        )
    )
    assert named == set(PAPER.figures)


def test_claims_have_the_verdicts_of_a_full_run():
    expected = (ROOT / "data/expected/claims.md").read_text()
    rows = dict(re.findall(r"^\| (C\d+) \|(.*)\|$", README, re.MULTILINE))
    assert set(rows) == set(PAPER.claims)
    for key, claim in PAPER.claims.items():
        _, verdict, figures, _ = (cell.strip() for cell in rows[key].split("|"))
        assert f"| **{verdict.split(' (')[0]}** |" in next(line for line in expected.splitlines() if line.startswith(f"| **{key}**"))
        assert f"`{claim.figure}`" in figures


def test_headline_is_that_of_a_full_run():
    """Rounded to two figures, as a text may."""
    numbers = json.loads((ROOT / "data/expected/numbers.json").read_text())
    headline, sensitivity = numbers["fig14_headline"], numbers["fig14_sensitivity"]["ratio"]
    packet = ("ops", "reps", "switch_rr", "spectrum_ar")
    inflation = [headline["inflation_percent"][x]["mean"] for x in packet]
    ratio = [headline["ratio"]["ofan"][x]["mean"] for x in packet]
    text = " ".join(README.split())
    said = re.search(
        r"\((\d+) to (\d+)% above the ideal\), under Ofan it rises by ([\d.]+)%: a ratio of inflations of (\d+) to (\d+)", text
    )
    measured = (min(inflation), max(inflation), headline["inflation_percent"]["ofan"]["mean"], min(ratio), max(ratio))
    assert [float(x) for x in said.groups()] == pytest.approx(measured, rel=0.07)
    said = re.search(r"from (\d+) \(contiguous placement\) over (\d+) \(ideal loss recovery\) to (\d+) \(DCTCP\)", text)
    means = [x["mean"] for row in sensitivity.values() for x in row.values()]
    ideal = min(x["mean"] for x in sensitivity["line rate, erasure code"].values())
    assert [float(x) for x in said.groups()] == pytest.approx((min(means), ideal, max(means)), rel=0.07)


def test_links_lead_somewhere():
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", README, re.MULTILINE)}
    for link in re.findall(r"\]\(([^)]+)\)", README):
        if link.startswith("#"):
            assert link[1:] in anchors
        else:
            assert (ROOT / link).exists(), link


def test_defaults_in_the_text_are_those_of_the_scenario():
    """Keys in the table of choices with a default behind a colon; a strategy's key belongs to the kinds that have it."""
    scenario = Scenario().to_dict()
    found = re.findall(
        r"`([a-z_]+(?:\.[a-z_]+)?): ([a-z0-9.]+)`", README[README.index("### What is the paper's") : README.index("### Limits")]
    )
    assert len(found) > 12
    for key, text in found:
        part, _, name = key.rpartition(".")
        if part in REGISTRIES:
            values = [kind.model_fields[name].default for kind in REGISTRIES[part].values() if name in kind.model_fields]
        else:
            values = [scenario[part][name] if part else scenario[name]]
        said = {"null": None, "true": True, "false": False}.get(text, text)
        assert any(said == value or (isinstance(value, (int, float)) and float(said) == value) for value in values), key


def own_scheme(folder: Path) -> None:
    """The file and the config of "Your own scheme", where the text puts them."""
    (folder / "my").mkdir()
    (scheme,) = [block for block in blocks("python") if block.startswith('"""my/scheme.py"""')]
    (folder / "my/scheme.py").write_text(scheme)
    (config,) = blocks("yaml")
    (folder / "my.yaml").write_text(config)


def test_own_scheme_and_its_config_are_complete(tmp_path, monkeypatch, capsys):
    own_scheme(tmp_path)
    monkeypatch.chdir(tmp_path)
    config = load_config("my.yaml")
    runs = [Scenario.from_dict(keys) for group in config.groups() for keys in expand(group)]
    assert {run.balancer.kind for run in runs} == {"ops", "ofan", "own"}
    (figure,) = config.figures
    assert (ROOT / f"notebooks/figures/{config.figures[figure].notebook}.ipynb").is_file()
    assert (ROOT / f"workflow/report/{figure}.rst").is_file()
    assert f"`{config.results}/figures/{figure}.html`" in README
    (command,) = [command for command in COMMANDS if "my/scheme.py" in command]
    assert cli.main([*shlex.split(command)[1:], "--set", "fabric.radix=4"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["pointers_per_switch"] == {"edge": 1, "agg": 1}


def test_a_scheme_that_listens_keeps_good_labels(capsys):
    """The text's own, beside itself without ears, which is ECMP."""
    (code,) = [block for block in blocks("python") if "on_loss=on_loss" in block]
    try:
        exec(code, {})
        assert re.match(r"keep_good: CCT [\d.]+ ns, [\d.]+% above the bound", capsys.readouterr().out)
        without_ears = re.sub(r", on_ack=on_ack, on_loss=on_loss", "", code).replace('"keep_good"', '"deaf"')
        exec(without_ears, {})
        runs = {kind: simulate(Scenario.from_dict({"balancer": {"kind": kind}})) for kind in ("keep_good", "deaf")}
        assert runs["keep_good"].ecn_marks > 0
        assert runs["keep_good"].cct_ns < runs["deaf"].cct_ns
    finally:
        own.forget("keep_good")
        own.forget("deaf")


def test_own_functions_arguments_and_helpers_are_listed():
    text = README[README.index("## Your own scheme") : README.index("### In a file")]
    for name, arguments in FUNCTIONS.items():
        assert f"| `{name}` |" in text
        assert f"| `{', '.join(arguments)}` |" in text
        assert all(f"`{argument}`" in text for argument in arguments if argument not in VIEWS)
    for state, view in VIEWS.items():
        hidden = ("rng", "sched", "slots")
        assert all(f"`{state}.{field}`" in text for field in view._fields if field not in hidden)
    helpers = [name for name in own.__all__ if name not in ("register", "forget", "names")]
    assert all(f"`{name}(" in text or f"`own.{name}(" in text or f" `{name}(" in text for name in helpers), helpers
    assert all(f"| `{setting}` |" in text for setting in SETTINGS)


@pytest.mark.slow
def test_python_example_prints_what_the_text_shows():
    code, shown = blocks("python")[0], blocks("text")[0]
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == shown


def test_refusal_is_the_one_shown(capsys):
    assert cli.main(["run", "--set", "fabric.radix=7"]) == 2
    assert capsys.readouterr().err == blocks("text")[1]
