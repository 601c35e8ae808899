"""From a prepared scenario to the slow twin's inputs: plain numbers and lists.

Taken over from `prepare.prepare` are the draws (traffic, failures, start times, random states, initial registers, port orders), for
those are inputs of both. What follows from the scenario by a rule (times, thresholds, what a switch knows of failures) is worked
out here a second time.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce

from ofancore.balancers.base import N_ORDERS, Shape
from ofancore.balancers.own import N_PAR, Own
from ofancore.fabric import AGG, EDGE
from ofancore.prepare import Inputs as Prepared
from ofancore.reference.congestion import CONTROLS, largest_window
from ofancore.reference.rails import parts_of, places
from ofancore.reference.run import FlowSpec, Inputs, LinkSpec
from ofancore.reference.transport import Follower

WHOLE = 20  # a healthy cable, in units of capacity
NEVER = 10**30


def inputs_of(prepared: Prepared, until: int | None = None) -> Inputs:
    """The twin's inputs; `until` stops it before that tick."""
    scenario, fabric = prepared.scenario, prepared.fabric
    broken = {number: float(share) for number, share in enumerate(prepared.damage.share) if share < 1}
    healthy = link_spec(scenario, 1.0)
    base_rtt = round_trip(healthy, 6 if fabric.P > 1 else 4)
    recovery = scenario.recovery.model_dump()
    control = control_keys(scenario, healthy, base_rtt)
    return Inputs(
        pods=fabric.P,
        edges_per_pod=fabric.E,
        hosts_per_edge=fabric.S,
        aggs_per_pod=fabric.A,
        cores_per_agg=fabric.C,
        links=[healthy] * fabric.n_links,
        flows=flow_specs(prepared, healthy, control),
        balancer=scenario.balancer.kind,
        parameters=parameters(prepared, base_rtt)
        | {
            "ends": [edge_pair(fabric, src, dst) for src, dst in zip(prepared.flows.src, prepared.flows.dst)],
            "cut": cut_paths(fabric, broken),
            "constants": prepared.sw.par,
        },
        schemes=schemes(prepared),
        registers=switch_registers(prepared),
        host_registers=prepared.hx.reg.tolist(),
        host_index=prepared.hx.index.tolist(),
        random_states=prepared.sw.rng.tolist(),
        salts=prepared.sw.salt.tolist(),
        orders=port_orders(prepared),
        pace=tuple(prepared.pace.tolist()),
        notice_delay=round(base_rtt * recovery.get("notice_rtts", 0)),
        open_limit=prepared.flows.open_flows,
        fresh_acks=scenario.packet.ack_label == "fresh",
        path_acks=scenario.balancer.kind == "host_dr",
        control_places=scenario.packet.control_queue_packets if scenario.packet.control == "priority" else None,
        loss=round(scenario.failures.loss_rate * 2**30),
        recovery=scenario.recovery.kind,
        rto=timeout(scenario, base_rtt),
        reorder=recovery.get("reorder_packets", 0),
        ack_every=recovery.get("ack_every_packets", 1),
        congestion=scenario.congestion.kind,
        control=control,
        cuts=cuts(scenario) if broken else [],
        changes=changes(scenario, fabric, broken),
        weights=known_weights(fabric, broken) if broken else {},
        until=until,
    )


def link_spec(scenario, share: float, died_at: int | None = None) -> LinkSpec:
    """A link at a share of its rate, all sizes turned into ticks (one picosecond each)."""
    keys, packet = scenario.fabric, scenario.packet
    per_byte = 8000 / keys.link_gbps
    delay = round(keys.link_delay_ns * 1000)

    def slowed(size):
        at_full_rate = max(1, round(size * per_byte)) if size else 0
        return round(at_full_rate / share)

    buffer = keys.buffer_bytes * per_byte / share
    low = scenario.balancer.ecn_fraction if keys.ecn.min_fraction is None else keys.ecn.min_fraction
    high = low if keys.ecn.max_fraction is None else max(low, keys.ecn.max_fraction)
    spec = LinkSpec(
        data=slowed(packet.payload_bytes + packet.header_bytes),
        ack=slowed(packet.ack_bytes),
        gap=slowed(packet.gap_bytes),
        delay=delay,
        buffer=NEVER if keys.unlimited_buffer else round(buffer),
        ecn_low=round(low * buffer),
        ecn_high=round(high * buffer),
        headroom=scenario.recovery.model_dump().get("headroom_packets", 0) * slowed(packet.ack_bytes),
        rate=share,
        byte=per_byte,
    )
    if died_at is None:
        return spec
    return replace(spec, dead=True, lost_after=died_at + delay)  # what waits there is served at the old rate, and lost on the way


def round_trip(link: LinkSpec, hops: int) -> int:
    """Ticks that a data packet and its ACK take on a path of so many links without queues."""
    return 2 * hops * link.delay + hops * (link.data + link.ack)


def timeout(scenario, base_rtt: int) -> int:
    """Ticks after which a packet of which nothing was heard is taken for lost."""
    recovery, keys = scenario.recovery.model_dump(), scenario.fabric
    if recovery["kind"] == "erasure":
        return 0
    if recovery["rto_ns"] is not None:
        return round(recovery["rto_ns"] * 1000)
    return 2 * base_rtt + 6 * round(keys.buffer_bytes * 8000 / keys.link_gbps)


def control_keys(scenario, healthy: LinkSpec, base_rtt: int) -> dict:
    """The congestion control's keys, and what it is told of the fabric."""
    slot, packet = healthy.data + healthy.gap, scenario.packet
    return scenario.congestion.model_dump() | {
        "slot": slot,
        "base_rtt": base_rtt,
        "bdp": base_rtt / slot,
        "wire_bytes": packet.payload_bytes + packet.header_bytes + packet.gap_bytes,
        "trim": scenario.recovery.kind == "trim",
    }


def window_of(scenario, packets: int, control: dict) -> int:
    """Slots that the two ends of a flow keep; erasure needs them for controls with a window only."""
    recovery = scenario.recovery.model_dump()
    if recovery["kind"] != "erasure":
        return power_of_two(min(packets, power_of_two(recovery["window_packets"])))
    return power_of_two(4 * largest_window(control)) if CONTROLS[scenario.congestion.kind].windowed else 0


def power_of_two(least: float) -> int:
    """The smallest power of two that is not less."""
    power = 1
    while power < least:
        power *= 2
    return power


def flow_specs(prepared: Prepared, healthy: LinkSpec, control: dict) -> list[FlowSpec]:
    """What is sent as flows follows from the messages; hosts are plugged in as their numbers say."""
    fabric, scenario = prepared.fabric, prepared.scenario
    starts = {int(flow): int(time) for _, time, flow in prepared.start}
    parts, after, after_acked = parts_of(prepared.messages, fabric.rails, scenario.balancer.model_dump())
    place = places(fabric)
    specs = []
    for number, part in enumerate(parts):
        src, dst = place[part.src], place[part.dst]
        specs.append(
            FlowSpec(
                src,
                dst,
                part.packets,
                starts.get(number),
                delay=round(part.delay_ns * 1000),
                base=round_trip(healthy, links_between(fabric, src, dst)),
                window=window_of(scenario, part.packets, control),
            )
        )
    for earlier, later in after:
        news = follower_of(fabric, healthy, parts[earlier].dst, later, parts[later].src)
        specs[earlier].followers.append(news)
        specs[later].waits += 1
    for earlier, later in after_acked:
        news = follower_of(fabric, healthy, parts[earlier].src, later, parts[later].src)
        specs[earlier].successors.append(news)
        specs[later].waits += 1
    for earlier, later, acked, needed in prepared.messages.after_some.tolist():  # messages are parts here: RailS refuses these
        at, told = (parts[earlier].src, specs[earlier].successors) if acked else (parts[earlier].dst, specs[earlier].followers)
        told.append(follower_of(fabric, healthy, at, later, parts[later].src))
        specs[later].waits = needed
    return specs


def follower_of(fabric, healthy: LinkSpec, at: int, number: int, src: int) -> Follower:
    """A flow from host `src` that waits for what happens at host `at`.

    The news takes as long as an ACK without queues; within a server, as one over a single link.
    """
    if at == src:
        return Follower(number, None)
    place = places(fabric)
    links = 1 if at // fabric.rails == src // fabric.rails else links_between(fabric, place[at], place[src])
    return Follower(number, links * (healthy.delay + healthy.ack))


def parameters(prepared: Prepared, base_rtt) -> dict:
    """The balancer's keys, with those of the schemes that switches run in its name, and what some of them mean in ticks."""
    scenario, fabric = prepared.scenario, prepared.fabric
    out = {"A": fabric.A, "C": fabric.C, "base_rtt": base_rtt}
    for scheme in [*prepared.schemes, scenario.balancer]:
        out |= scheme.model_dump()
    buffer = round(scenario.fabric.buffer_bytes * 8000 / scenario.fabric.link_gbps)
    out["bin_ticks"] = [round(share * buffer) for share in out.get("bins", [])]
    out["freeze_ticks"] = round(out.get("freeze_ns", 0) * 1000)
    out["gap_ticks"] = base_rtt // 2 if out.get("gap_ns") is None else round(out["gap_ns"] * 1000)
    out["sample_ticks"] = None if out.get("sample_ns") is None else round(out["sample_ns"] * 1000)
    if isinstance(scenario.balancer, Own):
        out["own"] = scenario.balancer.definition
        out["given"] = int(prepared.sw.own[0, N_PAR])
    return out


def schemes(prepared: Prepared) -> dict[int, str]:
    """The scheme of each switch that has a choice, where that may differ: which switches have which is drawn."""
    first_edge = prepared.fabric.node_base[1]
    return {first_edge + i: scheme.kind for i, scheme in enumerate(prepared.schemes)}


def switch_registers(prepared: Prepared) -> dict[int, list[int]]:
    fabric, sw = prepared.fabric, prepared.sw
    shape = Shape(fabric, prepared.flows.src, prepared.flows.dst, 0, 0)
    registers = {}
    for i, scheme in enumerate(prepared.schemes):
        node = fabric.node_base[1] + i
        count = scheme.switch_registers(shape, EDGE if i < fabric.n_edges else AGG)
        registers[node] = sw.reg[sw.first[node] : sw.first[node] + count].tolist()
    return registers


def port_orders(prepared: Prepared) -> dict[str, dict[int, list[int]]]:
    fabric, orders = prepared.fabric, prepared.sw.orders
    return {
        "edge": {i: orders[i, : fabric.A].tolist() for i in range(N_ORDERS)},
        "agg": {i: orders[i, : fabric.C].tolist() for i in range(N_ORDERS, 2 * N_ORDERS)},
    }


# --- failures


def cuts(scenario) -> list[tuple[int, int]]:
    """When the failure strikes (1), when its neighbours know (2), when all know (3)."""
    keys = scenario.failures
    at = round(keys.at_ns * 1000)
    out = [(at, 1)]
    if keys.detection_ns < keys.convergence_ns:
        out.append((at + round(keys.detection_ns * 1000), 2))
    if not math.isinf(keys.convergence_ns):
        out.append((at + round(keys.convergence_ns * 1000), 3))
    return out


def changes(scenario, fabric, broken: dict[int, float]) -> dict[int, LinkSpec]:
    at = round(scenario.failures.at_ns * 1000)
    out = {}
    for cable, share in broken.items():
        for link in fabric.cable_links(cable):
            out[int(link)] = link_spec(scenario, share) if share > 0 else link_spec(scenario, 1.0, died_at=at)
    return out


def known_weights(fabric, broken: dict[int, float]) -> dict[tuple[int, int, int], dict[int, int] | None]:
    """Weights of the uplinks by (epoch, switch, destination group).

    A weight is the summed capacity of the shortest paths through that uplink, each as wide as its narrowest cable. In epoch 2 a
    switch knows its own cables only, in epoch 3 all. Without an entry all uplinks are alike.
    """
    units = {fabric.cable_name(cable): max(1, round(share * WHOLE)) if share > 0 else 0 for cable, share in broken.items()}
    _, first_edge, first_agg, _, _ = fabric.node_base
    out = {}

    def capacity(cable, whose):
        return units.get(cable, WHOLE) if whose is None or whose in cable.split("-") else WHOLE

    for epoch in (2, 3):
        for p in range(fabric.P):
            for e in range(fabric.E):
                me = f"edge:{p}:{e}"
                whose = me if epoch == 2 else None
                for q in range(fabric.P):
                    for g in range(fabric.E):
                        if (q, g) == (p, e):
                            continue
                        weights = {}
                        for j in range(fabric.A):
                            ends = [f"{me}-agg:{p}:{j}", f"edge:{q}:{g}-agg:{q}:{j}"]
                            middles = [[]]
                            if p != q:
                                middles = [[f"agg:{p}:{j}-core:{j}:{i}", f"agg:{q}:{j}-core:{j}:{i}"] for i in range(fabric.C)]
                            weights[j] = sum(min(capacity(cable, whose) for cable in [*ends, *middle]) for middle in middles)
                        out[epoch, first_edge + p * fabric.E + e, q * fabric.E + g] = reduced(weights)
            for j in range(fabric.A if fabric.C else 0):
                me = f"agg:{p}:{j}"
                whose = me if epoch == 2 else None
                for q in range(fabric.P):
                    if q != p:
                        names = [(f"{me}-core:{j}:{i}", f"agg:{q}:{j}-core:{j}:{i}") for i in range(fabric.C)]
                        weights = {i: min(capacity(up, whose), capacity(down, whose)) for i, (up, down) in enumerate(names)}
                        out[epoch, first_agg + p * fabric.A + j, q] = reduced(weights)
    return out


def edge_pair(fabric, src, dst) -> tuple[int, int]:
    """The edge switches of two hosts."""
    return int(src) // fabric.S, int(dst) // fabric.S


def links_between(fabric, src, dst) -> int:
    """Links of the shortest paths between two hosts."""
    near, far = edge_pair(fabric, src, dst)
    return 2 if near == far else 4 if near // fabric.E == far // fabric.E else 6


def cut_paths(fabric, broken: dict[int, float]) -> dict[tuple[int, int], set[tuple[int, int]]]:
    """Paths (aggregation index, core index) between two edge switches that a dead cable cuts, where there are any."""
    dead = {fabric.cable_name(cable) for cable, share in broken.items() if share == 0}
    edges = [(p, e) for p in range(fabric.P) for e in range(fabric.E)]
    out = {}
    for p, e in edges:
        for q, g in edges:
            if not dead or (p, e) == (q, g):
                continue
            cut = set()
            for j in range(fabric.A):
                for i in range(max(fabric.C, 1)):
                    cables = {f"edge:{p}:{e}-agg:{p}:{j}", f"edge:{q}:{g}-agg:{q}:{j}"}
                    if p != q:
                        cables |= {f"agg:{p}:{j}-core:{j}:{i}", f"agg:{q}:{j}-core:{j}:{i}"}
                    if cables & dead:
                        cut.add((j, i))
            if cut:
                out[p * fabric.E + e, q * fabric.E + g] = cut
    return out


def reduced(weights: dict[int, int]) -> dict[int, int] | None:
    """Weights divided by their gcd; None if all are alike and positive."""
    values = set(weights.values())
    if len(values) == 1 and 0 not in values:
        return None
    divisor = reduce(math.gcd, values) or 1
    return {port: weight // divisor for port, weight in weights.items()}
