"""Letters and symbols of an automaton, and translation of other logs to its codes.

A letter is an action, an observation and a reward; a symbol is a letter without its reward. Transitions are labelled
with symbols; counts are by letter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.automata.histories import Symbol
from suffice.data.alphabet import STOP, Alphabet
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Codes, Int64

UNSEEN = -1  # code of a state, symbol or letter that the automaton does not have


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The letters and symbols of an automaton."""

    alphabet: Alphabet
    letters: Codes  # [X, 3] action, observation and reward codes
    symbols: Codes  # [Y, 2] action and observation codes

    def symbol(self, y: int) -> Symbol:
        """Return a symbol as logged: its action and observation."""
        a, o = (int(code) for code in self.symbols[y])
        return self.alphabet.action(a), self.alphabet.observation(o)

    def index(self) -> dict[Symbol, int]:
        """Return the number of each symbol."""
        return {self.symbol(y): y for y in range(len(self.symbols))}

    def symbol_of_letter(self) -> NDArray[np.intp]:
        """Return [X], the symbol of each letter."""
        wide = self.alphabet.n_observations
        keys, pairs = (a[:, 0].astype(np.int64) * wide + a[:, 1] for a in (self.symbols, self.letters))
        return np.searchsorted(keys, pairs)

    def when_cut(self) -> Int64:
        """Return [X], for each letter the one with o_⊥ as its observation; the letter itself if there is none."""
        number = {tuple(letter): x for x, letter in enumerate(self.letters.tolist())}
        return np.array([number.get((a, STOP, r), x) for x, (a, _, r) in enumerate(self.letters.tolist())])

    def symbols_in(self, episodes: Episodes) -> Int64:
        """Return [X], the symbol of this automaton for each letter of another log, or UNSEEN."""
        index, alphabet = self.index(), episodes.alphabet
        seen = [(alphabet.action(a), alphabet.observation(o)) for a, o, _ in episodes.letters.tolist()]
        return np.array([index.get(symbol, UNSEEN) for symbol in seen], np.int64)

    def codes_in(self, episodes: Episodes) -> tuple[Int64, Int64]:
        """Return letter and action codes of this automaton for each letter of another log, or UNSEEN."""

        def values(alphabet: Alphabet, letters: Codes) -> list[tuple[object, object, float]]:
            return [(alphabet.action(a), alphabet.observation(o), alphabet.rewards[r]) for a, o, r in letters.tolist()]

        theirs = values(episodes.alphabet, episodes.letters)
        letters = {letter: x for x, letter in enumerate(values(self.alphabet, self.letters))}
        actions: dict[object, int] = {self.alphabet.action(code): code for code in range(self.alphabet.n_actions)}
        return (
            np.array([letters.get(letter, UNSEEN) for letter in theirs]),
            np.array([actions.get(letter[0], UNSEEN) for letter in theirs]),
        )
