"""Streams: a link is a ring of (arrival time, packet word), appended by the node at its tail, read by the node at its head.

The two ends may run in different threads: each has its own row (`link`, `inbox`), and the barrier between two windows tells one of the
other (`pass_on`). Rings grow there only: a packet that finds its ring full goes to its block's spill list and is appended at the barrier.
"""

from __future__ import annotations

import numpy as np

from ofancore.bits import DATA, KIND_AT, KIND_MASK, TRIM, random_below
from ofancore.engine import layout as c
from ofancore.jit import inner
from ofancore.recovery import base as recovery


@inner
def capacity(place):
    """Packets that a ring holds."""
    return 1 << (place & c.PLACE_LOG)


@inner
def ring_at(place, i):
    """Where packet i of a stream lies in `ring`: its arrival time, then its word."""
    return 2 * ((place >> c.PLACE_BITS) + (i & (capacity(place) - 1)))


@inner
def pass_on(w):
    """Tell readers what was appended, and writers how much room was made."""
    for i in range(w.inbox.shape[0]):
        l = w.in_links[i]
        w.inbox[i, c.SEEN] = w.link[l, c.TAIL]
        w.link[l, c.LIMIT] = w.inbox[i, c.HEAD] + capacity(w.link[l, c.PLACE])


@inner
def append(w, block, l, arrival, word):
    """Put a packet on the stream of link l."""
    link = w.link
    tail = link[l, c.TAIL]
    if tail < link[l, c.LIMIT]:
        at = ring_at(link[l, c.PLACE], tail)
        w.ring[at] = arrival
        w.ring[at + 1] = word
        link[l, c.TAIL] = tail + 1
        return
    row = w.stats[block, c.SPILLED]
    if row == w.spill.shape[1]:
        w.stats[block, c.FAULT] = c.FAULT_SPILL
        return
    link[l, c.LIMIT] = tail  # later packets of this window stay behind this one
    w.spill[block, row, 0] = l
    w.spill[block, row, 1] = arrival
    w.spill[block, row, 2] = word
    w.stats[block, c.SPILLED] = row + 1


@inner
def notify(w, block, node, time, word):
    """Let the source of the flow in `word` hear of it at a time that is not in this window."""
    row = w.stats[block, c.LOST]
    if row == w.lost.shape[1]:
        w.stats[block, c.FAULT] = c.FAULT_LOST
        return
    w.lost[block, row, c.NOTE_TIME] = time
    w.lost[block, row, c.NOTE_WORD] = word
    w.lost[block, row, c.NOTE_NODE] = node
    w.stats[block, c.LOST] = row + 1


@inner
def lose(w, block, node, now, word, reason):
    """Count a lost packet and note its loss for the oracle, the ecn bit of lost data saying that a buffer was full."""
    small = (word >> KIND_AT) & KIND_MASK != DATA
    w.stats[block, reason + small] += 1
    if w.conf[c.RECOVERY] != recovery.ERASURE:
        return
    if not small:
        word = word | 1 if reason == c.DROPPED_FULL else word & ~1
    notify(w, block, node, now + w.conf[c.NOTICE_DELAY], word)


@inner
def mark(w, node, l, small, queue, word):
    """The word of a packet that found this queue, with its ECN bit if it is data."""
    low = w.link[l, c.ECN_LOW] | (small * c.FOREVER)  # a threshold out of reach: whether a packet is data is a branch hard to predict
    if queue > low:
        high = w.link[l, c.ECN_HIGH]
        if queue >= high or random_below(w.sw.rng, node, high - low) < queue - low:
            word |= 1
            w.tally[l, c.ECN_MARKS] += 1
    return word


@inner
def refuse(w, block, node, l, now, word):
    """A packet that an output link has no room for, or that is dead, is lost."""
    w.tally[l, c.DROPS] += 1
    lose(w, block, node, now, word, c.DROPPED_DEAD if w.link[l, c.BUFFER] < 0 else c.DROPPED_FULL)


@inner
def admit(w, node, l, small, queue, word):
    """Count a packet that an output link takes behind this queue; its word, marked."""
    link = w.link
    if queue > link[l, c.QUEUE_MAX]:
        link[l, c.QUEUE_MAX] = queue
    link[l, c.QUEUE_SUM + small] += queue
    link[l, c.COUNT + small] += 1
    return mark(w, node, l, small, queue, word)


@inner
def transmit(w, block, node, l, now, word):
    """Hand a packet to an output link of a switch: drop, trim, mark, queue (model: depart = max(now, free) + size)."""
    link = w.link
    small = np.int64((word >> KIND_AT) & KIND_MASK != DATA)
    free = link[l, c.FREE]
    size = link[l, c.SIZE + small]
    gap = link[l, c.GAP]
    buffer = link[l, c.BUFFER]
    queue = free - now
    if queue < 0:
        queue = 0
        free = now
    if queue + size + gap > buffer and w.conf[c.RECOVERY] == recovery.TRIM and buffer >= 0:
        if small == 0:
            small = 1
            size = link[l, c.SIZE + 1]
            word |= TRIM << KIND_AT
            w.stats[block, c.TRIMMED] += 1
        buffer += w.conf[c.HEADROOM] * link[l, c.SIZE + 1]
    if queue + size + gap > buffer:
        refuse(w, block, node, l, now, word)
        return
    word = admit(w, node, l, small, queue, word)
    link[l, c.FREE] = free + size + gap
    append(w, block, l, free + size + link[l, c.DELAY], word)


@inner
def grow(w, l):
    """Double the ring of a link at the end of the arena; False if the arena has no room."""
    old = w.link[l, c.PLACE]
    new = (w.clock[c.ARENA_USED] << c.PLACE_BITS) | ((old & c.PLACE_LOG) + 1)
    end = w.clock[c.ARENA_USED] + capacity(new)
    if 2 * end > w.ring.shape[0]:
        return False
    for i in range(w.inbox[w.input_of[l], c.HEAD], w.link[l, c.TAIL]):
        w.ring[ring_at(new, i)] = w.ring[ring_at(old, i)]
        w.ring[ring_at(new, i) + 1] = w.ring[ring_at(old, i) + 1]
    w.link[l, c.PLACE] = new
    w.inbox[w.input_of[l], c.HOME] = new
    w.clock[c.ARENA_USED] = end
    return True


@inner(forceinline=False)
def drain_spills(w):
    """Append what found its ring full, block by block in order; False if the arena has no room (call again after growing it)."""
    for block in range(w.clock[c.SPILL_BLOCK], w.stats.shape[0]):
        for row in range(w.clock[c.SPILL_ROW], w.stats[block, c.SPILLED]):
            l = w.spill[block, row, 0]
            head = w.inbox[w.input_of[l], c.HEAD]
            if w.link[l, c.TAIL] - head == capacity(w.link[l, c.PLACE]) and not grow(w, l):
                w.clock[c.SPILL_BLOCK] = block
                w.clock[c.SPILL_ROW] = row
                return False
            w.link[l, c.LIMIT] = head + capacity(w.link[l, c.PLACE])
            append(w, block, l, w.spill[block, row, 1], w.spill[block, row, 2])
        w.stats[block, c.SPILLED] = 0
        w.clock[c.SPILL_ROW] = 0
    w.clock[c.SPILL_BLOCK] = 0
    return True
