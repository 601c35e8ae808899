"""Only flows under way have windows: windows are used again, and arenas grow, without changing what happens."""

from itertools import pairwise

import pytest
from reference.twins import differences, run_engine

from ofancore import Scenario
from ofancore.engine import layout as c
from ofancore.engine.world import advance, build_world
from ofancore.prepare import prepare
from ofancore.units import ticks

RECOVERIES = [
    {"kind": "sack"},
    {"kind": "sack", "rto_ns": 5000.0},  # less than a round trip: copies arrive when their flow is done
    {"kind": "sack", "rto_ns": 5000.0, "ack_every_packets": 4},
    {"kind": "trim"},
    {"kind": "go_back_n", "rto_ns": 20_000.0},
    {"kind": "erasure"},
]
RING = {"kind": "ring_all_gather", "message_packets": 40}
MANY = {"kind": "pairs", "pairs": [[s, (s + 5) % 16] for s in range(16) for _ in range(40)], "message_packets": 12}


def scenario(workload, recovery, **keys) -> Scenario:
    rest = {"fabric": {"radix": 4, "buffer_bytes": 30_000}, "balancer": {"kind": "ops"}, "congestion": {"kind": "mswift"}}
    return Scenario.from_dict({**rest, "workload": workload, "recovery": recovery, **keys})


@pytest.mark.parametrize("recovery", RECOVERIES, ids=str)
@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("workload", [RING, MANY], ids=["ring", "many"])
def test_the_twin_agrees(workload, blocks, recovery):
    assert differences(scenario(workload, recovery), blocks) == []


def test_copies_do_arrive_when_their_flow_is_done():
    """Else the cases above would show nothing: by then the last ACK, sent when the flow was whole, is back at the sender."""
    prepared = prepare(scenario(RING, RECOVERIES[1]))
    late = 0
    world = build_world(prepared, 1)
    for at in range(10_000, 400_000, 500):
        before = world.tx[:, c.DONE] >= 0, world.rx[:, c.DUPLICATES].copy()
        world.conf[c.TIME_LIMIT_AT] = ticks(float(at))
        world, _ = advance(world)
        late += (world.rx[before[0], c.DUPLICATES] - before[1][before[0]]).sum()
    assert late > 100


def test_a_ring_needs_windows_for_what_is_under_way():
    world, status = run_engine(prepare(scenario(RING, {"kind": "sack"})))
    assert status == c.FINISHED_ALL
    assert world.room[0, c.SLOTS, c.ROOM_FIRST] < (world.slots[:, 1] + 1).sum() / 3
    assert (world.room[:, :, c.NEVER_ASKED] == 0).all()
    assert (world.slots[:, 0] == -1).all()


@pytest.mark.parametrize("blocks", [1, 3])
def test_arenas_grow(blocks):
    """Forty flows of every host at once, of which a few can start between two barriers."""
    prepared = prepare(scenario(MANY, {"kind": "sack"}))
    first = build_world(prepared, blocks)
    world, status = run_engine(prepared, blocks)
    assert status == c.FINISHED_ALL
    assert len(world.slot) > len(first.slot)
    assert len(world.got) == len(world.slot)
    assert len(world.cs.samples) > len(first.cs.samples)


def test_every_window_comes_back_once():
    """At the end all windows that were ever given are free, none twice, and none overlaps another."""
    world, _ = run_engine(prepare(scenario(MANY, {"kind": "sack"})), 3)
    found, rows = [], []
    for block in range(3):
        for log in range(world.free.shape[1]):
            for chain in (c.READY, c.RESTING):
                at = world.free[block, log, chain]
                while at >= 0:
                    found.append((int(at), int(at) + (1 << log)))
                    rows.append(int(world.slot[at, c.SENT_AT]))
                    at = world.slot[at, c.INFO]
    found.sort()
    assert all(end <= start for (_, end), (start, _) in pairwise(found))
    assert len(set(rows)) == len(rows) == len(found)
    assert 16 < len(found) <= 640
