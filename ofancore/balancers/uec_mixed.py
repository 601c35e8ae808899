"""UEC's mixed balancer, the default of uet-htsim: labels of good ACKs first, else the bitmap's.

Ultra Ethernet leaves the choice open (Hoefler et al., arXiv 2508.08906); the recycling is that of REPS (Bonato et al., EuroSys 2025).

A flow keeps a queue of the labels of ACKs that came back without a mark. A send takes the oldest of them, each once; if there is none,
the next label of `uec_bitmap`, whose penalties hear of everything that comes back, too.

In uet-htsim the queue has no end. Here it is a ring of `queue_labels`, in which the oldest label gives way (our choice); for a flow that
never had so many packets under way that is the same, since a label is put back only once for each time it was sent.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ofancore.balancers.base import MIXED_LABEL, Shape, field, flows_per_host, registers_of_flows, set_field, words_of
from ofancore.balancers.uec_bitmap import UecBitmap, label_bitmap, on_ack_bitmap
from ofancore.bits import LABEL_BITS, LABEL_MASK
from ofancore.jit import inner

FIRST, LAST, QUEUE = range(3)  # registers after the bitmap's: labels ever taken out and put in; from QUEUE on 16 bits a label
WORD = 4  # logarithm of the width of a field
assert 1 << WORD == LABEL_BITS


class UecMixed(UecBitmap):
    """Packet granularity, the host recycles labels that came back unmarked, else walks over those without penalties."""

    kind: Literal["uec_mixed"] = "uec_mixed"
    queue_labels: int = Field(1024, ge=1, le=LABEL_MASK + 1, description="recycled labels kept, a power of two (uet-htsim: no limit)")
    title: ClassVar[str] = "UEC mixed"
    host_code: ClassVar[int] = MIXED_LABEL

    @model_validator(mode="after")
    def _ring(self) -> UecMixed:
        if self.queue_labels & (self.queue_labels - 1):
            raise PydanticCustomError("broken", "must be a power of two", {"key": "queue_labels", "value": self.queue_labels})
        return self

    def constants(self, shape: Shape) -> list[int]:
        return [*super().constants(shape), super().words(), self.queue_labels]

    def words(self) -> int:
        return super().words() + QUEUE + words_of(self.queue_labels, WORD)

    def host_registers(self, shape: Shape) -> int:
        key = "queue_labels" if self.queue_labels * 4 > self.labels else "labels"
        return registers_of_flows(shape, self.words(), key, getattr(self, key))

    def host_bytes(self, shape: Shape) -> int:
        return super().host_bytes(shape) + flows_per_host(shape) * (4 + 2 * self.queue_labels)


@inner(apart=True)
def label_mixed(hx, at, host, flow, seq, now):
    """The oldest recycled label, or the bitmap's next one."""
    queue = at + hx.par[5]
    first = hx.reg[queue + FIRST]
    if first == hx.reg[queue + LAST]:
        return label_bitmap(hx, at, host, flow, seq, now)
    hx.reg[queue + FIRST] = first + 1
    return field(hx.reg, queue + QUEUE, first & (hx.par[6] - 1), WORD)


@inner(apart=True)
def on_ack_mixed(hx, at, host, label, ecn, now):
    """A mark is the bitmap's; a label without one is put into the queue."""
    on_ack_bitmap(hx, at, host, label, ecn, now)
    if ecn == 0:
        queue, size = at + hx.par[5], hx.par[6]
        last = hx.reg[queue + LAST]
        set_field(hx.reg, queue + QUEUE, last & (size - 1), WORD, label)
        hx.reg[queue + LAST] = last + 1
        hx.reg[queue + FIRST] = max(hx.reg[queue + FIRST], last + 1 - size)
