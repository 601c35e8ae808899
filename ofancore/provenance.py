"""What a figure file says of itself: the runs that fed it, what drew it, and with which versions.

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
        found = next((chunk[8 + len(_CHUNK) : -4] for chunk in _chunks(data) if _is_ours(chunk)), None)
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


def made_with() -> dict[str, str]:
    """Versions of this process, of what figures depend on."""
    from ofancore import __version__

    return {"ofancore": __version__, "python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


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
    scenarios = list(scenarios)
    about = json.loads((pq.read_schema(path).metadata or {}).get(b"ofan", b"{}"))
    return {
        "sha256": sha256(path.read_bytes()),
        "scenarios": digest_of_scenarios(scenarios),
        "runs": len(scenarios),
        "seeds": group.seeds,
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
        "sources": source_digest(),
        "commit": commit(),
        "versions": made_with(),
        "files": files,
        "runs": runs,
        "inputs": inputs,
        **grid_of(groups),
    }


# ---- of a file that somebody points to


def explained(path: str | Path) -> tuple[dict, Path]:
    """The record behind a figure, or behind the numbers or the table beside it, and the results folder that the file lies in.

    NoProvenance if there is none, ScenarioError if the file cannot be read.
    """
    path = Path(path)
    data = read_bytes(path, "FILE")
    where = Path(os.path.abspath(path)).parent.parent
    if Path(os.path.abspath(path)).parent.name in ("numbers", "tables"):
        picture = where / "figures" / f"{path.stem}.svg"
        found = record_in(read_bytes(picture, "FILE")) if picture.is_file() else None
        if found is None:
            raise NoProvenance(f"{path}: numbers and tables are explained by their figure, and {picture} is not there or says nothing")
        return found, where
    found = record_in(data)
    if found is None:
        raise NoProvenance(f"{path}: holds no record of how it was made; figures of this pipeline (SVG, PNG, HTML) do")
    wanted = {"figure": str, "files": dict, "runs": dict, "schemes": dict, "experiments": dict, "versions": dict, "inputs": dict}
    if bad := [key for key, kind in wanted.items() if not isinstance(found.get(key), kind)]:
        raise NoProvenance(f"{path}: its record is damaged ({brief(bad)})")
    return found, where


def digest_beside(path: Path) -> str | None:
    """SHA-256 of a file, of a figure without its record; None if it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return drawing_digest(data) if path.suffix in (".svg", ".png", ".html") else sha256(data)
