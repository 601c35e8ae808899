"""Whack-a-Mole: deterministic spraying by a bit-reversed counter over a profile of paths (Luby and Byers, arXiv 2509.18519).

A flow has m = 2**l selection units, b(i) of them on path i, and c(i) = b(0) + ... + b(i). Packet j takes the smallest path i with
theta(j) < c(i), where theta(j) is (s_a + j s_b) mod m with its l bits reversed; the seed s_a and the odd s_b are drawn per flow. So any
run of packets puts within log2(m) of its share on each path. Paths are explicit, numbered as those of Host DR (`host_dr.py`).

Congestion feedback takes units from a path and gives them to healthier ones. How is not public; our choice: a mark takes `mark_units`,
a loss of which something was heard (a NACK, a full buffer, a later packet's ACK) `loss_units`, a timeout or a dead link all, in each case
down to `floor_units`, by which the path is still probed. They go one by one, in turn, to the other paths of which the last thing heard
was good, or to all others if there is none. An unmarked ACK of a path below its fair share brings `return_units` back to it, each from
the path that has most.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ofancore.balancers.base import (
    BY_PATH,
    WHACK_LABEL,
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
from ofancore.errors import ScenarioError
from ofancore.jit import inner

POSITION, STEP, HEIR, UNITS = range(4)  # registers of a flow; from UNITS on 16 bits a path with c(i), then a bit a path: heard ill of
WORD, BIT = 4, 0  # logarithms of the widths of fields
MOST_UNITS = 1 << 15


class WhackAMole(Balancer):
    """Packet granularity, the host spreads packets over explicit paths by a bit-reversed counter and a profile of shares."""

    kind: Literal["whack_a_mole"] = "whack_a_mole"
    units: int | None = Field(
        None,
        ge=1,
        le=MOST_UNITS,
        description="selection units, a power of two, at least one a path; null: the first from 16 a path on, up to 32,768 (our choice)",
    )
    mark_units: int = Field(1, ge=0, le=MOST_UNITS, description="units that a marked ACK takes from its path (our choice)")
    loss_units: int = Field(
        4, ge=0, le=MOST_UNITS, description="that a loss takes; a timeout or a dead link takes all (our choice: as UEC)"
    )
    floor_units: int = Field(1, ge=0, le=MOST_UNITS, description="below which a path does not fall; 0: it may vanish for good (our choice)")
    return_units: int = Field(1, ge=0, le=MOST_UNITS, description="that an unmarked ACK returns to a path below its share (our choice)")
    title: ClassVar[str] = "Whack-a-Mole"
    family: ClassVar[str] = "host"
    switch_code: ClassVar[int] = BY_PATH
    host_code: ClassVar[int] = WHACK_LABEL

    @model_validator(mode="after")
    def _power(self) -> WhackAMole:
        if self.units is not None and self.units & (self.units - 1):
            raise PydanticCustomError("broken", "must be a power of two", {"key": "units", "value": self.units})
        return self

    @staticmethod
    def _paths(shape: Shape) -> int:
        return shape.fabric.A * max(shape.fabric.C, 1)

    def _units(self, shape: Shape) -> int:
        paths = self._paths(shape)
        if self.units is None:
            return min(1 << (16 * paths - 1).bit_length(), MOST_UNITS)
        if self.units < paths:
            raise ScenarioError("balancer.units", self.units, f"must be at least one for each of the {paths:,} paths")
        return self.units

    def _words(self, shape: Shape) -> int:
        return UNITS + words_of(self._paths(shape), WORD) + words_of(self._paths(shape), BIT)

    def constants(self, shape: Shape) -> list[int]:
        log = self._units(shape).bit_length() - 1
        base = shape.fabric.link_base[2]  # where `choose_by_path` looks for it
        return [shape.fabric.A, log, self._paths(shape), base, self.mark_units, self.loss_units, self.floor_units, self.return_units]

    def host_registers(self, shape: Shape) -> int:
        return registers_of_flows(shape, self._words(shape), "kind", self.kind)

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        n, paths, units = len(shape.flow_src), self._paths(shape), self._units(shape)
        if not n:
            return super().init_hosts(shape, rng)
        reg = np.zeros(self.host_registers(shape), np.int64).reshape(n, -1)
        reg[:, POSITION] = rng.integers(0, units, n)
        reg[:, STEP] = rng.integers(0, max(units // 2, 1), n) * 2 + 1
        reg[:, HEIR] = rng.integers(0, paths, n)
        share = units // paths + (np.arange(paths) < units % paths)
        reg[:, UNITS : UNITS + words_of(paths, WORD)] = packed(np.cumsum(share), WORD)
        return reg.ravel(), per_flow(shape, self._words(shape))

    def host_bytes(self, shape: Shape) -> int:
        paths = self._paths(shape)
        return flows_per_host(shape) * (6 + 2 * paths + -(-paths // 8))


@inner
def reversed_bits(x, log):
    """The lowest `log` bits of x in reverse order."""
    y = np.int64(0)
    for _ in range(log):
        y = (y << 1) | (x & 1)
        x >>= 1
    return y


@inner(apart=True)
def label_whack(hx, at, host, flow, seq, now):
    """The path on which the unit lies that the bit-reversed counter names."""
    reg, log = hx.reg, hx.par[1]
    unit = reversed_bits(reg[at + POSITION], log)
    reg[at + POSITION] = (reg[at + POSITION] + reg[at + STEP]) & ((1 << log) - 1)
    low, high = np.int64(0), hx.par[2] - 1
    while low < high:
        middle = (low + high) >> 1
        if unit < field(reg, at + UNITS, middle, WORD):
            high = middle
        else:
            low = middle + 1
    return low


@inner
def ill_at(hx, at):
    """First register of the bits of paths that were last heard ill of."""
    return at + UNITS + ((hx.par[2] + 3) >> 2)


@inner
def units_on(hx, at, path):
    """b(path)."""
    before = field(hx.reg, at + UNITS, path - 1, WORD) if path > 0 else np.int64(0)
    return field(hx.reg, at + UNITS, path, WORD) - before


@inner
def move_unit(hx, at, source, target):
    """Move one unit: c changes by one on all paths from the first of the two to the one before the second."""
    low, high, change = (source, target, -1) if source < target else (target, source, 1)
    for path in range(low, high):
        set_field(hx.reg, at + UNITS, path, WORD, field(hx.reg, at + UNITS, path, WORD) + change)


@inner
def next_heir(hx, at, path):
    """The path to get a unit of another one."""
    paths, heir = hx.par[2], hx.reg[at + HEIR]
    chosen = np.int64(-1)
    for _ in range(paths):
        if heir != path:
            if field(hx.reg, ill_at(hx, at), heir, BIT) == 0:
                chosen = heir
                break
            if chosen < 0:
                chosen = heir
        heir = heir + 1 if heir + 1 < paths else 0
    hx.reg[at + HEIR] = chosen + 1 if chosen + 1 < paths else 0
    return chosen


@inner(forceinline=False)
def take_units(hx, at, path, units):
    """Take units from a path, down to the floor, and note that it was heard ill of."""
    set_field(hx.reg, ill_at(hx, at), path, BIT, 1)
    if hx.par[2] == 1:
        return
    for _ in range(min(units, units_on(hx, at, path) - hx.par[6])):
        move_unit(hx, at, path, next_heir(hx, at, path))


@inner(forceinline=False)
def return_units(hx, at, path):
    """Note that a path was heard well of, and bring units back to it as long as it has less than its share."""
    set_field(hx.reg, ill_at(hx, at), path, BIT, 0)
    paths = hx.par[2]
    fair = (1 << hx.par[1]) // paths
    for _ in range(min(hx.par[7], fair - units_on(hx, at, path))):
        fullest, most = np.int64(0), units_on(hx, at, 0)
        for other in range(1, paths):
            if units_on(hx, at, other) > most:
                fullest, most = other, units_on(hx, at, other)
        move_unit(hx, at, fullest, path)


@inner(apart=True)
def on_ack_whack(hx, at, host, label, ecn, now):
    """A mark takes units, an ACK without one may return some."""
    if ecn != 0:
        take_units(hx, at, label, hx.par[4])
    else:
        return_units(hx, at, label)


@inner(apart=True)
def on_loss_whack(hx, at, host, label, congested, silent, now):
    """A loss takes units, a silent one all."""
    take_units(hx, at, label, np.int64(MOST_UNITS) if silent != 0 else hx.par[5])
