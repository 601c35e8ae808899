"""Write a workload's flows as a connection matrix of htsim (`workloads/connection_matrix.py` has the format).

Messages are full packets of payload, start times those of the run, jitter included. What a flow waits for becomes a trigger: a oneshot
of its one source, a barrier of several. Refused is what the format cannot say: computations, delays after a wait, a limit to the flows
that a host keeps open, a message that fires more than one trigger in the same way, and messages of 2 GiB. A fabric with rails is
written in places (`fabric.py`), since htsim has no rails, and what a scheme that chooses NICs made of the messages as it is.
"""

from __future__ import annotations

import numpy as np

from ofancore.errors import ScenarioError
from ofancore.prepare import prepare
from ofancore.scenario import Scenario
from ofancore.workloads.connection_matrix import MOST


def matrix_text(scenario: Scenario) -> str:
    """The connection matrix of a scenario's workload; ScenarioError for what it cannot say."""
    inputs = prepare(scenario)
    flows, fabric = inputs.flows, inputs.fabric
    start = {int(flow): int(time) for _, time, flow in inputs.start}
    refuse_unsaid(scenario, inputs, start)
    sources: dict[int, list[tuple[int, int]]] = {}  # by flow: (flow, 1: its ACKs, 0: its arrival)
    for acked, pairs in ((0, flows.after), (1, flows.after_acked)):
        for earlier, later in pairs.tolist():
            sources.setdefault(later, []).append((earlier, acked))
    numbers: dict[tuple, int] = {}  # of triggers, by what fires them
    fires: dict[tuple[int, int], int] = {}
    for flow in sorted(sources):
        what = tuple(sorted(sources[flow]))
        if what in numbers:
            continue
        numbers[what] = len(numbers) + 1
        for source in what:
            if fires.setdefault(source, numbers[what]) != numbers[what] or what.count(source) > 1:
                way = "send_done_trigger" if source[1] else "recv_done_trigger"
                raise refusal(scenario, f"flow {source[0]} would need more than one {way}")
    payload = scenario.packet.payload_bytes
    lines = [
        f"# {scenario.workload.title}, seed {scenario.seed}, {payload} bytes a packet; ofancore scenario {scenario.digest}",
        f"Nodes {fabric.n_hosts}",
        f"Connections {len(flows)}",
    ]
    lines += [f"Triggers {len(numbers)}"] * bool(numbers)
    for flow, (src, dst, packets) in enumerate(zip(flows.src.tolist(), flows.dst.tolist(), flows.packets.tolist())):
        begins = f"trigger {numbers[tuple(sorted(sources[flow]))]}" if flow in sources else f"start {start[flow]}"
        words = [f"{src}->{dst} id {flow + 1} {begins} size {packets * payload}"]
        words += [f"{word}_done_trigger {fires[flow, acked]}" for acked, word in ((1, "send"), (0, "recv")) if (flow, acked) in fires]
        lines.append(" ".join(words))
    for what, number in numbers.items():
        lines.append(f"trigger id {number} " + ("oneshot" if len(what) == 1 else f"barrier count {len(what)}"))
    return "\n".join(lines) + "\n"


def refusal(scenario: Scenario, rule: str) -> ScenarioError:
    return ScenarioError("workload.kind", scenario.workload.kind, f"cannot be written as a connection matrix: {rule}")


def refuse_unsaid(scenario: Scenario, inputs, start: dict[int, int]) -> None:
    """ScenarioError for computations, late starts, limits to open flows and sizes that the format has no words for."""
    flows = inputs.flows
    if (flows.src == flows.dst).any():
        raise refusal(scenario, "it has computations")
    late = [flow for flow in range(len(flows)) if flow not in start and inputs.delay[flow] > 0]
    if late:
        raise refusal(scenario, f"flow {late[0]} starts some time after what it waits for")
    most = int(np.bincount(flows.src).max())
    if flows.open_flows < most:
        raise refusal(scenario, f"hosts keep {flows.open_flows} of their flows open at a time")
    size = int(flows.packets.max()) * scenario.packet.payload_bytes
    if size > MOST["size"]:
        raise refusal(scenario, f"a message of {size} bytes is larger than {MOST['size']}")
    if max(start.values()) > MOST["start"]:
        raise refusal(scenario, f"a flow starts after {MOST['start']} ps")
