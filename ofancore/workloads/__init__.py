"""The registry of workloads. To add one: write its file and name its class here."""

from __future__ import annotations

from ofancore.workloads.all_to_all import AllToAll
from ofancore.workloads.base import Flows, Workload
from ofancore.workloads.fsdp import Fsdp
from ofancore.workloads.halving_doubling import HalvingDoubling
from ofancore.workloads.htsim_matrix import HtsimMatrix
from ofancore.workloads.incast import Incast
from ofancore.workloads.moe_all_to_all import MoeAllToAll
from ofancore.workloads.pairs import Pairs
from ofancore.workloads.permutation import Permutation
from ofancore.workloads.ring_all_gather import RingAllGather
from ofancore.workloads.ring_all_reduce import RingAllReduce
from ofancore.workloads.ring_reduce_scatter import RingReduceScatter
from ofancore.workloads.two_jobs import TwoJobs

WORKLOADS: dict[str, type[Workload]] = {
    "permutation": Permutation,
    "all_to_all": AllToAll,
    "ring_all_gather": RingAllGather,
    "ring_reduce_scatter": RingReduceScatter,
    "ring_all_reduce": RingAllReduce,
    "halving_doubling": HalvingDoubling,
    "fsdp": Fsdp,
    "moe_all_to_all": MoeAllToAll,
    "incast": Incast,
    "pairs": Pairs,
    "two_jobs": TwoJobs,
    "htsim_matrix": HtsimMatrix,
}

__all__ = ["WORKLOADS", "Flows", "Workload"]
