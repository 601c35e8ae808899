"""One switch of a fabric as the simulator sees it: its groups, pointers, schedules and ports.

Everything comes from `prepare`, which also makes the arrays that the simulator starts from; nothing about schedules is worked out here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ofancore.balancers.base import N_ORDERS
from ofancore.errors import ScenarioError
from ofancore.fabric import AGG, EDGE
from ofancore.failures import EVERYBODY, NEIGHBOURS
from ofancore.p4.sources import PIPES_MAX, PROGRAMS, check_radix
from ofancore.prepare import Inputs, prepare
from ofancore.scenario import Scenario

KNOWS = {"nothing": -1, "neighbours": NEIGHBOURS, "everybody": EVERYBODY}
BINS = 2  # data, small


def scenario_of(program: str, radix: int, seed: int = 0, failures: dict | None = None, pipes: int = PIPES_MAX) -> Scenario:
    """The scenario whose switches are meant: a three-tier fat tree with the program's balancer and one packet to send."""
    if program not in PROGRAMS:
        raise ScenarioError("program", program, f"must be one of: {', '.join(PROGRAMS)}")
    check_radix(radix)
    if not 1 <= pipes <= PIPES_MAX:
        raise ScenarioError("pipes", pipes, f"must be 1 to {PIPES_MAX}")
    balancer = {"kind": program, **({"pipes": pipes} if program == "pofan" else {})}
    return Scenario.from_dict(
        {
            "fabric": {"radix": radix},
            "balancer": balancer,
            "workload": {"kind": "pairs", "message_packets": 1, "pairs": [[0, 1]]},
            "failures": failures or {},
            "seed": seed,
        }
    )


@dataclass(frozen=True)
class SwitchView:
    """A switch with uplinks: edge or aggregation.

    Ports are numbered as the simulator numbers input ports: lower neighbours first, then uplinks. Groups are destination edge switches
    (of an edge switch) or pods (of an aggregation switch); `me` is the switch's own.
    """

    inputs: Inputs
    name: str
    tier: int
    node: int
    me: int
    n_groups: int
    width: int  # uplinks
    below: int  # ports to lower neighbours
    pipes: int

    @classmethod
    def of(cls, inputs: Inputs, name: str, pipes: int = PIPES_MAX) -> SwitchView:
        """The switch `edge:POD:INDEX` or `agg:POD:INDEX`; ScenarioError if there is none."""
        f = inputs.fabric
        rule = f"must be edge:POD:INDEX or agg:POD:INDEX with POD 0 to {f.P - 1}, INDEX 0 to {f.E - 1}"
        named = re.fullmatch(r"(edge|agg):(0|[1-9][0-9]*):(0|[1-9][0-9]*)", name, re.ASCII)
        if not named:
            raise ScenarioError("switch", name, rule)
        kind, pod, index = named[1], int(named[2]), int(named[3])
        if not (pod < f.P and index < (f.E if kind == "edge" else f.A)):
            raise ScenarioError("switch", name, rule)
        _, first_edge, first_agg, _, _ = f.node_base
        if kind == "edge":
            place = pod * f.E + index
            return cls(inputs, name, EDGE, first_edge + place, place, f.n_edges, f.A, f.S, pipes)
        return cls(inputs, name, AGG, first_agg + pod * f.A + index, pod, f.P, f.C, f.E, pipes)

    @property
    def n_ports(self) -> int:
        return self.below + self.width

    @property
    def per_pipe(self) -> bool:
        """Whether each pipe has pointers of its own (pofan)."""
        return self.inputs.scenario.balancer.kind == "pofan"

    def register_of(self, group: int, small: int, pipe: int = 0) -> int:
        """Where the simulator keeps a pointer of this switch, in `sw.reg`."""
        index = BINS * group + small
        return int(self.inputs.sw.first[self.node]) + (index * self.pipes + pipe if self.per_pipe else index)

    def schedule(self, group: int, knows: str) -> int:
        """The number of the weighted schedule towards a group; -1: all uplinks are equal."""
        known = KNOWS[knows]
        if known < 0 or not self.inputs.damage.any:
            return -1
        return int(self.inputs.sched_of[known, self.inputs.sched_first[self.node] + group])

    def slots(self, group: int, knows: str, order: int = -1) -> tuple[int, ...]:
        """Uplinks in the slots of the schedule towards a group, in a random port order (as numbered in `sw.reg`) or the plain one.

        Empty: no path is left.
        """
        sw, number = self.inputs.sw, self.schedule(group, knows)
        if number < 0:
            return tuple(range(self.width)) if order < 0 else tuple(sw.orders[order, : self.width].tolist())
        offset, length = sw.sched[number].tolist()
        first = offset + (0 if order < 0 else 1 + order % N_ORDERS) * length
        return tuple(sw.slots[first : first + length].tolist())

    def pointer(self, registers: np.ndarray, group: int, small: int, pipe: int = 0) -> tuple[int, int]:
        """(position, order) of a pointer in the simulator's registers."""
        packed = int(registers[self.register_of(group, small, pipe)])
        return packed & 0xFFFF, packed >> 16


def view(program: str, radix: int, switch: str, seed: int = 0, failures: dict | None = None, pipes: int = PIPES_MAX) -> SwitchView:
    """The named switch of the fabric in its initial state."""
    return SwitchView.of(prepare(scenario_of(program, radix, seed, failures, pipes)), switch, pipes)
