"""Track the state of an automaton along any history, including histories that are not in the log.

A history that leaves the automaton continues in the most similar state: the one that its last action and observation
most often led to at that step. If they never occurred at that step, and the observation has several columns of which
some have a known value, a decision tree over the columns, fitted to the transitions of the state under this action,
predicts the next state (`transition_trees`). Otherwise the history is *lost*: it is in a special place for the step,
where the policy chooses as the log did at that step, until a known action and observation lead back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from suffice.automata.histories import Symbol
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.automata.transition_trees import TransitionTree
from suffice.data.alphabet import PAD, STOP, Value
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
    by_action: dict[Value | None, Int64]  # numbers of the symbols of each action that have an observation
    values: tuple[frozenset[Value], ...]  # of each column
    trees: dict[tuple[int, Value | None], TransitionTree | None] = field(default_factory=dict)  # made when needed

    @classmethod
    def of(cls, rdp: RDP) -> StateTracker:
        """Make the tables for an automaton."""
        layer = np.concatenate([rdp.layer_of(), np.arange(len(rdp.layers))])
        lost = rdp.n_states + np.minimum(layer + 1, len(rdp.layers) - 1)  # the last one leads to itself
        like = np.concatenate([rdp.most_like(), np.full((1, len(rdp.symbols)), UNSEEN, np.int32)])
        known = {rdp.symbol(y): y for y in range(len(rdp.symbols))}
        by_action: dict[Value | None, list[int]] = {}
        for (action, observation), y in known.items():
            if observation is not None:
                by_action.setdefault(action, []).append(y)
        examples = {action: np.array(symbols, np.int64) for action, symbols in by_action.items()}
        values = tuple(frozenset(column) for column in zip(*rdp.alphabet.observations, strict=True))
        return cls(rdp, like, layer, lost.astype(np.int32), known, examples, values)

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

    def places_after(self, symbol: Symbol) -> Int32:
        """Return [P] the place after an action and an observation in each place, known or not."""
        y = self.known.get(symbol)
        places = self.astray.copy() if y is None else self.after_symbol(y)
        for place in np.flatnonzero(places == self.astray)[: self.rdp.n_states].tolist():
            places[place] = self.after(place, symbol)
        return places

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
        found = UNSEEN
        if y is not None:
            found = int(self.rdp.tau[place, y]) if place < self.rdp.n_states else UNSEEN
            found = int(self.like[self.layer[place], y]) if found == UNSEEN else found
        found = self.predict(place, symbol) if found == UNSEEN else found
        return int(self.astray[place]) if found == UNSEEN else found

    def predict(self, place: int, symbol: Symbol) -> int:
        """Return the state after a combination of values that was not seen in a state, or UNSEEN."""
        action, observation = symbol
        symbols = self.by_action.get(action)
        if observation is None or len(observation) < 2 or symbols is None or place >= self.rdp.n_states:
            return UNSEEN
        if not any(value in known for value, known in zip(observation, self.values, strict=True)):
            return UNSEEN
        if (place, action) not in self.trees:
            self.trees[place, action] = self._tree(place, symbols)
        tree = self.trees[place, action]
        return UNSEEN if tree is None else tree.predict(observation)

    def _tree(self, place: int, symbols: Int64) -> TransitionTree | None:
        """Fit a tree to the transitions of a state with some symbols; None if it has none."""
        rdp = self.rdp
        following = np.asarray(rdp.tau[place, symbols])
        seen = following != UNSEEN
        if not seen.any():
            return None
        letters = np.flatnonzero(rdp.counts[place])
        taken = np.bincount(rdp.symbol_of_letter()[letters], rdp.counts[place][letters], len(rdp.symbols))
        codes = rdp.symbols[symbols[seen], 1]
        examples = [rdp.alphabet.observations[code - STOP - 1] for code in codes]
        return TransitionTree(examples, following[seen], taken[symbols[seen]].astype(np.int64))

    def along(self, episodes: Episodes) -> Int32:
        """Return [H+1, N], the place after each step of logged episodes."""
        alphabet = episodes.alphabet
        symbols = [(alphabet.action(int(a)), alphabet.observation(int(o))) for a, o, _ in episodes.letters]
        known = np.array([self.known.get(symbol, UNSEEN) for symbol in symbols])
        place = np.zeros(episodes.n, np.int32)
        places = np.empty(episodes.word.shape, np.int32)
        for t, word in enumerate(episodes.word):
            after = self.next_places(place, known[word])
            lost = np.flatnonzero(after == self.astray[place])
            if len(lost):
                pairs, which = np.unique(np.stack([place[lost], word[lost]]), axis=1, return_inverse=True)
                found = [self.after(int(p), symbols[letter]) for p, letter in pairs.T]
                after[lost] = np.array(found)[which.reshape(-1)]
            places[t] = place = after
        return places

    def was_seen(self, place: int, symbol: Symbol) -> bool:
        """Return whether the automaton has a transition from this place with this symbol."""
        y = self.known.get(symbol)
        return y is not None and place < self.rdp.n_states and self.rdp.tau[place, y] != UNSEEN

    def is_known(self, place: int, symbol: Symbol) -> bool:
        """Return whether a transition was seen, or is predicted by others of the state for a new combination."""
        if self.was_seen(place, symbol):
            return True
        if symbol in self.known or symbol[1] is None:
            return False
        values = zip(symbol[1], self.values, strict=True)
        return all(value in known for value, known in values) and self.predict(place, symbol) != UNSEEN

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
