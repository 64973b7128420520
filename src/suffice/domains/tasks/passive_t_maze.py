"""Passive T-maze (Ni et al. 2023): the T-maze's memory without its way.

The agent goes east whatever it does, but for N and S at the junction, which end the episode as in the T-maze; there the
other actions leave it where it is, which costs 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from suffice.domains.domain import Domain
from suffice.domains.finite import Outcome
from suffice.domains.tasks.t_maze import Place, TMaze


@dataclass(frozen=True, slots=True)
class PassiveTMaze(Domain):
    """The passive T-maze under the uniform policy."""

    features: ClassVar[tuple[str, ...]] = TMaze.features

    length: int = 6

    def __post_init__(self) -> None:
        _ = self._maze  # which refuses what it must

    @property
    def default_horizon(self) -> int:
        """Just enough to end."""
        return self.length + 1

    @property
    def _maze(self) -> TMaze:
        return TMaze(self.length)

    @property
    def all_actions(self) -> tuple[str, ...]:
        """See `Domain`."""
        return self._maze.all_actions

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return self._maze.start()

    def step(self, state: Place, action: str) -> list[Outcome]:
        """See `Domain`."""
        _, cell = state
        return self._maze.step(state, action if cell == self.length and action in "NS" else "E")

    def render(self, state: Place | None) -> str:
        """See `Domain`."""
        return self._maze.render(state)
