"""Second definitions of the domains, each written in another way; both must agree exactly.

A definition has the first outcomes of an episode and a law: from a state and an action to outcomes.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

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
from suffice.domains.tasks.passive_t_maze import PassiveTMaze
from suffice.domains.tasks.repeat_first import RepeatFirst
from suffice.domains.tasks.repeat_previous import RepeatPrevious
from suffice.domains.tasks.rotating_mab import ResetRotatingMAB, RotatingMAB
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.symbol import Symbol
from suffice.domains.tasks.two_keys import TwoKeys

Next = tuple[Fraction, Any, tuple[object, ...] | None, Fraction | int]  # probability, state, observation, reward
Law = Callable[[Any, Any], list[Next]]

F, SURE = Fraction, Fraction(1)


def coin(p: Fraction, heads: tuple[Any, ...], tails: tuple[Any, ...]) -> list[Next]:
    return [(q, *side) for q, side in ((p, heads), (1 - p, tails)) if q]


def corridor(domain: Corridor) -> tuple[list[Next], Law]:
    def law(state: tuple[int, int], action: int) -> list[Next]:
        column, guard = 1 if state[0] == domain.columns else state[0] + 1, state[1]
        in_row = {guard: domain.enemy, 1 - guard: 1 - domain.enemy}  # probability that the guard is in each row
        met = ((column, 1 - guard), (action, column, "enemy"), 0)
        return coin(in_row[action], met, ((column, guard), (action, column, "clear"), 1))

    return [(F(1, 2), (0, 0), (row, 0, "clear"), 0) for row in (0, 1)], law


def cookie(domain: Cookie) -> tuple[list[Next], Law]:
    rooms = {(0, 0): "white", (-1, 0): "blue", (1, 0): "green", (0, 1): "red"}
    ways = {"left": (-1, 0), "right": (1, 0), "up": (0, 1), "down": (0, -1), "press": (0, 0), "eat": (0, 0)}

    def law(state: Any, action: str) -> list[Next]:
        (x, y), cookie = state
        there = (x + ways[action][0], y + ways[action][1])
        there = there if there in rooms else (x, y)
        seen = (rooms[there] + ("-cookie" if there == cookie else ""),)
        if action == "press" and rooms[there] == "red":
            return [(F(1, 2), (there, (side, 0)), seen, 0) for side in (-1, 1)]
        if action == "eat" and there == cookie:
            return [(SURE, (there, None), (rooms[there],), 1)]
        return [(SURE, (there, cookie), seen, 0)]

    return [(SURE, ((0, 0), None), ("white",), 0)], law


def cheese(domain: Cheese) -> tuple[list[Next], Law]:
    """Define the maze on a plane; the letters follow from the exits of each cell."""
    goal = (2, -2)
    cells = {(x, 0) for x in range(5)} | {(x, -y) for x in (0, 2, 4) for y in (1, 2)}
    ways = {"N": (0, 1), "S": (0, -1), "E": (1, 0), "W": (-1, 0)}
    letters = {"SE": "a", "EW": "b", "SEW": "c", "SW": "d", "NS": "e", "N": "f"}

    def beside(cell: tuple[int, int], way: str) -> tuple[int, int]:
        return cell[0] + ways[way][0], cell[1] + ways[way][1]

    def seen(cell: tuple[int, int]) -> tuple[str]:
        return ("g" if cell == goal else letters["".join(way for way in ways if beside(cell, way) in cells)],)

    def anywhere(reward: int) -> list[Next]:
        return [(F(1, 10), cell, seen(cell), reward) for cell in sorted(cells - {goal})]

    def law(cell: tuple[int, int], way: str) -> list[Next]:
        if cell == goal:
            return anywhere(0)
        there = beside(cell, way) if beside(cell, way) in cells else cell
        if there == goal and domain.reset == "immediate":
            return anywhere(1)
        return [(SURE, there, seen(there), int(there == goal))]

    return anywhere(0), law


def rotating(domain: RotatingMAB) -> tuple[list[Next], Law]:
    def law(turns: int, arm: int) -> list[Next]:
        chances = deque([F(9, 10)] + [F(2, 10)] * (domain.arms - 1))
        chances.rotate(turns)
        after_loss = 0 if isinstance(domain, ResetRotatingMAB) else turns
        return coin(chances[arm], (turns + 1, ("yes",), 1), (after_loss, ("no",), 0))

    return [(SURE, 0, ("no",), 0)], law


def malfunction(domain: MalfunctionMAB) -> tuple[list[Next], Law]:
    """Define the bandit with all earlier pulls as its state."""

    def broken(pulls: str) -> bool:
        count = 0
        for pull in pulls:
            count = 0 if count == domain.limit else count + 1 if pull == "0" else count
        return count == domain.limit

    def law(pulls: str, arm: int) -> list[Next]:
        p = F(2, 10) if arm else F(0) if broken(pulls) else F(8, 10)
        return coin(p, (pulls + str(arm), (str(arm),), 1), (pulls + str(arm), (str(arm),), 0))

    return [(SURE, "", ("none",), 0)], law


def cheat(domain: CheatMAB) -> tuple[list[Next], Law]:
    """Define the bandit with all earlier pulls as its state; a mismatch starts the code again."""

    def cheated(pulls: str) -> bool:
        spelt = ""
        for pull in pulls:
            spelt += pull
            if spelt == domain.code:
                return True
            spelt = spelt if domain.code.startswith(spelt) else ""
        return False

    def law(pulls: str, arm: int) -> list[Next]:
        p = SURE if cheated(pulls) else F(2, 10)
        return coin(p, (pulls + str(arm), ("yes",), 1), (pulls + str(arm), ("no",), 0))

    return [(SURE, "", ("no",), 0)], law


def rotating_maze(domain: RotatingMaze) -> tuple[list[Next], Law]:
    """Define the maze on the complex plane, where a clockwise turn by 90° is a factor −i."""

    def law(state: tuple[complex, int], action: str) -> list[Next]:
        place, time = state
        way = {"N": 1j, "E": 1, "S": -1j, "W": -1}[action] * (-1j) ** (time // domain.period)

        def go(way: complex) -> tuple[Any, ...]:
            there = complex(round((place + way).real), round((place + way).imag))
            there = there if 0 <= there.real <= 3 and 0 <= there.imag <= 3 else place
            if there == 2 + 3j:
                return None, None, 1
            return (there, time + 1), (int(there.real), int(there.imag)), 0

        return coin(F(9, 10), go(way), go(-way))

    return [(SURE, (0j, 0), (0, 0), 0)], law


def enemy_corridor(domain: EnemyCorridor) -> tuple[list[Next], Law]:
    def law(state: tuple[int, int], action: int) -> list[Next]:
        column, bit = (state[0] + 1) % domain.columns, state[1]
        p = F(2, 10) if column < domain.columns / 2 else F(9, 10)
        p = p if (bit, action) in {(0, 0), (1, 1)} else 1 - p
        return coin(p, ((column, 1 - bit), (column, "enemy"), 0), ((column, bit), (column, "clear"), 1))

    return [(SURE, (0, 0), (0, "clear"), 0)], law


def flickering_grid(domain: FlickeringGrid) -> tuple[list[Next], Law]:
    def shown(x: int, y: int) -> list[Next]:
        return coin(F(2, 10), ((x, y), ("hidden",), 0), ((x, y), (f"{x},{y}",), 0))

    def law(state: tuple[int, int], action: str) -> list[Next]:
        x, y = state
        x = min(max(x + {"E": 1, "W": -1}.get(action, 0), 0), 7)
        y = min(max(y + {"N": 1, "S": -1}.get(action, 0), 0), 7)
        return [(SURE, None, None, 1)] if (x, y) == (3, 4) else shown(x, y)

    return shown(0, 0), law


def symbol(domain: Symbol) -> tuple[list[Next], Law]:
    """Define the task with the first observation and all actions as its state."""

    def law(state: tuple[str, ...], action: str) -> list[Next]:
        colour, side, *done = *state, action
        right = [True, True, True, done[3:4] == [colour], done[4:5] == [side]][len(done) - 1]
        if not right or len(done) == 5:
            return [(SURE, None, None, int(right))]
        return [(SURE, (colour, side, *done), ("blank", "blank"), 0)]

    shown = itertools.product(("red", "green", "blue"), ("left", "right"))
    return [(F(1, 6), both, both, 0) for both in shown], law


def two_keys(domain: TwoKeys) -> tuple[list[Next], Law]:
    def law(state: Any, action: str) -> list[Next]:
        room, lying, hands, doors = state  # lying: number of keys in the west and in the east
        here = {"west": 0, "east": 1}.get(room)
        if action in ("west", "east", "hall"):
            room = action
        if action == "take" and here is not None and lying[here] > 0 and hands == 0:
            lying, hands = (lying[0] - (here == 0), lying[1] - (here == 1)), 1
        if action == "open" and room == "hall" and hands == 1:
            hands, doors = 0, doors + 1
        if doors == 2:
            return [(SURE, None, None, 1)]
        sight = {"west": lying[0], "east": lying[1], "hall": 0}[room] > 0
        return [(SURE, (room, lying, hands, doors), (room, ("no", "yes")[sight], ("no", "yes")[hands]), 0)]

    return [(F(1, 3), ("hall", lying, 0, 0), ("hall", "no", "no"), 0) for lying in ((2, 0), (1, 1), (0, 2))], law


def repeat_first(domain: RepeatFirst) -> tuple[list[Next], Law]:
    suits = ("clubs", "diamonds", "hearts", "spades")

    def law(first: str, action: str) -> list[Next]:
        return [(F(1, 4), first, (suit,), F(action == first, domain.answers or 8)) for suit in suits]

    return [(F(1, 4), suit, (suit,), 0) for suit in suits], law


def memory_length(domain: MemoryLength) -> tuple[list[Next], Law]:
    def law(state: tuple[int, int], action: int) -> list[Next]:
        bit, done = state[0], state[1] + 1
        last = done == domain.length
        return [(SURE, None, None, int(action == bit))] if last else [(SURE, (bit, done), ("blank",), 0)]

    return [(F(1, 2), (bit, 0), (str(bit),), 0) for bit in (0, 1)], law


def passive_t_maze(domain: PassiveTMaze) -> tuple[list[Next], Law]:
    def law(state: tuple[str, int], action: str) -> list[Next]:
        goal, cell = state
        if cell < domain.length:
            seen = (0, 1, 0) if cell + 1 == domain.length else (1, 0, 1)
            return [(SURE, (goal, cell + 1), seen, 0)]
        if action in "NS":
            return [(SURE, None, None, 4 if action == goal else -1)]
        return [(SURE, state, (0, 1, 0), -1)]

    return [(F(1, 2), ("N", 0), (0, 1, 1), 0), (F(1, 2), ("S", 0), (1, 1, 0), 0)], law


def delayed_match(domain: DelayedMatch) -> tuple[list[Next], Law]:
    """Define the task with all observations as its state."""
    colours = ("red", "green", "blue", "yellow", "orange", "purple", "brown", "pink")[: domain.colours]

    def law(seen: tuple[str, ...], action: str) -> list[Next]:
        if len(seen) <= domain.delay:
            return [(SURE, (*seen, "blank"), ("blank",), 0)]
        if len(seen) == domain.delay + 1:
            return [(F(1, len(colours)), (*seen, probe), (probe,), 0) for probe in colours]
        return [(SURE, None, None, int({seen[0], seen[-1]} == {seen[0]} if action == "same" else seen[0] != seen[-1]))]

    return [(F(1, len(colours)), (colour,), (colour,), 0) for colour in colours], law


def repeat_previous(domain: RepeatPrevious) -> tuple[list[Next], Law]:
    """Define the task with the observations of all steps as its state, of which action t names the one of step t - k.

    Steps before t - k are blotted out, or there would be too many states.
    """
    suits = ("clubs", "diamonds", "hearts", "spades", "acorns", "bells", "leaves", "shields")[: domain.suits]
    worth = F(1, domain.answers or 12 - domain.k + 1)

    def law(shown: tuple[str, ...], action: str) -> list[Next]:
        t = len(shown)  # of this action
        named = shown[t - domain.k] if t >= domain.k else None
        kept = tuple("" if s <= t - domain.k else shown[s] for s in range(t))
        return [(F(1, len(suits)), (*kept, suit), (suit,), worth if named == action else 0) for suit in suits]

    return [(F(1, len(suits)), (suit,), (suit,), 0) for suit in suits], law


LAWS: dict[type[Domain], Callable[[Any], tuple[list[Next], Law]]] = {
    Corridor: corridor,
    Cookie: cookie,
    Cheese: cheese,
    RotatingMAB: rotating,
    ResetRotatingMAB: rotating,
    MalfunctionMAB: malfunction,
    CheatMAB: cheat,
    RotatingMaze: rotating_maze,
    EnemyCorridor: enemy_corridor,
    FlickeringGrid: flickering_grid,
    Symbol: symbol,
    TwoKeys: two_keys,
    RepeatFirst: repeat_first,
    MemoryLength: memory_length,
    PassiveTMaze: passive_t_maze,
    DelayedMatch: delayed_match,
    RepeatPrevious: repeat_previous,
}
