"""Decision traces: packets into one switch, and where the simulator sends each.

The choice among uplinks is made by the simulator's own kernel on the simulator's own registers, packet by packet; schedules, pointers
and port orders come from `prepare`. For `ecmp` a switch's CRC takes the place of the simulator's hash: what is compared is the way
from hash value to uplink. What a router does with packets that are not sprayed is stated here in plain Python.

A trace has stages: first the switch knows of no failure, then (in the simulator's words) as a neighbour of broken cables, then all.
Pointers keep their positions from stage to stage.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from ofancore.balancers import choose_uplink
from ofancore.errors import ScenarioError
from ofancore.fabric import EDGE
from ofancore.jit import kernel
from ofancore.p4.addresses import Addresses
from ofancore.p4.entries import Entries, with_backups
from ofancore.p4.packets import REFUSED, ROUTED, Packet
from ofancore.p4.sources import sizes
from ofancore.p4.switches import SwitchView, view

SMALL_TOTALS = (46, 60, 255)  # bytes of IPv4: an ACK, and the largest small packet
DATA_TOTALS = (256, 300, 1044)
DROPPED = -1
SEQUENCE = ("nothing", "neighbours", "everybody")


@kernel
def decide(code, sw, node, up, width, scheds, groups, smalls, ports, hosts, at, positions, uplinks):
    """Ask the simulator for the uplink of each packet in turn; `positions` are those of the pointers `at` before each."""
    for i in range(groups.shape[0]):
        positions[i] = sw.reg[at[i]] & 0xFFFF
        uplinks[i] = choose_uplink(
            code, sw, node, up, width, scheds[i], groups[i], smalls[i], ports[i], hosts[i], np.int64(0), np.int64(0), np.int64(0)
        )


@dataclass
class Stage:
    """Packets while the switch knows so much (`knows`) and these uplinks have lost their link (`dead`).

    `outputs[i]` is the front port that packet i leaves by, or DROPPED. `entries` are the control plane's before the first packet,
    `positions` the pointers' positions after the last: [index of a v1model register, position].
    """

    knows: str
    dead: tuple[int, ...]
    packets: list[Packet]
    entries: dict
    outputs: list[int] = field(default_factory=list)
    frames: list[bytes] = field(default_factory=list)  # of what leaves, in the order of the packets
    positions: list[list[int]] = field(default_factory=list)

    @property
    def frames_digest(self) -> str:
        return hashlib.sha256(b"".join(self.frames)).hexdigest()[:16]


@dataclass(frozen=True)
class Trace:
    program: str
    radix: int
    switch: str
    seed: int
    pipes: int
    failures: dict
    stages: list[Stage]

    def document(self) -> dict:
        """Plain JSON: a list of [input port, kind, destination, size bin, output port or null] a stage."""
        return {
            "program": self.program,
            "radix": self.radix,
            "switch": self.switch,
            "seed": self.seed,
            "pipes": self.pipes,
            "failures": self.failures,
            "stages": [
                {
                    "knows": stage.knows,
                    "dead_uplinks": list(stage.dead),
                    "entries": stage.entries,
                    "packets": [
                        [p.port, p.kind, p.dst, int(p.total_bytes < sizes(self.radix).small_bytes), None if out == DROPPED else out]
                        for p, out in zip(stage.packets, stage.outputs)
                    ],
                    "positions_after": stage.positions,
                }
                for stage in self.stages
            ],
        }


def trace_of(
    program: str,
    radix: int,
    switch: str,
    *,
    packets: int = 1500,
    seed: int = 0,
    failures: dict | None = None,
    pipes: int = 4,
    dead: tuple[int, ...] = (),
) -> Trace:
    """A trace of `packets` packets a stage. With `dead` uplinks there is one stage, in which the control plane knows of nothing."""
    if not 1 <= packets <= 100_000:
        raise ScenarioError("packets", packets, "must be 1 to 100000")
    seen = view(program, radix, switch, seed, failures, pipes)
    if any(not 0 <= uplink < seen.width for uplink in dead):
        raise ScenarioError("dead", list(dead), f"must be uplinks, 0 to {seen.width - 1}")
    rng = np.random.default_rng(np.random.SeedSequence([seed, 20250728]))
    known = SEQUENCE if seen.inputs.damage.any and not dead else SEQUENCE[:1]
    stages: list[Stage] = []
    for knows in known:
        table = Entries(seen, "v1model", knows)
        drawn = draw(seen, table, packets, rng, first=sum(len(s.packets) for s in stages))
        stage = Stage(knows, dead, drawn, table.build(seen.inputs.sw.reg))
        run(seen, table, stage)
        stages.append(stage)
    return Trace(program, radix, switch, seed, pipes, failures or {}, stages)


def draw(seen: SwitchView, table: Entries, count: int, rng: np.random.Generator, first: int) -> list[Packet]:
    """Packets of all kinds: most go up from below, half of them to three groups, so that pointers wrap often."""
    f = seen.inputs.fabric
    addresses = Addresses(f)
    per_group = f.S if seen.tier == EDGE else f.E * f.S
    others = [group for group in range(seen.n_groups) if group != seen.me]
    busy = rng.choice(others, 3, replace=False)
    drawn = []
    for number in range(first, first + count):
        chance = rng.random()
        group = int(rng.choice(busy) if rng.random() < 0.5 else rng.choice(others))
        port = int(rng.integers(seen.below))
        kind = "roce"
        if chance < 0.10:
            kind = str(rng.choice(REFUSED))
        elif chance < 0.25:
            kind = str(rng.choice(ROUTED))
        elif chance < 0.35:  # comes down
            group, port = seen.me, seen.below + int(rng.integers(seen.width))
        elif chance < 0.40:  # between neighbours below
            group = seen.me
        elif chance < 0.43:  # came down and would go up again
            port = seen.below + int(rng.integers(seen.width))
        host = group * per_group + int(rng.integers(per_group))
        totals = SMALL_TOTALS if rng.random() < 0.4 else DATA_TOTALS
        drawn.append(
            Packet(
                number=number,
                port=port,
                kind=kind,
                src=addresses.host(int(rng.integers(f.n_hosts))),
                # outside of the fabric, now and then
                dst=addresses.host(host) if rng.random() > 0.02 else 0x0B000000 + int(rng.integers(1 << 24)),
                total_bytes=int(rng.choice(totals)),
                source_port=int(rng.integers(0xC000, 0x10000)),
                queue_pair=int(rng.integers(1 << 24)),
            )
        )
    return drawn


def run(seen: SwitchView, table: Entries, stage: Stage) -> None:
    """Fill in what the simulator's switch does with the packets of a stage, and leave its registers as they are then."""
    f = seen.inputs.fabric
    addresses = Addresses(f)
    small_bytes = table.room.small_bytes
    group_of = {addresses.host(host): group_at(seen, host) for host in range(f.n_hosts)}
    host_of = {addresses.host(host): host for host in range(f.n_hosts)}
    up: list[tuple[int, int, int]] = []  # (index in the stage, group, size bin) of the packets that are sprayed
    outputs = [DROPPED] * len(stage.packets)
    macs: list[int | None] = [None] * len(stage.packets)
    for i, packet in enumerate(stage.packets):
        group = group_of.get(packet.dst)
        if packet.kind not in ROUTED or group is None:
            continue
        if group == seen.me:
            outputs[i], macs[i] = way_down(seen, addresses, host_of[packet.dst])
        elif packet.port < seen.below and seen.slots(group, stage.knows):
            up.append((i, group, int(packet.total_bytes < small_bytes)))
    chosen = rotate(seen, stage, up) if seen.inputs.scenario.balancer.kind != "ecmp" else hashed(table, stage, up)
    for (i, *_), (uplink, backup) in zip(up, chosen):
        outputs[i] = seen.below + (backup if uplink in stage.dead else uplink)
    stage.outputs = outputs
    stage.frames = [p.routed(mac) for p, out, mac in zip(stage.packets, outputs, macs) if out != DROPPED]
    if seen.inputs.scenario.balancer.kind != "ecmp":
        stage.positions = table.pointers(seen.inputs.sw.reg)[0]["values"]


def group_at(seen: SwitchView, host: int) -> int:
    return int(seen.inputs.fabric.edge_of(host) if seen.tier == EDGE else seen.inputs.fabric.pod_of(host))


def way_down(seen: SwitchView, addresses: Addresses, host: int) -> tuple[int, int | None]:
    """(front port, new destination MAC) of a packet for a host below. To an edge switch the router's own MAC stays."""
    f = seen.inputs.fabric
    if seen.tier == EDGE:
        return host - seen.me * f.S, addresses.host_mac(host)
    return int(f.edge_of(host)) - seen.me * f.E, None


def rotate(seen: SwitchView, stage: Stage, up: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """(uplink, backup) of each sprayed packet by the simulator's kernel."""
    inputs = seen.inputs
    n = len(up)
    groups = np.array([group for _, group, _ in up], np.int64)
    smalls = np.array([small for *_, small in up], np.int64)
    ports = np.array([stage.packets[i].port for i, *_ in up], np.int64)
    scheds = np.array([seen.schedule(int(group), stage.knows) for group in groups], np.int64)
    at = np.array([seen.register_of(g, s, p % seen.pipes) for g, s, p in zip(groups, smalls, ports)], np.int64)
    positions, uplinks = np.zeros(n, np.int64), np.zeros(n, np.int64)
    up_link = int(inputs.fabric.switch_outputs[0][seen.node])
    code = inputs.scenario.balancer.switch_code
    decide(code, inputs.sw, seen.node, up_link, seen.width, scheds, groups, smalls, ports, np.zeros(n, np.int64), at, positions, uplinks)
    chosen = []
    for i in range(n):
        slots = seen.slots(int(groups[i]), stage.knows, int(inputs.sw.reg[at[i]]) >> 16)
        position = int(positions[i]) if positions[i] < len(slots) else 0
        chosen.append((int(uplinks[i]), with_backups(slots)[position][1]))
    return chosen


def hashed(table: Entries, stage: Stage, up: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """(uplink, backup) of each sprayed packet by hash."""
    pairs = {group: with_backups(table.hashed_slots(group)) for group in {group for _, group, _ in up}}
    return [pairs[group][stage.packets[i].hash(table.room.hash_bits)] for i, group, _ in up]
