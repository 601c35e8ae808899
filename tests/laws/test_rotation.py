"""Round-robin pointers spread packets evenly: P pointers over R ports exceed the fair share by at most P (1 - 1/R) (paper's bound)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import examples, fabrics, packets, workloads

from ofancore import Scenario, simulate
from ofancore.prepare import prepare

SIZES = ("data", "acks")


def excess(counts):
    """How far the most loaded port lies above the fair share."""
    return max(counts) - np.mean(counts)


def uplinks(prepared, links, tier):
    """(switch index, rows of its uplinks) of a tier."""
    up, width, _ = prepared.fabric.switch_outputs
    for index, node in enumerate(range(*prepared.fabric.node_base[tier : tier + 2])):
        if width[node]:
            yield index, links.iloc[up[node] : up[node] + width[node]]


def destinations(prepared, small):
    """(from, to) hosts of all packets of a size bin."""
    flows = prepared.flows
    ends = (flows.src, flows.dst)
    return list(zip(*(ends[::-1] if small else ends)))


@st.composite
def undisturbed(draw, kinds):
    """No drops and no failures: what a switch sends is what it chose."""
    from scenarios import shape_of

    keys = draw(fabrics(unlimited=True))
    return {
        "fabric": keys,
        "packet": draw(packets(unlimited=True)),
        "workload": draw(workloads(shape_of(keys).n_hosts)),
        "balancer": {"kind": draw(st.sampled_from(kinds))},
        "seed": draw(st.integers(0, 1000)),
    }


def pointers_at_edge(prepared, kind, edge, small, pipes):
    """Pointers that the packets of a size bin turn at an edge switch."""
    fabric = prepared.fabric
    up = {(src, dst) for src, dst in destinations(prepared, small) if fabric.edge_of(src) == edge != fabric.edge_of(dst)}
    if kind == "switch_dr":
        return len({dst for _, dst in up})
    if kind == "pofan":
        return len({(fabric.edge_of(dst), src % fabric.S % pipes) for src, dst in up})
    return len({fabric.edge_of(dst) for _, dst in up})


@examples(50)
@given(undisturbed(["ofan", "pofan", "switch_dr"]))
def test_edge_switches_keep_the_bound(keys):
    scenario = Scenario.from_dict(keys)
    prepared, links = prepare(scenario), simulate(scenario).links
    pipes = getattr(scenario.balancer, "pipes", 1)
    for edge, rows in uplinks(prepared, links, 1):
        for small, size in enumerate(SIZES):
            pointers = pointers_at_edge(prepared, scenario.balancer.kind, edge, small, pipes)
            assert excess(rows[size]) <= pointers * (1 - 1 / len(rows)) + 1e-9


@examples(50)
@given(undisturbed(["ofan", "pofan"]))
def test_aggregation_switches_keep_the_bound(keys):
    scenario = Scenario.from_dict(keys)
    prepared, links = prepare(scenario), simulate(scenario).links
    fabric = prepared.fabric
    pipes = min(getattr(scenario.balancer, "pipes", 1), fabric.E)
    for agg, rows in uplinks(prepared, links, 2):
        pod = agg // fabric.A
        for small, size in enumerate(SIZES):
            up = [(s, d) for s, d in destinations(prepared, small) if fabric.pod_of(s) == pod != fabric.pod_of(d)]
            pointers = len({fabric.pod_of(dst) for _, dst in up}) * pipes
            assert excess(rows[size]) <= pointers * (1 - 1 / len(rows)) + 1e-9


@examples(40)
@given(undisturbed(["switch_rr"]), st.integers(0, 3))
def test_round_robin_is_even_over_all_packets(keys, wraps):
    """One pointer: no uplink is more than a packet ahead of another, or two since a first, cut-off round may be followed by a reshuffle."""
    keys["balancer"]["reshuffle_wraps"] = wraps
    scenario = Scenario.from_dict(keys)
    prepared, links = prepare(scenario), simulate(scenario).links
    for tier in (1, 2):
        for _, rows in uplinks(prepared, links, tier):
            total = rows["data"] + rows["acks"]
            assert total.max() - total.min() <= (2 if wraps else 1)


@pytest.mark.parametrize("kind", ["ofan", "switch_dr", "host_dr"])
def test_one_destination_is_even_on_every_link_of_the_way(kind):
    """64 packets to one host over 4 x 4 paths: 16 over each uplink of the edge, 4 over each core, the same on the way down."""
    keys = {"workload": {"kind": "pairs", "pairs": [[0, 127]], "message_packets": 64}, "balancer": {"kind": kind}}
    links = simulate(Scenario.from_dict(keys)).links
    for number, expected in [(1, 16), (2, 4), (3, 4), (4, 16)]:
        used = links.loc[(links["class"] == number) & (links["data"] > 0), "data"]
        assert set(used) == {expected}


def test_weights_of_a_degraded_cable_are_kept():
    """One of two uplinks at half rate: of 30 packets 20 go over the whole one."""
    keys = {
        "fabric": {"radix": 4, "unlimited_buffer": True},
        "workload": {"kind": "pairs", "pairs": [[0, 15]], "message_packets": 30},
        "balancer": {"kind": "ofan"},
        "failures": {"cables": [{"cable": "edge:0:0-agg:0:1", "capacity": 0.5}]},
    }
    links = simulate(Scenario.from_dict(keys)).links
    assert list(links.loc[links["class"] == 1, "data"][:2]) == [20, 10]
