"""A switch output where control packets (ACKs, NACKs, trimmed headers) wait in a line of their own and are served first.

Elsewhere a packet's departure is known when it arrives; here a later one may overtake it, so packets wait in two lines and go on the link's
stream when their service starts. Service is not preemptive; all arrivals of an instant come before the choice made at that instant.
"""

from __future__ import annotations

import numpy as np

from ofancore.bits import DATA, KIND_AT, KIND_MASK, TRIM
from ofancore.engine import layout as c
from ofancore.engine.streams import admit, append, refuse
from ofancore.jit import inner
from ofancore.recovery import base as recovery


@inner
def place_of(w, l, control, i):
    """Where place i of a line lies in `line`: the time of arrival, then the word."""
    data, own = w.conf[c.DATA_LOG], w.conf[c.CONTROL_LOG]
    first = l * ((1 << data) + (1 << own))
    return 2 * (first + (1 << data) + (i & ((1 << own) - 1)) if control != 0 else first + (i & ((1 << data) - 1)))


@inner
def waiting(w, l, control):
    """Packets in a line."""
    return w.port[l, c.LAST + control] - w.port[l, c.FIRST + control]


@inner
def queue_of(w, l, control, now):
    """Time that the packets of a class need, those in service included."""
    queue = waiting(w, l, control) * (w.link[l, c.SIZE + control] + w.link[l, c.GAP])
    return queue + max(w.port[l, c.BUSY] - now, 0) if w.port[l, c.SERVED] == control else queue


@inner(forceinline=False)
def serve_port(w, block, l, until):
    """Start all services that start before `until`; returns how many."""
    served = 0
    while True:
        start = c.FOREVER
        control = 0
        for line in range(2):
            if waiting(w, l, line) > 0:
                ready = max(w.line[place_of(w, l, line, w.port[l, c.FIRST + line])], w.port[l, c.BUSY])
                if ready <= start:  # control packets come second, and go first
                    start, control = ready, line
        if start >= until:
            return served
        word = w.line[place_of(w, l, control, w.port[l, c.FIRST + control]) + 1]
        w.port[l, c.FIRST + control] += 1
        sent = start + w.link[l, c.SIZE + control]
        w.port[l, c.BUSY] = sent + w.link[l, c.GAP]
        w.port[l, c.SERVED] = control
        append(w, block, l, sent + w.link[l, c.DELAY], word)
        served += 1


@inner(forceinline=False)
def enter_line(w, block, node, l, now, word):
    """Hand a packet to an output link: drop, trim, mark, or let it wait in its line."""
    link = w.link
    serve_port(w, block, l, now)
    control = np.int64((word >> KIND_AT) & KIND_MASK != DATA)
    queue = queue_of(w, l, control, now)
    full = link[l, c.BUFFER] < 0
    if not full and control == 0 and queue + link[l, c.SIZE] + link[l, c.GAP] > link[l, c.BUFFER]:
        full = w.conf[c.RECOVERY] != recovery.TRIM
        if not full:
            control = 1
            word |= TRIM << KIND_AT
            queue = queue_of(w, l, control, now)
            w.stats[block, c.TRIMMED] += 1
    if full or (control != 0 and waiting(w, l, control) >= w.conf[c.CONTROL_PLACES]):
        refuse(w, block, node, l, now, word)
        return
    word = admit(w, node, l, control, queue, word)
    link[l, c.FREE] = max(link[l, c.FREE], now) + link[l, c.SIZE + control] + link[l, c.GAP]
    at = place_of(w, l, control, w.port[l, c.LAST + control])
    w.line[at] = now
    w.line[at + 1] = word
    w.port[l, c.LAST + control] += 1


@inner(forceinline=False)
def serve_ports(w, block, first, n, end):
    """Serve n consecutive output links up to the end of a window; 0 if nothing was sent and nothing waits."""
    busy = 0
    for l in range(first, first + n):
        busy += serve_port(w, block, l, end) + waiting(w, l, 0) + waiting(w, l, 1)
    return busy
