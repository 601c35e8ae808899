"""What breaks, what still leads where, and the weighted schedules that follow (paper: W-ECMP weights, IWRR).

Capacities of cables are counted in twentieths of the healthy rate (a degraded but live cable has at least one), so that weights are
integers. The weight of a next hop towards a destination is the summed capacity of the surviving shortest paths through it;
weights are divided by their gcd and served by interleaved weighted round robin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import gcd

import numpy as np

from ofancore.balancers.base import N_ORDERS
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric

WHOLE = 20  # capacity of a healthy cable
LONGEST = 1 << 13  # slots of a schedule; weights that need more are rounded
NEIGHBOURS, EVERYBODY = 0, 1  # rows of knowledge


def iwrr(weights: list[int], order: list[int]) -> list[int]:
    """Interleaved weighted round robin: in cycle c = 1..max weight, ports in `order` whose weight is at least c (paper).

    >>> iwrr([2, 2, 2, 1], [2, 1, 3, 0])
    [2, 1, 3, 0, 2, 1, 0]
    """
    return [port for cycle in range(1, max(weights, default=0) + 1) for port in order if weights[port] >= cycle]


@dataclass(frozen=True)
class Damage:
    """Capacity of every cable after the failure: `share` float64[n_cables] of the healthy rate."""

    fabric: Fabric
    share: np.ndarray

    @classmethod
    def draw(cls, keys, fabric: Fabric, rng: np.random.Generator) -> Damage:
        """Named cables, and each other one with probability `link_failure_rate` (one draw a cable, whatever the rate).

        ScenarioError for a cable that does not exist or is named twice.
        """
        share = np.where(rng.random(fabric.n_cables) < keys.link_failure_rate, keys.capacity, 1.0)
        names: dict[str, int] = {}
        for i, named in enumerate(keys.cables):
            try:
                share[fabric.cable_of(named.cable)] = named.capacity
            except ValueError as e:
                raise ScenarioError(f"failures.cables.{i}.cable", named.cable, str(e)) from None
            first = names.setdefault(named.cable, i)
            if first != i:
                raise ScenarioError(f"failures.cables.{i}.cable", named.cable, f"a cable may be named once; failures.cables.{first} is it")
        return cls(fabric, share)

    @property
    def any(self) -> bool:
        return bool((self.share < 1).any())

    def edge_agg(self) -> np.ndarray:
        """int64[n_edges, A]: capacity of each edge switch's cables."""
        f = self.fabric
        return self._units()[: f.n_edges * f.A].reshape(f.n_edges, f.A)

    def agg_core(self) -> np.ndarray:
        """int64[P, A, C]: capacity of each aggregation switch's cables (C = 1 of full capacity in a leaf-spine)."""
        f = self.fabric
        if not f.C:
            return np.full((f.P, f.A, 1), WHOLE)
        return self._units()[f.n_edges * f.A :].reshape(f.P, f.A, f.C)

    def _units(self) -> np.ndarray:
        return np.where(self.share > 0, np.maximum(np.rint(self.share * WHOLE), 1), 0).astype(np.int64)


def edge_weights(damage: Damage, edge: int) -> np.ndarray:
    """int64[n_edges, A]: weight of each uplink of an edge switch towards every edge switch, all failures known."""
    f, low, high = damage.fabric, damage.edge_agg(), damage.agg_core()
    pod = edge // f.E
    core = np.minimum(high[pod][None], high)  # [P, A, C]: capacity through each core towards each pod
    weights = np.repeat(core.sum(axis=2), f.E, axis=0)  # [n_edges, A]
    weights[pod * f.E : (pod + 1) * f.E] = WHOLE
    least = np.minimum(low[edge][None], low)
    for there, j in np.argwhere(least < WHOLE):
        inside = there // f.E == pod
        weights[there, j] = least[there, j] if inside else np.minimum(core[there // f.E, j], least[there, j]).sum()
    return weights


def agg_weights(damage: Damage, pod: int, j: int) -> np.ndarray:
    """int64[P, C]: weight of each uplink of aggregation switch (pod, j) towards every pod, all failures known."""
    high = damage.agg_core()
    return np.minimum(high[pod, j][None], high[:, j])


class Schedules:
    """Weighted schedules, shared by all switches that need the same one.

    `rows` int64[n, 2] and `slots` int32[...] are the `sched` and `slots` of `SwitchState`. Schedule numbers are handed out by `number`.
    """

    def __init__(self, orders: np.ndarray):
        self._orders = orders  # int32[2 * N_ORDERS, max(A, C)]
        self._numbers: dict[tuple, int] = {}
        self._rows: list[tuple[int, int]] = []
        self._slots: list[np.ndarray] = [np.zeros(1, np.int32)]
        self._length = 1

    def number(self, weights: np.ndarray, tier: int) -> int:
        """Number of the schedule of these weights; -1 if all are equal and positive (no schedule needed)."""
        if weights[0] > 0 and (weights == weights[0]).all():
            return -1
        if weights.sum() > LONGEST * reduce(gcd, weights.tolist()):
            weights = np.where(weights > 0, np.maximum(weights * LONGEST // weights.sum(), 1), 0)
        divisor = reduce(gcd, weights.tolist()) or 1
        key = (tier, *(int(w) // divisor for w in weights))
        if key not in self._numbers:
            w = np.array(key[1:])
            orders = np.vstack([np.arange(len(w)), self._orders[tier * N_ORDERS : (tier + 1) * N_ORDERS, : len(w)]])
            served = w[orders][:, None, :] >= np.arange(1, max(w.max(), 1) + 1)[:, None]  # `iwrr` of all orders: order, cycle, place
            self._rows.append((self._length, int(w.sum())))
            self._slots.append(np.broadcast_to(orders[:, None, :], served.shape)[served].astype(np.int32))
            self._length += len(self._slots[-1])
            self._numbers[key] = len(self._rows) - 1
        return self._numbers[key]

    @property
    def rows(self) -> np.ndarray:
        return np.array(self._rows, np.int64).reshape(-1, 2)

    @property
    def slots(self) -> np.ndarray:
        return np.concatenate(self._slots)


def numbers(schedules: Schedules, weights: np.ndarray, tier: int) -> np.ndarray:
    """Schedule of each row of weights; equal rows are looked up once."""
    if not len(weights):
        return np.zeros(0, np.int32)
    distinct, which = np.unique(weights, axis=0, return_inverse=True)
    return np.array([schedules.number(w, tier) for w in distinct], np.int32)[which.reshape(-1)]


def knowledge(damage: Damage, schedules: Schedules) -> tuple[np.ndarray, np.ndarray]:
    """(sched_of int32[2, entries], first int64[n_nodes]): schedule of every (knowledge, switch, group).

    Neighbours of a failed cable know that cable alone; everybody knows all. Edge switches have an entry per edge switch,
    aggregation switches one per pod.
    """
    f, low, high = damage.fabric, damage.edge_agg(), damage.agg_core()
    _, first_edge, first_agg, first_core, n_nodes = f.node_base
    first = np.zeros(n_nodes, np.int64)
    first[first_edge:first_agg] = np.arange(f.n_edges) * f.n_edges
    first[first_agg:first_core] = f.n_edges**2 + np.arange(f.n_aggs) * f.P
    table = np.full((2, f.n_edges**2 + f.n_aggs * f.P), -1, np.int32)
    for edge in range(f.n_edges):
        row = slice(edge * f.n_edges, (edge + 1) * f.n_edges)
        table[NEIGHBOURS, row] = schedules.number(low[edge], 0)
        weights = edge_weights(damage, edge)
        uneven = np.flatnonzero((weights != weights[:, :1]).any(axis=1) | (weights[:, 0] == 0))
        table[EVERYBODY, edge * f.n_edges + uneven] = numbers(schedules, weights[uneven], 0)
    if f.C:
        for agg in range(f.n_aggs):
            pod, j = divmod(agg, f.A)
            row = f.n_edges**2 + agg * f.P
            table[NEIGHBOURS, row : row + f.P] = schedules.number(high[pod, j], 1)
            table[EVERYBODY, row : row + f.P] = numbers(schedules, agg_weights(damage, pod, j), 1)
    return table, first


def refuse_disconnected(damage: Damage, src: np.ndarray, dst: np.ndarray, drawn: bool = False) -> None:
    """ScenarioError naming the first communicating pair (of places) that no surviving path joins; `drawn`: cables were, by the seed."""
    f = damage.fabric
    edges = np.unique(f.edge_of(src))
    for edge in edges:
        cut = (edge_weights(damage, int(edge)) == 0).all(axis=1)
        bad = np.flatnonzero((f.edge_of(src) == edge) & cut[f.edge_of(dst)] & (f.edge_of(dst) != edge))
        if len(bad):
            this, that = f.host_at(src[bad[0]]), f.host_at(dst[bad[0]])
            pair = f"host:{this} ({f.node_name(f.node_base[1] + int(edge))}) and host:{that}"
            dead = [f.cable_name(int(i)) for i in np.flatnonzero(damage.share == 0)]
            shown = ", ".join(dead[:4]) + (f" and {len(dead) - 4} more" if len(dead) > 4 else "")
            advice = "; cables are drawn by the seed: take another one, or a lower failures.link_failure_rate" if drawn else ""
            raise ScenarioError("failures", shown, f"these dead cables leave no path between {pair}{advice}")
