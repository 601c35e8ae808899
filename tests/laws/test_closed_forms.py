"""Cases whose times are known exactly: one flow, one packet, an incast. All without jitter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import ANYWHERE, balancers, examples, fabrics, packets, shape_of

from ofancore import Scenario, ScenarioError, simulate
from ofancore.fabric import Fabric


class Times:
    """T_d, T_a, T_g and the delay of a link in ns, each rounded to a picosecond as in the model."""

    def __init__(self, scenario):
        packet, keys = scenario.packet, scenario.fabric

        def on_the_wire(size):
            return round(size * 8000 / keys.link_gbps)

        self.data = on_the_wire(packet.payload_bytes + packet.header_bytes)
        self.ack = on_the_wire(packet.ack_bytes)
        self.gap = on_the_wire(packet.gap_bytes)
        self.delay = round(keys.link_delay_ns * 1000)

    def through(self, packets, hops):
        """Picoseconds until the last of `packets` back-to-back packets has arrived over `hops` empty links and its ACK's slot ended."""
        last_sent = (packets - 1) * (self.data + self.gap)
        return last_sent + hops * (self.data + self.delay) + hops * (self.ack + self.delay) + self.gap


@st.composite
def flows_to_one_host(draw, most):
    """(fabric keys, pairs, hops): up to `most` senders outside the receiver's pod (leaf, in a leaf-spine), all equally far."""
    keys = draw(fabrics(unlimited=True))
    shape = shape_of(keys)
    receiver = draw(st.integers(0, shape.n_hosts - 1))
    away = shape.pod_of if shape.tiers == 3 else shape.edge_of
    others = [host for host in range(shape.n_hosts) if away(host) != away(receiver)]
    senders = draw(st.lists(st.sampled_from(others), min_size=1, max_size=most, unique=True))
    return keys, [[sender, receiver] for sender in senders], 6 if shape.tiers == 3 else 4


def run(fabric, packet, balancer, workload, **more):
    scenario = Scenario.from_dict(
        {"fabric": fabric, "packet": packet, "balancer": balancer, "workload": {"kind": "pairs", **workload}, "start_jitter_ns": 0.0} | more
    )
    return simulate(scenario), Times(scenario)


@examples(60)
@given(flows_to_one_host(1), packets(unlimited=True), balancers(), st.integers(1, 100), st.integers(0, 100))
def test_a_single_flow_never_queues(case, packet, balancer, m, seed):
    fabric, pairs, hops = case
    result, times = run(fabric, packet, balancer, {"message_packets": m, "pairs": pairs}, seed=seed)
    assert result.finished
    assert result.queue_max_packets == 0
    assert not result.links["queue_mean_bytes"].any()
    assert result.ecn_marks == 0
    assert result.reorder_fraction == 0
    assert result.cct_ns * 1000 == pytest.approx(times.through(m, hops), abs=1e-3)
    assert result.cct_inflation == 0


@examples(60)
@given(flows_to_one_host(8), packets(unlimited=True), balancers(), st.integers(1, 30), st.integers(0, 100))
def test_an_incast_drains_in_its_closed_form_time(case, packet, balancer, m, seed):
    """The receiver's link is busy from the first arrival on, whichever ways the packets take: as if one sender sent them all.

    ACKs never wait: they leave one data slot apart and go the other way.
    """
    fabric, pairs, hops = case
    result, times = run(fabric, packet, balancer, {"message_packets": m, "pairs": pairs}, seed=seed)
    assert result.finished
    assert result.cct_ns * 1000 == pytest.approx(times.through(len(pairs) * m, hops), abs=1e-3)
    assert result.cct_inflation == 0
    receiver = pairs[0][1]
    last = result.links[result.links["class"] == 5].iloc[receiver]
    assert last["data"] == len(pairs) * m
    assert result.drops == {"buffer": 0, "dead_link": 0, "no_route": 0, "random": 0}


@pytest.mark.parametrize("hops", [2, 4, 6])
@pytest.mark.parametrize("kind", sorted(ANYWHERE))
def test_one_packet_between_one_pair(kind, hops):
    """4158 bytes at 800 Gb/s take 41.58 ns, an ACK 0.64 ns, a gap 0.2 ns, a link 500 ns."""
    receiver = {2: 1, 4: 4, 6: 127}[hops]
    result, _ = run({}, {}, {"kind": kind}, {"message_packets": 1, "pairs": [[0, receiver]]})
    assert result.cct_ns == pytest.approx(hops * (41.58 + 0.64 + 1000) + 0.2, abs=1e-6)
    assert result.packet_hops == 2 * hops
    assert result.packets == {"sent": 2, "delivered": 2, "dropped": 0, "in_flight": 0}


@pytest.mark.parametrize("workload", ["permutation", "all_to_all", "ring_all_gather"])
@pytest.mark.parametrize("m", [1, 2])
def test_collectives_of_two_hosts(workload, m):
    """A collective of two hosts is one packet stream each way: nothing queues, and the last data is not earlier than a lone flow's."""
    keys = {"workload": {"kind": workload, "message_packets": m, "hosts": [0, 127]}, "start_jitter_ns": 0.0}
    result = simulate(Scenario.from_dict(keys))
    assert result.finished
    assert result.queue_max_packets == 0
    assert len(result.flows) == 2
    assert result.cct_ns == pytest.approx(6 * (41.58 + 0.64 + 1000) + 0.2 + (m - 1) * 41.78, abs=1e-6)


def test_two_equal_streams_through_one_link():
    """Two senders of one edge switch to one host of another pod, three packets each: the sixth packet has waited three slots.

    Arrivals come in pairs every slot; the link sends one a slot, so the second of pair i finds i slots of queue, the first i - 1.
    """
    keys = {
        "fabric": {"radix": 4, "unlimited_buffer": True, "oversubscription": 2},  # one uplink: both streams meet there
        "workload": {"kind": "pairs", "message_packets": 3, "pairs": [[0, 15], [1, 15]]},
        "start_jitter_ns": 0.0,
    }
    result = simulate(Scenario.from_dict(keys))
    links = result.links
    assert result.queue_max_bytes["edge_agg"] == pytest.approx(3 * 4178)
    waited = (0 + 1) + (1 + 2) + (2 + 3)  # slots, the pairs in turn
    edge = links[(links["class"] == 1) & (links["data"] == 6)].iloc[0]
    assert edge["queue_mean_bytes"] == pytest.approx(4178 * waited * 41.78 / result.cct_ns)
    for name in ("agg_core", "core_agg", "agg_edge", "edge_host"):  # what left one link cannot queue at the next
        assert result.queue_max_bytes[name] == 0


def test_all_cables_dead_is_refused_by_name():
    keys = {"failures": {"link_failure_rate": 1.0}}
    with pytest.raises(ScenarioError, match=r"failures = .*no path between host:\d+ \(edge:\d+:\d+\) and host:\d+"):
        simulate(Scenario.from_dict(keys))


def test_a_cut_that_no_flow_needs_is_allowed():
    fabric = Fabric.build(4)
    dead = [{"cable": fabric.cable_name(cable)} for cable in range(fabric.n_cables)]
    keys = {
        "fabric": {"radix": 4},
        "workload": {"kind": "pairs", "pairs": [[0, 1]], "message_packets": 3},
        "failures": {"cables": dead},
    }
    assert simulate(Scenario.from_dict(keys)).finished
    keys["workload"]["pairs"] = [[0, 1], [2, 4]]
    with pytest.raises(ScenarioError, match=r"no path between host:2 \(edge:0:1\) and host:4"):
        simulate(Scenario.from_dict(keys))
