"""Kinds of memory that can be learned from a log: windows of the last observations, layers and cycles.

Each kind learns an automaton with the same interface. `memories_of` lists those that a log can be compared by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from suffice.data.alphabet import PAD
from suffice.data.content import BYTES_TO_CHOOSE
from suffice.data.episodes import Episodes
from suffice.data.log import ITSELF, Log
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.learning.adact_h import Learned, Settings
from suffice.learning.layers import learn_layers
from suffice.learning.stationary.learner import learn_stationary
from suffice.learning.windows import learn_window, windows_of

MOST_WINDOWS = 2_000  # states of a window of two observations or more
MOST_CELLS = 1 << 24  # of its table by step, state and letter, which a plan needs
VISITS = 10  # decisions that a window of two observations or more must have on average, per action
MOST_STEPS_AHEAD = 1_000  # horizon up to which such windows are tried; longer plans take too long
MOST_LETTERS = 2_000  # distinct steps up to which a cycle is tried; with more it takes too long

Progress = Callable[[int, int], None]


def silently(done: int, of: int) -> None:
    """Ignore progress; this is the default callback."""


class MemoryKind(Protocol):
    """A kind of memory, with its learner."""

    @property
    def name(self) -> str:
        """Return its name in results: "none", "last observation", "last k observations", "layers" or "cycle"."""

    @property
    def stationary(self) -> bool:
        """Return whether its states are the same at every step."""

    @property
    def window(self) -> int | None:
        """Return how many of the last observations are its states; None if its states are learned."""

    def learn(
        self, log: Log, settings: Settings, progress: Progress = silently, kept: CheckpointStage = NO_CHECKPOINT
    ) -> Learned:
        """Learn an automaton of this kind."""


@dataclass(frozen=True, slots=True)
class Window:
    """The last observations, or nothing."""

    length: int

    @property
    def name(self) -> str:
        """Return the name of this kind of memory in results."""
        return ("none", "last observation")[self.length] if self.length < 2 else f"last {self.length} observations"

    @property
    def stationary(self) -> bool:
        """Return whether its states are the same at every step."""
        return True

    @property
    def window(self) -> int:
        """Return how many of the last observations are its states."""
        return self.length

    def learn(
        self, log: Log, settings: Settings, progress: Progress = silently, kept: CheckpointStage = NO_CHECKPOINT
    ) -> Learned:
        """Count the windows of the log; there is nothing to resume."""
        found = learn_window(log, self.length, settings)
        progress(1, 1)
        return found


@dataclass(frozen=True, slots=True)
class Layers:
    """States of their own at each step, as the paper learns them."""

    name: ClassVar[str] = "layers"
    stationary: ClassVar[bool] = False
    window: ClassVar[None] = None  # its states are learned
    second_look: bool = True

    def learn(
        self, log: Log, settings: Settings, progress: Progress = silently, kept: CheckpointStage = NO_CHECKPOINT
    ) -> Learned:
        """Learn layers, and refine them with `second_look`."""
        return learn_layers(log, settings, self.second_look, progress, kept)


@dataclass(frozen=True, slots=True)
class Cycle:
    """States that are the same at every step."""

    name: ClassVar[str] = "cycle"
    stationary: ClassVar[bool] = True
    window: ClassVar[None] = None  # its states are learned

    def learn(
        self, log: Log, settings: Settings, progress: Progress = silently, kept: CheckpointStage = NO_CHECKPOINT
    ) -> Learned:
        """Learn a stationary automaton from the log."""
        return learn_stationary(log, settings, progress, kept)


def memories_of(log: Log, sample: Episodes, settings: Settings, second_look: bool = True) -> list[MemoryKind]:
    """List the kinds of memory that a log is compared by, the simplest first.

    Nothing and the last observation always; layers unless some episodes were cut off, or an adaptive logger chose the
    actions, which layers take as evidence. A window of k ≥ 2 observations if
    the sample has at least ten decisions for each window and action, and windows and plan fit into memory. A cycle
    unless episodes have a single decision, the log has more than 2,000 distinct steps, or its episodes cannot be
    shuffled within the memory.
    """
    windows = [Window(0), Window(1), *(Window(length) for length in _longer_windows(sample))]
    layers: list[MemoryKind] = [] if log.censored or settings.adaptive_logger else [Layers(second_look)]
    if log.horizon < 2 or len(log.letters) > MOST_LETTERS:
        return [*windows, *layers]
    shuffled = isinstance(log, Episodes) or ITSELF + BYTES_TO_CHOOSE * log.n <= settings.memory
    return [*windows, *layers, *([Cycle()] if shuffled else [])]


def _longer_windows(sample: Episodes) -> list[int]:
    """Return the lengths from 2 on that the rule of `memories_of` allows."""
    letters = sample.letters
    acts = letters[:, 0] > PAD
    decisions, actions = int(acts[sample.word[1:]].sum()), max(len(set(letters[acts, 0].tolist())), 1)
    most = min(MOST_WINDOWS, decisions // (VISITS * actions), MOST_CELLS // ((sample.horizon + 1) * len(letters)))
    found: list[int] = []
    if sample.horizon > MOST_STEPS_AHEAD:
        return found
    for length in range(2, int(sample.lengths().max()) + 1):  # longer windows are whole histories, like these
        if not 0 < len(windows_of(sample, length)) <= most:
            break
        found.append(length)
    return found
