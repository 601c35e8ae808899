"""Streams: a link is a ring of (arrival time, packet word), appended by the node at its tail, read by the node at its head.

Rings grow at the barrier between two windows only, so that the two ends may run in different threads: a packet that finds its
ring full goes to its block's spill list and is appended at the barrier. The writer looks at the reader's position once
per window (`open_outputs`); seeing it late makes a ring look fuller than it is, which changes where bytes lie, never a result.
"""

from __future__ import annotations

from ofancore.bits import DATA, KIND_AT, KIND_MASK, random_below
from ofancore.engine import layout as c
from ofancore.jit import inner


@inner
def open_outputs(w, first, n):
    """Let the rings of n consecutive links use the room their readers made."""
    for l in range(first, first + n):
        w.link[l, c.LIMIT] = w.head[l] + w.where[l, c.MASK] + 1


@inner
def append(w, block, l, arrival, word):
    """Put a packet on the stream of link l."""
    link = w.link
    tail = link[l, c.TAIL]
    if tail < link[l, c.LIMIT]:
        at = w.where[l, c.RING] + (tail & w.where[l, c.MASK])
        w.ring[at, 0] = arrival
        w.ring[at, 1] = word
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
def lose(w, block, node, now, word, reason):
    """Count a lost packet and note its loss for the sender of its flow; the ecn bit of lost data says that a buffer was full."""
    kind = (word >> KIND_AT) & KIND_MASK
    if kind == DATA:
        word = word | 1 if reason == c.DROPPED_FULL else word & ~1
    w.stats[block, reason + kind] += 1
    row = w.stats[block, c.LOST]
    if row == w.lost.shape[1]:
        w.stats[block, c.FAULT] = c.FAULT_LOST
        return
    w.lost[block, row, c.NOTE_TIME] = now + w.conf[c.NOTICE_DELAY]
    w.lost[block, row, c.NOTE_WORD] = word
    w.lost[block, row, c.NOTE_NODE] = node
    w.stats[block, c.LOST] = row + 1


@inner
def transmit(w, block, node, l, now, word):
    """Hand a packet to an output link of a switch: drop, mark, queue (model: depart = max(now, free) + size)."""
    link = w.link
    kind = (word >> KIND_AT) & KIND_MASK
    free = link[l, c.FREE]
    size = link[l, c.SIZE + kind]
    gap = link[l, c.GAP]
    buffer = link[l, c.BUFFER]
    queue = free - now
    if queue < 0:
        queue = 0
        free = now
    if queue + size + gap > buffer:
        w.tally[l, c.DROPS] += 1
        lose(w, block, node, now, word, c.DROPPED_DEAD if buffer < 0 else c.DROPPED_FULL)
        return
    if queue > link[l, c.QUEUE_MAX]:
        link[l, c.QUEUE_MAX] = queue
    link[l, c.QUEUE_SUM + kind] += queue
    link[l, c.COUNT + kind] += 1
    low = link[l, c.ECN_LOW]
    if kind == DATA and queue > low:
        high = link[l, c.ECN_HIGH]
        if queue >= high or random_below(w.sw.rng, node, high - low) < queue - low:
            word |= 1
            w.tally[l, c.ECN_MARKS] += 1
    link[l, c.FREE] = free + size + gap
    append(w, block, l, free + size + link[l, c.DELAY], word)


@inner
def grow(w, l):
    """Double the ring of a link at the end of the arena; False if the arena has no room."""
    old, size = w.where[l, c.RING], w.where[l, c.MASK] + 1
    new = w.clock[c.ARENA_USED]
    if new + 2 * size > w.ring.shape[0]:
        return False
    for i in range(w.head[l], w.link[l, c.TAIL]):
        w.ring[new + (i & (2 * size - 1)), 0] = w.ring[old + (i & (size - 1)), 0]
        w.ring[new + (i & (2 * size - 1)), 1] = w.ring[old + (i & (size - 1)), 1]
    w.where[l, c.RING] = new
    w.where[l, c.MASK] = 2 * size - 1
    w.clock[c.ARENA_USED] = new + 2 * size
    return True


@inner(forceinline=False)
def drain_spills(w):
    """Append what found its ring full, block by block in order; False if the arena has no room (call again after growing it)."""
    for block in range(w.clock[c.SPILL_BLOCK], w.stats.shape[0]):
        for row in range(w.clock[c.SPILL_ROW], w.stats[block, c.SPILLED]):
            l = w.spill[block, row, 0]
            if w.link[l, c.TAIL] - w.head[l] > w.where[l, c.MASK] and not grow(w, l):
                w.clock[c.SPILL_BLOCK] = block
                w.clock[c.SPILL_ROW] = row
                return False
            w.link[l, c.LIMIT] = w.head[l] + w.where[l, c.MASK] + 1
            append(w, block, l, w.spill[block, row, 1], w.spill[block, row, 2])
        w.stats[block, c.SPILLED] = 0
        w.clock[c.SPILL_ROW] = 0
    w.clock[c.SPILL_BLOCK] = 0
    return True
