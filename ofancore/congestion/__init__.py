"""The registry of congestion controls. To add one: write its file and name its class here."""

from __future__ import annotations

from ofancore.congestion.line_rate import LineRate

CONGESTION = {"line_rate": LineRate}

__all__ = ["CONGESTION"]
