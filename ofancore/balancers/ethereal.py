"""Ethereal: whole flows on single paths, and as few flows split as an even load needs (Addanki et al., arXiv 2407.00550).

A host has n equal flows (its messages of a collective that are open at once) and s paths. Each path gets floor(n / s) whole flows; the
remaining r = n mod s flows are split into s / gcd(r, s) equal parts each, which go to the paths in turn, so that every path
carries the same. Nothing is decided later: no feedback, no switch takes part.

Paths are named by the host, as with `host_dr`: slot `label mod A` at the edge switch, slot `label div A` at the aggregation switch, A paths
within a pod, all A * C beyond it; an ACK goes back by the path of its data. A flow's parts take its packets in turn, as a NIC serves the
queue pairs of a split message. Flows to hosts at the same edge switch need no path, and those within the pod are shared out by themselves.

Our choices: the first path of a host is drawn; the first n - r flows, in the order of the workload, are the whole ones; `per` says over
which flows the load is even; flows that wait for ACKs, or for any of several others, count as those that wait for nothing. Once failures
are known everywhere, the surviving paths stand in for the dead ones in turn, without a new split.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.base import BY_PATH, PART_LABEL, Balancer, Shape, flows_per_host, per_flow
from ofancore.balancers.host_dr import alive_between
from ofancore.jit import inner

FIRST, PARTS, PATHS = range(3)  # registers of a flow: path of its first part, parts, paths that it can take
WORDS = 3


class Ethereal(Balancer):
    """Flow granularity, the host gives whole flows to its paths in turn and splits those that are left over."""

    kind: Literal["ethereal"] = "ethereal"
    per: Literal["host", "edge"] = Field(
        "host", description="flows shared out together: a host's, or a host's to one edge switch (more splits, even load on the way down)"
    )
    title: ClassVar[str] = "Ethereal"
    family: ClassVar[str] = "flow"
    switch_code: ClassVar[int] = BY_PATH
    host_code: ClassVar[int] = PART_LABEL

    def constants(self, shape: Shape) -> list[int]:
        return [shape.fabric.A, max(shape.fabric.C, 1), 0, shape.fabric.link_base[2]]

    def host_registers(self, shape: Shape) -> int:
        return WORDS * len(shape.flow_src)

    def init_hosts(self, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        n = len(shape.flow_src)
        registers = np.tile(np.array([0, 1, 1], np.int64), (n, 1))
        fabric, src, dst = shape.fabric, shape.flow_src, shape.flow_dst
        near = fabric.pod_of(src) == fabric.pod_of(dst)
        registers[:, PATHS] = np.where(near, fabric.A, fabric.A * max(fabric.C, 1))
        none = np.zeros(n, np.int64)
        packets = none if shape.flow_packets is None else shape.flow_packets
        group = none if shape.flow_group is None else shape.flow_group
        turn = none if shape.flow_after is None else turns(n, shape.flow_after)
        towards = fabric.edge_of(dst) if self.per == "edge" else near
        key = np.stack([src, group, turn, packets, near, towards], axis=1)
        climbs = np.flatnonzero(fabric.edge_of(src) != fabric.edge_of(dst))
        batch = np.unique(key[climbs], axis=0, return_inverse=True)[1].reshape(-1)
        by_batch = climbs[np.argsort(batch, kind="stable")]
        for flows in np.split(by_batch, np.cumsum(np.bincount(batch))[:-1]) if len(climbs) else []:
            paths = int(registers[flows[0], PATHS])
            registers[flows, FIRST], registers[flows, PARTS] = shares(len(flows), paths, int(rng.integers(0, paths)))
        return (registers if n else np.zeros((1, 1), np.int64)).ravel(), per_flow(shape, WORDS) if n else np.zeros(1, np.int64)

    def init_paths(self, shape: Shape, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        fabric = shape.fabric
        path_at = np.zeros((max(self.host_registers(shape), 1), 2), np.int64)
        rows: dict[tuple[int, int], tuple[int, int]] = {}
        table: list[int] = []
        for flow, (e, g) in enumerate(zip(fabric.edge_of(shape.flow_src).tolist(), fabric.edge_of(shape.flow_dst).tolist())):
            if (e, g) not in rows:
                alive = alive_between(fabric, low, high, e, g).T.ravel()  # by path index: the edge's uplink turns fastest
                alive = alive[: fabric.A] if e // fabric.E == g // fabric.E else alive
                if alive.all() or e == g:
                    rows[e, g] = 0, 0
                else:
                    rows[e, g] = len(table), len(alive)
                    table += stand_ins(alive).tolist()
            path_at[WORDS * flow] = rows[e, g]
        return path_at, np.array(table or [0], np.int32)

    def host_bytes(self, shape: Shape) -> int:
        return 3 * flows_per_host(shape)  # a path of two bytes, the number of parts


def shares(n: int, paths: int, start: int) -> tuple[np.ndarray, np.ndarray]:
    """(first path, parts) int64[n] of n equal flows; part i of a flow takes the i-th path from its first one on, round and round."""
    rest = n % paths
    parts = np.ones(n, np.int64)
    parts[n - rest :] = paths // math.gcd(rest, paths)
    return (start + np.cumsum(parts) - parts) % paths, parts


def stand_ins(alive: np.ndarray) -> np.ndarray:
    """Path that is taken in place of each: itself if it is alive, else the survivors in turn."""
    taken = np.arange(len(alive))
    survivors, dead = np.flatnonzero(alive), np.flatnonzero(~alive)
    if len(survivors):
        taken[dead] = survivors[np.arange(len(dead)) % len(survivors)]
    return taken


def turns(n: int, after: np.ndarray) -> np.ndarray:
    """int64[n]: how many flows come one after the other, at most, before each; those of a host with the same number are open at once."""
    turn = np.zeros(n, np.int64)
    if not len(after):
        return turn
    earlier, later = after[np.argsort(after[:, 0], kind="stable")].T
    begin, end = np.searchsorted(earlier, np.arange(n)), np.searchsorted(earlier, np.arange(n), side="right")
    waits = np.bincount(later, minlength=n)
    ready = np.flatnonzero(waits == 0)
    number = 0
    while len(ready):
        turn[ready] = number
        counts = end[ready] - begin[ready]
        follow = later[np.repeat(begin[ready] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]
        np.subtract.at(waits, follow, 1)
        ready = np.unique(follow[waits[follow] == 0])
        number += 1
    return turn


@inner(apart=True)
def label_part(hx, at, host, flow, seq, now):
    """The path of the packet's part."""
    path = (hx.reg[at + FIRST] + seq % hx.reg[at + PARTS]) % hx.reg[at + PATHS]
    if hx.known[0] != 0 and hx.path_at[at, 1] > 0:
        return np.int64(hx.paths[hx.path_at[at, 0] + path])
    return path
