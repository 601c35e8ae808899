"""The registry of congestion controls, and the two `if` chains by which the engine reaches their kernels.

To add one: write its file, name its class in CONGESTION, and add its branches below.
"""

from __future__ import annotations

from ofancore.congestion import base as b
from ofancore.congestion.base import Congestion, CongestionState, PathTimes
from ofancore.congestion.dcqcn import Dcqcn, on_ack_dcqcn, on_loss_dcqcn
from ofancore.congestion.dctcp import Dctcp, on_ack_dctcp, on_loss_dctcp
from ofancore.congestion.line_rate import LineRate
from ofancore.congestion.mswift import MSwift, on_ack_mswift
from ofancore.congestion.nscc import Nscc, on_ack_nscc, on_loss_nscc
from ofancore.congestion.swift import Swift, on_ack_swift, on_loss_swift
from ofancore.jit import inner

CONGESTION: dict[str, type[Congestion]] = {
    "line_rate": LineRate,
    "mswift": MSwift,
    "swift": Swift,
    "dctcp": Dctcp,
    "nscc": Nscc,
    "dcqcn": Dcqcn,
}

__all__ = ["CONGESTION", "Congestion", "CongestionState", "PathTimes"]


@inner(forceinline=False)
def hear_acks(code, cs, flow, now, rtt, ecn, n, flying):
    """Tell a flow's control of an ACK."""
    if code == b.MSWIFT:
        on_ack_mswift(cs, flow, now, rtt, ecn, n, flying)
    elif code == b.SWIFT:
        on_ack_swift(cs, flow, now, rtt, ecn, n, flying)
    elif code == b.DCTCP:
        on_ack_dctcp(cs, flow, now, rtt, ecn, n, flying)
    elif code == b.NSCC:
        on_ack_nscc(cs, flow, now, rtt, ecn, n, flying)
    elif code == b.DCQCN:
        on_ack_dcqcn(cs, flow, now, rtt, ecn, n, flying)


@inner(forceinline=False)
def hear_losses(code, cs, flow, now, n, cause, flying):
    """Tell a flow's control of losses; `flying` are the packets that are still on their way."""
    if code == b.SWIFT or code == b.MSWIFT:
        on_loss_swift(cs, flow, now, n, cause)
    elif code == b.DCTCP:
        on_loss_dctcp(cs, flow, now, n, cause)
    elif code == b.NSCC:
        on_loss_nscc(cs, flow, now, n, cause, flying)
    elif code == b.DCQCN:
        on_loss_dcqcn(cs, flow, now, n, cause)
