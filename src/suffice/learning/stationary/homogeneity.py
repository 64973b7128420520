"""Test whether all ways to a state lead to one state, by permutation.

Verification compares each transition by itself with the other ways to its target, by e-values, which are far below
1/p where few episodes decide. This test asks about a state as a whole, so the evidence of all its ways counts together,
and it computes p-values: if the state is one state, then all assignments of ways to its entries with as many steps left
are equally likely, each entry with all that follows it. A state that is not one is divided in two parts that differ
most.
Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.kernels import permutation
from suffice.kernels.array_types import Float, Int64
from suffice.kernels.permutation import Followed
from suffice.learning.refinement import EQUAL
from suffice.learning.stationary.labels import PointerLog
from suffice.learning.stationary.pointers import FEWEST_COMPARED

EXCEEDING = 8  # assignments that may have at least the observed statistic, of EXCEEDING/δ
MOST_WORK = 1 << 25  # outcomes to assign, and cells to evaluate, of a whole test
EVALUATIONS = 16  # of the evidence of each way, about, until the best division is found
MOST_WAYS = 16  # to a state; the most frequent ones are compared
PROMISING = 2.0  # p-values of smaller statistics are too large to compute them
AT_ONCE = 1 << 20  # random numbers


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
        table_of = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        seen = np.flatnonzero(rows[often].any(axis=0))
        sizes = np.bincount(table_of[seen], minlength=len(begin) - 1)
        chosen, number = seen[sizes[table_of[seen]] > 1], np.full(rows.shape[1], -1, np.int64)
        number[chosen] = np.arange(len(chosen))
        limits = np.concatenate([[0], np.cumsum(sizes[sizes > 1])]).astype(np.int64)
        return cls(edges[often], n[often], rows[often][:, chosen], limits, number)

    def affordable(self, delta: float) -> bool:
        """Return whether there is something to compare, and a p-value of δ can be computed."""
        work = int(self.counts.sum()) + EVALUATIONS * self.counts.size
        return len(self.edges) > 1 and self.counts.shape[1] > 0 and work * EXCEEDING <= delta * MOST_WORK

    def p_value(self, steps: PointerLog, followed: Followed, delta: float, rng: np.random.Generator) -> float:
        """Return the p-value of the best division; 1 if it is above δ."""
        observed, _ = permutation.divide(self.counts, self._tables())
        if observed < PROMISING:
            return 1.0
        way_of = np.full(followed.tau.shape, -1, np.int64)
        way_of[tuple(self.edges.T)] = np.arange(len(self.edges))
        ways, left, limits, met = permutation.list_entries(followed, steps.walked, way_of, self.number)
        strata, stratum = np.unique(left, return_inverse=True)
        sizes = np.zeros((len(strata), len(self.edges)), np.int64)
        np.add.at(sizes, (stratum, ways), 1)
        vary = np.diff(limits) > 0
        entries = stratum[vary], np.concatenate([[0], limits[1:][vary]]), met
        draws, found, done = math.ceil(EXCEEDING / delta) - 1, 0, 0
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
