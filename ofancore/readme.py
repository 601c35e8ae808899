"""The tables of README.md that the code knows best: schemes with their state, scenario keys, keys of each kind.

python -m ofancore.readme        rewrites them in place, between their markers; a test compares
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ofancore.balancers import BALANCERS, Shape
from ofancore.cli import as_yaml, scenario_keys
from ofancore.config import ROOT
from ofancore.fabric import AGG, EDGE, Fabric
from ofancore.palette import FAMILIES
from ofancore.scenario import REGISTRIES, Scenario

RADICES = (8, 64)


def _cell(value) -> str:
    return str(value).replace("|", "\\|")


def _table(head: list[str], rows: list[list]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows])


def _pointers(balancer, radix: int) -> str:
    none = np.zeros(0, np.int64)
    shape = Shape(Fabric.build(radix), none, none, 0, 0)
    edge, agg = balancer.pointers(shape, EDGE), balancer.pointers(shape, AGG)
    return f"{edge:,} / {agg:,}" if edge or agg else "0"


def schemes() -> str:
    """Balancers: what they are and how many pointers an edge and an aggregation switch keep."""
    rows = [
        [f"`{kind}`", entry.title, FAMILIES[entry.family], (entry.__doc__ or "").split("\n")[0], *(_pointers(entry(), k) for k in RADICES)]
        for kind, entry in BALANCERS.items()
    ]
    head = ["kind", "scheme", "family", "what it does", *(f"pointers, edge / agg, k = {k}" for k in RADICES)]
    return _table(head, rows)


def keys() -> str:
    """Scenario keys that do not depend on a kind (`ofancore list keys`)."""
    return _table(
        ["key", "default", "meaning"], [[f"`{key}`", f"`{as_yaml(value)}`", text] for key, value, text in scenario_keys(Scenario)]
    )


def kinds() -> str:
    """Keys of every kind (`ofancore list balancers`, ...)."""
    rows = [
        [f"`{part}.kind: {kind}`", f"`{part}.{name}`", f"`{as_yaml(field.default)}`", field.description or ""]
        for part, registry in REGISTRIES.items()
        for kind, entry in registry.items()
        for name, field in entry.model_fields.items()
        if name != "kind"
    ]
    return _table(["with", "key", "default", "meaning"], rows)


BLOCKS = {"schemes": schemes, "keys": keys, "kinds": kinds}


def updated(text: str) -> str:
    """The README with its tables made anew."""
    for name, make in BLOCKS.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        if (text.count(start), text.count(end)) != (1, 1):
            raise ValueError(f"README.md needs one pair of markers for {name}")
        before, rest = text.split(start)
        text = f"{before}{start}\n{make()}\n\n{end}{rest.split(end)[1]}"
    return text


def main() -> int:
    path = Path(ROOT / "README.md")
    path.write_text(updated(path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
