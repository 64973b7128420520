"""Every domain, with its default options and with others."""

from __future__ import annotations

from fractions import Fraction

from suffice.domains.domain import Domain
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.delayed_match import DelayedMatch
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.flickering_grid import FlickeringGrid
from suffice.domains.tasks.malfunction_mab import MalfunctionMAB
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.passive_t_maze import PassiveTMaze
from suffice.domains.tasks.repeat_first import RepeatFirst
from suffice.domains.tasks.repeat_previous import RepeatPrevious
from suffice.domains.tasks.rotating_mab import ResetRotatingMAB, RotatingMAB
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.symbol import Symbol
from suffice.domains.tasks.t_maze import TMaze
from suffice.domains.tasks.two_keys import TwoKeys

EVERY_DOMAIN: list[Domain] = [
    Corridor(),
    Corridor(columns=2, enemy=Fraction(7, 10)),
    TMaze(),
    TMaze(length=2),
    TMaze(length=40),
    TMaze(length=3, cue_visible=True, noise=True),
    TMaze(length=2, actions="east"),
    TMaze(length=2, noise=True, actions="forward"),
    Cookie(),
    Cookie(actions="sensible"),
    Cheese(),
    Cheese(reset="immediate"),
    MiniHall(),
    MiniHall(observations="classic", wall=True),
    MiniHall(reset="immediate"),
    RotatingMAB(),
    RotatingMAB(arms=3),
    ResetRotatingMAB(),
    ResetRotatingMAB(arms=2),
    MalfunctionMAB(),
    MalfunctionMAB(limit=1),
    CheatMAB(),
    CheatMAB(code="10"),
    RotatingMaze(),
    RotatingMaze(period=1),
    EnemyCorridor(),
    EnemyCorridor(columns=3),
    FlickeringGrid(),
    Symbol(),
    TwoKeys(),
    RepeatFirst(),
    RepeatFirst(answers=3),
    MemoryLength(),
    MemoryLength(length=3),
    PassiveTMaze(),
    PassiveTMaze(length=2),
    DelayedMatch(),
    DelayedMatch(colours=3, delay=1),
    RepeatPrevious(),
    RepeatPrevious(suits=2, k=2),
]
