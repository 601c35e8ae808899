"""The slow twin's run: wire the objects, take one event after another, tell what came out."""

from __future__ import annotations

from dataclasses import dataclass, field

from ofancore.reference.balancers import OWN, TWINS
from ofancore.reference.congestion import CONTROLS
from ofancore.reference.events import CHANGE, START, Clock
from ofancore.reference.hosts import Host
from ofancore.reference.links import Link, PriorityLink
from ofancore.reference.network import BUFFER_FULL, BY_CHANCE, DEAD_LINK, NO_ROUTE, Switch
from ofancore.reference.recoveries import RECOVERIES
from ofancore.reference.transport import Flow, Follower
from ofancore.reference.words import Random


@dataclass
class LinkSpec:
    """What a link is like, all in ticks; `lost_after` as in a link that died."""

    data: int
    ack: int
    gap: int
    delay: int
    buffer: int
    ecn_low: int
    ecn_high: int
    headroom: int = 0
    dead: bool = False
    lost_after: int | None = None
    rate: float = 1.0  # share of the healthy one
    byte: float = 1.0  # ticks of a byte at that


@dataclass
class FlowSpec:
    """`start`: ticks, or None if it waits for other flows to arrive at its source, and `delay` ticks more."""

    src: int
    dst: int
    packets: int
    start: int | None
    delay: int = 0
    base: int = 0  # round trip without queues, ticks
    window: int = 0  # packets that its two ends can remember
    waits: int = 0
    followers: list[Follower] = field(default_factory=list)  # wait for it to arrive
    successors: list[Follower] = field(default_factory=list)  # wait for its last ACK


@dataclass
class Inputs:
    """What both twins are given. Everything else they decide."""

    pods: int
    edges_per_pod: int
    hosts_per_edge: int
    aggs_per_pod: int
    cores_per_agg: int
    links: list[LinkSpec]  # by link number
    flows: list[FlowSpec]
    balancer: str
    parameters: dict  # of the balancer, and A, C, base_rtt, bin_ticks, freeze_ticks, gap_ticks, sample_ticks
    schemes: dict[int, str]  # what each switch with a choice runs
    registers: dict[int, list[int]]  # initial ones, by switch
    host_registers: list[int]
    host_index: list[int]
    random_states: list[int]  # by node
    salts: list[int]  # by node
    orders: dict[str, dict[int, list[int]]]  # random port orders by tier and number
    pace: tuple[int, int]
    notice_delay: int
    open_limit: int
    fresh_acks: bool
    path_acks: bool
    control_places: int | None = None  # in the queue of control packets at a switch's port; None: they share the data's
    loss: int = 0  # of 2**30 packets that come to a switch
    recovery: str = "erasure"
    rto: int = 0
    reorder: int = 0  # packets that must overtake one before it is taken for lost
    ack_every: int = 1  # packets that an ACK answers
    congestion: str = "line_rate"
    control: dict = field(default_factory=dict)  # keys of the congestion control and of the fabric (see congestion.py)
    cuts: list[tuple[int, int]] = field(default_factory=list)  # (time, epoch entered); 1: links change, 2: neighbours know, 3: all
    changes: dict[int, LinkSpec] = field(default_factory=dict)  # links of epoch 1
    weights: dict[tuple[int, int, int], dict[int, int] | None] = field(default_factory=dict)  # by (epoch, switch, destination group)
    until: int | None = None  # handle all events before this time; None: until the last flow is done


class Run:
    """One run of the slow twin; the attributes are the results."""

    def __init__(self, inputs: Inputs, trace: bool = False):
        self.inputs = inputs
        self.clock = Clock()
        self.trace: list[tuple[int, int, int, int, int]] | None = [] if trace else None
        self.epoch = 0
        self.pace = inputs.pace[0]
        self.notice_delay = inputs.notice_delay
        self.open_limit = inputs.open_limit
        self.fresh_acks = inputs.fresh_acks
        self.path_acks = inputs.path_acks
        self.edges_per_pod = inputs.edges_per_pod
        self.loss = inputs.loss
        self.oracle = inputs.recovery == "erasure"
        self.trimming = inputs.recovery == "trim"
        self.hops = self.replaced = self.trimmed = 0
        self.sent, self.delivered = [0, 0], [0, 0]
        self.dropped = {reason: [0, 0] for reason in (BUFFER_FULL, DEAD_LINK, NO_ROUTE, BY_CHANCE)}
        self.flows = [
            Flow(number, f.src, f.dst, f.packets, f.delay, f.waits, f.followers, f.successors, to_send=f.packets)
            for number, f in enumerate(inputs.flows)
        ]
        self.make_nodes()
        self.make_links()
        self.make_balancers()
        self.make_transports()

    def make_nodes(self):
        shape = self.inputs
        pods, aggs = range(shape.pods), range(shape.aggs_per_pod)
        edges, cores = range(shape.edges_per_pod), range(shape.cores_per_agg)
        rng = iter([Random(state) for state in shape.random_states])
        number = iter(range(len(shape.random_states)))
        places = [(p, e, s) for p in pods for e in edges for s in range(shape.hosts_per_edge)]
        self.hosts = [Host(self, next(number), place, next(rng)) for place in places]
        self.edges = [Switch(self, next(number), "edge", (p, e), next(rng)) for p in pods for e in edges]
        self.aggs = [Switch(self, next(number), "agg", (p, j), next(rng)) for p in pods for j in aggs]
        self.cores = [Switch(self, next(number), "core", (j, i), next(rng)) for j in aggs for i in cores]
        self.switches = self.edges + self.aggs + self.cores
        self.nodes = self.hosts + self.switches

    def make_links(self):
        """Class by class; within a class by the lower node and its port."""
        self.links: list[Link] = []
        for host in self.hosts:
            host.nic = self.cable(host, self.edge_above(host))
        for edge in self.edges:
            edge.up = [self.cable(edge, agg) for agg in self.aggs if agg.place[0] == edge.place[0]]
        for agg in self.aggs:
            agg.up = [self.cable(agg, core) for core in self.cores if core.place[0] == agg.place[1]]
        for core in self.cores:
            for agg in self.aggs:
                if agg.place[1] == core.place[0]:
                    core.down[agg.place[:1]] = self.cable(core, agg)
        for agg in self.aggs:
            for edge in self.edges:
                if edge.place[0] == agg.place[0]:
                    agg.down[edge.place] = self.cable(agg, edge)
        for host in self.hosts:
            edge = self.edge_above(host)
            edge.down[host.place] = self.cable(edge, host)
        rank = {"host": 0, "edge": 1, "agg": 2, "core": 3}
        for node in self.nodes:
            arriving = [link for link in self.links if link.head is node]
            below = [link for link in arriving if rank[link.tail.tier] < rank[node.tier]]
            above = [link for link in arriving if rank[link.tail.tier] > rank[node.tier]]
            node.inputs = sorted(below, key=lambda link: link.tail.number) + sorted(above, key=lambda link: link.tail.number)

    def edge_above(self, host):
        return next(edge for edge in self.edges if edge.place == host.place[:2])

    def cable(self, tail, head) -> Link:
        spec = self.inputs.links[len(self.links)]
        values = (
            len(self.links), tail, head, (spec.data, spec.ack), spec.gap, spec.delay, spec.buffer, spec.ecn_low, spec.ecn_high,
            spec.headroom, spec.dead, spec.lost_after, spec.rate, spec.byte,
        )  # fmt: skip
        places = self.inputs.control_places
        link = Link(*values) if places is None or tail.tier == "host" else PriorityLink(*values, places=places)
        self.links.append(link)
        return link

    def make_balancers(self):
        given = self.inputs
        own = "own" in given.parameters
        _, sender_twin = OWN if own else TWINS[given.balancer]
        for switch in [switch for switch in self.switches if switch.up]:
            registers = given.registers.get(switch.number, [])
            switch_twin, _ = OWN if own else TWINS[given.schemes[switch.number]]
            switch.twin = switch_twin(
                registers, given.parameters, len(switch.up), switch.tier, given.salts[switch.number], switch.rng,
                given.orders[switch.tier], switch.queue_of,
            )  # fmt: skip
            switch.twin.at(switch.number, switch.up)
        rngs = [host.rng for host in self.hosts]
        self.sender = sender_twin(list(given.host_registers), given.host_index, given.parameters, rngs)

    def make_transports(self):
        given = self.inputs
        for flow, spec in zip(self.flows, given.flows):
            control = CONTROLS[given.congestion](given.control, float(spec.base))
            recovery = RECOVERIES[given.recovery]
            flow.transport = recovery(flow, control, self.sender, spec.window, spec.base, given.rto, given.reorder, given.ack_every)

    # --- what nodes ask
    def weights_of(self, switch, group) -> dict[int, int] | None:
        """Weights of the uplinks towards a destination group as the switch knows them now; None: all alike."""
        return self.inputs.weights.get((self.epoch, switch.number, group))

    def record(self, now, node, port, link, packet):
        if self.trace is not None:
            self.trace.append((now, node, port, link, packet.word))

    # --- events
    def enter(self, now, epoch):
        """The failure strikes (1), its neighbours know (2), or all know (3)."""
        self.epoch = epoch
        self.sender.known = epoch == 3
        if epoch != 1:
            return
        self.pace = self.inputs.pace[1]
        for number, spec in self.inputs.changes.items():
            link = self.links[number]
            link.times, link.gap, link.delay = (spec.data, spec.ack), spec.gap, spec.delay
            link.buffer, link.ecn_low, link.ecn_high = spec.buffer, spec.ecn_low, spec.ecn_high
            link.headroom, link.dead, link.lost_after = spec.headroom, spec.dead, spec.lost_after
            link.rate = spec.rate

    def go(self) -> Run:
        for time, epoch in self.inputs.cuts:
            self.clock.at(time, CHANGE, epoch, self.enter, epoch)
        for number, spec in enumerate(self.inputs.flows):
            if spec.start is not None:
                host = self.hosts[spec.src]
                self.clock.at(spec.start, START, host.number, host.start, self.flows[number])
        while self.inputs.until is not None or not self.finished:
            event = self.clock.next(self.inputs.until)
            if event is None:
                break
            time, action, arguments = event
            action(time, *arguments)
        return self

    def switch_registers(self, registers: list[int], first: list[int]) -> list[int]:
        """The engine's register array (given as it was at the start) as the switches' twins have it now."""
        out = list(registers)
        for switch in self.switches:
            if switch.twin:
                now = switch.twin.registers()
                out[first[switch.number] : first[switch.number] + len(now)] = now
        return out

    @property
    def finished(self) -> bool:
        return all(flow.done is not None for flow in self.flows)


def run_reference(inputs: Inputs, trace: bool = False) -> Run:
    """Run the slow twin to its end."""
    return Run(inputs, trace).go()
