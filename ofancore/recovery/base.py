"""What every loss recovery is made of: its parameters.

The rules themselves are in `engine/transport.py` (senders) and `engine/receivers.py`, by code.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

ERASURE, SACK, TRIM, GO_BACK_N = range(4)  # codes


def congested_rtt(base):
    """Ticks (as `base`, a round trip without queues): if the longest recent round trip was as long, congestion may explain a timeout.

    The REPS artifact puts a timeout down to a failure only if no round trip of the last two timeouts was above 1.65 base ones. Here:
    of the present period of one timeout and of the one before.
    """
    return (33 * base + 19) // 20


class Recovery(BaseModel):
    """Base of all recoveries."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    kind: str
    title: ClassVar[str]
    code: ClassVar[int]


class Timed(Recovery):
    """Base of those without an oracle: a packet of which nothing is heard is sent again after a timeout."""

    rto_ns: float | None = Field(
        None,
        gt=0,
        le=1e12,
        description="retransmission timeout; null: two base RTTs and six full buffers (as uet-htsim: 15 us and six queues)",
    )
    window_packets: int = Field(4096, ge=1, le=1 << 20, description="packets past the oldest missing one that may be sent (our choice)")
    ack_every_packets: int = Field(
        1,
        ge=1,
        le=64,
        description="packets an ACK answers (uet-htsim: 4); at once: first, last, marked ones, copies, the last in a window",
    )
