"""The order in which tests run, and fixtures that tests of the command line share."""

from __future__ import annotations

import shutil
from pathlib import Path

import hypothesis
import pytest

# The first call of a kernel compiles it, which takes seconds: no example has a deadline.
hypothesis.settings.register_profile("compiled", deadline=None)
hypothesis.settings.load_profile("compiled")

pytest.register_assert_rewrite("support")

HERE = Path(__file__).parent
LONGEST = (
    "learning/test_stationary_learner.py",
    "domains/test_exact_samples.py",
    "learning/test_stationary_rounds.py",
    "domains/test_exact_truth.py",
    "engines/test_ray.py",
    "learning/test_adact_h.py",
    "cli/test_main.py",
    "data/test_streaming.py",
    "data/test_streaming_memory.py",
    "planning/test_regorl_policies.py",
    "evidence/test_bounds.py",
    "faults/test_killed.py",
    "view/test_explorer_browser.py",
    "engines/test_distributed.py",
    "cli/test_learning_commands_stationary.py",
    "domains/test_exact_distances.py",
    "repository/test_reproduction.py",
    "laws/test_distances.py",
    "lab/test_runner.py",
    "repository/test_readme.py",
    "cli/test_golden_outputs.py",
    "evidence/test_adaptive.py",
    "cli/test_learning_commands.py",
    "cli/test_evaluation_commands.py",
    "cli/test_evaluating_logs.py",
    "domains/test_exact_learned.py",
    "lab/test_reproduce.py",
    "planning/test_off_policy.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that at the end no process waits for another.

    `make test` tells xdist to keep this order; it would go by the number of tests in a file.
    """
    place = {HERE / name: i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(LONGEST)))


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of the one that a module has `made`."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
