"""ECMP: one label per flow, hashed at every switch (RFC 2992; the paper's "Flow").

All packets of a flow take one path; flows collide at random. ACKs carry the same label the other way.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ofancore.balancers.base import Balancer, slot, slots_of
from ofancore.bits import hash_below
from ofancore.jit import inner


class Ecmp(Balancer):
    """Flow granularity: one hashed path per flow."""

    kind: Literal["ecmp"] = "ecmp"
    title: ClassVar[str] = "Flow (ECMP)"
    family: ClassVar[str] = "flow"


@inner
def choose_by_hash(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """The hash of label, flow and switch salt picks a slot; every host-based scheme with hashed labels ends here."""
    return slot(sw, width, sched, hash_below(label, flow, sw.salt[node], slots_of(sw, width, sched)))


@inner
def label_of_flow(hx, at, host, flow, seq, now):
    """Always label 0: the hash sees the flow."""
    return np.int64(0)
