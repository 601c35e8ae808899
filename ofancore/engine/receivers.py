"""The receiver's side of a flow: what it counts, what it answers, and when."""

from __future__ import annotations

import numpy as np

from ofancore.balancers import next_label
from ofancore.bits import ACK, ASK_AT, FLOW_AT, KIND_AT, KIND_MASK, LABEL_AT, LABEL_MASK, NACK, SEQ_AT, SEQ_MASK
from ofancore.engine import layout as c
from ofancore.engine.flows import slot_of
from ofancore.jit import inner
from ofancore.recovery.base import ERASURE, GO_BACK_N, SACK, TRIM


@inner
def sack_base(seq, cum):
    """First packet of the set in an ACK of `seq`: all before `cum` have arrived anyway."""
    return max(cum, seq - (c.SACK_SPAN - 1))


@inner
def due(w, flow, word):
    """Whether the packet that has just arrived is to be answered now; it is counted."""
    rx = w.rx
    rx[flow, c.PENDING] += 1
    asked = word & 1 != 0 or (word >> ASK_AT) & 1 != 0
    return asked or rx[flow, c.PENDING] >= w.conf[c.ACK_EVERY] or rx[flow, c.GOT] == 1 or rx[flow, c.GOT] == w.packets[flow]


@inner
def count_arrival(w, flow, seq):
    """Count a data packet and how far it is behind."""
    rx = w.rx
    rx[flow, c.GOT] += 1
    if seq > rx[flow, c.SEQ_MAX]:
        rx[flow, c.SEQ_MAX] = seq
    else:
        rx[flow, c.LATE] += 1
        if rx[flow, c.SEQ_MAX] - seq > rx[flow, c.LATE_MAX]:
            rx[flow, c.LATE_MAX] = rx[flow, c.SEQ_MAX] - seq


@inner(forceinline=False)
def arrived_set(w, flow, seq, cum):
    """What an ACK of `seq` tells of the packets around it."""
    base = sack_base(seq, cum)
    arrived = np.int64(0)
    for i in range(min(c.SACK_SPAN, cum + w.slots[flow, 1] + 1 - base)):
        arrived |= (w.got[slot_of(w, flow, base + i)] & 1) << i
    return arrived


@inner
def take_data(w, h, now, word):
    """A data packet: count it and return the answer to queue, or -1. A message that is whole now has COMPLETE == now."""
    rx, recovery = w.rx, w.conf[c.RECOVERY]
    flow = word >> FLOW_AT
    seq = (word >> SEQ_AT) & SEQ_MASK
    new = True
    answer = word | (ACK << KIND_AT)
    if recovery == GO_BACK_N:
        new = seq == rx[flow, c.CUM]
        if new:
            rx[flow, c.CUM] += 1
        elif seq < rx[flow, c.CUM]:
            rx[flow, c.DUPLICATES] += 1
        else:
            rx[flow, c.REFUSED] += 1
            if rx[flow, c.NACKED] == rx[flow, c.CUM]:
                return -1
            rx[flow, c.NACKED] = rx[flow, c.CUM]
            answer = (word & ~(SEQ_MASK << SEQ_AT)) | (rx[flow, c.CUM] << SEQ_AT) | (NACK << KIND_AT)
    elif recovery != ERASURE:
        new = seq >= rx[flow, c.CUM] and w.got[slot_of(w, flow, seq)] & 1 == 0
        if new:
            w.got[slot_of(w, flow, seq)] = 1
            cum = rx[flow, c.CUM]
            while w.got[slot_of(w, flow, cum)] & 1 != 0:
                w.got[slot_of(w, flow, cum)] &= ~1
                cum += 1
            rx[flow, c.CUM] = cum
        else:
            rx[flow, c.DUPLICATES] += 1
    if new:
        count_arrival(w, flow, seq)
        if rx[flow, c.GOT] == w.packets[flow]:
            rx[flow, c.COMPLETE] = now
        if w.conf[c.ACK_EVERY] > 1 and not due(w, flow, word):
            return -1
    if (answer >> KIND_AT) & KIND_MASK == ACK:
        rx[flow, c.PENDING] = 0
    if recovery == SACK or recovery == TRIM:
        first = w.slots[flow, 0]
        at = first + (seq & w.slots[flow, 1])
        if first >= 0 and w.got[at] >> 1 == 0:  # a copy is answered as the first one was; the flow may be done and its window gone
            w.got[at] |= (rx[flow, c.CUM] + 1) << 1
            if w.conf[c.ACK_EVERY] > 1:
                w.sacked[at] = arrived_set(w, flow, seq, rx[flow, c.CUM])
    return answer


@inner
def answer_label(w, h, now, answer):
    """The answer with the label that it travels by: an echo, or the receiver's own path."""
    if w.conf[c.PATH_ACKS] == 0:
        return answer
    flow = answer >> FLOW_AT
    seq = (answer >> SEQ_AT) & SEQ_MASK
    label = next_label(w.conf[c.HOST_CODE], w.hx, w.hx.index[2 * flow + 1], h, flow, seq, now)
    return (answer & ~(LABEL_MASK << LABEL_AT)) | (label << LABEL_AT)
