"""RegORL learns an automaton from logged episodes and plans a policy on it.

Learn the automaton, map every episode to transitions (q, a, r, q'), and plan on their counts. By default all episodes
serve both steps, the automaton is refined (`refinement`), and the plan is safe (`planner`). That uses all data, but
automaton, plan and prediction come from the same episodes, so that no theorem covers them together.

`Split` follows the paper: one half of the episodes for the automaton, with δ/(4AO·Q̄) for each test, the other for the
plan with δ/2. The return is predicted by cross-fitting within that half: plans on parts of it, each evaluated on the
rest. Subsampled planning makes the plan on independent counts, as the proof requires; the proof then gives a bracket:
the plan's expected return is at least `lower`, and no policy exceeds `upper`. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import RDP
from suffice.automata.tally import Tally
from suffice.automata.training_ranges import training_ranges
from suffice.data.log import Log, run_query
from suffice.data.possible_returns import reward_ranges
from suffice.data.queries import EpisodesView
from suffice.errors import SettingsError, parameter
from suffice.evidence.estimates import Estimate, Moments
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.kernels import sums
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.layers import learn_layers
from suffice.learning.stationary.learner import learn_stationary
from suffice.planning.backward_induction import unroll_plan
from suffice.planning.plan import Plan
from suffice.planning.planner import Planning, as_planning, plan_on
from suffice.planning.prediction import predict
from suffice.planning.subsampling import Bracket, prove, two_fold
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

    Examples
    --------
    >>> solution = suffice.regorl(episodes)
    >>> solution.prediction.value, round(solution.behaviour_value, 3)
    (5.0, 2.503)
    >>> print(solution.verdict)
    Follow the plan: its lower bound is above the logged return.
    """

    learned: Learned
    plan: Plan  # on `planned`
    planning: Planning
    prediction: Estimate
    behaviour: Estimate
    split: Split | None = None
    bracket: Bracket | None = None
    best_return: float = math.inf

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
    def lower_bound(self) -> float:
        """One-sided lower bound of the prediction at level δ of the planner, by the normal approximation.

        It is a confidence bound, of level about 1 − δ, only with a `Split`, where the prediction comes from episodes
        that its plan was not made from, and only if the automaton is right. Otherwise it is optimistic.
        """
        return self.prediction.lower(self.planning.delta)

    @property
    def verdict(self) -> PlanVerdict:
        """The decision whether to follow the plan, with its reasons."""
        detectable = self.learned.promise.detectable
        too_rare = detectable is not None and detectable > 1
        return PlanVerdict.of(self.lower_bound, self.behaviour_value, too_rare)

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
            self.planning.discount,
            halves,
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
    stationary: bool = False,
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
        Learn one automaton that is the same at every step (see `learn_stationary`) instead of layers.
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
    if stationary:
        return _stationary(episodes, settings, planning, split, progress, kept)
    if split is not None:
        first, second, _ = episodes.divide(0.5, rng)
        level = replace(settings, delta=split.per_test(episodes), confidence=None)
        learned = adact_h(first, level, progress, kept=kept.part("first"))
        planning = replace(planning, delta=split.delta / 2)
        plan, bracket, unused = _plan(learned, second, None, planning, rng)
        rdp = learned.rdp
        prediction = predict(rdp, plan, unused) if unused else _cross_fitted(rdp, planning, second, rng)
        behaviour, best = returns(episodes)
        return Solution(learned, plan, planning, prediction, behaviour, split, bracket, best)
    learned = learn_layers(episodes, settings, second_look, progress, kept)
    plan, *_ = _plan(learned, episodes, learned.rdp.own_tally(), planning, rng)
    prediction = predict(learned.rdp, plan, episodes, settings.threads)
    behaviour, best = returns(episodes, settings.threads)
    return Solution(learned, plan, planning, prediction, behaviour, best_return=best)


def _stationary(
    episodes: Log,
    settings: Settings,
    planning: Planning,
    split: Split | None,
    progress: Callable[[int, int], None],
    kept: CheckpointStage,
) -> Solution:
    """Learn a stationary automaton and plan on it, over the log's horizon or with a discount."""
    if split is not None or planning.subsample:
        conflict = parameter("split") if split is not None else parameter("planning", "subsampled")
        raise SettingsError(
            f"{conflict} cannot be combined with {parameter('stationary', True)}: the paper's proof is for layers. "
            "Leave out one of them."
        )
    learned = learn_stationary(episodes, settings, progress, kept)
    rdp = learned.rdp
    discounted = planning.discount is not None
    plan = unroll_plan(rdp, plan_on(rdp, planning)) if discounted else plan_on(rdp.layered(), planning)
    prediction = predict(rdp, plan, episodes, settings.threads)
    behaviour, best = returns(episodes, settings.threads)
    return Solution(learned, plan, planning, prediction, behaviour, best_return=best)


def _plan(
    learned: Learned, episodes: Log, tally: Tally | None, planning: Planning, rng: np.random.Generator
) -> tuple[Plan, Bracket | None, Log | None]:
    """Make a plan; with subsampling also return its proved bounds, and the episodes that only set sample sizes."""
    rdp = learned.rdp
    if not planning.subsample:
        return plan_on(rdp, planning, tally or rdp.tally(episodes)), None, None
    main, spare, _ = episodes.divide(0.5, rng)
    drawn = two_fold(rdp.tally(main), rdp.tally(spare), planning.delta, rng)
    plan = plan_on(rdp, planning, drawn)
    lower, upper = prove(rdp, plan, drawn, planning.delta)
    low, high = reward_ranges(episodes).joined(training_ranges(rdp)).returns()
    return plan, Bracket(max(lower, low), min(upper, high)), spare


def _cross_fitted(rdp: RDP, planning: Planning, episodes: Log, rng: np.random.Generator) -> Estimate:
    """Predict the return of plans made on each half of the episodes from the other half, and average."""
    halves = episodes.divide(0.5, rng)[:2]
    found = [predict(rdp, plan_on(rdp, planning, rdp.tally(one)), other) for one, other in (halves, reversed(halves))]
    mean = Estimate(sum(f.value for f in found) / 2, math.hypot(*(f.error for f in found)) / 2)
    return mean.within((min(f.low for f in found), max(f.high for f in found)))


class _Returns(NamedTuple):
    """Query for the moments of the returns of episodes, and their largest return."""

    rewards: NDArray[np.float64]  # [X] of each letter

    def __call__(self, view: EpisodesView) -> tuple[Moments, float]:
        """Return moments and largest return of some episodes; see `Query`."""
        total = np.zeros(view.episodes.n)
        sums.add_values(view.episodes.word, self.rewards, total)
        return Moments.of(total, view.episodes.weight), float(total.max())

    def combine(self, answers: list[tuple[Moments, float]]) -> tuple[Moments, float]:
        """Combine the answers of parts of the log; see `Query`."""
        moments = [moment for moment, _ in answers]
        return sum(moments[1:], moments[0]), max(most for _, most in answers)


def returns(log: Log, threads: int = 1) -> tuple[Estimate, float]:
    """Return the mean return of an episode of the log, with its standard error, and the best return."""
    rewards = np.array(log.alphabet.rewards)[log.letters[:, 2]]
    moments, most = run_query(log, _Returns(rewards), threads)
    return moments.estimate(), most


def log_return(log: Log) -> Estimate:
    """Return the weighted mean return of an episode of the log, with its standard error."""
    return returns(log)[0]


def mean_return(log: Log) -> float:
    """Return the weighted mean return of an episode of the log."""
    return log_return(log).value
