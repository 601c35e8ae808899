"""A host in one window: it reads its one input stream and sends one packet at a time.

At one instant loss notices come first, then arrivals, then flows that start by time, then sends. The NIC sends ACKs before data,
and data of the open flows in turn.
"""

from __future__ import annotations

from ofancore.balancers import next_label, on_ack, on_loss
from ofancore.bits import ACK, DATA, FLOW_AT, KIND_AT, KIND_MASK, LABEL_AT, LABEL_MASK, SEQ_AT, SEQ_MASK
from ofancore.engine import layout as c
from ofancore.engine.streams import append, ring_at
from ofancore.jit import inner


@inner
def enter_ring(w, h, flow):
    """Put a flow at the end of the round of open flows."""
    current = w.host[h, c.CURRENT]
    if current < 0:
        w.tx[flow, c.NEXT] = flow
    else:
        w.tx[flow, c.NEXT] = w.tx[current, c.NEXT]
        w.tx[current, c.NEXT] = flow
    w.host[h, c.CURRENT] = flow
    w.host[h, c.OPEN] += 1
    w.tx[flow, c.IN_RING] = 1


@inner
def start_flow(w, h, flow):
    """A flow may start: open it, or let it wait if the host has as many open flows as it may."""
    if w.host[h, c.OPEN] < w.conf[c.OPEN_LIMIT]:
        enter_ring(w, h, flow)
        return
    last = w.host[h, c.READY_LAST]
    if last < 0:
        w.host[h, c.READY_FIRST] = flow
    else:
        w.tx[last, c.NEXT] = flow
    w.host[h, c.READY_LAST] = flow
    w.tx[flow, c.NEXT] = -1


@inner
def leave_ring(w, h, flow):
    """Take out the flow that follows CURRENT, and open the next one that waits."""
    current = w.host[h, c.CURRENT]
    if current == flow:
        w.host[h, c.CURRENT] = -1
    else:
        w.tx[current, c.NEXT] = w.tx[flow, c.NEXT]
    w.tx[flow, c.IN_RING] = 0
    w.host[h, c.OPEN] -= 1
    ready = w.host[h, c.READY_FIRST]
    if ready >= 0 and w.host[h, c.OPEN] < w.conf[c.OPEN_LIMIT]:
        w.host[h, c.READY_FIRST] = w.tx[ready, c.NEXT]
        if w.tx[ready, c.NEXT] < 0:
            w.host[h, c.READY_LAST] = -1
        enter_ring(w, h, ready)


@inner
def queue_ack(w, block, h, word):
    """Put an ACK at the end of the host's ACK queue."""
    last = w.host[h, c.ACK_LAST]
    if last - w.host[h, c.ACK_FIRST] == c.ACK_QUEUE:
        w.stats[block, c.FAULT] = c.FAULT_ACKS
        return
    w.acks[h, last & (c.ACK_QUEUE - 1)] = word
    w.host[h, c.ACK_LAST] = last + 1


@inner
def count_ack(w, block, h, now, flow):
    """One packet more is known to have arrived; with the last one the flow is done (when the slot of its ACK on the link ends)."""
    w.tx[flow, c.ACKED] += 1
    if w.tx[flow, c.ACKED] == w.packets[flow]:
        w.tx[flow, c.DONE] = now + w.link[h, c.GAP]
        w.stats[block, c.FINISHED] += 1


@inner
def hear_loss(w, block, h, now, word):
    """The erasure oracle's notice: lost data is replaced by one more coded packet, what a lost ACK would have told is known now."""
    flow = word >> FLOW_AT
    if (word >> KIND_AT) & KIND_MASK == ACK:
        count_ack(w, block, h, now, flow)
        return
    label = (word >> LABEL_AT) & LABEL_MASK
    on_loss(w.conf[c.HOST_CODE], w.hx, w.hx.index[(2 * flow) % w.hx.index.shape[0]], h, label, word & 1, now)
    w.tx[flow, c.TO_SEND] += 1
    w.stats[block, c.REPLACED] += 1
    if w.tx[flow, c.IN_RING] == 0:
        enter_ring(w, h, flow)


@inner
def receive_data(w, block, h, now, word):
    """Count a data packet, start the flows that waited for its message, and queue its ACK."""
    flow = word >> FLOW_AT
    seq = (word >> SEQ_AT) & SEQ_MASK
    rx = w.rx
    rx[flow, c.GOT] += 1
    if seq > rx[flow, c.SEQ_MAX]:
        rx[flow, c.SEQ_MAX] = seq
    else:
        rx[flow, c.LATE] += 1
        if rx[flow, c.SEQ_MAX] - seq > rx[flow, c.LATE_MAX]:
            rx[flow, c.LATE_MAX] = rx[flow, c.SEQ_MAX] - seq
    if rx[flow, c.GOT] == w.packets[flow]:
        rx[flow, c.COMPLETE] = now
        for i in range(w.dep_first[flow], w.dep_first[flow + 1]):
            other = w.deps[i]
            w.tx[other, c.WAITS] -= 1
            if w.tx[other, c.WAITS] == 0:
                start_flow(w, h, other)
    ack = word | (ACK << KIND_AT)
    if w.conf[c.PATH_ACKS] != 0:
        label = next_label(w.conf[c.HOST_CODE], w.hx, w.hx.index[2 * flow + 1], h, flow, seq, now)
        ack = (ack & ~(LABEL_MASK << LABEL_AT)) | (label << LABEL_AT)
    queue_ack(w, block, h, ack)


@inner
def receive_ack(w, block, h, now, word):
    """Tell the balancer, and count the ACK."""
    flow = word >> FLOW_AT
    on_ack(w.conf[c.HOST_CODE], w.hx, w.hx.index[(2 * flow) % w.hx.index.shape[0]], h, (word >> LABEL_AT) & LABEL_MASK, word & 1, now)
    count_ack(w, block, h, now, flow)


@inner
def send_data(w, h, now):
    """The word of the next data packet: one of the open flow that follows CURRENT."""
    flow = w.tx[w.host[h, c.CURRENT], c.NEXT]
    seq = w.tx[flow, c.SEQ]
    if seq == 0:
        w.tx[flow, c.STARTED] = now
    label = next_label(w.conf[c.HOST_CODE], w.hx, w.hx.index[(2 * flow) % w.hx.index.shape[0]], h, flow, seq, now)
    w.tx[flow, c.SEQ] = seq + 1
    w.tx[flow, c.TO_SEND] -= 1
    if w.tx[flow, c.TO_SEND] == 0:
        leave_ring(w, h, flow)
    else:
        w.host[h, c.CURRENT] = flow
    return (flow << FLOW_AT) | ((seq & SEQ_MASK) << SEQ_AT) | (label << LABEL_AT)


@inner
def next_send(w, h, now):
    """Time of the host's next send if nothing else happens, or FOREVER."""
    if w.host[h, c.ACK_FIRST] < w.host[h, c.ACK_LAST]:
        return max(w.host[h, c.NIC_FREE], now)
    if w.host[h, c.CURRENT] >= 0:
        return max(w.host[h, c.NIC_FREE], w.host[h, c.PACE_NEXT], now)
    return c.FOREVER


@inner(forceinline=False)
def serve_host(w, block, h, pace, begin, end):
    """All that a host does in [begin, end); `pace` is the least time between the starts of two data packets."""
    inbox = w.in_first[h]
    head, tail = w.inbox[inbox, c.HEAD], w.inbox[inbox, c.SEEN]
    place = w.inbox[inbox, c.HOME]
    now = begin
    handled = 0
    while True:
        sends = next_send(w, h, now)
        time = min(sends, end)
        what = 0
        if w.host[h, c.START_NEXT] < w.host[h, c.START_END]:
            starts = w.start[w.host[h, c.START_NEXT], 0]
            if starts <= time:
                time, what = starts, 1
        if head < tail:
            arrives = w.ring[ring_at(place, head)]
            if arrives <= time:
                time, what = arrives, 2
        note = w.host[h, c.NOTE_FIRST]
        if note >= 0 and w.note[note, c.NOTE_TIME] <= time:
            time, what = w.note[note, c.NOTE_TIME], 3
        if time >= end:
            break
        now = time
        handled += 1
        if what == 0:
            if w.host[h, c.ACK_FIRST] < w.host[h, c.ACK_LAST]:
                kind = ACK
                word = w.acks[h, w.host[h, c.ACK_FIRST] & (c.ACK_QUEUE - 1)]
                w.host[h, c.ACK_FIRST] += 1
            else:
                kind = DATA
                word = send_data(w, h, now)
                w.host[h, c.PACE_NEXT] = now + pace
            size = w.link[h, c.SIZE + kind]
            w.host[h, c.NIC_FREE] = now + size + w.link[h, c.GAP]
            w.link[h, c.FREE] = w.host[h, c.NIC_FREE]
            w.link[h, c.COUNT + kind] += 1
            w.stats[block, c.SENT_DATA + kind] += 1
            append(w, block, h, now + size + w.link[h, c.DELAY], word)
        elif what == 1:
            start_flow(w, h, w.start[w.host[h, c.START_NEXT], 1])
            w.host[h, c.START_NEXT] += 1
        elif what == 2:
            word = w.ring[ring_at(place, head) + 1]
            head += 1
            kind = (word >> KIND_AT) & KIND_MASK
            w.stats[block, c.HOPS] += 1
            w.stats[block, c.DELIVERED_DATA + kind] += 1
            if kind == ACK:
                receive_ack(w, block, h, now, word)
            else:
                receive_data(w, block, h, now, word)
        else:
            w.host[h, c.NOTE_FIRST] = w.note[note, c.NOTE_LINK]
            if w.note[note, c.NOTE_LINK] < 0:
                w.host[h, c.NOTE_LAST] = -1
            w.freed[block, w.stats[block, c.FREED]] = note
            w.stats[block, c.FREED] += 1
            hear_loss(w, block, h, now, w.note[note, c.NOTE_WORD])
    w.inbox[inbox, c.HEAD] = head
    w.stats[block, c.HANDLED] += handled
