"""Columns that reveal the reward of their own row: values that were recorded after the action, not before it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.data.episodes import Episodes
from suffice.evidence.log_tests import Decisions, exceeds, renumbered, some_of, x_log_x
from suffice.kernels.array_types import Int64

SMALLEST_GROUP = 10  # rows with a value, below which its rewards are not evidence
NOISE = 0.01  # share of a value's rows that may contradict a leak


class Leak(NamedTuple):
    """A column that reveals the reward of its own row."""

    feature: int
    decisions: int  # that it was compared with
    contradicting: int  # of these, in which it tells another reward


def leaking_columns(episodes: Episodes, features: list[Int64], level: float, rng: np.random.Generator) -> list[Leak]:
    """Find columns whose value reveals the reward of the action that is taken after it.

    A column leaks if (a) some function of it, not constant, equals a function of the reward of its row, in 99 % of the
    rows with each value; (b) the other columns, the row before and the action before do not determine that function;
    and (c) given these, it depends on the action that follows, or it is a recoded reward: both determine each other,
    under more than one action. A column that was recorded before the action shows (c), a dependence on what happens
    later, with probability at most `level` over all columns, unless the logger acts on it.

    `features` has the value of each column for each observation code.
    """
    decisions = Decisions.of(some_of(episodes))
    found = []
    for i, values in enumerate(features):
        column = values[decisions.seen]
        revealed = _common_part(column, decisions.reward)
        if revealed is None:
            continue
        given = _Given.of(revealed.part, decisions.action, _others(features, i, decisions))
        if not given.varies:
            continue
        recoded = revealed.recoded and given.under_several_actions
        if recoded or given.depends_on_action(level / len(features), rng):
            found.append(Leak(i, len(column), revealed.contradicting))
    return found


class _Revealed(NamedTuple):
    """What a column and the reward of its row have in common."""

    part: Int64  # [n] number of the common value; −1 where the value of the column is too rare
    recoded: bool  # column and reward determine each other
    contradicting: int


def _common_part(column: Int64, reward: Int64) -> _Revealed | None:
    """Return the finest function of the column that is also a function of the reward; None if it is constant."""
    n_values, n_rewards = int(column.max(initial=0)) + 1, int(reward.max(initial=0)) + 1
    frequent = np.bincount(column, minlength=n_values)[column] >= SMALLEST_GROUP
    if np.count_nonzero(frequent) < (1 - NOISE) * len(column):
        return None
    pairs, times = np.unique(column[frequent] * n_rewards + reward[frequent], return_counts=True)
    value, paid = pairs // n_rewards, pairs % n_rewards
    by_value, by_reward = np.bincount(value, times)[value], np.bincount(paid, times)[paid]
    solid = times >= NOISE * np.minimum(by_value, by_reward)
    value, paid, kept = value[solid], paid[solid], times[solid]
    component = _components(value, paid, n_values, n_rewards)
    part = np.where(frequent, component[column], -1)
    if np.count_nonzero(np.bincount(part[frequent]) >= SMALLEST_GROUP) < 2:
        return None
    recoded = len(np.unique(value)) == len(np.unique(paid)) == len(value)
    return _Revealed(part, recoded, int(times.sum() - kept.sum()))


def _components(value: Int64, paid: Int64, n_values: int, n_rewards: int) -> Int64:
    """Return for each value the smallest one that common rewards connect it with."""
    component = np.arange(n_values)
    while True:
        lowest = np.full(n_rewards, n_values)
        np.minimum.at(lowest, paid, component[value])
        smaller = component.copy()
        np.minimum.at(smaller, value, lowest[paid])
        if np.array_equal(smaller, component):
            return component
        component = smaller


def _others(features: list[Int64], i: int, decisions: Decisions) -> Int64:
    """Number the combinations of all columns but one with the row and the action before."""
    group = renumbered(decisions.led)[0]
    for j, values in enumerate(features):
        if j != i:
            column = values[decisions.seen]
            group = renumbered(group * (int(column.max(initial=0)) + 1) + column)[0]
    return group


class _Given(NamedTuple):
    """What a column reveals, and the actions that follow, in groups in which it is not determined otherwise."""

    group: Int64  # [n] ascending
    part: Int64  # [n]
    action: Int64  # [n]

    @classmethod
    def of(cls, part: Int64, action: Int64, group: Int64) -> _Given:
        """Keep the rows of groups in which the part varies."""
        order = np.lexsort((part, group))
        order = order[part[order] >= 0]
        group, part = renumbered(group[order])[0], part[order]
        pairs = np.unique(np.stack([group, part]), axis=1)
        varies = np.bincount(pairs[0])[group] > 1
        return cls(renumbered(group[varies])[0], renumbered(part[varies])[0], action[order][varies])

    @property
    def varies(self) -> bool:
        """Whether each of two parts occurs often enough."""
        return bool(np.count_nonzero(np.bincount(self.part) >= SMALLEST_GROUP) > 1)

    @property
    def under_several_actions(self) -> bool:
        """Whether each of two parts occurs often enough with each of two actions."""
        pairs, times = np.unique(np.stack([self.part, self.action]), axis=1, return_counts=True)
        return bool(np.count_nonzero(np.bincount(pairs[0][times >= SMALLEST_GROUP]) > 1) > 1)

    def depends_on_action(self, level: float, rng: np.random.Generator) -> bool:
        """Test whether part and action depend on each other in a group, by permuting actions."""
        cell = (self.group * (int(self.part.max()) + 1) + self.part) * (int(self.action.max()) + 1)

        def permuted() -> float:
            order = np.argsort(self.group + rng.random(len(self.group)))
            return _repeats(cell + self.action[order])

        return exceeds(_repeats(cell + self.action), permuted, level)


def _repeats(codes: Int64) -> float:
    """Return the sum of n ln n over the numbers n of equal codes."""
    return x_log_x(np.unique(codes, return_counts=True)[1])
