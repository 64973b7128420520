"""Large loads: many states, distinct steps, decisions per episode, and files of a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faults.harness import here, left_in
from suffice.models.model import Model
from support.large_models import large_model

Record = Callable[[str, object], None]


def write_log(path: Path, episodes: int, decisions: int, values: int, seed: int = 0, first: int = 0) -> None:
    """Write random observations and actions; an action is rewarded if it is the parity of the last observation."""
    rng, n = np.random.default_rng(seed), episodes * decisions
    seen, action = rng.integers(values, size=(episodes, decisions)), rng.integers(2, size=(episodes, decisions))
    before = np.concatenate([np.zeros((episodes, 1), np.int64), seen[:, :-1]], axis=1)
    columns = {
        "episode": np.repeat(np.arange(episodes) + first, decisions),
        "step": np.tile(np.arange(decisions), episodes),
        "seen": seen.reshape(n),
        "action": action.reshape(n),
        "reward": (action == before % 2).reshape(n).astype(np.int64),
    }
    pq.write_table(pa.table(columns), path)


def held(record: Record, what: str, begin: float) -> None:
    record(what, round(time.perf_counter() - begin, 1))


@pytest.mark.parametrize("states", [5_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_model_of_many_states_is_planned_saved_loaded_and_exported(
    states: int, log: Path, tmp_path: Path, record_property: Record
) -> None:
    here("learn", log, "-o", tmp_path / "small.model", "--stationary", "no")
    begin = time.perf_counter()
    model = large_model(Model.load(tmp_path / "small.model"), 102, states // 100)
    model.save(tmp_path / "a.model")
    again = Model.load(tmp_path / "a.model")
    assert again.rdp.n_states == states + 2 and np.array_equal(again.rdp.tau, model.rdp.tau)
    assert here("info", tmp_path / "a.model").code == 0
    assert here("export", tmp_path / "a.model", "--format", "json", "-o", tmp_path / "a.json").code == 0
    held(record_property, f"seconds for a model of {states:,} states", begin)


@pytest.mark.parametrize("letters", [1_000, pytest.param(30_000, marks=pytest.mark.long)])
def test_learn_handles_many_distinct_steps(letters: int, tmp_path: Path, record_property: Record) -> None:
    write_log(tmp_path / "log.parquet", letters, 2, letters // 3)
    begin = time.perf_counter()
    options = ("--max-values", str(letters), "--metric", "prefixes")
    ran = here("learn", tmp_path / "log.parquet", "-o", tmp_path / "a.model", *options)
    assert ran.code == 0, ran
    model = Model.load(tmp_path / "a.model")
    assert len(model.rdp.letters) > 0.8 * letters
    held(record_property, f"seconds to learn from {letters:,} distinct steps", begin)


@pytest.mark.parametrize("decisions", [100, pytest.param(1_000, marks=pytest.mark.long)])
def test_learn_handles_long_episodes_with_checkpoints(decisions: int, tmp_path: Path, record_property: Record) -> None:
    write_log(tmp_path / "log.parquet", 200, decisions, 2)
    begin = time.perf_counter()
    words = ("learn", tmp_path / "log.parquet", "-o", tmp_path / "a.model", "--checkpoint", tmp_path / "kept")
    assert here(*words).code == 0
    model = Model.load(tmp_path / "a.model")
    assert model.rdp.horizon == decisions
    assert left_in(tmp_path) == ["a.model", "a.model.run.json", "log.parquet"]
    held(record_property, f"seconds to learn from episodes of {decisions:,} decisions, with checkpoints", begin)


@pytest.mark.parametrize("files", [100, pytest.param(1_000, marks=pytest.mark.long)])
def test_learn_handles_logs_of_many_files(files: int, tmp_path: Path, record_property: Record) -> None:
    (tmp_path / "logs").mkdir()
    for i in range(files):
        write_log(tmp_path / "logs" / f"part-{i}.parquet", 20, 5, 3, seed=i, first=20 * i)
    begin = time.perf_counter()
    assert here("learn", tmp_path / "logs", "-o", tmp_path / "a.model").code == 0
    assert Model.load(tmp_path / "a.model").about.episodes == 20 * files
    held(record_property, f"seconds to learn from {files:,} files", begin)
