"""The tables of README.md that other files know best: claims, constants, schemes with their state, scenario keys, metrics.

python -m ofancore.readme        rewrites them and those of ARTIFACT.md in place, between their markers; a test compares
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from ofancore import artifact, glossary, league
from ofancore.balancers import BALANCERS, Shape
from ofancore.claims import figures_of
from ofancore.cli import as_yaml, scenario_keys
from ofancore.config import ROOT, load_config
from ofancore.docstrings import described_in
from ofancore.fabric import AGG, EDGE, Fabric
from ofancore.markdown import filled, table
from ofancore.metrics import shown
from ofancore.palette import FAMILIES, name_of
from ofancore.plan import seconds
from ofancore.scenario import REGISTRIES, Scenario

RADICES = (8, 64)


def _pointers(balancer, radix: int) -> str:
    none = np.zeros(0, np.int64)
    shape = Shape(Fabric.build(radix), none, none, 0, 0)
    edge, agg = balancer.pointers(shape, EDGE), balancer.pointers(shape, AGG)
    return f"{edge:,} / {agg:,}" if edge or agg else "0"


VERDICT = r"^\| \*\*{}\*\* .*\| \*\*([a-z ]+)\*\* \| ([^|]*) \| [^|]* \|$"  # of a claim, and how many checks passed: `claims.markdown`


def claims() -> str:
    """Claims with the verdicts of `data/expected`, their figures, and what these cost on two cores."""
    config = load_config(ROOT / "config" / "paper.yaml", scenarios=False)
    expected = (ROOT / "data" / "expected" / "claims.md").read_text()
    experiments_of = {name: figure.experiments for name, figure in config.figures.items()}
    captions = {name: (ROOT / f"workflow/report/{name}.rst").read_text() for name in config.figures}
    rows = []
    for key, claim in config.claims.items():
        found = re.search(VERDICT.format(key), expected, re.MULTILINE)
        verdict = f"{found[1]} ({passed})" if (passed := found[2].strip()) else found[1]
        needed = {check.experiment for check in claim.checks}
        figures = figures_of(key, claim.figure, needed, experiments_of, captions)
        experiments = needed.union(*(config.figures[name].experiments for name in figures))
        minutes = math.ceil(sum(map(seconds, config.groups(sorted(experiments)))) / 2 / 60) if figures else ""
        rows.append([key, claim.text, verdict, ", ".join(f"`{name}`" for name in figures), minutes])
    return table(["claim", "", "verdict (checks passed)", "figures", "minutes"], rows)


def constants() -> str:
    """What the figure `constants` of `data/expected` says of each constant, those that matter most first."""
    numbers = json.loads((ROOT / "data" / "expected" / "numbers.json").read_text())
    rows = [
        [
            name_of(row["label"]),
            f"`balancer.{row['constant']}`",
            row["ours"],
            row["values"],
            shown(row["spread"], row["spread_low"], row["spread_high"]),
            row["matters"],
            row["best"],
            shown(row["best_factor"], row["best_low"], row["best_high"]),
        ]
        for row in numbers["constants"]["by_constant"].values()
    ]
    return table(["scheme", "key", "ours", "also tried", "slowest / fastest", "matters", "fastest", "CCT, over ours"], rows)


def schemes() -> str:
    """Balancers: what they are and how many pointers an edge and an aggregation switch keep."""
    rows = [
        [
            f"[`{kind}`]({described_in(kind)})",
            entry.title,
            FAMILIES[entry.family],
            (entry.__doc__ or "").split("\n")[0],
            *(_pointers(entry(), k) for k in RADICES),
        ]
        for kind, entry in BALANCERS.items()
    ]
    head = ["kind", "scheme", "family", "what it does", *(f"pointers, edge / agg, k = {k}" for k in RADICES)]
    return table(head, rows)


def keys() -> str:
    """Scenario keys that do not depend on a kind (`ofancore list keys`)."""
    return table(["key", "default", "meaning"], [[f"`{key}`", f"`{as_yaml(value)}`", text] for key, value, text in scenario_keys(Scenario)])


def kinds() -> str:
    """Keys of every kind (`ofancore list balancers`, ...)."""
    rows = [
        [f"`{part}.kind: {kind}`", f"`{part}.{name}`", f"`{as_yaml(field.default)}`", field.description or ""]
        for part, registry in REGISTRIES.items()
        for kind, entry in registry.items()
        for name, field in entry.model_fields.items()
        if name != "kind"
    ]
    return table(["with", "key", "default", "meaning"], rows)


def _words(name: str, words: glossary.Words, unit: bool = True) -> str:
    rows = [[f"`{key}`", *([measure] if unit else []), meaning] for key, (measure, meaning) in words.items()]
    return table([name, *(["unit"] if unit else []), "meaning"], rows)


def metrics() -> str:
    """What a result holds (`ofancore list metrics`)."""
    parts = (
        ("metric", glossary.METRICS),
        ("column of `flows`", glossary.FLOWS),
        ("column of `links`", glossary.LINK_ROWS),
        ("stages in `paths.tiers`", glossary.TIERS),
        ("column of `ofancore paths --out`, then those of `links`", glossary.PATH_LINKS),
        ("column of `ofancore paths --flows --out`, then `stage` to `capacity`", glossary.USE),
    )
    return "\n\n".join([_words("link class", glossary.LINKS, unit=False), *(_words(name, words) for name, words in parts)])


def standings() -> str:
    """The league as of `data/expected`; names lead to the schemes' docstrings."""
    found = json.loads((ROOT / "data" / "expected" / "numbers.json").read_text())["league"]["standings"]
    return league.as_markdown(pd.DataFrame([{"label": label, **row} for label, row in found.items()]), ROOT).rstrip()


BLOCKS = {
    "claims": claims,
    "constants": constants,
    "league": standings,
    "schemes": schemes,
    "keys": keys,
    "kinds": kinds,
    "metrics": metrics,
}


FILES = {"README.md": BLOCKS, "ARTIFACT.md": artifact.BLOCKS}


def updated(text: str, name: str = "README.md") -> str:
    """The README, or another file that has generated tables, with these made anew."""
    return filled(text, FILES[name], name)


def main() -> int:
    for name in FILES:
        path = Path(ROOT / name)
        path.write_text(updated(path.read_text(), name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
