"""This machine's results beside those of `data/expected`: the last step of `make figures`, and of `make claim CLAIM=C1`.

    python -m ofancore.compare [--config config/paper.yaml] [--results results] [--claim C1] [--strict]

Runs by the same sources with the same versions must give the same numbers (to a billionth, since sums of floating-point numbers may be made
in another order). With other sources or versions a value must lie in the reference's 95% interval. Only what both configs ask for in
the same words is compared.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from ofancore import digests
from ofancore.claims import band, measure, measure_report, measured, plain_outcome, subject, verdict
from ofancore.config import ROOT, Claim, Config, load_config
from ofancore.console import exit_status
from ofancore.errors import ScenarioError
from ofancore.figures import MissingRun, Source
from ofancore.files import write_file
from ofancore.markdown import line
from ofancore.markdown import table as rows_of
from ofancore.p4.resources import shares_in
from ofancore.palette import name_of
from ofancore.provenance import digest_beside
from ofancore.reading import parse_json, read_text

PAPER = ROOT / "config" / "paper.yaml"
REFERENCE = ROOT / "data" / "expected" / "reference.json"
EXACT = 1e-9  # relative: what another order of summation may move
SAME, WITHIN, DIFFERS, MISSING, NO_REFERENCE = "same", "within", "DIFFERS", "missing", "no reference"
REPORTS = "p4/reports.json"  # below the results
MANY = 12  # missing files of which not every one is named
MEANS = {
    SAME: "the same numbers",
    WITHIN: "within the reference's 95% intervals",
    DIFFERS: "not the reference's numbers",
    MISSING: "not all that it rests on is there",
    NO_REFERENCE: "the reference does not have it in these settings",
}
WHAT_TO_DO = """1. `git status` and `.venv/bin/ofancore source-digest`: others than the reference's ({source}) may give other results.
2. `.venv/bin/python -m pip freeze`: the reference was made with numba {numba} and numpy {numpy}, as `requirements.lock` says.
   `make distclean` and the same command again install exactly these.
3. Delete the raw files that are named above (or `{results}/raw`) and run again: a file may be of an interrupted or older run.
4. If the same sources and versions still give other numbers, that is a bug, or a machine that computes wrongly; `comparison.json` has all
   values, and `ofancore explain {results}/figures/NAME.svg` what fed a figure."""


def read_reference(path: str | Path = REFERENCE) -> dict:
    """The reference; ScenarioError if it is not one."""
    found = parse_json(read_text(path, "reference", "JSON"), "reference")
    if not isinstance(found, dict) or not {"made_with", "config", "claims", "groups", "columns", "drawings"} <= set(found):
        raise ScenarioError("reference", str(path), "is not what `python -m ofancore.expected` writes")
    return found


def experiments_of(claims: Iterable[Claim]) -> list[str]:
    return list(dict.fromkeys(check.experiment for claim in claims for check in claim.checks))


def experiments_behind(config: Config, keys: list[str]) -> list[str]:
    """The experiments of claims: those of their checks, then those of their figures."""
    chosen = chosen_claims(config, keys).values()
    of_figures = [name for claim in chosen if claim.figure for name in config.figures[claim.figure].experiments]
    return list(dict.fromkeys([*experiments_of(chosen), *of_figures]))


def targets(config: Config, keys: list[str]) -> list[str]:
    """What the pipeline has to make for claims: their figures, the runs of their checks, the reports of compilers."""
    chosen = chosen_claims(config, keys)
    out = [f"{config.results.rstrip('/')}/figures/{claim.figure}.svg" for claim in chosen.values() if claim.figure]
    out += [str(group.raw_path(config.results)) for group in config.groups(experiments_of(chosen.values()))]
    if any(claim.reports for claim in chosen.values()):
        out.append(f"{config.results.rstrip('/')}/{REPORTS}")
    return list(dict.fromkeys(out))


def chosen_claims(config: Config, keys: list[str]) -> dict[str, Claim]:
    for key in keys:
        if key not in config.claims:
            rule = f"must be one of the config's claims: {', '.join(config.claims)}" if config.claims else "the config has no claims"
            raise ScenarioError("claim", key, rule)
    return {key: claim for key, claim in config.claims.items() if not keys or key in keys}


def judged(here: dict | None, reference: dict, exact: bool) -> str:
    """What a check's value is to the reference's. `exact`: it must be the same number."""
    if here is None:
        return MISSING
    if all(_equal(here[name], reference[name]) for name in ("value", "low", "high")):
        return SAME
    if exact or here["value"] is None or reference["low"] is None or reference["high"] is None:
        return DIFFERS
    return WITHIN if reference["low"] <= here["value"] <= reference["high"] else DIFFERS


def _equal(a: float | None, b: float | None) -> bool:
    return a == b or (a is not None and b is not None and abs(a - b) <= EXACT * max(abs(a), abs(b)))


def together(verdicts: Iterable[str]) -> str:
    """The verdict on a claim from those on its checks."""
    found = set(verdicts)
    return next((v for v in (DIFFERS, MISSING, NO_REFERENCE, WITHIN) if v in found), SAME)


def compare(config: Config, results: str | Path, reference: dict, keys: list[str] | None = None) -> dict:
    """All that `comparison.json` says. `keys`: these claims only."""
    chosen = chosen_claims(config, keys or [])
    groups = config.groups(experiments_behind(config, keys) if keys else None)
    known = [g for g in groups if reference["groups"].get(g.name, {}).get("asked") == digests.asked(g)]
    there = [g for g in known if g.raw_path(results).is_file()]
    reports = Path(results) / REPORTS
    made = {"config": reference["config"], **reference["made_with"]}
    out: dict = {"reference": made, "asked": len(groups), "comparable": len(known), "raw_files": len(there)}
    on_reports = any(claim.reports for claim in chosen.values())
    if groups and not known and not (keys and on_reports):
        return out
    here = digests.made_with(there, results)
    exact = not there or here == {name: [value] for name, value in reference["made_with"].items()}
    source, names = Source(str(results), groups), {g.name for g in known}
    shares = shares_in(str(reports)) if reports.is_file() else None
    missing = [g.raw_path(results).relative_to(results).as_posix() for g in known if g not in there]
    if not reports.is_file() and on_reports:
        missing.append(REPORTS)
    claims = [_claim(key, claim, source, names, reference, exact, shares) for key, claim in chosen.items()]
    return {
        **out,
        "made_with": here,
        "missing": missing,
        "tolerance": f"the same numbers, to a relative {EXACT:g}" if exact else "within the reference's 95% interval",
        "other_runs": [
            g.name
            for g in there
            if digests.digest_of_rows(digests.rows_of(g, results), reference["columns"]) != reference["groups"][g.name]["got"]
        ],
        "drawings": None if keys else _drawings(config, results, reference),
        "claims": claims,
    }


def _claim(key: str, claim: Claim, source: Source, known: set[str], reference: dict, exact: bool, shares) -> dict:
    kept = next((c for c in reference["claims"] if c["id"] == key), {"checks": [], "verdict": None})
    in_turn: dict[tuple, list] = {}  # a program's checks on several chips have the same words
    for k in kept["checks"]:
        in_turn.setdefault((k["says"], k["scheme"]), []).append(k)
    checks, outcomes = [], []

    def add(outcome, comparable: bool, says: str, scheme: str) -> None:
        here = outcome and plain_outcome(outcome)
        if outcome:
            outcomes.append(outcome)
        left = in_turn.get((says, scheme))
        found = left.pop(0) if left else None
        if here is None:
            result = MISSING
        elif found is None or not comparable:
            result, found = NO_REFERENCE, None
        else:
            result = judged(here, found, exact)
        checks.append({"says": says, "scheme": scheme, "reference": found, "here": here, "verdict": result})

    for check in claim.checks:
        for label in check.schemes:
            needed = {f"{check.experiment}/{name}" for name in (label, check.against) if name}
            try:
                outcome = measure(check, label, source.runs(check.experiment))
            except MissingRun:
                outcome = None
            add(outcome, needed <= known, check.says, label)
    for check in claim.reports:
        for program in check.programs:
            for target in check.targets:
                add(measure_report(check, program, target, shares) if shares else None, True, check.says, program)
    whole = len(outcomes) == len(checks)
    return {
        "id": key, "claim": claim.text, "paper": claim.paper, "reference": kept["verdict"],
        "reference_passed": _passed(k["passed"] for k in kept["checks"]),
        "here": verdict(outcomes) if whole else None, "here_passed": _passed(o.passed for o in outcomes) if whole else None,
        "verdict": together(c["verdict"] for c in checks), "checks": checks,
    }  # fmt: skip


def _passed(found: Iterable[str]) -> str:
    found = list(found)
    return f"{found.count('yes')} of {len(found)}"


def _drawings(config: Config, results: str | Path, reference: dict) -> dict:
    """Names of drawings that are the reference's, are others, are not there."""
    out: dict[str, list[str]] = {"same": [], "other": [], "missing": []}
    for name, digest in reference["drawings"].items():
        found = digest_beside(Path(results) / "figures" / f"{name}.svg") if name in config.figures else None
        out["missing" if found is None else "same" if found[:16] == digest else "other"].append(name)
    return out


def differs(found: dict) -> bool:
    """Whether something is there that should be the reference's and is not, or is missing."""
    return _any(found, DIFFERS, MISSING)


def _any(found: dict, *verdicts: str) -> bool:
    return any(c["verdict"] in verdicts for c in found.get("claims", []))


# ---- in words


def head(found: dict, config_name: str) -> list[str]:
    """What was compared with what, by which rule."""
    made = found["reference"]
    if "claims" not in found:
        rule = f"data/expected is of the grid of config/{made['config']}, and no experiment of {config_name} is on that grid."
        return [f"Nothing to compare: {rule}", "Verdicts, if there are any, are of that grid, not on the paper's claims."]
    lines = [
        f"Reference: data/expected, of config/{made['config']}, sources {made['source']}, numba {made['numba']}, numpy {made['numpy']}."
    ]
    if not found["comparable"]:
        return [*lines, "Its simulations are others than the reference's." if found["asked"] else "No simulations are behind it."]
    if not found["raw_files"]:
        return [*lines, "No raw runs are here yet."]
    odd = [f"{name} {', '.join(values)}" for name, values in found["made_with"].items() if values != [made.get(name)]]
    if odd:
        lines.append(f"Here: {'; '.join(odd)}, which is not the reference's. Rule: {found['tolerance']}.")
    else:
        lines.append(f"Here: the same sources and versions. Rule: {found['tolerance']}.")
    same = found["raw_files"] - len(found["other_runs"])
    lines.append(f"Simulations: {same} of {found['raw_files']} raw files hold the reference's results, digit for digit.")
    if found["drawings"]:
        d = found["drawings"]
        lines.append(f"Drawings: {len(d['same'])} of {sum(map(len, d.values()))} are the reference's to the byte.")
    return lines


def advice(found: dict, results: str | Path, command: str) -> list[str]:
    """What to do when something differs, or is missing, which `command` makes."""
    lines = []
    if missing := found.get("missing"):
        named = ", ".join(missing[:MANY]) + (f" and {len(missing) - MANY} more" if len(missing) > MANY else "")
        lines += [f"Missing in {results}: {named}.", f"What is missing is made by: {command}"]
    if not found.get("other_runs") and not _any(found, DIFFERS):
        return lines
    lines += [""] * bool(lines)
    if found["other_runs"]:
        lines.append("Raw files with other results than the reference's: " + ", ".join(found["other_runs"]) + ".")
    if not _any(found, DIFFERS):
        return [*lines, "All values that the claims rest on are as they should be."] if not _any(found, MISSING) else lines
    return [*lines, "What to do about what differs:", "", *WHAT_TO_DO.format(results=results, **found["reference"]).splitlines()]


def _row(c: dict) -> tuple[str, str, str, str]:
    reference = f"{c['reference']} ({c['reference_passed']})" if c["reference"] else "-"
    here = f"{c['here']} ({c['here_passed']})" if c["here"] else "not yet judged"
    count = sum(k["verdict"] == c["verdict"] for k in c["checks"])
    why = f" ({count} of {len(c['checks'])})" if c["verdict"] in (DIFFERS, MISSING, NO_REFERENCE) else ""
    return c["paper"], reference, here, f"{c['verdict']}{why}"


def table(found: dict) -> list[str]:
    """The table for a terminal, a claim in as many lines as its words need; below a claim that differs, its checks that do."""
    if not found.get("claims"):
        return []
    widths = (5, 40, 22, 22, 20)
    lines = [_line(("claim", "paper", "reference", "this machine", "verdict"), widths), " ".join("-" * w for w in widths)]
    for c in found["claims"]:
        cells = [textwrap.wrap(cell, width) or [""] for cell, width in zip((c["id"], *_row(c)), widths)]
        lines += [_line([cell[i] if i < len(cell) else "" for cell in cells], widths) for i in range(max(map(len, cells)))]
        lines += [f"        {_check(k)}" for k in c["checks"] if k["verdict"] == DIFFERS]
    used = dict.fromkeys(c["verdict"] for c in found["claims"])
    return [*lines, "", *(f"{v}: {MEANS[v]}." for v in used)]


def _line(cells, widths) -> str:
    return " ".join(f"{cell:{width}}" for cell, width in zip(cells, widths)).rstrip()


def _check(k: dict) -> str:
    return f"{subject(k['here'])}: {k['says']}: reference {measured(k['reference'])}, here {measured(k['here'])}"


def text(found: dict, config_name: str, results: str | Path, command: str) -> str:
    parts = [head(found, config_name), table(found), advice(found, results, command)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def markdown(found: dict, config_name: str, results: str | Path, command: str) -> str:
    """`comparison.md`: the table, then every check."""
    lines = ["# This machine and the reference", "", *[line(said) + "\n" for said in head(found, config_name)]]
    if "claims" in found:
        rows = [[f"**{c['id']}** {c['claim']}", *_row(c)[:-1], f"**{_row(c)[-1]}**"] for c in found["claims"]]
        lines.append(rows_of(["claim", "paper", "reference", "this machine", "verdict"], rows))
        lines += ["", *(f"- {v}: {meaning}" for v, meaning in MEANS.items()), "", *advice(found, results, command)]
        for c in found["claims"]:
            lines += ["", f"## {c['id']}: {c['verdict']}", "", line(c["claim"]), ""]
            rows = []
            for k in c["checks"]:
                either = k["here"] or k["reference"]
                cells = [measured(k[which]) if k[which] else "-" for which in ("reference", "here")]
                of = subject(either) if either else name_of(k["scheme"])
                rows.append([k["says"], of, band(either) if either else "-", *cells, k["verdict"]])
            lines.append(rows_of(["criterion", "scheme", "band", "reference", "this machine", "verdict"], rows))
    return "\n".join(lines) + "\n"


def made_by(config: str, keys: list[str]) -> str:
    """The command that makes what is compared."""
    grid = "" if Path(config).resolve() == PAPER else f" CONFIG={shlex.quote(config)}"
    return "; ".join(f"make claim CLAIM={key}{grid}" for key in keys) or f"make figures{grid}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="ofancore.compare", description=__doc__.split("\n")[0])
    parser.add_argument("--config", default=str(PAPER), help="the grid that was run")
    parser.add_argument("--results", help="where its results are, if elsewhere than the config says")
    parser.add_argument("--reference", default=str(REFERENCE), help="the reference, as `python -m ofancore.expected` writes it")
    parser.add_argument("--claim", action="append", default=[], metavar="ID", help="this claim only (repeatable); writes no file")
    parser.add_argument("--targets", action="store_true", help="print what the pipeline has to make for these claims, and end")
    parser.add_argument("--strict", action="store_true", help="end with status 1 if something differs or is missing")

    def call() -> int:
        args = parser.parse_args(arguments)
        config = load_config(args.config, scenarios=False)
        if args.targets:
            print(" ".join(targets(config, args.claim)))
            return 0
        results, name = Path(args.results or config.results), Path(args.config).name
        found = compare(config, results, read_reference(args.reference), args.claim)
        command = made_by(args.config, args.claim)
        if not args.claim:
            write_file(results / "comparison.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")
            write_file(results / "comparison.md", markdown(found, name, results, command))
        print(text(found, name, results, command))
        if not args.claim and (page := results / "report/index.html").exists():
            print(f"\nReport: {page}")
        for figure in dict.fromkeys(config.claims[key].figure for key in args.claim if config.claims[key].figure):
            print(f"\nFigure: {results}/figures/{figure}.html. Values of every check: make compare writes them to {results}/comparison.md.")
        return 1 if args.strict and differs(found) else 0

    return exit_status("ofancore.compare", call)


if __name__ == "__main__":
    sys.exit(main())
