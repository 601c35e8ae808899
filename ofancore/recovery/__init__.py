"""The registry of loss recoveries. To add one: write its file and name its class here."""

from __future__ import annotations

from ofancore.recovery.erasure import Erasure

RECOVERY = {"erasure": Erasure}

__all__ = ["RECOVERY"]
