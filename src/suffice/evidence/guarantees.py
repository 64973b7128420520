"""Guarantees: what a run may promise about the automaton it learned. Theory: theory.md, section 4."""

from __future__ import annotations

from dataclasses import dataclass


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
