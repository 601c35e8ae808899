"""A host's flows: which wait, which sleep, which are open, and the round of those that can send now."""

from __future__ import annotations

from ofancore.bits import FLOW_AT, KIND_AT, NACK
from ofancore.congestion.base import CWND
from ofancore.engine import layout as c
from ofancore.engine.streams import notify
from ofancore.jit import inner
from ofancore.recovery.base import ERASURE


@inner
def slot_of(w, flow, seq):
    """The slot of a sequence number."""
    return w.slots[flow, 0] + (seq & w.slots[flow, 1])


@inner
def state_of(w, flow, seq):
    """What the sender knows of a packet."""
    return w.slot[slot_of(w, flow, seq), c.INFO] & c.STATE_MASK


@inner
def join_round(w, h, flow):
    """Put a flow at the end of the round."""
    tx = w.tx
    last = w.host[h, c.CURRENT]
    if last < 0:
        tx[flow, c.NEXT] = flow
        tx[flow, c.PREV] = flow
    else:
        front = tx[last, c.NEXT]
        tx[flow, c.NEXT] = front
        tx[flow, c.PREV] = last
        tx[last, c.NEXT] = flow
        tx[front, c.PREV] = flow
    w.host[h, c.CURRENT] = flow
    tx[flow, c.IN_RING] = 1


@inner
def leave_round(w, h, flow):
    """Take a flow out of the round."""
    tx = w.tx
    before, behind = tx[flow, c.PREV], tx[flow, c.NEXT]
    if behind == flow:
        w.host[h, c.CURRENT] = -1
    else:
        tx[before, c.NEXT] = behind
        tx[behind, c.PREV] = before
        if w.host[h, c.CURRENT] == flow:
            w.host[h, c.CURRENT] = before
    tx[flow, c.IN_RING] = 0


@inner
def has_room(w, flow):
    """Whether a flow has a packet to send and its windows let it."""
    tx = w.tx
    windowed = w.conf[c.WINDOWED] != 0
    if windowed and tx[flow, c.FLYING] + 1 > w.cs.cc[flow, CWND]:
        return False
    recovery = w.conf[c.RECOVERY]
    if recovery == ERASURE:
        return tx[flow, c.TO_SEND] > 0 and (not windowed or tx[flow, c.SEQ] == 0 or state_of(w, flow, tx[flow, c.SEQ]) == c.FREE_SLOT)
    if tx[flow, c.LOST_PACKETS] > 0:
        return True
    return tx[flow, c.NEW] < w.packets[flow] and tx[flow, c.NEW] - tx[flow, c.UNA] <= w.slots[flow, 1]


@inner
def can_send(w, flow):
    """Whether a flow may send a packet, but for the NIC and the host's pace."""
    tx = w.tx
    if tx[flow, c.OPENED] == 0 or tx[flow, c.ASLEEP] != 0 or tx[flow, c.DONE] >= 0:
        return False
    return has_room(w, flow)


@inner
def consider(w, h, flow):
    """Let a flow join the round if it can send now, and leave it if it cannot."""
    can = can_send(w, flow)
    if can and w.tx[flow, c.IN_RING] == 0:
        join_round(w, h, flow)
    elif not can and w.tx[flow, c.IN_RING] != 0:
        leave_round(w, h, flow)


@inner
def open_flow(w, h, flow):
    """A flow may send from now on."""
    w.host[h, c.OPEN] += 1
    w.tx[flow, c.OPENED] = 1
    join_round(w, h, flow)


@inner
def start_message(w, h, flow):
    """Open a flow, or let it wait if the host has as many open flows as it may."""
    if w.host[h, c.OPEN] < w.conf[c.OPEN_LIMIT]:
        open_flow(w, h, flow)
        return
    last = w.host[h, c.READY_LAST]
    if last < 0:
        w.host[h, c.READY_FIRST] = flow
    else:
        w.tx[last, c.NEXT] = flow
    w.host[h, c.READY_LAST] = flow
    w.tx[flow, c.NEXT] = -1


@inner
def all_sent(w, h):
    """Every packet of an open flow was sent once: the next one that waits is opened."""
    w.host[h, c.OPEN] -= 1
    ready = w.host[h, c.READY_FIRST]
    if ready >= 0:
        w.host[h, c.READY_FIRST] = w.tx[ready, c.NEXT]
        if w.tx[ready, c.NEXT] < 0:
            w.host[h, c.READY_LAST] = -1
        open_flow(w, h, ready)


@inner
def sleep_until(w, h, flow, time):
    """Let a flow be woken at a time, behind those that wake then."""
    w.tx[flow, c.WAKE_AT] = time
    before, behind = -1, w.host[h, c.SLEEP_FIRST]
    while behind >= 0 and w.tx[behind, c.WAKE_AT] <= time:
        before, behind = behind, w.tx[behind, c.SLEEP_NEXT]
    w.tx[flow, c.SLEEP_NEXT] = behind
    if before < 0:
        w.host[h, c.SLEEP_FIRST] = flow
    else:
        w.tx[before, c.SLEEP_NEXT] = flow


@inner
def one_less(w, h, now, flow):
    """One less to wait for: with the last the flow starts, after its delay. Computations always start by waking."""
    w.tx[flow, c.WAITS] -= 1
    if w.tx[flow, c.WAITS] == 0:
        if w.tx[flow, c.HOLD] == 0 and w.packets[flow] > 0:
            start_message(w, h, flow)
        else:
            sleep_until(w, h, flow, now + w.tx[flow, c.HOLD])


@inner(forceinline=False)
def release(w, block, h, now, flow, what):
    """A flow has arrived whole, or is acknowledged, at this host: tell those that waited for that."""
    for i in range(w.dep_first[2 * flow + what], w.dep_first[2 * flow + what + 1]):
        if w.dep_delay[i] == 0:
            one_less(w, h, now, w.deps[i])
        else:
            notify(w, block, h, now + w.dep_delay[i], (w.deps[i] << FLOW_AT) | (NACK << KIND_AT))


@inner
def start_flow(w, block, h, now, flow):
    """A flow's time has come; a computation is over at once, since its duration is the delay of its start."""
    if w.packets[flow] > 0:
        start_message(w, h, flow)
        return
    w.tx[flow, c.STARTED] = now
    w.tx[flow, c.DONE] = now
    w.rx[flow, c.COMPLETE] = now
    w.stats[block, c.FINISHED] += 1
    release(w, block, h, now, flow, c.ARRIVED_WHOLE)
    release(w, block, h, now, flow, c.ALL_ACKED)


@inner
def wake(w, block, h, now):
    """Wake the first of the host's sleeping flows."""
    flow = w.host[h, c.SLEEP_FIRST]
    w.host[h, c.SLEEP_FIRST] = w.tx[flow, c.SLEEP_NEXT]
    if w.tx[flow, c.OPENED] != 0:
        w.tx[flow, c.ASLEEP] = 0
        consider(w, h, flow)
    else:
        start_flow(w, block, h, now, flow)
