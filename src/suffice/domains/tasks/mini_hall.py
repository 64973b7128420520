"""Mini-hall (Littman, Cassandra and Kaelbling 1995): find the goal of three rooms that look alike.

State 4·room + heading, twelve in all, and the goal. `turn` and `turn-back` change the heading by +1 and −1; `forward`
leads through a door or stays. Entering the goal gives 1; from there any action leads to a uniform state, reward 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from suffice.domains.domain import Domain, surely, uniformly
from suffice.domains.finite import Observation, Outcome

TURNS: Final = {"forward": 0, "turn": 1, "turn-back": -1}
GOAL = 12
DOORS: Final = {2: 6, 4: 0, 5: 9, 6: 0, 10: GOAL, 11: 7}  # forward stays in every other state
VIEWS: Final = {  # of the states 0..11 and the goal
    "paper": (0, 1, 2, 3, 4, 5, 3, 1, 3, 1, 4, 5, 6),
    "classic": (0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 4, 5, 8),
}


@dataclass(frozen=True, slots=True)
class MiniHall(Domain):
    """Mini-hall under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 15
    features: ClassVar[tuple[str, ...]] = ("view",)

    observations: Literal["paper", "classic"] = "paper"  # classic tells more of the states apart
    reset: Literal["next", "immediate"] = "next"  # immediate: entering the goal lands on a uniform state at once
    wall: bool = False  # forward from state 6 stays

    @property
    def all_actions(self) -> tuple[str, ...]:
        """See `Domain`."""
        return tuple(TURNS)

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return self._anywhere(0)

    def step(self, state: int, action: str) -> list[Outcome]:
        """See `Domain`."""
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
        """See `Domain`."""
        return "goal" if state == GOAL else f"room {(state or 0) // 4}, heading {'NESW'[(state or 0) % 4]}"
