"""Rotating maze (Abadi, Brafman 2020): find the goal although the compass turns.

A 4×4 grid. The agent starts at (0, 0); entering (2, 3) gives 1 and ends the episode. A move goes as meant with
probability 9/10 and else the opposite way; walls block. After every `period` actions the compass has turned by 90°
clockwise, so that N leads east, then south, then west. The agent sees x and y.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from suffice.domains.domain import Domain, surely
from suffice.domains.finite import Outcome
from suffice.domains.tasks.grid import COMPASS, Cell, draw, walk
from suffice.errors import SettingsError

SIZE, GOAL = 4, (2, 3)
CHANCE = Fraction(9, 10)  # that a move goes as meant
DIRECTIONS = tuple(COMPASS)

Place = tuple[Cell, int]  # the agent's cell, and how many actions there were since the compass was right


@dataclass(frozen=True, slots=True)
class RotatingMaze(Domain):
    """The rotating maze under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 15
    features: ClassVar[tuple[str, ...]] = ("x", "y")

    period: int = 2

    def __post_init__(self) -> None:
        if self.period < 1:
            raise SettingsError(f"a compass cannot turn after every {self.period} actions; use period=1 or more")

    @property
    def all_actions(self) -> tuple[str, ...]:
        """See `Domain`."""
        return DIRECTIONS

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return surely(((0, 0), 0), (0, 0))

    def step(self, state: Place, action: str) -> list[Outcome]:
        """See `Domain`."""
        cell, time = state
        meant = DIRECTIONS.index(action) + time // self.period
        later = (time + 1) % (4 * self.period)
        return [
            Outcome(p, None, None, Fraction(1)) if entered == GOAL else Outcome(p, (entered, later), entered)
            for p, turn in ((CHANCE, meant), (1 - CHANCE, meant + 2))
            for entered in [walk(cell, DIRECTIONS[turn % 4], SIZE)]
        ]

    def render(self, state: Place | None) -> str:
        """See `Domain`."""
        if state is None:
            return "the end"
        cell, time = state
        return f"{draw(SIZE, cell, GOAL)}\nN leads {DIRECTIONS[time // self.period]}"
