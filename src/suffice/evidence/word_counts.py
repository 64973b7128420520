"""Counting words of several patterns, and unions and intersections of languages: any j and k.

Membership of a suffix in every word follows from its first letter and the memberships of the rest, so the suffixes of a
log run backwards through one deterministic automaton whose states are the distinct membership rows: one id per step,
and a layer's counting is a histogram over (candidate, id). Level k = 2 needs only joint counts, since
|u ∪ v| = |u| + |v| − |u ∩ v|; deeper levels are spelt out. Memory: 4 bytes per step, and the distinct rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.data.episodes import Episodes, weights
from suffice.data.queries import LetterCounts
from suffice.evidence.events import BothOf, EitherOf, Event
from suffice.evidence.languages import FamilyTooLargeError, Patterns, Words, first_of_each
from suffice.evidence.rows import RowLayer
from suffice.kernels import walking
from suffice.kernels import words as words_kernels
from suffice.kernels.array_types import Codes, Float, Int64, UInt8, UInt32

FEWEST_ROWS = 256  # that there is room for


class BackwardAutomaton:
    """Ids for the membership rows that occur, and the transitions (letter, id of the rest) → id met so far."""

    def __init__(self, member: UInt8, words: Words, memory: int) -> None:
        self._member, self._words, self._memory = np.ascontiguousarray(member), words.j, memory
        self.rows: UInt8 = np.zeros((FEWEST_ROWS, words.columns), np.uint8)  # [ids, L]
        self.rows[0, :2] = 1  # of the empty suffix: λ and Γ* hold, nothing else does
        self._filled = np.array([0, 1], np.int64)
        self._row_slots = np.full(1024, -1, np.int64)
        words_kernels.rehash_rows(self.rows, 1, self._row_slots)
        self._pairs = np.full(4096, -1, np.int64)

    def ids(self, word: Codes) -> NDArray[np.uint32]:
        """The id of every suffix from step t, [H+2, N]; row H+1 is the empty suffix's."""
        ids = np.zeros((word.shape[0] + 1, word.shape[1]), np.uint32)
        for t in range(word.shape[0] - 1, 0, -1):
            ids[t] = self.before(word[t], ids[t + 1])
        return ids

    def before(self, letters: Codes, ids: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The ids of suffixes that begin with these letters and go on as those of `ids`; both [N]."""
        ids, begin = ids.copy(), 0
        while (begin := self._walk(letters, ids, begin)) < len(ids):
            self._grow()
        return ids

    def _walk(self, word: Codes, ids: NDArray[np.uint32], begin: int) -> int:
        tables = (self._pairs, self._row_slots, self.rows, self._filled)
        return int(words_kernels.walk_back(word, ids, begin, self._member, self._words, *tables))

    def refuse_if_more(self, futures: int) -> None:
        """Whether so many distinct rows fit depends on their number alone, not on who counts them in what order."""
        room = FEWEST_ROWS
        while room < futures + 1:  # the empty suffix has one too
            self._refuse_twice(room)
            room *= 2

    def _refuse_twice(self, rows: int) -> None:
        """A table of so many rows beside one twice as large."""
        refuse_if_over(self._memory, 3 * rows * self.rows.shape[1])
        if 2 * rows > 1 << words_kernels.ID_BITS or 2 * rows * len(self._member) >= 1 << (63 - words_kernels.ID_BITS):
            raise FamilyTooLargeError("this family tells more futures apart than can be numbered; try conjunctions")

    def _grow(self) -> None:
        """Whatever the walk stopped for: rows only if it was for nothing else."""
        pairs, rows = self._filled
        if 2 * pairs >= len(self._pairs):
            old, self._pairs = self._pairs, np.full(4 * len(self._pairs), -1, np.int64)
            words_kernels.rehash_pairs(old, self._pairs)
        elif 2 * rows >= len(self._row_slots):
            self._row_slots = np.full(4 * len(self._row_slots), -1, np.int64)
            words_kernels.rehash_rows(self.rows, rows, self._row_slots)
        else:
            self._refuse_twice(len(self.rows))
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])


@dataclass(frozen=True, slots=True, eq=False)
class WordPart:
    """How often each candidate has suffixes of each membership row."""

    start: Int64  # [C+1]
    value: NDArray[np.uint32]
    count: Int64
    rows: UInt8  # [ids, words] distinct

    @classmethod
    def combine(cls, parts: list[WordPart]) -> WordPart:
        """The same of all their episodes."""
        packed = np.packbits(np.concatenate([part.rows for part in parts]), axis=1)
        _, keep, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        offsets = np.cumsum([0] + [len(part.rows) for part in parts[:-1]])
        keys = [
            np.repeat(np.arange(len(part.start) - 1), np.diff(part.start)) * len(keep)
            + number.reshape(-1)[part.value + o]
            for part, o in zip(parts, offsets, strict=True)
        ]
        pairs, place = np.unique(np.concatenate(keys), return_inverse=True)
        count = np.zeros(len(pairs), np.int64)
        np.add.at(count, place, np.concatenate([part.count for part in parts]))
        start = np.searchsorted(pairs, np.arange(len(parts[0].start)) * len(keep))
        rows = np.concatenate([part.rows for part in parts])[keep]
        return cls(start, (pairs % len(keep)).astype(np.uint32), count, rows)


class WordShard:
    """Suffixes by their membership in every word of up to j patterns."""

    def __init__(self, automaton: BackwardAutomaton, episodes: Episodes) -> None:
        self._weight, self._automaton = weights(episodes), automaton
        self._ids = automaton.ids(episodes.word)

    def count(self, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> WordPart:
        """See `Shard`."""
        rows = self._automaton.rows
        start, value, count = walking.tally(candidate, self._ids[t], self._weight, n_candidates, len(rows))
        used, value = np.unique(value, return_inverse=True)
        return WordPart(start, value.astype(np.uint32), count, rows[used])

    def futures(self) -> UInt8:
        """The distinct rows of all its suffixes, as bits."""
        rows = self._automaton.rows
        met = np.zeros(len(rows), bool)
        met[self._ids[1:-1]] = True
        return np.packbits(rows[met], axis=1)


def word_layer(
    patterns: Patterns, words: Words, k: int, length: int, part: WordPart, sizes: Int64, memory: int
) -> RowLayer:
    """Languages that hold for the same suffixes of the layer become one event, with their number."""
    columns = words.languages(length)
    level = BooleanLevel.reaching(part.rows[:, columns], columns, k, memory)
    refuse_if_over(memory, 8 * len(sizes) * len(level.multiplicities))
    mine = [slice(*part.start[c : c + 2]) for c in range(len(sizes))]
    counts = [level.weigh(part.value[s].astype(np.int64), part.count[s]).astype(np.int64) for s in mine]

    def event(column: int) -> Event:
        return level.event(column, lambda word: words.word(word, patterns.pattern))

    return RowLayer(lambda c: counts[c], sizes, level.multiplicities, event)


def refuse_if_over(memory: int, needed: int) -> None:
    """Where the need shows only on the way."""
    if needed > memory:
        raise FamilyTooLargeError(
            f"this language family needs {needed / 1e9:.1f} GB on this log, more than the "
            f"{memory / 1e9:.1f} GB allowed; try a smaller --family, or raise --memory"
        )


_Made = tuple[type[EitherOf] | type[BothOf] | None, int, int]  # how two languages are joined; None: the first itself


@dataclass(frozen=True, slots=True, eq=False)
class BooleanLevel:
    """Languages of one Boolean level, one for each distinct set of suffixes, and how many it stands for.

    With `pairs` also their pairwise unions and intersections, which need not be spelt out to be counted.
    """

    rows: UInt8  # [ids, L]
    made: list[_Made]  # a word's column, or how two languages of the level below are joined
    multiplicity: Float  # [L]
    pairs: bool = False
    below: BooleanLevel | None = None

    @classmethod
    def reaching(cls, rows: UInt8, columns: Int64, k: int, memory: int) -> BooleanLevel:
        """Level k over words, given by their columns in membership rows: the last step up is left to `pairs`."""
        level = cls._distinct(rows, [(None, int(c), 0) for c in columns], np.ones(len(columns)), None, k > 1)
        for _ in range(k - 2):
            refuse_if_over(memory, len(rows) * level.width**2)
            level = level._deepen()
        return level

    @classmethod
    def _distinct(
        cls, rows: UInt8, made: list[_Made], multiplicity: Float, below: BooleanLevel | None, pairs: bool
    ) -> BooleanLevel:
        keep = first_of_each(rows.T)
        place = {rows[:, i].tobytes(): p for p, i in enumerate(keep)}
        total = np.zeros(len(keep))
        np.add.at(total, [place[column.tobytes()] for column in rows.T], multiplicity)
        return cls(np.ascontiguousarray(rows[:, keep]), [made[i] for i in keep], total, pairs, below)

    def _deepen(self) -> BooleanLevel:
        """All pairwise unions and intersections, spelt out."""
        u, v = self._both
        rows = np.concatenate([self.rows, self.rows[:, u] | self.rows[:, v], self.rows[:, u] & self.rows[:, v]], axis=1)
        both = list(zip(u.tolist(), v.tolist(), strict=True))
        made: list[_Made] = [(None, i, 0) for i in range(self.width)]
        made += [(EitherOf, *p) for p in both] + [(BothOf, *p) for p in both]
        return BooleanLevel._distinct(rows, made, self.multiplicities, self, True)

    @property
    def width(self) -> int:
        """L."""
        return int(self.rows.shape[1])

    @property
    def _both(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        u, v = np.triu_indices(self.width, 1)
        return u, v

    @property
    def multiplicities(self) -> Float:
        """[E] Of m languages that coincide m² pairs coincide with them; of two such groups mᵤ·mᵥ of each kind do."""
        m = self.multiplicity
        if not self.pairs:
            return m
        u, v = self._both
        return np.concatenate([m**2, m[u] * m[v], m[u] * m[v]])

    def weigh(self, ids: Int64, weight: NDArray[np.int64] | Float) -> Float:
        """[E] the weight of the membership rows in each event; |u ∪ v| = |u| + |v| − |u ∩ v|."""
        if not self.pairs:
            return np.asarray(weight @ self.rows[ids].astype(np.float64))  # exact below 2⁵³, and fast
        joint, (u, v) = words_kernels.joint_weights(self.rows, ids, weight), self._both
        single = joint.diagonal()
        return np.concatenate([single, single[u] + single[v] - joint[u, v], joint[u, v]])

    def event(self, column: int, word: Callable[[int], Event]) -> Event:
        """An event of this level, or of the pairs of its languages, given the word of each column."""
        if column < self.width:
            join, a, b = self.made[column]
            if self.below is None:
                return word(a)
            one = self.below.event(a, word)
            return one if join is None else join(one, self.below.event(b, word))
        u, v = self._both
        half, pair = divmod(column - self.width, len(u))
        left, right = self.event(int(u[pair]), word), self.event(int(v[pair]), word)
        return BothOf(left, right) if half else EitherOf(left, right)
