"""Language families X_{i,j,k}, whose languages are events of the future. Theory: docs/theory.md, section 3.

A *pattern* is a set of letters: G_1 fixes one component of a step, G_i adds pairwise unions and intersections of
G_{i−1}. A *word* `S_1 G_1 … S_n G_n S_{n+1}`, n ≤ j, with each gap S either Γ* or λ, is a language of suffixes; the
levels k > 1 add unions and intersections of languages. `conjunctions` is the default: every combination of an action,
a feature or whole observation, and a reward, because "north *and* reward 4" can distinguish states that neither
condition distinguishes alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from suffice.data.alphabet import STOP, Alphabet, Value
from suffice.data.episodes import Outline
from suffice.errors import MemoryLimitError, SettingsError, alternatives, closest, gigabytes, parameter
from suffice.evidence.events import (
    ActionIs,
    AllOf,
    AnyOf,
    Condition,
    Conjunction,
    FeatureIs,
    ObservationIs,
    Pattern,
    RewardIs,
    Word,
)
from suffice.evidence.tables import FAMILIES
from suffice.kernels.array_types import Codes, Mask, UInt8

BEYOND = 10**300  # sizes are limited to this: families of this size are never counted
MAX_PATTERN_BYTES = 1 << 30  # the closure G_i is computed on explicit subsets of Γ


class FamilyTooLargeError(MemoryLimitError):
    """A language family that does not fit into the allowed memory."""


def refuse_if_over(memory: int, needed: int, table: str = "the family") -> None:
    """Raise FamilyTooLargeError if a need that shows only during counting exceeds the memory."""
    if needed > memory:
        raise FamilyTooLargeError(
            f"{parameter('family')}: {table} needs {gigabytes(needed)} on this log, more than the "
            f"{gigabytes(memory)} allowed. Choose a smaller family, or raise {parameter('memory')}."
        )


@dataclass(frozen=True, slots=True)
class Family:
    """The language family X_{i,j,k}, or the same with conjunctions instead of G_1.

    As text it is "I,J,K" or "conjunctions,I,J,K".

    Parameters
    ----------
    i
        Boolean level of patterns: G_1 fixes one component of a step, each further level adds unions and intersections.
    j
        Largest number of patterns in a word.
    k
        Boolean level of languages: 1 for words alone.
    conjunctions
        Whether patterns start from conjunctions of action, observation and reward instead of single components.

    Examples
    --------
    >>> suffice.Family.parse("1,1,1")
    Family(i=1, j=1, k=1, conjunctions=False)
    >>> str(suffice.CONJUNCTIONS), str(suffice.Family(1, 2, 1, conjunctions=True))
    ('conjunctions', 'conjunctions,1,2,1')
    """

    i: int = 1
    j: int = 1
    k: int = 1
    conjunctions: bool = False

    def __post_init__(self) -> None:
        if min(self.i, self.j, self.k) < 1:
            raise SettingsError(
                f"{parameter('family', str(self))}: I, J and K are numbers from 1 on. Try {alternatives(_EXAMPLES)}."
            )

    @classmethod
    def parse(cls, text: str) -> Family:
        """Return the family of a name or of three numbers.

        Parameters
        ----------
        text
            A name in `tables.FAMILIES`, "I,J,K" or "conjunctions,I,J,K".

        Returns
        -------
        Family
            The family.
        """
        found = FAMILIES.get(text)
        if isinstance(found, Family):
            return found
        if found is not None:
            raise SettingsError(
                f"{parameter('family', text)} means several families. Choose one, such as {alternatives(_EXAMPLES)}."
            )
        if (numbers := _FAMILY.fullmatch(text)) is None:
            near = closest(text, FAMILIES)
            meant = "" if near is None else f" Did you mean {near!r}?"
            raise SettingsError(
                f"{parameter('family', text)} is not a language family.{meant} Choose "
                f"{alternatives(FAMILIES)}, or I,J,K such as 1,1,1."
            )
        over, i, j, k = numbers.groups()
        return cls(int(i), int(j), int(k), conjunctions=over is not None)

    def __str__(self) -> str:
        if self == CONJUNCTIONS:
            return "conjunctions"
        return f"{'conjunctions,' if self.conjunctions else ''}{self.i},{self.j},{self.k}"

    @property
    def is_simple(self) -> bool:
        """Whether j = k = 1; then the next letter, the set of letters ahead and the last letter decide membership."""
        return self.j == 1 and self.k == 1

    def size(self, patterns: int, length: int) -> int:
        """Return |X| = Σ_n |G|^n · (2^{n+1} − 1, or 1 where n = ℓ), squared k − 1 times.

        Parameters
        ----------
        patterns
            Number of patterns |G|.
        length
            Length ℓ of the suffixes.

        Returns
        -------
        int
            Number of languages, at most 10^300.
        """
        size: int = sum(
            patterns**n * (2 ** (n + 1) - 1 if n < length else 1) for n in range(1, min(self.j, length) + 1)
        )
        for _ in range(self.k - 1):
            if not 1 < size < BEYOND:
                break
            size = size * size
        return min(size, BEYOND)


CONJUNCTIONS = Family(conjunctions=True)
_NUMBER = r"\s*([+-]?\d{1,9})\s*"
_EXAMPLES = ("1,1,1", "conjunctions")  # for messages
_FAMILY = re.compile(rf"(conjunctions,)?{_NUMBER},{_NUMBER},{_NUMBER}")


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """The patterns of a family on one log: their number on Γ, and those that differ on the letters of the log."""

    formal: int  # |G|, distinct as subsets of Γ = A × O × R
    count: int  # G', the number of patterns that differ on the letters of the log
    hits: NDArray[np.uint64]  # [X, W] patterns that each letter is in: pattern g is bit g mod 64 of word g div 64
    pattern: Callable[[int], Pattern]  # number → pattern

    @property
    def member(self) -> UInt8:
        """Which letters are in each pattern, [X, G'], with a byte for each."""
        packed = self.hits.astype("<u8").view(np.uint8)
        return np.unpackbits(packed, axis=1, count=self.count, bitorder="little")

    def __reduce__(self) -> tuple[type[Patterns], tuple[int, int, NDArray[np.uint64], Callable[[int], Pattern]]]:
        """Send only the membership table to other processes; patterns are named in the process that made them."""
        return Patterns, (self.formal, self.count, self.hits, _unnamed)


def _unnamed(g: int) -> Pattern:
    raise LookupError(f"pattern {g} is named in the process that made it")


def patterns_of(family: Family, episodes: Outline, memory: int = 8 * MAX_PATTERN_BYTES) -> Patterns:
    """Return the patterns G_i, or the conjunctions, over the values that occur after step 0 (or are declared).

    Raise FamilyTooLargeError before anything is made that does not fit into `memory`, in bytes.
    """
    if not episodes.follows.any():  # episodes of a single observation
        return Patterns(0, 0, np.zeros((len(episodes.letters), 0), np.uint64), _unnamed)
    action, observation, reward = episodes.suffix_alphabet()
    _refuse_if_too_many(family, _forms(family, episodes.alphabet, (action, observation, reward)), episodes, memory)
    options = _options(episodes.alphabet, action, observation, reward)
    rectangles = _conjunctions(options) if family.conjunctions else _single_components(options)
    occurs = episodes.follows
    places = [
        np.searchsorted(codes, column)
        for codes, column in zip((action, observation, reward), episodes.letters.T, strict=True)
    ]
    if family.i == 1:
        packed = np.stack([_packed(_on_letters(rectangle, places, occurs)) for rectangle in rectangles])
        return _distinct_on_log(packed, len(occurs), lambda g: rectangles[g].pattern)
    closure = _PatternClosure(rectangles, (len(action), len(observation), len(reward)))
    for level in range(2, family.i + 1):
        closure.deepen(family, level, memory)
    flat = np.zeros(len(occurs), dtype=np.int64)
    flat[occurs] = np.ravel_multi_index([p[occurs] for p in places], closure.shape)
    return _distinct_on_log(_packed(closure.subsets[:, flat] & occurs), len(occurs), closure.pattern)


# ---------------------------------------------------------------- G_1 and conjunctions: products of components


@dataclass(frozen=True, slots=True, eq=False)
class _Rectangle:
    """A pattern that is a product A' × O' × R'."""

    parts: tuple[Mask, Mask, Mask]
    pattern: Pattern

    @property
    def key(self) -> tuple[bytes, ...]:
        return tuple(np.packbits(part).tobytes() for part in self.parts)


_Option = tuple[Mask, Condition | None]  # None: any value


def _options(alphabet: Alphabet, action: Codes, observation: Codes, reward: Codes) -> tuple[list[_Option], ...]:
    """Return the conditions on each component: actions; o_⊥ and features; whole observations; rewards."""
    actions: list[_Option] = [(action == a, ActionIs(int(a))) for a in action]
    rewards: list[_Option] = [(reward == r, RewardIs(int(r))) for r in reward]
    features: list[_Option] = [(observation == STOP, ObservationIs(STOP))] if STOP in observation else []
    seen = [alphabet.observation(int(o)) for o in observation]
    for f in range(len(alphabet.features)):
        example: dict[Value, int] = {}  # the first observation with each value
        coded = zip(observation.tolist(), seen, strict=True)
        of = np.array([STOP if o is None else example.setdefault(o[f], code) for code, o in coded])
        features += [(of == code, FeatureIs(f, code)) for code in example.values()]
    wholes: list[_Option] = [(observation == o, ObservationIs(int(o))) for o in observation if o != STOP]
    return actions, features, wholes, rewards


def _distinct(rectangles: Iterable[_Rectangle]) -> list[_Rectangle]:
    """Return one rectangle of each extension: the one that is named first."""
    return list({r.key: r for r in reversed(list(rectangles))}.values())[::-1]


def _any(options: list[_Option]) -> _Option:
    return np.ones_like(options[0][0]), None


def _single_components(options: tuple[list[_Option], ...]) -> list[_Rectangle]:
    """Return the patterns of G_1: action = a, reward = r, feature = v, o = o_⊥."""
    actions, features, _, rewards = options
    any_a, any_o, any_r = _any(actions), _any(features), _any(rewards)
    found = [_rectangle((a, any_o, any_r)) for a in actions]
    found += [_rectangle((any_a, o, any_r)) for o in features]
    found += [_rectangle((any_a, any_o, r)) for r in rewards]
    return _distinct(found)


def _conjunctions(options: tuple[list[_Option], ...]) -> list[_Rectangle]:
    """Return the conjunctions, simplest first.

    They are (action | any) × (feature = v | whole observation | any) × (reward | any) without any-any-any.
    """
    actions, features, wholes, rewards = options
    components = [[_any(o), *o] for o in (actions, features + wholes, rewards)]
    forms = [(a, o, r) for a, o, r in product(*components) if any(condition for _, condition in (a, o, r))]
    forms.sort(key=lambda form: sum(condition is not None for _, condition in form))
    return _distinct(map(_rectangle, forms))


def _rectangle(form: tuple[_Option, _Option, _Option]) -> _Rectangle:
    (a, _), (o, _), (r, _) = form
    conditions = tuple(condition for _, condition in form if condition is not None)
    return _Rectangle((a, o, r), conditions[0] if len(conditions) == 1 else Conjunction(conditions))


def _on_letters(rectangle: _Rectangle, places: list[NDArray[np.intp]], occurs: Mask) -> Mask:
    inside = occurs.copy()
    for part, place in zip(rectangle.parts, places, strict=True):
        inside[occurs] &= part[place[occurs]]
    return inside


# ---------------------------------------------------------------- G_i: Boolean closure on explicit subsets of Γ


_Made = tuple[type[AnyOf] | type[AllOf] | None, int, int]  # operation on two patterns; None: the pattern itself


class _PatternClosure:
    """The level G_i as explicit subsets of Γ, each with the operation that made it."""

    def __init__(self, rectangles: list[_Rectangle], shape: tuple[int, int, int]) -> None:
        self.shape = shape
        products = [np.einsum("a,o,r->aor", *(p.astype(np.uint8) for p in r.parts)).ravel() for r in rectangles]
        self.subsets: Mask = np.stack(products).astype(bool)
        self._first = [r.pattern for r in rectangles]
        self._made: list[_Made] = [(None, g, g) for g in range(len(rectangles))]

    def deepen(self, family: Family, level: int, memory: int) -> None:
        """Add pairwise unions and intersections, one of each extension, without the empty set."""
        n = len(self.subsets)
        if n * n * self.subsets.shape[1] > min(MAX_PATTERN_BYTES, memory // 3):  # the sets, and copies of them
            raise FamilyTooLargeError(
                f"{parameter('family', str(family))}: level {level} has up to {n * n:,} patterns on "
                f"{self.subsets.shape[1]:,} letters, too many for the memory. Try "
                f"{parameter('family', f'{level - 1},{family.j},{family.k}')} ({n:,} patterns) or conjunctions."
            )
        u, v = np.triu_indices(n, 1)
        grown = np.concatenate([self.subsets, self.subsets[u] | self.subsets[v], self.subsets[u] & self.subsets[v]])
        pairs = list(zip(u.tolist(), v.tolist(), strict=True))
        made = self._made + [(AnyOf, *pair) for pair in pairs] + [(AllOf, *pair) for pair in pairs]
        keep = [g for g in first_of_each(grown) if grown[g].any()]
        # pairs refer to positions in the level below, which come first and all remain
        self.subsets, self._made = grown[keep], [made[g] for g in keep]

    def pattern(self, g: int) -> Pattern:
        join, u, v = self._made[g]
        return self._first[u] if join is None else join(self.pattern(u), self.pattern(v))


def first_of_each(rows: NDArray[np.generic]) -> NDArray[np.intp]:
    """Return the positions of the first of each distinct row, in order."""
    return _first_of_each_packed(_packed(rows.astype(bool)))


def _first_of_each_packed(packed: UInt8) -> NDArray[np.intp]:
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])


def _packed(rows: Mask) -> UInt8:
    """Pack the last axis, eight to a byte."""
    return np.packbits(rows, axis=-1, bitorder="little")


def _distinct_on_log(packed: UInt8, letters: int, pattern: Callable[[int], Pattern]) -> Patterns:
    """Return the patterns that differ on the letters of the log, given all of them as bits, [G, X / 8]."""
    keep = _first_of_each_packed(packed)
    bits = np.zeros((letters, -(-len(keep) // 64) * 8), np.uint8)
    for byte in range(-(-len(keep) // 8)):  # transposed eight patterns at a time, because whole bytes take more memory
        some = np.unpackbits(packed[keep[8 * byte : 8 * byte + 8]], axis=1, count=letters, bitorder="little")
        bits[:, byte] = np.packbits(some, axis=0, bitorder="little")[0]
    return Patterns(len(packed), len(keep), bits.view("<u8").astype(np.uint64), lambda g: pattern(int(keep[g])))


def _forms(family: Family, alphabet: Alphabet, codes: tuple[Codes, Codes, Codes]) -> int:
    """Return the number of patterns before duplicates are removed."""
    action, observation, reward = (len(c) for c in codes)
    features = sum(len({o[f] for o in alphabet.observations}) for f in range(len(alphabet.features)))
    if family.conjunctions:
        return (action + 1) * (features + observation + 1) * (reward + 1)
    return action + features + 1 + reward


def _refuse_if_too_many(family: Family, forms: int, episodes: Outline, memory: int) -> None:
    """Raise FamilyTooLargeError before patterns are made, if as sets of letters they would not fit into memory."""
    letters = int(episodes.follows.sum())
    most = min(MAX_PATTERN_BYTES, 2 * memory)  # stored as bits, and copied to remove duplicates
    if forms * letters > most:
        fixes = [parameter("family", "1,1,1")] if family.conjunctions else []
        fixes += [f"fewer distinct observations ({parameter('bins')})"]
        raised = f", or raise {parameter('memory')}" if most < MAX_PATTERN_BYTES else ""
        raise FamilyTooLargeError(
            f"{parameter('family', str(family))}: up to {forms:,} patterns on {letters:,} distinct steps are too many "
            f"for the memory. Try {', or '.join(fixes)}{raised}."
        )


# ---------------------------------------------------------------- words: columns that are languages at a length


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """All words of up to j patterns, in the order of `kernels.words.member_row`."""

    patterns: int
    j: int

    @property
    def columns(self) -> int:
        """Number of bits per suffix: 2 for the empty words λ and Γ*, then 2^{n+1} |G|^n for each n."""
        return 2 + sum(int(2 ** (n + 1) * self.patterns**n) for n in range(1, self.j + 1))

    def languages(self, length: int) -> NDArray[np.int64]:
        """Return the columns that are the languages of X_{i,j,1} at a length.

        Where n < ℓ these are all choices of gaps but λ…λ, which is empty. Where n = ℓ all choices are the same
        language, and one is returned.
        """
        start, tight = 2, np.array([True, False])
        chosen = []
        for n in range(1, min(self.j, length) + 1):
            inner = np.tile(tight, self.patterns)
            tight = np.concatenate([inner, np.zeros_like(inner)])  # λ first, then Γ*
            chosen.append(start + np.flatnonzero(tight if n == length else ~tight))
            start += len(tight)
        return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)

    def word(self, column: int, pattern: Callable[[int], Pattern]) -> Word:
        """Return the word of a column."""
        n, start, size = 0, 0, 2
        while column >= start + size:
            n, start, size = n + 1, start + size, 2 * self.patterns * size
        index, gaps, patterns = column - start, [], []
        for _ in range(n):
            size //= 2 * self.patterns
            gap, rest = divmod(index, self.patterns * size)
            g, index = divmod(rest, size)
            gaps.append(bool(gap))
            patterns.append(pattern(g))
        return Word((*gaps, bool(index)), tuple(patterns))
