"""A run over time: what waits at every link, and what it was handed, at chosen times.

The engine can be left at any time and entered again: here it stops at every sample time. How a run is cut changes nothing in it. A queue
is what a link has taken and not sent yet, ACKs and gaps included, the packet being sent with its rest; so it exceeds what an arriving
packet finds (`Result.queue_max_bytes`) by up to one packet. Where control packets wait in a line of their own (`packet.control: priority`)
it may exceed that by more: both lines count here, there the arriving packet's own. As there, bytes are the time that this needs, times
the link's rate then.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ofancore.engine import layout as c
from ofancore.engine.world import World, advance, build_world
from ofancore.errors import EngineError, ScenarioError
from ofancore.fabric import LINK_CLASSES
from ofancore.outcome import build_result, rates
from ofancore.prepare import Inputs, prepare
from ofancore.result import Result
from ofancore.scenario import Scenario
from ofancore.simulation import simulate
from ofancore.units import TICKS_PER_NS, ticks, ticks_per_byte

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


def record(scenario: Scenario, times_ns: Sequence[float] | None = None, samples: int = SAMPLES, inputs: Inputs | None = None) -> Timeline:
    """Run a scenario and look at its links at `times_ns`; without them, from `samples` to twice as often, evenly from 0 on, and at the end.

    Times are taken to the nearest picosecond, before what happens at it. Where packets are still under way when the last flow is done, the
    last look is up to a link's delay later, and what these packets do after the end is followed in part. `inputs`: what `prepare` makes of
    the scenario, if that is at hand; they are used up. ScenarioError as `simulate`, for times that do not rise or lie beyond the end of a
    run that was stopped, and for more than `MOST_VALUES` samples of links.
    """
    if times_ns is not None:
        return _at_times(scenario, times_ns)
    if not isinstance(samples, int) or isinstance(samples, bool) or samples < 1:
        raise ScenarioError("samples", samples, "must be an integer of at least 1")
    _refuse_many(scenario, samples, looks=2)
    return _to_the_end(prepare(scenario) if inputs is None else inputs, samples)


def _at_times(scenario: Scenario, times_ns: Sequence[float]) -> Timeline:
    """In two runs: the first one says where the end is, which times may not be beyond."""
    result = simulate(scenario)
    times = _checked(times_ns, result)
    _refuse_many(scenario, len(times))
    inputs = prepare(scenario)
    w, status, looks = build_world(inputs, 1), c.TIME_LIMIT, []
    for now in (ticks(t) for t in times):
        if status == c.TIME_LIMIT:
            w, status = _run_until(w, now)
        looks.append(_look(inputs, w, now))
    return _timeline(result, times, looks)


def _to_the_end(inputs: Inputs, samples: int) -> Timeline:
    """In one run: whenever there are twice as many looks as wanted, every other one is dropped and the step between them doubled."""
    limit = int(inputs.conf[c.TIME_LIMIT_AT])
    step = max(1, min(inputs.lower_bound_ticks, limit) // samples)
    began = time.perf_counter()
    w, status, at, looks = build_world(inputs, 1), c.TIME_LIMIT, 0, []
    while status == c.TIME_LIMIT and at < limit:
        w, status = _run_until(w, at)
        if status == c.TIME_LIMIT:
            looks.append(_look(inputs, w, at))
            if len(looks) == 2 * samples:
                looks, step = looks[::2], 2 * step
            at = len(looks) * step
    if status == c.TIME_LIMIT:
        w, status = _run_until(w, limit)
    done = status == c.FINISHED_ALL
    whole = not done or _nothing_follows(inputs, w)
    wall = time.perf_counter() - began
    result = build_result(inputs, w, status, wall) if whole else simulate(inputs.scenario)
    stopped, last_ack = int(w.clock[c.NOW]), int(w.tx[:, c.DONE].max())
    end = stopped if not done else last_ack if whole else max(stopped, last_ack)  # the last ACK's time may have its gap in it
    times = step * np.arange(len(looks))
    if end > times[-1]:
        times = np.append(times, end)
        looks.append(_look(inputs, w, end))
    return _timeline(result, times / TICKS_PER_NS, looks)


def _nothing_follows(inputs: Inputs, w: World) -> bool:
    """Whether nothing came after the last ACK of a finished run; else it matters when the loop stopped, which hangs on where it was cut."""
    tail, place = w.link[:, c.TAIL], w.link[:, c.PLACE]
    used = tail > 0
    last = (place >> c.PLACE_BITS) + ((tail - 1) & ((1 << (place & c.PLACE_LOG)) - 1))
    arrived = w.ring[2 * last[used]].max(initial=0)
    waiting = tail.sum() - w.inbox[:, c.HEAD].sum() + (w.port[:, c.LAST : c.LAST + 2] - w.port[:, c.FIRST : c.FIRST + 2]).sum()
    told = (w.host[:, c.NOTE_FIRST] < 0).all()
    return waiting == 0 and told and arrived + inputs.times.gap <= w.tx[:, c.DONE].max()


def _look(inputs: Inputs, w: World, now: int) -> tuple[np.ndarray, np.ndarray]:
    """(bytes that wait, bytes handed over) by link, when all before tick `now` has happened."""
    packet, per_byte = inputs.scenario.packet, ticks_per_byte(inputs.scenario.fabric.link_gbps)
    rate = rates(inputs, len(inputs.cuts) and now > inputs.cuts[0, 0])
    queue = np.where(inputs.fabric.link_class > 0, np.maximum(w.link[:, c.FREE] - now, 0) * rate / per_byte, 0)
    return queue, w.link[:, c.COUNT] * (packet.payload_bytes + packet.header_bytes) + w.link[:, c.COUNT + 1] * packet.ack_bytes


def _timeline(result: Result, times: np.ndarray, looks: list[tuple[np.ndarray, np.ndarray]]) -> Timeline:
    queues, sent = (np.array(columns) for columns in zip(*looks, strict=True))
    return Timeline(result, times, queues, sent)


def _refuse_many(scenario: Scenario, samples: int, looks: int = 1) -> None:
    """ScenarioError for more samples, each of so many looks, than memory should hold."""
    links = scenario.shape.n_links
    most = MOST_VALUES // (looks * links)
    if samples > most:
        raise ScenarioError("samples", samples, f"must be at most {most} on a fabric of {links:,} links")


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
