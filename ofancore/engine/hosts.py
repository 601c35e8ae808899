"""A host in one window: it reads its one input stream and sends one packet at a time.

At one instant notices come first, then arrivals, flows that start by time, flows that wake, the look for timeouts, then sends. The NIC
sends ACKs and NACKs before data, and data of the flows that can send in turn.
"""

from __future__ import annotations

from ofancore.bits import ACK, DATA, FLOW_AT, KIND_AT, KIND_MASK, NACK
from ofancore.congestion.dcqcn import gap_dcqcn
from ofancore.engine import layout as c
from ofancore.engine.flows import all_sent, can_send, consider, leave_round, one_less, release, sleep_until, start_flow, wake
from ofancore.engine.receivers import answer_label, take_data
from ofancore.engine.streams import append, ring_at
from ofancore.engine.transport import hear_ack, hear_nack, hear_notice, sent_once, take_word, time_out
from ofancore.jit import inner
from ofancore.recovery.base import ERASURE

SEND, CHECK, WAKE, START, ARRIVAL, NOTICE, NACKED, COMPLETE = range(8)


@inner
def queue_answer(w, block, h, word):
    """Put an ACK or NACK at the end of the host's queue of them."""
    last = w.host[h, c.ACK_LAST]
    if last - w.host[h, c.ACK_FIRST] == c.ACK_QUEUE:
        w.stats[block, c.FAULT] = c.FAULT_ACKS
        return
    w.acks[h, last & (c.ACK_QUEUE - 1)] = word
    w.host[h, c.ACK_LAST] = last + 1


@inner
def send_data(w, block, h, now):
    """The word of the next data packet: one of the flow at the front of the round, which then goes to its end."""
    flow = w.tx[w.host[h, c.CURRENT], c.NEXT]
    word = take_word(w, block, h, now, flow)
    if w.conf[c.RECOVERY] != ERASURE and w.tx[flow, c.DEADLINE] == c.FOREVER:
        deadline = now + w.conf[c.RTO]
        w.tx[flow, c.DEADLINE] = deadline
        w.host[h, c.CHECK] = max(min(w.host[h, c.CHECK], deadline), w.host[h, c.LAST_CHECK] + w.conf[c.CHECK_STEP])
    if w.conf[c.PACED] != 0:
        w.tx[flow, c.ASLEEP] = 1
        sleep_until(w, h, flow, now + gap_dcqcn(w.cs, flow, now))
    if can_send(w, flow):
        w.host[h, c.CURRENT] = flow
    else:
        leave_round(w, h, flow)
    if sent_once(w, flow, word):
        all_sent(w, h)
    return word


@inner
def look_for_timeouts(w, h, now):
    """Time out the packets of all flows that are due, and decide when to look again."""
    w.host[h, c.LAST_CHECK] = now
    earliest = c.FOREVER
    for i in range(w.own_first[h], w.own_first[h + 1]):
        flow = w.own[i]
        if w.tx[flow, c.DEADLINE] <= now:
            time_out(w, h, now, flow)
            consider(w, h, flow)
        earliest = min(earliest, w.tx[flow, c.DEADLINE])
    w.host[h, c.CHECK] = earliest if earliest == c.FOREVER else max(earliest, now + w.conf[c.CHECK_STEP])


@inner(forceinline=False)
def seldom(w, block, h, now, what, word):
    """Events that few packets bring about, apart from the others to keep their code short."""
    flow = word >> FLOW_AT
    if what == START:
        start_flow(w, block, h, now, w.start[w.host[h, c.START_NEXT], 1])
        w.host[h, c.START_NEXT] += 1
    elif what == WAKE:
        wake(w, block, h, now)
    elif what == CHECK:
        look_for_timeouts(w, h, now)
    elif what == COMPLETE:
        release(w, block, h, now, flow, c.ARRIVED_WHOLE)
    elif what == NOTICE and (word >> KIND_AT) & KIND_MASK == NACK:
        one_less(w, h, now, flow)
    else:
        if what == NOTICE:
            hear_notice(w, block, h, now, word)
        else:
            hear_nack(w, block, h, now, word)
        consider(w, h, flow)


@inner
def next_send(w, h, now):
    """Time of the host's next send if nothing else happens, or FOREVER."""
    if w.host[h, c.ACK_FIRST] < w.host[h, c.ACK_LAST]:
        return max(w.host[h, c.NIC_FREE], now)
    if w.host[h, c.CURRENT] >= 0:
        return max(w.host[h, c.NIC_FREE], w.host[h, c.PACE_NEXT], now)
    return c.FOREVER


@inner
def wakes_at(w, h):
    """Time at which the host's first sleeping flow wakes, or FOREVER."""
    flow = w.host[h, c.SLEEP_FIRST]
    return w.tx[flow, c.WAKE_AT] if flow >= 0 else c.FOREVER


@inner
def next_event(w, h, begin, end):
    """(time, what) of the host's next event but for arrivals; (end, SEND) if there is none before `end`."""
    time, what = min(next_send(w, h, begin), end), SEND
    if w.host[h, c.CHECK] <= time:
        time, what = w.host[h, c.CHECK], CHECK
    wakes = wakes_at(w, h)
    if wakes <= time:
        time, what = wakes, WAKE
    if w.host[h, c.START_NEXT] < w.host[h, c.START_END]:
        starts = w.start[w.host[h, c.START_NEXT], 0]
        if starts <= time:
            time, what = starts, START
    return time, what


@inner(forceinline=False)
def serve_host(w, block, h, pace, begin, end):
    """All that a host does in [begin, end); `pace` is the least time between the starts of two data packets."""
    inbox = w.in_first[h]
    head, tail = w.inbox[inbox, c.HEAD], w.inbox[inbox, c.SEEN]
    place = w.inbox[inbox, c.HOME]
    closed = w.conf[c.CLOSED] != 0
    now = begin
    handled = 0
    while True:
        time, what = next_event(w, h, now, end)
        if head < tail:
            arrives = w.ring[ring_at(place, head)]
            if arrives <= time:
                time, what = arrives, ARRIVAL
        note = w.host[h, c.NOTE_FIRST]
        if note >= 0 and w.note[note, c.NOTE_TIME] <= time:
            time, what = w.note[note, c.NOTE_TIME], NOTICE
        if time >= end:
            break
        now = time
        handled += 1
        if what == SEND:
            if w.host[h, c.ACK_FIRST] < w.host[h, c.ACK_LAST]:
                small = 1
                word = w.acks[h, w.host[h, c.ACK_FIRST] & (c.ACK_QUEUE - 1)]
                w.host[h, c.ACK_FIRST] += 1
            else:
                small = 0
                word = send_data(w, block, h, now)
                w.host[h, c.PACE_NEXT] = now + pace
            size = w.link[h, c.SIZE + small]
            w.host[h, c.NIC_FREE] = now + size + w.link[h, c.GAP]
            w.link[h, c.FREE] = w.host[h, c.NIC_FREE]
            w.link[h, c.COUNT + small] += 1
            w.stats[block, c.SENT_DATA + small] += 1
            append(w, block, h, now + size + w.link[h, c.DELAY], word)
        elif what == ARRIVAL:
            word = w.ring[ring_at(place, head) + 1]
            head += 1
            kind = (word >> KIND_AT) & KIND_MASK
            w.stats[block, c.HOPS] += 1
            w.stats[block, c.DELIVERED_DATA + (kind != DATA)] += 1
            if kind == ACK:
                hear_ack(w, block, h, now, word)
                if closed:
                    consider(w, h, word >> FLOW_AT)
            elif kind == NACK:
                seldom(w, block, h, now, NACKED, word)
            else:
                answer = word | (ACK << KIND_AT)
                if kind == DATA:
                    answer = take_data(w, h, now, word)
                    if w.rx[word >> FLOW_AT, c.COMPLETE] == now:
                        seldom(w, block, h, now, COMPLETE, word)
                if answer >= 0:
                    queue_answer(w, block, h, answer_label(w, h, now, answer))
        elif what == NOTICE:
            w.host[h, c.NOTE_FIRST] = w.note[note, c.NOTE_LINK]
            if w.note[note, c.NOTE_LINK] < 0:
                w.host[h, c.NOTE_LAST] = -1
            w.freed[block, w.stats[block, c.FREED]] = note
            w.stats[block, c.FREED] += 1
            seldom(w, block, h, now, NOTICE, w.note[note, c.NOTE_WORD])
        else:
            seldom(w, block, h, now, what, 0)
    w.inbox[inbox, c.HEAD] = head
    w.stats[block, c.HANDLED] += handled
