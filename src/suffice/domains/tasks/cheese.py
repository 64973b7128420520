"""Cheese maze (McCallum 1992): find the cheese where many cells look alike.

A row of cells 0-1-2-3-4; below 0 lie 5 and then 8, below 2 lie 6 and then the goal, below 4 lie 7 and then 9. The agent
starts anywhere but at the goal, moves N, S, E or W, stays where a wall is, and sees only the walls around it. Entering
the goal gives 1; from there any action leads to a uniform other cell, reward 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from suffice.domains.domain import Domain, surely, uniformly
from suffice.domains.finite import Outcome

GOAL = 10
VIEWS = "abcbdeeeffg"  # of the cells 0..9 and the goal
SOUTH: Final = {0: 5, 5: 8, 2: 6, 6: GOAL, 4: 7, 7: 9}
EAST: Final = {0: 1, 1: 2, 2: 3, 3: 4}
MOVES: Final = {
    "N": {below: above for above, below in SOUTH.items()},
    "S": SOUTH,
    "E": EAST,
    "W": {right: left for left, right in EAST.items()},
}
PLAN, NAMES = "01234\n5 6 7\n8 G 9", "0123456789G"


@dataclass(frozen=True, slots=True)
class Cheese(Domain):
    """The cheese maze under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 6
    features: ClassVar[tuple[str, ...]] = ("walls",)

    reset: Literal["next", "immediate"] = "next"  # immediate: entering the goal lands on a uniform cell at once

    @property
    def all_actions(self) -> tuple[str, ...]:
        """See `Domain`."""
        return tuple(MOVES)

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return _anywhere(0)

    def step(self, state: int, action: str) -> list[Outcome]:
        """See `Domain`."""
        if state == GOAL:
            return _anywhere(0)
        entered = MOVES[action].get(state, state)
        if entered == GOAL and self.reset == "immediate":
            return _anywhere(1)
        return surely(entered, (VIEWS[entered],), int(entered == GOAL))

    def render(self, state: int) -> str:
        """See `Domain`."""
        return "".join("A" if c == NAMES[state] else "." if c.isdigit() else c for c in PLAN)


def _anywhere(reward: int) -> list[Outcome]:
    return uniformly([(cell, (VIEWS[cell],), reward) for cell in range(GOAL)])
