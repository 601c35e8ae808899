"""Objects of the slow twin: the event list, links and switches.

Nothing here knows of rings, windows or registers. A node tells the `Clock` what shall happen later, one event at a time.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace

from ofancore.reference.switches import Request, SwitchTwin
from ofancore.reference.words import DATA, TRIM, Packet, Random, mix32

# What happens at one instant, in order: changes of the fabric, loss notices, arrivals, flows that start by time, flows that wake, a
# look at the timers, sends.
CHANGE, NOTICE, ARRIVAL, START, WAKE, CHECK, SEND = range(7)
BUFFER_FULL, DEAD_LINK, NO_ROUTE = "buffer", "dead_link", "no_route"


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


@dataclass(eq=False)
class Link:
    """A directed link: first in, first out, one packet at a time."""

    number: int
    tail: object  # the node that sends
    head: object  # the node that receives
    times: tuple[int, int]  # serialisation of data, of a small packet
    gap: int
    delay: int
    buffer: int
    ecn_low: int
    ecn_high: int
    headroom: int = 0  # what small packets may use above the buffer
    dead: bool = False
    lost_after: int | None = None
    free: int = 0
    queue_max: int = 0
    queue_sum: list[int] = field(default_factory=lambda: [0, 0])
    count: list[int] = field(default_factory=lambda: [0, 0])
    drops: int = 0
    trims: int = 0
    ecn_marks: int = 0

    def queue(self, now: int) -> int:
        return max(0, self.free - now)

    def has_room(self, now: int, packet: Packet) -> bool:
        room = self.buffer + self.headroom if packet.small else self.buffer
        return self.queue(now) + self.times[packet.small] + self.gap <= room

    def send(self, now: int, packet: Packet) -> int:
        """Put a packet behind those that wait; returns its arrival time."""
        start = max(now, self.free)
        self.free = start + self.times[packet.small] + self.gap
        self.count[packet.small] += 1
        return start + self.times[packet.small] + self.delay


class Node:
    def __init__(self, run, number: int, tier: str, place: tuple[int, ...]):
        self.run = run
        self.number = number
        self.tier = tier
        self.place = place
        self.inputs: list[Link] = []

    def put(self, link: Link, now: int, packet: Packet, port: int) -> None:
        """Send on a link and tell the other end."""
        arrival = link.send(now, packet)
        self.run.record(now, self.number, port, link.number, packet)
        self.run.clock.at(arrival, ARRIVAL, (link.head.number, link.head.inputs.index(link)), link.head.arrive, link, packet)

    def lose(self, now: int, packet: Packet, reason: str) -> None:
        """Count a lost packet; under erasure the oracle tells the sender of the flow one base round trip later."""
        self.run.dropped[reason][packet.small] += 1
        if self.run.oracle:
            sender = self.run.hosts[self.run.flows[packet.flow].src]
            self.run.clock.at(now + self.run.notice_delay, NOTICE, self.number, sender.hear, packet, reason == BUFFER_FULL)


class Switch(Node):
    def __init__(self, run, number, tier, place, rng: Random):
        super().__init__(run, number, tier, place)
        self.rng = rng
        self.down: dict[tuple[int, ...], Link] = {}  # by place below: host (pod, edge, i), edge (pod, edge) or pod (pod,)
        self.up: list[Link] = []
        self.twin: SwitchTwin | None = None

    def queue_of(self, uplink, now):
        return self.up[uplink].queue(now)

    def arrive(self, now, link, packet):
        self.run.hops += 1
        if link.lost_after is not None and now > link.lost_after:  # it was still on the link when that died
            self.lose(now, packet, DEAD_LINK)
            return
        flow = self.run.flows[packet.flow]
        target = self.run.hosts[flow.src if packet.back else flow.dst]
        port = self.inputs.index(link)
        for place, below in self.down.items():
            if target.place[: len(place)] == place:
                self.forward(now, below, packet, port)
                return
        self.climb(now, target, packet, port)

    def climb(self, now, target, packet, port):
        """Let the balancer choose an uplink, among those that are known to lead to the target."""
        pod, edge, _ = target.place
        group = pod * self.run.edges_per_pod + edge if self.tier == "edge" else pod
        weights = self.run.weights_of(self, group)
        if weights is not None and not any(weights.values()):
            self.lose(now, packet, NO_ROUTE)
            return
        label = packet.label
        if packet.back and self.run.fresh_acks:
            label = mix32(label ^ packet.seq << 3) % 2**16
        ask = Request(now, group, packet.small, port, target.number, label, packet.flow, weights)
        self.forward(now, self.up[self.twin.choose(ask)], packet, port)

    def forward(self, now, link, packet, port):
        """Drop, trim, mark, or send."""
        queue = link.queue(now)
        if link.dead:
            link.drops += 1
            self.lose(now, packet, DEAD_LINK)
            return
        if self.run.trimming and packet.kind == DATA and not link.has_room(now, packet):
            link.trims += 1
            self.run.trimmed += 1
            packet = replace(packet, kind=TRIM)
        if not link.has_room(now, packet):
            link.drops += 1
            self.lose(now, packet, BUFFER_FULL)
            return
        link.queue_max = max(link.queue_max, queue)
        link.queue_sum[packet.small] += queue
        if packet.kind == DATA and queue > link.ecn_low:
            if queue >= link.ecn_high or self.rng.below(link.ecn_high - link.ecn_low) < queue - link.ecn_low:
                packet = replace(packet, ecn=1)
                link.ecn_marks += 1
        self.put(link, now, packet, port)
