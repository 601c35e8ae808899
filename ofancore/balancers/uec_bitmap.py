"""UEC's bitmap, as in uet-htsim: labels in a permuted walk, a penalised one gives up its turns until its penalty is paid.

Ultra Ethernet leaves open how a sender chooses its entropy values (Hoefler et al., arXiv 2508.08906, "ECMP Packet Spraying"); the rule is
that of the consortium's simulator.

A flow has a penalty of 0 to 15 for each of its labels: a marked ACK adds 1, a NACK 4, a timeout 15 (`max_penalty` at most). A send takes
the next label of the walk that `ops` with `order: permuted` takes. If that one has a penalty, the penalty shrinks by one and the walk
goes on to the first label without one; penalties of others that it passes over do not change. After as many labels as there are, and one
more, it takes what it finds.

As there, but for this: a timeout hits the label of the lost packet (uet-htsim does not keep it and hits label 0; the REPS artifact
does as here); a NACK counts as one wherever its packet was trimmed (uet-htsim takes those of the last hop for congestion at the
receiver). Our choice: a packet that later ones overtook counts as a NACK; under `erasure` a full buffer as a NACK and a dead link as a
timeout.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ofancore.balancers.base import (
    BITMAP_LABEL,
    Balancer,
    Shape,
    field,
    flows_per_host,
    per_flow,
    registers_of_flows,
    set_field,
    words_of,
)
from ofancore.bits import LABEL_MASK, random_label
from ofancore.jit import inner

POSITION, WALK, PENALTIES = range(3)  # registers of a flow; from PENALTIES on 4 bits a label
NIBBLE = 2  # logarithm of the width of a field
LARGEST = 15  # that it can hold


class UecBitmap(Balancer):
    """Packet granularity, the host walks over its labels and passes over those with penalties."""

    kind: Literal["uec_bitmap"] = "uec_bitmap"
    labels: int = Field(64, ge=1, le=LABEL_MASK + 1, description="labels of a flow, a power of two (uet-htsim: 64; REPS artifact: 256)")
    ecn_penalty: int = Field(1, ge=0, le=LARGEST, description="penalty of a marked ACK (uet-htsim: 1)")
    nack_penalty: int = Field(4, ge=0, le=LARGEST, description="of a NACK, or of a loss by a full buffer (uet-htsim: 4)")
    timeout_penalty: int = Field(15, ge=0, le=LARGEST, description="of a timeout, under erasure of a dead link (uet-htsim: 15)")
    max_penalty: int = Field(15, ge=1, le=LARGEST, description="largest penalty of a label (uet-htsim: 15; csg-htsim's EQDS: 1)")
    title: ClassVar[str] = "UEC bitmap"
    family: ClassVar[str] = "host"
    host_code: ClassVar[int] = BITMAP_LABEL

    @model_validator(mode="after")
    def _power(self) -> UecBitmap:
        if self.labels & (self.labels - 1):
            raise PydanticCustomError("broken", "must be a power of two", {"key": "labels", "value": self.labels})
        return self

    def constants(self, shape: Shape) -> list[int]:
        return [self.labels, self.ecn_penalty, self.nack_penalty, self.timeout_penalty, self.max_penalty]

    def words(self) -> int:
        """Registers of a flow."""
        return PENALTIES + words_of(self.labels, NIBBLE)

    def host_registers(self, shape: Shape) -> int:
        return registers_of_flows(shape, self.words(), "labels", self.labels)

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(max(self.host_registers(shape), 1), np.int64), per_flow(shape, self.words())

    def host_bytes(self, shape: Shape) -> int:
        return flows_per_host(shape) * (4 + -(-self.labels // 2))


@inner
def step(hx, at, host):
    """The next label of the permuted walk, which goes on by one."""
    reg, labels = hx.reg, hx.par[0]
    if reg[at + POSITION] == 0:
        reg[at + WALK] = random_label(hx.rng, host, labels)
    label = reg[at + POSITION] ^ reg[at + WALK]
    reg[at + POSITION] = (reg[at + POSITION] + 1) & (labels - 1)
    return label


@inner(apart=True)
def label_bitmap(hx, at, host, flow, seq, now):
    """The next label, or if it has a penalty, which shrinks, the next one that has none."""
    label = step(hx, at, host)
    penalty = field(hx.reg, at + PENALTIES, label, NIBBLE)
    if penalty == 0:
        return label
    set_field(hx.reg, at + PENALTIES, label, NIBBLE, penalty - 1)
    for _ in range(hx.par[0]):
        label = step(hx, at, host)
        if field(hx.reg, at + PENALTIES, label, NIBBLE) == 0:
            break
    return label


@inner
def penalise(hx, at, label, penalty):
    """Add to the penalty of a label."""
    penalty += field(hx.reg, at + PENALTIES, label, NIBBLE)
    set_field(hx.reg, at + PENALTIES, label, NIBBLE, min(penalty, hx.par[4]))


@inner(apart=True)
def on_ack_bitmap(hx, at, host, label, ecn, now):
    """A mark."""
    if ecn != 0:
        penalise(hx, at, label, hx.par[1])


@inner(apart=True)
def on_loss_bitmap(hx, at, host, label, congested, silent, now):
    """A NACK or what stands for one, or a timeout."""
    penalise(hx, at, label, hx.par[3] if silent != 0 else hx.par[2])
