"""Table entries and initial register values of a switch: what a control plane would install, from the simulator's own state.

The document (`ofancore p4-entries`) is one JSON object:

    program, target, radix, switch, seed, pipes, failures, knows      what was asked for
    source                                                           digest of the P4 sources that it fits
    tables      {P4Runtime name: [{match: {field: value or [value, prefix length]}, action: name, params: {name: value}}]}
    registers   [{name, pipe, values: [[index, value], ...]}]        pipe: null where the register is shared; indices not named hold 0
    multicast   [{group, ports}]                                     Tofino: where the news of a dead link is copied to
    pointers    pointers of the switch, as the simulator counts them

All values are integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ofancore.balancers import BALANCERS
from ofancore.balancers.base import Shape
from ofancore.bits import mix32
from ofancore.errors import ScenarioError
from ofancore.fabric import EDGE
from ofancore.p4.addresses import FIRST_LANE, PORTS_PER_PIPE, ROUTER_MAC, Addresses, port_number
from ofancore.p4.sources import TARGETS, Sizes, digest, sizes
from ofancore.p4.switches import BINS, KNOWS, SwitchView, view

FORWARD = "SwitchIngress.forward"
PORTS, ROUTE, SCHEDULE, SLOTS = (f"{FORWARD}.{name}" for name in ("ports.ports", "route.route", "schedule.schedule", "slots.slots"))
POINTERS = f"{FORWARD}.choose.pointers"
PORT_DOWN_GROUPS = 0x4000
LONGEST_POSITION = 1 << 16


def entries_of(
    program: str,
    radix: int,
    switch: str,
    *,
    target: str = "v1model",
    seed: int = 0,
    failures: dict | None = None,
    knows: str = "everybody",
    pipes: int = 4,
) -> dict:
    """The document for one switch; ScenarioError for what does not exist or does not fit."""
    if target not in TARGETS:
        raise ScenarioError("target", target, f"must be one of: {', '.join(TARGETS)}")
    if knows not in KNOWS:
        raise ScenarioError("knows", knows, f"must be one of: {', '.join(KNOWS)}")
    if target != "v1model" and radix > PORTS_PER_PIPE * pipes:
        needed = -(-radix // PORTS_PER_PIPE)
        raise ScenarioError("pipes", pipes, f"a pipe of {target} has {PORTS_PER_PIPE} front ports; radix {radix} needs {needed} pipes")
    seen = view(program, radix, switch, seed, failures, pipes)
    document = {
        "program": program,
        "target": target,
        "radix": radix,
        "switch": switch,
        "seed": seed,
        "pipes": pipes,
        "failures": failures or {},
        "knows": knows,
        "source": digest(program, target, radix),
    }
    return document | Entries(seen, target, knows).build(seen.inputs.sw.reg)


@cache
def ranks(salt: int, bits: int) -> tuple[int, ...]:
    """A permutation of the 2**bits hash values, drawn by the switch's salt: the place of each value.

    So two switches make unlike use of the same hash, and each slot gets its fair share of values.
    """
    order = sorted(range(1 << bits), key=lambda value: mix32(value ^ salt))
    place = [0] * len(order)
    for rank, value in enumerate(order):
        place[value] = rank
    return tuple(place)


@dataclass
class Rows:
    """The different schedules of a switch and their numbers; equal ones are kept once."""

    room: int
    rows: dict[tuple[int, ...], int]

    def number(self, slots: tuple[int, ...]) -> int:
        return self.rows.setdefault(slots, len(self.rows))

    def check(self) -> None:
        used = sum(map(len, self.rows))
        if used > self.room:
            raise ScenarioError("SLOTS", self.room, f"the schedules of this switch take {used} slots (p4/include/sizes.p4)")


def with_backups(slots: tuple[int, ...]) -> list[tuple[int, int]]:
    """(port, the next other port of the schedule) of each slot; the port itself if it is the only one."""
    pairs: list[tuple[int, int]] = []
    backup = slots[0]
    following = slots[0]
    for port in reversed(slots + slots):  # twice around, so that the last slot knows what follows it
        if port != following:
            backup = following
        pairs.append((port, backup if backup != port else port))
        following = port
    return pairs[::-1][: len(slots)]


@dataclass(frozen=True)
class Entries:
    """Entries of one switch for one target, in one state of knowledge of the failures."""

    switch: SwitchView
    target: str
    knows: str

    @property
    def room(self) -> Sizes:
        return sizes(self.switch.inputs.scenario.fabric.radix)

    def port(self, port: int) -> int:
        return port_number(self.target, port, self.switch.pipes)

    def uplink(self, uplink: int) -> int:
        return self.port(self.switch.below + uplink)

    def build(self, registers: np.ndarray) -> dict:
        """Tables and registers; `registers` is `sw.reg` of the simulator at that time."""
        hashed = self.switch.inputs.scenario.balancer.kind == "ecmp"
        schedule, rows = self.hashed_schedules() if hashed else self.rotated_schedules(registers)
        rows.check()
        slots = [
            {
                "match": {"schedule": number, "position": position},
                "action": "set_uplink",
                "params": {"port": self.uplink(port), "backup": self.uplink(backup)},
            }
            for row, number in rows.rows.items()
            for position, (port, backup) in enumerate(with_backups(row))
        ]
        tables = {PORTS: self.ports(), ROUTE: self.routes(), SCHEDULE: schedule, SLOTS: slots}
        for name, room in ((ROUTE, self.room.routes), (SCHEDULE, self.room.pointers)):
            if len(tables[name]) > room:
                raise ScenarioError(name, len(tables[name]), f"has room for {room} entries (p4/include/sizes.p4)")
        return {
            "tables": tables,
            "registers": [] if hashed else self.pointers(registers),
            "multicast": self.multicast(),
            "pointers": self.count(),
        }

    # --- tables
    def ports(self) -> list[dict]:
        s = self.switch
        return [
            {"match": {"port": self.port(i)}, "action": "below" if i < s.below else "above", "params": {"pipe": i % s.pipes}}
            for i in range(s.n_ports)
        ]

    def routes(self) -> list[dict]:
        """A host or edge switch below goes down; every group that a path is left to goes up; to others there is no route."""
        s, f = self.switch, self.switch.inputs.fabric
        addresses = Addresses(f)
        rows = []
        for i in range(s.below):
            if s.tier == EDGE:
                host = s.me * f.S + i
                prefix, mac = (addresses.host(host), 32), addresses.host_mac(host)
            else:
                prefix, mac = addresses.edge(s.me * f.E + i), ROUTER_MAC
            rows.append({"match": {"destination": list(prefix)}, "action": "down", "params": {"port": self.port(i), "mac": mac}})
        prefix_of = addresses.edge if s.tier == EDGE else addresses.pod
        return rows + [
            {"match": {"destination": list(prefix_of(group))}, "action": "up", "params": {"group": group}} for group in self.groups()
        ]

    def groups(self) -> list[int]:
        s = self.switch
        return [group for group in range(s.n_groups) if group != s.me and s.slots(group, self.knows)]

    def rotated_schedules(self, registers: np.ndarray) -> tuple[list[dict], Rows]:
        """ofan, pofan: each pointer's schedule in its own random port order."""
        rows, table = Rows(self.room.slots, {}), []
        for group in self.groups():
            for small in range(BINS):
                _, order = self.switch.pointer(registers, group, small)
                slots = self.switch.slots(group, self.knows, order)
                table.append(_schedule(group, small, rows.number(slots), len(slots)))
        return table, rows

    def hashed_schedules(self) -> tuple[list[dict], Rows]:
        """ecmp: each schedule as 2**HASH_BITS hash values."""
        rows, table = Rows(self.room.slots, {}), []
        for group in self.groups():
            slots = self.hashed_slots(group)
            table += [_schedule(group, small, rows.number(slots), len(slots)) for small in range(BINS)]
        return table, rows

    def hashed_slots(self, group: int) -> tuple[int, ...]:
        """The uplink of each hash value: the values in the salt's order, shared out evenly over the slots."""
        bits, slots = self.room.hash_bits, self.switch.slots(group, self.knows)
        salt = int(self.switch.inputs.sw.salt[self.switch.node])
        return tuple(slots[rank * len(slots) >> bits] for rank in ranks(salt, bits))

    # --- registers
    def position(self, registers: np.ndarray, group: int, small: int, pipe: int) -> int:
        """A pointer's position in the schedule that is known now: back to 0 if that is shorter (the simulator's rule)."""
        position, _ = self.switch.pointer(registers, group, small, pipe)
        return position if position < len(self.switch.slots(group, self.knows)) else 0

    def pointers(self, registers: np.ndarray) -> list[dict]:
        """BMv2 has one register, whose part of pipe p begins at p << 12; a Tofino has one a pipe. Plain Ofan starts all pipes alike."""
        s, groups = self.switch, self.groups()
        values = [
            [
                [BINS * group + small, self.position(registers, group, small, pipe if s.per_pipe else 0)]
                for group in groups
                for small in range(BINS)
            ]
            for pipe in range(s.pipes)
        ]
        if self.target != "v1model":
            return [{"name": POINTERS, "pipe": pipe, "values": values[pipe]} for pipe in range(s.pipes)]
        parts = range(s.pipes if s.per_pipe else 1)
        return [{"name": POINTERS, "pipe": None, "values": [[pipe << 12 | i, value] for pipe in parts for i, value in values[pipe]]}]

    def multicast(self) -> list[dict]:
        if self.target == "v1model":
            return []
        port = 68 if self.target == "tofino" else FIRST_LANE["tofino2"] - 2
        return [
            {"group": PORT_DOWN_GROUPS + pipe, "ports": [other << 7 | port for other in range(self.switch.pipes) if other != pipe]}
            for pipe in range(self.switch.pipes)
        ]

    def count(self) -> int:
        """Pointers of the switch, as the simulator's balancer counts them."""
        balancer = self.switch.inputs.scenario.balancer
        nothing = np.zeros(0, np.int64)
        return BALANCERS[balancer.kind].pointers(balancer, Shape(self.switch.inputs.fabric, nothing, nothing, 0, 0), self.switch.tier)


def _schedule(group: int, small: int, number: int, length: int) -> dict:
    if length > LONGEST_POSITION:
        raise ScenarioError("schedule", length, f"has at most {LONGEST_POSITION} slots")
    return {"match": {"group": group, "bin": small}, "action": "set_schedule", "params": {"number": number, "last": length - 1}}
