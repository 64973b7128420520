"""Track the state of an automaton along any history, including histories that are not in the log.

A history that leaves the automaton continues in the most similar state: the one that its last action and observation
most often led to at that step. If they never occurred at that step, the history is *lost*: it is in a special place for
the step, where the policy chooses as the log did at that step, until a known action and observation lead back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.automata.histories import Symbol
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.data.memory_limit import require_memory
from suffice.kernels.array_types import Int32, Int64


@dataclass(frozen=True, slots=True, eq=False)
class StateTracker:
    """The places that histories lead to, which are the states of an automaton and one lost place for each layer."""

    rdp: RDP
    like: Int32  # [L, Y] the most similar state after each symbol in each layer, or UNSEEN
    layer: Int64  # [P] the layer of each place
    astray: Int32  # [P] the place after any other symbol
    known: dict[Symbol, int]  # numbers of the automaton's symbols

    @classmethod
    def of(cls, rdp: RDP) -> StateTracker:
        """Make the tables for an automaton."""
        layer = np.concatenate([rdp.layer_of(), np.arange(len(rdp.layers))])
        lost = rdp.n_states + np.minimum(layer + 1, len(rdp.layers) - 1)  # the last one leads to itself
        like = np.concatenate([rdp.most_like(), np.full((1, len(rdp.symbols)), UNSEEN, np.int32)])
        return cls(rdp, like, layer, lost.astype(np.int32), {rdp.symbol(y): y for y in range(len(rdp.symbols))})

    @property
    def following(self) -> Int32:
        """The place [P, Y] after each symbol in each place."""
        places, symbols = len(self.astray), len(self.rdp.symbols)
        require_memory(8 * places * symbols, f"a table of {places:,} states and {symbols:,} symbols")
        found = np.empty((places, symbols), np.int32)
        for y in range(symbols):
            found[:, y] = self.after_symbol(y)
        return found

    def after_symbol(self, y: int) -> Int32:
        """Return [P] the place after a symbol in each place."""
        places = np.arange(len(self.astray))
        return self.next_places(places, np.full(len(places), y))

    def next_places(self, place: Int32 | Int64, symbol: Int64) -> Int32:
        """Return [N] the places after symbols [N] in places [N]; UNSEEN is a symbol that the automaton lacks."""
        states = self.rdp.n_states
        found = self.like[self.layer[place], symbol]
        own = self.rdp.tau[np.minimum(place, states - 1), symbol]
        found = np.where((own == UNSEEN) | (place >= states), found, own)
        return np.asarray(np.where((found == UNSEEN) | (symbol == UNSEEN), self.astray[place], found))

    def after(self, place: int, symbol: Symbol) -> int:
        """Return the place after an action and an observation."""
        y = self.known.get(symbol)
        if y is None:
            return int(self.astray[place])
        found = int(self.rdp.tau[place, y]) if place < self.rdp.n_states else UNSEEN
        found = int(self.like[self.layer[place], y]) if found == UNSEEN else found
        return int(self.astray[place]) if found == UNSEEN else found

    def along(self, episodes: Episodes) -> Int32:
        """Return [H+1, N], the place after each step of logged episodes."""
        alphabet = episodes.alphabet
        symbols = [(alphabet.action(int(a)), alphabet.observation(int(o))) for a, o, _ in episodes.letters]
        known = np.array([self.known.get(symbol, UNSEEN) for symbol in symbols])
        place = np.zeros(episodes.n, np.int32)
        places = np.empty(episodes.word.shape, np.int32)
        for t, word in enumerate(episodes.word):
            places[t] = place = self.next_places(place, known[word])
        return places

    def was_seen(self, place: int, symbol: Symbol) -> bool:
        """Return whether the automaton has a transition from this place with this symbol."""
        y = self.known.get(symbol)
        return y is not None and place < self.rdp.n_states and self.rdp.tau[place, y] != UNSEEN

    def choices(self, actions: Int64) -> Int64:
        """Return [P, A], weights with which each action is chosen in each place; a row of zeros if nothing is known.

        `actions` are those of a plan, one for each state. Where it is BEHAVE, and in lost places, the weights are the
        counts of the log; those of the last step in a state that the log visits only there.
        """
        rdp, n = self.rdp, self.rdp.alphabet.n_actions
        taken = np.zeros((rdp.n_states, n), np.int64)
        for rows in rdp.blocks():
            counts = rdp.counts[rows]
            if rdp.cut is not None:
                counts = np.where(counts.any(axis=1, keepdims=True), counts, rdp.cut[rows])
            np.add.at(taken[rows].T, rdp.letters[:, 0], counts.T)
        by_layer = np.zeros((len(rdp.layers), n), np.int64)
        np.add.at(by_layer, rdp.layer_of(), taken)
        chosen = np.concatenate([taken, by_layer])[:, PAD + 1 :]
        planned = np.flatnonzero(actions != BEHAVE)
        chosen[planned] = 0
        chosen[planned, actions[planned]] = 1
        return chosen
