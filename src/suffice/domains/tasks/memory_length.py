"""Memory length (Osband et al. 2020, bsuite): how long can a bit be remembered?

A uniform bit is shown at the start, and blanks afterwards. The episode has `length` actions; the last gives 1 if it
equals the bit, and the others do nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from suffice.domains.domain import Domain, ending, surely, uniformly
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

Place = tuple[int, int]  # the bit, and how many actions are left


@dataclass(frozen=True, slots=True)
class MemoryLength(Domain):
    """Memory length under the uniform policy."""

    features: ClassVar[tuple[str, ...]] = ("bit",)  # text, because it is mostly `blank`

    length: int = 6

    def __post_init__(self) -> None:
        if self.length < 1:
            raise SettingsError(f"an episode of length={self.length} has no last action; use length=1 or more")

    @property
    def default_horizon(self) -> int:
        """See `Domain`."""
        return self.length

    @property
    def all_actions(self) -> tuple[int, ...]:
        """See `Domain`."""
        return (0, 1)

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return uniformly([((bit, self.length), (str(bit),), 0) for bit in (0, 1)])

    def step(self, state: Place, action: int) -> list[Outcome]:
        """See `Domain`."""
        bit, left = state
        return ending(int(action == bit)) if left == 1 else surely((bit, left - 1), ("blank",))

    def render(self, state: Place | None) -> str:
        """See `Domain`."""
        return "the end" if state is None else "the bit is {}, actions left: {}".format(*state)
