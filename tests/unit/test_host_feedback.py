"""Labels and paths that a host walks over, and what marks and losses change in its walk, on cases small enough to work by hand."""

import numpy as np
import pytest
from unit.bench import Sender, shape_of

from ofancore import Scenario, ScenarioError
from ofancore.balancers import BALANCERS, Shape
from ofancore.balancers.base import field, packed, set_field
from ofancore.fabric import Fabric
from ofancore.reference.words import Random

# --- fields of words


@pytest.mark.parametrize("log", [0, 2, 4])
def test_fields_of_words_keep_to_themselves(log):
    """Random numbers of 1, 4 and 16 bits, written all over one another, the sign bits of words included."""
    rng = np.random.default_rng(log)
    values = rng.integers(0, 1 << (1 << log), 200)
    reg = np.concatenate([[7], packed(values, log), [9]])
    for _ in range(300):
        i, value = rng.integers(0, 200), rng.integers(0, 1 << (1 << log))
        values[i] = value
        set_field(reg, 1, i, log, value)
    assert [field(reg, 1, i, log) for i in range(200)] == list(values)
    assert list(reg[1:-1]) == list(packed(values, log))
    assert (reg[0], reg[-1]) == (7, 9)


# --- STrack


def strack(labels, start=0, losses=1):
    return Sender("strack", [start] + [0] * -(-labels // 64), [labels, losses])


def test_strack_passes_over_a_marked_label_once():
    sender = strack(4, start=2)
    for label in (3, 0, 0):
        sender.ack(label, ecn=1)
    sender.ack(1)
    assert [sender.label() for _ in range(5)] == [2, 1, 2, 3, 0]  # two marks of label 0 cost it one turn


def test_strack_with_all_labels_marked_clears_them_and_takes_the_next():
    sender = strack(4, start=1)
    for label in range(4):
        sender.ack(label, ecn=1)
    assert [sender.label() for _ in range(5)] == [1, 2, 3, 0, 1]


def test_strack_counts_a_loss_as_a_mark_if_told_to():
    for losses, walk in [(1, [0, 1, 3]), (0, [0, 1, 2])]:
        sender = strack(4, losses=losses)
        sender.loss(label=2)
        assert [sender.label() for _ in range(3)] == walk


def test_strack_keeps_a_bit_for_each_of_many_labels():
    sender = strack(256)
    for label in (0, 62, 63, 64, 255):
        sender.ack(label, ecn=1)
    assert [sender.label() for _ in range(251)] == [x for x in range(256) if x not in (0, 62, 63, 64, 255)]
    assert [sender.label() for _ in range(256)] == list(range(256))


# --- UEC bitmap and mixed


def bitmap(labels, seed=3, most=15):
    return Sender("uec_bitmap", [0, 0] + [0] * -(-labels // 16), [labels, 1, 4, 15, most], seed), Random(seed)


def penalty(sender, label):
    return field(sender.hx.reg, 2, label, 2)


def test_bitmap_walks_as_ops_does_where_nothing_is_penalised():
    sender, rng = bitmap(8)
    for _ in range(3):
        first = rng.label(8)
        assert [sender.label() for _ in range(8)] == [i ^ first for i in range(8)]


def test_bitmap_weighs_marks_nacks_and_timeouts_up_to_the_largest_penalty():
    sender, _ = bitmap(32)
    sender.ack(31, ecn=1)
    sender.ack(31, ecn=0)
    assert penalty(sender, 31) == 1
    sender.loss(label=31, congested=1)
    assert penalty(sender, 31) == 5
    sender.loss(label=31, silent=1)
    assert penalty(sender, 31) == 15
    assert all(penalty(sender, label) == 0 for label in range(31))
    sender, _ = bitmap(32, most=6)
    sender.loss(label=2, silent=1)
    assert penalty(sender, 2) == 6


def test_bitmap_label_gives_up_a_turn_for_each_of_its_penalty():
    sender, rng = bitmap(4)
    first = rng.label(4)
    assert sender.label() == first
    sender.loss(label=2 ^ first)  # 4: it pays in this walk and in the next three
    assert [sender.label() for _ in range(2)] == [1 ^ first, 3 ^ first]
    for paid in range(3):
        assert penalty(sender, 2 ^ first) == 3 - paid
        second = rng.label(4)
        walk = [i ^ second for i in range(4)]
        assert walk[-1] != 2 ^ first, "a seed of which no walk ends with the label: else its turn comes with the next send"
        assert [sender.label() for _ in range(3)] == [label for label in walk if label != 2 ^ first]
    second = rng.label(4)
    assert [sender.label() for _ in range(4)] == [i ^ second for i in range(4)]


def test_bitmap_takes_a_turn_from_the_first_candidate_only():
    sender, rng = bitmap(8)
    first = rng.label(8)
    assert sender.label() == first
    for place in (1, 2):
        sender.ack(place ^ first, ecn=1)
    assert sender.label() == 3 ^ first
    assert [penalty(sender, place ^ first) for place in (1, 2)] == [0, 1]


def test_bitmap_full_of_penalties_takes_what_it_finds_after_all_labels_and_one():
    sender, rng = bitmap(4)
    for label in range(4):
        sender.loss(label=label, silent=1)
    first, second = rng.label(4), rng.label(4)
    assert sender.label() == second  # four labels of the first walk, then the first of the second
    assert penalty(sender, first) == 14
    assert sum(penalty(sender, label) for label in range(4)) == 59


def mixed(labels=8, queue=2, seed=3):
    own = 2 + -(-labels // 16)
    words = own + 2 + -(-queue // 4)
    return Sender("uec_mixed", [0] * words, [labels, 1, 4, 15, 15, own, queue], seed), Random(seed)


def test_mixed_recycles_good_labels_oldest_first_and_each_once():
    sender, rng = mixed(queue=8)
    first = rng.label(8)
    assert sender.label() == first
    for label in (5, 6, 5):
        sender.ack(label)
    sender.ack(7, ecn=1)
    assert [sender.label() for _ in range(3)] == [5, 6, 5]
    assert sender.label() == 1 ^ first
    assert penalty(sender, 7) == 1


def test_mixed_queue_lets_the_oldest_label_go():
    sender, rng = mixed(queue=2)
    for label in (1, 2, 3):
        sender.ack(label)
    assert [sender.label() for _ in range(3)] == [2, 3, rng.label(8)]
    for label in range(8):  # the ring goes round
        sender.ack(label)
        assert sender.label() == label


def test_mixed_tells_the_bitmap_of_losses():
    sender, _ = mixed()
    sender.loss(label=3, silent=1)
    sender.loss(label=4)
    assert (penalty(sender, 3), penalty(sender, 4)) == (15, 4)


# --- Whack-a-Mole


def whack(units, start=0, step=1, heir=0, mark=1, loss=4, floor=1, back=1):
    """A flow with so many units on each path."""
    n, log = len(units), int(sum(units)).bit_length() - 1
    ill = [0] * -(-n // 64)
    registers = [start, step, heir, *packed(np.cumsum(units), 4), *ill]
    return Sender("whack_a_mole", registers, [n, log, n, 0, mark, loss, floor, back])


def units_of(sender):
    sums = [field(sender.hx.reg, 3, path, 4) for path in range(sender.hx.par[2])]
    return list(np.diff([0, *sums]))


def test_whack_a_mole_reverses_the_bits_of_its_counter():
    """Eight units, one a path: 0 to 7 with their three bits reversed."""
    sender = whack([1] * 8)
    assert [sender.label() for _ in range(9)] == [0, 4, 2, 6, 1, 5, 3, 7, 0]
    sender = whack([1] * 8, start=5, step=3)  # 5, 0, 3, 6, 1
    assert [sender.label() for _ in range(5)] == [5, 0, 6, 3, 4]


def test_whack_a_mole_takes_the_smallest_path_whose_cumulative_count_is_greater():
    """Units 0 and 1 on path 0, 2 on path 2, 3 to 7 on path 3; path 1 has none."""
    sender = whack([2, 0, 1, 5])
    assert [sender.label() for _ in range(8)] == [0, 3, 2, 3, 0, 3, 3, 3]


@pytest.mark.parametrize("log", [3, 6, 8])
def test_whack_a_mole_keeps_every_window_within_log_m_of_every_share(log):
    m, rng = 1 << log, np.random.default_rng(log)
    ends = np.arange(2 * m + 1)
    longest = 0.0
    for _ in range(20):
        cuts = np.sort(rng.integers(0, m + 1, 4))
        units = np.diff([0, *cuts, m])
        sender = whack(list(units), int(rng.integers(0, m)), int(rng.integers(0, m // 2)) * 2 + 1)
        labels = np.array([sender.label() for _ in range(2 * m)])
        for path, share in enumerate(units / m):
            surplus = np.concatenate([[0], np.cumsum(labels == path)]) - share * ends  # a window's is the difference of two of these
            longest = max(longest, surplus.max() - surplus.min())
    assert longest <= log
    assert longest > 1  # more than what no order could avoid: the bound is put to the test


def test_whack_a_mole_moves_units_of_a_marked_path_to_others_in_turn():
    sender = whack([4, 4, 4, 4], heir=2)
    for _ in range(2):
        sender.ack(0, ecn=1)
    assert units_of(sender) == [2, 4, 5, 5]
    sender.ack(0, ecn=1)  # the turn comes back to path 1: path 0 itself is passed over
    assert units_of(sender) == [1, 5, 5, 5]
    sender.ack(0, ecn=1)  # the floor
    assert units_of(sender) == [1, 5, 5, 5]


def test_whack_a_mole_gives_nothing_to_paths_last_heard_ill_of():
    sender = whack([4, 4, 4, 4], mark=0)
    sender.ack(1, ecn=1)
    sender.ack(2, ecn=1)
    sender.loss(label=0)
    assert units_of(sender) == [1, 4, 4, 7]
    sender.ack(3, ecn=1)
    sender.loss(label=3)  # none is healthy: to all in turn
    assert units_of(sender) == [3, 5, 5, 3]


def test_whack_a_mole_silence_takes_all_units_above_the_floor():
    sender = whack([8, 8, 8, 8], floor=2)
    sender.loss(label=1, silent=1)
    assert units_of(sender) == [10, 2, 10, 10]
    sender = whack([16, 16], floor=0)
    sender.loss(label=0, silent=1)
    assert units_of(sender) == [0, 32]
    assert {sender.label() for _ in range(32)} == {1}


def test_whack_a_mole_brings_units_back_from_the_fullest_path():
    sender = whack([1, 5, 6, 4], back=2)
    sender.ack(0)
    assert units_of(sender) == [3, 4, 5, 4]
    sender.ack(0)  # one more is its share
    assert units_of(sender) == [4, 4, 4, 4]
    sender.ack(0)
    assert units_of(sender) == [4, 4, 4, 4]


def test_whack_a_mole_with_one_path_stays_on_it():
    sender = whack([16], floor=0)
    sender.ack(0, ecn=1)
    sender.loss(label=0, silent=1)
    assert units_of(sender) == [16]
    assert sender.label() == 0


def test_whack_a_mole_starts_with_even_shares_and_odd_steps():
    shape = shape_of(6)  # 9 paths: 144 units and more, 256
    balancer = BALANCERS["whack_a_mole"]()
    registers, index = balancer.init_hosts(shape, np.random.default_rng(2))
    rows = registers.reshape(len(shape.flow_src), -1)
    assert (index[::2] == np.arange(len(rows)) * rows.shape[1]).all()
    sums = [field(rows[5], 3, path, 4) for path in range(9)]
    assert list(np.diff([0, *sums])) == [29] * 4 + [28] * 5
    assert (rows[:, 1] % 2 == 1).all()
    assert len(set(rows[:, 0])) > 30
    with pytest.raises(ScenarioError, match=r"balancer.units = 8: must be at least one for each of the 9 paths"):
        BALANCERS["whack_a_mole"](units=8).init_hosts(shape, np.random.default_rng(2))


# --- PRIME


def prime(a=4, c=4, look=16, decay=100, seed=8):
    registers = [0, *packed(np.concatenate([np.arange(a), np.arange(c)]), 4), *[0] * (a * c)]
    return Sender("prime", registers, [a, c, look, 0, decay, 1, 4, 15], seed), Random(seed)


def shuffled(order, rng):
    order = list(order)
    for i in range(len(order) - 1, 0, -1):
        j = rng.below(i + 1)
        order[i], order[j] = order[j], order[i]
    return order


@pytest.mark.parametrize(("a", "c"), [(4, 4), (2, 4), (3, 3), (5, 1)])
def test_prime_walks_over_all_paths_once_in_an_order_per_walk(a, c):
    sender, rng = prime(a, c)
    edge, agg = range(a), range(c)
    for _ in range(3):
        edge, agg = shuffled(edge, rng), shuffled(agg, rng)
        walk = [sender.label() for _ in range(a * c)]
        assert walk == [edge[u] + a * agg[(v + u) % c] for v in range(c) for u in range(a)]
        assert sorted(walk) == list(range(a * c))


def walk_at(sender, now, count=16):
    return [sender.label(now=now) for _ in range(count)]


def test_prime_penalties_add_up_by_severity_and_decay():
    sender, _ = prime()
    walk_at(sender, 0)
    sender.ack(3, ecn=1, now=0)
    sender.ack(3, ecn=1, now=60)  # 40 were left: 140 from now on
    sender.loss(label=5, now=0, congested=1)
    sender.loss(label=6, now=0, silent=1)
    sender.loss(label=6, now=10, silent=1)  # no more than a timeout's
    sender.ack(7, ecn=0, now=0)
    until = dict(enumerate(sender.hx.reg[-16:]))
    assert {path: time for path, time in until.items() if time} == {3: 200, 5: 400, 6: 1510}
    for now, rest in [(199, {3, 5, 6}), (200, {5, 6}), (400, {6}), (1510, set())]:
        sender.hx.reg[0] = 0  # a new walk
        assert set(walk_at(sender, now, 16 - len(rest))) == set(range(16)) - rest


def test_prime_takes_the_least_penalised_of_those_it_may_look_at():
    sender, _ = prime(look=3)
    first = walk_at(sender, 0, 4)
    assert len(set(first)) == 4
    for path in range(16):
        sender.loss(label=path, now=0)
    sender.hx.reg[0] = 1  # go on in the same walk
    sender.ack(first[1], ecn=1, now=0)
    sender.ack(first[2], ecn=1, now=0)
    sender.ack(first[2], ecn=1, now=0)
    assert sender.label(now=10) == first[3]
    assert sender.hx.reg[0] == 4
    sender.hx.reg[0] = 1
    sender.ack(first[3], ecn=1, now=0)
    assert sender.label(now=10) == first[1]  # the first of the two


# --- tables that would not fit


@pytest.mark.parametrize(
    ("kind", "keys", "key"),
    [
        ("strack", {"labels": 65_536}, "labels = 65536"),
        ("uec_bitmap", {"labels": 65_536}, "labels = 65536"),
        ("uec_mixed", {"labels": 64, "queue_labels": 65_536}, "queue_labels = 65536"),
    ],
)
def test_tables_that_do_not_fit_are_refused(kind, keys, key):
    balancer = BALANCERS[kind](**keys)
    few, many = (Shape(Fabric.build(8), np.zeros(n, np.int64), np.ones(n, np.int64), 1, 1) for n in (100, 300_000))
    assert balancer.host_registers(few) > 0
    with pytest.raises(ScenarioError, match=rf"balancer\.{key}: needs [\d,]+ bytes a flow, .* at most 2 GiB"):
        balancer.host_registers(many)


def test_paths_of_the_largest_run_fit_and_of_many_more_flows_do_not():
    """65,536 hosts in a permutation have 1,024 paths each; PRIME keeps a word a path, Whack-a-Mole 16 bits and one."""
    fabric = Fabric.build(64)
    for kind, words in [("prime", 1 + 16 + 1024), ("whack_a_mole", 3 + 256 + 16)]:
        balancer = BALANCERS[kind]()
        fits = Shape(fabric, np.zeros(65_536, np.int64), np.ones(65_536, np.int64), 1, 1)
        assert balancer.host_registers(fits) == words * 65_536
        many = Shape(fabric, np.zeros(10**6, np.int64), np.ones(10**6, np.int64), 1, 1)
        with pytest.raises(ScenarioError, match=rf"balancer\.kind = '{kind}': needs {8 * words:,} bytes a flow"):
            balancer.host_registers(many)


@pytest.mark.parametrize(
    ("keys", "refusal"),
    [
        ({"kind": "uec_bitmap", "labels": 100}, "balancer.labels = 100: must be a power of two"),
        ({"kind": "uec_mixed", "labels": 6}, "balancer.labels = 6: must be a power of two"),
        ({"kind": "uec_mixed", "queue_labels": 3}, "balancer.queue_labels = 3: must be a power of two"),
        ({"kind": "whack_a_mole", "units": 24}, "balancer.units = 24: must be a power of two"),
    ],
)
def test_powers_of_two(keys, refusal):
    with pytest.raises(ScenarioError) as error:
        Scenario.from_dict({"balancer": keys})
    assert str(error.value) == refusal
