"""A model file with one wrong value is refused in one line that names it, or harms no command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LAYERED = ("layered", "paper", "no-plan", "adaptive", "prefixes", "sketch", "held-out", "split", "binned")
MODELS = (*LAYERED, "stationary", "cycle", "strict", "discounted")


def tried(share: float, folder: Path, *names: str) -> list[dict[str, object]]:
    """Return for each kind of model how many forged files were used, and the failures."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "fuzz.forged_models", str(share), str(folder / "last"), *names]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    last = (folder / "last").read_text() if (folder / "last").exists() else "the start"
    assert ran.returncode == 0, f"the process ended after {last}\n{ran.stderr[-3000:]}"
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_commands_refuse_or_survive_some_forged_models(tmp_path: Path) -> None:
    (layered, stationary) = tried(0.01, tmp_path, "layered", "stationary")
    for found in (layered, stationary):
        assert not found["failures"], "\n\n".join(map(str, found["failures"]))
        assert found["accepted"] < found["tried"] and found["tried"] >= 40


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_commands_refuse_or_survive_all_forged_models(name: str, tmp_path: Path) -> None:
    (found,) = tried(1, tmp_path, name)
    assert not found["failures"], "\n\n".join(map(str, found["failures"]))
    assert found["accepted"] < found["tried"] and found["tried"] >= 3000
