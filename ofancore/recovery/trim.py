"""Trimming: a full buffer cuts a packet to its header, which tells the receiver; the receiver asks for it again by a NACK.

Packets lost on dead links, and headers that find no room either, wait for a timeout.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ofancore.recovery.base import TRIM, Timed


class Trim(Timed):
    """Packet trimming and NACKs."""

    kind: Literal["trim"] = "trim"
    headroom_packets: int = Field(1024, ge=0, le=1 << 30, description="small packets for which a full buffer has room (our choice)")
    title: ClassVar[str] = "trimming"
    code: ClassVar[int] = TRIM
