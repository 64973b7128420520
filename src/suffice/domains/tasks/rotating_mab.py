"""Rotating bandits (Abadi, Brafman 2020; Ronca, Paludo Licks, De Giacomo 2022): the best arm changes with every win.

The best arm wins with probability 9/10, the others with 1/5. Arm 0 is the best at first. A win gives 1 and makes the
next arm the best one; arm 0 follows the last arm. In the resetting bandit a loss makes arm 0 the best again. The agent
sees whether it won.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from suffice.domains.domain import Domain, surely
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

BEST, OTHER = Fraction(9, 10), Fraction(1, 5)  # probabilities of a win


@dataclass(frozen=True, slots=True)
class RotatingMAB(Domain):
    """Rotating bandit, logged under the uniform policy.

    Parameters
    ----------
    arms
        Number of arms, 2 or more.
    """

    DEFAULT_HORIZON: ClassVar[int] = 10
    features: ClassVar[tuple[str, ...]] = ("won",)

    arms: int = 2

    def __post_init__(self) -> None:
        if self.arms < 2:
            raise SettingsError(f"arms={self.arms} leaves nothing to choose. Use arms=2 or more.")

    @property
    def all_actions(self) -> tuple[int, ...]:
        return tuple(range(self.arms))

    def start(self) -> list[Outcome]:
        return surely(0, ("no",))

    def step(self, state: int, action: int) -> list[Outcome]:
        p = BEST if action == state else OTHER
        return [
            Outcome(p, (state + 1) % self.arms, ("yes",), Fraction(1)),
            Outcome(1 - p, self._best_after_loss(state), ("no",)),
        ]

    def _best_after_loss(self, best: int) -> int:
        return best

    def render(self, state: int) -> str:
        return " ".join(f"[{arm}]" if arm == state else f" {arm} " for arm in range(self.arms))


@dataclass(frozen=True, slots=True)
class ResetRotatingMAB(RotatingMAB):
    """Rotating bandit in which a loss makes arm 0 the best again, logged under the uniform policy.

    Parameters
    ----------
    arms
        Number of arms, 2 or more.
    """

    arms: int = 4

    def _best_after_loss(self, best: int) -> int:
        del best
        return 0
