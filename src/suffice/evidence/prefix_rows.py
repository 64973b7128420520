"""Frequent prefixes as rows of counts: a comparison that, given enough episodes, sees every difference of two futures.

The languages of a family may be blind to a difference; prefixes are not, because they determine the distribution of
futures. Prefixes are counted level by level: a group is a candidate with a prefix, and the next letter leads to the
next group. Prefixes that fewer than `FEWEST` suffixes of the layer begin with are dropped. They, and the length up to
which prefixes are counted, depend on the pooled suffixes and on limits of time and memory, and not on the order of the
episodes or on the machine. Prefixes with the same suffixes are one event. Theory: docs/theory.md, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.data.episodes import Episodes, Outline, weights
from suffice.data.queries import EpisodesView, LetterCounts
from suffice.evidence.events import Event, Prefix
from suffice.evidence.languages import FamilyTooLargeError
from suffice.evidence.rows import RowLayer
from suffice.evidence.statistic import CountingPlan, QueryRunner
from suffice.kernels import walking
from suffice.kernels.array_types import Codes, Int64, UInt32

FEWEST = 5  # suffixes of the layer that begin with a prefix which is counted
MOST_STEPS = 60_000_000  # (episode, step) pairs that are read in all layers together: about half a second
MOST_CELLS = 1 << 19  # of a table of groups and letters
MOST_COUNTS = 1 << 20  # of a table of candidates and prefixes


def affordable_steps(log: Outline) -> int:
    """Return the length up to which the prefixes of every layer are counted; 0 if not even pairs of steps can be."""
    steps = min(log.horizon, MOST_STEPS // max(1, log.n * (log.horizon + 1)))
    return steps if steps > 1 else min(steps, log.horizon) if log.horizon == 1 else 0


@dataclass(frozen=True, slots=True)
class AllPrefixes:
    """The last rung of a ladder of families: all frequent prefixes."""

    is_simple: ClassVar[bool] = False

    def __str__(self) -> str:
        return "prefixes"


PREFIXES = AllPrefixes()


class FutureWords(NamedTuple):
    """Some suffixes, with the candidate of each."""

    candidate: UInt32  # [N]
    word: Codes  # [steps, N]
    weight: Int64  # [N], or empty if all are 1


class NextSteps(NamedTuple):
    """Query for the next steps of all episodes from step t on."""

    t: int
    steps: int

    def __call__(self, view: EpisodesView) -> list[FutureWords]:
        """Answer the query for one part of the episodes."""
        begin = self.t - view.since
        return [FutureWords(view.group, view.episodes.word[begin : begin + self.steps], weights(view.episodes))]

    def combine(self, answers: list[list[FutureWords]]) -> list[FutureWords]:
        """Combine the answers of several parts."""
        return [part for answer in answers for part in answer]


@dataclass(frozen=True, slots=True, eq=False)
class PrefixTable:
    """The frequent prefixes of a layer, and how many suffixes of each candidate begin with each of them."""

    rows: Int64  # [C, E]
    prefixes: tuple[tuple[int, ...], ...]  # [E] letters
    steps: int  # length up to which prefixes were counted

    @classmethod
    def of(cls, parts: list[FutureWords], candidates: int, letters: int) -> PrefixTable:
        """Count the frequent prefixes, up to the length that is affordable."""
        length, total = len(parts[0].word), _total(parts)
        groups = [part.candidate.astype(np.uint32) for part in parts]
        first = _first(parts, candidates, letters)
        level = _Level(np.arange(candidates), np.zeros(candidates, np.int64), [()], np.array([total]), first)
        rows: list[Int64] = []
        prefixes: list[tuple[int, ...]] = []
        for depth in range(length):
            found = level.extended(candidates, MOST_COUNTS // candidates - len(prefixes))
            if found is None:
                return cls(_joined(rows, candidates), tuple(prefixes), depth)
            following, child_of, counts, fresh = found
            rows.append(counts[:, fresh])
            prefixes += [following.prefixes[v] for v in np.flatnonzero(fresh)]
            if depth + 1 == length or not len(following.candidate):
                break
            level = following.counted(groups, parts, child_of, depth)
        return cls(_joined(rows, candidates), tuple(prefixes), length)

    def layer(self, sizes: Int64, letters: Codes) -> RowLayer:
        """Return the candidates as a layer of rows."""

        def event(column: int) -> Event:
            return Prefix(tuple((a, o, r) for a, o, r in letters[list(self.prefixes[column])].tolist()))

        return RowLayer(lambda c: self.rows[c], sizes, np.ones(len(self.prefixes)), event)


class _Level(NamedTuple):
    """The prefixes of one length, and the groups of candidates and prefixes that occur."""

    candidate: Int64  # [G]
    prefix: Int64  # [G] number of the prefix
    prefixes: list[tuple[int, ...]]  # [V]
    totals: Int64  # [V] suffixes of the layer
    following: Int64  # [G, X] counts of the next letter

    def extended(self, candidates: int, room: int) -> tuple[_Level, Int64, Int64, NDArray[np.bool_]] | None:
        """Return the prefixes that are one letter longer; None if there are too many.

        Beside them: the next group of each group and letter, the counts [C, V], and which prefixes are events of their
        own, that is which begin fewer suffixes than the shorter prefix.
        """
        letters = self.following.shape[1]
        group, letter = np.nonzero(self.following)
        count = self.following[group, letter]
        longer = self.prefix[group] * letters + letter
        totals = np.bincount(longer, count, len(self.prefixes) * letters).astype(np.int64)
        frequent = np.flatnonzero(totals >= FEWEST)
        fresh = totals[frequent] < self.totals[frequent // letters]
        number = np.full(len(totals), -1)
        number[frequent] = np.arange(len(frequent))
        kept = number[longer] >= 0
        n = int(np.count_nonzero(kept))
        if np.count_nonzero(fresh) > room or (n + 1) * letters > MOST_CELLS:
            return None
        child_of = np.full((len(self.candidate) + 1) * letters, n)  # the last group is for all dropped prefixes
        child_of[group[kept] * letters + letter[kept]] = np.arange(n)
        prefixes = [(*self.prefixes[v // letters], v % letters) for v in frequent.tolist()]
        following = _Level(
            self.candidate[group[kept]], number[longer[kept]], prefixes, totals[frequent], np.zeros((0, letters), int)
        )
        counts = np.zeros((candidates, len(frequent)), np.int64)
        counts[following.candidate, following.prefix] = count[kept]
        return following, child_of, counts, fresh

    def counted(self, groups: list[UInt32], parts: list[FutureWords], child_of: Int64, depth: int) -> _Level:
        """Let all suffixes take the step to their group of this level, and count the letters that follow."""
        n, letters = len(self.candidate), self.following.shape[1]
        itself = np.arange(len(child_of) // letters)
        tables = np.zeros((2, n + 1, letters), np.int64)
        for group, (_, word, weight) in zip(groups, parts, strict=True):
            step, following = word[depth], word[depth + 1]
            walking.advance_and_meet(group, itself, child_of, step, following, following, weight, tables)
        return self._replace(following=tables[0, :n])


def _total(parts: list[FutureWords]) -> int:
    return sum(int(part.weight.sum()) if part.weight.size else len(part.candidate) for part in parts)


def _first(parts: list[FutureWords], candidates: int, letters: int) -> Int64:
    """Count the first letters by candidate, [C, X]."""
    found = np.zeros(candidates * letters, np.int64)
    for candidate, word, weight in parts:
        key = candidate.astype(np.int64) * letters + word[0]
        found += np.bincount(key, weight if weight.size else None, len(found)).astype(np.int64)
    return found.reshape(candidates, letters)


def _joined(rows: list[Int64], candidates: int) -> Int64:
    return np.concatenate([np.zeros((candidates, 0), np.int64), *rows], axis=1)


class PrefixRowsPlan(CountingPlan):
    """Counting of frequent prefixes on one log."""

    divides = True
    estimates = False
    again = False
    rows = False

    def __init__(self, log: Outline) -> None:
        """Raise FamilyTooLargeError if not even pairs of steps can be counted."""
        self._log, self._steps = log, affordable_steps(log)
        if not self._steps:
            raise FamilyTooLargeError(f"the prefixes of {log.n:,} episodes take too long to count.")
        self._letters = int(np.prod([len(codes) for codes in log.suffix_alphabet()], dtype=object))
        self.longest = log.horizon  # length up to which the prefixes of every layer so far were counted

    def prepared_bytes(self, episodes: int) -> int:
        """Return the memory of prepared episodes, in bytes."""
        return 4 * self._steps * episodes

    def size(self, length: int, delta: float) -> int:
        """Return |X| = 2(ARO)^ℓ, at least the number of prefixes of up to ℓ steps."""
        return int(2 * self._letters ** min(length, self._steps))

    def shard(self, episodes: Episodes) -> PrefixRowsShard:
        """Prepare some of the episodes for counting."""
        return PrefixRowsShard(episodes, self._steps)

    def combine(self, parts: list[list[FutureWords]]) -> list[FutureWords]:
        """Join the suffixes of several shards."""
        return [words for part in parts for words in part]

    def layer(
        self, t: int, part: list[FutureWords], sizes: Int64, delta: float, runner: QueryRunner | None = None
    ) -> RowLayer:
        """Create the candidates of layer t from their suffixes."""
        table = PrefixTable.of(part, len(sizes), len(self._log.letters))
        if table.steps < self._log.horizon - t + 1:
            self.longest = min(self.longest, table.steps)
        return table.layer(sizes, self._log.letters)


class PrefixRowsShard:
    """Some of the episodes, of which the next steps are read."""

    def __init__(self, episodes: Episodes, steps: int) -> None:
        self._word, self._weight, self._steps = episodes.word, weights(episodes), steps

    def count(self, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> list[FutureWords]:
        """Return the next steps of the suffixes from step t, by candidate."""
        return [FutureWords(candidate.copy(), self._word[t : t + self._steps], self._weight)]
