"""The plain twin of rails: where hosts are plugged in, and how RailS shares messages out, from the definitions alone."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cache


@dataclass
class Part:
    """What one flow carries of a message (or all of it), between two hosts by number."""

    src: int
    dst: int
    packets: int
    delay_ns: float


@cache
def places(fabric) -> list[int]:
    """By host: its place. Walk over edge switches and their ports, and ask which server's NIC is there."""
    place_of = {}
    for edge in range(fabric.P * fabric.E):
        rail, block = edge % fabric.rails, edge // fabric.rails
        for port in range(fabric.S):
            server = block * fabric.S + port
            place_of[server * fabric.rails + rail] = edge * fabric.S + port
    return [place_of[host] for host in sorted(place_of)]


Pairs = list[tuple[int, int]]


def parts_of(messages, rails: int, keys: dict) -> tuple[list[Part], Pairs, Pairs]:
    """(parts, after, after_acked): the flows of a run, by message, then by rail, and who waits for whom."""
    columns = (messages.src, messages.dst, messages.packets, messages.delay_ns, messages.group)
    rows = list(zip(*(column.tolist() for column in columns)))
    if keys["kind"] == "rails":
        carried = share_out(rows, depths(messages), rails, keys["chunk_packets"], keys["ties"])
    else:
        carried = [None] * len(rows)
    parts, of = [], [[] for _ in rows]
    for number, (src, dst, packets, delay_ns, _) in enumerate(rows):
        if carried[number] is None:
            ends = [(src, dst, packets)]
        else:
            server, other = src // rails, dst // rails
            ends = [(server * rails + r, other * rails + r, n) for r, n in sorted(carried[number].items())]
        for end in ends:
            of[number].append(len(parts))
            parts.append(Part(*end, delay_ns))

    def waits(pairs):
        return [(a, b) for earlier, later in pairs.tolist() for a in of[earlier] for b in of[later]]

    return parts, waits(messages.after), waits(messages.after_acked)


def depths(messages) -> list[int]:
    """By message: the longest row of messages that come one after the other before it."""
    before = [[] for _ in range(len(messages))]
    for earlier, later in [*messages.after.tolist(), *messages.after_acked.tolist()]:
        before[later].append(earlier)
    found: dict[int, int] = {}
    for start in range(len(before)):
        stack = [start]
        while stack:
            top = stack[-1]
            missing = [i for i in before[top] if i not in found]
            if missing:
                stack += missing
            else:
                found[stack.pop()] = max((found[i] + 1 for i in before[top]), default=0)
    return [found[i] for i in range(len(before))]


def share_out(rows, depth, rails, chunk_packets, ties) -> list[dict[int, int] | None]:
    """Packets of each message by rail; None: it goes as it is, between its own NICs."""
    out: list[dict[int, int] | None] = []
    batches: dict[tuple, tuple[list, dict]] = {}  # by (server, collective, depth): chunks, and what rails carry in any case
    for number, (src, dst, packets, _, group) in enumerate(rows):
        server, other = src // rails, dst // rails
        chunks, loads = batches.setdefault((server, group, depth[number]), ([], dict.fromkeys(range(rails), 0)))
        if server == other:
            loads[src % rails] += packets
            out.append(None)
            continue
        out.append({})
        while packets > 0:
            chunk = min(packets, chunk_packets)
            chunks.append((chunk, number, (server + other) % rails if ties == "spread" else 0))
            packets -= chunk
    for chunks, loads in batches.values():
        chunks.sort(key=lambda chunk: -chunk[0])
        heap = [(load, rail) for rail, load in loads.items()]
        heapq.heapify(heap)
        for chunk, number, first in chunks:
            least = heap[0][0]
            alike = []
            while heap and heap[0][0] == least:
                alike.append(heapq.heappop(heap)[1])
            taken = min(alike, key=lambda rail: (rail - first) % rails)
            for rail in alike:
                heapq.heappush(heap, (least + chunk * (rail == taken), rail))
            out[number][taken] = out[number].get(taken, 0) + chunk
    return out
