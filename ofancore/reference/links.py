"""Links of the slow twin, each with the port that feeds it: one queue for all packets, or control packets at priority."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ofancore.reference.events import ARRIVAL, SERVE, Clock
from ofancore.reference.words import Packet


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
    rate: float = 1.0  # share of the healthy one
    byte: float = 1.0  # ticks of a byte at that
    free: int = 0
    queue_max_bytes: float = 0.0
    queue_sum: list[int] = field(default_factory=lambda: [0, 0])
    count: list[int] = field(default_factory=lambda: [0, 0])
    drops: int = 0
    trims: int = 0
    ecn_marks: int = 0

    def backlog(self, now: int) -> int:
        """Ticks of work accepted and not yet done: what balancers look at."""
        return max(0, self.free - now)

    def queue(self, now: int, small: int) -> int:
        """Ticks of work before a packet of that class: what thresholds are compared with."""
        return self.backlog(now)

    def bytes_of(self, ticks: int) -> float:
        """Bytes that it sends in so much time, at the rate that it has."""
        return ticks * self.rate / self.byte

    def has_room(self, now: int, packet: Packet) -> bool:
        room = self.buffer + self.headroom if packet.small else self.buffer
        return self.queue(now, packet.small) + self.times[packet.small] + self.gap <= room

    def accept(self, clock: Clock, now: int, packet: Packet) -> None:
        """Put a packet behind those that wait."""
        start = self.book(now, packet)
        self.transmit(clock, start, packet)

    def book(self, now: int, packet: Packet) -> int:
        """Count a packet and its work; returns when all accepted earlier is done."""
        start = max(now, self.free)
        self.free = start + self.times[packet.small] + self.gap
        self.count[packet.small] += 1
        return start

    def transmit(self, clock: Clock, start: int, packet: Packet) -> None:
        """Tell the other end of a packet whose service begins then."""
        arrival = start + self.times[packet.small] + self.delay
        clock.at(arrival, ARRIVAL, (self.head.number, self.head.inputs.index(self)), self.head.arrive, self, packet)


@dataclass(eq=False)
class PriorityLink(Link):
    """A link whose port has a queue for data and one for small packets, which goes first whenever a packet is chosen.

    A packet in service is not interrupted. When its service begins, and so when it arrives, is not known before: another may overtake.
    """

    places: int = 0  # in the queue of small packets
    waiting: tuple[deque[Packet], deque[Packet]] = field(default_factory=lambda: (deque(), deque()))  # data, small packets
    busy: int = 0  # end of the service of the packet in service, its gap included
    serves: int | None = None  # class of that packet, or of the last one

    def queue(self, now, small):
        """A packet in service counts for its own class only: the queue is that class's, not the time that a packet will wait."""
        rest = max(0, self.busy - now) if self.serves == small else 0
        return len(self.waiting[small]) * (self.times[small] + self.gap) + rest

    def has_room(self, now, packet):
        """Small packets have places of their own, and so neither need the buffer nor the headroom."""
        if packet.small:
            return len(self.waiting[1]) < self.places
        return self.queue(now, 0) + self.times[0] + self.gap <= self.buffer

    def accept(self, clock, now, packet):
        self.book(now, packet)
        self.waiting[packet.small].append(packet)
        self.ask_to_serve(clock, now)

    def ask_to_serve(self, clock, now):
        """Ask to be called when the next packet may be chosen; after the arrivals of that instant, which take part in it."""
        clock.at(max(now, self.busy), SERVE, self.number, self.serve, clock)

    def serve(self, now, clock):
        """Begin the service of one packet, if that is still possible: what was asked for may have been overtaken."""
        data, small = self.waiting
        if now < self.busy or not (data or small):
            return
        packet = small.popleft() if small else data.popleft()
        self.serves = packet.small
        self.busy = now + self.times[packet.small] + self.gap
        self.transmit(clock, now, packet)
        if data or small:
            self.ask_to_serve(clock, now)
