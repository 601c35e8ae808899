"""The registry of workloads. To add one: write its file and name its class here."""

from __future__ import annotations

from ofancore.workloads.all_to_all import AllToAll
from ofancore.workloads.base import Flows, Workload
from ofancore.workloads.fsdp import Fsdp
from ofancore.workloads.pairs import Pairs
from ofancore.workloads.permutation import Permutation
from ofancore.workloads.ring_all_gather import RingAllGather

WORKLOADS: dict[str, type[Workload]] = {
    "permutation": Permutation,
    "all_to_all": AllToAll,
    "ring_all_gather": RingAllGather,
    "fsdp": Fsdp,
    "pairs": Pairs,
}

__all__ = ["WORKLOADS", "Flows", "Workload"]
