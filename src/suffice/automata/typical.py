"""Typical histories, which lead to each state in as few steps as possible and by the most frequent transitions.

Only the last transition of each history is stored, and histories are built on request: those of all states of a long
horizon would take memory that grows with the square of the horizon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from suffice.automata.edges import Edges
from suffice.automata.histories import LONGEST, History, Symbol, show, show_ends
from suffice.automata.vocabulary import UNSEEN


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TypicalHistories(Sequence[History]):
    """A history for each state, as a sequence; () for q_0 and for states that cannot be reached."""

    source: Sequence[int]  # [Q] state before the last transition; UNSEEN: the history is empty
    by: Sequence[int]  # [Q] symbol of the last transition
    length: Sequence[int]  # [Q]
    first: Sequence[int]  # [Q] first symbol
    symbols: Sequence[Symbol]  # [Y]

    @classmethod
    def of(cls, edges: Edges, n_states: int, symbols: Sequence[Symbol]) -> TypicalHistories:
        """Find the histories, given all transitions and the symbols [Y]."""
        source, by, length, first = [UNSEEN] * n_states, [UNSEEN] * n_states, [0] * n_states, [UNSEEN] * n_states
        known, reached = [True] + [False] * (n_states - 1), [0]
        begins = edges.begins(n_states).tolist()
        while reached:
            most: dict[int, tuple[int, int, int]] = {}  # by target: count, source and symbol
            for q in reached:
                leaving = slice(begins[q], begins[q + 1])
                ways = (column[leaving].tolist() for column in (edges.symbol, edges.target, edges.times))
                for y, target, times in zip(*ways, strict=True):
                    if not known[target] and times > most.get(target, (0,))[0]:
                        most[target] = times, q, y
            for target, (_, q, y) in most.items():
                source[target], by[target], length[target], known[target] = q, y, length[q] + 1, True
                first[target] = y if first[q] == UNSEEN else first[q]
            reached = sorted(most)
        return cls(source, by, length, first, symbols)

    def __len__(self) -> int:
        return len(self.source)

    @overload
    def __getitem__(self, index: int) -> History: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[History]: ...

    def __getitem__(self, index: int | slice) -> History | Sequence[History]:
        """Return the history of a state, or those of several."""
        if isinstance(index, slice):
            return [self[q] for q in range(len(self))[index]]
        return self._last(index, self.length[index])

    def brief(self, q: int) -> str:
        """Format the history of a state like `describe.brief`, in time that does not grow with its length."""
        length = self.length[q]
        if length <= LONGEST:
            return show(self[q])
        return show_ends(self.symbols[self.first[q]], length, self._last(q, LONGEST - 2))

    def _last(self, q: int, n: int) -> History:
        """Return the last n symbols of the history of a state."""
        found: list[Symbol] = []
        for _ in range(n):
            found.append(self.symbols[self.by[q]])
            q = self.source[q]
        return tuple(reversed(found))
