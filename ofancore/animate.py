"""Queues building up, as an animation: the fat tree under two schemes side by side, with a common time axis.

A page of its own (`animation.html` with the data filled in) that needs no network. Every frame is a look at a run (`timeline.record`):
the half of a cable next to a switch shows the queue at that switch's port into the cable, wider and stronger with every doubling.
"""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ofancore.errors import OfanError
from ofancore.fabric import Fabric
from ofancore.own import title_of
from ofancore.palette import know, lightened, name_of, style, text_colour
from ofancore.scenario import Scenario
from ofancore.simulation import simulate
from ofancore.timeline import Timeline, record

FRAMES = 240  # about as many
PLAY_MS = 12_000  # of the whole run
MOST_HOSTS = 256  # more are too close together to be seen
WIDTH, HEIGHT = 1000, 430  # of a tree
FINEST = 0.25  # packets: least step of a queue in a frame, which keeps a byte a link
TEMPLATE = Path(__file__).with_name("animation.html")
DARK_GROUND, READABLE = "#16181a", 4.5


@dataclass(frozen=True)
class Tree:
    """A drawn fabric, x to the right and y down."""

    place: np.ndarray  # float64[n_nodes, 2]
    links: np.ndarray  # int64[n]: the directed links that leave switches, by number
    ends: np.ndarray  # float64[n, 4]: where a link's half begins (at its switch) and ends (in the middle of its cable)
    cables: np.ndarray  # float64[n_cables, 4]: every cable once, those of hosts too


def tree(fabric: Fabric) -> Tree:
    """Hosts below, cores above; a switch stands over the middle of what hangs off it, and core switches are spread evenly."""
    base = fabric.node_base
    place = np.zeros((fabric.n_nodes, 2))
    tiers = 4 if fabric.C else 3
    for tier in range(tiers):
        place[base[tier] : base[tier + 1], 1] = HEIGHT - 8 - tier * (HEIGHT - 20) / (tiers - 1)
    hosts = np.arange(fabric.n_hosts)
    # a little air between edge switches, and more between pods
    slots = hosts + 0.6 * fabric.edge_of(hosts) + 1.4 * fabric.pod_of(hosts)
    x = 10 + (WIDTH - 20) * slots / max(slots[-1], 1)
    place[base[0] : base[1], 0] = x
    edges = x.reshape(fabric.n_edges, fabric.S).mean(axis=1)
    place[base[1] : base[2], 0] = edges
    pods = edges.reshape(fabric.P, fabric.E)
    if fabric.C:
        inner = (np.arange(fabric.A) + 0.5) / fabric.A - 0.5
        spread = (pods[:, -1] - pods[:, 0]) * max(fabric.A / max(fabric.A - 1, 1), 1)
        place[base[2] : base[3], 0] = (pods.mean(axis=1)[:, None] + spread[:, None] * inner).ravel()
        place[base[3] : base[4], 0] = WIDTH * (np.arange(fabric.n_cores) + 0.5) / fabric.n_cores
    else:
        place[base[2] : base[3], 0] = WIDTH * (np.arange(fabric.n_aggs) + 0.5) / fabric.n_aggs
    tails, heads = ends_of(fabric)
    links = np.flatnonzero(tails >= base[1])
    middle = (place[tails] + place[heads]) / 2
    up = fabric.link_class < 3
    return Tree(
        place=place,
        links=links,
        ends=np.hstack([place[tails], middle])[links],
        cables=np.hstack([place[tails], place[heads]])[up],
    )


def ends_of(fabric: Fabric) -> tuple[np.ndarray, np.ndarray]:
    """(tails, heads) int64[n_links]: the nodes that a directed link leads from and to."""
    first, links = fabric.inputs
    heads = np.zeros(fabric.n_links, np.int64)
    heads[links] = np.repeat(np.arange(fabric.n_nodes), np.diff(first))
    # The link back, of the same cable, ends where this one begins.
    b = fabric.link_base
    back = np.zeros(fabric.n_links, np.int64)
    pairs = [(b[0] + h, b[5] + h) for h in range(fabric.n_hosts)] + [fabric.cable_links(i) for i in range(fabric.n_cables)]
    for up, down in pairs:
        back[up], back[down] = down, up
    return heads[back], heads


def step_of(ended_ns: float) -> float:
    """A round time between frames, 1, 2 or 5 times a power of ten, of which about `FRAMES` make the run (no more than twice as many)."""
    rough = ended_ns / FRAMES
    power = 10.0 ** math.floor(math.log10(rough))
    return max(power * k for k in (1, 2, 5) if power * k <= rough)


def runs_of(scenario: Scenario, schemes: Sequence[str]) -> dict[str, Timeline]:
    """The scenario under each scheme (a kind of balancer), all at the same times from 0 until the last is done.

    The scenario's own balancer keeps its parameters, the others have their defaults.

    OfanError for fabrics that are too large to be seen and for runs that do not finish; ScenarioError as `Scenario.from_dict`.
    """
    data, own = scenario.to_dict(), scenario.balancer.kind
    asked = {kind: scenario if kind == own else Scenario.from_dict({**data, "balancer": {"kind": kind}}) for kind in schemes}
    if scenario.shape.n_hosts > MOST_HOSTS:
        raise OfanError(
            f"fabric.radix = {scenario.fabric.radix}: {scenario.shape.n_hosts:,} hosts; a tree is drawn with up to {MOST_HOSTS}"
        )
    know({kind: title_of(one.balancer) for kind, one in asked.items()})
    ended = 0.0
    for one in asked.values():
        result = simulate(one)
        if not result.finished:
            raise OfanError(f"{result.summary()}: only runs that finish are drawn")
        ended = max(ended, result.ended_ns)
    step = step_of(ended)
    times = step * np.arange(math.ceil(ended / step) + 1)
    return {kind: record(one, times) for kind, one in asked.items()}


def page(runs: dict[str, Timeline]) -> str:
    """The HTML page of runs at the same times, by label."""
    return TEMPLATE.read_text().replace("@DATA@", json.dumps(data_of(runs), separators=(",", ":")).replace("<", "\\u003c"))


def data_of(runs: dict[str, Timeline]) -> dict[str, Any]:
    """What the page draws. A frame is a byte a link of `Tree.links`: its queue in `quantum` packets, rounded down."""
    first = next(iter(runs.values()))
    scenario, fabric = first.result.scenario, first.result.scenario.shape
    drawn = tree(fabric)
    waiting = {label: run.queue_bytes[:, drawn.links] / run.packet_bytes for label, run in runs.items()}
    quantum = max(FINEST, max(float(queue.max()) for queue in waiting.values()) / 255)
    schemes = [
        {
            "label": label,
            "name": name_of(label),
            "colour": text_colour(style(label).colour),
            "colour_dark": lightened(style(label).colour, DARK_GROUND, READABLE),
            "dash": style(label).dasharray,
            "frames": base64.b64encode(np.floor(queue / quantum + 1e-9).astype(np.uint8).tobytes()).decode(),
            "longest": np.round(queue.max(axis=1), 2).tolist(),
        }
        for label, queue in waiting.items()
    ]
    longest = np.max([queue.max(axis=1) for queue in waiting.values()], axis=0)
    step = float(first.times_ns[1] - first.times_ns[0])
    message = getattr(scenario.workload, "message_packets", None)
    about = [
        f"{scenario.workload.title[:1].upper()}{scenario.workload.title[1:]} on {fabric.n_hosts} hosts",
        f"{scenario.fabric.link_gbps:g} Gb/s",
        *([f"{message:,} packets a message"] if message else []),
        f"seed {scenario.seed}",
    ]
    tiers = "core, aggregation, edge switches, hosts" if fabric.C else "spines, leaves, hosts"
    found = ", ".join(f"{name_of(label)} {run.result.queue_max_packets:.1f}" for label, run in runs.items())
    return {
        "title": "Queues on the tree: " + " and ".join(name_of(label) for label in runs),
        "setup": f"{', '.join(about)}. From above: {tiers}. The half of a cable next to a switch is the queue at that switch's port.",
        "notes": f"A frame every {step:g} ns of a packet-level run. Longest queue that any packet of the whole run found (packets): "
        f"{found}; a frame counts the last packet, too. Keys: space plays and pauses, arrows step.",
        "times_ns": np.round(first.times_ns, 3).tolist(),
        "step_ns": step,
        "play_ms": PLAY_MS,
        "quantum": quantum,
        "worst": int(longest.argmax()),
        "schemes": schemes,
        "tree": {
            "box": f"0 0 {WIDTH} {HEIGHT}",
            "cables": "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in drawn.cables),
            "links": np.round(drawn.ends, 1).tolist(),
            "nodes": "".join(_node(x, y, node < fabric.n_hosts) for node, (x, y) in enumerate(drawn.place)),
        },
    }


def _node(x: float, y: float, host: bool) -> str:
    r = 2 if host else 5
    return f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z"


def frame(text: str, height: int = 650):
    """The page inside a notebook's output, an `IPython.display.HTML` of so many pixels."""
    from IPython.display import HTML

    style = f"width:100%;height:{height}px;border:0"
    inside = f'<iframe srcdoc="{html.escape(text)}" sandbox="allow-scripts" style="{style}" title="Queues on the tree"></iframe>'
    return HTML(f"<div>{inside}</div>")  # which IPython does not take for a frame of an address
