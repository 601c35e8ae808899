"""What several processes that share the tests (`-n 2`) do once, the order of tests, and which of them stay together."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Files whose tests share what takes long to make: one process each. (pytest-xdist's own groups have no effect with pytest 9.2, where the
# name that it gives to a test is not kept.)
TOGETHER = ("tests/pipeline/test_pipeline.py", "tests/unit/test_report_browser.py")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Where several processes share the tests, the simulator is compiled once, before them: each of them would do the same."""
    option = session.config.option
    if getattr(option, "numprocesses", None) and not option.collectonly and not hasattr(session.config, "workerinput"):
        jobs = [subprocess.Popen([sys.executable, "-m", "ofancore", "warmup", "--threads", threads]) for threads in ("1", "2")]
        for job in jobs:
            job.wait()  # if it fails, so will tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, so that processes end together; else they stay as they are."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        """Tests one by one, but for those files, which are given out first: the largest units are."""

        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if file in TOGETHER else nodeid

    return Together(config, log)
