"""What a policy would bring, for people without a simulator: off-policy evaluation on episodes it was not learned from.

Three estimates, each with an interval (π the policy, μ the log's behaviour, ρ_t = π(a_t)/μ(a_t), all given the memory):

*model-based*          the value of the policy if the automaton's held-out frequencies were probabilities (where there
                       are none, those that were learned from): of little variance, but wrong where the automaton is
*importance sampling*  mean of Σ_t ρ_1⋯ρ_t r_t, per decision: right whatever the automaton, if μ is known; the variance
                       grows with the horizon
*doubly robust*        D_t = V(q_t) + ρ_t (r_t + D_{t+1} − Q(q_t, a_t)), mean of D_1: the automaton's values, corrected
                       by importance sampling where they miss (Jiang and Li, 2016)

μ is what the log says (a column), or how often the episodes that were learned from took each action in each state; its
error is not in the intervals. They are for large samples of episodes that do what the policy would: below ten, in
effect, nothing is said.
*Coverage* says where the policy goes and the log does not, and how many of the held-out episodes count.
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
from suffice.errors import LogError
from suffice.evidence.estimates import Estimate
from suffice.kernels.array_types import Float, Int64
from suffice.planning.backward_induction import action_values, worth
from suffice.planning.plan import Plan

RARE = 10  # visits below which the log says little
LEAST_EFFECTIVE_EPISODES = 10  # effective episodes below which importance weights say nothing


class RareAction(NamedTuple):
    """A state where the policy does what the log rarely did."""

    state: int  # numbered over all layers
    action: int  # place in the alphabet's actions
    visits: int  # how often the log did that there
    share: float  # of the policy's episodes get there


class OffPolicyEvaluation(NamedTuple):
    """What held-out episodes say about a policy."""

    log: Estimate  # what they brought themselves
    model_based: Estimate
    importance: Estimate
    doubly_robust: Estimate
    effective: float  # held-out episodes that would count as much as the weighted ones
    matched: float  # share of them in which every action is one that the policy might take
    unseen: float  # share of their decisions after a history that was not learned from
    rare: float  # of the policy's decisions, the share that the log made fewer than RARE times
    gaps: tuple[RareAction, ...]  # the most frequent of these
    episodes: int


def evaluate_off_policy(
    rdp: RDP, plan: Plan, episodes: Episodes, propensity: Float | None = None
) -> OffPolicyEvaluation:
    """Evaluate a plan on held-out episodes; `propensity` [H+1, N] are the probabilities of their actions, if known."""
    refuse_other_features(rdp, episodes)
    _refuse_other_rewards(rdp, episodes)
    if episodes.horizon < rdp.horizon:  # all of them ended before
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
    """They make every history new."""
    ours, theirs = (", ".join(alphabet.features) for alphabet in (rdp.alphabet, episodes.alphabet))
    if ours != theirs:
        raise LogError(f"the log's observations are {theirs}, the model's {ours}; say --observations, or rename them")


def _refuse_other_rewards(rdp: RDP, episodes: Episodes) -> None:
    """Rewards beyond the model's are a sign of another process or unit."""
    low, high = (bound([rdp.alphabet.rewards[r] for r in rdp.letters[:, 2]]) for bound in (min, max))
    seen = np.array(episodes.alphabet.rewards)[np.unique(episodes.letters[:, 2])]
    outside = seen[(seen < low) | (seen > high)]
    if len(outside):
        raise LogError(
            f"the log has reward {outside[0]:g}, the model saw only {low:g} to {high:g}: is it a log of the same "
            "process, in the same units? If so, learn the model again from a log that has such rewards"
        )


class _HeldOutWalk:
    """Held-out episodes, walked along the automaton: step t of 1..H is row t − 1."""

    def __init__(self, rdp: RDP, plan: Plan, episodes: Episodes, propensity: Float | None) -> None:
        self._rdp, self._plan, self._weight = rdp, plan, episodes.weight
        memory = StateTracker.of(rdp)
        if episodes.horizon > rdp.horizon:
            raise LogError(
                f"the log's episodes have up to {episodes.horizon} decisions, the model plans {rdp.horizon}; cut them "
                f"with --horizon {rdp.horizon}"
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
        """[H, N] ρ_1⋯ρ_t."""
        return np.asarray(np.cumprod(self.ratio, axis=0), float)

    def importance(self) -> Float:
        """[N] Σ_t ρ_1⋯ρ_t r_t."""
        return np.asarray((self.weights() * self.reward).sum(axis=0))

    def doubly_robust(self) -> Float:
        """[N] D_1."""
        value, by_action = self._values()
        later = np.zeros(self._place.shape[1])
        for place, action, acts, ratio, reward in zip(
            self._place[::-1], self._action[::-1], self._acts[::-1], self.ratio[::-1], self.reward[::-1], strict=True
        ):
            corrected = value[place] + ratio * (reward + later - by_action[place, np.maximum(action, 0)])
            later = np.where(acts, corrected, reward + later)  # after the end there is nothing to correct
        return later

    def _values(self) -> tuple[Float, Float]:
        """V [P] and Q [P, A] of the plan in every place, by the episodes that were learned from."""
        rdp = self._rdp
        value, by_action = self._plan.values, action_values(rdp, self._plan, rdp.own_tally())
        visits, layer = rdp.counts.sum(axis=1), rdp.layer_of()
        mean = np.bincount(layer, visits * value) / np.maximum(np.bincount(layer, visits), 1)  # where one is lost
        value = np.concatenate([value, mean])
        by_action = np.concatenate([by_action, np.full((len(mean), by_action.shape[1]), np.nan)])
        by_action = np.where(np.isnan(by_action), value[:, None], by_action)
        return np.asarray((self._target * by_action).sum(axis=1)), by_action

    def effective(self) -> float:
        """(Σw)²/Σw² of the last weights."""
        last = self.weights()[-1]
        weight = np.ones_like(last) if self._weight is None else self._weight
        squares = float((weight * last**2).sum())
        return float((weight * last).sum()) ** 2 / squares if squares else 0.0

    def estimate(self, sample: Float) -> Estimate:
        """The mean. Episodes that do what the policy would are few; as if one more had been half the range away.

        With fewer than ENOUGH of them there is no evidence, whatever they agree on.
        """
        mean, effective = Estimate.mean(sample, self._weight), self.effective()
        if effective < LEAST_EFFECTIVE_EPISODES:
            return Estimate(mean.value, math.inf)
        returns = self.reward.sum(axis=0)
        return Estimate(mean.value, math.hypot(mean.error, float(np.ptp(returns)) / 2 / (effective + 1)))


def _supplemented(rdp: RDP, tally: Tally) -> Tally:
    """Held-out counts; where an action was never taken in a state, those that were learned from."""
    action = rdp.letters[:, 0]
    times = np.zeros_like(tally.lost)
    np.add.at(times.T, action, tally.counts.T)
    never = (times + tally.lost == 0)[:, action]
    return Tally(np.where(never, rdp.counts, tally.counts), tally.lost)


def _unseen(rdp: RDP, episodes: Episodes) -> float:
    """The share of decisions after a history that was not learned from."""
    weight = np.ones(episodes.n) if episodes.weight is None else episodes.weight
    acts = (episodes.letters[:, 0] != PAD)[episodes.word[1:]]
    lost = rdp.unseen_decisions(episodes)
    return float((lost * weight).sum()) / max(float((acts * weight).sum()), 1.0)


def _known_actions(rdp: RDP, episodes: Episodes) -> Int64:
    """[X] the place of each letter's action among the model's; -1 for padding and the dummy."""
    theirs = [episodes.alphabet.action(code) for code in episodes.letters[:, 0].tolist()]
    ours = {action: place for place, action in enumerate(rdp.alphabet.actions)}
    if unknown := [a for a in theirs if a is not None and a != "pad" and a not in ours]:
        raise LogError(
            f"the log's actions are {', '.join(map(str, episodes.alphabet.actions))}, of which the model does not know "
            f"{unknown[0]!r}; it knows {', '.join(map(str, rdp.alphabet.actions))}"
        )
    return np.array([ours.get(a, -1) if a is not None else -1 for a in theirs])


def _frequencies(choices: Int64) -> Float:
    """[P, A] probabilities; where nothing is known, all alike."""
    total = choices.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, choices / np.maximum(total, 1), 1 / choices.shape[1]))


def _coverage(rdp: RDP, plan: Plan) -> tuple[float, tuple[RareAction, ...]]:
    """Where the policy goes and the log did not, by the episodes that were learned from."""
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
