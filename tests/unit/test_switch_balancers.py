"""Decisions at a switch on cases small enough to work by hand."""

import numpy as np
import pytest
from unit.bench import ACK, DATA, Bench, shape_of

from ofancore.balancers import BALANCERS
from ofancore.bits import LABEL_MASK
from ofancore.engine import layout as c
from ofancore.fabric import AGG, EDGE
from ofancore.reference.switches import iwrr
from ofancore.reference.words import Random, hash_below

# --- weighted schedules


def test_iwrr_of_the_paper():
    """Weights [2, 2, 2, 1] of P1..P4 in the random order P3, P2, P4, P1."""
    weights, order = {0: 2, 1: 2, 2: 2, 3: 1}, [2, 1, 3, 0]
    assert iwrr(weights, order) == [2, 1, 3, 0, 2, 1, 0]


def test_ofan_walks_the_weighted_schedule_of_the_paper():
    bench = Bench("ofan", 4, registers=[0, 0])
    bench.schedule([2, 2, 2, 1], [[2, 1, 3, 0]])
    assert [bench.ask() for _ in range(9)] == [2, 1, 3, 0, 2, 1, 0, 2, 1]


def test_a_pointer_beyond_a_schedule_that_became_shorter_starts_over():
    bench = Bench("ofan", 4, registers=[3, 0])
    bench.schedule([1, 0, 1, 0], [[2, 1, 3, 0]])
    assert [bench.ask() for _ in range(3)] == [2, 0, 2]


def test_a_pointer_beyond_the_ports_starts_over_when_a_schedule_ends():
    """After a longer schedule (known to neighbours only) all uplinks may turn out to be alike."""
    bench = Bench("switch_dr", 4, registers=[6])
    assert [bench.ask() for _ in range(5)] == [0, 1, 2, 3, 0]


def test_rotation_visits_every_uplink_once_a_round():
    bench = Bench("ofan", 4, registers=[2, 0])
    bench.sw.orders[0] = [3, 1, 0, 2]
    assert [bench.ask() for _ in range(6)] == [0, 2, 3, 1, 0, 2]


# --- pointers by destination


def test_ofan_has_a_pointer_per_group_and_size_bin():
    bench = Bench("ofan", 4, registers=[0, 1, 2, 3])
    assert [bench.ask(group=group, small=small) for group in (0, 1) for small in (DATA, ACK)] == [0, 1, 2, 3]
    assert [bench.ask(group=0, host=7), bench.ask(group=0, host=8), bench.ask(group=1)] == [1, 2, 3]


def test_switch_dr_has_a_pointer_per_host_and_size_bin():
    bench = Bench("switch_dr", 4, registers=[0, 1, 2, 3])
    assert [bench.ask(host=0), bench.ask(host=0), bench.ask(host=1, group=5), bench.ask(host=0, small=ACK)] == [0, 1, 2, 1]


def test_pofan_pipes_do_not_share_pointers():
    bench = Bench("pofan", 4, registers=[0, 2, 1, 3], parameters=[2])  # group 0: data in pipe 0 and 1, ACKs in pipe 0 and 1
    assert [bench.ask(port=port) for port in (0, 2, 1, 3, 4)] == [0, 1, 2, 3, 2]
    assert [bench.ask(port=port, small=ACK) for port in (0, 1)] == [1, 3]


@pytest.mark.parametrize(("pipes", "radix"), [(1, 8), (2, 8), (4, 8), (8, 8), (4, 6)])
def test_pofan_staggers_the_pipes_of_a_destination(pipes, radix):
    balancer, shape = BALANCERS["pofan"](pipes=pipes), shape_of(radix)
    registers = balancer.init_switch(shape, EDGE, np.random.default_rng(0)).reshape(-1, pipes)
    width = shape.fabric.A
    assert len(registers) == 2 * shape.fabric.n_edges
    for group in registers:
        assert len(set(group >> 16)) == 1
        start = group[0] & 0xFFFF
        assert [int(position - start) % width for position in group & 0xFFFF] == [i * width // pipes for i in range(pipes)]


def test_pofan_with_one_pipe_starts_as_ofan():
    shape = shape_of(8)
    one = BALANCERS["pofan"](pipes=1).init_switch(shape, AGG, np.random.default_rng(5))
    assert (one == BALANCERS["ofan"]().init_switch(shape, AGG, np.random.default_rng(5))).all()


# --- switch round robin


def test_simple_round_robin_never_reshuffles():
    bench = Bench("switch_rr", 3, registers=[1, 0, 2, 0, 1], parameters=[0])
    assert [bench.ask(group=i) for i in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_round_robin_reshuffles_after_every_second_wrap():
    bench = Bench("switch_rr", 4, registers=[0, 0, 3, 1, 0, 2], parameters=[2], seed=9)
    assert [bench.ask() for _ in range(8)] == [3, 1, 0, 2] * 2
    # Fisher-Yates from the end, drawn by hand from the same random stream
    order, rng = [3, 1, 0, 2], Random(9)
    for i in (3, 2, 1):
        j = rng.below(i + 1)
        order[i], order[j] = order[j], order[i]
    assert list(bench.sw.reg[2:]) == order
    assert [bench.ask() for _ in range(8)] == order * 2
    assert int(bench.sw.rng[0]) != rng.state  # and once more after two more wraps


def test_round_robin_passes_over_ports_that_do_not_lead_there():
    bench = Bench("switch_rr", 4, registers=[0, 0, 3, 1, 0, 2], parameters=[0])
    bench.schedule([1, 0, 2, 0], [])
    assert [bench.ask() for _ in range(4)] == [0, 2, 0, 2]


def test_round_robin_looks_on_after_a_reshuffle():
    """A reshuffle in the middle of the search may bring the ports that do not lead there again."""
    for seed in range(20):
        bench = Bench("switch_rr", 4, registers=[0, 0, 3, 1, 0, 2], parameters=[1], seed=seed)
        bench.schedule([0, 0, 1, 0], [])
        assert [bench.ask() for _ in range(20)] == [2] * 20


# --- queues


def test_jsq_takes_the_only_shortest_queue_without_a_draw():
    bench = Bench("jsq", 4, queues=[400, 300, 200, 201])
    assert bench.ask(now=100) == 2
    assert bench.sw.rng[0] == 1


def test_jsq_breaks_ties_at_random_and_evenly():
    bench = Bench("jsq", 4, queues=[50, 300, 0, 100], seed=3)
    chosen = np.bincount([bench.ask(now=100) for _ in range(3000)], minlength=4)  # 50 and 100 are as idle as 0
    assert chosen[1] == 0
    assert abs(chosen[[0, 2, 3]] - 1000).max() < 5 * np.sqrt(1000 * 2 / 3)


def test_deterministic_jsq_takes_the_first_of_a_tie():
    bench = Bench("jsq", 4, queues=[150, 100, 0, 100], parameters=[1])
    assert [bench.ask(now=100) for _ in range(5)] == [1] * 5
    assert bench.sw.rng[0] == 1


def test_round_robin_with_size_bins_turns_two_pointers():
    bench = Bench("switch_rr", 3, registers=[1, 0, 2, 0, 1, 0, 0, 1, 2, 0], parameters=[0, 1])
    assert [bench.ask(small=small) for small in (0, 1, 0, 1, 1)] == [0, 1, 1, 2, 0]


def test_jsq_looks_at_live_ports_only():
    bench = Bench("jsq", 4, queues=[0, 300, 200, 0])
    bench.schedule([0, 1, 1, 0], [])
    assert bench.ask(now=0) == 2


def test_spectrum_counts_bin_edges_reached():
    edges = [3, 50, 100, 200]  # three bin edges
    bench = Bench("spectrum_ar", 4, queues=[200, 100, 99, 50], parameters=edges)
    assert {bench.ask() for _ in range(50)} == {2, 3}  # 99 and 50 are alike
    bench = Bench("spectrum_ar", 4, queues=[200, 100, 50, 49], parameters=edges)
    assert {bench.ask() for _ in range(50)} == {3}
    bench = Bench("spectrum_ar", 4, queues=[200, 500, 201, 900], parameters=edges)
    assert {bench.ask() for _ in range(100)} == {0, 1, 2, 3}


def test_spectrum_bins_are_shares_of_the_buffer():
    assert BALANCERS["spectrum_ar"]().constants(shape_of(8)) == [3, 400_000, 800_000, 1_600_000]


def test_rsq_is_uniform_over_the_schedule():
    bench = Bench("rsq", 4, seed=8)
    chosen = np.bincount([bench.ask() for _ in range(4000)], minlength=4)
    assert abs(chosen - 1000).max() < 5 * np.sqrt(1000 * 3 / 4)
    bench.schedule([3, 0, 1, 0], [])
    chosen = np.bincount([bench.ask() for _ in range(4000)], minlength=4)
    assert abs(chosen - [3000, 0, 1000, 0]).max() < 5 * np.sqrt(1000 * 3 / 4)


# --- labels


def test_hash_depends_on_label_flow_and_switch_only():
    bench = Bench("ecmp", 4)
    expected = [hash_below(label, flow, 12345, 4) for label in range(20) for flow in (0, 1, 2**24 - 1)]
    asked = [bench.ask(label=label, flow=flow, group=label, now=label) for label in range(20) for flow in (0, 1, 2**24 - 1)]
    assert asked == expected
    assert set(asked) == {0, 1, 2, 3}
    assert [bench.ask(label=LABEL_MASK, flow=5) for _ in range(3)] == [hash_below(LABEL_MASK, 5, 12345, 4)] * 3


@pytest.mark.parametrize("n", [3, 4, 8])
@pytest.mark.parametrize("inputs", ["labels of a flow", "flows of a label", "labels with flows"])
def test_hash_spreads_evenly_and_alike_at_no_two_switches(n, inputs):
    """Pearson's statistic of the choices of two switches, far below what a pattern in the hash would give (mean: its freedom)."""
    size = 1 << 14
    labels = {"labels of a flow": range(size), "flows of a label": [77] * size, "labels with flows": range(size)}[inputs]
    flows = {"labels of a flow": [5] * size, "flows of a label": range(size), "labels with flows": range(size)}[inputs]
    for salts in ((12345, 12346), (7, 2**31), (1, 3_000_000_019)):
        table = np.zeros((n, n))
        for label, flow in zip(labels, flows):
            table[tuple(hash_below(label, flow, salt, n) for salt in salts)] += 1
        expected = size / n**2
        freedom = n**2 - 1
        assert ((table - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(2 * freedom)


def test_host_dr_label_names_a_slot_at_each_tier():
    edge = Bench("host_dr", 4, parameters=[4, 4, 1, 10])
    assert [edge.ask(label=label) for label in (0, 1, 7, 14)] == [0, 1, 3, 2]
    agg = Bench("host_dr", 4, parameters=[4, 4, 1, 0])  # its uplinks start at or above link 0: an aggregation switch
    assert [agg.ask(label=label) for label in (0, 1, 7, 14)] == [0, 0, 1, 3]
    agg.schedule([1, 0, 2, 0], [])  # slots 0, 2, 2
    assert [agg.ask(label=label) for label in (0, 4, 8, 12)] == [0, 2, 2, 0]


# --- sampled queues


def test_spectrum_uses_the_bins_of_its_last_look():
    """A look every 100 ticks: what happens in between is not seen."""
    bench = Bench("spectrum_ar", 4, [0] * 6, [1, 50, 0, 0, 0, 0, 0, 0, 100], queues=[0, 200, 200, 200])
    assert {bench.ask(now=99) for _ in range(60)} == {0, 1, 2, 3}  # no look so far: all taken to be empty
    assert {bench.ask(now=100) for _ in range(60)} == {0}
    bench.sw.link[:, c.FREE] = [500, 500, 0, 500]
    assert {bench.ask(now=now) for now in (101, 150, 199)} == {0}
    assert {bench.ask(now=200), bench.ask(now=299)} == {2}
    assert list(bench.sw.reg) == [0, 200, 1, 1, 0, 1]


def test_time_of_a_look_is_kept_beyond_32_bits():
    late = 5 * 2**31 + 7
    bench = Bench("spectrum_ar", 2, [0] * 4, [1, 50, 0, 0, 0, 0, 0, 0, 100], queues=[late + 70, late])
    assert bench.ask(now=late) == 1
    assert list(bench.sw.reg) == [5, 7, 1, 0]
    bench.sw.link[:, c.FREE] = [0, late + 500]
    assert [bench.ask(now=late + 99), bench.ask(now=late + 100)] == [1, 0]


# --- LetFlow


def letflow(entries=1, gap=100, age_bit=0, seed=4):
    return Bench("flowlet", 4, [0] * 3 * entries, [entries, gap, age_bit], seed=seed), Random(seed)


def test_a_flow_keeps_its_uplink_until_it_pauses_for_longer_than_the_gap():
    for seed in range(20):
        bench, rng = letflow(seed=seed)
        first, second = rng.below(4), rng.below(4)
        assert [bench.ask(flow=7, now=now) for now in (1000, 1050, 1150, 1250)] == [first] * 4  # pauses of 50, 100 and 100
        assert [bench.ask(flow=7, now=now) for now in (1351, 1400)] == [second] * 2  # a pause of 101
        assert int(bench.sw.rng[0]) == rng.state
        assert list(bench.sw.reg) == [second + 1, 0, 1400]


def test_letflow_by_timer_ends_a_flowlet_after_two_strikes():
    """Strikes at multiples of 100: a pause from 1050 to 1199 saw one, from 1199 to 1300 two, though it is shorter."""
    for seed in range(20):
        bench, rng = letflow(age_bit=1, seed=seed)
        first, second = rng.below(4), rng.below(4)
        assert [bench.ask(now=now) for now in (1050, 1199, 1300, 1300)] == [first, first, second, second]
        assert int(bench.sw.rng[0]) == rng.state


def test_flows_of_one_entry_share_its_uplink_and_keep_it_alive():
    bench, rng = letflow(entries=1)
    uplink = rng.below(4)
    assert [bench.ask(flow=flow, now=90 * flow) for flow in range(1, 9)] == [uplink] * 8
    bench, rng = letflow(entries=64)
    entries = {(flow, small): hash_below(small, flow, 12345, 64) for flow in range(8) for small in (DATA, ACK)}
    drawn = {}
    for (flow, small), entry in entries.items():
        if entry not in drawn:
            drawn[entry] = rng.below(4)
        assert bench.ask(flow=flow, small=small, now=10) == drawn[entry]
    assert len(drawn) > 8  # ACKs are flows of their own
    assert int(bench.sw.rng[0]) == rng.state


def test_letflow_leaves_an_uplink_that_leads_nowhere():
    bench, _ = letflow()
    bench.sw.reg[:] = [1, 0, 50]
    assert bench.ask(now=60) == 0
    bench.schedule([0, 2, 0, 1], [])
    assert bench.ask(now=61) in (1, 3)


# --- DRILL


def drill(queues, samples=2, memory=1, engines=1, registers=None, seed=6):
    return Bench("drill", 4, registers or [0] * engines * memory, [samples, memory, engines], queues, seed), Random(seed)


def test_drill_takes_the_shorter_of_two_draws_and_remembers_it():
    for seed in range(30):
        bench, rng = drill([400, 300, 200, 100], seed=seed)
        expected = max(rng.below(4), rng.below(4))  # the higher the port, the shorter its queue
        assert bench.ask() == expected
        assert list(bench.sw.reg) == [expected + 1]


def test_drill_prefers_a_remembered_queue_to_longer_draws_and_a_draw_to_an_equal_one():
    for seed in range(30):
        bench, rng = drill([400, 300, 200, 100], registers=[3], seed=seed)
        assert bench.ask() == max(2, rng.below(4), rng.below(4))
        bench, rng = drill([0, 0, 0, 0], registers=[3], seed=seed)
        rng.below(4)
        assert bench.ask() == rng.below(4)  # all are alike: the last draw


def test_drill_looks_at_remembered_queues_as_they_are_now():
    bench, _ = drill([0, 900, 900, 900], registers=[1], seed=1)
    assert bench.ask() == 0
    bench.sw.link[0, c.FREE] = 1000
    assert bench.ask() != 0
    assert bench.sw.reg[0] != 1


def test_drill_remembers_the_shortest_of_all_in_order():
    """Two remembered (1 and 2), one draw: of the three, the two shortest queues stay."""
    for seed in range(30):
        bench, rng = drill([100, 300, 200, 250], samples=1, memory=2, registers=[2, 3], seed=seed)
        drawn = rng.below(4)
        assert bench.ask() == {0: 0, 1: 2, 2: 2, 3: 2}[drawn]
        assert list(bench.sw.reg) == {0: [1, 3], 1: [3, 2], 2: [3, 2], 3: [3, 4]}[drawn]


def test_drill_engines_remember_apart():
    bench, rng = drill([400, 300, 200, 100], samples=1, engines=2, seed=3)
    first, second = rng.below(4), rng.below(4)
    assert [bench.ask(port=4), bench.ask(port=7)] == [first, second]
    assert list(bench.sw.reg) == [first + 1, second + 1]


def test_drill_passes_over_what_leads_nowhere_without_forgetting_it():
    bench, _ = drill([0, 300, 200, 0], samples=2, memory=2, registers=[1, 4])
    bench.schedule([0, 1, 1, 0], [])
    assert {bench.ask() for _ in range(20)} == {1, 2}
    assert set(bench.sw.reg) == {1, 4}


# --- DiffFlow


def test_diffflow_hashes_the_first_packets_of_a_flow_and_sprays_the_rest():
    bench, rng = Bench("diffflow", 4, [0] * 16, [3, 8], seed=5), Random(5)
    hashed = hash_below(0, 77, 12345, 4)
    assert [bench.ask(flow=77) for _ in range(3)] == [hashed] * 3
    assert [bench.ask(flow=77) for _ in range(10)] == [rng.below(4) for _ in range(10)]
    assert [bench.ask(flow=77, small=ACK) for _ in range(5)] == [hashed] * 5
    assert int(bench.sw.rng[0]) == rng.state


def test_diffflow_does_not_count_acks():
    bench = Bench("diffflow", 4, [0] * 2, [2, 1])
    for _ in range(9):
        bench.ask(flow=3, small=ACK)
    assert list(bench.sw.reg) == [0, 0]


def test_a_flow_that_takes_over_an_entry_is_counted_from_the_start():
    bench, rng = Bench("diffflow", 4, [0, 0], [2, 1], seed=5), Random(5)
    three, four = (hash_below(0, flow, 12345, 4) for flow in (3, 4))
    assert [bench.ask(flow=flow) for flow in (3, 3, 4, 3, 3)] == [three, three, four, three, three]
    assert list(bench.sw.reg) == [4, 2]
    assert bench.ask(flow=3) == rng.below(4)
