"""When are two samples of futures distinct? And what may a run promise? (theory.md §4)

Each bound compares the counts (k₁ of n₁, k₂ of n₂) of every event X of a family and is wrong about two equal
distributions with probability at most δ, by a union bound over |X| events:

`paper`             |p̂₁ − p̂₂| ≥ √(2 ln(4|X|/δ) / min(n₁, n₂)), twice that with ln(8|X|/δ) where counts are estimates
`two-sample`        |p̂₁ − p̂₂| ≥ √(½ ln(2|X|/δ) (1/n₁ + 1/n₂)), Hoeffding's inequality for the difference itself
`likelihood-ratio`  G = n₁ kl(p̂₁, p̄) + n₂ kl(p̂₂, p̄) ≥ x*, the larger root of 4(1 + x − 2 ln 2)e^{−x} = δ/|X|
`fisher`            −ln p ≥ ln(κ/δ), p of Fisher's exact test; Tarone's κ counts only events that could reach it
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from suffice.kernels import DIFFERENCE, FISHER, LIKELIHOOD, ln_table

Float = NDArray[np.float64]
Sizes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bound:
    """A valid test of "same distribution of futures".

    >>> suffice.TWO_SAMPLE.threshold(100, np.array([100, 10_000]), size=1, delta=0.05).round(3)
    array([0.192, 0.136])
    >>> suffice.BOUNDS["fisher"] is suffice.FISHER_EXACT
    True
    """

    name: str
    kind: int
    allows_estimates: bool = False  # the paper's Theorem 1 covers sketched counts; the others need true ones

    def threshold(self, n1: int, n2: Sizes, size: int, delta: float, estimates: bool = False) -> Float:
        """The evidence from which samples of n₁ and n₂ suffixes are distinct, for |X| = size ≥ 1 events."""
        ln_size = math.log(size)
        if self is PAPER:
            constant, factor = (8, 2.0) if estimates else (4, 1.0)
            ln = math.log(constant) - math.log(delta) + ln_size  # constant / δ can be too large for a float
            return np.asarray(factor * np.sqrt(2 * ln / np.minimum(n1, n2)))
        if self is TWO_SAMPLE:
            return np.asarray(np.sqrt(0.5 * (math.log(2) - math.log(delta) + ln_size) * (1 / n1 + 1 / n2)))
        if self is LIKELIHOOD_RATIO:
            return np.full(len(n2), larger_root(math.log(delta) - ln_size))
        return np.full(len(n2), ln_size - math.log(delta))

    def attainable(self, n1: int, n2: int) -> float:
        """No event shows more evidence between samples of n₁ and n₂ suffixes: one that holds for all of one side and
        none of the other shows it, G = n₁ ln(n/n₁) + n₂ ln(n/n₂) or p ≥ 1 / C(n, n₁).
        """
        if self.kind == DIFFERENCE:
            return 1.0
        n = n1 + n2
        if self.kind == LIKELIHOOD:
            return n1 * math.log(n / n1) + n2 * math.log(n / n2)
        return -float(ln_table(n1, n1, 0, n2))

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """An observed difference of frequencies that certainly passes the threshold (for `fisher`: nearly so); above
        1 none does, as the samples are too small.

        By Pinsker's inequality G ≥ 2 (p̂₁ − p̂₂)² n₁n₂/(n₁+n₂); −ln p approaches G as samples grow.
        """
        return threshold if self.kind == DIFFERENCE else math.sqrt(threshold * (n1 + n2) / (2 * n1 * n2))


PAPER = Bound("paper", DIFFERENCE, allows_estimates=True)
TWO_SAMPLE = Bound("two-sample", DIFFERENCE)
LIKELIHOOD_RATIO = Bound("likelihood-ratio", LIKELIHOOD)
FISHER_EXACT = Bound("fisher", FISHER)
BOUNDS = {bound.name: bound for bound in (PAPER, TWO_SAMPLE, LIKELIHOOD_RATIO, FISHER_EXACT)}


@lru_cache(maxsize=1024)
def larger_root(ln_level: float) -> float:
    """x* with ln 4 + ln(1 + x − 2 ln 2) − x = ln_level ≤ 0, x ≥ 2 ln 2.

    Each n·kl(p̂, p) exceeds x with probability at most 2e^{−x} (Chernoff), so the sum of two is dominated by
    2 ln 2 + Gamma(2, 1), whose tail is 4(1 + x − 2 ln 2)e^{−x}. With x = 2 ln 2 + s the equation is
    s − ln(1 + s) = −ln_level. The left side is convex, so Newton's steps from the right come closer and never cross.
    """
    s = 2 - 2 * ln_level  # to the right, as s − ln(1 + s) ≥ s/2 − 1
    for _ in range(100):
        above = s - math.log1p(s) + ln_level
        if above <= 1e-16 * s:
            break
        s -= above * (1 + s) / s
    return 2 * math.log(2) + s


@dataclass(frozen=True, slots=True)
class Promise:
    """What a run guarantees, in numbers and in a sentence.

    A false split is a candidate judged distinct from a state all of whose histories have the candidate's own future.
    Their number is bounded whatever N is. Where a *merge* was wrong, what comes after is compared with a mixture, and
    nothing is promised about that: only how large a difference can have gone unnoticed.

    >>> promise = suffice.adact_h(episodes).promise
    >>> f"{promise.tests} tests, a false split with probability {promise.split:.3f} at most"
    '11 tests, a false split with probability 0.011 at most'
    """

    split: float  # P(some false split) is at most this
    tests: int  # candidates that were compared
    detectable: float | None  # observed differences of this size were noticed for half of the merged data
    detectable_worst: float | None  # and for all of it; None: nothing merged; above 1: no difference was
    paper: float  # the paper's 1 − 4AOQδ, which further needs N and μ₀ that nobody knows
    second_tests: int = 0  # candidates that a second look compared
    second_split: float = 0.0  # P(it made a false split) is at most this if what follows depends on the state alone
    stationary: bool = False  # one automaton for all steps, whose labels come from the same episodes
    strict: bool = False  # but no use is made of these labels, nor of an episode on both sides of a comparison

    @property
    def paper_sentence(self) -> str:
        """The paper's claim, with what it takes; it makes none about automata that fold time."""
        if self.stationary:
            return ""
        vacuous = " (vacuous)" if self.paper <= 0 else ""
        return (
            f"The paper's 1 − 4AOQδ = {self.paper:.3g}{vacuous} for the minimal automaton holds only if all states "
            "differ by some μ₀ > 0 and N is as large as its theorem asks for that μ₀, which no log tells."
        )

    @property
    def second_sentence(self) -> str:
        """What a second look adds to that; nothing if there was none."""
        if not self.second_tests:
            return ""
        tests = f"A second look compared merged histories along the automaton ({self.second_tests:,} tests)"
        if self.second_split >= 1:
            return f"{tests}; no bound on its false splits, which add up to {self.second_split:.3g}: lower --delta."
        return (
            f"{tests}; it made no false split either with probability at least {1 - self.second_split:.4g}, if what "
            "follows depends on the state alone and not on earlier rewards."
        )

    @property
    def _stationary_sentence(self) -> str:
        if self.split >= 1:
            return f"No bound on false splits: {self.tests:,} tests add up to {self.split:.3g}; lower --delta."
        also = "" if self.strict else ", and the labels by which futures are compared are right (--strict needs none)"
        tests = f"{self.tests:,} test{'s' if self.tests > 1 else ''}"
        return (
            f"With probability at least {min(1 - self.split, 0.9999):.4g} there is no false split ({tests}), if the "
            f"process is the same at all times and what follows depends on the state alone{also}. "
            "Transitions too rare for a test lead where they most likely lead."
        )

    @property
    def sentence(self) -> str:
        """For a person."""
        if not self.tests:
            return "Nothing was compared: every layer has a single candidate."
        if self.stationary:
            return self._stationary_sentence
        tests = f"{self.tests:,} test{'s' if self.tests > 1 else ''}"
        kept = (
            f"With probability at least {min(1 - self.split, 0.9999):.4g} there is no false split ({tests}): no "
            "history was kept apart from a state whose histories all share its future."
            if self.split < 1
            else f"No bound on false splits: {tests} at this δ add up to {self.split:.3g}; lower --delta."
        )
        if self.detectable is None or self.detectable_worst is None:
            return kept
        if self.detectable > 1:
            return f"{kept} Most merges rest on too few episodes to notice any difference."
        worst = "none, for the rarest" if self.detectable_worst > 1 else f"{self.detectable_worst:.2g} for the rarest"
        return (
            f"{kept} Where histories were merged, an observed difference of {self.detectable:.2g} in the frequency of "
            f"some event would have been noticed for half of the data ({worst})."
        )
