"""Balancers on cases small enough to work by hand. Kernels are reached through the chains by which the engine reaches them."""

import numpy as np
import pytest

from ofancore.balancers import BALANCERS, HostState, Shape, SwitchState, choose_uplink, next_label, on_ack, on_loss
from ofancore.balancers.base import N_ORDERS
from ofancore.bits import LABEL_MASK
from ofancore.engine import layout as c
from ofancore.fabric import AGG, EDGE, Fabric
from ofancore.reference.balancers import TWINS
from ofancore.reference.switches import Request, iwrr
from ofancore.reference.words import Random, hash_below

DATA, ACK = 0, 1


class Bench:
    """One edge switch of width `width` with hand-set registers; `ask` sends it one packet."""

    def __init__(self, kind, width, registers=(), parameters=(), queues=(), seed=1):
        self.code = BALANCERS[kind].switch_code
        self.width = width
        par = np.zeros(8, np.int64)
        par[: len(parameters)] = parameters
        link = np.zeros((width, c.LINK_COLUMNS), np.int64)
        link[: len(queues), c.FREE] = queues
        orders = np.zeros((2 * N_ORDERS, width), np.int32)
        orders[:] = np.arange(width)
        self.sw = SwitchState(
            reg=np.array(list(registers) or [0], np.int32),
            first=np.zeros(1, np.int64),
            orders=orders,
            sched=np.zeros((1, 2), np.int64),
            slots=np.zeros(1, np.int32),
            link=link,
            rng=np.array([seed], np.uint64),
            salt=np.array([12345], np.int64),
            par=par,
        )
        self.sched = -1

    def schedule(self, weights, orders):
        """Give the switch one weighted schedule, in the plain order and in the given random orders 0, 1, ..."""
        rows = [iwrr(dict(enumerate(weights)), order) for order in [range(self.width), *orders]]
        self.sw = self.sw._replace(
            sched=np.array([[0, len(rows[0])]], np.int64), slots=np.array([port for row in rows for port in row], np.int32)
        )
        self.sched = 0

    def ask(self, group=0, small=DATA, port=0, host=0, label=0, flow=0, now=0):
        return choose_uplink(self.code, self.sw, 0, 0, self.width, self.sched, group, small, port, host, label, flow, now)


class Sender:
    """Registers of one host's flows; `label` sends one data packet of flow 0."""

    def __init__(self, kind, registers, parameters=(), seed=1):
        self.code = BALANCERS[kind].host_code
        par = np.zeros(8, np.int64)
        par[: len(parameters)] = parameters
        none = np.zeros((1, 2), np.int64)
        self.hx = HostState(
            np.array(registers, np.int64), np.zeros(2, np.int64), np.array([seed], np.uint64), par, none[0, :1], none, np.zeros(1, np.int32)
        )

    def label(self, seq=0, now=0, at=0):
        return next_label(self.code, self.hx, at, 0, 0, seq, now)

    def ack(self, label, ecn=0, now=0):
        on_ack(self.code, self.hx, 0, 0, label, ecn, now)

    def loss(self, now=0, congested=0):
        on_loss(self.code, self.hx, 0, 0, 0, congested, now)


def shape_of(radix, **kinds):
    fabric = Fabric.build(radix, **kinds)
    hosts = np.arange(fabric.n_hosts)
    return Shape(fabric, hosts, np.roll(hosts, 1), base_rtt_ticks=6_000_000, buffer_ticks=8_000_000)


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


# --- labels and hashes


def test_hash_depends_on_label_flow_and_switch_only():
    bench = Bench("ecmp", 4)
    expected = [hash_below(label, flow, 12345, 4) for label in range(20) for flow in (0, 1, 2**24 - 1)]
    asked = [bench.ask(label=label, flow=flow, group=label, now=label) for label in range(20) for flow in (0, 1, 2**24 - 1)]
    assert asked == expected
    assert set(asked) == {0, 1, 2, 3}
    assert [bench.ask(label=LABEL_MASK, flow=5) for _ in range(3)] == [hash_below(LABEL_MASK, 5, 12345, 4)] * 3


def test_ecmp_and_subflow_labels():
    assert [Sender("ecmp", [0]).label(seq) for seq in range(5)] == [0] * 5
    assert [Sender("subflow", [0], [4]).label(seq) for seq in range(6)] == [0, 1, 2, 3, 0, 1]


def test_ops_labels_are_the_hosts_random_stream():
    sender, rng = Sender("ops", [0], [2**16, 0], seed=77), Random(77)
    assert [sender.label(seq) for seq in range(5)] == [rng.bits() % 2**16 for _ in range(5)]


# --- Host DR


def test_host_dr_pointer_walks_over_all_paths():
    """4 uplinks at the edge, 4 at the aggregation: 16 paths, a new edge uplink with every packet."""
    sender = Sender("host_dr", [14, 3], [4, 4, 1])
    assert [sender.label() for _ in range(4)] == [14, 15, 0, 1]
    assert sender.label(at=1) == 3
    plain = Sender("host_dr", [0], [4, 4, 0])
    walk = [plain.label() for _ in range(16)]
    assert walk[:6] == [0, 4, 8, 12, 1, 5]  # the aggregation's digit first
    assert sorted(walk) == list(range(16))


def test_host_dr_label_names_a_slot_at_each_tier():
    edge = Bench("host_dr", 4, parameters=[4, 4, 1, 10])
    assert [edge.ask(label=label) for label in (0, 1, 7, 14)] == [0, 1, 3, 2]
    agg = Bench("host_dr", 4, parameters=[4, 4, 1, 0])  # its uplinks start at or above link 0: an aggregation switch
    assert [agg.ask(label=label) for label in (0, 1, 7, 14)] == [0, 0, 1, 3]
    agg.schedule([1, 0, 2, 0], [])  # slots 0, 2, 2
    assert [agg.ask(label=label) for label in (0, 4, 8, 12)] == [0, 2, 2, 0]


def test_ops_walks_through_few_labels_in_an_order_per_walk():
    """Eight labels: each walk takes all of them, position XOR a number drawn when it begins."""
    sender, rng = Sender("ops", [0, 0], [8, 1], seed=3), Random(3)
    for _ in range(3):
        walk = [sender.label() for _ in range(8)]
        first = rng.label(8)
        assert walk == [i ^ first for i in range(8)]


def test_host_dr_pointers_are_per_pair_and_size_bin():
    """Two flows between the same hosts share pointers; ACKs turn those of the opposite pair's own bin."""
    fabric = Fabric.build(4)
    shape = Shape(fabric, np.array([0, 0, 0, 9]), np.array([9, 9, 5, 0]), 1, 1)
    registers, index = BALANCERS["host_dr"]().init_hosts(shape, np.random.default_rng(0))
    data, ack = index[0::2], index[1::2]
    assert data[0] == data[1]
    assert ack[0] == ack[1]
    assert len({data[0], data[2], data[3], ack[0], ack[2], ack[3]}) == 6
    assert max(index) < len(registers)
    assert (registers < fabric.A * fabric.C).all()


# --- PLB


def test_plb_changes_its_label_after_a_congested_round_only():
    threshold, rtt = 400_000, 1000
    sender, rng = Sender("plb", [7, 0, 0, 0], [threshold, rtt], seed=5), Random(5)
    sender.ack(7, ecn=0, now=10)  # the first ACK ends the round before the first
    assert sender.label() == 7
    for ecn, now in [(1, 20), (0, 500), (0, 900), (1, 1009)]:
        sender.ack(7, ecn, now)
    assert sender.label() == 7
    sender.ack(7, 0, 1010)  # two of five marked: 40%
    assert sender.label() == rng.bits() % 2**16
    moved = sender.label()
    for ecn, now in [(1, 1100), (0, 1500), (0, 2010)]:  # one of three
        sender.ack(moved, ecn, now)
    assert sender.label() == moved
    assert list(sender.hx.reg[1:]) == [0, 0, 3010]


# --- REPS


def reps(seed=4, freeze=True, freeze_ticks=1000, explore=2):
    return Sender("reps", [0] * 16, [int(freeze), freeze_ticks, explore, 2**16], seed), Random(seed)


def test_reps_reuses_unmarked_labels_oldest_first_and_once():
    sender, rng = reps()
    assert sender.label() == rng.label()
    for label in (11, 12, 13):
        sender.ack(label)
    sender.ack(99, ecn=1)
    assert [sender.label() for _ in range(3)] == [11, 12, 13]
    assert sender.label() == rng.label()


def test_reps_ring_keeps_the_last_eight():
    sender, rng = reps()
    for label in range(100, 111):
        sender.ack(label)
    assert [sender.label() for _ in range(8)] == list(range(103, 111))
    assert sender.label() == rng.label()


def test_reps_freezes_on_loss_cycles_thaws_and_explores():
    sender, rng = reps()
    for label in (11, 12, 13):
        sender.ack(label)
    assert sender.label() == 11
    sender.loss(now=50)
    sender.loss(now=60)  # frozen already: the timer stays
    assert [sender.label() for _ in range(4)] == [11, 12, 13, 11]
    sender.ack(14, now=1049)
    assert [sender.label() for _ in range(3)] == [12, 13, 14]
    sender.ack(15, now=1050)  # thaws: the ring is emptied, then this label cached
    assert [sender.label() for _ in range(2)] == [rng.label(), rng.label()]  # exploring
    assert sender.label() == 15
    assert sender.label() == rng.label()


def test_reps_without_freezing_ignores_losses():
    sender, rng = reps(freeze=False)
    sender.ack(11)
    sender.loss(now=5)
    assert [sender.label(), sender.label()] == [11, rng.label()]


def test_reps_does_not_freeze_when_a_full_buffer_lost_the_packet():
    sender, rng = reps()
    sender.ack(11)
    sender.loss(now=5, congested=1)
    assert [sender.label(), sender.label()] == [11, rng.label()]


def test_reps_frozen_and_empty_draws():
    sender, rng = reps()
    sender.loss(now=0)
    assert [sender.label(), sender.label()] == [rng.label(), rng.label()]


# --- state counts


def test_pointer_counts_of_the_paper():
    """k = 64 (65,536 hosts): about 2K destinations at an edge switch and 63 at an aggregation switch, times two size bins."""
    shape = shape_of(64)
    ofan = BALANCERS["ofan"]()
    assert ofan.pointers(shape, EDGE) == 2 * (2048 - 1)
    assert ofan.pointers(shape, AGG) == 2 * 63
    assert BALANCERS["pofan"](pipes=4).pointers(shape, EDGE) == 4 * 2 * 2047
    assert BALANCERS["switch_dr"]().pointers(shape, EDGE) == 2 * (65_536 - 32)
    assert BALANCERS["switch_dr"]().pointers(shape, AGG) == 2 * (65_536 - 1024)
    assert BALANCERS["switch_rr"]().pointers(shape, EDGE) == 1


@pytest.mark.parametrize("kind", sorted(BALANCERS))
@pytest.mark.parametrize("case", [{"radix": 4}, {"radix": 6, "tiers": 2}, {"radix": 8, "oversubscription": 2}], ids=str)
def test_every_balancer_draws_the_state_it_asks_for(kind, case):
    balancer, shape = BALANCERS[kind](), shape_of(**case)
    for tier in (EDGE, AGG):
        registers = balancer.init_switch(shape, tier, np.random.default_rng(1))
        assert len(registers) == balancer.switch_registers(shape, tier)
        assert registers.dtype == np.int32
        assert balancer.pointers(shape, tier) >= 0
    registers, index = balancer.init_hosts(shape, np.random.default_rng(1))
    assert registers.dtype == index.dtype == np.int64
    assert len(registers) == max(balancer.host_registers(shape), 1)
    assert 0 <= index.min() <= index.max() < len(registers)
    assert len(balancer.constants(shape)) <= 8


def test_every_balancer_has_a_plain_twin():
    assert set(TWINS) == set(BALANCERS)


def test_drawn_pointers_name_a_position_and_an_order_of_their_tier():
    shape = shape_of(8)
    for tier, width in [(EDGE, shape.fabric.A), (AGG, shape.fabric.C)]:
        registers = BALANCERS["switch_dr"]().init_switch(shape, tier, np.random.default_rng(2))
        orders = registers >> 16
        assert set(registers & 0xFFFF) == set(range(width))
        assert orders.min() >= (N_ORDERS if tier == AGG else 0)
        assert orders.max() < (2 * N_ORDERS if tier == AGG else N_ORDERS)


# --- the plain twins on the same asks


@pytest.mark.parametrize("kind", sorted(BALANCERS))
def test_kernel_and_twin_agree_on_random_asks(kind):
    """Any sequence of questions to one switch, with and without a schedule, ends in the same registers and random state."""
    rng = np.random.default_rng(17)
    width = 4
    parameters = {"reshuffle_wraps": 2, "pipes": 2, "A": 4, "C": 4, "bin_ticks": [50, 100, 200], "change_threshold": 0.4}
    constants = {"switch_rr": [2], "pofan": [2], "host_dr": [4, 4, 1, 10], "spectrum_ar": [3, 50, 100, 200]}.get(kind, [])
    start = [1, 0, 2, 0, 3, 1] if kind == "switch_rr" else [int(r) for r in rng.integers(0, 4, 64)]
    queues = [int(q) for q in rng.integers(0, 300, width)]
    bench = Bench(kind, width, start, constants, queues, seed=6)
    state = Random(6)
    orders = {0: [2, 0, 3, 1]}
    bench.sw.orders[0] = orders[0]
    twin = TWINS[kind][0](list(start), parameters, width, "edge", 12345, state, orders, lambda j, now: max(0, queues[j] - now))
    weights = {0: 2, 1: 0, 2: 3, 3: 1}
    for step in range(300):
        if step == 150:
            bench.schedule(list(weights.values()), [orders[0]])
        weighted = step >= 150
        ask = Request(
            now=int(rng.integers(0, 300)), group=int(rng.integers(0, 4)), small=int(rng.integers(0, 2)), port=int(rng.integers(0, 8)),
            host=int(rng.integers(0, 16)), label=int(rng.integers(0, 2**16)), flow=int(rng.integers(0, 2**24)),
            weights=weights if weighted else None,
        )  # fmt: skip
        assert bench.ask(ask.group, ask.small, ask.port, ask.host, ask.label, ask.flow, ask.now) == twin.choose(ask), step
    if twin.registers():
        assert list(bench.sw.reg) == twin.registers()
    assert int(bench.sw.rng[0]) == state.state
