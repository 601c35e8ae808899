"""The `ofancore p4-...` commands. Modules that need the simulator are imported when a command runs."""

from __future__ import annotations

import json
from pathlib import Path

from ofancore.errors import ScenarioError

PROGRAMS = ("ofan", "pofan", "ecmp")
TARGETS = ("v1model", "tofino", "tofino2")


def add_commands(sub) -> None:
    """Add the commands to the command line's subparsers."""
    about = "table entries and initial registers of a switch for its P4 program, as JSON"
    entries = sub.add_parser("p4-entries", help=about)
    _switch(entries)
    entries.add_argument("--target", choices=TARGETS, default="v1model", help="numbers of ports and registers (default: v1model)")
    entries.add_argument("--knows", choices=["nothing", "neighbours", "everybody"], default="everybody", help="what is known of failures")
    entries.set_defaults(call=_entries)

    about = "packets into a switch and where the simulator sends each, as JSON"
    trace = sub.add_parser("p4-trace", help=about)
    _switch(trace)
    trace.add_argument("--packets", type=int, default=1500, help="packets a stage (default: 1500)")
    trace.add_argument("--dead", type=int, nargs="+", default=[], metavar="UPLINK", help="uplinks whose link is down, unknown to control")
    trace.add_argument("--pcaps", metavar="DIR", help="also write the packets there: STAGE/pN_in.pcap of every front port N")
    trace.set_defaults(call=_trace)

    about = "replay the recorded cases on BMv2 (p4c-bm2-ss, simple_switch and simple_switch_CLI on the PATH) and record the outputs"
    replay = sub.add_parser("p4-replay", help=about)
    replay.add_argument("--out", metavar="DIR", help="where to write (default: data/p4/replay)")
    replay.add_argument("--case", nargs="+", metavar="NAME", help="only these cases")
    replay.set_defaults(call=_replay)

    about = "compile the programs for Tofino with what is on the PATH, or take a folder of compilers' outputs, and record resource reports"
    reports = sub.add_parser("p4-reports", help=about)
    reports.add_argument("folder", nargs="?", help="outputs, as PROGRAM-TARGET-rRADIX/ with a file `source` (its digest) in each")
    reports.add_argument("--out", metavar="DIR", help="where to write (default: data/p4/reports)")
    reports.add_argument("--keep", metavar="DIR", help="also keep the compilers' own outputs there, in the layout that FOLDER has")
    reports.set_defaults(call=_reports)

    about = "gather the reports of all builds into one file: made with the compiler on the PATH, else the recorded ones"
    collect = sub.add_parser("p4-collect", help=about)
    collect.add_argument("out", metavar="FILE")
    collect.set_defaults(call=_collect)

    digest = sub.add_parser("p4-digest", help="print the digest of every program, target and radix that reports are wanted for")
    digest.set_defaults(call=_digest)


def _switch(parser) -> None:
    parser.add_argument("--radix", type=int, required=True, metavar="K", help="ports of a switch, 8 to 64")
    parser.add_argument("--switch", required=True, metavar="NAME", help="edge:POD:INDEX or agg:POD:INDEX")
    parser.add_argument("--program", choices=PROGRAMS, default="ofan")
    parser.add_argument("--failures", metavar="FILE", help="YAML: the keys under `failures` of a scenario")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pipes", type=int, default=4, help="pipes of the switch, 1 to 4 (default: 4)")
    parser.add_argument("--out", metavar="FILE", help="write there, not to standard output")


def read_failures(path: str | None) -> dict:
    """The mapping in a YAML file; ScenarioError if there is none."""
    import yaml

    if path is None:
        return {}
    try:
        data = yaml.safe_load(Path(path).read_text())
    except FileNotFoundError:
        raise ScenarioError("failures", path, "no such file") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ScenarioError("failures", path, "not readable as YAML: " + " ".join(str(error).split())) from None
    if not isinstance(data, dict):
        raise ScenarioError("failures", path, "must hold keys, such as cables or link_failure_rate")
    return data.get("failures", data) if set(data) == {"failures"} else data


def _write(args, document: dict) -> int:
    from ofancore.files import write_file

    text = json.dumps(document, separators=(",", ":")) + "\n"
    if args.out is not None:
        write_file(args.out, text)
    else:
        print(text, end="")
    return 0


def _entries(args) -> int:
    from ofancore.p4.entries import entries_of

    failures = read_failures(args.failures)
    asked = {"target": args.target, "seed": args.seed, "failures": failures, "knows": args.knows, "pipes": args.pipes}
    return _write(args, entries_of(args.program, args.radix, args.switch, **asked))


def _trace(args) -> int:
    from ofancore.p4.trace import trace_of

    trace = trace_of(
        args.program,
        args.radix,
        args.switch,
        packets=args.packets,
        seed=args.seed,
        failures=read_failures(args.failures),
        pipes=args.pipes,
        dead=tuple(args.dead),
    )
    if args.pcaps:
        from ofancore.p4.bmv2 import write_inputs

        for number, stage in enumerate(trace.stages):
            folder = Path(args.pcaps, f"{number}_{stage.knows}")
            folder.mkdir(parents=True, exist_ok=True)
            write_inputs(folder, stage, args.radix)
    return _write(args, trace.document())


def _replay(args) -> int:
    from ofancore.p4.cases import record

    return record(args.out, args.case)


def _reports(args) -> int:
    from ofancore.p4 import reports

    return reports.record(args.folder, args.out, args.keep)


def _collect(args) -> int:
    from ofancore.p4.reports import collect

    collect(args.out)
    return 0


def _digest(args) -> int:
    from ofancore.p4.resources import cells
    from ofancore.p4.sources import digest

    for cell in cells():
        print(cell.name, digest(cell.program, cell.target, cell.radix))
    return 0
