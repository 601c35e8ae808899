"""Every number of a result is explained, and nothing else is."""

from __future__ import annotations

import pytest

from ofancore import Scenario, glossary, simulate
from ofancore.fabric import LINK_CLASSES


@pytest.mark.parametrize(
    "workload", [{"kind": "permutation", "message_packets": 4}, {"kind": "fsdp", "message_packets": 4, "phase": "step"}]
)
def test_names_are_those_of_a_result(workload):
    result = simulate(Scenario.from_dict({"fabric": {"radix": 4}, "workload": workload}))
    assert list(glossary.METRICS) == list(result.values)
    assert list(glossary.FLOWS) == list(result.flows)
    assert list(glossary.LINK_ROWS) == list(result.links)
    assert list(glossary.LINKS) == list(LINK_CLASSES)
    for name, parts in (("drops", result.drops), ("packets", result.packets), ("pointers_per_switch", result.pointers_per_switch)):
        assert all(f"`{part}`" in glossary.METRICS[name][1] for part in parts)
    for collective in result.collectives:
        assert all(f"`{part}`" in glossary.METRICS["collectives"][1] for part in collective)


def test_what_the_words_say_of_links_holds():
    """Packets enter a link at its tail; a link is free when its last packet's slot has ended; hosts have no queue."""
    workload = {"kind": "pairs", "pairs": [[0, 15]], "message_packets": 3}
    result = simulate(Scenario.from_dict({"fabric": {"radix": 4}, "balancer": {"kind": "ecmp"}, "workload": workload}))
    links = result.links
    used = links[links["data"] > 0]
    assert list(used["class"]) == [0, 1, 2, 3, 4, 5]
    assert used["tail"].iloc[0] == 0
    assert used["head"].iloc[-1] == 15
    assert list(used["head"].iloc[:-1]) == list(used["tail"].iloc[1:])
    assert (used["data"] == 3).all()
    assert used["free_ns"].is_monotonic_increasing
    assert result.queue_max_bytes["host_edge"] == 0
    flow = result.flows.iloc[0]
    assert flow["started_ns"] < flow["complete_ns"] < flow["done_ns"] == result.cct_ns
    assert flow["complete_ns"] == result.last_data_ns
    gap_ns = 20 * 8 / 800
    assert used["free_ns"].iloc[-1] + 500 - gap_ns == pytest.approx(flow["complete_ns"])
