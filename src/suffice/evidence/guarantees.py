"""Guarantees that a run gives for the automaton it learned. Theory: docs/theory.md, section 4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from suffice.errors import parameter

Count = Annotated[int, Meta(ge=0, lt=1 << 60)]  # model files may be forged: these types state what they may contain
Sum = Annotated[float, Meta(ge=0, le=1e18)]  # of failure probabilities
Difference = Annotated[float, Meta(ge=0)]  # of frequencies


@dataclass(frozen=True, slots=True)
class Promise:
    """The guarantee of a run, as numbers and as sentences.

    A false split is a candidate judged distinct from a state although all histories of that state have the same
    distribution of futures as the candidate. Up to the first wrong merge the probability of a false split is bounded,
    for every number of episodes (docs/theory.md, Theorem 1). Wrong merges are not bounded: later candidates are then
    compared with a mixture. Instead, the guarantee states how large a difference would have been detected.

    Attributes
    ----------
    split
        Upper bound on the probability of any false split: the sum of δ over the tests.
    tests
        Number of candidates that were compared with states.
    detectable
        Difference of event frequencies that would have been detected for half of the merged data. None: no merges.
    detectable_worst
        The same for all of the merged data. Above 1: no difference would have been detected.
    paper
        The paper's 1 − 4AOQδ. It also requires an N and a μ₀ that a log does not show.
    second_tests
        Number of candidates that the refinement compared; 0 without refinement.
    second_split
        Upper bound on the probability of a false split by the refinement, if the future depends on the state alone.
    second_steps
        Length in steps beyond which refinement did not compare futures, or only outcomes of single steps, for lack of
        time or memory. None: there are no longer ones, so that no difference was invisible to the tests.
    stationary
        Whether the automaton is stationary. Its tests use labels learned from the same episodes.
    strict
        Whether a stationary automaton was tested without such labels, and without an episode in both samples.

    Examples
    --------
    >>> promise = suffice.adact_h(episodes).promise
    >>> promise.tests, round(promise.split, 3)
    (11, 0.011)
    >>> print(promise.sentence.partition(". ")[0])
    No false split with probability at least 0.989 (11 tests), as long as no merge is wrong
    """

    split: Sum
    tests: Count
    detectable: Difference | None
    detectable_worst: Difference | None
    paper: Annotated[float, Meta(le=1)]
    second_tests: Count = 0
    second_split: Sum = 0.0
    second_steps: Count | None = None
    stationary: bool = False
    strict: bool = False

    @property
    def paper_sentence(self) -> str:
        """The paper's guarantee and its conditions; empty for stationary automata, which the paper does not treat."""
        if self.stationary:
            return ""
        vacuous = " (vacuous)" if self.paper <= 0 else ""
        return (
            f"The paper guarantees the minimal automaton with probability 1 − 4AOQδ = {self.paper:.3g}{vacuous}. This "
            "holds only if all states differ by some μ₀ > 0 and N is as large as its theorem requires for that μ₀. A "
            "log does not show whether they do."
        )

    @property
    def second_sentence(self) -> str:
        """The guarantee of the refinement; empty if there was none."""
        if not self.second_tests:
            return ""
        if self.second_split >= 1:
            return f"Refinement: {_no_bound(self.second_tests, self.second_split)}"
        return (
            f"Refinement: {_no_false_split(self.second_tests, self.second_split)}, if the future depends on the state "
            f"alone and not on earlier rewards.{self._not_compared}"
        )

    @property
    def _not_compared(self) -> str:
        if self.second_steps is None:
            return ""
        return f" Sequences of more than {max(self.second_steps, 1)} steps were not compared: that takes too long."

    @property
    def sentence(self) -> str:
        """The guarantee on false splits, then what the tests would have detected, in one to three sentences."""
        if not self.tests and self.stationary:
            return "No tests were made: nothing was compared."
        if not self.tests:
            return "No tests were made: every layer has a single candidate."
        valid = self.split < 1
        merges = "" if self.stationary else ", as long as no merge is wrong"
        split = f"{_no_false_split(self.tests, self.split)}{merges}." if valid else _no_bound(self.tests, self.split)
        split = split[0].upper() + split[1:]
        if self.stationary:
            assumed = f" {self._assumptions}" if valid else ""
            return f"{split}{assumed} Rare transitions are assigned by maximum likelihood, without a test."
        if self.detectable is None or self.detectable_worst is None:
            return split
        if self.detectable > 1:
            return f"{split} Most merges are based on too few episodes to detect any difference."
        worst = "no difference" if self.detectable_worst > 1 else f"{self.detectable_worst:.2g}"
        return (
            f"{split} A difference of {self.detectable:.2g} in the frequency of an event would have been detected for "
            f"half of the merged data ({worst} for the rarest)."
        )

    @property
    def _assumptions(self) -> str:
        if self.strict:
            return "This assumes that the process is the same at every step and the future depends on the state alone."
        return (
            "This assumes that the process is the same at every step, the future depends on the state alone, and the "
            "state labels used in the tests are correct (a strict test does not need correct labels)."
        )


def _no_false_split(tests: int, split: float) -> str:
    return f"no false split with probability at least {min(1 - split, 0.9999):.4g} ({_counted(tests)})"


def _no_bound(tests: int, split: float) -> str:
    failures = f"the failure probabilities of {_counted(tests)} add up to {split:.3g}"
    return f"no bound on false splits, because {failures}. Lower {parameter('delta')}."


def _counted(tests: int) -> str:
    return f"{tests:,} test{'s' if tests > 1 else ''}"
