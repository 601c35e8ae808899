"""A run over time: what waits at every link, and what it was handed, at chosen times.

The engine can be left at any time and entered again. Here it runs a scenario once to the end, which gives the result, and a second time
with a stop at every sample time; how a run is cut changes nothing in it. A queue is what a link has taken and not sent yet, ACKs and gaps
included, the packet being sent with its rest; so it exceeds what an arriving packet finds (`Result.queue_max_bytes`) by up to one
packet. As there, bytes are the time that what waits needs, times the link's rate at that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ofancore.engine import layout as c
from ofancore.engine.world import World, advance, build_world
from ofancore.errors import EngineError, ScenarioError
from ofancore.fabric import LINK_CLASSES
from ofancore.outcome import rates
from ofancore.prepare import prepare
from ofancore.result import Result
from ofancore.scenario import Scenario
from ofancore.simulate import simulate
from ofancore.units import ticks, ticks_per_byte

SAMPLES = 200
MOST_VALUES = 50_000_000  # samples times links: 800 MB


@dataclass(frozen=True)
class Timeline:
    """A run at n times. Columns are directed links by number, as the rows of `Result.links`.

    `result`: what `simulate` gives. `times_ns`: float64[n], rising. `queue_bytes`: float64[n, n_links], waiting at the link at that time, 0
    at hosts. `sent_bytes`: int64[n, n_links], data and ACKs handed to the link before that time, without gaps.
    """

    result: Result
    times_ns: np.ndarray
    queue_bytes: np.ndarray
    sent_bytes: np.ndarray

    @property
    def packet_bytes(self) -> int:
        """Bytes of a data packet and its gap on a link: what queues in packets are counted in."""
        packet = self.result.scenario.packet
        return packet.payload_bytes + packet.header_bytes + packet.gap_bytes


def record(scenario: Scenario, times_ns: Sequence[float] | None = None, samples: int = SAMPLES) -> Timeline:
    """Run a scenario and look at its links at `times_ns`; by default at `samples` + 1 times evenly spread from 0 to the end of the run.

    Times are taken to the nearest picosecond, before what happens at it. ScenarioError as `simulate`, for times that do not rise or lie
    beyond the end of a run that was stopped, and for more than `MOST_VALUES` samples of links.
    """
    result = simulate(scenario)
    if times_ns is None:
        if not isinstance(samples, int) or isinstance(samples, bool) or samples < 1:
            raise ScenarioError("samples", samples, "must be an integer of at least 1")
        times = np.linspace(0.0, result.ended_ns, samples + 1)
    else:
        times = _checked(times_ns, result)
    n_links = scenario.shape.n_links
    if len(times) * n_links > MOST_VALUES:
        raise ScenarioError("samples", len(times), f"must be at most {MOST_VALUES // n_links} on a fabric of {n_links:,} links")
    packet, per_byte = scenario.packet, ticks_per_byte(scenario.fabric.link_gbps)
    at_switch = scenario.shape.link_class > 0
    queue, sent = np.zeros((len(times), n_links)), np.zeros((len(times), n_links), np.int64)
    inputs = prepare(scenario)
    w = build_world(inputs, 1)
    status = c.TIME_LIMIT
    for row, now in enumerate(ticks(t) for t in times):
        if status == c.TIME_LIMIT:
            w, status = _run_until(w, now)
        rate = rates(inputs, len(inputs.cuts) and now > inputs.cuts[0, 0])
        queue[row] = np.where(at_switch, np.maximum(w.link[:, c.FREE] - now, 0) * rate / per_byte, 0)
        sent[row] = w.link[:, c.COUNT] * (packet.payload_bytes + packet.header_bytes) + w.link[:, c.COUNT + 1] * packet.ack_bytes
    return Timeline(result, times, queue, sent)


def _checked(times_ns: Sequence[float], result: Result) -> np.ndarray:
    times = np.asarray(times_ns, float)
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or times[0] < 0 or (np.diff(times) <= 0).any():
        raise ScenarioError("times_ns", times_ns, "must be numbers from 0 on, each larger than the one before")
    if not result.finished and times[-1] > result.ended_ns:
        raise ScenarioError("times_ns", float(times[-1]), f"must not be beyond {result.ended_ns:g} ns, where the run was stopped")
    return times


def _run_until(w: World, tick: int) -> tuple[World, int]:
    """(world, status) when all that happens before `tick` has happened, or all flows are done."""
    w.conf[c.TIME_LIMIT_AT] = tick
    w, status = advance(w)
    if status not in (c.TIME_LIMIT, c.FINISHED_ALL):
        raise EngineError(f"a run that was cut ended with status {status}, the whole one did not")
    return w, status


def queues(timeline: Timeline) -> pd.DataFrame:
    """A row a sample time: `time_ns`, and `largest` and `mean` over all switch ports of what waits there, in data packets (float64)."""
    at_switch = timeline.result.scenario.shape.link_class > 0
    waiting = timeline.queue_bytes[:, at_switch] / timeline.packet_bytes
    return pd.DataFrame({"time_ns": timeline.times_ns, "largest": waiting.max(axis=1), "mean": waiting.mean(axis=1)})


def stage_queues(timeline: Timeline) -> pd.DataFrame:
    """The same by stage: a row a sample time and link class that the fabric has (`stage`), in order of time, then from host to host."""
    kinds = timeline.result.scenario.shape.link_class
    tables = []
    for number in np.unique(kinds[kinds > 0]):
        waiting = timeline.queue_bytes[:, kinds == number] / timeline.packet_bytes
        columns = {"time_ns": timeline.times_ns, "stage": LINK_CLASSES[number]}
        tables.append(pd.DataFrame({**columns, "largest": waiting.max(axis=1), "mean": waiting.mean(axis=1)}))
    return pd.concat(tables).sort_values("time_ns", kind="stable", ignore_index=True)
