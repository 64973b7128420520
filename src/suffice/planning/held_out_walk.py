"""Held-out episodes along an automaton, with the action probabilities of a plan: what all held-out estimates use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import PAD, Value
from suffice.data.episodes import Episodes, known_outcomes, observed_decisions
from suffice.kernels.array_types import Float, Int64, Mask
from suffice.planning.backward_induction import behaviour_values
from suffice.planning.plan import Plan

ENDED = -1  # action after the end of an episode, and the node that it leads to


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutWalk:
    """Held-out episodes along an automaton; row t of [H, n] is the t-th decision, counted from 0."""

    place: Int64  # [H, n] place before each decision; those of a layer are numbered one after the other
    symbol: Int64  # [H, n] symbol that led there
    action: Int64  # [H, n] number of the action; A if the automaton does not have it, ENDED if nothing is to count
    cut: Mask | None  # [H, n] whether the episode was cut off after the decision; None: no episode was
    over: Mask | None  # [H, n] whether the episode has ended before the decision; None: where nothing is to count
    reward: Float  # [H, n]
    weight: Float  # [n]
    target: list[Float]  # [H] tables [P, A + 1] of the plan's action probabilities
    prior: list[Float]  # [H] tables [P] of the values of places under the logged behaviour, from the training episodes
    pooled: bool  # whether all decisions share their nodes, as in a stationary automaton
    discount: float = 1.0
    mu: Float | None = None  # [H, n] probabilities with which the behaviour policy took the actions; None: not known

    @classmethod
    def of(
        cls, rdp: RDP, plan: Plan, episodes: Episodes, discount: float = 1.0, propensity: Float | None = None
    ) -> HeldOutWalk:
        """Follow episodes that have the horizon of the automaton; see `HeldOutPlan`."""
        word, codes = episodes.word, episodes.letters[:, 0]
        known: dict[Value | None, int] = {action: number for number, action in enumerate(rdp.alphabet.actions)}
        numbers = np.array([known.get(episodes.alphabet.action(code), len(known)) for code in codes.tolist()])
        tracker = StateTracker.of(rdp)
        order = np.argsort(np.concatenate([rdp.layer_of(), np.arange(len(rdp.layers))]), kind="stable")
        target, prior = (_stationary_plan if rdp.stationary else _layered_plan)(rdp, plan, tracker, order, discount)
        action: Int64 = np.where(codes > PAD, numbers, ENDED)[word[1:]]
        over: Mask | None = None
        cut: Mask | None = None
        if episodes.length is not None:  # what was not observed is not counted, and is not an end
            seen = observed_decisions(episodes)
            cut, over = seen & ~known_outcomes(episodes), (action == ENDED) & seen
            action = np.where(seen, action, ENDED)
        # With layers, nothing follows once all episodes have ended; one such decision marks that the last one is not
        # cut.
        lasts = len(action) if rdp.stationary else min(len(action), int((action != ENDED).any(axis=1).sum()) + 1)
        return cls(
            place=np.argsort(order)[tracker.along(episodes)[:lasts]],
            symbol=episodes.symbols()[1][word[:lasts]].astype(np.int64),
            action=action[:lasts],
            cut=None if cut is None else cut[:lasts],
            over=None if over is None else over[:lasts],
            reward=np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]][word[1 : lasts + 1]],
            weight=np.ones(episodes.n) if episodes.weight is None else episodes.weight.astype(float),
            target=target[:lasts],
            prior=prior[:lasts],
            pooled=rdp.stationary,
            discount=discount,
            mu=None if propensity is None else propensity[1 : lasts + 1],
        )

    @property
    def n_actions(self) -> int:
        """Return the number of actions, one more for those that the automaton does not have."""
        return int(self.target[0].shape[1])

    def ended(self) -> Mask:
        """Return [H, n], whether the episode has ended before the decision."""
        return np.asarray(self.action == ENDED if self.over is None else self.over)

    def inverse_chances(self, rows: slice, live: Mask) -> Float | None:
        """Return 1/μ of some decisions; 0 where the behaviour policy never takes the action, None if μ is not known."""
        if self.mu is None:
            return None
        mu = self.mu[rows][live]
        return np.where(mu > 0, 1 / np.where(mu > 0, mu, 1.0), 0.0)


def _layered_plan(
    rdp: RDP, plan: Plan, tracker: StateTracker, order: Int64, discount: float
) -> tuple[list[Float], list[Float]]:
    """Return the plan's action probabilities and values by place, which are the same tables for all decisions."""
    own = behaviour_values(rdp, discount)
    values = np.concatenate([own, _mean_by_layer(rdp, own)])[order]
    return [_frequencies(tracker.choices(plan.actions))[order]] * rdp.horizon, [values] * rdp.horizon


def _stationary_plan(
    rdp: RDP, plan: Plan, tracker: StateTracker, order: Int64, discount: float
) -> tuple[list[Float], list[Float]]:
    """Return the plan's action probabilities and values by place, for each decision; the plan is one on layers."""
    layered, state = rdp.unroll()
    layer, inner = layered.layer_of(), np.arange(layered.n_states - 1)
    own = behaviour_values(layered, discount)
    usual, mean = _frequencies(tracker.choices(np.full(rdp.n_states, BEHAVE))), _mean_by_layer(layered, own)
    target, prior = [], []
    for t in range(1, rdp.horizon + 1):
        copies = inner[layer[inner] == t]
        acting = copies[plan.actions[copies] != BEHAVE]
        chances, values = usual.copy(), np.full(len(usual), mean[t])
        chances[state[acting]] = 0.0
        chances[state[acting], plan.actions[acting]] = 1.0
        values[state[copies]] = own[copies]
        target.append(chances[order])
        prior.append(values[order])
    return target, prior


def _mean_by_layer(rdp: RDP, values: Float) -> Float:
    """Return the mean value of each layer over the training episodes, for histories that have left the automaton."""
    layer, visits = rdp.layer_of(), rdp.counts.sum(axis=1)
    return np.asarray(np.bincount(layer, visits * values) / np.maximum(np.bincount(layer, visits), 1))


def _frequencies(choices: Int64) -> Float:
    """Return the probabilities [P, A + 1] of choices: uniform where nothing is known, 0 for unknown actions."""
    total = choices.sum(axis=1, keepdims=True)
    chances = np.where(total > 0, choices / np.maximum(total, 1), 1 / choices.shape[1])
    return np.pad(chances, ((0, 0), (0, 1)))
