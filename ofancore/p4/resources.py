"""What the Tofino compiler reports of a program's resources: the parts of its report that are kept, and shares of the chip.

A stored report (`data/p4/reports/PROGRAM-TARGET-rRADIX/report.json`) says for every stage how much of each resource is taken, as the
compiler's own `resources.json` lists it, with the versions of compiler and assembler and the digest of the sources. Capacities are those
of a stage of either chip; a share is over all stages of the chip (12 or 20), occupied or not.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ofancore.errors import OfanError
from ofancore.p4.sources import P4, PROGRAMS, digest

FOLDER = P4.parent / "data" / "p4" / "reports"
CHIPS = ("tofino", "tofino2")
RADICES = (8, 16, 32, 64)
RECORDED, COMPILED, NONE, STALE, REFUSED = "recorded", "compiled", "none", "stale", "refused"

# resource -> (title, where the compiler's report lists it in a stage, capacity of a stage)
RESOURCES = {
    "sram": ("SRAM blocks", ("rams", "srams"), 80),
    "map_ram": ("map RAM blocks", ("map_rams", "maprams"), 48),
    "tcam": ("TCAM blocks", ("tcams", "tcams"), 24),
    "stateful_alu": ("stateful ALUs", ("meter_alus", "meters"), 4),
    "vliw": ("VLIW slots", ("vliw", "instructions"), 32),
    "exact_xbar": ("exact crossbar bytes", ("xbar_bytes", "bytes", "exact"), 128),
    "ternary_xbar": ("ternary crossbar bytes", ("xbar_bytes", "bytes", "ternary"), 66),
    "hash_bits": ("hash bits", ("hash_bits", "bits"), 416),
    "hash_units": ("hash distribution units", ("hash_distribution_units", "units"), 6),
    "gateways": ("gateways", ("gateways", "gateways"), 16),
    "logical_tables": ("logical tables", ("logical_tables", "ids"), 16),
}
STAGES = {"tofino": 12, "tofino2": 20}
# Bits of all PHV containers: 64 of 8, 96 of 16, 64 of 32, and half as many tagalong ones; on Tofino 2 48, 72, 48 and a third as many each
# of the kinds mocha and dark.
PHV_BITS = {"tofino": 6144, "tofino2": 5120}
TITLES = {"stages": "stages"} | {name: title for name, (title, *_) in RESOURCES.items()} | {"phv": "PHV bits"}


class ReportError(OfanError):
    """A report that is not one, or not of these sources, or could not be made."""


class Refused(ReportError):
    """A program that compiler or assembler does not take: a result."""


@dataclass(frozen=True)
class Cell:
    """One build that a report is wanted for."""

    program: str
    target: str
    radix: int

    @property
    def name(self) -> str:
        return f"{self.program}-{self.target}-r{self.radix}"

    @property
    def source(self) -> str:
        return digest(self.program, self.target, self.radix)


def cells() -> list[Cell]:
    """All builds of the figure."""
    return [Cell(program, target, radix) for target in CHIPS for radix in RADICES for program in PROGRAMS]


@dataclass(frozen=True)
class Report:
    """What is kept of a compiler's report: `used[resource][stage]`, and bits of PHV containers in use."""

    program: str
    target: str
    radix: int
    source: str
    versions: dict[str, str]
    stages: int
    used: dict[str, list[int]]
    phv_used: int

    @property
    def cell(self) -> Cell:
        return Cell(self.program, self.target, self.radix)

    def totals(self) -> dict[str, tuple[int, int]]:
        """(used, what the chip has) of each resource; a stage counts as used when it holds a logical table."""
        occupied = sum(count > 0 for count in self.used["logical_tables"])
        totals = {"stages": (occupied, self.stages)}
        totals |= {name: (sum(self.used[name]), capacity * self.stages) for name, (_, _, capacity) in RESOURCES.items()}
        return totals | {"phv": (self.phv_used, PHV_BITS[self.target])}

    def shares(self) -> dict[str, float]:
        """Share of the chip, 0 to 1, of each resource."""
        return {name: used / there for name, (used, there) in self.totals().items()}

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str) -> Report:
        try:
            report = cls(**json.loads(text))
            report.totals()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ReportError(f"{where}: not a resource report ({' '.join(str(error).split())})") from None
        return report


def recorded(cell: Cell, folder: Path = FOLDER) -> tuple[str, Report | None]:
    """(RECORDED, report), or NONE or STALE without one: a report of other sources is never used."""
    path = folder / cell.name / "report.json"
    if not path.exists():
        return NONE, None
    report = Report.from_json(path.read_text(), str(path))
    if report.cell != cell:
        raise ReportError(f"{path}: is a report on {report.cell.name}")
    return (RECORDED, report) if report.source == cell.source else (STALE, None)


@dataclass(frozen=True)
class Found:
    """A cell, what was found for it and the report, if any."""

    cell: Cell
    status: str
    report: Report | None


def to_document(found: list[Found]) -> str:
    """The collection as JSON, for the notebook and the claims."""
    rows = [{"cell": asdict(f.cell), "status": f.status, "report": f.report and asdict(f.report)} for f in found]
    return json.dumps({"cells": rows}, indent=1) + "\n"


def from_document(path: str | Path) -> list[Found]:
    """The collection in a file; ReportError for one of other sources."""
    try:
        rows = json.loads(Path(path).read_text())["cells"]
        found = [Found(Cell(**row["cell"]), row["status"], Report(**row["report"]) if row["report"] else None) for row in rows]
    except FileNotFoundError:
        raise ReportError(f"{path}: missing; the pipeline makes it") from None
    except (ValueError, TypeError, KeyError) as error:
        raise ReportError(f"{path}: not a collection of reports ({' '.join(str(error).split())})") from None
    for f in found:
        if f.report and f.report.source != f.cell.source:
            raise ReportError(f"{path}: {f.cell.name} is of other sources than p4/ has now; run the pipeline again")
    return found


def shares_in(path: str | Path):
    """A function (program, target, radix) -> {resource: (share, that of ecmp)}, or None without both reports.

    A program that compiler or assembler refuses takes more than there is of everything.
    """
    found = from_document(path)
    reports = {f.cell: f.report for f in found if f.report}
    refused = {f.cell for f in found if f.status == REFUSED}

    @cache
    def shares(program: str, target: str, radix: int) -> dict[str, tuple[float, float]] | None:
        if Cell(program, target, radix) in refused:
            return dict.fromkeys(TITLES, (math.inf, 0.0))
        own, base = reports.get(Cell(program, target, radix)), reports.get(Cell("ecmp", target, radix))
        if own is None or base is None:
            return None
        below = base.shares()
        return {name: (share, below[name]) for name, share in own.shares().items()}

    return shares
