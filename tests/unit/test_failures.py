"""Weights, schedules and what is cut off, on fabrics small enough to work out by hand.

Radix 4, three tiers: 4 pods of 2 edge and 2 aggregation switches; aggregation switch j of every pod has cables to cores j:0 and j:1.
A healthy cable counts as 20. An uplink's weight is the capacity of the surviving shortest paths behind it.
"""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from ofancore.balancers.base import N_ORDERS
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.failures import (
    EVERYBODY,
    LONGEST,
    NEIGHBOURS,
    WHOLE,
    Damage,
    Schedules,
    agg_weights,
    edge_weights,
    iwrr,
    knowledge,
    refuse_disconnected,
)

TREE = Fabric.build(4)
LEAVES = Fabric.build(4, tiers=2)  # 4 leaves of 2 hosts, 2 spines


def damage(fabric, **capacity):
    """Damage by cable name, with `__` for the dash and `_` for the colon of a name."""
    share = np.ones(fabric.n_cables)
    for name, value in capacity.items():
        share[fabric.cable_of(name.replace("__", "-").replace("_", ":"))] = value
    return Damage(fabric, share)


def orders(fabric, seed=0):
    rng = np.random.default_rng(seed)
    width = max(fabric.A, fabric.C)
    rows = np.zeros((2 * N_ORDERS, width), np.int32)
    for i in range(2 * N_ORDERS):
        n = fabric.A if i < N_ORDERS else fabric.C
        rows[i, :n] = rng.permutation(n)
    return rows


# --- interleaved weighted round robin
@pytest.mark.parametrize(
    ("weights", "order", "slots"),
    [
        ([2, 2, 2, 1], [2, 1, 3, 0], [2, 1, 3, 0, 2, 1, 0]),
        ([1, 1, 1], [0, 1, 2], [0, 1, 2]),
        ([3, 1], [1, 0], [1, 0, 0, 0]),
        ([0, 2], [0, 1], [1, 1]),
        ([0, 0], [0, 1], []),
        ([], [], []),
        ([2, 3, 1], [0, 1, 2], [0, 1, 2, 0, 1, 1]),
    ],
)
def test_iwrr_by_hand(weights, order, slots):
    assert iwrr(weights, order) == slots


def test_iwrr_serves_each_port_as_often_as_it_weighs():
    rng = np.random.default_rng(1)
    for _ in range(50):
        weights = rng.integers(0, 9, rng.integers(1, 7)).tolist()
        slots = iwrr(weights, rng.permutation(len(weights)).tolist())
        assert np.bincount(slots, minlength=len(weights)).tolist() == weights


# --- weights
def test_no_damage_no_preference():
    whole = damage(TREE)
    assert not whole.any
    for edge in range(TREE.n_edges):
        weights = edge_weights(whole, edge)
        assert (weights == weights[:, :1]).all()
    assert (agg_weights(whole, 0, 0) == WHOLE).all()


def test_a_dead_edge_cable_takes_its_port_away_both_ways():
    broken = damage(TREE, edge_1_0__agg_1_1=0.0)
    # the edge switch itself has one uplink left, to everywhere
    mine = edge_weights(broken, TREE.E)
    for there in (0, 1, 3, 4, 7):
        assert mine[there, 0] > 0
        assert mine[there, 1] == 0
    # others avoid port 1 towards it and nowhere else
    for edge in (0, 1, 3, 7):
        weights = edge_weights(broken, edge)
        assert weights[2, 0] > 0
        assert weights[2, 1] == 0
        others = [g for g in range(8) if g not in (2, edge)]
        assert (weights[others] > 0).all()
        assert (weights[others] == weights[others][:, :1]).all()
    assert (agg_weights(broken, 1, 1) == WHOLE).all()  # one tier up nothing changes


def test_a_dead_core_cable_halves_what_lies_behind_a_port():
    """agg:0:0 has lost core 0:0: from pod 0, to pod 0, port 0 leads to one core of two, port 1 to both."""
    broken = damage(TREE, agg_0_0__core_0_0=0.0)
    for edge, far in ((0, [2, 5, 7]), (1, [2, 5, 7]), (2, [0, 1]), (7, [0, 1])):
        for there in far:
            assert edge_weights(broken, edge)[there].tolist() == [WHOLE, 2 * WHOLE]
    assert edge_weights(broken, 2)[[4, 7]].tolist() == [[2 * WHOLE, 2 * WHOLE]] * 2  # not by way of pod 0
    low, high = edge_weights(broken, 0)[1]
    assert low == high > 0  # within the pod
    assert agg_weights(broken, 0, 0)[1:].tolist() == [[0, WHOLE]] * 3
    assert agg_weights(broken, 2, 0)[0].tolist() == [0, WHOLE]
    assert agg_weights(broken, 2, 0)[3].tolist() == [WHOLE, WHOLE]
    assert agg_weights(broken, 2, 1)[0].tolist() == [WHOLE, WHOLE]


def test_a_slow_cable_counts_for_what_is_left_of_it():
    """A path is as wide as its narrowest cable, and both cores behind a port share the edge cable's weight path by path."""
    slow = damage(TREE, agg_0_0__core_0_0=0.5, agg_2_1__core_1_1=0.25)
    assert edge_weights(slow, 0)[2].tolist() == [10 + 20, 40]
    assert edge_weights(slow, 0)[4].tolist() == [10 + 20, 20 + 5]
    assert edge_weights(slow, 4)[6].tolist() == [40, 20 + 5]
    assert agg_weights(slow, 0, 0)[2].tolist() == [10, 20]
    tiny = damage(TREE, agg_0_0__core_0_0=0.001)
    assert agg_weights(tiny, 0, 0)[1].tolist() == [1, 20]  # alive: never rounded to nothing


def test_leaf_spine_weights():
    broken = damage(LEAVES, edge_0_1__agg_0_0=0.0, edge_0_2__agg_0_1=0.5)
    assert (edge_weights(broken, 1)[[0, 2, 3]] > 0).tolist() == [[False, True]] * 3
    assert edge_weights(broken, 0)[1].tolist() == [0, 20]
    assert edge_weights(broken, 0)[2].tolist() == [20, 10]
    assert edge_weights(broken, 1)[2].tolist() == [0, 10]
    low, high = edge_weights(broken, 0)[3]
    assert low == high > 0


# --- schedules
def test_equal_weights_need_no_schedule_and_like_ones_share_theirs():
    schedules = Schedules(orders(TREE))
    assert schedules.number(np.array([20, 20]), 0) == -1
    one = schedules.number(np.array([20, 40]), 0)
    assert schedules.number(np.array([10, 20]), 0) == one  # the same after division by the gcd
    assert schedules.number(np.array([40, 20]), 0) != one
    assert schedules.number(np.array([20, 40]), 1) != one  # port orders belong to a tier
    nothing = schedules.number(np.array([0, 0]), 0)  # nowhere to go is a schedule as well: an empty one
    assert schedules.rows[nothing, 1] == 0
    assert len(schedules.rows) == 4


def test_slots_hold_the_plain_order_and_then_every_random_one():
    rows = orders(TREE)
    schedules = Schedules(rows)
    number = schedules.number(np.array([20, 40]), 0)
    start, length = schedules.rows[number]
    assert length == 3
    slots = schedules.slots[start : start + length * (1 + N_ORDERS)].reshape(-1, length)
    assert slots[0].tolist() == [0, 1, 1]
    for order, drawn in zip(rows[:N_ORDERS].tolist(), slots[1:].tolist()):
        assert drawn == [*order, 1]


def test_weights_without_a_common_divisor_are_rounded_to_a_bounded_schedule():
    schedules = Schedules(np.tile(np.arange(3, dtype=np.int32), (2 * N_ORDERS, 1)))
    number = schedules.number(np.array([1, 99_991, 99_989]), 0)
    assert schedules.rows[number, 1] <= LONGEST + 3
    start, length = schedules.rows[number]
    count = np.bincount(schedules.slots[start : start + length], minlength=3)
    assert count[0] >= 1  # alive, so it is used
    assert count[1] == pytest.approx(LONGEST / 2, rel=0.01)


def test_neighbours_know_their_own_cable_and_everybody_knows_all():
    broken = damage(TREE, edge_1_0__agg_1_1=0.0)
    schedules = Schedules(orders(TREE))
    table, first = knowledge(broken, schedules)
    _, e, a, c, n = TREE.node_base

    def of(knowers, node, group):
        number = table[knowers, first[node] + group]
        if number < 0:
            return None
        start, length = schedules.rows[number]
        return schedules.slots[start : start + length].tolist()

    # edge 1:0 (edge switch 2) sees its dead cable at once, whatever the destination
    for knowers in (NEIGHBOURS, EVERYBODY):
        assert [of(knowers, e + 2, g) for g in (0, 3, 7)] == [[0], [0], [0]]
    # all others learn of it when everybody does, and only towards that edge switch
    for edge in (0, 3, 7):
        assert [of(NEIGHBOURS, e + edge, g) for g in range(8)] == [None] * 8
        assert [of(EVERYBODY, e + edge, g) for g in range(8)] == [None, None, [0], *[None] * 5]
    assert all(of(EVERYBODY, agg, pod) is None for agg in range(a, c) for pod in range(4))
    assert n - e == 20


# --- what is cut off
def test_disconnected_pairs_are_named():
    cut = damage(TREE, edge_1_0__agg_1_0=0.0, edge_1_0__agg_1_1=0.0)
    refuse_disconnected(cut, np.array([0, 4, 5]), np.array([15, 5, 4]))  # below one edge switch no cable is needed
    with pytest.raises(ScenarioError) as caught:
        refuse_disconnected(cut, np.array([0, 4]), np.array([2, 9]))
    assert str(caught.value) == (
        "failures = 'edge:1:0-agg:1:0, edge:1:0-agg:1:1': these dead cables leave no path between host:4 (edge:1:0) and host:9"
    )
    with pytest.raises(ScenarioError, match=r"between host:9 \(edge:2:0\) and host:5$"):
        refuse_disconnected(cut, np.array([9]), np.array([5]))


def test_cut_off_by_cables_of_different_tiers():
    """Port 0 ends at the edge, port 1 at the core: neither half alone cuts the pair off."""
    first = {"edge_0_0__agg_0_0": 0.0}
    second = {"agg_0_1__core_1_0": 0.0, "agg_0_1__core_1_1": 0.0}
    src, dst = np.array([0]), np.array([15])
    refuse_disconnected(damage(TREE, **first), src, dst)
    refuse_disconnected(damage(TREE, **second), src, dst)
    with pytest.raises(ScenarioError, match="host:0"):
        refuse_disconnected(damage(TREE, **first, **second), src, dst)
    refuse_disconnected(damage(TREE, **first, **second), src, np.array([2]))  # within the pod agg:0:1 still joins them


def test_dead_cables_at_both_ends_of_different_ports_cut_off():
    """Up by port 1 only, down by port 0 only: there is no shortest path left."""
    with pytest.raises(ScenarioError, match=r"host:0 .* and host:15"):
        refuse_disconnected(damage(TREE, edge_0_0__agg_0_0=0.0, edge_3_1__agg_3_1=0.0), np.array([0]), np.array([15]))
    slow = damage(TREE, edge_0_0__agg_0_0=0.001, edge_3_1__agg_3_1=0.0)
    refuse_disconnected(slow, np.array([0]), np.array([15]))  # slow is not dead


# --- draws
def draw(rate, seed=3, cables=(), capacity=0.0):
    keys = SimpleNamespace(link_failure_rate=rate, capacity=capacity, cables=cables)
    return Damage.draw(keys, TREE, np.random.default_rng(seed)).share


def test_a_higher_rate_fails_the_same_cables_and_more():
    shares = [draw(rate) for rate in (0.0, 0.1, 0.3, 0.7, 1.0)]
    for low, high in pairwise(shares):
        assert (high <= low).all()
    assert (shares[0] == 1).all()
    assert (shares[-1] == 0).all()


def test_named_cables_fail_in_any_case_and_change_no_other_draw():
    named = SimpleNamespace(cable="agg:2:1-core:1:0", capacity=0.25)
    with_name, without = draw(0.3, cables=[named], capacity=0.5), draw(0.3, capacity=0.5)
    at = TREE.cable_of("agg:2:1-core:1:0")
    assert with_name[at] == 0.25
    assert (np.delete(with_name, at) == np.delete(without, at)).all()
    assert set(without) == {0.5, 1.0}
