"""The table of collectives, by hand."""

import math

import numpy as np
import pytest

from ofancore.collectives import collective_table
from ofancore.workloads import Flows

# two collectives of two flows each, and a computation at host 0 and at host 1
FLOWS = Flows(
    src=np.array([0, 1, 0, 1, 0, 1]),
    dst=np.array([1, 0, 0, 1, 1, 0]),
    packets=np.array([3, 3, 0, 0, 3, 3]),
    delay_ns=np.array([0.0, 0.0, 50.0, 60.0, 0.0, 0.0]),
    group=np.array([0, 0, -1, -1, 1, 1]),
    groups=["AG backward 0", "RS 0"],
)
STARTED = np.array([1000, 2000, 90_000, 95_000, 90_000, 96_000])
DONE = np.array([31_000, 41_000, 90_000, 95_000, 140_000, 136_000])
BOUNDS = np.array([32_000, 25_000])


def named(table):
    """The collectives by name, without that name."""
    return {row["name"]: {key: value for key, value in row.items() if key != "name"} for row in table["collectives"]}


def test_times_bounds_and_the_step():
    table = collective_table(FLOWS, STARTED, DONE, BOUNDS)
    assert list(named(table)) == ["AG backward 0", "RS 0"]
    assert named(table)["AG backward 0"] == pytest.approx(
        {"start_ns": 1.0, "end_ns": 41.0, "cct_ns": 40.0, "ideal_ns": 32.0, "cct_over_ideal": 0.25}
    )
    assert named(table)["RS 0"]["cct_over_ideal"] == pytest.approx(1.0)
    assert table["step_ns"] == 140.0
    assert table["compute_ns"] == 60.0
    assert table["exposed_ns"] == 80.0


def test_what_has_not_ended_is_not_a_number():
    done = DONE.copy()
    done[4] = -1
    table = collective_table(FLOWS, STARTED, done, BOUNDS)
    assert named(table)["AG backward 0"]["cct_ns"] == 40.0
    assert named(table)["RS 0"]["start_ns"] == 90.0
    assert all(math.isnan(named(table)["RS 0"][key]) for key in ("end_ns", "cct_ns", "cct_over_ideal"))
    assert math.isnan(table["step_ns"])
    assert math.isnan(table["exposed_ns"])


def test_a_step_may_end_with_a_computation():
    done = DONE.copy()
    done[2] = 200_000
    assert collective_table(FLOWS, STARTED, done, BOUNDS)["step_ns"] == 200.0


def test_no_computation_and_nothing_started():
    flows = Flows(np.array([0]), np.array([1]), np.array([1]))
    table = collective_table(flows, np.array([-1]), np.array([-1]), np.array([5]))
    assert list(named(table)) == ["all"]
    assert math.isnan(named(table)["all"]["start_ns"])
    assert table["compute_ns"] == 0.0
