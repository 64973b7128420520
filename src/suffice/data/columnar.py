"""A log before it has an alphabet: every column by itself, on the grid of decisions.

An observation of an `Alphabet` is a tuple of all columns, so each column multiplies the alphabet. Here each column has
codes or numbers of its own: a byte or two per decision for a category, eight for a number. `learning.columns` finds the
columns that matter in this form, and `project` makes Episodes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.data.alphabet import MAX_LETTERS, PAD, STOP, Alphabet, Value, in_order, smallest_uint
from suffice.data.encoding.tables import dense
from suffice.data.episodes import Episodes
from suffice.errors import LogError, parameter
from suffice.kernels.array_types import Codes, Float, Int64, Mask


@dataclass(frozen=True, slots=True, eq=False)
class LoggedColumn:
    """An observation column on the grid: categories, numbers, or numbers with few values, which may be either."""

    name: str
    codes: Codes | None = None  # [H, N] of the values; 0 where there is no decision
    values: tuple[Value, ...] = ()  # of each code, in the alphabet's order
    numbers: Float | None = None  # [H, N] 0 where there is no decision, −∞ where the number is missing

    def select(self, episodes: Int64) -> LoggedColumn:
        """Return the column of some of the episodes."""
        codes = None if self.codes is None else self.codes[:, episodes]
        numbers = None if self.numbers is None else self.numbers[:, episodes]
        return LoggedColumn(self.name, codes, self.values, numbers)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnarLog:
    """Actions, rewards and every observation column of N episodes."""

    base: Episodes  # the episodes without observation columns: the only observation is ()
    columns: tuple[LoggedColumn, ...]
    action: Codes  # [H+1, N] codes of the alphabet
    reward: Codes  # [H+1, N]

    @classmethod
    def of(cls, base: Episodes, columns: Sequence[LoggedColumn]) -> ColumnarLog:
        """Combine episodes without observation columns with such columns."""
        alphabet = base.alphabet
        action = base.letters[:, 0].astype(smallest_uint(alphabet.n_actions))[base.word]
        reward = base.letters[:, 2].astype(smallest_uint(len(alphabet.rewards)))[base.word]
        return cls(base, tuple(columns), action, reward)

    @classmethod
    def of_episodes(cls, episodes: Episodes) -> ColumnarLog:
        """Return each feature of episodes as a column of categories."""
        alphabet = episodes.alphabet
        without = Alphabet(alphabet.actions, (), ((),), alphabet.rewards)
        action, observation, reward = (part[episodes.word] for part in episodes.letters.T)
        seen = np.minimum(observation, STOP + 1)
        base = Episodes.from_steps(
            without, action, seen, reward, episodes.weight, episodes.declared, episodes.length, episodes.group
        )
        columns = []
        for j, name in enumerate(alphabet.features):
            values = in_order(each[j] for each in alphabet.observations)
            place = {value: code for code, value in enumerate(values)}
            codes = [0, *(place[each[j]] for each in alphabet.observations)]
            columns.append(LoggedColumn(name, np.array(codes, smallest_uint(len(values)))[observation[:-1]], values))
        return cls.of(base, columns)

    @property
    def horizon(self) -> int:
        """H, the number of decisions."""
        return self.base.horizon

    @property
    def n(self) -> int:
        """Number of stored episodes; with weights, each stands for several."""
        return self.base.n

    @property
    def decides(self) -> Mask:
        """[H, N] whether a decision follows the observation of a step."""
        return self.action[1:] > PAD

    def column(self, name: str) -> LoggedColumn:
        """Return the column of a name."""
        return next(column for column in self.columns if column.name == name)

    def select(self, episodes: Int64) -> ColumnarLog:
        """Return some of the episodes."""
        return ColumnarLog.of(self.base.columns(episodes), [column.select(episodes) for column in self.columns])

    def project(self, names: Sequence[str], features: Sequence[tuple[Codes, int]]) -> Episodes:
        """Return the episodes with only these features, each given as codes [H, N] and their number.

        A value of the alphabet is the code of the feature. Without features there is one observation, ().
        """
        decides, base = self.decides, self.base
        codes: Codes = np.zeros(decides.shape, np.int64)
        size = 1
        for feature, values in features:
            codes, present = dense(codes.astype(np.int64) * values + feature, size * values)
            size = len(present)
        if size > MAX_LETTERS:
            raise LogError(
                f"{size:,} distinct observations are too many for a finite alphabet. Name fewer "
                f"{parameter('observations')}."
            )
        example = np.zeros(size, np.int64)
        example[codes.ravel()] = np.arange(codes.size)
        parts = [feature.ravel()[example].tolist() for feature, _ in features]
        observations = list(zip(*parts, strict=True)) if features else [()]
        alphabet = Alphabet(base.alphabet.actions, tuple(names), tuple(observations), base.alphabet.rewards)
        place = {observation: code for code, observation in enumerate(alphabet.observations, start=STOP + 1)}
        of_code = np.array([place[observation] for observation in observations], smallest_uint(size + 1))
        observation: Codes = np.full(self.action.shape, STOP, dtype=of_code.dtype)
        observation[:-1] = np.where(decides, of_code[codes], STOP)
        return Episodes.from_steps(
            alphabet, self.action, observation, self.reward, base.weight, False, base.length, base.group
        )
