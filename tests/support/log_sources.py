"""One small log as rows, as a Hugging Face dataset, and in classes like those of d3rlpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import datasets

COLOUR, SIZE, LIT, ACTION, REWARD = COLUMNS = ("colour", "size", "lit", "action", "reward")
EPISODES: list[list[tuple[Any, ...]]] = [
    [("red", 1.0, True, "left", 0.0), ("blue", 2.5, False, "right", 1.0), ("red", 1.0, True, "left", -0.5)],
    [("blue", 1.0, False, "left", 0.0)],
    [("red", 2.5, True, "right", 0.0), ("red", 1.0, True, "left", 1.0)],
]
ROWS = [
    {"episode": e, "step": t, **dict(zip(COLUMNS, step, strict=True))}
    for e, steps in enumerate(EPISODES)
    for t, step in enumerate(steps)
]
HUGGING = datasets.Dataset.from_list([*ROWS, *({**row, "episode": row["episode"] + 7, "lit": False} for row in ROWS)])


@dataclass
class Episode:
    """An episode like those of d3rlpy."""

    observations: Any
    actions: Any
    rewards: Any
    terminated: Any = True


@dataclass
class Dataset:
    """A dataset like those of d3rlpy."""

    episodes: Any
