"""STrack: labels in turn, but one that was marked is passed over once (Le et al., AMD and Microsoft, arXiv 2407.15266).

A flow walks round its labels and keeps a bit for each. An ACK with an ECN mark sets the bit of its label; a send whose turn it is
clears the bits of the labels that it passes over and takes the first one without. So a label pays one turn for any number of marks, and
when all are marked the walk clears all and takes the one it began with.

From public descriptions: a bitmap of labels with 1-bit penalties, each skipped once. Our choice: the walk starts at a random label in
every flow, and what of losses: a packet that is lost marks its label, too (`penalise_losses`).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import (
    STRACK_LABEL,
    Balancer,
    Shape,
    field,
    flows_per_host,
    per_flow,
    registers_of_flows,
    set_field,
    words_of,
)
from ofancore.bits import LABEL_MASK
from ofancore.jit import inner

POSITION, BITS = range(2)  # registers of a flow; from BITS on a bit a label
BIT = 0  # logarithm of the width of a field


class Strack(Balancer):
    """Packet granularity, the host takes its labels in turn and passes over a marked one once."""

    kind: Literal["strack"] = "strack"
    labels: int = Field(256, ge=1, le=LABEL_MASK + 1, description="labels taken in turn (our choice)")
    penalise_losses: bool = Field(True, description="a lost packet counts as a marked one (our choice)")
    title: ClassVar[str] = "STrack"
    family: ClassVar[str] = "host"
    host_code: ClassVar[int] = STRACK_LABEL

    def constants(self, shape: Shape) -> list[int]:
        return [self.labels, int(self.penalise_losses)]

    def _words(self) -> int:
        return BITS + words_of(self.labels, BIT)

    def host_registers(self, shape: Shape) -> int:
        return registers_of_flows(shape, self._words(), "labels", self.labels)

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        reg = np.zeros(max(self.host_registers(shape), 1), np.int64)
        reg[POSITION :: self._words()][: len(shape.flow_src)] = rng.integers(0, self.labels, len(shape.flow_src))
        return reg, per_flow(shape, self._words())

    def host_bytes(self, shape: Shape) -> int:
        return flows_per_host(shape) * (2 + -(-self.labels // 8))


@inner(apart=True)
def label_strack(hx, at, host, flow, seq, now):
    """The next label without a penalty; those before it have paid theirs."""
    labels = hx.par[0]
    label = hx.reg[at + POSITION]
    while field(hx.reg, at + BITS, label, BIT) != 0:
        set_field(hx.reg, at + BITS, label, BIT, 0)
        label = label + 1 if label + 1 < labels else 0
    hx.reg[at + POSITION] = label + 1 if label + 1 < labels else 0
    return label


@inner(apart=True)
def on_ack_strack(hx, at, host, label, ecn, now):
    """A mark sets the bit of its label."""
    if ecn != 0:
        set_field(hx.reg, at + BITS, label, BIT, 1)


@inner(apart=True)
def on_loss_strack(hx, at, host, label, congested, silent, now):
    """So does a loss."""
    if hx.par[1] != 0:
        set_field(hx.reg, at + BITS, label, BIT, 1)
