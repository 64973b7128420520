"""Malfunction bandit (Abadi, Brafman 2020): the better arm fails after some pulls.

Arm 0 wins with probability 4/5, arm 1 with 1/5; a win gives 1. Pulls of arm 0 are counted. When the count reaches
`limit`, arm 0 cannot win on the next step; after that step the count restarts from 0, whichever arm was pulled. The
agent sees the arm it pulled.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

from suffice.domains.domain import Domain, surely
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

CHANCES: Final = (Fraction(4, 5), Fraction(1, 5))  # of a win, by arm


@dataclass(frozen=True, slots=True)
class MalfunctionMAB(Domain):
    """Malfunction bandit, logged under the uniform policy.

    Parameters
    ----------
    limit
        Number of pulls of arm 0 after which it fails once, 1 or more.
    """

    DEFAULT_HORIZON: ClassVar[int] = 10
    features: ClassVar[tuple[str, ...]] = ("pulled",)  # text, because the first one is `none`

    limit: int = 3

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise SettingsError(f"limit={self.limit} means that arm 0 never works. Use limit=1 or more.")

    @property
    def all_actions(self) -> tuple[int, ...]:
        return (0, 1)

    def start(self) -> list[Outcome]:
        return surely(0, ("none",))

    def step(self, state: int, action: int) -> list[Outcome]:
        failing = state == self.limit
        p = Fraction(0) if failing and action == 0 else CHANCES[action]
        count = 0 if failing else state + (action == 0)
        return [Outcome(p, count, (str(action),), Fraction(1)), Outcome(1 - p, count, (str(action),))]

    def render(self, state: int) -> str:
        return f"arm 0 pulled {state} of {self.limit} times" + (", now broken" if state == self.limit else "")
