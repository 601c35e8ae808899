"""The metrics of a run, from the engine's final arrays."""

from __future__ import annotations

import numpy as np

from ofancore.balancers.base import Shape
from ofancore.collectives import collective_table
from ofancore.engine import layout as c
from ofancore.fabric import AGG, EDGE
from ofancore.prepare import Inputs
from ofancore.result import Result, class_values
from ofancore.units import ns, ticks_per_byte


def rates(i: Inputs, failed: bool) -> np.ndarray:
    """float64[n_links]: share of the healthy rate at which each link sends, before or after the failure.

    A queue in ticks times this is the time that the same bytes take on a healthy link. Right after the failure it is less: what a link had
    taken before still leaves at its old rate, and is counted at the new one.
    """
    rate = np.ones(i.fabric.n_links)
    if failed:
        rate[i.changed] = i.rate
    return rate


def longest_queues(i: Inputs, w) -> np.ndarray:
    """float64[n_links]: longest queue that a packet found, in ticks that its bytes take on a healthy link."""
    return np.maximum(w.tally[:, c.QUEUE_BEFORE], w.link[:, c.QUEUE_MAX] * rates(i, w.clock[c.EPOCH] >= 1))


def build_result(i: Inputs, w, status: int, wall: float) -> Result:
    """Metrics from the final arrays of a run (`w` needs link, inbox, tally, tx, rx, stats and clock)."""
    fabric, t, link = i.fabric, i.times, w.link
    stats = w.stats.sum(axis=0)
    finished = status == c.FINISHED_ALL
    done, complete = w.tx[:, c.DONE], w.rx[:, c.COMPLETE]
    ended = int(done.max()) if finished else int(w.clock[c.NOW])
    size, ack, per_byte = t.data + t.gap, t.ack + t.gap, ticks_per_byte(i.scenario.fabric.link_gbps)
    data_bytes = i.scenario.packet.payload_bytes + i.scenario.packet.header_bytes
    ack_bytes = i.scenario.packet.ack_bytes

    kinds = fabric.link_class
    sent = link[:, c.COUNT] * data_bytes + link[:, c.COUNT + 1] * ack_bytes
    longest = longest_queues(i, w)
    queue_max = longest / per_byte
    # time-mean of the bytes that wait = bytes that arrive per time x how long each waits (Little), summed by packet size
    waited = (link[:, c.QUEUE_SUM] / per_byte * size + link[:, c.QUEUE_SUM + 1] / per_byte * ack) / max(ended, 1)
    by_class = [kinds == k for k in range(6)]
    switch = kinds > 0
    overload = {
        name: float(sent[m].max() / sent[m].mean()) if m.any() and sent[m].any() else float("nan")
        for name, m in zip(("edge_agg", "agg_core", "core_agg", "agg_edge"), by_class[1:5])
    }
    late = w.rx[:, c.LATE]
    delivered = int(stats[c.DELIVERED_DATA])
    drops = {
        "buffer": int(stats[c.DROPPED_FULL : c.DROPPED_FULL + 2].sum()),
        "dead_link": int(stats[c.DROPPED_DEAD : c.DROPPED_DEAD + 2].sum()),
        "no_route": int(stats[c.DROPPED_NO_ROUTE : c.DROPPED_NO_ROUTE + 2].sum()),
        "random": int(stats[c.DROPPED_AT_RANDOM : c.DROPPED_AT_RANDOM + 2].sum()),
    }
    at_ports = w.port[:, c.LAST : c.LAST + 2] - w.port[:, c.FIRST : c.FIRST + 2]
    sent_all = int(stats[c.SENT_DATA : c.SENT_DATA + 2].sum())
    delivered_all = int(stats[c.DELIVERED_DATA : c.DELIVERED_DATA + 2].sum())
    tiers = {"edge": EDGE, "agg": AGG} if fabric.C else {"edge": EDGE}
    shape = Shape(fabric, i.flows.src, i.flows.dst, 0, 0)
    balancer = i.scenario.balancer
    senders = len(np.unique(i.flows.src))
    values = {
        "finished": finished,
        "ended_ns": ns(ended),
        "cct_ns": ns(ended) if finished else float("nan"),
        "mean_done_ns": ns(float(done.mean())) if finished else float("nan"),
        "last_data_ns": ns(int(complete.max())) if finished else float("nan"),
        "lower_bound_ns": ns(i.lower_bound_ticks),
        "ideal_ns": ns(i.ideal_ticks),
        "cct_over_ideal": (ended - i.ideal_ticks) / i.ideal_ticks if finished else float("nan"),
        "cct_inflation": (ended - i.lower_bound_ticks) / i.lower_bound_ticks if finished else float("nan"),
        "queue_max_bytes": class_values(np.array([queue_max[m].max(initial=0) for m in by_class])),
        "queue_mean_bytes": class_values(np.array([waited[m].mean() if m.any() else 0.0 for m in by_class])),
        "queue_max_packets": float(longest[switch].max() / size),
        "queue_mean_packets": float(waited[switch].mean() * per_byte / size),
        "link_overload": overload,
        "drops": drops,
        "replaced_packets": int(stats[c.REPLACED]),
        "resent_packets": int(w.tx[:, c.RESENT].sum()),
        "spurious_packets": int(w.rx[:, c.DUPLICATES].sum()),
        "timeouts": int(w.tx[:, c.TIMEOUTS].sum()),
        "trimmed_packets": int(stats[c.TRIMMED]),
        "refused_packets": int(w.rx[:, c.REFUSED].sum()),
        "ecn_marks": int(w.tally[:, c.ECN_MARKS].sum()),
        "packets": {
            "sent": sent_all,
            "delivered": delivered_all,
            "dropped": sum(drops.values()),
            "in_flight": int(link[:, c.TAIL].sum() - w.inbox[:, c.HEAD].sum() + at_ports.sum()),
        },
        "reorder_fraction": float(late.sum() / delivered) if delivered else 0.0,
        "reorder_max_packets": int(w.rx[:, c.LATE_MAX].max()),
        "utilisation": float(stats[c.SENT_DATA] * size / (senders * max(ended, 1))),
        "pointers_per_switch": {name: balancer.pointers(shape, tier) for name, tier in tiers.items()},
        "state_bytes_per_switch": {name: balancer.switch_bytes(shape, tier) for name, tier in tiers.items()},
        "state_bytes_per_host": balancer.host_bytes(shape),
        "packet_hops": int(stats[c.HOPS]),
        **collective_table(i.flows, w.tx[:, c.STARTED], done, i.group_bound_ticks),
    }

    def time_of(x: np.ndarray) -> np.ndarray:
        return np.where(x >= 0, x / 1000, np.nan)

    flow = {
        "src": fabric.host_at(i.flows.src),
        "dst": fabric.host_at(i.flows.dst),
        "packets": i.flows.packets,
        "sent": w.tx[:, c.SEQ],
        "delivered": w.rx[:, c.GOT],
        "acked": w.tx[:, c.ACKED],
        "started_ns": time_of(w.tx[:, c.STARTED]),
        "complete_ns": time_of(complete),
        "done_ns": time_of(done),
        "late": late,
        "late_max": w.rx[:, c.LATE_MAX],
        "resent": w.tx[:, c.RESENT],
        "duplicates": w.rx[:, c.DUPLICATES],
        "timeouts": w.tx[:, c.TIMEOUTS],
    }
    first, links = fabric.inputs
    tail_node = np.zeros(fabric.n_links, np.int64)
    head_node = np.zeros(fabric.n_links, np.int64)
    head_node[links] = np.repeat(np.arange(fabric.n_nodes), np.diff(first))
    up, n_up, down = fabric.switch_outputs
    for node in range(fabric.n_nodes):
        tail_node[up[node] : up[node] + n_up[node]] = node
    b = fabric.node_base
    for low, high, count in ((b[1], b[2], fabric.S), (b[2], b[3], fabric.E), (b[3], b[4], fabric.P)):
        for node in range(low, high):
            tail_node[down[node] : down[node] + count] = node
    hosts = fabric.host_at(np.arange(fabric.n_hosts))
    for ends in (tail_node, head_node):
        ends[ends < fabric.n_hosts] = hosts[ends[ends < fabric.n_hosts]]
    table = {
        "class": kinds,
        "tail": tail_node,
        "head": head_node,
        "bytes": sent,
        "data": link[:, c.COUNT],
        "acks": link[:, c.COUNT + 1],
        "queue_max_bytes": queue_max,
        "queue_mean_bytes": waited,
        "drops": w.tally[:, c.DROPS],
        "ecn_marks": w.tally[:, c.ECN_MARKS],
        "free_ns": link[:, c.FREE] / 1000,
    }
    return Result(i.scenario, values, flow, table, wall)
