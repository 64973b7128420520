"""What an agent tries next: transitions of its automaton that were rarely followed by an action, or are undecided.

A target is a transition (state, action, observation) and the action to take after it. Transitions are counted, not the
states they lead to: a state that contains two situations hides that an action is new in one of them. The probability
of a target is proportional to

    w = P(transition is reached) / (1 + number of times that the action followed the transition)

and, for a share of the targets, to the evidence per episode that the transition does not belong to its state, which is
positive where a test has not decided yet. The agent goes to the transition by the policy that reaches it most surely
(`planning.reaching`), takes the action, and then acts uniformly: what it does not know about a situation shows in any
later step. Theory: docs/theory.md, section 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Float, Int64
from suffice.learning.merging import Decision
from suffice.planning.reaching import Reaching, Transitions

UNDECIDED_SHARE = 0.1  # of targets that are chosen by evidence, if any transition is undecided
LEAST_EVIDENCE = 0.3  # ln E from which a transition counts as undecided


class Target(NamedTuple):
    """A transition to reach, and the action to take after it."""

    state: int
    symbol: int
    action: int  # index among the actions
    policy: int  # row of `Exploration.reaching`


@dataclass(frozen=True, slots=True, eq=False)
class Exploration:
    """The possible targets of an automaton, how often each was tried, and how to reach them."""

    transitions: Transitions
    places: Int64  # [K] the transitions after which an episode goes on
    tries: Int64  # [K, A]
    undecided: Float  # [K] evidence per use that the transition does not belong to its state
    weights: Float  # [K, A]
    reaching: Reaching

    @classmethod
    def of(cls, rdp: RDP, decisions: Sequence[Decision], episodes: Episodes) -> Exploration:
        """Count what episodes have tried, and plan how to reach each transition."""
        transitions = Transitions.of(rdp)
        places = transitions.continuing(rdp)
        tries = _tries(rdp, transitions, places, episodes)
        reaching = Reaching.to(transitions, places, max(rdp.horizon - 1, 1))  # a decision is left for the action
        undecided = _undecided(rdp, transitions, places, decisions)
        weights = _weights(reaching.chance[:, -1], tries, undecided)
        return cls(transitions, places, tries, undecided, weights, reaching)

    def draw(self, rng: np.random.Generator) -> Target | None:
        """Draw a target; None if no decision follows any transition."""
        sums = np.cumsum(self.weights)
        if not sums.size or not sums[-1] > 0:
            return None
        chosen = min(int(np.searchsorted(sums, rng.random() * sums[-1], side="right")), sums.size - 1)
        k, action = divmod(chosen, self.weights.shape[1])
        place = self.places[k]
        return Target(int(self.transitions.state[place]), int(self.transitions.symbol[place]), action, k)

    def towards(self, target: Target, state: int, left: int) -> int:
        """Return the action that leads to a target from a state, with this many decisions left; UNSEEN if none does."""
        table = self.reaching.actions
        if state >= table.shape[2] or left < 2:
            return UNSEEN
        return int(table[target.policy, min(left - 1, table.shape[1] - 1), state])


def _tries(rdp: RDP, transitions: Transitions, places: Int64, episodes: Episodes) -> Int64:
    """Count [K, A], how often each action followed each transition."""
    number = np.full(rdp.tau.shape, UNSEEN, np.int64)
    number[transitions.state[places], transitions.symbol[places]] = np.arange(len(places))
    n_actions = len(rdp.alphabet.actions)
    found = np.zeros(len(places) * n_actions, np.int64)
    states, symbol = rdp.run_all(episodes), rdp.symbols_in(episodes)
    _, action = rdp.codes_in(episodes)
    for t, word in enumerate(episodes.word[:-1]):
        here, by, then = states[t], symbol[word], action[episodes.word[t + 1]]
        used = (here != UNSEEN) & (by != UNSEEN) & (then > PAD)
        place = number[here[used], by[used]]
        key = (place * n_actions + then[used] - (PAD + 1))[place != UNSEEN]
        found += np.bincount(key, minlength=len(found))
    return found.reshape(len(places), n_actions)


def _undecided(rdp: RDP, transitions: Transitions, places: Int64, decisions: Sequence[Decision]) -> Float:
    """Return [K], the evidence per use that a transition differs from the state that it was merged with."""
    by_edge = {}
    for decision in decisions:
        placement = decision.placement
        evidence = placement.distance
        if not placement.promoted and evidence is not None and evidence > LEAST_EVIDENCE:
            by_edge[decision.state, decision.symbol] = evidence / decision.n
    edges = zip(transitions.state[places].tolist(), transitions.symbol[places].tolist(), strict=True)
    return np.array([by_edge.get(edge, 0.0) for edge in edges])


def _weights(chance: Float, tries: Int64, undecided: Float) -> Float:
    """Return [K, A], the probabilities of targets."""
    rare = chance[:, None] / (1.0 + tries)
    rare /= max(rare.sum(), 1e-300)
    doubtful = np.broadcast_to((chance * undecided)[:, None], tries.shape)
    if not doubtful.sum() > 0:
        return rare
    return np.asarray((1 - UNDECIDED_SHARE) * rare + UNDECIDED_SHARE * doubtful / doubtful.sum())
