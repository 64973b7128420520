"""Count words of several patterns, and unions and intersections of languages, for any j and k.

Membership of a suffix in every word follows from its first letter and the memberships of the rest. So the suffixes of a
log run backwards through one deterministic automaton whose states are the distinct membership rows: one id per step,
and counting a layer is a histogram over (candidate, id). Level k = 2 needs only joint counts, because
|u ∪ v| = |u| + |v| − |u ∩ v|; deeper levels are written out. Memory: 4 bytes per step, and the distinct rows. Theory:
docs/theory.md, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.data.episodes import Episodes, weights
from suffice.data.queries import LetterCounts
from suffice.errors import parameter
from suffice.evidence.events import BothOf, EitherOf, Event
from suffice.evidence.languages import FamilyTooLargeError, Patterns, Words, first_of_each, refuse_if_over
from suffice.evidence.rows import RowLayer
from suffice.kernels import walking
from suffice.kernels import words as words_kernels
from suffice.kernels.array_types import Codes, Float, Int64, UInt8, UInt32

FEWEST_ROWS = 256  # initial capacity of the table of rows


class BackwardAutomaton:
    """Ids of the membership rows that occur, and the transitions (letter, id of the rest) → id seen so far."""

    def __init__(self, member: UInt8, words: Words, memory: int) -> None:
        self._member, self._words, self._memory = np.ascontiguousarray(member), words.j, memory
        self.rows: UInt8 = np.zeros((FEWEST_ROWS, words.columns), np.uint8)  # [ids, L]
        self.rows[0, :2] = 1  # the empty suffix is in λ and Γ* alone
        self._filled = np.array([0, 1], np.int64)
        self._row_slots = np.full(1024, -1, np.int64)
        words_kernels.rehash_rows(self.rows, 1, self._row_slots)
        self._pairs = np.full(4096, -1, np.int64)

    def ids(self, word: Codes) -> NDArray[np.uint32]:
        """Return the id of every suffix, by its first step, [H+2, N]; row H+1 is for the empty suffix."""
        ids = np.zeros((word.shape[0] + 1, word.shape[1]), np.uint32)
        for t in range(word.shape[0] - 1, 0, -1):
            ids[t] = self.before(word[t], ids[t + 1])
        return ids

    def before(self, letters: Codes, ids: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the ids of suffixes that begin with these letters and continue as `ids`; both [N]."""
        ids, begin = ids.copy(), 0
        while (begin := self._walk(letters, ids, begin)) < len(ids):
            self._grow()
        return ids

    def _walk(self, word: Codes, ids: NDArray[np.uint32], begin: int) -> int:
        tables = (self._pairs, self._row_slots, self.rows, self._filled)
        return int(words_kernels.walk_back(word, ids, begin, self._member, self._words, *tables))

    def refuse_if_more(self, futures: int) -> None:
        """Raise FamilyTooLargeError if this number of distinct rows does not fit, in whatever order they are found."""
        room = FEWEST_ROWS
        while room < futures + 1:  # the empty suffix also has a row
            self._refuse_twice(room)
            room *= 2

    def _refuse_twice(self, rows: int) -> None:
        """Raise FamilyTooLargeError if a table of rows and one twice as large do not fit together."""
        refuse_if_over(self._memory, 3 * rows * self.rows.shape[1])
        if 2 * rows > 1 << words_kernels.ID_BITS or 2 * rows * len(self._member) >= 1 << (63 - words_kernels.ID_BITS):
            raise FamilyTooLargeError(
                f"{parameter('family')}: the family has more distinct futures on this log than can be numbered. Try "
                f"{parameter('family', 'conjunctions')}."
            )

    def _grow(self) -> None:
        """Enlarge the table that stopped the walk: pairs, slots of rows, or the rows themselves."""
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
    """Counts of the membership rows among the suffixes of each candidate."""

    start: Int64  # [C+1] where the rows of each candidate begin
    value: NDArray[np.uint32]  # id of a row
    count: Int64  # suffixes with this row
    rows: UInt8  # [ids, words] distinct

    @classmethod
    def combine(cls, parts: list[WordPart]) -> WordPart:
        """Add up the counts of several parts."""
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
    """Episodes whose suffixes are numbered by their membership in every word of up to j patterns."""

    def __init__(self, automaton: BackwardAutomaton, episodes: Episodes) -> None:
        self._weight, self._automaton = weights(episodes), automaton
        self._ids = automaton.ids(episodes.word)

    def count(self, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> WordPart:
        """Count the suffixes from step t by candidate."""
        rows = self._automaton.rows
        start, value, count = walking.tally(candidate, self._ids[t], self._weight, n_candidates, len(rows))
        used, value = np.unique(value, return_inverse=True)
        return WordPart(start, value.astype(np.uint32), count, rows[used])

    def futures(self) -> UInt8:
        """Return the distinct rows of all suffixes, as bits."""
        rows = self._automaton.rows
        met = np.zeros(len(rows), bool)
        met[self._ids[1:-1]] = True
        return np.packbits(rows[met], axis=1)


def word_layer(
    patterns: Patterns, words: Words, k: int, length: int, part: WordPart, sizes: Int64, memory: int
) -> RowLayer:
    """Create a layer whose events are the distinct languages, each with the number of languages that coincide."""
    columns = words.languages(length)
    level = BooleanLevel.reaching(part.rows[:, columns], columns, k, memory)
    refuse_if_over(memory, 8 * len(sizes) * len(level.multiplicities))
    mine = [slice(*part.start[c : c + 2]) for c in range(len(sizes))]
    counts = [level.weigh(part.value[s].astype(np.int64), part.count[s]).astype(np.int64) for s in mine]

    def event(column: int) -> Event:
        return level.event(column, lambda word: words.word(word, patterns.pattern))

    return RowLayer(lambda c: counts[c], sizes, level.multiplicities, event)


_Made = tuple[type[EitherOf] | type[BothOf] | None, int, int]  # operation on two languages; None: the first itself


@dataclass(frozen=True, slots=True, eq=False)
class BooleanLevel:
    """Languages of one Boolean level, one for each distinct set of suffixes, with the number that coincide.

    With `pairs` their pairwise unions and intersections are events too; these are counted without being written out.
    """

    rows: UInt8  # [ids, L]
    made: list[_Made]  # the column of a word, or the operation on two languages of the level below
    multiplicity: Float  # [L] number of languages that coincide
    pairs: bool = False
    below: BooleanLevel | None = None

    @classmethod
    def reaching(cls, rows: UInt8, columns: Int64, k: int, memory: int) -> BooleanLevel:
        """Build level k over words, given by their columns in membership rows; `pairs` covers the last level."""
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
        """Return the next level with all pairwise unions and intersections, written out."""
        u, v = self._both
        rows = np.concatenate([self.rows, self.rows[:, u] | self.rows[:, v], self.rows[:, u] & self.rows[:, v]], axis=1)
        both = list(zip(u.tolist(), v.tolist(), strict=True))
        made: list[_Made] = [(None, i, 0) for i in range(self.width)]
        made += [(EitherOf, *p) for p in both] + [(BothOf, *p) for p in both]
        return BooleanLevel._distinct(rows, made, self.multiplicities, self, True)

    @property
    def width(self) -> int:
        """Number L of distinct languages."""
        return int(self.rows.shape[1])

    @property
    def _both(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        u, v = np.triu_indices(self.width, 1)
        return u, v

    @property
    def multiplicities(self) -> Float:
        """Number of languages that each event stands for, [E].

        Among m languages that coincide there are m² pairs; between two such groups there are mᵤ·mᵥ of each kind.
        """
        m = self.multiplicity
        if not self.pairs:
            return m
        u, v = self._both
        return np.concatenate([m**2, m[u] * m[v], m[u] * m[v]])

    def weigh(self, ids: Int64, weight: NDArray[np.int64] | Float) -> Float:
        """Return the weight of the membership rows in each event, [E]; |u ∪ v| = |u| + |v| − |u ∩ v|."""
        if not self.pairs:
            return np.asarray(weight @ self.rows[ids].astype(np.float64))  # exact below 2⁵³, and fast
        joint, (u, v) = words_kernels.joint_weights(self.rows, ids, weight), self._both
        single = joint.diagonal()
        return np.concatenate([single, single[u] + single[v] - joint[u, v], joint[u, v]])

    def event(self, column: int, word: Callable[[int], Event]) -> Event:
        """Return an event of this level or of its pairs; `word` maps columns to words."""
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
