"""T-maze (Bakker 2001; the paper's running example): remember the cue seen at the start until the junction.

A corridor of cells 0..length; the last is the junction, with the goal north or south of it with probability ½ each. The
first observation is the cue, `011` for north and `110` for south. Later observations show the cell: `101` in the
corridor and `010` at the junction. N or S at the junction ends the episode, with +4 for the goal and −1 otherwise.
Elsewhere, an action that does not move the agent costs 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal

from suffice.domains.domain import Domain, ending, uniformly
from suffice.domains.finite import Observation, Outcome
from suffice.errors import SettingsError, parameter, spelled

CUES: Final = {"N": (0, 1, 1), "S": (1, 1, 0)}  # by the side of the goal
CORRIDOR, NOISY, JUNCTION = (1, 0, 1), (1, 1, 1), (0, 1, 0)
MOVES: Final = {"E": 1, "W": -1, "N": 0, "S": 0}

CHOICES: Final = {  # actions of the behaviour policy, before the junction and at it
    "all": (tuple("ENSW"), tuple("ENSW")),
    "east": (("E",), ("N", "S")),
    "forward": (("E", "W"), ("N", "S")),
}

Place = tuple[str, int]  # the side of the goal, and the cell of the agent


@dataclass(frozen=True, slots=True)
class TMaze(Domain):
    """T-maze, logged under the uniform policy over the chosen actions.

    Parameters
    ----------
    length
        Number of steps from the start to the junction, 1 or more. None: H − 1, so that the shortest way takes the
        whole horizon H.
    cue_visible
        Whether cell 0 shows the cue whenever the agent is there, not only at the start.
    noise
        Whether a corridor cell shows `101` or `111`, with probability ½ each, at every visit.
    actions
        What the behaviour policy draws from. "all": every action. "east": E in the corridor, N and S at the junction.
        "forward": E and W in the corridor, N and S at the junction.
    """

    DEFAULT_HORIZON: ClassVar[int] = 5
    features: ClassVar[tuple[str, ...]] = ("bit1", "bit2", "bit3")

    length: int | None = None
    cue_visible: bool = False
    noise: bool = False
    actions: Literal["all", "east", "forward"] = "all"

    def __post_init__(self) -> None:
        if self.length is not None and self.length < 1:
            raise SettingsError(f"length={self.length} leaves no corridor. Use length=1 or more.")

    @property
    def all_actions(self) -> tuple[str, ...]:
        return tuple(MOVES)

    def for_horizon(self, horizon: int) -> TMaze:
        if self.length is None and horizon == 1:
            length = spelled("length=1", "--set length=1")
            raise SettingsError(f"{parameter('horizon', 1)} leaves no corridor. Use 2 or more, or {length}.")
        return replace(self, length=horizon - 1) if self.length is None else self

    def start(self) -> list[Outcome]:
        return uniformly([((goal, 0), cue, 0) for goal, cue in CUES.items()])

    def step(self, state: Place, action: str) -> list[Outcome]:
        goal, cell = state
        if cell == self.length and not MOVES[action]:
            return ending(4 if action == goal else -1)
        entered = min(max(cell + MOVES[action], 0), self.length or 0)
        reward = -1 if entered == cell else 0
        return uniformly([((goal, entered), view, reward) for view in self._views(goal, entered)])

    def _views(self, goal: str, cell: int) -> tuple[Observation, ...]:
        """Return the observations that a cell may show after step 0."""
        if cell == self.length:
            return (JUNCTION,)
        if self.cue_visible and cell == 0:
            return (CUES[goal],)
        return (CORRIDOR, NOISY) if self.noise else (CORRIDOR,)

    def choices(self, observation: Observation) -> tuple[str, ...]:
        return CHOICES[self.actions][observation == JUNCTION]

    def render(self, state: Place | None) -> str:
        if state is None:
            return "the end"
        goal, cell = state
        arms = [" " * (self.length or 0) + ("G" if goal == side else ".") for side in "NS"]
        row = "".join("A" if c == cell else "." for c in range((self.length or 0) + 1))
        return "\n".join((arms[0], row, arms[1]))
