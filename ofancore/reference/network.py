"""Objects of the slow twin: links, flows, hosts and switches, and the wiring of a fabric as its definition says it.

Nothing here knows of rings, windows or registers. A node tells the `Clock` what shall happen later, one event at a time.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field, replace

from ofancore.reference.switches import Request, SwitchTwin
from ofancore.reference.words import Packet, Random, mix32

# What happens at one instant, in order: changes of the fabric, loss notices, arrivals, flows that start by time, sends.
CHANGE, NOTICE, ARRIVAL, START, SEND = range(5)
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
    times: tuple[int, int]  # serialisation of data, of an ACK
    gap: int
    delay: int
    buffer: int
    ecn_low: int
    ecn_high: int
    dead: bool = False
    lost_after: int | None = None
    free: int = 0
    queue_max: int = 0
    queue_sum: list[int] = field(default_factory=lambda: [0, 0])
    count: list[int] = field(default_factory=lambda: [0, 0])
    drops: int = 0
    ecn_marks: int = 0

    def queue(self, now: int) -> int:
        return max(0, self.free - now)

    def send(self, now: int, packet: Packet) -> int:
        """Put a packet behind those that wait; returns its arrival time."""
        start = max(now, self.free)
        self.free = start + self.times[packet.small] + self.gap
        self.count[packet.small] += 1
        return start + self.times[packet.small] + self.delay


@dataclass(eq=False)
class Flow:
    """One message of `packets` packets."""

    number: int
    src: int
    dst: int
    packets: int
    waits: int = 0
    followers: list[int] = field(default_factory=list)
    to_send: int = 0
    sent: int = 0
    acked: int = 0
    started: int | None = None
    done: int | None = None
    got: int = 0
    highest: int = -1
    late: int = 0
    late_max: int = 0
    complete: int | None = None


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
        """The erasure oracle: the sender of the flow hears of it one base round trip later."""
        self.run.dropped[reason][packet.small] += 1
        sender = self.run.hosts[self.run.flows[packet.flow].src]
        self.run.clock.at(now + self.run.notice_delay, NOTICE, self.number, sender.hear, packet, reason == BUFFER_FULL)


class Host(Node):
    def __init__(self, run, number, place, rng: Random):
        super().__init__(run, number, "host", place)
        self.rng = rng
        self.nic: Link | None = None
        self.pace_next = 0
        self.acks: deque[Packet] = deque()
        self.open: deque[Flow] = deque()  # the round: the next to send is first
        self.waiting: deque[Flow] = deque()

    def hear(self, now, packet, congested):
        flow = self.run.flows[packet.flow]
        if packet.small:
            self.count(now, flow)
        else:
            self.run.sender.on_loss(self.number, flow.number, packet.label, congested, now)
            self.run.replaced += 1
            flow.to_send += 1
            if flow not in self.open:
                self.open.append(flow)
        self.consider_sending(now)

    def arrive(self, now, link, packet):
        flow = self.run.flows[packet.flow]
        self.run.hops += 1
        self.run.delivered[packet.small] += 1
        if packet.small:
            self.run.sender.on_ack(self.number, flow.number, packet.label, packet.ecn, now)
            self.count(now, flow)
        else:
            self.receive(now, flow, packet)
        self.consider_sending(now)

    def count(self, now, flow):
        """One packet more is known to have arrived."""
        flow.acked += 1
        if flow.acked == flow.packets:
            flow.done = now + self.nic.gap

    def receive(self, now, flow, packet):
        flow.got += 1
        if packet.seq > flow.highest:
            flow.highest = packet.seq
        else:
            flow.late += 1
            flow.late_max = max(flow.late_max, flow.highest - packet.seq)
        if flow.got == flow.packets:
            flow.complete = now
            for number in flow.followers:
                follower = self.run.flows[number]
                follower.waits -= 1
                if follower.waits == 0:
                    self.start(now, follower)
        label = packet.label
        if self.run.path_acks:
            label = self.run.sender.next_label(self.number, flow.number, 1, packet.seq, now)
        self.acks.append(Packet(flow.number, packet.seq, label, 1, packet.ecn))

    def start(self, now, flow):
        (self.open if len(self.open) < self.run.open_limit else self.waiting).append(flow)
        self.consider_sending(now)

    def consider_sending(self, now):
        """Ask to be called when the NIC could send what there is to send now."""
        if self.acks:
            self.run.clock.at(max(now, self.nic.free), SEND, self.number, self.send)
        elif self.open:
            self.run.clock.at(max(now, self.nic.free, self.pace_next), SEND, self.number, self.send)

    def send(self, now):
        """Send one packet if that is still possible: what was asked for may have been overtaken."""
        if now < self.nic.free:
            return
        if self.acks:
            packet = self.acks.popleft()
        elif self.open and now >= self.pace_next:
            packet = self.next_data(now)
            self.pace_next = now + self.run.pace
        else:
            return
        self.run.sent[packet.small] += 1
        self.put(self.nic, now, packet, -1)
        self.consider_sending(now)

    def next_data(self, now):
        flow = self.open.popleft()
        if flow.sent == 0:
            flow.started = now
        label = self.run.sender.next_label(self.number, flow.number, 0, flow.sent, now)
        packet = Packet(flow.number, flow.sent, label, 0, 0)
        flow.sent += 1
        flow.to_send -= 1
        if flow.to_send > 0:
            self.open.append(flow)
        elif self.waiting and len(self.open) < self.run.open_limit:
            self.open.append(self.waiting.popleft())
        return packet


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
        target = self.run.hosts[flow.src if packet.small else flow.dst]
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
        if packet.small and self.run.fresh_acks:
            label = mix32(label ^ packet.seq << 3) % 2**16
        ask = Request(now, group, packet.small, port, target.number, label, packet.flow, weights)
        self.forward(now, self.up[self.twin.choose(ask)], packet, port)

    def forward(self, now, link, packet, port):
        """Drop, mark, or send."""
        queue = link.queue(now)
        if link.dead:
            link.drops += 1
            self.lose(now, packet, DEAD_LINK)
            return
        if queue + link.times[packet.small] + link.gap > link.buffer:
            link.drops += 1
            self.lose(now, packet, BUFFER_FULL)
            return
        link.queue_max = max(link.queue_max, queue)
        link.queue_sum[packet.small] += queue
        if not packet.small and queue > link.ecn_low:
            if queue >= link.ecn_high or self.rng.below(link.ecn_high - link.ecn_low) < queue - link.ecn_low:
                packet = replace(packet, ecn=1)
                link.ecn_marks += 1
        self.put(link, now, packet, port)
