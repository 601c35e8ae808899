"""What senders do about losses, by recovery (`recovery/`), and when they tell the balancer and the congestion control.

Nothing here knows of links or windows of time.
"""

from __future__ import annotations

import numpy as np

from ofancore.balancers import next_label, on_ack, on_loss
from ofancore.bits import ACK, ASK_AT, FLOW_AT, KIND_AT, LABEL_AT, LABEL_MASK, SEQ_AT, SEQ_MASK
from ofancore.congestion import base as cause
from ofancore.congestion import hear_acks, hear_losses
from ofancore.engine import layout as c
from ofancore.engine.flows import has_room, leave_round, release, slot_of, state_of
from ofancore.engine.receivers import sack_base
from ofancore.engine.windows import give_back, has_windows, take_window
from ofancore.jit import inner
from ofancore.recovery.base import ERASURE, GO_BACK_N, SACK, TRIM


@inner
def register(w, flow):
    """First host register of a flow's data."""
    return w.hx.index[2 * flow if w.hx.index.shape[0] > 1 else 0]


@inner
def tell_loss(w, h, flow, label, congested, silent, now):
    """Tell the balancer of a lost packet."""
    on_loss(w.conf[c.HOST_CODE], w.hx, register(w, flow), h, label, congested, silent, now)


@inner
def remember_rtt(w, flow, now, rtt):
    """Keep the longest round trip of this period and of the one before."""
    tx, period = w.tx, w.conf[c.RTO]
    passed = now - tx[flow, c.RTT_SINCE]
    if passed >= period:
        tx[flow, c.RTT_BEFORE] = tx[flow, c.RTT_MAX] if passed < 2 * period else 0
        tx[flow, c.RTT_SINCE] = tx[flow, c.RTT_SINCE] + period if passed < 2 * period else now
        tx[flow, c.RTT_MAX] = 0
    tx[flow, c.RTT_MAX] = max(tx[flow, c.RTT_MAX], rtt)


@inner
def is_congested(w, flow, now):
    """Whether congestion may explain a timeout: recent round trips were long. Where packets are trimmed, it cannot."""
    if w.conf[c.RECOVERY] == TRIM:
        return 0
    remember_rtt(w, flow, now, 0)
    return np.int64(max(w.tx[flow, c.RTT_MAX], w.tx[flow, c.RTT_BEFORE]) >= w.tx[flow, c.RTT_CONGESTED])


@inner
def label_of(w, flow, seq):
    """The label that a packet in the window was sent with last."""
    return (w.slot[slot_of(w, flow, seq), c.INFO] >> c.SLOT_LABEL_AT) & LABEL_MASK


@inner
def set_state(w, flow, seq, state):
    """Note what is known of a packet; its label stays."""
    at = slot_of(w, flow, seq)
    w.slot[at, c.INFO] = (w.slot[at, c.INFO] & ~c.STATE_MASK) | state


@inner
def lose_packet(w, h, flow, seq, congested, silent, now):
    """Take a packet for lost, to be sent again, and tell the balancer."""
    tx = w.tx
    set_state(w, flow, seq, c.TAKEN_FOR_LOST)
    tx[flow, c.FLYING] -= 1
    tx[flow, c.LOST_FROM] = seq if tx[flow, c.LOST_PACKETS] == 0 else min(seq, tx[flow, c.LOST_FROM])
    tx[flow, c.LOST_PACKETS] += 1
    tell_loss(w, h, flow, label_of(w, flow, seq), congested, silent, now)


@inner
def count_acked(w, block, h, now, flow, n):
    """So many packets more are known to have arrived; with the last one the flow is done (when the slot of its ACK on the link ends)."""
    w.tx[flow, c.ACKED] += n
    if n > 0 and w.tx[flow, c.ACKED] == w.packets[flow]:
        w.tx[flow, c.DONE] = now + w.link[h, c.GAP]
        w.tx[flow, c.DEADLINE] = c.FOREVER
        w.stats[block, c.FINISHED] += 1
        if has_windows(w):
            give_back(w, block, flow)
        if w.tx[flow, c.IN_RING] != 0:
            leave_round(w, h, flow)
        release(w, block, h, now, flow, c.ALL_ACKED)


@inner
def acknowledge(w, flow, seq):
    """Mark a packet as arrived; 1 if that was news."""
    state = state_of(w, flow, seq)
    if state == c.ON_WAY or state == c.ON_WAY_AGAIN:
        w.tx[flow, c.FLYING] -= 1
    elif state == c.TAKEN_FOR_LOST:
        w.tx[flow, c.LOST_PACKETS] -= 1
    else:
        return 0
    set_state(w, flow, seq, c.ARRIVED)
    return 1


@inner(forceinline=False)
def acknowledge_set(w, flow, base, arrived):
    """Mark the packets of a set as arrived; how many of them were news."""
    n = 0
    for i in range(c.SACK_SPAN):
        s = base + i
        if (arrived >> i) & 1 != 0 and w.tx[flow, c.UNA] <= s < w.tx[flow, c.NEW] and acknowledge(w, flow, s) != 0:
            n += 1
            w.tx[flow, c.HIGH] = max(w.tx[flow, c.HIGH], s)
    return n


@inner
def hear_ack(w, block, h, now, word):
    """An ACK: tell the balancer, find out what it acknowledges and what it shows to be lost, tell the control."""
    tx, conf = w.tx, w.conf
    flow = word >> FLOW_AT
    seq = (word >> SEQ_AT) & SEQ_MASK
    ecn = word & 1
    on_ack(conf[c.HOST_CODE], w.hx, register(w, flow), h, (word >> LABEL_AT) & LABEL_MASK, ecn, now)
    n, rtt = 1, -1
    lost = 0
    if conf[c.RECOVERY] == ERASURE:
        if conf[c.WINDOWED] != 0:
            tx[flow, c.FLYING] -= 1
            rtt = now - w.slot[slot_of(w, flow, seq), c.SENT_AT]
            w.slot[slot_of(w, flow, seq), c.INFO] = c.FREE_SLOT
    elif seq < tx[flow, c.UNA]:
        n = 0
    elif conf[c.RECOVERY] == GO_BACK_N:
        n = seq + 1 - tx[flow, c.UNA]
        if state_of(w, flow, seq) == c.ON_WAY:
            rtt = now - w.slot[slot_of(w, flow, seq), c.SENT_AT]
        tx[flow, c.UNA] = seq + 1
        tx[flow, c.NEW] = max(tx[flow, c.NEW], seq + 1)
        tx[flow, c.FLYING] = tx[flow, c.NEW] - tx[flow, c.UNA]
    else:
        state = state_of(w, flow, seq)
        if state == c.ON_WAY or (state == c.ON_WAY_AGAIN and conf[c.RECOVERY] == TRIM):  # what was trimmed before cannot be answered
            rtt = now - w.slot[slot_of(w, flow, seq), c.SENT_AT]
        n = acknowledge(w, flow, seq)
        cum = (w.got[slot_of(w, flow, seq)] >> 1) - 1
        for s in range(tx[flow, c.UNA], cum):
            n += acknowledge(w, flow, s)
        if conf[c.ACK_EVERY] > 1:
            n += acknowledge_set(w, flow, sack_base(seq, cum), w.sacked[slot_of(w, flow, seq)])
        una = tx[flow, c.UNA]
        while una < tx[flow, c.NEW] and state_of(w, flow, una) == c.ARRIVED:
            una += 1
        tx[flow, c.UNA] = una
        tx[flow, c.HIGH] = max(tx[flow, c.HIGH], seq)
        if conf[c.RECOVERY] == SACK:
            scan = max(tx[flow, c.SCAN], una)
            while scan <= tx[flow, c.HIGH] - conf[c.REORDER]:
                if state_of(w, flow, scan) == c.ON_WAY:
                    lose_packet(w, h, flow, scan, 1, 0, now)
                    lost += 1
                scan += 1
            tx[flow, c.SCAN] = scan
    if rtt >= 0 and conf[c.RECOVERY] != ERASURE:
        remember_rtt(w, flow, now, rtt)
    if n > 0 and conf[c.CLOSED] != 0:
        hear_acks(conf[c.CONGESTION], w.cs, flow, now, rtt, ecn, n, tx[flow, c.FLYING])
    if lost > 0:
        hear_losses(conf[c.CONGESTION], w.cs, flow, now, lost, cause.REORDER, tx[flow, c.FLYING])
    count_acked(w, block, h, now, flow, n)


@inner
def hear_nack(w, block, h, now, word):
    """A NACK: a trimmed packet, or in go-back-N the first one that is missing."""
    tx, conf = w.tx, w.conf
    flow = word >> FLOW_AT
    seq = (word >> SEQ_AT) & SEQ_MASK
    if seq < tx[flow, c.UNA]:
        return
    n = 0
    lost = False
    if conf[c.RECOVERY] == GO_BACK_N:
        n = seq - tx[flow, c.UNA]
        tx[flow, c.UNA] = seq
        lost = tx[flow, c.NEW] > seq
        flying = max(tx[flow, c.NEW] - seq, 0)
        tx[flow, c.NEW] = seq
        tx[flow, c.FLYING] = 0
        if n > 0:
            hear_acks(conf[c.CONGESTION], w.cs, flow, now, -1, word & 1, n, flying)
        if lost:
            tell_loss(w, h, flow, label_of(w, flow, seq), 1, 0, now)
    else:
        state = state_of(w, flow, seq)
        lost = state == c.ON_WAY or state == c.ON_WAY_AGAIN
        if lost:
            lose_packet(w, h, flow, seq, 1, 0, now)
    if lost:
        hear_losses(conf[c.CONGESTION], w.cs, flow, now, 1, cause.NACK, tx[flow, c.FLYING])
    count_acked(w, block, h, now, flow, n)


@inner
def hear_notice(w, block, h, now, word):
    """The erasure oracle's notice: lost data is replaced by one more coded packet, what a lost ACK would have told is known now."""
    flow = word >> FLOW_AT
    seq = (word >> SEQ_AT) & SEQ_MASK
    if w.conf[c.WINDOWED] != 0:
        w.tx[flow, c.FLYING] -= 1
        w.slot[slot_of(w, flow, seq), c.INFO] = c.FREE_SLOT
    if (word >> KIND_AT) & 1 == ACK:
        if w.conf[c.CLOSED] != 0:
            hear_acks(w.conf[c.CONGESTION], w.cs, flow, now, -1, word & 1, 1, w.tx[flow, c.FLYING])
        count_acked(w, block, h, now, flow, 1)
        return
    congested = word & 1
    tell_loss(w, h, flow, (word >> LABEL_AT) & LABEL_MASK, congested, 1 - congested, now)
    w.tx[flow, c.TO_SEND] += 1
    w.stats[block, c.REPLACED] += 1
    if w.conf[c.CLOSED] != 0:
        hear_losses(w.conf[c.CONGESTION], w.cs, flow, now, 1, cause.NACK, w.tx[flow, c.FLYING])


@inner
def time_out(w, h, now, flow):
    """Take for lost what was sent a timeout ago; DEADLINE becomes that of the oldest packet left."""
    tx, rto = w.tx, w.conf[c.RTO]
    lost = 0
    earliest = c.FOREVER
    if w.conf[c.RECOVERY] == GO_BACK_N:
        una = tx[flow, c.UNA]
        if una < tx[flow, c.NEW]:
            earliest = w.slot[slot_of(w, flow, una), c.SENT_AT] + rto
            if earliest <= now:
                earliest = c.FOREVER
                tx[flow, c.NEW] = una
                tx[flow, c.FLYING] = 0
                lost = 1
                tell_loss(w, h, flow, label_of(w, flow, una), is_congested(w, flow, now), 1, now)
    else:
        for seq in range(tx[flow, c.UNA], tx[flow, c.NEW]):
            state = state_of(w, flow, seq)
            if state == c.ON_WAY or state == c.ON_WAY_AGAIN:
                ends = w.slot[slot_of(w, flow, seq), c.SENT_AT] + rto
                if ends > now:
                    earliest = min(earliest, ends)
                else:
                    lose_packet(w, h, flow, seq, is_congested(w, flow, now), 1, now)
                    lost += 1
    tx[flow, c.DEADLINE] = earliest
    if lost > 0:
        tx[flow, c.TIMEOUTS] += 1
        hear_losses(w.conf[c.CONGESTION], w.cs, flow, now, lost, cause.TIMEOUT, tx[flow, c.FLYING])


@inner
def take_word(w, block, h, now, flow):
    """The next data packet of a flow that can send, as a word; the flow's books are kept."""
    tx, recovery = w.tx, w.conf[c.RECOVERY]
    seq = tx[flow, c.SEQ]
    state = c.ON_WAY
    if tx[flow, c.SEQ] == 0:
        tx[flow, c.STARTED] = now
        if has_windows(w):
            take_window(w, block, flow)
    if recovery == ERASURE:
        tx[flow, c.TO_SEND] -= 1
    elif tx[flow, c.LOST_PACKETS] > 0:
        seq = tx[flow, c.LOST_FROM]
        while state_of(w, flow, seq) != c.TAKEN_FOR_LOST:
            seq += 1
        tx[flow, c.LOST_FROM] = seq + 1
        tx[flow, c.LOST_PACKETS] -= 1
        state = c.ON_WAY_AGAIN
    else:
        seq = tx[flow, c.NEW]
        tx[flow, c.NEW] = seq + 1
        if recovery == GO_BACK_N:
            if seq < tx[flow, c.HIGH]:
                state = c.ON_WAY_AGAIN
            else:
                tx[flow, c.HIGH] = seq + 1
    tx[flow, c.RESENT] += state == c.ON_WAY_AGAIN
    label = next_label(w.conf[c.HOST_CODE], w.hx, register(w, flow), h, flow, seq, now)
    tx[flow, c.SEQ] += 1
    if has_windows(w):
        at = slot_of(w, flow, seq)
        w.slot[at, c.SENT_AT] = now
        w.slot[at, c.INFO] = (label << c.SLOT_LABEL_AT) | state
        tx[flow, c.FLYING] += 1
    ask = np.int64(w.conf[c.ACK_EVERY] > 1 and not has_room(w, flow))
    return (flow << FLOW_AT) | (ask << ASK_AT) | ((seq & SEQ_MASK) << SEQ_AT) | (label << LABEL_AT)


@inner
def sent_once(w, flow, word):
    """Whether a packet that was just sent is the last of its flow to be sent for the first time."""
    seq = (word >> SEQ_AT) & SEQ_MASK
    if w.conf[c.RECOVERY] == ERASURE:
        return w.tx[flow, c.SEQ] == w.packets[flow]
    return seq == w.packets[flow] - 1 and w.slot[slot_of(w, flow, seq), c.INFO] & c.STATE_MASK == c.ON_WAY
