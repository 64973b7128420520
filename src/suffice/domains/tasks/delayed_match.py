"""Delayed match to sample (a test of working memory): say whether a colour is the one that was shown first.

The first observation is a uniformly random colour. Then come `delay` blanks, and then a second uniformly random
colour, the probe. The action after the probe gives 1 if it says rightly whether the two are the `same` or the second is
another (`other`), and ends the episode; earlier actions do nothing. No event of a single step
distinguishes the first colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from suffice.domains.domain import Domain, ending, surely, uniformly
from suffice.domains.finite import Outcome
from suffice.errors import SettingsError

COLOURS = ("red", "green", "blue", "yellow", "orange", "purple", "brown", "pink")

Waiting = tuple[str, int]  # the first colour, and the number of observations until the probe is shown
State = Waiting | str  # after the probe: the right action


@dataclass(frozen=True, slots=True)
class DelayedMatch(Domain):
    """Delayed match to sample, logged under the uniform policy.

    Parameters
    ----------
    colours
        Number of colours, 2 to 8.
    delay
        Number of blanks between the two colours, 0 or more. The default horizon is `delay` + 2.
    """

    features: ClassVar[tuple[str, ...]] = ("colour",)

    colours: int = 2
    delay: int = 3

    def __post_init__(self) -> None:
        if not 2 <= self.colours <= len(COLOURS):
            raise SettingsError(f"colours={self.colours} is not possible. Use colours=2 to {len(COLOURS)}.")
        if self.delay < 0:
            raise SettingsError(f"delay={self.delay} is not a number of blanks. Use delay=0 or more.")

    @property
    def default_horizon(self) -> int:
        return self.delay + 2

    @property
    def all_actions(self) -> tuple[str, ...]:
        return ("same", "other")

    def start(self) -> list[Outcome]:
        return uniformly([((colour, self.delay), (colour,), 0) for colour in COLOURS[: self.colours]])

    def step(self, state: State, action: str) -> list[Outcome]:
        if isinstance(state, str):
            return ending(int(action == state))
        first, blanks = state
        if blanks:
            return surely((first, blanks - 1), ("blank",))
        probes = COLOURS[: self.colours]
        return uniformly([("same" if probe == first else "other", (probe,), 0) for probe in probes])

    def render(self, state: State | None) -> str:
        if state is None:
            return "the end"
        if isinstance(state, str):
            return f"the probe was shown; the right answer is {state}"
        return "the first colour was {}, blanks until the probe: {}".format(*state)
