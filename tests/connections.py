"""Connection matrices for tests: their text, and scenarios and flows of it."""

from __future__ import annotations

from scenarios import matrix_file

from ofancore.prepare import prepare
from ofancore.scenario import Scenario

# Two messages under way at a time, over a list of five.
WINDOW = ["0->2 start 0 size 1228800 send_done_trigger 1", "0->4 start 0 size 4096 send_done_trigger 1"]
WINDOW += [f"0->{dst} trigger 1 size 4096 send_done_trigger 1" for dst in (6, 8, 10)] + ["trigger id 1 multishot"]


def scenario(text, radix=4, **keys):
    workload = {"kind": "htsim_matrix", "file": matrix_file(text)}
    return Scenario.from_dict({"fabric": {"radix": radix}, "workload": workload, **keys})


def flows_of(text, **keys):
    return prepare(scenario(text, **keys)).flows


def body(*lines, triggers=None):
    """A matrix of 16 hosts with these lines."""
    connections = sum("->" in line for line in lines)
    triggers = len(lines) - connections if triggers is None else triggers
    return "\n".join(["Nodes 16", f"Connections {connections}", f"Triggers {triggers}", *lines])
