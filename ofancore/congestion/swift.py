"""Swift: a window steered by delay (Kumar et al., SIGCOMM 2020).

Below the target delay the window grows by `additive_packets` a round trip; above it, it shrinks in proportion to the excess, at most once a
round trip. Public code sets the target for slower networks; here it is `target_packets` data packets of queue over the flow's own empty
round trip (our choice, swept in the sensitivity figure), without scaling by flows or hops, which a single collective does not need.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.congestion.base import CWND, NEVER, OWN, SWIFT, PathTimes, Windowed, set_window
from ofancore.jit import inner

TARGET, ADDITIVE, BETA, MDF, CUT = range(OWN, OWN + 5)  # constants
LAST = 1  # column: time of the last decrease


class Swift(Windowed):
    """Window by delay."""

    kind: Literal["swift"] = "swift"
    target_packets: float = Field(10.0, gt=0, le=1e6, description="queueing delay aimed at, in data packets of queue (our choice)")
    additive_packets: float = Field(1.0, gt=0, le=1e6, description="growth a round trip below the target (csg-htsim: 1)")
    beta: float = Field(0.8, gt=0, le=1, description="strength of a decrease (csg-htsim: 0.8)")
    max_decrease: float = Field(0.5, gt=0, lt=1, description="largest share lost in a decrease (csg-htsim: 0.5)")
    cut_on_loss: bool = Field(True, description="a loss cuts the window by max_decrease, at most once a base RTT (csg-htsim: true)")
    title: ClassVar[str] = "Swift"
    code: ClassVar[int] = SWIFT

    def constants(self, t: PathTimes) -> list[float]:
        return [float(round(self.target_packets * t.slot_ticks)), self.additive_packets, self.beta, self.max_decrease, self.cut_on_loss]

    def init_flows(self, n_flows: int, t: PathTimes) -> np.ndarray:
        cc = super().init_flows(n_flows, t)
        cc[:, LAST] = NEVER
        return cc


@inner
def steer(cs, flow, now, delay, n):
    """Move the window by a delay, ticks from sending to acknowledgement."""
    window = cs.cc[flow, CWND]
    target = cs.base[flow] + cs.par[TARGET]
    if delay <= target:
        set_window(cs, flow, window + cs.par[ADDITIVE] * n / window)
    elif now - cs.cc[flow, LAST] >= delay:
        set_window(cs, flow, window * max(1.0 - cs.par[BETA] * (delay - target) / delay, 1.0 - cs.par[MDF]))
        cs.cc[flow, LAST] = now


@inner
def on_ack_swift(cs, flow, now, rtt, ecn, n, flying):
    if rtt >= 0:
        steer(cs, flow, now, float(rtt), n)


@inner
def on_loss_swift(cs, flow, now, n, cause):
    """Decrease by the most that is allowed, at most once a round trip."""
    if cs.par[CUT] != 0 and now - cs.cc[flow, LAST] >= cs.base[flow]:
        set_window(cs, flow, cs.cc[flow, CWND] * (1.0 - cs.par[MDF]))
        cs.cc[flow, LAST] = now
