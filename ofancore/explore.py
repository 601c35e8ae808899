"""Widgets that ask and pictures that answer: fabric, schemes, traffic and failures by hand, queues and loads of links side by side.

`Explorer` is what `notebooks/explore.ipynb` shows. All that it does to a scenario is in `scenarios_of`, a function of plain values, so that
what the widgets say can be had without them. A refused scenario is told of in one line, and what was drawn before it goes.
"""

from __future__ import annotations

import html
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

import ipywidgets as w
from altair.utils import schemapi

from ofancore import queueplot
from ofancore.balancers import BALANCERS
from ofancore.balancers.definitions import names
from ofancore.console import compiling
from ofancore.engine import layout as c
from ofancore.errors import OfanError, ScenarioError
from ofancore.jit import before_compiling
from ofancore.palette import name_of, order, style
from ofancore.prepare import Inputs, prepare
from ofancore.scenario import Scenario
from ofancore.theme import FONT, SANS
from ofancore.timeline import Timeline, record
from ofancore.units import ns, ticks
from ofancore.workloads import WORKLOADS

MOST_SCHEMES = 4  # side by side
MOST_HOPS = 200_000_000  # packet-hops of a scheme's run
HOPS_PER_S = 10e6  # of one core that stops to look at queues, for estimates
SAMPLES = 100  # times at which the links of a run are looked at, up to twice as many
PATIENCE = 20  # times the ideal time after which a run is stopped; if that is more than
LONG_NS = 2e6  # then after so long, but not before
LEAST_PATIENCE = 5  # times the ideal time
# In place of the workloads' own defaults, so that an answer takes seconds: parameters for those that have them, and message sizes.
SHORTER = {"steps": 4, "tokens": 32}
SMALLER = {"all_to_all": 4, "ring_all_reduce": 2, "halving_doubling": 8}
NOT_ASKED_FOR = ("pairs", "two_jobs", "htsim_matrix")  # workloads that no dropdown can describe
RADIXES = (4, 6, 8, 10, 12, 16)
MESSAGES = tuple(2**i for i in range(13))
SHARES = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
RATES = {"healthy": 1.0, "75% of its rate": 0.75, "50% of its rate": 0.5, "25% of its rate": 0.25, "10% of its rate": 0.1, "dead": 0.0}
KNOWN = {"at once": 0.0, "after 1 µs": 1e3, "after 10 µs": 1e4, "after 100 µs": 1e5, "never": "inf"}
LOOPS = {
    "line rate, erasure code": {"congestion": {"kind": "line_rate"}, "recovery": {"kind": "erasure"}},
    "MSwift, SACK": {"congestion": {"kind": "mswift"}, "recovery": {"kind": "sack"}},
}


@dataclass(frozen=True)
class Asked:
    """What the widgets say. `schemes` are kinds of balancers; `known` is `failures.convergence_ns`; `loop` a key of `LOOPS`."""

    radix: int = 8
    schemes: tuple[str, ...] = ("ops", "reps", "ofan")
    workload: str = "permutation"
    message_packets: int = 256
    dead_share: float = 0.0
    cable: str = "agg:0:0-core:0:0"
    cable_rate: float = 1.0  # share of its rate that this cable has left; 0: dead
    known: float | str = 0.0
    loop: str = "line rate, erasure code"
    seed: int = 0


def scenarios_of(asked: Asked) -> dict[str, Scenario]:
    """The scenario of each scheme, by kind in the palette's order. ScenarioError for what is not valid."""
    if not 1 <= len(asked.schemes) <= MOST_SCHEMES:
        raise ScenarioError("schemes", list(asked.schemes), f"choose one to {MOST_SCHEMES}")
    workload: dict[str, Any] = {"kind": asked.workload}
    fields = WORKLOADS[asked.workload].model_fields
    if "message_packets" in fields:
        workload["message_packets"] = asked.message_packets
    workload |= {name: value for name, value in SHORTER.items() if name in fields}
    failures: dict[str, Any] = {"link_failure_rate": asked.dead_share, "convergence_ns": asked.known}
    if asked.cable_rate < 1:
        failures["cables"] = [{"cable": asked.cable, "capacity": asked.cable_rate}]
    shared = {"fabric": {"radix": asked.radix}, "workload": workload, "failures": failures, "seed": asked.seed, **LOOPS[asked.loop]}
    return {kind: Scenario.from_dict({**shared, "balancer": {"kind": kind}}) for kind in order(asked.schemes)}


def bounded(scenarios: dict[str, Scenario]) -> tuple[dict[str, Scenario], float, dict[str, Inputs]]:
    """(the scenarios with the time limit of `patience_ns`, estimated seconds of one core, the first one prepared).

    They differ in the balancer alone. ScenarioError for more than `MOST_HOPS` packet-hops a scheme: the packets' data and ACKs times the
    links on their paths.
    """
    first = next(iter(scenarios))
    inputs = prepare(scenarios[first])
    hops = int((inputs.flows.packets * inputs.fabric.hops(inputs.flows.src, inputs.flows.dst)).sum()) * 2
    if hops > MOST_HOPS:
        rule = f"{hops / 1e6:,.0f} million packet-hops a scheme, of at most {MOST_HOPS / 1e6:,.0f} million here: choose less"
        workload = inputs.scenario.workload
        key = "message_packets" if hasattr(workload, "message_packets") else "kind"
        raise ScenarioError(f"workload.{key}", getattr(workload, key), rule)
    limit = patience_ns(ns(inputs.ideal_ticks))
    limited = {kind: Scenario.from_dict({**s.to_dict(), "time_limit_ns": limit}) for kind, s in scenarios.items()}
    inputs.conf[c.TIME_LIMIT_AT] = ticks(limit)
    return limited, hops * len(scenarios) / HOPS_PER_S, {first: replace(inputs, scenario=limited[first])}


def patience_ns(ideal_ns: float) -> float:
    """When a run of such an ideal time is stopped: a long one sooner, in ideal times, than a short one, or timeouts would take seconds."""
    return max(min(PATIENCE * ideal_ns, LONG_NS), LEAST_PATIENCE * ideal_ns, 1.0)


def record_all(scenarios: dict[str, Scenario], prepared: dict[str, Inputs] | None = None) -> dict[str, Timeline]:
    """Each scenario's run over time, side by side on the machine's cores: compiled code does not hold Python's lock.

    `prepared`: what `prepare` makes of some of them, if that is at hand.
    """

    def run(kind: str) -> Timeline:
        return record(scenarios[kind], samples=SAMPLES, inputs=(prepared or {}).get(kind))

    with ThreadPoolExecutor(min(MOST_SCHEMES, os.cpu_count() or 1)) as pool:
        return dict(zip(scenarios, pool.map(run, scenarios), strict=True))


def svg(form: Callable, runs: dict[str, Timeline]) -> bytes:
    """The picture that a form of `queueplot` makes of the runs. They are valid, and altair's own check of it takes longer than all else."""
    import vl_convert as vlc

    with schemapi.debug_mode(False):
        spec = json.dumps(form(runs).to_dict())
    return vlc.vegalite_to_svg(spec).replace(f'font-family="{FONT}"', f'font-family="{SANS}"').encode()


def table(runs: dict[str, Timeline]) -> str:
    """`queueplot.numbers` as HTML, each scheme with the line that it has in the pictures."""
    shown = queueplot.numbers(runs)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ("", *shown.columns))
    rows = []
    for label, values in shown.iterrows():
        look, result = style(label), runs[label].result
        dash = look.dasharray and f' stroke-dasharray="{look.dasharray}"'
        line = f'<svg width="40" height="12"><path d="M3 6H37" stroke="{look.colour}" stroke-width="2.5"{dash}/></svg>'
        texts = [f"{value:,.1f}" if name not in ("lost", "sent again") else f"{value:,.0f}" for name, value in values.items()]
        if not result.finished:
            texts[:2] = [f"stopped at {result.ended_ns / 1000:,.1f}", ""]
        cells = "".join(f"<td>{text}</td>" for text in texts)
        rows.append(f"<tr><td>{line} {html.escape(name_of(label))}</td>{cells}</tr>")
    return f"<table class='ofan-numbers'><tr>{head}</tr>{''.join(rows)}</table>"


STYLE = """<style>
.ofan-explorer .widget-readout {min-width: 96px}
.ofan-numbers {border-collapse: collapse}
.ofan-numbers td, .ofan-numbers th {text-align: right; padding: 1px 7px; line-height: 1.35; font-weight: normal}
.ofan-numbers td {border-top: 1px solid #8884; font-variant-numeric: tabular-nums}
.ofan-numbers td:first-child {text-align: left; white-space: nowrap}
.ofan-numbers svg {background: #fff; border-radius: 3px; vertical-align: -1px}
.ofan-numbers th {opacity: .75; vertical-align: bottom}
</style>"""


class Explorer:
    """The widgets, and the answer to what they say, which is brought up to date at every change.

    `box`: what a notebook shows. `asked`: what the widgets say. `runs`: the runs of the last answer, by kind; empty after a refusal.
    `seconds`: from the last change to its pictures. `status` (HTML) says how it went; `queues` and `links` are the pictures.
    """

    def __init__(self, **start):
        """`start`: fields of `Asked` that begin with another value than its own."""
        asked = replace(Asked(), **start)
        wide, label = w.Layout(width="350px"), {"description_width": "100px"}

        def field(kind, **keys):
            return kind(layout=wide, style=label, **keys)

        hosts = [(f"{k}: {k**3 // 4:,} hosts", k) for k in RADIXES]
        offered = [kind for kind, scheme in BALANCERS.items() if not scheme.needs_rails]
        kinds = [(f"{name_of(kind)} ({kind})", kind) for kind in order([*offered, *names()])]
        traffic = [(kind.title, name) for name, kind in WORKLOADS.items() if name not in NOT_ASKED_FOR]
        sizes = [(f"{m:,} packets" if m > 1 else "1 packet", m) for m in MESSAGES]
        slow = {"continuous_update": False}  # an answer when the slider is let go, not on its way
        self.radix = field(w.SelectionSlider, options=hosts, value=asked.radix, description="radix", **slow)
        self.schemes = field(w.SelectMultiple, options=kinds, value=asked.schemes, rows=9, description="schemes")
        self.workload = field(w.Dropdown, options=traffic, value=asked.workload, description="workload")
        self.message_packets = field(w.SelectionSlider, options=sizes, value=asked.message_packets, description="message", **slow)
        shares = [(f"{100 * share:g}%", share) for share in SHARES]
        self.dead_share = field(w.SelectionSlider, options=shares, value=asked.dead_share, description="dead cables", **slow)
        self.cable_rate = field(w.Dropdown, options=list(RATES.items()), value=asked.cable_rate, description="one cable")
        self.cable = field(w.Text, value=asked.cable, description="which", continuous_update=False)
        self.known = field(w.Dropdown, options=list(KNOWN.items()), value=asked.known, description="failures known")
        self.loop = field(w.Dropdown, options=list(LOOPS), value=asked.loop, description="transport")
        self.seed = field(w.BoundedIntText, value=asked.seed, min=0, max=2**31, description="seed")
        self.inputs = {name: getattr(self, name) for name in asdict(asked)}
        self.status, self.numbers = w.HTML(), w.HTML(layout=w.Layout(overflow="auto", max_width="100%"))
        self.queues, self.links = (w.Image(format="svg+xml", layout=w.Layout(max_width="100%", display="none")) for _ in range(2))
        hint = w.HTML(f"{STYLE}<small>up to four, with Ctrl or Shift</small>", layout=w.Layout(margin="0 0 0 106px"))
        order_of_inputs = (
            self.schemes, hint, self.radix, self.workload, self.message_packets, self.dead_share, self.cable_rate, self.cable, self.known,
            self.loop, self.seed,
        )  # fmt: skip
        controls = w.VBox(order_of_inputs, layout=w.Layout(flex="0 0 360px"))
        answer = w.VBox([self.status, self.numbers, self.queues, self.links], layout=w.Layout(flex="1 1 480px", min_width="0"))
        self.box = w.Box([controls, answer], layout=w.Layout(display="flex", flex_flow="row wrap", align_items="flex-start"))
        self.box.add_class("ofan-explorer")
        self.runs: dict[str, Timeline] = {}
        self.seconds = 0.0
        self._quiet = False
        self.workload.observe(self._another_workload, names="value")
        for widget in self.inputs.values():
            widget.observe(self._changed, names="value")

    def show(self) -> Explorer:
        """Display the widgets, then answer: the first answer may have to compile, and says so."""
        from IPython.display import display

        display(self.box)
        self.answer()
        return self

    @property
    def asked(self) -> Asked:
        return Asked(**{name: widget.value for name, widget in self.inputs.items()})

    def _another_workload(self, change) -> None:
        """Each workload has a message size of its own: 256 packets to everybody would be a thousand times as many as to one."""
        fields = WORKLOADS[change["new"]].model_fields
        self.message_packets.disabled = "message_packets" not in fields
        usual = None if self.message_packets.disabled else SMALLER.get(change["new"], fields["message_packets"].default)
        if usual in MESSAGES:
            self._quiet = True
            self.message_packets.value = usual
            self._quiet = False

    def _changed(self, change) -> None:
        if not self._quiet:
            self.answer()

    def answer(self) -> None:
        """Run what the widgets say and draw it; what is refused is said in one line."""
        began = time.perf_counter()
        self.cable.disabled = self.asked.cable_rate == 1
        try:
            scenarios, estimate, prepared = bounded(scenarios_of(self.asked))
            self._say(f"running, about {estimate:.0f} s" if estimate >= 2 else "running")
            with before_compiling(lambda: self._say(compiling())):
                self.runs = record_all(scenarios, prepared)
            ran = time.perf_counter()
            self._say("drawing")
            self.numbers.value = table(self.runs)
            self._show(self.queues, svg(queueplot.over_time, self.runs))
            self._show(self.links, svg(queueplot.loads, self.runs))
        except (OfanError, MemoryError) as refusal:
            self.runs = {}
            self.numbers.value = ""
            for picture in (self.queues, self.links):
                picture.layout.display = "none"
            self._say(str(refusal) or "more memory is needed than this machine gives", "#c22f2f")
            return
        self.seconds = time.perf_counter() - began
        several = f"{len(self.runs)} schemes" if len(self.runs) > 1 else "1 scheme"
        hosts = next(iter(scenarios.values())).shape.n_hosts
        self._say(f"{several} on {hosts:,} hosts: {self.seconds:.1f} s, of which {ran - began:.1f} s simulated")

    def _say(self, text: str, colour: str = "inherit") -> None:
        self.status.value = f'<span style="color:{colour}">{html.escape(text)}</span>'

    @staticmethod
    def _show(picture: w.Image, data: bytes) -> None:
        picture.value = data
        picture.layout.display = ""
