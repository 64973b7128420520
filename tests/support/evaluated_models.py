"""A folder of logs and models for tests of `suffice evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.domains.exact.values import Evaluation, evaluate
from suffice.domains.tasks.t_maze import TMaze
from suffice.models.model import Model
from suffice.planning.controller import Controller
from support.cli import MAZE, ok

DOMAIN = ("--domain", "t-maze", "--set", "length=2")
EPISODES = 9000


def make_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with logs and models of a T-maze."""
    folder = tmp_path_factory.mktemp("policies")

    def path(name: str) -> str:
        return str(folder / name)

    ok("simulate", *MAZE, "--episodes", str(EPISODES), "-o", path("log.parquet"))
    ok("simulate", *MAZE, "--episodes", "3000", "--seed", "5", "-o", path("other.parquet"))
    ok("learn", path("log.parquet"), "-o", path("a.model"), "--stationary", "no")
    ok("learn", path("log.parquet"), "-o", path("held.model"), "--hold-out", "0.3", "--stationary", "no")
    ok("learn", path("log.parquet"), "-o", path("none.model"), "--planner", "none", "--stationary", "no")
    table = pq.read_table(folder / "other.parquet")
    rng = np.random.default_rng(0)
    pq.write_table(table.append_column("chance", pa.array(rng.uniform(0.2, 0.3, len(table)))), path("chance.parquet"))
    return folder


def about(name: str) -> dict[str, Any]:
    return json.loads(ok("info", name, "--json"))


def evaluated(*args: str) -> dict[str, Any]:
    return json.loads(ok("evaluate", *args, "--json"))


def expected(model: str, domain: Any = None, horizon: int = 4) -> Evaluation:
    """Evaluate a model exactly with the library."""
    loaded = Model.load(model)
    finite = (domain or TMaze(length=2)).model(horizon)
    assert loaded.plan is not None
    return evaluate(finite, Controller.on_automaton(loaded.rdp, finite.alphabet, loaded.plan.actions), horizon)


def log_of(name: str) -> Episodes:
    return read_log(name)
