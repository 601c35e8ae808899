"""NSCC: the sender-based control of Ultra Ethernet, as uet-htsim implements it, in packets instead of bytes.

ECN says whether to move, delay by how much: no mark and little delay, grow in proportion; no mark and much delay, grow fairly; mark and
much delay, shrink; mark and little delay, hold. After heavy loss or delay the window adapts at once to what was achieved; marks and losses
of the packets that are on their way then do not count.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.congestion.base import BASE_RTT, CAP, CWND, NEVER, NSCC, OWN, TIMEOUT, PathTimes, Windowed, set_window
from ofancore.jit import inner

TARGET, GAMMA, ETA, ALPHA, FAIR, FAST, WEIGHT, GATE, THRESHOLD, ADJUST, QUICK = range(OWN, OWN + 11)  # constants
AVERAGE, INCREASE, SINCE, ADJUSTED, DECREASED, ADAPT_AT, ACHIEVED, IGNORE, IGNORED, TRIGGERED, CALM = range(1, 12)  # columns


class Nscc(Windowed):
    """Window by ECN and delay."""

    kind: Literal["nscc"] = "nscc"
    target_rtts: float | None = Field(
        None, gt=0, le=1000, description="queueing delay aimed at, in base RTTs; null: 0.75 with trimming, else 1 (uet-htsim)"
    )
    gamma: float = Field(0.8, gt=0, le=1, description="strength of a decrease (uet-htsim)")
    eta: float = Field(0.15, ge=0, le=100, description="steady increase a round trip (uet-htsim, scaled by BDP / 150 kB)")
    alpha: float = Field(4.0, gt=0, le=1000, description="gain of the proportional increase (uet-htsim)")
    fair: float = Field(5.0, ge=0, le=1000, description="gain of the fair increase (uet-htsim)")
    fast: float = Field(0.25, ge=0, le=1000, description="gain of the fast increase (uet-htsim)")
    average_weight: float = Field(0.0125, gt=0, le=1, description="weight of the newest delay in the average (uet-htsim)")
    adapt_gate: int = Field(3, ge=0, le=30, description="adapt at once if less than 2**-gate of the largest window arrived (uet-htsim)")
    adapt_threshold: float = Field(4.0, gt=0, le=1000, description="delay, in targets, that calls for adapting at once (uet-htsim)")
    adjust_packets: float = Field(8.0, gt=0, le=1e6, description="packets between two increases (uet-htsim)")
    title: ClassVar[str] = "NSCC"
    code: ClassVar[int] = NSCC

    def constants(self, t: PathTimes) -> list[float]:
        rtts = self.target_rtts if self.target_rtts is not None else 0.75 if t.trims else 1.0
        target = rtts * t.base_rtt_ticks
        a = t.bdp_packets * t.slot_bytes / 150_000.0  # the tuning point of uet-htsim: 100 Gb/s and 12 us
        b = target / 12e6
        gain = self.alpha * a * b / target
        return [
            target,
            self.gamma,
            self.eta * a,
            gain,
            self.fair * a,
            self.fast * a,
            self.average_weight,
            1.0 / (1 << self.adapt_gate),
            self.adapt_threshold,
            self.adjust_packets,
            1e6,  # a delay below 1 us counts as none
        ]

    def init_flows(self, n_flows: int, t: PathTimes) -> np.ndarray:
        cc = super().init_flows(n_flows, t)
        cc[:, DECREASED] = NEVER
        return cc


@inner
def average(cs, flow, delay):
    """Move the average delay."""
    weight = cs.par[WEIGHT]
    cs.cc[flow, AVERAGE] = weight * delay + (1.0 - weight) * cs.cc[flow, AVERAGE]


@inner
def ignores(cs, flow, n):
    """Count n packets that are on their way no more; whether they were so at the last adaptation, and not the last of those."""
    cc = cs.cc
    cc[flow, IGNORED] += n
    return cc[flow, IGNORED] < cc[flow, IGNORE]


@inner
def rest(cs, flow):
    """Drop the increase that was to come."""
    cs.cc[flow, INCREASE] = 0.0
    cs.cc[flow, SINCE] = 0.0


@inner
def adapt(cs, flow, now, delay, flying):
    """Once a round trip: if losses or delays call for it and little arrived, set the window to what did. Returns whether it did."""
    cc, par = cs.cc, cs.par
    heavy = cc[flow, TRIGGERED] != 0 or delay > par[THRESHOLD] * par[TARGET]
    due = cc[flow, ADAPT_AT] > 0 and heavy and cc[flow, ACHIEVED] < par[CAP] * par[GATE]
    if due:
        set_window(cs, flow, cc[flow, ACHIEVED])
        cc[flow, IGNORE] = float(flying)
        cc[flow, IGNORED] = 0.0
        cc[flow, TRIGGERED] = 0.0
    cc[flow, ACHIEVED] = 0.0
    cc[flow, ADAPT_AT] = now + cs.base[flow] + par[TARGET]
    return due


@inner
def on_ack_nscc(cs, flow, now, rtt, ecn, n, flying):
    """The four quadrants of mark and delay."""
    cc, par = cs.cc, cs.par
    delay = cc[flow, AVERAGE] if rtt < 0 else max(float(rtt - cs.base[flow]), 0.0)
    target = par[TARGET]
    if rtt >= 0:
        average(cs, flow, 0.25 * cs.base[flow] if ecn == 0 and delay > target else delay)
    cc[flow, ACHIEVED] += n
    if (ignores(cs, flow, n) and ecn != 0) or (now >= cc[flow, ADAPT_AT] and adapt(cs, flow, now, delay, flying)):
        rest(cs, flow)
        return
    if ecn != 0:
        if delay >= target:
            cc[flow, CALM] = 0.0
            if cc[flow, AVERAGE] > target and now - cc[flow, DECREASED] >= cs.base[flow]:
                share = 1.0 - par[GAMMA] * (cc[flow, AVERAGE] - target) / cc[flow, AVERAGE]
                set_window(cs, flow, cc[flow, CWND] * max(share, 0.5))
                cc[flow, DECREASED] = now
    elif delay >= target:
        cc[flow, INCREASE] += par[FAIR] * n
    else:
        cc[flow, CALM] = cc[flow, CALM] + n if delay < par[QUICK] else 0.0
        if cc[flow, CALM] > cc[flow, CWND]:
            cc[flow, CALM] = np.inf  # growing fast, until there is delay
            set_window(cs, flow, cc[flow, CWND] + n * par[FAST])
        else:
            cc[flow, INCREASE] += par[ALPHA] * n * (target - delay)
    cc[flow, SINCE] += n
    period = now - cc[flow, ADJUSTED] >= par[BASE_RTT]
    if cc[flow, SINCE] > par[ADJUST] or period:
        set_window(cs, flow, cc[flow, CWND] + cc[flow, INCREASE] / cc[flow, CWND])
        cc[flow, INCREASE] = 0.0
        cc[flow, SINCE] = 0.0
        if period:
            set_window(cs, flow, cc[flow, CWND] + par[ETA])
            cc[flow, ADJUSTED] = now


@inner
def on_loss_nscc(cs, flow, now, n, cause, flying):
    """Give up the window of what was lost, unless that is ignored or calls for adapting; its delay counts as a round trip."""
    if cause != TIMEOUT:
        average(cs, flow, cs.par[BASE_RTT])
        cs.cc[flow, TRIGGERED] = 1.0
        if ignores(cs, flow, n) or (now >= cs.cc[flow, ADAPT_AT] and adapt(cs, flow, now, 0.0, flying + n)):
            rest(cs, flow)
            return
    set_window(cs, flow, cs.cc[flow, CWND] - n)
