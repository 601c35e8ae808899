"""`make bundle`: code, lock, raw runs, figures and report in one archive with check sums and a Workflow Run RO-Crate.

    python -m ofancore.bundle [--config config/paper.yaml] [--results results] [--out dist]

The same checkout and results give the same archive, byte for byte: entries are sorted, without owner, and as old as the commit. Results
that are not complete, or that do not belong together, are refused.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from ofancore import __version__, path_files
from ofancore.config import ROOT, Config, load_config
from ofancore.console import exit_status
from ofancore.crate import crate, times_of
from ofancore.expected import Incomplete
from ofancore.figures import read_group
from ofancore.files import write_whole
from ofancore.provenance import DECISIVE, commit, record_in, said, sha256
from ofancore.result import source_digest

SUMS, CRATE = "SHA256SUMS", "ro-crate-metadata.json"
AGAIN = "run the pipeline again"
NOT_CODE = (
    ".git",
    ".venv",
    ".snakemake",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    "__pycache__",
    "build",
    "dist",
)
EARLIEST = 315532800  # 1980: what archives without a commit are dated


def code_files(root: Path, known: dict | None) -> list[str]:
    """Paths of the project's own files: what git has, and new files where they decide results; without git, all but results and caches."""
    if known:
        words = ["git", "-C", str(root), "ls-files", "-z"]
        listed = b"".join(
            subprocess.run([*words, *more], capture_output=True, check=True).stdout
            for more in ((), ("--others", "--exclude-standard", "--", *DECISIVE))
        )
        return sorted({name for name in map(os.fsdecode, listed.split(b"\0")) if name and (root / name).is_file()})
    found = []
    for folder, inside, names in os.walk(root):
        here = Path(folder)
        top = here == root
        inside[:] = [d for d in inside if d not in NOT_CODE and not d.endswith(".egg-info") and not (top and d.startswith("results"))]
        found += [(here / name).relative_to(root).as_posix() for name in names]
    kept = root / "results" / ".gitignore"
    return sorted([*(name for name in found if name not in (SUMS, CRATE)), *(["results/.gitignore"] if kept.is_file() else [])])


def result_files(config: Config, results: Path) -> list[str]:
    """Paths below the results of all that a complete run makes. Incomplete for what is missing."""
    wanted = [g.raw_path(results).relative_to(results).as_posix() for g in config.groups()]
    for name in config.figures:
        wanted += [f"figures/{name}.{form}" for form in ("svg", "png", "html")]
        wanted += [f"numbers/{name}.json", f"tables/{name}.csv", f"notebooks/{name}.ipynb", f"notebooks/{name}.yaml"]
        wanted += [f"tables/{name}{end}" for end in config.figures[name].more]
        if config.figures[name].notebook in path_files.NOTEBOOKS:
            groups = config.groups(config.figures[name].experiments)
            wanted += [path.relative_to(results).as_posix() for group in groups for path in path_files.files(group, results)]
    wanted += [f"claims.{form}" for form in ("json", "md", "html") if config.claims]
    wanted += ["figures/queues_on_the_tree.html"] * config.animation + ["comparison.json", "comparison.md", "report/index.html"]
    missing = [path for path in wanted if not (results / path).is_file()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise Incomplete(f"{results / missing[0]}: missing{more}; `make figures`, of the same CONFIG, makes all that an archive needs")
    if (results / "p4/reports.json").is_file():
        wanted.append("p4/reports.json")
    if (results / "raw/.compiled").is_file():
        wanted.append("raw/.compiled")  # without it, Snakemake would take all runs for stale
    others = [p for p in (results / "report").rglob("*") if p.is_file()]
    return sorted({*wanted, *(p.relative_to(results).as_posix() for p in others)})


def check(config: Config, results: Path) -> dict[str, dict]:
    """The record of every figure, if raw runs, figures, claims and report belong together. OfanError if not."""
    for group in config.groups():
        read_group(group, results)
    digests = {g.raw_path(results).relative_to(results).as_posix(): sha256(g.raw_path(results).read_bytes()) for g in config.groups()}
    records, newest = {}, max((g.raw_path(results).stat().st_mtime for g in config.groups()), default=0.0)
    for name in config.figures:
        path = results / "figures" / f"{name}.svg"
        record = record_in(path.read_bytes())
        if record is None:
            raise Incomplete(f"{path}: does not say what made it; {AGAIN}")
        if record["sources"] != source_digest():
            raise Incomplete(f"{path}: of other sources ({record['sources']}, these are {source_digest()}); {AGAIN}")
        for raw, run in record["runs"].items():
            if digests.get(raw) != run["sha256"]:
                raise Incomplete(f"{path}: drawn from another {raw} than the one that is there; {AGAIN}")
        records[name] = record
        newest = max(newest, path.stat().st_mtime)
    for path in (results / "report/index.html", results / "comparison.json"):
        if path.stat().st_mtime < newest:
            raise Incomplete(f"{path}: older than the runs or the figures; {AGAIN}")
    return records


def name_of(known: dict | None) -> str:
    """By version and commit; without a commit by the digest of the simulator's sources."""
    if not known:
        return f"ofan-{__version__}-sources-{source_digest()}"
    return f"ofan-{__version__}-{known['id'][:12]}" + ("-changed" if known["changed"] else "")


def sums(contents: dict[str, bytes]) -> bytes:
    """Check sums as `sha256sum --check` reads them."""
    return "".join(f"{sha256(data)}  {path}\n" for path, data in sorted(contents.items())).encode()


def contents(config: Config, config_path: str, results: Path, known: dict | None, root: Path) -> dict[str, tuple[bytes, bool]]:
    """Path in the archive -> (content, whether it may be executed)."""
    made = result_files(config, results)
    records = check(config, results)
    inside = config.results.rstrip("/")
    files = {f"{inside}/{path}": results / path for path in made}
    code = [path for path in code_files(root, known) if path not in files]
    files = {**{path: root / path for path in code}, **files}
    if config_path not in files:
        raise Incomplete(f"{config_path}: must be a file of the project, so that the archive has it")
    data = {path: (there.read_bytes(), os.access(there, os.X_OK)) for path, there in files.items()}
    times = {name: times_of(data[f"{inside}/notebooks/{name}.ipynb"][0]) for name in records}
    date = known["date"] if known else max((t["endTime"] for t in times.values() if "endTime" in t), default="1980-01-01")
    about = {path: (len(content), sha256(content)) for path, (content, _) in data.items()}
    text = crate(about, inside, config_path, records, times, said(known), date[:10], root)
    data[CRATE] = (text.encode(), False)
    data[SUMS] = (sums({path: content for path, (content, _) in data.items()}), False)
    return data


def packed(name: str, files: dict[str, tuple[bytes, bool]], seconds: int) -> Iterable[bytes]:
    """A tar archive, in pieces, in which all files lie in the folder `name`."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, (content, executable) in sorted(files.items()):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mtime, entry.mode = len(content), seconds, 0o755 if executable else 0o644
            archive.addfile(entry, io.BytesIO(content))
            yield stream.getvalue()
            stream.seek(0)
            stream.truncate()
    yield stream.getvalue()


def write(path: Path, pieces: Iterable[bytes]) -> None:
    def fill(temporary: str) -> None:
        # Pages of figures hold the same scripts; a dictionary of 8 MiB (preset 6) finds them again.
        with lzma.open(temporary, "wb", preset=6) as out:
            for piece in pieces:
                out.write(piece)

    write_whole(path, fill)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="ofancore.bundle", description=__doc__.split("\n")[0])
    parser.add_argument("--config", default="config/paper.yaml", help="the grid that was run")
    parser.add_argument("--results", help="where its results are, if elsewhere than the config says")
    parser.add_argument("--out", default="dist", help="the folder for the archive")
    parser.add_argument("--check", action="store_true", help="only see whether the results are complete and belong together")

    def call() -> int:
        args = parser.parse_args(arguments)
        config = load_config(args.config, scenarios=False)
        results, known = Path(args.results or config.results), commit(ROOT)
        inside = os.path.relpath(os.path.realpath(args.config), os.path.realpath(ROOT))
        if args.check:
            result_files(config, results)
            check(config, results)
            print(f"{results}: complete")
            return 0
        name = name_of(known)
        seconds = int(datetime.fromisoformat(known["date"]).timestamp()) if known else EARLIEST
        files = contents(config, inside, results, known, ROOT)
        path = Path(args.out) / f"{name}.tar.xz"
        write(path, packed(name, files, seconds))
        if not known or known["changed"]:
            print(f"Note: {said(known)}. An archive to publish should be of a commit.", file=sys.stderr)
        print(f"{sha256(path.read_bytes())}  {path}")
        print(json.dumps({"files": len(files), "bytes": path.stat().st_size}))
        return 0

    return exit_status("ofancore.bundle", call)


if __name__ == "__main__":
    sys.exit(main())
