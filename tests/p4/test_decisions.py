"""Installed entries decide as the simulator does, packet by packet, in a plain Python data plane."""

import importlib.util
from pathlib import Path

import pytest

from ofancore.p4.cases import cases
from ofancore.p4.sources import sizes
from ofancore.p4.trace import DROPPED

SPEC = importlib.util.spec_from_file_location("dataplane", Path(__file__).with_name("dataplane.py"))
dataplane = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(dataplane)


@pytest.mark.parametrize("case", cases(), ids=lambda c: c.name)
def test_entries_decide_as_the_simulator_does(case):
    trace = case.trace()
    for stage in trace.stages:
        switch = dataplane.DataPlane(
            stage.entries | {"program": case.program},
            sizes(case.radix).hash_bits if case.program == "ecmp" else None,
            tuple(case.radix // 2 + uplink for uplink in stage.dead),
        )
        left = []
        for packet, wanted in zip(stage.packets, stage.outputs, strict=True):
            out, frame = switch.forward(packet.port, packet.frame())
            assert out == (None if wanted == DROPPED else wanted), f"{stage.knows}: {packet}"
            if out is not None:
                left.append(frame)
        assert left == stage.frames
        assert [[index, switch.pointers[index]] for index, _ in stage.positions] == stage.positions
