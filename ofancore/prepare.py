"""From a scenario to the flat arrays that the engine and the slow twin both start from.

Randomness comes from named streams of one SeedSequence, so that all balancers see the same traffic and failures for the same seed (common
random numbers).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ofancore.balancers.base import N_CONSTANTS, N_ORDERS, Balancer, HostState, Shape, SwitchState
from ofancore.bits import pack_route
from ofancore.bounds import Times, dag_bound, group_bounds, lower_bound, of_servers, paced_group_bounds, rho_max
from ofancore.congestion import CongestionState, PathTimes
from ofancore.congestion.line_rate import LineRate
from ofancore.engine import layout as c
from ofancore.engine.world import aligned
from ofancore.fabric import AGG, EDGE, Fabric
from ofancore.failures import Damage, Schedules, knowledge, refuse_disconnected
from ofancore.recovery.base import Timed
from ofancore.recovery.erasure import Erasure
from ofancore.recovery.sack import Sack
from ofancore.recovery.trim import Trim
from ofancore.scenario import Scenario
from ofancore.units import TICKS_PER_NS, serialisation_ticks, ticks, ticks_per_byte
from ofancore.workloads import Flows

STREAMS = ("workload", "failures", "jitter", "balancer", "nodes", "deployment")  # new ones at the end, or all results change


def stream(scenario: Scenario, name: str) -> np.random.Generator:
    """The named random stream of a scenario's seed."""
    return np.random.default_rng(np.random.SeedSequence([scenario.seed, STREAMS.index(name)]))


@dataclass(frozen=True)
class Inputs:
    """A scenario as flat arrays at time 0; the engine and the slow twin start from the same ones.

    Arrays of engine shape are described in `engine/layout.py`. Hosts are given by their places (`fabric.py`), but for `messages`.
    """

    scenario: Scenario
    fabric: Fabric
    times: Times
    messages: Flows  # as the workload has them, in numbers of hosts
    flows: Flows  # as they are sent
    damage: Damage
    link: np.ndarray
    start: np.ndarray  # int64[n, 3]: (host, time, flow), sorted
    cuts: np.ndarray
    change: np.ndarray
    changed: np.ndarray
    rate: np.ndarray  # float64[n_changes]: share of the healthy rate at which these links send then (a dead one: what it had taken)
    sched_of: np.ndarray
    sched_first: np.ndarray
    pace: np.ndarray
    schemes: list[Balancer]  # of every edge switch, then of every aggregation switch with uplinks
    sw: SwitchState
    hx: HostState
    cs: CongestionState
    route: np.ndarray
    conf: np.ndarray
    base: np.ndarray  # int64[n_flows]: round trip of a flow's own empty path
    delay: np.ndarray  # int64[n_flows]: ticks that a flow's start is put off
    window: np.ndarray  # int64[n_flows]: slots of a flow's window, a power of two; 0 where none are kept
    lower_bound_ticks: int
    ideal_ticks: int  # as the lower bound, but every message of a chain takes the paper's time of a permutation
    group_bound_ticks: np.ndarray  # int64[n_groups]: the same of each collective alone


def traffic_and_damage(scenario: Scenario) -> tuple[Flows, Flows, Damage]:
    """(messages, flows, damage): who sends what, as which flows, and what is broken; messages in numbers of hosts, flows in places.

    ScenarioError for hosts and cables that do not exist and for pairs that are cut off.
    """
    fabric = scenario.shape
    messages = scenario.workload.flows(fabric, stream(scenario, "workload"), scenario.packet.payload_bytes)
    damage = Damage.draw(scenario.failures, fabric, stream(scenario, "failures"))
    flows = scenario.balancer.assign(fabric, messages)
    if fabric.rails > 1:
        flows = replace(flows, src=fabric.place_of(flows.src), dst=fabric.place_of(flows.dst))
    if damage.any:
        refuse_disconnected(damage, flows.src, flows.dst, scenario.failures.link_failure_rate > 0)
    return messages, flows, damage


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
        ack_every=getattr(scenario.recovery, "ack_every_packets", 1),
    )
    messages, flows, damage = traffic_and_damage(scenario)
    base_rtt = round_trip(times, fabric.max_hops)
    base = round_trip(times, fabric.hops(flows.src, flows.dst))
    delay = np.rint(flows.delay_ns * TICKS_PER_NS).astype(np.int64)

    slot = times.data + times.gap
    pace = np.zeros(2, np.int64)
    if damage.any and isinstance(scenario.congestion, LineRate) and scenario.congestion.pace_failures:
        rho = rho_max(damage, flows)
        pace[1] = round(slot / rho) if rho < 1 else 0
    paced = int(pace[1]) if scenario.failures.at_ns == 0 else 0
    if fabric.rails > 1:  # of no pattern, since servers may send as they like; the pace is that of a scheme's own flows
        ends = (*of_servers(times, fabric, messages), "")
        bound = ideal = lower_bound(*ends, 0)
        groups = group_bounds(*ends)
    else:
        ends = (times, fabric, flows, scenario.workload.kind)
        bound = lower_bound(*ends, paced)
        groups = group_bounds(*ends, acks=True)
        chained = flows.waits or len(flows.groups) > 1
        ideal = max(bound, dag_bound(*ends, True, groups) if chained else bound)
        groups = paced_group_bounds(*ends, paced, groups)

    buffer = round(keys.buffer_bytes * ticks_per_byte(keys.link_gbps))
    link = link_rows(scenario, times, np.ones(fabric.n_links))
    cuts, change, changed, rate, sched_of, sched_first, orders, schedules = _failure_arrays(scenario, fabric, damage, times)

    shape = Shape(fabric, flows.src, flows.dst, base_rtt, buffer, flows.packets, flows.group, flows.after)
    rng = stream(scenario, "balancer")
    balancer = scenario.balancer
    schemes = balancer.at_switches(shape, stream(scenario, "deployment"))
    parts = [scheme.init_switch(shape, EDGE if i < fabric.n_edges else AGG, rng) for i, scheme in enumerate(schemes)]
    first, code = np.zeros(fabric.n_nodes, np.int64), np.full(fabric.n_nodes, balancer.switch_code, np.int64)
    ends = np.cumsum([0, *(len(p) for p in parts)])
    switches = slice(fabric.node_base[1], fabric.node_base[1] + len(parts))
    first[switches] = ends[:-1]
    code[switches] = [scheme.switch_code for scheme in schemes]
    host_reg, host_index = balancer.init_hosts(shape, rng)
    par = np.zeros(N_CONSTANTS, np.int64)
    constants = balancer.constants(shape)
    par[: len(constants)] = constants
    own = balancer.own(shape)
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
        code=code,
        own=own,
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
        own=own,
    )

    route = np.zeros(2 * len(flows), np.int64)
    for kind, end in ((0, flows.dst), (1, flows.src)):
        route[kind::2] = pack_route(end, fabric.edge_of(end), fabric.pod_of(end))
    jitter_ns = scenario.start_jitter_ns
    jitter = slot if jitter_ns is None else ticks(jitter_ns)
    at = stream(scenario, "jitter").integers(0, jitter + 1, fabric.n_hosts)
    free = np.setdiff1d(np.arange(len(flows)), flows.dependencies()[1])
    start = np.stack([flows.src[free], at[flows.src[free]] + delay[free], free], axis=1).astype(np.int64)
    start = start[np.lexsort((start[:, 2], start[:, 1], start[:, 0]))]

    congestion, recovery = scenario.congestion, scenario.recovery
    path = PathTimes(slot, base_rtt, sizes + packet.gap_bytes, isinstance(recovery, Trim))
    conf = np.zeros(c.CONF_ENTRIES, np.int64)
    conf[c.HOST_CODE] = balancer.host_code
    conf[c.FRESH_ACKS] = packet.ack_label == "fresh"
    conf[c.PATH_ACKS] = balancer.path_acks
    # any window up to the lookahead is right; a bounded number of packets a link bounds the scratch memory
    conf[c.WINDOW] = min(times.delay + times.ack, 64 * slot, 4096 * (times.ack + times.gap))
    conf[c.OPEN_LIMIT] = flows.open_flows
    if packet.control == "priority":
        conf[c.PRIORITY] = 1
        conf[c.CONTROL_PLACES] = packet.control_queue_packets
        conf[c.CONTROL_LOG] = (packet.control_queue_packets - 1).bit_length()
        conf[c.DATA_LOG] = (buffer // slot + 4).bit_length()
    conf[c.LOSS] = round(scenario.failures.loss_rate * c.LOSS_UNIT)
    limit_ns = scenario.time_limit_ns
    conf[c.TIME_LIMIT_AT] = ticks(limit_ns) if limit_ns else int(start[:, 1].max(initial=0)) + max(100 * bound, ticks(1e6))
    conf[c.N_FLOWS] = len(flows)
    conf[c.N_PODS] = fabric.P
    conf[c.EDGES_PER_POD] = fabric.E
    conf[c.HOSTS_PER_EDGE] = fabric.S
    conf[c.FIRST_EDGE] = fabric.node_base[1]
    conf[c.RECOVERY] = recovery.code
    conf[c.CONGESTION] = congestion.code
    conf[c.WINDOWED] = congestion.windowed
    conf[c.PACED] = congestion.paced
    conf[c.CLOSED] = not (isinstance(congestion, LineRate) and isinstance(recovery, Erasure))
    if isinstance(recovery, Erasure):
        conf[c.NOTICE_DELAY] = round(base_rtt * recovery.notice_rtts)
    if isinstance(recovery, Timed):
        conf[c.RTO] = ticks(recovery.rto_ns) if recovery.rto_ns else 2 * base_rtt + 6 * buffer
        conf[c.CHECK_STEP] = max(1, int(conf[c.RTO]) // 8)
        conf[c.ACK_EVERY] = recovery.ack_every_packets
    if isinstance(recovery, Trim):
        conf[c.HEADROOM] = recovery.headroom_packets
    if isinstance(recovery, Sack):
        conf[c.REORDER] = recovery.reorder_packets
    return Inputs(
        scenario=scenario,
        fabric=fabric,
        times=times,
        messages=messages,
        flows=flows,
        damage=damage,
        link=link,
        start=start,
        cuts=cuts,
        change=change,
        changed=changed,
        rate=rate,
        sched_of=sched_of,
        sched_first=sched_first,
        pace=pace,
        schemes=schemes,
        sw=sw,
        hx=hx,
        cs=congestion.state(base, path),
        route=route,
        conf=conf,
        base=base,
        delay=delay,
        window=window_slots(scenario, flows, congestion.cap_packets(path)),
        lower_bound_ticks=bound,
        ideal_ticks=ideal,
        group_bound_ticks=groups,
    )


def round_trip(times: Times, hops):
    """Ticks from the first bit of a data packet sent to the last bit of its ACK received, over `hops` empty links each way."""
    return 2 * hops * times.delay + hops * (times.data + times.ack)


def window_slots(scenario: Scenario, flows: Flows, cap_packets: float) -> np.ndarray:
    """int64[n_flows]: slots of each flow's window, powers of two.

    With an oracle they keep times of sending, for windows only, and four of the largest windows are enough.
    """
    recovery = scenario.recovery
    if isinstance(recovery, Timed):
        most = np.minimum(flows.packets, recovery.window_packets)
    elif scenario.congestion.windowed:
        most = np.full(len(flows), math.ceil(4 * cap_packets))
    else:
        return np.zeros(len(flows), np.int64)
    return 1 << np.ceil(np.log2(np.maximum(most, 1))).astype(np.int64)


def link_rows(scenario: Scenario, times: Times, share: np.ndarray) -> np.ndarray:
    """int64[n, LINK_COLUMNS]: link rows at time 0 with `share` of the healthy rate (0: dead)."""
    keys = scenario.fabric
    rate = sending_rate(share)
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


def sending_rate(share: np.ndarray) -> np.ndarray:
    """Share of the healthy rate at which links with that much left send; what a dead one had taken leaves at the old rate, and is lost."""
    return np.where(share > 0, share, 1.0)


def _failure_arrays(scenario: Scenario, fabric: Fabric, damage: Damage, times: Times):
    """(cuts, change, changed, rate, sched_of, sched_first, orders, schedules) of a scenario."""
    rng = stream(scenario, "balancer").spawn(1)[0]
    width = max(fabric.A, fabric.C)
    orders = np.zeros((2 * N_ORDERS, width), np.int32)
    for i in range(2 * N_ORDERS):
        n = fabric.A if i < N_ORDERS else fabric.C
        orders[i, :n] = rng.permutation(n)
    schedules = Schedules(orders)
    none = np.zeros((0, 2), np.int64)
    if not damage.any:
        unchanged = np.zeros((0, c.LINK_COLUMNS), np.int64), np.zeros(0, np.int64), np.zeros(0)
        return none, *unchanged, np.zeros((0, 0), np.int32), np.zeros(1, np.int64), orders, schedules
    keys = scenario.failures
    broken = np.flatnonzero(damage.share < 1)
    links = np.array([fabric.cable_links(int(i)) for i in broken], np.int64).ravel()
    share = np.repeat(damage.share[broken], 2)
    change = link_rows(scenario, times, share)
    at = ticks(keys.at_ns)
    cuts = [(at, 1), (at + ticks(keys.detection_ns), 2)]
    if np.isfinite(keys.convergence_ns):
        if keys.convergence_ns <= keys.detection_ns:
            cuts.pop()
        cuts.append((at + ticks(keys.convergence_ns), 3))
    sched_of, sched_first = knowledge(damage, schedules)
    return np.array(cuts, np.int64), change, links, sending_rate(share), sched_of, sched_first, orders, schedules
