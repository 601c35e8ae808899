"""PRIME: pseudo-random round robin over an entropy of several parts, with penalties that decay (Sobhani et al., arXiv 2507.23012).

The entropy has a part for each tier: the edge's uplink and the aggregation's. A flow walks over all pairs of the two, each once, both
parts moving on with every packet: with its own random orders of A edge and C aggregation uplinks, packet t of a walk takes edge uplink
t mod A of the one and aggregation uplink (t div A + t mod A) mod C of the other. Paths are explicit, numbered as those of Host DR.

A path on which congestion was seen has a penalty that adds up by severity (a mark, a loss of which something was heard, a timeout or a
dead link) and decays with time. The walk passes over paths with penalties; of `look` in a row that all have one, the least is taken.

Public is the abstract: round robin in pseudo-random order that considers the topology, several signals weighted by severity, decay
times. All else is our choice: the order of a walk, that orders are drawn anew for each walk, that penalties are per path, weights as in
uet-htsim's bitmap (1, 4, 15), linear decay of one unit in `decay_rtts` base round trips (so a dead path rests for 15 of them, 0.1 ms in
the default fabric, which is as long as REPS freezes), and at most the penalty of a timeout.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import (
    BY_PATH,
    PRIME_LABEL,
    Balancer,
    Shape,
    field,
    flows_per_host,
    packed,
    per_flow,
    registers_of_flows,
    set_field,
    words_of,
)
from ofancore.bits import random_below
from ofancore.jit import inner

POSITION, ORDERS = range(2)  # registers of a flow; from ORDERS on 16 bits an uplink, then a word a path: when its penalty has decayed
WORD = 4  # logarithm of the width of a field


class Prime(Balancer):
    """Packet granularity, the host walks over explicit paths in pseudo-random order and passes over those with penalties."""

    kind: Literal["prime"] = "prime"
    ecn_penalty: int = Field(1, ge=0, le=255, description="penalty of a marked ACK (our choice: as uet-htsim's bitmap)")
    nack_penalty: int = Field(4, ge=0, le=255, description="of a NACK, or of a loss by a full buffer (our choice, the same)")
    timeout_penalty: int = Field(
        15, ge=0, le=255, description="of a timeout, under erasure of a dead link; the largest (our choice, the same)"
    )
    decay_rtts: float = Field(1.0, gt=0, le=100, description="base RTTs in which a penalty decays by one (our choice)")
    look: int = Field(16, ge=1, le=65536, description="paths passed over in a row at most; then the least penalised is taken (our choice)")
    title: ClassVar[str] = "PRIME"
    family: ClassVar[str] = "host"
    switch_code: ClassVar[int] = BY_PATH
    host_code: ClassVar[int] = PRIME_LABEL

    def constants(self, shape: Shape) -> list[int]:
        a, c = shape.fabric.A, max(shape.fabric.C, 1)
        decay = round(self.decay_rtts * shape.base_rtt_ticks)
        base = shape.fabric.link_base[2]  # where `choose_by_path` looks for it
        return [a, c, self.look, base, decay, self.ecn_penalty, self.nack_penalty, self.timeout_penalty]

    def _words(self, shape: Shape) -> int:
        a, c = shape.fabric.A, max(shape.fabric.C, 1)
        return ORDERS + words_of(a + c, WORD) + a * c

    def host_registers(self, shape: Shape) -> int:
        return registers_of_flows(shape, self._words(shape), "kind", self.kind)

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        n, a, c = len(shape.flow_src), shape.fabric.A, max(shape.fabric.C, 1)
        if not n:
            return super().init_hosts(shape, rng)
        reg = np.zeros(self.host_registers(shape), np.int64).reshape(n, -1)
        reg[:, ORDERS : ORDERS + words_of(a + c, WORD)] = packed(np.concatenate([np.arange(a), np.arange(c)]), WORD)
        return reg.ravel(), per_flow(shape, self._words(shape))

    def host_bytes(self, shape: Shape) -> int:
        a, c = shape.fabric.A, max(shape.fabric.C, 1)
        return flows_per_host(shape) * (2 + a + c + 4 * a * c)  # a time of 4 bytes for each path


@inner
def shuffle(hx, host, at, first, count):
    """Put `count` fields from `first` on into random order (Fisher and Yates)."""
    for i in range(count - 1, 0, -1):
        j = random_below(hx.rng, host, i + 1)
        a, b = field(hx.reg, at, first + i, WORD), field(hx.reg, at, first + j, WORD)
        set_field(hx.reg, at, first + i, WORD, b)
        set_field(hx.reg, at, first + j, WORD, a)


@inner(forceinline=False)
def step_prime(hx, at, host):
    """The next path of the walk, which goes on by one; a new walk draws its orders."""
    a, c = hx.par[0], hx.par[1]
    t = hx.reg[at + POSITION]
    if t == 0:
        shuffle(hx, host, at + ORDERS, 0, a)
        shuffle(hx, host, at + ORDERS, a, c)
    hx.reg[at + POSITION] = t + 1 if t + 1 < a * c else 0
    edge = field(hx.reg, at + ORDERS, t % a, WORD)
    return edge + a * field(hx.reg, at + ORDERS, a + (t // a + t % a) % c, WORD)


@inner
def decayed_at(hx, at, path):
    """The register that tells when a path's penalty has decayed."""
    return at + ORDERS + ((hx.par[0] + hx.par[1] + 3) >> 2) + path


@inner(apart=True)
def label_prime(hx, at, host, flow, seq, now):
    """The next path without a penalty, or the least penalised of those looked at."""
    best, least = np.int64(0), np.int64(0)
    for i in range(hx.par[2]):
        path = step_prime(hx, at, host)
        left = hx.reg[decayed_at(hx, at, path)] - now
        if left <= 0:
            return path
        if i == 0 or left < least:
            best, least = path, left
    return best


@inner
def penalise_prime(hx, at, path, penalty, now):
    """Add a penalty to what is left of the path's, up to the largest."""
    place, decay = decayed_at(hx, at, path), hx.par[4]
    hx.reg[place] = min(max(hx.reg[place], now) + penalty * decay, now + hx.par[7] * decay)


@inner(apart=True)
def on_ack_prime(hx, at, host, label, ecn, now):
    """A mark."""
    if ecn != 0:
        penalise_prime(hx, at, label, hx.par[5], now)


@inner(apart=True)
def on_loss_prime(hx, at, host, label, congested, silent, now):
    """A loss of which something was heard, or a silent one."""
    penalise_prime(hx, at, label, hx.par[7] if silent != 0 else hx.par[6], now)
