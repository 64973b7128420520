"""Groups of episodes: reading them, their sizes and design effect, and refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from oracle import random_episodes
from suffice.data.groups import group_sizes, groups_digest
from suffice.data.stored import Writer
from suffice.errors import SufficeError
from suffice.evidence.estimates import sum_of_squares


def rows(persons: list[Any]) -> dict[str, list[Any]]:
    """Return a log of two decisions per episode, with the person of each episode."""
    n = len(persons)
    return {
        "episode": [e for e in range(n) for _ in range(2)],
        "step": [0, 1] * n,
        "person": [person for person in persons for _ in range(2)],
        "seen": [e % 2 for e in range(n) for _ in range(2)],
        "action": [0, 1] * n,
        "reward": [1, 0] * n,
    }


def test_read_log_groups_episodes_by_the_named_column_whatever_its_type() -> None:
    numbers = suffice.read_log(rows([7, 8, 7, 9]), group_column="person")
    texts = suffice.read_log(rows(["7", "8", "7", "9"]), columns={"group": "person"})
    floats = suffice.read_log(rows([7.0, 8.0, 7.0, 9.0]), group_column="person")
    assert numbers.group is not None and numbers.alphabet.features == ("seen",)
    assert numbers.group[0] == numbers.group[2] and len(np.unique(numbers.group)) == 3
    assert np.array_equal(numbers.group, texts.group) and np.array_equal(numbers.group, floats.group)
    assert suffice.read_log(rows([1, 1])).group is None, "a column is an observation unless it is named"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"person": [1, 2, 3, 3]}, "row 2, column 'person': the group varies within episode 0"),
        ({"person": [1, 1, None, None]}, "column 'person': the group is missing"),
    ],
)
def test_read_log_refuses_groups_that_vary_or_are_missing(change: dict[str, list[Any]], complaint: str) -> None:
    with pytest.raises(SufficeError, match=complaint):
        suffice.read_log(rows([1, 2]) | change, group_column="person")


def test_read_log_refuses_a_group_column_that_does_not_exist() -> None:
    with pytest.raises(SufficeError, match="there is no column 'persons'"):
        suffice.read_log(rows([1, 2]), group_column="persons")


def test_group_sizes_count_weights_and_give_the_design_effect() -> None:
    episodes = random_episodes(np.random.default_rng(0), 3, 2, 2, 2, 2, 30, weighted=True)
    grouped = replace(episodes, group=(np.arange(30) % 4).astype(np.uint64))
    writer = Writer(3)
    for begin in range(0, 30, 7):
        writer.add(grouped.columns(slice(begin, begin + 7)))
    sizes = group_sizes(grouped)
    assert sizes is not None and episodes.weight is not None
    assert sizes.size.tolist() == [int(episodes.weight[g::4].sum()) for g in range(4)]
    again = group_sizes(writer.finish(1))
    assert again is not None and again.size.tolist() == sizes.size.tolist()
    assert sizes.design_effect == pytest.approx((sizes.size**2).sum() / sizes.size.sum())
    assert group_sizes(episodes) is None


def test_sum_of_squares_adds_influences_within_groups_before_squaring() -> None:
    influence, weight = np.array([1.0, -2.0, 3.0, 0.5]), np.array([1, 2, 1, 4])
    group = np.array([5, 5, 9, 9], np.uint64)
    expected = ((1 * 1.0 + 2 * -2.0) ** 2 + (3.0 + 4 * 0.5) ** 2) * 2 / 1
    assert sum_of_squares(influence, weight, group) == pytest.approx(expected)
    assert sum_of_squares(influence, weight) == pytest.approx((weight * influence**2).sum())


def test_groups_digest_depends_on_groups_and_not_on_order_or_weights() -> None:
    episodes = random_episodes(np.random.default_rng(1), 3, 2, 2, 2, 2, 30)
    assert groups_digest(episodes) is None
    grouped = replace(episodes, group=np.arange(30, dtype=np.uint64) // 3)
    backwards = grouped.columns(np.arange(30)[::-1])
    twice = grouped.columns(np.repeat(np.arange(30), 2))
    assert groups_digest(grouped) == groups_digest(backwards) != groups_digest(twice)
    assert groups_digest(twice) == groups_digest(replace(grouped, weight=np.full(30, 2)))
    assert groups_digest(grouped) != groups_digest(replace(grouped, group=np.arange(30, dtype=np.uint64) // 5))


@pytest.mark.parametrize("person", [[5, 5, 6, 6], None])
def test_checkpoint_of_other_groups_is_refused(person: list[int] | None, tmp_path: Path) -> None:
    log: dict[str, Any] = rows([1, 2, 1, 2] * 10)
    like: dict[str, Any] = {"stationary": False, "observations": "seen", "plan": False, "checkpoint": tmp_path / "c"}
    suffice.learn(log, group_column="person", **like)
    other = log if person is None else rows(person * 10)
    with pytest.raises(SufficeError, match="another run: the grouping of the episodes differs"):
        suffice.learn(other, group_column=None if person is None else "person", **like)
    suffice.learn(rows([1, 2, 1, 2] * 10), group_column="person", **like)
