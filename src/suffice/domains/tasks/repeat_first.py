"""Repeat first (Morad et al. 2023, POPGym): keep naming the suit that was shown first.

Every step shows a random one of four suits. An action names a suit, and gives 1/H if it is the first.
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
    """Repeat first under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 8
    features: ClassVar[tuple[str, ...]] = ("suit",)

    answers: int | None = None  # right ones that add up to a reward of 1; None: H, so that all of them do

    def __post_init__(self) -> None:
        if self.answers is not None and self.answers < 1:
            raise SettingsError(f"answers={self.answers} cannot add up to a reward of 1; use answers=1 or more")

    @property
    def all_actions(self) -> tuple[str, ...]:
        """See `Domain`."""
        return SUITS

    def for_horizon(self, horizon: int) -> RepeatFirst:
        """See `Domain`."""
        return replace(self, answers=horizon) if self.answers is None else self

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return uniformly([(suit, (suit,), 0) for suit in SUITS])

    def step(self, state: str, action: str) -> list[Outcome]:
        """See `Domain`."""
        reward = Fraction(action == state, self.answers or self.DEFAULT_HORIZON)
        return uniformly([(state, (suit,), reward) for suit in SUITS])

    def render(self, state: str) -> str:
        """See `Domain`."""
        return f"the first was {state}"
