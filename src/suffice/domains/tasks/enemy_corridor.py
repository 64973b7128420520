"""Enemy corridor (Ronca, Paludo Licks, De Giacomo 2022): avoid a guard whose habits change half-way.

Columns in a ring; the agent starts in column 0, and each action moves it to the next column. There it meets the enemy
with probability p if the action equals a hidden bit, and with probability 1 − p if not; p is 1/5 in the first half of
the columns and 9/10 in the second. The bit is 0 at first, and an encounter flips it. A `clear` column gives 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from suffice.domains.domain import Domain, surely
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

FIRST_HALF, SECOND_HALF = Fraction(1, 5), Fraction(9, 10)

Place = tuple[int, int]  # column, and the hidden bit


@dataclass(frozen=True, slots=True)
class EnemyCorridor(Domain):
    """Enemy corridor, logged under the uniform policy.

    Parameters
    ----------
    columns
        Number of columns, 2 or more.
    """

    DEFAULT_HORIZON: ClassVar[int] = 10
    features: ClassVar[tuple[str, ...]] = ("column", "guard")

    columns: int = 8

    def __post_init__(self) -> None:
        if self.columns < 2:
            raise SettingsError(f"columns={self.columns} cannot be divided into halves. Use columns=2 or more.")

    @property
    def all_actions(self) -> tuple[int, ...]:
        return (0, 1)

    def start(self) -> list[Outcome]:
        return surely((0, 0), (0, "clear"))

    def step(self, state: Place, action: int) -> list[Outcome]:
        column, bit = state
        column = (column + 1) % self.columns
        p = FIRST_HALF if 2 * column < self.columns else SECOND_HALF
        met = p if action == bit else 1 - p
        return [
            Outcome(met, (column, 1 - bit), (column, "enemy")),
            Outcome(1 - met, (column, bit), (column, "clear"), Fraction(1)),
        ]

    def render(self, state: Place) -> str:
        column, bit = state
        return "".join("A" if c == column else "." for c in range(self.columns)) + f" hidden bit {bit}"
