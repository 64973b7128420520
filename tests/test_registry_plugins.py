"""Entry points of an installed package that adds a bound, a statistic, a family, an engine and a domain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = '''
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from suffice.domains.domain import Domain, surely, uniformly
from suffice.engines.engine import Local
from suffice.evidence.bounds import Bound
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.languages import Family
from suffice.evidence.measures import FrequencyDifference
from suffice.evidence.statistic import Statistic


@dataclass(frozen=True, slots=True)
class Half(Bound):
    """Distinct if frequencies differ by one half."""

    name: ClassVar[str] = "half"
    measure: ClassVar[FrequencyDifference] = FrequencyDifference()

    def threshold(self, n1, n2, size, delta, estimates=False):
        return np.full(len(n2), 0.5)


@dataclass(frozen=True, slots=True)
class OneStep(Statistic):
    """X_111."""

    name: ClassVar[str] = "one-step"

    @classmethod
    def of(cls, options):
        return cls()

    def plan(self, log, bound, memory):
        return LanguageCounts(Family(1, 1, 1)).plan(log, bound, memory)


@dataclass(frozen=True)
class Coin(Domain):
    """Guess what was shown one step earlier."""

    sides: int = 2
    DEFAULT_HORIZON = 2
    features = ("side",)

    @property
    def all_actions(self):
        return tuple(range(self.sides))

    def start(self):
        return uniformly([(side, (side,), 0) for side in range(self.sides)])

    def step(self, state, action):
        return surely(state, (-1,), int(action == state))


HALF, PAIRS, LOCALLY = Half(), Family(1, 2, 1), lambda options: Local()
'''
ENTRY_POINTS = """
[suffice.bounds]
half = plugin:HALF
broken = no_such_module:BROKEN

[suffice.statistics]
one-step = plugin:OneStep.of

[suffice.families]
pairs = plugin:PAIRS

[suffice.domains]
coin = plugin:Coin

[suffice.engines]
here = plugin:LOCALLY
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with a package and the metadata that an installer writes."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "plugin.py").write_text(MODULE)
    info = folder / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coin-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "work").mkdir()
    return folder


def run(folder: Path, *words: str, installed: bool = True, code: int = 0) -> str:
    """Return what a command prints, in a process with or without the package."""
    environment = os.environ | ({"PYTHONPATH": str(folder)} if installed else {})
    done = subprocess.run(
        [sys.executable, "-m", "suffice", *words],
        cwd=folder / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def model(installed: Path) -> str:
    run(installed, "simulate", "coin", "--set", "sides=3", "--episodes", "2000", "--horizon", "3", "-o", "log.parquet")
    run(installed, "learn", "log.parquet", "--bound", "half", "--engine", "here", "-o", "half.model")
    return "half.model"


def test_command_line_uses_plugin_bound_statistic_and_family(installed: Path, model: str) -> None:
    about = json.loads(run(installed, "info", model, "--json"))
    assert about["bound"] == "half" and about["layers"][1] == 3
    assert "half" in run(installed, "info", model, "--decisions", "3")
    run(installed, "learn", "log.parquet", "--like", model, "-o", "again.model")
    assert (installed / "work/again.model").read_bytes() == (installed / "work" / model).read_bytes()
    for option, name, key in (("--metric", "one-step", "metric"), ("--family", "pairs", "family")):
        run(installed, "learn", "log.parquet", option, name, "-o", "other.model")
        assert json.loads(run(installed, "info", "other.model", "--json"))[key] in (name, "1,2,1")


def test_plugin_domain_is_listed_and_evaluated(installed: Path, model: str) -> None:
    assert "coin" in run(installed, "domains")
    found = json.loads(run(installed, "evaluate", model, "--domain", "coin", "--set", "sides=3", "--exact", "--json"))
    assert found["optimal_value"] == 3.0 and found["mean_return"] > found["behaviour"]["mean_return"]


def test_info_shows_a_model_without_its_plugin_but_learn_like_refuses_it(installed: Path, model: str) -> None:
    assert json.loads(run(installed, "info", model, "--json", installed=False))["bound"] == "half"
    for words in (("info", model, "--decisions", "3"), ("report", model, "-o", "report.html")):
        run(installed, *words, installed=False)
    assert "'half' is not installed here" in run(installed, "info", model, "--decisions", "3", installed=False)
    said = run(installed, "learn", "log.parquet", "--like", model, "-o", "again.model", installed=False, code=2)
    assert "'half' is not a bound. " in said and said.count("\n") == 1


def test_learn_refuses_a_plugin_that_cannot_be_loaded(installed: Path, model: str) -> None:
    said = run(installed, "learn", "log.parquet", "--bound", "broken", "-o", "broken.model", code=2)
    assert said.startswith("suffice: the bound 'broken' of package 'coin-plugin' cannot be loaded (ModuleNotFoundError")
    assert said.count("\n") == 1
    assert "two-sample" in run(installed, "learn", "log.parquet", "--bound", "hlf", "-o", "broken.model", code=2)


def test_plugin_bound_becomes_a_lab_learner_but_not_part_of_stored_studies(installed: Path) -> None:
    (installed / "plugin-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS.replace("broken =", "# broken ="))
    said = run(installed, "exact", "coin", "--horizon", "2")
    assert "half" in said and "not available" in said
    code = (
        "from suffice.lab.curves import levels, needs, recovery\n"
        "from suffice.lab.learners import find\n"
        "import numpy as np, suffice\n"
        "assert 'conjunctions/half' not in levels.LEVEL_LEARNERS\n"
        "assert len(recovery.experiments(False)) > 0 and len(needs.experiments(True)) > 0\n"
        "episodes = suffice.make('coin').simulate(300, 2, np.random.default_rng(0))\n"
        "assert find('conjunctions/half', episodes, 0.01).states > 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
