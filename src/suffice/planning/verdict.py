"""The verdict on a plan: whether to follow it or to keep the logged behaviour, and the forecast behind it.

Verdict and forecast are data and are stored in model files. `str(verdict)` and `forecast.sentence` are texts for
users, generated when they are shown. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from suffice.errors import parameter
from suffice.evidence.estimates import Estimate
from suffice.planning.objective import RETURN, Objective
from suffice.planning.subsampling import Bracket

Code = Literal["follow", "no difference", "keep"]
Reason = Literal[
    "better_on_held_out",
    "no_gain_shown",
    "worse_on_held_out",
    "too_few_episodes",
    "automaton_does_not_fit",
    "lower_bound_above_logged",
    "lower_bound_below_logged",
    "too_rare",
]

CLOSE = 1e-6  # returns that differ by less count as equal
LEVEL = 0.025  # probability of advising a plan that is not better, or against one that is not worse
_HEADLINES: dict[Reason, str] = {
    "better_on_held_out": "Follow the plan: held-out episodes show that it returns more than the logged behaviour.",
    "no_gain_shown": "No difference: held-out episodes show no clear difference between plan and logged behaviour.",
    "worse_on_held_out": "Keep the logged behaviour: held-out episodes show that the plan returns less.",
    "too_few_episodes": "Keep the logged behaviour: too few episodes to judge the plan.",
    # of models that were learned before plans were judged by held-out episodes
    "lower_bound_above_logged": "Follow the plan: its lower bound is above the logged return.",
    "lower_bound_below_logged": "Keep the logged behaviour: the plan's lower bound is below the logged return.",
    "too_rare": "Keep the logged behaviour: most histories are too rare to distinguish states.",
}
_PLAIN: dict[Code, str] = {
    "follow": "Follow the plan.",
    "no difference": "No difference between plan and logged behaviour was found.",
    "keep": "Keep the logged behaviour.",
}
_SIGNIFICANT = 3  # digits of a return


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """The decision whether to follow a plan, with its reasons as codes; `str` gives a one-line headline.

    Attributes
    ----------
    code
        "follow" if the plan is better than the logged behaviour, "no difference" if nothing better was found, "keep"
        if the plan is worse or cannot be judged.
    reasons
        Reason codes, the decisive one first: "better_on_held_out", "no_gain_shown", "worse_on_held_out" or
        "too_few_episodes"; then "automaton_does_not_fit" if held-out episodes reject the automaton. Models of earlier
        versions have "lower_bound_above_logged", "lower_bound_below_logged" or "too_rare".

    Examples
    --------
    >>> verdict = suffice.regorl(episodes).verdict
    >>> verdict.code, verdict.reasons
    ('follow', ('better_on_held_out',))
    >>> print(verdict)
    Follow the plan: held-out episodes show that it returns more than the logged behaviour.
    """

    code: Code
    reasons: tuple[Reason, ...]  # the decisive one first

    @classmethod
    def of(cls, gain: Estimate | None, fits: bool = True, least_gain: Estimate | None = None) -> PlanVerdict:
        """Decide from the plan's gain over the logged behaviour on held-out episodes.

        Parameters
        ----------
        gain
            Difference between the returns of plan and logged behaviour, with its standard error. None: unknown.
        fits
            Whether held-out episodes are compatible with the automaton.
        least_gain
            The same with nodes that divide states in the way that makes the gain smallest. Default: the gain.

        Returns
        -------
        PlanVerdict
            "follow" or "keep" only if the gain differs from 0 at the one-sided level 0.025.
        """
        misfit: tuple[Reason, ...] = () if fits else ("automaton_does_not_fit",)
        if gain is None or not math.isfinite(gain.error):
            return cls("keep", ("too_few_episodes", *misfit))
        if (least_gain or gain).lower(LEVEL) > CLOSE:
            return cls("follow", ("better_on_held_out", *misfit))
        if gain.lower(1 - LEVEL) < -CLOSE:
            return cls("keep", ("worse_on_held_out", *misfit))
        return cls("no difference", ("no_gain_shown", *misfit))

    def __str__(self) -> str:
        return _HEADLINES[self.reasons[0]] if self.reasons else _PLAIN[self.code]


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
    lower_bound: float | None  # None if unknown
    logged: float  # mean return of the logged episodes
    best: float  # best return of a logged episode; infinite if unknown
    delta: float  # of the lower bound
    horizon: int
    discount: float | None
    judged: bool  # whether episodes that the plan was not made from give prediction and bound
    halves: Halves | None
    objective: Objective = RETURN

    @property
    def beyond_log(self) -> bool:
        """Whether the predicted mean return exceeds the return of every logged episode."""
        return math.isfinite(self.best) and self.predicted > self.best + CLOSE

    @property
    def sentence(self) -> str:
        """Verdict, prediction and assumptions as plain sentences."""
        noun, unit = self.objective.noun, "" if self.objective.per_step else " per episode"
        parts = [
            str(self.verdict),
            f"Predicted {noun} {format_return(self.predicted)}{unit} ({self._bound}); logged mean {noun} "
            f"{format_return(self.logged)}.",
        ]
        if "automaton_does_not_fit" in self.verdict.reasons:
            parts.append("Held-out episodes do not fit the automaton: it lacks states, and the prediction is biased.")
        if self.verdict.code != "follow":
            parts.append("More episodes may help.")
        if self.beyond_log:
            parts.append(f"No logged episode had a {noun} this high (best {format_return(self.best)}): be careful.")
        if self.discount is not None:
            parts.append(
                f"These are undiscounted returns over {self.horizon} steps; the plan itself maximises the discounted "
                f"return (discount {self.discount:g}) without a horizon."
            )
        if self.objective.name == "discounted":
            parts.append(f"Rewards count {self.objective.gamma:g} times as much with every step.")
        return " ".join([*parts, *self._basis()])

    def _basis(self) -> list[str]:
        """State which episodes the automaton, the plan and the prediction come from, and what is proved."""
        if self.halves is not None:
            return [
                "The automaton comes from one half of the episodes and the plan from the other; the prediction comes "
                "from episodes that its plan was not made from.",
                _proof(self.halves),
            ]
        if self.judged:
            return [
                "Prediction and bound come from cross-fitting: plans made in the same way from two thirds of the "
                "episodes, judged by the others. The plan of this model comes from all episodes and is assumed to be "
                "worth at least as much as those on average."
            ]
        return [
            "Automaton, plan and prediction come from the same episodes, so the prediction is optimistic and the lower "
            "bound, if there is one, is not a confidence bound."
        ]

    @property
    def _bound(self) -> str:
        """The lower bound with its confidence level."""
        if self.lower_bound is None:
            return "no lower bound"
        level = f" with about {100 * (1 - self.delta):.3g} % confidence" if self.judged or self.halves else ""
        condition = "" if self.judged else ", if the automaton is right"
        return f"lower bound {format_return(self.lower_bound)}{level}{condition}"


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
