"""What a policy remembers of a history: a state of the automaton, also where no logged history went.

A history that leaves the automaton goes on in the state most like it, the one that its last action and observation most
often led to at that step. If they never did, it is *lost*, at a place for each step, until an action and observation
that are known lead back; meanwhile one chooses as the log did at that step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.automata.histories import Symbol
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Int32, Int64


@dataclass(frozen=True, slots=True, eq=False)
class StateTracker:
    """Places: the states of an automaton, then one to be lost in for each layer."""

    rdp: RDP
    following: Int32  # [P, Y] the place after each symbol
    astray: Int32  # [P] the place after anything else
    known: dict[Symbol, int]  # the symbols of the automaton

    @classmethod
    def of(cls, rdp: RDP) -> StateTracker:
        """The memory of an automaton."""
        states = rdp.n_states
        layer = np.concatenate([rdp.layer_of(), np.arange(len(rdp.layers))])
        astray = (states + np.minimum(layer + 1, len(rdp.layers) - 1)).astype(np.int32)  # after the last it stays lost
        like = np.concatenate([rdp.most_like(), np.full((1, len(rdp.symbols)), UNSEEN, np.int32)])[layer]
        following = np.where(like == UNSEEN, astray[:, None], like)
        following[:states] = np.where(rdp.tau == UNSEEN, following[:states], rdp.tau)
        return cls(rdp, following, astray, {rdp.symbol(y): y for y in range(len(rdp.symbols))})

    def after(self, place: int, symbol: Symbol) -> int:
        """The place that an action and an observation lead to."""
        y = self.known.get(symbol)
        return int(self.astray[place] if y is None else self.following[place, y])

    def along(self, episodes: Episodes) -> Int32:
        """[H+1, N] the place after each step of logged episodes."""
        alphabet = episodes.alphabet
        symbols = [(alphabet.action(int(a)), alphabet.observation(int(o))) for a, o, _ in episodes.letters]
        known = np.array([self.known.get(symbol, -1) for symbol in symbols])
        place = np.zeros(episodes.n, np.int32)
        places = np.empty(episodes.word.shape, np.int32)
        for t, word in enumerate(episodes.word):
            y = known[word]
            place = np.where(y < 0, self.astray[place], self.following[place, y])
            places[t] = place
        return places

    def was_seen(self, place: int, symbol: Symbol) -> bool:
        """Whether the log has an episode that did the same."""
        y = self.known.get(symbol)
        return y is not None and place < self.rdp.n_states and self.rdp.tau[place, y] != UNSEEN

    def choices(self, actions: Int64) -> Int64:
        """[P, A] how often each action is to be taken in each place; a row of nothing leaves it open.

        `actions` are those of a plan, one for each state; where it says BEHAVE, and where one is lost, as in the log.
        """
        rdp, n = self.rdp, self.rdp.alphabet.n_actions
        taken = np.zeros((rdp.n_states, n), np.int64)
        np.add.at(taken.T, rdp.letters[:, 0], rdp.counts.T)
        by_layer = np.zeros((len(rdp.layers), n), np.int64)
        np.add.at(by_layer, rdp.layer_of(), taken)
        chosen = np.concatenate([taken, by_layer])[:, PAD + 1 :]
        planned = np.flatnonzero(actions != BEHAVE)
        chosen[planned] = 0
        chosen[planned, actions[planned]] = 1
        return chosen
