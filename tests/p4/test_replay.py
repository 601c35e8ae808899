"""BMv2 decides as the simulator does, packet by packet: its recorded outputs against traces made here.

A record of other sources fails: replay again (`ofancore p4-replay`, with p4c-bm2-ss, simple_switch and simple_switch_CLI on the PATH).
"""

import json
from collections import Counter
from functools import cache

import pytest

from ofancore.p4 import bmv2
from ofancore.p4.cases import FOLDER, cases
from ofancore.p4.packets import REFUSED, ROUTED, checksum
from ofancore.p4.sources import digest
from ofancore.p4.trace import DROPPED

CASES = {case.name: case for case in cases()}


@cache
def trace(name: str):
    return CASES[name].trace()


@pytest.mark.parametrize("name", CASES)
def test_bmv2_decided_as_the_simulator_does(name):
    case = CASES[name]
    record = json.loads(case.path.read_text())
    assert record["source"] == digest(case.program, "v1model", case.radix), f"{name} was recorded with other P4 sources"
    stages = trace(name).stages
    assert len(record["stages"]) == len(stages)
    for said, stage in zip(record["stages"], stages):
        wanted = bmv2.expected(stage)
        wrong = [i for i, (a, b) in enumerate(zip(said["outputs"], wanted.outputs, strict=True)) if a != b]
        assert not wrong, f"{stage.knows}: packet {wrong[0]} ({stage.packets[wrong[0]]}) and {len(wrong) - 1} more"
        assert said["frames"] == wanted.frames, f"{stage.knows}: frames differ"
        assert said["pointers"] == wanted.pointers, f"{stage.knows}: pointers differ at the end"


def test_nothing_but_records_of_cases_is_kept():
    assert {path.stem for path in FOLDER.glob("[!.]*")} <= set(CASES)


@pytest.mark.p4
@pytest.mark.skipif(bool(bmv2.missing()), reason="needs p4c-bm2-ss, simple_switch and simple_switch_CLI")
@pytest.mark.parametrize("name", ["pofan-r8-edge"])
def test_a_replay_gives_what_was_recorded(name):
    assert bmv2.replay(trace(name))["stages"] == json.loads(CASES[name].path.read_text())["stages"]


# --- what the traces hold


@pytest.mark.parametrize("name", ["ofan-r8-edge", "ofan-r12-agg", "pofan-r12-edge", "pofan-r8-agg"])
def test_traces_cover_what_they_should(name):
    case = CASES[name]
    t = trace(name)
    kinds = Counter(p.kind for stage in t.stages for p in stage.packets)
    assert set(kinds) == {*REFUSED, *ROUTED}
    for stage in t.stages:
        outs = Counter(stage.outputs)
        assert set(outs) >= set(range(case.radix // 2)), "all ports below"
        assert {p.port % 4 for p, out in zip(stage.packets, stage.outputs) if out >= case.radix // 2} == {0, 1, 2, 3}, "every pipe"
    lengths = [
        {row["params"]["last"] + 1 for row in stage.entries["tables"]["SwitchIngress.forward.schedule.schedule"]} for stage in t.stages
    ]
    assert lengths[0] == {case.radix // 2}
    assert any(n & (n - 1) for n in lengths[-1]), "a length that is no power of two"
    assert [stage.knows for stage in t.stages] == ["nothing", "neighbours", "everybody"]
    # pointers wrapped: more packets to one group, size bin and pipe than its schedule has slots
    for stage in t.stages:
        up = Counter(
            (p.dst >> 4, p.total_bytes < 256, p.port % 4) for p, out in zip(stage.packets, stage.outputs) if out >= case.radix // 2
        )
        assert up.most_common(1)[0][1] > case.radix // 2


def test_no_pointer_is_moved_by_a_packet_that_is_not_sprayed():
    """The same trace without the packets that are not sprayed leaves the pointers alike."""
    from ofancore.p4.entries import Entries
    from ofancore.p4.switches import view
    from ofancore.p4.trace import Stage, run

    t = trace("pofan-r8-edge")
    whole = t.stages[0]
    seen = view("pofan", 8, "edge:0:1", 1, CASES["pofan-r8-edge"].failures)
    table = Entries(seen, "v1model", "nothing")
    sprayed = [p for p, out in zip(whole.packets, whole.outputs) if out >= 4]
    part = Stage("nothing", (), sprayed, {})
    run(seen, table, part)
    assert part.positions == whole.positions
    assert part.outputs == [out for out in whole.outputs if out >= 4]


def test_a_dead_uplink_is_passed_over():
    for program in ("ofan", "pofan", "ecmp"):
        (stage,) = trace(f"{program}-r8-edge-dead").stages
        (dead,) = stage.dead
        assert 4 + dead not in stage.outputs
        assert {4, 5, 6, 7} - {4 + dead} <= set(stage.outputs)


def test_refused_packets_do_not_leave():
    for stage in trace("ofan-r8-edge").stages:
        for packet, out in zip(stage.packets, stage.outputs):
            if packet.kind in REFUSED:
                assert out == DROPPED
        assert len(stage.frames) == sum(out != DROPPED for out in stage.outputs)


def test_frames_are_what_they_say():
    packets = trace("ofan-r8-edge").stages[0].packets
    for packet in packets[:300]:
        frame = packet.frame()
        if packet.kind in ROUTED:
            assert checksum(frame[14:34]) == 0
            assert len(frame) == 14 + packet.total_bytes
            assert checksum(packet.routed(None)[14:34]) == 0
            assert packet.routed(None)[22] == frame[22] - 1
