"""Line rate: the paper's ideal congestion control.

A host sends whenever its NIC is free; under failures all hosts are paced at rho_max, the rate at which the most loaded surviving link
is just full when each flow splits evenly over its surviving shortest paths (`bounds.rho_max`).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ofancore.congestion.base import LINE_RATE, Congestion


class LineRate(Congestion):
    """Open loop at line rate, or at rho_max from the moment of a failure."""

    kind: Literal["line_rate"] = "line_rate"
    pace_failures: bool = Field(True, description="pace at rho_max under failures (paper); false: always line rate")
    title: ClassVar[str] = "line rate"
    code: ClassVar[int] = LINE_RATE
