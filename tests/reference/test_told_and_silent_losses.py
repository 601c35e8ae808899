"""Which losses balancers are told of as silent: timeouts and, under erasure, dead links; NACKs, overtaken packets and full buffers are not.

Seen by the penalties that uec_bitmap keeps when only one of the two kinds has any.
"""

import pytest

from ofancore import Scenario
from ofancore.engine import layout as c
from ofancore.prepare import prepare

from .twins import run_engine

INCAST = {"kind": "pairs", "message_packets": 200, "pairs": [[host, 0] for host in range(4, 16)]}
ACROSS = {"kind": "pairs", "message_packets": 200, "pairs": [[0, 8]]}


def labels_penalised(nack, timeout, recovery, workload, failures=(), **fabric):
    """(labels with a penalty in the middle of the run, timeouts so far)."""
    keys = {
        "fabric": {"radix": 4, **fabric},
        "balancer": {"kind": "uec_bitmap", "labels": 256, "ecn_penalty": 0, "nack_penalty": nack, "timeout_penalty": timeout},
        "workload": workload,
        "failures": {"cables": list(failures), "convergence_ns": "inf", "detection_ns": 1e9} if failures else {},
        "recovery": {"kind": recovery},
        "congestion": {"kind": "line_rate", **({"pace_failures": False} if failures else {})},
        "time_limit_ns": 2e5,
    }
    w, _ = run_engine(prepare(Scenario.from_dict(keys)))
    rows = w.hx.reg.reshape(len(w.tx), -1)
    return int((rows[:, 2:] != 0).sum()), int(w.tx[:, c.TIMEOUTS].sum())


@pytest.mark.parametrize("recovery", ["erasure", "trim", "sack", "go_back_n"])
def test_full_buffers_are_heard_of(recovery):
    """An incast that overflows: what the oracle, a NACK or a later packet's ACK tells of is no silence."""
    told, _ = labels_penalised(4, 0, recovery, INCAST, buffer_bytes=40_000)
    silent, timeouts = labels_penalised(0, 15, recovery, INCAST, buffer_bytes=40_000)
    assert told > 0
    assert (silent > 0) == (timeouts > 0)


@pytest.mark.parametrize("recovery", ["erasure", "trim"])
def test_dead_links_are_silent(recovery):
    dead = [{"cable": "agg:0:0-core:0:0", "capacity": 0.0}]
    told, _ = labels_penalised(4, 0, recovery, ACROSS, dead)
    silent, timeouts = labels_penalised(0, 15, recovery, ACROSS, dead)
    assert told == 0
    assert silent > 0
    assert (timeouts > 0) == (recovery != "erasure")
