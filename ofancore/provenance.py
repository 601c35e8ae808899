"""What a figure, an animation or the report says of itself: the runs that fed it, what drew it, and with which versions.

The record is JSON: `<metadata>` in an SVG, an iTXt chunk in a PNG, a data block in an HTML page. It holds no time and no name of a machine,
so the same run of the same commit gives the same bytes. The commit is part of it, which changes though no drawing does; therefore
drawings are compared by `drawing_digest`, which leaves the record out.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import struct
import subprocess
import zlib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from ofancore.errors import OfanError, brief
from ofancore.plan import Group
from ofancore.reading import read_bytes
from ofancore.record import damage
from ofancore.result import source_digest

ROOT = Path(__file__).resolve().parent.parent
NAME = "ofan-provenance"
FORM = 1  # of the record; one more when its keys change
PNG = b"\x89PNG\r\n\x1a\n"
PACKAGES = ("numpy", "pandas", "altair", "vl-convert-python")  # what a drawing depends on, beside the sources
# What decides how a figure comes out. Other files, such as texts, may differ from the commit.
DECISIVE = ("Snakefile", "config", "data", "notebooks", "ofancore", "p4", "requirements.lock", "workflow")

_SVG = re.compile(rb"<metadata id=\"ofan-provenance\">(.*?)</metadata>", re.DOTALL)
_HTML = re.compile(rb"<script type=\"application/json\" id=\"ofan-provenance\">(.*?)</script>\n", re.DOTALL)
_CHUNK = NAME.encode() + b"\0" + b"\0\0" + b"\0\0"  # iTXt: keyword, not compressed, no language, no translated keyword


class NoProvenance(OfanError):
    """A file that does not say how it was made."""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ---- the record in its file


def embedded(data: bytes, form: str, record: dict) -> bytes:
    """The file with the record in it; `form` is svg, png or html."""
    text = json.dumps(record, ensure_ascii=True, separators=(",", ":"))
    if form == "png":
        end = len(PNG) + 25  # the header chunk: 13 bytes of content
        return data[:end] + _chunk(_CHUNK + text.encode()) + data[end:]
    if form == "svg":
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        end = data.index(b">", data.index(b"<svg")) + 1
        return data[:end] + f'<metadata id="{NAME}">{text}</metadata>'.encode() + data[end:]
    text = text.replace("<", "\\u003c")  # nothing in it may end the block
    end = data.rindex(b"</body>")
    return data[:end] + f'<script type="application/json" id="{NAME}">{text}</script>\n'.encode() + data[end:]


def drawing(data: bytes) -> bytes:
    """The file as it was before `embedded`; one without a record as it is."""
    if data.startswith(PNG):
        return PNG + b"".join(chunk for chunk in _chunks(data) if not _is_ours(chunk))
    return _HTML.sub(b"", _SVG.sub(b"", data, count=1), count=1)


def record_in(data: bytes) -> dict | None:
    """The record that a file holds; None if there is none."""
    if data.startswith(PNG):
        ours = next((chunk for chunk in _chunks(data) if _is_ours(chunk)), None)
        sound = ours is not None and zlib.crc32(ours[4:-4]) == int.from_bytes(ours[-4:], "big")
        found = ours[8 + len(_CHUNK) : -4] if sound else None
    else:
        match = _SVG.search(data)
        found = match and match[1].replace(b"&lt;", b"<").replace(b"&gt;", b">").replace(b"&amp;", b"&")
        if not match and (match := _HTML.search(data)):
            found = match[1]
    if found is None:
        return None
    try:
        record = json.loads(found)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and record.get("record") == FORM else None


def drawing_digest(data: bytes) -> str:
    """SHA-256 of a figure without its record: equal where the drawings are, whatever commit made them."""
    return sha256(drawing(data))


def _chunk(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + b"iTXt" + content + struct.pack(">I", zlib.crc32(b"iTXt" + content))


def _chunks(data: bytes) -> Iterable[bytes]:
    """The chunks of a PNG, each with its length and check sum; what is cut off comes as it is."""
    at = len(PNG)
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big") + 12
        yield data[at : at + length]
        at += length


def _is_ours(chunk: bytes) -> bool:
    return chunk[4:8] == b"iTXt" and chunk[8:].startswith(_CHUNK)


# ---- what the record says


def made_with(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of this process, of what figures (or another file) depend on."""
    from ofancore import __version__

    return {"ofancore": __version__, "python": platform.python_version(), **{name: version(name) for name in packages}}


def commit(root: Path = ROOT) -> dict | None:
    """The commit that is checked out, and whether what decides a result differs from it; None without git or outside of a clone."""
    outside = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}  # a hook's folders are not ours

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, env={**outside, "GIT_OPTIONAL_LOCKS": "0"}
        )
        return done.stdout.strip()

    try:
        if os.path.realpath(git("rev-parse", "--show-toplevel")) != os.path.realpath(root):
            return None  # unpacked inside of another project
        known = git("log", "-1", "--format=%H %cI").split()
        return {"id": known[0], "date": known[1], "changed": bool(git("status", "--porcelain", "--", *DECISIVE))}
    except (OSError, subprocess.SubprocessError, IndexError):
        return None


def said(commit: dict | None) -> str:
    """A commit in words."""
    if not commit:
        return "commit unknown"
    return f"commit {commit['id'][:12]}" + (", with changes that are not committed" if commit["changed"] else "")


def digest_of_scenarios(digests: Iterable[str]) -> str:
    """One digest for the scenarios (seeds included) of a raw file, in their order."""
    return sha256(" ".join(digests).encode())[:16]


def raw_record(group: Group, results: str | Path, scenarios: Iterable[str]) -> dict:
    """What a figure says of a raw file that it read: the file's digest, its scenarios', who made it."""
    import pyarrow.parquet as pq

    path = group.raw_path(results)
    return _raw(path, list(scenarios), group.seeds, pq.read_schema(path))


def raw_record_of(path: Path) -> dict:
    """The same of a raw file alone, of which no group is known: what its columns say."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    table = pq.read_table(path, columns=[name for name in ("digest", "seed") if name in schema.names])
    columns = {name: table[name].to_pylist() for name in table.column_names}
    return _raw(path, columns.get("digest", []), len(set(columns.get("seed", []))), schema)


def _raw(path: Path, scenarios: list[str], seeds: int, schema) -> dict:
    about = json.loads((schema.metadata or {}).get(b"ofan", b"{}"))
    return {
        "sha256": sha256(path.read_bytes()),
        "scenarios": digest_of_scenarios(scenarios),
        "runs": len(scenarios),
        "seeds": seeds,
        **{name: about[name] for name in ("numba", "numpy") if name in about},
    }


def grid_of(groups: list[Group]) -> dict:
    """Groups as the `schemes` and `experiments` of a config."""
    experiments: dict[str, dict] = {}
    for g in groups:
        block = {"scenario": g.scenario, "sweep": g.sweep, "points": g.points, "schemes": [], "seeds": g.seeds}
        block = experiments.setdefault(g.experiment, block)
        block["schemes"].append(g.label)
        if g.one_at_a_time:
            block.setdefault("one_at_a_time", {})[g.label] = g.one_at_a_time
    return {"schemes": {g.label: g.balancer for g in groups}, "experiments": experiments}


def record(name: str, drawn: dict, groups: list[Group], runs: dict[str, dict], files: dict[str, str], results: str | Path) -> dict:
    """The record of a figure. `drawn`: what the pipeline says of it; `runs`, `files`: path below the results -> its record, its digest."""
    inputs = {os.path.relpath(path, results): sha256(Path(path).read_bytes()) for path in drawn.get("inputs", [])}
    return {
        "record": FORM,
        "figure": name,
        "notebook": drawn.get("notebook"),
        "parameters": drawn.get("parameters", {}),
        "category": drawn.get("category"),
        "config": drawn.get("config"),
        "results": str(results),
        **_made_here(PACKAGES),
        "files": files,
        "runs": runs,
        "inputs": inputs,
        **grid_of(groups),
    }


def _made_here(packages: Iterable[str]) -> dict:
    return {"sources": source_digest(), "commit": commit(), "versions": made_with(packages)}


def animation_record(page: bytes, out: str | Path, command: list[str], scenarios: dict[str, dict], scenario_file: str | None) -> dict:
    """The record of an animation, whose runs are its own and leave no raw files. Its paths are seen from the folder that it lies in.

    `command`: the words that made it, without a folder before the first; `scenarios`: label -> the whole scenario.
    """
    out = Path(out)
    balancers = {label: scenario["balancer"] for label, scenario in scenarios.items()}
    rest = {key: value for key, value in next(iter(scenarios.values())).items() if key != "balancer"}
    inputs = {os.path.relpath(scenario_file, out.parent): sha256(Path(scenario_file).read_bytes())} if scenario_file else {}
    return {
        "record": FORM,
        "figure": "queues_on_the_tree",
        "made_by": "ofancore animate",
        "command": command,
        "folder": ".",
        **_made_here(("numba", "numpy")),
        "files": {out.name: sha256(page)},
        "runs": {},
        "inputs": inputs,
        **grid_of([Group("queues_on_the_tree", label, rest, balancer, {}, [], 1) for label, balancer in balancers.items()]),
    }


def report_record(page: bytes, results: Path, figures: Iterable[str], claims: bool, raw: Iterable[str], named: str) -> dict:
    """The record of the report: what those of its figures say, together, and their drawings' digests.

    `claims`: whether it shows verdicts; `raw`: paths below the results of the raw files that it counts, also those that only a claim reads;
    `named`: the folder of the results as the config has it.
    """
    files, records = {"report/index.html": sha256(page)}, {}
    if claims:
        files["claims.json"] = sha256((results / "claims.json").read_bytes())
    for name in figures:
        data = (results / "figures" / f"{name}.html").read_bytes()
        files[f"figures/{name}.html"] = drawing_digest(data)
        records[name] = record_in(data) or {}
    parts = {part: _together(r.get(part, {}) for r in records.values()) for part in ("runs", "inputs", "schemes", "experiments")}
    parts["runs"] |= {path: raw_record_of(results / path) for path in raw if path not in parts["runs"]}
    config = next((r["config"] for r in records.values() if r.get("config")), None)
    return {
        "record": FORM,
        "figure": "report",
        "made_by": "ofancore.report_page",
        "command": ["python", "-m", "ofancore.report_page", "--config", config or "config/paper.yaml", "--results", named],
        "rule": "page",
        "config": config,
        "results": named,
        **_made_here((*PACKAGES, "docutils")),
        "files": files,
        **parts,
        "figures": {
            name: {
                "notebook": r["notebook"],
                "category": r["category"],
                "experiments": list(r["experiments"]),
                "parameters": r["parameters"],
            }
            for name, r in records.items()
            if r
        },
    }


def _together(parts: Iterable[dict]) -> dict:
    return {key: value for part in parts for key, value in part.items()}


# ---- of a file that somebody points to


def explained(path: str | Path) -> tuple[dict, Path]:
    """The record behind a figure, or behind the numbers or the table beside it, and the results folder that the file lies in.

    NoProvenance if there is none, ScenarioError if the file cannot be read.
    """
    path = Path(path)
    data = read_bytes(path, "FILE")
    here = Path(os.path.abspath(path)).parent
    where = here.parent
    if here.name in ("numbers", "tables"):
        picture = where / "figures" / f"{path.stem}.svg"
        if not picture.is_file():  # a further table of a figure, whose name begins with the figure's
            named = (p for p in sorted((where / "figures").glob("*.svg"), reverse=True) if path.name.startswith(p.stem))
            picture = next(named, picture)
        found = record_in(read_bytes(picture, "FILE")) if picture.is_file() else None
        if found is None:
            raise NoProvenance(f"{path}: numbers and tables are explained by their figure, and {picture} is not there or says nothing")
        return _sound(found, picture), where
    found = record_in(data)
    if found is None:
        raise NoProvenance(f"{path}: holds no record of how it was made; figures, animations and reports of this pipeline do")
    # Paths are seen from the folder above the file's, unless the record says otherwise.
    return _sound(found, path), Path(os.path.normpath(here / found.get("folder", "..")))


def _sound(found: dict, path: Path) -> dict:
    """A record that is as it should be; NoProvenance names what is not."""
    if wrong := damage(found):
        raise NoProvenance(f"{path}: its record is damaged ({brief(wrong)})")
    return found


def digest_beside(path: Path) -> str | None:
    """SHA-256 of a file, of a figure without its record; None if it cannot be read, or is the kernel's."""
    try:
        real = Path(os.path.realpath(path))
        # No pipe, no device, nothing of the kernel's (a plain file there may wait for ever): a record may name anything.
        data = real.read_bytes() if real.is_file() and not _is_kernels(real) else None
    except (OSError, ValueError):
        return None
    if data is None:
        return None
    return drawing_digest(data) if path.suffix in (".svg", ".png", ".html") else sha256(data)


def _is_kernels(real: Path) -> bool:
    """Whether a path without links is below /proc, /sys or /dev; /dev/shm holds plain files only."""
    return real.parts[1:2] in {("proc",), ("sys",), ("dev",)} and real.parts[1:3] != ("dev", "shm")
