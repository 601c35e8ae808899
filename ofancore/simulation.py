"""The narrow waist: `simulate(scenario) -> Result` is the only way into the engine.

It expands the scenario (`prepare`), calls the loop, grows what turns out too small, checks the status, and builds the result (`outcome`).
"""

from __future__ import annotations

import time

from ofancore.console import tell_of_compiling
from ofancore.engine import layout as c
from ofancore.engine.world import advance, build_world
from ofancore.errors import EngineError, ScenarioError
from ofancore.outcome import build_result
from ofancore.prepare import prepare
from ofancore.result import Result
from ofancore.scenario import Scenario

# A minute in which nothing else is to be seen: in a notebook or on a terminal a line says so. Commands say it wherever they run.
tell_of_compiling()


def simulate(scenario: Scenario, threads: int = 1) -> Result:
    """Run a scenario to its end.

    `threads` shares the nodes of one large fabric among threads; the result is the same for any number. Raises ScenarioError (what
    was asked cannot be), EngineError (an internal limit).
    """
    if not isinstance(scenario, Scenario):
        raise ScenarioError("scenario", type(scenario).__name__, "simulate takes a Scenario (Scenario.from_dict makes one)")
    if not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= 64:
        raise ScenarioError("threads", threads, "must be an integer from 1 to 64")
    i = prepare(scenario)
    w = build_world(i, threads)
    if threads > 1:
        import numba

        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    began = time.perf_counter()
    w, status = advance(w, parallel=threads > 1)
    wall = time.perf_counter() - began
    if status == c.FAULTY:
        if failure := scenario.balancer.failure(w.sw.own, i.fabric):
            raise failure
        raise EngineError(f"the engine ran into internal limit {w.stats[:, c.FAULT].max()} (see engine/layout.py)")
    if status == c.STUCK:
        raise EngineError("nothing is left to happen and flows are not done: the engine lost track of them")
    return build_result(i, w, status, wall)
