"""The slow twin's ports with control packets at priority on cases worked by hand: when each packet leaves, what is queued, what is lost."""

import pytest

from ofancore import Scenario
from ofancore.prepare import prepare
from ofancore.reference import Run, inputs_of
from ofancore.reference.events import ARRIVAL, CHANGE, Clock
from ofancore.reference.links import Link, PriorityLink
from ofancore.reference.words import ACK, DATA, NACK, TRIM, Packet

DELAY = 1000


def data(seq) -> Packet:
    return Packet(0, seq, 0, DATA, 0)


def ack(seq) -> Packet:
    return Packet(0, seq, 0, ACK, 0)


class Port:
    """A port by itself: data take 100 ticks, small packets 10, every packet a gap of 5 more; what arrives at the other end is noted."""

    number = 0

    def __init__(self, kind=PriorityLink, buffer=10**9, **keys):
        self.clock = Clock()
        self.link = kind(0, None, self, (100, 10), 5, DELAY, buffer, buffer, buffer, **keys)
        self.inputs = [self.link]
        self.left = []  # (start of service, kind, seq)

    def arrive(self, now, link, packet):
        self.left.append((now - DELAY - link.times[packet.small], packet.kind, packet.seq))

    def offer(self, time, packet):
        self.clock.at(time, ARRIVAL, (1, 0), lambda now: self.link.accept(self.clock, now, packet))

    def run(self, until=None):
        while event := self.clock.next(until):
            time, action, arguments = event
            action(time, *arguments)
        return self.left


# --- order of service


def test_an_ack_overtakes_the_data_that_wait_but_not_the_packet_in_service():
    """0 is served 0..100, with its gap until 105; then the ACK of 50, until 120; then 1, until 225; then 2."""
    port = Port()
    for seq in range(3):
        port.offer(0, data(seq))
    port.offer(50, ack(9))
    assert port.run() == [(0, DATA, 0), (105, ACK, 9), (120, DATA, 1), (225, DATA, 2)]


def test_the_same_packets_in_one_queue():
    port = Port(Link)
    for seq in range(3):
        port.offer(0, data(seq))
    port.offer(50, ack(9))
    assert port.run() == [(0, DATA, 0), (105, DATA, 1), (210, DATA, 2), (315, ACK, 9)]


@pytest.mark.parametrize(("time", "start"), [(104, 105), (105, 105), (106, 210)])
def test_what_arrives_as_the_service_ends_takes_part_in_the_choice(time, start):
    """The service of 0 ends at 105. An ACK of 105 goes before 1; one of 106 finds 1 in service until 210."""
    port = Port()
    for seq in range(3):
        port.offer(0, data(seq))
    port.offer(time, ack(9))
    assert (start, ACK, 9) in port.run()


def test_what_arrives_together_at_an_idle_port_is_served_small_ones_first():
    """Two data and two small packets at 7: 7..22, 22..37, then 37..142 and on."""
    port = Port()
    for packet in (data(0), ack(1), data(2), Packet(0, 3, 0, TRIM, 0)):
        port.offer(7, packet)
    assert port.run() == [(7, ACK, 1), (22, TRIM, 3), (37, DATA, 0), (142, DATA, 2)]


def test_all_that_is_not_data_is_one_queue_in_order_of_arrival():
    port = Port()
    for packet in (data(0), Packet(0, 1, 0, NACK, 0), Packet(0, 2, 0, TRIM, 0), ack(3)):
        port.offer(0, packet)
    assert [seq for _, _, seq in port.run()] == [1, 2, 3, 0]


def test_data_wait_as_long_as_small_packets_come():
    """An ACK every 15 ticks, as fast as they are served, from 0 to 135: data of 0 goes at 150."""
    port = Port()
    port.offer(0, data(0))
    for i in range(10):
        port.offer(15 * i, ack(i))
    assert port.run()[-1] == (150, DATA, 0)


def test_an_idle_port_serves_at_once_and_rests_for_the_gap():
    port = Port()
    for time, packet in ((0, ack(0)), (12, data(1)), (300, data(2))):
        port.offer(time, packet)
    assert port.run() == [(0, ACK, 0), (15, DATA, 1), (300, DATA, 2)]


def test_a_port_that_becomes_slow_serves_the_waiting_ones_slowly():
    """At 50 all sizes double. 0 is in service until 105 as before; the ACK until 105 + 20 + 10; 1 starts at 135."""
    port = Port()
    port.offer(0, data(0))
    port.offer(0, data(1))
    port.offer(40, ack(9))

    def slow_down(now):
        port.link.times, port.link.gap = (200, 20), 10

    port.clock.at(50, CHANGE, 1, slow_down)
    port.run(until=60)
    assert port.link.queue(60, small=0) == 1 * 210 + 45
    assert port.link.queue(60, small=1) == 1 * 30
    port.run()
    assert [(start, seq) for start, _, seq in port.left[1:]] == [(105, 9), (135, 1)]


# --- queues


def test_a_queue_is_what_waits_of_a_class_and_the_rest_of_its_packet_in_service():
    """As in the first test. Work accepted: three data of 105 and an ACK of 15, 330 in all, whatever the order."""
    port = Port()
    for seq in range(3):
        port.offer(0, data(seq))
    port.offer(50, ack(9))
    expected = {
        1: (2 * 105 + 104, 0, 314),  # 0 in service
        50: (2 * 105 + 55, 15, 280),  # and the ACK waits
        105: (2 * 105, 15, 225),  # the ACK in service, of which 15 are left
        110: (2 * 105, 10, 220),
        120: (1 * 105 + 105, 0, 210),  # 1 in service
        329: (1, 0, 1),
        330: (0, 0, 0),
    }
    for now, (of_data, of_small, of_all) in expected.items():
        port.run(until=now + 1)
        assert (port.link.queue(now, 0), port.link.queue(now, 1), port.link.backlog(now)) == (of_data, of_small, of_all), now


def test_small_packets_have_places_and_need_no_buffer():
    """Two places: the third is refused, until one is in service. The buffer is too small for data, which need 105."""
    port = Port(buffer=104, places=2)
    assert not port.link.has_room(0, data(0))
    for seq in range(2):
        assert port.link.has_room(0, ack(seq))
        port.link.accept(port.clock, 0, ack(seq))
    assert not port.link.has_room(0, ack(2))
    port.run(until=1)
    assert port.link.has_room(1, ack(2))


# --- at a switch

NS = 1000  # ticks; a byte at 8 Gb/s


def run_of(**keys) -> Run:
    """Data of 1000 bytes and control packets of 64 with gaps of 20: services of 1020 and 84 ns. Links so long that none arrives soon."""
    scenario = Scenario.from_dict(
        {
            "fabric": {
                "radix": 4,
                "link_gbps": 8.0,
                "link_delay_ns": 100_000.0,
                "buffer_bytes": 3000,
                "ecn": {"min_fraction": 0.5, "max_fraction": 0.5},
            },
            "packet": {"payload_bytes": 938, "control": "priority", "control_queue_packets": 2},
            "workload": {"kind": "pairs", "message_packets": 100, "pairs": [[0, 2]]},
            "balancer": {"kind": "ecmp"},
            "recovery": {"kind": "sack"},
            **keys,
        }
    )
    return Run(inputs_of(prepare(scenario)), trace=True)


def forward(run, arrivals, link, until):
    """Let the tail of the link forward packets, [(ns, packet)], and stop before `until` ns; a packet's `record` is (ns, kind, ecn)."""
    for time, packet in arrivals:
        run.clock.at(time * NS, ARRIVAL, (link.tail.number, 0), link.tail.forward, link, packet, 0)
    while event := run.clock.next(until * NS):
        time, action, arguments = event
        action(time, *arguments)
    return [(now // NS, word >> 1 & 3, word & 1) for now, node, _, number, word in run.trace if number == link.number]


def counts(link):
    return (
        link.count,
        link.drops,
        link.trims,
        link.ecn_marks,
        link.queue_max_bytes,
        [total // NS for total in link.queue_sum],
        link.free // NS,
    )


def test_trimming_moves_a_packet_to_the_small_queue():
    """A buffer of 3000 ns, two places, and five data at once.

    0 and 1 wait, as no service begins before all of 0 ns have arrived: queues of 0 and 1020. 2 would need 2040 + 1020: it is trimmed,
    as are 3, behind one header of 84, and 4, for which no place is left. Served are 2 3 (until 168), 0 (until 1188), 1.
    At 200 ns data are 1020 + 988 = 2008: too much for 5, whose header waits behind nothing small. At 228 ns they are 1980, and 6 fits,
    but above the mark of 1500. Work: three data, three headers.
    """
    run = run_of(recovery={"kind": "trim"})
    link = run.edges[0].up[0]
    records = forward(run, [(0, data(seq)) for seq in range(5)] + [(200, data(5)), (228, data(6))], link, until=300)
    assert records == [(0, DATA, 0), (0, DATA, 0), (0, TRIM, 0), (0, TRIM, 0), (200, TRIM, 0), (228, DATA, 1)]
    assert counts(link) == ([3, 3], 1, 4, 1, 1980, [0 + 1020 + 1980, 0 + 84 + 0], 3 * 1020 + 3 * 84)
    assert (run.trimmed, run.dropped["buffer"]) == (4, [0, 1])


def test_without_trimming_each_class_has_its_own_limit():
    """0 and 1 fill the data's queue, which keeps no ACK out; two places do. Data see no ACKs, and ACKs are not marked behind data."""
    run = run_of()
    link = run.edges[0].up[0]
    packets = [data(0), data(1), data(2), ack(0), ack(1), ack(2)]
    records = forward(run, [(0, packet) for packet in packets], link, until=1)
    assert records == [(0, DATA, 0), (0, DATA, 0), (0, ACK, 0), (0, ACK, 0)]
    assert counts(link) == ([2, 2], 2, 0, 0, 1020, [1020, 84], 2 * 1020 + 2 * 84)
    assert run.dropped["buffer"] == [1, 1]


def test_a_large_buffer_leaves_the_limit_of_the_control_queue():
    fabric = {"radix": 4, "link_gbps": 8.0, "link_delay_ns": 100_000.0, "buffer_bytes": 1_000_000}
    run = run_of(fabric=fabric)
    link = run.edges[0].up[0]
    forward(run, [(0, packet) for seq in range(5) for packet in (data(seq), ack(seq))], link, until=1)
    assert (link.count, link.drops, run.dropped["buffer"]) == ([5, 2], 3, [0, 3])


def test_hosts_have_links_of_one_queue():
    run = run_of()
    assert {type(host.nic) for host in run.hosts} == {Link}
    assert {type(link) for link in run.links if link.tail.tier != "host"} == {PriorityLink}


@pytest.mark.parametrize(("died_at", "lost"), [(999, 2), (1000, 1), (1019, 1), (1020, 1), (1021, 1), (2019, 1), (2020, 0)])
def test_what_waits_at_a_port_whose_link_dies_is_served_and_lost(died_at, lost):
    """0 is sent until 1000 ns, 1 from 1020 until 2020: lost is what was not sent whole by then, whenever its service begins.

    Both were accepted and arrive in any case, the last one 102.02 us after the start; one that comes after 3 us is refused.
    """
    cable = {"cable": "edge:0:0-agg:0:0", "capacity": 0.0}
    run = run_of(failures={"cables": [cable], "at_ns": float(died_at), "detection_ns": 1e9, "convergence_ns": "inf"})
    link = run.edges[0].up[0]
    for time, epoch in run.inputs.cuts:
        run.clock.at(time, CHANGE, epoch, run.enter, epoch)
    forward(run, [(0, data(0)), (0, data(1)), (3000, data(2))], link, until=102_021)
    assert (link.count, link.drops, run.hops) == ([2, 0], 1, 2)
    assert run.dropped["dead_link"] == [lost + 1, 0]
