"""DCQCN: rates cut by congestion notifications (Zhu et al., SIGCOMM 2015).

A marked ACK stands for a notification packet, at most one every `notification_ns`. Timers and the byte counter are settled when the flow is
next touched, which gives the same rates. RoCE has no rule for losses; here they count as a notification (our choice).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.congestion.base import COLUMNS, DCQCN, NEVER, OWN, SLOT, TIMEOUT, Congestion, PathTimes
from ofancore.jit import inner
from ofancore.units import ticks

GAIN, NOTIFY, DECAY, GROW, PACKETS, STAGES, ADD, ADD_MORE, LEAST = range(OWN, OWN + 9)  # constants
RATE, GOAL, ALPHA, ALPHA_AT, GROW_AT, TIMES, SENT, ROUNDS, NOTIFIED, CUT = range(10)  # columns; rates are shares of the link's


class Dcqcn(Congestion):
    """Rate by ECN."""

    kind: Literal["dcqcn"] = "dcqcn"
    gain: float = Field(1 / 256, gt=0, le=1, description="g (DCQCN paper: 1/256)")
    notification_ns: float = Field(50_000.0, gt=0, le=1e12, description="least time between notifications (DCQCN paper: 50 us)")
    decay_ns: float = Field(55_000.0, gt=0, le=1e12, description="timer of alpha (DCQCN paper: 55 us)")
    increase_ns: float = Field(55_000.0, gt=0, le=1e12, description="timer of rate increases (DCQCN paper: 55 us)")
    increase_bytes: int = Field(10_000_000, ge=1, le=10**12, description="byte counter of rate increases (DCQCN paper: 10 MB)")
    stages: int = Field(5, ge=1, le=1000, description="increases of fast recovery, F (DCQCN paper: 5)")
    additive_fraction: float = Field(0.001, gt=0, le=1, description="additive increase, share of the link (DCQCN: 40 Mb/s of 40 Gb/s)")
    hyper_fraction: float = Field(0.01, gt=0, le=1, description="hyper increase, share of the link (our choice: 10 additive ones)")
    least_fraction: float = Field(0.001, gt=0, le=1, description="smallest rate, share of the link (our choice)")
    title: ClassVar[str] = "DCQCN"
    code: ClassVar[int] = DCQCN
    paced: ClassVar[bool] = True

    def constants(self, t: PathTimes) -> list[float]:
        return [
            self.gain,
            float(ticks(self.notification_ns)),
            float(ticks(self.decay_ns)),
            float(ticks(self.increase_ns)),
            self.increase_bytes / t.slot_bytes,
            float(self.stages),
            self.additive_fraction,
            self.hyper_fraction,
            self.least_fraction,
        ]

    def init_flows(self, n_flows: int, t: PathTimes) -> np.ndarray:
        cc = np.zeros((n_flows, COLUMNS))
        cc[:, RATE] = cc[:, GOAL] = cc[:, ALPHA] = 1.0
        cc[:, NOTIFIED] = NEVER
        return cc


@inner
def increase(cs, flow):
    """Fast recovery, then additive, then hyper increase of the rate aimed at; the rate goes half of the way."""
    cc, par = cs.cc, cs.par
    if min(cc[flow, TIMES], cc[flow, ROUNDS]) >= par[STAGES]:
        cc[flow, GOAL] = min(1.0, cc[flow, GOAL] + par[ADD_MORE])
    elif max(cc[flow, TIMES], cc[flow, ROUNDS]) >= par[STAGES]:
        cc[flow, GOAL] = min(1.0, cc[flow, GOAL] + par[ADD])
    cc[flow, RATE] = (cc[flow, RATE] + cc[flow, GOAL]) / 2.0


@inner
def settle(cs, flow, now):
    """Catch up with the timers."""
    cc, par = cs.cc, cs.par
    if cc[flow, CUT] == 0:
        return
    while now - cc[flow, ALPHA_AT] >= par[DECAY]:
        cc[flow, ALPHA] = (1.0 - par[GAIN]) * cc[flow, ALPHA]
        cc[flow, ALPHA_AT] += par[DECAY]
    while now - cc[flow, GROW_AT] >= par[GROW]:
        cc[flow, TIMES] += 1
        cc[flow, GROW_AT] += par[GROW]
        increase(cs, flow)


@inner
def notify(cs, flow, now):
    """Cut the rate and start the increases anew."""
    cc, par = cs.cc, cs.par
    cc[flow, NOTIFIED] = now
    cc[flow, GOAL] = cc[flow, RATE]
    cc[flow, RATE] = max(cc[flow, RATE] * (1.0 - cc[flow, ALPHA] / 2.0), par[LEAST])
    cc[flow, ALPHA] = (1.0 - par[GAIN]) * cc[flow, ALPHA] + par[GAIN]
    cc[flow, TIMES] = cc[flow, ROUNDS] = cc[flow, SENT] = 0.0
    cc[flow, ALPHA_AT] = cc[flow, GROW_AT] = now
    cc[flow, CUT] = 1.0


@inner
def on_ack_dcqcn(cs, flow, now, rtt, ecn, n, flying):
    settle(cs, flow, now)
    if ecn != 0 and now - cs.cc[flow, NOTIFIED] >= cs.par[NOTIFY]:
        notify(cs, flow, now)


@inner
def on_loss_dcqcn(cs, flow, now, n, cause):
    settle(cs, flow, now)
    if cause == TIMEOUT or now - cs.cc[flow, NOTIFIED] >= cs.par[NOTIFY]:
        notify(cs, flow, now)


@inner
def gap_dcqcn(cs, flow, now):
    """Count a packet that is sent; ticks until the next one may be."""
    settle(cs, flow, now)
    cc = cs.cc
    if cc[flow, CUT] != 0:
        cc[flow, SENT] += 1
        if cc[flow, SENT] >= cs.par[PACKETS]:
            cc[flow, SENT] = 0.0
            cc[flow, ROUNDS] += 1
            increase(cs, flow)
    return np.int64(np.rint(cs.par[SLOT] / cc[flow, RATE]))
