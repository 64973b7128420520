"""Random choices among episodes that do not depend on their order in the log.

Episodes are ordered by a hash of their content, and choices are drawn along that order. Episodes with the same steps
are interchangeable: only how many of them are chosen is drawn, so that equal episodes can be on both sides of a
division. Ids and positions do not matter. The hash is the same for any numbering of the letters, so that it does not
depend on where episodes are stored or how they were read; two different episodes among N have the same hash of 64 bits
with a probability of about N² / 2⁶⁵. Episodes of a group, such as a person, stay together; which groups are drawn
depends on their names.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from suffice.data.alphabet import PAD, Value
from suffice.errors import LogError, SettingsError
from suffice.kernels import sums
from suffice.kernels.array_types import Int64, Mask, UInt64

if TYPE_CHECKING:
    from suffice.data.episodes import Episodes, Outline

MOST_DRAWN = 10**9  # episodes that numpy draws from
MOST_SHUFFLED = 1 << 24  # episodes that are shuffled one by one, however many are equal
MOST_EQUAL = 16  # mean number of equal episodes up to which they are shuffled one by one
BYTES_TO_CHOOSE = 48  # memory per episode of a choice
COMPARED_AT_ONCE = 1 << 20  # hashes


def letter_hashes(log: Outline) -> UInt64:
    """Return a hash of the values of each letter, [X]; 0 for padding, which is not content."""
    alphabet = log.alphabet
    actions = ["", "", *(ascii(_canonical(action)) for action in alphabet.actions)]
    observations = ["", *(ascii([_canonical(value) for value in each]) for each in alphabet.observations)]
    rewards = [ascii(_canonical(reward)) for reward in alphabet.rewards]
    found = [
        text_hash(f"{actions[a]}\n{observations[o]}\n{rewards[r]}") if a != PAD else 0
        for a, o, r in log.letters.tolist()
    ]
    return np.array(found, np.uint64)


def _canonical(value: Value) -> Value:
    """Return one of the values that are equal in Python: 1 for True and 1.0."""
    whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole else value


def text_hash(text: str) -> int:
    """Return a hash of 64 bits of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def content_hashes(episodes: Episodes, of_letter: UInt64 | None = None) -> UInt64:
    """Return a hash of the steps of each episode, [N], from those of the letters.

    Episodes that were cut off after different numbers of steps differ, and so do those of different groups.
    """
    of_letter = letter_hashes(episodes.outline) if of_letter is None else of_letter
    found = np.asarray(sums.hash_episodes(episodes.word, of_letter))
    if episodes.length is not None or episodes.group is not None:
        length = np.zeros(0, np.int32) if episodes.length is None else episodes.length
        group = np.zeros(0, np.uint64) if episodes.group is None else episodes.group
        sums.hash_attributes(found, length, len(episodes.word), group)
    return found


def content_order(hashes: UInt64, weight: Int64 | None = None) -> Int64:
    """Return the positions of stored episodes by content, and those of equal episodes by weight, then by position."""
    return _positions(hashes)[0] if weight is None else np.lexsort((weight, hashes))


def _positions(hashes: UInt64) -> tuple[Int64, Int64]:
    """Return the same without weights, and where in this order each group of equal episodes begins, [G]."""
    order = np.argsort(hashes)  # much faster than a stable sort, but equal hashes are in any order
    first = _differs_from_last(hashes, order)
    group = np.cumsum(first, dtype=np.int64)
    group *= len(order)
    order += group
    order.sort()
    order -= group
    return order, np.flatnonzero(first)


def sample(hashes: UInt64, weight: Int64 | None, size: int, rng: np.random.Generator) -> Mask:
    """Choose some of the stored episodes at random, [N]."""
    chosen = np.zeros(len(hashes), bool)
    chosen[content_order(hashes, weight)] = _shuffled_mask(len(hashes), size, rng)
    return chosen


def draw(hashes: UInt64, size: int, rng: np.random.Generator) -> Mask:
    """Draw `size` episodes at random; return whether each is drawn, [N]."""
    order, begin = _positions(hashes)
    drawn = np.zeros(len(order), bool)
    drawn[order] = _first_of_each(begin, len(order), _draw_groups(begin, len(order), size, rng))
    return drawn


def draw_weighted(hashes: UInt64, weight: Int64, size: int, rng: np.random.Generator) -> Int64:
    """Draw `size` episodes at random, where one of weight k counts as k equal ones; return how often each is drawn."""
    order = content_order(hashes, weight)
    begin = np.flatnonzero(_differs_from_last(hashes, order))
    weight = weight[order]
    before = np.cumsum(weight) - weight
    from_group = _draw_groups(before[begin], int(weight.sum()), size, rng)
    group = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(order)))
    drawn = np.zeros(len(order), np.int64)
    drawn[order] = np.clip(from_group[group] - (before - before[begin][group]), 0, weight)
    return drawn


def draw_groups(group: UInt64, weight: Int64 | None, share: float, rng: np.random.Generator) -> Mask:
    """Draw whole groups at random, as many as come closest to a share of the episodes; return [N] which are drawn."""
    names, member = np.unique(group, return_inverse=True)
    if len(names) < 2 or not 0 < share < 1:
        raise SettingsError(
            f"a share of {share:g} of {len(names)} group{'s' if len(names) != 1 else ''} of episodes leaves one part "
            "empty. Groups stay together: log more of them, or choose another share."
        )
    sizes = np.bincount(member, weight).astype(np.int64)
    order = rng.permutation(len(names))
    taken = np.cumsum(sizes[order])[:-1]
    drawn = np.zeros(len(names), bool)
    drawn[order[: int(np.abs(taken - share * sizes.sum()).argmin()) + 1]] = True
    return np.asarray(drawn[member])


def _differs_from_last(hashes: UInt64, order: Int64) -> Mask:
    """Return whether each hash, in order, differs from the one before; in parts, to use little memory."""
    found = np.ones(len(order), bool)
    for end in range(len(order), 1, -COMPARED_AT_ONCE):
        part = hashes[order[max(end - COMPARED_AT_ONCE - 1, 0) : end]]
        found[end - len(part) + 1 : end] = part[1:] != part[:-1]
    return found


def _first_of_each(begin: Int64, n: int, size: Int64) -> Mask:
    """Return [n] whether each position is among the first `size` [G] of its group."""
    change = np.zeros(n + 1, np.int8)
    change[begin[size > 0]] += 1
    change[(begin + size)[size > 0]] -= 1
    return np.cumsum(change[:-1], dtype=np.int8).astype(bool)


def _draw_groups(begin: Int64, total: int, size: int, rng: np.random.Generator) -> Int64:
    """Draw from groups of equal episodes, which begin at these of all episodes; return how many of each are drawn."""
    if total <= max(MOST_SHUFFLED, MOST_EQUAL * len(begin)):
        return np.asarray(np.add.reduceat(_shuffled_mask(total, size, rng), begin, dtype=np.int64))
    if total >= MOST_DRAWN:
        raise LogError(
            f"{MOST_DRAWN:,} episodes or more cannot be divided at random. Divide their weights by a factor, or leave "
            "some of them out."
        )
    return np.asarray(rng.multivariate_hypergeometric(np.diff(begin, append=total), size, method="marginals"))


def _shuffled_mask(n: int, size: int, rng: np.random.Generator) -> Mask:
    mask = np.zeros(n, bool)
    mask[:size] = True
    rng.shuffle(mask)
    return mask


def shuffled(episodes: Episodes, rng: np.random.Generator) -> Episodes:
    """Return the episodes in a random order that depends on their content alone, without a report."""
    order = content_order(content_hashes(episodes), episodes.weight)
    return episodes.columns(order[rng.permutation(len(order))])


def merged(episodes: Episodes) -> Episodes:
    """Return each distinct episode once, in order of content, with the number of its copies as weight."""
    hashes = content_hashes(episodes)
    order = content_order(hashes)
    begin = np.flatnonzero(_differs_from_last(hashes, order))
    times = np.ones(len(order), np.int64) if episodes.weight is None else episodes.weight[order]
    return replace(episodes.columns(order[begin]), weight=np.add.reduceat(times, begin))
