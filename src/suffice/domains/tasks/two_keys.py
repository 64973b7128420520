"""Two keys (Toro Icarte et al. 2019): fetch two keys, one at a time, and open two doors.

A hall, a west and an east room; the actions `west`, `east` and `hall` lead there from anywhere. The two keys lie both
west, one in each room, or both east, ⅓ each. `take` picks up a key where one lies, if none is carried; `open` in the
hall uses the carried key on the next door. Opening the second door gives 1 and ends the episode. The agent sees the
room, whether a key lies in it and whether it carries one, but not the doors. An action that does not apply does
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from suffice.domains.domain import Domain, ending, surely, uniformly
from suffice.domains.finite import Observation, Outcome

ROOMS = ("west", "east", "hall")

Place = tuple[str, tuple[str, ...], bool]  # the agent's room, those of the keys not yet taken, whether one is carried


@dataclass(frozen=True, slots=True)
class TwoKeys(Domain):
    """The two-keys domain under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 12
    features: ClassVar[tuple[str, ...]] = ("room", "key", "carrying")

    @property
    def all_actions(self) -> tuple[str, ...]:
        """See `Domain`."""
        return (*ROOMS, "take", "open")

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        hidden = (("west", "west"), ("west", "east"), ("east", "east"))
        return uniformly([(("hall", keys, False), ("hall", "no", "no"), 0) for keys in hidden])

    def step(self, state: Place, action: str) -> list[Outcome]:
        """See `Domain`."""
        room, keys, carrying = state
        if action in ROOMS:
            room = action
        elif action == "take" and room in keys and not carrying:
            at = keys.index(room)
            keys, carrying = keys[:at] + keys[at + 1 :], True
        elif action == "open" and room == "hall" and carrying:
            if not keys:
                return ending(1)
            carrying = False
        return surely((room, keys, carrying), _view(room, keys, carrying))

    def render(self, state: Place | None) -> str:
        """See `Domain`."""
        if state is None:
            return "the end"
        room, keys, carrying = state
        rooms = [f"{name}{'*' * keys.count(name)}{' A' if name == room else ''}" for name in ("west", "hall", "east")]
        opened = 2 - len(keys) - carrying
        return f"{' | '.join(rooms)}\ncarrying {int(carrying)}, doors open {opened}"


def _view(room: str, keys: tuple[str, ...], carrying: bool) -> Observation:
    return room, "yes" if room in keys else "no", "yes" if carrying else "no"
