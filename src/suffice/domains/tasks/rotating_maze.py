"""Rotating maze (Abadi, Brafman 2020): find the goal while the compass rotates.

A 4×4 grid. The agent starts at (0, 0); entering (2, 3) gives 1 and ends the episode. A move goes in the intended
direction with probability 9/10 and in the opposite direction otherwise; walls block. After every `period` actions the
compass rotates by 90° clockwise: N first leads north, then east, south and west. The agent sees x and y.
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
CHANCE = Fraction(9, 10)  # that a move goes in the intended direction
DIRECTIONS = tuple(COMPASS)

Place = tuple[Cell, int]  # the cell of the agent, and the number of actions since N last began to lead north


@dataclass(frozen=True, slots=True)
class RotatingMaze(Domain):
    """Rotating maze, logged under the uniform policy.

    Parameters
    ----------
    period
        Number of actions between two rotations of the compass, 1 or more.
    """

    DEFAULT_HORIZON: ClassVar[int] = 15
    features: ClassVar[tuple[str, ...]] = ("x", "y")

    period: int = 2

    def __post_init__(self) -> None:
        if self.period < 1:
            raise SettingsError(
                f"period={self.period} is not a number of actions between two rotations. Use period=1 or more."
            )

    @property
    def all_actions(self) -> tuple[str, ...]:
        return DIRECTIONS

    def start(self) -> list[Outcome]:
        return surely(((0, 0), 0), (0, 0))

    def step(self, state: Place, action: str) -> list[Outcome]:
        cell, time = state
        intended = DIRECTIONS.index(action) + time // self.period
        later = (time + 1) % (4 * self.period)
        return [
            Outcome(p, None, None, Fraction(1)) if entered == GOAL else Outcome(p, (entered, later), entered)
            for p, turn in ((CHANCE, intended), (1 - CHANCE, intended + 2))
            for entered in [walk(cell, DIRECTIONS[turn % 4], SIZE)]
        ]

    def render(self, state: Place | None) -> str:
        if state is None:
            return "the end"
        cell, time = state
        return f"{draw(SIZE, cell, GOAL)}\nN leads {DIRECTIONS[time // self.period]}"
