"""Host DR: the host rotates over the top switches of each destination (DRB: Cao et al., CoNEXT 2013; the paper's "Host DR").

A pointer per (destination host, size bin) walks over the switches of the lowest common layer; the label is the path index:
slot `label mod A` at the edge switch, slot `label div A` at the aggregation switch, so consecutive packets leave by different
uplinks. With `digit_reversed = false` the aggregation digit turns slowest. Pointers start at random. ACKs have pointers of
their own. A switch that knows of a failure maps the index onto its weighted schedule.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import BY_PATH, PATH_LABEL, Balancer, Shape, slot
from ofancore.jit import kernel


class HostDr(Balancer):
    """Destination rotation by the host over explicit paths."""

    kind: Literal["host_dr"] = "host_dr"
    digit_reversed: bool = Field(True, description="the edge's uplink changes with every packet (DRB's order)")
    title: ClassVar[str] = "Host DR (DRB)"
    family: ClassVar[str] = "rotation"
    switch_code: ClassVar[int] = BY_PATH
    host_code: ClassVar[int] = PATH_LABEL
    path_acks: ClassVar[bool] = True

    def constants(self, shape: Shape) -> list[int]:
        a, c = shape.fabric.A, max(shape.fabric.C, 1)
        return [a, c, int(self.digit_reversed), shape.fabric.link_base[2]]

    @staticmethod
    def _pairs(shape: Shape) -> np.ndarray:
        """int64[2 * n_flows]: number of the ordered pair (sender, receiver) of each flow's data and of its ACKs."""
        n = shape.fabric.n_hosts
        both = np.stack([shape.flow_src * n + shape.flow_dst, shape.flow_dst * n + shape.flow_src], axis=1)
        return np.unique(both, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def host_registers(self, shape: Shape) -> int:
        return 2 * (int(self._pairs(shape).max(initial=-1)) + 1)

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        pairs = self._pairs(shape)
        paths = shape.fabric.A * max(shape.fabric.C, 1)
        index = 2 * pairs + np.tile([0, 1], len(shape.flow_src))
        return rng.integers(0, paths, self.host_registers(shape)), index

    def host_bytes(self, shape: Shape) -> int:
        n = shape.fabric.n_hosts
        sends = np.unique(np.concatenate([shape.flow_src * n + shape.flow_dst, shape.flow_dst * n + shape.flow_src])) // n
        return 2 * 2 * int(np.bincount(sends).max()) if len(sends) else 0  # two bins of two bytes a destination


@kernel
def label_path(hx, at, host, flow, seq, now):
    """The pointer of this destination and size bin, advanced by one."""
    path = hx.reg[at]
    a, c = hx.par[0], hx.par[1]
    hx.reg[at] = path + 1 if path + 1 < a * c else 0
    if hx.par[2] != 0:
        return path
    return path // c + (path % c) * a


@kernel
def choose_by_path(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """The slot that the label names at this tier; uplinks from `par[3]` on belong to aggregation switches."""
    a = sw.par[0]
    digit = label % a if up < sw.par[3] else label // a
    return slot(sw, width, sched, digit)
