"""Flows of the slow twin and their loss recovery: a class by recovery, one object a flow, which holds both of its ends.

A sender remembers every packet between `una`, the first not known to have arrived, and `next`, the first never sent (go-back-N: the
next to be sent). A receiver knows `cum`, the first packet it misses. The host asks `can_send` after every event that touches the flow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ofancore.reference.congestion import NACKED, REORDERED, TIMED_OUT, Control
from ofancore.reference.senders import SenderTwin
from ofancore.reference.words import ACK, DATA, NACK, TRIM, Packet

FLYING, AGAIN, LOST, ACKED = "flying", "again", "lost", "acked"  # sent once, sent again, to be sent again, arrived


@dataclass(eq=False)
class Flow:
    """One message of `packets` packets, or a computation: from a host to itself, of no packets."""

    number: int
    src: int
    dst: int
    packets: int
    delay: int = 0  # ticks between the arrival of all it waits for and its start
    waits: int = 0
    followers: list[int] = field(default_factory=list)
    to_send: int = 0  # erasure: new packets and replacements of lost ones
    opened: bool = False
    asleep: bool = False  # its rate does not let it send yet
    sent_once: bool = False  # no packet is left that was never sent
    sent: int = 0
    resent: int = 0
    acked: int = 0
    spurious: int = 0  # packets taken for lost that had arrived
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

    timed = True  # whether there are timeouts
    inflight = 0

    def __init__(self, flow: Flow, control: Control, balancer: SenderTwin, window: int, rto: int, reorder: int):
        self.flow = flow
        self.control = control
        self.balancer = balancer
        self.window = window  # packets that the two ends can remember
        self.rto = rto
        self.reorder = reorder
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

    def tell_balancer(self, now: int, label: int, congested: bool) -> None:
        self.balancer.on_loss(self.flow.src, self.flow.number, label, congested, now)

    def tell_loss(self, now: int, n: int, cause: int) -> None:
        self.control.on_loss(float(now), float(n), cause)


class Erasure(Transport):
    """A rateless code and an oracle: any `packets` packets will do; slots are kept for controls with a window only."""

    timed = False

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.slots: dict[int, int] = {}  # when the packet of a slot was sent

    @property
    def first_sends(self):
        return min(self.flow.sent, self.flow.packets)

    def can_send(self):
        if self.flow.to_send == 0:
            return False
        if not self.control.windowed:
            return True
        return self.inflight + 1 <= self.control.cwnd and self.flow.sent % self.window not in self.slots

    def send(self, now):
        seq = self.flow.sent
        self.flow.to_send -= 1
        if self.control.windowed:
            self.slots[seq % self.window] = now
            self.inflight += 1
        return self.data(now, seq)

    def receive(self, packet):
        self.flow.count_data(packet.seq)
        return self.ack(packet)

    def settled(self, packet) -> int | None:
        """The packet is on its way no more; tells when it was sent."""
        if not self.control.windowed:
            return None
        self.inflight -= 1
        return self.slots.pop(packet.seq % self.window)

    def on_ack(self, now, packet):
        self.flow.acked += 1
        sent_at = self.settled(packet)
        self.tell_ack(now, -1 if sent_at is None else now - sent_at, packet.ecn, 1)

    def on_lost_ack(self, now, packet):
        """What the ACK would have told is known now, but for the round trip."""
        self.flow.acked += 1
        self.settled(packet)
        self.tell_ack(now, -1, packet.ecn, 1)

    def on_lost_data(self, now, packet, congested):
        """One more coded packet will do for it."""
        self.settled(packet)
        self.flow.to_send += 1
        self.tell_balancer(now, packet.label, congested)
        self.tell_loss(now, 1, NACKED)


class Selective(Transport):
    """What sack and trim share: every packet is acknowledged by itself, and lost ones are sent again before new ones."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.una = self.next = 0
        self.sent: dict[int, Sent] = {}  # una..next-1
        self.cum = 0
        self.got: set[int] = set()  # arrived beyond cum
        self.cum_after: dict[int, int] = {}  # cum after each packet arrived: what its ACK says

    # --- sender
    @property
    def first_sends(self):
        return self.next

    def can_send(self):
        if self.inflight + 1 > self.control.cwnd:
            return False
        return self.first_lost() is not None or (self.next < self.flow.packets and self.next < self.una + self.window)

    def first_lost(self) -> int | None:
        return min((seq for seq, sent in self.sent.items() if sent.state == LOST), default=None)

    def send(self, now):
        seq, state = self.first_lost(), AGAIN
        if seq is None:
            seq, state = self.next, FLYING
            self.next += 1
        else:
            self.flow.resent += 1
        packet = self.data(now, seq)
        self.sent[seq] = Sent(state, now, packet.label)
        self.inflight += 1
        return packet

    def flies(self, seq) -> bool:
        return self.sent[seq].state in (FLYING, AGAIN)

    def lose(self, seq):
        self.sent[seq].state = LOST
        self.inflight -= 1

    def arrived(self, seq) -> int:
        """The packet is known to have arrived; 1 if that is news."""
        if self.sent[seq].state == ACKED:
            return 0
        self.inflight -= self.flies(seq)
        self.sent[seq].state = ACKED
        return 1

    def on_ack(self, now, packet):
        if packet.seq < self.una:
            return
        told = self.sent[packet.seq]
        rtt = now - told.at if told.state == FLYING else -1
        self.flow.spurious += told.state == LOST
        n = self.arrived(packet.seq) + sum(self.arrived(seq) for seq in range(self.una, self.cum_after[packet.seq]))
        self.flow.acked += n
        while self.una < self.next and self.sent[self.una].state == ACKED:
            del self.sent[self.una]
            self.una += 1
        overtaken = self.overtaken(packet.seq)
        for seq in overtaken:
            self.lose(seq)
        if n > 0:
            self.tell_ack(now, rtt, packet.ecn, n)
        for seq in overtaken:
            self.tell_balancer(now, self.sent[seq].label, True)
        if overtaken:
            self.tell_loss(now, len(overtaken), REORDERED)

    def overtaken(self, seq) -> list[int]:
        """Packets that are taken for lost since one sent so much later has arrived."""
        return []

    def on_timer(self, now):
        late = [seq for seq in range(self.una, self.next) if self.flies(seq) and self.sent[seq].at + self.rto <= now]
        for seq in late:
            self.lose(seq)
        self.deadline = min((self.sent[seq].at + self.rto for seq in range(self.una, self.next) if self.flies(seq)), default=math.inf)
        for seq in late:
            self.tell_balancer(now, self.sent[seq].label, False)
        if late:
            self.flow.timeouts += 1
            self.tell_loss(now, len(late), TIMED_OUT)

    # --- receiver
    def receive(self, packet):
        if packet.kind == TRIM:
            return Packet(packet.flow, packet.seq, packet.label, NACK, 0)
        seq = packet.seq
        if seq < self.cum or seq in self.got:
            self.flow.dup += 1
            return self.ack(packet)
        self.flow.count_data(seq)
        self.got.add(seq)
        while self.cum in self.got:
            self.got.remove(self.cum)
            self.cum += 1
        self.cum_after[seq] = self.cum
        return self.ack(packet)


class Sack(Selective):
    """A packet is lost once one `reorder` later in the sequence has arrived, or by timeout. What was sent again: by timeout only."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.high = -1  # last packet of which an ACK has come
        self.scan = 0  # first packet that was not yet judged

    def overtaken(self, seq):
        self.high = max(self.high, seq)
        first, end = max(self.scan, self.una), self.high - self.reorder + 1
        self.scan = max(first, end)
        return [seq for seq in range(first, end) if self.sent[seq].state == FLYING]


class Trim(Selective):
    """A packet is lost once the receiver tells that only its header came, or by timeout."""

    def on_nack(self, now, packet):
        if packet.seq >= self.una and self.flies(packet.seq):
            self.lose(packet.seq)
            self.tell_loss(now, 1, NACKED)
            self.tell_balancer(now, packet.label, True)


class GoBackN(Transport):
    """The receiver takes packets in order only; the sender goes back to the first one missed."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.una = self.next = 0
        self.high_sent = 0  # first packet never sent
        self.sent: dict[int, Sent] = {}
        self.cum = 0
        self.nacked = -1

    # --- sender
    @property
    def inflight(self):
        return self.next - self.una

    @property
    def first_sends(self):
        return self.high_sent

    def can_send(self):
        in_window = self.next < self.flow.packets and self.next < self.una + self.window
        return in_window and self.inflight + 1 <= self.control.cwnd

    def send(self, now):
        seq = self.next
        packet = self.data(now, seq)
        self.next += 1
        if seq < self.high_sent:
            self.flow.resent += 1
            self.sent[seq] = Sent(AGAIN, now, packet.label)
        else:
            self.high_sent = self.next
            self.sent[seq] = Sent(FLYING, now, packet.label)
        return packet

    def advance(self, una) -> int:
        """All before `una` have arrived; returns how many of them are news."""
        news = una - self.una
        for seq in range(self.una, una):
            del self.sent[seq]
        self.una = una
        self.next = max(self.next, una)
        self.flow.acked += news
        return news

    def on_ack(self, now, packet):
        if packet.seq < self.una:
            return
        told = self.sent[packet.seq]
        n = self.advance(packet.seq + 1)
        self.tell_ack(now, now - told.at if told.state == FLYING else -1, packet.ecn, n)

    def on_nack(self, now, packet):
        if packet.seq < self.una:
            return
        n = self.advance(packet.seq)
        if n > 0:
            self.tell_ack(now, -1, packet.ecn, n)
        if self.next > self.una:
            self.next = self.una
            self.tell_loss(now, 1, NACKED)
            self.tell_balancer(now, packet.label, True)

    def on_timer(self, now):
        self.deadline = math.inf
        if self.una == self.next:
            return
        first = self.sent[self.una]
        if first.at + self.rto > now:
            self.deadline = first.at + self.rto
            return
        self.next = self.una
        self.flow.timeouts += 1
        self.tell_balancer(now, first.label, False)
        self.tell_loss(now, 1, TIMED_OUT)

    # --- receiver
    def receive(self, packet):
        if packet.seq == self.cum:
            self.flow.count_data(packet.seq)
            self.cum += 1
            return self.ack(packet)
        if packet.seq < self.cum:
            self.flow.dup += 1
            return self.ack(packet)
        self.flow.out_of_order += 1
        if self.nacked == self.cum:
            return None
        self.nacked = self.cum
        return Packet(packet.flow, self.cum, packet.label, NACK, packet.ecn)


RECOVERIES: dict[str, type[Transport]] = {"erasure": Erasure, "sack": Sack, "trim": Trim, "go_back_n": GoBackN}
