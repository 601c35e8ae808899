"""What the pipeline asks of a cluster: how jobs are put together, how long and how much memory they may take, where machine code lies.

On one machine none of it counts. Limits are generous, since a job that meets one is killed: minutes are several times those expected
(a node may be slow, or have to compile), and both grow with each attempt.
"""

from __future__ import annotations

import functools
import hashlib
import math
from pathlib import Path

from ofancore.plan import Group, expand, hosts, seconds, training_flows

LONG_SECONDS = 60.0  # run groups that should take longer are jobs of their own
SLOWER = 4  # times that a node may take what a run group should


@functools.cache
def _seconds(text: str) -> float:
    return seconds(Group.from_json(text))


def group_of(group: Group) -> str:
    """The name under which jobs of the scheduler are put together: `runs`, so many of which make a job, or `long_runs`."""
    return "long_runs" if _seconds(group.to_json()) > LONG_SECONDS else "runs"


def minutes(group: Group, attempt: int) -> int:
    """A limit for the run group's time, with two minutes to start and to compile; jobs put together have the sum."""
    return attempt * (2 + math.ceil(SLOWER * _seconds(group.to_json()) / 60))


@functools.cache
def _memory_mb(text: str) -> int:
    return math.ceil(max(hosts(s) / 50 + training_flows(s) / 800 for s in expand(Group.from_json(text), seeds=1)))


def memory_mb(group: Group, attempt: int) -> int:
    """A limit for the run group's memory: a process needs 0.5 GB, its largest run about 20 kB a host and 1 kB a flow of a long ring."""
    return attempt * (2000 + _memory_mb(group.to_json()))


def cpu() -> str:
    """Name and digest of the features of this machine's processor, as numba compiles for it."""
    from llvmlite import binding
    from numba import config

    name = config.CPU_NAME or binding.get_host_cpu_name()
    features = binding.get_host_cpu_features().flatten() if config.CPU_FEATURES is None else config.CPU_FEATURES
    return f"cpu-{name}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"


def cache_folder(used: Path | None) -> str | None:
    """Where jobs on this node keep machine code (OFAN_CACHE_DIR), seen from the folder that this process uses; None if it has none.

    Nodes that share a home may differ. numba keeps code for several processors side by side, but two of them that write at the same time
    can take the same file name, and code for another processor is a crash. So each kind of processor has a folder. Writers of one
    kind write the same, each file under another name first.
    """
    if used is None:
        return None
    root = used.parent
    return str(root if root.name == cpu() else root / cpu())
