"""Packets are neither made nor lost unseen: per flow, per switch, per link and in total."""

import numpy as np
import pytest
from hypothesis import given
from scenarios import connected, examples, rails_for, scenarios

from ofancore import BALANCERS, Scenario, simulate


def check(result):
    flows, links, packets = result.flows, result.links, result.packets
    assert packets["sent"] == packets["delivered"] + packets["dropped"] + packets["in_flight"]
    assert packets["dropped"] == sum(result.drops.values())
    assert (flows["delivered"] <= flows["sent"]).all()
    assert (flows["acked"] <= flows["delivered"]).all()
    assert (flows["delivered"] <= flows["packets"]).all()
    assert (flows["sent"] <= flows["packets"] + result.replaced_packets).all()

    nic, last = links[links["class"] == 0], links[links["class"] == 5]
    assert nic["data"].sum() + nic["acks"].sum() == packets["sent"]
    assert nic["data"].sum() == flows["sent"].sum()
    assert last["data"].sum() >= flows["delivered"].sum()
    assert not links["drops"].loc[nic.index].any()

    # what enters a switch leaves it or is dropped there, but for what waits to be read and what found no route or died on the way
    kinds = links["data"] + links["acks"]
    entered, left = kinds.groupby(links["head"]).sum(), (kinds + links["drops"]).groupby(links["tail"]).sum()
    switches = sorted(set(links["head"]) & set(links["tail"]) - set(nic["tail"]))
    missing = (entered.loc[switches] - left.loc[switches]).to_numpy()
    assert (missing >= 0).all()
    assert missing.sum() <= packets["in_flight"] + result.drops["no_route"] + result.drops["dead_link"] + result.drops["random"]

    if result.finished:
        assert packets["in_flight"] == 0
        assert (flows["delivered"] == flows["packets"]).all()
        assert (flows["acked"] == flows["packets"]).all()
        assert flows["sent"].sum() == flows["packets"].sum() + result.replaced_packets
        assert links["drops"].sum() + missing.sum() == packets["dropped"]
        times = flows.loc[flows["packets"] > 0, ["started_ns", "complete_ns", "done_ns"]].to_numpy()  # computations end as they start
        assert (np.diff(times) > 0).all()
        assert result.cct_ns == flows["done_ns"].max()
        assert result.last_data_ns == flows["complete_ns"].max()


@examples(60)
@given(scenarios())
def test_small_fabrics(keys):
    check(simulate(connected(keys)))


@pytest.mark.parametrize("kind", sorted(BALANCERS))
def test_paper_fabric_with_short_buffers_and_a_failure(kind):
    keys = {
        "fabric": {"buffer_bytes": 20 * 4178, **rails_for(kind)},
        "workload": {"kind": "permutation", "message_packets": 100},
        "balancer": {"kind": kind},
        "failures": {"link_failure_rate": 0.01, "at_ns": 3_000.0, "convergence_ns": 9_000.0},
        "seed": 3,
    }
    result = simulate(Scenario.from_dict(keys))
    check(result)
    assert result.finished
    assert result.packets["dropped"] > 0
