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

from ofancore.errors import EngineError, OfanError
from ofancore.p4.commands import add_commands as add_p4_commands

EXAMPLE = """examples:
  ofancore run                                             the paper's default: Ofan, 128 hosts, permutation of 1 MiB
  ofancore run --set balancer.kind=reps --set workload.message_packets=1024 --seed 3
  ofancore run my.yaml --out run.parquet --flows flows.csv
  ofancore list balancers
  ofancore bench --json bench.json"""


def main(argv: list[str] | None = None) -> int:
    """Parse, run, and turn refusals into status 2, internal faults into 3."""
    args = _parser().parse_args(argv)
    try:
        status = args.call(args) or 0
        print(end="", flush=True)  # here, where a full disk is still told of
        return status
    except EngineError as e:
        print(f"ofancore: {e}", file=sys.stderr)
        return 3
    except OfanError as e:
        print(f"ofancore: {e}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read the output has seen enough
        _drop_output()
        return 141
    except OSError as e:
        if e.filename is None:
            _drop_output()
        print(f"ofancore: {e.filename or 'output'}: {e.strerror or e}", file=sys.stderr)
        return 2
    except MemoryError:
        print("ofancore: the scenario needs more memory than this machine gives", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


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

    lists = sub.add_parser("list", help="list what a scenario may name")
    lists.add_argument("what", choices=["balancers", "workloads", "congestion", "recovery", "keys"])
    lists.set_defaults(call=_list)

    bench = sub.add_parser("bench", help="packet-hops a second on fixed cases (median of 5)")
    bench.add_argument("--json", metavar="FILE", help="write the figures there as well")
    bench.add_argument("--quick", action="store_true", help="the 128-host cases only, median of 3")
    bench.set_defaults(call=_bench)

    sub.add_parser("warmup", help="compile the engine and store it on disk").set_defaults(call=_warmup)
    sub.add_parser("source-digest", help="print the digest of the sources that raw runs depend on").set_defaults(call=_digest)
    check = sub.add_parser("check-config", help="validate a pipeline config")
    check.add_argument("config")
    check.set_defaults(call=_check)
    add_p4_commands(sub)
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


def _run(args) -> int:
    from ofancore.result import check_writable, write_table, write_whole
    from ofancore.scenario import Scenario
    from ofancore.simulate import simulate

    sets = args.set + ([f"seed={args.seed}"] if args.seed is not None else [])
    scenario = Scenario.from_yaml(args.scenario, sets)
    for path in filter(None, (args.out, args.flows, args.links)):
        check_writable(path)  # before the run, not after it
    with _interruptible():
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


def _drop_output() -> None:
    """Let nobody be told again, at exit, that what standard output still holds cannot be written."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _list(args) -> int:
    from ofancore import scenario as s

    if args.what == "keys":
        for key, default, text in scenario_keys(s.Scenario):
            print(f"{key:32} {default!s:12} {text}")
        return 0
    registry = s.REGISTRIES[{"balancers": "balancer", "workloads": "workload"}.get(args.what, args.what)]
    for name, entry in registry.items():
        keys = [f"{k}={f.default}" for k, f in entry.model_fields.items() if k != "kind"]
        print(f"{name:16} {entry.title:26} {(entry.__doc__ or '').strip().splitlines()[0]}" + (f"  [{', '.join(keys)}]" if keys else ""))
    return 0


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
    from ofancore.result import check_writable, write_whole

    if args.json:
        check_writable(args.json)
    report = json.dumps(bench(quick=args.quick), indent=1)
    if args.json:
        write_whole(args.json, lambda temporary: Path(temporary).write_text(report + "\n"))
    print(report)
    return 0


def _warmup(args) -> int:
    from ofancore.scenario import Scenario
    from ofancore.simulate import simulate

    simulate(Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"message_packets": 1}}))
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
