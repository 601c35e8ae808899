"""Quantities and conversions. The only place that knows how many bits a byte has and what a tick is.

The engine counts time in ticks of one picosecond (int64, so a run may last 106 days). A link's serialisation time is
rounded to the nearest tick; at 800, 400, 200 and 100 Gb/s a byte is a whole number of ticks and nothing is rounded.
"""

from __future__ import annotations

TICKS_PER_NS = 1_000
BITS_PER_BYTE = 8


def ticks(ns: float) -> int:
    """Nanoseconds to ticks, rounded to the nearest."""
    return round(ns * TICKS_PER_NS)


def ns(tick_count: float) -> float:
    """Ticks to nanoseconds."""
    return tick_count / TICKS_PER_NS


def ticks_per_byte(gbps: float) -> float:
    """Ticks that one byte occupies a link of `gbps` (1e9 bit/s)."""
    return BITS_PER_BYTE * TICKS_PER_NS / gbps


def serialisation_ticks(size_bytes: int, gbps: float) -> int:
    """Ticks to put `size_bytes` on a link of `gbps`, rounded to the nearest and at least one."""
    return max(1, round(size_bytes * ticks_per_byte(gbps))) if size_bytes else 0
