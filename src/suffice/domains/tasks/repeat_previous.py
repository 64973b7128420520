"""Repeat previous (Morad et al. 2023, POPGym): name the suit that was shown k observations ago.

Every step shows one of `suits` suits, uniformly at random. An action names a suit. From action k on, an action gives
1/(H − k + 1) if it names the suit that was shown k observations ago, counting the last observation as the first. The
last k observations suffice to act; an automaton that is the same at every step needs a state for each of suits^k.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from suffice.domains.domain import Domain, uniformly
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

SUITS = ("clubs", "diamonds", "hearts", "spades", "acorns", "bells", "leaves", "shields")

Window = tuple[str, ...]  # the last k observations, or all while there are fewer


@dataclass(frozen=True, slots=True)
class RepeatPrevious(Domain):
    """Repeat previous, logged under the uniform policy.

    Parameters
    ----------
    suits
        Number of suits, 2 to 8.
    k
        How many observations ago the suit was shown that has to be named, 1 or more; 1 is the last observation.
    answers
        Number of right answers that add up to a return of 1. None: H − k + 1, which is all of them.
    """

    DEFAULT_HORIZON: ClassVar[int] = 12
    features: ClassVar[tuple[str, ...]] = ("suit",)

    suits: int = 4
    k: int = 4
    answers: int | None = None

    def __post_init__(self) -> None:
        if not 2 <= self.suits <= len(SUITS):
            raise SettingsError(f"suits={self.suits} is not possible. Use suits=2 to {len(SUITS)}.")
        if self.k < 1:
            raise SettingsError(f"k={self.k} is not an earlier observation. Use k=1 (the last one) or more.")
        if self.answers is not None and self.answers < 1:
            raise SettingsError(f"answers={self.answers} cannot add up to a return of 1. Use answers=1 or more.")

    @property
    def all_actions(self) -> tuple[str, ...]:
        return SUITS[: self.suits]

    def for_horizon(self, horizon: int) -> RepeatPrevious:
        return replace(self, answers=max(1, horizon - self.k + 1)) if self.answers is None else self

    def start(self) -> list[Outcome]:
        return uniformly([((suit,), (suit,), 0) for suit in self.all_actions])

    def step(self, state: Window, action: str) -> list[Outcome]:
        full = len(state) == self.k
        right = full and action == state[0]
        kept = state[1:] if full else state
        reward = Fraction(right, self.answers or self.for_horizon(self.DEFAULT_HORIZON).answers or 1)
        return uniformly([((*kept, suit), (suit,), reward) for suit in self.all_actions])

    def render(self, state: Window) -> str:
        return f"shown: {', '.join(state)}"
