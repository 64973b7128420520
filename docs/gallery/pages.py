"""Hand-written parts of the page: the picture of each domain, what has to be remembered, and labels of arrows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import mazes
import tasks
from svg import Drawing


@dataclass(frozen=True, slots=True)
class Page:
    """Hand-written parts of the section about one domain."""

    draw: Callable[[Any], Drawing]
    memory: str  # what has to be remembered
    words: Mapping[str, str]  # replacements in the labels of arrows
    figures: Mapping[str, int] = field(default_factory=dict)  # options of figures, if the default has too many states


NONE: Final[Mapping[str, str]] = {}
ARMS: Final = {"0": "arm 0", "1": "arm 1"}
BETS: Final = {"yes": "won", "no": "lost"}

PAGES: Final = {
    "corridor": Page(
        mazes.corridor,
        "the row of the guard, one bit, which every encounter changes; rows and columns are observed",
        NONE,
    ),
    "t-maze": Page(
        mazes.t_shaped,
        "the cue, and the position in the corridor, because its cells look alike. Both are forgotten where they no "
        "longer matter: once the junction is out of reach, both cues lead to the same state",
        NONE,
    ),
    "cookie": Page(
        mazes.cookies,
        "whether there is a cookie, and, after one of the side rooms was found empty, that it is in the other",
        NONE,
    ),
    "cheese": Page(
        mazes.cheese_maze,
        "enough of the path to distinguish cells that look alike, as far as the path determines them",
        NONE,
    ),
    "mini-hall": Page(
        mazes.hall,
        "room and heading, as far as views and turns determine them; most first views leave several possibilities",
        NONE,
    ),
    "rotating-mab": Page(tasks.rotating, "which arm is the best: whether the number of wins is even or odd", BETS),
    "reset-rotating-mab": Page(tasks.rotating, "the number of wins in a row, up to the number of arms", BETS),
    "malfunction-mab": Page(tasks.malfunctioning, "the number of pulls of arm 0 since it last failed", ARMS),
    "cheat-mab": Page(
        tasks.cheating, "how much of the code the last pulls match, and whether it was ever complete", ARMS
    ),
    "rotating-maze": Page(
        mazes.turning_maze,
        "the number of the step, which rotates the compass. The layers of the automaton contain it, so that a state is "
        "just a cell, or the end; in the last layer only cells beside the goal differ from the others",
        NONE,
    ),
    "enemy-corridor": Page(mazes.ring, "the hidden bit: whether the number of encounters is even or odd", NONE),
    "flickering-grid": Page(
        mazes.dark_grid,
        "the cell, while it is hidden; moves are certain, so that the path always determines the cell",
        NONE,
    ),
    "symbol": Page(tasks.symbols, "colour and side until each has been named, for three steps or more", NONE),
    "two-keys": Page(
        mazes.keys, "the observations in the two rooms, the keys that were taken, and the number of open doors", NONE
    ),
    "repeat-first": Page(tasks.suits, "the first suit, among others that do not matter", NONE),
    "memory-length": Page(tasks.bits, "one bit, for the whole episode", NONE),
    "passive-t-maze": Page(
        mazes.passive, "only the cue: the cell of the agent follows from the number of the step", NONE
    ),
    "delayed-match": Page(
        tasks.matching,
        "the first colour until the probe, then whether the two are the same. Before the probe, the two colours differ "
        "only in pairs of later events: which probe, and which answer is then right",
        NONE,
    ),
    "repeat-previous": Page(
        tasks.window,
        "the last observations, as many as lie between a suit and its answer, in their order",
        NONE,
        {"suits": 2},
    ),
}
