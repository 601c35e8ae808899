"""DCTCP: a window cut by the share of ECN marks (Alizadeh et al., SIGCOMM 2010; RFC 8257), without slow start."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.congestion.base import CWND, DCTCP, NEVER, OWN, TIMEOUT, PathTimes, Windowed, set_window
from ofancore.jit import inner

GAIN = OWN  # constant
ALPHA, SEEN, MARKED, GOAL, LAST = range(1, 6)  # columns; GOAL: packets after which a window is over


class Dctcp(Windowed):
    """Window by ECN."""

    kind: Literal["dctcp"] = "dctcp"
    gain: float = Field(1 / 16, gt=0, le=1, description="weight of the newest window's marks (RFC 8257: 1/16)")
    title: ClassVar[str] = "DCTCP"
    code: ClassVar[int] = DCTCP

    def constants(self, t: PathTimes) -> list[float]:
        return [self.gain]

    def init_flows(self, n_flows: int, t: PathTimes) -> np.ndarray:
        cc = super().init_flows(n_flows, t)
        cc[:, ALPHA] = 1.0  # RFC 8257
        cc[:, GOAL] = cc[:, CWND]
        cc[:, LAST] = NEVER
        return cc


@inner
def on_ack_dctcp(cs, flow, now, rtt, ecn, n, flying):
    """Grow by one packet a round trip; once a window, cut by half the smoothed share of marks."""
    cc = cs.cc
    cc[flow, SEEN] += n
    if ecn != 0:
        cc[flow, MARKED] += n
    else:
        set_window(cs, flow, cc[flow, CWND] + n / cc[flow, CWND])
    if cc[flow, SEEN] >= cc[flow, GOAL]:
        gain = cs.par[GAIN]
        cc[flow, ALPHA] = (1.0 - gain) * cc[flow, ALPHA] + gain * (cc[flow, MARKED] / cc[flow, SEEN])
        if cc[flow, MARKED] > 0:
            set_window(cs, flow, cc[flow, CWND] * (1.0 - cc[flow, ALPHA] / 2.0))
        cc[flow, SEEN] = 0.0
        cc[flow, MARKED] = 0.0
        cc[flow, GOAL] = cc[flow, CWND]


@inner
def on_loss_dctcp(cs, flow, now, n, cause):
    """Halve the window at most once a round trip; a timeout starts again from one packet."""
    if cause == TIMEOUT:
        cs.cc[flow, CWND] = 1.0
        cs.cc[flow, LAST] = now
    elif now - cs.cc[flow, LAST] >= cs.base[flow]:
        set_window(cs, flow, cs.cc[flow, CWND] * 0.5)
        cs.cc[flow, LAST] = now
