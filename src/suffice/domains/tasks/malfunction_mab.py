"""Malfunction bandit (Abadi, Brafman 2020): the better arm tires.

Arm 0 wins with probability 4/5, arm 1 with 1/5; a win gives 1. Pulls of arm 0 are counted. Once there were `limit` of
them, arm 0 wins nothing on the next step, after which, whichever arm was pulled, the count starts anew. The agent sees
the arm it pulled.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

from suffice.domains.domain import Domain, surely
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

CHANCES: Final = (Fraction(4, 5), Fraction(1, 5))  # of the two arms


@dataclass(frozen=True, slots=True)
class MalfunctionMAB(Domain):
    """The malfunction bandit under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 10
    features: ClassVar[tuple[str, ...]] = ("pulled",)  # text, because at first it is `none`

    limit: int = 3

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise SettingsError(f"with limit={self.limit} arm 0 would never work; use limit=1 or more")

    @property
    def all_actions(self) -> tuple[int, ...]:
        """See `Domain`."""
        return (0, 1)

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return surely(0, ("none",))

    def step(self, state: int, action: int) -> list[Outcome]:
        """See `Domain`."""
        tired = state == self.limit
        p = Fraction(0) if tired and action == 0 else CHANCES[action]
        count = 0 if tired else state + (action == 0)
        return [Outcome(p, count, (str(action),), Fraction(1)), Outcome(1 - p, count, (str(action),))]

    def render(self, state: int) -> str:
        """See `Domain`."""
        return f"arm 0 pulled {state} of {self.limit} times" + (", now broken" if state == self.limit else "")
