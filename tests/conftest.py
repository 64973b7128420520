"""The order of all tests, and what those of the command line share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

LONGEST = ("test_readme.py", "test_reproducing.py", "test_policies_reached.py", "test_cli_policies.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that at the end no process waits for another."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of the one that a module has `made`."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
