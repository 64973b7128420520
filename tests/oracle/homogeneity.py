"""The test of the ways to a state by definition. Theory: docs/theory.md, section 8, and kernels/permutation.py."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .refinement import EQUAL
from .spelled_log import Edge, Log
from .stationary import kinds_of, ln_mean

Outcomes = Counter[Any]  # by label, kind and event


def entries(log: Log, tau: Mapping[Edge, int], target: int) -> list[tuple[Edge, int, Outcomes]]:
    """List the entries of a state: edge, steps left, and each label's first outcome of a kind until the next entry."""
    found: list[tuple[Edge, int, Outcomes]] = []
    for word in log.words:
        state, used = 0, set()  # type: int, set[Edge]
        for u, (a, o, _) in enumerate(word[:-1]):
            edge = (state, (a, o or 0))
            source, state = state, tau[edge]
            if state == target and source != target and edge not in used:
                used.add(edge)
                found.append((edge, len(word) - 2 - u, _outcomes(word[u + 1 :], tau, target)))
    return found


def _outcomes(letters: Sequence[Any], tau: Mapping[Edge, int], target: int) -> Outcomes:
    label, seen, found = target, set(), Counter()  # type: int, set[Any], Outcomes
    for letter in letters:
        for kind, event in kinds_of(letter):
            if kind[0] != "choice" and (label, kind) not in seen:
                seen.add((label, kind))
                found[label, kind, event] += 1
        before, label = label, tau.get((label, (letter[0], letter[1] or 0)), label)
        if label == target and before != target:
            break
    return found


def separation(one: Outcomes, both: Outcomes) -> float:
    """Return ln of the mean over w of Π (w + (1 − w)e) over tables whose outcomes vary."""
    tables: dict[Any, list[Any]] = {}
    for label, kind, event in both:
        tables.setdefault((label, kind), []).append((label, kind, event))
    factors = [
        _ln_dirichlet([one[x] for x in cells])
        + _ln_dirichlet([both[x] - one[x] for x in cells])
        - _ln_dirichlet([both[x] for x in cells])
        for cells in tables.values()
        if len(cells) > 1
    ]
    mixed = [math.fsum(math.log(float(w) + (1 - float(w)) * math.exp(e)) for e in factors) for w in EQUAL]
    return ln_mean(mixed)


def _ln_dirichlet(counts: Sequence[int]) -> float:
    """Return the log probability of a sequence of outcomes if their frequencies are distributed as Dirichlet(½)."""
    k, n = len(counts), sum(counts)
    return math.lgamma(k / 2) - math.lgamma(n + k / 2) + sum(math.lgamma(c + 0.5) - math.lgamma(0.5) for c in counts)
