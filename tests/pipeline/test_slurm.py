"""The pipeline on a cluster: profiles/slurm as it is, on a real Slurm of one node (see slurm.py), where one job is killed.

`python -m pytest -q -n0 tests/pipeline/test_slurm.py` as root, with slurm-wlm and munge installed; else it is skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from pipeline.checkout import CONFIG, Checkout
from pipeline.slurm import Slurm, what_is_missing

from ofancore import cli, nodes
from ofancore.jit import CACHE

pytestmark = [pytest.mark.pipeline, pytest.mark.slow]

# For this Slurm only: it has no accounts and no accounting, and is asked often.
OPTIONS = ("--slurm-no-account", "--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "5",
           "--latency-wait", "5")  # fmt: skip


def grid(kinds: tuple[str, ...] = ("ops", "ofan")) -> dict:
    """Two experiments and two figures."""
    config = json.loads(json.dumps(CONFIG))
    tiny, figure = config["experiments"]["tiny"] | {"schemes": list(kinds)}, config["figures"]["fig_new"]
    return config | {
        "schemes": {kind: {"kind": kind} for kind in kinds},
        "experiments": {"tiny": tiny, "tiny_closed": tiny | {"scenario": {"fabric": {"radix": 4}, "recovery": {"kind": "sack"}}}},
        "figures": {"fig_new": figure, "fig_again": figure | {"experiments": ["tiny", "tiny_closed"]}},
    }


def prepare(checkout: Checkout) -> Checkout:
    (checkout.folder / "workflow/report/fig_again.rst").write_text("Another.\n")
    checkout.configure(grid())
    return checkout


def test_jobs_are_put_together(tmp_path):
    """Also where there is no Slurm: as profiles/slurm says, 12 at most."""
    pytest.importorskip("snakemake_executor_plugin_slurm")
    cluster = prepare(Checkout(tmp_path, "slurm", ()))
    cluster.configure(grid(("ecmp", "ops", "reps", "host_rr", "rsq", "switch_rr", "ofan")))
    plan = cluster.run("--dry-run")
    groups = re.split(r"^\[.*\] (?=Group)", plan, flags=re.MULTILINE)[1:]
    assert sorted((group.split()[2], len(re.findall(r"^ +Job \d+: (?:Simulating|Drawing)", group, re.MULTILINE))) for group in groups) == [
        ("figures", 2), ("runs", 2), ("runs", 12)
    ]  # fmt: skip


def results(checkout: Checkout) -> dict[str, bytes]:
    files = [path for path in (checkout.folder / "out").rglob("*.*") if path.suffix not in (".log", ".ipynb", ".compiled", ".yaml")]
    return {str(path.relative_to(checkout.folder)): path.read_bytes() for path in files if ".progress" not in path.parts}


def test_a_cluster_makes_the_same_bytes_and_survives_a_killed_job(tmp_path):
    if missing := what_is_missing():
        pytest.skip(missing)
    pytest.importorskip("snakemake_executor_plugin_slurm")
    here, there = (tmp_path / name for name in ("here", "there"))
    here.mkdir()
    there.mkdir()
    local = prepare(Checkout(here))
    with Slurm() as slurm:
        environment = slurm.environment | {"OFAN_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_NUM_THREADS": "1"}
        cluster = prepare(Checkout(there, "slurm", OPTIONS, **environment))
        if CACHE is not None:  # compiling takes most of a minute, and is not what is tested
            assert cli.main(["warmup"]) == 0
            shutil.copytree(CACHE, tmp_path / "cache" / nodes.cpu() / CACHE.name)
        with (tmp_path / "slurm.txt").open("w") as out:
            process = subprocess.Popen(cluster.command(), cwd=there, env=cluster.environment, stdout=out, stderr=out)
            try:
                killed = kill_one(slurm, cluster, process)
                local.run()
                assert process.wait(600) == 0, said(tmp_path) + slurm.logs()
            finally:
                process.kill()
                process.wait()
        text = said(tmp_path)
        jobs = [line.split("|") for line in slurm("squeue", "-h", "--states=all", "--sort=i", "-o", "%k|%i|%T|%C|%l").split()]
    # A job's minutes are those of all that it runs: of a run two to start, one to simulate, and as much again in a second attempt.
    assert ["rule_animation", "COMPLETED", "1", "10:00"] in [[name, *rest] for name, _, *rest in jobs], text
    jobs = [job for job in jobs if job[0] != "rule_animation"]
    assert [(name, *rest) for name, _, *rest in jobs] == [
        ("rule_warmup", "COMPLETED", "1", "10:00"),
        ("rule_runs_run", "FAILED", "1", "12:00"),
        ("rule_runs_run", "COMPLETED", "1", "24:00"),
        ("rule_figures_figure_fig_again_figure_fig_new", "COMPLETED", "1", "10:00"),
    ], text
    assert jobs[1][1] == killed
    assert "Trying to restart" in text
    # nothing is missing, and all is the same
    assert results(cluster) == results(local)
    assert len([name for name in results(cluster) if name.endswith(".parquet")]) == 4
    assert "Nothing to be done" in local.run()


def kill_one(slurm: Slurm, cluster: Checkout, process: subprocess.Popen) -> str:
    """Kill all processes of a job that has made one of its runs and not yet all; its number."""
    end = time.monotonic() + 600
    while process.poll() is None and time.monotonic() < end:
        if any((cluster.folder / "out/raw").rglob("*.parquet")):
            running = slurm("squeue", "-h", "-t", "running", "-o", "%i|%k").split()
            found = [line.split("|")[0] for line in running if "rule_runs" in line]
            assert found, running
            for line in slurm("scontrol", "listpids", found[0]).splitlines()[1:]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(line.split()[0]), signal.SIGKILL)
            return found[0]
        time.sleep(0.1)
    raise AssertionError(f"no job had made a run: {slurm.logs()}")


def said(folder) -> str:
    return (folder / "slurm.txt").read_text()[-6000:]
