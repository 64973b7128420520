"""Rotating bandits (Abadi, Brafman 2020; Ronca, Paludo Licks, De Giacomo 2022): the best arm changes with every win.

One arm wins with probability 9/10, the others with 1/5. It is arm 0 at first; a win, which gives 1, makes the next arm
the best one, after the last the first. In the resetting bandit a loss makes it arm 0 again. The agent sees whether it
won.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from suffice.domains.domain import Domain, surely
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

BEST, OTHER = Fraction(9, 10), Fraction(1, 5)


@dataclass(frozen=True, slots=True)
class RotatingMAB(Domain):
    """The rotating bandit under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 10
    features: ClassVar[tuple[str, ...]] = ("won",)

    arms: int = 2

    def __post_init__(self) -> None:
        if self.arms < 2:
            raise SettingsError(f"a bandit with arms={self.arms} leaves no choice; use arms=2 or more")

    @property
    def all_actions(self) -> tuple[int, ...]:
        """See `Domain`."""
        return tuple(range(self.arms))

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return surely(0, ("no",))

    def step(self, state: int, action: int) -> list[Outcome]:
        """See `Domain`."""
        p = BEST if action == state else OTHER
        return [
            Outcome(p, (state + 1) % self.arms, ("yes",), Fraction(1)),
            Outcome(1 - p, self._best_after_loss(state), ("no",)),
        ]

    def _best_after_loss(self, best: int) -> int:
        return best

    def render(self, state: int) -> str:
        """See `Domain`."""
        return " ".join(f"[{arm}]" if arm == state else f" {arm} " for arm in range(self.arms))


@dataclass(frozen=True, slots=True)
class ResetRotatingMAB(RotatingMAB):
    """The rotating bandit that a loss turns back."""

    arms: int = 4

    def _best_after_loss(self, best: int) -> int:
        del best
        return 0
