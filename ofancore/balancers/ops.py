"""OPS: oblivious packet spraying, a fresh random label per packet (Dixit et al., INFOCOM 2013; the paper's "Host Pkt")."""

from __future__ import annotations

from typing import ClassVar, Literal

from ofancore.balancers.base import FRESH_LABEL, Balancer
from ofancore.bits import LABEL_MASK, random_bits
from ofancore.jit import kernel


class Ops(Balancer):
    """Packet granularity, chosen by the host at random."""

    kind: Literal["ops"] = "ops"
    title: ClassVar[str] = "Host Pkt (OPS)"
    family: ClassVar[str] = "host"
    host_code: ClassVar[int] = FRESH_LABEL


@kernel
def label_fresh(hx, at, host, flow, seq, now):
    """A uniformly random label."""
    return random_bits(hx.rng, host) & LABEL_MASK
