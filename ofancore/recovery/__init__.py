"""The registry of loss recoveries.

To add one: write its file, name its class here, and its rules in `engine/transport.py` (senders) and `engine/receivers.py`.
"""

from __future__ import annotations

from ofancore.recovery.base import Recovery
from ofancore.recovery.erasure import Erasure
from ofancore.recovery.go_back_n import GoBackN
from ofancore.recovery.sack import Sack
from ofancore.recovery.trim import Trim

RECOVERY: dict[str, type[Recovery]] = {"erasure": Erasure, "sack": Sack, "trim": Trim, "go_back_n": GoBackN}

__all__ = ["RECOVERY", "Recovery"]
