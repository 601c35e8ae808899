"""Run a scenario in the engine and in the slow twin, and say where their ends differ."""

from __future__ import annotations

import numpy as np

from ofancore.engine import layout as c
from ofancore.engine.world import advance, build_world
from ofancore.outcome import longest_queues
from ofancore.prepare import prepare
from ofancore.reference import inputs_of, run_reference
from ofancore.units import ticks_per_byte

UNSET = -1


def run_engine(prepared, blocks=1):
    """(final world, status) of the engine, its nodes shared out over so many blocks, which threads would serve side by side."""
    return advance(build_world(prepared, blocks))


TX = {
    "sent": c.SEQ,
    "acked": c.ACKED,
    "waits": c.WAITS,
    "done": c.DONE,
    "started": c.STARTED,
    "resent": c.RESENT,
    "timeouts": c.TIMEOUTS,
    "inflight": c.FLYING,
}
RX = {"got": c.GOT, "highest": c.SEQ_MAX, "late": c.LATE, "late_max": c.LATE_MAX, "complete": c.COMPLETE}
RX |= {"dup": c.DUPLICATES, "out_of_order": c.REFUSED}


def engine_state(w, prepared) -> dict[str, list]:
    """Everything that a run decides, by name."""
    stats, scenario = w.stats.sum(axis=0), prepared.scenario
    longest = longest_queues(prepared, w) / ticks_per_byte(scenario.fabric.link_gbps)
    state = {"link.free": w.link[:, c.FREE], "link.queue_max_bytes": longest}
    state |= {"link.drops": w.tally[:, c.DROPS], "link.ecn_marks": w.tally[:, c.ECN_MARKS]}
    for kind, name in enumerate(("data", "acks")):
        state[f"link.{name}"] = w.link[:, c.COUNT + kind]
        state[f"link.queue_sum.{name}"] = w.link[:, c.QUEUE_SUM + kind]
        state[f"sent.{name}"] = stats[c.SENT_DATA + kind]
        state[f"delivered.{name}"] = stats[c.DELIVERED_DATA + kind]
        state[f"dropped.buffer.{name}"] = stats[c.DROPPED_FULL + kind]
        state[f"dropped.dead_link.{name}"] = stats[c.DROPPED_DEAD + kind]
        state[f"dropped.no_route.{name}"] = stats[c.DROPPED_NO_ROUTE + kind]
        state[f"dropped.random.{name}"] = stats[c.DROPPED_AT_RANDOM + kind]
    state |= {f"flow.{name}": w.tx[:, column] for name, column in TX.items()}
    state |= {f"flow.{name}": w.rx[:, column] for name, column in RX.items()}
    if scenario.recovery.kind == "erasure":
        state["flow.to_send"] = w.tx[:, c.TO_SEND]
    if control := steers(scenario):
        state[f"flow.{control}"] = w.cs.cc[:, 0]
    state |= {"hops": stats[c.HOPS], "replaced": stats[c.REPLACED], "trimmed": stats[c.TRIMMED]}
    state |= {"random": w.sw.rng, "switch registers": w.sw.reg, "host registers": w.hx.reg}
    return {name: np.atleast_1d(values).tolist() for name, values in state.items()}


def steers(scenario) -> str:
    """What the congestion control steers, its first column: a window or a rate."""
    return "cwnd" if scenario.congestion.windowed else "rate" if scenario.congestion.paced else ""


def twin_state(run, prepared) -> dict[str, list]:
    """The same of the slow twin."""
    links, flows, scenario = run.links, run.flows, prepared.scenario
    state = {f"link.{name}": [getattr(link, name) for link in links] for name in ("free", "queue_max_bytes", "drops", "ecn_marks")}
    for kind, name in enumerate(("data", "acks")):
        state[f"link.{name}"] = [link.count[kind] for link in links]
        state[f"link.queue_sum.{name}"] = [link.queue_sum[kind] for link in links]
        state[f"sent.{name}"] = [run.sent[kind]]
        state[f"delivered.{name}"] = [run.delivered[kind]]
        for reason, counts in run.dropped.items():
            state[f"dropped.{reason}.{name}"] = [counts[kind]]
    names = [*TX, *RX] + ["to_send"] * (scenario.recovery.kind == "erasure") + [steers(scenario)] * bool(steers(scenario))
    for name in names:
        values = [getattr(flow, name) for flow in flows]
        state[f"flow.{name}"] = [UNSET if value is None else value for value in values]
    state |= {"hops": [run.hops], "replaced": [run.replaced], "trimmed": [run.trimmed]}
    state["random"] = [node.rng.state for node in run.nodes]
    state["host registers"] = run.sender.registers()
    state["switch registers"] = run.switch_registers(prepared.sw.reg.tolist(), prepared.sw.first.tolist())
    return state


def differences(scenario, blocks=1) -> list[str]:
    """What differs at the end; empty if the twins agree step for step, since registers and random states agree too."""
    w, status = run_engine(prepare(scenario), blocks)
    assert status in (c.FINISHED_ALL, c.TIME_LIMIT), f"status {status}, faults {w.stats[:, c.FAULT]}"
    prepared = prepare(scenario)
    run = run_reference(inputs_of(prepared, int(w.clock[c.NOW])))
    fast, slow = engine_state(w, prepared), twin_state(run, prepared)
    assert fast.keys() == slow.keys()
    found = [] if run.finished == (status == c.FINISHED_ALL) else [f"finished: {run.finished}, engine status {status}"]
    for name in fast:
        if fast[name] != slow[name]:
            wrong = [i for i, (a, b) in enumerate(zip(fast[name], slow[name])) if a != b]
            found.append(f"{name}{wrong[:6]}: engine {[fast[name][i] for i in wrong[:6]]}, twin {[slow[name][i] for i in wrong[:6]]}")
    return found
