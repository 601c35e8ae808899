"""The twins of every loss recovery: the class that holds both ends of a flow."""

from __future__ import annotations

from ofancore.reference.erasure import Erasure
from ofancore.reference.go_back_n import GoBackN
from ofancore.reference.selective import Sack, Trim
from ofancore.reference.transport import Transport

RECOVERIES: dict[str, type[Transport]] = {"erasure": Erasure, "sack": Sack, "trim": Trim, "go_back_n": GoBackN}
