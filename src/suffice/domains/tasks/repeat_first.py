"""Repeat first (Morad et al. 2023, POPGym): name the suit that was shown first at every step.

Every step shows one of four suits, uniformly at random. An action names a suit, and gives 1/H if that is the suit shown
first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from suffice.domains.domain import Domain, uniformly
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

SUITS = ("clubs", "diamonds", "hearts", "spades")


@dataclass(frozen=True, slots=True)
class RepeatFirst(Domain):
    """Repeat first, logged under the uniform policy.

    Parameters
    ----------
    answers
        Number of right answers that add up to a return of 1. None: the horizon H.
    """

    DEFAULT_HORIZON: ClassVar[int] = 8
    features: ClassVar[tuple[str, ...]] = ("suit",)

    answers: int | None = None

    def __post_init__(self) -> None:
        if self.answers is not None and self.answers < 1:
            raise SettingsError(f"answers={self.answers} cannot add up to a return of 1. Use answers=1 or more.")

    @property
    def all_actions(self) -> tuple[str, ...]:
        return SUITS

    def for_horizon(self, horizon: int) -> RepeatFirst:
        return replace(self, answers=horizon) if self.answers is None else self

    def start(self) -> list[Outcome]:
        return uniformly([(suit, (suit,), 0) for suit in SUITS])

    def step(self, state: str, action: str) -> list[Outcome]:
        reward = Fraction(action == state, self.answers or self.DEFAULT_HORIZON)
        return uniformly([(state, (suit,), reward) for suit in SUITS])

    def render(self, state: str) -> str:
        return f"the first was {state}"
