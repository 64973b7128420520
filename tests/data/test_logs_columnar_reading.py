"""Reading a log column by column: categories, numbers, and columns that are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from suffice.data.encoding.binning import Bins, Edges
from suffice.data.encoding.encoder import EncoderRequest
from suffice.data.logs.columnar_reading import ColumnarReading, read_columnar
from suffice.data.logs.reading import ReadOptions
from suffice.data.logs.sources import open_table
from suffice.learning.columns.selection import select_columns

EPISODES, STEPS = 40, 3


def wide_log(rng: np.random.Generator) -> dict[str, Any]:
    """Columns of every sort, of 40 episodes of 3 decisions."""
    rows = EPISODES * STEPS
    episode = np.repeat(np.arange(EPISODES), STEPS)
    return {
        "episode": episode,
        "step": np.tile(np.arange(STEPS), EPISODES),
        "colour": rng.choice(["red", "green"], rows),
        "few": rng.integers(0, 5, rows),
        "some": np.arange(rows) % 30,
        "amount": rng.integers(0, 100_000, rows),
        "level": rng.normal(size=rows),
        "row": rng.permutation(rows) + 1000,
        "person": [f"p{i}" for i in episode],
        "always": np.ones(rows),
        "text": [f"note {i % 90}" for i in range(rows)],
        "action": rng.integers(0, 2, rows),
        "reward": rng.integers(0, 2, rows),
    }


def read(log: dict[str, Any], most_steps: int = 1 << 19, **options: Any) -> ColumnarReading:
    return read_columnar(open_table(log), ReadOptions(**options), most_steps)


def test_read_columnar_recognises_categories_and_numbers():
    log = wide_log(np.random.default_rng(0))
    found = read(log, max_values=60)
    columns = {column.name: column for column in found.log.columns}
    assert list(columns) == ["colour", "few", "some", "amount", "level"]
    assert columns["colour"].values == ("green", "red") and columns["colour"].numbers is None
    assert columns["few"].values == (0, 1, 2, 3, 4) and columns["few"].numbers is None
    assert len(columns["some"].values) == 30 and columns["some"].numbers is not None
    assert columns["amount"].codes is None and columns["level"].codes is None
    assert found.left_out == {"row": "identifier", "person": "identifier", "always": "constant", "text": "many values"}
    assert found.offered == tuple(log)[2:-2]


def test_read_columnar_puts_values_where_their_rows_are():
    log = wide_log(np.random.default_rng(1))
    found = read(log).log
    grid = np.asarray(log["level"]).reshape(EPISODES, STEPS).T
    order = [int(np.flatnonzero(grid[0] == first)[0]) for first in found.column("level").numbers[0]]
    assert sorted(order) == list(range(EPISODES))
    assert (found.column("level").numbers == grid[:, order]).all()
    values = np.array(found.column("colour").values)[found.column("colour").codes]
    assert (values == np.asarray(log["colour"]).reshape(EPISODES, STEPS).T[:, order]).all()
    actions = np.array(found.base.alphabet.actions)[found.action[1:] - 2]
    assert (actions == np.asarray(log["action"]).reshape(EPISODES, STEPS).T[:, order]).all()
    assert found.action.shape == (STEPS + 1, EPISODES) and found.base.alphabet.observations == ((),)


def test_read_columnar_does_not_depend_on_the_order_of_rows():
    log = wide_log(np.random.default_rng(2))
    order = np.random.default_rng(3).permutation(EPISODES * STEPS)
    shuffled = {name: np.asarray(column)[order] for name, column in log.items()}
    one, other = read(log).log, read(shuffled).log
    for name in ("colour", "level"):
        for part in ("codes", "numbers"):
            ours, theirs = getattr(one.column(name), part), getattr(other.column(name), part)
            assert (ours is None and theirs is None) or (ours == theirs).all()


def test_read_columnar_samples_episodes_by_content():
    """Whole episodes are chosen, and neither their ids nor their order matter."""
    log = wide_log(np.random.default_rng(4))
    renamed = log | {"episode": (EPISODES - 1 - np.asarray(log["episode"]))}
    ours, theirs = (read(each, most_steps=10 * (STEPS + 1)).log for each in (log, renamed))
    assert ours.n == theirs.n == 10
    assert (ours.column("level").numbers == theirs.column("level").numbers).all()
    every = read(log).log.column("level").numbers
    assert {tuple(row) for row in ours.column("level").numbers.T} <= {tuple(row) for row in every.T}


def discrete_log(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Episodes of one decision in which nothing matters, with 64 distinct ones."""
    columns = {f"c{i}": rng.choice(["a", "b"], n) for i in range(4)}
    return {
        "episode": np.arange(n),
        "step": np.zeros(n, int),
        **columns,
        "action": rng.integers(0, 2, n),
        "reward": rng.integers(0, 2, n),
    }


def test_read_columnar_divides_equal_episodes():
    """A sample of a log with many equal episodes has the same distribution."""
    log = discrete_log(4000, np.random.default_rng(0))
    found = read(log, most_steps=2 * 2000).log
    distinct = np.stack([found.action[1], found.reward[1], *(column.codes[0] for column in found.columns)])
    _, counts = np.unique(distinct, axis=1, return_counts=True)
    assert len(counts) == 64 and counts.min() > 10 and counts.max() < 60
    assert not select_columns(found).features


def test_read_columnar_has_the_same_order_for_any_order_of_episodes():
    log = discrete_log(500, np.random.default_rng(1))
    one, other = (read(each).log for each in (log, log | {"episode": log["episode"][::-1].copy()}))
    assert (one.action == other.action).all() and (one.reward == other.reward).all()
    for ours, theirs in zip(one.columns, other.columns, strict=True):
        assert (ours.codes == theirs.codes).all()
    changes = np.count_nonzero(np.diff(one.columns[0].codes[0]))
    assert 200 < changes < 300  # not sorted by content


def test_read_columnar_keeps_the_bins_of_the_caller():
    log = wide_log(np.random.default_rng(5))
    found = read(log, encoder=EncoderRequest(kinds={"level": Edges((0.0,))}))
    assert found.kinds["level"] == Bins((0.0,))
    assert found.log.column("level").values == (0, 1)
    numbers = read(log).log.column("level").numbers
    assert (found.log.column("level").codes == (numbers >= 0)).all()


@pytest.mark.parametrize("kind", [float, np.float32])
def test_read_columnar_takes_whole_floats_as_identifiers(kind):
    log = wide_log(np.random.default_rng(6))
    found = read(log | {"row": np.asarray(log["row"], kind)})
    assert found.left_out["row"] == "identifier"
