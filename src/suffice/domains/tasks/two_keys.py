"""Two keys (Toro Icarte et al. 2019): fetch two keys, one at a time, and open two doors.

A hall, a west and an east room; the actions `west`, `east` and `hall` lead there from any room. With probability ⅓
each, both keys lie in the west room, one in each, or both in the east room. `take` picks up a key in the same room if
the agent carries none; `open` in the hall uses the carried key on the next door. Opening the second door gives 1 and
ends the episode. The agent sees its room, whether a key lies in it and whether it carries one, but not the doors. An
action that does not apply does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from suffice.domains.domain import Domain, ending, surely, uniformly
from suffice.domains.finite import Observation, Outcome

ROOMS = ("west", "east", "hall")

Place = tuple[
    str, tuple[str, ...], bool
]  # the room of the agent, the rooms of the keys that lie, whether one is carried


@dataclass(frozen=True, slots=True)
class TwoKeys(Domain):
    """Two-keys domain, logged under the uniform policy."""

    DEFAULT_HORIZON: ClassVar[int] = 12
    features: ClassVar[tuple[str, ...]] = ("room", "key", "carrying")

    @property
    def all_actions(self) -> tuple[str, ...]:
        return (*ROOMS, "take", "open")

    def start(self) -> list[Outcome]:
        hidden = (("west", "west"), ("west", "east"), ("east", "east"))
        return uniformly([(("hall", keys, False), ("hall", "no", "no"), 0) for keys in hidden])

    def step(self, state: Place, action: str) -> list[Outcome]:
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
        if state is None:
            return "the end"
        room, keys, carrying = state
        rooms = [f"{name}{'*' * keys.count(name)}{' A' if name == room else ''}" for name in ("west", "hall", "east")]
        opened = 2 - len(keys) - carrying
        return f"{' | '.join(rooms)}\ncarrying {int(carrying)}, doors open {opened}"


def _view(room: str, keys: tuple[str, ...], carrying: bool) -> Observation:
    return room, "yes" if room in keys else "no", "yes" if carrying else "no"
