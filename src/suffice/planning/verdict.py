"""The verdict on a plan: whether to follow it or to keep the logged behaviour, and the forecast behind it.

Verdict and forecast are data and are stored in model files. `str(verdict)` and `forecast.sentence` are texts for
users, generated when they are shown. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from suffice.errors import parameter
from suffice.planning.subsampling import Bracket

Code = Literal["follow", "keep"]
Reason = Literal["lower_bound_above_logged", "lower_bound_below_logged", "too_rare"]

CLOSE = 1e-6  # returns that differ by less count as equal
_HEADLINES: dict[Reason, str] = {
    "lower_bound_above_logged": "Follow the plan: its lower bound is above the logged return.",
    "lower_bound_below_logged": "Keep the logged behaviour: the plan's lower bound is below the logged return.",
    "too_rare": "Keep the logged behaviour: most histories are too rare to distinguish states.",
}
_SIGNIFICANT = 3  # digits of a return


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """The decision whether to follow a plan, with its reasons as codes; `str` gives a one-line headline.

    Attributes
    ----------
    code
        "follow" to follow the plan, "keep" to keep the logged behaviour.
    reasons
        Reason codes, the decisive one first: "lower_bound_above_logged", "lower_bound_below_logged" (or equal to it),
        or "too_rare" (for most of the merged data no difference of any size could have been detected).

    Examples
    --------
    >>> verdict = suffice.regorl(episodes).verdict
    >>> verdict.code, verdict.reasons
    ('follow', ('lower_bound_above_logged',))
    >>> print(verdict)
    Follow the plan: its lower bound is above the logged return.
    """

    code: Code
    reasons: tuple[Reason, ...]  # the decisive one first

    @classmethod
    def of(cls, lower_bound: float, logged: float, too_rare: bool) -> PlanVerdict:
        """Decide from the lower bound of the plan's return and the mean return of the log.

        Parameters
        ----------
        lower_bound
            Lower bound of the plan's return, as `Solution.lower_bound`.
        logged
            Mean return of the logged episodes.
        too_rare
            Whether most histories are too rare to distinguish states. Then the verdict is always "keep".

        Returns
        -------
        PlanVerdict
            "follow" only if the lower bound is above the logged mean return.
        """
        if too_rare:
            return cls("keep", ("too_rare",))
        if lower_bound > logged:
            return cls("follow", ("lower_bound_above_logged",))
        return cls("keep", ("lower_bound_below_logged",))

    def __str__(self) -> str:
        if self.reasons:
            return _HEADLINES[self.reasons[0]]
        return "Follow the plan." if self.code == "follow" else "Keep the logged behaviour."


@dataclass(frozen=True, slots=True)
class Halves:
    """Settings of a split (`Split`) and the bounds proved with it."""

    delta: float  # failure probability of automaton, plan and prediction together
    accuracy: float | None
    max_states: int
    states: int  # of the automaton
    bracket: Bracket | None  # only with subsampled planning


@dataclass(frozen=True, slots=True)
class Forecast:
    """The predicted return of a plan, its lower bound, and the assumptions behind them."""

    verdict: PlanVerdict
    predicted: float
    lower_bound: float
    logged: float  # mean return of the logged episodes
    best: float  # best return of a logged episode; infinite if unknown
    delta: float  # of the lower bound
    horizon: int
    discount: float | None
    halves: Halves | None

    @property
    def beyond_log(self) -> bool:
        """Whether the predicted mean return exceeds the return of every logged episode."""
        return math.isfinite(self.best) and self.predicted > self.best + CLOSE

    @property
    def sentence(self) -> str:
        """Verdict, prediction and assumptions as plain sentences."""
        parts = [
            str(self.verdict),
            f"Predicted return {format_return(self.predicted)} per episode (lower bound "
            f"{format_return(self.lower_bound)}{self._confidence}, if the automaton is right); logged mean return "
            f"{format_return(self.logged)}.",
        ]
        if self.verdict.code == "keep":
            parts.append("More episodes may help.")
        if self.beyond_log:
            parts.append(f"No logged episode had a return this high (best {format_return(self.best)}): be careful.")
        if self.discount is not None:
            parts.append(
                f"These are undiscounted returns over {self.horizon} steps; the plan itself maximises the discounted "
                f"return (discount {self.discount:g}) without a horizon."
            )
        return " ".join([*parts, *self._basis()])

    def _basis(self) -> list[str]:
        """State which episodes the automaton, the plan and the prediction come from, and what is proved."""
        if self.halves is None:
            return [
                "Automaton, plan and prediction come from the same episodes, so the prediction is optimistic and the "
                "lower bound is not a confidence bound."
            ]
        return [
            "The automaton comes from one half of the episodes and the plan from the other; the prediction comes from "
            "episodes that its plan was not made from.",
            _proof(self.halves),
        ]

    @property
    def _confidence(self) -> str:
        """The confidence level of the lower bound; only episodes that the plan was not made from give one."""
        return "" if self.halves is None else f" with about {100 * (1 - self.delta):.3g} % confidence"


def format_return(value: float) -> str:
    """Format a return with two decimals, or more where it takes more to show three significant digits."""
    if not math.isfinite(value) or (value and not 1e-4 <= abs(value) < 1e9):
        return f"{value:.{_SIGNIFICANT}g}"
    decimals = 2 if value == 0 else max(2, _SIGNIFICANT - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def _proof(halves: Halves) -> str:
    """State what is proved about the plan of a split."""
    if halves.states > halves.max_states:
        return (
            f"No theorem holds: the automaton has {halves.states} states, more than "
            f"{parameter('max_states', halves.max_states)} allows; raise it."
        )
    if halves.bracket is None:
        return (
            f"The paper's theorem (within ε of the best policy with probability {1 - halves.delta:g}, if N is large "
            f"enough) is for plans on independent counts: use {parameter('planning', 'subsampled')}."
        )
    gap = halves.bracket.upper - halves.bracket.lower
    proved = (
        f"Proved, with probability {1 - halves.delta:g}, if the process has at most {halves.max_states} states and "
        f"N is large enough to distinguish them: the plan's expected return is at least "
        f"{format_return(halves.bracket.lower)} and within {format_return(gap)} of the best policy's."
    )
    if halves.accuracy is None:
        return proved
    reached = "is proved" if gap <= halves.accuracy else "is not proved; that takes more episodes"
    return f"{proved} The requested accuracy of {halves.accuracy:g} {reached}."
