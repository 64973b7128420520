"""Off-policy evaluation estimates the return of a policy from held-out episodes, without a simulator.

Three estimates, each with a standard error (π the policy, μ the behaviour policy, ρ_t = π(a_t)/μ(a_t), all given the
state of the automaton):

*model-based*          the value of the policy if the held-out frequencies on the automaton are the true probabilities
                       (training frequencies where an action has no held-out ones): low variance, but biased where the
                       automaton is wrong
*importance sampling*  mean of Σ_t ρ_1⋯ρ_t r_t, per decision: unbiased whatever the automaton, if μ is known; the
                       variance grows with the horizon
*doubly robust*        mean of D_1, where D_t = V(q_t) + ρ_t (r_t + D_{t+1} − Q(q_t, a_t)): the automaton's values,
                       corrected by importance sampling (Jiang and Li, 2016)

μ comes from a column of the log, or is the frequency of each action in each state among the training episodes; the
errors do not include its uncertainty. They are large-sample approximations: with fewer than ten effective episodes the
error is infinite. *Coverage* reports where the policy takes actions that the log rarely has, and how many held-out
episodes are effective. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.state_tracker import StateTracker
from suffice.automata.tally import Tally
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.errors import LogError, spelled
from suffice.evidence.estimates import Estimate
from suffice.kernels.array_types import Float, Int64
from suffice.planning.backward_induction import action_values, worth
from suffice.planning.plan import Plan

RARE = 10  # visits below which an action counts as rare in a state
LEAST_EFFECTIVE_EPISODES = 10  # effective episodes below which importance weights are not evidence


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
        standard `error`, and `interval(0.95)` gives a confidence interval.
    model_based
        Value of the policy on the automaton with held-out frequencies. Biased where the automaton is wrong.
    importance
        Per-decision importance sampling. Its error is infinite with fewer than ten effective episodes.
    doubly_robust
        The automaton's values, corrected by importance sampling. Its error is infinite in the same case.
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
    effective: float
    matched: float
    unseen: float
    rare: float
    gaps: tuple[RareAction, ...]
    episodes: int


def evaluate_off_policy(
    rdp: RDP, plan: Plan, episodes: Episodes, propensity: Float | None = None
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
        actions among the training episodes in each state.

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
    (4.67, 5.33)
    """
    refuse_other_features(rdp, episodes)
    episodes = episodes.compact()  # a part of a log has only its own actions and rewards
    _refuse_other_rewards(rdp, episodes)
    if episodes.horizon < rdp.horizon:  # all episodes ended before the automaton's horizon
        missing = rdp.horizon - episodes.horizon
        episodes = episodes.padded(rdp.horizon)
        propensity = None if propensity is None else np.pad(propensity, ((0, missing), (0, 0)), constant_values=1.0)
    run = _HeldOutWalk(rdp, plan, episodes, propensity)
    rare, gaps = _coverage(rdp, plan)
    return OffPolicyEvaluation(
        log=Estimate.mean(run.reward.sum(axis=0), episodes.weight),
        model_based=worth(rdp, plan, _supplemented(rdp, rdp.tally(episodes))),
        importance=run.estimate(run.importance()),
        doubly_robust=run.estimate(run.doubly_robust()),
        effective=run.effective(),
        matched=float(np.average(run.weights()[-1] > 0, weights=episodes.weight)),
        unseen=_unseen(rdp, episodes),
        rare=rare,
        gaps=gaps,
        episodes=episodes.total,
    )


def refuse_other_features(rdp: RDP, episodes: Episodes) -> None:
    """Refuse episodes whose observation columns differ from the model's: every history would be unseen."""
    ours, theirs = (", ".join(alphabet.features) for alphabet in (rdp.alphabet, episodes.alphabet))
    if ours != theirs:
        raise LogError(
            f"the log's observations are {theirs}, the model's {ours}. Choose these columns with "
            f"{spelled('read_log(log, observations=...)', '--observations')}, or rename those of the log."
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


class _HeldOutWalk:
    """Held-out episodes with the states of the automaton that they visit: row t − 1 is step t of 1..H."""

    def __init__(self, rdp: RDP, plan: Plan, episodes: Episodes, propensity: Float | None) -> None:
        self._rdp, self._plan, self._weight = rdp, plan, episodes.weight
        memory = StateTracker.of(rdp)
        if episodes.horizon > rdp.horizon:
            cut = spelled(f"read_log(log, horizon={rdp.horizon})", f"--horizon {rdp.horizon}")
            raise LogError(
                f"the log's episodes have up to {episodes.horizon} decisions, but the model plans only {rdp.horizon}. "
                f"Cut the episodes with {cut}."
            )
        actions = _known_actions(rdp, episodes)
        self._place = memory.along(episodes)[:-1]  # [H, N] before each decision
        word = episodes.word[1:]
        self.reward = np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]][word]
        self._acts, self._action = (episodes.letters[:, 0] != PAD)[word], actions[word]
        as_the_log = np.full_like(plan.actions, BEHAVE)
        target, behaviour = (_frequencies(memory.choices(a)) for a in (plan.actions, as_the_log))
        chosen = self._place, np.maximum(self._action, 0)
        mu = behaviour[chosen] if propensity is None else propensity[1:]
        self.ratio = np.where(self._acts, target[chosen] / np.where(mu > 0, mu, np.inf), 1.0)
        self._target = target

    def weights(self) -> Float:
        """Return the importance weights [H, N], ρ_1⋯ρ_t."""
        return np.asarray(np.cumprod(self.ratio, axis=0), float)

    def importance(self) -> Float:
        """Return the importance-weighted return of each episode [N], Σ_t ρ_1⋯ρ_t r_t."""
        return np.asarray((self.weights() * self.reward).sum(axis=0))

    def doubly_robust(self) -> Float:
        """Return the doubly robust return of each episode [N], D_1."""
        value, by_action = self._values()
        later = np.zeros(self._place.shape[1])
        for place, action, acts, ratio, reward in zip(
            self._place[::-1], self._action[::-1], self._acts[::-1], self.ratio[::-1], self.reward[::-1], strict=True
        ):
            corrected = value[place] + ratio * (reward + later - by_action[place, np.maximum(action, 0)])
            later = np.where(acts, corrected, reward + later)  # no correction after the end
        return later

    def _values(self) -> tuple[Float, Float]:
        """Return V [P] and Q [P, A] of the plan in every place of the state tracker, from the training episodes."""
        rdp = self._rdp
        value, by_action = self._plan.values, action_values(rdp, self._plan, rdp.own_tally())
        visits, layer = rdp.counts.sum(axis=1), rdp.layer_of()
        mean = np.bincount(layer, visits * value) / np.maximum(np.bincount(layer, visits), 1)  # for unseen histories
        value = np.concatenate([value, mean])
        by_action = np.concatenate([by_action, np.full((len(mean), by_action.shape[1]), np.nan)])
        by_action = np.where(np.isnan(by_action), value[:, None], by_action)
        return np.asarray((self._target * by_action).sum(axis=1)), by_action

    def effective(self) -> float:
        """Return the effective number of episodes, (Σw)²/Σw² of the last weights."""
        last = self.weights()[-1]
        weight = np.ones_like(last) if self._weight is None else self._weight
        squares = float((weight * last**2).sum())
        return float((weight * last).sum()) ** 2 / squares if squares else 0.0

    def estimate(self, sample: Float) -> Estimate:
        """Return the mean, with an error that counts one more effective episode half the range of returns away.

        Few effective episodes that happen to agree would otherwise have a much too small error. With fewer than
        LEAST_EFFECTIVE_EPISODES of them the error is infinite.
        """
        mean, effective = Estimate.mean(sample, self._weight), self.effective()
        if effective < LEAST_EFFECTIVE_EPISODES:
            return Estimate(mean.value, math.inf)
        returns = self.reward.sum(axis=0)
        return Estimate(mean.value, math.hypot(mean.error, float(np.ptp(returns)) / 2 / (effective + 1)))


def _supplemented(rdp: RDP, tally: Tally) -> Tally:
    """Return the held-out counts, replaced by the training counts where an action was never taken in a state."""
    action = rdp.letters[:, 0]
    times = np.zeros_like(tally.lost)
    np.add.at(times.T, action, tally.counts.T)
    never = (times + tally.lost == 0)[:, action]
    return Tally(np.where(never, rdp.counts, tally.counts), tally.lost)


def _unseen(rdp: RDP, episodes: Episodes) -> float:
    """Return the share of decisions after a history that is not in the training episodes."""
    weight = np.ones(episodes.n) if episodes.weight is None else episodes.weight
    acts = (episodes.letters[:, 0] != PAD)[episodes.word[1:]]
    lost = rdp.unseen_decisions(episodes)
    return float((lost * weight).sum()) / max(float((acts * weight).sum()), 1.0)


def _known_actions(rdp: RDP, episodes: Episodes) -> Int64:
    """Return [X], the index of each letter's action among the model's; -1 for padding and the dummy action."""
    theirs = [episodes.alphabet.action(code) for code in episodes.letters[:, 0].tolist()]
    ours = {action: place for place, action in enumerate(rdp.alphabet.actions)}
    if unknown := [a for a in theirs if a is not None and a != "pad" and a not in ours]:
        raise LogError(
            f"the log has action {unknown[0]!r}, which the model does not know. Its actions are "
            f"{', '.join(map(str, rdp.alphabet.actions))}. Rename those of the log, or learn the model again."
        )
    return np.array([ours.get(a, -1) if a is not None else -1 for a in theirs])


def _frequencies(choices: Int64) -> Float:
    """Return action probabilities [P, A] from counts; uniform where there are none."""
    total = choices.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, choices / np.maximum(total, 1), 1 / choices.shape[1]))


def _coverage(rdp: RDP, plan: Plan) -> tuple[float, tuple[RareAction, ...]]:
    """Return the share of the policy's decisions that are rare in the training episodes, and the main ones."""
    taken = np.zeros((rdp.n_states, rdp.alphabet.n_actions), np.int64)
    np.add.at(taken.T, rdp.letters[:, 0], rdp.counts.T)
    share = plan.occupancy(rdp)
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
