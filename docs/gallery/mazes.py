"""Pictures of the domains with places: corridors, rooms and grids, drawn from the geometry of the domain."""

from __future__ import annotations

from svg import Drawing, Point

from suffice.domains.tasks import cheese, cookie, flickering_grid, mini_hall, rotating_maze, t_maze
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.enemy_corridor import FIRST_HALF, SECOND_HALF, EnemyCorridor
from suffice.domains.tasks.flickering_grid import FlickeringGrid
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.passive_t_maze import PassiveTMaze
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.t_maze import TMaze
from suffice.domains.tasks.two_keys import TwoKeys

CELL = 44.0
MARGIN = 16.0


def agent(page: Drawing, x: float, y: float, r: float = 8) -> None:
    """Draw the agent as a small face."""
    page.circle(x, y, r, "state")
    for side in (-1, 1):
        page.circle(x + side * 0.35 * r, y - 0.2 * r, 0.14 * r, "bare")


def goal(page: Drawing, x: float, y: float) -> None:
    """Draw the goal as a flag."""
    page.line((x - 5, y - 10), (x - 5, y + 10), wide=1.5)
    page.path(f"M{x - 5:.1f} {y - 10:.1f} l13 4.5 l-13 4.5 Z", "gold")


def corridor(domain: Corridor) -> Drawing:
    """Draw two rows, with the guard in one of them."""
    columns = domain.columns + 1
    page = Drawing(columns * CELL + 2 * MARGIN + 60, 2 * CELL + 62, f"Two rows of {columns} cells; a guard in row 0")
    left, top = MARGIN + 44, 30.0
    for row in range(2):
        page.text(left - 8, top + (row + 0.5) * CELL, f"row {row}", anchor="end")
        for column in range(columns):
            page.rect(left + column * CELL, top + row * CELL, CELL, CELL, "cell" if column else "blue", 0)
    for column in range(columns):
        page.text(left + (column + 0.5) * CELL, top - 11, str(column), 11, "note")
    agent(page, left + 0.5 * CELL, top + 1.5 * CELL)
    guard = left + 2.5 * CELL
    page.circle(guard, top + 0.5 * CELL, 12, "red")
    page.text(guard, top + 0.5 * CELL, "G", 12)
    page.bow((guard + 14, top + 0.5 * CELL), (guard + 14, top + 1.5 * CELL), 0)
    page.arrow((left + 0.78 * CELL, top + 1.4 * CELL), (left + 1.3 * CELL, top + 0.6 * CELL))
    page.arrow((left + 0.78 * CELL, top + 1.5 * CELL), (left + 1.3 * CELL, top + 1.5 * CELL))
    page.text(left + columns * CELL / 2, top + 2 * CELL + 16, "after an encounter the guard changes rows", 11, "note")
    return page


def tee(domain: TMaze, title: str, one_way: bool) -> Drawing:
    """Draw a corridor with the cue at its start and arms at its end."""
    length = domain.length or 0
    page = Drawing((length + 1) * CELL + 2 * MARGIN + 24, 3 * CELL + 44, title)
    left, middle = MARGIN, 12 + 1.5 * CELL
    for cell in range(length + 1):
        look = "gold" if cell == length else "cell"
        page.rect(left + cell * CELL, middle - CELL / 2, CELL, CELL, look, 0)
        view = t_maze.JUNCTION if cell == length else t_maze.CORRIDOR
        page.text(
            left + (cell + 0.5) * CELL, middle + CELL / 2 - 8, "".join(map(str, view)), 10, "note" * (cell < length)
        )
    for cell in range(length if one_way else 0):
        page.arrow((left + (cell + 0.8) * CELL, middle - 6), (left + (cell + 1.2) * CELL, middle - 6))
    junction = left + length * CELL
    for sign, (side, cue) in zip((-1, 1), t_maze.CUES.items(), strict=True):
        page.rect(junction, middle - CELL / 2 + sign * CELL, CELL, CELL, "cell", 0)
        page.text(junction + 10, middle + sign * 1.25 * CELL, side, 11, "note")
        goal(page, junction + 26, middle + sign * CELL)
        page.text(left, middle + sign * CELL, f"cue {''.join(map(str, cue))}: goal {side}", 11, anchor="start")
        page.text(junction + CELL + 8, middle + sign * CELL, "½", 12, "note", anchor="start")
    agent(page, left + CELL / 2, middle - 6)
    page.text(left, 3 * CELL + 30, "+4 at the goal, −1 at the other end", 11, "note", anchor="start")
    return page


def t_shaped(domain: TMaze) -> Drawing:
    """Draw the T-maze."""
    return tee(
        domain, f"A corridor of {domain.length} cells that ends in a junction; the goal is north or south", False
    )


def passive(domain: PassiveTMaze) -> Drawing:
    """Draw the T-maze whose corridor has one direction."""
    title = f"A one-way corridor of {domain.length} cells that ends in a junction; the goal is north or south"
    return tee(TMaze(domain.length), title, one_way=True)


ROOM_PLACES: dict[str, Point] = {"red": (1, 0), "blue": (0, 1), "white": (1, 1), "green": (2, 1)}
STEPS: dict[str, Point] = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


def cookies(domain: Cookie) -> Drawing:
    """Draw four rooms, with the button above and the cookie on either side."""
    del domain
    wide, gap = 92.0, 26.0
    page = Drawing(
        3 * wide + 2 * gap + 2 * MARGIN, 2 * 62 + gap + 24, "Four rooms: red above white, blue and green beside"
    )
    centre = {
        room: (MARGIN + x * (wide + gap) + wide / 2, 12 + y * (62 + gap) + 31) for room, (x, y) in ROOM_PLACES.items()
    }
    for room, (x, y) in centre.items():
        page.rect(x - wide / 2, y - 31, wide, 62, "cell" if room == "white" else room, 6)
        page.text(x, y - 20, room, 11)
    for (room, way), _ in cookie.DOORS.items():
        (x, y), (dx, dy) = centre[room], STEPS[way]
        shift = 5 if way in ("left", "up") else -5
        start = (x + dx * wide / 2 + shift * dy * dy, y + dy * 31 + shift * dx * dx)
        page.arrow(start, (start[0] + dx * gap, start[1] + dy * gap))
    x, y = centre["red"]
    page.rect(x - 26, y - 6, 52, 22, "page", 8)
    page.text(x, y + 5, "press", 11)
    agent(page, centre["white"][0], centre["white"][1] + 6)
    for room in ("blue", "green"):
        x, y = centre[room]
        page.circle(x, y + 7, 13, "gold")
        for dx, dy in ((-4, 3), (4, 5), (1, 12), (-3, 11)):
            page.circle(x + dx, y + dy, 1.6, "ink")
        page.text(x + 26, y + 8, "½", 12)
    return page


def cheese_maze(domain: Cheese) -> Drawing:
    """Draw the cells, each with its observation."""
    del domain
    rows = cheese.PLAN.splitlines()
    page = Drawing(
        5 * CELL + 2 * MARGIN,
        len(rows) * CELL + 2 * MARGIN,
        "Ten cells and the goal; cells of the same letter look alike",
    )
    looks = {"e": "blue", "b": "green", "f": "red", "g": "gold"}
    for y, row in enumerate(rows):
        for x, name in enumerate(row):
            if name != " ":
                view = cheese.VIEWS[cheese.NAMES.index(name)]
                left, top = MARGIN + x * CELL, MARGIN + y * CELL
                page.rect(left, top, CELL, CELL, looks.get(view, "cell"), 0)
                if name == "G":
                    goal(page, left + 0.7 * CELL, top + 0.45 * CELL)
                else:
                    page.text(left + 8, top + 9, name, 9, "note")
                page.text(left + CELL * (0.3 if name == "G" else 0.5), top + CELL / 2, view, 15)
    return page


HEADINGS: tuple[Point, ...] = ((0, -1), (1, 0), (0, 1), (-1, 0))  # N, E, S, W
ROOMS: tuple[Point, ...] = (
    (0, 0),
    (0, 1),
    (1, 1),
    (1, 1.86),
)  # positions of the three rooms and the goal, by their doors
SIDE, DOOR = 96.0, 30.0


def hall(domain: MiniHall) -> Drawing:
    """Draw three rooms with four headings each, the view of each, and where forward leads."""
    page = Drawing(2 * SIDE + DOOR + 100, 2 * SIDE + 2 * DOOR + 84, "Three rooms with four headings each, and the goal")
    views = mini_hall.VIEWS[domain.observations]
    centres = [(60 + x * (SIDE + DOOR) + SIDE / 2, 26 + y * (SIDE + DOOR) + SIDE / 2) for x, y in ROOMS]

    def place(state: int) -> Point:
        (x, y), (dx, dy) = centres[state // 4], HEADINGS[state % 4]
        return x + 35 * dx, y + 35 * dy

    for x, y in centres[:3]:
        page.rect(x - SIDE / 2, y - SIDE / 2, SIDE, SIDE, "cell", 6)
    for room, (x, y) in enumerate(centres[:3]):
        page.text(x, y, f"room {room}", 10, "note")
    for state, entered in mini_hall.DOORS.items():
        (x, y), (dx, dy) = place(state), HEADINGS[state % 4]
        shift = 6.0 if state in (4, 11) else -6.0 if state in (2, 5) else 0.0  # both ways through one door
        if entered == mini_hall.GOAL or entered % 4 == state % 4:  # straight on
            x, y = x + shift * abs(dy), y + shift * abs(dx)
            page.arrow((x + 11 * dx, y + 11 * dy), (x + (DOOR + 16) * dx, y + (DOOR + 16) * dy))
        else:
            (x2, y2), far = place(entered), 18.0
            page.path(
                f"M{x:.1f} {y + 11:.1f} C{x:.1f} {y + 70:.1f} {far} {y + 60:.1f} {far} {y:.1f} L{far} {y2 + 20:.1f}"
            )
            page.path(f"M{far} {y2 + 20:.1f} C{far} {y2 - 40:.1f} {x2:.1f} {y2 - 50:.1f} {x2:.1f} {y2 - 12:.1f}")
            page.head((x2, y2 - 12), (x2, y2 - 30))
    for state in range(mini_hall.GOAL):
        x, y = place(state)
        page.circle(x, y, 11, "blue")
        page.text(x, y, str(views[state]), 11)
    x, y = centres[3]
    page.circle(x, y, 16, "gold")
    goal(page, x, y)
    for line, words in enumerate(("numbers: observation", "with that heading;", "arrows: where", "forward leads")):
        page.text(centres[2][0] - SIDE / 2, 34 + 16 * line, words, 11, "note", anchor="start")
    return page


def squares(size: int, cell: float, target: tuple[int, int], title: str, side: float) -> Drawing:
    """Draw a grid with x to the east and y to the north, and the agent at (0, 0)."""
    page = Drawing(size * cell + 2 * MARGIN + side, size * cell + 2 * MARGIN, title)
    for x in range(size):
        for y in range(size):
            look = "gold" if (x, y) == target else "cell"
            page.rect(MARGIN + x * cell, MARGIN + (size - 1 - y) * cell, cell, cell, look, 0)
    goal(page, MARGIN + (target[0] + 0.5) * cell, MARGIN + (size - 0.5 - target[1]) * cell)
    agent(page, MARGIN + cell / 2, MARGIN + (size - 0.5) * cell)
    return page


def turning_maze(domain: RotatingMaze) -> Drawing:
    """Draw the grid, and where N leads at each step."""
    size, target = rotating_maze.SIZE, rotating_maze.GOAL
    page = squares(size, 38, target, f"A {size} by {size} grid with a compass that rotates", 190)
    left = MARGIN + size * 38 + 40
    for turn, (dx, dy) in enumerate(HEADINGS):
        y = MARGIN + 20 + 38 * turn
        page.circle(left, y, 15, "cell")
        page.arrow((left - 10 * dx, y - 10 * dy), (left + 10 * dx, y + 10 * dy))
        first = turn * domain.period + 1
        times = f"action {first}" if domain.period == 1 else f"actions {first}–{first + domain.period - 1}"
        page.text(left + 24, y, f"N in {times}", 11, anchor="start")
    return page


def dark_grid(domain: FlickeringGrid) -> Drawing:
    """Draw the grid, and the two possible observations."""
    del domain
    size, target = flickering_grid.SIZE, flickering_grid.GOAL
    page = squares(size, 24, target, f"An {size} by {size} grid whose cell is sometimes hidden", 170)
    left, top = MARGIN + size * 24 + 30, MARGIN + 40.0
    for row, (look, words, p) in enumerate(
        (("cell", "its cell", 1 - flickering_grid.HIDDEN), ("dark", "hidden", flickering_grid.HIDDEN))
    ):
        page.rect(left, top + row * 56, 40, 40, look)
        page.text(left + 50, top + row * 56 + 20, f"{words}, {p}", 11, anchor="start")
    agent(page, left + 20, top + 20)
    page.text(left, top - 18, "observation of the agent:", 11, "note", anchor="start")
    return page


def ring(domain: EnemyCorridor) -> Drawing:
    """Draw columns in a ring, with colours for the two halves."""
    page = Drawing(domain.columns * CELL + 2 * MARGIN, 150, f"{domain.columns} columns in a ring")
    top, half = 46.0, (domain.columns + 1) // 2
    for column in range(domain.columns):
        look = "green" if column < half else "red"
        page.rect(MARGIN + column * CELL, top, CELL, CELL, look, 0)
        page.text(MARGIN + (column + 0.5) * CELL, top + CELL - 8, str(column), 10)
    for column in range(1, domain.columns):
        page.arrow((MARGIN + (column - 0.2) * CELL, top + 16), (MARGIN + (column + 0.2) * CELL, top + 16))
    right, left = MARGIN + (domain.columns - 0.5) * CELL, MARGIN + 0.5 * CELL
    page.path(f"M{right:.1f} {top:.1f} V22 H{left:.1f} V{top - 2:.1f}", "line", 1.2)
    page.head((left, top), (left, top - 10))
    agent(page, left, top + 16)
    for first, count, p in ((0, half, FIRST_HALF), (half, domain.columns - half, SECOND_HALF)):
        x = MARGIN + (first + count / 2) * CELL
        page.text(x, top + CELL + 18, f"enemy: {p} if action = bit", 11)
        page.text(x, top + CELL + 34, f"{1 - p} if not", 11)
    return page


def keys(domain: TwoKeys) -> Drawing:
    """Draw the hall, the rooms, the doors, and the possible places of the keys."""
    del domain
    wide, high, gap = 96.0, 64.0, 26.0
    page = Drawing(3 * wide + 2 * gap + 2 * MARGIN, high + 106, "West room, hall with two doors, east room; two keys")
    top = 44.0
    for i, room in enumerate(("west", "hall", "east")):
        left = MARGIN + i * (wide + gap)
        page.rect(left, top, wide, high, "cell", 6)
        page.text(left + wide / 2, top + high - 10, room, 11)
        if i:
            page.arrow((left - 2, top + 24), (left - gap + 2, top + 24))
            page.arrow((left - gap + 2, top + 38), (left - 2, top + 38))
    x = MARGIN + wide + gap
    for door in range(2):
        page.rect(x + 18 + 34 * door, top - 30, 26, 30, "red", 2)
        page.circle(x + 38 + 34 * door, top - 14, 2, "ink")
    agent(page, x + wide / 2, top + 24)
    for i in (0, 2):
        for n in range(2):
            key(page, MARGIN + i * (wide + gap) + 22 + 34 * n, top + 24)
    page.text(page.width / 2, top + high + 22, "both keys west, one in each room, or both east: ⅓ each", 11, "note")
    page.text(page.width / 2, top + high + 40, "the doors are not observed", 11, "note")
    return page


def key(page: Drawing, x: float, y: float) -> None:
    """Draw a key at a possible place."""
    page.circle(x, y, 6, "gold")
    page.line((x + 6, y), (x + 19, y), (x + 19, y + 5), wide=1.5)
    page.line((x + 14, y), (x + 14, y + 4), wide=1.5)
