"""What the tests of the command line share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of the one that a module has `made`."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
