"""What every congestion control is made of: its parameters, and the state and constants that its kernels see.

A congestion control is a frozen pydantic model and up to four kernels with the signatures below. It sees one flow at a time.

    on_ack(cs, flow, now, rtt, ecn, n, flying)     n packets more are known to have arrived; rtt in ticks, -1 if there is no sample
    on_loss(cs, flow, now, n, cause)               n packets are taken for lost, for one of the causes below (NSCC: and flying)
    on_send(cs, flow, now)                         a data packet is being sent (rate-based controls)
    gap(cs, flow)                                  ticks until the flow may send its next packet (rate-based controls)

Windows are in data packets and stay between 1 and `max_window_bdp` bandwidth-delay products. Arithmetic is in doubles, in the order
written, so that the slow twin arrives at the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ofancore.jit import inner

LINE_RATE, SWIFT, MSWIFT, DCTCP, NSCC, DCQCN = range(6)  # codes of the `if` chains in `congestion/__init__.py`
REORDER, NACK, TIMEOUT = range(3)  # causes of a loss: later packets were acknowledged, a trimmed header came back, nothing came back
CWND = 0  # column of every window-based control: the window, packets
COLUMNS = 12
SLOT, CAP, START, BASE_RTT = range(4)  # constants of all controls: data slot in ticks, largest and first window, longest path's base RTT
OWN = 4  # first constant of a control's own
NEVER = -1e18  # a time before all times


class CongestionState(NamedTuple):
    """What a control's kernel sees."""

    cc: np.ndarray  # float64[n_flows, COLUMNS]
    row: np.ndarray  # int64[n_flows]: where its delay samples are, while a flow is under way
    samples: np.ndarray  # int64[rows, sample_words]: rings of delay samples
    base: np.ndarray  # int64[n_flows]: round trip of a flow's own empty path, ticks
    par: np.ndarray  # float64[24]: the constants


@dataclass(frozen=True)
class PathTimes:
    """What a control may know of the fabric when it sizes its constants."""

    slot_ticks: int  # a data packet and its gap on a link
    base_rtt_ticks: int  # of the longest path
    slot_bytes: int
    trims: bool  # full buffers trim packets

    @property
    def bdp_packets(self) -> float:
        """Bandwidth-delay product of the longest path in data packets."""
        return self.base_rtt_ticks / self.slot_ticks


class Congestion(BaseModel):
    """Base of all controls."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    kind: str
    title: ClassVar[str]
    code: ClassVar[int]
    windowed: ClassVar[bool] = False
    paced: ClassVar[bool] = False  # flows have a rate of their own

    def constants(self, t: PathTimes) -> list[float]:
        """Constants of the control's own."""
        return []

    def cap_packets(self, t: PathTimes) -> float:
        """The largest window; 0 for a control without one."""
        return 0.0

    def start_packets(self, t: PathTimes) -> float:
        """The first window."""
        return 0.0

    def init_flows(self, n_flows: int, t: PathTimes) -> np.ndarray:
        """`cc` at the start."""
        return np.zeros((1, COLUMNS))

    def sample_words(self) -> int:
        """Words that a flow's delay samples take, all 0 at its start; 0 for a control without them."""
        return 0

    def state(self, base: np.ndarray, t: PathTimes) -> CongestionState:
        """The state of a run whose flows have these base round trips."""
        par = np.zeros(24)
        par[:OWN] = t.slot_ticks, self.cap_packets(t), self.start_packets(t), t.base_rtt_ticks
        own = self.constants(t)
        par[OWN : OWN + len(own)] = own
        samples = np.zeros((0, self.sample_words()), np.int64)
        return CongestionState(self.init_flows(len(base), t), np.full(len(base), -1), samples, base, par)


class Windowed(Congestion):
    """Base of the window-based controls."""

    max_window_bdp: float = Field(1.5, gt=0, le=1000, description="largest window in bandwidth-delay products (uet-htsim: 1.5)")
    initial_window_bdp: float = Field(1.5, gt=0, le=1000, description="first window, not above the largest (uet-htsim: 1.5)")
    windowed: ClassVar[bool] = True

    def cap_packets(self, t: PathTimes) -> float:
        return max(1.0, self.max_window_bdp * t.bdp_packets)

    def start_packets(self, t: PathTimes) -> float:
        return min(max(1.0, self.initial_window_bdp * t.bdp_packets), self.cap_packets(t))

    def init_flows(self, n_flows: int, t: PathTimes) -> np.ndarray:
        cc = np.zeros((n_flows, COLUMNS))
        cc[:, CWND] = self.start_packets(t)
        return cc


@inner
def set_window(cs, flow, packets):
    """Set the window of a flow, within its limits."""
    cs.cc[flow, CWND] = min(max(packets, 1.0), cs.par[CAP])
