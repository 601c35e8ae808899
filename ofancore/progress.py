"""Progress of the pipeline with an estimate of the time left: a line a finished job.

At the start `begin` writes down what is to do and what each job should take. A job that ends calls `done`, which
leaves a small record and says how far things are: expected seconds still to do, times how long an expected second took since
the first job began (compiling comes before that) and, while few have ended, should take. Records say nothing about
results; losing them costs an estimate.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from ofancore.files import write_file

GUESSED_SECONDS = 60.0  # as if so many expected seconds had already taken what they should


def _folder(results: str | Path) -> Path:
    return Path(results) / "raw" / ".progress"


def _record(results: str | Path, job: str) -> Path:
    return _folder(results) / (job.replace("/", "--") + ".json")


def _read(path: Path) -> dict:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def begin(results: str | Path, todo: dict[str, float], cores: int = 1, now: float | None = None) -> None:
    """`todo`: the jobs of this run of the pipeline -> the seconds of one core that each should take."""
    write_file(_folder(results) / "plan.json", json.dumps({"start": time.time() if now is None else now, "cores": cores, "todo": todo}))


def done(results: str | Path, job: str, seconds: float, now: float | None = None) -> str:
    """Record that a job ended after `seconds` and return the line to print."""
    now = time.time() if now is None else now
    write_file(_record(results, job), json.dumps({"seconds": round(seconds, 2), "ended": now}))
    line = f"{job}: {seconds:.1f} s"
    plan = _read(_folder(results) / "plan.json")
    if job not in plan.get("todo", {}):
        return line
    todo = plan["todo"]
    ended = {name: r for name in todo if (r := _read(_record(results, name))) and r.get("ended", 0) >= plan["start"]}
    line = f"[{len(ended)}/{len(todo)}] {line}"
    left = sum(s for name, s in todo.items() if name not in ended)
    if not left:
        return line
    took = now - min(r["ended"] - r["seconds"] for r in ended.values())
    pace = (took + GUESSED_SECONDS / plan["cores"]) / (sum(todo[name] for name in ended) + GUESSED_SECONDS)
    return f"{line}, about {duration(left * pace)} left"


def duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
