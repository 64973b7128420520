"""The order of all tests, and what those of the command line share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

LONGEST = (
    "test_tying.py",
    "test_exact.py",
    "test_cluster.py",
    "test_learner.py",
    "test_cli.py",
    "test_outofcore.py",
    "test_policies_reached.py",
    "test_bounds.py",
    "test_killed.py",
    "test_explorer_browser.py",
    "test_scattered.py",
    "test_stationary_models.py",
    "test_reproduction.py",
    "test_distances.py",
    "test_lab_running.py",
    "test_readme.py",
    "test_golden_outputs.py",
    "test_adaptive.py",
    "test_cli_policies.py",
    "test_exact_learned.py",
    "test_reproducing.py",
    "test_offpolicy.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that at the end no process waits for another.

    `make test` tells xdist to keep this order; it would go by the number of tests in a file.
    """
    place = {name: i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(LONGEST)))


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of the one that a module has `made`."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
