"""Lower bounds of the collective completion time, and the paced rate under failures.

Terms: T_d, T_a, T_g serialisation times of data, ACK and gap; d = T_d + T_g, a = T_a + T_g; p(H) propagation over H links.
The permutation bound is the paper's; the other ones follow the same way. All times are ticks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ofancore.fabric import Fabric
from ofancore.failures import WHOLE, Damage
from ofancore.workloads import Flows


@dataclass(frozen=True)
class Times:
    """Serialisation and propagation times of a fabric without failures, in ticks."""

    data: int
    ack: int
    gap: int
    delay: int

    def there(self, hops):
        """Last bit sent to last bit received over `hops` empty links, for data."""
        return hops * self.delay + (hops - 1) * self.data

    def back(self, hops):
        """First bit of an ACK sent to its slot's end at the sender, over `hops` empty links.

        Together with `there` after the last data slot this makes the paper's bound exact for the engine, which calls a flow done
        when the slot (frame and gap) of its last ACK ends.
        """
        return hops * self.delay + hops * self.ack


def first_ack_index(t: Times, hops: int) -> int:
    """i1: data packets a sender has sent when its first ACK leaves (paper: ceil((p + (H-1) T_d) / d) + 1; 78 by default)."""
    return -(-t.there(hops) // (t.data + t.gap)) + 1


def sending_time(t: Times, packets: int, hops: int) -> int:
    """Time until the slot of the last of `packets` data packets ends at a host that also ACKs as many, ACKs first.

    Data back to back until the first ACK is due, then data and ACKs in turn.
    """
    alone = min(packets, first_ack_index(t, hops))
    return packets * (t.data + t.gap) + (packets - alone) * (t.ack + t.gap)


def permutation_bound(t: Times, packets: int, hops: int = 6) -> int:
    """The paper's bound of a permutation with in-band ACKs: 17,056,940 ticks for the defaults and 256 packets."""
    return sending_time(t, packets, hops) + t.there(hops) + t.back(hops)


def ring_bound(t: Times, fabric: Fabric, flows: Flows) -> int:
    """A chain of dependent messages: each must arrive whole before the next starts; the last one is ACKed."""
    arrive = flows.packets * (t.data + t.gap) - t.gap + t.there(fabric.hops(flows.src, flows.dst))
    ready = np.zeros(len(flows), np.int64)
    for earlier, later in flows.after[np.argsort(flows.after[:, 1], kind="stable")]:
        ready[later] = max(ready[later], ready[earlier] + arrive[earlier])
    return int((ready + arrive + t.gap + t.back(fabric.hops(flows.src, flows.dst))).max())


def port_bound(t: Times, fabric: Fabric, flows: Flows) -> int:
    """Every host must send all it has and receive all it gets, one packet at a time; then the shortest way there and back."""
    hops = fabric.hops(flows.src, flows.dst)
    best = 0
    for ends in (flows.src, flows.dst):
        load = np.bincount(ends, weights=flows.packets).astype(np.int64)
        near = np.full(len(load), fabric.max_hops)
        np.minimum.at(near, ends, hops)
        busy = load > 0
        best = max(best, int((load * (t.data + t.gap) + t.there(near) + t.back(near))[busy].max()))
    return best


def all_to_all_bound(t: Times, fabric: Fabric, flows: Flows) -> int:
    """The host's own send time (with the ACKs it owes) plus propagation, for the rotated order in which hosts send.

    With one or with all flows open the place of a flow's last packet in its host's order is known, and the latest of place plus
    distance counts. In between, the last packet belongs to one of the last `open_flows` flows; the nearest of those counts.
    """
    n = int(np.bincount(flows.src).max())
    m = int(flows.packets[0])
    hops = fabric.hops(flows.src, flows.dst).reshape(-1, n)
    if flows.open_flows == 1:
        place = m * np.arange(1, n + 1)
    elif flows.open_flows >= n:
        place = (m - 1) * n + np.arange(1, n + 1)
    else:
        place = np.full(n, m * n)
        hops = hops[:, -flows.open_flows :].min(axis=1, keepdims=True).repeat(n, axis=1)
    bound = 0
    for h in np.unique(hops):
        last = int(place[(hops == h).any(axis=0)].max())
        bound = max(bound, sending_time(t, last, fabric.max_hops) + t.there(int(h)) + t.back(int(h)))
    return bound


def lower_bound(t: Times, fabric: Fabric, flows: Flows, kind: str, pace: int) -> int:
    """The bound of a workload by its kind; `pace` (0: none) is the least time between data packets of a host under failures."""
    hops = int(fabric.hops(flows.src, flows.dst).max())
    if kind == "permutation":
        bound = permutation_bound(t, int(flows.packets[0]), hops)
    elif kind == "all_to_all":
        bound = all_to_all_bound(t, fabric, flows)
    elif len(flows.after):
        bound = ring_bound(t, fabric, flows)
    else:
        bound = port_bound(t, fabric, flows)
    if pace:
        most = int(np.bincount(flows.src, weights=flows.packets).max())
        near = int(fabric.hops(flows.src, flows.dst).min()) if kind != "permutation" else hops
        bound = max(bound, (most - 1) * pace + t.data + t.gap + t.there(near) + t.back(near))
    return bound


def rho_max(damage: Damage, flows: Flows) -> float:
    """The paper's paced rate as a share of what the hosts would send: B / F over the same without failures.

    F is the load, in flows, of the most loaded surviving link (over its surviving capacity) when each flow splits evenly over its
    surviving shortest paths; hosts' own links count.
    """
    f = damage.fabric
    low, high = damage.edge_agg(), damage.agg_core()
    own = max(np.bincount(flows.src).max(), np.bincount(flows.dst).max())
    up, down = np.zeros(low.shape), np.zeros(low.shape)
    rise, fall = np.zeros(high.shape), np.zeros(high.shape)
    src, dst = f.edge_of(flows.src), f.edge_of(flows.dst)
    pairs, counts = np.unique(src * f.n_edges + dst, return_counts=True)
    for pair, count in zip(pairs, counts):
        e, g = divmod(int(pair), f.n_edges)
        if e == g:
            continue
        alive = (low[e] > 0) & (low[g] > 0)
        p, q = e // f.E, g // f.E
        paths = alive[:, None] & (high[p] > 0) & (high[q] > 0) if p != q else alive[:, None]
        split = count * paths / paths.sum()
        up[e] += split.sum(axis=1)
        down[g] += split.sum(axis=1)
        if p != q:
            rise[p] += split
            fall[q] += split
    loads = [(x / np.maximum(cap, 1) * WHOLE).max() for x, cap in ((up, low), (down, low), (rise, high), (fall, high))]
    return float(own / max(own, *loads))
