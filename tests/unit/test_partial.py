"""Ofan at a share of the switches: which switches, what the others run, what is reported; and schemes that must come to the same."""

import numpy as np
import pytest
from unit.bench import shape_of

from ofancore import Scenario, simulate
from ofancore.balancers import BALANCERS
from ofancore.balancers.base import BY_GROUP, BY_RR
from ofancore.fabric import AGG, EDGE
from ofancore.prepare import prepare


def upgraded(seed=0, radix=8, **keys):
    """(edge switches, aggregation switches) that have Ofan."""
    scenario = Scenario.from_dict({"fabric": {"radix": radix}, "balancer": {"kind": "partial", **keys}, "seed": seed})
    schemes = [scheme.kind == "ofan" for scheme in prepare(scenario).schemes]
    n = scenario.shape.n_edges
    return set(np.flatnonzero(schemes[:n]).tolist()), set(np.flatnonzero(schemes[n:]).tolist())


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (0.25, 8), (0.3, 10), (0.5, 16), (0.9, 29), (1.0, 32)])
def test_the_same_share_of_edge_and_aggregation_switches(share, count):
    assert [len(tier) for tier in upgraded(share=share)] == [count, count]


def test_a_larger_share_includes_a_smaller_one_and_seeds_differ():
    shares = [upgraded(share=share) for share in (0.1, 0.4, 0.8)]
    for tier in (0, 1):
        assert shares[0][tier] < shares[1][tier] < shares[2][tier]
    assert upgraded(seed=1, share=0.5) != upgraded(seed=2, share=0.5)


def test_only_the_tier_that_is_named():
    edges, aggs = upgraded(share=0.5)
    assert upgraded(share=0.5, tier="edge") == (edges, set())
    assert upgraded(share=0.5, tier="agg") == (set(), aggs)


def test_switches_run_what_they_are_said_to():
    scenario = Scenario.from_dict({"balancer": {"kind": "partial", "share": 0.5, "rest": "switch_rr"}})
    prepared = prepare(scenario)
    first = scenario.shape.node_base[1]
    codes = [BY_GROUP if scheme.kind == "ofan" else BY_RR for scheme in prepared.schemes]
    assert list(prepared.sw.code[first : first + len(codes)]) == codes
    assert list(prepared.sw.par[:2]) == [5, 0]
    lengths = np.diff([*prepared.sw.first[first : first + len(codes)], len(prepared.sw.reg) - 1])
    edges, aggs = 2 * 32, 2 * 8
    own = [edges] * 32 + [aggs] * 32
    assert list(lengths) == [pointers if code == BY_GROUP else 2 + 4 for pointers, code in zip(own, codes)]


def test_state_is_that_of_the_fullest_switch():
    shape = shape_of(8)
    partial = BALANCERS["partial"](share=0.5, rest="switch_rr")
    assert [partial.pointers(shape, tier) for tier in (EDGE, AGG)] == [62, 14]
    assert [partial.switch_bytes(shape, tier) for tier in (EDGE, AGG)] == [62, 14]
    edges = BALANCERS["partial"](share=0.5, rest="switch_rr", tier="edge")
    assert [edges.pointers(shape, tier) for tier in (EDGE, AGG)] == [62, 1]
    assert [edges.switch_bytes(shape, tier) for tier in (EDGE, AGG)] == [62, 6]
    assert BALANCERS["partial"](share=0.0).pointers(shape, EDGE) == 0


def outcome(balancer, **more):
    result = simulate(
        Scenario.from_dict({"balancer": balancer, "workload": {"kind": "permutation", "message_packets": 60}, "seed": 3, **more})
    )
    values = {key: value for key, value in result.values.items() if not key.startswith(("pointers", "state"))}
    return values, result.flows, result.links


FAILURES = {"link_failure_rate": 0.03, "at_ns": 2_000.0, "convergence_ns": 6_000.0}


@pytest.mark.parametrize("failures", [{}, FAILURES], ids=["healthy", "failures"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"kind": "partial", "share": 1.0, "rest": "ecmp"}, {"kind": "ofan"}),
        ({"kind": "partial", "share": 0.0, "rest": "rsq"}, {"kind": "rsq"}),
        ({"kind": "partial", "share": 0.0, "rest": "switch_rr"}, {"kind": "switch_rr"}),
        ({"kind": "partial", "share": 0.0, "rest": "ecmp"}, {"kind": "ecmp"}),
        ({"kind": "partial", "share": 0.0, "rest": "spectrum_ar"}, {"kind": "spectrum_ar"}),
        ({"kind": "drill", "samples": 1, "memory": 0}, {"kind": "rsq"}),
    ],
    ids=lambda keys: " ".join(map(str, keys.values())),
)
def test_special_cases_come_to_the_same(one, other, failures):
    """Packet for packet: all switches upgraded or none, one draw without memory."""
    first, second = outcome(one, failures=failures), outcome(other, failures=failures)
    assert first[0] == second[0]
    assert first[1].equals(second[1])
    assert first[2].equals(second[2])


def test_diffflow_is_ecmp_for_flows_that_are_never_long():
    """Without losses, whose replacements would make them longer than their messages of 60 packets."""
    first, second = outcome({"kind": "diffflow", "threshold_packets": 60}), outcome({"kind": "ecmp"})
    assert first[0] == second[0]
    assert first[2].equals(second[2])
    assert outcome({"kind": "diffflow", "threshold_packets": 59})[0] != second[0]


@pytest.mark.parametrize("gap_ns", [30.0, 1e9])
def test_letflow_with_a_gap_below_the_time_of_a_packet_draws_for_each_and_with_an_endless_one_once(gap_ns):
    _, flows, links = outcome({"kind": "flowlet", "gap_ns": gap_ns, "entries": 65536})
    up = links[links["class"] == 1]
    used = (up["data"] > 0).sum()
    far = (flows["src"] // 4 != flows["dst"] // 4).sum()
    assert used == len(up) if gap_ns < 41 else used <= far
    assert (flows["late"].sum() > 0) == (gap_ns < 41)


def test_queue_grows_less_the_more_switches_have_ofan():
    """Means over three seeds of the longest queue, in packets."""
    queues = []
    for share in (0.0, 0.5, 1.0):
        keys = {"workload": {"kind": "permutation", "message_packets": 512}, "balancer": {"kind": "partial", "share": share}}
        queues.append(np.mean([simulate(Scenario.from_dict({**keys, "seed": seed})).queue_max_packets for seed in (1, 2, 3)]))
    assert queues[0] > queues[1] > queues[2]
    assert queues[2] < 10
