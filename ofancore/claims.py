"""From raw runs and the config's criteria to verdicts: `results/claims.{json,md,html}`.

A check passes when the whole 95% interval of its measure lies in the band, fails when the whole interval lies outside, and
is open otherwise. A claim is *reproduced* when all its checks pass, *partly* when some do, *not reproduced* when none does and
one fails, *undecided* when all are open, and *not yet measured* without checks. A failed claim is a result, never an error; a
missing raw run is an error.
"""

from __future__ import annotations

import argparse
import html
import json
import math
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from ofancore.config import Check, Claim, ReportCheck
from ofancore.errors import OfanError
from ofancore.figures import Source
from ofancore.files import write_file
from ofancore.markdown import line
from ofancore.markdown import table as rows_of
from ofancore.metrics import extent, fitted_exponent, mean_interval, ratio_interval, select, shown
from ofancore.palette import name_of
from ofancore.plan import Group, expand, hosts, sends_one_packet
from ofancore.reading import parse_json

REPRODUCED, PARTLY, NOT, UNDECIDED, UNMEASURED = "reproduced", "partly", "not reproduced", "undecided", "not yet measured"
HOW = (
    "Measured: mean and 95% interval over seeds. Criteria were written in the config before the run. "
    "A check is open when only part of its interval lies in the band; a claim is partly reproduced when some pass, undecided when none "
    "does and none fails. Sources: the paper's abstract (v2: February 2026, v3: October 2026), and a third party's digest of v2 and v3, "
    "which may hold slips."
)


@dataclass(frozen=True)
class Outcome:
    """One check on one scheme."""

    scheme: str
    says: str
    measure: str
    value: float
    low: float
    high: float
    at_least: float | None
    at_most: float | None
    seeds: int
    unfinished: int
    passed: str  # "yes", "no" or "open"


def judge(low: float, high: float, at_least: float | None, at_most: float | None) -> str:
    """Where the interval lies: in the band (yes), outside of it (no), across its edge (open)."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "no"
    floor, ceiling = (-math.inf if at_least is None else at_least), (math.inf if at_most is None else at_most)
    if floor <= low and high <= ceiling:
        return "yes"
    return "no" if high < floor or low > ceiling else "open"


def measure(check: Check, label: str, runs) -> Outcome:
    """`runs`: all runs of the check's experiment."""
    chosen = select(runs, {**check.where, "label": label})
    unfinished = int((~chosen["finished"].astype(bool)).sum())
    if check.measure == "exponent":
        what = f"exponent of {check.metric} in {check.along}"
        value, low, high = fitted_exponent(chosen, check.along, check.metric, check.beyond)
    elif check.measure == "ratio":
        what = f"{check.metric} over that of {check.against}"
        below = select(runs, {**check.where, "label": check.against}).sort_values("seed")
        unfinished += int((~below["finished"].astype(bool)).sum())
        value, low, high = ratio_interval(chosen.sort_values("seed")[check.metric], below[check.metric])
    else:
        what = f"mean {check.metric}"
        value, low, high = mean_interval(chosen[check.metric])
    passed = judge(low, high, check.at_least, check.at_most)
    return Outcome(label, check.says, what, value, low, high, check.at_least, check.at_most, chosen["seed"].nunique(), unfinished, passed)


def verdict(outcomes: list[Outcome]) -> str:
    if all(math.isnan(o.value) and o.passed == "open" for o in outcomes):
        return UNMEASURED
    found = {o.passed for o in outcomes}
    if "yes" in found:
        return REPRODUCED if found == {"yes"} else PARTLY
    return NOT if "no" in found else UNDECIDED


def measure_report(check: ReportCheck, program: str, target: str, shares_of) -> Outcome:
    """`shares_of(program, target, radix)`: (share of the chip, the same of ecmp) by resource; None: no report, and the check is open."""
    shares = shares_of(program, target, check.radix) if shares_of else None
    what = f"share of {target} at radix {check.radix}" + ("" if check.measure == "share" else " above ecmp's")
    if shares is None:
        what = f"{check.quantity}, {what}: no report"
        return Outcome(program, check.says, what, math.nan, math.nan, math.nan, None, check.at_most, 0, 0, "open")
    values = {name: own if check.measure == "share" else own - base for name, (own, base) in shares.items()}
    name = check.quantity
    if name == "largest":
        name = max((other for other in values if other != "stages"), key=values.__getitem__)
    value = values[name]
    passed = judge(value, value, None, check.at_most)
    return Outcome(program, check.says, f"{name}, {what}", value, value, value, None, check.at_most, 0, 0, passed)


def evaluate(claims: dict[str, Claim], runs_of, shares_of=None) -> list[dict]:
    """`runs_of(experiment)` gives the experiment's runs, `shares_of` what `measure_report` asks. One dict per claim, plain JSON."""
    table = []
    for key, claim in claims.items():
        outcomes = [measure(check, label, runs_of(check.experiment)) for check in claim.checks for label in check.schemes]
        outcomes += [measure_report(check, p, t, shares_of) for check in claim.reports for p in check.programs for t in check.targets]
        table.append(
            {
                "id": key, "claim": claim.text, "paper": claim.paper, "source": claim.source, "figure": claim.figure,
                "verdict": verdict(outcomes), "checks": [plain_outcome(o) for o in outcomes],
            }
        )  # fmt: skip
    return table


def figures_of(claim: str, own: str | None, measured: set[str], figures: dict[str, list[str]], captions: dict[str, str]) -> list[str]:
    """Figures that speak to a claim, its `own` first: those of an experiment that its checks measure, and those whose caption names it.

    `figures`: the experiments of each; `captions`: the text of each.
    """
    named = [x for x, of in figures.items() if x == own or measured & set(of) or re.search(rf"\b{claim}\b", captions[x])]
    return sorted(named, key=lambda name: name != own)


def plain_outcome(outcome: Outcome) -> dict:
    """An outcome as JSON has it: what is not finite is null."""
    return {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in asdict(outcome).items()}


def subject(check: dict) -> str:
    """Of what a check is (an outcome as JSON has it): the scheme, and the chip of a compiler's report (only the measure tells)."""
    chip = "" if check["seeds"] else " on Tofino 2" if "tofino2" in check["measure"] else " on Tofino 1"
    return name_of(check["scheme"]) + chip


def band(check: dict) -> str:
    """The band of a check (an outcome as JSON has it) in words."""
    low, high = check["at_least"], check["at_most"]
    if low is None:
        return f"≤ {high:g}"
    return f"≥ {low:g}" if high is None else f"{low:g} to {high:g}"


def measured(check: dict) -> str:
    """What a check measured (an outcome as JSON has it), with its interval."""
    if check["value"] is None:
        return f"no value ({check['unfinished']} runs did not finish)" if check["unfinished"] else "no value"
    if max(abs(check["low"]), abs(check["high"])) < 1e-9:  # what rounding leaves of an exponent of 0
        return "0"
    edges = [edge for edge in (check["at_least"], check["at_most"]) if edge]
    near = any(abs(check["value"] / edge - 1) < 0.05 for edge in edges)
    return shown(check["value"], check["low"], check["high"], digits=5 if near else 3)


def scope(groups: list[Group]) -> str:
    """What the verdicts rest on: a smaller grid must not pass for the paper's, nor a run of one packet, which counts state, for traffic."""
    runs = [(hosts(s), g.seeds, not sends_one_packet(s)) for g in groups for s in expand(g, seeds=1)]
    if not runs:
        return "From no runs."
    said = []
    for kind, words in ((True, "traffic simulated"), (False, "state counted, by runs of one packet,")):
        if chosen := [(size, seeds) for size, seeds, sends in runs if sends is kind]:
            sizes, seeds = zip(*chosen)
            point = "1 seed" if set(seeds) == {1} else f"{extent(seeds)} seeds"
            said.append(f"{words} on {extent(sizes)} hosts with {point} a point")
    return f"From {sum(seeds for _, seeds, _ in runs):,} runs: {'; '.join(said)}."


def markdown(table: list[dict], rests_on: str, notice: str = "") -> str:
    lines = ["# Claims", "", *([f"**{line(notice)}**", ""] if notice else []), rests_on, "", HOW, ""]
    rows = []
    for c in table:
        passed = f"{sum(k['passed'] == 'yes' for k in c['checks'])} of {len(c['checks'])}" if c["checks"] else ""
        rows.append([f"**{c['id']}** {c['claim']}", c["paper"], f"**{c['verdict']}**", passed, c["figure"] or ""])
    lines.append(rows_of(["claim", "paper", "verdict", "checks passed", "figure"], rows))
    for c in table:
        if c["checks"]:
            lines += ["", f"## {c['id']}: {c['verdict']}", "", line(c["claim"]), ""]
            lines += [line(f"Paper: {c['paper']} ({c['source']})."), ""]
            rows = [[k["says"], subject(k), measured(k), band(k), k["passed"]] for k in c["checks"]]
            lines.append(rows_of(["criterion", "scheme", "measured", "band", "passed"], rows))
    return "\n".join(lines) + "\n"


PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Claims</title><style>
body {{ font: 14px/1.45 "Liberation Sans", Arial, sans-serif; color: #222; margin: 24px; max-width: 1100px }}
table {{ border-collapse: collapse; margin: 8px 0 24px; width: 100% }}
th, td {{ text-align: left; vertical-align: top; padding: 5px 10px; border-bottom: 1px solid #e6e6e6 }}
th {{ color: #767676; font-weight: normal }} .v {{ white-space: nowrap; font-weight: bold }}
.reproduced, .yes {{ color: #00664B }} .partly, .open {{ color: #9A6500 }} .not, .no {{ color: #B84F00 }} .unmeasured {{ color: #767676 }}
</style><h1>Claims</h1>{notice}<p>{rests_on}</p><p>{how}</p>
<table><tr><th>claim<th><th>paper<th>verdict<th>checks passed<th>figure</tr>{rows}</table>{details}</html>
"""
CLASSES = {REPRODUCED: "reproduced", PARTLY: "partly", NOT: "not", UNDECIDED: "open", UNMEASURED: "unmeasured"}


def web_page(table: list[dict], rests_on: str, notice: str = "") -> str:
    e = html.escape
    rows, details = [], []
    for c in table:
        passed = f"{sum(k['passed'] == 'yes' for k in c['checks'])} of {len(c['checks'])}" if c["checks"] else ""
        mark = f'<td class="v {CLASSES[c["verdict"]]}">{e(c["verdict"])}'
        link = f'<a href="figures/{c["figure"]}.html">{e(c["figure"])}</a>' if c["figure"] else ""
        rows.append(f"<tr><td><b>{c['id']}</b><td>{e(c['claim'])}<td>{e(c['paper'])}{mark}<td>{passed}<td>{link}</tr>")
        if c["checks"]:
            checks = "".join(
                f'<tr><td>{e(k["says"])}<td>{e(subject(k))}<td>{e(measured(k))}<td>{e(band(k))}<td class="{k["passed"]}">{k["passed"]}</tr>'
                for k in c["checks"]
            )
            details.append(
                f'<h2>{c["id"]}: <span class="{CLASSES[c["verdict"]]}">{e(c["verdict"])}</span></h2>'
                f"<p>{e(c['claim'])}. Paper: {e(c['paper'])} ({e(c['source'])}).</p>"
                f"<table><tr><th>criterion<th>scheme<th>measured<th>band<th>passed</tr>{checks}</table>"
            )
    notice = f"<p><strong>{e(notice)}</strong></p>" if notice else ""
    return PAGE.format(notice=notice, rests_on=e(rests_on), how=HOW, rows="".join(rows), details="".join(details))


def main(arguments: list[str] | None = None) -> int:
    """`python -m ofancore.claims --source JSON --claims JSON --out results/claims`: the three files."""
    from ofancore.p4.resources import shares_in

    parser = argparse.ArgumentParser(prog="ofancore.claims")
    parser.add_argument("--source", required=True, help="where the raw runs are and what they must hold (JSON)")
    parser.add_argument("--claims", required=True, help="the config's claims (JSON)")
    parser.add_argument("--reports", nargs="*", default=[], help="the collected reports on the P4 programs (of `ofancore p4-collect`)")
    parser.add_argument("--notice", default="", help="said above the verdicts")
    parser.add_argument("--out", required=True, help="path of the outputs without suffix")
    args = parser.parse_args(arguments)
    try:
        source = Source.from_dict(parse_json(args.source, "--source"))
        claims = {key: Claim.model_validate(value) for key, value in parse_json(args.claims, "--claims").items()}
        table = evaluate(claims, source.runs, shares_in(args.reports[0]) if args.reports else None)
        out, rests_on = Path(args.out), scope(source.groups)
        write_file(out.with_suffix(".md"), markdown(table, rests_on, args.notice))
        write_file(out.with_suffix(".html"), web_page(table, rests_on, args.notice))
        found = {"notice": args.notice, "rests_on": rests_on, "claims": table}
        write_file(out.with_suffix(".json"), json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    except OfanError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(error, flush=True)  # not to the log, which lies on the same disk
        return 2
    for c in table:
        print(f"{c['id']}: {c['verdict']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
