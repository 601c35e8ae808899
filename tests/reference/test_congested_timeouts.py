"""Whether a timeout is put down to congestion: a round trip of 1.65 base ones or more, not longer than one or two timeouts ago."""

import pytest

from ofancore import Scenario
from ofancore.balancers.reps import FROZEN, WORDS
from ofancore.engine import layout as c
from ofancore.prepare import prepare
from ofancore.recovery.base import congested_rtt
from ofancore.reference.recoveries import RECOVERIES
from ofancore.reference.transport import Flow

from .twins import run_engine


def sack(base=100, rto=1000):
    flow = Flow(0, 0, 1, 10)
    return RECOVERIES["sack"](flow, None, None, 16, base, rto, 3, 1)


@pytest.mark.parametrize("base", [1, 19, 20, 100, 12345])
def test_both_twins_draw_the_line_at_1_65_round_trips(base):
    limit = congested_rtt(base)
    assert limit - 1 < 1.65 * base <= limit
    for rtt in (limit - 1, limit):
        end = sack(base)
        end.measured(0, rtt)
        assert end.congested(0) == (rtt == limit)


def test_a_long_round_trip_is_remembered_for_one_to_two_timeouts():
    end = sack()
    end.measured(2500, 165)  # the first after a long time: a period begins here
    assert end.congested(3499)
    end.measured(3500, 100)  # the next period; the one before still counts
    assert end.congested(4499)
    assert not end.congested(4500)


def test_silence_of_two_timeouts_forgets():
    end = sack()
    end.measured(10, 500)
    assert end.congested(1999)
    assert not end.congested(4000)


def frozen(pairs) -> int:
    """Senders whose ring is frozen after 100 us, of pairs that lose packets by chance."""
    workload = {"kind": "pairs", "message_packets": 400, "pairs": pairs}
    keys = {
        "fabric": {"radix": 4},
        "balancer": {"kind": "reps", "freeze_ns": 1e9},
        "workload": workload,
        "time_limit_ns": 1e5,
        "failures": {"loss_rate": 0.02},
    }
    keys |= {"congestion": {"kind": "line_rate"}, "recovery": {"kind": "sack", "reorder_packets": 4096}}
    w, _ = run_engine(prepare(Scenario.from_dict(keys)))
    assert w.tx[:, c.TIMEOUTS].sum() > 0
    return int(w.hx.reg.reshape(-1, WORDS)[:, FROZEN].sum())


def test_timeouts_of_an_empty_network_freeze_and_those_behind_a_long_queue_do_not():
    assert frozen([[0, 8]]) == 1
    assert frozen([[host, 0] for host in range(4, 16)]) == 0
