"""How many episodes it takes to learn a minimal RDP exactly (theory.md §4, with the paper's bound corrected).

*Sufficient* is what a proof gives: every test is right with probability 1 − δ once the rarest candidate of a layer has
as many suffixes as the bound needs for a difference of μ₀ there. With d the least share of a candidate, N ≥ 2m/d makes
it m with room to spare (Chernoff), and m follows from asking that the threshold be at most μ₀/2: `Bound.sufficient`.

*Likely* is what to expect: the N at which the evidence between every two states, at its mean, reaches the threshold
when the learner first meets them, that is when the largest candidate of the rarer one is compared with the candidates
of the other that came before it; at which the smallest candidate of every state is nearer to its own than to any other,
which takes evidence of ln |X|, about the most that chance alone shows; and at which everything that can happen has
probably happened once. Within a factor of about two, half of all runs succeed there.
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


def sufficient(
    bound: Bound, distance: Any, share: float, ln_size: float, delta: float, sketch: bool = False
) -> float | None:
    """Episodes that provably suffice; infinite where some states cannot be told apart at all, None if not known."""
    if not distance:
        return math.inf
    m = bound.sufficient(float(distance), share, ln_size, delta, sketch)
    return None if m is None else 2 * m / share


def likely(met: list[Candidate], futures: LanguageProbabilities, delta: float) -> dict[str, float | None]:
    """Episodes at which the states of one layer are told apart about as often as not, for each of them its hardest.

    By every bound that can be loaded; None where a bound does not say.
    """
    meetings = list(_meetings(met, futures.probabilities))
    return {
        name: most((_episodes(bound, m, futures.size, delta) for m in meetings), 0.0)
        for name, bound in BOUNDS.loadable().items()
    }


def most(numbers: Iterable[float | None], least: float) -> float | None:
    """The largest of several numbers and a least one; None as soon as one of them is not known."""
    known = [least]
    for number in numbers:
        if number is None:
            return None
        known.append(number)
    return max(known)


class _Meeting(NamedTuple):
    """A candidate and a state of the layer to which it does not belong."""

    contrast: Contrast
    first: bool  # of its state; or the last, which need only be nearer to its own


def _meetings(met: list[Candidate], exact: Array) -> Iterator[_Meeting]:
    """The first and the last candidate of every state with each other state that was there before."""
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
                    evidence = max(evidence, 2 * largest**2 / (1 / n + 1 / share))  # Pinsker; rounding hides less
                    noise = math.log(max(rows.shape[1], 1))
                    yield _Meeting(Contrast(n, share, largest, evidence, noise), first)
        before[state] = before.get(state, 0.0) + n


def _episodes(bound: Bound, meeting: _Meeting, size: int, delta: float) -> float | None:
    """N at which evidence that grows with N n₁ and N n₂ reaches the threshold on the best language."""
    contrast, first = meeting
    if not contrast.gap:
        return math.inf
    return bound.likely(contrast, size, delta) if first else bound.measure.episodes_to_rank(contrast)


def _evidence(n1: float, n2: float, p1: Float, p2: Float) -> float:
    """Of an episode, by the language that tells most."""
    pooled = (n1 * p1 + n2 * p2) / (n1 + n2)
    return float((n1 * _kl(p1, pooled) + n2 * _kl(p2, pooled)).max(initial=0.0))


def _kl(p: Float, q: Float) -> Float:
    """kl of Bernoulli distributions, elementwise; p = 0 and 1 are fine where q is 0 and 1 too."""
    with np.errstate(divide="ignore", invalid="ignore"):
        yes, no = p * np.log(p / q), (1 - p) * np.log((1 - p) / (1 - q))
    return np.asarray(np.where(p > 0, yes, 0.0) + np.where(p < 1, no, 0.0))
