"""Plain twins of hosts that walk over their labels or paths and change the walk by what comes back: one object a flow."""

from __future__ import annotations

from collections import deque
from math import ceil

from ofancore.reference.senders import SenderTwin


def unpack(words: list[int], bits: int, count: int) -> list[int]:
    """The first `count` numbers of so many bits, the lowest bits of the first word being the first."""
    whole = sum((word % 2**64) << 64 * i for i, word in enumerate(words))
    return [whole >> bits * i & (2**bits - 1) for i in range(count)]


def pack(values: list[int], bits: int) -> list[int]:
    """The numbers in words of 64 bits with a sign."""
    per = 64 // bits
    words = [sum(value << bits * i for i, value in enumerate(values[at : at + per])) for at in range(0, len(values), per)]
    return [word - 2**64 if word >= 2**63 else word for word in words]


class Spray:
    """Base of one flow's state: `load` and `registers` turn its registers into plain values and back."""

    def __init__(self, parameters, registers):
        self.parameters = parameters
        self.load(registers)


class SprayingSender(SenderTwin):
    """Base of senders with an object a flow."""

    flow_twin: type[Spray]

    def load(self, registers):
        flows = max(len(self.index) // 2, 1)
        words = len(registers) // flows
        self.flows = [self.flow_twin(self.parameters, registers[i * words : (i + 1) * words]) for i in range(flows)]

    def registers(self):
        return [value for flow in self.flows for value in flow.registers()]

    def next_label(self, host, flow, small, seq, now):
        return self.flows[flow].next_label(self.rngs[host], now)

    def on_ack(self, host, flow, label, ecn, now):
        self.flows[flow].heard(label, "mark" if ecn else "good", now)

    def on_loss(self, host, flow, label, congested, silent, now):
        self.flows[flow].heard(label, "silence" if silent else "loss", now)


class Turns(Spray):
    """Round robin over labels."""

    def load(self, registers):
        (self.next,) = registers

    def registers(self):
        return [self.next]

    def next_label(self, rng, now):
        label = self.next
        self.next = (label + 1) % self.parameters["labels"]
        return label

    def heard(self, label, what, now):
        pass


class TurnSender(SprayingSender):
    flow_twin = Turns


class Skips(Spray):
    """STrack: labels in turn; a label that was marked loses one turn."""

    def load(self, registers):
        self.next = registers[0]
        flags = unpack(registers[1:], 1, self.parameters["labels"])
        self.marked = {label for label, flag in enumerate(flags) if flag}

    def registers(self):
        return [self.next, *pack([int(label in self.marked) for label in range(self.parameters["labels"])], 1)]

    def next_label(self, rng, now):
        label = self.next
        while label in self.marked:
            self.marked.remove(label)
            label = (label + 1) % self.parameters["labels"]
        self.next = (label + 1) % self.parameters["labels"]
        return label

    def heard(self, label, what, now):
        if what == "mark" or (what in ("loss", "silence") and self.parameters["penalise_losses"]):
            self.marked.add(label)


class SkippingSender(SprayingSender):
    flow_twin = Skips


class Bitmap(Spray):
    """uet-htsim's bitmap: a permuted walk; what is penalised pays one for each turn that it gives up."""

    def load(self, registers):
        self.position, self.walk = registers[:2]
        self.penalties = unpack(registers[2:], 4, self.parameters["labels"])

    def registers(self):
        return [self.position, self.walk, *pack(self.penalties, 4)]

    def candidate(self, rng):
        if self.position == 0:
            self.walk = rng.label(self.parameters["labels"])
        label = self.position ^ self.walk
        self.position = (self.position + 1) % self.parameters["labels"]
        return label

    def next_label(self, rng, now):
        label = self.candidate(rng)
        if self.penalties[label] == 0:
            return label
        self.penalties[label] -= 1
        for _ in range(self.parameters["labels"]):
            label = self.candidate(rng)
            if self.penalties[label] == 0:
                return label
        return label

    def heard(self, label, what, now):
        keys = {"mark": "ecn_penalty", "loss": "nack_penalty", "silence": "timeout_penalty"}
        if what in keys:
            self.penalties[label] = min(self.penalties[label] + self.parameters[keys[what]], self.parameters["max_penalty"])


class BitmapSender(SprayingSender):
    flow_twin = Bitmap


class Mixed(Bitmap):
    """uet-htsim's mixed: labels of good ACKs first, each once; the queue's cells keep what was last in them."""

    def load(self, registers):
        own = 2 + ceil(self.parameters["labels"] / 16)
        super().load(registers[:own])
        self.taken, self.put = registers[own : own + 2]
        self.cells = unpack(registers[own + 2 :], 16, self.parameters["queue_labels"])
        self.queue = deque(self.cells[i % len(self.cells)] for i in range(self.taken, self.put))

    def registers(self):
        return [*super().registers(), self.put - len(self.queue), self.put, *pack(self.cells, 16)]

    def next_label(self, rng, now):
        return self.queue.popleft() if self.queue else super().next_label(rng, now)

    def heard(self, label, what, now):
        super().heard(label, what, now)
        if what == "good":
            self.queue.append(label)
            self.cells[self.put % len(self.cells)] = label
            self.put += 1
            if len(self.queue) > len(self.cells):
                self.queue.popleft()


class MixedSender(SprayingSender):
    flow_twin = Mixed


class Whack(Spray):
    """Whack-a-Mole: `units[i]` of all selection units lie on path i, in the order of paths."""

    def load(self, registers):
        self.paths = self.parameters["A"] * max(self.parameters["C"], 1)
        self.counter, self.step, self.heir = registers[:3]
        counts = ceil(self.paths / 4)
        sums = unpack(registers[3 : 3 + counts], 16, self.paths)
        self.units = [high - low for low, high in zip([0, *sums], sums)]
        self.ill = [bool(bit) for bit in unpack(registers[3 + counts :], 1, self.paths)]

    def registers(self):
        sums = [sum(self.units[: i + 1]) for i in range(self.paths)]
        return [self.counter, self.step, self.heir, *pack(sums, 16), *pack([int(ill) for ill in self.ill], 1)]

    def next_label(self, rng, now):
        m = sum(self.units)
        bits = m.bit_length() - 1
        unit = int(f"{self.counter:0{bits}b}"[::-1], 2) if bits else 0
        self.counter = (self.counter + self.step) % m
        owners = [path for path, units in enumerate(self.units) for _ in range(units)]
        return owners[unit]

    def heard(self, path, what, now):
        self.ill[path] = what != "good"
        if what == "good":
            self.return_to(path)
        elif what == "mark":
            self.take_from(path, self.parameters["mark_units"])
        else:
            self.take_from(path, self.parameters["loss_units"] if what == "loss" else self.units[path])

    def take_from(self, path, most):
        others = [other for other in range(self.paths) if other != path]
        if not others:
            return
        heirs = [other for other in others if not self.ill[other]] or others
        for _ in range(max(0, min(most, self.units[path] - self.parameters["floor_units"]))):
            heir = min(heirs, key=lambda other: (other - self.heir) % self.paths)
            self.units[path] -= 1
            self.units[heir] += 1
            self.heir = (heir + 1) % self.paths

    def return_to(self, path):
        fair = sum(self.units) // self.paths
        for _ in range(self.parameters["return_units"]):
            if self.units[path] >= fair:
                return
            fullest = self.units.index(max(self.units))
            self.units[fullest] -= 1
            self.units[path] += 1


class WhackSender(SprayingSender):
    flow_twin = Whack


class Prime(Spray):
    """PRIME: a walk over pairs of an edge and an aggregation uplink; penalties as the time when nothing will be left of them."""

    def load(self, registers):
        self.a, self.c = self.parameters["A"], max(self.parameters["C"], 1)
        ends = 1 + ceil((self.a + self.c) / 4)
        self.position = registers[0]
        orders = unpack(registers[1:ends], 16, self.a + self.c)
        self.edge, self.agg = orders[: self.a], orders[self.a :]
        self.until = list(registers[ends:])

    def registers(self):
        return [self.position, *pack(self.edge + self.agg, 16), *self.until]

    def candidate(self, rng):
        if self.position == 0:
            for order in (self.edge, self.agg):
                for i in reversed(range(1, len(order))):
                    j = rng.below(i + 1)
                    order[i], order[j] = order[j], order[i]
        turn, place = divmod(self.position, self.a)
        self.position = (self.position + 1) % (self.a * self.c)
        return self.edge[place] + self.a * self.agg[(turn + place) % self.c]

    def next_label(self, rng, now):
        seen = []
        for _ in range(self.parameters["look"]):
            path = self.candidate(rng)
            if self.until[path] <= now:
                return path
            seen.append(path)
        return min(seen, key=lambda path: self.until[path])

    def heard(self, path, what, now):
        weights = {"mark": "ecn_penalty", "loss": "nack_penalty", "silence": "timeout_penalty"}
        if what in weights:
            unit = round(self.parameters["decay_rtts"] * self.parameters["base_rtt"])
            most = now + unit * self.parameters["timeout_penalty"]
            self.until[path] = min(max(self.until[path], now) + unit * self.parameters[weights[what]], most)


class PrimeSender(SprayingSender):
    flow_twin = Prime
