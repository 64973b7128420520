"""Corridor (Ronca, De Giacomo 2021; the paper's Figure 1): a guard changes rows whenever the agent runs into it.

Two rows. Action 0 or 1 moves to that row and on to the next column, after the last the first. Where the guard stands
the agent meets the `enemy`, reward 0, and the guard's usual row changes; elsewhere it is `clear`, reward 1.
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
    """The corridor under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 5
    features: ClassVar[tuple[str, ...]] = ("row", "column", "guard")

    columns: int = 5
    enemy: Fraction = Fraction(1)  # the probability that the guard is in its usual row

    def __post_init__(self) -> None:
        if self.columns < 1:
            raise SettingsError(f"a corridor of {self.columns} columns has no place to go; use columns=1 or more")
        if not 0 <= self.enemy <= 1:
            raise SettingsError(f"enemy={self.enemy} is no probability; use a number from 0 to 1")

    @property
    def all_actions(self) -> tuple[int, ...]:
        """See `Domain`."""
        return (0, 1)

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return uniformly([((0, 0), (row, 0, "clear"), 0) for row in (0, 1)])

    def step(self, state: Place, action: int) -> list[Outcome]:
        """See `Domain`."""
        column, guard = state
        column = column % self.columns + 1
        met = self.enemy if action == guard else 1 - self.enemy
        return [
            Outcome(met, (column, 1 - guard), (action, column, "enemy"), Fraction(0)),
            Outcome(1 - met, (column, guard), (action, column, "clear"), Fraction(1)),
        ]

    def render(self, state: Place | None) -> str:
        """See `Domain`."""
        column, guard = state or (0, 0)
        return "\n".join("." * (column % self.columns) + ("G" if row == guard else ".") for row in (0, 1))
