"""`possible_returns` adds up the range of rewards at each step, wherever the log is stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import suffice
from oracle import random_episodes
from suffice.data.episodes import Episodes
from suffice.data.loading import read_source
from suffice.data.logs.reading import ReadOptions
from suffice.data.possible_returns import possible_returns, reward_ranges
from suffice.data.streaming import MemoryBudget
from support.fake_workers import Here, scattered_log
from support.logs_in_pieces import read_in_pieces
from support.samples import from_values, to_values

BEGIN, END = (None, (0,), 0.0), ("pad", None, 0.0)


def test_possible_returns_adds_smallest_and_largest_reward_of_each_step() -> None:
    episodes = from_values([[BEGIN, ("a", (0,), -3.0), ("a", None, 2.0)], [BEGIN, ("b", (0,), 1.0), ("a", None, 5.0)]])
    assert reward_ranges(episodes).low.tolist() == [0, -3, 2] and reward_ranges(episodes).high.tolist() == [0, 1, 5]
    assert possible_returns(episodes) == (-1, 6)


def test_possible_returns_counts_padding_as_zero() -> None:
    """With costs only, an episode that ends early has the largest possible return."""
    last = ("a", None, -2.0)
    assert possible_returns(from_values([[BEGIN, ("a", (0,), -2.0), last]] * 2)) == (-4, -4)
    assert possible_returns(from_values([[BEGIN, ("a", (0,), -2.0), last], [BEGIN, last, END]])) == (-4, -2)


@pytest.mark.parametrize("seed", range(4))
def test_possible_returns_agrees_with_loop_over_episodes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    episodes = random_episodes(rng, 4, 2, 3, 3, 3, 20, early_end=0.4 * (seed % 2), weighted=seed > 1)
    steps = list(zip(*([r for _, _, r in episode] for episode in to_values(episodes)), strict=True))
    assert possible_returns(episodes, threads=2) == (sum(map(min, steps)), sum(map(max, steps)))
    for episode in to_values(episodes):
        low, high = possible_returns(episodes)
        assert low <= sum(r for _, _, r in episode) <= high


def test_possible_returns_is_the_same_in_memory_in_pieces_and_on_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, room = scattered_log(tmp_path / "log", n=60), MemoryBudget(1 << 30)
    right = possible_returns(suffice.read_log(folder))
    with Here.of(3).reading() as elsewhere:
        on_workers = read_source(folder, ReadOptions(), replace(room, elsewhere=elsewhere)).episodes
        assert possible_returns(on_workers) == right
    read_in_pieces(monkeypatch)(40)
    in_pieces = read_source(folder, ReadOptions(), room).episodes
    assert not isinstance(on_workers, Episodes) and not isinstance(in_pieces, Episodes)
    assert possible_returns(in_pieces) == right


def test_reward_ranges_of_steps_before_which_all_episodes_were_cut_off() -> None:
    """These steps have the range of all other steps, not an empty one."""
    table = {"episode": [0, 1, 2, 2], "step": [0, 0, 0, 1], "seen": [0, 1, 0, 1], "action": [0, 1, 0, 1]}
    episodes = suffice.read_log(table | {"reward": [-1.0, 2.0, 0.0, 5.0]}, ends="censored")
    found = reward_ranges(episodes.columns(slice(0, 2)))
    assert found.low.tolist() == [0, -1, -1] and found.high.tolist() == [0, 2, 2]
