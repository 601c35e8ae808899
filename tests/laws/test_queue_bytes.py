"""Queues are bytes, whatever the rate of their link: no longer than the buffer, and as long as a count packet by packet says."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import connected, examples, scenarios

from ofancore import RECOVERY, Scenario, simulate, timeline
from ofancore.prepare import prepare
from ofancore.reference import inputs_of, run_reference
from ofancore.units import ticks_per_byte

BUFFER = 100_000
CABLE = "edge:0:0-agg:0:0"


def overloaded(capacity: float, **failures) -> Scenario:
    """Two hosts send through a cable that has lost part of its rate, which the switch never learns; their own scheme is to share it."""
    broken = [{"cable": CABLE, "capacity": capacity}] if capacity < 1 else []
    keys = {"cables": broken, "convergence_ns": "inf", **failures}
    return Scenario.from_dict(
        {
            "fabric": {"radix": 4, "buffer_bytes": BUFFER},
            "balancer": {"kind": "switch_rr"},
            "workload": {"kind": "pairs", "pairs": [[0, 8], [1, 12]], "message_packets": 256},
            "congestion": {"kind": "line_rate", "pace_failures": False},
            "start_jitter_ns": 0.0,
            "failures": keys,
        }
    )


def links_of(scenario: Scenario) -> tuple[int, int]:
    return tuple(int(link) for link in scenario.shape.cable_links(scenario.shape.cable_of(CABLE)))


@pytest.mark.parametrize("capacity", [0.75, 0.5, 0.25, 0.1, 0.01])
def test_a_degraded_cable_fills_its_buffer_and_no_more(capacity):
    scenario = overloaded(capacity)
    result = simulate(scenario)
    up, _ = links_of(scenario)
    packet = timeline.record(scenario, samples=1).packet_bytes
    assert result.link["drops"][up] > 0
    assert BUFFER - 2 * packet < result.link["queue_max_bytes"][up] <= BUFFER
    assert result.queue_max_bytes["edge_agg"] == result.link["queue_max_bytes"].max()
    assert result.queue_max_packets == pytest.approx(result.link["queue_max_bytes"].max() / packet)


@pytest.mark.parametrize("capacity", [1.0, 0.5, 0.35])
def test_a_count_of_packets_says_the_same(capacity):
    """Every packet that a link took, in order: it is gone when the link, at its rate, has sent all bytes up to its last."""
    scenario = overloaded(capacity)
    packet, per_byte = scenario.packet, ticks_per_byte(scenario.fabric.link_gbps)
    run = run_reference(inputs_of(prepare(scenario)), trace=True)
    rate = np.ones(scenario.shape.n_links)
    rate[list(links_of(scenario))] = capacity
    taken = defaultdict(list)
    for now, node, _, link, word in run.trace:
        small = word >> 1 & 3 != 0
        size = (packet.ack_bytes if small else packet.payload_bytes + packet.header_bytes) + packet.gap_bytes
        if node >= scenario.shape.n_hosts:
            taken[link].append((now, size))
    result = simulate(scenario)
    for link, packets in taken.items():
        longest, waiting, before = 0.0, 0.0, 0
        for now, size in packets:
            waiting = max(0.0, waiting - (now - before) * rate[link] / per_byte)
            longest, before = max(longest, waiting), now
            waiting += size
        assert result.link["queue_max_bytes"][link] == pytest.approx(longest, abs=1.0)
    assert (max(result.link["queue_max_bytes"]) > 20_000) == (capacity < 1)


def test_a_cable_that_loses_rate_keeps_what_was_longest_before():
    """ECMP puts both flows on one cable, which has filled its buffer when it is slowed down; what fits then are the same bytes."""
    keys = overloaded(0.5, at_ns=8_000.0).to_dict()
    up = None
    for seed in range(20):
        healthy = Scenario.from_dict({**keys, "balancer": {"kind": "ecmp"}, "seed": seed, "failures": {}, "time_limit_ns": 8_000.0})
        up, _ = links_of(healthy)
        before = simulate(healthy).link["queue_max_bytes"][up]
        if before > 50_000:
            break
    assert 50_000 < before <= BUFFER
    slowed = Scenario.from_dict({**keys, "balancer": {"kind": "ecmp"}, "seed": seed})
    assert simulate(slowed).link["queue_max_bytes"][up] >= before
    assert simulate(slowed).link["queue_max_bytes"][up] <= BUFFER
    died = Scenario.from_dict(
        {**slowed.to_dict(), "failures": {**slowed.to_dict()["failures"], "cables": [{"cable": CABLE, "capacity": 0.0}]}}
    )
    assert simulate(died).link["queue_max_bytes"][up] == before


def test_samples_count_the_rate_of_their_time():
    """The buffer is full before and after the cable is slowed down to a half, at 20 us: as many bytes, twice the time."""
    keys = {**overloaded(0.5).to_dict(), "balancer": {"kind": "ecmp"}}
    keys["workload"] = {**keys["workload"], "message_packets": 1024}
    keys["failures"] = {**keys["failures"], "at_ns": 20_000.0}
    for seed in range(20):
        scenario = Scenario.from_dict({**keys, "seed": seed})
        up, _ = links_of(scenario)
        seen = timeline.record(scenario, [19_999.0, 20_000.0, 30_000.0]).queue_bytes[:, up]
        if seen[0] > 50_000:
            break
    packet = 4178
    assert BUFFER - 2 * packet <= seen[0] <= BUFFER
    assert seen[1] == pytest.approx(seen[0], abs=packet)  # before what happens at that time
    assert BUFFER - 2 * packet <= seen[2] <= BUFFER


def test_no_queue_is_longer_than_the_buffer():
    @examples(60)
    @given(scenarios(recovery=tuple(RECOVERY)), st.floats(0.01, 1))
    def run(keys, capacity):
        keys = {**keys, "failures": {**keys["failures"], "capacity": capacity, "link_failure_rate": 0.3}}
        scenario = connected(keys)
        if scenario.fabric.unlimited_buffer:
            return
        room = scenario.fabric.buffer_bytes + 1
        packet, recovery = scenario.packet, scenario.recovery
        room += getattr(recovery, "headroom_packets", 0) * packet.ack_bytes
        if packet.control == "priority":  # the queue of control packets has places of its own
            room = max(room, packet.control_queue_packets * (packet.ack_bytes + packet.gap_bytes))
        links = simulate(scenario).link
        assert (links["queue_max_bytes"] <= room).all()

    run()
