"""Mini-hall (Littman, Cassandra and Kaelbling 1995): find the goal of three rooms that look alike.

State 4·room + heading, twelve in all, and the goal. `turn` and `turn-back` change the heading by +1 and −1; `forward`
leads through a door or stays. Entering the goal gives 1; from there any action leads to a uniform state, reward 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.episodes import DUMMY, STOP, Alphabet, Episodes
from suffice.errors import SufficeError

ACTIONS = ("forward", "turn", "turn-back")  # in the alphabet's order: action i has code i + 2
N_ROOM_STATES = 12
GOAL = 12
DOORS: Final = {2: 6, 4: 0, 5: 9, 6: 0, 10: GOAL, 11: 7}  # forward stays in every other state
VIEWS: Final = {  # of the states 0..11 and the goal
    "paper": (0, 1, 2, 3, 4, 5, 3, 1, 3, 1, 4, 5, 6),
    "classic": (0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 4, 5, 8),
}


@dataclass(frozen=True, slots=True)
class MiniHall:
    """Mini-hall under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 15

    observations: Literal["paper", "classic"] = "paper"  # classic tells more of the states apart
    reset: Literal["next", "immediate"] = "next"  # immediate: entering the goal lands on a uniform state at once
    wall: bool = False  # forward from state 6 stays

    @property
    def alphabet(self) -> Alphabet:
        """All that may be seen, whatever a sample happens to hold."""
        views = VIEWS[self.observations][: GOAL if self.reset == "immediate" else GOAL + 1]
        return Alphabet(ACTIONS, ("view",), tuple((view,) for view in views), (0.0, 1.0))

    def simulate(self, n: int, horizon: int, rng: np.random.Generator) -> Episodes:
        """`n` independent episodes of `horizon` actions, all of them advanced together, step by step."""
        if horizon < 1:
            raise SufficeError(f"a horizon of {horizon} leaves no action; use 1 or more")
        code_of_view = np.array(VIEWS[self.observations], dtype=np.uint8) + 1  # views are numbered from 0 without a gap
        successor = self._successors()

        action = np.empty((horizon + 1, n), dtype=np.uint8)
        observation, reward = np.empty_like(action), np.empty_like(action)
        state = rng.integers(N_ROOM_STATES, size=n, dtype=np.uint8)
        action[0], observation[0], reward[0] = DUMMY, code_of_view[state], 0
        for t in range(1, horizon + 1):
            choice = rng.integers(len(ACTIONS), size=n, dtype=np.uint8)
            was_at_goal = state == GOAL
            state = successor[state, choice]
            entered = state == GOAL
            relocated = entered if self.reset == "immediate" else was_at_goal
            state[relocated] = rng.integers(N_ROOM_STATES, size=np.count_nonzero(relocated), dtype=np.uint8)
            action[t], observation[t], reward[t] = choice + 2, code_of_view[state], entered
        observation[horizon] = STOP
        return Episodes.from_steps(self.alphabet, action, observation, reward)

    def _successors(self) -> NDArray[np.uint8]:
        """[13, 3] the state each action leads to; the goal's row is a stand-in for the uniform draw."""
        room, heading = np.divmod(np.arange(N_ROOM_STATES), 4)
        table = np.zeros((N_ROOM_STATES + 1, len(ACTIONS)), dtype=np.uint8)
        table[:GOAL, 0] = [DOORS.get(state, state) for state in range(N_ROOM_STATES)]
        table[:GOAL, 1] = 4 * room + (heading + 1) % 4
        table[:GOAL, 2] = 4 * room + (heading - 1) % 4
        if self.wall:
            table[6, 0] = 6
        return table
