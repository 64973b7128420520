"""Cheese maze of McCallum (1992): find the cheese in a maze where many cells look alike.

A row of cells 0-1-2-3-4; below 0 lie 5 and then 8, below 2 lie 6 and then the goal, below 4 lie 7 and then 9. The agent
starts in a uniformly random cell other than the goal and moves N, S, E or W; walls block. It sees only the walls around
it. Entering the goal gives 1; from there, any action leads to a uniformly random other cell, with reward 0.
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
    """Cheese maze, logged under the uniform policy.

    Parameters
    ----------
    reset
        "next": the agent stays at the goal until its next action. "immediate": entering the goal moves the agent to a
        uniformly random cell in the same step.
    """

    DEFAULT_HORIZON: ClassVar[int] = 6
    features: ClassVar[tuple[str, ...]] = ("walls",)

    reset: Literal["next", "immediate"] = "next"

    @property
    def all_actions(self) -> tuple[str, ...]:
        return tuple(MOVES)

    def start(self) -> list[Outcome]:
        return _anywhere(0)

    def step(self, state: int, action: str) -> list[Outcome]:
        if state == GOAL:
            return _anywhere(0)
        entered = MOVES[action].get(state, state)
        if entered == GOAL and self.reset == "immediate":
            return _anywhere(1)
        return surely(entered, (VIEWS[entered],), int(entered == GOAL))

    def render(self, state: int) -> str:
        return "".join("A" if c == NAMES[state] else "." if c.isdigit() else c for c in PLAN)


def _anywhere(reward: int) -> list[Outcome]:
    return uniformly([(cell, (VIEWS[cell],), reward) for cell in range(GOAL)])
