"""Windows: what a flow keeps of its packets under way (`slot`, `got`, `sacked`) and of the delays it saw (`cs.samples`).

Only flows under way have one, so that a run of a million flows needs memory for those few. A flow takes a window, cleared, with its first
packet and gives it back with its last ACK. A block gives the windows of its own hosts' flows: of those that came back the last one first,
else a new one from its room in the arenas, which is topped up between two windows of time.

The receiver may be served by another thread while the sender gives a window back, and a late copy may then still write there: what came
back rests until the next barrier. What the copy writes is read by nobody, since its flow is done and later windows are cleared.
"""

from __future__ import annotations

from ofancore.engine import layout as c
from ofancore.jit import inner
from ofancore.recovery.base import ERASURE

NONE = -1


@inner
def has_windows(w):
    """Whether flows have windows in this run."""
    return w.conf[c.WINDOWED] != 0 or w.conf[c.RECOVERY] != ERASURE


@inner
def size_class(w, flow):
    """Binary logarithm of the slots of a flow's window."""
    log, rest = 0, w.slots[flow, 1]
    while rest > 0:
        log += 1
        rest >>= 1
    return log


@inner
def take_room(w, block, arena, n):
    """So many places of an arena that were never given before; the first."""
    first = w.room[block, arena, c.ROOM_FIRST]
    w.room[block, arena, c.ROOM_FIRST] = first + n
    return first


@inner(forceinline=False)
def take_window(w, block, flow):
    """Give a flow a cleared window."""
    log, size = size_class(w, flow), w.slots[flow, 1] + 1
    first = w.free[block, log, c.READY]
    if first >= 0:
        w.free[block, log, c.READY] = w.slot[first, c.INFO]
        row = w.slot[first, c.SENT_AT]
        w.slot[first : first + size] = 0
        if w.conf[c.RECOVERY] != ERASURE:
            w.got[first : first + size] = 0
        w.cs.samples[row : row + 1] = 0
    else:
        first = take_room(w, block, c.SLOTS, size)
        row = take_room(w, block, c.ROWS, 1)
    w.slots[flow, 0] = first
    w.cs.row[flow] = row
    w.room[block, c.SLOTS, c.NEVER_ASKED] -= size
    w.room[block, c.ROWS, c.NEVER_ASKED] -= 1


@inner(forceinline=False)
def give_back(w, block, flow):
    """Take the window of a flow that is done; it rests until the next barrier."""
    log, first = size_class(w, flow), w.slots[flow, 0]
    last = w.free[block, log, c.RESTING]
    w.slots[flow, 0] = NONE
    w.slot[first, c.SENT_AT] = w.cs.row[flow]
    w.slot[first, c.INFO] = last
    if last < 0:
        w.free[block, log, c.RESTING_LAST] = first
    w.free[block, log, c.RESTING] = first


@inner(forceinline=False)
def renew_windows(w):
    """At a barrier: windows have rested, and blocks get room for all that they can give until the next; False if an arena has none."""
    free = w.free
    for block in range(free.shape[0]):
        for log in range(free.shape[1]):
            if free[block, log, c.RESTING] >= 0:
                w.slot[free[block, log, c.RESTING_LAST], c.INFO] = free[block, log, c.READY]
                free[block, log, c.READY] = free[block, log, c.RESTING]
                free[block, log, c.RESTING] = NONE
        if not (top_up(w, block, c.SLOTS, w.slot.shape[0]) and top_up(w, block, c.ROWS, w.cs.samples.shape[0])):
            return False
    return True


@inner
def top_up(w, block, arena, places):
    """Give a block that may run out new room in an arena of so many places; False if it has none left."""
    room = w.room[block, arena]
    most, left = room[c.MOST_A_TIME], room[c.NEVER_ASKED]
    if room[c.ROOM_END] - room[c.ROOM_FIRST] < min(most, left):
        used = w.clock[c.SLOTS_USED + arena]
        end = used + min(2 * most, left)
        if end > places:
            return False
        room[c.ROOM_FIRST] = used
        room[c.ROOM_END] = end
        w.clock[c.SLOTS_USED + arena] = end
    return True
