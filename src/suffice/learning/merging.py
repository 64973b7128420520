"""The greedy heart of AdaCT-H: the candidates of one layer, one after the other, join a state or become one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.evidence.bounds import Bound
from suffice.evidence.events import Witness
from suffice.evidence.statistic import CandidateLayer
from suffice.kernels.array_types import Codes, Float, Int64


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The pairs (state, symbol) that occur, ordered by state and symbol."""

    states: Int64  # [C] place in layer t
    symbols: Int64  # [C]
    sizes: Int64  # [C] |Z|
    of_letter: Int64  # [Q_t · X] the candidate of a state and a letter
    order: Int64  # [C] largest first, ties by state, action and observation

    @classmethod
    def of(cls, counts: Int64, symbol_of_letter: Codes, n_symbols: int) -> Candidates:
        """From how often each state met each letter, [Q_t, X]."""
        by_symbol = np.zeros((len(counts), n_symbols), np.int64)
        np.add.at(by_symbol.T, symbol_of_letter, counts.T)
        states, symbols = np.nonzero(by_symbol)
        number = np.zeros_like(by_symbol)
        number[states, symbols] = np.arange(len(states))
        sizes = by_symbol[states, symbols]
        return cls(states, symbols, sizes, number[:, symbol_of_letter].ravel(), np.argsort(-sizes, kind="stable"))


class Placement(NamedTuple):
    """What becomes of a candidate; a tuple, because there is one for every candidate.

    >>> placement = model.decisions[3].placement
    >>> placement.promoted, placement.nearest
    (True, 0)
    >>> suffice.describe_witness(placement.witness, model.rdp.alphabet)
    'within 4 steps, observation = (1, 2, clear): 0.52 against 0.00'
    """

    target: int  # the state it becomes or joins
    promoted: bool = False
    forced: bool = False  # distinct from every state, but too rare to found one (AdaCT-H-A)
    nearest: int | None = None  # the state joined, or the nearest of all; None for the first of a layer
    distance: float | None = None
    threshold: float | None = None
    detectable: float | None = None  # a difference in frequency that would have made them distinct
    witness: Witness | None = None  # the event on which they differ most


class Merger:
    """Places the candidates of a layer in the order given."""

    def __init__(
        self, layer: CandidateLayer, bound: Bound, sizes: Int64, size: int, delta: float, estimates: bool, cut: float
    ) -> None:
        self._layer, self._bound, self._sizes = layer, bound, sizes.tolist()
        self._size, self._delta, self._estimates = size, delta, estimates  # |X|, δ
        self._cut, self._total = cut, int(sizes.sum())  # candidates with a smaller share found no states
        self._n_states = 0
        self._state_sizes = np.zeros_like(sizes)  # room for as many states as there are candidates

    def place(self, c: int) -> Placement:
        """Promote candidate c or let it join the nearest state it is not distinct from."""
        if not self._n_states:
            return Placement(self._promote(c), True)
        found = self._layer.judge(self._bound.kind, c, *self._thresholds(c), self._delta)
        q, size = found.nearest, self._sizes[c]
        detectable = self._bound.detectable(found.widest or found.threshold, size, int(self._state_sizes[q]))
        why = q, found.distance, found.threshold, detectable, self._witness(c, q, found.event)
        if found.alone and size / self._total >= self._cut:
            return Placement(self._promote(c), True, False, *why)
        self._layer.absorb(c, q)
        self._state_sizes[q] += size
        return Placement(q, False, found.alone, *why)

    def _promote(self, c: int) -> int:
        self._layer.promote(c)
        self._state_sizes[self._n_states] = self._sizes[c]
        self._n_states += 1
        return self._n_states - 1

    def _thresholds(self, c: int) -> tuple[Float, Float]:
        """Values between which the threshold for each state lies."""
        sizes, events = self._state_sizes[: self._n_states], self._layer.events
        return self._bound.thresholds(self._sizes[c], sizes, self._size, events, self._delta, self._estimates)

    def _witness(self, c: int, q: int, event: int) -> Witness | None:
        return None if event < 0 else Witness(self._layer.event(event), *self._layer.counts(c, q, event))
