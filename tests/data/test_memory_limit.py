"""What is done with a model keeps to the memory limit: tables are small, or refused before they are made."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import suffice as package
from suffice.data.memory_limit import SMALL, limit_memory, memory_limit, require_memory, resident_bytes
from suffice.errors import MemoryLimitError, SettingsError
from suffice.models.model import Model
from suffice.planning.controller import Controller
from suffice.planning.off_policy import evaluate_off_policy
from support.cli import suffice
from support.confined import confined
from support.wide_models import wide_log, wide_model, write_wide_log

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited here")


def made(folder: Path, episodes: int, steps: int, states: int, observations: int, *, stationary: bool = False) -> Path:
    """Write a model and a log of the same process into a folder."""
    write_wide_log(folder / "log.parquet", wide_log(30, steps, states, observations, seed=1))
    return wide_model(
        folder / "a.model", wide_log(episodes, steps, states, observations), states, stationary=stationary
    )


def assert_works(megabytes: int, command: str, model: Path, *options: str) -> None:
    ran = confined(megabytes, command, str(model), *options, "--memory", f"{megabytes}MB")
    assert (ran.returncode, ran.stderr) == (0, ""), command


@on_linux
def test_explore_keeps_the_memory_limit_with_many_states_and_letters(tmp_path: Path) -> None:
    """States are compared with those of their layer, without tables of all states: 500 MB before, 310 now."""
    model = made(tmp_path, 4000, 8, 250, 500)
    assert_works(400, "explore", model, "-o", str(tmp_path / "a.html"))


@on_linux
def test_evaluate_keeps_the_memory_limit_over_long_horizons(tmp_path: Path) -> None:
    """The layers of a stationary automaton share their rows: 640 MB before, 340 now."""
    model = made(tmp_path, 300, 1500, 30, 60, stationary=True)
    assert_works(450, "evaluate", model, "--log", str(tmp_path / "log.parquet"))


@on_linux
@pytest.mark.long
@pytest.mark.parametrize("stationary", [False, True])
def test_commands_keep_the_memory_limit_with_large_models(tmp_path: Path, stationary: bool) -> None:
    """Layers: 10,000 states x 1,500 letters, 160 MB; stationary: 120,000 unrolled states x 300 letters."""
    size = (300, 3000, 40, 60) if stationary else (20_000, 20, 500, 300)
    model, page = made(tmp_path, *size, stationary=stationary), str(tmp_path / "a.html")
    assert_works(600, "evaluate", model, "--log", str(tmp_path / "log.parquet"))
    assert_works(600, "report", model, "-o", page)
    assert_works(600, "explore", model, "-o", page)
    assert_works(600, "draw", model, "-o", str(tmp_path / "a.svg"))
    assert_works(600, "info", model, "--states")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model whose tables are larger than what is never refused."""
    return made(tmp_path_factory.mktemp("large"), 2000, 5, 200, 700)


COMMANDS = (
    "info {model}",
    "info {model} --states",
    "draw {model} -o {folder}/a.svg",
    "report {model} -o {folder}/a.html",
    "explore {model} -o {folder}/a.html",
    "evaluate {model} --domain t-maze",
    "evaluate {model} --log {log}",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_a_model_larger_than_the_memory_limit(large: Path, tmp_path: Path, command: str) -> None:
    words = command.format(model=large, folder=tmp_path, log=large.with_name("log.parquet")).split()
    ran = suffice(*words, "--memory", "100MB")
    assert (ran.code, ran.out) == (2, "") and not list(tmp_path.iterdir())
    named = r": the model needs about \d+\.\d MB beside the .* in use, more than the 0\.1 GB .* Raise --memory\.\n"
    assert re.fullmatch("suffice: " + re.escape(str(large)) + named, ran.err)
    assert suffice(*words, "--memory", "100 horses").err.startswith("suffice: --memory '100 horses' is not a size")


def test_limit_memory_refuses_tables_before_they_are_made(large: Path) -> None:
    model, log = Model.load(large), wide_log(3000, 5, 200, 700, seed=1)
    alphabet = wide_log(1, 5, 200, 4000).alphabet
    with limit_memory(resident_bytes() + 2 * SMALL):
        with pytest.raises(
            MemoryLimitError,
            match=r"^a policy of 1,\d+ memories .* needs about .*\. Raise the limit with suffice\.limit_memory\.$",
        ):
            Controller.on_automaton(model.planned, alphabet, model.required_plan().actions)
        with pytest.raises(
            MemoryLimitError, match=r"^a page with 1,002 states and .* or draw the automaton instead\.$"
        ):
            model.explore()
        many = log.columns(np.tile(np.arange(log.n), 20))
        with pytest.raises(MemoryLimitError, match=r"^the evaluation of .* steps .* or evaluate on fewer episodes\.$"):
            evaluate_off_policy(model.planned, model.required_plan(), many)


def test_limit_memory_holds_within_its_block() -> None:
    usual = memory_limit()
    with package.limit_memory("1GB"):
        assert memory_limit() == 10**9
        with limit_memory(None):
            assert memory_limit() == 10**9
    assert memory_limit() == usual
    with limit_memory(1_000_000):
        require_memory(SMALL, "a small table")
        with pytest.raises(
            MemoryLimitError, match=r"^a table needs about 16\.8 MB beside the .* may take\. Raise the limit"
        ):
            require_memory(SMALL + 1, "a table")
    with pytest.raises(SettingsError, match="is not a size"), limit_memory("much"):
        pass
