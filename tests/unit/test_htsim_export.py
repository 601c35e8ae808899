"""Writing connection matrices for htsim: the way there and back, what the format cannot say, and the command."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from connections import WINDOW, body, flows_of, scenario
from hypothesis import given
from scenarios import examples, matrices

from ofancore import cli, htsim
from ofancore.errors import ScenarioError
from ofancore.htsim import matrix_text, without_computations
from ofancore.prepare import prepare
from ofancore.scenario import Scenario
from ofancore.simulation import simulate
from ofancore.workloads.base import Flows
from ofancore.workloads.connection_matrix import parse_matrix

WORKLOADS = [
    {"kind": "permutation", "message_packets": 3},
    {"kind": "all_to_all", "message_packets": 1},
    {"kind": "incast", "senders": 3},
    {"kind": "ring_all_gather", "message_packets": 2, "placement": "striped"},
    {"kind": "ring_all_reduce", "message_packets": 2},
    {"kind": "pairs", "pairs": [[3, 4], [3, 4]]},
    {"kind": "moe_all_to_all", "phase": "dispatch", "tokens": 9},
    {"kind": "two_jobs", "jobs": [{"kind": "ring_reduce_scatter"}, {"kind": "permutation"}]},
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: w["kind"])
def test_flows_go_there_and_back(workload):
    keys = {"fabric": {"radix": 4}, "packet": {"payload_bytes": 1000}, "start_jitter_ns": 500.0, "seed": 4}
    given = Scenario.from_dict({**keys, "workload": workload})
    before = prepare(given)
    text = matrix_text(given, on="recv")
    again = scenario(text, packet=keys["packet"])
    after = prepare(again)
    for name in ("src", "dst", "packets", "after", "after_acked"):
        assert np.array_equal(getattr(after.flows, name), getattr(before.flows, name)), name
    assert sorted(after.start.tolist()) == sorted(before.start.tolist())  # jitter and all
    assert matrix_text(again, on="recv").splitlines()[1:] == text.splitlines()[1:]


def test_a_run_of_what_was_written_is_the_run():
    given = Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"kind": "ring_all_reduce", "message_packets": 5}})
    one, other = simulate(given), simulate(scenario(matrix_text(given, on="recv")))
    assert one.flows.equals(other.flows)
    assert one.links.equals(other.links)


@pytest.mark.parametrize("phase", ["all_reduce", "reduce_scatter"])
def test_halving_and_doubling_of_few_ranks_can_be_said(phase):
    """Of two ranks each waits for the other once; of four, in one half of it, for one message or for two that nothing else waits for."""
    hosts = [0, 9] if phase == "all_reduce" else [0, 9, 3, 14]
    given = Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"kind": "halving_doubling", "phase": phase, "hosts": hosts}})
    one, other = prepare(given).flows, flows_of(matrix_text(given, on="recv"))
    assert (one.after.tolist(), one.packets.tolist()) == (other.after.tolist(), other.packets.tolist())


def test_combine_waits_for_dispatch_by_barriers():
    """The computation between the two takes no time: combine of a rank starts when all that it gets has arrived, as in the run."""
    keys = {"fabric": {"radix": 4}, "start_jitter_ns": 300.0}
    given = Scenario.from_dict({**keys, "workload": {"kind": "moe_all_to_all", "model": "mixtral_8x7b", "tokens": 5}})
    text = matrix_text(given, on="recv")
    one, other = simulate(given), simulate(scenario(text))
    kept = one.flows[one.flows["packets"] > 0].reset_index(drop=True)
    assert len(kept) == len(other.flows) < len(one.flows)
    assert kept.equals(other.flows)
    assert one.links.equals(other.links)
    barriers = [line.split() for line in text.splitlines() if line.startswith("trigger")]
    ranks = kept.groupby("dst").size()  # dispatch and combine; as many combined as dispatched
    assert len(barriers) == 16
    assert {words[3] for words in barriers} <= {"barrier", "oneshot"}
    assert sum(int(words[5]) if words[3] == "barrier" else 1 for words in barriers) == ranks.sum() / 2


def made_of(flows, delay_ns=None, **keys):
    """The inputs of a run of these flows, host 0 to 1 and so on, on 16 hosts."""
    src, dst, packets = (np.array(column) for column in zip(*flows))
    keys = {name: np.array(pairs) for name, pairs in keys.items()}
    given = Flows(src, dst, packets, delay_ns=None if delay_ns is None else np.array(delay_ns, float), **keys)
    delay = np.rint(given.delay_ns * 1000).astype(np.int64)
    free = np.setdiff1d(np.arange(len(given)), given.dependencies()[1])
    return SimpleNamespace(flows=given, delay=delay, start=[(given.src[f], delay[f], f) for f in free])


def test_computations_give_way_to_what_they_wait_for():
    """0 -> 1, then two computations at 1 in a row, then 1 -> 2; and 3 -> 4 after a computation that 3 begins with."""
    flows = [(0, 1, 1), (1, 1, 0), (1, 1, 0), (1, 2, 1), (3, 3, 0), (3, 4, 1)]
    inputs = made_of(flows, delay_ns=[0, 0, 0, 0, 7.5, 0], after=[(0, 1), (1, 2), (2, 3), (4, 5)])
    sources, start = without_computations(Scenario(), inputs, {f: int(time) for _, time, f in inputs.start})
    assert sources == {3: ((0, 0),)}
    assert start == {0: 0, 5: 7500}


@pytest.mark.parametrize(
    ("flows", "delay_ns", "after", "rule"),
    [
        ([(0, 1, 1), (1, 1, 0), (2, 3, 1)], [0, 0, 0], [(0, 1), (1, 2)], "flow 2 waits for a computation at another host, 1"),
        (
            [(0, 1, 1), (1, 1, 0), (1, 3, 1)],
            [0, 9, 0],
            [(0, 2), (1, 2)],
            "flow 2 waits for other flows and for a computation that ends at 9000 ps",
        ),
        ([(0, 1, 1), (1, 1, 0)], [0, 9], [(0, 1)], "it has computations (flow 1 takes 9 ns at host 1 after what it waits for)"),
    ],
)
def test_computations_that_cannot_give_way(flows, delay_ns, after, rule):
    inputs = made_of(flows, delay_ns=delay_ns, after=after)
    with pytest.raises(ScenarioError) as e:
        without_computations(Scenario(), inputs, {f: int(time) for _, time, f in inputs.start})
    assert str(e.value).endswith(f"cannot be written as a connection matrix: {rule}")


def test_a_multishot_is_written_as_one():
    text = matrix_text(scenario(body(*WINDOW), start_jitter_ns=0.0), on="recv")
    assert text.splitlines()[-1] == "trigger id 1 multishot"
    assert matrix_text(scenario(text), on="recv").splitlines()[1:] == text.splitlines()[1:]


@examples(60)
@given(matrices(16))
def test_matrices_go_there_and_back(text):
    """Sizes become whole packets the first time; from then on nothing changes."""
    given = scenario(text, packet={"payload_bytes": 64})
    written = matrix_text(given, on="recv")
    before, after = prepare(given).flows, prepare(scenario(written, packet={"payload_bytes": 64})).flows
    for name in ("src", "dst", "packets", "after", "after_acked", "after_some", "delay_ns"):
        assert np.array_equal(getattr(after, name), getattr(before, name)), name
    assert (before.packets == [-(-at.size // 64) for at in parse_matrix(text, "it").connections]).all()


@pytest.mark.parametrize(
    ("workload", "rule"),
    [
        (
            {"kind": "fsdp", "phase": "step", "message_packets": 1},
            r"it has computations \(flow \d+ takes [\d.e+]+ ns at host \d+ after .*\)",
        ),
        (
            {"kind": "moe_all_to_all", "compute_ns": 1000.0},
            r"it has computations \(flow \d+ takes 1000 ns at host \d+ after what it waits for\)",
        ),
        ({"kind": "ring_all_reduce", "reduce_ns": 1.0}, "flow 16 starts some time after what it waits for"),
        (
            {"kind": "halving_doubling"},
            r"flow \d+ would need more than one recv_done_trigger: flows \d+ and \d+ wait for it, but not for the same flows",
        ),
        ({"kind": "all_to_all", "open_flows": 2}, "hosts keep 2 of their flows open at a time"),
        ({"kind": "permutation", "message_packets": 600_000}, "a message of 2457600000 bytes is larger than 2147483647"),
    ],
)
def test_what_the_format_cannot_say(workload, rule):
    with pytest.raises(ScenarioError) as e:
        matrix_text(Scenario.from_dict({"fabric": {"radix": 4}, "workload": workload}), on="recv")
    said = f"workload.kind = {workload['kind']!r}: cannot be written as a connection matrix: "
    assert re.fullmatch(re.escape(said) + rule, str(e.value))


@pytest.mark.parametrize("workload", [w for w in WORKLOADS if w["kind"] not in ("two_jobs",)], ids=lambda w: w["kind"])
def test_what_htsim_never_fires_is_not_written_unless_asked_for(workload):
    """By default whoever waits for data is started by the last ACK of it: the same connections, sizes and triggers."""
    given = Scenario.from_dict({"fabric": {"radix": 4}, "workload": workload})
    exact, runs = (matrix_text(given, on=on) for on in ("recv", "send"))
    assert "recv_done_trigger" not in runs.replace(htsim.NOTE, "")
    assert (htsim.NOTE in runs.splitlines()) == ("recv_done_trigger" in exact)
    assert [line for line in runs.splitlines() if line != htsim.NOTE] == exact.replace("recv_done", "send_done").splitlines()
    one, other = prepare(scenario(exact)).flows, prepare(scenario(runs)).flows
    assert sorted(other.after_acked.tolist()) == sorted([*one.after.tolist(), *one.after_acked.tolist()])
    assert len(other.after) == 0


def test_a_message_that_fires_twice_at_different_times_is_refused():
    """By its data and by its ACKs one multishot: two firings, of which htsim makes one."""
    text = "Nodes 16\nConnections 3\nTriggers 1\n0->8 id 1 start 0 size 64 send_done_trigger 1 recv_done_trigger 1\n"
    text += "8->9 id 2 trigger 1 size 64\n9->3 id 3 trigger 1 size 64\ntrigger id 1 multishot\n"
    with pytest.raises(ScenarioError, match="flow 0 fires by its data and by its ACKs, which htsim does not tell apart"):
        matrix_text(scenario(text))
    assert "send_done_trigger 1 recv_done_trigger 1" in matrix_text(scenario(text), on="recv")


def test_the_command(tmp_path, capsys):
    out = tmp_path / "new" / "ring.cm"
    sets = ["--set", "fabric.radix=4", "--set", "workload={kind: ring_all_gather, message_packets: 2, steps: 2}"]
    assert cli.main(["export-htsim", *sets, "--trigger-on", "recv", "--out", str(out)]) == 0
    lines = out.read_text().splitlines()
    assert lines[0].startswith("# ring all-gather, seed 0, 4096 bytes a packet; ofancore scenario ")
    assert lines[1:4] == ["Nodes 16", "Connections 32", "Triggers 16"]
    assert lines[4].split()[1:] == ["id", "1", "start", "0", "size", "8192", "recv_done_trigger", lines[4].split()[-1]]
    assert lines[-1] == "trigger id 16 oneshot"
    assert cli.main(["export-htsim", *sets, "--set", "workload={kind: halving_doubling}", "--out", str(out)]) == 2
    assert "cannot be written as a connection matrix" in capsys.readouterr().err
