"""Flickering grid (Ronca, Paludo Licks, De Giacomo 2022): remember the position while the screen is dark.

An 8×8 grid. The agent starts at (0, 0) and moves N, E, S or W; walls block. Entering (3, 4) gives 1 and ends the
episode. Every observation, including the first, is the cell, or `hidden` with probability 1/5.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from suffice.domains.domain import Domain, ending
from suffice.domains.finite import Outcome
from suffice.domains.tasks.grid import COMPASS, Cell, draw, walk

SIZE, GOAL = 8, (3, 4)
HIDDEN = Fraction(1, 5)  # probability of seeing nothing


@dataclass(frozen=True, slots=True)
class FlickeringGrid(Domain):
    """Flickering grid, logged under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 10
    features: ClassVar[tuple[str, ...]] = ("cell",)

    @property
    def all_actions(self) -> tuple[str, ...]:
        return tuple(COMPASS)

    def start(self) -> list[Outcome]:
        return _seen((0, 0))

    def step(self, state: Cell, action: str) -> list[Outcome]:
        entered = walk(state, action, SIZE)
        return ending(1) if entered == GOAL else _seen(entered)

    def render(self, state: Cell | None) -> str:
        return "the end" if state is None else draw(SIZE, state, GOAL)


def _seen(cell: Cell) -> list[Outcome]:
    x, y = cell
    return [Outcome(1 - HIDDEN, cell, (f"{x},{y}",)), Outcome(HIDDEN, cell, ("hidden",))]
