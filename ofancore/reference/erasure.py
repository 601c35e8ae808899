"""Loss recovery of the slow twin by a rateless code."""

from __future__ import annotations

from ofancore.reference.congestion import NACKED
from ofancore.reference.transport import Transport


class Erasure(Transport):
    """A rateless code and an oracle: any `packets` packets will do; slots are kept for controls with a window only."""

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
        self.tell_balancer(now, packet.label, congested, silent=not congested)
        self.tell_loss(now, 1, NACKED)
