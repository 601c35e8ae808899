"""Erasure: the paper's ideal loss recovery, a rateless code without overhead.

Any `message_packets` packets will do. An oracle tells the sender of a flow of each lost packet one base RTT after the loss (our choice;
the paper leaves open how a sender learns of it): lost data is replaced by one more coded packet; what a lost ACK would have told is
known then, as later ACKs would tell it in a cumulative scheme.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ofancore.recovery.base import ERASURE, Recovery


class Erasure(Recovery):
    """Rateless erasure code with an oracle."""

    kind: Literal["erasure"] = "erasure"
    notice_rtts: float = Field(1.0, ge=1, le=1000, description="base RTTs until the sender learns of a loss")
    title: ClassVar[str] = "erasure code"
    code: ClassVar[int] = ERASURE
