"""T-maze (Bakker 2001; the paper's running example): remember the cue seen at the start until the junction.

Cells 0..length, the junction last, the goal north or south of it with probability ½ each. The first observation is the
cue, `011` for north and `110` for south; afterwards the agent sees the cell it is in, `101` in the corridor and `010`
at the junction. N or S at the junction ends the episode, with +4 if right and −1 if wrong; elsewhere an action that
leaves the agent where it is costs 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.episodes import DUMMY, PAD, STOP, Alphabet, Codes, Episodes, Value
from suffice.errors import SufficeError

EAST, NORTH, SOUTH, WEST = range(2, 6)  # action codes: E, N, S, W by code point
LOSS, NONE, WIN = range(3)  # reward codes of −1, 0, 4

CUES: Final = ((1, 1, 0), (0, 1, 1))  # goal south, goal north
CORRIDOR, NOISY, JUNCTION = (1, 0, 1), (1, 1, 1), (0, 1, 0)

EVERYWHERE = (EAST, NORTH, SOUTH, WEST)
CHOICES: Final = {  # what the behaviour policy draws from, before the junction and at it
    "all": (EVERYWHERE, EVERYWHERE),
    "east": ((EAST, EAST), (NORTH, SOUTH)),
    "forward": ((EAST, WEST), (NORTH, SOUTH)),
}


@dataclass(frozen=True, slots=True)
class TMaze:
    """A T-maze under the uniform policy over the actions its option leaves."""

    DEFAULT_HORIZON: ClassVar[int] = 5

    length: int | None = None  # None: H − 1, so that a straight run just ends in time
    cue_visible: bool = False  # cell 0 shows the cue whenever the agent is in it
    noise: bool = False  # a corridor cell shows 101 or 111, ½ each, every time
    actions: Literal["all", "east", "forward"] = "all"

    def __post_init__(self) -> None:
        if self.length is not None and self.length < 1:
            raise SufficeError(f"a t-maze of length {self.length} has no corridor; use length=1 or more")

    @property
    def alphabet(self) -> Alphabet:
        """All that may be seen, whatever a sample happens to hold."""
        observations = (*CUES, CORRIDOR, JUNCTION, *((NOISY,) if self.noise else ()))
        return Alphabet(("E", "N", "S", "W"), ("bit1", "bit2", "bit3"), observations, (-1.0, 0.0, 4.0))

    def simulate(self, n: int, horizon: int, rng: np.random.Generator) -> Episodes:
        """`n` independent episodes of `horizon` actions, all of them advanced together, step by step."""
        length = self._length_for(horizon)
        alphabet = self.alphabet
        code = {bits: np.uint8(alphabet.observations.index(bits) + 1) for bits in alphabet.observations}
        choices = np.array(CHOICES[self.actions], dtype=np.uint8)
        move = np.zeros(alphabet.n_actions, dtype=np.int32)
        move[[EAST, WEST]] = 1, -1

        action = np.empty((horizon + 1, n), dtype=np.uint8)
        observation, reward = np.empty_like(action), np.empty_like(action)
        north = rng.integers(2, size=n, dtype=np.uint8)
        cue = np.array([code[bits] for bits in CUES])[north]
        right = np.array([SOUTH, NORTH], dtype=np.uint8)[north]
        action[0], observation[0], reward[0] = DUMMY, cue, NONE

        cell = np.zeros(n, dtype=np.int32)
        running = np.ones(n, dtype=bool)
        for t in range(1, horizon + 1):
            at_junction = cell == length
            a = choices[at_junction.view(np.uint8), rng.integers(choices.shape[1], size=n, dtype=np.uint8)]
            entered = np.clip(cell + move[a], 0, length)
            # A wrong end also stays where it is, so that staying alone decides the −1.
            r = np.where(at_junction & (a == right), WIN, np.where(entered == cell, LOSS, NONE)).astype(np.uint8)
            action[t] = np.where(running, a, PAD)
            reward[t] = np.where(running, r, NONE)
            running &= ~(at_junction & ((a == NORTH) | (a == SOUTH)))
            observation[t] = np.where(running, self._view(entered, length, cue, code, rng), STOP)
            cell = entered
        observation[horizon] = STOP
        return Episodes.from_steps(alphabet, action, observation, reward)

    def _length_for(self, horizon: int) -> int:
        if horizon < 1:
            raise SufficeError(f"a horizon of {horizon} leaves no action; use 1 or more")
        if self.length is None and horizon == 1:
            raise SufficeError("a t-maze for a horizon of 1 has no corridor; use a horizon of 2 or more, or set length")
        return horizon - 1 if self.length is None else self.length

    def _view(
        self,
        cell: NDArray[np.int32],
        length: int,
        cue: Codes,
        code: Mapping[tuple[Value, ...], np.uint8],
        rng: np.random.Generator,
    ) -> Codes:
        """What each agent sees in its cell after step 0."""
        corridor: Codes = np.array([code[CORRIDOR]])
        if self.noise:
            corridor = np.array([code[CORRIDOR], code[NOISY]])[rng.integers(2, size=len(cell), dtype=np.uint8)]
        if self.cue_visible:
            corridor = np.where(cell == 0, cue, corridor)
        return np.where(cell == length, code[JUNCTION], corridor)
