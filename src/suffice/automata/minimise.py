"""Minimise a layered automaton by merging the states of a layer that have the same outputs and successors."""

from __future__ import annotations

from functools import reduce
from math import gcd

import numpy as np

from suffice.automata.vocabulary import UNSEEN, Vocabulary
from suffice.kernels.array_types import Codes, Int32, Int64


def merge_equivalent(vocabulary: Vocabulary, layers: Int64, tau: Int32, counts: Int64) -> tuple[Int64, Int32, Int64]:
    """Return layers [H+2], transitions [Q, Y] and counts [Q, X] of the smallest automaton with the same outputs.

    From the last layer backwards, states of a layer are merged if their counts are proportional for each action and
    their successors are merged.
    """
    of_letter = vocabulary.symbol_of_letter()
    merged, smaller = np.zeros(len(tau), np.int32), np.ones_like(layers)  # merged [Q]: place in the smaller layer
    offsets = np.concatenate([[0], np.cumsum(layers)])
    for t in range(len(layers) - 2, -1, -1):
        found: dict[tuple[object, ...], int] = {}
        for q in range(offsets[t], offsets[t + 1]):
            successors = merged[tau[q, of_letter]]  # arbitrary for letters without counts
            key = _behaviour(vocabulary.letters[:, 0], counts[q], successors)
            merged[q] = found.setdefault(key, len(found))
        smaller[t] = len(found)
    place = merged + np.repeat(np.concatenate([[0], np.cumsum(smaller)[:-1]]), layers)
    new_tau = np.full((int(smaller.sum()), tau.shape[1]), UNSEEN, np.int32)
    sources, symbols = np.nonzero(tau != UNSEEN)
    new_tau[place[sources], symbols] = place[tau[sources, symbols]]
    new_counts = np.zeros((len(new_tau), counts.shape[1]), np.int64)
    np.add.at(new_counts, place, counts)
    return smaller, new_tau, new_counts


def _behaviour(actions: Codes, counts: Int64, successors: Int32) -> tuple[object, ...]:
    """Return θ(q, ·) as counts in lowest terms for each action, with the successor of each letter."""
    by_action: dict[int, list[tuple[int, int, int]]] = {}
    for x in np.flatnonzero(counts):
        by_action.setdefault(int(actions[x]), []).append((int(x), int(counts[x]), int(successors[x])))
    shares: list[object] = []
    for rows in by_action.values():
        unit = reduce(gcd, (k for _, k, _ in rows))
        shares.append(tuple((x, k // unit, s) for x, k, s in rows))
    return tuple(shares)
