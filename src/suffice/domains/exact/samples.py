"""Numbers of episodes needed to learn a minimal RDP exactly (docs/theory.md, section 4).

*Sufficient* numbers are proved: every test is right with probability 1 − δ once the rarest candidate of a layer has m
suffixes, the number that the bound needs for a difference of μ₀ in this layer. With d the least share of a candidate,
N ≥ 2m/d episodes give it m suffixes by a Chernoff bound; m follows from a threshold of at most μ₀/2
(`Bound.sufficient`). This corrects the paper's Theorems 1 and 2 (docs/theory.md, section 11).

*Likely* numbers are estimates of where about half of all runs succeed, accurate to a factor of about two. They are the
smallest N for which three conditions hold. The mean evidence between any two states reaches the threshold when the
learner first compares them, which is when the largest candidate of the rarer state meets the earlier candidates of the
other. The smallest candidate of every state is closer to its own state than to any other, which takes evidence of
ln |X|, about the largest that noise alone produces. Every possible transition and reward has probably occurred once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suffice.domains.exact.distances import EQUAL_PROBABILITIES, LanguageProbabilities
from suffice.domains.exact.minimal import Minimal
from suffice.evidence.bounds import BOUNDS, Bound
from suffice.evidence.measures import Contrast
from suffice.kernels.array_types import Array, Float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate of layer t: a state of layer t − 1 with a symbol."""

    share: float  # of the episodes
    state: int  # state of layer t to which it belongs


def candidates(minimal: Minimal) -> list[list[Candidate]]:
    """List the candidates of each layer 0..H, largest first; layer 0 has none.

    Candidates of equal share have a random order in a log; here the states take turns.
    """
    layers: list[list[Candidate]] = [[]]
    for share, arrows in zip(minimal.occupancy()[:-2], minimal.arrows[:-1], strict=True):
        found: dict[tuple[int, int, int], tuple[float, int]] = {}
        for (q, a, o, _, target), p in zip(arrows.rows(), arrows.probability, strict=True):
            before, _ = found.get((q, a, o), (0.0, target))
            found[q, a, o] = (before + float(share[q] * p), target)
        layers.append(_taking_turns([Candidate(*c) for c in found.values()]))
    return layers


def _taking_turns(met: list[Candidate]) -> list[Candidate]:
    turns: Counter[tuple[float, int]] = Counter()
    order: list[tuple[float, int, int]] = []
    for candidate in met:
        share = float(f"{candidate.share:.9g}")  # sums in another order round differently
        order.append((-share, turns[share, candidate.state], len(order)))
        turns[share, candidate.state] += 1
    return [met[i] for _, _, i in sorted(order)]


def coverage(minimal: Minimal, unseen: float = math.log(2)) -> float:
    """Solve Σ exp(−N p) = unseen for N, where the sum is over all transitions and rewards.

    After N episodes the expected number of transitions and rewards that never occurred is `unseen`, so that one is
    missing with at most this probability. For ln 2 the probability is about ½, because the number is approximately
    Poisson distributed.
    """
    shares = zip(minimal.occupancy(), minimal.arrows, strict=False)
    p = np.concatenate([(share[arrows.source] * arrows.probability).astype(float) for share, arrows in shares])
    low, high = 0.0, math.log(len(p) / unseen) / float(p.min())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if np.exp(-middle * p).sum() <= unseen else (middle, high)
    return high


def sufficient(
    bound: Bound, distance: Any, share: float, ln_size: float, delta: float, sketch: bool = False
) -> float | None:
    """Return the proved number of episodes: infinite if some states cannot be distinguished, None if unknown."""
    if not distance:
        return math.inf
    m = bound.sufficient(float(distance), share, ln_size, delta, sketch)
    return None if m is None else 2 * m / share


def likely(met: list[Candidate], futures: LanguageProbabilities, delta: float) -> dict[str, float | None]:
    """Estimate, for each bound, the episodes at which the states of one layer are distinguished in half of all runs.

    None for a bound that gives no estimate.
    """
    meetings = list(_meetings(met, futures.probabilities))
    return {
        name: most((_episodes(bound, m, futures.size, delta) for m in meetings), 0.0)
        for name, bound in BOUNDS.loadable().items()
    }


def most(numbers: Iterable[float | None], least: float) -> float | None:
    """Return the largest of several numbers, at least `least`; None if one of them is unknown."""
    known = [least]
    for number in numbers:
        if number is None:
            return None
        known.append(number)
    return max(known)


class _Meeting(NamedTuple):
    """Comparison of a candidate with a state to which it does not belong."""

    contrast: Contrast
    first: bool  # whether it is the first candidate of its state; if not, the last, which is only ranked


def _meetings(met: list[Candidate], exact: Array) -> Iterator[_Meeting]:
    """Yield the comparisons of the first and last candidate of every state with each earlier state."""
    rows = exact.astype(float)

    def gap(p: int, q: int) -> float:
        difference = float(np.abs(rows[p] - rows[q]).max(initial=0.0))
        if difference > EQUAL_PROBABILITIES:
            return difference
        return float(np.abs(exact[p] - exact[q]).max(initial=0)) if exact.dtype == object else 0.0

    before: dict[int, float] = {}
    last = {candidate.state: i for i, candidate in enumerate(met)}
    for i, (n, state) in enumerate((candidate.share, candidate.state) for candidate in met):
        first = state not in before
        if first or last[state] == i:
            for other, share in before.items():
                if other != state:
                    largest = gap(state, other)
                    evidence = _evidence(n, share, rows[state], rows[other])
                    evidence = max(
                        evidence, 2 * largest**2 / (1 / n + 1 / share)
                    )  # Pinsker's inequality, where rounding hides the evidence
                    noise = math.log(max(rows.shape[1], 1))
                    yield _Meeting(Contrast(n, share, largest, evidence, noise), first)
        before[state] = before.get(state, 0.0) + n


def _episodes(bound: Bound, meeting: _Meeting, size: int, delta: float) -> float | None:
    """Return the N at which the evidence of the best language reaches the threshold."""
    contrast, first = meeting
    if not contrast.gap:
        return math.inf
    return bound.likely(contrast, size, delta) if first else bound.measure.episodes_to_rank(contrast)


def _evidence(n1: float, n2: float, p1: Float, p2: Float) -> float:
    """Return the evidence per episode of the language that distinguishes best."""
    pooled = (n1 * p1 + n2 * p2) / (n1 + n2)
    return float((n1 * _kl(p1, pooled) + n2 * _kl(p2, pooled)).max(initial=0.0))


def _kl(p: Float, q: Float) -> Float:
    """Return the divergence of Bernoulli distributions, elementwise; p may be 0 or 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        yes, no = p * np.log(p / q), (1 - p) * np.log((1 - p) / (1 - q))
    return np.asarray(np.where(p > 0, yes, 0.0) + np.where(p < 1, no, 0.0))
