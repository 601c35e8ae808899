"""The wiring of `ofancore.fabric`, against a fabric built link by link from the definition and known by names alone."""

import numpy as np
import pytest

from ofancore.fabric import LINK_CLASSES, Fabric

SHAPES = [(4, 3, 1), (6, 3, 1), (8, 3, 1), (8, 3, 2), (8, 3, 4), (6, 3, 3), (4, 2, 1), (8, 2, 1), (8, 2, 2), (12, 2, 3)]


def wires(radix, tiers, oversubscription):
    """Every directed link as (class, tail, head), by names, in the order of link numbers.

    A link is numbered within its class by its lower node and port on the way up, and by its sender and port on the way down.
    """
    half = radix // 2
    pods = range(radix if tiers == 3 else 1)
    edges = range(half if tiers == 3 else radix)
    aggs = range(half // oversubscription)
    cores = range(half if tiers == 3 else 0)
    hosts = range(half)

    def host(p, e, s):
        return f"host:{(p * len(edges) + e) * len(hosts) + s}"

    places = [(p, e, s) for p in pods for e in edges for s in hosts]
    access = [(host(p, e, s), f"edge:{p}:{e}") for p, e, s in places]
    lower = [(f"edge:{p}:{e}", f"agg:{p}:{j}") for p in pods for e in edges for j in aggs]
    upper = [(f"agg:{p}:{j}", f"core:{j}:{i}") for p in pods for j in aggs for i in cores]
    down_upper = [(f"core:{j}:{i}", f"agg:{p}:{j}") for j in aggs for i in cores for p in pods]
    down_lower = [(f"agg:{p}:{j}", f"edge:{p}:{e}") for p in pods for j in aggs for e in edges]
    down_access = [(edge, host) for host, edge in access]
    classes = [access, lower, upper, down_upper, down_lower, down_access]
    return [(name, *ends) for name, links in zip(LINK_CLASSES, classes) for ends in links]


@pytest.fixture(params=SHAPES, ids=lambda shape: "k{}-{}tier-os{}".format(*shape))
def case(request):
    return Fabric.build(*request.param), wires(*request.param)


def names_of(fabric):
    return [fabric.node_name(node) for node in range(fabric.n_nodes)]


def test_counts(case):
    fabric, links = case
    names = names_of(fabric)
    assert len(set(names)) == fabric.n_nodes
    assert {name for _, *ends in links for name in ends} == set(names)
    assert len(links) == fabric.n_links
    for tier, count in [("host", fabric.n_hosts), ("edge", fabric.n_edges), ("agg", fabric.n_aggs), ("core", fabric.n_cores)]:
        assert sum(name.startswith(tier) for name in names) == count
    assert sorted(names, key=lambda name: ["host", "edge", "agg", "core"].index(name.split(":")[0])) == names


def test_link_classes(case):
    fabric, links = case
    assert [LINK_CLASSES[k] for k in fabric.link_class] == [name for name, _, _ in links]
    for k, name in enumerate(LINK_CLASSES):
        numbers = [number for number, (kind, _, _) in enumerate(links) if kind == name]
        assert list(range(fabric.link_base[k], fabric.link_base[k + 1])) == numbers


def test_inputs_are_the_incoming_links_lower_neighbours_first(case):
    fabric, links = case
    names = names_of(fabric)
    tiers = ["host", "edge", "agg", "core"]
    first, numbers = fabric.inputs
    for node, name in enumerate(names):
        incoming = [number for number, (_, _, head) in enumerate(links) if head == name]

        def order(number, name=name):
            tail = links[number][1]
            above = tiers.index(tail.split(":")[0]) > tiers.index(name.split(":")[0])
            return above, names.index(tail)

        assert list(numbers[first[node] : first[node + 1]]) == sorted(incoming, key=order)


def test_switch_outputs_are_consecutive(case):
    fabric, links = case
    up, n_up, down = fabric.switch_outputs
    names = names_of(fabric)
    for node, name in enumerate(names):
        outgoing = [number for number, (_, tail, _) in enumerate(links) if tail == name]
        upward = [number for number in outgoing if LINK_CLASSES.index(links[number][0]) < 3]
        downward = [number for number in outgoing if LINK_CLASSES.index(links[number][0]) >= 3]
        assert n_up[node] == len(upward)
        if upward:
            assert upward == list(range(up[node], up[node] + len(upward)))
        if downward:
            assert downward == list(range(down[node], down[node] + len(downward)))


def test_every_port_of_the_radix_is_used(case):
    """Without oversubscription every switch has as many links as the radix says; with it, fewer go up."""
    fabric, links = case
    ports = {}
    for _, tail, _ in links:
        ports[tail] = ports.get(tail, 0) + 1
    for name, count in ports.items():
        if name.startswith("edge"):
            assert count == fabric.S + fabric.A
        elif name.startswith("agg"):
            assert count == fabric.E + fabric.C
        elif name.startswith("core"):
            assert count == fabric.P
        else:
            assert count == 1


def test_cables_and_their_names_round_trip(case):
    fabric, links = case
    ends = {(tail, head): number for number, (_, tail, head) in enumerate(links)}
    seen = set()
    for cable in range(fabric.n_cables):
        name = fabric.cable_name(cable)
        assert fabric.cable_of(name) == cable
        low, high = name.split("-")
        assert fabric.cable_links(cable) == (ends[low, high], ends[high, low])
        seen |= set(fabric.cable_links(cable))
    assert seen == {number for number, (kind, _, _) in enumerate(links) if "host" not in kind}


@pytest.mark.parametrize(
    "name",
    ["", "edge:0:0", "host:0-edge:0:0", "edge:0:0-agg:1:0", "edge:0:9-agg:0:0", "edge:0:0-agg:0:9", "agg:0:0-core:1:0", "agg:0:0-core:0:9"]
    + ["agg:9:0-core:0:0", "agg:0:1-edge:0:1", "edge:0:0-agg:0:0-core:0:0", "edge:-1:0-agg:-1:0", "edge:a:b-agg:a:c", "edge:0:0-core:0:0"],
)
def test_a_name_without_a_cable_is_refused_with_the_rule(name):
    with pytest.raises(ValueError, match="a cable is named"):
        Fabric.build(4).cable_of(name)


def test_hops_are_shortest_paths(case):
    """Breadth-first search over the named links agrees with the formula."""
    fabric, links = case
    onward = {}
    for _, tail, head in links:
        onward.setdefault(tail, []).append(head)
    for src in {0, fabric.S - 1, fabric.n_hosts // 2, fabric.n_hosts - 1}:
        distance, queue = {f"host:{src}": 0}, [f"host:{src}"]
        for name in queue:
            for head in onward.get(name, []):
                if head not in distance:
                    distance[head] = distance[name] + 1
                    queue.append(head)
        others = np.array([h for h in range(fabric.n_hosts) if h != src])
        assert list(fabric.hops(src, others)) == [distance[f"host:{h}"] for h in others]
        assert fabric.max_hops >= max(distance[f"host:{h}"] for h in others)


def test_edge_and_pod_of_a_host(case):
    fabric, links = case
    for kind, tail, head in links:
        if kind == "host_edge":
            number = int(tail.split(":")[1])
            pod, edge = (int(part) for part in head.split(":")[1:])
            assert fabric.edge_of(number) == pod * fabric.E + edge
            assert fabric.pod_of(number) == pod
