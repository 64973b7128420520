"""Corridor (Ronca, De Giacomo 2021; the paper's Figure 1): a guard changes rows whenever it meets the agent.

Two rows of columns. Action 0 or 1 moves the agent to that row of the next column; the first column follows the last.
Where the guard stands, the agent meets the `enemy` with reward 0, and the guard's usual row changes. Elsewhere the cell
is `clear`, with reward 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from suffice.domains.domain import Domain, uniformly
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

Place = tuple[int, int]  # column, and the guard's usual row


@dataclass(frozen=True, slots=True)
class Corridor(Domain):
    """Corridor, logged under the uniform policy.

    Parameters
    ----------
    columns
        Number of columns, 1 or more.
    enemy
        Probability that the guard is in its usual row.
    """

    DEFAULT_HORIZON: ClassVar[int] = 5
    features: ClassVar[tuple[str, ...]] = ("row", "column", "guard")

    columns: int = 5
    enemy: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.columns < 1:
            raise SettingsError(f"columns={self.columns} leaves no corridor. Use columns=1 or more.")
        if not 0 <= self.enemy <= 1:
            raise SettingsError(f"enemy={self.enemy} is not a probability. Use a number from 0 to 1.")

    @property
    def all_actions(self) -> tuple[int, ...]:
        return (0, 1)

    def start(self) -> list[Outcome]:
        return uniformly([((0, 0), (row, 0, "clear"), 0) for row in (0, 1)])

    def step(self, state: Place, action: int) -> list[Outcome]:
        column, guard = state
        column = column % self.columns + 1
        met = self.enemy if action == guard else 1 - self.enemy
        return [
            Outcome(met, (column, 1 - guard), (action, column, "enemy"), Fraction(0)),
            Outcome(1 - met, (column, guard), (action, column, "clear"), Fraction(1)),
        ]

    def render(self, state: Place | None) -> str:
        column, guard = state or (0, 0)
        return "\n".join("." * (column % self.columns) + ("G" if row == guard else ".") for row in (0, 1))
