"""The greedy heart of AdaCT-H: the candidates of one layer, one after the other, join a state or become one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.bounds import Bound
from suffice.episodes import Codes
from suffice.kernels import FISHER
from suffice.statistics import Layer

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


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


class Verdict(NamedTuple):
    """What becomes of a candidate; a tuple, because there is one for every candidate."""

    target: int  # the state it becomes or joins
    promoted: bool = False
    forced: bool = False  # distinct from every state, but too rare to found one (AdaCT-H-A)
    nearest: int | None = None  # the state joined, or the nearest of all; None for the first of a layer
    distance: float | None = None
    threshold: float | None = None
    detectable: float | None = None  # a difference in frequency that would have made them distinct
    witness: str = ""  # the event on which they differ most


class Merger:
    """Places the candidates of a layer in the order given."""

    def __init__(
        self, layer: Layer, bound: Bound, sizes: Int64, size: int, delta: float, estimates: bool, cut: float
    ) -> None:
        self._layer, self._bound, self._sizes = layer, bound, sizes
        self._size, self._delta, self._estimates = size, delta, estimates  # |X|, δ
        self._cut, self._total = cut, int(sizes.sum())  # candidates with a smaller share found no states
        self._state_sizes = np.zeros(0, np.int64)
        self._low = self._high = np.zeros(0)

    def place(self, c: int) -> Verdict:
        """Promote candidate c or let it join the nearest state it is not distinct from."""
        if not len(self._state_sizes):
            return self._promote(c)
        found = self._layer.judge(self._bound.kind, c, *self._thresholds(c), self._delta)
        sizes = int(self._sizes[c]), int(self._state_sizes[found.nearest])
        known: dict[str, Any] = {
            "nearest": found.nearest,
            "distance": found.distance,
            "threshold": found.threshold,
            "detectable": self._bound.detectable(found.threshold, *sizes),
            "witness": self._witness(c, found.nearest, found.event),
        }
        if found.alone and sizes[0] / self._total >= self._cut:
            return self._promote(c, **known)
        self._layer.absorb(c, found.nearest)
        self._state_sizes[found.nearest] += sizes[0]
        return Verdict(found.nearest, forced=found.alone, **known)

    def _promote(self, c: int, **known: Any) -> Verdict:
        self._layer.promote(c)
        self._state_sizes = np.append(self._state_sizes, self._sizes[c])
        if self._bound.kind == FISHER:
            self._low = np.full(len(self._state_sizes), -math.log(self._delta))
            self._high = self._low + math.log(max(1.0, self._layer.events))
        return Verdict(len(self._state_sizes) - 1, promoted=True, **known)

    def _thresholds(self, c: int) -> tuple[Float, Float]:
        """Between which values each state's threshold lies: Tarone's correction is worked out only where it matters."""
        if self._bound.kind == FISHER:
            return self._low, self._high
        exact = self._bound.threshold(int(self._sizes[c]), self._state_sizes, self._size, self._delta, self._estimates)
        return exact, exact

    def _witness(self, c: int, q: int, event: int) -> str:
        if event < 0:
            return ""
        p1, p2 = self._layer.frequencies(c, q, event)
        # two decimals, or as many as it takes to see the difference
        digits = 2 if abs(p1 - p2) >= 0.01 else 2 + sum(abs(p1 - p2) < 10.0**-d for d in range(2, 6))
        return f"{self._layer.describe(event)}: {p1:.{digits}f} against {p2:.{digits}f}"
