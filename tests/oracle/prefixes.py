"""Exact prefixes by definition: the events "the suffix begins with e" for e of length 0..ℓ.

Theory: docs/theory.md, sections 2 and 5.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .languages import Members, Suffix, SuffixAlphabet


@dataclass(frozen=True)
class Prefixes:
    """The statistic of L_∞ on prefixes."""


def log_size(gamma: SuffixAlphabet, ell: int) -> float:
    """Return ln |X| with |X| = 2(ARO)^ℓ, which gives the paper's constant 8; −∞ at ℓ = 0."""
    letters = len(gamma.actions) * len(gamma.rewards) * len(gamma.observations)
    return math.log(2 * letters**ell) if ell else -math.inf


def frequent_prefixes(suffixes: Sequence[tuple[Suffix, int]], fewest: int) -> dict[Suffix, int]:
    """Return the prefixes of weighted suffixes with a total weight of at least `fewest`, by length and letters.

    Of prefixes that begin the same suffixes only the shortest is returned, and not the empty one.
    """
    total: Counter[Suffix] = Counter()
    for suffix, weight in suffixes:
        for u in range(len(suffix) + 1):
            total[suffix[:u]] += weight
    shortest = {e: n for e, n in total.items() if e and n < total[e[:-1]] and n >= fewest}
    return {e: shortest[e] for e in sorted(shortest, key=lambda e: (len(e), e))}


def prefix_events(suffixes: Sequence[Suffix]) -> Counter[Members]:
    """Return the suffixes that each prefix selects; prefixes that begin the same suffixes are one event."""
    prefixes = dict.fromkeys(x[:u] for x in suffixes for u in range(len(x) + 1))
    selections = {frozenset(s for s, x in enumerate(suffixes) if x[: len(e)] == e) for e in prefixes}
    return Counter(selections)
