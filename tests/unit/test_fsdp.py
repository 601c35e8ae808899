"""The training workload as data: who sends what to whom, and after what. Nothing is simulated here."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import examples

from ofancore.bounds import Times, ready_times
from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.prepare import prepare
from ofancore.scenario import Scenario
from ofancore.workloads.fsdp import Fsdp
from ofancore.workloads.models import load_model

TREE, PAPER = Fabric.build(4), Fabric.build(8)
NO_TIME = Times(data=1, ack=1, gap=0, delay=0)


def expand(fabric=TREE, seed=0, **keys):
    return Fsdp(**keys).flows(fabric, np.random.default_rng(seed))


@st.composite
def keys_of(draw, n_hosts=16):
    ranks = draw(st.integers(2, n_hosts))
    return {
        "model": "llama3_8b",
        "ranks": draw(st.sampled_from([ranks, ranks, None])),
        "message_packets": draw(st.integers(1, 9)),
        "collective": draw(st.sampled_from(["ring", "direct"])),
        "steps": draw(st.none() | st.integers(1, ranks - 1)),
        "placement": draw(st.sampled_from(["random", "contiguous", "striped"])),
        "phase": draw(st.sampled_from(["all_gather", "reduce_scatter", "backward", "step"])),
        "layers": draw(st.integers(1, 4)),
        "prefetch": draw(st.integers(0, 5)),
    }


# --- sizes
@pytest.mark.parametrize(
    ("model", "shards", "packets"),
    [
        # bytes over shards times 4096, rounded up: the paper's digest has about 104, 418 and 1570
        ("llama3_8b", 1024, 105),
        ("llama3_70b", 1024, 409),
        ("llama3_405b", 1024, 1521),
        ("llama3_405b", 128, 12_161),
        ("llama3_405b", 432, 3_603),
    ],
)
def test_packets_of_a_shard(model, shards, packets):
    f = expand(PAPER, model=model, shards=shards)
    assert (f.packets == packets).all()
    assert 0 <= packets * shards * 4096 - 2 * load_model(model).layer_parameters < shards * 4096


def test_packets_follow_bytes_and_payload():
    w = Fsdp(bytes_per_parameter=1, bytes_per_gradient=4)
    model = load_model(w.model)
    assert w.messages(model, 4096) == (761, 3041)
    assert w.messages(model, 1024) == (3041, 12_161)
    assert Fsdp(message_packets=7).messages(model, 4096) == (7, 7)
    f = expand(phase="backward", layers=1, bytes_per_parameter=1, bytes_per_gradient=4)
    assert [set(f.packets[f.group == g]) for g in (-1, 0, 1)] == [{0}, {761}, {3041}]


def test_a_scenario_tells_its_payload():
    scenario = Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"kind": "fsdp"}, "packet": {"payload_bytes": 1024}})
    assert set(prepare(scenario).flows.packets) == {6081}


def test_computing_time_by_hand():
    """405B, 1024 tokens at 400 TFLOP/s: 2 x 3,187,703,808 x 1024 / 4e14 s = 16.32 ms forward, twice that backward."""
    w = Fsdp()
    forward, backward = w.compute_ns(load_model(w.model))
    assert forward == pytest.approx(2 * 3_187_703_808 * 1024 / 400e12 * 1e9)
    assert forward == pytest.approx(16_321_043.5, abs=0.1)
    assert backward == 2 * forward
    whole, cut = expand(phase="step", layers=1), expand(phase="step", layers=1, steps=3)
    assert sorted(set(whole.delay_ns)) == pytest.approx([0, forward, backward])
    assert sorted(set(cut.delay_ns)) == pytest.approx([0, forward * 3 / 15, backward * 3 / 15])


# --- laws of every expansion
@examples(60)
@given(keys_of(), st.integers(0, 2**32))
def test_dependencies_arrive_where_their_followers_start(keys, seed):
    if keys["steps"] and keys["steps"] > (keys["ranks"] or 16) - 1:
        keys["steps"] = None
    f = expand(seed=seed, **keys)
    earlier, later = f.after.T
    assert (f.dst[earlier] == f.src[later]).all()
    assert len(np.unique(f.after, axis=0)) == len(f.after)
    ready_times(NO_TIME, TREE, f)  # refuses circles
    local = f.packets == 0
    assert (local == (f.src == f.dst)).all()
    assert (local == (f.group < 0)).all()
    assert (f.delay_ns[~local] == 0).all()
    assert sorted(set(f.group[~local])) == list(range(len(f.groups)))
    assert f.packets.sum() <= Fsdp(**keys).most_packets(TREE) * (keys["ranks"] or 16)
    assert len(set(f.src)) == (keys["ranks"] or 16)
    arrays = (f.src, f.dst, f.packets, f.group)
    assert all(len(x) == len(f) and x.dtype == np.int64 for x in arrays)
    assert len(f.delay_ns) == len(f)
    assert f.delay_ns.dtype == np.float64
    assert f.after.dtype == np.int64


@examples(40)
@given(keys_of(), st.integers(0, 2**32))
def test_every_rank_gets_every_shard_once(keys, seed):
    """Follow shards through each collective: with S steps, S shards beside its own; in the direct one, straight from their owners."""
    n = keys["ranks"] or 16
    steps = min(keys["steps"] or n - 1, n - 1)
    f = expand(seed=seed, **keys | {"steps": steps})
    for g in range(len(f.groups)):
        own = np.flatnonzero(f.group == g)
        assert len(own) == n * steps
        if keys["collective"] == "direct":
            pairs = set(zip(f.src[own], f.dst[own]))
            assert len(pairs) == n * steps
            assert np.bincount(f.dst[own], minlength=16).max() == steps
            continue
        shard = {}
        inside = {int(b): int(a) for a, b in f.after if f.group[a] == g and f.group[b] == g}
        for flow in own:  # ascending: earlier steps first
            shard[flow] = shard[inside[flow]] if flow in inside else f.src[flow]
        got = {(f.dst[flow], shard[flow]) for flow in own}
        assert len(got) == n * steps
        assert all(host != owner for host, owner in got)


def test_reduce_scatter_ring_adds_up_every_gradient():
    """The chunk that ends at a rank has passed, and been added to at, every other rank."""
    f = expand(phase="reduce_scatter", collective="ring", ranks=5)
    before = dict(f.after[:, ::-1].tolist())
    for flow in np.flatnonzero(~np.isin(np.arange(len(f)), f.after[:, 0])):
        chunk, visited = int(flow), []
        while True:
            visited.append(int(f.src[chunk]))
            if chunk not in before:
                break
            chunk = before[chunk]
        assert len(set(visited) | {int(f.dst[flow])}) == 5
        assert len(visited) == 4


def test_direct_is_the_rotated_order_one_message_at_a_time():
    f = expand(collective="direct", placement="contiguous", ranks=4, steps=2)
    assert list(zip(f.src, f.dst)) == [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 0), (3, 0), (3, 1)]
    assert f.open_flows == 1
    assert len(f.after) == 0
    assert expand(ranks=4).open_flows > 10**9


# --- placement
def test_placement():
    ring = {p: expand(placement=p, steps=1, ranks=6).src.tolist() for p in ("contiguous", "striped", "random")}
    assert ring["contiguous"] == [0, 1, 2, 3, 4, 5]
    assert ring["striped"] == [0, 4, 8, 12, 1, 5]  # pods of 4 hosts
    assert ring["random"] == np.random.default_rng(0).permutation(16)[:6].tolist()


# --- the pass, by hand
def waits_of(f, flow):
    """Names of the collectives and computations that a flow waits for; the end of a collective at a rank stands for the collective."""
    before = f.after[f.after[:, 1] == flow, 0]
    collectives = {f.groups[f.group[a]] for a in before if f.group[a] >= 0}
    if collectives:
        return collectives
    return set().union(*({f"computation {f.delay_ns[a]:.0f}"} if f.delay_ns[a] > 0 else waits_of(f, a) for a in before))


def schedule(f):
    """What every collective's first flow, and every computation, waits for (at the first rank)."""
    first = [int(np.flatnonzero((f.group == g) & (f.src == f.src[0]))[0]) for g in range(len(f.groups))]
    host = f.src[0]
    computing = np.flatnonzero((f.delay_ns > 0) & (f.src == host))
    return {f.groups[g]: waits_of(f, i) for g, i in enumerate(first)}, [waits_of(f, i) for i in computing]


def test_backward_pass_with_and_without_prefetch():
    common = {"phase": "backward", "layers": 4, "ranks": 3, "collective": "direct", "placement": "contiguous"}
    f = expand(**common)
    c = f"computation {f.delay_ns.max():.0f}"
    collectives, computations = schedule(f)
    assert list(collectives) == [f"{kind} {i}" for i in (3, 2, 1, 0) for kind in ("AG backward", "RS")]
    assert collectives["AG backward 3"] == set()
    assert collectives["AG backward 2"] == {"AG backward 3"}  # issued when layer 3 starts to compute
    assert collectives["AG backward 1"] == {"AG backward 2", c}
    assert collectives["RS 3"] == {c}
    assert collectives["RS 2"] == {c, "RS 3"}
    assert computations == [
        {"AG backward 3"},
        {"AG backward 2", c},
        {"AG backward 1", c, "RS 3"},
        {"AG backward 0", c, "RS 2"},
    ]
    collectives, computations = schedule(expand(**common, prefetch=0))
    assert collectives["AG backward 2"] == {"AG backward 3", c}
    collectives, computations = schedule(expand(**common, prefetch=9))
    assert collectives["AG backward 0"] == {"AG backward 1"}


def test_a_step_is_forward_and_then_backward():
    f = expand(phase="step", layers=2, ranks=3, placement="contiguous")
    assert f.groups == ["AG forward 0", "AG forward 1", "AG backward 1", "RS 1", "AG backward 0", "RS 0"]
    collectives, computations = schedule(f)
    c, d = (f"computation {x:.0f}" for x in sorted(set(f.delay_ns))[1:])
    assert collectives["AG forward 1"] == {"AG forward 0"}
    assert collectives["AG backward 1"] == {c}
    assert collectives["AG backward 0"] == {"AG backward 1"}
    assert computations == [{"AG forward 0"}, {"AG forward 1", c}, {"AG backward 1", c}, {"AG backward 0", d}]


def test_a_rank_takes_part_only_from_its_own_issue():
    """In the ring every message of a collective waits for its sender's issue, not only the first step's."""
    f = expand(phase="backward", layers=1, ranks=4)
    scatter = np.flatnonzero(f.group == f.groups.index("RS 0"))
    computing = np.flatnonzero(f.delay_ns > 0)
    pairs = set(map(tuple, f.after.tolist()))
    of = {int(f.src[i]): int(i) for i in computing}
    assert all((of[int(f.src[i])], int(i)) in pairs for i in scatter)


# --- refusals
@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"model": "gpt"}, "workload.model = 'gpt': must be one of llama3_405b, llama3_70b, llama3_8b"),
        ({"ranks": 1}, "workload.ranks = 1: must be greater than or equal to 2"),
        ({"ranks": 17}, "workload.ranks = 17: the fabric has 16 hosts"),
        ({"steps": 0}, "workload.steps = 0: must be greater than or equal to 1"),
        ({"steps": 16}, "workload.steps = 16: a collective of 16 ranks has 15 steps"),
        ({"ranks": 4, "steps": 4}, "workload.steps = 4: a collective of 4 ranks has 3 steps"),
        ({"shards": 15}, "workload.shards = 15: a layer has at least one shard a rank: 16"),
        (
            {"shards": 2, "ranks": 2, "bytes_per_gradient": 8},
            "workload.shards = 2: makes shards of 3112992 packets, at most 1000000 are possible",
        ),
        ({"phase": "step", "layers": 127}, "workload.layers = 127: Llama 3 405B has 126 layers"),
        ({"phase": "pretraining"}, "workload.phase = 'pretraining': must be 'all_gather', 'reduce_scatter', 'backward' or 'step'"),
        ({"phase": "step", "tokens": 10**8, "tflops": 1.0}, "workload.tokens = 100000000: computing takes 3825245 s, at most 3600"),
        ({"prefetch": True}, "workload.prefetch = True: must be a valid integer"),
        ({"gpus": 8}, "workload.gpus = 8: unknown key"),
    ],
)
def test_refusals(keys, text):
    with pytest.raises(ScenarioError) as e:
        prepare(Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"kind": "fsdp", **keys}}))
    assert str(e.value) == text


def test_too_many_flows_are_refused():
    with pytest.raises(ScenarioError, match="more than 8388608 flows"):
        expand(Fabric.build(32), shards=10**6)


def test_flows_are_counted_by_phase(monkeypatch):
    monkeypatch.setattr("ofancore.workloads.fsdp.MAX_FLOWS", 16 * (15 + 7))
    assert len(expand(Fabric.build(4), phase="all_gather")) == 16 * 15
    for phase in ("backward", "step"):
        with pytest.raises(ScenarioError, match="16 ranks of 15 steps would have more than"):
            expand(Fabric.build(4), phase=phase)
