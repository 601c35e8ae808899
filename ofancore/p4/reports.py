"""Making and storing resource reports: compile for Tofino with what is on the PATH, or take compilers' outputs made elsewhere.

A folder of raw outputs has, for each build, `PROGRAM-TARGET-rRADIX/` with

    source                       the digest of the sources, as `ofancore p4-digest` prints it
    versions.json                {"p4c-barefoot": ...}: what the compiler says of itself
    pipe/logs/resources.json     from p4c-barefoot -g --verbose
    pipe/logs/phv.json           from the same
    assembled                    an empty file, there if the assembler ended with status 0 (it alone refuses too many stages)
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ofancore.errors import ScenarioError
from ofancore.files import write_file
from ofancore.p4.resources import (
    COMPILED,
    FOLDER,
    NONE,
    REFUSED,
    RESOURCES,
    STAGES,
    STALE,
    Cell,
    Found,
    Refused,
    Report,
    ReportError,
    cells,
    recorded,
    to_document,
)
from ofancore.p4.sources import defines, program_file

COMPILER, ASSEMBLER = "p4c-barefoot", "bfas"
ARCHITECTURES = {"tofino": "tna", "tofino2": "t2na"}
TIMEOUT_S = 1800


def missing() -> list[str]:
    """The programs that are not on the PATH."""
    return [name for name in (COMPILER, ASSEMBLER) if not shutil.which(name)]


def versions() -> dict[str, str]:
    """What the compiler says of itself; the assembler is built with it and has no version of its own."""
    done = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, timeout=60)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if re.search(r"\d+\.\d+", line)]
    return {COMPILER: lines[0].removeprefix("Version ") if lines else "unknown"}


def compile_cell(cell: Cell, out: Path) -> None:
    """Compile, fit and assemble one build into the folder.

    Raises Refused with the compiler's words if either program refuses, ReportError if it does not get that far.
    """
    out.mkdir(parents=True, exist_ok=True)
    chip = ["--target", cell.target]
    run = [COMPILER, *chip, "--arch", ARCHITECTURES[cell.target], "-g", "--verbose", "-o", str(out)]
    _run([*run, *defines(cell.target, cell.radix), str(program_file(cell.program))], cell)
    assembly = sorted(out.rglob("*.bfa"))
    if not assembly:
        raise ReportError(f"{cell.name}: {COMPILER} wrote no assembly")
    if not matches_kept(assembly[0].read_text()):
        raise ReportError(f"{cell.name}: {COMPILER} dropped what the parser matches on; p4c between its pull requests 5063 and 5753 does")
    _run([ASSEMBLER, *chip, "-o", str(assembly[0].parent), str(assembly[0])], cell)
    (out / "assembled").touch()
    (out / "source").write_text(cell.source + "\n")
    (out / "versions.json").write_text(json.dumps(versions()) + "\n")


def matches_kept(assembly: str) -> bool:
    """Does the parser still tell packets apart? Some versions of the compiler lose that without a word, and half the program with it."""
    parser = assembly.partition("parser ingress:")[2].partition("deparser ingress:")[0]
    return "match:" in parser


NO_FAULT_OF_THE_PROGRAM = re.compile("no such file|no include path|compiler bug|assembler bug", re.IGNORECASE)


def _run(command: list[str], cell: Cell) -> None:
    """Run it; Refused if it says no, ReportError if it does not get so far as to say so (killed, out of time, its headers not found)."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise ReportError(f"{cell.name}: {command[0]} was stopped after {TIMEOUT_S} s") from None
    said = (done.stderr.strip() or done.stdout.strip())[-2000:]
    if done.returncode:
        no_fault = done.returncode < 0 or NO_FAULT_OF_THE_PROGRAM.search(done.stderr + done.stdout)
        raise (ReportError if no_fault else Refused)(f"{cell.name}: {command[0]} ended with status {done.returncode}: {said}")


def read_outputs(cell: Cell, folder: Path) -> Report:
    """The report in a folder of raw outputs; ReportError if it is incomplete or of other sources."""
    try:
        source = (folder / "source").read_text().strip()
    except FileNotFoundError:
        raise ReportError(f"{folder}/source: missing; it holds the digest of the sources") from None
    except UnicodeDecodeError:
        raise ReportError(f"{folder}/source: not text") from None
    if source != cell.source:
        raise ReportError(f"{folder}: is of sources {source}, and p4/ has {cell.source} for {cell.name}")
    if not (folder / "assembled").exists():
        raise ReportError(f"{folder}/assembled: missing; without the assembler nobody knows whether the program fits")
    said = _json(folder / "versions.json")
    if not isinstance(said, dict) or not all(isinstance(text, str) for text in said.values()):
        raise ReportError(f"{folder}/versions.json: must be an object of texts")
    listed = next(iter(sorted(folder.rglob("resources.json"))), folder / "resources.json")
    containers = next(iter(sorted(folder.rglob("phv.json"))), folder / "phv.json")
    report, phv = _json(listed), _json(containers)
    try:
        if report["program_name"] != f"{cell.program}.p4":
            raise ReportError(f"{listed}: is of {report['program_name']}, not of {cell.program}.p4")
        mau = report["resources"]["mau"]
        stages = sorted(mau["mau_stages"], key=lambda stage: stage["stage_number"])
        if not mau["nStages"] == len(stages) == STAGES[cell.target]:
            raise ReportError(f"{listed}: has {len(stages)} of {mau['nStages']} stages, and a {cell.target} has {STAGES[cell.target]}")
        used = {name: [_count(stage, path) for stage in stages] for name, (_, path, _) in RESOURCES.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"{listed}: not a resource report ({type(error).__name__}: {error})") from None
    try:
        bits = phv_bits(phv)
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"{containers}: not a report on containers ({type(error).__name__}: {error})") from None
    return Report(cell.program, cell.target, cell.radix, source, said, STAGES[cell.target], used, bits)


def _json(path: Path):
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise ReportError(f"{path}: missing") from None
    except ValueError as error:  # broken text, too
        raise ReportError(f"{path}: not JSON ({error})") from None


def _count(stage: dict, path: tuple[str, ...]) -> int:
    group, name, *kind = path
    items = stage[group][name]
    return sum(item["byte_type"] == kind[0] for item in items) if kind else len(items)


def phv_bits(phv: dict) -> int:
    """Bits of the PHV containers that hold something, of any kind and size."""
    widths = {c["phv_number"]: c["bit_width"] for c in phv["containers"] if c["slices"]}
    return sum(widths.values())


def store(report: Report, folder: Path) -> None:
    """Write the compact report of a build."""
    write_file(folder / report.cell.name / "report.json", report.to_json())


def record(source: str | None, out: str | None, keep: str | None) -> int:
    """Store reports of a folder of outputs, or compile here. Cells that a folder does not have are named and left as they are."""
    folder = Path(out) if out else FOLDER
    if source is not None:
        given = Path(source)
        if not given.is_dir():
            raise ScenarioError("folder", source, "no such folder")
        there = [cell for cell in cells() if (given / cell.name).is_dir()]
        if not there:
            raise ScenarioError("folder", source, f"has none of the builds, such as {cells()[0].name}/")
        reports = [read_outputs(cell, given / cell.name) for cell in there]  # all or none
        for report in reports:
            store(report, folder)
            print(report.cell.name)
        for cell in cells():
            if cell not in there:
                print(f"{cell.name}: not in {source}", file=sys.stderr)
        return 0
    if missing():
        raise ScenarioError("PATH", missing(), f"compiling needs {COMPILER} and {ASSEMBLER}; or give a folder of their outputs")
    failed = 0
    for cell in cells():
        try:
            store(compiled(cell, Path(keep) if keep else None), folder)
            print(cell.name, flush=True)
        except ReportError as error:  # that a program does not fit is a result; the others are still wanted
            print(error, file=sys.stderr, flush=True)
            failed += 1
    return int(failed > 0)


def compiled(cell: Cell, keep: Path | None = None) -> Report:
    """Compile a build here and read its report."""
    with tempfile.TemporaryDirectory() as name:
        folder = (keep or Path(name)) / cell.name
        compile_cell(cell, folder)
        return read_outputs(cell, folder)


def collect(out: str | Path) -> list[Found]:
    """For every cell the report made here, if the compiler is on the PATH, else the recorded one; written to `out` as JSON."""
    find = compiled_or_recorded if not missing() else lambda cell: Found(cell, *recorded(cell))
    found = [find(cell) for cell in cells()]
    for f in found:
        if f.status == STALE:
            print(f"{f.cell.name}: the recorded report is of other sources; it is not used", file=sys.stderr)
        elif f.status == NONE:
            print(f"{f.cell.name}: no report yet", file=sys.stderr)
    write_file(out, to_document(found))
    return found


def compiled_or_recorded(cell: Cell) -> Found:
    """The report made here, or REFUSED: a result, and no reason to stop. A compiler that does not work here leaves the recorded report."""
    try:
        return Found(cell, COMPILED, compiled(cell))
    except ReportError as error:
        print(error, file=sys.stderr)
        return Found(cell, REFUSED, None) if isinstance(error, Refused) else Found(cell, *recorded(cell))
