"""Count language membership of suffixes without simulating languages.

Where j = k = 1 three facts decide membership in every language: the next letter, the set of patterns that later letters
meet, and the last letter. The set has a bit per pattern, 64 patterns to a machine word. It is computed backwards and
stored for every fourth step; counting a layer adds the letters in between, sorts the machine words by candidate and
adds them up bit by bit. Memory: 2 bytes per step for every 64 patterns. Theory: docs/theory.md, section 3.

Words of several patterns and Boolean levels are counted in `word_counts`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice.data.episodes import Episodes, Outline, weights
from suffice.data.log import room_for_counts
from suffice.data.queries import LetterCounts, Query, added
from suffice.errors import gigabytes, parameter
from suffice.evidence.bounds import Bound
from suffice.evidence.events import Event, Last, Next, Within
from suffice.evidence.languages import BEYOND, CONJUNCTIONS, Family, FamilyTooLargeError, Patterns, Words, patterns_of
from suffice.evidence.rows import RowLayer
from suffice.evidence.statistic import (
    CountingPlan,
    CountsOfSome,
    QueryRunner,
    RowsInParts,
    Statistic,
    StatisticOptions,
    SuffixCounts,
    by_size,
)
from suffice.evidence.word_counts import BackwardAutomaton, WordPart, WordShard, word_layer
from suffice.kernels import patterns as patterns_kernels
from suffice.kernels import walking
from suffice.kernels.array_types import Codes, Int64, UInt32


@dataclass(frozen=True, slots=True)
class LanguageCounts(Statistic):
    """Counts of suffixes in each language of a family: the statistic that the paper proposes.

    Parameters
    ----------
    family
        The language family. Default: conjunctions.

    Examples
    --------
    >>> few = suffice.LanguageCounts(suffice.Family(1, 1, 1))  # the paper's family, too small for this log
    >>> suffice.learn(episodes, settings=suffice.Settings(few)).rdp
    <RDP: 7 states in layers 1 1 1 1 1 1 1>
    """

    name: ClassVar[str] = "languages"
    family: Family = CONJUNCTIONS

    @property
    def options(self) -> StatisticOptions:
        """The options that create this statistic again."""
        return StatisticOptions(self.name, str(self.family))

    def plan(self, log: Outline, bound: Bound, memory: int) -> LanguagePlan:
        """Prepare counting on a log.

        Parameters
        ----------
        log
            Alphabet, horizon and size of the log.
        bound
            Test that compares samples.
        memory
            Memory limit in bytes. A family that exceeds it is refused.

        Returns
        -------
        LanguagePlan
            The plan of counting, with the patterns of the family.
        """
        # G_1 is part of every G_i and quick to build: if it is too large, G_i need not be built
        shallow = replace(self.family, i=1)
        for family in dict.fromkeys((shallow, self.family)):
            plan = LanguagePlan(family, patterns_of(family, log, memory), log.horizon, memory)
            plan.refuse_if_too_large(log.n, self.family)
        return plan


@dataclass(frozen=True, slots=True, eq=False)
class LanguagePlan(CountingPlan):
    """The patterns of a family on one log."""

    family: Family
    patterns: Patterns
    horizon: int
    memory: int
    estimates = False
    again = False

    @property
    def rows(self) -> bool:
        """Whether a part is a table of counts, [C, E]."""
        return self.family.is_simple

    @property
    def divides(self) -> bool:
        """Whether counting shards in parallel pays: for words, adding up rows takes longer than counting."""
        return self.family.is_simple

    def size(self, length: int, delta: float) -> int:
        """Return |X| for suffixes of a length."""
        return self.family.size(self.patterns.formal, length)

    @property
    def words(self) -> Words:
        """The words of the family; not used where j = k = 1."""
        return Words(self.patterns.count, min(self.family.j, self.horizon))

    def least_bytes(self, episodes: int) -> int:
        """Return the least memory of counting, for any number of episodes prepared at a time."""
        return _least_bytes(self.family, self.patterns.count, self.horizon, episodes)

    def prepared_bytes(self, episodes: int) -> int:
        """Return the memory of prepared episodes, in bytes."""
        a_row = bytes_of_bits(self.patterns.count, self.horizon) if self.family.is_simple else 4 * (self.horizon + 2)
        return a_row * episodes

    def refuse_if_too_large(self, episodes: int, asked: Family) -> None:
        """Raise FamilyTooLargeError if this family, a part of the one asked for, does not fit into memory."""
        if self.least_bytes(episodes) <= self.memory:
            return
        j, k = self.family.j, self.family.k
        smaller = (
            [replace(self.family, j=n) for n in range(j - 1, 0, -1)] if k == 1 else [replace(self.family, k=k - 1)]
        )
        fits = [f for f in smaller if _least_bytes(f, self.patterns.count, self.horizon, episodes) <= self.memory]
        languages = self.size(self.horizon, 1.0)
        hint, least = parameter("family", "1,1,1"), "" if asked == self.family or languages >= BEYOND else "at least "
        if fits:
            size = _brief(fits[0].size(self.patterns.formal, self.horizon))
            hint = f"{parameter('family', str(fits[0]))} ({size} languages)"
        fix = "Raise" if asked == Family() else f"Try {hint}, or raise"
        raise FamilyTooLargeError(
            f"{parameter('family', str(asked))}: {least}{_brief(languages)} languages on this log do not fit into "
            f"{gigabytes(self.memory)}. {fix} {parameter('memory')}."
        )

    def at_once(self, t: int, n_candidates: int, answers: int) -> bool:
        """Return whether the rows of all candidates fit into memory; words have no rows."""
        return not self.rows or n_candidates <= self._most_at_once(t, answers)

    def _most_at_once(self, t: int, answers: int) -> int:
        """Return how many candidates are counted at a time: see `room_for_counts`."""
        return room_for_counts(self.memory) // (answers * max(1, 8 * self.columns(t)))

    @property
    def patterns_bytes(self) -> int:
        """Bytes of the patterns as bits, with copies while they are made, and of their names."""
        return 4 * self.patterns.hits.nbytes + 1000 * self.patterns.count

    def columns(self, t: int) -> int:
        """Return the number of columns E of `SimpleShard.count`."""
        return self.patterns.count * (1 if t == self.horizon else 3)

    def shard(self, episodes: Episodes) -> SimpleShard | WordShard:
        """Prepare some of the episodes for counting."""
        if self.family.is_simple:
            return SimpleShard(self.patterns, episodes)
        return WordShard(self.automaton(), episodes)

    def automaton(self) -> BackwardAutomaton:
        """Return an automaton that numbers suffixes by their words; shards may share it, one after the other."""
        return BackwardAutomaton(self.patterns.member, self.words, self.memory)

    def combine(self, parts: list[Any]) -> Any:
        """Add up the parts of several shards."""
        return added(parts) if self.family.is_simple else WordPart.combine(parts)

    def layer(self, t: int, part: Any, sizes: Int64, delta: float, runner: QueryRunner | None = None) -> RowLayer:
        """Create the candidates of layer t from their counts."""
        if part is None and runner is not None:
            return self.layer_in_parts(t, sizes, lambda counted: SuffixCounts(self, t, len(counted)), runner)
        if self.family.is_simple:
            return self._row_layer(t, sizes, lambda c: part[c])
        length = self.horizon - t + 1
        return word_layer(self.patterns, self.words, self.family.k, length, part, sizes, self.memory)

    def layer_in_parts(
        self, t: int, sizes: Int64, query: Callable[[Int64], Query[Int64]], runner: QueryRunner
    ) -> RowLayer:
        """Create the candidates of layer t, counting some at a time with `query`; see `RowsInParts`."""

        def count(counted: Int64) -> Int64:
            return np.asarray(runner.run_query(CountsOfSome.of(query(counted), counted, len(sizes))))

        return self._row_layer(t, sizes, RowsInParts(by_size(sizes), self._most_at_once(t, runner.answers), count))

    def _row_layer(self, t: int, sizes: Int64, row_of: Callable[[int], Int64]) -> RowLayer:
        events = simple_events(self.patterns, self.horizon - t + 1)
        return RowLayer(row_of, sizes, np.ones(self.columns(t)), events, self.memory)


def _least_bytes(family: Family, patterns: int, horizon: int, episodes: int) -> int:
    """Return the memory of two rows of counts and of a thousand episodes: their bits, or their rows of words."""
    rows, few = 16 * family.size(patterns, horizon), min(episodes, 1000)
    if family.is_simple:
        return rows + bytes_of_bits(patterns, horizon) * few
    return rows + few * Words(patterns, min(family.j, horizon)).columns


def bytes_of_bits(patterns: int, horizon: int) -> int:
    """Return the bytes that store the patterns met by the suffixes of an episode."""
    return 8 * -(-patterns // 64) * (horizon // SPACING + 1)


def _brief(size: int) -> str:
    return f"{size:,}" if size < 10**15 else f"10^{len(str(size)) - 1}" if size < BEYOND else "over 10^300"


# ---------------------------------------------------------------- j = k = 1


class SimpleShard:
    """Episodes with the next letter, the set of patterns met ahead and the last letter of each suffix."""

    def __init__(self, patterns: Patterns, episodes: Episodes) -> None:
        self._patterns, self._hits = patterns, patterns.hits
        self._weight = weights(episodes)
        self._word = episodes.word
        self._chosen: Int64 | None = None  # columns of `_later`; None: all
        self._later: list[NDArray[np.uint64]] = [NO_COUNTS]  # [W, N] patterns that the last 0, S, 2 S... steps meet
        for first in range(episodes.horizon + 1 - SPACING, 0, -SPACING):
            met = np.empty((self._hits.shape[1], episodes.n), np.uint64)
            patterns_kernels.patterns_met(self._word[first : first + SPACING], self._hits, self._later[-1], met)
            self._later.append(met)

    def some(self, chosen: Int64) -> SimpleShard:
        """Return the chosen episodes only."""
        few = copy(self)
        few._word, few._chosen = self._word[:, chosen], chosen
        few._weight = self._weight[chosen] if self._weight.size else self._weight
        return few

    def count(self, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> Int64:
        """Count [C, E] the languages Γ*GΓ*, GΓ*, Γ*G of each pattern G; for a suffix of one letter they are equal."""
        following, last = met or (None, None)
        following_in = self._count_letter(self._word[t], candidate, n_candidates, following)
        if t == len(self._word) - 1:
            return following_in
        last_in = self._count_letter(self._word[-1], candidate, n_candidates, last)
        known = (len(self._word) - t) // SPACING
        soon = self._word[t : len(self._word) - SPACING * known]
        later = self._later[known] if self._chosen is None or not known else self._later[known][:, self._chosen]
        within = self._count_patterns_ahead(soon, later, candidate, n_candidates)
        return np.concatenate([within, following_in, last_in], axis=1)

    def _count_patterns_ahead(
        self, word: Codes, later: NDArray[np.uint64], candidate: UInt32, n_candidates: int
    ) -> Int64:
        counted = self._hits, later, self._weight, n_candidates, self._patterns.count
        return np.asarray(patterns_kernels.count_patterns(candidate, word, *counted))

    def _count_letter(self, word: Codes, candidate: UInt32, n_candidates: int, counted: Int64 | None = None) -> Int64:
        """Count the patterns of one letter: by a histogram of letters where that is small, else by bits."""
        letters, columns = len(self._hits), self._patterns.count
        if n_candidates * letters * columns > HISTOGRAM * len(candidate):
            return self._count_patterns_ahead(word[None], NO_COUNTS, candidate, n_candidates)
        if counted is None:
            itself = np.arange(n_candidates)
            counted = walking.cross_count(candidate, itself, word, self._weight, n_candidates, letters)
        return np.asarray(patterns_kernels.letters_in_patterns(counted, self._patterns.member))


SPACING = 4  # steps between the stored sets of patterns met; sets in between are computed from them
NO_COUNTS = np.zeros((0, 0), np.uint64)
HISTOGRAM = 16  # operations per episode up to which a product with the histogram of letters is cheaper


def simple_events(patterns: Patterns, length: int) -> Callable[[int], Event]:
    """Return a function from the columns of `SimpleShard.count` to their events."""

    def event(column: int) -> Event:
        where, g = divmod(column, patterns.count)
        pattern = patterns.pattern(g)
        if length == 1 or where == 2:
            return Last(pattern)
        return Next(pattern) if where else Within(length, pattern)

    return event
