"""Loss recovery of the slow twin by going back to the first packet missed."""

from __future__ import annotations

import math

from ofancore.reference.congestion import NACKED, TIMED_OUT
from ofancore.reference.transport import AGAIN, FLYING, Sent, Timed
from ofancore.reference.words import NACK, Packet


class GoBackN(Timed):
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
        return self.asking(packet)

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
        if told.state == FLYING:
            self.measured(now, now - told.at)
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
            self.tell_balancer(now, self.sent[self.una].label, congested=True, silent=False)

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
        self.tell_balancer(now, first.label, self.congested(now), silent=True)
        self.tell_loss(now, 1, TIMED_OUT)

    # --- receiver
    def receive(self, packet):
        if packet.seq == self.cum:
            self.flow.count_data(packet.seq)
            self.cum += 1
            return self.answer_if_due(packet)
        if packet.seq < self.cum:
            self.flow.dup += 1
            return self.answer(packet)
        self.flow.out_of_order += 1
        if self.nacked == self.cum:
            return None
        self.nacked = self.cum
        return Packet(packet.flow, self.cum, packet.label, NACK, packet.ecn)
