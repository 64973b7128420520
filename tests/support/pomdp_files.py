"""Helpers for tests of `.POMDP` files: reading from text, and trees of probabilities."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from suffice.domains.pomdp.reading import Pomdp, read_pomdp

_TEMPORARY = tempfile.TemporaryDirectory()  # shared, because hypothesis repeats tests
FOLDER = Path(_TEMPORARY.name)

F = Fraction
HALF, THIRD = F(1, 2), F(1, 3)

HEAD = """\
discount: 0.95
values: reward
states: left middle right
actions: stay go
observations: dark light
"""
T = "T: * identity\n"
O = "O: * uniform\n"
WHOLE = HEAD + T + O


def read(text: str | bytes) -> Pomdp:
    path = FOLDER / "some.POMDP"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_pomdp(path)


# ---------------------------------------------------------------- trees of histories

Step = tuple[Fraction, Any, Any, Fraction]  # probability, state, observation, reward
Tree = dict[tuple[Any, ...], tuple[Fraction, Fraction]]  # history → probability, and probability times last reward


def tree(first: Iterable[Step], step: Callable[[Any, Any], Iterable[Step]], actions: Sequence[Any], depth: int) -> Tree:
    """Enumerate every history (o, a, o, a, o, …) up to a depth."""
    grown: Tree = {}
    beliefs: dict[tuple[Any, ...], list[tuple[Fraction, Any]]] = {}

    def grow(history: tuple[Any, ...], steps: Iterable[Step]) -> None:
        for p, state, observation, reward in steps:
            longer = (*history, observation)
            probability, weighted = grown.get(longer, (F(0), F(0)))
            grown[longer] = probability + p, weighted + p * reward
            beliefs.setdefault(longer, []).append((p, state))

    grow((), first)
    for length in range(depth):
        for history, belief in list(beliefs.items()):
            if len(history) == 2 * length + 1:
                for action in actions:
                    for weight, state in belief:
                        grow((*history, action), [(weight * p, *rest) for p, *rest in step(state, action)])
    return grown


def same(one: Tree, other: Tree, tolerance: float = 0) -> bool:
    return one.keys() == other.keys() and all(
        abs(a - b) <= tolerance for key in one for a, b in zip(one[key], other[key], strict=True)
    )
