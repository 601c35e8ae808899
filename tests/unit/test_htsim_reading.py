"""Reading connection matrices of htsim: what is read, what is refused and where, and what triggers do."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from connections import WINDOW, body, flows_of, scenario
from hypothesis import given
from hypothesis import strategies as st
from scenarios import examples, matrices, matrix_file

from ofancore.errors import ScenarioError
from ofancore.prepare import prepare
from ofancore.scenario import Scenario
from ofancore.simulation import simulate
from ofancore.workloads import connection_matrix
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
