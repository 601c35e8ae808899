"""`ofancore explain FILE`: what made a figure, whether that is still there unchanged, and the command that makes it again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import yaml

from ofancore.errors import ScenarioError
from ofancore.provenance import digest_beside, drawing_digest, explained, said
from ofancore.reading import read_bytes

UNCHANGED, CHANGED, MISSING = "as then", "changed since", "not here"


def add_commands(sub) -> None:
    """Add `explain` and `drawing-digest` to the command line."""
    about = "say what made a figure (or its numbers or table), an animation or the report, from which runs, and how to make it again"
    explain = sub.add_parser("explain", help=about)
    explain.add_argument("file", metavar="FILE")
    explain.add_argument("--json", action="store_true", help="the whole record as JSON, with what has changed since")
    explain.add_argument("--grid", metavar="FILE", help="also write a config that asks for this figure and its runs, and no more")
    explain.set_defaults(call=_explain)

    about = "print digests of figures as sha256sum does, without what they say of their origin: equal where the drawings are"
    digests = sub.add_parser("drawing-digest", help=about)
    digests.add_argument("files", nargs="+", metavar="FILE")
    digests.set_defaults(call=_digests)


def _digests(args) -> int:
    found = [(drawing_digest(read_bytes(path, "FILE")), path) for path in args.files]  # all of them before the first line
    for digest, path in found:
        print(f"{digest}  {path}")
    return 0


def _explain(args) -> int:
    from ofancore.files import write_file

    record, folder = explained(args.file)
    if args.grid:
        if Path(args.grid).resolve() == Path(args.file).resolve():
            raise ScenarioError("--grid", args.grid, "must be another file than the figure")
        write_file(args.grid, grid_text(record))
    state = now(record, folder)
    print(json.dumps({**record, "now": state}, indent=1) if args.json else text(args.file, record, state, folder))
    return 0


def now(record: dict, folder: Path) -> dict:
    """What has become of the record's files below `folder`, and of the sources."""
    from ofancore.result import source_digest

    def state(path: str, digest: str) -> str:
        found = digest_beside(folder / path)
        return MISSING if found is None else UNCHANGED if found == digest else CHANGED

    return {
        "files": {path: state(path, digest) for path, digest in record["files"].items()},
        "runs": {path: state(path, run["sha256"]) for path, run in record["runs"].items()},
        "inputs": {path: state(path, digest) for path, digest in record["inputs"].items()},
        "sources": source_digest(),
        "again": again(record),
        "by_hand": by_hand(record),
    }


def again(record: dict) -> str:
    """The command that draws the figure anew, and simulates what is not there or not of these sources."""
    name, config = record["figure"], record.get("config") or "config/paper.yaml"
    if "command" in record and "rule" not in record:
        return by_hand(record)
    file, rule = ("report/index.html", record["rule"]) if "rule" in record else (f"figures/{name}.svg", f"figure_{name}")
    target = f"{record.get('results', 'results').rstrip('/')}/{file}"
    # the target first: the options that follow take any number of words
    return shlex.join([".venv/bin/snakemake", target, "--profile", "profiles/default", "--configfile", config, "--forcerun", rule])


def by_hand(record: dict) -> str:
    """The notebook alone, with the parameters that the pipeline wrote down; of what no notebook draws, the command that makes it."""
    if "command" in record:
        program, *words = record["command"]
        return shlex.join([f".venv/bin/{program}", *words])
    kept = f"{record.get('results', 'results').rstrip('/')}/notebooks/{record['figure']}"
    return shlex.join([".venv/bin/papermill", str(record.get("notebook")), f"{kept}.ipynb", "-f", f"{kept}.yaml"])


def grid_text(record: dict) -> str:
    """A config (YAML) of this figure alone; its results go to a folder of their own, its schemes and experiments are the record's."""
    grid = {
        "results": f"results_{record['figure']}",
        "seeds": max((e["seeds"] for e in record["experiments"].values()), default=1),
        "schemes": record["schemes"],
        "experiments": {name: {"about": f"Behind {record['figure']}.", **block} for name, block in record["experiments"].items()},
        "figures": {
            name: {
                "notebook": Path(str(of.get("notebook"))).stem,
                "category": of.get("category") or "Figure",
                "experiments": list(of["experiments"]),
                "parameters": of.get("parameters", {}),
            }
            for name, of in figures_of(record).items()
        },
    }
    return yaml.safe_dump(grid, sort_keys=False, width=140, allow_unicode=True, default_flow_style=None)


def figures_of(record: dict) -> dict[str, dict]:
    """What notebooks draw of it: of a figure itself, of the report all that it shows, of an animation nothing."""
    return record.get("figures", {} if "command" in record else {record["figure"]: record})


def text(file: str, record: dict, state: dict, folder: Path) -> str:
    """The record for people: what, from which runs, and how to have it again."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    simulated = sorted({f"{name} {run[name]}" for run in record["runs"].values() for name in ("numba", "numpy") if name in run})
    lines = [f"{file}: figure {record['figure']}, drawn by {record.get('notebook') or record.get('made_by') or 'a notebook'}", ""]
    lines += [f"commit      {said(record.get('commit'))}", "simulator   " + ", ".join([f"sources {record.get('sources')}", *simulated])]
    lines += [f"drawn with  {versions}", ""]
    lines += _states(record["files"], state["files"], lambda digest: digest[:16])
    lines += ["", f"raw runs, below {folder}" if record["runs"] else "raw runs    none: it simulates its own"]
    about = {path: f"{r['runs']:5} runs  scenarios {r['scenarios']}  sha256 {r['sha256'][:16]}" for path, r in record["runs"].items()}
    lines += _states(about, state["runs"])
    if record["inputs"]:
        lines += ["", "other inputs", *_states(record["inputs"], state["inputs"], lambda digest: f"sha256 {digest[:16]}")]
    lines += ["", "seeds       " + ", ".join(f"{name}: {_seeds(e)}" for name, e in record["experiments"].items())]
    lines += ["", "config", *("    " + line for line in grid_text(record).rstrip().splitlines())]
    lines += ["", "To make it again:", ""]
    if record.get("sources") != state["sources"]:
        known = record.get("commit")
        lines.append(f"    # The simulator here is another one ({state['sources']}): without the old one its runs are made anew.")
        lines += [f"    git checkout {known['id'][:12]}"] if known else []
    lines += [f"    {state['again']}"]
    if state["by_hand"] != state["again"]:
        lines += ["", f"or {'it' if 'command' in record else 'the notebook'} alone, from the same raw runs:", "", f"    {state['by_hand']}"]
    odd = [path for part in ("runs", "inputs") for path, found in state[part].items() if found != UNCHANGED]
    if odd:
        lines += ["", f"{len(odd)} of its inputs are not what they were (see above): the figure may come out differently."]
    return "\n".join(map(_shown, lines))


def _shown(line: str) -> str:
    """A line with escapes in place of what is not printable: a record may hold what a terminal obeys."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def _seeds(experiment: dict) -> str:
    kept = experiment["scenario"].get("seed")
    return f"0 to {experiment['seeds'] - 1}" if kept is None else str(kept)


def _states(found: dict, states: dict, shown=str) -> list[str]:
    wide = max((len(path) for path in found), default=0)
    return [f"    {path:{wide}}  {states[path]:13}  {shown(value)}" for path, value in found.items()]
