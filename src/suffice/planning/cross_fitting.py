"""Cross-fitting judges a plan by episodes that neither the plan nor its automaton was made from.

The log is divided into three parts. From each two of them an automaton and a plan are made in the same way as those of
the model, and evaluated on the third (`held_out_value`). The mean of the three values is the prediction. It concerns
plans made from two thirds of the log; the model's own plan comes from all of it, and is assumed to be worth at least as
much on average; where plans of different folds have different values, the error allows for one more such difference.
Three results follow:

*gain*         the difference between prediction and logged return, on the same episodes, with its standard error
*fit*          the largest z of the lack-of-fit tests: whether what came before a state predicts what follows it. The
               tests need independent episodes, so of each group they use one
*lower bound*  the smallest one of the one-sided bounds with and without refinement; if the automaton does not fit,
               the refinement by whole histories counts too, which needs no automaton. Without refinement, cells
               with few visits count by the rule of three: n equal outcomes leave 3/n of the range possible

Of a long log a sample is judged, so that time and memory are bounded. Theory: docs/theory.md, section 6, and
docs/decisions/0033.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.episodes import Episodes
from suffice.data.possible_returns import RewardRanges, reward_ranges
from suffice.evidence.estimates import Estimate
from suffice.kernels.array_types import Int64, Mask, UInt64
from suffice.planning.held_out_value import HeldOutValue
from suffice.planning.judged_plan import JudgedPlan
from suffice.planning.logged_return import LoggedMean, logged_mean, possible_values
from suffice.planning.objective import RETURN, Objective
from suffice.planning.plan import Plan

FOLDS = 3
FEWEST_EPISODES = 30  # of fewer no plan can be judged
FEWEST_GROUPS = 6  # of fewer no plan can be judged: two in each fold
MOST_STEPS = 1 << 20  # of longer logs a sample is judged; it fits into the least memory that learning may have
BYTES_A_STEP = 60  # memory of a judged step
RULE_OF_THREE = 2 * 3 / 1.645  # factor that turns 1.645 errors of half a range per visit into three ranges
MISFIT = 3.0  # z from which an automaton does not fit: one-sided level 0.0013
ALWAYS = ("edge", "two edges", "first observation")  # refinements that always count for the lower bound

Plans = Callable[[Episodes], tuple[RDP, Plan]]


@dataclass(frozen=True, slots=True)
class CrossFit:
    """What held-out episodes show about plans that were made like the plan of a model.

    Attributes
    ----------
    predicted
        Mean return of the plans, with its standard error.
    gain
        Difference between the plans' and the logged return, with its standard error.
    lower_bound
        One-sided lower bound of the plans' return, of level 1 − δ if what came before matters at most as far as the
        refinements show.
    misfit
        Largest z of the lack-of-fit tests. From 3 on the automata do not fit.
    episodes
        Number of episodes that were judged.
    """

    predicted: Estimate
    gain: Estimate
    lower_bound: float
    misfit: float
    episodes: int

    @property
    def fits(self) -> bool:
        """Whether no lack-of-fit test rejects the automata."""
        return self.misfit < MISFIT


class _Fold(NamedTuple):
    """What held-out episodes show about one plan; the walk of the episodes is not kept, to save memory."""

    fits: dict[str, tuple[float, float]]  # statistic and variance of the lack-of-fit test, by refinement
    values: dict[str | None, HeldOutValue]  # by refinement; None: without
    weight: Int64 | None  # [n] of the episodes
    group: UInt64 | None  # [n] of the episodes
    logged: LoggedMean  # of these episodes

    @classmethod
    def of(cls, rdp: RDP, plan: Plan, episodes: Episodes, ranges: RewardRanges, objective: Objective) -> _Fold:
        """Walk held-out episodes along the automaton of a plan."""
        judged = JudgedPlan.of(rdp, plan, episodes, ranges, objective)
        tested = one_of_each_group(episodes)
        fits = {name: judged.walked.fit(name, tested) for name in tested_refinements(rdp)}
        values = {name: judged.value(name) for name in (None, *ALWAYS, "history")}
        return cls(fits, values, episodes.weight, episodes.group, logged_mean(episodes, objective))

    def variance(self, refinement: str | None, against_log: bool, caution: float) -> float:
        """Return the variance of the value, or of its difference from the logged return."""
        less, rare = (self.logged.influence, self.logged.rare) if against_log else (0.0, 0.0)
        return self.values[refinement].variance(self.weight, less, caution, self.group) + rare


def cross_fit(
    episodes: Episodes,
    make_plan: Plans,
    rng: np.random.Generator,
    delta: float = 0.05,
    objective: Objective = RETURN,
) -> CrossFit | None:
    """Judge the plans that a function makes from episodes.

    Parameters
    ----------
    episodes
        Episodes in an order that depends on their content alone, because sums of floats depend on it.
    make_plan
        Function that learns an automaton from episodes and makes a plan on its layers.
    rng
        Random numbers that divide the episodes.
    delta
        Level of the lower bound.
    objective
        What is predicted. Default: the return.

    Returns
    -------
    CrossFit or None
        What held-out episodes show; None if there are too few.
    """
    if not enough_to_judge(episodes):
        return None
    ranges = reward_ranges(episodes)
    possible = possible_values(ranges, objective)
    folds = []
    for training, held_out in divide_folds(episodes, rng):
        rdp, plan = make_plan(training)
        del training  # to save memory
        folds.append(_Fold.of(rdp, plan, held_out, ranges, objective))
    misfit = max(_z([fold.fits[name] for fold in folds]) for name in folds[0].fits)
    refined = [*ALWAYS, "history"] if misfit >= MISFIT else ALWAYS
    bounds = [_combined(folds, caution=RULE_OF_THREE), *(_combined(folds, name) for name in refined)]
    lower = min(bound.within(possible).lower(delta) for bound in bounds)
    predicted = _combined(folds).within(possible)
    logged = math.fsum(fold.logged.value for fold in folds) / FOLDS
    gain = Estimate(predicted.value - logged, _combined(folds, against_log=True).error)
    return CrossFit(predicted, gain, lower, misfit, episodes.total)


def enough_to_judge(episodes: Episodes) -> bool:
    """Return whether there are enough episodes, and groups if they have any, to judge a plan by folds."""
    groups = episodes.n if episodes.group is None else len(np.unique(episodes.group))
    return episodes.total >= FEWEST_EPISODES and groups >= min(episodes.n, FEWEST_GROUPS)


def tested_refinements(rdp: RDP) -> tuple[str, ...]:
    """Return the refinements that an automaton is tested with; layers know the step."""
    return (*ALWAYS, "step") if rdp.stationary else ALWAYS


def one_of_each_group(episodes: Episodes) -> Mask | None:
    """Return [n], a random episode of each group, because tests need independent ones; None without groups."""
    if episodes.group is None:
        return None
    times = 1 if episodes.weight is None else episodes.weight
    order = np.argsort(np.random.default_rng(0).exponential(size=episodes.n) / times, kind="stable")
    first = np.unique(episodes.group[order], return_index=True)[1]
    found = np.zeros(episodes.n, bool)
    found[order[first]] = True
    return found


def divide_folds(episodes: Episodes, rng: np.random.Generator) -> Iterator[tuple[Episodes, Episodes]]:
    """Yield the training and the held-out episodes of each fold."""
    parts = _divide(episodes, rng)
    for i, part in enumerate(parts):
        yield Episodes.beside([other for j, other in enumerate(parts) if j != i]), part


def _divide(episodes: Episodes, rng: np.random.Generator) -> list[Episodes]:
    """Divide the episodes at random into parts of equal size."""
    parts, rest = [], episodes
    for left in range(FOLDS, 1, -1):
        rest, part, _ = rest.divide(1 / left, rng)
        parts.append(part)
    return [*parts, rest]


def _z(tests: list[tuple[float, float]]) -> float:
    """Return the standardised sum of the statistics of all folds."""
    variance = math.fsum(variance for _, variance in tests)
    return math.fsum(excess for excess, _ in tests) / math.sqrt(variance) if variance > 0 else 0.0


def _combined(
    folds: list[_Fold], refinement: str | None = None, against_log: bool = False, caution: float = 1.0
) -> Estimate:
    """Return the mean value of all folds, with its error or that of its difference from the logged return.

    The plan of the model is one more plan of the same kind. So far as values differ more between folds than their
    errors explain, its value differs as much from their mean.
    """
    variances = [fold.variance(refinement, against_log, caution) for fold in folds]
    values = [fold.values[refinement].value for fold in folds]
    mean = math.fsum(values) / FOLDS
    spread = math.fsum((value - mean) ** 2 for value in values) / (FOLDS - 1)
    within = math.fsum(variances) / FOLDS
    return Estimate(mean, math.sqrt(within / FOLDS + max(spread - within, 0.0) * (1 + 1 / FOLDS)))
