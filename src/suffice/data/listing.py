"""Texts for lists with an entry for each layer, abbreviated where there are many layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

MOST_LISTED = 30  # entries of a list that are listed one by one
FIRST_LISTED = 10  # entries at the beginning of a longer list


def layer_sizes(sizes: Sequence[int] | Sequence[str]) -> str:
    """List a number for each layer, such as its states.

    If there are many layers, runs of equal numbers are shortened, and if there are many runs, only the first ones and
    the last one are listed.

    >>> from suffice.data.listing import layer_sizes
    >>> layer_sizes([1, *[2] * 40, 1])
    '1 2 (×40) 1'
    >>> layer_sizes([1, *range(2, 1000), 1])
    '1 2 3 4 5 6 7 8 9 10 … (989 more) 1'
    """
    if len(sizes) <= MOST_LISTED:
        return " ".join(map(str, sizes))
    runs = [(size, sum(1 for _ in same)) for size, same in groupby(sizes)]
    texts = [str(size) if times == 1 else f"{size} (×{times:,})" for size, times in runs]
    if len(runs) <= MOST_LISTED:
        return " ".join(texts)
    left_out = sum(times for _, times in runs[FIRST_LISTED:-1])
    return f"{' '.join(texts[:FIRST_LISTED])} … ({left_out:,} more) {texts[-1]}"


def listed(texts: Sequence[str]) -> str:
    """List texts with commas; of many only the first ones and the last one.

    >>> from suffice.data.listing import listed
    >>> listed([str(t) for t in range(100)])
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … (89 more), 99'
    """
    if len(texts) <= MOST_LISTED:
        return ", ".join(texts)
    return ", ".join([*texts[:FIRST_LISTED], f"… ({len(texts) - FIRST_LISTED - 1:,} more)", texts[-1]])
