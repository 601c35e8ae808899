"""Which flow sent what into which link: the slow twin, watched.

The engine keeps totals a link. The twin handles the same packets one by one, so an observer can tell them apart; it is stopped where
the engine stopped, and its totals must be the engine's, link by link. It takes about a thousand times as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from ofancore.errors import EngineError, ScenarioError
from ofancore.prepare import prepare
from ofancore.progress import duration
from ofancore.reference import inputs_of
from ofancore.reference.run import Inputs, Run
from ofancore.result import Result

HOPS_PER_S = 30_000  # of the slow twin on one core of a cloud machine, for estimates
MOST_HOPS = 6_000_000  # three minutes
LOOK_EVERY = 5_000  # packet-hops between two looks at the clock

Progress = Callable[[int, int, float], None]  # packet-hops done, of how many, seconds since the start


class WatchedRun(Run):
    """A run of the slow twin that notes, for every flow and link, packets by size and the times of the first and the last one."""

    def __init__(self, inputs: Inputs, total: int, progress: Progress | None = None):
        self.use: dict[tuple[int, int], list[int]] = {}  # (flow, link) -> [data, small packets, first tick, last tick]
        self.seen, self.total, self.progress = 0, total, progress
        self.began = time.monotonic()
        super().__init__(inputs)

    def record(self, now, node, port, link, packet):
        """Called for every packet that is handed to a link."""
        entry = self.use.get((packet.flow, link))
        if entry is None:
            entry = self.use[packet.flow, link] = [0, 0, now, now]
        entry[packet.small] += 1
        entry[3] = now
        self.seen += 1
        if self.progress and self.seen % LOOK_EVERY == 0:
            self.progress(self.seen, self.total, time.monotonic() - self.began)

    @property
    def finished(self) -> bool:
        """As many packets as the engine has handed over: the twins go alike, so it is the same ones."""
        return self.seen >= self.total


def flow_use(result: Result, force: bool = False, progress: Progress | None = None) -> pd.DataFrame:
    """The columns of `glossary.USE`, a row for each flow and link that it sent into, by flow and link.

    `result` is what `simulate` gave. ScenarioError for more than `MOST_HOPS` packet-hops, unless `force`; EngineError if the twin's totals
    are not the engine's. `progress` is called now and then.
    """
    total = int(result.link["data"].sum() + result.link["acks"].sum())
    if total > MOST_HOPS and not force:
        about = duration(total / HOPS_PER_S)
        raise ScenarioError("packet hops", total, f"flow by flow at most {MOST_HOPS:,} unless forced; these take about {about}")
    run = WatchedRun(inputs_of(prepare(result.scenario)), total, progress).go()
    packet = result.scenario.packet
    keys = np.array(sorted(run.use), np.int64).reshape(-1, 2)
    counts = np.array([run.use[flow, link] for flow, link in keys.tolist()], np.int64).reshape(-1, 4)
    use = pd.DataFrame(
        {
            "flow": keys[:, 0],
            "src": result.flow["src"][keys[:, 0]],
            "dst": result.flow["dst"][keys[:, 0]],
            "link": keys[:, 1],
            "data": counts[:, 0],
            "acks": counts[:, 1],
            "bytes": counts[:, 0] * (packet.payload_bytes + packet.header_bytes) + counts[:, 1] * packet.ack_bytes,
            "first_ns": counts[:, 2] / 1000,
            "last_ns": counts[:, 3] / 1000,
        }
    )
    for column in ("data", "acks"):
        totals = np.bincount(use["link"], use[column], len(result.link[column])).astype(np.int64)
        wrong = np.flatnonzero(totals != result.link[column])
        if len(wrong):
            raise EngineError(f"the slow twin counts other packets than the engine ({column} of {len(wrong)} links)")
    return use
