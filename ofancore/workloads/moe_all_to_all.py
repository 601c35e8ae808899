"""The all-to-all of a mixture of experts: tokens go to the ranks that hold their experts (dispatch), results come back (combine).

Hosts are ranks, `expert_ranks` of them share the experts of a layer, evenly and in order; with more hosts, as many such groups work side
by side. `node_ranks` ranks in a row are a server. What stays in a server is off the fabric, and of a token one copy goes to each other
server that holds experts of it, to the rank with the sender's place there, which passes it on (DeepSeek-V3, section 3.2.2). With one
rank a server that is a copy for each rank, however many of its experts the token needs.

Routing. A token's affinity to an expert is the logarithm of the expert's popularity plus a Gumbel variate, and the `top_k` highest win:
draws without replacement in proportion to popularity. The popularity of the i-th most popular expert is proportional to i^-s, s being
`zipf_exponent`: 0 is balanced up to chance, and which expert is how popular is drawn once a run, the same for all groups. The affinities
are a stand-in (our choice): routers of trained models are not public. If a token may go to M servers only, those are taken that have the
highest sums of their top_k / M highest affinities, and the top_k experts among theirs (DeepSeek-V3, section 2.1.2).

A message is what a rank sends another one, of all its tokens; the last packet is filled up. Combine returns the same tokens, a sum a
server, once all that a rank gets has arrived and `compute_ns` has passed; the two phases of different ranks overlap. Flows of a rank are
in the rotated order of an all-to-all.

References: "Mixtral of Experts", arXiv 2401.04088; "DeepSeek-V3 Technical Report", arXiv 2412.19437.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ofancore.bits import MAX_FLOWS
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.workloads.base import PAYLOAD_BYTES, Flows, Hosts, Placement, Workload, count, ranks_of, rotated
from ofancore.workloads.moe_models import MoeModel, load_moe

MOST_PACKETS = 1_000_000  # of a message
MOST_DRAWS = 1 << 31  # affinities of a run: a minute or so
SERVER = 8  # GPUs of a server, as DeepSeek-V3's


class MoeAllToAll(Workload):
    """Dispatch and combine of a layer of experts."""

    kind: Literal["moe_all_to_all"] = "moe_all_to_all"
    model: str = Field("deepseek_v3", description="a file of data/models/moe: deepseek_v3, mixtral_8x7b, mixtral_8x22b")
    phase: Literal["dispatch", "combine", "both"] = Field("both", description="both: combine after dispatch, rank by rank")
    tokens: int = Field(1024, ge=1, le=1 << 20, description="tokens a rank (our choice)")
    zipf_exponent: float = Field(
        0.0, ge=0, le=10, description="popularity of the i-th expert ~ i^-s: 0 balanced, 1 heavily skewed (our choice: balanced)"
    )
    expert_ranks: Annotated[int, Field(ge=2)] | None = Field(
        None, description="ranks that share the experts, a divisor of experts and hosts; null: the greatest one (our choice)"
    )
    node_ranks: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="ranks of a server; null: 8 (or the next less that fits) if the model limits servers a token, else 1 (our choice)",
    )
    nodes_per_token: Annotated[int, Field(ge=1)] | None = Field(
        None, description="servers that a token is sent to at most; null: the model's"
    )
    dispatch_bytes: int | None = Field(None, ge=1, le=8, description="bytes an element, dispatched; null: the model's")
    combine_bytes: int | None = Field(None, ge=1, le=8, description="bytes an element, combined; null: the model's")
    compute_ns: float = Field(0.0, ge=0, le=1e12, description="from all of a rank's tokens to its first result (our choice: none)")
    open_flows: int | None = Field(None, ge=1, description="flows a host keeps open at a time; null: all")
    placement: Placement = "random"
    hosts: Hosts = None
    title: ClassVar[str] = "all-to-all of a mixture of experts"

    def most_packets(self, fabric: Fabric, payload_bytes: int = PAYLOAD_BYTES) -> int:
        """All tokens of all ranks may go to one."""
        model = load_moe(self.model)
        per_token = model.d_model * max(self.bytes_of(model))
        return count(self.hosts, fabric) * (self.tokens * per_token // payload_bytes + 1)

    def bytes_of(self, model: MoeModel) -> tuple[int, int]:
        """Bytes of an element, dispatched and combined."""
        return self.dispatch_bytes or model.bytes_dispatched, self.combine_bytes or model.bytes_combined

    def layout(self, model: MoeModel, n: int) -> tuple[int, int, int]:
        """(ranks that share the experts, ranks a server, servers a token may go to) for n ranks."""
        share = self.expert_ranks or math.gcd(model.experts, n)
        if share < 2:
            raise ScenarioError("workload.hosts", self.hosts, f"{n} ranks and {model.experts} experts have no divisor in common")
        if model.experts % share or n % share:
            rule = f"must divide {model.experts} experts and {n} hosts"
            raise ScenarioError("workload.expert_ranks", share, rule)
        limit = self.nodes_per_token or model.nodes_per_token
        server = self.node_ranks or (max(d for d in range(1, min(SERVER, share - 1) + 1) if share % d == 0) if limit else 1)
        if share % server or share == server:
            raise ScenarioError("workload.node_ranks", server, f"must divide the {share} ranks that share the experts, and be less")
        servers = share // server
        limit = min(limit or servers, servers)
        if limit * (model.experts // servers) < model.top_k:
            rule = f"leaves a token {limit * (model.experts // servers)} experts of {model.top_k} ({servers} servers of {server} ranks)"
            raise ScenarioError("workload.nodes_per_token", limit, rule)
        return share, server, limit

    def copies(self, model: MoeModel, n: int, rng: np.random.Generator) -> np.ndarray:
        """int64[n, expert ranks]: tokens that a rank sends to each rank of its group."""
        share, server, limit = self.layout(model, n)
        if self.tokens * n * model.experts > MOST_DRAWS:
            raise ScenarioError("workload.tokens", self.tokens, f"{n} ranks would draw more than {MOST_DRAWS} affinities")
        popularity = rng.permutation(-self.zipf_exponent * np.log(np.arange(1, model.experts + 1))).astype(np.float32)
        out = np.zeros((n, share), np.int64)
        for rank in range(n):
            draws = rng.standard_exponential((self.tokens, model.experts), np.float32)
            affinity = popularity - np.log(np.maximum(draws, np.finfo(np.float32).tiny))  # one in 10^7 is drawn as 0
            place = rank % share
            needed = route(affinity, model.top_k, share // server, limit).sum(axis=0)
            needed[place // server] = 0
            out[rank, place % server :: server] = needed
        return out

    def flows(self, fabric: Fabric, rng: np.random.Generator, payload_bytes: int = PAYLOAD_BYTES) -> Flows:
        model = load_moe(self.model)
        who = ranks_of(self.hosts, self.placement, fabric, rng)
        n = len(who)
        copies = self.copies(model, n, rng)
        share = copies.shape[1]
        place, to = rotated(share, share - 1)
        first = np.repeat(np.arange(0, n, share), len(place))  # of the group that a flow is in
        src, dst = first + np.tile(place, n // share), first + np.tile(to, n // share)
        tokens = {"dispatch": copies[src, dst - first], "combine": copies[dst, src - first]}
        if self.phase != "both":
            tokens = {self.phase: tokens[self.phase]}
        rows, pairs = [], [np.zeros((0, 2), np.int64)]
        begun, gate = 0, np.full(n, -1)
        for group, (phase, sent) in enumerate(tokens.items()):
            some = np.flatnonzero(sent)
            packets = -(-sent[some] * model.d_model * self.bytes_of(model)[phase == "combine"] // payload_bytes)
            if len(some) == 0 or packets.max() > MOST_PACKETS:
                rule = f"makes messages of {packets.max(initial=0)} packets, 1 to {MOST_PACKETS} are possible"
                raise ScenarioError("workload.tokens", self.tokens, rule)
            ids = begun + np.arange(len(some))
            waits = gate[src[some]] >= 0
            pairs.append(np.stack([gate[src[some]][waits], ids[waits]], axis=1))
            rows.append((who[src[some]], who[dst[some]], packets, np.zeros(len(some)), np.full(len(some), group)))
            begun += len(some)
            if self.phase == "both" and group == 0:
                gets = np.unique(dst[some])
                gate[gets] = begun + np.arange(len(gets))
                pairs.append(np.stack([ids, gate[dst[some]]], axis=1))
                rows.append((who[gets], who[gets], np.zeros_like(gets), np.full(len(gets), self.compute_ns), np.full(len(gets), -1)))
                begun += len(gets)
        if begun > MAX_FLOWS:
            raise ScenarioError("workload.hosts", n, f"has {begun} flows, of which at most {MAX_FLOWS} are possible")
        columns = [np.concatenate(column) for column in zip(*rows)]
        return Flows(
            *columns[:3], np.concatenate(pairs), self.open_flows or 1 << 40, delay_ns=columns[3], group=columns[4], groups=list(tokens)
        )


def route(affinity: np.ndarray, top_k: int, servers: int, limit: int) -> np.ndarray:
    """bool[tokens, servers]: which servers hold experts of a token; affinity float64[tokens, experts], experts in order over servers."""
    tokens, experts = affinity.shape
    by_server = affinity.reshape(tokens, servers, -1)
    if limit < servers:
        best = max(1, top_k // limit)
        score = np.partition(by_server, -best, axis=2)[:, :, -best:].sum(axis=2)
        others = np.argpartition(score, -limit, axis=1)[:, :-limit]
        affinity = by_server.copy()
        np.put_along_axis(affinity, others[:, :, None], -np.inf, axis=1)
        affinity = affinity.reshape(tokens, experts)
    chosen = np.argpartition(affinity, -top_k, axis=1)[:, -top_k:]
    out = np.zeros((tokens, servers), bool)
    np.put_along_axis(out, chosen // (experts // servers), True, axis=1)
    return out
