"""RegORL: from a log to a policy in one call (theory.md §6).

Learn the automaton, map every episode to (q, a, r, q'), plan on the counts. By default all episodes serve both steps,
the automaton gets a second look (`refinement`), and the plan is safe (`planner`). That wastes nothing, but automaton,
plan and predicted value come from the same data, so that no theorem covers them together.

`Split` is the paper's way: one half of the episodes for the automaton, at δ/(4AO·Q̄) for each test, the other for the
plan at δ/2; what it will bring is predicted by plans on parts of that half, each valued by the rest. Subsampled
planning makes the plan on independent counts, which is what the proof asks for; the proof then gives a bracket: the
plan is worth at least `lower`, and no policy more than `upper`.
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
from suffice.data.log import Log, run_query
from suffice.data.queries import EpisodesView
from suffice.errors import SettingsError
from suffice.evidence.estimates import Estimate, Moments
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.kernels import sums
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.layers import learn_layers
from suffice.learning.stationary.learner import learn_stationary
from suffice.planning.backward_induction import unroll_plan
from suffice.planning.plan import Plan
from suffice.planning.planner import Planning, plan_on
from suffice.planning.prediction import predict
from suffice.planning.subsampling import Bracket, prove, two_fold
from suffice.planning.verdict import Forecast, Halves, PlanVerdict


@dataclass(frozen=True, slots=True)
class Split:
    """The paper's two halves.

    >>> suffice.learn(episodes, split=suffice.Split(delta=0.1, max_states=20)).about.episodes
    150
    """

    delta: float = 0.05  # of everything together
    accuracy: float | None = None  # ε: how far from the best policy one is content with
    max_states: int = 1000  # Q̄: at most so many states, all layers together

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise SettingsError(f"δ of a split is a probability between 0 and 1, not {self.delta:g}; try 0.05")
        if self.accuracy is not None and not self.accuracy > 0:
            raise SettingsError(f"accuracy must be above 0, not {self.accuracy:g}")
        if self.max_states < 1:
            raise SettingsError(f"max_states must be at least 1, not {self.max_states}")

    def per_test(self, episodes: Log) -> float:
        """δ of each of the learner's tests, δ/(4AO·Q̄)."""
        actions, observations, _ = episodes.suffix_alphabet()
        return self.delta / (4 * len(actions) * len(observations) * self.max_states)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Solution:
    """An automaton, a plan on it, and what is promised of both.

    >>> solution = suffice.regorl(episodes)
    >>> solution.prediction.value, round(solution.behaviour_value, 3)
    (5.0, 2.503)
    >>> print(solution.verdict)
    Follow the plan: it will likely bring more than the log did.
    """

    learned: Learned
    plan: Plan  # on `planned`
    planning: Planning
    prediction: Estimate  # what the plan will bring
    behaviour: Estimate  # what the log itself brought
    split: Split | None = None
    bracket: Bracket | None = None  # of a split with subsampled planning: what is proved, if the automaton is right
    best_return: float = math.inf  # of the log's episodes

    @property
    def planned(self) -> RDP:
        """The automaton that the plan is of: what was learned, with its layers."""
        return self.learned.rdp.layered()

    def __repr__(self) -> str:
        return f"<Solution: {self.learned.rdp!r}, predicted {self.prediction.value:.4g}>"

    @property
    def behaviour_value(self) -> float:
        """The log's mean return."""
        return self.behaviour.value

    @property
    def lower_bound(self) -> float:
        """Likely the plan brings more; with probability about 1 − δ, if other episodes than its own tell (`Split`)."""
        return self.prediction.lower(self.planning.delta)

    @property
    def verdict(self) -> PlanVerdict:
        """Whether to follow the plan, and why; it prints as a sentence."""
        detectable = self.learned.promise.detectable
        too_rare = detectable is not None and detectable > 1
        return PlanVerdict.of(self.lower_bound, self.behaviour_value, too_rare)

    @property
    def forecast(self) -> Forecast:
        """What the plan is predicted to bring, and what that rests on."""
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
        """The promise of the plan, for a person."""
        return self.forecast.sentence


def regorl(
    episodes: Log,
    settings: Settings | None = None,
    planning: Planning | None = None,
    *,
    split: Split | None = None,
    second_look: bool = True,
    stationary: bool = False,
    rng: np.random.Generator | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
    kept: CheckpointStage = NO_CHECKPOINT,
) -> Solution:
    """Learn an automaton and a plan on it; `rng` divides the episodes where that is asked for.

    With `stationary` one automaton for all steps (`learning.stationary`), and a plan for as many steps as the log has.

    >>> suffice.regorl(episodes)
    <Solution: <RDP: 11 states in layers 1 1 2 2 2 2 1>, predicted 5>
    >>> suffice.regorl(episodes, stationary=True)
    <Solution: <RDP: 8 states in one layer>, predicted 5>
    """
    settings, planning, rng = settings or Settings(), planning or Planning(), rng or np.random.default_rng(0)
    if stationary:
        return _tied(episodes, settings, planning, split, progress, kept)
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


def _tied(
    episodes: Log,
    settings: Settings,
    planning: Planning,
    split: Split | None,
    progress: Callable[[int, int], None],
    kept: CheckpointStage,
) -> Solution:
    if split is not None or planning.subsample:
        raise SettingsError(
            "the paper's proof is for layers: a split and subsampled plans do not go with a stationary automaton"
        )
    learned = learn_stationary(episodes, settings, progress, kept)
    rdp = learned.rdp
    forever = planning.discount is not None
    plan = unroll_plan(rdp, plan_on(rdp, planning)) if forever else plan_on(rdp.layered(), planning)
    prediction = predict(rdp, plan, episodes, settings.threads)
    behaviour, best = returns(episodes, settings.threads)
    return Solution(learned, plan, planning, prediction, behaviour, best_return=best)


def _plan(
    learned: Learned, episodes: Log, tally: Tally | None, planning: Planning, rng: np.random.Generator
) -> tuple[Plan, Bracket | None, Log | None]:
    """A plan, what is proved of it, and episodes that had no say in it but how often each state was met."""
    rdp = learned.rdp
    if not planning.subsample:
        return plan_on(rdp, planning, tally or rdp.tally(episodes)), None, None
    main, spare, _ = episodes.divide(0.5, rng)
    drawn = two_fold(rdp.tally(main), rdp.tally(spare), planning.delta, rng)
    plan = plan_on(rdp, planning, drawn)
    return plan, prove(rdp, plan, drawn, planning.delta), spare


def _cross_fitted(rdp: RDP, planning: Planning, episodes: Log, rng: np.random.Generator) -> Estimate:
    """What plans are worth by episodes that they were not made on: of each half, by the other."""
    halves = episodes.divide(0.5, rng)[:2]
    found = [predict(rdp, plan_on(rdp, planning, rdp.tally(one)), other) for one, other in (halves, reversed(halves))]
    return Estimate(sum(f.value for f in found) / 2, math.hypot(*(f.error for f in found)) / 2)


class _Returns(NamedTuple):
    """What each episode brought: enough to tell the mean and its error, and the most."""

    rewards: NDArray[np.float64]  # [X] of each letter

    def __call__(self, view: EpisodesView) -> tuple[Moments, float]:
        """See `Query`."""
        total = np.zeros(view.episodes.n)
        sums.add_values(view.episodes.word, self.rewards, total)
        return Moments.of(total, view.episodes.weight), float(total.max())

    def combine(self, answers: list[tuple[Moments, float]]) -> tuple[Moments, float]:
        """See `Query`."""
        moments = [moment for moment, _ in answers]
        return sum(moments[1:], moments[0]), max(most for _, most in answers)


def returns(log: Log, threads: int = 1) -> tuple[Estimate, float]:
    """What an episode of the log brings on average, with the standard error, and the most that one brought."""
    rewards = np.array(log.alphabet.rewards)[log.letters[:, 2]]
    moments, most = run_query(log, _Returns(rewards), threads)
    return moments.estimate(), most


def log_return(log: Log) -> Estimate:
    """What an episode of the log brings on average, with its standard error, weights counted."""
    return returns(log)[0]


def mean_return(log: Log) -> float:
    """What an episode of the log brings on average."""
    return log_return(log).value
