"""What a full run gives, kept small in `data/expected`: the README's figures, the numbers of all figures, the claims, the reference.

    python -m ofancore.expected [--config config/paper.yaml] [--results results] [--out data/expected]

Everything is checked before anything is written: runs that are missing or come from other sources than these, a figure older than its
runs. The folder is replaced whole; it also says in its README how it was made.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import sys
import tempfile
import zlib
from pathlib import Path

from ofancore.claims import evaluate
from ofancore.config import ROOT, Config, load_config
from ofancore.digests import asked, digest_of_rows, few_runs, made_with, metrics_of, rows_of
from ofancore.errors import OfanError, brief
from ofancore.figures import Source
from ofancore.provenance import PNG, drawing, drawing_digest, embedded, record_in

# the figures in the README
FIGURES = (
    "fig01_granularity", "fig03_failures_unknown", "fig06_queue_scaling", "fig08_network_size", "fig14_headline", "pofan_pipes",
    "p4_resources", "league", "paths",
)  # fmt: skip

ABOUT = """# What a full run gives

Made by `make figures` and then `make expected`; do not edit by hand.

- config: `{config}`, {runs:,} runs
- simulator sources: `{source}` (`ofancore source-digest` prints those of a checkout), version {ofancore}, numba {numba}, numpy {numpy}

| file | what it is |
|---|---|
{files}

With the versions of `requirements.lock` another run gives the same figures and numbers; `make figures` ends with a comparison. Digests are
of drawings, as `ofancore drawing-digest {results}/figures/*.svg` prints them; the pictures here are the PNG files, packed more tightly, and
`ofancore explain` says what made them.

Tolerances of `reference.json`: runs by the same sources with the same versions must give the same values, to a relative 1e-9; by other
sources or versions a value must lie in the reference's 95% interval. Its digests of raw runs are of all metrics, digit for digit.
"""


class Incomplete(OfanError):
    """Results that must not pass for a full run."""


def runs_behind(config: Config, results: Path) -> int:
    """The number of runs behind all figures and claims. MissingRun for missing ones and those that other sources made."""
    experiments = list(dict.fromkeys([*(e for f in config.figures.values() for e in f.experiments), *config.experiments_of_claims()]))
    source = Source(str(results), config.groups(experiments))
    return sum(len(source.runs(name)) for name in experiments)


def packed(png: bytes) -> bytes:
    """The same picture, its pixels compressed as far as zlib can: half the size or less."""
    chunks, at = [], len(PNG)
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        chunks.append((kind, png[at + 8 : at + 8 + length]))
        at += 12 + length
    pixels = zlib.compress(zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT")), 9)
    kept = [(kind, data) for kind, data in chunks if kind != b"IDAT"]
    kept.insert(-1, (b"IDAT", pixels))  # the last chunk is IEND
    return PNG + b"".join(struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in kept)


def picture(path: Path, results: str) -> bytes:
    """A figure's PNG, packed, with its record, which says where the results lie when seen from `data/expected`."""
    data = path.read_bytes()
    record = record_in(data)
    if record is None:
        raise Incomplete(f"{path}: does not say what made it; run the pipeline again")
    return embedded(packed(drawing(data)), "png", {**record, "folder": os.path.join("../..", results)})


def contents(config: Config, results: Path, figures: tuple[str, ...] = FIGURES) -> dict[str, tuple[bytes, str]]:
    """File name -> (content, what it is)."""
    files: dict[str, tuple[bytes, str]] = {}
    numbers = {}
    for name in figures:
        if name not in config.figures:
            raise Incomplete(f"{name}: not a figure of this config; the README shows it")
    for name, figure in config.figures.items():
        last_run = max(group.raw_path(results).stat().st_mtime for group in config.groups(figure.experiments))
        for path in (results / "figures" / f"{name}.png", results / "figures" / f"{name}.svg", results / "numbers" / f"{name}.json"):
            if path.stat().st_mtime < last_run:
                raise Incomplete(f"{path}: older than its runs; run the pipeline again")
        numbers[name] = json.loads((results / "numbers" / f"{name}.json").read_bytes())
        if name in figures:
            digest = drawing_digest((results / "figures" / f"{name}.svg").read_bytes())[:16]
            about = f"drawn by `notebooks/figures/{figure.notebook}.ipynb`, SVG `{digest}`"
            files[f"{name}.png"] = (picture(results / "figures" / f"{name}.png", config.results), about)
    files["claims.md"] = ((results / "claims.md").read_bytes(), "verdicts on the paper's claims, with measured values")
    files["numbers.json"] = (json.dumps(numbers, indent=1, ensure_ascii=False).encode() + b"\n", "the numbers that every figure states")
    return files


def reference(config: Config, config_name: str, results: Path) -> dict:
    """`reference.json`, which other runs are compared with: see `what` in `main`."""
    from ofancore.p4.resources import shares_in

    groups, reports = config.groups(), results / "p4" / "reports.json"
    source = Source(str(results), groups)
    made = made_with(groups, results)
    if mixed := [name for name, values in made.items() if len(values) > 1]:
        raise Incomplete(
            f"raw runs of more than one {' and '.join(mixed)} ({brief(made)}); delete {results}/raw and run the pipeline again"
        )
    tables = {group.name: rows_of(group, results) for group in groups}
    columns = metrics_of(row for rows in tables.values() for row in rows)
    shares = shares_in(str(reports)) if any(claim.reports for claim in config.claims.values()) else None
    claims = evaluate(config.claims, source.runs, shares)
    return {
        "config": config_name,
        "made_with": {name: values[0] for name, values in made.items()},
        "claims": [{key: c[key] for key in ("id", "verdict", "checks")} for c in claims],
        "drawings": {name: drawing_digest((results / "figures" / f"{name}.svg").read_bytes())[:16] for name in config.figures},
        "columns": columns,
        "groups": {g.name: {"asked": asked(g), "got": digest_of_rows(tables[g.name], columns)} for g in groups},
        "runs": few_runs(tables, columns),
    }


def about(config: Config, config_name: str, made: dict, runs: int, files: dict[str, tuple[bytes, str]]) -> str:
    rows = "\n".join(f"| `{name}` | {what} |" for name, (_, what) in files.items())
    return ABOUT.format(config=config_name, runs=runs, files=rows, results=config.results, **made)


def replace(folder: Path, files: dict[str, bytes]) -> None:
    """Make `folder` hold exactly these files. Killed at any moment, it holds the old ones or the new ones, or lies beside its place."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        (beside / "new").mkdir()
        for name, data in files.items():
            (beside / "new" / name).write_bytes(data)
        if folder.exists():
            folder.rename(beside / "old")
        try:
            (beside / "new").rename(folder)
        except OSError:
            (beside / "old").rename(folder)
            raise
    finally:
        shutil.rmtree(beside)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="ofancore.expected", description=__doc__.split("\n")[0])
    parser.add_argument("--config", default=str(ROOT / "config" / "paper.yaml"), help="the grid that was run")
    parser.add_argument("--results", help="where its results are, if elsewhere than the config says")
    parser.add_argument("--out", default=str(ROOT / "data" / "expected"), help="the folder to replace")
    args = parser.parse_args(arguments)
    try:
        config = load_config(args.config, scenarios=False)
        results = Path(args.results or config.results)
        runs = runs_behind(config, results)
        files = contents(config, results)
        what = "what `make figures` compares with: values of the claims, digests of all raw runs and drawings, a few runs to repeat"
        kept = reference(config, Path(args.config).name, results)
        files["reference.json"] = (json.dumps(kept, indent=1, ensure_ascii=False).encode() + b"\n", what)
        text = about(config, Path(args.config).name, kept["made_with"], runs, files)
        replace(Path(args.out), {**{name: data for name, (data, _) in files.items()}, "README.md": text.encode()})
    except OSError as error:
        print(f"ofancore.expected: {error.filename or args.out}: {error.strerror or error}", file=sys.stderr)
        return 2
    except OfanError as error:
        print(f"ofancore.expected: {error}", file=sys.stderr)
        return 2
    for name, (data, _) in files.items():
        print(f"{args.out}/{name}: {len(data) / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
