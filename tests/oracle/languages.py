"""Language families by definition: patterns G_i, words C_j, Boolean level k, conjunctions.

A letter is a whole step, a triple of codes (action, observation, reward); a suffix is a tuple of ℓ letters; a pattern
is a set of letters. A language is given by its members among the suffixes of a log. Theory: docs/theory.md, section 3.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

Letter = tuple[int, int, int]
Suffix = tuple[Letter, ...]
Pattern = frozenset[Letter]
Members = frozenset[int]  # positions of the suffixes that a language contains
Word = tuple[tuple[bool, ...], tuple[Pattern, ...]]  # the n+1 gaps (True: Γ*, False: λ) and the n patterns

STOP = 0  # observation code of o_⊥, which has no features


@dataclass(frozen=True)
class Languages:
    """The statistic of X_{i,j,k}."""

    i: int = 1
    j: int = 1
    k: int = 1


@dataclass(frozen=True)
class Conjunctions:
    """The statistic of (action | any) × (feature = v | whole observation | any) × (reward | any), j = k = 1."""


@dataclass(frozen=True)
class SuffixAlphabet:
    """A, O and R as codes; `features[c - 1]` are the features of the observation code c > 0."""

    actions: tuple[int, ...]
    observations: tuple[int, ...]
    rewards: tuple[int, ...]
    features: tuple[tuple[object, ...], ...]

    def letters(self) -> Pattern:
        """Return Γ = A × O × R."""
        return frozenset(product(self.actions, self.observations, self.rewards))

    def having(self, feature: int, value: object) -> list[int]:
        """Return the observations with a value of a feature; o_⊥ has no features."""
        return [o for o in self.observations if o != STOP and self.features[o - 1][feature] == value]

    def feature_values(self) -> list[tuple[int, object]]:
        """Return all (feature, value) that occur in some observation."""
        seen = [self.features[o - 1] for o in self.observations if o != STOP]
        return [(f, v) for f in range(len(seen[0]) if seen else 0) for v in dict.fromkeys(o[f] for o in seen)]


def basic_patterns(gamma: SuffixAlphabet) -> set[Pattern]:
    """Return G_1: action = a, reward = r, feature f = v, o = o_⊥; one of each extension, none empty."""
    letters = gamma.letters()
    patterns = {frozenset(x for x in letters if x[0] == a) for a in gamma.actions}
    patterns |= {frozenset(x for x in letters if x[2] == r) for r in gamma.rewards}
    patterns |= {frozenset(x for x in letters if x[1] in gamma.having(f, v)) for f, v in gamma.feature_values()}
    patterns |= {frozenset(x for x in letters if x[1] == STOP)}
    return patterns - {frozenset()}


def patterns_of_level(gamma: SuffixAlphabet, i: int) -> set[Pattern]:
    """Return G_i: pairwise unions and intersections, added i − 1 times to G_1; one of each extension, none empty."""
    patterns = basic_patterns(gamma)
    for _ in range(i - 1):
        pairs = list(combinations(patterns, 2))
        patterns = patterns | {g | h for g, h in pairs} | {g & h for g, h in pairs}
    return patterns - {frozenset()}


def conjunction_patterns(gamma: SuffixAlphabet) -> set[Pattern]:
    """Return every conjunction except any-any-any, one of each extension on Γ."""
    by_action: list[list[int] | None] = [None, *([a] for a in gamma.actions)]
    by_feature = [gamma.having(f, v) for f, v in gamma.feature_values()]
    by_observation: list[list[int] | None] = [None, *by_feature, *([o] for o in gamma.observations)]
    by_reward: list[list[int] | None] = [None, *([r] for r in gamma.rewards)]
    forms = [form for form in product(by_action, by_observation, by_reward) if form != (None, None, None)]
    letters = gamma.letters()
    extensions = {
        frozenset(x for x in letters if all(part is None or code in part for code, part in zip(x, form, strict=True)))
        for form in forms
    }
    return extensions - {frozenset()}


def patterns(statistic: Languages | Conjunctions, gamma: SuffixAlphabet) -> set[Pattern]:
    """Return the patterns G of a family."""
    if isinstance(statistic, Conjunctions):
        return conjunction_patterns(gamma)
    return patterns_of_level(gamma, statistic.i)


def length_and_level(statistic: Languages | Conjunctions) -> tuple[int, int]:
    """Return (j, k) of a family."""
    return (1, 1) if isinstance(statistic, Conjunctions) else (statistic.j, statistic.k)


def log_size(statistic: Languages | Conjunctions, gamma: SuffixAlphabet, ell: int) -> float:
    """Return ln |X|, −∞ if X is empty.

    |X| = Σ_{n ≤ min(j,ℓ)} |G|^n · (2^{n+1} − 1 if n < ℓ, else 1), squared k − 1 times.
    """
    size = len(patterns(statistic, gamma))
    j, k = length_and_level(statistic)
    words = sum(size**n * (2 ** (n + 1) - 1 if n < ell else 1) for n in range(1, min(j, ell) + 1))
    return math.log(words**2 ** (k - 1)) if words else -math.inf


def gap_choices(n: int, ell: int) -> list[tuple[bool, ...]]:
    """Return the gaps of n patterns: not all λ if n < ℓ; one choice if n = ℓ, where all are the same language."""
    if n == ell:
        return [(False,) * (n + 1)]
    return [gaps for gaps in product((False, True), repeat=n + 1) if any(gaps)]


def words(family: Sequence[Pattern], j: int, ell: int) -> Iterator[Word]:
    """Yield the words S_1 G_1 … S_n G_n S_{n+1} for 1 ≤ n ≤ min(j, ℓ)."""
    for n in range(1, min(j, ell) + 1):
        yield from product(gap_choices(n, ell), product(family, repeat=n))


def contains(gaps: Sequence[bool], sequence: Sequence[Pattern], x: Suffix) -> bool:
    """Return whether x ∈ S_1 G_1 … S_n G_n S_{n+1}, by trying every way to split x."""
    if not sequence:
        return gaps[0] or not x
    skips = range(len(x)) if gaps[0] else range(min(1, len(x)))
    return any(x[s] in sequence[0] and contains(gaps[1:], sequence[1:], x[s + 1 :]) for s in skips)


def combine(events: Counter[Members]) -> Counter[Members]:
    """Add one Boolean level: m events become their m(m−1)/2 unions, as many intersections, and themselves: m² events.

    Events with the same members are stored once with their number c; their pairs are c² events with these members.
    """
    result: Counter[Members] = Counter()
    for members, c in events.items():
        result[members] += c * c
    for (x, c), (y, d) in combinations(events.items(), 2):
        result[x | y] += c * d
        result[x & y] += c * d
    return result


def language_events(
    statistic: Languages | Conjunctions, gamma: SuffixAlphabet, logged: Iterable[Letter], suffixes: Sequence[Suffix]
) -> Counter[Members]:
    """Return the suffixes (all of one length) that each language selects, with the number of events that do.

    The distance needs only the keys. The numbers are for Tarone's correction, in which patterns that agree on all
    letters of the log are one.
    """
    j, k = length_and_level(statistic)
    ell = len(suffixes[0])
    on_log = frozenset(logged)
    family = list({pattern & on_log for pattern in patterns(statistic, gamma)})
    events: Counter[Members] = Counter()
    for gaps, sequence in words(family, j, ell):
        events[frozenset(s for s, x in enumerate(suffixes) if contains(gaps, sequence, x))] += 1
    for _ in range(k - 1):
        events = combine(events)
    return events
