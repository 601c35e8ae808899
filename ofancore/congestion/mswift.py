"""MSwift: Swift for sprayed flows, steered by the median of recent delays (the paper's realistic congestion control).

Packets of one flow take many paths; the median keeps one congested path from stopping the whole flow. The paper does not say how many
samples the median is taken over: here as many as the window holds packets, times `median_windows` (our choice, swept).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.congestion.base import CWND, MSWIFT, OWN, PathTimes
from ofancore.congestion.swift import LAST, TARGET, Swift, steer
from ofancore.jit import inner

WINDOWS, MOST = OWN + 5, OWN + 6  # constants, behind Swift's
STORED, COUNTED, LOW = range(3)  # columns of `samples` before the ring: samples ever stored; those counted, and of them at most the target
RING = 3


class MSwift(Swift):
    """Window by the median delay of about one window of packets."""

    kind: Literal["mswift"] = "mswift"
    median_windows: float = Field(1.0, gt=0, le=100, description="delays the median is taken over, in windows (left open by the paper)")
    median_packets_max: int = Field(256, ge=1, le=4096, description="at most so many delays (our choice)")
    title: ClassVar[str] = "MSwift"
    code: ClassVar[int] = MSWIFT

    def constants(self, t: PathTimes) -> list[float]:
        return [*super().constants(t), self.median_windows, float(self.median_packets_max)]

    def sample_words(self) -> int:
        return RING + (1 << (self.median_packets_max - 1).bit_length())


@inner
def at_most(samples, row, limit):
    """How many of the counted samples are at most `limit`."""
    mask = samples.shape[1] - RING - 1
    n = 0
    for i in range(samples[row, STORED] - samples[row, COUNTED], samples[row, STORED]):
        n += samples[row, RING + (i & mask)] <= limit
    return n


@inner
def median(samples, row):
    """The lower median of the counted samples, found by halving the range of values."""
    rank = (samples[row, COUNTED] - 1) // 2
    low, high = np.int64(0), np.int64(1) << 62
    while low < high:
        middle = low + (high - low) // 2
        if at_most(samples, row, middle) > rank:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def store(samples, row, sample, wanted, target):
    """Keep a sample and count the last `wanted` of all; LOW follows."""
    mask = samples.shape[1] - RING - 1
    stored, counted, low = samples[row, STORED], samples[row, COUNTED], samples[row, LOW]
    if counted == mask + 1:
        low -= samples[row, RING + ((stored - counted) & mask)] <= target
        counted -= 1
    samples[row, RING + (stored & mask)] = sample
    stored += 1
    counted += 1
    low += sample <= target
    while counted > wanted:
        low -= samples[row, RING + ((stored - counted) & mask)] <= target
        counted -= 1
    while counted < min(wanted, stored):
        counted += 1
        low += samples[row, RING + ((stored - counted) & mask)] <= target
    samples[row, STORED], samples[row, COUNTED], samples[row, LOW] = stored, counted, low


@inner
def on_ack_mswift(cs, flow, now, rtt, ecn, n, flying):
    """Store the delay, and steer by the median; its value is worked out only when a decrease may be due."""
    if rtt < 0:
        return
    samples, row = cs.samples, cs.row[flow]
    target = cs.base[flow] + np.int64(cs.par[TARGET])
    wanted = min(max(np.int64(1), np.int64(cs.par[WINDOWS] * cs.cc[flow, CWND])), np.int64(cs.par[MOST]))
    store(samples, row, rtt, wanted, target)
    half = (samples[row, COUNTED] - 1) // 2
    since = now - cs.cc[flow, LAST]
    if samples[row, LOW] > half:
        steer(cs, flow, now, 0.0, n)
    elif since > target and (since >= 1e18 or at_most(samples, row, np.int64(since)) > half):
        steer(cs, flow, now, float(median(samples, row)), n)
