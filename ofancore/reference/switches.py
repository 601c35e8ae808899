"""Plain twins of the switches' decisions: one object per switch, lists instead of registers.

A twin starts from the engine's initial registers, since random starts are inputs, and can say what its registers look like at
any time, since equal registers at the end mean that every decision was equal. In between it shares nothing with the engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from ofancore.reference.words import Random, hash_below


@dataclass
class Request:
    """One question to a switch: where shall this packet go up?"""

    now: int
    group: int  # the destination's edge switch at an edge switch, its pod at an aggregation switch
    small: int
    port: int  # input port
    host: int  # destination host
    label: int
    flow: int
    weights: dict[int, int] | None = None  # of the uplinks, as the switch knows them; None: all alike


def iwrr(weights: dict[int, int], order: list[int]) -> list[int]:
    """Interleaved weighted round robin: in cycle c = 1.. serve port i, in the given order, iff its weight is at least c."""
    cycles = range(1, max(weights.values(), default=0) + 1)
    return [port for cycle in cycles for port in order if weights.get(port, 0) >= cycle]


class SwitchTwin:
    """Base: a switch with `width` uplinks, whose queues `queue_of(uplink, now)` tells."""

    def __init__(self, registers, parameters, width, tier, salt, rng, orders, queue_of):
        self.parameters = parameters
        self.width = width
        self.tier = tier
        self.salt = salt
        self.rng: Random = rng
        self.orders = orders  # random port orders by number, as lists of uplinks
        self.queue_of = queue_of
        self.load(registers)

    def load(self, registers: list[int]) -> None:
        """Take the initial registers."""

    def at(self, number: int, links: list) -> None:
        """Told which switch this is, and its uplinks; only functions of a user's own want to know."""

    def registers(self) -> list[int]:
        """The registers as the engine would hold them."""
        return []

    def choose(self, ask: Request) -> int:
        """The uplink, 0..width-1."""
        raise NotImplementedError

    def ports_of(self, ask: Request) -> list[int]:
        """Slots towards the destination in plain order."""
        return self.ports_in(range(self.width), ask)

    def ports_in(self, order, ask: Request) -> list[int]:
        """The same in another order of ports."""
        return list(order) if ask.weights is None else iwrr(ask.weights, order)


class Hashing(SwitchTwin):
    """ECMP and every scheme with hashed labels."""

    def choose(self, ask):
        ports = self.ports_of(ask)
        return ports[hash_below(ask.label, ask.flow, self.salt, len(ports))]


class RandomUplink(SwitchTwin):
    """RSQ."""

    def choose(self, ask):
        ports = self.ports_of(ask)
        return ports[self.rng.below(len(ports))]


@dataclass
class Turn:
    """A round-robin pointer over ports in `order`."""

    position: int
    wraps: int
    order: list[int]


class RoundRobin(SwitchTwin):
    """Round robin over all uplinks, passing over those that do not lead there; reshuffled after every w-th wrap."""

    def load(self, registers):
        length = 2 + self.width
        parts = [registers[i : i + length] for i in range(0, len(registers), length)]
        self.turns = [Turn(position, wraps, order) for position, wraps, *order in parts]

    def registers(self):
        return [value for turn in self.turns for value in (turn.position, turn.wraps, *turn.order)]

    def choose(self, ask):
        usable = set(self.ports_of(ask))
        turn = self.turns[ask.small if len(self.turns) == 2 else 0]
        while True:
            uplink = turn.order[turn.position]
            turn.position += 1
            if turn.position == self.width:
                turn.position = 0
                self.wrap(turn)
            if uplink in usable:
                return uplink

    def wrap(self, turn):
        every = self.parameters["reshuffle_wraps"]
        if every == 0:
            return
        turn.wraps += 1
        if turn.wraps == every:
            turn.wraps = 0
            for i in reversed(range(1, self.width)):
                j = self.rng.below(i + 1)
                turn.order[i], turn.order[j] = turn.order[j], turn.order[i]


class LeastLoaded(SwitchTwin):
    """The uplink of least load; the i-th of equals replaces the one in hand with probability 1/i."""

    def load_of(self, uplink, now):
        raise NotImplementedError

    def choose(self, ask):
        candidates = sorted(set(self.ports_of(ask)))
        if self.parameters.get("ties") == "first":
            return min(candidates, key=lambda uplink: self.load_of(uplink, ask.now))
        in_hand, equals = None, 0
        for uplink in candidates:
            if in_hand is None or self.load_of(uplink, ask.now) < self.load_of(in_hand, ask.now):
                in_hand, equals = uplink, 1
            elif self.load_of(uplink, ask.now) == self.load_of(in_hand, ask.now):
                equals += 1
                if self.rng.below(equals) == 0:
                    in_hand = uplink
        return in_hand


class ShortestQueue(LeastLoaded):
    """JSQ."""

    def load_of(self, uplink, now):
        return self.queue_of(uplink, now)


class BinnedQueue(LeastLoaded):
    """Spectrum-style: how many bin edges the queue has reached, now or when the switch looked last."""

    def load(self, registers):
        self.period = self.parameters.get("sample_ticks")
        if self.period is not None:
            high, low, *self.seen = registers
            self.looked = high * 2**31 + low

    def registers(self):
        return [] if self.period is None else [*divmod(self.looked, 2**31), *self.seen]

    def choose(self, ask):
        if self.period is not None and ask.now >= self.looked + self.period:
            self.looked = ask.now
            self.seen = [self.level(uplink, ask.now) for uplink in range(self.width)]
        return super().choose(ask)

    def level(self, uplink, now):
        return sum(self.queue_of(uplink, now) >= edge for edge in self.parameters["bin_ticks"])

    def load_of(self, uplink, now):
        return self.level(uplink, now) if self.period is None else self.seen[uplink]


class Drill(SwitchTwin):
    """DRILL: each engine has a memory of uplinks, best first."""

    def load(self, registers):
        size = self.parameters["memory"]
        self.memories = [[r - 1 for r in registers[i * size : (i + 1) * size] if r] for i in range(self.parameters["engines"])]

    def registers(self):
        size = self.parameters["memory"]
        return [value for memory in self.memories for value in [uplink + 1 for uplink in memory] + [0] * (size - len(memory))]

    def choose(self, ask):
        ports = self.ports_of(ask)
        memory = self.memories[ask.port % self.parameters["engines"]]
        drawn = [ports[self.rng.below(len(ports))] for _ in range(self.parameters["samples"])]

        def queue(uplink):
            return self.queue_of(uplink, ask.now)

        latest_first = drawn[::-1] + sorted(memory, key=queue)
        chosen = min([uplink for uplink in latest_first if uplink in ports], key=queue)
        memory[:] = sorted(dict.fromkeys(latest_first), key=queue)[: self.parameters["memory"]]
        return chosen


@dataclass
class Burst:
    """An entry of a flowlet table."""

    uplink: int | None = None
    last: int = 0  # time of its last packet


class Flowlets(SwitchTwin):
    """LetFlow: a table of bursts, found by the hash of the flow."""

    def load(self, registers):
        rows = [registers[i : i + 3] for i in range(0, len(registers), 3)]
        self.table = [Burst(uplink - 1 if uplink else None, high * 2**31 + low) for uplink, high, low in rows]

    def registers(self):
        rows = [(0 if burst.uplink is None else burst.uplink + 1, *divmod(burst.last, 2**31)) for burst in self.table]
        return [value for row in rows for value in row]

    def choose(self, ask):
        burst = self.table[hash_below(ask.small, ask.flow, self.salt, self.parameters["entries"])]
        ports = self.ports_of(ask)
        if burst.uplink not in ports or self.over(burst.last, ask.now):
            burst.uplink = ports[self.rng.below(len(ports))]
        burst.last = ask.now
        return burst.uplink

    def over(self, last, now):
        gap = self.parameters["gap_ticks"]
        if self.parameters["timer"] == "exact":
            return now > last + gap
        strikes = range((last // gap + 1) * gap, min(now, last + 3 * gap) + 1, gap)  # of the timer, since the last packet
        return len(strikes) >= 2


class ByLength(Hashing):
    """DiffFlow: count a flow's data packets; hash the first ones, spray the rest."""

    def load(self, registers):
        self.table = [registers[i : i + 2] for i in range(0, len(registers), 2)]

    def registers(self):
        return [value for entry in self.table for value in entry]

    def choose(self, ask):
        if ask.small:
            return super().choose(ask)
        place = hash_below(1, ask.flow, self.salt, self.parameters["entries"])
        owner, count = self.table[place]
        if owner != ask.flow + 1:
            count = 0
        long = count >= self.parameters["threshold_packets"]
        self.table[place] = [ask.flow + 1, count if long else count + 1]
        ports = self.ports_of(ask)
        return ports[self.rng.below(len(ports))] if long else super().choose(ask)


@dataclass
class Pointer:
    """A round-robin pointer: a position in the port order of that number."""

    position: int
    order: int

    @classmethod
    def unpack(cls, register: int) -> Pointer:
        return cls(register % 2**16, register // 2**16)

    def packed(self) -> int:
        return self.order * 2**16 + self.position


class Rotation(SwitchTwin):
    """Pointers by destination; subclasses say which pointer serves a packet."""

    def load(self, registers):
        self.pointers = [Pointer.unpack(register) for register in registers]

    def registers(self):
        return [pointer.packed() for pointer in self.pointers]

    def index(self, ask: Request) -> int:
        raise NotImplementedError

    def choose(self, ask):
        pointer = self.pointers[self.index(ask)]
        slots = self.ports_in(self.orders[pointer.order], ask)
        position = pointer.position if pointer.position < len(slots) else 0  # the schedule may have become shorter
        pointer.position = (position + 1) % len(slots)
        return slots[position]


class PerHost(Rotation):
    """Switch DR."""

    def index(self, ask):
        return 2 * ask.host + ask.small


class PerGroup(Rotation):
    """Ofan."""

    def index(self, ask):
        return 2 * ask.group + ask.small


class PerPipe(Rotation):
    """pOfan."""

    def index(self, ask):
        pipes = self.parameters["pipes"]
        return (2 * ask.group + ask.small) * pipes + ask.port % pipes


class ByPath(SwitchTwin):
    """Host DR: the label is a path index, whose lower digit is the edge's uplink and whose upper one the aggregation's."""

    def choose(self, ask):
        a = self.parameters["A"]
        digit = ask.label % a if self.tier == "edge" else ask.label // a
        ports = self.ports_of(ask)
        return digit if digit in ports else ports[digit % len(ports)]
