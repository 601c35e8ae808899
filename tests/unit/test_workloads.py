"""Collectives as data: who sends what to whom, and after what. What a message must hold is worked out by rank from what it waits for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import examples

from ofancore.bounds import Times, group_bounds, lower_bound, pattern
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.prepare import prepare
from ofancore.scenario import Scenario
from ofancore.simulation import simulate
from ofancore.workloads import WORKLOADS, Flows
from ofancore.workloads.moe_all_to_all import MoeAllToAll, route
from ofancore.workloads.moe_models import load_moe, names

TREE, PAPER = Fabric.build(4), Fabric.build(8)
EASY = Times(data=10, ack=2, gap=1, delay=100)  # slots of 11 and 3


def expand(kind, fabric=TREE, seed=0, payload_bytes=4096, **keys):
    return WORKLOADS[kind](**keys).flows(fabric, np.random.default_rng(seed), payload_bytes)


def rows(f):
    """(source, destination, packets, what it waits for) of each flow."""
    waits = {b: [] for b in range(len(f))}
    for a, b in f.after.tolist():
        waits[b].append(a)
    return [(s, d, m, waits[i]) for i, (s, d, m) in enumerate(zip(f.src.tolist(), f.dst.tolist(), f.packets.tolist()))]


# --- rings
def test_a_ring_all_reduce_of_four_ranks():
    """Step s + 1 of rank r waits for step s of rank r - 1, which is flow 4 s + r - 1; three steps of each phase."""
    f = expand("ring_all_reduce", message_packets=5, placement="contiguous", hosts=[2, 3, 8, 9], reduce_ns=7.0)
    who = [2, 3, 8, 9]
    first = [(who[r], who[(r + 1) % 4], 5, []) for r in range(4)]
    assert rows(f) == first + [(who[r], who[(r + 1) % 4], 5, [4 * s + (r - 1) % 4]) for s in range(5) for r in range(4)]
    assert f.groups == ["reduce-scatter", "all-gather"]
    assert f.group.tolist() == [0] * 12 + [1] * 12
    assert f.delay_ns.tolist() == [0.0] * 4 + [7.0] * 12 + [0.0] * 8  # sums: before steps 1 and 2, and the last one before the gather


def test_a_ring_reduce_scatter_is_an_all_gather_with_sums():
    keys = {"message_packets": 5, "placement": "random"}
    one, other = expand("ring_reduce_scatter", reduce_ns=3.0, steps=4, **keys), expand("ring_all_gather", steps=4, **keys)
    assert rows(one) == rows(other)
    assert one.delay_ns.tolist() == [0.0] * 16 + [3.0] * 48
    assert not expand("ring_reduce_scatter", **keys).delay_ns.any()


def summed_by_ring(f, n):
    """By rank and shard, whose parts are in it after a reduce-scatter: in step s rank r sends shard r - s."""
    waits = {b: a for a, b in f.after.tolist()}
    sent = []
    for i in range(n * (n - 1)):
        step, rank = divmod(i, n)
        got = sent[waits[i]] if i in waits else (rank, set())
        assert got[0] == (rank - step) % n  # what it waits for is the same shard
        sent.append((got[0], got[1] | {rank}))
    return {int((rank + 1) % n): sent[n * (n - 2) + rank][1] | {(rank + 1) % n} for rank in range(n)}


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("kind", ["ring_reduce_scatter", "ring_all_reduce"])
def test_each_rank_of_a_ring_ends_with_a_whole_sum(kind, n):
    f = expand(kind, hosts=list(range(n)), placement="contiguous")
    assert all(parts == set(range(n)) for parts in summed_by_ring(f, n).values())


# --- halving and doubling
def test_halving_and_doubling_of_four_ranks():
    """Halves to the rank two away, quarters to the neighbour, and back; each waits for all that came before."""
    f = expand("halving_doubling", message_packets=3, placement="contiguous", hosts=[0, 1, 4, 5], reduce_ns=7.0)
    assert rows(f) == [
        (0, 4, 6, []), (1, 5, 6, []), (4, 0, 6, []), (5, 1, 6, []),
        (0, 1, 3, [2]), (1, 0, 3, [3]), (4, 5, 3, [0]), (5, 4, 3, [1]),
        (0, 1, 3, [2, 5]), (1, 0, 3, [3, 4]), (4, 5, 3, [0, 7]), (5, 4, 3, [1, 6]),
        (0, 4, 6, [2, 5, 9]), (1, 5, 6, [3, 4, 8]), (4, 0, 6, [0, 7, 11]), (5, 1, 6, [1, 6, 10]),
    ]  # fmt: skip
    assert f.delay_ns.tolist() == [0.0] * 4 + [7.0] * 8 + [0.0] * 4
    assert (f.group.tolist(), f.groups) == ([0] * 8 + [1] * 8, ["reduce-scatter", "all-gather"])


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_halving_and_doubling_move_what_they_must(n):
    """Each message holds what it can of the sums it stands for, from what it waits for alone; at the end every rank has all of it."""
    f = expand("halving_doubling", message_packets=1, placement="contiguous", hosts=list(range(n)))
    waits = {i: row[3] for i, row in enumerate(rows(f))}
    held = []  # by message: shard -> whose parts are in it
    half = len(f) // 2
    for i, (src, dst, packets, _) in enumerate(rows(f)):
        bit = src ^ dst
        known = {shard: {src} for shard in range(n)}
        for earlier in waits[i]:
            assert f.dst[earlier] == src
            for shard, parts in held[earlier].items():
                known[shard] = known[shard] | parts
        if i < half:
            message = {shard: parts for shard, parts in known.items() if shard & ~(bit - 1) == dst & ~(bit - 1)}
        else:
            message = {shard: parts for shard, parts in known.items() if len(parts) == n}
        assert len(message) == packets == bit
        held.append(message)
    for rank in range(n):
        came = [held[i] for i in range(half, len(f)) if f.dst[i] == rank]
        assert set(range(n)) - {rank} == {shard for message in came for shard, parts in message.items() if len(parts) == n}


@pytest.mark.parametrize(("phase", "packets"), [("reduce_scatter", [2, 1]), ("all_gather", [1, 2]), ("all_reduce", [2, 1, 1, 2])])
def test_phases_of_halving_and_doubling(phase, packets):
    f = expand("halving_doubling", message_packets=1, phase=phase, hosts=[0, 1, 2, 3], reduce_ns=5.0)
    assert f.packets.reshape(-1, 4).tolist() == [[m] * 4 for m in packets]
    assert f.packets.sum() == 4 * 3 * (2 if phase == "all_reduce" else 1)
    assert f.delay_ns.reshape(-1, 4)[:, 0].tolist() == {
        "reduce_scatter": [0, 5], "all_gather": [0, 0], "all_reduce": [0, 5, 5, 0],
    }[phase]  # fmt: skip


@pytest.mark.parametrize("kind", ["ring_reduce_scatter", "ring_all_reduce", "halving_doubling"])
@pytest.mark.parametrize("n", [2, 4, 8])
def test_what_every_host_sends_and_gets(kind, n):
    """n - 1 shards out and in, twice for an all-reduce: the least that there is."""
    f = expand(kind, message_packets=3, hosts=list(range(n)))
    times = 1 if kind == "ring_reduce_scatter" else 2
    for ends in (f.src, f.dst):
        assert np.bincount(ends, weights=f.packets).tolist() == [3 * times * (n - 1)] * n


# --- incast
def test_incast():
    f = expand("incast", senders=5, message_packets=9, receiver=3)
    assert len(set(f.src.tolist()) - {3}) == 5
    assert (f.dst == 3).all()
    assert (f.packets == 9).all()
    assert len({expand("incast", seed=seed).dst[0] for seed in range(20)}) > 3
    assert lower_bound(EASY, TREE, expand("incast", senders=15, receiver=0, message_packets=20), "incast", 0) == 300 * 11 + 210 + 204


# --- mixtures of experts
def test_models_of_experts():
    assert names() == ["deepseek_v3", "mixtral_8x22b", "mixtral_8x7b"]
    shapes = {name: (m.d_model, m.experts, m.top_k, m.nodes_per_token) for name in names() for m in [load_moe(name)]}
    assert shapes == {"deepseek_v3": (7168, 256, 8, 4), "mixtral_8x22b": (6144, 8, 2, None), "mixtral_8x7b": (4096, 8, 2, None)}


def test_routing_by_hand():
    """Six experts on three servers. Without a limit the best two; with one server, that of the best pair of affinities."""
    affinity = np.array([[5.0, 0.0, 4.0, 1.5, 3.0, 3.0], [9.0, 8.0, 0.0, 0.0, 0.0, 1.0]])
    assert route(affinity, 2, 3, 3).tolist() == [[True, True, False], [True, False, False]]
    assert route(affinity, 2, 3, 1).tolist() == [[False, False, True], [True, False, False]]  # 5 + 0, 4 + 1.5, 3 + 3
    # two servers, one affinity of each counts: 5, 4, 3
    assert route(affinity, 3, 3, 2).tolist() == [[True, True, False], [True, False, True]]


@pytest.mark.parametrize(("name", "ranks"), [("deepseek_v3", 16), ("deepseek_v3", 128), ("mixtral_8x7b", 16), ("mixtral_8x22b", 128)])
def test_a_token_goes_to_no_more_servers_than_it_may(name, ranks):
    w, model = MoeAllToAll(model=name, tokens=50), load_moe(name)
    share, server, limit = w.layout(model, ranks)
    copies = w.copies(model, ranks, np.random.default_rng(0))
    assert copies.shape == (ranks, share)
    most = min(model.top_k, limit)
    assert 0 < copies.sum(axis=1).max() <= 50 * most
    assert copies.max() <= 50
    for rank in range(ranks):
        place = rank % share
        others = [to for to in range(share) if to % server == place % server and to // server != place // server]
        assert set(np.flatnonzero(copies[rank])) <= set(others)  # one rank a server, none in its own


def test_tokens_of_one_rank_a_server_all_arrive():
    """Two experts a token on eight ranks: each token is at one or two of them; those of its own rank stay."""
    w, model = MoeAllToAll(model="mixtral_8x7b", tokens=4000), load_moe("mixtral_8x7b")
    copies = w.copies(model, 8, np.random.default_rng(1))
    # of 8 ranks, 2 hold a token's experts, so 2 x 7 / 8 copies a token leave on average
    assert copies.sum() / (8 * 4000) == pytest.approx(14 / 8, rel=0.01)
    assert copies.sum(axis=0) == pytest.approx(np.full(8, 7000), rel=0.05)


def test_skew_makes_some_ranks_busier():
    def busiest(exponent):
        w = MoeAllToAll(model="mixtral_8x7b", tokens=1000, zipf_exponent=exponent)
        got = w.copies(load_moe("mixtral_8x7b"), 8, np.random.default_rng(1)).sum(axis=0)
        return got.max() / got.mean()

    assert busiest(0.0) < 1.1 < 1.5 < busiest(1.0) < busiest(2.0)
    assert busiest(0.5) > busiest(0.0)


def test_dispatch_and_combine():
    """Combine returns what dispatch sent, once all has arrived and the experts have computed; bytes are those of the tokens."""
    keys = {"model": "mixtral_8x7b", "tokens": 100, "placement": "contiguous", "hosts": list(range(16)), "compute_ns": 9.0}
    f = expand("moe_all_to_all", payload_bytes=1000, dispatch_bytes=1, combine_bytes=2, **keys)
    dispatch, gates, combine = (np.flatnonzero(f.group == g) for g in (0, -1, 1))
    assert f.groups == ["dispatch", "combine"]
    copies = MoeAllToAll(**keys).copies(load_moe("mixtral_8x7b"), 16, np.random.default_rng(0))
    sent = {(int(f.src[i]), int(f.dst[i])): int(f.packets[i]) for i in dispatch}
    assert sent == {(r, r // 8 * 8 + to): -(-int(n) * 4096 // 1000) for r in range(16) for to, n in enumerate(copies[r]) if n}
    back = {(int(f.dst[i]), int(f.src[i])): int(f.packets[i]) for i in combine}
    assert back == {(r, r // 8 * 8 + to): -(-int(n) * 8192 // 1000) for r in range(16) for to, n in enumerate(copies[r]) if n}
    assert (f.src[gates] == f.dst[gates]).all()
    assert (f.delay_ns[gates] == 9.0).all()
    assert not f.packets[gates].any()
    waits = {i: row[3] for i, row in enumerate(rows(f))}
    for gate in gates:
        assert sorted(waits[gate]) == [i for i in dispatch if f.dst[i] == f.src[gate]]
    assert all([f.src[gate] for gate in waits[i]] == [f.src[i]] and f.packets[waits[i]].sum() == 0 for i in combine)
    for phase, group in (("dispatch", dispatch), ("combine", combine)):
        alone = expand("moe_all_to_all", payload_bytes=1000, dispatch_bytes=1, combine_bytes=2, phase=phase, **keys)
        assert (alone.src.tolist(), alone.packets.tolist()) == (f.src[group].tolist(), f.packets[group].tolist())
        assert len(alone.after) == 0


def test_the_model_says_the_bytes_of_an_element():
    """DeepSeek-V3 dispatches in FP8 and combines in BF16."""
    w, model = MoeAllToAll(), load_moe("deepseek_v3")
    assert w.bytes_of(model) == (1, 2)
    assert w.layout(model, 128) == (128, 8, 4)
    assert MoeAllToAll(node_ranks=4, nodes_per_token=2, expert_ranks=64).layout(model, 128) == (64, 4, 2)


# --- jobs side by side
def test_jobs_have_hosts_of_their_own():
    jobs = [
        {"kind": "permutation", "message_packets": 4},
        {"kind": "ring_all_reduce", "message_packets": 2},
        {"kind": "incast", "senders": 3},
    ]
    hosts = {}
    for mix in ("random", "interleaved", "contiguous"):
        f = expand("two_jobs", jobs=jobs, ranks=[4, 6, 4], mix=mix)
        assert f.groups == [
            "job 0: permutation",
            "job 1: ring_all_reduce, reduce-scatter",
            "job 1: ring_all_reduce, all-gather",
            "job 2: incast",
        ]
        job = np.array([0, 1, 1, 2])[f.group]
        hosts[mix] = [sorted({int(h) for ends in (f.src, f.dst) for h in ends[job == j]}) for j in range(3)]
        assert [len(own) for own in hosts[mix]] == [4, 6, 4]
        assert len(set().union(*hosts[mix])) == 14
        assert (job[f.after[:, 0]] == job[f.after[:, 1]]).all()
    assert hosts["contiguous"] == [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9], [10, 11, 12, 13]]
    assert hosts["interleaved"] == [[0, 3, 6, 9], [1, 4, 7, 10, 12, 13], [2, 5, 8, 11]]
    assert hosts["random"] != hosts["contiguous"]


def test_all_that_jobs_wait_for_is_within_them(monkeypatch):
    """In the numbers of the run; how many of several and how they count stay as they are."""
    waits = {"after": [[0, 1]], "after_acked": [[1, 2]], "after_some": [[0, 3, 1, 2], [1, 3, 0, 2], [3, 3, 0, 2]]}

    def flows(self, fabric, rng, payload_bytes):
        return Flows(*(np.full(4, n) for n in (*self.hosts[:2], 1)), **{name: np.array(rows) for name, rows in waits.items()})

    monkeypatch.setattr(WORKLOADS["permutation"], "flows", flows)
    f = expand("two_jobs", mix="contiguous")
    assert f.after.tolist() == [[0, 1], [4, 5]]
    assert f.after_acked.tolist() == [[1, 2], [5, 6]]
    assert f.after_some.tolist() == [[0, 3, 1, 2], [1, 3, 0, 2], [3, 3, 0, 2], [4, 7, 1, 2], [5, 7, 0, 2], [7, 7, 0, 2]]
    assert f.needed().tolist() == [0, 1, 1, 2] * 2


def test_jobs_are_those_workloads():
    """On the first eight hosts a job is what it would be alone there, but for what it draws."""
    job = {"kind": "halving_doubling", "message_packets": 2, "placement": "contiguous"}
    f = expand("two_jobs", jobs=[job, job], mix="contiguous")
    alone = expand("halving_doubling", message_packets=2, placement="contiguous", hosts=list(range(8)))
    n = len(alone)
    assert rows(f)[:n] == rows(alone)
    assert [(s - 8, d - 8, m, [a - n for a in waits]) for s, d, m, waits in rows(f)[n:]] == rows(alone)


@pytest.mark.parametrize(
    ("mix", "alone", "strict"),
    [
        # 0 and 14, 1 and 15 are 6 links apart: 70 packets, an ACK's slot for 9 of them
        ("interleaved", 70 * 11 + 9 * 3 + 650 + 612, 70 * 11 + 650 + 612),
        # 0 and 1, 14 and 15 are 2 links apart: the first ACK is due after ceil(210 / 11) + 1 = 21 packets
        ("contiguous", 70 * 11 + (70 - 21) * 3 + 210 + 204, 70 * 11 + 210 + 204),
    ],
)
def test_each_job_is_bounded_as_alone(mix, alone, strict):
    jobs = [{"kind": "permutation", "message_packets": 70}] * 2
    f = expand("two_jobs", jobs=jobs, hosts=[0, 15, 1, 14], mix=mix)
    assert group_bounds(EASY, TREE, f, "two_jobs", acks=True).tolist() == [alone, alone]
    assert lower_bound(EASY, TREE, f, "two_jobs", 0) == strict
    three = expand("two_jobs", jobs=[{"kind": "all_to_all", "message_packets": 2}] * 2, ranks=[4, 4], mix="contiguous")
    assert group_bounds(EASY, TREE, three, "two_jobs").tolist() == [6 * 11 + 430 + 408] * 2  # as an all-to-all within a pod


def test_patterns():
    assert pattern(expand("permutation")) == "permutation"
    assert pattern(expand("all_to_all", hosts=[5, 2, 9])) == "all_to_all"
    assert pattern(expand("all_to_all", hosts=[5, 2])) == "permutation"  # the same, and as bounded
    assert pattern(expand("incast")) == ""
    assert pattern(expand("ring_all_gather")) == ""
    for flows in (([0, 1], [1, 0], [3, 4]), ([0, 0], [1, 2], [3, 3]), ([0, 0, 1, 1, 2, 2], [2, 1, 2, 0, 0, 1], [3] * 6)):
        assert pattern(Flows(*map(np.array, flows))) == ""


def test_jobs_come_out_one_by_one():
    """Alone, and beside a job that never meets it (another pod), a job takes the same time; what it took and its ideal are told."""
    ring = {"kind": "ring_all_reduce", "message_packets": 20, "placement": "contiguous"}
    two = {"kind": "two_jobs", "jobs": [ring, ring], "ranks": [4, 4], "mix": "contiguous"}
    keys = {"fabric": {"radix": 4}, "balancer": {"kind": "switch_dr"}}
    both = simulate(Scenario.from_dict(keys | {"workload": two}))
    alone = simulate(Scenario.from_dict(keys | {"workload": {**ring, "hosts": [0, 1, 2, 3]}}))
    assert [row["name"] for row in both.collectives] == [
        f"job {i}: ring_all_reduce, {phase}" for i in (0, 1) for phase in ("reduce-scatter", "all-gather")
    ]
    shown = ("cct_ns", "ideal_ns", "cct_over_ideal")
    assert [[row[key] for key in shown] for row in both.collectives[:2]] == [[row[key] for key in shown] for row in alone.collectives]
    assert both.cct_ns == max(row["end_ns"] for row in both.collectives)


# --- what is refused
@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (
            {"kind": "halving_doubling", "hosts": [0, 1, 2]},
            "workload.hosts = [0, 1, 2]: halving and doubling need a power of two of ranks, not 3",
        ),
        (
            {"kind": "ring_all_gather", "hosts": 12},
            "workload.hosts = 12: must be a list of the hosts that take part, such as [0, 1, 2, 3], or null for all",
        ),
        (
            {"kind": "halving_doubling", "message_packets": 500_000},
            "workload.message_packets = 500000: the largest message has 8 shards and at most 1000000 packets",
        ),
        ({"kind": "ring_reduce_scatter", "steps": 16}, "workload.steps = 16: a ring of 16 ranks has 15 steps"),
        ({"kind": "ring_all_reduce", "hosts": [3]}, "workload.hosts = [3]: at least 2 hosts must take part"),
        ({"kind": "incast", "senders": 16}, "workload.senders = 16: 16 hosts take part, one of them to receive"),
        ({"kind": "incast", "receiver": 16}, "workload.receiver = 16: must be one of the hosts that take part"),
        ({"kind": "moe_all_to_all", "model": "gpt"}, "workload.model = 'gpt': must be one of deepseek_v3, mixtral_8x22b, mixtral_8x7b"),
        (
            {"kind": "moe_all_to_all", "expert_ranks": 3},
            "workload.expert_ranks = 3: must divide 256 experts and 16 hosts",
        ),
        ({"kind": "moe_all_to_all", "hosts": [0, 1, 2]}, "workload.hosts = [0, 1, 2]: 3 ranks and 256 experts have no divisor in common"),
        (
            {"kind": "moe_all_to_all", "node_ranks": 16},
            "workload.node_ranks = 16: must divide the 16 ranks that share the experts, and be less",
        ),
        (
            {"kind": "moe_all_to_all", "model": "mixtral_8x7b", "nodes_per_token": 1, "node_ranks": 1},
            "workload.nodes_per_token = 1: leaves a token 1 experts of 2 (8 servers of 1 ranks)",
        ),
        ({"kind": "two_jobs", "jobs": [{"kind": "incast"}]}, "workload.jobs"),
        ({"kind": "two_jobs", "jobs": [{"kind": "incast"}, {"kind": "fsdp"}]}, "workload.jobs.1.kind = 'fsdp': must be one of "),
        ({"kind": "two_jobs", "jobs": [{"kind": "incast"}, {"kind": "two_jobs"}]}, "workload.jobs.1.kind = 'two_jobs': must be one of "),
        ({"kind": "two_jobs", "jobs": [{"kind": "incast"}, 3]}, "workload.jobs.1 = 3: must be a mapping of keys"),
        (
            {"kind": "two_jobs", "jobs": [{"kind": "incast", "sender": 3}, {"kind": "incast"}]},
            "workload.jobs.0.sender = 3: unknown key",
        ),
        (
            {"kind": "two_jobs", "jobs": [{"kind": "incast", "senders": 0}, {"kind": "incast"}]},
            "workload.jobs.0.senders = 0: must be greater than or equal to 1",
        ),
        (
            {"kind": "two_jobs", "jobs": [{"kind": "incast", "hosts": [1, 2]}, {"kind": "incast"}]},
            "workload.jobs.0.hosts = [1, 2]: the hosts of a job are those that it gets by `ranks` and `mix`",
        ),
        (
            {"kind": "two_jobs", "jobs": [{"kind": "incast"}, {"kind": "incast"}]},
            "workload.jobs.0.senders = 8: 8 hosts take part, one of them to receive",
        ),
        ({"kind": "two_jobs", "ranks": [4]}, "workload.ranks = [4]: must have a number for each of the 2 jobs"),
        ({"kind": "two_jobs", "ranks": [14, 4]}, "workload.ranks = [14, 4]: 16 hosts take part, and a job has at least 2"),
        (
            {"kind": "two_jobs", "jobs": [{"kind": "all_to_all", "open_flows": 2}, {"kind": "all_to_all"}]},
            "workload.jobs = [2, None]: jobs must agree on the flows that a host keeps open (null: all)",
        ),
    ],
)  # fmt: skip
def test_refusals(keys, line):
    with pytest.raises(ScenarioError) as e:
        prepare(Scenario.from_dict({"fabric": {"radix": 4}, "workload": keys}))
    assert str(e.value).startswith(line)


@st.composite
def job_lists(draw):
    names = st.sampled_from(["permutation", "all_to_all", "ring_all_gather", "incast"])
    return [
        {"kind": kind, "message_packets": 1} | ({"senders": 1} if kind == "incast" else {})
        for kind in draw(st.lists(names, min_size=2, max_size=5))
    ]


@examples(60)
@given(job_lists(), st.sampled_from(["random", "interleaved", "contiguous"]), st.integers(0, 99))
def test_any_jobs_share_out_the_hosts(jobs, mix, seed):
    scenario = Scenario.from_dict({"workload": {"kind": "two_jobs", "jobs": jobs, "mix": mix}, "seed": seed})
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    shares = scenario.workload.shares(PAPER, np.random.default_rng(seed))
    assert [len(share) for share in shares] == [128 // len(jobs)] * len(jobs)
    assert len(set(np.concatenate(shares).tolist())) == sum(map(len, shares))
