"""Rails: which host is plugged in where, how RailS shares messages out, what waits for what, and the bound of servers; all by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import examples

from ofancore import Scenario, ScenarioError, simulate
from ofancore.balancers import BALANCERS
from ofancore.balancers.rails import assigned
from ofancore.fabric import Fabric
from ofancore.prepare import prepare
from ofancore.reference.rails import parts_of, places
from ofancore.workloads import Flows

SMALL = Fabric.build(4, rails=2)  # 8 servers of 2 NICs, two a pod: servers 0 and 1 below edge switches 0 and 1
SHAPES = [(4, 3, 1, 2), (8, 3, 1, 4), (8, 3, 2, 2), (6, 3, 1, 3), (6, 2, 1, 6), (8, 2, 1, 4)]


# --- who is plugged in where
def test_hosts_of_the_small_fabric_by_hand():
    """Edge switch 0 is rail 0 of servers 0 and 1 (hosts 0, 1 and 2, 3), edge switch 1 their rail 1."""
    assert [SMALL.host_at(place) for place in range(8)] == [0, 2, 1, 3, 4, 6, 5, 7]
    assert SMALL.place_of(np.arange(8)).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    assert SMALL.servers == Fabric(P=4, E=1, S=2, A=2, C=2)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nics_of_a_server_hang_off_neighbouring_edge_switches_of_their_rails(shape):
    fabric, rails = Fabric.build(*shape), shape[3]
    hosts = np.arange(fabric.n_hosts)
    at = fabric.place_of(hosts)
    assert sorted(at) == list(hosts)
    assert (fabric.host_at(at) == hosts).all()
    edge = fabric.edge_of(at)
    assert (edge % rails == hosts % rails).all()
    assert (edge // rails == hosts // (rails * fabric.S)).all()
    assert (fabric.pod_of(at) == fabric.pod_of(hosts)).all()
    assert places(fabric) == at.tolist()
    between = fabric.servers.hops(hosts[:, None] // rails, hosts // rails)
    same_rail = (hosts[:, None] % rails == hosts % rails) & (hosts[:, None] != hosts)
    assert (between == fabric.hops(at[:, None], at))[same_rail].all()


def test_one_rail_changes_no_number():
    fabric = Fabric.build(8)
    hosts = np.arange(128)
    assert (fabric.place_of(hosts) == hosts).all()
    assert (fabric.host_at(hosts) == hosts).all()
    assert fabric.servers == fabric
    assert (fabric.news_links(hosts[:, None], hosts) == np.where(np.eye(128, dtype=bool), 0, fabric.hops(hosts[:, None], hosts))).all()


def test_news_takes_a_link_within_a_server_and_the_way_of_an_ack_beyond():
    host = SMALL.place_of(np.array([0, 1, 2, 3, 4, 15]))
    assert SMALL.news_links(host[0], host).tolist() == [0, 1, 2, 4, 6, 6]


def run(pairs, balancer="ecmp", packets=1, rails=2, **keys):
    workload = {"kind": "pairs", "message_packets": packets, "pairs": pairs}
    return simulate(
        Scenario.from_dict({"fabric": {"radix": 4, "rails": rails}, "balancer": {"kind": balancer}, "workload": workload, **keys})
    )


@pytest.mark.parametrize(("dst", "hops"), [(2, 2), (1, 4), (3, 4), (4, 6), (5, 6), (8, 6)])
def test_a_packet_crosses_the_links_between_its_places(dst, hops):
    """Host 0 to NIC 0 of the neighbour below one edge switch; to the other NICs of the pod by an aggregation switch."""
    result = run([[0, dst]])
    assert result.packet_hops == 2 * hops
    assert result.flows[["src", "dst"]].to_numpy().tolist() == [[0, dst]]
    used = result.links[result.links["data"] > 0]
    assert (used["tail"].iloc[0], used["head"].iloc[-1]) == (0, dst)


def test_errors_name_hosts_by_their_numbers():
    """Host 1 is on edge switch 1 of pod 0."""
    cables = [{"cable": f"edge:0:1-agg:0:{j}"} for j in (0, 1)]
    with pytest.raises(ScenarioError, match=r"no path between host:1 \(edge:0:1\) and host:8"):
        run([[0, 2], [1, 8]], failures={"cables": cables})


def test_paths_name_hosts_by_their_numbers():
    from ofancore.paths import link_table

    links = link_table(run([[1, 15]], balancer="rails"))
    names = set(links.loc[(links["data"] > 0) & links["class"].isin([0, 5]), "cable"])
    assert names == {"host:0-edge:0:0", "host:14-edge:3:0"} or names == {"host:1-edge:0:1", "host:15-edge:3:1"}


# --- LPT
def load_of(sizes, rails, n):
    return [sum(size for size, rail in zip(sizes, rails) if rail == r) for r in range(n)]


def test_loads_for_which_lpt_is_best():
    """7, 6, 5 open the rails; 4 goes onto 5, 3 onto 6, 2 onto 7."""
    sizes = [7, 6, 5, 4, 3, 2]
    rails = assigned(sizes, [0, 0, 0], [0] * 6)
    assert rails == [0, 1, 2, 2, 1, 0]
    assert load_of(sizes, rails, 3) == [9, 9, 9]


def test_loads_for_which_lpt_is_as_bad_as_it_gets():
    """5 + 4, 5 + 4, 3 + 3 + 3 would be even; LPT puts the last 3 onto 5 + 3: 11, which is 4/3 - 1/9 of 9 (Graham's example)."""
    sizes = [5, 5, 4, 4, 3, 3, 3]
    rails = assigned(sizes, [0, 0, 0], [0] * 7)
    assert rails == [0, 1, 2, 2, 0, 1, 0]
    assert load_of(sizes, rails, 3) == [11, 8, 8]
    assert 11 / 9 == pytest.approx(4 / 3 - 1 / 9)


def test_of_equal_rails_the_first_from_the_preferred_one_on():
    assert assigned([1, 1, 1, 1], [0, 0, 0], [2, 2, 2, 2]) == [2, 0, 1, 2]
    assert assigned([1, 1], [0, 3, 0], [1, 1]) == [2, 0]  # the preferred one carries more
    assert assigned([2, 2, 2], [5, 0, 1], [0, 0, 0]) == [1, 2, 1]


SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=7).map(lambda sizes: sorted(sizes, reverse=True))


@examples(200)
@given(SIZES, st.integers(1, 3), st.integers(0, 2))
def test_grahams_bound_holds(sizes, n, preferred):
    best = min(max(load_of(sizes, rails, n)) for rails in product(range(n), repeat=len(sizes)))
    loads = load_of(sizes, assigned(sizes, [0] * n, [preferred % n] * len(sizes)), n)
    assert best <= max(loads) <= (4 / 3 - 1 / (3 * n)) * best + 1e-9
    assert max(loads) <= sum(sizes) / n + (1 - 1 / n) * sizes[0] + 1e-9
    assert max(loads) - min(loads) <= sizes[0]


# --- messages into flows
def split(messages, fabric=SMALL, **keys):
    """Rows (src, dst, packets) of what messages are sent as, and who waits for whom."""
    flows = BALANCERS["rails"](**keys).assign(fabric, messages)
    return [*zip(flows.src.tolist(), flows.dst.tolist(), flows.packets.tolist())], flows.after.tolist()


def messages(*rows, after=(), **more):
    src, dst, packets = np.array(rows, np.int64).T
    return Flows(src, dst, packets, np.array(after, np.int64).reshape(-1, 2), **more)


def test_one_message_goes_over_both_rails():
    """Of 10 packets in chunks of 4, 4, 2: rail 0, rail 1, and the rest where 4 are 4, on rail 0; servers 0 and 4 prefer rail 0."""
    assert split(messages((1, 9, 10)), chunk_packets=4)[0] == [(0, 8, 6), (1, 9, 4)]


def test_servers_with_a_single_chunk_prefer_different_rails():
    """All to server 4: rail (0 + 4) mod 2, (1 + 4) mod 2, ... of servers 0, 1, 2, 3."""
    given = messages((0, 8, 2), (2, 8, 2), (4, 8, 2), (6, 8, 2))
    assert split(given)[0] == [(0, 8, 2), (3, 9, 2), (4, 8, 2), (7, 9, 2)]
    assert split(given, ties="first")[0] == [(0, 8, 2), (2, 8, 2), (4, 8, 2), (6, 8, 2)]


def test_largest_chunk_first_whatever_the_order_of_messages():
    """Server 0 sends 1, 3 and 4 packets, of chunks of up to 4: 4 to rail 0, 3 to rail 1, 1 to rail 1."""
    assert split(messages((0, 8, 1), (0, 12, 3), (1, 4, 4)))[0] == [(1, 9, 1), (1, 13, 3), (0, 4, 4)]


def test_what_stays_in_a_server_keeps_its_nics_and_counts():
    """Host 0 to host 1 loads rail 0 with 8: the 12 packets elsewhere go to rail 1 until that has 8, and then in turn."""
    assert split(messages((0, 1, 8), (0, 8, 12)), chunk_packets=2)[0] == [(0, 1, 8), (0, 8, 2), (1, 9, 10)]


def test_loads_begin_anew_with_each_collective_and_each_step():
    one, two = (0, 8, 4), (0, 12, 4)
    assert split(messages(one, two))[0] == [(0, 8, 4), (1, 13, 4)]
    assert split(messages(one, two, group=np.array([0, 1]), groups=["a", "b"]))[0] == [(0, 8, 4), (0, 12, 4)]
    assert split(messages(one, (9, 0, 4), two, after=[(0, 1), (1, 2)]))[0][2] == (0, 12, 4)


def test_parts_wait_for_all_parts_of_what_a_message_waits_for():
    rows, after = split(messages((0, 8, 8), (8, 8, 0), (8, 0, 8), after=[(0, 1), (1, 2)]))
    assert rows == [(0, 8, 4), (1, 9, 4), (8, 8, 0), (8, 0, 4), (9, 1, 4)]
    assert after == [[0, 2], [1, 2], [2, 3], [2, 4]]
    rows, after = split(messages((0, 8, 8), (8, 0, 8), after=[(0, 1)]))
    assert after == [[0, 2], [0, 3], [1, 2], [1, 3]]


def test_a_limit_to_open_flows_stays_one_and_none_stays_none():
    rails = BALANCERS["rails"]()
    rows = [(0, 8, 8), (0, 12, 8)]
    assert rails.assign(SMALL, messages(*rows, open_flows=1)).open_flows == 1
    assert rails.assign(SMALL, messages(*rows, open_flows=2)).open_flows > 1 << 30


def test_more_chunks_than_can_be_shared_out_are_refused():
    given = messages(*[(0, 8, 1_000_000)] * 17)
    with pytest.raises(ScenarioError, match=r"^balancer\.chunk_packets = 1: makes 17000000 chunks"):
        BALANCERS["rails"](chunk_packets=1).assign(SMALL, given)


@st.composite
def traffic(draw):
    fabric = Fabric.build(*draw(st.sampled_from(SHAPES[:2] + SHAPES[4:])))
    hosts = st.integers(0, fabric.n_hosts - 1)
    rows = draw(st.lists(st.tuples(hosts, hosts, st.integers(1, 40)).filter(lambda row: row[0] != row[1]), min_size=1, max_size=20))
    after = [(i, j) for j in range(len(rows)) for i in range(j) if draw(st.sampled_from([0] * 9 + [1]))]
    group = draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    keys = {"chunk_packets": draw(st.integers(1, 8)), "ties": draw(st.sampled_from(["spread", "first"]))}
    return fabric, messages(*rows, after=after, group=np.array(group), groups=["a", "b"]), keys


@examples(150)
@given(traffic())
def test_all_packets_are_sent_between_the_same_servers_as_the_twin_says(case):
    fabric, given, keys = case
    rails = fabric.rails
    flows = BALANCERS["rails"](**keys).assign(fabric, given)

    def between(f):
        table = np.zeros((2, fabric.n_hosts, fabric.n_hosts), np.int64)
        np.add.at(table, (f.group, f.src // rails, f.dst // rails), f.packets)
        return table

    assert (between(flows) == between(given)).all()
    away = flows.src // rails != flows.dst // rails
    assert (flows.src % rails == flows.dst % rails)[away].all()
    parts, after, _ = parts_of(given, rails, {"kind": "rails", **keys})
    assert [(p.src, p.dst, p.packets) for p in parts] == [*zip(flows.src.tolist(), flows.dst.tolist(), flows.packets.tolist())]
    assert sorted(after) == sorted(map(tuple, flows.after.tolist()))


# --- runs
def test_two_rails_carry_a_message_in_half_the_time():
    """64 packets to a server below the same edge switches: 64 slots of 41.78 ns over one NIC, 32 over two; there and back are 2 links."""
    way = 2 * (500 + 41.58) + 2 * (500 + 0.64)
    one, two = run([[0, 2]], packets=64), run([[0, 2]], "rails", packets=64)
    assert one.cct_ns == pytest.approx(63 * 41.78 + way + 0.2, abs=1e-6)
    assert two.cct_ns == pytest.approx(31 * 41.78 + way + 0.2, abs=1e-6)
    assert one.lower_bound_ns == two.lower_bound_ns == pytest.approx(two.cct_ns, abs=1e-6)
    assert two.cct_inflation == 0


def test_a_dependent_starts_when_all_parts_are_there():
    """A ring of two servers: what comes back was sent a link's news after the last part had arrived, or at once at the same NIC."""
    keys = {"workload": {"kind": "ring_all_gather", "hosts": [0, 8, 12], "message_packets": 8}, "balancer": {"kind": "rails"}}
    result = simulate(Scenario.from_dict({"fabric": {"radix": 4, "rails": 2}, **keys}))
    inputs = prepare(result.scenario)
    assert result.finished
    assert len(result.flows) == 2 * 6
    for later in sorted(set(inputs.flows.after[:, 1].tolist())):
        earlier = inputs.flows.after[inputs.flows.after[:, 1] == later, 0]
        assert len(earlier) == 2
        here = inputs.flows.dst[earlier] == inputs.flows.src[later]
        told = result.flows["complete_ns"].to_numpy()[earlier] + np.where(here, 0, 500.64)
        assert sorted(here) == [False, True]
        assert result.flows["started_ns"][later] >= told.max() - 1e-6
        assert result.flows["started_ns"][later] < told.max() + 42  # at most a packet is before it


def test_the_bound_is_that_of_servers_and_the_same_for_all_schemes():
    """Four messages of 10 packets to NIC 0 of server 4: 40 packets over two NICs, 20 slots; all senders are 6 links away."""
    pairs = [[0, 8], [2, 8], [4, 8], [12, 8]]
    slot, near = 41.78, 6
    bound = 20 * slot + near * 500 + (near - 1) * 41.58 + near * 500.64
    for kind in ("ecmp", "ofan", "rails"):
        assert run(pairs, kind, packets=10).lower_bound_ns == pytest.approx(bound, abs=1e-6)
    assert run(pairs, "ecmp", packets=10).cct_ns >= bound + 19 * slot
