"""The narrow waist: `simulate(scenario) -> Result` is the only way into the engine.

It expands the scenario into flat arrays (`prepare`, which the slow twin shares, so that both start alike), calls the loop, grows what
turns out too small, checks the status, and builds the result. Randomness comes from named streams of one SeedSequence, so that all
balancers see the same traffic and failures for the same seed (common random numbers).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ofancore.balancers.base import N_ORDERS, HostState, Shape, SwitchState
from ofancore.bits import pack_route
from ofancore.bounds import Times, lower_bound, rho_max
from ofancore.engine import layout as c
from ofancore.engine.world import aligned, build_world, grow_arena, grow_notes
from ofancore.errors import EngineError, ScenarioError
from ofancore.fabric import AGG, EDGE, Fabric
from ofancore.failures import Damage, Schedules, knowledge, refuse_disconnected
from ofancore.result import Result, class_values
from ofancore.scenario import Scenario
from ofancore.units import ns, serialisation_ticks, ticks, ticks_per_byte
from ofancore.workloads import Flows

STREAMS = ("workload", "failures", "jitter", "balancer", "nodes")


def stream(scenario: Scenario, name: str) -> np.random.Generator:
    """The named random stream of a scenario's seed."""
    return np.random.default_rng(np.random.SeedSequence([scenario.seed, STREAMS.index(name)]))


@dataclass(frozen=True)
class Inputs:
    """A scenario as flat arrays at time 0; the engine and the slow twin start from the same ones.

    Arrays of engine shape are described in `engine/layout.py`.
    """

    scenario: Scenario
    fabric: Fabric
    times: Times
    flows: Flows
    damage: Damage
    link: np.ndarray
    start: np.ndarray  # int64[n, 3]: (host, time, flow), sorted
    cuts: np.ndarray
    change: np.ndarray
    changed: np.ndarray
    sched_of: np.ndarray
    sched_first: np.ndarray
    pace: np.ndarray
    sw: SwitchState
    hx: HostState
    route: np.ndarray
    conf: np.ndarray
    lower_bound_ticks: int


def prepare(scenario: Scenario) -> Inputs:
    """Expand a scenario; ScenarioError for what only the expansion can find (hosts that do not exist, pairs that are cut off)."""
    fabric = scenario.shape
    keys, packet = scenario.fabric, scenario.packet
    sizes = packet.payload_bytes + packet.header_bytes
    times = Times(
        data=serialisation_ticks(sizes, keys.link_gbps),
        ack=serialisation_ticks(packet.ack_bytes, keys.link_gbps),
        gap=serialisation_ticks(packet.gap_bytes, keys.link_gbps),
        delay=ticks(keys.link_delay_ns),
    )
    flows = scenario.workload.flows(fabric, stream(scenario, "workload"))
    hops = fabric.max_hops
    base_rtt = 2 * hops * times.delay + hops * (times.data + times.ack)
    damage = Damage.draw(scenario.failures, fabric, stream(scenario, "failures"))
    if damage.any:
        refuse_disconnected(damage, flows.src, flows.dst)

    slot = times.data + times.gap
    pace = np.zeros(2, np.int64)
    if damage.any and scenario.congestion.pace_failures:
        rho = rho_max(damage, flows)
        pace[1] = round(slot / rho) if rho < 1 else 0
    immediate = scenario.failures.at_ns == 0
    bound = lower_bound(times, fabric, flows, scenario.workload.kind, int(pace[1]) if immediate else 0)

    buffer = round(keys.buffer_bytes * ticks_per_byte(keys.link_gbps))
    link = link_rows(scenario, times, np.ones(fabric.n_links))
    cuts, change, changed, sched_of, sched_first, orders, schedules = _failure_arrays(scenario, fabric, damage, times)

    shape = Shape(fabric, flows.src, flows.dst, base_rtt, buffer)
    rng = stream(scenario, "balancer")
    balancer = scenario.balancer
    parts = [balancer.init_switch(shape, EDGE, rng) for _ in range(fabric.n_edges)]
    parts += [balancer.init_switch(shape, AGG, rng) for _ in range(fabric.n_aggs if fabric.C else 0)]
    first = np.zeros(fabric.n_nodes, np.int64)
    ends = np.cumsum([0, *(len(p) for p in parts)])
    first[fabric.node_base[1] : fabric.node_base[1] + len(parts)] = ends[:-1]
    host_reg, host_index = balancer.init_hosts(shape, rng)
    par = np.zeros(8, np.int64)
    constants = balancer.constants(shape)
    par[: len(constants)] = constants
    nodes = stream(scenario, "nodes")
    node_rng = nodes.integers(0, 2**64, fabric.n_nodes, dtype=np.uint64)
    sw = SwitchState(
        reg=np.concatenate([*parts, np.zeros(1, np.int32)]).astype(np.int32),
        first=first,
        orders=orders,
        sched=schedules.rows if damage.any else np.zeros((1, 2), np.int64),
        slots=schedules.slots,
        link=link,
        rng=node_rng,
        salt=nodes.integers(0, 2**32, fabric.n_nodes, dtype=np.int64),
        par=par,
    )
    path_at, paths = np.zeros((1, 2), np.int64), np.zeros(1, np.int32)
    if damage.any:
        path_at, paths = balancer.init_paths(shape, damage.edge_agg(), damage.agg_core())
    hx = HostState(
        reg=host_reg.astype(np.int64),
        index=host_index.astype(np.int64),
        rng=node_rng,
        par=par,
        known=np.zeros(1, np.int64),
        path_at=path_at,
        paths=paths,
    )

    route = np.zeros(2 * len(flows), np.int64)
    for kind, end in ((0, flows.dst), (1, flows.src)):
        route[kind::2] = pack_route(end, fabric.edge_of(end), fabric.pod_of(end))
    jitter_ns = scenario.start_jitter_ns
    jitter = slot if jitter_ns is None else ticks(jitter_ns)
    at = stream(scenario, "jitter").integers(0, jitter + 1, fabric.n_hosts)
    free = np.setdiff1d(np.arange(len(flows)), flows.after[:, 1])
    start = np.stack([flows.src[free], at[flows.src[free]], free], axis=1).astype(np.int64)
    start = start[np.lexsort((start[:, 2], start[:, 1], start[:, 0]))]

    conf = np.zeros(c.CONF_ENTRIES, np.int64)
    conf[c.SWITCH_CODE] = balancer.switch_code
    conf[c.HOST_CODE] = balancer.host_code
    conf[c.FRESH_ACKS] = packet.ack_label == "fresh"
    conf[c.PATH_ACKS] = balancer.path_acks
    # any window up to the lookahead is right; a bounded number of packets a link bounds the scratch memory
    conf[c.WINDOW] = min(times.delay + times.ack, 64 * slot, 4096 * (times.ack + times.gap))
    conf[c.NOTICE_DELAY] = round(base_rtt * scenario.recovery.notice_rtts)
    conf[c.OPEN_LIMIT] = flows.open_flows
    limit_ns = scenario.time_limit_ns
    conf[c.TIME_LIMIT_AT] = ticks(limit_ns) if limit_ns else max(100 * bound, ticks(1e6))
    conf[c.N_FLOWS] = len(flows)
    conf[c.N_PODS] = fabric.P
    conf[c.EDGES_PER_POD] = fabric.E
    conf[c.HOSTS_PER_EDGE] = fabric.S
    conf[c.FIRST_EDGE] = fabric.node_base[1]
    return Inputs(
        scenario, fabric, times, flows, damage, link, start, cuts, change, changed, sched_of, sched_first, pace, sw, hx, route, conf, bound
    )  # fmt: skip


def link_rows(scenario: Scenario, times: Times, share: np.ndarray) -> np.ndarray:
    """int64[n, LINK_COLUMNS]: link rows at time 0 with `share` of the healthy rate (0: dead)."""
    keys = scenario.fabric
    rate = np.maximum(share, 1e-9)
    rows = aligned(len(share), c.LINK_COLUMNS)
    rows[:, c.SIZE] = np.rint(times.data / rate)
    rows[:, c.SIZE + 1] = np.rint(times.ack / rate)
    rows[:, c.GAP] = np.rint(times.gap / rate)
    rows[:, c.DELAY] = times.delay
    buffer = keys.buffer_bytes * ticks_per_byte(keys.link_gbps) / rate
    ecn = keys.ecn
    low = scenario.balancer.ecn_fraction if ecn.min_fraction is None else ecn.min_fraction
    high = low if ecn.max_fraction is None else max(ecn.max_fraction, low)
    rows[:, c.BUFFER] = 1 << 60 if keys.unlimited_buffer else np.rint(buffer)
    rows[:, c.ECN_LOW] = np.rint(low * buffer)
    rows[:, c.ECN_HIGH] = np.rint(high * buffer)
    rows[share == 0, c.BUFFER] = -1
    return rows


def _failure_arrays(scenario: Scenario, fabric: Fabric, damage: Damage, times: Times):
    """(cuts, change, changed, sched_of, sched_first, orders, schedules) of a scenario."""
    rng = stream(scenario, "balancer").spawn(1)[0]
    width = max(fabric.A, fabric.C)
    orders = np.zeros((2 * N_ORDERS, width), np.int32)
    for i in range(2 * N_ORDERS):
        n = fabric.A if i < N_ORDERS else fabric.C
        orders[i, :n] = rng.permutation(n)
    schedules = Schedules(orders)
    none = np.zeros((0, 2), np.int64)
    if not damage.any:
        unchanged = np.zeros((0, c.LINK_COLUMNS), np.int64), np.zeros(0, np.int64)
        return none, *unchanged, np.zeros((0, 0), np.int32), np.zeros(1, np.int64), orders, schedules
    keys = scenario.failures
    broken = np.flatnonzero(damage.share < 1)
    links = np.array([fabric.cable_links(int(i)) for i in broken], np.int64).ravel()
    change = link_rows(scenario, times, np.repeat(damage.share[broken], 2))
    at = ticks(keys.at_ns)
    cuts = [(at, 1), (at + ticks(keys.detection_ns), 2)]
    if np.isfinite(keys.convergence_ns):
        if keys.convergence_ns <= keys.detection_ns:
            cuts.pop()
        cuts.append((at + ticks(keys.convergence_ns), 3))
    sched_of, sched_first = knowledge(damage, schedules)
    return np.array(cuts, np.int64), change, links, sched_of, sched_first, orders, schedules


def simulate(scenario: Scenario, threads: int = 1) -> Result:
    """Run a scenario to its end.

    `threads` shares the nodes of one large fabric among threads; the result is the same for any number. Raises ScenarioError (what
    was asked cannot be), EngineError (an internal limit).
    """
    from ofancore.engine.loop import run_parallel, run_serial

    if not isinstance(scenario, Scenario):
        raise ScenarioError("scenario", type(scenario).__name__, "simulate takes a Scenario (Scenario.from_dict makes one)")
    if not isinstance(threads, int) or not 1 <= threads <= 64:
        raise ScenarioError("threads", threads, "must be an integer from 1 to 64")
    i = prepare(scenario)
    w = build_world(i, threads)
    if threads > 1:
        import numba

        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    began = time.perf_counter()
    while True:
        status = run_serial(w) if threads == 1 else run_parallel(tuple(w[:-2]), w.sw, w.hx)
        if status == c.NEEDS_ARENA:
            w = grow_arena(w)
        elif status == c.NEEDS_NOTES:
            w = grow_notes(w)
        else:
            break
    wall = time.perf_counter() - began
    if status == c.FAULTY:
        raise EngineError(f"the engine ran into internal limit {w.stats[:, c.FAULT].max()} (see engine/layout.py)")
    if status == c.STUCK:
        raise EngineError("nothing is left to happen and flows are not done: the engine lost track of them")
    return build_result(i, w, status, wall)


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
    queue_max = link[:, c.QUEUE_MAX] / per_byte
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
    }
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
        "last_data_ns": ns(int(complete.max())) if finished else float("nan"),
        "lower_bound_ns": ns(i.lower_bound_ticks),
        "cct_inflation": (ended - i.lower_bound_ticks) / i.lower_bound_ticks if finished else float("nan"),
        "queue_max_bytes": class_values(np.array([queue_max[m].max(initial=0) for m in by_class])),
        "queue_mean_bytes": class_values(np.array([waited[m].mean() if m.any() else 0.0 for m in by_class])),
        "queue_max_packets": float(link[switch, c.QUEUE_MAX].max() / size),
        "queue_mean_packets": float(waited[switch].mean() * per_byte / size),
        "link_overload": overload,
        "drops": drops,
        "replaced_packets": int(stats[c.REPLACED]),
        "ecn_marks": int(w.tally[:, c.ECN_MARKS].sum()),
        "packets": {
            "sent": sent_all,
            "delivered": delivered_all,
            "dropped": sum(drops.values()),
            "in_flight": int(link[:, c.TAIL].sum() - w.inbox[:, c.HEAD].sum()),
        },
        "reorder_fraction": float(late.sum() / delivered) if delivered else 0.0,
        "reorder_max_packets": int(w.rx[:, c.LATE_MAX].max()),
        "utilisation": float(stats[c.SENT_DATA] * size / (senders * max(ended, 1))),
        "pointers_per_switch": {name: balancer.pointers(shape, tier) for name, tier in tiers.items()},
        "state_bytes_per_switch": {name: balancer.switch_bytes(shape, tier) for name, tier in tiers.items()},
        "state_bytes_per_host": balancer.host_bytes(shape),
        "packet_hops": int(stats[c.HOPS]),
    }

    def time_of(x: np.ndarray) -> np.ndarray:
        return np.where(x >= 0, x / 1000, np.nan)

    flow = {
        "src": i.flows.src,
        "dst": i.flows.dst,
        "packets": i.flows.packets,
        "sent": w.tx[:, c.SEQ],
        "delivered": w.rx[:, c.GOT],
        "acked": w.tx[:, c.ACKED],
        "started_ns": time_of(w.tx[:, c.STARTED]),
        "complete_ns": time_of(complete),
        "done_ns": time_of(done),
        "late": late,
        "late_max": w.rx[:, c.LATE_MAX],
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
