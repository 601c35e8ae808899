"""The command line. Bad input ends with status 2 and one line that names the key, the value and the rule."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path

from ofancore.console import exit_status, say_compiling
from ofancore.errors import ScenarioError
from ofancore.explain import add_commands as add_explain_commands
from ofancore.p4.commands import add_commands as add_p4_commands

EXAMPLE = """examples:
  ofancore run                                             the paper's default: Ofan, 128 hosts, permutation of 1 MiB
  ofancore run --set balancer.kind=reps --set workload.message_packets=1024 --seed 3
  ofancore run my.yaml --out run.parquet --flows flows.csv
  ofancore paths --set balancer.kind=ecmp --flows          which links carry how much, and which flows share them
  ofancore animate --out queues.html                       queues building up under ops and ofan, drawn as the tree
  ofancore list balancers
  ofancore explain results/figures/league.svg              what made a figure, and how to make it again
  ofancore bench --json bench.json"""

ANIMATE_EXAMPLE = """examples:
  ofancore animate --out queues.html
  ofancore animate --schemes ecmp reps --set fabric.radix=4 --set workload.message_packets=256 --out queues.html"""


def main(argv: list[str] | None = None) -> int:
    """Parse, run, and turn refusals into status 2, internal faults into 3."""

    def call() -> int | None:
        args = _parser().parse_args(argv)
        return args.call(args)

    return exit_status("ofancore", call)


class _Parser(argparse.ArgumentParser):
    """One line in place of the usage."""

    def error(self, message: str):
        self.exit(2, f"ofancore: {message} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    p = _Parser("ofancore", description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(required=True, metavar="COMMAND")

    about = "simulate one scenario and print its metrics as JSON"
    run = sub.add_parser("run", help=about, epilog=EXAMPLE, formatter_class=p.formatter_class)
    run.add_argument("scenario", nargs="?", help="YAML file; without it, the defaults")
    run.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a dotted key (repeatable)")
    run.add_argument("--seed", type=int, help="the same as --set seed=N")
    run.add_argument("--threads", type=int, default=1, help="threads for one large fabric (same result for any number)")
    run.add_argument("--out", metavar="FILE", help="also write the raw run as Parquet")
    run.add_argument("--flows", metavar="FILE", help="also write a table of flows (CSV)")
    run.add_argument("--links", metavar="FILE", help="also write a table of links (CSV)")
    run.set_defaults(call=_run)

    about = "simulate one scenario and print who is on which link: loads by stage, the busiest links, the flows that share them"
    paths = sub.add_parser("paths", help=about)
    paths.add_argument("scenario", nargs="?", help="YAML file; without it, the defaults")
    paths.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a dotted key (repeatable)")
    paths.add_argument("--seed", type=int, help="the same as --set seed=N")
    paths.add_argument("--threads", type=int, default=1, help="threads for one large fabric (same result for any number)")
    paths.add_argument("--flows", action="store_true", dest="by_flow", help="flow by flow: the run a second time, packet by packet, slowly")
    paths.add_argument("--force", action="store_true", help="flow by flow also where that takes more than a few minutes")
    paths.add_argument("--top", type=int, default=10, metavar="N", help="links, flows of a link and pairs that are shown (default: 10)")
    paths.add_argument("--out", metavar="FILE", help="also write a table (.csv or .parquet): a row a link; with --flows, a flow and link")
    paths.set_defaults(call=_paths, flows=None, links=None)

    about = "write an animation of queues building up on the fat tree under two schemes: one HTML page that works offline"
    animate = sub.add_parser("animate", help=about, description=about, epilog=ANIMATE_EXAMPLE, formatter_class=p.formatter_class)
    animate.add_argument("scenario", nargs="?", help="YAML file; without it, the defaults with 1,024 packets a message")
    animate.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a dotted key (repeatable)")
    animate.add_argument("--seed", type=int, help="the same as --set seed=N")
    animate.add_argument("--schemes", nargs=2, default=["ops", "ofan"], metavar="KIND", help="left and right (default: ops ofan)")
    animate.add_argument("--out", metavar="FILE", required=True, help="the page to write (.html)")
    animate.set_defaults(call=_animate, flows=None, links=None)

    export = sub.add_parser("export-htsim", help="write a scenario's workload as a connection matrix of htsim")
    export.add_argument("scenario", nargs="?", help="YAML file; without it, the defaults")
    export.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a dotted key (repeatable)")
    export.add_argument("--out", metavar="FILE", required=True, help="the .cm file to write")
    export.add_argument(
        "--trigger-on",
        choices=("send", "recv"),
        default="send",
        help="what starts a connection that waits for data: the sender's last ACK (send, the default: htsim runs it) or the arrival itself "
        "(recv: exact, but htsim reads recv_done_trigger and never fires it)",
    )
    export.set_defaults(call=_export, flows=None, links=None)

    lists = sub.add_parser("list", help="list what a scenario may name, and what a result holds")
    lists.add_argument("what", choices=["balancers", "workloads", "congestion", "recovery", "keys", "metrics"])
    lists.set_defaults(call=_list)

    bench = sub.add_parser("bench", help="packet-hops a second on fixed cases (median of 5)")
    bench.add_argument("--json", metavar="FILE", help="write the figures there as well")
    bench.add_argument("--quick", action="store_true", help="the 128-host cases only, median of 3")
    bench.add_argument("--balancer", action="append", metavar="KIND", help="this one in place of ofan and ops (repeatable)")
    bench.set_defaults(call=_bench)

    warmup = sub.add_parser("warmup", help="compile the engine and store it on disk")
    warmup.add_argument("--threads", type=int, default=1, help="more than 1: the engine that shares a run among threads")
    warmup.set_defaults(call=_warmup)
    sub.add_parser("source-digest", help="print the digest of the sources that raw runs depend on").set_defaults(call=_digest)
    check = sub.add_parser("check-config", help="validate a pipeline config")
    check.add_argument("config")
    check.set_defaults(call=_check)
    add_p4_commands(sub)
    add_explain_commands(sub)
    return p


@contextlib.contextmanager
def _interruptible():
    """Ctrl-C ends the process at once: Python cannot act on it while compiled code runs. For stretches that write no files."""
    own = signal.getsignal(signal.SIGINT) is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if not own:  # Python's own answer, that is; another one is left alone
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _refuse_shared_paths(args) -> None:
    """ScenarioError if one file would take the place of another, or of a folder that it lies in."""
    taken: dict[str, str] = {}
    for option in ("scenario", "out", "flows", "links"):
        path = getattr(args, option)
        if path is not None:
            real = os.path.realpath(path)
            for other, there in taken.items():
                if os.path.commonpath([real, there]) in (real, there):
                    raise ScenarioError(f"--{option}", path, f"must be another place than that of {other}")
            taken[option if option == "scenario" else f"--{option}"] = real


def _run(args) -> int:
    from ofancore.files import check_writable, write_whole
    from ofancore.jit import before_compiling
    from ofancore.result import write_table
    from ofancore.scenario import Scenario
    from ofancore.simulation import simulate

    sets = args.set + ([f"seed={args.seed}"] if args.seed is not None else [])
    scenario = Scenario.from_yaml(args.scenario, sets)
    _refuse_shared_paths(args)
    for path in (args.out, args.flows, args.links):
        if path is not None:
            check_writable(path)  # before the run, not after it
    with _interruptible(), before_compiling(say_compiling):
        result = simulate(scenario, threads=args.threads)
    if args.out:
        write_table([result.row()], args.out)
    if args.flows:
        write_whole(args.flows, lambda temporary: result.flows.to_csv(temporary, index=False))
    if args.links:
        write_whole(args.links, lambda temporary: result.links.to_csv(temporary, index=False))
    print(result.to_json(), flush=True)
    if not result.finished:
        print(f"ofancore: {result.summary()}", file=sys.stderr)
    return 0


def _paths(args) -> int:
    from ofancore import path_report, paths
    from ofancore.files import check_writable
    from ofancore.jit import before_compiling
    from ofancore.scenario import Scenario
    from ofancore.simulation import simulate
    from ofancore.watch import flow_use

    sets = args.set + ([f"seed={args.seed}"] if args.seed is not None else [])
    scenario = Scenario.from_yaml(args.scenario, sets)
    if args.top < 1:
        raise ScenarioError("--top", args.top, "must be at least 1")
    if args.force and not args.by_flow:
        raise ScenarioError("--force", True, "goes with --flows")
    _refuse_shared_paths(args)
    if args.out is not None:
        path_report.check_suffix(args.out)
        check_writable(args.out)
    with _interruptible(), before_compiling(say_compiling):
        result = simulate(scenario, threads=args.threads)
    links = paths.link_table(result)
    use = flow_use(result, args.force, _Ticker()) if args.by_flow else None
    if args.out:
        path_report.write(links if use is None else paths.named(use, links), args.out, result)
    print(path_report.report(result, links, use, args.top), flush=True)
    return 0


def _animate(args) -> int:
    from ofancore import animate
    from ofancore.files import check_writable, write_whole
    from ofancore.jit import before_compiling
    from ofancore.provenance import animation_record, embedded
    from ofancore.scenario import DEFAULTS, Scenario

    sets = args.set + ([f"seed={args.seed}"] if args.seed is not None else [])
    if args.scenario is None:  # queues that grow with the message need time to
        sets = ["workload.kind=permutation", "workload.message_packets=1024", *sets]
    scenario = Scenario.from_yaml(args.scenario, sets)
    kind = scenario.balancer.kind
    if len(set(args.schemes)) < 2:
        raise ScenarioError("--schemes", " ".join(args.schemes), "must be two different ones")
    if kind not in args.schemes and kind != DEFAULTS["balancer"]:
        raise ScenarioError("balancer.kind", kind, f"must be one of --schemes, {' and '.join(args.schemes)}")
    _refuse_shared_paths(args)
    check_writable(args.out)
    with _interruptible(), before_compiling(say_compiling):
        runs = animate.runs_of(scenario, args.schemes)
    page = animate.page(runs).encode()
    given = [args.scenario] if args.scenario else []
    options = [word for one in args.set for word in ("--set", one)] + (["--seed", str(args.seed)] if args.seed is not None else [])
    command = ["ofancore", "animate", *given, *options, "--schemes", *args.schemes, "--out", args.out]
    scenarios = {label: run.result.scenario.to_dict() for label, run in runs.items()}
    record = animation_record(page, args.out, command, scenarios, args.scenario)
    write_whole(args.out, lambda temporary: Path(temporary).write_bytes(embedded(page, "html", record)))
    return 0


class _Ticker:
    """Tells on standard error how far a slow run is, every so many seconds."""

    every_s = 5.0

    def __init__(self):
        self.told = 0.0

    def __call__(self, done: int, total: int, seconds: float) -> None:
        from ofancore.progress import duration

        if seconds - self.told >= self.every_s:
            self.told = seconds
            left = duration(seconds / done * (total - done))
            print(f"ofancore: {done:,} of {total:,} packet-hops, about {left} left", file=sys.stderr, flush=True)


def _export(args) -> int:
    from ofancore.files import check_writable, write_whole
    from ofancore.htsim import matrix_text
    from ofancore.scenario import Scenario

    scenario = Scenario.from_yaml(args.scenario, args.set)
    _refuse_shared_paths(args)
    check_writable(args.out)
    text = matrix_text(scenario, args.trigger_on)
    write_whole(args.out, lambda temporary: Path(temporary).write_text(text))
    return 0


def _list(args) -> int:
    from ofancore import glossary
    from ofancore import scenario as s

    if args.what == "metrics":
        parts = {
            "metrics": glossary.METRICS,
            "columns of --flows": glossary.FLOWS,
            "columns of --links": glossary.LINK_ROWS,
            "stages of paths": glossary.TIERS,
            "columns of paths --out, before those of --links": glossary.PATH_LINKS,
            "columns of paths --flows --out, then the link's": glossary.USE,
            "link classes": glossary.LINKS,
        }
        for part, words in parts.items():
            print(f"# {part}")
            for name, (unit, meaning) in words.items():
                print(f"{name:24} {unit:20} {meaning}")
        return 0
    if args.what == "keys":
        for key, default, text in scenario_keys(s.Scenario):
            print(f"{key:32} {as_yaml(default):12} {text}")
        return 0
    registry = s.REGISTRIES[{"balancers": "balancer", "workloads": "workload"}.get(args.what, args.what)]
    for name, entry in registry.items():
        keys = [f"{k}={as_yaml(f.default)}" for k, f in entry.model_fields.items() if k != "kind"]
        print(f"{name:16} {entry.title:26} {(entry.__doc__ or '').strip().splitlines()[0]}" + (f"  [{', '.join(keys)}]" if keys else ""))
    return 0


def as_yaml(value: object) -> str:
    """A default as one would write it in YAML."""
    return {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)


def scenario_keys(model, prefix: str = ""):
    """(dotted key, default, description) of every key of a scenario model; the kinds' own keys are listed by `list`."""
    from pydantic import BaseModel

    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel) and "kind" not in type(field.default).model_fields:
            yield from scenario_keys(type(field.default), f"{prefix}{name}.")
        else:
            default = field.default.kind if isinstance(field.default, BaseModel) else field.default
            yield prefix + name + (".kind" if isinstance(field.default, BaseModel) else ""), default, field.description or ""


def _bench(args) -> int:
    from ofancore.bench import bench
    from ofancore.files import check_writable, write_whole
    from ofancore.jit import before_compiling

    if args.json:
        check_writable(args.json)
    with before_compiling(say_compiling):
        report = json.dumps(bench(quick=args.quick, balancers=args.balancer), indent=1)
    if args.json:
        write_whole(args.json, lambda temporary: Path(temporary).write_text(report + "\n"))
    print(report)
    return 0


def _warmup(args) -> int:
    from ofancore.scenario import Scenario
    from ofancore.simulation import simulate

    simulate(Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"message_packets": 1}}), threads=args.threads)
    return 0


def _digest(args) -> int:
    from ofancore.result import source_digest

    print(source_digest())
    return 0


def _check(args) -> int:
    from ofancore.config import load_config

    load_config(args.config)
    return 0


if __name__ == "__main__":
    sys.exit(main())
