"""What every balancer is made of: its parameters, the state it asks for, and the context its kernels see.

A balancer is a frozen pydantic model (its parameters, with defaults and their source) and up to four kernels with the
signatures below. It touches nothing but the registers it asked for.

    choose_uplink(sw, node, up, width, sched, group, small, port, host, label, flow, now) -> uplink 0..width-1   (switch side)
    next_label(hx, at, host, flow, seq, now) -> label 0..65535                                                  (host side)
    on_ack(hx, at, host, label, ecn, now)                                                                       (host side)
    on_loss(hx, at, host, label, congested, silent, now)                                                        (host side)

`up` is the switch's first uplink (a link id), `sched` the row of `sw.sched` with the weighted schedule towards the
packet's destination (-1: all uplinks are equal), `group` the destination's edge switch at an edge switch and its pod at an
aggregation switch, `small` 1 for an ACK and 0 for data, `port` the input port, `host` the destination host, `at` the first
host register of this (flow, size bin), `congested` whether congestion explains the loss of a packet (else a dead link does), `silent`
whether nobody told of it: a timeout, under `erasure` a dead link (else a NACK, a full buffer or a later packet's ACK told), `now` the
time in ticks. Hosts are places (`fabric.py`). A `sched` row lists a port as often as its weight says; its
slots are `sw.slots[offset + (1 + order) * length + position]` in the random port order `order`, with order -1 being the
plain order of port numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from ofancore.errors import ScenarioError
from ofancore.fabric import AGG, EDGE, Fabric
from ofancore.jit import inner
from ofancore.workloads.base import Flows

N_ORDERS = 64  # random port orders a tier; every pointer draws its own among them
MOST_REGISTERS = 1 << 28  # of all hosts: 2 GiB
N_CONSTANTS = 9  # integers of a balancer's own

# decision codes of the `if` chains in `balancers/__init__.py`
BY_HASH, BY_PATH, BY_RSQ, BY_RR, BY_JSQ, BY_BINNED, BY_HOST, BY_GROUP, BY_PIPE, BY_FLOWLET, BY_DRILL, BY_LENGTH, BY_OWN = range(13)
FLOW_LABEL, SUBFLOW_LABEL, FRESH_LABEL, PLB_LABEL, REPS_LABEL, PATH_LABEL, PART_LABEL = range(7)
TURN_LABEL, WHACK_LABEL, PRIME_LABEL, STRACK_LABEL, BITMAP_LABEL, MIXED_LABEL, OWN_LABEL = range(7, 14)
NO_OWN = np.zeros((1, 6), np.int64)  # `own` where no function of a user's is called


class SwitchState(NamedTuple):
    """What a switch kernel sees. Registers of node n start at `first[n]`."""

    reg: np.ndarray  # int32[registers]
    first: np.ndarray  # int64[n_nodes]
    orders: np.ndarray  # int32[2 * N_ORDERS, max(A, C)]: random port orders of edge, then aggregation switches
    sched: np.ndarray  # int64[rows, 2]: offset and length in `slots`
    slots: np.ndarray  # int32[...]: ports of the weighted schedules
    link: np.ndarray  # int64[n_links, columns]: the queues (engine/layout.py); a kernel may read FREE = column 0
    rng: np.ndarray  # uint64[n_nodes]
    salt: np.ndarray  # int64[n_nodes]: hash salts
    par: np.ndarray  # int64[N_CONSTANTS]: the balancer's own constants
    code: np.ndarray  # int64[n_nodes]: decision code of each switch
    own: np.ndarray = NO_OWN  # int64[1 or 1 + n_nodes, 6]: a user's functions (see `own.py`)


class HostState(NamedTuple):
    """What a host kernel sees. The registers of (flow, small) start at `index[2 * flow + small]`."""

    reg: np.ndarray  # int64[registers]
    index: np.ndarray  # int64[2 * n_flows] (a single entry where unused)
    rng: np.ndarray  # uint64[n_nodes]
    par: np.ndarray  # int64[N_CONSTANTS]
    known: np.ndarray  # int64[1]: 1 once hosts know of the failures (the time G)
    path_at: np.ndarray  # int64[registers, 2]: offset and length in `paths`; length 0: all paths survive (one row if unused)
    paths: np.ndarray  # int32[...]: surviving paths, in the order in which they are taken, or what stands in for each path
    own: np.ndarray = NO_OWN  # as in SwitchState


@dataclass(frozen=True)
class Shape:
    """What a balancer may know of a run when it sizes its state."""

    fabric: Fabric
    flow_src: np.ndarray  # int64[n_flows]
    flow_dst: np.ndarray  # int64[n_flows]
    base_rtt_ticks: int
    buffer_ticks: int
    flow_packets: np.ndarray | None = None  # int64[n_flows]; None, and below: a balancer that needs it takes all flows to be alike
    flow_group: np.ndarray | None = None  # int64[n_flows]: the collective
    flow_after: np.ndarray | None = None  # int64[n, 2]: pairs (earlier, later) of flows, the later one waiting for the earlier

    def width(self, tier: int) -> int:
        """Uplinks of a switch of that tier."""
        return self.fabric.A if tier == EDGE else self.fabric.C

    def groups(self, tier: int) -> int:
        """Destination groups a switch of that tier can tell apart: edge switches, or pods."""
        return self.fabric.n_edges if tier == EDGE else self.fabric.P


class Balancer(BaseModel):
    """Base of all balancers; the defaults are those of a stateless one (flow label, hashed at every switch)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    kind: str
    title: ClassVar[str]  # as the paper's figures have it; ours: palette.py
    family: ClassVar[str]  # flow, host, switch or rotation: the hue in figures
    switch_code: ClassVar[int] = BY_HASH
    host_code: ClassVar[int] = FLOW_LABEL
    path_acks: ClassVar[bool] = False  # the receiver's own pointers choose the paths of ACKs
    ecn_fraction: ClassVar[float] = 0.10  # marking threshold the scheme wants, as a share of the buffer
    needs_rails: ClassVar[bool] = False  # runs only where servers have several NICs

    # --- switch side
    def at_switches(self, shape: Shape, rng: np.random.Generator) -> list[Balancer]:
        """The scheme of every edge switch, then of every aggregation switch with uplinks: itself, but for partial deployment."""
        return [self] * (shape.fabric.n_edges + (shape.fabric.n_aggs if shape.fabric.C else 0))

    def switch_registers(self, shape: Shape, tier: int) -> int:
        """int32 registers that a switch of a tier with uplinks needs."""
        return 0

    def init_switch(self, shape: Shape, tier: int, rng: np.random.Generator) -> np.ndarray:
        """Initial registers, int32[switch_registers]."""
        return np.zeros(self.switch_registers(shape, tier), np.int32)

    def pointers(self, shape: Shape, tier: int) -> int:
        """Round-robin pointers a switch of that tier holds in hardware (what the paper counts)."""
        return 0

    def switch_bytes(self, shape: Shape, tier: int) -> int:
        """Bytes of state a switch of that tier holds in hardware; one byte a pointer unless a scheme says otherwise."""
        return self.pointers(shape, tier)

    # --- before the run
    def assign(self, fabric: Fabric, messages: Flows) -> Flows:
        """The flows that messages are sent as, in numbers of hosts: the messages themselves, but for schemes that choose NICs."""
        return messages

    # --- host side
    def host_registers(self, shape: Shape) -> int:
        """int64 registers over all hosts."""
        return 0

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """(registers int64[host_registers], index int64[2 * n_flows])."""
        return np.zeros(1, np.int64), np.zeros(1, np.int64)

    def init_paths(self, shape: Shape, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(path_at, paths) of a host that names paths, from the capacities of edge (int64[n_edges, A]) and aggregation
        switches' cables (int64[P, A, max(C, 1)]) after the failure."""
        return np.zeros((1, 2), np.int64), np.zeros(1, np.int32)

    def host_bytes(self, shape: Shape) -> int:
        """Bytes of balancing state the busiest host holds."""
        return 0

    def constants(self, shape: Shape) -> list[int]:
        """Up to N_CONSTANTS integers for `par`."""
        return []

    # --- a user's functions (see `own.py`); built-in schemes have none
    def own(self, shape: Shape) -> np.ndarray:
        """`own` of the states."""
        return NO_OWN

    def connect(self, sw: SwitchState, hx: HostState) -> None:
        """Write the functions' addresses into `own`."""

    def failure(self, own: np.ndarray, fabric: Fabric) -> ScenarioError | None:
        """What a function did wrong in a run, if one did."""
        return None


def flows_per_host(shape: Shape) -> int:
    """Flows that the busiest host sends."""
    return int(np.bincount(shape.flow_src).max()) if len(shape.flow_src) else 0


def per_flow(shape: Shape, words: int) -> np.ndarray:
    """Register index when every flow owns `words` registers that both size bins share."""
    return np.repeat(np.arange(len(shape.flow_src), dtype=np.int64) * words, 2)


def registers_of_flows(shape: Shape, words: int, key: str, value: object) -> int:
    """Registers of all flows with `words` each; ScenarioError, which blames a key of the balancer, if they would not fit into memory."""
    registers = len(shape.flow_src) * words
    if registers > MOST_REGISTERS:
        rule = f"needs {8 * words:,} bytes a flow, {registers / 2**27:.1f} GiB for {len(shape.flow_src):,} flows; at most 2 GiB are given"
        raise ScenarioError(f"balancer.{key}", value, rule)
    return registers


def words_of(count: int, log: int) -> int:
    """int64 words that hold `count` fields of 2**log bits each."""
    return -(-count >> (6 - log))


def packed(values: np.ndarray, log: int) -> np.ndarray:
    """int64[..., words_of(n, log)]: fields of 2**log bits, the first one lowest, from non-negative integers [..., n]."""
    per = 1 << (6 - log)
    pad = -values.shape[-1] % per
    fields = np.concatenate([values, np.zeros((*values.shape[:-1], pad), values.dtype)], axis=-1).astype(np.uint64)
    fields = fields.reshape(*fields.shape[:-1], -1, per) << (np.arange(per, dtype=np.uint64) << np.uint64(log))
    return np.bitwise_or.reduce(fields, axis=-1).view(np.int64)


def draw_pointers(count: int, width: int, tier: int, rng: np.random.Generator) -> np.ndarray:
    """int32[count]: random start position (low 16 bits) and random order number (high bits) of each pointer."""
    order = rng.integers(0, N_ORDERS, count) + (N_ORDERS if tier == AGG else 0)
    return (rng.integers(0, max(width, 1), count) | (order << 16)).astype(np.int32)


@inner
def field(reg, at, i, log):
    """Field i, of 2**log bits, of the words that start at register `at`."""
    shift = (i & ((1 << (6 - log)) - 1)) << log
    return (reg[at + (i >> (6 - log))] >> shift) & ((1 << (1 << log)) - 1)


@inner
def set_field(reg, at, i, log, value):
    """Write field i, of 2**log bits."""
    shift = (i & ((1 << (6 - log)) - 1)) << log
    at += i >> (6 - log)
    reg[at] = (reg[at] & ~(np.int64((1 << (1 << log)) - 1) << shift)) | (np.int64(value) << shift)


@inner
def turn(sw, at, width, sched):
    """Advance the round-robin pointer in register `at` by one and return the uplink it pointed to (paper: DR, IWRR)."""
    packed = sw.reg[at]
    position = packed & 0xFFFF
    order = packed >> 16
    length = np.int32(width) if sched < 0 else np.int32(sw.sched[sched, 1])
    if position >= length:  # the schedule became shorter
        position = np.int32(0)
    if sched < 0:
        uplink = sw.orders[order, position]
    else:
        uplink = sw.slots[sw.sched[sched, 0] + (1 + order % N_ORDERS) * length + position]
    position += 1
    if position >= length:
        position = 0
    sw.reg[at] = (order << 16) | position
    return np.int64(uplink)


@inner
def slots_of(sw, width, sched):
    """Number of slots towards the packet's destination: `width` where the switch knows of no failure that matters."""
    return width if sched < 0 else sw.sched[sched, 1]


@inner
def slot(sw, width, sched, i):
    """The uplink in slot i, from 0 to `slots_of` - 1. After failures an uplink has as many slots as its weight says, maybe none."""
    if sched < 0:
        return i
    return np.int64(sw.slots[sw.sched[sched, 0] + i])


@inner
def leads(sw, sched, uplink):
    """Whether the uplink leads to the packet's destination, as far as the switch knows."""
    if sched < 0:
        return True
    for i in range(sw.sched[sched, 1]):
        if sw.slots[sw.sched[sched, 0] + i] == uplink:
            return True
    return False
