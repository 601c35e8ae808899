"""Hypothesis strategies for scenarios on fabrics small enough for the slow twin; raw rows without a run.

The number of examples is the test's own, times the environment variable OFAN_EXAMPLES (default 1): `OFAN_EXAMPLES=20 make test`
looks twenty times harder.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, note, reject, settings
from hypothesis import strategies as st

from ofancore import BALANCERS, CONGESTION, RECOVERY, WORKLOADS, Scenario, ScenarioError
from ofancore.fabric import Fabric
from ofancore.metrics import METRICS, OF_THREE_TIERS
from ofancore.plan import Group, expand
from ofancore.prepare import prepare
from ofancore.result import scenario_columns

ANYWHERE = tuple(kind for kind, balancer in BALANCERS.items() if not balancer.needs_rails)  # those that run on every fabric
FOLDER: list[tempfile.TemporaryDirectory] = []  # of matrices, once there are any
EFFORT = float(os.environ.get("OFAN_EXAMPLES", "1"))


def examples(count: int):
    """Settings of a property test: `count` examples at the default effort, the same ones in every run of the default effort."""
    return settings(
        max_examples=max(1, round(count * EFFORT)),
        deadline=None,
        derandomize=EFFORT == 1,
        database=None,
        print_blob=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )


def fabrics(unlimited=None):
    """Fabric keys: every shape of radix 4 and 6, buffers from one packet to more than a run can fill."""

    @st.composite
    def keys(draw):
        radix = draw(st.sampled_from([4, 4, 6]))
        low = draw(st.sampled_from([None, 0.0, 0.05, 0.5, 1.0]))
        return {
            "radix": radix,
            "tiers": draw(st.sampled_from([3, 3, 2])),
            "oversubscription": draw(st.sampled_from([1, 1, radix // 2])),
            "link_gbps": draw(st.sampled_from([800.0, 100.0, 333.3])),
            "link_delay_ns": draw(st.sampled_from([500.0, 0.0, 1.0, 40.0])),
            "buffer_bytes": draw(st.sampled_from([800_000, 50_000, 13_000, 4_300])),
            "unlimited_buffer": draw(st.booleans()) if unlimited is None else unlimited,
            "ecn": {"min_fraction": low, "max_fraction": draw(st.sampled_from([None, 0.8, 1.0]) if (low or 0) <= 0.8 else st.none())},
        }

    return keys()


def shape_of(keys) -> Fabric:
    return Fabric.build(keys["radix"], keys["tiers"], keys["oversubscription"], keys.get("rails", 1))


def rails_for(kind: str) -> dict:
    """Fabric keys that a balancer cannot do without; two rails fit a fat tree of radix 4, 8, 12."""
    return {"rails": 2} if kind in BALANCERS and BALANCERS[kind].needs_rails else {}


def railed(keys: dict, kind: str):
    """The fabric with servers of one or more NICs, of more if the balancer needs that."""
    shape = shape_of(keys)
    more = [n for n in range(2, shape.E + 1) if shape.E % n == 0]
    return st.sampled_from(more if BALANCERS[kind].needs_rails else [1] * 3 * len(more) + more).map(lambda rails: {**keys, "rails": rails})


def packets(unlimited):
    """Packet keys; unlimited buffers go without control packets at priority."""
    return st.fixed_dictionaries(
        {
            "payload_bytes": st.sampled_from([4096, 1000, 64]),
            "gap_bytes": st.sampled_from([20, 0]),
            "ack_bytes": st.sampled_from([64, 1]),
            "ack_label": st.sampled_from(["echo", "fresh"]),
            "control": st.sampled_from(["shared"] if unlimited else ["shared", "priority"]),
            "control_queue_packets": st.sampled_from([512, 1, 3]),
        }
    )


PLACEMENTS = st.sampled_from(["random", "contiguous", "striped"])


@st.composite
def hosts_of(draw, n_hosts, sizes):
    """Different hosts, as many as one of the sizes says."""
    n = draw(st.sampled_from(sizes))
    return draw(st.lists(st.integers(0, n_hosts - 1), min_size=n, max_size=n, unique=True))


@st.composite
def matrices(draw, n_hosts, multishots=True):
    """The text of a connection matrix. Triggers are fired by earlier connections; multishots by their own targets and others, too."""
    n = draw(st.integers(1, 10))
    ways = st.sampled_from(["send", "recv"])
    rows, triggers, fired, whole, shots = [], [], {}, [], []

    def connect(begins):
        src = draw(st.integers(0, n_hosts - 1))
        dst = draw(st.integers(0, n_hosts - 1).filter(lambda host: host != src))
        rows.append(f"{src}->{dst} id {len(rows) + 1} {begins} size {draw(st.integers(1, 2500))}")

    while len(rows) < n:
        i = len(rows)
        waits = draw(st.lists(st.tuples(st.integers(0, i - 1), ways), max_size=3, unique=True)) if i else []
        waits = [source for source in waits if source not in fired]
        number = len(triggers) + 1
        fired |= dict.fromkeys(waits, number)
        if waits and multishots and draw(st.booleans()):
            triggers.append(f"trigger id {number} multishot")
            shots.append(number)
            firings, targets = len(waits), draw(st.integers(1, 5))
            for started in range(1, targets + 1):
                connect(f"trigger {number}")
                own = draw(st.lists(ways, max_size=2, unique=True))
                if firings == started < targets and not own:
                    own = ["send"]  # or the next one would never start
                fired |= {(len(rows) - 1, way): number for way in own}
                firings += len(own)
        elif waits:
            triggers.append(f"trigger id {number} " + ("oneshot" if len(waits) == 1 else f"barrier count {len(waits)}"))
            whole.append(number)
            connect(f"trigger {number}")
        elif whole and draw(st.booleans()):
            connect(f"trigger {draw(st.sampled_from(whole))}")  # one of an earlier connection
        else:
            connect(f"start {draw(st.sampled_from([0, 0, 1, 333_333, 2_000_001]))}")
            if shots and draw(st.booleans()):
                fired[i, draw(ways)] = draw(st.sampled_from(shots))
    for (i, way), number in fired.items():
        rows[i] += f" {way}_done_trigger {number}"
    return "\n".join([f"Nodes {n_hosts}", f"Connections {len(rows)}", f"Triggers {len(triggers)}", *rows, *triggers]) + "\n"


def matrix_file(text: str) -> str:
    """The path of a file with that text, which stays until the process ends."""
    if not FOLDER:
        FOLDER.append(tempfile.TemporaryDirectory(prefix="ofan-matrices-"))
    path = Path(FOLDER[0].name) / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.cm"
    path.write_text(text)
    return str(path)


@st.composite
def workloads(draw, n_hosts, kinds=tuple(WORKLOADS), multishots=True):
    """Workload keys of at most a thousand data packets or so."""
    kind = draw(st.sampled_from(kinds))
    hosts = st.lists(st.integers(0, n_hosts - 1), min_size=2, max_size=min(6, n_hosts), unique=True)
    if kind == "permutation":
        return {"kind": kind, "message_packets": draw(st.integers(1, 24)), "hosts": draw(st.none() | hosts)}
    if kind == "all_to_all":
        opened = draw(st.none() | st.integers(1, 3))
        return {"kind": kind, "message_packets": draw(st.integers(1, 6)), "open_flows": opened, "hosts": draw(hosts)}
    if kind in ("ring_all_gather", "ring_reduce_scatter", "ring_all_reduce"):
        keys = {"kind": kind, "message_packets": draw(st.integers(1, 8)), "placement": draw(PLACEMENTS), "hosts": draw(hosts)}
        return keys if kind == "ring_all_gather" else keys | {"reduce_ns": draw(st.sampled_from([0.0, 0.0, 1.0, 250.0]))}
    if kind == "halving_doubling":
        return {
            "kind": kind,
            "message_packets": draw(st.integers(1, 4)),
            "phase": draw(st.sampled_from(["all_reduce", "reduce_scatter", "all_gather"])),
            "reduce_ns": draw(st.sampled_from([0.0, 0.0, 1.0, 250.0])),
            "placement": draw(PLACEMENTS),
            "hosts": draw(hosts_of(n_hosts, [n for n in (2, 4, 8) if n <= n_hosts])),
        }
    if kind == "moe_all_to_all":
        return {
            "kind": kind,
            "model": draw(st.sampled_from(["deepseek_v3", "mixtral_8x7b", "mixtral_8x22b"])),
            "phase": draw(st.sampled_from(["dispatch", "combine", "both"])),
            "tokens": draw(st.integers(3, 6)),
            "zipf_exponent": draw(st.sampled_from([0.0, 1.0, 3.0])),
            "dispatch_bytes": 1,
            "combine_bytes": 1,
            "compute_ns": draw(st.sampled_from([0.0, 100.0])),
            "open_flows": draw(st.sampled_from([None, 1, 2])),
            "placement": draw(PLACEMENTS),
            "hosts": draw(hosts_of(n_hosts, [n for n in (4, 6, 8) if n <= n_hosts])),
        }
    if kind == "incast":
        return {"kind": kind, "message_packets": draw(st.integers(1, 30)), "senders": draw(st.integers(1, min(6, n_hosts - 1)))}
    if kind == "two_jobs":
        names = st.sampled_from(["permutation", "ring_all_reduce", "all_to_all", "halving_doubling", "incast"])
        n = draw(st.integers(2, max(2, n_hosts // 4)))
        jobs = [draw(workloads(4, (name,))) for name in draw(st.lists(names, min_size=n, max_size=n))]
        jobs = [{key: value for key, value in job.items() if key not in ("hosts", "open_flows")} for job in jobs]
        return {"kind": kind, "jobs": jobs, "ranks": [4] * n, "mix": draw(st.sampled_from(["random", "interleaved", "contiguous"]))}
    if kind == "htsim_matrix":
        return {"kind": kind, "file": matrix_file(draw(matrices(n_hosts, multishots)))}
    if kind == "fsdp":
        ranks = draw(st.integers(2, min(5, n_hosts)))
        return {
            "kind": kind,
            "model": "llama3_8b",
            "ranks": ranks,
            "message_packets": draw(st.integers(1, 4)),
            "collective": draw(st.sampled_from(["ring", "direct"])),
            "steps": draw(st.none() | st.integers(1, ranks - 1)),
            "placement": draw(st.sampled_from(["random", "contiguous", "striped"])),
            "phase": draw(st.sampled_from(["all_gather", "reduce_scatter", "backward", "step"])),
            "layers": draw(st.integers(1, 3)),
            "prefetch": draw(st.integers(0, 2)),
            "tokens": 1,
            "tflops": draw(st.sampled_from([1e6, 1e3, 200.0])),  # 2.2 us a forward layer at 200
        }
    pair = st.lists(st.integers(0, n_hosts - 1), min_size=2, max_size=2, unique=True)
    return {"kind": kind, "message_packets": draw(st.integers(1, 40)), "pairs": draw(st.lists(pair, min_size=1, max_size=6))}


@st.composite
def balancers(draw, kinds=ANYWHERE):
    """Balancer keys, with parameters at which something happens within a small run."""
    kind = draw(st.sampled_from(sorted(kinds)))
    bitmap = {
        "labels": st.sampled_from([64, 8, 1]),
        "ecn_penalty": st.sampled_from([1, 0, 3]),
        "nack_penalty": st.sampled_from([4, 15]),
        "timeout_penalty": st.sampled_from([15, 2]),
        "max_penalty": st.sampled_from([15, 1, 6]),
    }
    own = {
        "subflow": {"subflows": st.integers(1, 5)},
        "plb": {"change_threshold": st.sampled_from([0.4, 0.05, 1.0])},
        "reps": {
            "freeze_on_loss": st.booleans(),
            "freeze_ns": st.sampled_from([100_000.0, 2_000.0, 0.0]),
            "explore": st.integers(0, 5),
            "labels": st.sampled_from([65_536, 5]),
        },
        "host_rr": {"labels": st.sampled_from([65_536, 5, 1])},
        "strack": {"labels": st.sampled_from([256, 7, 1]), "penalise_losses": st.booleans()},
        "uec_bitmap": bitmap,
        "uec_mixed": bitmap | {"queue_labels": st.sampled_from([1024, 1, 4])},
        "whack_a_mole": {
            "units": st.sampled_from([None, 16, 64]),
            "mark_units": st.sampled_from([1, 0, 3]),
            "loss_units": st.sampled_from([4, 0, 20]),
            "floor_units": st.sampled_from([1, 0, 5]),
            "return_units": st.sampled_from([1, 0, 4]),
        },
        "prime": {
            "ecn_penalty": st.sampled_from([1, 0, 3]),
            "nack_penalty": st.sampled_from([4, 1, 20]),
            "timeout_penalty": st.sampled_from([15, 2]),
            "decay_rtts": st.sampled_from([1.0, 0.01, 10.0]),
            "look": st.sampled_from([16, 1, 3]),
        },
        "rails": {
            "chunk_packets": st.sampled_from([1, 2, 3, 16]),
            "ties": st.sampled_from(["spread", "first"]),
            "labels": st.sampled_from([65_536, 4, 1]),
            "order": st.sampled_from(["random", "permuted"]),
        },
        "ops": {"labels": st.sampled_from([65_536, 4, 1]), "order": st.sampled_from(["random", "permuted"])},
        "switch_rr": {"reshuffle_wraps": st.integers(0, 3), "size_bins": st.booleans()},
        "jsq": {"ties": st.sampled_from(["random", "first"])},
        "spectrum_ar": {
            "bins": st.sampled_from([[0.05, 0.1, 0.2], [0.01], [0.001, 0.5, 0.9, 1.0]]),
            "sample_ns": st.sampled_from([None, None, 100.0, 1.0, 3_000.0]),
        },
        "host_dr": {"digit_reversed": st.booleans()},
        "pofan": {"pipes": st.sampled_from([1, 2, 3, 4])},
        "flowlet": {
            "gap_ns": st.sampled_from([None, 0.001, 50.0, 400.0]),
            "entries": st.sampled_from([64, 1, 3]),
            "timer": st.sampled_from(["exact", "age_bit"]),
        },
        "drill": {"samples": st.integers(1, 3), "memory": st.integers(0, 3), "engines": st.integers(1, 3)},
        "diffflow": {"threshold_packets": st.sampled_from([3, 0, 10]), "entries": st.sampled_from([64, 1, 3])},
        "ethereal": {"per": st.sampled_from(["host", "edge"])},
        "partial": {
            "share": st.sampled_from([0.5, 0.0, 0.3, 1.0]),
            "rest": st.sampled_from(["rsq", "switch_rr", "ecmp", "spectrum_ar"]),
            "tier": st.sampled_from(["both", "edge", "agg"]),
        },
    }
    return {"kind": kind, **{key: draw(values) for key, values in own.get(kind, {}).items()}}


@st.composite
def failures(draw, fabric: Fabric):
    """Failure keys: some cables dead or slow, from the start or from a moment within the run, known at once, later or never."""
    names = [fabric.cable_name(cable) for cable in range(fabric.n_cables)]
    share = st.sampled_from([0.0, 0.5, 0.25, 0.01])
    named = draw(st.lists(st.sampled_from(names), min_size=0, max_size=3, unique=True))
    times = st.sampled_from([0.0, 300.0, 2_000.0, 3_141.592])
    return {
        "link_failure_rate": draw(st.sampled_from([0.0, 0.1, 0.3])),
        "cables": [{"cable": name, "capacity": draw(share)} for name in named],
        "capacity": draw(share),
        "at_ns": draw(times),
        "detection_ns": draw(times),
        "convergence_ns": draw(times | st.sampled_from(["inf", 20_000.0])),
        "loss_rate": draw(st.sampled_from([0.0, 0.0, 0.001, 0.05, 0.3])),
    }


@st.composite
def controls(draw, kinds=tuple(CONGESTION)):
    """Congestion keys, with parameters at which something happens within a small run."""
    kind = draw(st.sampled_from(kinds))
    delay = {
        "target_packets": st.sampled_from([10.0, 0.5, 2.0]),
        "additive_packets": st.sampled_from([1.0, 0.1, 8.0]),
        "max_decrease": st.sampled_from([0.5, 0.1]),
        "cut_on_loss": st.booleans(),
    }
    own = {
        "swift": delay,
        "mswift": delay | {"median_windows": st.sampled_from([1.0, 0.3, 3.0]), "median_packets_max": st.sampled_from([256, 1, 5])},
        "dctcp": {"gain": st.sampled_from([1 / 16, 0.5, 1.0])},
        "nscc": {"target_rtts": st.sampled_from([None, 0.05, 0.5]), "adapt_gate": st.integers(0, 4), "fast": st.sampled_from([0.25, 2.0])},
        "dcqcn": {
            "notification_ns": st.sampled_from([50_000.0, 500.0]),
            "decay_ns": st.sampled_from([55_000.0, 700.0]),
            "increase_ns": st.sampled_from([55_000.0, 300.0]),
            "increase_bytes": st.sampled_from([10_000_000, 9_000]),
            "stages": st.integers(1, 5),
        },
    }
    windows = {"max_window_bdp": st.sampled_from([1.5, 0.2, 4.0]), "initial_window_bdp": st.sampled_from([1.5, 0.01])}
    keys = own.get(kind, {}) | (windows if CONGESTION[kind].windowed else {})
    return {"kind": kind, **{key: draw(values) for key, values in keys.items()}}


@st.composite
def recoveries(draw, kinds=tuple(RECOVERY)):
    """Recovery keys."""
    kind = draw(st.sampled_from(kinds))
    timed = {
        "rto_ns": st.sampled_from([None, 3_000.0, 40_000.0]),
        "window_packets": st.sampled_from([4096, 1, 3, 16]),
        "ack_every_packets": st.sampled_from([1, 2, 4, 64]),
    }
    own = {
        "erasure": {"notice_rtts": st.sampled_from([1.0, 2.5])},
        "sack": timed | {"reorder_packets": st.integers(1, 8)},
        "trim": timed | {"headroom_packets": st.sampled_from([1024, 0, 2])},
        "go_back_n": timed,
    }
    return {"kind": kind, **{key: draw(values) for key, values in own[kind].items()}}


@st.composite
def scenarios(
    draw,
    broken=None,
    kinds=tuple(BALANCERS),
    unlimited=None,
    workload_kinds=tuple(WORKLOADS),
    congestion=("line_rate",),
    recovery=("erasure",),
):
    """Scenarios as dicts. `broken`: with failures (None: perhaps)."""
    balancer = draw(balancers(kinds))
    fabric = draw(fabrics(unlimited).flatmap(lambda keys: railed(keys, balancer["kind"])))
    shape = shape_of(fabric)
    packet = draw(packets(fabric["unlimited_buffer"]))
    slot_ns = (packet["payload_bytes"] + 82) * 8 / fabric["link_gbps"]
    keys = {
        "fabric": fabric,
        "packet": packet,
        "workload": draw(workloads(shape.n_hosts, workload_kinds, not BALANCERS[balancer["kind"]].needs_rails)),
        "balancer": balancer,
        "failures": draw(failures(shape)) if broken or (broken is None and draw(st.booleans())) else {},
        "congestion": draw(controls(congestion)),
        "recovery": draw(recoveries(recovery)),
        "start_jitter_ns": draw(st.sampled_from([None, 0.0, 700.0])),
        "time_limit_ns": 300 * slot_ns + 200 * fabric["link_delay_ns"],
        "seed": draw(st.integers(0, 2**31)),
    }
    return draw(in_lockstep(keys)) if draw(st.sampled_from([False, False, True])) else keys


@st.composite
def in_lockstep(draw, keys):
    """The scenario with all that happens falling on one time grid, so that ties are the rule: data as long as ACKs, no gaps or jitter."""
    tick = 5.12  # ns: 64 bytes at 100 Gb/s
    times = st.integers(0, 60).map(lambda n: round(n * tick, 3))
    buffer = draw(st.sampled_from([64, 200, 1000]))
    fabric = {**keys["fabric"], "link_gbps": 100.0, "link_delay_ns": draw(st.sampled_from([0.0, tick, 3 * tick])), "buffer_bytes": buffer}
    packet = {**keys["packet"], "payload_bytes": 2, "header_bytes": 62, "gap_bytes": 0, "ack_bytes": 64}
    failures = keys["failures"] and {**keys["failures"], "at_ns": draw(times), "detection_ns": draw(times), "convergence_ns": draw(times)}
    limit = {"time_limit_ns": 600 * tick + 100 * fabric["link_delay_ns"]}
    return {**keys, "fabric": fabric, "packet": packet, "failures": failures, "start_jitter_ns": 0.0} | limit


def connected(keys) -> Scenario:
    """The scenario; the example is given up if its failures cut a pair off, which is refused."""
    note(f"scenario: {keys}")
    scenario = Scenario.from_dict(keys)
    try:
        prepare(scenario)
    except ScenarioError as refusal:
        if refusal.key != "failures":
            raise
        reject()
    return scenario


def rows_without_runs(group: Group, source: str) -> list[dict]:
    """The rows of a run group with zeros for metrics, as if the sources of that digest had made them."""
    common = {"experiment": group.experiment, "label": group.label, "finished": True, "source": source}
    common |= dict.fromkeys(METRICS + OF_THREE_TIERS, 0.0)
    return [{**common, **scenario_columns(s), "digest": s.digest} for s in map(Scenario.from_dict, expand(group))]
