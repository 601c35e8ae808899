"""Flows of the slow twin, and what their loss recoveries share: one object a flow, which holds both of its ends.

A sender remembers every packet between `una`, the first not known to have arrived, and `next`, the first never sent (go-back-N: the
next to be sent). A receiver knows `cum`, the first packet it misses. The host asks `can_send` after every event that touches the flow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from ofancore.reference.congestion import Control
from ofancore.reference.senders import SenderTwin
from ofancore.reference.words import ACK, DATA, Packet

FLYING, AGAIN, LOST, ACKED = "flying", "again", "lost", "acked"  # sent once, sent again, to be sent again, arrived


@dataclass(frozen=True)
class Follower:
    """A flow that waits for another one, and ticks until its source knows of that; None: it happens there."""

    number: int
    news: int | None


@dataclass(eq=False)
class Flow:
    """One message of `packets` packets, or a computation: from a host to itself, of no packets."""

    number: int
    src: int
    dst: int
    packets: int
    delay: int = 0  # ticks between the arrival of all it waits for and its start
    waits: int = 0
    followers: list[Follower] = field(default_factory=list)  # wait for it to arrive
    successors: list[Follower] = field(default_factory=list)  # wait for its last ACK
    to_send: int = 0  # erasure: new packets and replacements of lost ones
    opened: bool = False
    asleep: bool = False  # its rate does not let it send yet
    sent_once: bool = False  # no packet is left that was never sent
    sent: int = 0
    resent: int = 0
    acked: int = 0
    timeouts: int = 0
    started: int | None = None
    done: int | None = None
    got: int = 0
    dup: int = 0
    out_of_order: int = 0  # packets that a go-back-N receiver threw away
    highest: int = -1
    late: int = 0
    late_max: int = 0
    complete: int | None = None
    transport: Transport | None = None

    @property
    def local(self) -> bool:
        return self.src == self.dst

    @property
    def inflight(self) -> int:
        return self.transport.inflight

    @property
    def cwnd(self) -> float:
        return self.transport.control.cwnd

    @property
    def rate(self) -> float:
        return self.transport.control.rate

    def count_data(self, seq: int) -> None:
        """One packet more has arrived; late ones are behind a later one."""
        self.got += 1
        if seq > self.highest:
            self.highest = seq
        else:
            self.late += 1
            self.late_max = max(self.late_max, self.highest - seq)


@dataclass
class Sent:
    """What a sender remembers of a packet."""

    state: str
    at: int
    label: int


class Transport:
    """Base: what all recoveries have."""

    timed = False  # whether there are timeouts
    inflight = 0

    def __init__(self, flow: Flow, control: Control, balancer: SenderTwin, window: int, base: int, rto: int, reorder: int, every: int):
        self.flow = flow
        self.control = control
        self.balancer = balancer
        self.window = window  # packets that the two ends can remember
        self.base = base  # round trip without queues
        self.rto = rto
        self.reorder = reorder
        self.every = every  # packets that an ACK answers
        self.deadline = math.inf

    def can_send(self) -> bool:
        raise NotImplementedError

    def send(self, now: int) -> Packet:
        """The next data packet."""
        raise NotImplementedError

    @property
    def first_sends(self) -> int:
        """Packets that were sent at least once."""
        raise NotImplementedError

    def receive(self, packet: Packet) -> Packet | None:
        """The receiver's answer to data or a trimmed header."""
        raise NotImplementedError

    def on_ack(self, now: int, packet: Packet) -> None:
        raise NotImplementedError

    def on_nack(self, now: int, packet: Packet) -> None:
        raise NotImplementedError

    def on_timer(self, now: int) -> None:
        """The deadline has passed: find out what that means, and set the next one."""
        raise NotImplementedError

    # --- helpers
    def data(self, now: int, seq: int) -> Packet:
        label = self.balancer.next_label(self.flow.src, self.flow.number, 0, seq, now)
        return Packet(self.flow.number, seq, label, DATA, 0)

    def ack(self, packet: Packet) -> Packet:
        return Packet(packet.flow, packet.seq, packet.label, ACK, packet.ecn)

    def tell_ack(self, now: int, rtt: int, ecn: int, n: int) -> None:
        self.control.on_ack(float(now), float(rtt), bool(ecn), float(n), float(self.inflight))

    def tell_balancer(self, now: int, label: int, congested: bool, silent: bool) -> None:
        self.balancer.on_loss(self.flow.src, self.flow.number, label, congested, silent, now)

    def tell_loss(self, now: int, n: int, cause: int) -> None:
        self.control.on_loss(float(now), float(n), cause, float(self.inflight))


class Timed(Transport):
    """Base of those with timeouts, whose receiver answers one packet in `every`, and some at once."""

    timed = True

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.pending = 0  # packets that have arrived since the last ACK
        self.since = 0  # a period lasts one timeout; `recent`: longest round trips of the last whole one and of the present one
        self.recent = [0, 0]

    def measured(self, now: int, rtt: int) -> None:
        """A round trip was measured (0: none, but time has passed)."""
        if now - self.since >= 2 * self.rto:
            self.since, self.recent = now, [0, 0]
        elif now - self.since >= self.rto:
            self.since, self.recent = self.since + self.rto, [self.recent[1], 0]
        self.recent[1] = max(self.recent[1], rtt)

    def congested(self, now: int) -> bool:
        """Whether a timeout may be put down to congestion: a round trip was 1.65 times the base one, or longer."""
        self.measured(now, 0)
        return 20 * max(self.recent) >= 33 * self.base

    def asking(self, packet: Packet) -> Packet:
        """The packet as it leaves, the books including it: nothing may follow unless it is answered, so it asks for that."""
        return replace(packet, ask=int(not self.can_send()))

    def answer_if_due(self, packet: Packet) -> Packet | None:
        """The answer to a packet that has just been counted as new."""
        self.pending += 1
        first, last = self.flow.got == 1, self.flow.got == self.flow.packets
        if self.pending >= self.every or packet.ecn or packet.ask or first or last:
            return self.answer(packet)
        return None

    def answer(self, packet: Packet) -> Packet:
        self.pending = 0
        return self.ack(packet)
