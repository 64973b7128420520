"""The verdict on a plan: follow it or keep the logged behaviour, why, and what the plan is predicted to bring.

Verdict and forecast are data, which files hold; `str(verdict)` and `forecast.sentence` are for people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from suffice.planning.subsampling import Bracket

Code = Literal["follow", "keep"]
Reason = Literal["lower_bound_above_logged", "lower_bound_below_logged", "too_rare"]

CLOSE = 1e-6  # returns that differ by less are the same
_SENTENCES: dict[Reason, str] = {
    "lower_bound_above_logged": "Follow the plan: it will likely bring more than the log did.",
    "lower_bound_below_logged": "Keep to what the log did for now: the plan is not sure to bring as much. "
    "More episodes may help.",
    "too_rare": "Keep to what the log did for now: most histories are too rare to tell states apart. Log more.",
}


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """Whether to follow a plan, and why, as codes; `str` gives the sentence.

    >>> verdict = suffice.regorl(episodes).verdict
    >>> verdict.code, verdict.reasons
    ('follow', ('lower_bound_above_logged',))
    >>> print(verdict)
    Follow the plan: it will likely bring more than the log did.
    """

    code: Code
    reasons: tuple[Reason, ...]  # the decisive one first

    @classmethod
    def of(cls, lower_bound: float, logged: float, too_rare: bool) -> PlanVerdict:
        """From the lower bound of the plan's return and the log's mean return; or most histories are too rare."""
        if too_rare:
            return cls("keep", ("too_rare",))
        if lower_bound > logged:
            return cls("follow", ("lower_bound_above_logged",))
        return cls("keep", ("lower_bound_below_logged",))

    def __str__(self) -> str:
        if self.reasons:
            return _SENTENCES[self.reasons[0]]
        return "Follow the plan." if self.code == "follow" else "Keep to what the log did for now."


@dataclass(frozen=True, slots=True)
class Halves:
    """What a split was to prove, and what came of it."""

    delta: float  # of everything together
    accuracy: float | None
    max_states: int
    states: int  # of the automaton
    bracket: Bracket | None  # with subsampled planning


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a plan is predicted to bring, and what that rests on."""

    verdict: PlanVerdict
    predicted: float
    lower_bound: float
    logged: float  # the log's mean return
    best: float  # return of the log's episodes; infinite if it is not known
    delta: float  # of the lower bound
    horizon: int
    discount: float | None
    halves: Halves | None

    @property
    def beyond_log(self) -> bool:
        """Whether no logged episode brought as much as is predicted on average."""
        return math.isfinite(self.best) and self.predicted > self.best + CLOSE

    @property
    def sentence(self) -> str:
        """For a person."""
        told = (
            f"{self.verdict} The plan is predicted to bring {self.predicted:.4g} per episode, {self._likely} at "
            f"least {self.lower_bound:.4g} if the automaton is right; the log brought {self.logged:.4g}."
        )
        if self.beyond_log:
            told += f" No logged episode brought that much, the best {self.best:.4g}: be careful."
        if self.discount is not None:
            told += f" That is for {self.horizon} steps and undiscounted, though the plan is for ever."
        if self.halves is None:
            return f"{told} Automaton, plan and prediction share the same episodes, which flatters the prediction."
        told += (
            " The automaton comes from one half of the episodes, the plan from the other, the prediction from episodes "
            "that its plan did not see."
        )
        return f"{told} {_proof(self.halves)}"

    @property
    def _likely(self) -> str:
        """A level only where the prediction comes from episodes that the plan did not choose its actions by."""
        return "likely" if self.halves is None else f"with about {100 * (1 - self.delta):.3g} % confidence"


def _proof(halves: Halves) -> str:
    if halves.states > halves.max_states:
        return f"No theorem holds: there are more states than the {halves.max_states} of max_states; raise it."
    if halves.bracket is None:
        return (
            f"The paper's theorem (within ε of the best policy with probability {1 - halves.delta:g}, if N is large "
            "enough) is for plans on independent counts: --planner subsampled."
        )
    gap = halves.bracket.upper - halves.bracket.lower
    told = (
        f"Proved, with probability {1 - halves.delta:g}, if the process has at most {halves.max_states} states and "
        f"N is large enough to tell them apart: the plan brings at least {halves.bracket.lower:.4g} and is within "
        f"{gap:.4g} of the best policy."
    )
    if halves.accuracy is None:
        return told
    reached = "is proved" if gap <= halves.accuracy else "is not proved; that takes more episodes"
    return f"{told} The accuracy of {halves.accuracy:g} that was asked for {reached}."
