"""Windows of the last observations by definition: histories are cut to their last k observations."""

from __future__ import annotations

from collections import Counter

from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes

from .adact import spell

Window = tuple[int, ...]  # codes of the last observations; of ended episodes (STOP,)
Letter = tuple[int, int, int]

ENDED: Window = (STOP,)


def window_counts(episodes: Episodes, length: int) -> tuple[Counter[tuple[Window, Letter]], ...]:
    """Return how often each letter follows each window, before the last step and at it."""
    before: Counter[tuple[Window, Letter]] = Counter()
    last: Counter[tuple[Window, Letter]] = Counter()
    weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    for steps, weight in zip(spell(episodes), weights, strict=True):
        seen: list[int] = []
        for t, letter in enumerate(steps):
            over = bool(seen) and seen[-1] == STOP
            window = ENDED if over else tuple(seen[len(seen) - length if len(seen) > length else 0 :])
            if t and not length and not over:
                window = (-1,)  # a single window after the start
            (last if t == len(steps) - 1 and not over else before)[window, letter] += weight
            seen.append(letter[1])
    return before, last


def bits(counts: Counter[Letter], usual: dict[Letter, float], letter: Letter, cut: bool) -> float:
    """Return the probability of a letter's observation and reward given its action; at the cut, of its reward."""
    times = {x: counts[x] + usual[x] for x in usual}
    given = sum(n for x, n in times.items() if x[0] == letter[0])
    same = [n for x, n in times.items() if x == letter or (cut and (x[0], x[2]) == (letter[0], letter[2]))]
    return sum(same) / given
