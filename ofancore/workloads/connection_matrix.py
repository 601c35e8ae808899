"""htsim's connection matrices (`.cm`): the text, and what its triggers mean as dependencies. Read strictly, refused with line numbers.

    Nodes 16                                  head, in any order: hosts; lines of connections and (if any) of triggers that follow
    Connections 2
    Triggers 1
    0->8 id 1 start 0 size 100000 send_done_trigger 1
    8->9 id 2 trigger 1 size 4096             words in any order; either `start` (ps) or `trigger`
    trigger id 1 oneshot                      oneshot, multishot, or barrier count N

`#` begins a line that is skipped, as is an empty one; lines may end as on Windows, and a byte order mark at the start is skipped, too.
`size` is in bytes of payload; `prio` is read and has no effect, as in htsim's own UEC transport. A connection fires `send_done_trigger`
when its sender has all ACKs, `recv_done_trigger` when its receiver has all data (htsim reads the latter and never fires it).

A trigger starts connections: oneshot all of them when it is fired, once; barrier all of them when it was fired `count` times; multishot
one more, in the order of the file, each time, and none when it has started all. As dependencies: all targets of a oneshot wait for its one
source, those of a barrier for all its sources, and target k of a multishot for any k of its sources, whichever fire first. Where these are
a chain (one that the trigger does not start itself, then its own targets in turn), each target waits for the one before it, which is the
same and shorter. Refused is what would never start, which htsim leaves out without a word, and a oneshot or a barrier that is fired more
often than it takes, on which htsim crashes.

Our choice: news of a firing takes its time to another host (`htsim_matrix.py`), so each target's host counts firings in the order in which
it hears of them. Two targets at hosts of unlike distance may start in another order than in htsim, where a trigger is heard of at once.

Read off the behaviour of ultraethernet/uet-htsim, REPS_EuroSys_Artifact and Broadcom/csg-htsim, of which the last two differ in keywords
(`msg`, `addon`: refused, as are `failure` lines, which fail in all three).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from ofancore.errors import ScenarioError

HEAD = ("Nodes", "Connections", "Triggers", "Failures")
NUMBERS = ("id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio")
MOST = {"start": 10**15, "size": 2**31 - 1}  # 1000 s; what htsim can hold
TYPES = ("oneshot", "multishot", "barrier")
MOST_PAIRS = 1 << 22  # of sources and targets of triggers, but for chains: what every target may have to hear
MOST_NEWS = 1 << 17  # of them, those at different hosts, between which news travels


@dataclass(frozen=True)
class Connection:
    """A message: `size` bytes from host `src` to `dst`, at `start` ps or, if that is None, by the trigger `trigger`."""

    line: int
    src: int
    dst: int
    size: int
    start: int | None
    trigger: int | None
    send_done: int | None
    recv_done: int | None


@dataclass(frozen=True)
class Trigger:
    """`count`: of a barrier. sources: (connection, 0 fired by its data, 1 by its ACKs); targets: connections; in the order of the file."""

    line: int
    type: str
    count: int | None
    sources: list[tuple[int, int]] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Matrix:
    """A connection matrix that is sound: its connections all start. Dependencies are as in `Flows`, by number of connection."""

    nodes: int
    connections: list[Connection]
    after: np.ndarray
    after_acked: np.ndarray
    after_some: np.ndarray


class _Reader:
    """One pass over the text."""

    def __init__(self, text: str, name: str):
        self.name = name
        self.head: dict[str, int] = {}
        self.connections: list[Connection] = []
        self.triggers: dict[int, Trigger] = {}
        self.ids: dict[int, int] = {}
        body = False
        for line, content in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
            words = content.split()
            if not words or words[0].startswith("#"):
                continue
            if "->" in words[0]:
                self.connection(line, words)
            elif words[0] == "trigger":
                self.trigger(line, words)
            elif words[0] == "failure":
                self.refuse(line, "failures are not read from a matrix: give them as `failures.cables`")
            elif body or words[0] not in HEAD:
                self.refuse(
                    line, f"unknown keyword {words[0]!r}" + (", which belongs before the first connection" if words[0] in HEAD else "")
                )
            else:
                self.header(line, words)
                continue
            body = True

    def refuse(self, line: int | None, rule: str) -> NoReturn:
        raise ScenarioError("workload.file", self.name if line is None else f"{self.name}, line {line}", rule)

    def number(self, line: int, what: str, text: str, least: int = 0, most: int = 10**9) -> int:
        if not re.fullmatch(r"[0-9]{1,20}(\.0*)?", text):
            self.refuse(line, f"{what} must be a whole number, not {text[:40]!r}")
        value = int(text.partition(".")[0])
        if not least <= value <= most:
            self.refuse(line, f"{what} must be {least} to {most}, not {value}")
        return value

    def header(self, line: int, words: list[str]) -> None:
        if len(words) != 2:
            self.refuse(line, f"{words[0]} takes one number")
        if words[0] in self.head:
            self.refuse(line, f"{words[0]} is given twice")
        self.head[words[0]] = self.number(line, words[0], words[1])

    def connection(self, line: int, words: list[str]) -> None:
        ends = words[0].split("->")
        if len(ends) != 2:
            self.refuse(line, f"must read SRC->DST, not {words[0][:40]!r}")
        src, dst = (self.number(line, "a host", end) for end in ends)
        given: dict[str, int] = {}
        for key, value in zip(words[1::2], [*words[2::2], None]):
            if key not in NUMBERS:
                self.refuse(line, f"unknown keyword {key!r}")
            if key in given:
                self.refuse(line, f"{key} is given twice")
            if value is None:
                self.refuse(line, f"{key} has no value")
            least = 0 if key in ("start", "prio") else 1
            given[key] = self.number(line, key, value, least, MOST.get(key, 2**32 - 1))
        if src == dst:
            self.refuse(line, "a connection needs two different hosts")
        if "size" not in given:
            self.refuse(line, "has no size")
        if ("start" in given) == ("trigger" in given):
            self.refuse(line, "must have either a start or a trigger")
        if "id" in given:
            if given["id"] in self.ids:
                self.refuse(line, f"id {given['id']} is that of line {self.ids[given['id']]}")
            self.ids[given["id"]] = line
        at = (given.get(key) for key in ("start", "trigger", "send_done_trigger", "recv_done_trigger"))
        self.connections.append(Connection(line, src, dst, given["size"], *at))

    def trigger(self, line: int, words: list[str]) -> None:
        types, given = [word for word in words[1:] if word in TYPES], {}
        rest = [word for word in words[1:] if word not in TYPES]
        for key, value in zip(rest[::2], [*rest[1::2], None]):
            if key not in ("id", "count"):
                self.refuse(line, f"unknown keyword {key!r}")
            if key in given or value is None:
                self.refuse(line, f"{key} has no value" if value is None else f"{key} is given twice")
            given[key] = self.number(line, key, value, 1, 2**32 - 1)
        if len(types) != 1 or "id" not in given:
            self.refuse(line, f"a trigger has an id and is one of {', '.join(TYPES)}")
        if (types[0] == "barrier") != ("count" in given):
            self.refuse(line, "a barrier, and nothing else, has a count")
        if given["id"] in self.triggers:
            self.refuse(line, f"id {given['id']} is that of line {self.triggers[given['id']].line}")
        self.triggers[given["id"]] = Trigger(line, types[0], given.get("count"))

    def checked(self) -> Matrix:
        """The matrix, if counts are right and all that is named exists and fires."""
        found = {"Connections": len(self.connections), "Triggers": len(self.triggers), "Failures": 0}
        for word in ("Nodes", "Connections"):
            if word not in self.head:
                self.refuse(None, f"has no line `{word} N` before its connections")
        for word, n in found.items():
            if self.head.get(word, 0) != n:
                self.refuse(None, f"says {word} {self.head.get(word, 0)}, but has {n}")
        if not self.connections:
            self.refuse(None, "has no connections")
        for i, at in enumerate(self.connections):
            if max(at.src, at.dst) >= self.head["Nodes"]:
                self.refuse(at.line, f"no such host: there are hosts 0 to {self.head['Nodes'] - 1}")
            for acked, number in ((0, at.recv_done), (1, at.send_done)):
                if number is not None:
                    self.named(at.line, number).sources.append((i, acked))
            if at.trigger is not None:
                self.named(at.line, at.trigger).targets.append(i)
        for trigger in self.triggers.values():
            if trigger.targets:
                self.refuse_miscounted(trigger)
        self.refuse_circles()
        self.refuse_many()
        rows = [row for trigger in self.triggers.values() for row in dependencies(trigger)]
        rows.sort(key=lambda row: (row[1], row[0], row[2]))
        pairs = np.array(rows, np.int64).reshape(-1, 3)
        sure = (pairs[pairs[:, 2] == acked, :2] for acked in (0, 1))
        return Matrix(self.head["Nodes"], self.connections, *sure, self.of_any())

    def named(self, line: int, number: int) -> Trigger:
        if number not in self.triggers:
            self.refuse(line, f"there is no trigger {number}")
        return self.triggers[number]

    def refuse_miscounted(self, trigger: Trigger) -> None:
        """A trigger with targets that is fired too rarely or too often."""
        sources, targets = trigger.sources, trigger.targets
        if not sources:
            self.refuse(trigger.line, "nothing fires this trigger: its connections would never start")
        if trigger.type == "oneshot" and len(sources) > 1:
            self.refuse(trigger.line, f"a oneshot is fired once, but {len(sources)} connections fire it, on which htsim crashes")
        if trigger.type == "barrier" and trigger.count != len(sources):
            what = "its connections would never start" if trigger.count > len(sources) else "htsim crashes on the last"
            self.refuse(trigger.line, f"a barrier of count {trigger.count} is fired {len(sources)} times: {what}")
        if trigger.type == "multishot" and len(sources) < len(targets):
            self.refuse(trigger.line, f"is fired {len(sources)} times for {len(targets)} connections: some would never start")

    def refuse_circles(self) -> None:
        """Start connections as triggers are fired, in some order, since any starts the same ones; what is left waits for itself."""
        fired = dict.fromkeys(self.triggers, 0)
        ready = [i for i, at in enumerate(self.connections) if at.trigger is None]
        for i in ready:  # which grows meanwhile
            for number in (self.connections[i].recv_done, self.connections[i].send_done):
                if number is None:
                    continue
                trigger, before = self.triggers[number], fired[number]
                fired[number] += 1
                if trigger.type == "multishot":
                    ready += trigger.targets[before : before + 1]
                elif fired[number] == len(trigger.sources):
                    ready += trigger.targets
        if len(ready) < len(self.connections):
            stuck = min(set(range(len(self.connections))).difference(ready))
            self.refuse(self.connections[stuck].line, "never starts: its trigger waits for itself")

    def refuse_many(self) -> None:
        """More pairs of sources and targets than can be run in minutes."""
        pairs = news = 0
        for trigger in self.triggers.values():
            if trigger.type == "multishot" and chain(trigger):
                continue
            n, m = len(trigger.sources), len(trigger.targets)
            fired_at = Counter(self.connections[i].src if acked else self.connections[i].dst for i, acked in trigger.sources)
            starts_at = Counter(self.connections[i].src for i in trigger.targets)
            pairs += n * m
            news += n * m - sum(fired * starts_at[host] for host, fired in fired_at.items())
            for found, most, what in ((pairs, MOST_PAIRS, "pairs"), (news, MOST_NEWS, "pairs at different hosts")):
                if found > most:
                    self.refuse(trigger.line, f"{n} firings for {m} connections: {found} {what} so far, at most {most} are possible")

    def of_any(self) -> np.ndarray:
        """`after_some` of the matrix: the multishots that are no chain."""
        tables = [np.zeros((0, 4), np.int64)]
        for trigger in self.triggers.values():
            n, m = len(trigger.sources), len(trigger.targets)
            if trigger.type != "multishot" or not m or chain(trigger):
                continue
            (earlier, acked), later, needed = np.array(trigger.sources).T, np.array(trigger.targets), np.arange(1, m + 1)
            tables.append(np.stack([np.tile(earlier, m), np.repeat(later, n), np.tile(acked, m), np.repeat(needed, n)], axis=1))
        rows = np.concatenate(tables)
        return rows[np.lexsort((rows[:, 2], rows[:, 0], rows[:, 1]))]


def dependencies(trigger: Trigger) -> list[tuple[int, int, int]]:
    """(earlier, later, acked) of a trigger, but for a multishot that is no chain."""
    if trigger.type == "multishot":
        return chain(trigger)
    return [(i, target, acked) for target in trigger.targets for i, acked in trigger.sources]


def chain(trigger: Trigger) -> list[tuple[int, int, int]]:
    """The same of a multishot that one connection fires first and its own targets, in turn, then; of any other one an empty list."""
    of, targets = dict(trigger.sources), set(trigger.targets)
    others = [i for i in of if i not in targets]
    row = [*others, *trigger.targets][: len(trigger.sources)]
    if len(of) != len(trigger.sources) or len(others) != 1 or set(row) != of.keys():
        return []
    return [(earlier, later, of[earlier]) for earlier, later in zip(row, trigger.targets)]


def parse_matrix(text: str, name: str) -> Matrix:
    """The matrix in a text; ScenarioError names `name`, the line and what is wrong with it."""
    return _Reader(text, name).checked()
