"""Square grids surrounded by walls: x grows to the east, y to the north."""

from __future__ import annotations

from typing import Final

Cell = tuple[int, int]  # x, y

COMPASS: Final = {"N": (0, 1), "E": (1, 0), "S": (0, -1), "W": (-1, 0)}  # clockwise


def walk(cell: Cell, direction: str, size: int) -> Cell:
    """Return the cell in a direction, or the same cell if a wall is in between."""
    x, y = (place + by for place, by in zip(cell, COMPASS[direction], strict=True))
    return (x, y) if 0 <= x < size and 0 <= y < size else cell


def draw(size: int, agent: Cell, goal: Cell) -> str:
    """Draw the grid as text with north on top."""
    marks = {goal: "G", agent: "A"}
    return "\n".join("".join(marks.get((x, y), ".") for x in range(size)) for y in reversed(range(size)))
