"""Twins of a balancer of one's own: the user's functions as they were written, in the interpreter.

They are shown the arrays that `views.py` describes, made up anew from the twin's objects for each question. So what is compared is what the
engine shows them and when it asks, and whether they mean the same compiled.
"""

from __future__ import annotations

import numpy as np

from ofancore.balancers.definitions import in_python
from ofancore.balancers.views import HostView, SwitchView
from ofancore.reference.senders import SenderTwin
from ofancore.reference.switches import Hashing, iwrr
from ofancore.reference.words import MASK64, Random


class Borrowed:
    """A random stream, as an array that a function may advance."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.array = np.zeros(1, np.uint64)

    def __enter__(self) -> np.ndarray:
        self.array[0] = self.rng.state
        return self.array

    def __exit__(self, *error):
        self.rng.state = int(self.array[0]) & MASK64


def read_only(values, kind) -> np.ndarray:
    array = np.array(values, kind)
    array.flags.writeable = False
    return array


class OwnSwitch(Hashing):
    """Asks `choose_uplink`, or hashes where there is none."""

    def load(self, registers):
        self.kept = np.array(registers, np.int32)

    def registers(self):
        return self.kept.tolist()

    def at(self, number: int, links: list) -> None:
        """What functions may see of the place: the number of the switch, and its uplinks."""
        self.number, self.links = number, links

    def choose(self, ask):
        function = in_python(self.parameters["own"], "choose_uplink")
        if function is None:
            return super().choose(ask)
        rows = [] if ask.weights is None else iwrr(ask.weights, range(self.width))
        with Borrowed(self.rng) as rng:
            sw = SwitchView(
                reg=self.kept,
                free=read_only([link.free for link in self.links], np.int64),
                par=read_only(self.parameters["constants"][: self.parameters["given"]], np.int64),
                salt=np.int64(self.salt),
                sched=read_only([[0, len(rows)]], np.int64),
                slots=read_only(rows, np.int32),
                rng=rng,
            )
            sched = -1 if ask.weights is None else 0
            asked = (ask.group, ask.small, ask.port, ask.host, ask.label, ask.flow, ask.now)
            return int(function(sw, *map(np.int64, (self.number, self.width, sched, *asked))))


class OwnSender(SenderTwin):
    """Asks `next_label`, and tells `on_ack` and `on_loss`."""

    def load(self, registers):
        self.kept = np.array(registers, np.int64)

    def registers(self):
        return self.kept.tolist()

    def call(self, name, host, flow, *arguments):
        function = in_python(self.parameters["own"], name)
        if function is None:
            return 0
        words = self.parameters["own"].registers_per_flow
        with Borrowed(self.rngs[host]) as rng:
            par = read_only(self.parameters["constants"][: self.parameters["given"]], np.int64)
            hx = HostView(self.kept[words * flow : words * (flow + 1)], par, np.int64(self.known), rng)
            return int(function(hx, *map(np.int64, (host, *arguments))) or 0)

    def next_label(self, host, flow, small, seq, now):
        return self.call("next_label", host, flow, flow, seq, now)

    def on_ack(self, host, flow, label, ecn, now):
        self.call("on_ack", host, flow, label, ecn, now)

    def on_loss(self, host, flow, label, congested, silent, now):
        self.call("on_loss", host, flow, label, int(congested), int(silent), now)
