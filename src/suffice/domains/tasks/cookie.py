"""Cookie (Toro Icarte et al. 2019): press the button, then look for the cookie.

A white room in the middle, blue to its left, green to its right, red above. `press` in red puts the cookie in blue or
green, ½ each, wherever it was before; `eat` in the room with the cookie gives 1, and it is gone. The agent sees the
room it is in, and the cookie if it is there. An action that does not apply does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from suffice.domains.domain import Domain, surely, uniformly
from suffice.domains.finite import Observation, Outcome

ACTIONS = ("left", "right", "up", "down", "press", "eat")
DOORS: Final = {
    ("white", "left"): "blue",
    ("white", "right"): "green",
    ("white", "up"): "red",
    ("blue", "right"): "white",
    ("green", "left"): "white",
    ("red", "down"): "white",
}
SENSIBLE: Final = {
    "white": ("left", "right", "up"),
    "red": ("down", "press"),
    "blue": ("right",),
    "green": ("left",),
    "blue-cookie": ("right", "eat"),
    "green-cookie": ("left", "eat"),
}

Place = tuple[str, str | None]  # the agent's room, and the cookie's


@dataclass(frozen=True, slots=True)
class Cookie(Domain):
    """The cookie domain under the uniform policy over the actions its option leaves."""

    DEFAULT_HORIZON: ClassVar[int] = 9
    features: ClassVar[tuple[str, ...]] = ("room",)

    actions: Literal["all", "sensible"] = "all"  # sensible: doors, the button, and a cookie in sight

    @property
    def all_actions(self) -> tuple[str, ...]:
        """See `Domain`."""
        return ACTIONS

    def start(self) -> list[Outcome]:
        """See `Domain`."""
        return surely(("white", None), ("white",))

    def step(self, state: Place, action: str) -> list[Outcome]:
        """See `Domain`."""
        room, cookie = state
        if action == "press" and room == "red":
            return uniformly([((room, side), (room,), 0) for side in ("blue", "green")])
        if action == "eat" and room == cookie:
            return surely((room, None), (room,), 1)
        room = DOORS.get((room, action), room)
        return surely((room, cookie), (f"{room}-cookie" if room == cookie else room,))

    def choices(self, observation: Observation) -> tuple[str, ...]:
        """See `Domain`."""
        return ACTIONS if self.actions == "all" else SENSIBLE[str(observation[0])]

    def render(self, state: Place) -> str:
        """See `Domain`."""
        room, cookie = state
        plan = {name: name.upper() if name == room else name for name in ("blue", "white", "green", "red")}
        if cookie:
            plan[cookie] += "*"
        return f"{'':6}{plan['red']}\n{plan['blue']:6}{plan['white']:6}{plan['green']}"
