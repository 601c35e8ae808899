"""OPS: oblivious packet spraying, a fresh random label per packet (Dixit et al., INFOCOM 2013; the paper's "Host Pkt").

Public simulators have few labels, and walk through them in a pseudo-random order that changes with every walk: `labels: 64`,
`order: permuted` (uet-htsim: label = position XOR a number drawn per walk).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ofancore.balancers.base import FRESH_LABEL, Balancer, Shape, flows_per_host, per_flow
from ofancore.bits import LABEL_MASK, random_bits
from ofancore.jit import inner

POSITION, WALK = range(2)  # registers of a flow


class Ops(Balancer):
    """Packet granularity, chosen by the host at random."""

    kind: Literal["ops"] = "ops"
    labels: int = Field(LABEL_MASK + 1, ge=1, le=LABEL_MASK + 1, description="labels to choose among (REPS: 65,536; uet-htsim: 64)")
    order: Literal["random", "permuted"] = Field(
        "random", description="each label drawn anew, or all of them walked through in an order drawn per walk (uet-htsim)"
    )
    title: ClassVar[str] = "Host Pkt (OPS)"
    family: ClassVar[str] = "host"
    host_code: ClassVar[int] = FRESH_LABEL

    @model_validator(mode="after")
    def _power(self) -> Ops:
        if self.order == "permuted" and self.labels & (self.labels - 1):
            raise PydanticCustomError("broken", "must be a power of two where order is permuted", {"key": "labels", "value": self.labels})
        return self

    def constants(self, shape: Shape) -> list[int]:
        return [self.labels, int(self.order == "permuted")]

    def host_registers(self, shape: Shape) -> int:
        return 2 * len(shape.flow_src) if self.order == "permuted" else 0

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self.order == "random":
            return super().init_hosts(shape, rng)
        return np.zeros(self.host_registers(shape), np.int64), per_flow(shape, 2)

    def host_bytes(self, shape: Shape) -> int:
        return 4 * flows_per_host(shape) if self.order == "permuted" else 0


@inner
def label_fresh(hx, at, host, flow, seq, now):
    """A random label, or the next one of a walk."""
    labels = hx.par[0]
    if hx.par[1] == 0:
        bits = random_bits(hx.rng, host)
        return bits & (labels - 1) if labels & (labels - 1) == 0 else bits % labels  # a division takes as long as half a hop
    reg = hx.reg
    if reg[at + POSITION] == 0:
        reg[at + WALK] = random_bits(hx.rng, host) % labels
    label = reg[at + POSITION] ^ reg[at + WALK]
    reg[at + POSITION] = (reg[at + POSITION] + 1) % labels
    return label
