"""How many episodes it takes to learn a minimal RDP exactly (theory.md §4, with the paper's bound corrected).

*Sufficient* is what a proof gives: every test is right with probability 1 − δ once the rarest candidate of a layer has
as many suffixes as the bound needs for a difference of μ₀ there. With d the least share of a candidate, N ≥ 2m/d makes
it m with room to spare (Chernoff), and m follows from asking that the threshold be at most μ₀/2:

`paper`             m = 8 ln(4|X|/δ)/μ₀²; 32 ln(8|X|/δ)/μ₀² where a sketch estimates the counts
`two-sample`        m = 4 ln(2|X|/δ)/μ₀²
`likelihood-ratio`  m = 4 x*/μ₀², because G ≥ m (p̂₁ − p̂₂)² by Pinsker's inequality
`fisher`            m = 4 (ln(|X|/δ) + ½ ln 2N + ln(m + 1))/μ₀², because a table has probability
                    e^−G B(k₁; n₁) B(k₂; n₂) / B(k; n) with B a binomial's probability of its own mean, at most 1 and at
                    least 1/√(2n), so that p, the sum over at most min(n₁, n₂) + 1 tables, is at most
                    (min + 1) √(2N) e^−G; G grows with min faster than ln(min + 1) does, so min = m decides

*Likely* is what to expect: the N at which the evidence between every two states, at its mean, reaches the threshold
when the learner first meets them, that is when the largest candidate of the rarer one is compared with the candidates
of the other that came before it; at which the smallest candidate of every state is nearer to its own than to any other,
which takes evidence of ln |X|, about the most that chance alone shows; and at which everything that can happen has
probably happened once. Within a factor of about two, half of all runs succeed there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suffice.domains.exact.distances import CLOSE, Futures
from suffice.domains.exact.minimal import Minimal
from suffice.evidence.bounds import BOUNDS, LIKELIHOOD_RATIO, PAPER, TWO_SAMPLE, Bound, larger_root
from suffice.kernels.array_types import Array, Float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A state and a symbol of layer t − 1, as the learner meets them in layer t."""

    share: float  # of the episodes
    state: int  # of layer t that it belongs to


def candidates(minimal: Minimal) -> list[list[Candidate]]:
    """The candidates of each layer 0..H, largest first; layer 0 has none, and in the last nothing is compared.

    Which of two with equal shares is the larger in a log is chance; here states take turns.
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
        share = float(f"{candidate.share:.9g}")  # sums in another order are equal
        order.append((-share, turns[share, candidate.state], len(order)))
        turns[share, candidate.state] += 1
    return [met[i] for _, _, i in sorted(order)]


def coverage(minimal: Minimal, unseen: float = math.log(2)) -> float:
    """Episodes after which so many transitions and rewards have on average never been seen: Σ exp(−N p) = unseen.

    Something is missing with at most that probability. With ln 2 it is about ½, because the number of those missing is
    close to Poisson's distribution.
    """
    shares = zip(minimal.occupancy(), minimal.arrows, strict=False)
    p = np.concatenate([(share[arrows.source] * arrows.probability).astype(float) for share, arrows in shares])
    low, high = 0.0, math.log(len(p) / unseen) / float(p.min())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if np.exp(-middle * p).sum() <= unseen else (middle, high)
    return high


def sufficient(bound: Bound, distance: Any, share: float, ln_size: float, delta: float, sketch: bool = False) -> float:
    """Episodes that provably suffice; infinite where some states cannot be told apart at all."""
    if not distance:
        return math.inf
    unit = 1 / float(distance) ** 2
    if bound is PAPER:
        m = (32 * (math.log(8 / delta) + ln_size) if sketch else 8 * (math.log(4 / delta) + ln_size)) * unit
    elif bound is TWO_SAMPLE:
        m = 4 * (math.log(2 / delta) + ln_size) * unit
    elif bound is LIKELIHOOD_RATIO:
        m = 4 * larger_root(math.log(delta) - ln_size) * unit
    else:
        m = unit
        for _ in range(100):  # logarithms of m grow so slowly that this settles at once
            m = 4 * (ln_size - math.log(delta) + 0.5 * math.log(4 * m / share) + math.log(m + 1)) * unit
    return 2 * m / share


def likely(met: list[Candidate], futures: Futures, delta: float) -> dict[str, float]:
    """Episodes at which the states of one layer are told apart about as often as not, for each of them its hardest.

    By every bound.
    """
    most = dict.fromkeys(BOUNDS, 0.0)
    for meeting in _meetings(met, futures.probabilities):
        for name, bound in BOUNDS.items():
            most[name] = max(most[name], _episodes(bound, meeting, futures.size, delta))
    return most


class _Meeting(NamedTuple):
    """A candidate and a state of the layer to which it does not belong, with their shares of the episodes."""

    n1: float
    n2: float
    gap: float  # the largest difference in how probable a language is
    evidence: float  # that an episode brings on average, by the best language
    noise: float  # evidence that chance alone shows
    first: bool  # of its state; or the last, which need only be nearer to its own


def _meetings(met: list[Candidate], exact: Array) -> Iterator[_Meeting]:
    """The first and the last candidate of every state with each other state that was there before."""
    rows = exact.astype(float)

    def gap(p: int, q: int) -> float:
        difference = float(np.abs(rows[p] - rows[q]).max(initial=0.0))
        if difference > CLOSE:
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
                    evidence = max(evidence, 2 * largest**2 / (1 / n + 1 / share))  # Pinsker; rounding hides less
                    yield _Meeting(n, share, largest, evidence, math.log(max(rows.shape[1], 1)), first)
        before[state] = before.get(state, 0.0) + n


def _episodes(bound: Bound, meeting: _Meeting, size: int, delta: float) -> float:
    """N at which evidence that grows with N n₁ and N n₂ reaches the threshold on the best language."""
    n1, n2, gap, evidence, noise, first = meeting
    if not gap:
        return math.inf
    if bound in (PAPER, TWO_SAMPLE):
        if first and bound is PAPER:
            return 2 * (math.log(4) - math.log(delta) + math.log(size)) / (min(n1, n2) * gap**2)
        return 0.5 * (math.log(2) - math.log(delta) + math.log(size) if first else noise) * (1 / n1 + 1 / n2) / gap**2
    if not first:
        return noise / evidence
    if bound is LIKELIHOOD_RATIO:
        return larger_root(math.log(delta) - math.log(size)) / evidence
    return (noise - math.log(delta)) / evidence  # Tarone leaves at most the languages that differ at all


def _evidence(n1: float, n2: float, p1: Float, p2: Float) -> float:
    """Of an episode, by the language that tells most."""
    pooled = (n1 * p1 + n2 * p2) / (n1 + n2)
    return float((n1 * _kl(p1, pooled) + n2 * _kl(p2, pooled)).max(initial=0.0))


def _kl(p: Float, q: Float) -> Float:
    """kl of Bernoulli distributions, elementwise; p = 0 and 1 are fine where q is 0 and 1 too."""
    with np.errstate(divide="ignore", invalid="ignore"):
        yes, no = p * np.log(p / q), (1 - p) * np.log((1 - p) / (1 - q))
    return np.asarray(np.where(p > 0, yes, 0.0) + np.where(p < 1, no, 0.0))
