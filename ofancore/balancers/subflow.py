"""Subflows: s labels per flow, used in turn (the paper's "Subflow", modelling MPTCP with 4 subflows; Raiciu et al., SIGCOMM 2011).

The subflows share one window here, as they do under the line-rate control of the open-loop figures.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ofancore.balancers.base import SUBFLOW_LABEL, Balancer, Shape
from ofancore.jit import inner


class Subflow(Balancer):
    """Subflow granularity: a flow's packets take `subflows` hashed paths in turn."""

    kind: Literal["subflow"] = "subflow"
    subflows: int = Field(4, ge=1, le=65536, description="labels per flow (paper: 4)")
    title: ClassVar[str] = "Subflow (MPTCP)"
    family: ClassVar[str] = "flow"
    host_code: ClassVar[int] = SUBFLOW_LABEL

    def constants(self, shape: Shape) -> list[int]:
        return [self.subflows]


@inner
def label_of_subflow(hx, at, host, flow, seq, now):
    """The packet's sequence number modulo the number of subflows."""
    return seq % hx.par[0]
