"""A literal decision tree over whole observations: the reference of `automata.transition_trees`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any


def predict(observation: Sequence[Any], examples: Sequence[tuple[Any, ...]], states: Sequence[int], times: Any) -> int:
    """Follow an observation through the tree that is grown from the examples, one comparison at a time."""
    rows = [(example, state, time + 1.0) for example, state, time in zip(examples, states, times, strict=True)]
    while len({state for _, state, _ in rows}) > 1:
        best, kept = 1e-9, None
        for column in range(len(observation)):
            values = sorted({example[column] for example, _, _ in rows}, key=lambda v: (isinstance(v, str), v))
            numbers = not any(isinstance(example[column], str | bool) for example in examples)
            for compare in (_equal, _at_most)[: 1 + numbers]:
                for value in values:
                    inside = [row for row in rows if compare(row[0][column], value)]
                    outside = [row for row in rows if not compare(row[0][column], value)]
                    gain = _impurity(rows) - _impurity(inside) - _impurity(outside)
                    if inside and outside and gain > best:
                        best = gain + 1e-9
                        kept = inside if compare(observation[column], value) else outside
        if kept is None:
            break
        rows = kept
    mass: Counter[int] = Counter()
    for _, state, weight in rows:
        mass[state] += weight  # type: ignore[assignment]
    return min(mass, key=lambda state: (-mass[state], state))


def _equal(value: Any, tested: Any) -> bool:
    return bool(value == tested)


def _at_most(value: Any, tested: Any) -> bool:
    return bool(value <= tested)


def _impurity(rows: Sequence[tuple[Any, int, float]]) -> float:
    mass: dict[int, float] = {}
    for _, state, weight in rows:
        mass[state] = mass.get(state, 0.0) + weight
    total = sum(mass.values())
    return total * math.log(total) - sum(each * math.log(each) for each in mass.values()) if rows else 0.0
