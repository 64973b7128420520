"""The transitions of an automaton as a list, which takes far less memory than tables by state and symbol."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.vocabulary import UNSEEN
from suffice.kernels.array_types import Int32, Int64


class Edges(NamedTuple):
    """All transitions, ordered by source and then by symbol."""

    source: Int64  # [E]
    symbol: Int64  # [E]
    target: Int64  # [E]
    times: Int64  # [E] how often each was taken

    @classmethod
    def of(cls, tau: Int32, counts: Int64, of_letter: NDArray[np.intp], blocks: list[slice]) -> Edges:
        """List the transitions of successors [Q, Y] and counts [Q, X], block by block of the states."""
        size, end = sum(int(np.count_nonzero(tau[rows] != UNSEEN)) for rows in blocks), 0
        found = cls(*(np.empty(size, np.int64) for _ in cls._fields))
        for rows in blocks:
            part = cls._of_block(tau[rows], counts[rows], of_letter, rows.start)
            begin, end = end, end + len(part.source)
            for column, values in zip(found, part, strict=True):
                column[begin:end] = values
        return found

    @classmethod
    def _of_block(cls, tau: Int32, counts: Int64, of_letter: NDArray[np.intp], first: int) -> Edges:
        source, symbol = np.nonzero(tau != UNSEEN)
        states, letters = np.nonzero(counts)
        at = np.searchsorted(source * tau.shape[1] + symbol, states * tau.shape[1] + of_letter[letters])
        times = np.zeros(len(source), np.int64)
        np.add.at(times, at, counts[states, letters])
        return cls(source + first, symbol, tau[source, symbol].astype(np.int64), times)

    def begins(self, n_states: int) -> Int64:
        """Return [Q+1], the number of the first edge of each state; those of state q end before that of q + 1."""
        return np.searchsorted(self.source, np.arange(n_states + 1))
