"""A small run of a balancer of one's own, and all that it decided."""

import json

import numpy as np

from ofancore import Scenario, simulate
from ofancore.result import Result

SMALL = {"fabric": {"radix": 4, "buffer_bytes": 50_000}, "workload": {"message_packets": 60}}


def run(kind, threads=1, **keys) -> Result:
    return simulate(Scenario.from_dict({**SMALL, "balancer": {"kind": kind}, **keys}), threads)


def outcome(result: Result) -> str:
    """All that a run decided, but for what it says of state in hardware."""
    values = {key: value for key, value in result.values.items() if not key.startswith(("pointers", "state"))}
    tables = {key: np.asarray(column).tolist() for table in (result.flow, result.link) for key, column in table.items()}
    return json.dumps([values, tables])
