"""Host round robin: a flow's packets take the labels in turn ("incremental" in the REPS artifact; Bonato et al., EuroSys 2025).

The label is a counter modulo `labels`; nothing that comes back changes it. The counter starts at a random label in every flow (our
choice, the artifact starts all alike), so that with few labels flows do not walk over them in step.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import TURN_LABEL, Balancer, Shape, flows_per_host, per_flow
from ofancore.bits import LABEL_MASK
from ofancore.jit import inner


class HostRr(Balancer):
    """Packet granularity, the host takes its labels in turn."""

    kind: Literal["host_rr"] = "host_rr"
    labels: int = Field(LABEL_MASK + 1, ge=1, le=LABEL_MASK + 1, description="labels taken in turn (REPS artifact: 65,535)")
    title: ClassVar[str] = "Host Pkt (RR)"
    family: ClassVar[str] = "host"
    host_code: ClassVar[int] = TURN_LABEL

    def constants(self, shape: Shape) -> list[int]:
        return [self.labels]

    def host_registers(self, shape: Shape) -> int:
        return len(shape.flow_src)

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(0, self.labels, max(self.host_registers(shape), 1)), per_flow(shape, 1)

    def host_bytes(self, shape: Shape) -> int:
        return 2 * flows_per_host(shape)


@inner(apart=True)
def label_in_turn(hx, at, host, flow, seq, now):
    """The flow's counter, which goes on to the next label."""
    label = hx.reg[at]
    hx.reg[at] = label + 1 if label + 1 < hx.par[0] else 0
    return label
