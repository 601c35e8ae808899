"""RailS: a server shares what it sends out over its rails, largest chunk first to the least loaded one (Xu et al., arXiv 2510.19262).

A server has R NICs, each on an edge switch of a rail of its own (`fabric.rails`). What it sends to another server may leave by any of
them and arrives at the same rail there; inside of servers a faster network moves data between NICs and GPUs. The paper's argument: with
all servers alike, even sending makes even receiving, so each server can share its traffic out by itself. It does so by LPT, "longest
processing time first": messages are cut into chunks, and these, from the largest to the smallest, go to the rail with the least load so
far. The most loaded rail then carries at most 4/3 - 1/(3 R) times what it would by the best assignment of the chunks (Graham, SIAM J.
Appl. Math. 17, 1969), and at most a chunk more than the mean.

It is a choice of NICs made before the run; nothing is decided later. The chunks of a message on one rail are one flow (one queue pair),
and what waited for the message waits for all of these. Only the abstract and summaries of the paper were at hand. Our choices:

- a message is cut into chunks of `chunk_packets`, and what is left over is a smaller one; equal chunks go in the order of the workload;
- of equally loaded rails the next one from rail (source server + destination server) mod R on is taken, so that servers with few chunks
  do not all begin with one rail (`ties: first`: the lowest);
- loads are those of messages that may be under way at once: of one collective, with as many others before them. They begin at zero;
- within its rail a packet is sprayed: a fresh random label at every packet (`labels: 1`: one path a flow, as ECMP);
- inside of a server data takes no time and news that of one link, the least that the engine knows; messages between NICs of one server
  are sent as the workload says (which leaves out what stays in a server: `node_ranks` of `moe_all_to_all`) and load their rail first.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.balancers.ethereal import turns
from ofancore.balancers.ops import Ops
from ofancore.bits import MAX_FLOWS
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.workloads.base import Flows

MOST_CHUNKS = 1 << 24  # of a run: half a minute


class Rails(Ops):
    """The server cuts messages into chunks and gives them, largest first, to its least loaded rail; packets are sprayed within the rail."""

    kind: Literal["rails"] = "rails"
    chunk_packets: int = Field(
        4, ge=1, le=1_000_000, description="data packets of a chunk (our choice: 16 KiB, so that short messages are cut, too)"
    )
    ties: Literal["spread", "first"] = Field(
        "spread",
        description="of equally loaded rails: the next one from (source + destination server) mod rails on, or the lowest (our choice)",
    )
    title: ClassVar[str] = "RailS"
    needs_rails: ClassVar[bool] = True

    def assign(self, fabric: Fabric, messages: Flows) -> Flows:
        rails = fabric.rails
        if len(messages.after_some):
            rule = "sends messages in parts, of which each would count as a firing of a multishot that several messages fire"
            raise ScenarioError("balancer.kind", self.kind, rule)
        packets = self.shares(rails, messages)
        message, rail = np.nonzero(packets)  # by message, then by rail
        whole = np.flatnonzero(messages.packets == 0)  # computations
        if len(whole):
            message, rail = np.concatenate([message, whole]), np.concatenate([rail, messages.src[whole] % rails])
            order = np.argsort(message, kind="stable")
            message, rail = message[order], rail[order]
        if len(message) > MAX_FLOWS:
            rule = f"makes {len(message)} flows of {len(messages)} messages, of which at most {MAX_FLOWS} are possible"
            raise ScenarioError("fabric.rails", rails, rule)
        src, dst = messages.src[message], messages.dst[message]
        away = src // rails != dst // rails
        first = np.searchsorted(message, np.arange(len(messages) + 1))
        return replace(
            messages,
            src=np.where(away, src // rails * rails + rail, src),
            dst=np.where(away, dst // rails * rails + rail, dst),
            packets=packets[message, rail] if len(message) else messages.packets,
            after=pairs_of_parts(messages.after, first),
            open_flows=limit(messages),
            delay_ns=messages.delay_ns[message],
            group=messages.group[message],
            after_acked=pairs_of_parts(messages.after_acked, first),
        )

    def shares(self, rails: int, messages: Flows) -> np.ndarray:
        """int64[n_messages, rails]: data packets of each message by the rail that carries them, or by that of its sender's own NIC."""
        size, server, to = messages.packets, messages.src // rails, messages.dst // rails
        out = np.zeros((len(messages), rails), np.int64)
        stays = np.flatnonzero((server == to) & (size > 0))
        out[stays, messages.src[stays] % rails] = size[stays]
        away = np.flatnonzero(server != to)
        whole, rest = np.divmod(size[away], self.chunk_packets)
        chunks = int(whole.sum() + np.count_nonzero(rest))
        if chunks > MOST_CHUNKS:
            raise ScenarioError(
                "balancer.chunk_packets", self.chunk_packets, f"makes {chunks} chunks, of which at most {MOST_CHUNKS} are possible"
            )
        of = np.concatenate([np.repeat(away, whole), away[rest > 0]])
        packets = np.concatenate([np.full(int(whole.sum()), self.chunk_packets), rest[rest > 0]])
        turn = turns(len(messages), np.concatenate([messages.after, messages.after_acked]))
        batch = np.unique(np.stack([server, messages.group, turn], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        prefers = (server + to) % rails if self.ties == "spread" else np.zeros(len(messages), np.int64)
        loads = np.zeros((int(batch.max(initial=-1)) + 1, rails), np.int64)
        np.add.at(loads, batch[stays], out[stays])
        order = np.lexsort((np.arange(len(of)), of, -packets, batch[of]))
        of, packets = of[order], packets[order]
        bounds = np.searchsorted(batch[of], np.arange(len(loads) + 1))
        rail = np.zeros(len(of), np.int64)
        for b, (low, high) in enumerate(itertools.pairwise(bounds)):
            rail[low:high] = assigned(packets[low:high].tolist(), loads[b].tolist(), prefers[of[low:high]].tolist())
        np.add.at(out, (of, rail), packets)
        return out


def assigned(sizes: list[int], loads: list[int], prefers: list[int]) -> list[int]:
    """The rail of each chunk, sizes falling: the least loaded one, of equals the first from `prefers` on, round and round.

    `loads`: what each rail carries already.

    >>> assigned([5, 5, 4, 4, 3, 3, 3], [0, 0, 0], [0] * 7)
    [0, 1, 2, 2, 0, 1, 0]
    """
    rails, loads, out = len(loads), list(loads), []
    for size, first in zip(sizes, prefers):
        least = min(loads)
        while loads[first] != least:
            first = (first + 1) % rails
        loads[first] += size
        out.append(first)
    return out


def pairs_of_parts(pairs: np.ndarray, first: np.ndarray) -> np.ndarray:
    """int64[n, 2]: every part of a message waits for every part of the one before; message i has the parts first[i] to first[i + 1] - 1."""
    earlier, later = pairs.T
    n, m = first[earlier + 1] - first[earlier], first[later + 1] - first[later]
    count = n * m
    pair = np.repeat(np.arange(len(pairs)), count)
    i = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.stack([first[earlier][pair] + i // m[pair], first[later][pair] + i % m[pair]], axis=1)


def limit(messages: Flows) -> int:
    """Flows that a NIC keeps open at a time: the workload's limit, or none if it was none to any host."""
    most = np.bincount(messages.src[messages.packets > 0]).max(initial=0)
    return 1 << 40 if messages.open_flows >= most else messages.open_flows
