"""Cross-fitting judges a plan by episodes that neither the plan nor its automaton was made from.

The log is divided into three parts. From each two of them an automaton and a plan are made in the same way as those of
the model, and evaluated on the third (`held_out_value`). The mean of the three values is the prediction. It concerns
plans made from two thirds of the log; the model's own plan comes from all of it, and is assumed to be worth at least as
much on average; where plans of different folds have different values, bounds allow for one more such difference. If the
model's own plan is worth less than theirs on the same episodes, although it was made from them, this shortfall is
subtracted from the prediction and added to its error. Three results follow:

*gain*         the difference between prediction and logged return, on the same episodes, with its standard error; a
               plan counts as better only if it is with all refinements
*fit*          the largest z of the lack-of-fit tests: whether what came before a state predicts what follows it. The
               tests need independent episodes, so of each group they use one
*lower bound*  the smallest one of the one-sided bounds with and without refinement; if the automaton does not fit,
               the refinement by whole histories counts too, which needs no automaton. Without refinement, cells
               with few visits count by the rule of three: n equal outcomes leave 3/n of the range possible. The
               gain has a lower bound of the same kind

Of a long log a sample is judged, so that time and memory are bounded. Theory: docs/theory.md, section 6, and
docs/decisions/0033.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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
from suffice.planning.verdict import PlanVerdict

FOLDS = 3
FEWEST_EPISODES = 30  # of fewer no plan can be judged
FEWEST_GROUPS = 6  # of fewer no plan can be judged: two in each fold
MOST_STEPS = 1 << 20  # of longer logs a sample is judged; it fits into the least memory that learning may have
BYTES_A_STEP = 60  # memory of a judged step
RULE_OF_THREE = 2 * 3 / 1.645  # factor that turns 1.645 errors of half a range per visit into three ranges
MISFIT = 3.0  # z from which an automaton does not fit: one-sided level 0.0013
ALWAYS = ("edge", "two edges", "first observation")  # refinements that always count for the lower bound

MadePlan = tuple[RDP, Plan]
Plans = Callable[[Episodes], MadePlan]


@dataclass(frozen=True, slots=True)
class CrossFit:
    """What held-out episodes show about plans that were made like the plan of a model.

    Attributes
    ----------
    predicted
        Mean return of the plans, with its standard error.
    gain
        Difference between the plans' and the logged return, with its standard error.
    least_gain
        The same with the refinement that makes it smallest.
    lower_bound
        One-sided lower bound of the plans' return, of level 1 − δ if what came before matters at most as far as the
        refinements show.
    gain_lower_bound
        The same of the gain.
    misfit
        Largest z of the lack-of-fit tests. From 3 on the automata do not fit.
    episodes
        Number of episodes that were judged.
    """

    predicted: Estimate
    gain: Estimate
    least_gain: Estimate
    lower_bound: float
    gain_lower_bound: float
    misfit: float
    episodes: int

    @property
    def verdict(self) -> PlanVerdict:
        """The decision whether to follow the plan."""
        return PlanVerdict.of(self.gain, self.fits, self.least_gain)

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
    shortfall: float  # by how much the model's own plan is worth less on these episodes, if positive

    @classmethod
    def of(
        cls, made: MadePlan, own: MadePlan | None, episodes: Episodes, ranges: RewardRanges, objective: Objective
    ) -> _Fold:
        """Walk held-out episodes along the automaton of a plan, and that of the model's own plan."""
        rdp = made[0]
        judged = JudgedPlan.of(*made, episodes, ranges, objective)
        tested = one_of_each_group(episodes)
        fits = {name: judged.walked.fit(name, tested) for name in tested_refinements(rdp)}
        values = {name: judged.value(name) for name in (None, *ALWAYS, "history")}
        shortfall = 0.0
        if own is not None:
            del judged  # to save memory
            shortfall = values[None].value - JudgedPlan.of(*own, episodes, ranges, objective).value().value
        return cls(fits, values, episodes.weight, episodes.group, logged_mean(episodes, objective), shortfall)

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
    own: MadePlan | None = None,
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
    own
        The automaton and the plan of the model, made from all episodes. Default: not compared with those of the folds.

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
        made = make_plan(training)
        del training  # to save memory
        folds.append(_Fold.of(made, own, held_out, ranges, objective))
    misfit = max(_z([fold.fits[name] for fold in folds]) for name in folds[0].fits)
    refined = [*ALWAYS, "history"] if misfit >= MISFIT else ALWAYS
    lower, gain_lower = (
        min(bound.lower(delta) for bound in _bounds(folds, refined, possible, against_log))
        for against_log in (False, True)
    )
    predicted = _combined(folds).within(possible)
    logged = math.fsum(fold.logged.value for fold in folds) / FOLDS
    gain = Estimate(predicted.value - logged, _combined(folds, against_log=True, more_plans=1 / FOLDS).error)
    least = min(_combined(folds, name).within(possible).value for name in (None, *refined))
    return CrossFit(
        predicted, gain, gain._replace(value=least - logged), lower, gain_lower - logged, misfit, episodes.total
    )


def _bounds(
    folds: list[_Fold], refined: Sequence[str], possible: tuple[float, float], against_log: bool
) -> list[Estimate]:
    """Return the value of the plans, or with the error of its difference from the logged return, by refinement."""
    plain = _combined(folds, None, against_log, RULE_OF_THREE)
    return [found.within(possible) for found in (plain, *(_combined(folds, name, against_log) for name in refined))]


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
    folds: list[_Fold],
    refinement: str | None = None,
    against_log: bool = False,
    caution: float = 1.0,
    more_plans: float = 1 + 1 / FOLDS,
) -> Estimate:
    """Return the mean value of all folds, with its error or that of its difference from the logged return.

    The plan of the model is one more plan of the same kind. So far as values differ more between folds than their
    errors explain, its value differs as much from their mean: `more_plans` is the factor of that variance, 1/3 for the
    mean of such plans, and one more for a single one. If it falls short of them, this counts twice: the shortfall is
    that of a value which is too high.
    """
    variances = [fold.variance(refinement, against_log, caution) for fold in folds]
    values = [fold.values[refinement].value for fold in folds]
    mean = math.fsum(values) / FOLDS
    shortfall = max(math.fsum(fold.shortfall for fold in folds) / FOLDS, 0.0)
    spread = math.fsum((value - mean) ** 2 for value in values) / (FOLDS - 1)
    within = math.fsum(variances) / FOLDS
    between = max(spread - within, 0.0) * more_plans
    return Estimate(mean - shortfall, math.sqrt(within / FOLDS + between + shortfall**2))
