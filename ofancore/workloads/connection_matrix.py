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
one more, in the order of the file, each time. As dependencies: all targets of a oneshot wait for its one source, those of a barrier for
all its sources. Which source fires a multishot next is known beforehand only where its sources are a chain: one that it does not start
itself, then its own targets in turn. All else is refused, and so is what would never start, which htsim leaves out without a word.

Read off the behaviour of ultraethernet/uet-htsim, REPS_EuroSys_Artifact and Broadcom/csg-htsim, of which the last two differ in keywords
(`msg`, `addon`: refused, as are `failure` lines, which fail in all three).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from ofancore.errors import ScenarioError

HEAD = ("Nodes", "Connections", "Triggers", "Failures")
NUMBERS = ("id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio")
MOST = {"start": 10**15, "size": 2**31 - 1}  # 1000 s; what htsim can hold
TYPES = ("oneshot", "multishot", "barrier")


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
        rows = [row for trigger in self.triggers.values() for row in self.dependencies(trigger)]
        rows.sort(key=lambda row: (row[1], row[0], row[2]))
        self.refuse_circles(rows)
        pairs = np.array(rows, np.int64).reshape(-1, 3)
        return Matrix(self.head["Nodes"], self.connections, *(pairs[pairs[:, 2] == acked, :2] for acked in (0, 1)))

    def named(self, line: int, number: int) -> Trigger:
        if number not in self.triggers:
            self.refuse(line, f"there is no trigger {number}")
        return self.triggers[number]

    def dependencies(self, trigger: Trigger) -> list[tuple[int, int, int]]:
        """(earlier, later, acked) of a trigger."""
        sources, targets = trigger.sources, trigger.targets
        if not targets:
            return []
        if not sources:
            self.refuse(trigger.line, "nothing fires this trigger: its connections would never start")
        if trigger.type == "oneshot" and len(sources) > 1:
            self.refuse(trigger.line, f"a oneshot is fired once, but {len(sources)} connections fire it")
        if trigger.type == "barrier" and trigger.count != len(sources):
            what = "its connections would never start" if trigger.count > len(sources) else "which come first is known in the run only"
            self.refuse(trigger.line, f"a barrier of count {trigger.count} is fired {len(sources)} times: {what}")
        if trigger.type != "multishot":
            return [(i, target, acked) for target in targets for i, acked in sources]
        if len(sources) < len(targets):
            self.refuse(trigger.line, f"is fired {len(sources)} times for {len(targets)} connections: some would never start")
        of = dict(sources)
        others = [i for i in of if i not in targets]
        chain = [*others, *targets][: len(sources)]
        if len(of) != len(sources) or len(others) != 1 or set(chain) != set(of):
            self.refuse(trigger.line, "which connection fires this multishot when is known in the run only, unless they are a chain")
        return [(earlier, later, of[earlier]) for earlier, later in zip(chain, targets)]

    def refuse_circles(self, rows: list[tuple[int, int, int]]) -> None:
        """Start connections as their sources are done; what is left waits for itself."""
        followers: dict[int, list[int]] = {}
        waits = [0] * len(self.connections)
        for earlier, later, _ in rows:
            followers.setdefault(earlier, []).append(later)
            waits[later] += 1
        ready = [i for i, n in enumerate(waits) if n == 0]
        for i in ready:  # which grows meanwhile
            for later in followers.get(i, ()):
                waits[later] -= 1
                if waits[later] == 0:
                    ready.append(later)
        if len(ready) < len(waits):
            stuck = next(i for i, n in enumerate(waits) if n > 0)
            self.refuse(self.connections[stuck].line, "never starts: its trigger waits for itself")


def parse_matrix(text: str, name: str) -> Matrix:
    """The matrix in a text; ScenarioError names `name`, the line and what is wrong with it."""
    return _Reader(text, name).checked()
