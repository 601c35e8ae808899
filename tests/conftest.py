"""The order of tests: long ones first, so that workers (`-n 2`) end together.

Groups (`xdist_group`), which one worker runs in order, are given out before all others by pytest-xdist itself, the largest first.
"""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)  # stable: else they stay as they were
