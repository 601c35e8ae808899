"""Host DR: the host rotates over the top switches of each destination (DRB: Cao et al., CoNEXT 2013; the paper's "Host DR").

A pointer per (destination host, size bin) walks over the switches of the lowest common layer; the label is the path index:
slot `label mod A` at the edge switch, slot `label div A` at the aggregation switch, so consecutive packets leave by different
uplinks. With `digit_reversed = false` the aggregation digit turns slowest. Pointers start at random. ACKs have pointers of
their own. Once failures are known everywhere, a pointer walks over the surviving paths only. A switch that knows the uplink to be dead
takes the slot of its schedule that the index falls on.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import BY_PATH, PATH_LABEL, Balancer, Shape, leads, slot, slots_of
from ofancore.fabric import Fabric
from ofancore.jit import inner


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

    def init_paths(self, shape: Shape, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        fabric, a = shape.fabric, shape.fabric.A
        c = max(fabric.C, 1)
        index = 2 * self._pairs(shape) + np.tile([0, 1], len(shape.flow_src))
        path_at = np.zeros((self.host_registers(shape), 2), np.int64)
        rows: dict[tuple[int, int], tuple[int, int]] = {}
        paths: list[int] = []
        sender = np.stack([shape.flow_src, shape.flow_dst], axis=1).ravel()
        receiver = np.stack([shape.flow_dst, shape.flow_src], axis=1).ravel()
        for at, e, g in zip(index, fabric.edge_of(sender), fabric.edge_of(receiver)):
            if (e, g) not in rows:
                alive = alive_between(fabric, low, high, e, g)
                walk = [path_of_step(s, a, c, self.digit_reversed) for s in range(a * c)]
                walk = [path for path in walk if alive[path % a, path // a]]
                whole = len(walk) == a * c or e == g
                rows[e, g] = (0, 0) if whole else (len(paths), len(walk))
                paths += [] if whole else walk
            path_at[at] = rows[e, g]
        return path_at, np.array(paths or [0], np.int32)

    def host_bytes(self, shape: Shape) -> int:
        n = shape.fabric.n_hosts
        sends = np.unique(np.concatenate([shape.flow_src * n + shape.flow_dst, shape.flow_dst * n + shape.flow_src])) // n
        return 2 * 2 * int(np.bincount(sends).max()) if len(sends) else 0  # two bins of two bytes a destination


def alive_between(fabric: Fabric, low: np.ndarray, high: np.ndarray, e: int, g: int) -> np.ndarray:
    """bool[A, max(C, 1)]: the paths (aggregation index, core index) between two edge switches without a dead cable; the arrays as in
    `Balancer.init_paths`."""
    p, q = e // fabric.E, g // fabric.E
    alive = ((low[e] > 0) & (low[g] > 0))[:, None] & ((high[p] > 0) & (high[q] > 0) if p != q else True)
    return np.broadcast_to(alive, (fabric.A, max(fabric.C, 1)))


@inner
def path_of_step(step, a, c, reversed_digits):
    """Path index at a step of the walk over all paths."""
    if reversed_digits:
        return step
    return step // c + (step % c) * a


@inner
def label_path(hx, at, host, flow, seq, now):
    """The pointer of this destination and size bin, advanced by one."""
    step = hx.reg[at]
    a, c = hx.par[0], hx.par[1]
    if hx.known[0] != 0 and hx.path_at[at, 1] > 0:
        length = hx.path_at[at, 1]
        if step >= length:
            step = step % length
        hx.reg[at] = step + 1 if step + 1 < length else 0
        return np.int64(hx.paths[hx.path_at[at, 0] + step])
    hx.reg[at] = step + 1 if step + 1 < a * c else 0
    return path_of_step(step, a, c, hx.par[2] != 0)


@inner
def choose_by_path(sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """The slot that the label names at this tier; uplinks from `par[3]` on belong to aggregation switches."""
    a = sw.par[0]
    digit = label % a if up < sw.par[3] else label // a
    if sched >= 0 and leads(sw, sched, digit):
        return digit
    return slot(sw, width, sched, digit % slots_of(sw, width, sched))
