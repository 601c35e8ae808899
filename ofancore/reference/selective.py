"""Loss recoveries of the slow twin that acknowledge packets one by one: SACK and packet trimming."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ofancore.reference.congestion import NACKED, REORDERED, TIMED_OUT
from ofancore.reference.transport import ACKED, AGAIN, FLYING, LOST, Sent, Timed
from ofancore.reference.words import NACK, TRIM, Packet

NAMED = 64  # packets that an ACK can name beyond the first one missed


@dataclass(frozen=True)
class Snapshot:
    """What a receiver has when it answers, as far as its ACK tells."""

    cum: int
    named: frozenset[int]  # arrived packets beyond


class Selective(Timed):
    """What sack and trim share: packets are acknowledged one by one, and lost ones are sent again before new ones.

    An ACK tells of its packet, of all before the first one missed and, if it answers for several, of arrived ones beyond. What the
    ACK of a packet tells is kept in the packet's slot of the receiver, where a copy of the packet finds it.
    """

    sampled = (FLYING,)  # states of packets whose ACKs measure a round trip

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.una = self.next = 0
        self.sent: dict[int, Sent] = {}  # una..next-1
        self.cum = 0
        self.got: set[int] = set()  # arrived beyond cum
        self.snapshots: dict[int, Snapshot] = {}  # by slot, if the packet there was answered

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
        return self.asking(packet)

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
        rtt = now - told.at if told.state in self.sampled else -1
        snapshot = self.snapshots[packet.seq % self.window]
        if told.state in self.sampled:
            self.measured(now, rtt)
        n = self.arrived(packet.seq) + sum(self.arrived(seq) for seq in range(self.una, snapshot.cum))
        named = [seq for seq in sorted(snapshot.named) if seq >= self.una and self.arrived(seq)]
        n += len(named)
        self.flow.acked += n
        while self.una < self.next and self.sent[self.una].state == ACKED:
            del self.sent[self.una]
            self.una += 1
        overtaken = self.overtaken(max([packet.seq, *named]))
        for seq in overtaken:
            self.lose(seq)
        if n > 0:
            self.tell_ack(now, rtt, packet.ecn, n)
        for seq in overtaken:
            self.tell_balancer(now, self.sent[seq].label, congested=True, silent=False)
        if overtaken:
            self.tell_loss(now, len(overtaken), REORDERED)

    def overtaken(self, seq) -> list[int]:
        """Packets that are taken for lost since `seq`, sent so much later, has arrived."""
        return []

    def on_timer(self, now):
        late = [seq for seq in range(self.una, self.next) if self.flies(seq) and self.sent[seq].at + self.rto <= now]
        for seq in late:
            self.lose(seq)
        self.deadline = min((self.sent[seq].at + self.rto for seq in range(self.una, self.next) if self.flies(seq)), default=math.inf)
        for seq in late:
            self.tell_balancer(now, self.sent[seq].label, self.congested(now), silent=True)
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
            return self.answer(packet)
        self.flow.count_data(seq)
        self.got.add(seq)
        while self.cum in self.got:
            self.got.remove(self.cum)
            self.cum += 1
        self.snapshots.pop(seq % self.window, None)
        return self.answer_if_due(packet)

    def answer(self, packet):
        self.snapshots.setdefault(packet.seq % self.window, self.snapshot(packet.seq))
        return super().answer(packet)

    def snapshot(self, seq) -> Snapshot:
        if self.every == 1:
            return Snapshot(self.cum, frozenset())
        base = max(self.cum, seq - NAMED + 1)
        return Snapshot(self.cum, frozenset(other for other in self.got if base <= other < base + NAMED))


class Sack(Selective):
    """A packet is lost once one `reorder` later in the sequence has arrived, or by timeout. What was sent again: by timeout only."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.high = -1  # last packet known to have arrived by itself, not as one before the first missed
        self.scan = 0  # first packet that was not yet judged

    def overtaken(self, seq):
        self.high = max(self.high, seq)
        first, end = max(self.scan, self.una), self.high - self.reorder + 1
        self.scan = max(first, end)
        return [seq for seq in range(first, end) if self.sent[seq].state == FLYING]


class Trim(Selective):
    """A packet is lost once the receiver tells that only its header came, or by timeout, which congestion cannot explain then.

    What was trimmed is never acknowledged, so an ACK of a packet that was sent again is of its last copy.
    """

    sampled = (FLYING, AGAIN)

    def congested(self, now):
        return False

    def on_nack(self, now, packet):
        if packet.seq >= self.una and self.flies(packet.seq):
            self.lose(packet.seq)
            self.tell_loss(now, 1, NACKED)
            self.tell_balancer(now, self.sent[packet.seq].label, congested=True, silent=False)
