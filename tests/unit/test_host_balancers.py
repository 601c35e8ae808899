"""Labels that a host gives its packets, on cases small enough to work by hand."""

from fractions import Fraction

import numpy as np
import pytest
from unit.bench import Sender, shape_of

from ofancore import Scenario, simulate
from ofancore.balancers import BALANCERS, Shape
from ofancore.balancers.ethereal import shares, stand_ins, turns
from ofancore.fabric import Fabric
from ofancore.reference.words import Random

# --- one label, one by packet, random ones


def test_ecmp_and_subflow_labels():
    assert [Sender("ecmp", [0]).label(seq) for seq in range(5)] == [0] * 5
    assert [Sender("subflow", [0], [4]).label(seq) for seq in range(6)] == [0, 1, 2, 3, 0, 1]


def test_ops_labels_are_the_hosts_random_stream():
    sender, rng = Sender("ops", [0], [2**16, 0], seed=77), Random(77)
    assert [sender.label(seq) for seq in range(5)] == [rng.bits() % 2**16 for _ in range(5)]


def test_ops_walks_through_few_labels_in_an_order_per_walk():
    """Eight labels: each walk takes all of them, position XOR a number drawn when it begins."""
    sender, rng = Sender("ops", [0, 0], [8, 1], seed=3), Random(3)
    for _ in range(3):
        walk = [sender.label() for _ in range(8)]
        first = rng.label(8)
        assert walk == [i ^ first for i in range(8)]


def test_host_rr_takes_labels_in_turn_from_a_random_start():
    sender = Sender("host_rr", [3], [5])
    assert [sender.label() for _ in range(7)] == [3, 4, 0, 1, 2, 3, 4]
    registers, _ = BALANCERS["host_rr"](labels=50).init_hosts(shape_of(8), np.random.default_rng(1))
    assert 0 <= registers.min() <= registers.max() < 50
    assert len(set(registers)) > 20


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


# --- Ethereal


@pytest.mark.parametrize(
    ("n", "paths", "first", "parts"),
    [
        (1, 4, [0], [4]),
        (4, 4, [0, 1, 2, 3], [1, 1, 1, 1]),
        (5, 4, [0, 1, 2, 3, 0], [1, 1, 1, 1, 4]),
        (6, 4, [0, 1, 2, 3, 0, 2], [1, 1, 1, 1, 2, 2]),  # two left over: in halves
        (3, 4, [0, 0, 0], [4, 4, 4]),
        (6, 9, [0, 3, 6, 0, 3, 6], [3, 3, 3, 3, 3, 3]),  # gcd 3: thirds
        (2, 16, [0, 8], [8, 8]),
    ],
)
def test_ethereal_splits_only_what_is_left_over(n, paths, first, parts):
    assert [list(column) for column in shares(n, paths, 0)] == [first, parts]
    assert [list(column) for column in shares(n, paths, 3)] == [[(path + 3) % paths for path in first], parts]


def test_ethereal_gives_every_path_the_same():
    for paths in (1, 2, 4, 6, 9, 16):
        for n in range(1, 40):
            load = [Fraction(0)] * paths
            for first, parts in zip(*shares(n, paths, 1)):
                assert parts <= paths
                for part in range(parts):
                    load[(first + part) % paths] += Fraction(1, int(parts))
            assert set(load) == {Fraction(n, paths)}


def test_ethereal_packets_take_the_parts_in_turn():
    sender = Sender("ethereal", [14, 4, 16], [4, 4, 0])
    assert [sender.label(seq) for seq in (0, 1, 2, 3, 4, 9)] == [14, 15, 0, 1, 14, 15]
    assert Sender("ethereal", [5, 1, 16], [4, 4, 0]).label(1000) == 5


def test_ethereal_takes_stand_ins_for_dead_paths_once_they_are_known():
    alive = np.array([True, False, True, False, False, True])
    assert list(stand_ins(alive)) == [0, 0, 2, 2, 5, 5]
    sender = Sender("ethereal", [0, 6, 6], [6, 1, 0])
    path_at = np.array([[1, 6]] + 2 * [[0, 0]], np.int64)
    sender.hx = sender.hx._replace(path_at=path_at, paths=np.array([99, 0, 0, 2, 2, 5, 5], np.int32), known=np.zeros(1, np.int64))
    assert [sender.label(seq) for seq in range(6)] == list(range(6))
    sender.hx.known[0] = 1
    assert [sender.label(seq) for seq in range(6)] == [0, 0, 2, 2, 5, 5]


def test_ethereal_shares_out_what_a_host_sends_at_once():
    """Host 0 of a radix-4 fabric (2 paths within the pod, 4 beyond): one flow to its own edge switch, one within the pod, three beyond,
    and a later one that waits for the others."""
    fabric = Fabric.build(4)
    src, dst = np.zeros(6, np.int64), np.array([1, 2, 4, 6, 8, 5])
    after = np.array([[i, 5] for i in range(5)])
    shape = Shape(fabric, src, dst, 1, 1, np.full(6, 8), np.zeros(6, np.int64), after)

    def parts(per):
        registers, index = BALANCERS["ethereal"](per=per).init_hosts(shape, np.random.default_rng(2))
        assert list(index) == [0, 0, 3, 3, 6, 6, 9, 9, 12, 12, 15, 15]
        rows = registers.reshape(-1, 3)
        assert list(rows[:, 2]) == [2, 2, 4, 4, 4, 4]
        return rows[:, 1].tolist(), rows[:, 0].tolist()

    split, first = parts("host")
    assert split == [1, 2, 4, 4, 4, 4]
    split, first = parts("edge")  # 4 and 5 share an edge switch, but are not sent together
    assert split == [1, 2, 4, 4, 4, 4]
    shape = Shape(fabric, src, dst, 1, 1)  # all six at once: four beyond the pod
    split, first = parts("host")
    assert split == [1, 2, 1, 1, 1, 1]
    assert sorted(first[2:]) == [0, 1, 2, 3]
    split, first = parts("edge")  # to edge switch 2: hosts 4 and 5, in halves; 6 and 8 alone
    assert split == [1, 2, 2, 4, 4, 2]
    assert (first[5] - first[2]) % 4 == 2


def test_turns_count_the_longest_chain():
    """0 -> 1 -> 3, 0 -> 2 -> 3, 2 -> 4, 1 -> 2: a diamond with a bar."""
    assert list(turns(6, np.array([[0, 1], [1, 3], [0, 2], [2, 3], [2, 4], [1, 2]]))) == [0, 1, 2, 3, 3, 0]
    assert list(turns(3, np.zeros((0, 2), np.int64))) == [0, 0, 0]


@pytest.mark.parametrize("per", ["host", "edge"])
def test_uplinks_of_every_switch_carry_the_same_under_ethereal(per):
    """Twelve messages a host beyond its pod, of which nine are whole and three in thirds; or one or two to an edge switch, all split."""
    steps = (10, 13, 16, 18, 19, 22, 25, 27, 29, 31, 36, 40)
    pairs = [[host, (host + step) % 54] for host in range(54) for step in steps]
    keys = {"fabric": {"radix": 6}, "workload": {"kind": "pairs", "message_packets": 36, "pairs": pairs}, "balancer": {"kind": "ethereal"}}
    keys["balancer"]["per"] = per
    links = simulate(Scenario.from_dict(keys)).links
    edge_up = links[links["class"] == 1]
    assert (edge_up.groupby("tail")["data"].nunique() == 1).all()
    assert edge_up["data"].sum() == 36 * len(pairs)
    if per == "edge":
        assert (links[links["class"] == 4].groupby("head")["data"].nunique() == 1).all()


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
