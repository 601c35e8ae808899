"""PLB: a new label after a congested round (Qureshi et al., SIGCOMM 2022; the paper's "Flowlet").

A round lasts one base RTT. If at least `change_threshold` of the ACKs of a round echo an ECN mark, the flow moves to a random
label. The paper marks at 50% of the buffer and changes the label at a share of 40%.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import PLB_LABEL, Balancer, Shape, flows_per_host, per_flow
from ofancore.bits import LABEL_MASK, random_bits
from ofancore.jit import inner

LABEL, ACKS, MARKS, ROUND_END = range(4)
WORDS = 4


class Plb(Balancer):
    """Flowlet granularity: the host repaths a flow whose last round was congested."""

    kind: Literal["plb"] = "plb"
    change_threshold: float = Field(0.4, gt=0, le=1, description="share of marked ACKs in a round that changes the label (paper: 0.4)")
    title: ClassVar[str] = "Flowlet (PLB)"
    family: ClassVar[str] = "flow"
    host_code: ClassVar[int] = PLB_LABEL
    ecn_fraction: ClassVar[float] = 0.50

    def constants(self, shape: Shape) -> list[int]:
        return [round(self.change_threshold * 1_000_000), shape.base_rtt_ticks]

    def host_registers(self, shape: Shape) -> int:
        return WORDS * len(shape.flow_src)

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        reg = np.zeros((len(shape.flow_src), WORDS), np.int64)
        reg[:, LABEL] = rng.integers(0, LABEL_MASK + 1, len(reg))
        reg[:, ROUND_END] = 2 * shape.base_rtt_ticks  # the first ACKs come after one RTT
        return reg.ravel(), per_flow(shape, WORDS)

    def host_bytes(self, shape: Shape) -> int:
        return flows_per_host(shape) * 10  # label 2, two counters of 2, round end 4


@inner
def label_plb(hx, at, host, flow, seq, now):
    """The flow's current label."""
    return hx.reg[at + LABEL]


@inner
def on_ack_plb(hx, at, host, label, ecn, now):
    """Count the ACK; at the end of a round, repath if too many were marked."""
    hx.reg[at + ACKS] += 1
    hx.reg[at + MARKS] += ecn
    if now >= hx.reg[at + ROUND_END]:
        if hx.reg[at + MARKS] * 1_000_000 >= hx.par[0] * hx.reg[at + ACKS]:
            hx.reg[at + LABEL] = random_bits(hx.rng, host) & LABEL_MASK
        hx.reg[at + ACKS] = 0
        hx.reg[at + MARKS] = 0
        hx.reg[at + ROUND_END] = now + hx.par[1]
