"""NumPy versions of kernels for small arrays, where compiling would take longer than the work (docs/decisions/0042).

They return the same integers and floats as the compiled kernels of the same name, which also describe them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# ---------------------------------------------------------------- walking


def _times(weight: Any) -> Any:
    return weight if weight.size else 1


def advance(candidate: Any, join: Any, candidate_of: Any, letters: int, word: Any) -> None:
    """Take one step in every episode: candidate of the last layer → state → candidate of this layer."""
    candidate[:] = candidate_of[join[candidate] * letters + word]


def advance_and_meet(
    candidate: Any, join: Any, candidate_of: Any, word: Any, following: Any, last: Any, weight: Any, tables: Any
) -> None:
    """Call `advance`, and count how often each new candidate meets each letter next and last, [2, C, X]."""
    advance(candidate, join, candidate_of, tables.shape[2], word)
    np.add.at(tables[0], (candidate, following), _times(weight))
    np.add.at(tables[1], (candidate, last), _times(weight))


def count_along(after: Any, word: Any, length: Any, weight: Any, counts: Any) -> None:
    """Walk from state 0, and count the letters [2, Q, X] before the last step and at it."""
    state, times = np.zeros(word.shape[1], np.int64), np.ones(word.shape[1], np.int64) * _times(weight)
    for t, letters in enumerate(word):
        np.add.at(counts, ((length - 1 == t).astype(np.int64), state, letters), times * (length > t))
        state = after[state, letters].astype(np.int64)


def relabel(group: Any, of_group: Any) -> None:
    """Replace each group by its value in `of_group`."""
    group[:] = of_group[group]


def add_rows(table: Any, of_row: Any, n: int) -> Any:
    """Add up the rows [R, V] that have the same value in `of_row`, [n, V]."""
    out = np.zeros((n, table.shape[1]), np.int64)
    np.add.at(out, of_row, table)
    return out


def cross_count(group: Any, of_group: Any, value: Any, weight: Any, n_groups: int, n_values: int) -> Any:
    """Count how often each group meets each value, [G, V]; episode e is in the group of_group[group[e]]."""
    counts = np.zeros((n_groups, n_values), np.int64)
    np.add.at(counts, (of_group[group], value), _times(weight))
    return counts


def meet(
    after: Any, cell_of: Any, label_of: Any, row_of: Any, candidate: Any, word: Any, weight: Any, first: int, rows: Any
) -> None:
    """Count how often the episodes of each candidate meet each cell, rows [R, D]."""
    chosen = np.flatnonzero(row_of[candidate] >= 0)
    some, times = candidate[chosen], weight[chosen] if weight.size else 1
    _follow(after, cell_of, label_of[some], row_of[some], word[:, chosen], times, first, rows)


def meet_from(
    after: Any, cell_of: Any, labels: Any, which: int, candidate: Any, word: Any, weight: Any, first: int, rows: Any
) -> None:
    """Apply `meet` to the episodes of one candidate, from each of several labels, rows [L, D]."""
    chosen = np.flatnonzero(candidate == which)
    times = weight[chosen] if weight.size else 1
    for i, label in enumerate(labels.tolist()):
        begin, row = np.full(len(chosen), label), np.full(len(chosen), i)
        _follow(after, cell_of, begin, row, word[:, chosen], times, first, rows)


def _follow(after: Any, cell_of: Any, label: Any, row: Any, word: Any, times: Any, first: int, rows: Any) -> None:
    last = rows.shape[1] - 1  # counts all later cells, too
    for letters in word:
        np.add.at(rows, (row, np.minimum(cell_of[label, letters].astype(np.int64) - first, last)), times)
        label = after[label, letters]


# ---------------------------------------------------------------- patterns


def patterns_met(word: Any, hits: Any, later: Any, bits: Any) -> None:
    """Write the patterns that suffixes meet to `bits` [W, N]: at the steps of `word` [U, N], or in `later` [W, N]."""
    bits[:] = later if later.size else 0
    for letters in word:
        bits |= hits[letters].T


def letters_in_patterns(table: Any, member: Any) -> Any:
    """Count how often candidates meet each pattern, [C, G], from their counts of letters, [C, X]."""
    return table @ member.astype(np.int64)


def count_patterns(
    candidate: Any, word: Any, hits: Any, later: Any, weight: Any, n_candidates: int, n_columns: int
) -> Any:
    """Count how often the suffixes of each candidate meet each pattern, [C, columns]; see `patterns_met`."""
    bits = np.zeros((hits.shape[1], candidate.size), np.uint64)
    patterns_met(word, hits, later, bits)
    octets = np.ascontiguousarray(bits.T).astype("<u8", copy=False).view(np.uint8)
    met = np.unpackbits(octets, axis=1, count=n_columns, bitorder="little")
    order = np.argsort(candidate, kind="stable")
    found, begin = np.unique(candidate[order], return_index=True)
    counts = np.zeros((n_candidates, n_columns), np.int64)
    if candidate.size:
        weighed = met[order] * weight[order, None] if weight.size else met[order]
        counts[found] = np.add.reduceat(weighed, begin, axis=0, dtype=np.int64)
    return counts


# ---------------------------------------------------------------- sums


def add_values(word: Any, values: Any, total: Any) -> None:
    """Add the values of its letters to the total of each episode, in the order of the steps."""
    for letters in word:
        total += values[letters]


def squares(numbers: Any, square: Any, rest: Any) -> bool:
    """Compute squares and their rounding errors; return False if one of them may exceed the range of floats."""
    size = np.abs(numbers)
    if np.any((size > 2.0**480) | ((numbers != 0) & (size < 2.0**-480))):
        return False
    upper = numbers * (2.0**27 + 1)
    upper = upper - (upper - numbers)
    lower = numbers - upper
    square[:] = numbers * numbers
    rest[:] = ((upper * upper - square) + 2 * upper * lower) + lower * lower
    return True


def significands(bits: Any, times: Any, half: int) -> Any:
    """Count floats by sign and exponent, and add up the halves of their significands, [3, 2^12]."""
    sums = np.zeros((3, 1 << 12), np.int64)
    below, kind = (1 << half) - 1, (bits >> 52) & 0xFFF
    for part, values in enumerate((np.ones_like(bits), (bits >> half) & below, bits & below)):
        np.add.at(sums[part], kind, values * _times(times))
    return sums


_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


def _scramble(z: Any) -> Any:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def mix(word: Any, weight: Any, length: Any, first: int, ordered: bool) -> Any:
    """Return the sums of two hashes of each episode times its weight, [2]; if `ordered`, of its position too."""
    n = word.shape[1]
    place = np.arange(first + 1, first + n + 1).astype(np.uint64) if ordered else np.zeros(n, np.uint64)
    one, other = _scramble(place ^ _FIRST), _scramble(place ^ _SECOND)
    for letters in word:
        x = letters.astype(np.uint64)
        one, other = _scramble(one + x * _FIRST + np.uint64(1)), _scramble(other ^ (x * _SECOND + np.uint64(7)))
    if length.size:
        short = length < word.shape[0]
        one, other = (np.where(short, _scramble(h + length.astype(np.uint64)), h) for h in (one, other))
    times = weight.astype(np.uint64) if weight.size else np.uint64(1)
    return np.array([(one * times).sum(dtype=np.uint64), (other * times).sum(dtype=np.uint64)])


def hash_episodes(word: Any, of_letter: Any) -> Any:
    """Return a hash of each episode, [N], from those of its letters in their order; 0 leaves a letter out."""
    state = np.full(word.shape[1], _FIRST)
    for letters in word:
        x = of_letter[letters]
        state = np.where(x != 0, _scramble(state + x), state)
    return state


def hash_attributes(state: Any, length: Any, steps: int, group: Any) -> None:
    """Change the hash of each episode [N] by its length, if steps were not observed, and by its group, if any."""
    if length.size:
        changed = _scramble(state + length.astype(np.uint64) * _SECOND)
        state[:] = np.where(length < steps, changed, state)
    if group.size:
        state[:] = _scramble(state ^ group)


# ---------------------------------------------------------------- columns


def walk(tau: Any, symbol_of: Any, word: Any, path: Any) -> None:
    """Write the state after each step, [H+1, N]; the last state of `tau` follows what is not known."""
    state = np.zeros(word.shape[1], np.int64)
    for t, letters in enumerate(word):
        following = tau[state, symbol_of[letters]]
        state = path[t] = np.where(following < 0, len(tau) - 1, following)


def add_hashes(of_row: Any, cell: Any, n: int, column: int) -> Any:
    """Return the sum of the hashes of a column's values in each episode, [n], each mixed with its step."""
    total, step = np.zeros(n, np.uint64), (cell // n + 1).astype(np.uint64)
    mixed = of_row + np.full(1, column, np.uint64) * _SECOND + step * _FIRST
    np.add.at(total, cell % n, _scramble(mixed))
    return total
