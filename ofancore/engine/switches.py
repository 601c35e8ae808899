"""A switch in one window: gather its input streams, put them in the order (time, input port), forward packet by packet."""

from __future__ import annotations

import numpy as np

from ofancore.balancers import choose_uplink
from ofancore.balancers.base import BY_HASH
from ofancore.balancers.ecmp import choose_by_hash
from ofancore.bits import (
    ACK,
    DATA,
    EDGE_AT,
    FLOW_AT,
    KIND_AT,
    KIND_MASK,
    LABEL_AT,
    LABEL_MASK,
    PLACE_MASK,
    POD_AT,
    SEQ_AT,
    SEQ_MASK,
    mix32,
    random_below,
)
from ofancore.engine import layout as c
from ofancore.engine.priority import enter_line, serve_ports
from ofancore.engine.streams import lose, ring_at, transmit
from ofancore.fabric import AGG, EDGE
from ofancore.jit import inner, prefetch_read, prefetch_write

AHEAD = 16  # packets of a stream whose cache lines are asked for before they are needed
PER_LINE = 4
LOST_BIT = np.int64(-(2**63))  # set in the word of a packet that was on a link when that died


@inner
def gather(w, block, node, begin, end):
    """Move what arrives before `end` from the input streams to the block's scratch, with a sort key each; returns how many."""
    n = 0
    keys = w.keys[block, 0]
    words = w.words[block]
    counts = w.buckets[block]
    counts[:] = 0
    shift = w.conf[c.BUCKET_SHIFT]
    first, last = w.in_first[node], w.in_first[node + 1]
    for at in range(first, last):
        head, tail = w.inbox[at, c.HEAD], w.inbox[at, c.SEEN]
        if head == tail:
            continue
        place = w.inbox[at, c.HOME]
        port = (at - first) << c.PORT_AT
        lost_after = w.inbox[at, c.LOST_AFTER]
        while head < tail:
            i = ring_at(place, head)
            time = w.ring[i]
            if time >= end:
                break
            head += 1
            key = ((time - begin) << c.TIME_AT) | port | n
            keys[n] = key
            counts[key >> shift] += 1
            words[n] = w.ring[i + 1] if time <= lost_after else w.ring[i + 1] | LOST_BIT
            n += 1
        w.inbox[at, c.HEAD] = head
    return n


@inner
def prefetch_inputs(w, node):
    """Ask for what a node will read first, a few packets of each input stream."""
    for at in range(w.in_first[node], w.in_first[node + 1]):
        head = w.inbox[at, c.HEAD]
        for i in range(head, min(w.inbox[at, c.SEEN], head + AHEAD), PER_LINE):
            prefetch_read(w.ring, ring_at(w.inbox[at, c.HOME], i))


@inner
def prefetch_outputs(w, first, n):
    """Ask for the places of the next packets of n consecutive links."""
    for l in range(first, first + n):
        tail = w.link[l, c.TAIL]
        for i in range(tail, tail + AHEAD, PER_LINE):
            prefetch_write(w.ring, ring_at(w.link[l, c.PLACE], i))


@inner
def sort_keys(w, block, n):
    """Sort the block's n keys: counting sort on coarse time, then insertion. Returns the row of `keys` that holds the result."""
    keys = w.keys[block, 0]
    row = 0
    if n > 24:
        row = 1
        counts = w.buckets[block]
        shift = w.conf[c.BUCKET_SHIFT]
        before = 0
        for b in range(counts.shape[0]):
            here = counts[b]
            counts[b] = before
            before += here
        coarse = w.keys[block, 1]
        for i in range(n):
            b = keys[i] >> shift
            coarse[counts[b]] = keys[i]
            counts[b] += 1
        keys = coarse
    for i in range(1, n):
        key = keys[i]
        j = i - 1
        while j >= 0 and keys[j] > key:
            keys[j + 1] = keys[j]
            j -= 1
        keys[j + 1] = key
    return row


@inner
def hand_on(w, block, node, l, now, word):
    """Hand a packet to an output link."""
    if w.conf[c.PRIORITY] != 0:
        enter_line(w, block, node, l, now, word)
    else:
        transmit(w, block, node, l, now, word)


@inner
def pick(condition, a, b):
    """a or b without a branch, for conditions that nobody can guess: a wrong guess takes longer than working out both."""
    return b + (a - b) * np.int64(condition)


@inner
def forward(w, block, node, tier, known, begin, n):
    """Forward the n packets gathered, in the order of time and input port."""
    if node + 1 < w.up.shape[0]:
        prefetch_inputs(w, node + 1)
    keys = w.keys[block, sort_keys(w, block, n)]
    up, width, down = w.up[node], w.n_up[node], w.down[node]
    edges, hosts = w.conf[c.EDGES_PER_POD], w.conf[c.HOSTS_PER_EDGE]
    if tier == EDGE:
        me = node - w.conf[c.FIRST_EDGE]
        first, n_down = me * hosts, hosts
    elif tier == AGG:
        me = w.pod[node]
        first, n_down = me * edges, edges
    else:
        me, first, n_down = -1, 0, w.conf[c.N_PODS]
    prefetch_outputs(w, up, width)
    prefetch_outputs(w, down, n_down)
    code = w.sw.code[node]
    hashed = code == BY_HASH and known < 0  # a choice that changes nothing, so it may be made for packets on their way down too
    fresh = w.conf[c.FRESH_ACKS] != 0
    loss = w.conf[c.LOSS]
    for i in range(n):
        key = keys[i]
        at = key & c.PLACE_IN_SCRATCH
        now = begin + (key >> c.TIME_AT)
        word = w.words[block, at]
        if word < 0:
            lose(w, block, node, now, word ^ LOST_BIT, c.DROPPED_DEAD)
            continue
        if loss > 0 and random_below(w.sw.rng, node, c.LOSS_UNIT) < loss:
            lose(w, block, node, now, word, c.DROPPED_AT_RANDOM)
            continue
        kind = (word >> KIND_AT) & KIND_MASK
        flow = word >> FLOW_AT
        route = w.route[2 * flow + (kind & 1)]
        if tier == EDGE:
            group = (route >> EDGE_AT) & PLACE_MASK
            inner = route & PLACE_MASK
        elif tier == AGG:
            group = route >> POD_AT
            inner = (route >> EDGE_AT) & PLACE_MASK
        else:
            group = np.int64(-1)
            inner = route >> POD_AT
        port_down = down + inner - first
        if not hashed and group == me:
            hand_on(w, block, node, port_down, now, word)
            continue
        label = (word >> LABEL_AT) & LABEL_MASK
        if fresh and kind & 1 == ACK:
            label = mix32(label ^ (((word >> SEQ_AT) & SEQ_MASK) << LABEL_AT)) & LABEL_MASK
        sched = np.int64(-1)
        if hashed:
            j = choose_by_hash(w.sw, node, up, width, sched, group, 0, 0, 0, label, flow, now)
            hand_on(w, block, node, pick(group == me, port_down, up + j), now, word)
            continue
        if known >= 0:
            sched = np.int64(w.sched_of[known, w.sched_first[node] + group])
            if sched >= 0 and w.sw.sched[sched, 1] == 0:
                lose(w, block, node, now, word, c.DROPPED_NO_ROUTE)
                continue
        small = np.int64(kind != DATA)
        port = (key >> c.PORT_AT) & c.PORT_MASK
        j = choose_uplink(code, w.sw, node, up, width, sched, group, small, port, route & PLACE_MASK, label, flow, now)
        if j < 0 or j >= width:
            w.stats[block, c.FAULT] = c.FAULT_UPLINK
            return
        hand_on(w, block, node, up + j, now, word)


@inner(forceinline=False)
def serve_switch(w, block, node, tier, known, begin, end):
    """Forward all packets that arrive at a switch in [begin, end). `known` is what it knows of failures: -1 nothing, else a row."""
    n = gather(w, block, node, begin, end)
    if n > 0:
        forward(w, block, node, tier, known, begin, n)
        w.stats[block, c.HOPS] += n
        w.stats[block, c.HANDLED] += n
    if w.conf[c.PRIORITY] != 0:
        below = w.conf[c.HOSTS_PER_EDGE] if tier == EDGE else w.conf[c.EDGES_PER_POD] if tier == AGG else w.conf[c.N_PODS]
        w.stats[block, c.HANDLED] += serve_ports(w, block, w.up[node], w.n_up[node], end)
        w.stats[block, c.HANDLED] += serve_ports(w, block, w.down[node], below, end)
