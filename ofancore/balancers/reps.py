"""REPS: recycled entropies (Bonato et al., EuroSys 2025; the paper's "Host Pkt AR").

A flow keeps a ring of 8 labels. An ACK without an ECN mark writes its label at the head; a send takes the oldest label
that was not yet reused, or a random one if there is none. A loss that congestion does not explain freezes the ring: a timeout,
unless recent round trips were long and packets are not trimmed (as in the artifact); under `erasure`, the oracle's notice of a dead
link. For `freeze_ns` the cached labels are then cycled through even when reused, so that a path known to work is preferred to an
unknown one; the first ACK after that leaves the freeze, empties the ring and explores `explore` random labels.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import REPS_LABEL, Balancer, Shape, flows_per_host, per_flow
from ofancore.bits import LABEL_MASK, random_label
from ofancore.jit import inner
from ofancore.units import ticks

SLOTS = 8
HEAD, COUNT, FRESH, VALID, FROZEN, EXIT, EXPLORE, READ = range(SLOTS, SLOTS + 8)  # after the labels
WORDS = 16


class Reps(Balancer):
    """Packet granularity, the host recycles labels that came back unmarked."""

    kind: Literal["reps"] = "reps"
    freeze_on_loss: bool = Field(True, description="a timeout not explained by congestion, under erasure a dead link, freezes the ring")
    freeze_ns: float = Field(100_000.0, ge=0, description="time until a frozen ring is left (REPS artifact, micro failures: 100 us)")
    explore: int = Field(16, ge=0, description="random labels after a freeze (uet-htsim: 16)")
    labels: int = Field(LABEL_MASK + 1, ge=1, le=LABEL_MASK + 1, description="labels to draw from (paper: 65,536; uet-htsim: 64)")
    title: ClassVar[str] = "Host Pkt AR (REPS)"
    family: ClassVar[str] = "host"
    host_code: ClassVar[int] = REPS_LABEL

    def constants(self, shape: Shape) -> list[int]:
        return [int(self.freeze_on_loss), ticks(self.freeze_ns), self.explore, self.labels]

    def host_registers(self, shape: Shape) -> int:
        return WORDS * len(shape.flow_src)

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(self.host_registers(shape), np.int64), per_flow(shape, WORDS)

    def host_bytes(self, shape: Shape) -> int:
        return flows_per_host(shape) * 25  # REPS section 4: 8 labels of 2 bytes, validity, pointers, timer


@inner
def label_reps(hx, at, host, flow, seq, now):
    """Explore, or cycle the frozen ring, or reuse the oldest fresh label, or draw one."""
    reg = hx.reg
    if reg[at + EXPLORE] > 0:
        reg[at + EXPLORE] -= 1
    elif reg[at + FROZEN] != 0:
        if reg[at + COUNT] > 0:
            i = reg[at + READ]
            reg[at + READ] = (i + 1) % reg[at + COUNT]
            if (reg[at + VALID] >> i) & 1:
                reg[at + VALID] ^= 1 << i
                reg[at + FRESH] -= 1
            return reg[at + i]
    elif reg[at + FRESH] > 0:
        i = (reg[at + HEAD] - reg[at + FRESH]) % SLOTS
        reg[at + VALID] &= ~(1 << i)
        reg[at + FRESH] -= 1
        return reg[at + i]
    return random_label(hx.rng, host, hx.par[3])


@inner
def on_ack_reps(hx, at, host, label, ecn, now):
    """Leave a freeze that has run out; cache the label of an unmarked packet."""
    reg = hx.reg
    if reg[at + FROZEN] != 0 and now >= reg[at + EXIT]:
        for i in range(HEAD, HEAD + 8):
            reg[at + i] = 0
        reg[at + EXPLORE] = hx.par[2]
    if ecn == 0:
        i = reg[at + HEAD]
        reg[at + i] = label
        if (reg[at + VALID] >> i) & 1 == 0:
            reg[at + VALID] |= 1 << i
            reg[at + FRESH] += 1
        reg[at + HEAD] = (i + 1) % SLOTS
        if reg[at + COUNT] < SLOTS:
            reg[at + COUNT] += 1


@inner
def on_loss_reps(hx, at, host, label, congested, silent, now):
    """Freeze, unless congestion explains the loss, or frozen or exploring already."""
    reg = hx.reg
    if hx.par[0] != 0 and congested == 0 and reg[at + FROZEN] == 0 and reg[at + EXPLORE] == 0:
        reg[at + FROZEN] = 1
        reg[at + READ] = 0
        reg[at + EXIT] = now + hx.par[1]
