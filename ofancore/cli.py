"""The command line. Bad input ends with status 2 and one line that names the key, the value and the rule."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ofancore.errors import EngineError, OfanError, ScenarioError

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
        return args.call(args) or 0
    except EngineError as e:
        print(f"ofancore: {e}", file=sys.stderr)
        return 3
    except OfanError as e:
        print(f"ofancore: {e}", file=sys.stderr)
        return 2
    except OSError as e:
        print(f"ofancore: {e.filename or 'output'}: {e.strerror or e}", file=sys.stderr)
        return 2
    except MemoryError:
        print("ofancore: the scenario needs more memory than this machine gives", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser("ofancore", description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(required=True, metavar="COMMAND")

    run = sub.add_parser("run", help="simulate one scenario and print its metrics as JSON", epilog=EXAMPLE, formatter_class=p.formatter_class)
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

    group = sub.add_parser("group", help="simulate a run group of the pipeline")
    group.add_argument("--spec", required=True, metavar="FILE", help='JSON: {"experiment", "label", "scenarios": [...]}')
    group.add_argument("--out", required=True, metavar="FILE", help="Parquet, one row a run, written whole or not at all")
    group.set_defaults(call=_group)

    sub.add_parser("warmup", help="compile the engine and store it on disk").set_defaults(call=_warmup)
    sub.add_parser("source-digest", help="print the digest of the sources that raw runs depend on").set_defaults(call=_digest)
    check = sub.add_parser("check-config", help="validate a pipeline config")
    check.add_argument("config")
    check.set_defaults(call=_check)
    return p


def _run(args) -> int:
    from ofancore.result import write_table, write_whole
    from ofancore.scenario import Scenario
    from ofancore.simulate import simulate

    sets = args.set + ([f"seed={args.seed}"] if args.seed is not None else [])
    result = simulate(Scenario.from_yaml(args.scenario, sets), threads=args.threads)
    if args.out:
        write_table([result.row()], args.out)
    for path, table in ((args.flows, "flows"), (args.links, "links")):
        if path:
            frame = getattr(result, table)
            write_whole(path, lambda temporary: frame.to_csv(temporary, index=False))
    print(result.to_json())
    if not result.finished:
        print(f"ofancore: {result.summary()}", file=sys.stderr)
    return 0


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
    from ofancore.result import write_whole

    report = json.dumps(bench(quick=args.quick), indent=1)
    if args.json:
        write_whole(args.json, lambda temporary: Path(temporary).write_text(report + "\n"))
    print(report)
    return 0


def _group(args) -> int:
    from ofancore.result import write_table
    from ofancore.scenario import Scenario
    from ofancore.simulate import simulate

    try:
        spec = json.loads(Path(args.spec).read_text())
        experiment, label, scenarios = spec["experiment"], spec["label"], spec["scenarios"]
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as e:
        raise ScenarioError("--spec", args.spec, f"must be JSON with experiment, label and scenarios ({e})") from None
    rows = [{"experiment": experiment, "label": label, **simulate(Scenario.from_dict(s)).row()} for s in scenarios]
    write_table(rows, args.out)
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
