"""Closed forms that the figures overlay: queues of random spraying, the N*D/D/1 queue, rotation, the best packet size.

Queues are in packets, time in packet times, links at load 1. Every form says what it leaves out; the unit tests compare
the elementary ones with direct simulation.
"""

from __future__ import annotations

import math

import numpy as np


def spray_variance(radix: int) -> float:
    """Variance a packet time of what random spraying puts on an uplink: k/2 senders, each choosing it with probability 2/k."""
    return 1 - 2 / radix


def random_mean_queue(m, radix: int = 8):
    """E[Q] at the end of a message of m packets: a random walk reflected at zero. sqrt(1 - 2/k) sqrt(2 m / pi)."""
    return math.sqrt(spray_variance(radix)) * np.sqrt(2 * np.asarray(m, dtype=float) / math.pi)


def random_time_mean_queue(m, radix: int = 8):
    """The mean of E[Q] over the message: two thirds of its end value, since E[Q] grows as the square root of time."""
    return 2 / 3 * random_mean_queue(m, radix)


def random_largest_queue(m, radix: int = 8):
    """E[largest queue of one link while m packets are sent]: sqrt(1 - 2/k) sqrt(pi m / 2)."""
    return math.sqrt(spray_variance(radix)) * np.sqrt(math.pi * np.asarray(m, dtype=float) / 2)


def reflected_maximum_cdf(y):
    """P(max over [0, 1] of |W| <= y) for a Wiener process W, y > 0 (an array or a number)."""
    y = np.asarray(y, dtype=float)[..., None]
    n = np.arange(40)
    series = np.where(n % 2 == 0, 1.0, -1.0) / (2 * n + 1) * np.exp(-((2 * n + 1) ** 2) * math.pi**2 / (8 * y**2))
    return np.clip(4 / math.pi * series.sum(axis=-1), 0.0, 1.0)


def largest_of_links(m, links: int, radix: int = 8):
    """E[largest queue over `links` independent links] under random spraying of m packets. Links downstream, which see
    smoothed traffic, are not in it."""
    y = np.linspace(1e-3, 12, 6000)
    factor = float(np.trapezoid(1 - reflected_maximum_cdf(y) ** links, y))
    return factor * math.sqrt(spray_variance(radix)) * np.sqrt(np.asarray(m, dtype=float))


def ndd1_tail(x: float, sources: int, period: float) -> float:
    """P(unfinished work > x) of N*D/D/1: `sources` streams, each a packet every `period` packet times, phases uniform.

    Benes' formula; the load is sources / period <= 1. At load 1 the queue is that of one period of a bridge.
    """
    if x >= sources:
        return 0.0
    total = 0.0
    for n in range(math.floor(x) + 1, sources + 1):
        share = (n - x) / period
        if share >= 1:
            total += 1.0 if share == 1 and n == sources else 0.0
            continue
        log_term = (
            math.lgamma(sources + 1) - math.lgamma(n + 1) - math.lgamma(sources - n + 1)
            + n * math.log(share) + (sources - n) * math.log1p(-share)
        )  # fmt: skip
        total += math.exp(log_term) * (period - sources + x) / (period - n + x)
    return min(1.0, total)


def ndd1_mean(sources: int, period: float | None = None) -> float:
    """E[unfinished work] of N*D/D/1 in packets, by integrating the tail; load 1 when `period` is not given."""
    if sources < 1:
        return 0.0
    period = float(sources) if period is None else period
    # Midpoints stay clear of the jumps of the tail at whole numbers.
    top = min(float(sources), 1 + 6 * math.sqrt(sources))
    cells = math.ceil(top) * 8
    return sum(ndd1_tail((i + 0.5) / 8, sources, period) for i in range(cells)) / 8


def bridge_mean(sources: float) -> float:
    """The limit of `ndd1_mean` for many sources at load 1: sqrt(pi N / 8)."""
    return math.sqrt(math.pi * sources / 8)


def rotation_bound(pointers: int, ports: int) -> float:
    """Largest excess over the fair share in any window: each of P pointers over R ports adds at most 1 - 1/R."""
    return pointers * (1 - 1 / ports)


# The queue models of Host DR and Ofan for a permutation on a k-ary fat tree. Each link sees a superposition of evenly
# rotated streams; the model takes them as periodic with independent phases at load 1, and leaves out that streams were
# smoothed upstream, that some flows stay within an edge or a pod, and ACKs.
STAGES = ("edge_agg", "agg_core", "core_agg", "agg_edge")


def streams(scheme: str, stage: str, radix: int) -> int:
    """How many independent periodic streams share a link of the stage.

    Host DR rotates per destination host: k/2 hosts feed an edge's uplink; (k/2)^2 hosts of a pod feed an uplink of an
    aggregation switch, and as many destinations share a link down into a pod. Ofan merges what goes to one destination
    edge or pod: beyond the edge there is one stream per other pod, k - 1.
    """
    if stage in ("edge_agg", "agg_edge"):
        return radix // 2
    return {"host_dr": (radix // 2) ** 2, "switch_dr": (radix // 2) ** 2, "ofan": radix - 1}[scheme]


def rotation_queue(scheme: str, stage: str, radix: int) -> float:
    """Mean number of packets that wait at a link of the stage (the one in service not counted).

    By Little's law at load 1 this is the mean wait, and an arriving packet finds the work of the other N - 1 streams.
    """
    n = streams(scheme, stage, radix)
    return ndd1_mean(n - 1, n)


def best_payload(message_bytes: float, overhead_bytes: float = 82, alpha: float = 10) -> float:
    """Payload that minimises the CCT of a scheme with O(1) queues: sqrt(H D / alpha).

    D (1 + H/p) is sent, and the last packet waits for about alpha packets of p bytes on its way.
    """
    return math.sqrt(overhead_bytes * message_bytes / alpha)


def best_payload_sqrt(message_bytes: float, overhead_bytes: float = 82, beta: float = 1.0) -> float:
    """Payload that minimises the CCT of a scheme whose queue grows as beta sqrt(m) packets: (2 H sqrt(D) / beta)^(2/3), so D^(1/3)."""
    return (2 * overhead_bytes * math.sqrt(message_bytes) / beta) ** (2 / 3)
