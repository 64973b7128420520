"""Mini-hall (Littman, Cassandra and Kaelbling 1995): find the goal in three rooms that look alike.

Twelve states, numbered 4·room + heading, and the goal. `turn` and `turn-back` change the heading by +1 and −1;
`forward` goes through a door, or does nothing where there is none. Entering the goal gives 1; from there, any action
leads to a uniformly random other state, with reward 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from suffice.domains.domain import Domain, surely, uniformly
from suffice.domains.finite import Observation, Outcome

TURNS: Final = {"forward": 0, "turn": 1, "turn-back": -1}
GOAL = 12
DOORS: Final = {2: 6, 4: 0, 5: 9, 6: 0, 10: GOAL, 11: 7}  # where forward leads; elsewhere it does nothing
VIEWS: Final = {  # of the states 0..11 and the goal
    "paper": (0, 1, 2, 3, 4, 5, 3, 1, 3, 1, 4, 5, 6),
    "classic": (0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 4, 5, 8),
}


@dataclass(frozen=True, slots=True)
class MiniHall(Domain):
    """Mini-hall, logged under the uniform policy.

    Parameters
    ----------
    observations
        "paper": seven observations, as in the paper. "classic": nine, which distinguish more of the states.
    reset
        "next": the agent stays at the goal until its next action. "immediate": entering the goal moves the agent to a
        uniformly random state in the same step.
    wall
        Whether a wall blocks `forward` in state 6.
    """

    DEFAULT_HORIZON: ClassVar[int] = 15
    features: ClassVar[tuple[str, ...]] = ("view",)

    observations: Literal["paper", "classic"] = "paper"
    reset: Literal["next", "immediate"] = "next"
    wall: bool = False

    @property
    def all_actions(self) -> tuple[str, ...]:
        return tuple(TURNS)

    def start(self) -> list[Outcome]:
        return self._anywhere(0)

    def step(self, state: int, action: str) -> list[Outcome]:
        if state == GOAL:
            return self._anywhere(0)
        entered = self._next(state, action)
        if entered == GOAL and self.reset == "immediate":
            return self._anywhere(1)
        return surely(entered, self._view(entered), int(entered == GOAL))

    def _anywhere(self, reward: int) -> list[Outcome]:
        return uniformly([(state, self._view(state), reward) for state in range(GOAL)])

    def _next(self, state: int, action: str) -> int:
        if action == "forward":
            return state if self.wall and state == 6 else DOORS.get(state, state)
        room, heading = divmod(state, 4)
        return 4 * room + (heading + TURNS[action]) % 4

    def _view(self, state: int) -> Observation:
        return (VIEWS[self.observations][state],)

    def render(self, state: int | None) -> str:
        return "goal" if state == GOAL else f"room {(state or 0) // 4}, heading {'NESW'[(state or 0) % 4]}"
