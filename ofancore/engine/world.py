"""Allocate the arrays of a run, and grow those that turn out too small. Shapes and columns are those of `layout`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ofancore.engine import layout as c
from ofancore.engine.layout import TIME_AT, World
from ofancore.fabric import HOST, Fabric
from ofancore.recovery.base import ERASURE, GO_BACK_N, congested_rtt

if TYPE_CHECKING:
    from ofancore.prepare import Inputs


def aligned(rows: int, columns: int) -> np.ndarray:
    """int64[rows, columns] of zeros that starts on a cache line."""
    flat = np.zeros(rows * columns + 8, np.int64)
    skip = (-flat.ctypes.data % 64) // 8
    return flat[skip : skip + rows * columns].reshape(rows, columns)


def blocks_of(fabric: Fabric, threads: int) -> np.ndarray:
    """int64[threads, 4, 2]: an even share of each tier for each thread."""
    base = np.array(fabric.node_base)
    cut = np.arange(threads + 1) / threads
    edges = (base[:4] + np.round(cut[:, None] * np.diff(base))).astype(np.int64)
    return np.stack([edges[:-1], edges[1:]], axis=2)


def free_list(note: np.ndarray, start: int, end: int, tail: int) -> None:
    """Chain notices start..end-1 into a list that ends in `tail`."""
    note[start:end, c.NOTE_LINK] = np.arange(start + 1, end + 1)
    note[end - 1, c.NOTE_LINK] = tail


def build_world(inputs: Inputs, threads: int) -> World:
    """A world at time 0, its nodes shared out over so many threads."""
    fabric, conf, link, flows, start = inputs.fabric, inputs.conf, inputs.link, inputs.flows, inputs.start
    n_links, n_hosts, n_flows = fabric.n_links, fabric.n_hosts, len(flows)
    i64 = np.int64
    per_window = int(conf[c.WINDOW]) // int(link[:, c.SIZE].min() + link[:, c.GAP].min()) + 1  # data packets of a link at full rate
    log = (5 * per_window).bit_length()  # room for a window's data and ACKs twice over: 64 packets in the default fabric
    first_ring = 1 << log
    link[:, c.PLACE] = (np.arange(n_links) << (log + c.PLACE_BITS)) | log
    clock = np.zeros(c.CLOCK_COLUMNS, i64)
    clock[c.ARENA_USED] = n_links * first_ring
    in_first, in_links = fabric.inputs
    input_of = np.zeros(n_links, i64)
    input_of[in_links] = np.arange(n_links)
    inbox = np.zeros((n_links, c.INBOX_COLUMNS), i64)
    inbox[:, c.HOME] = link[in_links, c.PLACE]
    inbox[:, c.LOST_AFTER] = c.FOREVER
    up, n_up, down = fabric.switch_outputs
    pod = np.zeros(fabric.n_nodes, i64)
    agg = fabric.node_base[2]
    pod[agg : agg + fabric.n_aggs] = np.arange(fabric.n_aggs) // fabric.A

    tx = aligned(n_flows, c.TX_COLUMNS)
    tx[:, c.TO_SEND] = flows.packets
    for column in (c.NEXT, c.PREV, c.DONE, c.STARTED, c.SLEEP_NEXT):
        tx[:, column] = -1
    tx[:, c.HIGH] = 0 if conf[c.RECOVERY] == GO_BACK_N else -1
    tx[:, c.DEADLINE] = c.FOREVER
    tx[:, c.HOLD] = inputs.delay
    tx[:, c.RTT_CONGESTED] = congested_rtt(inputs.base)
    earlier, later, acked, place = flows.dependencies()
    tx[:, c.WAITS] = flows.needed()
    rx = np.zeros((n_flows, c.RX_COLUMNS), i64)
    rx[:, c.SEQ_MAX] = -1
    rx[:, c.COMPLETE] = -1
    rx[:, c.NACKED] = -1
    event = 2 * earlier + acked
    order = np.argsort(event, kind="stable")
    dep_first = np.searchsorted(event[order], np.arange(2 * n_flows + 1)).astype(i64)
    there = flows.src[later]
    dep_delay = inputs.times.back(fabric.news_links(place, there))[order].astype(i64)

    own = np.argsort(flows.src, kind="stable").astype(i64)
    slots = np.stack([np.full(n_flows, -1), inputs.window - 1], axis=1) if inputs.window.any() else np.zeros((1, 2), i64)

    host = np.zeros((n_hosts, c.HOST_COLUMNS), i64)
    for column in (c.CURRENT, c.READY_FIRST, c.READY_LAST, c.NOTE_FIRST, c.NOTE_LAST, c.SLEEP_FIRST):
        host[:, column] = -1
    host[:, c.CHECK] = c.FOREVER
    host[:, c.LAST_CHECK] = -conf[c.CHECK_STEP]
    host[:, c.START_NEXT] = np.searchsorted(start[:, 0], np.arange(n_hosts))
    host[:, c.START_END] = np.searchsorted(start[:, 0], np.arange(n_hosts), side="right")

    fastest = int(link[:, c.SIZE + 1].min() + link[:, c.GAP].min())
    ports = int(np.diff(in_first).max())
    capacity = ports * (int(conf[c.WINDOW]) // fastest + 2)
    n_buckets = max(256, 1 << (4 * ports * per_window - 1).bit_length())  # two a packet, at full rate with as many ACKs
    shift = max(0, int(np.ceil(np.log2(max(1, int(conf[c.WINDOW]) / n_buckets)))))
    conf[c.BUCKET_SHIFT] = TIME_AT + shift
    n_buckets = (int(conf[c.WINDOW]) >> shift) + 2
    rows = n_links * (2 * per_window + 16) + capacity + np.count_nonzero(dep_delay)  # memory that is not written is not taken
    notes = 1 << 12
    note = np.zeros((notes, c.NOTE_COLUMNS), i64)
    first_served = bool(conf[c.PRIORITY])
    places = n_links * ((1 << int(conf[c.DATA_LOG])) + (1 << int(conf[c.CONTROL_LOG]))) if first_served else 0
    blocks = blocks_of(fabric, threads)
    room = window_room(inputs, blocks, per_window)
    n_slots, n_rows = places_for(room)
    free_list(note, 0, notes, -1)
    inputs.scenario.balancer.connect(inputs.sw, inputs.hx)
    return World(
        conf=conf,
        clock=clock,
        stats=np.zeros((threads, c.STATS_COLUMNS), i64),
        blocks=blocks,
        link=link,
        tally=np.zeros((n_links, c.TALLY_COLUMNS), i64),
        port=np.zeros((n_links if first_served else 1, c.PORT_COLUMNS), i64),
        line=np.zeros(max(2 * places, 1), i64),
        inbox=inbox,
        ring=aligned(1, 2 * (n_links * first_ring * 3 // 2 + (1 << 14)))[0],
        in_first=in_first,
        in_links=in_links,
        input_of=input_of,
        up=up,
        n_up=n_up,
        down=down,
        pod=pod,
        route=inputs.route,
        packets=flows.packets,
        tx=tx,
        rx=rx,
        dep_first=dep_first,
        deps=np.ascontiguousarray(later[order]),
        dep_delay=dep_delay,
        start=np.ascontiguousarray(start[:, 1:]),
        own_first=np.searchsorted(flows.src[own], np.arange(n_hosts + 1)).astype(i64),
        own=own,
        slots=slots,
        slot=np.zeros((n_slots, 2), i64),
        got=np.zeros(n_slots if conf[c.RECOVERY] != ERASURE else 1, i64),
        sacked=np.zeros(n_slots if conf[c.ACK_EVERY] > 1 else 1, i64),
        free=np.full((threads, int(inputs.window.max()).bit_length(), c.FREE_COLUMNS), -1, i64),
        room=room,
        host=host,
        acks=np.zeros((n_hosts, c.ACK_QUEUE), i64),
        cuts=inputs.cuts,
        change=inputs.change,
        changed=inputs.changed,
        sched_of=inputs.sched_of,
        sched_first=inputs.sched_first,
        pace=inputs.pace,
        sw=inputs.sw,
        hx=inputs.hx,
        cs=inputs.cs._replace(samples=enlarged(inputs.cs.samples, 0, n_rows)),
        keys=np.zeros((threads, 2, capacity), i64),
        words=np.zeros((threads, capacity), i64),
        buckets=np.zeros((threads, n_buckets + 1), np.int32),
        spill=np.zeros((threads, rows, 3), i64),
        lost=np.zeros((threads, rows, c.NOTE_COLUMNS), i64),
        freed=np.zeros((threads, notes), i64),
        note=note,
    )


def window_room(inputs: Inputs, blocks: np.ndarray, per_window: int) -> np.ndarray:
    """int64[B, arenas, ROOM_COLUMNS]: no room yet, and what the hosts of each block may ask for, `per_window` packets each at a time."""
    room = np.zeros((len(blocks), 2, c.ROOM_COLUMNS), np.int64)
    src, sends = inputs.flows.src, inputs.flows.packets > 0
    for arena, asked in ((c.SLOTS, inputs.window * sends), (c.ROWS, (inputs.window > 0) & sends)):
        until = np.concatenate([[0], np.cumsum(np.bincount(src, asked, inputs.fabric.n_hosts))]).astype(np.int64)
        room[:, arena, c.MOST_A_TIME] = np.diff(blocks[:, HOST])[:, 0] * per_window * asked.max()
        room[:, arena, c.NEVER_ASKED] = np.diff(until[blocks[:, HOST]])[:, 0]
    return room


def places_for(room: np.ndarray) -> list[int]:
    """Places of each arena that all blocks together get at once."""
    return np.minimum(2 * room[:, :, c.MOST_A_TIME], room[:, :, c.NEVER_ASKED]).sum(axis=0).tolist()


def advance(w: World, parallel: bool = False) -> tuple[World, int]:
    """(world, status) when the loop has done what it can, in a thread a block if `parallel`; arrays that turn out too small grow."""
    from ofancore.engine.loop import run_parallel, run_serial

    while True:
        status = run_parallel(tuple(w[:-3]), w.sw, w.hx, w.cs) if parallel else run_serial(w)
        if status == c.NEEDS_ARENA:
            w = grow_arena(w)
        elif status == c.NEEDS_NOTES:
            w = grow_notes(w)
        elif status == c.NEEDS_SLOTS:
            w = grow_windows(w)
        else:
            return w, status


def grow_arena(w: World) -> World:
    """Half as much again of ring memory, after dropping the rings that growth left behind."""
    sizes = 1 << (w.link[:, c.PLACE] & c.PLACE_LOG)
    needed = int(sizes.sum())
    ring = aligned(1, 2 * (needed + needed // 2 + (1 << 14)))[0]
    at = 0
    for l in range(len(w.link)):
        old, size = int(w.link[l, c.PLACE]) >> c.PLACE_BITS, int(sizes[l])
        ring[2 * at : 2 * (at + size)] = w.ring[2 * old : 2 * (old + size)]
        w.link[l, c.PLACE] = (at << c.PLACE_BITS) | (int(w.link[l, c.PLACE]) & c.PLACE_LOG)
        at += size
    w.inbox[:, c.HOME] = w.link[w.in_links, c.PLACE]
    w.clock[c.ARENA_USED] = at
    return w._replace(ring=ring)


def grow_notes(w: World) -> World:
    """Twice as many loss notices."""
    old = len(w.note)
    note = np.zeros((2 * old, c.NOTE_COLUMNS), np.int64)
    note[:old] = w.note
    free_list(note, old, 2 * old, int(w.clock[c.NOTES_FREE]))
    w.clock[c.NOTES_FREE] = old
    return w._replace(note=note, freed=np.zeros((len(w.freed), 2 * old), np.int64))


def grow_windows(w: World) -> World:
    """Room for more windows."""
    used = w.clock[c.SLOTS_USED :][:2].tolist()
    slots, rows = (max(old + more, old * 3 // 2) for old, more in zip(used, places_for(w.room)))
    arrays = {name: enlarged(getattr(w, name), used[c.SLOTS], slots) for name in ("slot", "got", "sacked") if len(getattr(w, name)) > 1}
    return w._replace(**arrays, cs=w.cs._replace(samples=enlarged(w.cs.samples, used[c.ROWS], rows)))


def enlarged(array: np.ndarray, used: int, rows: int) -> np.ndarray:
    """An array of so many rows, of which the first `used` are kept and the rest are 0."""
    new = np.zeros((rows, *array.shape[1:]), array.dtype)
    new[:used] = array[:used]
    return new
