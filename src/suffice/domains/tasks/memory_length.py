"""Memory length (Osband et al. 2020, bsuite): remember a bit for a number of steps.

The first observation is a uniformly random bit; all later ones are `blank`. The episode has `length` actions. The last
gives 1 if it equals the bit; the others do nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from suffice.domains.domain import Domain, ending, surely, uniformly
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

Place = tuple[int, int]  # the bit, and the number of actions left


@dataclass(frozen=True, slots=True)
class MemoryLength(Domain):
    """Memory length, logged under the uniform policy.

    Parameters
    ----------
    length
        Number of actions per episode, 1 or more. It is also the default horizon.
    """

    features: ClassVar[tuple[str, ...]] = ("bit",)  # text, because most are `blank`

    length: int = 6

    def __post_init__(self) -> None:
        if self.length < 1:
            raise SettingsError(f"length={self.length} leaves no action. Use length=1 or more.")

    @property
    def default_horizon(self) -> int:
        return self.length

    @property
    def all_actions(self) -> tuple[int, ...]:
        return (0, 1)

    def start(self) -> list[Outcome]:
        return uniformly([((bit, self.length), (str(bit),), 0) for bit in (0, 1)])

    def step(self, state: Place, action: int) -> list[Outcome]:
        bit, left = state
        return ending(int(action == bit)) if left == 1 else surely((bit, left - 1), ("blank",))

    def render(self, state: Place | None) -> str:
        return "the end" if state is None else "the bit is {}, actions left: {}".format(*state)
