"""Test whether all ways to a state lead to one state, by permutation.

Verification compares each transition by itself with the other ways to its target, by e-values, which are far below
1/p where few episodes decide. This test asks about a state as a whole, so the evidence of all its ways counts together,
and it computes p-values: if the state is one state, then in each table of a later label and action all assignments of
ways to outcomes are equally likely. A state that is not one is divided in two parts that differ most.
Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.kernels import permutation
from suffice.kernels.array_types import Float, Int32, Int64
from suffice.learning.refinement import EQUAL
from suffice.learning.stationary.labels import PointerLog
from suffice.learning.stationary.pointers import FEWEST_COMPARED

EXCEEDING = 8  # assignments that may have at least the observed statistic, of EXCEEDING/δ
MOST_WORK = 1 << 25  # outcomes to assign, and cells to evaluate, of a whole test
EVALUATIONS = 16  # of the evidence of each way, about, until the best division is found
MOST_WAYS = 16  # to a state; the most frequent ones are compared
PROMISING = 2.0  # p-values of smaller statistics are too large to compute them
AT_ONCE = 1 << 20  # random numbers
SEED = 3  # of the random assignments


class Followed(NamedTuple):
    """An automaton with cells for the outcomes of its states, and the tables of these cells."""

    tau: Int32  # [Q, Y] without gaps
    cells: Int32  # [Q, X, 3]
    table_of: Int64  # [D] −1 for choices of actions


class Ways(NamedTuple):
    """The ways to a state, with the outcomes that follow them, in tables where outcomes vary."""

    edges: Int64  # [K, 2]
    n: Int64  # [K] episodes
    counts: Int64  # [K, W]
    begin: Int64  # [G+1] tables
    number: Int64  # [D] the place of each cell, or −1

    @classmethod
    def of(cls, edges: Int64, n: Int64, rows: Int64, begin: Int64) -> Ways:
        """Select transitions of enough episodes, and tables with several outcomes, from counts [K, D]."""
        often = np.argsort(-n, kind="stable")[:MOST_WAYS]
        often = np.sort(often[n[often] >= FEWEST_COMPARED])
        seen = np.asarray(rows[often].any(axis=0))
        cells = [a + np.flatnonzero(seen[a:b]) for a, b in pairwise(begin.tolist())]
        cells = [part for part in cells if len(part) > 1]
        limits = np.concatenate([[0], np.cumsum([len(part) for part in cells])]).astype(np.int64)
        chosen, number = np.concatenate([np.zeros(0, np.int64), *cells]), np.full(rows.shape[1], -1, np.int64)
        number[chosen] = np.arange(len(chosen))
        return cls(edges[often], n[often], rows[often][:, chosen], limits, number)

    def affordable(self, delta: float) -> bool:
        """Return whether there is something to compare, and a p-value of δ can be computed."""
        work = int(self.counts.sum()) + EVALUATIONS * self.counts.size
        return len(self.edges) > 1 and self.counts.shape[1] > 0 and work * EXCEEDING <= delta * MOST_WORK

    def p_value(self, steps: PointerLog, followed: Followed, delta: float) -> float:
        """Return the p-value of the best division; 1 if it is above δ."""
        observed, _ = permutation.divide(self.counts, self._tables())
        if observed < PROMISING:
            return 1.0
        way_of = np.full(followed.tau.shape, -1, np.int64)
        way_of[tuple(self.edges.T)] = np.arange(len(self.edges))
        target, (tau, cells, table_of) = int(followed.tau[tuple(self.edges[0])]), followed
        ways, left, limits, met = permutation.list_entries(
            tau, steps.walked, target, way_of, cells, table_of, self.number
        )
        strata, stratum = np.unique(left, return_inverse=True)
        sizes = np.zeros((len(strata), len(self.edges)), np.int64)
        np.add.at(sizes, (stratum, ways), 1)
        vary = np.diff(limits) > 0
        entries = stratum[vary], np.concatenate([[0], limits[1:][vary]]), met
        draws, found, done, rng = math.ceil(EXCEEDING / delta) - 1, 0, 0, np.random.default_rng(SEED)
        while done < draws and found < EXCEEDING:
            size = min(draws - done, max(16, done), max(1, AT_ONCE // len(entries[0])))
            drawn = rng.random((size, len(entries[0])))
            found += permutation.at_least(drawn, entries, sizes, self._tables(), observed, EXCEEDING - found)
            done += size
        return 1.0 if found >= EXCEEDING else (1 + found) / (1 + draws)

    def smaller_part(self) -> NDArray[np.bool_]:
        """Return [K] which ways are the smaller of the two parts that differ most."""
        _, inside = permutation.divide(self.counts, self._tables())
        return np.asarray(inside if 2 * self.n[inside].sum() <= self.n.sum() else ~inside)

    def _tables(self) -> tuple[Int64, Int64, Float, Float]:
        both = self.counts.sum(axis=0)
        return both, self.begin, EQUAL, ln_gammas(both, self.begin)


def ln_gammas(both: Int64, begin: Int64) -> Float:
    """Return ln Γ(j/2) for all j that tables with these counts need."""
    most = 2 * int(both.sum()) + int(np.diff(begin).max(initial=1)) + 4
    halves = np.zeros(most)
    halves[1] = math.log(math.pi) / 2  # ln Γ(1/2); ln Γ(1) is 0
    halves[3::2] = halves[1] + np.cumsum(np.log(np.arange(1, most - 2, 2) / 2))
    halves[4::2] = np.cumsum(np.log(np.arange(2, most - 2, 2) / 2))
    return halves
