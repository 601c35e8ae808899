"""Lower bounds of the collective completion time, and the paced rate under failures.

Terms: T_d, T_a, T_g serialisation times of data, ACK and gap; d = T_d + T_g, a = T_a + T_g; p(H) propagation over H links.
The permutation bound is the paper's; the other ones follow the same way. All times are ticks.

Where servers have several NICs (rails), bounds are those of servers (`of_servers`): what a server sends and gets may be shared out over its
NICs in any way, whatever a scheme does, so that all schemes are measured against the same bound.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np

from ofancore.fabric import Fabric
from ofancore.failures import WHOLE, Damage
from ofancore.units import TICKS_PER_NS
from ofancore.workloads import Flows
from ofancore.workloads.base import rotated


@dataclass(frozen=True)
class Times:
    """Serialisation and propagation times of a fabric without failures, in ticks."""

    data: int
    ack: int
    gap: int
    delay: int
    ack_every: int = 1  # packets an ACK answers
    lanes: int = 1  # links that share what an end has to send or to get

    def slots(self, packets):
        """Time of the slots of so many data packets, on the busiest of the links that share them at best."""
        return -(-packets // self.lanes) * (self.data + self.gap)

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
    return packets * (t.data + t.gap) + (packets - alone) // t.ack_every * (t.ack + t.gap)


def message_time(t: Times, packets: np.ndarray, hops: np.ndarray, acks: bool) -> np.ndarray:
    """Time from the first bit of a message to its last one at the other end, 0 for none (int64[n], as are the arguments).

    acks: the sender ACKs as many packets as in a permutation that starts with the message. No bound of a chain, strictly: hosts that
    have drifted apart may ACK in each other's pauses.
    """
    owed = np.maximum(packets - first_ack_index(t, hops), 0) // t.ack_every * (t.ack + t.gap) if acks else 0
    return np.where(packets > 0, t.slots(packets) + owed - t.gap + t.there(hops), 0)


def permutation_bound(t: Times, packets: int, hops: int = 6) -> int:
    """The paper's bound of a permutation with in-band ACKs: 17,056,940 ticks for the defaults and 256 packets."""
    return sending_time(t, packets, hops) + t.there(hops) + t.back(hops)


def ready_times(t: Times, fabric: Fabric, flows: Flows, acks: bool = False) -> np.ndarray:
    """int64[n_flows]: the earliest start of each flow, its delay included; the longest path to it.

    A message takes `message_time`, its last ACK the way back besides, news of a flow elsewhere the time of an ACK; and all that a flow
    waits for at its source comes in over one link, packet by packet. By levels: all flows whose last dependency was in the level before.
    Flows that need only some of several arrivals have their `soonest` times and stand in the first level.
    """
    n = len(flows)
    hops = fabric.hops(flows.src, flows.dst)
    there, carries, whole = t.there(hops), flows.packets > 0, message_time(t, flows.packets, hops, acks)
    earlier, later, acked, place = flows.dependencies()
    once = np.unique(2 * (earlier * n + later) + acked, return_index=True)[1]  # sorted by the earlier one
    earlier, later, acked, place = earlier[once], later[once], acked[once], place[once]
    here = place == flows.src[later]
    news = np.where(here, 0, t.back(fabric.hops(place, flows.src[later])))
    news += np.where((acked == 1) & carries[earlier], t.back(hops[earlier]), 0)
    comes_in = here & (acked == 0) & carries[earlier]
    missing = np.bincount(later, minlength=n)
    ready, load, begins = np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, np.iinfo(np.int64).max)
    delay = np.rint(flows.delay_ns * TICKS_PER_NS).astype(np.int64)
    if len(flows.after_some):
        some = np.unique(flows.after_some[:, 1])
        missing[flows.after_some[:, 1]] = flows.after_some[:, 3]
        ready[some] = soonest(earlier, later, whole[earlier] + news, missing, delay)[some] - delay[some]
        missing[some] = 0
        sure = missing[later] > 0
        earlier, later, news, comes_in = earlier[sure], later[sure], news[sure], comes_in[sure]
    first = np.searchsorted(earlier, np.arange(n + 1))
    level, seen = np.flatnonzero(missing == 0), 0
    while len(level):
        seen += len(level)
        fed = level[load[level] > 0]
        ready[fed] = np.maximum(ready[fed], begins[fed] + t.slots(load[fed]) - t.slots(1))
        ready[level] += delay[level]
        counts = first[level + 1] - first[level]
        edge = np.repeat(first[level] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        a, b = earlier[edge], later[edge]
        np.maximum.at(ready, b, ready[a] + whole[a] + news[edge])
        some = comes_in[edge]
        np.add.at(load, b[some], flows.packets[a[some]])
        np.minimum.at(begins, b[some], (ready[a] + t.data + there[a])[some])
        np.subtract.at(missing, b, 1)
        level = np.unique(b[missing[b] == 0])
    if seen < n:
        raise ValueError("flows wait for each other in a circle")
    return ready


def soonest(earlier: np.ndarray, later: np.ndarray, takes: np.ndarray, missing: np.ndarray, delay: np.ndarray) -> np.ndarray:
    """int64[n_flows]: the start of each flow that begins `delay` after the first `missing` of its arrivals, in order of time.

    Arrivals (int64[n] each): at `later`, `takes` ticks after the start of `earlier`. ValueError for flows that never start.
    """
    order = np.lexsort((takes, earlier))
    earlier, later, takes = earlier[order], later[order], takes[order]
    new = np.flatnonzero(np.append(True, (np.diff(earlier) != 0) | (np.diff(takes) != 0))[: len(earlier)])  # arrive at one time
    ends, first = np.append(new[1:], len(earlier)), np.searchsorted(earlier[new], np.arange(len(missing) + 1))
    left, start = missing.copy(), np.full(len(missing), -1)
    begin, time, coming = np.flatnonzero(left == 0), 0, []
    while True:
        start[begin] = time + delay[begin]
        for flow in begin.tolist():
            for at in range(first[flow], first[flow + 1]):
                heapq.heappush(coming, (start[flow] + takes[new[at]], at))
        if not coming:
            break
        time, at = heapq.heappop(coming)
        hear = later[new[at] : ends[at]]
        np.subtract.at(left, hear, 1)
        begin = np.unique(hear[(left[hear] <= 0) & (start[hear] < 0)])
    if (start < 0).any():
        raise ValueError("flows wait for each other in a circle")
    return start


def chain_bound(t: Times, fabric: Fabric, flows: Flows, acks: bool = False, ready: np.ndarray | None = None) -> int:
    """The longest path through messages and computations, up to the last ACK; `ready`: the `ready_times` if known."""
    hops = fabric.hops(flows.src, flows.dst)
    ends = (ready_times(t, fabric, flows, acks) if ready is None else ready) + message_time(t, flows.packets, hops, acks)
    return int((ends + np.where(flows.packets > 0, t.gap + t.back(hops), 0)).max())


def of_servers(t: Times, fabric: Fabric, flows: Flows) -> tuple[Times, Fabric, Flows]:
    """Times, fabric and flows (given in numbers of hosts) as they are between servers, each of which has a lane a rail.

    Between two servers there are as many links as between their NICs of one rail, and news within a server takes no time: both the least
    that is possible.
    """
    rails = fabric.rails
    return replace(t, lanes=rails), fabric.servers, replace(flows, src=flows.src // rails, dst=flows.dst // rails)


def part(flows: Flows, which: np.ndarray) -> Flows:
    """Some flows (ascending indices) with what they wait for among themselves, without delays.

    Of what they need some of, the arrivals of other flows count as having happened.
    """
    place = np.full(len(flows), -1)
    place[which] = np.arange(len(which))
    after, acked = (pairs[(pairs >= 0).all(axis=1)] for pairs in (place[flows.after], place[flows.after_acked]))
    some = flows.after_some
    if len(some):
        ends = place[some[:, :2]]
        outside = np.bincount(some[ends[:, 0] < 0, 1], minlength=len(flows))
        some = np.column_stack([ends, some[:, 2], some[:, 3] - outside[some[:, 1]]])[(ends >= 0).all(axis=1)]
        some = some[some[:, 3] > 0]
    return Flows(flows.src[which], flows.dst[which], flows.packets[which], after, flows.open_flows, after_acked=acked, after_some=some)


def pattern(flows: Flows) -> str:
    """`all_to_all` or `permutation` if that is what flows are that wait for nothing; else an empty string.

    Messages are of one length. A permutation: each host sends one and gets one. An all-to-all: each sends one to each other host, and
    the flows are in the order of `AllToAll`.
    """
    hosts, sent = np.unique(flows.src, return_counts=True)
    if flows.waits or len(np.unique(flows.packets)) != 1 or not np.array_equal(hosts, np.unique(flows.dst)):
        return ""
    n = len(hosts)
    if len(flows) == n > 1 and (sent == 1).all():
        return "permutation"
    if len(flows) != n * (n - 1):
        return ""
    who = flows.src[:: n - 1]
    src, dst = rotated(n, n - 1)
    return "all_to_all" if np.array_equal(flows.src, who[src]) and np.array_equal(flows.dst, who[dst]) else ""


def group_bounds(t: Times, fabric: Fabric, flows: Flows, kind: str, acks: bool = False) -> np.ndarray:
    """int64[n_groups]: the bound of each collective alone, from the moment at which its first flow may start.

    acks: a ring's steps take as long as permutations, ACKs included: what a network without queues takes, and the figure to compare
    with the paper's permutations, though no strict bound (see `message_time`). Of several jobs each has its own pattern.
    """
    bounds = np.zeros(len(flows.groups), np.int64)
    for g in range(len(flows.groups)):
        own = part(flows, np.flatnonzero((flows.group == g) & (flows.packets > 0)))
        alike = pattern(own) if kind == "two_jobs" else "all_to_all" if kind == "fsdp" else kind
        if own.waits:
            bounds[g] = max(chain_bound(t, fabric, own, acks), port_bound(t, fabric, own))
        elif alike == "all_to_all":
            bounds[g] = all_to_all_bound(t, fabric, own)
        elif alike == "permutation" and (acks or kind == "permutation"):
            bounds[g] = permutation_bound(t, int(own.packets[0]), int(fabric.hops(own.src, own.dst).max()))
        else:
            bounds[g] = port_bound(t, fabric, own)
    return bounds


def dag_bound(t: Times, fabric: Fabric, flows: Flows, kind: str, acks: bool = False, groups: np.ndarray | None = None) -> int:
    """The longest path through messages and computations, or what a port must carry from some moment on.

    Each collective takes at least its own bound; `acks` as in `group_bounds`, whose result for it `groups` is, if known.
    """
    if groups is None:
        groups = group_bounds(t, fabric, flows, kind, acks)
    ready = ready_times(t, fabric, flows, acks)
    first = np.full(len(flows.groups), np.iinfo(np.int64).max)
    member = flows.group >= 0
    np.minimum.at(first, flows.group[member], ready[member])
    own = int((first + groups).max())
    return max(chain_bound(t, fabric, flows, acks, ready), port_bound(t, fabric, flows, ready), own)


def port_bound(t: Times, fabric: Fabric, flows: Flows, ready: np.ndarray | int = 0) -> int:
    """Every host must send all it has and receive all it gets, one packet at a time; then the shortest way there and back.

    With `ready` times: so must it with any of its flows from the moment at which the first of these may start.
    """
    carries = flows.packets > 0
    ready = np.broadcast_to(ready, len(flows))[carries]
    packets, hops = flows.packets[carries], fabric.hops(flows.src, flows.dst)[carries]
    best = 0
    for ends in (flows.src[carries], flows.dst[carries]):
        near = np.full(fabric.n_hosts, fabric.max_hops)
        np.minimum.at(near, ends, hops)
        order = np.lexsort((-ready, ends))  # of each host, the flows that start last come first
        host, load = ends[order], np.cumsum(packets[order])
        first = np.searchsorted(host, host)
        load -= load[first] - packets[order][first]
        best = max(best, int((ready[order] + t.slots(load) + t.there(near[host]) + t.back(near[host])).max()))
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
    elif flows.waits or len(flows.groups) > 1 or flows.delay_ns.any() or kind == "fsdp":
        bound = dag_bound(t, fabric, flows, kind)
    else:
        bound = port_bound(t, fabric, flows)
    return max(bound, paced_bound(t, fabric, flows, kind, pace))


def paced_bound(t: Times, fabric: Fabric, flows: Flows, kind: str, pace: int) -> int:
    """What the host that sends most needs at `pace`, the least time between its data packets (0: none, and no bound)."""
    if not pace:
        return 0
    most = int(np.bincount(flows.src, weights=flows.packets).max())
    hops = fabric.hops(flows.src, flows.dst)[flows.packets > 0]
    near = int(hops.max() if kind == "permutation" else hops.min())
    return (most - 1) * pace + t.data + t.gap + t.there(near) + t.back(near)


def paced_group_bounds(t: Times, fabric: Fabric, flows: Flows, kind: str, pace: int, groups: np.ndarray) -> np.ndarray:
    """int64[n_groups]: the `group_bounds` of collectives whose hosts are paced, too, as those of the run are."""
    if not pace:
        return groups
    own = [part(flows, np.flatnonzero((flows.group == g) & (flows.packets > 0))) for g in range(len(flows.groups))]
    return np.maximum(groups, [paced_bound(t, fabric, flows, kind, pace) for flows in own])


def rho_max(damage: Damage, flows: Flows) -> float:
    """The paper's paced rate as a share of what the hosts would send: B / F over the same without failures.

    F is the load, in flows, of the most loaded surviving link (over its surviving capacity) when each flow splits evenly over its
    surviving shortest paths; hosts' own links count.
    """
    f = damage.fabric
    low, high = damage.edge_agg(), damage.agg_core()
    carries = flows.packets > 0
    own = max(np.bincount(flows.src[carries]).max(), np.bincount(flows.dst[carries]).max())
    up, down = np.zeros(low.shape), np.zeros(low.shape)
    rise, fall = np.zeros(high.shape), np.zeros(high.shape)
    src, dst = f.edge_of(flows.src[carries]), f.edge_of(flows.dst[carries])
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
