"""Cookie (Toro Icarte et al. 2019): press the button, then look for the cookie.

A white room in the middle, blue to its left, green to its right, red above. `press` in the red room puts the cookie
into the blue or the green room with probability ½ each, wherever it was before. `eat` in the room with the cookie gives
1 and removes the cookie. The agent sees its room, and the cookie if that is in the same room. An action that does not
apply does nothing.
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

Place = tuple[str, str | None]  # the room of the agent, and that of the cookie


@dataclass(frozen=True, slots=True)
class Cookie(Domain):
    """Cookie domain, logged under the uniform policy over the chosen actions.

    Parameters
    ----------
    actions
        What the behaviour policy draws from. "all": every action. "sensible": only doors, the button, and a cookie in
        sight.
    """

    DEFAULT_HORIZON: ClassVar[int] = 9
    features: ClassVar[tuple[str, ...]] = ("room",)

    actions: Literal["all", "sensible"] = "all"

    @property
    def all_actions(self) -> tuple[str, ...]:
        return ACTIONS

    def start(self) -> list[Outcome]:
        return surely(("white", None), ("white",))

    def step(self, state: Place, action: str) -> list[Outcome]:
        room, cookie = state
        if action == "press" and room == "red":
            return uniformly([((room, side), (room,), 0) for side in ("blue", "green")])
        if action == "eat" and room == cookie:
            return surely((room, None), (room,), 1)
        room = DOORS.get((room, action), room)
        return surely((room, cookie), (f"{room}-cookie" if room == cookie else room,))

    def choices(self, observation: Observation) -> tuple[str, ...]:
        return ACTIONS if self.actions == "all" else SENSIBLE[str(observation[0])]

    def render(self, state: Place) -> str:
        room, cookie = state
        plan = {name: name.upper() if name == room else name for name in ("blue", "white", "green", "red")}
        if cookie:
            plan[cookie] += "*"
        return f"{'':6}{plan['red']}\n{plan['blue']:6}{plan['white']:6}{plan['green']}"
