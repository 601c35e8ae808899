"""What each collective of a run took, and the step as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from ofancore.units import ns
from ofancore.workloads import Flows

NAN = float("nan")


def collective_table(flows: Flows, started_ticks: np.ndarray, done_ticks: np.ndarray, bounds_ticks: np.ndarray) -> dict[str, Any]:
    """The collectives of a run by name, in the order of `flows.groups`, and the step.

    started_ticks, done_ticks: int64[n_flows], when a flow sent its first packet and when its last ACK was in (for a local flow both are
    the end of its computation); -1: not yet, which makes the values that hang on it NaN. bounds_ticks: int64[n_groups], see
    `bounds.paced_group_bounds`.

    A collective starts with its first packet at any rank and ends with its last ACK at any rank. Its bound is that of the collective
    alone with all ranks ready at its start, so `cct_over_ideal` holds all that made it longer: queues, ranks that came
    late, and, where collectives overlap, the share of the links that the other one had. The step ends with the last collective or
    computation; `compute_ns` is what the busiest host computed, and `exposed_ns` the rest of the step: communication that computing did
    not hide.
    """
    local = flows.group < 0
    table = {}
    for g, name in enumerate(flows.groups):
        own = flows.group == g
        started, done = started_ticks[own], done_ticks[own]
        start = ns(int(started[started >= 0].min())) if (started >= 0).any() else NAN
        end = ns(int(done.max())) if (done >= 0).all() else NAN
        bound = ns(int(bounds_ticks[g]))
        cct = end - start
        table[name] = {
            "name": name,
            "start_ns": start,
            "end_ns": end,
            "cct_ns": cct,
            "ideal_ns": bound,
            "cct_over_ideal": (cct - bound) / bound,
        }
    step = ns(int(done_ticks.max())) if (done_ticks >= 0).all() else NAN
    compute = float(np.bincount(flows.src[local], weights=flows.delay_ns[local]).max()) if local.any() else 0.0
    return {"collectives": list(table.values()), "step_ns": step, "compute_ns": compute, "exposed_ns": step - compute}
