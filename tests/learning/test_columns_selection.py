"""Selection of columns and cuts along the automaton."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import suffice
from suffice.data.columnar import ColumnarLog, LoggedColumn
from suffice.data.encoding.binning import LOWEST
from suffice.data.logs.columnar_reading import read_columnar
from suffice.data.logs.reading import ReadOptions
from suffice.data.logs.sources import open_table
from suffice.learning.adact_h import Settings
from suffice.learning.columns.cuts import readable_cuts
from suffice.learning.columns.features import Feature, project
from suffice.learning.columns.narrow import prefer_all
from suffice.learning.columns.selection import ColumnSelection, select_columns
from suffice.learning.stationary.learner import learn_stationary
from support.wide_logs import constant, log_of_persons, log_without_cause, with_noise


def maze(n: int, seed: int = 0, horizon: int = 15) -> ColumnarLog:
    """A T-maze in which one of three cue bits is needed."""
    return ColumnarLog.of_episodes(suffice.simulate(suffice.make("t-maze", length=5), n, horizon, rng=seed))


def names(selection: ColumnSelection) -> list[str]:
    return [feature.column for feature in selection.features]


def replaced(log: ColumnarLog, *columns: LoggedColumn) -> ColumnarLog:
    """The same episodes with other columns."""
    return with_noise(ColumnarLog.of(log.base, columns), np.random.default_rng(9), categories=3, walks=2, numbers=2)


@pytest.mark.parametrize("seed", [0, 1])
def test_select_columns_finds_the_cue_among_twenty_irrelevant_columns(seed):
    log = with_noise(maze(1000, seed), np.random.default_rng(seed))
    found = select_columns(log)
    assert len(found.features) == 1 and names(found)[0] in ("bit1", "bit2", "bit3")
    assert learn_stationary(project(log, found.features)).rdp.n_states == 14
    assert found.chosen[0].tells == "later reward" and found.chosen[0].enough
    assert not any(other.enough for other in found.others) and len(found.others) == 22


def test_select_columns_does_not_depend_on_the_order_of_episodes_or_threads():
    log = with_noise(maze(600), np.random.default_rng(0), 4, 2, 2)
    shuffled = log.select(np.random.default_rng(1).permutation(log.n))
    assert select_columns(log) == select_columns(shuffled) == select_columns(log, settings=Settings(threads=2))


@pytest.mark.parametrize("hidden", [False, True])
def test_select_columns_selects_nothing_where_nothing_matters(hidden):
    """At δ = 0.05, of 25 logs at most 5 may select something: the probability of more is below 0.002."""
    logs = (log_without_cause(np.random.default_rng(i), hidden=hidden) for i in range(25))
    assert sum(bool(select_columns(log, 0.05).chosen) for log in logs) <= 5


@pytest.mark.long
@pytest.mark.parametrize(("delta", "most"), [(0.05, 70), (0.001, 5)])
@pytest.mark.parametrize("hidden", [False, True])
def test_select_columns_keeps_its_level(delta, most, hidden):
    logs = (log_without_cause(np.random.default_rng([7, i]), hidden=hidden) for i in range(1000))
    assert sum(bool(select_columns(log, delta).chosen) for log in logs) <= most


def test_select_columns_selects_no_column_of_a_person_because_persons_differ():
    """At δ = 0.05, of 25 logs at most 5 may select something; as if episodes were independent, nearly all do."""
    logs = [log_of_persons(np.random.default_rng(i)) for i in range(25)]
    assert sum(bool(select_columns(log, 0.05).chosen) for log in logs) <= 5
    alone = [replace(log, base=replace(log.base, group=None)) for log in logs[:4]]
    assert all(select_columns(log, 0.05).chosen for log in alone)


@pytest.mark.long
@pytest.mark.parametrize(("persons", "episodes"), [(40, 25), (12, 80), (200, 5)])
def test_select_columns_keeps_its_level_for_persons(persons, episodes):
    logs = (log_of_persons(np.random.default_rng([8, i]), persons, episodes) for i in range(1000))
    assert sum(bool(select_columns(log, 0.05).chosen) for log in logs) <= 70


@pytest.mark.long
def test_select_columns_keeps_its_level_in_long_episodes():
    """Columns that are constant in an episode, whose rate of rewards is unseen: of 200 logs at most 17 at δ = 0.05."""
    found = 0
    for i in range(200):
        log = log_without_cause(np.random.default_rng([9, i]), horizon=50, hidden=True)
        found += bool(select_columns(ColumnarLog.of(log.base, [constant(c) for c in log.columns]), 0.05).chosen)
    assert found <= 17


def test_select_columns_cuts_a_noisy_number():
    """A cue of 0 or 1 with Gaussian noise is cut between its two levels."""
    log = maze(2000, seed=3)
    bit = log.column("bit1").codes
    cue = bit + np.random.default_rng(0).normal(0, 0.2, bit.shape)
    wide = replaced(log, LoggedColumn("cue", numbers=cue))
    found = select_columns(wide)
    assert names(found) == ["cue"]
    (cut,) = found.features[0].cuts
    assert 0.3 < cut < 0.7
    (short,) = readable_cuts(wide, found.features[0])
    assert len(str(short)) <= 6 and abs(np.mean(cue < short) - np.mean(cue < cut)) < 0.005


def test_select_columns_finds_the_exclusive_or_of_two_columns():
    log = maze(3000, seed=4)
    bit = log.column("bit1").codes
    mask = np.random.default_rng(0).integers(0, 2, bit.shape).astype(np.uint8)
    found = select_columns(replaced(log, LoggedColumn("a", mask, (0, 1)), LoggedColumn("b", bit ^ mask, (0, 1))))
    assert names(found) == ["a", "b"] and found.pairs > 0


def test_select_columns_prefers_a_column_to_its_noisy_copy():
    log = maze(2000, seed=5)
    bit = log.column("bit1").codes
    copy = np.where(np.random.default_rng(0).random(bit.shape) < 0.1, 1 - bit, bit).astype(np.uint8)
    found = select_columns(replaced(log, LoggedColumn("copy", copy, (0, 1)), LoggedColumn("bit", bit, (0, 1))))
    assert names(found) == ["bit"]


def test_select_columns_of_single_decisions():
    """With one decision per episode there is no memory, and the column decides the reward."""
    rng = np.random.default_rng(0)
    log = log_without_cause(rng, n=400, horizon=1)
    codes = rng.integers(0, 3, (1, 400)).astype(np.uint8)
    reward = np.where(rng.random(400) < 0.8, codes[0] == log.action[1] - 2, rng.integers(0, 2, 400))
    steps = np.stack([np.zeros(400), reward]).astype(np.uint8)
    seen = np.array([1, 0], np.uint8)[:, None] * np.ones((1, 400), np.uint8)
    base = suffice.Episodes.from_steps(log.base.alphabet, log.action, seen, steps)
    found = select_columns(ColumnarLog.of(base, [LoggedColumn("cause", codes, (0, 1, 2)), *log.columns]))
    assert names(found) == ["cause"] and found.chosen[0].tells == "reward"


def test_example_of_a_chosen_column_states_a_difference():
    found = select_columns(maze(1000)).chosen[0].example
    assert found is not None and found.reward is not None
    assert found.k1 / found.n1 > found.k2 / found.n2


def test_prefer_all_where_columns_without_enough_evidence_help():
    """A narrow log is learned with all columns only if these predict rewards better."""
    log = ColumnarLog.of_episodes(suffice.simulate("repeat-first", 500, rng=0))
    every = [Feature(column.name) for column in log.columns]
    assert prefer_all(log, [], Settings())
    assert not prefer_all(log, every, Settings())
    assert not prefer_all(with_noise(log, np.random.default_rng(0)), [], Settings())


def test_select_columns_finds_that_a_missing_number_matters():
    """The reward depends on whether the number is missing, and not on the number."""
    rng = np.random.default_rng(11)
    n = 1500
    missing = rng.random(n) < 0.3
    action = rng.integers(0, 2, n)
    log = {"episode": np.arange(n), "step": np.zeros(n, int), "lab": np.where(missing, np.nan, rng.normal(size=n))}
    log |= {
        "noise": rng.normal(size=n),
        "action": action,
        "reward": (rng.random(n) < np.where(missing == action, 0.8, 0.2)) * 1,
    }
    found = select_columns(read_columnar(open_table(log), ReadOptions()).log)
    assert [feature.column for feature in found.features] == ["lab"]
    assert found.features[0].cuts == (LOWEST,)
