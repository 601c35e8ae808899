"""Names of every column of the engine's arrays. No file of the engine uses a bare column number.

`World` is everything a run touches. All times are ticks (int64). A queue is the time that its own link needs to send it. On a degraded link
that is more for the same bytes; its thresholds (BUFFER, ECN) are longer likewise, while JSQ, DRILL and Spectrum AR compare the times. B is
the number of blocks (one a thread), each of which owns a share of the nodes of every tier and its own scratch rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ofancore.balancers.base import HostState, SwitchState
from ofancore.congestion.base import CongestionState

FOREVER = np.int64(1) << np.int64(62)

# --- link[n_links, LINK_COLUMNS]: one row a directed link, two cache lines: what changes with every packet, and what the link is
(
    FREE,  # time at which all packets handed to the link are sent
    TAIL,  # packets ever appended to its stream
    LIMIT,  # TAIL at which the ring is full, seen from the last barrier
    QUEUE_MAX,  # longest queue seen by an arriving packet since the link has its present rate, ticks
    QUEUE_SUM,  # sum of the queues seen by data packets, ticks; the next column: by ACKs
    _QUEUE_SUM_ACK,
    COUNT,  # data packets sent; the next column: ACKs
    _COUNT_ACK,
    SIZE,  # serialisation time of a data packet; the next column: of an ACK
    _SIZE_ACK,
    GAP,  # time of the inter-packet gap
    DELAY,  # propagation
    BUFFER,  # queue that may build, ticks; negative: the link is dead
    ECN_LOW,  # queue above which data is marked
    ECN_HIGH,  # queue from which all data is marked; between the two the share rises linearly
    PLACE,  # of its ring (`ring_place`)
) = range(16)
LINK_COLUMNS = 16

# --- inbox[n_links, INBOX_COLUMNS]: what the reader of a link knows of it, one row an input, those of a node in order of ports
(
    HEAD,  # packets ever taken from the stream
    SEEN,  # TAIL at the last barrier; what is appended later arrives after the window
    HOME,  # PLACE of the ring
    LOST_AFTER,  # packets that arrive later were on a link that died: lost
) = range(4)
INBOX_COLUMNS = 4
PLACE_BITS = 6  # a ring's place: offset in `ring`, in packets, above the binary logarithm of its capacity
PLACE_LOG = (1 << PLACE_BITS) - 1

# --- tally[n_links, TALLY_COLUMNS]
(
    DROPS,  # packets dropped at its tail
    ECN_MARKS,  # data marked there
    QUEUE_BEFORE,  # QUEUE_MAX when the link's rate changed, in ticks of the rate until then, a healthy link's
) = range(3)
TALLY_COLUMNS = 3

# --- port[n_links, PORT_COLUMNS] (a single row unless control packets are served first): an output with a line for data and one for them
(
    BUSY,  # time at which the packet in service, and its gap, are sent
    SERVED,  # its class: 0 data, 1 control
    FIRST,  # data packets ever taken from their line; the next column: control packets
    _FIRST_CONTROL,
    LAST,  # and put into it
    _LAST_CONTROL,
) = range(6)
PORT_COLUMNS = 8

# --- host[n_hosts, HOST_COLUMNS]
(
    NIC_FREE,  # time at which the NIC can send again
    PACE_NEXT,  # time before which no data may be sent (paced senders)
    CURRENT,  # flow served last in the ring of open flows, -1: none open
    OPEN,  # number of open flows
    READY_FIRST,  # flows that wait for a place among the open ones (a list through tx NEXT)
    READY_LAST,
    ACK_FIRST,  # ACKs ever taken from, and put into, its ACK queue
    ACK_LAST,
    NOTE_FIRST,  # loss notices on their way to it (a list through note NEXT), -1: none
    NOTE_LAST,
    START_NEXT,  # position in `start` of the next flow that starts by time
    START_END,
    SLEEP_FIRST,  # flows that wake by time (a list through tx SLEEP_NEXT, sorted by WAKE_AT), -1: none
    CHECK,  # time at which it next looks for timeouts
    LAST_CHECK,
) = range(15)
HOST_COLUMNS = 16
ACK_QUEUE = 256  # ACKs and NACKs that may wait at a host; they arrive no faster than they leave, but for one data packet's time

# --- tx[n_flows, TX_COLUMNS]: the sender's side of a flow; the first line is all that an open-loop sender needs
(
    TO_SEND,  # erasure: packets it may still send, new ones and replacements of lost ones
    SEQ,  # packets ever sent; erasure: the next sequence number
    ACKED,
    NEXT,  # neighbours in the round of flows that can send; NEXT also links those that wait for a place
    PREV,
    IN_RING,
    DONE,  # time of its last ACK
    STARTED,  # time of its first packet
    WAITS,  # flows that must arrive, or be acknowledged, before it starts; below 0 if it needed some of them only
    HOLD,  # from then to its start
    OPENED,
    ASLEEP,  # its rate forbids it to send until WAKE_AT
    SLEEP_NEXT,
    WAKE_AT,
    FLYING,  # packets sent of which nothing was heard yet
    UNA,  # oldest sequence number not acknowledged
    NEW,  # next sequence number never sent, or in go-back-N to be sent
    HIGH,  # highest one acknowledged; in go-back-N one more than the highest ever sent
    SCAN,  # all before it were looked at for losses
    LOST_PACKETS,  # packets taken for lost that were not sent again yet
    LOST_FROM,  # none of them is before it
    DEADLINE,  # time at which its oldest packet may be timed out, or earlier
    RESENT,
    TIMEOUTS,
    RTT_SINCE,  # start of the present period of recent round trips, each one timeout long
    RTT_MAX,  # longest of them in it
    RTT_BEFORE,  # and in the one before
    RTT_CONGESTED,  # round trip from which losses are put down to congestion
) = range(28)
TX_COLUMNS = 40  # five cache lines: rows of a power of two would share few sets of a cache

# --- rx[n_flows, RX_COLUMNS]: the receiver's side
(
    GOT,
    SEQ_MAX,
    LATE,  # packets behind a later one; LATE_MAX: by how many
    LATE_MAX,
    COMPLETE,  # time of the last data
    CUM,  # all before it have arrived
    DUPLICATES,
    NACKED,  # go-back-N: the sequence number asked for last
    REFUSED,  # go-back-N: packets that came out of order
    PENDING,  # packets since the last ACK
) = range(10)
RX_COLUMNS = 24

# --- slot[n_slots, 2]: a packet in the sender's window, by sequence number modulo the window (`slots`: first slot and mask of a flow)
# Only flows under way have slots (`engine/windows.py`). In the first slot of a window that nobody has, SENT_AT is its row of delay
# samples (`cs.samples`), and INFO the next such window.
SENT_AT, INFO = range(2)  # INFO: state 3 | label 16
STATE_MASK, SLOT_LABEL_AT = 7, 3
FREE_SLOT, ON_WAY, ON_WAY_AGAIN, TAKEN_FOR_LOST, ARRIVED = range(5)  # states
# --- got[n_slots]: the same packet at the receiver: 1 if it arrived, and 2 (CUM + 1) of when it was acknowledged (0: it was not)
# --- sacked[n_slots]: where ACKs are coalesced, which of the SACK_SPAN packets from `sack_base` had arrived then
SACK_SPAN = 64
# --- free[B, sizes, FREE_COLUMNS]: windows that came back to a block, by the binary logarithm of their size; -1: none
(
    READY,  # first of those that may be given
    RESTING,  # first and last of those that came back since the last barrier
    RESTING_LAST,
) = range(3)
FREE_COLUMNS = 3
# --- room[B, arenas, ROOM_COLUMNS]: places that were never given to a flow
SLOTS, ROWS = range(2)  # arenas: slots, rows of delay samples
(
    ROOM_FIRST,  # of the block, and the end of them
    ROOM_END,
    MOST_A_TIME,  # for which its hosts can ask between two barriers
    NEVER_ASKED,  # of its flows that have sent nothing yet
) = range(4)
ROOM_COLUMNS = 4

# --- note[capacity, NOTE_COLUMNS]: what a host is to hear of: losses, by the erasure oracle; and (kind NACK) that a flow elsewhere
# for which one of its own waits has arrived or is acknowledged
NOTE_TIME, NOTE_WORD, NOTE_NODE, NOTE_LINK = range(4)
NOTE_COLUMNS = 4
ARRIVED_WHOLE, ALL_ACKED = range(2)  # what a flow may wait for: lists of `dep_first`

# --- stats[B, STATS_COLUMNS]
(
    HOPS,
    SENT_DATA,
    _SENT_ACK,
    DELIVERED_DATA,
    _DELIVERED_ACK,
    DROPPED_FULL,  # no room in the buffer
    _DROPPED_FULL_ACK,
    DROPPED_DEAD,  # sent into, or on, a dead link
    _DROPPED_DEAD_ACK,
    DROPPED_NO_ROUTE,  # the switch knows of no way
    _DROPPED_NO_ROUTE_ACK,
    DROPPED_AT_RANDOM,
    _DROPPED_AT_RANDOM_ACK,
    REPLACED,  # data packets sent in place of lost ones
    FINISHED,  # flows whose last ACK arrived
    HANDLED,  # packets and sends served in this window (tells an idle window)
    SPILLED,  # rows used in `spill`
    LOST,  # rows used in `lost`
    FREED,  # rows used in `freed`
    FAULT,  # first internal fault, 0: none
    TRIMMED,
) = range(21)
STATS_COLUMNS = 24

# --- clock[CLOCK_COLUMNS]: where the loop stands, so that it can be left and entered again
NOW, PHASE, SPILL_BLOCK, SPILL_ROW, EPOCH, ARENA_USED, NOTES_FREE, CUT_NEXT, LAST_DONE, SLOTS_USED, _ROWS_USED = range(11)
CLOCK_COLUMNS = 12
SERVING, DRAINING, NOTING = range(3)  # PHASE

# --- keys by which a switch sorts what arrives in a window: time in the window | input port 8 | place among the packets gathered 20
PORT_AT, TIME_AT = 20, 28
PLACE_IN_SCRATCH, PORT_MASK = (1 << 20) - 1, 255

# --- status codes of the loop
FINISHED_ALL, TIME_LIMIT, STUCK, NEEDS_ARENA, NEEDS_NOTES, NEEDS_SLOTS, FAULTY = range(7)
# --- faults
FAULT_SPILL, FAULT_LOST, FAULT_ACKS, FAULT_UPLINK = 1, 2, 3, 4

# --- conf[CONF_ENTRIES]: constants of the run
(
    HOST_CODE,
    FRESH_ACKS,  # ACKs draw labels of their own
    PATH_ACKS,  # ACKs take the receiver's own path pointers
    WINDOW,  # at most the lookahead
    NOTICE_DELAY,  # base RTT after which the oracle tells of a loss
    OPEN_LIMIT,  # flows a host keeps open at a time
    TIME_LIMIT_AT,
    BUCKET_SHIFT,
    N_FLOWS,
    N_PODS,
    EDGES_PER_POD,
    HOSTS_PER_EDGE,
    FIRST_EDGE,
    RECOVERY,
    CONGESTION,
    WINDOWED,  # flows have a window
    PACED,  # flows have a rate
    CLOSED,  # what comes back decides when a flow may send
    RTO,
    CHECK_STEP,  # least time between two looks for timeouts
    HEADROOM,  # small packets for which there is room above the buffer
    REORDER,  # SACK's threshold
    ACK_EVERY,  # packets an ACK answers
    PRIORITY,  # control packets are served first
    CONTROL_PLACES,  # of them a port has room for
    DATA_LOG,  # binary logarithms of the places of a port's two lines in `line`
    CONTROL_LOG,
    LOSS,  # probability that a switch loses a packet, in parts of LOSS_UNIT
) = range(28)
LOSS_UNIT = 1 << 30
CONF_ENTRIES = 32


class World(NamedTuple):
    """Everything a run touches; shapes are above."""

    conf: np.ndarray  # int64[CONF_ENTRIES]
    clock: np.ndarray  # int64[CLOCK_COLUMNS]
    stats: np.ndarray  # int64[B, STATS_COLUMNS]
    blocks: np.ndarray  # int64[B, 4, 2]: first and last + 1 node of each tier in a block
    # fabric
    link: np.ndarray  # int64[n_links, LINK_COLUMNS], on a 64-byte boundary
    tally: np.ndarray
    port: np.ndarray
    line: np.ndarray  # int64[2 * places]: (time, word) of what waits, by link: places for data, then for control packets
    inbox: np.ndarray
    ring: np.ndarray  # int64[2 * arena]: arrival time and word of each packet
    in_first: np.ndarray  # int64[n_nodes + 1]
    in_links: np.ndarray  # int64[n_links]: which link an input is
    input_of: np.ndarray  # int64[n_links]: which input a link is
    up: np.ndarray  # int64[n_nodes]
    n_up: np.ndarray  # int64[n_nodes]
    down: np.ndarray  # int64[n_nodes]
    pod: np.ndarray  # int64[n_nodes]: pod of an aggregation switch
    # traffic
    route: np.ndarray  # int64[2 * n_flows]: where data, and ACKs, of a flow go
    packets: np.ndarray  # int64[n_flows]: message size
    tx: np.ndarray
    rx: np.ndarray
    dep_first: np.ndarray  # int64[2 * n_flows + 1]: flows that wait for a flow to arrive, then those that wait for its last ACK
    deps: np.ndarray  # int64[...]
    dep_delay: np.ndarray  # int64[...]: ticks until their host knows; 0: it happens there
    start: np.ndarray  # int64[..., 2]: (time, flow) of flows that start by time, sorted per host
    own_first: np.ndarray  # int64[n_hosts + 1]: flows that a host sends
    own: np.ndarray  # int64[n_flows], ascending within a host
    slots: np.ndarray  # int64[n_flows, 2] (a single row where no recovery needs them); first -1: the flow has no window
    slot: np.ndarray
    got: np.ndarray  # int64[n_slots]
    sacked: np.ndarray  # int64[n_slots] (one entry unless ACKs are coalesced)
    free: np.ndarray
    room: np.ndarray
    host: np.ndarray
    acks: np.ndarray  # int64[n_hosts, ACK_QUEUE]: packet words
    # failures
    cuts: np.ndarray  # int64[n_cuts, 2]: (time, epoch entered); epoch 1: links change, 2: neighbours know, 3: all know
    change: np.ndarray  # int64[n_changes, LINK_COLUMNS]: link rows after the failure, from SIZE to ECN_HIGH
    changed: np.ndarray  # int64[n_changes]: which links
    sched_of: np.ndarray  # int32[2 or 0, entries]: schedule by (knowledge, switch, group); -1: no failure matters. Row 0: what
    #                       neighbours of the failure know, row 1: what all know
    sched_first: np.ndarray  # int64[n_nodes]: first entry of a switch
    pace: np.ndarray  # int64[2]: ticks between data packets of a host, before and after the failure
    # scratch
    keys: np.ndarray  # int64[B, 2, node capacity]
    words: np.ndarray  # int64[B, node capacity]: packet words, with the sign bit set for one lost on a dying link
    buckets: np.ndarray  # int32[B, n_buckets + 1]
    spill: np.ndarray  # int64[B, rows, 3]: (link, arrival, word) that found the ring full
    lost: np.ndarray  # int64[B, rows, NOTE_COLUMNS]
    freed: np.ndarray  # int64[B, rows]: notices consumed
    note: np.ndarray  # int64[capacity, NOTE_COLUMNS]; NOTE_LINK links a host's notices and the free ones
    # strategies; last, since a parallel loop captures tuples of arrays only and puts the world together anew
    sw: SwitchState
    hx: HostState
    cs: CongestionState
