"""Twins of a balancer of one's own: the user's functions as they were written, in the interpreter.

They are shown the arrays that `base.py` describes, made up anew from the twin's objects for each question. So what is compared is what the
engine shows them and when it asks, and whether they mean the same compiled.
"""

from __future__ import annotations

import numpy as np

from ofancore.balancers.base import N_ORDERS, HostState, SwitchState
from ofancore.balancers.definitions import in_python
from ofancore.reference.senders import SenderTwin
from ofancore.reference.switches import Hashing, iwrr
from ofancore.reference.words import MASK64, Random

NONE = np.zeros(0, np.int32)


class Borrowed:
    """A random stream, by node, as an array that a function may advance."""

    def __init__(self, node: int, rng: Random):
        self.node, self.rng = node, rng
        self.array = np.zeros(node + 1, np.uint64)

    def __enter__(self) -> np.ndarray:
        self.array[self.node] = self.rng.state
        return self.array

    def __exit__(self, *error):
        self.rng.state = int(self.array[self.node]) & MASK64


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
        up, width, node = self.links[0].number, self.width, self.number
        link = np.zeros((up + width, 1), np.int64)
        link[up:, 0] = [x.free for x in self.links]
        orders = np.zeros((2 * N_ORDERS, max(map(len, self.orders.values()))), np.int32)
        for i, order in self.orders.items():
            orders[i, : len(order)] = order
        rows = [] if ask.weights is None else [iwrr(ask.weights, order) for order in (range(width), *self.orders.values())]
        with Borrowed(node, self.rng) as rng:
            sw = SwitchState(
                reg=self.kept,
                first=np.zeros(node + 1, np.int64),
                orders=orders,
                sched=np.array([[0, len(rows[0])]] if rows else [[0, 0]], np.int64),
                slots=np.array([port for row in rows for port in row], np.int32),
                link=link,
                rng=rng,
                salt=np.full(node + 1, self.salt, np.int64),
                par=self.parameters["constants"],
                code=np.zeros(node + 1, np.int64),
            )
            sched = -1 if ask.weights is None else 0
            return int(function(sw, node, up, width, sched, ask.group, ask.small, ask.port, ask.host, ask.label, ask.flow, ask.now))


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
        at = self.index[2 * flow] if len(self.index) > 1 else self.index[0]
        with Borrowed(host, self.rngs[host]) as rng:
            known = np.array([int(self.known)], np.int64)
            none = np.zeros((1, 2), np.int64)
            hx = HostState(self.kept, np.array(self.index, np.int64), rng, self.parameters["constants"], known, none, NONE)
            return int(function(hx, at, host, *arguments) or 0)

    def next_label(self, host, flow, small, seq, now):
        return self.call("next_label", host, flow, flow, seq, now)

    def on_ack(self, host, flow, label, ecn, now):
        self.call("on_ack", host, flow, label, ecn, now)

    def on_loss(self, host, flow, label, congested, silent, now):
        self.call("on_loss", host, flow, label, int(congested), int(silent), now)
