"""T-maze (Bakker 2001; the paper's running example): remember the cue seen at the start until the junction.

Cells 0..length, the junction last, the goal north or south of it with probability ½ each. The first observation is the
cue, `011` for north and `110` for south; afterwards the agent sees the cell it is in, `101` in the corridor and `010`
at the junction. N or S at the junction ends the episode, with +4 if right and −1 if wrong; elsewhere an action that
leaves the agent where it is costs 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal

from suffice.domains.domain import Domain, ending, uniformly
from suffice.domains.finite import Observation, Outcome
from suffice.errors import SettingsError

CUES: Final = {"N": (0, 1, 1), "S": (1, 1, 0)}  # by where the goal is
CORRIDOR, NOISY, JUNCTION = (1, 0, 1), (1, 1, 1), (0, 1, 0)
MOVES: Final = {"E": 1, "W": -1, "N": 0, "S": 0}

CHOICES: Final = {  # what the behaviour policy draws from, before the junction and at it
    "all": (tuple("ENSW"), tuple("ENSW")),
    "east": (("E",), ("N", "S")),
    "forward": (("E", "W"), ("N", "S")),
}

Place = tuple[str, int]  # where the goal is, and the agent's cell


@dataclass(frozen=True, slots=True)
class TMaze(Domain):
    """A T-maze under the uniform policy over the actions its option leaves."""

    DEFAULT_HORIZON: ClassVar[int] = 5
    features: ClassVar[tuple[str, ...]] = ("bit1", "bit2", "bit3")

    length: int | None = None  # None: H − 1, so that a straight run just ends in time
    cue_visible: bool = False  # cell 0 shows the cue whenever the agent is in it
    noise: bool = False  # a corridor cell shows 101 or 111, ½ each, every time
    actions: Literal["all", "east", "forward"] = "all"

    def __post_init__(self) -> None:
        if self.length is not None and self.length < 1:
            raise SettingsError(f"a t-maze of length {self.length} has no corridor; use length=1 or more")

    @property
    def all_actions(self) -> tuple[str, ...]:
        """See `Domain`."""
        return tuple(MOVES)

    def for_horizon(self, horizon: int) -> TMaze:
        """See `Domain`."""
        if self.length is None and horizon == 1:
            raise SettingsError("a t-maze for a horizon of 1 has no corridor; use a horizon of 2 or more or set length")
        return replace(self, length=horizon - 1) if self.length is None else self

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return uniformly([((goal, 0), cue, 0) for goal, cue in CUES.items()])

    def step(self, state: Place, action: str) -> list[Outcome]:
        """See `Domain`."""
        goal, cell = state
        if cell == self.length and not MOVES[action]:
            return ending(4 if action == goal else -1)
        entered = min(max(cell + MOVES[action], 0), self.length or 0)
        reward = -1 if entered == cell else 0
        return uniformly([((goal, entered), view, reward) for view in self._views(goal, entered)])

    def _views(self, goal: str, cell: int) -> tuple[Observation, ...]:
        """What a cell may show after step 0."""
        if cell == self.length:
            return (JUNCTION,)
        if self.cue_visible and cell == 0:
            return (CUES[goal],)
        return (CORRIDOR, NOISY) if self.noise else (CORRIDOR,)

    def choices(self, observation: Observation) -> tuple[str, ...]:
        """See `Domain`."""
        return CHOICES[self.actions][observation == JUNCTION]

    def render(self, state: Place | None) -> str:
        """See `Domain`."""
        if state is None:
            return "the end"
        goal, cell = state
        arms = [" " * (self.length or 0) + ("G" if goal == side else ".") for side in "NS"]
        row = "".join("A" if c == cell else "." for c in range((self.length or 0) + 1))
        return "\n".join((arms[0], row, arms[1]))
