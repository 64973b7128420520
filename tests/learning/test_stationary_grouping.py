"""Logs with thousands of distinct steps are learned by groups of observations, within the memory limit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice.automata.describe import describe_witness
from suffice.data.episodes import Episodes
from suffice.errors import MemoryLimitError
from suffice.evidence.events import OutcomeAt, ShownAmong, Witness
from suffice.learning.adact_h import Settings
from suffice.learning.stationary.grouping import GROUPS, observation_groups, symbol_groups
from suffice.learning.stationary.labels import Labelling, PointerLog
from suffice.learning.stationary.learner import learn_stationary
from suffice.learning.stationary.reference import first_reference
from support.confined import confined


def cued(n: int, places: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return steps of episodes: a cue, three irrelevant places, and a reward for the action that the cue names."""
    rng = np.random.default_rng(seed)
    cue, action = rng.integers(0, 2, n), rng.integers(0, 2, (n, 5))
    place = rng.integers(2, places, (n, 5))
    place[:, 0] = cue
    reward = np.zeros((n, 5), np.int64)
    reward[:, -1] = action[:, -1] == cue
    return {
        "episode": np.repeat(np.arange(n), 5),
        "step": np.tile(np.arange(5), n),
        "place": place.ravel(),
        "action": action.ravel(),
        "reward": reward.ravel(),
    }


def read(table: dict[str, np.ndarray]) -> Episodes:
    return suffice.read_log(table, max_values=10_000)


def test_groups_of_observations_are_neighbours_of_about_equal_size() -> None:
    episodes = read(cued(400, 500))
    groups = observation_groups(episodes, grouped=True)
    assert groups[0] == 0 and (np.diff(groups) >= 0).all()
    sizes = np.bincount(groups)[1:]
    assert len(sizes) == GROUPS and sizes.max() - sizes.min() <= 1
    symbols, of = episodes.symbols()[0], symbol_groups(episodes, grouped=True)
    for y, other in zip(*np.random.default_rng(0).integers(0, len(symbols), (2, 200)), strict=True):
        same = symbols[y, 0] == symbols[other, 0] and groups[symbols[y, 1]] == groups[symbols[other, 1]]
        assert (of[y] == of[other]) == same


def test_groups_are_single_observations_if_there_are_few() -> None:
    episodes = read(cued(50, GROUPS))
    assert observation_groups(episodes, grouped=True).tolist() == list(range(episodes.alphabet.n_observations))
    assert symbol_groups(episodes, grouped=False).tolist() == list(range(len(episodes.symbols()[0])))


def test_tables_of_a_grouped_log_have_far_fewer_cells_and_name_groups() -> None:
    episodes = read(cued(300, 200))
    sizes = []
    for grouped in (False, True):
        steps = PointerLog.of(episodes, grouped)
        sizes.append(Labelling(steps, first_reference(steps)).size)
    assert sizes[1] < sizes[0] / 2
    what = [steps.outcome(event) for event in set(steps.events[2].tolist()) - {-1}]
    assert len(what) < len(episodes.letters) / 2 and all(isinstance(one, ShownAmong) for one in what)
    witness = Witness(OutcomeAt(suffice.evidence.events.Later(), what[-1]), 1, 2, 0, 2)
    assert "or an observation of its group" in describe_witness(witness, episodes.alphabet)


def test_learn_stationary_groups_observations_only_if_their_tables_do_not_fit() -> None:
    """The cue is remembered through irrelevant places, of which each occurs a few times only."""
    episodes = read(cued(3_000, 300))
    steps = PointerLog.of(episodes)
    with pytest.raises(MemoryLimitError, match="follow each other in too many ways"):
        Labelling(steps, first_reference(steps), 30_000_000)
    with pytest.raises(MemoryLimitError, match="follow each other in too many ways"):  # even groups
        learn_stationary(episodes, Settings(memory=16 * 6 * episodes.n))
    learned = learn_stationary(episodes, Settings(memory=30_000_000))
    found = learned.rdp
    assert learned.grouped_observations
    after = {cue: found.run([(None, (cue,))]) for cue in (0, 1)}
    assert after[0] != after[1]
    assert found.counts.sum() + found.cut.sum() == 6 * episodes.n


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited here")
@pytest.mark.parametrize(
    ("episodes", "places", "megabytes"),
    [(2_000, 1_000, 500), pytest.param(20_000, 5_000, 1_000, marks=pytest.mark.long)],
)
def test_learn_keeps_the_memory_limit_with_many_observations(
    episodes: int, places: int, megabytes: int, tmp_path: Path
) -> None:
    """Refused before, with 1,000 observations above a limit of 13 GB; 300 MB more are for the compiler."""
    table = cued(episodes, places)
    np.savetxt(
        tmp_path / "log.csv", np.stack(list(table.values()), axis=1), "%d", ",", header=",".join(table), comments=""
    )
    options = ["--stationary", "yes", "--observations", "place", "--max-values", "10000"]
    ran = confined(
        megabytes + 300,
        "learn",
        str(tmp_path / "log.csv"),
        *options,
        "--memory",
        f"{megabytes}MB",
        "-o",
        str(tmp_path / "a"),
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "observations were compared in groups" in ran.stdout
