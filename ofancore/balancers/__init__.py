"""The registry of load balancers, and the two `if` chains by which the engine reaches their kernels.

To add one: write its file, name its class in BALANCERS, and add a branch below if it brings a new decision. An integer
code with a chain is what numba caches across processes; a function passed as an argument is not.
"""

from __future__ import annotations

from ofancore.balancers import base as b
from ofancore.balancers.base import Balancer, HostState, Shape, SwitchState
from ofancore.balancers.diffflow import DiffFlow, choose_by_length
from ofancore.balancers.drill import Drill, choose_by_drill
from ofancore.balancers.ecmp import Ecmp, choose_by_hash, label_of_flow
from ofancore.balancers.ethereal import Ethereal, label_part
from ofancore.balancers.flowlet import Flowlet, choose_by_flowlet
from ofancore.balancers.host_dr import HostDr, choose_by_path, label_path
from ofancore.balancers.host_rr import HostRr, label_in_turn
from ofancore.balancers.jsq import Jsq, choose_shortest
from ofancore.balancers.ofan import Ofan, choose_by_group
from ofancore.balancers.ops import Ops, label_fresh
from ofancore.balancers.own import Own, acked_own, choose_own, label_own, lost_own
from ofancore.balancers.partial import Partial
from ofancore.balancers.plb import Plb, label_plb, on_ack_plb
from ofancore.balancers.pofan import Pofan, choose_by_pipe
from ofancore.balancers.prime import Prime, label_prime, on_ack_prime, on_loss_prime
from ofancore.balancers.rails import Rails
from ofancore.balancers.reps import Reps, label_reps, on_ack_reps, on_loss_reps
from ofancore.balancers.rsq import Rsq, choose_random
from ofancore.balancers.spectrum_ar import SpectrumAr, choose_binned
from ofancore.balancers.strack import Strack, label_strack, on_ack_strack, on_loss_strack
from ofancore.balancers.subflow import Subflow, label_of_subflow
from ofancore.balancers.switch_dr import SwitchDr, choose_by_host
from ofancore.balancers.switch_rr import SwitchRr, choose_round_robin
from ofancore.balancers.uec_bitmap import UecBitmap, label_bitmap, on_ack_bitmap, on_loss_bitmap
from ofancore.balancers.uec_mixed import UecMixed, label_mixed, on_ack_mixed
from ofancore.balancers.whack_a_mole import WhackAMole, label_whack, on_ack_whack, on_loss_whack
from ofancore.jit import inner

BALANCERS: dict[str, type[Balancer]] = {
    "ecmp": Ecmp,
    "subflow": Subflow,
    "plb": Plb,
    "flowlet": Flowlet,
    "ethereal": Ethereal,
    "ops": Ops,
    "reps": Reps,
    "host_rr": HostRr,
    "strack": Strack,
    "uec_bitmap": UecBitmap,
    "uec_mixed": UecMixed,
    "whack_a_mole": WhackAMole,
    "prime": Prime,
    "rails": Rails,
    "switch_rr": SwitchRr,
    "spectrum_ar": SpectrumAr,
    "jsq": Jsq,
    "drill": Drill,
    "rsq": Rsq,
    "diffflow": DiffFlow,
    "host_dr": HostDr,
    "switch_dr": SwitchDr,
    "ofan": Ofan,
    "pofan": Pofan,
    "partial": Partial,
}

__all__ = ["BALANCERS", "Balancer", "HostState", "Own", "Shape", "SwitchState"]


@inner
def choose_uplink(code, sw, node, up, width, sched, group, small, port, host, label, flow, now):
    """Uplink 0..width-1 by the switch code of a balancer."""
    if code == b.BY_GROUP:
        return choose_by_group(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_HASH:
        return choose_by_hash(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_PATH:
        return choose_by_path(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_RSQ:
        return choose_random(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_RR:
        return choose_round_robin(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_JSQ:
        return choose_shortest(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_BINNED:
        return choose_binned(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_HOST:
        return choose_by_host(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_PIPE:
        return choose_by_pipe(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_FLOWLET:
        return choose_by_flowlet(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_DRILL:
        return choose_by_drill(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    if code == b.BY_OWN:
        return choose_own(sw, node, up, width, sched, group, small, port, host, label, flow, now)
    return choose_by_length(sw, node, up, width, sched, group, small, port, host, label, flow, now)


@inner
def next_label(code, hx, at, host, flow, seq, now):
    """Label 0..65535 of the next data packet by the host code of a balancer."""
    if code == b.FLOW_LABEL:
        return label_of_flow(hx, at, host, flow, seq, now)
    if code == b.FRESH_LABEL:
        return label_fresh(hx, at, host, flow, seq, now)
    if code == b.PATH_LABEL:
        return label_path(hx, at, host, flow, seq, now)
    if code == b.REPS_LABEL:
        return label_reps(hx, at, host, flow, seq, now)
    if code == b.PLB_LABEL:
        return label_plb(hx, at, host, flow, seq, now)
    if code == b.PART_LABEL:
        return label_part(hx, at, host, flow, seq, now)
    if code == b.TURN_LABEL:
        return label_in_turn(hx, at, host, flow, seq, now)
    if code == b.STRACK_LABEL:
        return label_strack(hx, at, host, flow, seq, now)
    if code == b.BITMAP_LABEL:
        return label_bitmap(hx, at, host, flow, seq, now)
    if code == b.MIXED_LABEL:
        return label_mixed(hx, at, host, flow, seq, now)
    if code == b.WHACK_LABEL:
        return label_whack(hx, at, host, flow, seq, now)
    if code == b.PRIME_LABEL:
        return label_prime(hx, at, host, flow, seq, now)
    if code == b.OWN_LABEL:
        return label_own(hx, at, host, flow, seq, now)
    return label_of_subflow(hx, at, host, flow, seq, now)


@inner
def on_ack(code, hx, at, host, label, ecn, now):
    """Tell the sender's balancer of an ACK."""
    if code == b.REPS_LABEL:
        on_ack_reps(hx, at, host, label, ecn, now)
    elif code == b.PLB_LABEL:
        on_ack_plb(hx, at, host, label, ecn, now)
    elif code == b.STRACK_LABEL:
        on_ack_strack(hx, at, host, label, ecn, now)
    elif code == b.BITMAP_LABEL:
        on_ack_bitmap(hx, at, host, label, ecn, now)
    elif code == b.MIXED_LABEL:
        on_ack_mixed(hx, at, host, label, ecn, now)
    elif code == b.WHACK_LABEL:
        on_ack_whack(hx, at, host, label, ecn, now)
    elif code == b.PRIME_LABEL:
        on_ack_prime(hx, at, host, label, ecn, now)
    elif code == b.OWN_LABEL:
        acked_own(hx, at, host, label, ecn, now)


@inner
def on_loss(code, hx, at, host, label, congested, silent, now):
    """Tell the sender's balancer of a lost data packet."""
    if code == b.REPS_LABEL:
        on_loss_reps(hx, at, host, label, congested, silent, now)
    elif code == b.STRACK_LABEL:
        on_loss_strack(hx, at, host, label, congested, silent, now)
    elif code == b.BITMAP_LABEL or code == b.MIXED_LABEL:
        on_loss_bitmap(hx, at, host, label, congested, silent, now)
    elif code == b.WHACK_LABEL:
        on_loss_whack(hx, at, host, label, congested, silent, now)
    elif code == b.PRIME_LABEL:
        on_loss_prime(hx, at, host, label, congested, silent, now)
    elif code == b.OWN_LABEL:
        lost_own(hx, at, host, label, congested, silent, now)
