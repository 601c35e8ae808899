"""The slow twin's event list."""

from __future__ import annotations

import heapq

# What happens at one instant, in order: changes of the fabric, notices, arrivals, the choices of ports at which packets wait,
# flows that start by time, flows that wake, a look at the timers, sends.
CHANGE, NOTICE, ARRIVAL, SERVE, START, WAKE, CHECK, SEND = range(8)


class Clock:
    """The event list: time, then kind of event, then whatever orders events of that kind, then order of entry."""

    def __init__(self):
        self.events = []
        self.entered = 0

    def at(self, time, kind, order, action, *arguments):
        self.entered += 1
        heapq.heappush(self.events, (time, kind, order, self.entered, action, arguments))

    def next(self, until=None):
        """Take the next event, (time, action, arguments); None if there is none before `until`."""
        if not self.events or (until is not None and self.events[0][0] >= until):
            return None
        time, _, _, _, action, arguments = heapq.heappop(self.events)
        return time, action, arguments
