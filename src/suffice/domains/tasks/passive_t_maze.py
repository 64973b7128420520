"""Passive T-maze (Ni et al. 2023): a T-maze that needs memory but no exploration.

Every action moves the agent east. At the junction, N and S end the episode as in the T-maze; other actions leave the
agent there and cost 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from suffice.domains.domain import Domain
from suffice.domains.finite import Outcome
from suffice.domains.tasks.t_maze import Place, TMaze


@dataclass(frozen=True, slots=True)
class PassiveTMaze(Domain):
    """Passive T-maze, logged under the uniform policy.

    Parameters
    ----------
    length
        Number of steps from the start to the junction, 1 or more. The default horizon is one more.
    """

    features: ClassVar[tuple[str, ...]] = TMaze.features

    length: int = 6

    def __post_init__(self) -> None:
        _ = self._maze  # validates the length

    @property
    def default_horizon(self) -> int:
        return self.length + 1

    @property
    def _maze(self) -> TMaze:
        return TMaze(self.length)

    @property
    def all_actions(self) -> tuple[str, ...]:
        return self._maze.all_actions

    def start(self) -> list[Outcome]:
        return self._maze.start()

    def step(self, state: Place, action: str) -> list[Outcome]:
        _, cell = state
        return self._maze.step(state, action if cell == self.length and action in "NS" else "E")

    def render(self, state: Place | None) -> str:
        return self._maze.render(state)
