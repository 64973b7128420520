"""Off-policy evaluation estimates the return of a policy from held-out episodes, without a simulator.

Three estimates, each with a standard error:

*model-based*          the value of the policy if the held-out frequencies on the automaton are the true probabilities
*importance sampling*  held-out returns, weighted by how much more likely the policy makes the whole episode: does not
                       rely on the automaton if propensities are known, but needs many episodes (`importance_sampling`)
*doubly robust*        the same as model-based, but histories that came to a state by different edges are valued apart

The first and the last are those of `held_out_value`, without and with a refinement, which also judge plans when they
are made. Their 95 % intervals contain the intervals of all refinements and, if the automaton does not fit these
episodes, of whole histories. All estimates and intervals are limited to the possible returns: the smallest and largest
reward at each step, in the training and the held-out episodes, added up. An estimate that cannot be trusted is
*unknown*: importance sampling with too few effective episodes, and any estimate whose interval would span most of the
possible range.

The probabilities μ of the logged actions come from a column of the log. Without one, importance sampling uses the
frequencies of actions in each state among the held-out episodes, and the other estimates need none. Theory:
docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.training_ranges import training_ranges
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.data.memory_limit import require_memory
from suffice.data.possible_returns import PossibleReturns, reward_ranges
from suffice.errors import LogError, require_type, spelled
from suffice.evidence.estimates import Estimate
from suffice.kernels.array_types import Float, Int64
from suffice.planning.cross_fitting import ALWAYS, MISFIT, one_of_each_group, tested_refinements
from suffice.planning.held_out_nodes import HISTORY
from suffice.planning.held_out_value import HeldOutPlan
from suffice.planning.importance_sampling import LEAST_EFFECTIVE_EPISODES, EpisodeWeighted, episode_weighted
from suffice.planning.logged_return import logged_return, possible_values
from suffice.planning.objective import RETURN, Objective
from suffice.planning.per_step import with_less_reward
from suffice.planning.plan import Plan

Unknown = Literal["no_match", "few_effective_episodes", "wide_interval"]

BYTES_A_STEP = 250  # memory of a step in all estimates
RARE = 10  # visits below which an action counts as rare in a state
TWO_SIDED = NormalDist().inv_cdf(0.975)  # standard errors on either side in a 95 % interval
MOST_WIDE = 0.75  # share of the possible range that a 95 % interval may span before it is limited to that range


class RareAction(NamedTuple):
    """A state where the policy takes an action that the training log rarely has there.

    Attributes
    ----------
    state
        Number of the state, over all layers.
    action
        Index of the action in the alphabet's actions.
    visits
        Number of times that the training episodes took the action in the state.
    share
        Probability that an episode of the policy visits the state.

    Examples
    --------
    >>> suffice.RareAction(state=2, action=1, visits=3, share=0.25).visits
    3
    """

    state: int
    action: int
    visits: int
    share: float


class OffPolicyEvaluation(NamedTuple):
    """Estimates of a policy's return from held-out episodes, with their coverage.

    Attributes
    ----------
    log
        Mean return of the held-out episodes themselves. This and the following estimates have a `value` and a
        standard `error`, and `interval(0.95)` gives a confidence interval within the possible returns. An estimate that
        is not `known` has the value NaN.
    model_based
        Value of the policy on the automaton with held-out frequencies; the logged behaviour where an action has none.
    importance
        Weighted importance sampling, which does not rely on the automaton if propensities are given. Often unknown.
    doubly_robust
        The same, with states divided by the edges that led to them, so that merges of different histories show less.
    unknown
        Why an estimate is unknown, by its name: "no_match" (no episode takes only actions that the policy might take),
        "few_effective_episodes" (fewer than ten) or "wide_interval" (more than three quarters of the possible range).
    possible
        The smallest and the largest possible return, by the rewards logged at each step.
    effective
        Effective number of held-out episodes, (Σw)²/Σw² of their importance weights.
    matched
        Share of the held-out episodes in which the policy could have taken every action.
    unseen
        Share of the held-out decisions after a history that is not in the training episodes.
    rare
        Share of the policy's decisions that the training log has fewer than ten times in the state.
    gaps
        The most frequent of these rare decisions, at most five.
    episodes
        Number of held-out episodes, counted with their weights.

    Examples
    --------
    >>> held_out = suffice.simulate(suffice.make("corridor").model(5), 300, 5, np.random.default_rng(2))
    >>> found = suffice.evaluate_off_policy(model.planned, model.plan, held_out)
    >>> found.episodes, found.model_based.value
    (300, 5.0)
    """

    log: Estimate
    model_based: Estimate
    importance: Estimate
    doubly_robust: Estimate
    unknown: Mapping[str, Unknown]
    possible: PossibleReturns
    effective: float
    matched: float
    unseen: float
    rare: float
    gaps: tuple[RareAction, ...]
    episodes: int


def evaluate_off_policy(
    rdp: RDP, plan: Plan, episodes: Episodes, propensity: Float | None = None, objective: Objective = RETURN
) -> OffPolicyEvaluation:
    """Estimate the return of a plan from held-out episodes.

    Parameters
    ----------
    rdp
        The automaton that the plan refers to, in layers: `model.planned`.
    plan
        The plan to evaluate: `model.plan`.
    episodes
        Episodes that neither the automaton nor the plan was made from.
    propensity
        Probabilities [H+1, N] with which the behaviour policy took the logged actions. Default: the frequencies of
        actions among these episodes in each state.
    objective
        What is estimated instead of the return: the discounted return, or the reward per step.

    Returns
    -------
    OffPolicyEvaluation
        Estimates with standard errors, and the coverage of the policy by the log.

    Raises
    ------
    LogError
        If the episodes have other observation columns, unknown actions, rewards outside the range of the training
        log, or more steps than the plan.

    Examples
    --------
    >>> held_out = suffice.simulate(suffice.make("corridor").model(5), 300, 5, np.random.default_rng(2))
    >>> low, high = suffice.evaluate_off_policy(model.planned, model.plan, held_out).doubly_robust.interval(0.95)
    >>> round(low, 2), round(high, 2)
    (4.87, 5.0)
    """
    require_type("rdp", rdp, RDP, "an automaton. Pass model.rdp.")
    require_type("plan", plan, Plan, "a plan. Pass model.plan.")
    require_type("episodes", episodes, Episodes, "Episodes. Read the log first: suffice.read_log(log).")
    refuse_other_features(rdp, episodes)
    episodes = episodes.compact()  # a part of a log has only its own actions and rewards
    _refuse_other_rewards(rdp, episodes)
    if episodes.horizon < rdp.horizon:  # all episodes ended before the automaton's horizon
        missing = rdp.horizon - episodes.horizon
        episodes = episodes.padded(rdp.horizon)
        propensity = None if propensity is None else np.pad(propensity, ((0, missing), (0, 0)), constant_values=1.0)
    _refuse_longer_episodes(rdp, episodes)
    _refuse_other_actions(rdp, episodes)
    steps = episodes.word.size
    require_memory(BYTES_A_STEP * steps, f"the evaluation of {steps:,} steps", "evaluate on fewer episodes")
    ranges = reward_ranges(episodes).joined(training_ranges(rdp))
    possible = PossibleReturns(*possible_values(ranges, objective))
    estimates, sampled = (
        _estimates_per_step(rdp, plan, episodes, propensity)
        if objective.per_step
        else _estimates(rdp, plan, episodes, propensity, objective.gamma)
    )
    unknown: dict[str, Unknown] = {}
    if sampled.fewest < LEAST_EFFECTIVE_EPISODES:
        unknown["importance"] = "few_effective_episodes" if sampled.matched else "no_match"
    for name, estimate in estimates.items():
        if name not in unknown and _is_wide(estimate, possible):
            unknown[name] = "wide_interval"
    rare, gaps = _coverage(rdp, plan)
    return OffPolicyEvaluation(
        log=logged_return(episodes, objective)[0].within(possible),
        **{
            name: Estimate.unknown(possible) if name in unknown else found.within(possible)
            for name, found in estimates.items()
        },
        unknown=unknown,
        possible=possible,
        effective=sampled.effective,
        matched=sampled.matched,
        unseen=_unseen(rdp, episodes),
        rare=rare,
        gaps=gaps,
        episodes=episodes.total,
    )


def _estimates(
    rdp: RDP, plan: Plan, episodes: Episodes, propensity: Float | None, gamma: float = 1.0
) -> tuple[dict[str, Estimate], EpisodeWeighted]:
    """Return the three estimates of the return, by name, and the coverage by importance sampling."""
    ranges = reward_ranges(episodes).joined(training_ranges(rdp))
    spans = (ranges.high - ranges.low)[1:]
    held_out = HeldOutPlan(rdp, plan, episodes, spans, gamma, propensity)
    sampled = episode_weighted(held_out.walk, spans, episodes.group)
    refinements = [*ALWAYS, HISTORY] if _misfit(held_out, rdp, episodes) >= MISFIT else ALWAYS
    values = {name: held_out.value(name) for name in (None, *refinements)}
    errors = {name: math.sqrt(found.variance(episodes.weight, group=episodes.group)) for name, found in values.items()}

    def estimate(name: str | None) -> Estimate:
        """Return an estimate whose 95 % interval contains those of all refinements."""
        value = values[name].value
        reach = max(abs(found.value - value) + TWO_SIDED * errors[other] for other, found in values.items())
        return Estimate(value, reach / TWO_SIDED)

    return {"model_based": estimate(None), "importance": sampled.estimate, "doubly_robust": estimate("edge")}, sampled


def _misfit(held_out: HeldOutPlan, rdp: RDP, episodes: Episodes) -> float:
    """Return the largest z of the lack-of-fit tests."""
    tested = one_of_each_group(episodes)
    tests = [held_out.fit(name, tested) for name in tested_refinements(rdp)]
    return max(excess / math.sqrt(variance) if variance > 0 else 0.0 for excess, variance in tests)


def _estimates_per_step(
    rdp: RDP, plan: Plan, episodes: Episodes, propensity: Float | None
) -> tuple[dict[str, Estimate], EpisodeWeighted]:
    """Return the same of the reward per step: estimates are linear in rewards (`per_step`)."""

    def of_less(less: float) -> tuple[dict[str, Estimate], EpisodeWeighted]:
        return _estimates(with_less_reward(rdp, less), plan, with_less_reward(episodes, less), propensity)

    (zero, sampled), (one, _) = of_less(0.0), of_less(1.0)
    steps = {name: zero[name].value - one[name].value for name in zero}
    ratio = zero["model_based"].value / steps["model_based"]
    shifted, _ = of_less(ratio)
    found = {
        name: Estimate(ratio + found.value / steps[name], found.error / abs(steps[name]))
        if steps[name]
        else Estimate(math.nan, math.inf)
        for name, found in shifted.items()
    }
    return found, sampled


def _is_wide(estimate: Estimate, possible: PossibleReturns) -> bool:
    """Return whether the interval of an estimate, before it is limited, spans most of the possible range."""
    low, high = estimate.interval()
    return high - low > MOST_WIDE * (possible.high - possible.low)


def refuse_other_features(rdp: RDP, episodes: Episodes) -> None:
    """Refuse episodes whose observation columns differ from the model's: every history would be unseen."""
    ours, theirs = (", ".join(alphabet.features) for alphabet in (rdp.alphabet, episodes.alphabet))
    if ours != theirs:
        raise LogError(
            f"the log's observations are {theirs}, the model's {ours}. Choose these columns with "
            f"{spelled('read_log(log, observations=...)', '--observations')}, or rename those of the log."
        )


def _refuse_other_actions(rdp: RDP, episodes: Episodes) -> None:
    """Refuse actions that the model does not know."""
    theirs = [episodes.alphabet.action(code) for code in episodes.letters[:, 0].tolist() if code > PAD]
    if unknown := [action for action in theirs if action not in rdp.alphabet.actions]:
        raise LogError(
            f"the log has action {unknown[0]!r}, which the model does not know. Its actions are "
            f"{', '.join(map(str, rdp.alphabet.actions))}. Rename those of the log, or learn the model again."
        )


def _refuse_longer_episodes(rdp: RDP, episodes: Episodes) -> None:
    """Refuse episodes with more decisions than the plan has."""
    if episodes.horizon > rdp.horizon:
        cut = spelled(f"read_log(log, horizon={rdp.horizon})", f"--horizon {rdp.horizon}")
        raise LogError(
            f"the log's episodes have up to {episodes.horizon} decisions, but the model plans only {rdp.horizon}. "
            f"Cut the episodes with {cut}."
        )


def _refuse_other_rewards(rdp: RDP, episodes: Episodes) -> None:
    """Refuse rewards outside the model's range: they indicate another process or unit."""
    low, high = (bound([rdp.alphabet.rewards[r] for r in rdp.letters[:, 2]]) for bound in (min, max))
    seen = np.array(episodes.alphabet.rewards)[np.unique(episodes.letters[:, 2])]
    outside = seen[(seen < low) | (seen > high)]
    if len(outside):
        raise LogError(
            f"the log has reward {outside[0]:g}, but the model was learned from rewards {low:g} to {high:g}. Check "
            "that the log is of the same process, in the same units. If so, learn the model again from a log with "
            "such rewards."
        )


def _taken(rdp: RDP, counts: Int64) -> Int64:
    """Return [Q, A] how often each action was taken in each state, by counts [Q, X]."""
    taken = np.zeros((rdp.n_states, rdp.alphabet.n_actions), np.int64)
    for rows in rdp.blocks():
        np.add.at(taken[rows].T, rdp.letters[:, 0], counts[rows].T)
    return taken


def _unseen(rdp: RDP, episodes: Episodes) -> float:
    """Return the share of decisions after a history that is not in the training episodes."""
    weight = np.ones(episodes.n) if episodes.weight is None else episodes.weight
    acts = (episodes.letters[:, 0] != PAD)[episodes.word[1:]]
    lost = rdp.unseen_decisions(episodes)
    return float((lost * weight).sum()) / max(float((acts * weight).sum()), 1.0)


def _coverage(rdp: RDP, plan: Plan) -> tuple[float, tuple[RareAction, ...]]:
    """Return the share of the policy's decisions that are rare in the training episodes, and the main ones."""
    taken, share = _taken(rdp, rdp.counts), plan.occupancy(rdp)
    planned = np.flatnonzero(plan.actions != BEHAVE)
    visits = taken[planned, plan.actions[planned] + PAD + 1]
    decisions = float(share[taken[:, PAD + 1 :].any(axis=1)].sum())
    rarely = planned[(visits < RARE) & (share[planned] > 0)]
    often = sorted(rarely.tolist(), key=lambda q: (-share[q], q))
    gaps = [
        RareAction(q, int(plan.actions[q]), int(taken[q, plan.actions[q] + PAD + 1]), float(share[q]))
        for q in often[:5]
    ]
    return float(share[rarely].sum()) / max(decisions, 1e-300), tuple(gaps)
