"""RegORL learns an automaton from logged episodes and plans a policy on it.

Learn the automaton, map every episode to transitions (q, a, r, q'), and plan on their counts. By default all episodes
serve both steps, the automaton is refined (`refinement`), and the plan is safe (`planner`). Cross-fitting then predicts
the return: plans made in the same way from a part of the episodes are judged by the others (`cross_fitting`).

`Split` follows the paper: one half of the episodes for the automaton, with δ/(4AO·Q̄) for each test, the other for the
plan with δ/2. The return is predicted by cross-fitting within that half: plans on parts of it, each evaluated on the
rest. Subsampled planning makes the plan on independent counts, as the proof requires; the proof then gives a bracket:
the plan's expected return is at least `lower`, and no policy exceeds `upper`. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.content import merged
from suffice.data.episodes import Episodes
from suffice.data.log import Log
from suffice.data.possible_returns import reward_ranges
from suffice.data.sampling import sample_of
from suffice.errors import SettingsError, parameter
from suffice.evidence.estimates import Estimate
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.memories import Cycle, MemoryKind, Progress, silently
from suffice.planning.cross_fitting import FEWEST_EPISODES, FOLDS, MOST_STEPS, CrossFit, MadePlan, cross_fit
from suffice.planning.held_out_value import HeldOutPlan
from suffice.planning.logged_return import logged_return
from suffice.planning.memory_comparison import ComparedMemories, MemoryComparison
from suffice.planning.memory_plans import FOLD_SEED, PlanMaker, chosen_kinds, plan_layers
from suffice.planning.plan import Plan
from suffice.planning.planner import Planning, as_planning, plan_on
from suffice.planning.subsampling import Bracket
from suffice.planning.verdict import Forecast, Halves, PlanVerdict


@dataclass(frozen=True, slots=True)
class Split:
    """Settings for learning the automaton from one half of the episodes and the plan from the other.

    Parameters
    ----------
    delta
        Failure probability of automaton and plan together.
    accuracy
        Accuracy ε that should be proved: how far the plan may be from the best policy. None: report what is proved.
    max_states
        Upper bound Q̄ on the number of states of the process, over all layers. The theorem assumes it.

    Examples
    --------
    >>> suffice.learn(episodes, split=suffice.Split(delta=0.1, max_states=20)).about.episodes
    150
    """

    delta: float = 0.05
    accuracy: float | None = None  # ε
    max_states: int = 1000  # Q̄

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise SettingsError(f"{parameter('delta', self.delta)} is not a probability between 0 and 1. Try 0.05.")
        if self.accuracy is not None and not self.accuracy > 0:
            raise SettingsError(
                f"{parameter('accuracy', self.accuracy)} is not a number above 0. Give the largest acceptable distance "
                "from the best return, such as 0.1."
            )
        if self.max_states < 1:
            raise SettingsError(
                f"{parameter('max_states', self.max_states)} is not a number of states. Use 1 or more, such as 1000."
            )

    def per_test(self, episodes: Log) -> float:
        """Return the failure probability of each test of the learner, δ/(4AO·Q̄).

        Parameters
        ----------
        episodes
            The log, of which A is the number of actions and O the number of observations.

        Returns
        -------
        float
            The failure probability of a single test.
        """
        actions, observations, _ = episodes.suffix_alphabet()
        return self.delta / (4 * len(actions) * len(observations) * self.max_states)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Solution:
    """An automaton, a plan on it, and their predicted return and guarantees, as `regorl` returns them.

    Attributes
    ----------
    learned
        The automaton and how it was learned.
    plan
        The plan, on the states of `planned`.
    planning
        Settings of the planner.
    prediction
        Predicted mean return of the plan, with its standard error.
    behaviour
        Mean return of the logged episodes, with its standard error.
    split
        Settings of the split, if the episodes were split.
    bracket
        Proved bounds on the plan's and on any policy's expected return, if the automaton is right. Only with a split
        and subsampled planning.
    best_return
        Best return of a logged episode; infinite if unknown.
    judged
        What held-out episodes show about plans made like this one; None with a split, or if there are too few.
    compared
        Comparison of kinds of memory that chose this one; None if the kind was given.

    Examples
    --------
    >>> solution = suffice.regorl(episodes)
    >>> round(solution.prediction.value, 2), round(solution.behaviour_value, 3)
    (5.0, 2.503)
    >>> print(solution.verdict)
    Follow the plan: held-out episodes show that it returns more than the logged behaviour.
    """

    learned: Learned
    plan: Plan  # on `planned`
    planning: Planning
    prediction: Estimate
    behaviour: Estimate
    split: Split | None = None
    bracket: Bracket | None = None
    best_return: float = math.inf
    judged: CrossFit | None = None
    compared: MemoryComparison | None = None

    @property
    def planned(self) -> RDP:
        """The automaton whose states the plan refers to, the learned one, unrolled to layers."""
        return self.learned.rdp.layered()

    def __repr__(self) -> str:
        return f"<Solution: {self.learned.rdp!r}, predicted {self.prediction.value:.4g}>"

    @property
    def behaviour_value(self) -> float:
        """The mean return of the logged episodes."""
        return self.behaviour.value

    @property
    def lower_bound(self) -> float | None:
        """One-sided lower bound of the plan's return, of level 1 − δ of the planner; None if episodes are too few.

        It comes from cross-fitting, see `CrossFit`; with a `Split` it holds if the automaton is right.
        """
        if self.judged is not None:
            return self.judged.lower_bound
        return self.prediction.lower(self.planning.delta) if self._judged_by_half else None

    @property
    def _judged_by_half(self) -> bool:
        """Whether the episodes of a split were enough to judge the plan."""
        return self.split is not None and int(self.learned.rdp.counts[0].sum()) >= FEWEST_EPISODES

    @property
    def verdict(self) -> PlanVerdict:
        """The decision whether to follow the plan, with its reasons."""
        if self.judged is not None:
            return self.judged.verdict
        if not self._judged_by_half:
            return PlanVerdict.of(None)
        error = math.hypot(self.prediction.error, self.behaviour.error)
        return PlanVerdict.of(Estimate(self.prediction.value - self.behaviour_value, error))

    @property
    def forecast(self) -> Forecast:
        """The predicted return of the plan, its lower bound, and the assumptions behind them."""
        split, rdp, halves = self.split, self.learned.rdp, None
        if split is not None:
            halves = Halves(split.delta, split.accuracy, split.max_states, rdp.n_states, self.bracket)
        return Forecast(
            self.verdict,
            self.prediction.value,
            self.lower_bound,
            self.behaviour_value,
            self.best_return,
            self.planning.delta,
            rdp.horizon,
            self.planning.endless,
            self.judged is not None,
            halves,
            self.planning.aim,
        )

    @property
    def sentence(self) -> str:
        """Verdict, prediction and guarantees as plain sentences."""
        return self.forecast.sentence


def regorl(
    episodes: Log,
    settings: Settings | None = None,
    planning: Planning | str | None = None,
    *,
    split: Split | None = None,
    second_look: bool = True,
    stationary: bool | Literal["auto"] = False,
    rng: np.random.Generator | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
    kept: CheckpointStage = NO_CHECKPOINT,
) -> Solution:
    """Learn an automaton from logged episodes and plan a policy on it.

    Parameters
    ----------
    episodes
        The logged episodes.
    settings
        Settings of the automaton learner. Default: `Settings()`.
    planning
        Settings of the planner, or its name: "safe", "greedy", "pessimistic" or "subsampled". Default: "safe".
    split
        Learn the automaton from one half of the episodes and the plan from the other. Default: use all for both.
    second_look
        Refine the layered automaton (see `refine`). Ignored with `split` or `stationary`.
    stationary
        Learn one automaton that is the same at every step (see `learn_stationary`) instead of layers; "auto" compares
        kinds of memory on held-out episodes, and takes the best (see `MemoryComparison`).
    rng
        Random numbers that divide the episodes where `split` or subsampled planning needs it. Default: seed 0.
    progress
        Function called with the number of finished steps and the number of all steps.
    kept
        Checkpoint to resume from and to save to. Default: none.

    Returns
    -------
    Solution
        The automaton, the plan, and the predicted return.

    Examples
    --------
    >>> suffice.regorl(episodes)
    <Solution: <RDP: 11 states in layers 1 1 2 2 2 2 1>, predicted 5>
    >>> suffice.regorl(episodes, stationary=True)
    <Solution: <RDP: 8 states in one layer>, predicted 5>
    """
    settings, planning, rng = settings or Settings(), as_planning(planning), rng or np.random.default_rng(0)
    if split is not None:
        if stationary:
            raise _for_layers(parameter("split"))
        if planning.objective != "return":
            raise SettingsError(
                f"{parameter('objective', planning.objective)} cannot be combined with {parameter('split')}, which is "
                "proved for returns. Leave one of them out."
            )
        return _split(episodes, settings, planning, split, rng, progress, kept)
    if stationary and planning.subsample:
        raise _for_layers(parameter("planning", "subsampled"))
    maker = PlanMaker(settings, planning, rng)
    kinds, compared, note = chosen_kinds(episodes, maker, stationary, second_look, progress)
    kind, learned, plan = maker.first_that_fits(kinds, episodes, lambda done, of: note(done, (FOLDS + 1) * of), kept)
    assert plan is not None
    judged = _judge_by_folds(episodes, kind, maker, compared, note, (learned.rdp, plan))
    behaviour, best = logged_return(episodes, planning.aim, settings.threads)
    prediction = Estimate(plan.value, plan.error) if judged is None else judged.predicted
    own = maker.planning_of(kind) or planning
    comparison = None if compared is None else compared.comparison
    return Solution(learned, plan, own, prediction, behaviour, best_return=best, judged=judged, compared=comparison)


def judge_stationary(
    episodes: Log, learned: Learned, plan: Plan, planning: Planning, progress: Progress = silently
) -> Solution:
    """Judge the plan of a stationary automaton, by cross-fitting plans that are made like it."""
    maker = PlanMaker(learned.settings, planning, np.random.default_rng(0))
    judged = _judge_by_folds(episodes, Cycle(), maker, None, progress, (learned.rdp, plan))
    behaviour, best = logged_return(episodes, planning.aim, learned.settings.threads)
    prediction = Estimate(plan.value, plan.error) if judged is None else judged.predicted
    return Solution(learned, plan, planning, prediction, behaviour, best_return=best, judged=judged)


def _judge_by_folds(
    episodes: Log,
    kind: MemoryKind,
    maker: PlanMaker,
    compared: ComparedMemories | None,
    progress: Progress,
    own: MadePlan | None = None,
) -> CrossFit | None:
    """Judge plans made like the `own` one of a model, by cross-fitting; those of the comparison, if it saw all."""
    settings, fold = maker.settings, count(1)
    sample = sample_of(episodes, MOST_STEPS, settings.memory, np.random.default_rng(FOLD_SEED), settings.threads)
    ready: list[tuple[RDP, Plan | None]] = []
    if compared is not None and compared.order[0] is kind and compared.comparison.episodes == sample.total:
        ready = list(compared.plans)
    elif not kind.stationary:  # layers are the same for weights and for repetitions
        sample = merged(sample)

    def make_again(part: Episodes) -> tuple[RDP, Plan]:
        before = next(fold)
        if ready:
            rdp, plan = ready[before - 1]
            progress(before + 1, FOLDS + 1)
        else:
            again, plan = maker.make(kind, part, lambda done, of: progress(before * of + done, (FOLDS + 1) * of))
            rdp = again.rdp
        assert plan is not None
        return rdp, plan

    assert maker.planning is not None
    planning = maker.planning
    return cross_fit(sample, make_again, np.random.default_rng(FOLD_SEED), planning.delta, planning.aim, own)


def judge_memory(episodes: Episodes, kind: MemoryKind, settings: Settings, planning: Planning) -> PlanVerdict:
    """Return the verdict on plans with a kind of memory, by cross-fitting; the whole log gets no plan."""
    maker = PlanMaker(settings, planning, np.random.default_rng(0))
    judged = _judge_by_folds(episodes, kind, maker, None, lambda done, of: None)
    return PlanVerdict.of(None) if judged is None else judged.verdict


def _for_layers(conflict: str) -> SettingsError:
    return SettingsError(
        f"{conflict} cannot be combined with {parameter('stationary', True)}: the paper's proof is for layers. "
        "Leave out one of them."
    )


def _split(
    episodes: Log,
    settings: Settings,
    planning: Planning,
    split: Split,
    rng: np.random.Generator,
    progress: Callable[[int, int], None],
    kept: CheckpointStage,
) -> Solution:
    """Learn the automaton from one half of the episodes and make the plan on the other, as in the paper."""
    first, second, _ = episodes.divide(0.5, rng)
    level = replace(settings, delta=split.per_test(episodes), confidence=None)
    learned = adact_h(first, level, progress, kept=kept.part("first"))
    planning = replace(planning, delta=split.delta / 2)
    plan, bracket, unused = plan_layers(learned, second, None, planning, rng)
    rdp = learned.rdp
    memory = settings.memory
    prediction = _judge(rdp, plan, unused, memory) if unused else _exchanged(rdp, planning, second, rng, memory)
    behaviour, best = logged_return(episodes)
    return Solution(learned, plan, planning, prediction, behaviour, split, bracket, best)


def _exchanged(rdp: RDP, planning: Planning, episodes: Log, rng: np.random.Generator, memory: int) -> Estimate:
    """Predict the return of plans made on each half of the episodes from the other half, and average."""
    halves = episodes.divide(0.5, rng)[:2]
    pairs = (halves, reversed(halves))
    found = [_judge(rdp, plan_on(rdp, planning, rdp.tally(one)), other, memory) for one, other in pairs]
    mean = Estimate(math.fsum(f.value for f in found) / 2, math.hypot(*(f.error for f in found)) / 2)
    return mean.within((min(f.low for f in found), max(f.high for f in found)))


def _judge(rdp: RDP, plan: Plan, log: Log, memory: int) -> Estimate:
    """Estimate the return of a plan from episodes that it was not made from."""
    episodes = merged(sample_of(log, MOST_STEPS, memory, np.random.default_rng(FOLD_SEED)))
    ranges = reward_ranges(episodes)
    found = HeldOutPlan(rdp, plan, episodes, (ranges.high - ranges.low)[1:]).value()
    error = math.sqrt(found.variance(episodes.weight, group=episodes.group))
    return Estimate(found.value, error).within(ranges.returns())


def log_return(log: Log) -> Estimate:
    """Return the weighted mean return of an episode of the log, with its standard error."""
    return logged_return(log)[0]


def mean_return(log: Log) -> float:
    """Return the weighted mean return of an episode of the log."""
    return log_return(log).value
