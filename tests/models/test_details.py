"""`model.why()` has the evidence that `suffice learn --why` prints."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice.errors import naming_options
from support.cli import ok


def unwrapped(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("stationary", [False, True])
def test_why_returns_what_learn_prints_with_why(
    stationary: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    episodes = suffice.make("t-maze", length=2).simulate(1500, 4, np.random.default_rng(3))
    suffice.write_log(episodes, "log.parquet")
    printed = ok("learn", "log.parquet", "-o", "a.model", "--why", *(["--stationary"] if stationary else []))
    with naming_options():
        why = suffice.load("a.model").why()
    assert unwrapped(why) in unwrapped(printed)
    assert "Examples of events that distinguish states:" in why and "Predicted return" in why


def test_why_limits_examples_and_names_python_parameters() -> None:
    model = suffice.learn(suffice.make("t-maze", length=2).simulate(3000, 4, np.random.default_rng(3)), cut=0.2)
    lines = model.why(examples=1).splitlines()
    events = [line for line in lines if line.startswith("  ") and "states" in line]
    assert len(events) == 1 and "--" not in model.why()
    assert any("only because it is rarer than cut." in line for line in lines)
    assert "distinguish states" not in model.why(examples=0)
