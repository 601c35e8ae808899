"""Nodes of the slow twin, and its switches.

Nothing here knows of rings, windows or registers. A node tells the `Clock` what shall happen later, one event at a time.
"""

from __future__ import annotations

from dataclasses import replace

from ofancore.reference.events import NOTICE
from ofancore.reference.links import Link
from ofancore.reference.switches import Request, SwitchTwin
from ofancore.reference.words import DATA, TRIM, Packet, Random, mix32

BUFFER_FULL, DEAD_LINK, NO_ROUTE, BY_CHANCE = "buffer", "dead_link", "no_route", "random"


class Node:
    def __init__(self, run, number: int, tier: str, place: tuple[int, ...]):
        self.run = run
        self.number = number
        self.tier = tier
        self.place = place
        self.inputs: list[Link] = []

    def put(self, link: Link, now: int, packet: Packet, port: int) -> None:
        """Give a packet to a link, which tells the other end."""
        self.run.record(now, self.number, port, link.number, packet)
        link.accept(self.run.clock, now, packet)

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
        return self.up[uplink].backlog(now)

    def arrive(self, now, link, packet):
        self.run.hops += 1
        if link.lost_after is not None and now > link.lost_after:  # it was still on the link when that died
            self.lose(now, packet, DEAD_LINK)
            return
        if self.run.loss and self.rng.below(2**30) < self.run.loss:
            self.lose(now, packet, BY_CHANCE)
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
        queue = link.queue(now, packet.small)
        link.queue_max_bytes = max(link.queue_max_bytes, link.bytes_of(queue))
        link.queue_sum[packet.small] += queue
        if packet.kind == DATA and queue > link.ecn_low:
            if queue >= link.ecn_high or self.rng.below(link.ecn_high - link.ecn_low) < queue - link.ecn_low:
                packet = replace(packet, ecn=1)
                link.ecn_marks += 1
        self.put(link, now, packet, port)
