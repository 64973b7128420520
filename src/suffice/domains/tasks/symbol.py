"""Symbol, with two questions to answer: remember a colour and a side, and name them some steps later.

Both are uniformly random and shown in the first observation; all later ones are `blank`. The first three actions do
nothing. The fourth must name the colour and the fifth the side, which gives 1 and ends the episode. A wrong answer ends
the episode without a reward.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from suffice.domains.domain import Domain, ending, surely, uniformly
from suffice.domains.finite import Outcome

COLOURS, SIDES = ("red", "green", "blue"), ("left", "right")
BLANK = ("blank", "blank")
WAITING = 3  # number of actions before the colour must be named

Place = tuple[str, str, int]  # colour, side, and the number of past actions


@dataclass(frozen=True, slots=True)
class Symbol(Domain):
    """Symbol domain, logged under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 6
    features: ClassVar[tuple[str, ...]] = ("colour", "side")

    @property
    def all_actions(self) -> tuple[str, ...]:
        return COLOURS + SIDES

    def start(self) -> list[Outcome]:
        return uniformly([((*shown, 0), shown, 0) for shown in product(COLOURS, SIDES)])

    def step(self, state: Place, action: str) -> list[Outcome]:
        colour, side, time = state
        if time == WAITING + 1:
            return ending(int(action == side))
        if time == WAITING and action != colour:
            return ending()
        return surely((colour, side, time + 1), BLANK)

    def render(self, state: Place | None) -> str:
        if state is None:
            return "the end"
        colour, side, time = state
        asked = {WAITING: "name the colour", WAITING + 1: "name the side"}.get(time, "wait")
        return f"{colour} {side}: {asked}"
