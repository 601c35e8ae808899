"""A run that is looked at on its way is the run that it would have been, and its queues are those of the slow twin at the same times."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import connected, examples, scenarios

from ofancore import CONGESTION, RECOVERY, Scenario, ScenarioError, simulate, timeline
from ofancore.prepare import prepare
from ofancore.reference import inputs_of, run_reference
from ofancore.units import ticks


def twin_at(scenario: Scenario, now: int) -> tuple[list[float], list[int]]:
    """(bytes that wait, bytes handed over) by link, of the slow twin when all before tick `now` has happened."""
    packet = scenario.packet
    links = run_reference(inputs_of(prepare(scenario), now)).links
    queues = [0.0 if link.tail.tier == "host" else link.bytes_of(link.backlog(now)) for link in links]
    sizes = packet.payload_bytes + packet.header_bytes, packet.ack_bytes
    return queues, [sum(n * size for n, size in zip(link.count, sizes, strict=True)) for link in links]


def check(keys, shares):
    """Six times, at shares of the run, the last one being its end."""
    scenario = connected(keys)
    whole = simulate(scenario)
    times = np.unique(np.round([share * whole.ended_ns for share in (*shares, 1.0)], 3))
    seen = timeline.record(scenario, times)
    assert seen.result.to_json() == whole.to_json()
    assert (np.diff(seen.sent_bytes, axis=0) >= 0).all()
    for row, time in enumerate(times):
        queues, sent = twin_at(scenario, ticks(time))
        assert seen.queue_bytes[row].tolist() == queues
        assert seen.sent_bytes[row].tolist() == sent
    if scenario.packet.control == "shared":
        most = whole.link["queue_max_bytes"] + seen.packet_bytes + 0.1  # packets are rounded to ticks
        assert (seen.queue_bytes <= most).all()


def test_any_scenario():
    @examples(30)
    @given(scenarios(), st.lists(st.floats(0, 1), max_size=5))
    def run(keys, shares):
        check(keys, shares)

    run()


def test_any_control_and_recovery():
    @examples(30)
    @given(scenarios(congestion=tuple(CONGESTION), recovery=tuple(RECOVERY)), st.lists(st.floats(0, 1), max_size=5))
    def run(keys, shares):
        check(keys, shares)

    run()


def in_one_run(scenario, samples):
    """Without times: the result is that of the run that nobody looks at, and the looks are those at the same times."""
    follows = []  # whether packets were still under way
    with mock.patch.object(timeline, "_nothing_follows", side_effect=noting(timeline._nothing_follows, follows)):
        whole, seen = simulate(scenario), timeline.record(scenario, samples=samples)
    assert seen.result.to_json() == whole.to_json()
    for table in ("flow", "link"):
        for name, column in getattr(whole, table).items():
            assert np.array_equal(column, getattr(seen.result, table)[name], equal_nan=column.dtype.kind == "f"), name
    times = seen.times_ns
    assert times[0] == 0
    assert times[-1] == whole.ended_ns or (whole.finished and times[-1] > whole.ended_ns)
    steps = np.diff(times)
    assert (steps > 0).all()
    assert steps[:-1] == pytest.approx(steps[0])
    assert len(times) <= 2 * samples + 1
    again = timeline.record(scenario, times)
    looks = slice(len(times) - (False in follows))  # how much was seen of those packets hangs on where the run was cut
    assert (again.queue_bytes[looks] == seen.queue_bytes[looks]).all()
    assert (again.sent_bytes[looks] == seen.sent_bytes[looks]).all()
    return seen


def noting(call, told: list):
    """`call`, which also puts into a list what it returns."""

    def noted(*arguments):
        told.append(call(*arguments))
        return told[-1]

    return noted


def test_one_run_is_enough():
    @examples(40)
    @given(scenarios(congestion=tuple(CONGESTION), recovery=tuple(RECOVERY)), st.sampled_from([1, 2, 7, 50]))
    def run(keys, samples):
        in_one_run(connected(keys), samples)

    run()


def test_the_last_look_is_not_before_the_end():
    """Not even where the loop stops within the gap after the last ACK, and something is left over."""
    twice = {
        "fabric": {"radix": 4, "link_gbps": 100.0},
        "packet": {"payload_bytes": 64},
        "workload": {"kind": "ring_all_gather", "message_packets": 3, "placement": "random", "hosts": [11, 1]},
        "balancer": {"kind": "diffflow", "threshold_packets": 3, "entries": 64},
        "recovery": {"kind": "sack", "rto_ns": 3000.0, "window_packets": 1, "reorder_packets": 1},
        "start_jitter_ns": 700.0,
        "seed": 722,
    }
    in_one_run(Scenario.from_dict(twice), 1)


def test_of_packets_left_over_only_the_last_look_may_differ():
    early = {"kind": "go_back_n", "rto_ns": 3000.0, "window_packets": 4096}  # sent again before the ACK can be there
    seen = in_one_run(Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"message_packets": 1}, "recovery": early, "seed": 1}), 1)
    assert seen.times_ns[-1] > seen.result.ended_ns


@pytest.mark.parametrize("follows", [False, True])
def test_where_packets_are_left_over_the_result_is_that_of_another_run(follows, monkeypatch):
    monkeypatch.setattr(timeline, "_nothing_follows", lambda inputs, w: not follows)
    seen = in_one_run(Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"message_packets": 64}}), 50)
    assert 50 < len(seen.times_ns) <= 101
    assert (seen.times_ns[-1] > seen.result.ended_ns) == follows


@pytest.mark.parametrize("kind", ["ecmp", "ops", "jsq", "ofan"])
def test_the_cut_run_ends_as_the_whole_one(kind):
    """At the paper's size: what was handed to every link by the end, and nothing waits there any more."""
    scenario = Scenario.from_dict({"balancer": {"kind": kind}, "seed": 3})
    whole = simulate(scenario)
    seen = timeline.record(scenario, [*np.linspace(0, whole.ended_ns, 137), whole.ended_ns + 1])
    assert seen.sent_bytes[-1].tolist() == whole.link["bytes"].tolist()
    assert not seen.queue_bytes[0].any()
    assert not seen.queue_bytes[-1].any()
    largest = timeline.queues(seen)["largest"].max()
    assert 0.5 * whole.queue_max_packets < largest <= whole.queue_max_packets + 1


def test_one_packet_by_hand():
    """From host 0 to host 1 under one edge switch. 800 Gb/s are 10 ps a byte: 41.58 ns on a link and a gap of 0.2 ns; then 500 ns."""
    scenario = Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"kind": "pairs", "pairs": [[0, 1]], "message_packets": 1}})
    fabric = scenario.shape
    down = fabric.link_base[5] + 1
    arrives = 41.58 + 500
    seen = timeline.record(scenario, [0, 1, arrives, arrives + 0.001, arrives + 10, arrives + 41.78])
    assert seen.queue_bytes[:, down].tolist() == pytest.approx([0, 0, 0, 4178 - 0.1, 4178 - 1000, 0])
    assert seen.sent_bytes[:, 0].tolist() == [0, 4158, 4158, 4158, 4158, 4158]
    assert seen.sent_bytes[:, down].tolist() == [0, 0, 0, 4158, 4158, 4158]
    assert not np.delete(seen.queue_bytes, down, axis=1).any()  # hosts have no queue
    assert timeline.queues(seen)["largest"].tolist() == pytest.approx([0, 0, 0, (4178 - 0.1) / 4178, 3178 / 4178, 0])
    stages = timeline.stage_queues(seen)
    assert stages["stage"].tolist() == ["edge_agg", "agg_core", "core_agg", "agg_edge", "edge_host"] * 6
    assert stages.groupby("stage")["largest"].max().to_dict() == {
        "edge_agg": 0, "agg_core": 0, "core_agg": 0, "agg_edge": 0, "edge_host": pytest.approx((4178 - 0.1) / 4178),
    }  # fmt: skip
    assert stages["mean"].max() == pytest.approx((4178 - 0.1) / 4178 / 16)


def test_refusals():
    scenario = Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"message_packets": 8}})
    for samples in (0, True, 1.5):
        with pytest.raises(ScenarioError, match=r"samples = .*: must be an integer of at least 1"):
            timeline.record(scenario, samples=samples)
    for times in ([], [-1.0], [1.0, 1.0], [2.0, 1.0], [float("nan")], [[1.0]]):
        with pytest.raises(ScenarioError, match=r"times_ns = .*: must be numbers from 0 on, each larger than the one before"):
            timeline.record(scenario, times)
    with pytest.raises(ScenarioError, match=r"samples = .*: must be at most 260416 on a fabric of 96 links"):
        timeline.record(scenario, samples=600_000)
    stopped = Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"message_packets": 8}, "time_limit_ns": 1000.0})
    assert len(timeline.record(stopped, samples=10).times_ns) == 11
    with pytest.raises(ScenarioError, match=r"times_ns = 1000\.5: must not be beyond 1000 ns, where the run was stopped"):
        timeline.record(stopped, [500.0, 1000.5])
