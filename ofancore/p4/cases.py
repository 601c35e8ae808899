"""The recorded cases: traces that BMv2 has replayed, and what came out, in `data/p4/replay`.

They cover both kinds of switches, all programs, fabrics of radix 8 and 12 (schedules of 4 and 6 slots, after failures of 15, 35 and
others), links of the switch's own, elsewhere, and of half the rate, every pipe, and a dead link that only the data plane knows of.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from ofancore.errors import ScenarioError
from ofancore.files import write_file
from ofancore.p4.bmv2 import COMPILER, CONTROL, SWITCH, missing, replay
from ofancore.p4.sources import P4, PROGRAMS
from ofancore.p4.trace import Trace, trace_of

FOLDER = P4.parent / "data" / "p4" / "replay"

# A cable of the edge switch, one of the aggregation switch, one to a pod elsewhere, one of half the rate elsewhere.
BROKEN = {
    "cables": [
        {"cable": "edge:0:1-agg:0:2", "capacity": 0.0},
        {"cable": "agg:0:1-core:1:0", "capacity": 0.0},
        {"cable": "agg:2:0-core:0:1", "capacity": 0.0},
        {"cable": "agg:3:1-core:1:2", "capacity": 0.5},
    ]
}
SWITCHES = {"edge": "edge:0:1", "agg": "agg:0:1"}


@dataclass(frozen=True)
class Case:
    name: str
    program: str
    radix: int
    switch: str
    failures: dict
    dead: tuple[int, ...] = ()
    packets: int = 1500
    seed: int = 1

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.json"

    def trace(self) -> Trace:
        return trace_of(self.program, self.radix, self.switch, packets=self.packets, seed=self.seed, failures=self.failures, dead=self.dead)


def cases() -> list[Case]:
    """All cases: program-radix-switch, and program-radix-switch-dead for links that only the data plane knows of."""
    found = []
    for program in PROGRAMS:
        for radix in (8, 12):
            found += [Case(f"{program}-r{radix}-{kind}", program, radix, switch, BROKEN) for kind, switch in SWITCHES.items()]
        found.append(Case(f"{program}-r8-edge-dead", program, 8, SWITCHES["edge"], {}, dead=(1,)))
    return found


def record(folder: str | None, names: list[str] | None) -> int:
    """Replay the cases here and write what came out; status 2 if a program is missing."""
    known = {case.name: case for case in cases()}
    for name in names or ():
        if name not in known:
            raise ScenarioError("case", name, f"must be one of: {', '.join(known)}")
    lacking = missing()
    if lacking:
        raise ScenarioError("PATH", lacking, f"replay needs {COMPILER}, {SWITCH} and {CONTROL}")
    target = Path(folder) if folder else FOLDER
    for name in names or known:
        write_file(target / f"{name}.json", json.dumps(replay(known[name].trace()), indent=1) + "\n")
        print(name, file=sys.stderr)
    return 0
