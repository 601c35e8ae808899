"""Connection matrices of htsim: what is read, what is refused and where, what triggers do, and the way there and back."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import examples, matrices, matrix_file

from ofancore import cli, htsim
from ofancore.errors import ScenarioError
from ofancore.htsim import matrix_text, without_computations
from ofancore.prepare import prepare
from ofancore.scenario import Scenario
from ofancore.simulation import simulate
from ofancore.workloads import connection_matrix
from ofancore.workloads.base import Flows
from ofancore.workloads.connection_matrix import parse_matrix

PEERS = Path(__file__).resolve().parents[2] / "data" / "peers"

FORMAT = """# three connections
Nodes 16
Connections 3
Triggers 1

0->8 id 1 start 0 size 100000 send_done_trigger 1
1->9 id 2 trigger 1 size 100000
# the last one
2->10 id 3 start 5000000 size 4096 prio 5
trigger id 1 oneshot
"""


def scenario(text, radix=4, **keys):
    workload = {"kind": "htsim_matrix", "file": matrix_file(text)}
    return Scenario.from_dict({"fabric": {"radix": radix}, "workload": workload, **keys})


def flows_of(text, **keys):
    return prepare(scenario(text, **keys)).flows


def body(*lines, triggers=None):
    """A matrix of 16 hosts with these lines."""
    connections = sum("->" in line for line in lines)
    triggers = len(lines) - connections if triggers is None else triggers
    return "\n".join(["Nodes 16", f"Connections {connections}", f"Triggers {triggers}", *lines])


# --- what is read
def test_the_published_example():
    f = flows_of(FORMAT)
    assert (f.src.tolist(), f.dst.tolist()) == ([0, 1, 2], [8, 9, 10])
    assert f.packets.tolist() == [25, 25, 1]  # of 4096 bytes, the last one filled up
    assert f.delay_ns.tolist() == [0, 0, 5000]
    assert (f.after.tolist(), f.after_acked.tolist()) == ([], [[0, 1]])


def test_the_peers_matrices():
    for hosts in (16, 128):
        matrix = parse_matrix((PEERS / f"permutation_{hosts}.cm").read_text(), "it")
        assert matrix.nodes == len(matrix.connections) == hosts
        assert {(at.start, at.size, at.trigger, at.send_done, at.recv_done) for at in matrix.connections} == {
            (0, 2_000_000, None, None, None)
        }


def test_starts_are_exact():
    """Above 2^24 ps (16.8 us) a 24-bit number has no odd ones, above 2^53 ps none has that fits a double."""
    for start in (16_777_217, 123_456_789_012_345, 10**15 - 1):
        text = body(f"0->1 start {start} size 1", "0->1 id 7 start 1.000 size 1")
        inputs = prepare(scenario(text))
        assert inputs.delay.tolist() == [start, 1]
        assert sorted(inputs.start[:, 1].tolist()) == [1, start]


def test_words_in_any_order_and_spaces_of_any_kind():
    head = "Connections 2\r\nNodes 16\nTriggers 1\ntrigger oneshot id 3\n"
    text = head + "  0->1   size 9\tstart 0  recv_done_trigger 3\n1->2 size 9 trigger 3 id 4\n"
    assert flows_of(text).after.tolist() == [[0, 1]]


def test_files_from_windows(tmp_path):
    """A byte order mark and carriage returns; the digest is that of the file as it is."""
    path = tmp_path / "dos.cm"
    data = b"\xef\xbb\xbf" + FORMAT.replace("\n", "\r\n").encode()
    path.write_bytes(data)
    given = Scenario.from_dict({"fabric": {"radix": 4}, "workload": {"kind": "htsim_matrix", "file": str(path)}})
    assert given.workload.sha256 == hashlib.sha256(data).hexdigest()
    one, other = prepare(given).flows, flows_of(FORMAT)
    for name in ("src", "dst", "packets", "after_acked", "delay_ns"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    with pytest.raises(ScenarioError, match=r"line 2'?: unknown keyword"):  # a mark elsewhere is none
        parse_matrix("Nodes 16\n\ufeffConnections 1\n", "it")


@pytest.mark.parametrize(
    ("lines", "after", "acked"),
    [
        # a oneshot starts all of its connections
        (["0->1 start 0 size 1 recv_done_trigger 1", "1->2 id 2 trigger 1 size 1", "1->3 id 3 trigger 1 size 1", "trigger id 1 oneshot"],
         [[0, 1], [0, 2]], []),
        # a connection may fire two triggers, one at either end
        (["0->1 start 0 size 1 recv_done_trigger 1 send_done_trigger 2", "1->2 id 2 trigger 1 size 1", "0->3 id 3 trigger 2 size 1",
          "trigger id 1 oneshot", "trigger id 2 oneshot"], [[0, 1]], [[0, 2]]),
        (["0->1 start 0 size 1 send_done_trigger 1", "2->1 start 0 size 1 recv_done_trigger 1", "1->2 id 2 trigger 1 size 1",
          "trigger id 1 barrier count 2"], [[1, 2]], [[0, 2]]),
        # a multishot that one connection fires starts one
        (["0->1 start 0 size 1 send_done_trigger 1", "0->2 id 2 trigger 1 size 1", "trigger id 1 multishot"], [], [[0, 1]]),
        # and in a chain each connection starts the next one, in the order of the file
        (["0->3 id 3 trigger 1 size 1 send_done_trigger 1", "0->4 id 4 trigger 1 size 1", "0->1 start 0 size 1 send_done_trigger 1",
          "trigger id 1 multishot"], [], [[2, 0], [0, 1]]),
        (["trigger id 1 multishot", "0->1 start 0 size 1 send_done_trigger 1", "0->3 id 3 trigger 1 size 1 recv_done_trigger 1",
          "0->4 id 4 trigger 1 size 1 send_done_trigger 1"], [[1, 2]], [[0, 1]]),
        (["0->1 start 0 size 1", "trigger id 1 barrier count 2"], [], []),  # nothing waits for it
    ],
)  # fmt: skip
def test_triggers_as_dependencies(lines, after, acked):
    f = flows_of(body(*lines))
    assert (f.after.tolist(), f.after_acked.tolist()) == (after, acked)


@pytest.mark.parametrize(
    ("lines", "after_some"),
    [
        # two sources, one connection: whichever fires first
        (["0->1 start 0 size 1 send_done_trigger 1", "2->3 start 0 size 1 recv_done_trigger 1", "0->4 trigger 1 size 1",
          "trigger id 1 multishot"], [[0, 2, 1, 1], [1, 2, 0, 1]]),
        # one source that fires twice
        (["0->1 start 0 size 1 send_done_trigger 1 recv_done_trigger 1", "0->4 trigger 1 size 1", "0->5 trigger 1 size 1",
          "trigger id 1 multishot"], [[0, 1, 0, 1], [0, 1, 1, 1], [0, 2, 0, 2], [0, 2, 1, 2]]),
        # and one more firing by the first target: no chain, which would forget a firing
        (["0->1 start 0 size 1 send_done_trigger 1 recv_done_trigger 1", "0->4 trigger 1 size 1 send_done_trigger 1",
          "trigger id 1 multishot"], [[0, 1, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1]]),
        # a second target that fires only helps the third one
        (["0->1 start 0 size 1 send_done_trigger 1", "0->2 start 0 size 1 send_done_trigger 1", "0->3 trigger 1 size 1",
          "0->4 trigger 1 size 1 recv_done_trigger 1", "0->5 trigger 1 size 1", "trigger id 1 multishot"],
         [[i, later, acked, needed] for later, needed in ((2, 1), (3, 2), (4, 3)) for i, acked in ((0, 1), (1, 1), (3, 0))]),
    ],
)  # fmt: skip
def test_multishots_that_any_of_several_fire(lines, after_some):
    f = flows_of(body(*lines))
    assert (f.after.tolist(), f.after_acked.tolist(), f.after_some.tolist()) == ([], [], after_some)
    assert f.needed().tolist() == [{later: needed for _, later, _, needed in after_some}.get(i, 0) for i in range(len(f))]


# --- what is refused, and where
@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        ("", None, "has no line `Nodes N` before its connections"),
        ("Nodes 16\n0->1 start 0 size 1", None, "has no line `Connections N` before its connections"),
        ("Nodes 16\nConnections 2\n0->1 start 0 size 1", None, "says Connections 2, but has 1"),
        ("Nodes 16\nConnections 0\n", None, "has no connections"),
        (body("0->1 start 0 size 1", triggers=1), None, "says Triggers 1, but has 0"),
        ("Nodes 16\nFailures 1\nConnections 1\n0->1 start 0 size 1", None, "says Failures 1, but has 0"),
        ("Nodes 16\nNodes 16\n", 2, "Nodes is given twice"),
        ("Nodes\n", 1, "Nodes takes one number"),
        ("Nodes sixteen\n", 1, "Nodes must be a whole number, not 'sixteen'"),
        ("Hosts 16\n", 1, "unknown keyword 'Hosts'"),
        ("Nodes 16\nConnections 1\n0->1 start 0 size 1\nTriggers 0", 4, "unknown keyword 'Triggers', which belongs "
         "before the first connection"),
        (body("failure switch_type AGG switch_id 0 link_id 0"), 4, "failures are not read from a matrix: give them as `failures.cables`"),
        (body("0->1 start 0 size 1 msg 3"), 4, "unknown keyword 'msg'"),
        (body("0->1 start 0 size 1 addon"), 4, "unknown keyword 'addon'"),
        (body("0->1 start 0 size 1 # big"), 4, "unknown keyword '#'"),
        (body("0->1 start 0 size"), 4, "size has no value"),
        (body("0->1 start 0 size 1 size 2"), 4, "size is given twice"),
        (body("0->1 start 0"), 4, "has no size"),
        (body("0->1 size 1"), 4, "must have either a start or a trigger"),
        (body("0->1 size 1 start 0 trigger 1", "trigger id 1 oneshot"), 4, "must have either a start or a trigger"),
        (body("0->1 start 0.5 size 1"), 4, "start must be a whole number, not '0.5'"),
        (body("0->1 start -1 size 1"), 4, "start must be a whole number, not '-1'"),
        (body("0->1 start 1e6 size 1"), 4, "start must be a whole number, not '1e6'"),
        (body("0->1 start 0 size 0"), 4, "size must be 1 to 2147483647, not 0"),
        (body("0->1 start 0 size 2147483648"), 4, "size must be 1 to 2147483647, not 2147483648"),
        (body("0->1 id 0 start 0 size 1"), 4, "id must be 1 to 4294967295, not 0"),
        (body("0->1 id 5 start 0 size 1", "0->2 id 5 start 0 size 1"), 5, "id 5 is that of line 4"),
        (body("0->1->2 start 0 size 1"), 4, "must read SRC->DST, not '0->1->2'"),
        (body("0->one start 0 size 1"), 4, "a host must be a whole number, not 'one'"),
        (body("3->3 start 0 size 1"), 4, "a connection needs two different hosts"),
        (body("3->16 start 0 size 1"), 4, "no such host: there are hosts 0 to 15"),
        (body("0->1 trigger 1 size 1"), 4, "there is no trigger 1"),
        (body("0->1 start 0 size 1 recv_done_trigger 9"), 4, "there is no trigger 9"),
        (body("0->1 start 0 size 1", "trigger id 1 oneshot", "trigger id 1 oneshot"), 6, "id 1 is that of line 5"),
        (body("0->1 start 0 size 1", "trigger id 1"), 5, "a trigger has an id and is one of oneshot, multishot, barrier"),
        (body("0->1 start 0 size 1", "trigger oneshot"), 5, "a trigger has an id and is one of oneshot, multishot, barrier"),
        (body("0->1 start 0 size 1", "trigger id 1 barrier"), 5, "a barrier, and nothing else, has a count"),
        (body("0->1 start 0 size 1", "trigger id 1 oneshot count 2"), 5, "a barrier, and nothing else, has a count"),
        (body("0->1 start 0 size 1", "trigger id 1 twoshot"), 5, "unknown keyword 'twoshot'"),
        # what would never start
        (body("0->1 trigger 1 size 1", "trigger id 1 oneshot"), 5, "nothing fires this trigger: its connections would never start"),
        (body("0->1 trigger 1 size 1 send_done_trigger 1", "trigger id 1 oneshot"), 4, "never starts: its trigger waits for itself"),
        (body("0->1 trigger 1 size 1", "0->1 start 0 size 1 send_done_trigger 1", "trigger id 1 barrier count 2"), 6,
         "a barrier of count 2 is fired 1 times: its connections would never start"),
        (body("0->1 trigger 1 size 1", "0->2 trigger 1 size 1", "0->1 start 0 size 1 send_done_trigger 1", "trigger id 1 multishot"), 7,
         "is fired 1 times for 2 connections: some would never start"),
        # a second target that alone could start itself; two multishots that wait for each other
        (body("0->1 trigger 1 size 1", "0->2 trigger 1 size 1 send_done_trigger 1", "0->1 start 0 size 1 send_done_trigger 1",
              "trigger id 1 multishot"), 5, "never starts: its trigger waits for itself"),
        (body("0->1 start 0 size 1 send_done_trigger 1", "0->2 trigger 1 size 1", "0->3 trigger 1 size 1 recv_done_trigger 2",
              "0->4 trigger 2 size 1 send_done_trigger 1", "trigger id 1 multishot", "trigger id 2 multishot"), 6,
         "never starts: its trigger waits for itself"),
        # what htsim crashes on
        (body("0->1 trigger 1 size 1", *["0->1 start 0 size 1 send_done_trigger 1"] * 2, "trigger id 1 barrier count 1"), 7,
         "a barrier of count 1 is fired 2 times: htsim crashes on the last"),
        (body("0->1 trigger 1 size 1", *["0->1 start 0 size 1 send_done_trigger 1"] * 2, "trigger id 1 oneshot"), 7,
         "a oneshot is fired once, but 2 connections fire it, on which htsim crashes"),
    ],
)  # fmt: skip
def test_refusals_name_the_line(text, line, rule):
    with pytest.raises(ScenarioError) as e:
        parse_matrix(text, "my.cm")
    assert str(e.value) == f"workload.file = 'my.cm{'' if line is None else f', line {line}'}': {rule}"


def test_multishots_with_too_many_pairs(monkeypatch):
    """Two multishots of 2 sources and 2 targets each; a chain counts for nothing."""
    lines = [f"0->1 start 0 size 1 send_done_trigger {number}" for number in (1, 1, 2, 2, 3)]
    lines += [f"0->1 trigger {number} size 1" for number in (1, 1, 2, 2, 3)]
    text = body(*lines, *[f"trigger id {number} multishot" for number in (1, 2, 3)])
    monkeypatch.setattr(connection_matrix, "MOST_PAIRS", 8)
    assert len(parse_matrix(text, "my.cm").after_some) == 8
    monkeypatch.setattr(connection_matrix, "MOST_PAIRS", 7)
    rule = r"line 15'?: 2 firings for 2 connections: 8 pairs so far, at most 7 are possible$"
    with pytest.raises(ScenarioError, match=rule):
        parse_matrix(text, "my.cm")


@pytest.mark.parametrize("kind", ["multishot", "barrier count 2"])
def test_triggers_with_too_much_news(monkeypatch, kind):
    """Two sources for two targets, of which one starts where the sources fire."""
    lines = ["0->1 start 0 size 1 send_done_trigger 1"] * 2 + ["0->1 trigger 1 size 1", "2->1 trigger 1 size 1", f"trigger id 1 {kind}"]
    monkeypatch.setattr(connection_matrix, "MOST_NEWS", 2)
    parse_matrix(body(*lines), "my.cm")
    monkeypatch.setattr(connection_matrix, "MOST_NEWS", 1)
    with pytest.raises(ScenarioError, match=r"2 firings for 2 connections: 2 pairs at different hosts so far, at most 1 are possible$"):
        parse_matrix(body(*lines), "my.cm")


def test_rails_goes_without_multishots_of_several_sources():
    keys = {"fabric": {"radix": 4, "rails": 2}, "balancer": {"kind": "rails"}}
    workload = {"kind": "htsim_matrix", "file": matrix_file(body(*WINDOW))}
    with pytest.raises(ScenarioError, match=r"^balancer.kind = 'rails': sends messages in parts"):
        prepare(Scenario.from_dict({**keys, "workload": workload}))


def test_refusals_of_the_workload(tmp_path):
    with pytest.raises(ScenarioError, match=r"^workload.file = .*: is for 16 hosts, but the fabric has 128$"):
        prepare(scenario(FORMAT, radix=8))
    with pytest.raises(ScenarioError, match=r"^workload.file = 'none.cm': cannot be read: No such file"):
        Scenario.from_dict({"workload": {"kind": "htsim_matrix", "file": "none.cm"}})
    with pytest.raises(ScenarioError, match=r"line 1'?: unknown keyword"):
        scenario("\0\1")
    (tmp_path / "bytes.cm").write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioError, match=r"is not text"):
        Scenario.from_dict({"workload": {"kind": "htsim_matrix", "file": str(tmp_path / "bytes.cm")}})
    with pytest.raises(ScenarioError, match=r"makes a message of 2147483 packets, at most 1000000 are possible"):
        prepare(scenario(body("0->1 start 0 size 2147483000"), packet={"payload_bytes": 1000}))


def test_a_scenario_holds_to_the_file_that_it_was_made_with(tmp_path):
    path = tmp_path / "mine.cm"
    path.write_text(FORMAT)
    keys = {"fabric": {"radix": 4}, "workload": {"kind": "htsim_matrix", "file": str(path)}}
    data = Scenario.from_dict(keys).to_dict()
    assert data["workload"]["sha256"] == hashlib.sha256(FORMAT.encode()).hexdigest()
    assert Scenario.from_dict(data).to_dict() == data
    digest = Scenario.from_dict(keys).digest
    path.write_text(FORMAT.replace("5000000", "6000000"))
    assert Scenario.from_dict(keys).digest != digest
    with pytest.raises(ScenarioError, match=r"^workload.sha256 = '[0-9a-f]{64}': is not that of "):
        Scenario.from_dict(data)


# --- what triggers do in a run
def test_a_trigger_is_heard_of_elsewhere_after_an_acks_way():
    """Data takes 41.58 ns a link, ACKs 0.64 ns, links 500 ns. 0 -> 1 is 2 links away, 1 -> 4 and 0 -> 4 six, 0 -> 2 four."""
    lines = ["0->1 start 0 size 4096 recv_done_trigger 1 send_done_trigger 2"]
    lines += ["1->5 trigger 1 size 1 id 2", "4->8 trigger 1 size 1 id 3", "0->9 trigger 2 size 1 id 4", "2->12 trigger 2 size 1 id 5"]
    result = simulate(scenario(body(*lines, "trigger id 1 oneshot", "trigger id 2 oneshot")))
    arrived, acked = 2 * 541.58, 2 * 541.58 + 2 * 500.64
    flows = result.flows
    assert flows["complete_ns"][0] == pytest.approx(arrived, abs=1e-6)
    assert flows["done_ns"][0] == pytest.approx(acked + 0.2, abs=1e-6)  # when the gap behind the ACK is over
    # at the receiver the ACK goes first: 0.64 ns and a gap
    expected = [0, arrived + 0.84, arrived + 6 * 500.64, acked, acked + 4 * 500.64]
    assert flows["started_ns"].tolist() == pytest.approx(expected, abs=1e-6)


def test_a_barrier_waits_for_all():
    lines = ["0->1 start 0 size 1 recv_done_trigger 1", "2->1 start 9000000 size 1 recv_done_trigger 1", "1->3 trigger 1 size 1 id 3"]
    flows = simulate(scenario(body(*lines, "trigger id 1 barrier count 2"))).flows
    assert flows["started_ns"][2] == pytest.approx(9000 + 4 * 541.58 + 0.84, abs=1e-6)


ACKED = 2 * 541.58 + 2 * 500.64  # ns after its start that a packet to a host on the same edge switch is acknowledged
NEWS = {2: 2 * 500.64, 4: 4 * 500.64, 6: 6 * 500.64}  # ns, by links


def started(*lines):
    """Starts in ns of the connections of a run without jitter, of 4096 bytes each."""
    return simulate(scenario(body(*lines), start_jitter_ns=0.0)).flows["started_ns"].tolist()


def test_each_host_counts_firings_as_it_hears_of_them():
    """Hosts 0 and 14 fire at once; 0 and 1 share an edge switch, 14 is six links away. Host 0 needs one, host 14 two, host 1 three."""
    lines = [f"{src}->{src + 1} start 0 size 4096 send_done_trigger 1" for src in (0, 14)]
    lines += ["0->2 trigger 1 size 4096", "14->12 trigger 1 size 4096", "1->3 trigger 1 size 4096"]
    lines += ["4->5 start 9000000 size 4096 send_done_trigger 1", "trigger id 1 multishot"]
    expected = [0, 0, ACKED, ACKED + NEWS[6], 9000 + ACKED + NEWS[6], 9000]
    assert started(*lines) == pytest.approx(expected, abs=1e-6)


def test_firings_beyond_the_last_connection_are_ignored():
    """The second of three firings is the first to be heard of by host 4: it comes from a host on its own edge switch."""
    lines = ["0->1 start 0 size 4096 send_done_trigger 1", "5->4 start 1000000 size 4096 send_done_trigger 1"]
    lines += ["8->9 start 0 size 4096 send_done_trigger 1", "4->6 trigger 1 size 4096", "trigger id 1 multishot"]
    assert started(*lines) == pytest.approx([0, 1000, 0, 1000 + ACKED + NEWS[2]], abs=1e-6)


def test_two_firings_of_one_connection_start_two():
    """Its data at host 1, then its ACKs at host 0, where news of the former comes as late as the ACK itself."""
    lines = ["0->1 start 0 size 4096 send_done_trigger 1 recv_done_trigger 1", "1->2 trigger 1 size 4096", "0->4 trigger 1 size 4096"]
    one, two = started(*lines, "trigger id 1 multishot")[1:]
    assert one == pytest.approx(2 * 541.58 + 0.84, abs=1e-6)  # behind the ACK
    assert two == pytest.approx(ACKED, abs=1e-6)


WINDOW = ["0->2 start 0 size 1228800 send_done_trigger 1", "0->4 start 0 size 4096 send_done_trigger 1"]
WINDOW += [f"0->{dst} trigger 1 size 4096 send_done_trigger 1" for dst in (6, 8, 10)] + ["trigger id 1 multishot"]


def test_a_window_of_two_messages_over_a_list_of_five():
    """300 packets take 12.5 us to send and 2 us to be acknowledged 4 links away; one packet 6 links away takes 6.3 us there and back.

    So the short one and the first of the list fire before the long one does, which starts the last of the list; of later firings nothing
    comes. All start at host 0, which hears of firings at once, but two packets of the long one may go first: that on its way and the next.
    """
    flows = simulate(scenario(body(*WINDOW), start_jitter_ns=0.0)).flows
    starts, ends = flows["started_ns"].to_numpy(), flows["done_ns"].to_numpy() - 0.2  # of a gap behind the last ACK
    waited = starts[[2, 3, 4]] - ends[[1, 2, 0]]
    assert (waited > -1e-6).all()
    assert (waited < 2 * 41.78).all()
    assert waited[2] == pytest.approx(0, abs=1e-6)  # the long one is over
    assert ends[[1, 2, 0]].tolist() == pytest.approx([6 * 1042.22, 12 * 1042.22, 300 * 41.78 + 4 * 1042.22], abs=200)
    for time in starts:  # never more than two under way
        assert np.count_nonzero((starts <= time) & (time < ends - 1e-6)) <= 2


def test_a_chain_is_the_shorter_way_to_say_the_same(monkeypatch):
    """Over hosts near and far, by data and by ACKs: each waiting for the one before it, or for any k of all."""
    ends = [(0, 15), (15, 1), (2, 3), (9, 4), (4, 5), (14, 0)]
    lines = [f"{src}->{dst} {'trigger 1' if i else 'start 0'} size 9000 " for i, (src, dst) in enumerate(ends)]
    lines = [line + f"{('send', 'recv')[i % 2]}_done_trigger 1" for i, line in enumerate(lines)]
    given = scenario(body(*lines, "trigger id 1 multishot"))
    short = simulate(given)
    monkeypatch.setattr(connection_matrix, "chain", lambda trigger: [])
    assert len(prepare(given).flows.after_some) == 6 * 5
    long = simulate(given)
    assert long.flows.equals(short.flows)
    assert long.lower_bound_ns == short.lower_bound_ns


@examples(40)
@given(matrices(16), st.booleans())
def test_runs_of_matrices_keep_the_bound_and_do_not_depend_on_threads(text, closed):
    keys = {"recovery": {"kind": "sack"}} if closed else {}
    given = scenario(text, start_jitter_ns=0.0, **keys)
    one, two = simulate(given), simulate(given, threads=2)
    assert one.finished
    assert one.lower_bound_ns <= one.cct_ns + 1e-6
    assert one.flows.equals(two.flows)
    assert one.links.equals(two.links)


# --- the way back
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
