"""Plain twins of the hosts' decisions: one object for all senders of a run, told of registers as the twins of switches are."""

from __future__ import annotations


class SenderTwin:
    """Base of the host side, one object for all senders: every packet carries label 0."""

    def __init__(self, registers: list[int], index: list[int], parameters: dict, rngs):
        self.parameters = parameters
        self.index = index
        self.rngs = rngs  # Random of each host
        self.known = False  # whether hosts know of the failures
        self.load(registers)

    def load(self, registers):
        self.kept = registers

    def registers(self) -> list[int]:
        return self.kept

    def next_label(self, host, flow, small, seq, now) -> int:
        return 0

    def on_ack(self, host, flow, label, ecn, now) -> None:
        pass

    def on_loss(self, host, flow, label, congested, silent, now) -> None:
        pass


class SubflowSender(SenderTwin):
    def next_label(self, host, flow, small, seq, now):
        return seq % self.parameters["subflows"]


class FreshSender(SenderTwin):
    """OPS: a random label, or all labels in an order that changes from walk to walk: position XOR the walk's number."""

    def load(self, registers):
        self.walks = [registers[i : i + 2] for i in range(0, len(registers) - 1, 2)]
        self.rest = registers if not self.walks else []

    def registers(self):
        return [value for walk in self.walks for value in walk] + self.rest

    def next_label(self, host, flow, small, seq, now):
        labels = self.parameters["labels"]
        if self.parameters["order"] == "random":
            return self.rngs[host].label(labels)
        walk = self.walks[flow]
        position = walk[0]
        if position == 0:
            walk[1] = self.rngs[host].label(labels)
        walk[0] = (position + 1) % labels
        return position ^ walk[1]


class PathSender(SenderTwin):
    """Host DR: a pointer per (destination host, size bin) over the paths."""

    def load(self, registers):
        self.pointers = list(registers)

    def registers(self):
        return self.pointers

    def next_label(self, host, flow, small, seq, now):
        at = self.index[2 * flow + small]
        walk = self.walk(flow, small)
        step = self.pointers[at] % len(walk)
        self.pointers[at] = (step + 1) % len(walk)
        return walk[step]

    def walk(self, flow, small) -> list[int]:
        """Path indices in the order taken; once hosts know of the failures, those that survive."""
        a, c = self.parameters["A"], max(self.parameters["C"], 1)
        if self.parameters["digit_reversed"]:
            places = [(j, i) for i in range(c) for j in range(a)]
        else:
            places = [(j, i) for j in range(a) for i in range(c)]  # the edge's uplink turns slowly, the aggregation's fast
        if self.known:
            src, dst = self.parameters["ends"][flow]
            cut = self.parameters["cut"].get((dst, src) if small else (src, dst), set())
            places = [place for place in places if place not in cut]
        return [j + a * i for j, i in places]


class PartSender(SenderTwin):
    """Ethereal: a flow's packets go to its parts in turn, the parts to consecutive paths."""

    def next_label(self, host, flow, small, seq, now):
        at = self.index[2 * flow]
        first, parts, paths = self.kept[at : at + 3]
        path = (first + seq % parts) % paths
        return self.stand_in(flow, path, paths) if self.known else path

    def stand_in(self, flow, path, paths):
        """The path, or the survivor that takes its place: dead ones get them in turn."""
        a, cut = self.parameters["A"], self.parameters["cut"].get(self.parameters["ends"][flow], set())
        alive = [other for other in range(paths) if (other % a, other // a) not in cut]
        dead = [other for other in range(paths) if other not in alive]
        return alive[dead.index(path) % len(alive)] if path in dead and alive else path


class PlbFlow:
    def __init__(self, registers):
        self.label, self.acks, self.marks, self.round_end = registers


class PlbSender(SenderTwin):
    """PLB: a flow whose round was congested moves to a random label."""

    def load(self, registers):
        self.flows = [PlbFlow(registers[i : i + 4]) for i in range(0, len(registers), 4)]

    def registers(self):
        return [value for flow in self.flows for value in (flow.label, flow.acks, flow.marks, flow.round_end)]

    def next_label(self, host, flow, small, seq, now):
        return self.flows[flow].label

    def on_ack(self, host, flow, label, ecn, now):
        state = self.flows[flow]
        state.acks += 1
        state.marks += ecn
        if now < state.round_end:
            return
        if state.marks * 1_000_000 >= round(self.parameters["change_threshold"] * 1_000_000) * state.acks:
            state.label = self.rngs[host].label()
        state.acks = state.marks = 0
        state.round_end = now + self.parameters["base_rtt"]


class RepsFlow:
    """The ring of one flow: 8 cells of (label, not yet reused), a head, and the freeze."""

    def __init__(self):
        self.labels = [0] * 8
        self.unused = [False] * 8
        self.clear()

    def clear(self):
        self.head = 0
        self.filled = 0
        self.unused = [False] * 8
        self.frozen = False
        self.thaw = 0
        self.explore = 0
        self.read = 0

    def registers(self):
        valid = sum(2**i for i in range(8) if self.unused[i])
        return [*self.labels, self.head, self.filled, sum(self.unused), valid, int(self.frozen), self.thaw, self.explore, self.read]


class RepsSender(SenderTwin):
    """REPS: reuse labels that came back unmarked, oldest first."""

    def load(self, registers):
        assert not any(registers), "REPS starts empty"
        self.flows = [RepsFlow() for _ in range(len(registers) // 16)]

    def registers(self):
        return [value for flow in self.flows for value in flow.registers()]

    def next_label(self, host, flow, small, seq, now):
        ring = self.flows[flow]
        if ring.explore:
            ring.explore -= 1
            return self.rngs[host].label(self.parameters["labels"])
        if ring.frozen:
            if not ring.filled:
                return self.rngs[host].label(self.parameters["labels"])
            cell = ring.read
            ring.read = (cell + 1) % ring.filled
            ring.unused[cell] = False
            return ring.labels[cell]
        # the unused cells are the last ones written, so the oldest of them is the first from the head round the ring
        for cell in [(ring.head + i) % 8 for i in range(8)]:
            if ring.unused[cell]:
                ring.unused[cell] = False
                return ring.labels[cell]
        return self.rngs[host].label(self.parameters["labels"])

    def on_ack(self, host, flow, label, ecn, now):
        ring = self.flows[flow]
        if ring.frozen and now >= ring.thaw:
            ring.clear()
            ring.explore = self.parameters["explore"]
        if not ecn:
            ring.labels[ring.head] = label
            ring.unused[ring.head] = True
            ring.head = (ring.head + 1) % 8
            ring.filled = min(ring.filled + 1, 8)

    def on_loss(self, host, flow, label, congested, silent, now):
        ring = self.flows[flow]
        if self.parameters["freeze_on_loss"] and not congested and not ring.frozen and not ring.explore:
            ring.frozen = True
            ring.read = 0
            ring.thaw = now + self.parameters["freeze_ticks"]
