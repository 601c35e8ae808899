"""The loop: windows of one lookahead, and a barrier between two.

Nothing sent at or after t can arrive before t + lookahead (one propagation delay and one ACK's serialisation), so within a window
every node works on its own. What happens when:

    cut          a window ends where a failure strikes or becomes known; the new epoch is entered before the next window
    serve        all nodes, in any order: hosts, then edge, aggregation and core switches of each block
    drain        rings that were too small grow; packets that found them full are appended
    notices      losses of the window are sorted into the lists of the hosts that must hear of them
    renew        blocks get room for the windows of flows that may start
    jump         after a window in which nothing happened, time moves to the next arrival, send, start, notice or cut

The loop returns with a status when it is done or when an array must grow; it then can be entered again.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ofancore.balancers.own import FAILED
from ofancore.bits import ACK, FLOW_AT, PLACE_MASK
from ofancore.engine import layout as c
from ofancore.engine.hosts import next_event, serve_host
from ofancore.engine.streams import drain_spills, pass_on, ring_at
from ofancore.engine.switches import serve_switch
from ofancore.engine.windows import renew_windows
from ofancore.fabric import CORE, EDGE, HOST
from ofancore.jit import in_memory, inner, kernel


@inner(forceinline=False)
def serve_block(w, block, begin, end):
    """One window of all nodes of a block."""
    epoch = w.clock[c.EPOCH]
    known = epoch - 2 if epoch >= 2 else -1
    pace = w.pace[1] if epoch >= 1 else w.pace[0]
    for h in range(w.blocks[block, HOST, 0], w.blocks[block, HOST, 1]):
        serve_host(w, block, h, pace, begin, end)
    for tier in range(EDGE, CORE + 1):
        for node in range(w.blocks[block, tier, 0], w.blocks[block, tier, 1]):
            serve_switch(w, block, node, tier, known, begin, end)


@inner(forceinline=False)
def enter_epochs(w, now):
    """Enter the epochs that begin at `now`; epoch 1 changes the links."""
    while w.clock[c.CUT_NEXT] < w.cuts.shape[0] and w.cuts[w.clock[c.CUT_NEXT], 0] <= now:
        at, epoch = w.cuts[w.clock[c.CUT_NEXT], 0], w.cuts[w.clock[c.CUT_NEXT], 1]
        w.clock[c.EPOCH] = epoch
        if epoch == 3:
            w.hx.known[0] = 1
        w.clock[c.CUT_NEXT] += 1
        if epoch == 1:
            for i in range(w.change.shape[0]):
                l = w.changed[i]
                w.tally[l, c.QUEUE_BEFORE] = w.link[l, c.QUEUE_MAX]
                w.link[l, c.QUEUE_MAX] = 0
                for column in range(c.SIZE, c.PLACE):
                    w.link[l, column] = w.change[i, column]
                if w.link[l, c.BUFFER] < 0:
                    w.inbox[w.input_of[l], c.LOST_AFTER] = at + w.link[l, c.DELAY]


@inner
def hear_later(w, h, note):
    """Put a notice into a host's list, sorted by (time, node), behind its equals."""
    last = w.host[h, c.NOTE_LAST]
    time, node = w.note[note, c.NOTE_TIME], w.note[note, c.NOTE_NODE]
    w.note[note, c.NOTE_LINK] = -1
    if last < 0:
        w.host[h, c.NOTE_FIRST] = note
        w.host[h, c.NOTE_LAST] = note
        return
    before = np.int64(-1)
    after = w.host[h, c.NOTE_FIRST]
    if w.note[last, c.NOTE_TIME] < time or (w.note[last, c.NOTE_TIME] == time and w.note[last, c.NOTE_NODE] <= node):
        before, after = last, np.int64(-1)
    while after >= 0 and (w.note[after, c.NOTE_TIME] < time or (w.note[after, c.NOTE_TIME] == time and w.note[after, c.NOTE_NODE] <= node)):
        before, after = after, w.note[after, c.NOTE_LINK]
    w.note[note, c.NOTE_LINK] = after
    if before < 0:
        w.host[h, c.NOTE_FIRST] = note
    else:
        w.note[before, c.NOTE_LINK] = note
    if after < 0:
        w.host[h, c.NOTE_LAST] = note


@inner(forceinline=False)
def deliver_notes(w):
    """Hand the losses of a window to the hosts that send the flows; False if the notices have no room (call again)."""
    for block in range(w.stats.shape[0]):
        for row in range(w.stats[block, c.FREED]):
            w.note[w.freed[block, row], c.NOTE_LINK] = w.clock[c.NOTES_FREE]
            w.clock[c.NOTES_FREE] = w.freed[block, row]
        w.stats[block, c.FREED] = 0
    for block in range(w.clock[c.SPILL_BLOCK], w.stats.shape[0]):
        for row in range(w.clock[c.SPILL_ROW], w.stats[block, c.LOST]):
            note = w.clock[c.NOTES_FREE]
            if note < 0:
                w.clock[c.SPILL_BLOCK] = block
                w.clock[c.SPILL_ROW] = row
                return False
            w.clock[c.NOTES_FREE] = w.note[note, c.NOTE_LINK]
            word = w.lost[block, row, c.NOTE_WORD]
            w.note[note, c.NOTE_TIME] = w.lost[block, row, c.NOTE_TIME]
            w.note[note, c.NOTE_WORD] = word
            w.note[note, c.NOTE_NODE] = w.lost[block, row, c.NOTE_NODE]
            hear_later(w, w.route[2 * (word >> FLOW_AT) + ACK] & PLACE_MASK, note)  # an ACK goes to where data comes from
        w.stats[block, c.LOST] = 0
        w.clock[c.SPILL_ROW] = 0
    w.clock[c.SPILL_BLOCK] = 0
    return True


@inner(forceinline=False)
def next_time(w, now):
    """Earliest time at which anything can happen, or FOREVER."""
    first = c.FOREVER
    for i in range(w.inbox.shape[0]):
        head = w.inbox[i, c.HEAD]
        if head < w.link[w.in_links[i], c.TAIL]:
            first = min(first, w.ring[ring_at(w.inbox[i, c.HOME], head)])
    for h in range(w.host.shape[0]):
        first = min(first, next_event(w, h, now, c.FOREVER)[0])
        if w.host[h, c.NOTE_FIRST] >= 0:
            first = min(first, w.note[w.host[h, c.NOTE_FIRST], c.NOTE_TIME])
    return first


@inner
def total(w, column):
    """Sum of a statistic over the blocks."""
    n = np.int64(0)
    for block in range(w.stats.shape[0]):
        n += w.stats[block, column]
    return n


@inner(forceinline=False)
def begin_window(w):
    """Settle the last window and open the next: (status or -1, begin, end)."""
    clock = w.clock
    if clock[c.PHASE] == c.DRAINING:
        if not drain_spills(w):
            return c.NEEDS_ARENA, 0, 0
        clock[c.PHASE] = c.NOTING
    if clock[c.PHASE] == c.NOTING:
        if not deliver_notes(w):
            return c.NEEDS_NOTES, 0, 0
        clock[c.PHASE] = c.SERVING
        if total(w, c.FAULT) != 0 or w.sw.own[0, FAILED] != 0:
            return c.FAULTY, 0, 0
        if total(w, c.FINISHED) == w.conf[c.N_FLOWS]:
            return c.FINISHED_ALL, 0, 0
        if total(w, c.HANDLED) == 0:
            jump = next_time(w, clock[c.NOW])
            if jump == c.FOREVER:
                return c.STUCK, 0, 0
            clock[c.NOW] = max(clock[c.NOW], jump)
        for block in range(w.stats.shape[0]):
            w.stats[block, c.HANDLED] = 0
    if not renew_windows(w):
        return c.NEEDS_SLOTS, 0, 0
    pass_on(w)
    begin = clock[c.NOW]
    enter_epochs(w, begin)
    limit = w.conf[c.TIME_LIMIT_AT]
    if begin >= limit:
        clock[c.NOW] = limit
        return c.TIME_LIMIT, 0, 0
    end = min(begin + w.conf[c.WINDOW], limit)
    if clock[c.CUT_NEXT] < w.cuts.shape[0]:
        end = min(end, w.cuts[clock[c.CUT_NEXT], 0])
    return -1, begin, end


@kernel
def run_serial(world):
    """Run until done or until an array must grow; the status code."""
    w = in_memory(world)
    while True:
        status, begin, end = begin_window(w)
        if status >= 0:
            return status
        for block in range(w.stats.shape[0]):
            serve_block(w, block, begin, end)
        w.clock[c.NOW] = end
        w.clock[c.PHASE] = c.DRAINING


@inner(forceinline=False)
def serve_parts(arrays, sw, hx, cs, block, begin, end):
    """`serve_block` from the parts of a world."""
    serve_block(in_memory(c.World(*arrays, sw, hx, cs)), block, begin, end)


@kernel(parallel=True)
def run_parallel(arrays, sw, hx, cs):
    """As `run_serial` of World(*arrays, sw, hx, cs), a thread per block."""
    w = in_memory(c.World(*arrays, sw, hx, cs))
    n_blocks = w.stats.shape[0]
    while True:
        status, begin, end = begin_window(w)
        if status >= 0:
            return status
        for block in prange(n_blocks):
            serve_parts(arrays, sw, hx, cs, block, begin, end)
        w.clock[c.NOW] = end
        w.clock[c.PHASE] = c.DRAINING
