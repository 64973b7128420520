"""Cheat bandit (Abadi, Brafman 2020): a secret code makes every pull win.

Two arms, each of which wins with probability 1/5; a win gives 1. After the arms of the code are pulled one after the
other, every later pull wins. A pull that does not continue the code restarts it, and does not count as its first
pull. The agent sees whether it won.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from suffice.domains.domain import Domain, surely
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

CHANCE = Fraction(1, 5)  # of a win before the code is complete


@dataclass(frozen=True, slots=True)
class CheatMAB(Domain):
    """Cheat bandit, logged under the uniform policy.

    Parameters
    ----------
    code
        The arms of the secret code, as digits 0 and 1.
    """

    DEFAULT_HORIZON: ClassVar[int] = 10
    features: ClassVar[tuple[str, ...]] = ("won",)

    code: str = "001"

    def __post_init__(self) -> None:
        if not self.code or set(self.code) - set("01"):
            raise SettingsError(f"code={self.code!r} does not consist of the arms 0 and 1. Use a code such as 001.")

    @property
    def all_actions(self) -> tuple[int, ...]:
        return (0, 1)

    def start(self) -> list[Outcome]:
        return surely(0, ("no",))

    def step(self, state: int, action: int) -> list[Outcome]:
        if state == len(self.code):
            return surely(state, ("yes",), 1)
        spelt = state + 1 if self.code[state] == str(action) else 0
        return [Outcome(CHANCE, spelt, ("yes",), Fraction(1)), Outcome(1 - CHANCE, spelt, ("no",))]

    def render(self, state: int) -> str:
        return f"{self.code[:state]}|{self.code[state:]}"
