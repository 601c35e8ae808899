"""Closed loop: every message arrives whole under any pair of recovery and control, windows keep their limits, flows share a link."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.twins import run_engine
from scenarios import connected, examples, scenarios

from ofancore import CONGESTION, RECOVERY, Scenario, simulate
from ofancore.congestion import base
from ofancore.engine import layout as c
from ofancore.prepare import prepare
from ofancore.units import ns, ticks

WINDOWED = [kind for kind, control in CONGESTION.items() if control.windowed]


def check(result):
    """Conservation, which holds at any moment, and what must be true of a run that is over."""
    flows, packets = result.flows, result.packets
    assert packets["sent"] == packets["delivered"] + packets["dropped"] + packets["in_flight"]
    assert (flows["delivered"] <= flows["packets"]).all()
    assert (flows["acked"] <= flows["delivered"]).all()
    assert (flows["sent"] - flows["resent"] <= flows["packets"] + result.replaced_packets).all()
    assert (flows["delivered"] + flows["duplicates"] <= flows["sent"]).all()
    if result.finished:
        assert (flows["delivered"] == flows["packets"]).all()
        assert (flows["acked"] == flows["packets"]).all()
        assert flows[["complete_ns", "done_ns"]].notna().all(axis=None)
        assert result.cct_ns >= result.lower_bound_ns
    else:
        assert result.ended_ns == ns(ticks(result.scenario.time_limit_ns))  # not at the end of a window or of a jump
        assert np.isnan(result.cct_ns)


@pytest.mark.parametrize("recovery", RECOVERY)
@pytest.mark.parametrize("congestion", CONGESTION)
def test_messages_arrive_or_the_time_limit_ends_the_run(congestion, recovery):
    """Over all balancers and workloads, with buffers from one packet on, with and without failures."""

    @examples(12)
    @given(scenarios(congestion=(congestion,), recovery=(recovery,)))
    def run(keys):
        check(simulate(connected(keys)))

    run()


@pytest.mark.parametrize("recovery", RECOVERY)
@pytest.mark.parametrize("congestion", CONGESTION)
def test_incast_into_a_buffer_of_four_packets_ends(congestion, recovery):
    """Losses by the hundred, and not one packet more or less than the message."""
    keys = {
        "fabric": {"radix": 4, "buffer_bytes": 4 * 4178},
        "workload": {"kind": "pairs", "message_packets": 200, "pairs": [[4, 0], [8, 0], [12, 0], [5, 0]]},
        "balancer": {"kind": "ops"},
        "congestion": {"kind": congestion},
        "recovery": {"kind": recovery},
    }
    result = simulate(Scenario.from_dict({**keys, "time_limit_ns": 1e8}))
    check(result)
    assert result.finished
    assert sum(result.drops.values()) + result.trimmed_packets > 0


@pytest.mark.parametrize("recovery", RECOVERY)
@pytest.mark.parametrize("congestion", WINDOWED)
def test_windows_keep_their_limits(congestion, recovery):
    """At any moment: runs are stopped early."""

    @examples(15)
    @given(scenarios(congestion=(congestion,), recovery=(recovery,)), st.floats(0.003, 1.0))
    def run(keys, stop):
        prepared = prepare(connected({**keys, "time_limit_ns": stop * keys["time_limit_ns"]}))
        w, _ = run_engine(prepared)
        windows, cap = w.cs.cc[:, base.CWND], w.cs.par[base.CAP]
        assert (windows >= 1).all()
        assert (windows <= cap).all()
        assert (w.tx[:, c.FLYING] >= 0).all()
        assert (w.tx[:, c.FLYING] <= np.ceil(cap)).all()

    run()


def two_flows(congestion, message_packets=6000, **keys):
    """Two hosts of other pods that send to one host for long."""
    workload = {"kind": "pairs", "message_packets": message_packets, "pairs": [[4, 0], [8, 0]]}
    fabric = {"radix": 4, "unlimited_buffer": True}
    data = {"fabric": fabric, "workload": workload, "balancer": {"kind": "ofan"}, "congestion": congestion, "recovery": {"kind": "sack"}}
    return simulate(Scenario.from_dict(data | keys))


@pytest.mark.parametrize("congestion", [*WINDOWED, "dcqcn"])
def test_two_flows_share_a_link(congestion):
    """Equal messages that start together end within a fifth of each other, and the link is busy nine tenths of the time at least.

    DCTCP fills a link only if marks begin above a seventh of the bandwidth-delay product (its paper, section 3.3); here they begin below.
    """
    result = two_flows({"kind": congestion})
    done = result.flows["done_ns"]
    assert done.min() > 0.8 * done.max()
    alone = 2 * 6000 * 4178 * 8 / 800
    assert result.cct_ns < alone / (0.6 if congestion == "dctcp" else 0.9)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("congestion", [*WINDOWED, "dcqcn"])
def test_a_late_flow_comes_to_its_share(congestion, seed):
    """One flow starts when the other has had the link for itself for 43 or 58 us.

    Rates that converge leave a head start that does not grow: of ten times as many packets it is a smaller part.
    """

    def apart(message_packets):
        flows = two_flows({"kind": congestion}, message_packets, start_jitter_ns=80_000.0, seed=seed).flows
        assert abs(flows["started_ns"].diff().iloc[-1]) > 40_000
        return abs(flows["done_ns"].diff().iloc[-1]) / flows["done_ns"].max()

    late = apart(60_000)
    assert late < 0.15
    assert late < 0.6 * apart(6_000)


@pytest.mark.parametrize("kind", ["swift", "mswift"])
@pytest.mark.parametrize("target", [5.0, 20.0])
def test_delay_controls_hold_the_queue_near_their_target(kind, target):
    """Two windows over one link: the mean queue stays between a quarter of the target and twice the target."""
    result = two_flows({"kind": kind, "target_packets": target, "initial_window_bdp": 0.3})
    links = result.links
    queue = links.loc[(links["class"] == 5), "queue_mean_bytes"].max() / 4178
    assert target / 4 < queue < 2 * target


@pytest.mark.parametrize("target", [0.25, 0.5, 1.0])
def test_nscc_holds_the_queue_near_its_target(target):
    """The target is a share of the base round trip, in which 150 packets leave."""
    result = two_flows({"kind": "nscc", "target_rtts": target, "initial_window_bdp": 0.3})
    queue = result.links.loc[(result.links["class"] == 5), "queue_mean_bytes"].max() / 4178
    assert 0.7 < queue / (150 * target) < 1.4


def test_dcqcn_holds_the_queue_near_its_threshold():
    """Marks begin at 10% of 800 KB, 19 packets: rates fall before many more wait, and the link stays busy."""
    result = two_flows({"kind": "dcqcn"}, message_packets=20_000)
    queue = result.links.loc[(result.links["class"] == 5), "queue_mean_bytes"].max() / 4178
    assert 19 / 4 < queue < 2 * 19
    assert result.cct_ns < 2 * 20_000 * 4178 * 8 / 800 / 0.8


def test_dctcp_holds_the_queue_below_its_threshold():
    """Marks begin at 30% of 800 KB, 57 packets, above a seventh of the bandwidth-delay product: the link stays busy."""
    fabric = {"radix": 4, "unlimited_buffer": True, "ecn": {"min_fraction": 0.3}}
    result = two_flows({"kind": "dctcp", "initial_window_bdp": 0.3}, message_packets=20_000, fabric=fabric)
    queue = result.links.loc[(result.links["class"] == 5), "queue_mean_bytes"].max() / 4178
    assert 57 / 3 < queue < 57 * 1.3
    assert result.cct_ns < 2 * 20_000 * 4178 * 8 / 800 / 0.95


def test_go_back_n_resends_nothing_where_packets_keep_their_order():
    result = simulate(
        Scenario.from_dict({"balancer": {"kind": "ecmp"}, "recovery": {"kind": "go_back_n"}, "fabric": {"unlimited_buffer": True}})
    )
    assert result.finished
    assert result.resent_packets == result.refused_packets == 0


def test_sack_with_a_threshold_beyond_the_reordering_resends_nothing():
    """OPS reorders by far more than 6 packets and far less than 1000."""
    keys = {"balancer": {"kind": "ops"}, "workload": {"message_packets": 512}, "fabric": {"unlimited_buffer": True}}
    patient = simulate(Scenario.from_dict(keys | {"recovery": {"kind": "sack", "reorder_packets": 1000}}))
    hasty = simulate(Scenario.from_dict(keys | {"recovery": {"kind": "sack", "reorder_packets": 6}}))
    assert patient.resent_packets == patient.spurious_packets == 0
    assert hasty.resent_packets >= hasty.spurious_packets > 0


def test_trimming_repairs_without_timeouts():
    """What full buffers trim is asked for again at once; nothing waits for a timeout."""
    keys = {
        "balancer": {"kind": "ecmp"},
        "fabric": {"buffer_bytes": 20 * 4178},
        "congestion": {"kind": "nscc"},
        "recovery": {"kind": "trim"},
    }
    result = simulate(Scenario.from_dict(keys))
    assert result.finished
    assert result.trimmed_packets > 0
    assert result.resent_packets == result.trimmed_packets
    assert result.timeouts == 0


@pytest.mark.parametrize("recovery", RECOVERY)
@pytest.mark.parametrize("congestion", CONGESTION)
def test_messages_arrive_over_lossy_switches(congestion, recovery):
    """Of 100 packets one is lost at each switch, data and ACKs alike."""
    keys = {"fabric": {"radix": 4}, "workload": {"message_packets": 200}, "balancer": {"kind": "ops"}, "time_limit_ns": 1e8}
    parts = {"congestion": {"kind": congestion}, "recovery": {"kind": recovery}, "failures": {"loss_rate": 0.01}}
    result = simulate(Scenario.from_dict(keys | parts))
    check(result)
    assert result.finished
    visits = result.packet_hops - result.packets["delivered"]
    assert 0.006 < result.drops["random"] / visits < 0.014


def test_a_dead_link_that_is_never_learnt_of_costs_timeouts_but_no_data():
    """Sprayed packets that died are sent again by other paths."""
    failures = {"cables": [{"cable": "agg:0:0-core:0:0"}], "convergence_ns": "inf"}
    keys = {"balancer": {"kind": "reps"}, "failures": failures, "congestion": {"kind": "mswift"}, "recovery": {"kind": "sack"}}
    result = simulate(Scenario.from_dict(keys | {"workload": {"message_packets": 64}}))
    assert result.finished
    assert result.drops["dead_link"] > 0
    assert result.resent_packets > 0
