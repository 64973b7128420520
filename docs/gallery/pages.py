"""What cannot be computed: the picture of each domain, what has to be remembered in it, and words for its arrows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import mazes
import tasks
from svg import Drawing


@dataclass(frozen=True, slots=True)
class Page:
    """One domain's own."""

    draw: Callable[[Any], Drawing]
    memory: str
    words: Mapping[str, str]  # better ones for the labels of arrows


NONE: Final[Mapping[str, str]] = {}
ARMS: Final = {"0": "arm 0", "1": "arm 1"}
BETS: Final = {"yes": "won", "no": "lost"}

PAGES: Final = {
    "corridor": Page(
        mazes.corridor,
        "the guard's row, one bit, which every encounter changes; rows and columns are seen",
        NONE,
    ),
    "t-maze": Page(
        mazes.t_shaped,
        "the cue, and how far along the corridor one is, because its cells look alike. Both are forgotten where they "
        "can no longer matter: once the junction is out of reach the two cues lead to the same state",
        NONE,
    ),
    "cookie": Page(
        mazes.cookies,
        "whether there is a cookie at all, and, once one of the side rooms was found empty, that it is in the other",
        NONE,
    ),
    "cheese": Page(
        mazes.cheese_maze,
        "so much of the way that the cells which look alike can be told apart, as far as the way tells",
        NONE,
    ),
    "mini-hall": Page(
        mazes.hall,
        "room and heading, as far as views and turns tell them; at the start most views leave several possibilities",
        NONE,
    ),
    "rotating-mab": Page(tasks.rotating, "which arm is the best now: whether the wins so far are even or odd", BETS),
    "reset-rotating-mab": Page(tasks.rotating, "how many wins there were in a row, up to the number of arms", BETS),
    "malfunction-mab": Page(tasks.malfunctioning, "how often arm 0 was pulled since it last broke", ARMS),
    "cheat-mab": Page(
        tasks.cheating, "how much of the code the last pulls have spelt, and whether it was ever complete", ARMS
    ),
    "rotating-maze": Page(
        mazes.turning_maze,
        "the time, which turns the compass. The layers of the automaton know the time anyway, so that a state is just "
        "a cell, or the end; in the last layer only cells beside the goal differ from the rest",
        NONE,
    ),
    "enemy-corridor": Page(mazes.ring, "the hidden bit: whether the encounters so far are even or odd", NONE),
    "flickering-grid": Page(
        mazes.dark_grid,
        "the cell, while it is hidden; moves are certain, so that the way always tells where one is",
        NONE,
    ),
    "symbol": Page(tasks.symbols, "colour and side until each has been named, three steps or more", NONE),
    "two-keys": Page(
        mazes.keys, "what was seen in the two rooms, which keys were taken, and how many doors are open", NONE
    ),
    "repeat-first": Page(tasks.suits, "the first suit, among many that do not matter", NONE),
    "memory-length": Page(tasks.bits, "one bit, for as long as one likes", NONE),
    "passive-t-maze": Page(mazes.passive, "the cue, and nothing else: where the agent is follows from the time", NONE),
}
