"""A model file with one wrong value is refused in one line that names it, or harms no command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import suffice
from faults.forging import read, write
from fuzz import forged_models
from fuzz.forged_models import forgeries, problem_with
from fuzz.targets import episodes
from suffice.data.logs.writing import write_log

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


@pytest.mark.parametrize(
    ("model", "forgery"),
    [
        ("layered", "header.json plan/behaviour_error = -1e+308"),
        ("layered", "header.json promise/second_split = -1e+308"),
        ("layered", "plan_values.npy [0] = 1e+308"),
        ("layered", "letters.npy as u8"),
        ("layered", "counts.npy all 0"),
        ("cycle", "counts.npy all 0"),
        ("cycle", "header.json steps = 9223372036854775807"),
        ("cycle", "header.json steps = 2147483647"),
    ],
)
def test_commands_refuse_or_survive_forgeries_that_once_failed(model: str, forgery: str, tmp_path: Path) -> None:
    path, log = tmp_path / "a.model", tmp_path / "log.csv"
    write_log(episodes(200), log)
    suffice.learn(log, **forged_models.MODELS[model]).save(path)
    contents = read(path)
    if forgery.endswith("2147483647"):
        contents["header.json"]["steps"] = 2**31 - 1
    else:
        next(one for one in forgeries(contents) if one.name == forgery).change(contents)
    write(path, contents)
    accepted, problem = problem_with(path, log)
    assert not problem and accepted == forgery.endswith("2147483647")


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_commands_refuse_or_survive_all_forged_models(name: str, tmp_path: Path) -> None:
    (found,) = tried(1, tmp_path, name)
    assert not found["failures"], "\n\n".join(map(str, found["failures"]))
    assert found["accepted"] < found["tried"] and found["tried"] >= 3000
