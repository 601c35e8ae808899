"""Write a workload's flows as a connection matrix of htsim (`workloads/connection_matrix.py` has the format).

Messages are full packets of payload, start times those of the run, jitter included. What a flow waits for becomes a trigger: a oneshot of
its one source, a barrier of several, a multishot if it needs some of these only. A computation that takes no time, such as the gate
between dispatch and combine of a mixture of experts, becomes what it waits for, and one that a host begins with a start time. Refused is
what the format cannot say: other computations, delays after a wait, a limit to the flows that a host keeps open, a message that fires more
than one trigger in the same way (as in halving and doubling: a connection's data starts all that waits for it, or counts for one barrier),
and messages of 2 GiB. A fabric with rails is written in places (`fabric.py`), since htsim has no rails, and what a scheme that chooses
NICs made of the messages as it is.

Most of what flows wait for is data that arrives. htsim reads `recv_done_trigger` and never fires it: a matrix with such triggers ends there
without a word when the connections are done that start by themselves. So that it runs the twin experiment, a connection that should fire
when its data has arrived is written with `send_done_trigger`: it fires with its last ACK, one way back later. With `on="recv"` the matrix
says what is meant, and comes back by `htsim_matrix` as it was.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ofancore.errors import ScenarioError
from ofancore.prepare import prepare
from ofancore.scenario import Scenario
from ofancore.workloads.connection_matrix import MOST

NOTE = "# who waits for data that arrives is started by its last ACK: htsim never fires recv_done_trigger (--trigger-on recv)"


def matrix_text(scenario: Scenario, on: Literal["send", "recv"] = "send") -> str:
    """The connection matrix of a scenario's workload; ScenarioError for what it cannot say.

    `on`: what fires a trigger for which data has to arrive, the sender's last ACK (send: htsim runs it) or the data (recv: exact).
    """
    inputs = prepare(scenario)
    flows, fabric = inputs.flows, inputs.fabric
    some = set(flows.after_some[:, 1].tolist())  # targets of multishots, which stand in the order in which they are started
    start = {int(flow): int(time) for _, time, flow in inputs.start}
    sources, start = without_computations(scenario, inputs, start)
    refuse_unsaid(scenario, inputs, start)
    late = on == "send" and any(not acked for what in sources.values() for _, acked in what)
    if late:
        sources = {flow: acked_ones(scenario, what) for flow, what in sources.items()}
    numbers: dict[tuple, int] = {}  # of triggers, by what fires them
    kinds: dict[tuple, str] = {}
    fires: dict[tuple[int, int], int] = {}  # the first flow that waits for a source, by source
    for flow, what in sorted(sources.items()):
        if what in numbers:
            continue
        numbers[what] = len(numbers) + 1
        kinds[what] = "multishot" if flow in some else "oneshot" if len(what) == 1 else f"barrier count {len(what)}"
        for source in what:
            first = fires.setdefault(source, flow)
            if first != flow:
                way = "send_done_trigger" if source[1] else "recv_done_trigger"
                rule = f"flow {source[0]} would need more than one {way}: flows {first} and {flow} wait for it, but not for the same flows"
                raise refusal(scenario, rule)
    fires = {source: numbers[sources[flow]] for source, flow in fires.items()}
    payload = scenario.packet.payload_bytes
    carry = np.flatnonzero(flows.packets > 0).tolist()
    lines = [
        f"# {scenario.workload.title}, seed {scenario.seed}, {payload} bytes a packet; ofancore scenario {scenario.digest}",
        *[NOTE] * late,
        f"Nodes {fabric.n_hosts}",
        f"Connections {len(carry)}",
    ]
    lines += [f"Triggers {len(numbers)}"] * bool(numbers)
    for number, flow in enumerate(carry, 1):
        begins = f"trigger {numbers[sources[flow]]}" if flow in sources else f"start {start[flow]}"
        words = [f"{flows.src[flow]}->{flows.dst[flow]} id {number} {begins} size {flows.packets[flow] * payload}"]
        words += [f"{word}_done_trigger {fires[flow, acked]}" for acked, word in ((1, "send"), (0, "recv")) if (flow, acked) in fires]
        lines.append(" ".join(words))
    lines += [f"trigger id {number} {kinds[what]}" for what, number in numbers.items()]
    return "\n".join(lines) + "\n"


def acked_ones(scenario: Scenario, what: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """The same sources, each with its ACKs; ScenarioError for one that counts twice, by its data and by its ACKs."""
    acked = tuple(sorted({(flow, 1) for flow, _ in what}))
    if len(acked) < len(what):
        twice = next(flow for flow, _ in acked if (flow, 0) in what and (flow, 1) in what)
        raise refusal(scenario, f"flow {twice} fires by its data and by its ACKs, which htsim does not tell apart (on: recv)")
    return acked


def refusal(scenario: Scenario, rule: str) -> ScenarioError:
    return ScenarioError("workload.kind", scenario.workload.kind, f"cannot be written as a connection matrix: {rule}")


Sources = dict[int, tuple[tuple[int, int], ...]]  # by flow, what it waits for: (flow, 1: its ACKs, 0: its arrival)


def without_computations(scenario: Scenario, inputs, start: dict[int, int]) -> tuple[Sources, dict[int, int]]:
    """What each message waits for, and the start (ps) of those that wait for nothing: computations give way to what they wait for.

    ScenarioError for one that takes time after a wait, or is at another host than what waits for it: the news would take time.
    """
    flows, waits = inputs.flows, {}
    for earlier, later, acked in zip(*(column.tolist() for column in flows.dependencies()[:3])):
        waits.setdefault(later, set()).add((earlier, acked))
    local = set(np.flatnonzero(flows.packets == 0).tolist())
    for flow in sorted(local & waits.keys()):
        if inputs.delay[flow] > 0:
            time = f"{inputs.delay[flow] / 1000:g} ns at host {flows.src[flow]}"
            raise refusal(scenario, f"it has computations (flow {flow} takes {time} after what it waits for)")
    start, gone = dict(start), {}  # of each computation: what it waits for, and when it has ended in any case
    sources: Sources = {}
    todo = [*sorted(local), *sorted(waits.keys() - local)]
    while todo:
        flow = todo.pop()
        ahead = [at for at, _ in waits.get(flow, ()) if at in local and at not in gone]
        if ahead:  # they come first
            todo += [flow, *ahead]
            continue
        if flow in gone:
            continue
        what, begins = set(), start.get(flow, 0)
        for at, acked in waits.get(flow, ()):
            if at not in local:
                what.add((at, acked))
                continue
            if flows.src[at] != flows.src[flow]:
                raise refusal(scenario, f"flow {flow} waits for a computation at another host, {flows.src[at]}")
            what.update(gone[at][0])
            begins = max(begins, gone[at][1])
        if flow in local:
            gone[flow] = (what, begins)
        elif not what:
            start[flow] = begins
        elif begins:
            raise refusal(scenario, f"flow {flow} waits for other flows and for a computation that ends at {begins} ps")
        else:
            sources[flow] = tuple(sorted(what))
    return sources, {flow: time for flow, time in start.items() if flow not in local}


def refuse_unsaid(scenario: Scenario, inputs, start: dict[int, int]) -> None:
    """ScenarioError for late starts, limits to open flows and sizes that the format has no words for."""
    flows = inputs.flows
    late = [flow for flow in np.flatnonzero(flows.packets > 0).tolist() if flow not in start and inputs.delay[flow] > 0]
    if late:
        raise refusal(scenario, f"flow {late[0]} starts some time after what it waits for")
    most = int(np.bincount(flows.src[flows.packets > 0]).max())
    if flows.open_flows < most:
        raise refusal(scenario, f"hosts keep {flows.open_flows} of their flows open at a time")
    size = int(flows.packets.max()) * scenario.packet.payload_bytes
    if size > MOST["size"]:
        raise refusal(scenario, f"a message of {size} bytes is larger than {MOST['size']}")
    if max(start.values()) > MOST["start"]:
        raise refusal(scenario, f"a flow starts after {MOST['start']} ps")
