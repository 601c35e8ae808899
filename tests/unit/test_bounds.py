"""Lower bounds and the paced rate, against numbers worked out by hand.

The defaults in ticks (ps): data 4,158 bytes 41,580, gap 200, ACK 640, a link 500,000.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import examples

from ofancore.bounds import (
    Times,
    chain_bound,
    dag_bound,
    first_ack_index,
    group_bounds,
    lower_bound,
    paced_group_bounds,
    part,
    permutation_bound,
    ready_times,
    rho_max,
    sending_time,
)
from ofancore.fabric import Fabric
from ofancore.failures import Damage
from ofancore.prepare import prepare
from ofancore.scenario import Scenario
from ofancore.workloads import Flows
from ofancore.workloads.fsdp import Dag, Fsdp

PAPER = Times(data=41_580, ack=640, gap=200, delay=500_000)
EASY = Times(data=10, ack=2, gap=1, delay=100)  # slots of 11 and 3
TREE, LEAVES = Fabric.build(4), Fabric.build(4, tiers=2)


def flows(*pairs, packets=1, **options):
    src, dst = np.array(pairs).T
    return Flows(src, dst, np.full(len(src), packets), **options)


# --- permutation
def test_the_papers_permutation_of_256_packets():
    assert first_ack_index(PAPER, 6) == 78
    assert permutation_bound(PAPER, 256) == 17_056_940
    assert prepare(Scenario()).times == PAPER
    assert prepare(Scenario()).lower_bound_ticks == 17_056_940


def test_permutation_bound_in_pieces():
    """There: 6 links and 5 switches that store a packet before they send it on. The first ACK leaves after ceil(650 / 11) + 1 packets."""
    assert EASY.there(6) == 6 * 100 + 5 * 10 == 650
    assert EASY.back(6) == 6 * 100 + 6 * 2 == 612
    assert first_ack_index(EASY, 6) == 61
    assert permutation_bound(EASY, 1) == 11 + 650 + 612
    assert permutation_bound(EASY, 61) == 61 * 11 + 650 + 612  # all sent before the first ACK is owed
    assert permutation_bound(EASY, 64) == 64 * 11 + 3 * 3 + 650 + 612  # three ACKs in between
    assert permutation_bound(EASY, 64, hops=4) == 64 * 11 + (64 - 41) * 3 + 430 + 408  # ceil(430 / 11) + 1 = 41


def test_longest_distance_of_the_permutation_counts():
    near = lower_bound(EASY, TREE, flows((0, 1), (1, 0)), "permutation", 0)
    far = lower_bound(EASY, TREE, flows((0, 15), (15, 0)), "permutation", 0)
    assert near == 11 + (200 + 10) + (200 + 4)
    assert far == 11 + 650 + 612


# --- all-to-all
@pytest.mark.parametrize(
    ("opened", "m", "bound"),
    [
        # hosts 0..3 of pod 0 (2 below each edge switch), in the order +1, +2, +3: 0 sends to 1 (2 links), 2 and 3 (4 links);
        # 1 to 2, 3 (4), 0 (2); 2 to 3 (2), 0, 1 (4); 3 to 0, 1 (4), 2 (2). Over 2 links there and back takes 210 + 204, over 4 430 + 408.
        (None, 1, 3 * 11 + 430 + 408),  # the third packet of host 0 goes far
        (1, 1, 3 * 11 + 430 + 408),
        (None, 2, 6 * 11 + 430 + 408),
        (1, 2, 6 * 11 + 430 + 408),
        (2, 2, 6 * 11 + 430 + 408),  # host 0's last two flows are both far
    ],
)
def test_all_to_all_within_a_pod(opened, m, bound):
    order = [(i, (i + d) % 4) for i in range(4) for d in (1, 2, 3)]
    f = flows(*order, packets=m, open_flows=opened or 4)
    assert lower_bound(EASY, TREE, f, "all_to_all", 0) == bound


def test_all_to_all_owes_acks_to_the_others():
    """Two hosts of different pods: as a permutation of the same two. 70 packets, 61 of them before the first ACK."""
    f = flows((0, 15), (15, 0), packets=70, open_flows=2)
    assert lower_bound(EASY, TREE, f, "all_to_all", 0) == 70 * 11 + 9 * 3 + 650 + 612


def test_all_to_all_far_flows_that_end_early():
    """Hosts 0, 1 (together) and 2 (another edge switch): 0 -> 1, 2; 1 -> 2, 0; 2 -> 0, 1. One at a time, 3 packets each.

    The last packet to a near host is 1's sixth, to a far one 0's and 2's sixth.
    """
    f = flows((0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1), packets=3, open_flows=1)
    assert lower_bound(EASY, TREE, f, "all_to_all", 0) == 6 * 11 + 430 + 408


def test_all_to_all_default_is_the_contract_of_the_workload():
    scenario = Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"kind": "all_to_all", "message_packets": 8}})
    # 15 flows of 8 packets, taken in turns; the 120th goes far from some hosts, the first ACK is owed after 78
    assert prepare(scenario).lower_bound_ticks == 120 * 41_780 + (120 - 78) * 840 + PAPER.there(6) + PAPER.back(6)


# --- pairs and rings
def test_pairs_are_bounded_by_the_busiest_port():
    assert lower_bound(EASY, TREE, flows((0, 15), packets=5), "pairs", 0) == 5 * 11 + 650 + 612
    incast = flows((1, 0), (2, 0), (15, 0), packets=100)
    assert lower_bound(EASY, TREE, incast, "pairs", 0) == 300 * 11 + 210 + 204  # the nearest may come last
    few = flows((1, 0), (2, 0), (15, 0), packets=5)
    assert lower_bound(EASY, TREE, few, "pairs", 0) == 5 * 11 + 650 + 612  # and distance may count for more


def test_a_ring_is_as_long_as_its_slowest_chain():
    """0 -> 1 (2 links), 1 -> 2 (4 links), then each passes on what it got: 0 -> 1 waits for 2 -> 0 and so on."""
    f = flows((0, 1), (1, 2), (2, 0), (0, 1), (1, 2), (2, 0), packets=3, after=np.array([[2, 3], [0, 4], [1, 5]]))
    near, far = 3 * 11 - 1 + 210, 3 * 11 - 1 + 430
    assert lower_bound(EASY, TREE, f, "ring_all_gather", 0) == far + far + 1 + 408  # 1 -> 2, then 2 -> 0
    assert near < far


# --- training: collectives and computations
@pytest.mark.parametrize(
    ("collective", "m", "bound"),
    [
        # 0 -> 1 and 2 -> 3 over 2 links, 1 -> 2 and 3 -> 0 over 4: the slowest chain of 3 steps goes far, near, far
        ("ring", 3, (32 + 430) + (32 + 210) + (32 + 430) + 1 + 408),
        ("direct", 1, 3 * 11 + 430 + 408),  # as an all-to-all; the third packet of host 0 goes far
        ("direct", 2, 6 * 11 + 430 + 408),
    ],
)
@pytest.mark.parametrize("phase", ["all_gather", "reduce_scatter"])
def test_a_collective_of_four_ranks(phase, collective, m, bound):
    w = Fsdp(ranks=4, placement="contiguous", phase=phase, collective=collective, message_packets=m)
    f = w.flows(TREE, np.random.default_rng(0))
    assert lower_bound(EASY, TREE, f, "fsdp", 0) == bound
    assert group_bounds(EASY, TREE, f, "fsdp").tolist() == [bound]


def test_the_longest_path_goes_through_computations():
    """Two ranks 2 links apart: gather 3 packets, compute 1 ns (1000 ticks), scatter 4."""
    dag = Dag(np.array([0, 1]), True, 1)
    dag.collective("RS", 4, dag.compute(1.0, dag.gate(dag.collective("AG", 3))))
    f = dag.flows()
    assert group_bounds(EASY, TREE, f, "fsdp").tolist() == [33 + 210 + 204, 44 + 210 + 204]
    assert lower_bound(EASY, TREE, f, "fsdp", 0) == (32 + 210) + 1000 + (44 + 210 + 204)
    assert ready_times(EASY, TREE, f).tolist() == [0, 0, 242, 242, 1242, 1242, 1242, 1242]


def test_steps_of_a_ring_as_permutations():
    """0 and 15, 6 links apart: two steps of 64 packets, of which three wait for an ACK's slot each; then as the strict bound."""
    f = flows((0, 15), (15, 0), (0, 15), (15, 0), packets=64, after=np.array([[0, 3], [1, 2]]))
    strict = 2 * (64 * 11 - 1 + 650) + 1 + 612
    assert group_bounds(EASY, TREE, f, "fsdp").tolist() == [strict]
    assert group_bounds(EASY, TREE, f, "fsdp", acks=True).tolist() == [strict + 2 * 3 * 3]
    assert dag_bound(EASY, TREE, f, "fsdp", acks=True) == strict + 2 * 3 * 3
    one = flows((0, 15), (15, 0), packets=256)
    assert chain_bound(PAPER, TREE, one, acks=True) == permutation_bound(PAPER, 256) == 17_056_940


def test_a_computation_may_come_last():
    dag = Dag(np.array([0, 1]), True, 1)
    dag.compute(1.0, dag.gate(dag.collective("AG", 3)))
    assert lower_bound(EASY, TREE, dag.flows(), "fsdp", 0) == 242 + 1000


@pytest.mark.parametrize(("m", "ready"), [(5, 5 * 11 - 1 + 430), (50, 220 + 99 * 11)])
def test_all_that_a_flow_waits_for_comes_over_one_link(m, ready):
    """Host 0 waits for m packets of host 1 (2 links; the first one arrives after 10 + 210) and m of host 2 (4 links)."""
    f = Flows(np.array([1, 2, 0]), np.array([0, 0, 0]), np.array([m, m, 0]), np.array([[0, 2], [1, 2], [1, 2]]))
    assert ready_times(EASY, TREE, f).tolist() == [0, 0, ready]


def test_collectives_that_overlap_share_the_port():
    """Three messages of 100 packets from host 0 to host 1, two of them 1 ns (1000 ticks) after the start; then the last two later."""
    f = Flows(np.array([0] * 3), np.array([1] * 3), np.array([100] * 3), delay_ns=np.array([1.0, 0.0, 1.0]))
    assert dag_bound(EASY, TREE, f, "pairs") == 300 * 11 + 210 + 204
    late = Flows(np.array([0] * 3), np.array([1] * 3), np.array([100, 100, 10]), delay_ns=np.array([0.0, 5.0, 5.0]))
    assert dag_bound(EASY, TREE, late, "pairs") == 5000 + 110 * 11 + 210 + 204


def test_delays_count_and_circles_are_refused():
    one = Flows(np.array([0]), np.array([1]), np.array([1]), delay_ns=np.array([2.5]))
    assert lower_bound(EASY, TREE, one, "pairs", 0) == 2500 + 11 + 210 + 204
    with pytest.raises(ValueError, match="circle"):
        ready_times(EASY, TREE, flows((0, 1), (1, 0), after=np.array([[0, 1], [1, 0]])))


def some_of(*rows):
    return {"after_some": np.array(rows, np.int64)}


def test_flows_that_need_some_of_several_start_with_the_first_of_these():
    """One, two and three packets from host 0 to 1: at 10 + 210, 21 + 210 and 32 + 210; acknowledged 204 later; news to host 0 takes 204."""
    f = flows((0, 1), (0, 1), (0, 1), (1, 3), (1, 3), (1, 3), (0, 3), (2, 3))
    f = replace(f, packets=np.array([3, 1, 2, 1, 1, 1, 1, 1]), delay_ns=np.array([0.0] * 4 + [2.0] + [0.0] * 3))
    rows = [[a, b, 0, k] for b, k in ((3, 1), (4, 2), (5, 3), (6, 1)) for a in range(3)] + [[1, 7, 0, 2], [1, 7, 1, 2]]
    # host 2 hears of the second flow's arrival 408 later, of its last ACK at 220 + 204 + 408
    expected = [0, 0, 0, 220, 231 + 2000, 242, 220 + 204, 220 + 204 + 408]
    assert ready_times(EASY, TREE, replace(f, **some_of(*rows))).tolist() == expected


def test_flows_that_need_some_may_wait_for_each_other_as_long_as_all_start():
    """Host 1 starts flow 1 at 220, which gets to host 0 at 440, where that of flow 0 was heard of at 424: flow 2 needs two, not its own."""
    f = flows((0, 1), (1, 0), (0, 1))
    good = some_of([0, 1, 0, 1], [1, 1, 0, 1], [2, 1, 0, 1], [0, 2, 1, 2], [1, 2, 0, 2], [2, 2, 0, 2])
    assert ready_times(EASY, TREE, replace(f, **good)).tolist() == [0, 220, 440]
    with pytest.raises(ValueError, match="circle"):
        ready_times(EASY, TREE, replace(f, **some_of([0, 1, 0, 2], [2, 1, 0, 2], [1, 2, 0, 1])))


@st.composite
def dags(draw):
    """Flows among the hosts of the radix-4 tree that wait for earlier ones to arrive, most at their source, or to be acknowledged."""
    n = draw(st.integers(1, 14))
    hosts = st.integers(0, 15)
    src, dst = (np.array(draw(st.lists(hosts, min_size=n, max_size=n))) for _ in range(2))
    packets = np.where(src == dst, 0, np.array(draw(st.lists(st.integers(1, 30), min_size=n, max_size=n))))
    possible = [(a, b) for b in range(n) for a in range(b) if dst[a] == src[b]]
    after = draw(st.lists(st.sampled_from(possible), max_size=20)) if possible else []
    anywhere = st.lists(st.sampled_from([(a, b) for b in range(n) for a in range(b)]), max_size=4) if n > 1 else st.just([])
    after = after + draw(anywhere)
    acked = np.array(draw(anywhere), np.int64).reshape(-1, 2)
    delay_ns = np.array(draw(st.lists(st.sampled_from([0.0, 0.25, 3.0]), min_size=n, max_size=n)))
    after = np.array(after, np.int64).reshape(-1, 2)
    some = []
    for b in draw(st.lists(st.integers(1, n - 1), max_size=3, unique=True)) if n > 1 else []:
        rows = draw(st.lists(st.tuples(st.integers(0, b - 1), st.integers(0, 1)), min_size=1, max_size=5, unique=True))
        needed = draw(st.integers(1, len(rows)))
        some += [(a, b, of_acks, needed) for a, of_acks in rows]
        after, acked = after[after[:, 1] != b], acked[acked[:, 1] != b]
    some = np.array(some, np.int64).reshape(-1, 4)
    return Flows(src, dst, packets, after, delay_ns=delay_ns, after_acked=acked, after_some=some)


def heard(f, ready, a, b, acked):
    """When the source of flow b knows that flow a has arrived or, if `acked`, that it has all its ACKs; `ready`: the starts."""
    hops, place = int(TREE.hops(f.src[a], f.dst[a])), (f.src if acked else f.dst)[a]
    message = f.packets[a] * 11 - 1 + EASY.there(hops) + (EASY.back(hops) if acked else 0) if f.packets[a] else 0
    return ready[a] + message + (0 if place == f.src[b] else EASY.back(TREE.hops(place, f.src[b])))


@examples(200)
@given(dags())
def test_ready_times_are_those_of_a_plain_walk(f):
    """`plain`: without what several flows take that come in over one link, which counts for flows that wait for all only."""
    hops, delay = TREE.hops(f.src, f.dst), f.delay_ns * 1000
    ready, plain = [], []
    for b in range(len(f)):
        some = [(a, acked, needed) for a, later, acked, needed in f.after_some.tolist() if later == b]
        if some:
            plain.append(int(sorted(heard(f, plain, a, b, acked) for a, acked, _ in some)[some[0][2] - 1] + delay[b]))
            ready.append(plain[b])
            continue
        before = sorted({int(a) for a, later in f.after if later == b})
        waits = [(a, 0) for a in before] + [(int(a), 1) for a, later in f.after_acked if later == b]
        plain.append(int(max((heard(f, plain, a, b, acked) for a, acked in waits), default=0) + delay[b]))
        ends = [heard(f, ready, a, b, acked) for a, acked in waits]
        sent = [a for a in before if f.packets[a] and f.dst[a] == f.src[b]]
        if sent:
            ends.append(min(ready[a] + 10 + EASY.there(hops[a]) for a in sent) + (f.packets[sent].sum() - 1) * 11)
        ready.append(int(max(ends, default=0) + delay[b]))
    assert ready_times(EASY, TREE, f).tolist() == ready


def test_the_last_ack_and_news_from_elsewhere_take_their_time():
    """0 -> 2 (4 links), 3 packets: arrives at 32 + 430, is acknowledged 408 later; from 0 to 15 news takes 612, from 2 to 1 408."""
    pairs = ((0, 2), (0, 3), (15, 3), (2, 3), (1, 3))
    f = flows(*pairs, packets=3, after=np.array([[0, 3], [0, 4]]), after_acked=np.array([[0, 1], [0, 2]]))
    assert ready_times(EASY, TREE, f).tolist() == [0, 462 + 408, 462 + 408 + 612, 462, 462 + 408]
    assert lower_bound(EASY, TREE, f, "htsim_matrix", 0) == 462 + 408 + 612 + 3 * 11 + 650 + 612


def test_part_counts_arrivals_of_other_flows_as_having_happened():
    rows = [[a, b, 0, needed] for b, needed in ((2, 1), (3, 2), (4, 3)) for a in (0, 1, 2)]
    f = flows(*[(0, 1)] * 5, **some_of(*rows))
    assert part(f, np.arange(5)).after_some.tolist() == rows
    assert part(f, np.array([1, 2, 3, 4])).after_some.tolist() == [[a, b, 0, k] for b, k in ((2, 1), (3, 2)) for a in (0, 1)]
    assert part(f, np.array([3, 4])).after_some.tolist() == []


def test_part_keeps_what_waits_within():
    f = flows((0, 1), (1, 2), (2, 0), packets=3, after=np.array([[0, 1], [1, 2]]))
    some = part(f, np.array([1, 2]))
    assert (some.src.tolist(), some.after.tolist()) == ([1, 2], [[0, 1]])
    acked = part(flows((0, 1), (1, 2), (2, 0), after_acked=np.array([[0, 1], [1, 2]])), np.array([1, 2]))
    assert (acked.after.tolist(), acked.after_acked.tolist()) == ([], [[0, 1]])


def test_computations_do_not_change_the_paced_rate():
    f = Flows(np.array([0, 1, 0, 0]), np.array([2, 4, 0, 0]), np.array([5, 5, 0, 0]))
    assert rho_max(broken(LEAVES, 0.0, LEAF), f) == pytest.approx(1 / 2)


# --- paced runs
def test_a_paced_sender_needs_its_pace():
    assert lower_bound(EASY, TREE, flows((0, 15), (15, 0), packets=64), "permutation", 40) == 63 * 40 + 11 + 650 + 612
    assert lower_bound(EASY, TREE, flows((0, 15), (15, 0), packets=64), "permutation", 5) == permutation_bound(EASY, 64)


def test_paced_collectives():
    """Each by its own busiest host: 63 and 9 gaps of 40 ticks, then a slot and the way there and back; 0: as they were."""
    f = replace(flows((0, 15), (15, 0)), packets=np.array([64, 10]), group=np.array([0, 1]), groups=["a", "b"])
    own = group_bounds(EASY, TREE, f, "pairs", acks=True)
    assert own.tolist() == [64 * 11 + 650 + 612, 10 * 11 + 650 + 612]
    assert paced_group_bounds(EASY, TREE, f, "pairs", 0, own) is own
    assert paced_group_bounds(EASY, TREE, f, "pairs", 40, own).tolist() == [63 * 40 + 11 + 650 + 612, 9 * 40 + 11 + 650 + 612]
    assert paced_group_bounds(EASY, TREE, f, "pairs", 5, own).tolist() == own.tolist()


@pytest.mark.parametrize("failures", [{}, {"cables": [{"cable": "edge:0:0-agg:0:0"}]}])
@pytest.mark.parametrize(
    "workload",
    [
        {"kind": "permutation"},
        {"kind": "all_to_all"},
        {"kind": "ring_all_gather", "steps": 3},
        {"kind": "halving_doubling", "phase": "reduce_scatter"},
        {"kind": "fsdp", "steps": 2},
        {"kind": "moe_all_to_all", "phase": "dispatch", "tokens": 9},
        {"kind": "incast"},
        {"kind": "pairs", "pairs": [[0, 8], [8, 0]]},
    ],
    ids=lambda w: w["kind"],
)
def test_the_ideal_of_a_run_of_one_collective_is_that_of_the_collective(workload, failures):
    inputs = prepare(Scenario.from_dict({"fabric": {"radix": 4}, "workload": workload, "failures": failures}))
    assert inputs.group_bound_ticks.tolist() == [inputs.ideal_ticks]


def test_sending_time_is_the_data_and_then_the_acks():
    assert sending_time(PAPER, 78, 6) == 78 * 41_780
    assert sending_time(PAPER, 79, 6) == 79 * 41_780 + 840


# --- rho_max
def broken(fabric, capacity=0.0, *names):
    share = np.ones(fabric.n_cables)
    for name in names:
        share[fabric.cable_of(name)] = capacity
    return Damage(fabric, share)


LEAF = "edge:0:0-agg:0:0"
CORE = "agg:0:0-core:0:0"


@pytest.mark.parametrize(
    ("fabric", "cables", "capacity", "pairs", "rho"),
    [
        # leaf 0 (hosts 0, 1) has one uplink of two left: both its hosts share it
        (LEAVES, [LEAF], 0.0, [(0, 2), (1, 4)], 1 / 2),
        (LEAVES, [LEAF], 0.0, [(0, 2)], 1),  # alone, a host has the uplink to itself
        (LEAVES, [LEAF], 0.0, [(2, 4), (3, 5)], 1),  # others do not pass there
        (LEAVES, [LEAF], 0.0, [(0, 1), (1, 0)], 1),  # nor does what stays below the leaf
        (LEAVES, [LEAF], 0.0, [(2, 0), (4, 1)], 1 / 2),  # downwards it is the same
        (LEAVES, [LEAF], 0.0, [(0, 2), (0, 4)], 1),  # a host that sends twice sends each at half the rate
        # half a cable is not dead: flows spread evenly over both, and the slow one sets the pace
        (LEAVES, [LEAF], 0.5, [(0, 2), (1, 4)], 1 / 2),
        (LEAVES, [LEAF], 0.25, [(0, 2), (1, 4)], 1 / 4),
        (LEAVES, [LEAF], 0.5, [(0, 2)], 1),  # half a flow on half a cable
        # radix 4: the cable from agg 0:0 to core 0:0 is dead. Each of hosts 0..3 of pod 0 to another pod has 3 paths of 4 left:
        # 1 by port 0, 2 by port 1
        (TREE, [CORE], 0.0, [(0, 15)], 1),
        (TREE, [CORE], 0.0, [(0, 15), (1, 14)], 3 / 4),  # port 1 of the edge switch carries 2 x 2/3 = 4/3
        (TREE, [CORE], 0.0, [(0, 15), (1, 14), (2, 13), (3, 12)], 3 / 4),  # and each of 3 cables to the core 4 x 1/3 = 4/3
        (TREE, [CORE], 0.0, [(0, 2), (1, 3), (4, 8), (5, 9)], 1),  # within the pod, and elsewhere
        # an edge cable of the radix-4 tree: hosts 0 and 1 share one uplink, whatever lies above
        (TREE, [LEAF], 0.0, [(0, 15), (1, 14)], 1 / 2),
        (TREE, [LEAF], 0.0, [(0, 2), (1, 3)], 1 / 2),
        (TREE, [LEAF], 0.0, [(2, 15), (3, 14), (4, 8)], 1),
        # all of the permutation through one uplink and, above it, two cores
        (TREE, [LEAF], 0.0, [(0, 15), (1, 14), (14, 0), (15, 1)], 1 / 2),
    ],
)
def test_rho_max_by_hand(fabric, cables, capacity, pairs, rho):
    assert rho_max(broken(fabric, capacity, *cables), flows(*pairs)) == pytest.approx(rho)


def test_rho_max_counts_in_twentieths():
    """A capacity of 0.01 is scheduled and paced as a twentieth, the least that a live cable has."""
    assert rho_max(broken(LEAVES, 0.01, LEAF), flows((0, 2), (1, 4))) == pytest.approx(1 / 20)


def test_the_pace_of_a_run():
    cable = [{"cable": LEAF}]
    data = {"fabric": {"radix": 4}, "failures": {"cables": cable}, "workload": {"kind": "pairs", "pairs": [[0, 15], [1, 14]]}}
    inputs = prepare(Scenario.from_dict(data))
    assert inputs.pace.tolist() == [0, 2 * 41_780]
    data["congestion"] = {"kind": "line_rate", "pace_failures": False}
    assert prepare(Scenario.from_dict(data)).pace.tolist() == [0, 0]
