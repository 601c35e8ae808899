"""Go-back-N: the receiver takes packets in order only and asks for the first missing one by a NACK (RoCE's reliable connection)."""

from __future__ import annotations

from typing import ClassVar, Literal

from ofancore.recovery.base import GO_BACK_N, Timed


class GoBackN(Timed):
    """In-order delivery, resending all from the first missing packet."""

    kind: Literal["go_back_n"] = "go_back_n"
    title: ClassVar[str] = "go-back-N"
    code: ClassVar[int] = GO_BACK_N
