"""SACK: every ACK names the packet it answers and all packets before the first missing one (the paper's realistic recovery).

A packet is taken for lost when one sent `reorder_packets` later was acknowledged, or after a timeout; one that was sent again and is lost
again waits for the timeout. The paper's threshold is 6 for all-to-all and 32 for permutations.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ofancore.recovery.base import SACK, Timed


class Sack(Timed):
    """Selective acknowledgements with a reordering threshold and a timeout."""

    kind: Literal["sack"] = "sack"
    reorder_packets: int = Field(32, ge=1, le=1 << 20, description="reordering threshold (paper: 32 permutation, 6 all-to-all)")
    title: ClassVar[str] = "SACK"
    code: ClassVar[int] = SACK
