"""The slow twin's coalesced ACKs on cases worked by hand: who is answered, and what a sender learns from the answer."""

import pytest

from ofancore import Scenario
from ofancore.prepare import prepare
from ofancore.reference import inputs_of, run_reference
from ofancore.reference.congestion import Control
from ofancore.reference.go_back_n import GoBackN
from ofancore.reference.selective import Sack, Snapshot, Trim
from ofancore.reference.senders import SenderTwin
from ofancore.reference.transport import ACKED, Flow, Transport
from ofancore.reference.words import ACK, DATA, NACK, TRIM, Packet

TIMED = [Sack, Trim, GoBackN]
KINDS = {Sack: "sack", Trim: "trim", GoBackN: "go_back_n"}


class Windowed(Control):
    """A window that stays as it is."""

    windowed = True

    def __init__(self, cwnd):
        super().__init__({}, 0.0)
        self.cwnd = cwnd
        self.heard = []  # (rtt, ecn, n) of every ACK

    def on_ack(self, now, rtt, ecn, n, inflight):
        self.heard.append((rtt, ecn, n))


def ends(recovery, packets=10, every=4, window=16, cwnd=1000.0, reorder=3) -> Transport:
    """Both ends of one flow, with nothing between them."""
    flow = Flow(0, 0, 1, packets)
    flow.transport = recovery(flow, Windowed(cwnd), SenderTwin([], [], {}, []), window, 100, 10**9, reorder, every)
    return flow.transport


def data(seq, ecn=0, ask=0, kind=DATA) -> Packet:
    return Packet(0, seq, 0, kind, ecn, ask)


def answered(transport, packets) -> list[int]:
    """Which of the packets, arriving in this order, are answered by an ACK."""
    answers = [transport.receive(packet) for packet in packets]
    return [answer.seq for answer in answers if answer is not None and answer.kind == ACK]


# --- whom the receiver answers


@pytest.mark.parametrize("recovery", TIMED)
def test_the_first_every_fourth_and_the_last(recovery):
    """0 is the first; 1 2 3 4 are four, as are 5 6 7 8; with 9 the message is whole."""
    assert answered(ends(recovery), [data(seq) for seq in range(10)]) == [0, 4, 8, 9]


@pytest.mark.parametrize("recovery", TIMED)
def test_every_packet_with_k_1(recovery):
    assert answered(ends(recovery, every=1), [data(seq) for seq in range(10)]) == list(range(10))


@pytest.mark.parametrize("recovery", TIMED)
@pytest.mark.parametrize("why", [{"ecn": 1}, {"ask": 1}], ids=str)
def test_a_marked_packet_and_one_that_asks_are_answered_at_once(recovery, why):
    """2 is; then it takes four more, 3 4 5 6, until the next answer, and 9 is the last."""
    packets = [data(seq, **why if seq == 2 else {}) for seq in range(10)]
    assert answered(ends(recovery), packets) == [0, 2, 6, 9]


@pytest.mark.parametrize("recovery", TIMED)
def test_a_duplicate_is_answered_at_once_and_ends_the_count(recovery):
    """0 first; 1 and 2 wait; the copy of 1 is answered; 3 4 5 6 are four; 9 is the last."""
    transport = ends(recovery)
    assert answered(transport, map(data, [0, 1, 2, 1, 3, 4, 5, 6, 7, 8, 9])) == [0, 1, 6, 9]
    assert (transport.flow.dup, transport.flow.got) == (1, 10)


def test_an_answer_carries_the_mark_of_its_packet_only():
    transport = ends(Sack)
    answers = [transport.receive(data(0)), transport.receive(data(1, ecn=1)), *(transport.receive(data(seq)) for seq in (2, 3, 4, 5))]
    assert [answer and answer.ecn for answer in answers] == [0, 1, None, None, None, 0]


def test_a_trimmed_header_is_told_and_does_not_count():
    """1 2, the header of 3, 4 and 5: the fourth packet of data is 5."""
    transport = ends(Trim)
    answers = [transport.receive(packet) for packet in (data(0), data(1), data(2), data(3, kind=TRIM), data(4), data(5))]
    assert [answer and (answer.kind, answer.seq) for answer in answers] == [(ACK, 0), None, None, (NACK, 3), None, (ACK, 5)]


def test_go_back_n_tells_of_a_gap_at_once_and_goes_on_counting():
    """1 and 2 wait; 4 shows that 3 is missing, 5 shows it again; 3 4 make four with 1 2."""
    transport = ends(GoBackN)
    answers = [transport.receive(data(seq)) for seq in (0, 1, 2, 4, 5, 3, 4)]
    assert [answer and (answer.kind, answer.seq) for answer in answers] == [(ACK, 0), None, None, (NACK, 3), None, None, (ACK, 4)]


# --- when the sender asks


def asks(transport, count) -> list[int]:
    return [transport.send(now=0).ask for _ in range(count)]


@pytest.mark.parametrize("recovery", TIMED)
def test_the_last_packet_asks(recovery):
    assert asks(ends(recovery, packets=3), 3) == [0, 0, 1]


@pytest.mark.parametrize("recovery", TIMED)
def test_the_packet_that_fills_the_window_asks(recovery):
    """3.5 packets: after the third a fourth is too much. Four slots: after the fourth all are taken."""
    assert asks(ends(recovery, cwnd=3.5), 3) == [0, 0, 1]
    assert asks(ends(recovery, window=4), 4) == [0, 0, 0, 1]


@pytest.mark.parametrize("recovery", [Sack, Trim])
def test_the_last_packet_does_not_ask_while_another_is_to_be_sent_again(recovery):
    transport = ends(recovery, packets=4)
    assert asks(transport, 3) == [0, 0, 0]
    transport.lose(0)
    transport.lose(1)
    assert [(packet.seq, packet.ask) for packet in (transport.send(0), transport.send(0), transport.send(0))] == [(0, 0), (1, 0), (3, 1)]
    transport.lose(2)
    transport.lose(3)
    assert [(packet.seq, packet.ask) for packet in (transport.send(0), transport.send(0))] == [(2, 0), (3, 1)]


# --- what an ACK tells


def test_an_ack_names_what_has_arrived_beyond_the_first_one_missed():
    """All ten are sent at tick 0, and 1 is lost. 0 is answered; 2 3 4 5 are four, so the ACK of 5 comes with cum 1 and {2, 3, 4, 5}.

    It is news of 5, 2, 3 and 4. Once 0 is known, 1 and 5..9 would be on their way: six. HIGH is 5, so that all up to 5 - 3 = 2 are
    judged: 1 is lost. Left on their way are 6..9.
    """
    transport = ends(Sack)
    asks(transport, 10)
    first = transport.receive(data(0))
    transport.on_ack(100, first)
    answers = [transport.receive(data(seq)) for seq in (2, 3, 4, 5)]
    assert answers[:3] == [None] * 3
    assert transport.snapshots[5] == Snapshot(1, frozenset({2, 3, 4, 5}))
    transport.on_ack(200, answers[3])
    assert transport.control.heard == [(100.0, False, 1.0), (200.0, False, 4.0)]
    assert [seq for seq, sent in transport.sent.items() if sent.state == ACKED] == [2, 3, 4, 5]
    assert (transport.una, transport.high, transport.flow.acked, transport.inflight) == (1, 5, 5, 4)
    assert transport.first_lost() == 1


def test_what_is_named_counts_for_reordering_beyond_the_acknowledged_packet():
    """0 7 6 5 4 arrive: the ACK of 4, the fourth after 0, names 5 6 7. All up to 7 - 3 = 4 are judged: 1 2 3 are lost."""
    transport = ends(Sack)
    asks(transport, 10)
    assert transport.receive(data(0)).seq == 0  # this ACK is lost
    answers = [transport.receive(data(seq)) for seq in (7, 6, 5, 4)]
    transport.on_ack(100, answers[3])
    assert transport.snapshots[4] == Snapshot(1, frozenset({4, 5, 6, 7}))
    assert transport.control.heard == [(100.0, False, 5.0)]  # 4, then 0 below cum, then 5 6 7
    assert (transport.una, transport.high) == (1, 7)
    assert [seq for seq, sent in transport.sent.items() if sent.state == "lost"] == [1, 2, 3]


def test_an_ack_names_64_packets_up_to_its_own():
    """0 is missing and 1..99 arrive. The ACK of 70 names 7..70 at most, and 69 is left out as it has not arrived yet."""
    transport = ends(Trim, packets=200, window=256, every=64)
    for seq in range(1, 69):
        transport.receive(data(seq))
    assert transport.receive(data(70, ecn=1)).seq == 70
    assert transport.snapshots[70] == Snapshot(0, frozenset([*range(7, 69), 70]))


def test_nothing_is_named_with_k_1():
    transport = ends(Sack, every=1)
    for seq in (0, 2, 3):
        transport.receive(data(seq))
    assert transport.snapshots[3] == Snapshot(1, frozenset())


def test_a_copy_keeps_the_snapshot_of_an_answered_packet_and_takes_one_for_another():
    """0 2 3 4 5 arrive, 5 is answered, then 6. The copy of 5 tells what its first ACK did; that of 3 tells of 6 as well."""
    transport = ends(Trim)
    for seq in (0, 2, 3, 4, 5, 6, 5, 3):
        transport.receive(data(seq))
    assert transport.snapshots[5] == Snapshot(1, frozenset({2, 3, 4, 5}))
    assert transport.snapshots[3] == Snapshot(1, frozenset({2, 3, 4, 5, 6}))


def test_a_copy_of_an_old_packet_writes_into_the_slot_of_the_packet_that_took_it():
    """Four slots. 0 first, 4 is the fourth, 5 waits in the slot of 1. A copy of 1 finds no snapshot there and takes one: cum 6.

    The copy of 5, after 7 has arrived, finds that one. Only its ACK can be heard, since the sender knows of all before 2 by now.
    """
    transport = ends(Trim, window=4, packets=12)
    for seq in (0, 1, 2, 3, 4, 5, 1, 7, 5):
        transport.receive(data(seq))
    assert transport.snapshots[1] == Snapshot(6, frozenset())


# --- a whole run


def acks_of_a_run(recovery, **keys) -> list[int]:
    """Packets that host 1 answers when host 0 sends it ten: one switch between them, 4 us for the round trip, 43 ns for a packet."""
    scenario = Scenario.from_dict(
        {
            "fabric": {"radix": 4, "link_delay_ns": 1000.0},
            "workload": {"kind": "pairs", "message_packets": 10, "pairs": [[0, 1]]},
            "balancer": {"kind": "ecmp"},
            "recovery": {"kind": recovery, "ack_every_packets": 4, **keys},
            "start_jitter_ns": 0.0,
        }
    )
    run = run_reference(inputs_of(prepare(scenario)), trace=True)
    assert run.finished
    assert (run.flows[0].resent, run.flows[0].timeouts, run.flows[0].acked) == (0, 0, 10)
    return [word >> 19 & 2**20 - 1 for _, node, _, _, word in run.trace if node == 1 and word >> 1 & 3 == ACK]


@pytest.mark.parametrize("recovery", KINDS.values())
def test_a_run_of_ten_packets(recovery):
    assert acks_of_a_run(recovery) == [0, 4, 8, 9]


@pytest.mark.parametrize("recovery", KINDS.values())
def test_a_run_of_ten_packets_in_a_window_of_four(recovery):
    """0 1 2 3 leave, and 3 asks. 0 is answered as the first, 3 as it asks.

    The ACK of 0 lets 4 leave, which asks, as 1..4 fill the window. That of 3 lets 5 6 7 leave; 7 asks, as 4..7 fill it. The ACK of 4
    lets 8 leave, which asks (5..8), that of 7 lets 9 leave, the last.
    """
    assert acks_of_a_run(recovery, window_packets=4) == [0, 3, 4, 7, 8, 9]
