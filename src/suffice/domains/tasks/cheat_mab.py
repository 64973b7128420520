"""Cheat bandit (Abadi, Brafman 2020): a secret code makes every pull win.

Two arms, each of which wins with probability 1/5; a win gives 1. Pulling the arms that the code spells, one after the
other, makes every later pull win for ever; a pull that does not go on with the code starts it over, and is not its
first. The agent sees whether it won.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from suffice.domains.domain import Domain, surely
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

CHANCE = Fraction(1, 5)  # before the code is spelt


@dataclass(frozen=True, slots=True)
class CheatMAB(Domain):
    """The cheat bandit under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 10
    features: ClassVar[tuple[str, ...]] = ("won",)

    code: str = "001"

    def __post_init__(self) -> None:
        if not self.code or set(self.code) - set("01"):
            raise SettingsError(f"code={self.code} does not spell the arms 0 and 1; use a code such as 001")

    @property
    def all_actions(self) -> tuple[int, ...]:
        """See `Domain`."""
        return (0, 1)

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return surely(0, ("no",))

    def step(self, state: int, action: int) -> list[Outcome]:
        """See `Domain`."""
        if state == len(self.code):
            return surely(state, ("yes",), 1)
        spelt = state + 1 if self.code[state] == str(action) else 0
        return [Outcome(CHANCE, spelt, ("yes",), Fraction(1)), Outcome(1 - CHANCE, spelt, ("no",))]

    def render(self, state: int) -> str:
        """See `Domain`."""
        return f"{self.code[:state]}|{self.code[state:]}"
