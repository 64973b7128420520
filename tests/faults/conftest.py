"""Fixtures: a log, and the models of runs without faults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from faults.harness import here, layered
from suffice.data.streaming import MemoryBudget

Undisturbed = Callable[..., bytes]

IN_PIECES = ("--memory", "500MB")


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every log in pieces, however small; children inherit this."""
    monkeypatch.setattr(MemoryBudget, "holds", lambda room, dataset: False)
    monkeypatch.setattr(MemoryBudget, "rows", property(lambda room: 100))


@pytest.fixture(autouse=True)
def as_options_say(request: pytest.FixtureRequest) -> None:
    """Use the fixture `pieces` for tests whose options are `IN_PIECES`."""
    call = getattr(request.node, "callspec", None)
    if call and call.params.get("options", ())[:2] == IN_PIECES:
        request.getfixturevalue("pieces")


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small log."""
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    words = ("simulate", "t-maze", "--horizon", "4", "--set", "length=2", "--episodes", "200", "-o", path)
    assert here(*words).code == 0
    return path


@pytest.fixture(scope="session")
def undisturbed(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Return a function from options to the bytes of their model, learned once in this process without faults."""
    known: dict[tuple[str, ...], bytes] = {}

    def model(*options: str) -> bytes:
        if options not in known:
            path = tmp_path_factory.mktemp("undisturbed") / "a.model"
            ran = here("learn", log, "-o", path, *layered(options))
            assert ran.code == 0, ran.err
            known[options] = path.read_bytes()
        return known[options]

    return model
