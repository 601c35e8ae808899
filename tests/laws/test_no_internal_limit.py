"""Legal scenarios far from the default ones end in a result, not at an internal limit of the engine."""

import math

import pytest

from ofancore import Scenario, simulate


def run(**keys):
    return simulate(Scenario.from_dict(keys))


@pytest.mark.parametrize("delay_ns", [10_000.0, 50_000.0])
def test_long_links(delay_ns):
    """Hundreds of packets on a link at once, all sent within one lookahead."""
    result = run(fabric={"radix": 8, "link_delay_ns": delay_ns}, workload={"kind": "permutation", "message_packets": 2000})
    assert result.finished
    assert result.cct_inflation < 0.05


def test_many_losses_at_once():
    result = run(
        fabric={"radix": 6, "buffer_bytes": 600},
        packet={"payload_bytes": 64},
        workload={"kind": "all_to_all", "message_packets": 300},
        balancer={"kind": "ecmp"},
        time_limit_ns=3e5,
    )
    assert result.packets["sent"] == result.packets["delivered"] + result.packets["dropped"] + result.packets["in_flight"]


@pytest.mark.parametrize("seed", [5, 14])
def test_acks_that_never_come_through(seed):
    """The one path of all ACKs is dead and no switch learns of it: the oracle tells what they would have told."""
    result = run(
        fabric={"radix": 4},
        workload={"kind": "pairs", "pairs": [[0, 15]], "message_packets": 30_000},
        balancer={"kind": "ecmp"},
        failures={
            "cables": [{"cable": "agg:3:0-core:0:0"}, {"cable": "agg:3:1-core:1:0"}],
            "detection_ns": 1e9,
            "convergence_ns": math.inf,
        },
        time_limit_ns=2e6,
        seed=seed,
    )
    assert result.finished
    assert result.drops["dead_link"] == 30_000
    assert result.replaced_packets == 0


def test_slowest_and_fastest_links():
    for gbps in (0.001, 12_000.0):
        assert run(fabric={"radix": 4, "link_gbps": gbps}, workload={"kind": "permutation", "message_packets": 5}).finished


def test_no_propagation_delay():
    result = run(fabric={"link_delay_ns": 0.0}, workload={"kind": "permutation", "message_packets": 100})
    assert result.finished
    assert result.cct_ns >= result.lower_bound_ns


def test_the_longest_link_with_one_packet():
    assert run(fabric={"radix": 4, "link_delay_ns": 1e9}, workload={"kind": "pairs", "message_packets": 1}).finished
