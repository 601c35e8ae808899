"""A host of the slow twin: it starts flows, serves the open ones in turn, answers what arrives, and looks at its timers."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace

from ofancore.reference.events import CHECK, NOTICE, SEND, WAKE
from ofancore.reference.links import Link
from ofancore.reference.network import Node
from ofancore.reference.transport import Flow
from ofancore.reference.words import ACK, NACK, Packet, Random


class Host(Node):
    def __init__(self, run, number, place, rng: Random):
        super().__init__(run, number, "host", place)
        self.rng = rng
        self.nic: Link | None = None
        self.pace_next = 0
        self.acks: deque[Packet] = deque()  # ACKs and NACKs that wait for the NIC
        self.round: deque[Flow] = deque()  # the flows that can send; the next to send is first
        self.open = 0  # flows that were opened and have packets never sent so far
        self.ready: deque[Flow] = deque()  # flows that wait to be opened
        self.check = math.inf  # when it looks at its timers
        self.last_check = -run.inputs.rto

    # --- flows begin and end
    def start(self, now, flow):
        """The flow may begin: a computation is over at once, a message is opened or waits for that."""
        if flow.local:
            flow.started = flow.complete = flow.done = now
            self.release(now, flow.followers)
            self.release(now, flow.successors)
        elif self.open < self.run.open_limit:
            self.open_flow(flow)
        else:
            self.ready.append(flow)
        self.ask_to_send(now)

    def release(self, now, followers):
        """A flow is here as a whole, or all its ACKs are: tell those that waited for that, or have their hosts told."""
        for follower in followers:
            flow = self.run.flows[follower.number]
            if follower.news is None:
                self.waits_less(now, flow)
            else:
                self.run.clock.at(now + follower.news, NOTICE, self.number, self.run.hosts[flow.src].waits_less, flow)

    def waits_less(self, now, flow):
        """The flow has one less to wait for: with the last one it starts, after its delay."""
        flow.waits -= 1
        if flow.waits == 0:
            if flow.delay == 0 and not flow.local:
                self.start(now, flow)
            else:
                self.run.clock.at(now + flow.delay, WAKE, self.number, self.start, flow)

    def open_flow(self, flow):
        self.open += 1
        flow.opened = True
        self.consider(flow)

    def consider(self, flow):
        """Bring the round up to date after an event that touched the flow."""
        can_send = flow.opened and flow.done is None and not flow.asleep and flow.transport.can_send()
        if can_send and flow not in self.round:
            self.round.append(flow)
        elif not can_send and flow in self.round:
            self.round.remove(flow)

    def settle(self, now, flow):
        """After whatever told the sender more: is the flow done, can it send?"""
        if flow.done is None and flow.acked == flow.packets:
            flow.done = now + self.nic.gap
            self.consider(flow)
            self.release(now, flow.successors)
        self.consider(flow)
        self.ask_to_send(now)

    # --- events
    def hear(self, now, packet, congested):
        """The oracle tells of a lost packet."""
        flow = self.run.flows[packet.flow]
        if packet.kind == ACK:
            flow.transport.on_lost_ack(now, packet)
        else:
            self.run.replaced += 1
            flow.transport.on_lost_data(now, packet, congested)
        self.settle(now, flow)

    def arrive(self, now, link, packet):
        flow = self.run.flows[packet.flow]
        self.run.hops += 1
        self.run.delivered[packet.small] += 1
        if packet.kind == ACK:
            self.run.sender.on_ack(self.number, flow.number, packet.label, packet.ecn, now)
            flow.transport.on_ack(now, packet)
            self.settle(now, flow)
        elif packet.kind == NACK:
            flow.transport.on_nack(now, packet)
            self.settle(now, flow)
        else:
            self.receive(now, flow, packet)

    def receive(self, now, flow, packet):
        answer = flow.transport.receive(packet)
        if flow.got == flow.packets and flow.complete is None:
            flow.complete = now
            self.release(now, flow.followers)
        if answer is not None:
            if self.run.path_acks:
                label = self.run.sender.next_label(self.number, flow.number, 1, answer.seq, now)
                answer = replace(answer, label=label)
            self.acks.append(answer)
        self.ask_to_send(now)

    def wake(self, now, flow):
        flow.asleep = False
        self.consider(flow)
        self.ask_to_send(now)

    # --- timers
    def arm(self, now, flow):
        """Give a flow that has just sent a timer, unless it has one."""
        if flow.transport.deadline == math.inf:
            flow.transport.deadline = now + self.run.inputs.rto
            soonest = self.last_check + self.run.inputs.rto // 8
            self.check_at(max(min(self.check, flow.transport.deadline), soonest))

    def check_at(self, time):
        self.check = time
        if time < math.inf:
            self.run.clock.at(time, CHECK, self.number, self.check_timers)

    def check_timers(self, now):
        if now != self.check:  # it was put off, or has been done
            return
        self.last_check = now
        for flow in self.live_flows():
            if flow.transport.deadline <= now:
                flow.transport.on_timer(now)
                self.consider(flow)
        first = min((flow.transport.deadline for flow in self.live_flows()), default=math.inf)
        self.check_at(max(first, now + self.run.inputs.rto // 8))
        self.ask_to_send(now)

    def live_flows(self):
        return [flow for flow in self.run.flows if flow.src == self.number and flow.opened and flow.done is None]

    # --- sending
    def ask_to_send(self, now):
        """Ask to be called when the NIC could send what there is to send now."""
        if self.acks:
            self.run.clock.at(max(now, self.nic.free), SEND, self.number, self.send)
        elif self.round:
            self.run.clock.at(max(now, self.nic.free, self.pace_next), SEND, self.number, self.send)

    def send(self, now):
        """Send one packet if that is still possible: what was asked for may have been overtaken."""
        if now < self.nic.free:
            return
        if self.acks:
            packet = self.acks.popleft()
        elif self.round and now >= self.pace_next:
            packet = self.next_data(now)
            self.pace_next = now + self.run.pace
        else:
            return
        self.run.sent[packet.small] += 1
        self.put(self.nic, now, packet, -1)
        self.ask_to_send(now)

    def next_data(self, now):
        flow = self.round.popleft()
        if flow.sent == 0:
            flow.started = now
        packet = flow.transport.send(now)
        flow.sent += 1
        if flow.transport.timed:
            self.arm(now, flow)
        gap = flow.transport.control.on_send(float(now))
        if gap is not None:
            flow.asleep = True
            self.run.clock.at(now + gap, WAKE, self.number, self.wake, flow)
        self.consider(flow)
        if not flow.sent_once and flow.transport.first_sends == flow.packets:
            flow.sent_once = True
            self.open -= 1
            if self.ready:
                self.open_flow(self.ready.popleft())
        return packet
