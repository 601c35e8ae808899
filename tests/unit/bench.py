"""Benches for balancers: one switch, or one host, with hand-set registers.

Kernels are reached through the chains by which the engine reaches them.
"""

import numpy as np

from ofancore.balancers import BALANCERS, HostState, Shape, SwitchState, choose_uplink, next_label, on_ack, on_loss
from ofancore.balancers.base import N_CONSTANTS, N_ORDERS
from ofancore.engine import layout as c
from ofancore.fabric import Fabric
from ofancore.reference.switches import iwrr

DATA, ACK = 0, 1


class Bench:
    """One edge switch of width `width` with hand-set registers; `ask` sends it one packet."""

    def __init__(self, kind, width, registers=(), parameters=(), queues=(), seed=1):
        self.code = BALANCERS[kind].switch_code
        self.width = width
        par = np.zeros(N_CONSTANTS, np.int64)
        par[: len(parameters)] = parameters
        link = np.zeros((width, c.LINK_COLUMNS), np.int64)
        link[: len(queues), c.FREE] = queues
        orders = np.zeros((2 * N_ORDERS, width), np.int32)
        orders[:] = np.arange(width)
        self.sw = SwitchState(
            reg=np.array(list(registers) or [0], np.int32),
            first=np.zeros(1, np.int64),
            orders=orders,
            sched=np.zeros((1, 2), np.int64),
            slots=np.zeros(1, np.int32),
            link=link,
            rng=np.array([seed], np.uint64),
            salt=np.array([12345], np.int64),
            par=par,
            code=np.array([self.code], np.int64),
        )
        self.sched = -1

    def schedule(self, weights, orders):
        """Give the switch one weighted schedule, in the plain order and in the given random orders 0, 1, ..."""
        rows = [iwrr(dict(enumerate(weights)), order) for order in [range(self.width), *orders]]
        self.sw = self.sw._replace(
            sched=np.array([[0, len(rows[0])]], np.int64), slots=np.array([port for row in rows for port in row], np.int32)
        )
        self.sched = 0

    def ask(self, group=0, small=DATA, port=0, host=0, label=0, flow=0, now=0):
        return choose_uplink(self.code, self.sw, 0, 0, self.width, self.sched, group, small, port, host, label, flow, now)


class Sender:
    """Registers of one host's flows; `label` sends one data packet of flow 0."""

    def __init__(self, kind, registers, parameters=(), seed=1):
        self.code = BALANCERS[kind].host_code
        par = np.zeros(N_CONSTANTS, np.int64)
        par[: len(parameters)] = parameters
        none = np.zeros((1, 2), np.int64)
        self.hx = HostState(
            np.array(registers, np.int64), np.zeros(2, np.int64), np.array([seed], np.uint64), par, none[0, :1], none, np.zeros(1, np.int32)
        )

    def label(self, seq=0, now=0, at=0):
        return next_label(self.code, self.hx, at, 0, 0, seq, now)

    def ack(self, label, ecn=0, now=0):
        on_ack(self.code, self.hx, 0, 0, label, ecn, now)

    def loss(self, now=0, congested=0, label=0, silent=0):
        on_loss(self.code, self.hx, 0, 0, label, congested, silent, now)


def shape_of(radix, **kinds):
    fabric = Fabric.build(radix, **kinds)
    hosts = np.arange(fabric.n_hosts)
    return Shape(fabric, hosts, np.roll(hosts, 1), base_rtt_ticks=6_000_000, buffer_ticks=8_000_000)
