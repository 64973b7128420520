"""Evidence that a column tells something about what follows, given the state of an automaton.

A table (`outcome_tables`) with the values of a column as rows has an e-value against "values and outcomes are
independent": its expectation is at most 1 under that hypothesis, given the margins of the table. Means of e-values are
e-values, however the tables depend on each other. So the evidence of a column is a mean over all its tables, with equal
weight for each kind of arrival, and for numbers over all cuts. By Markov's inequality it exceeds 1/δ with probability
at most δ. Theory: docs/theory.md, section 12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.data.columnar import ColumnarLog
from suffice.data.episodes import weights
from suffice.kernels import columns as kernels
from suffice.kernels.array_types import Codes, Float, Int64
from suffice.learning.columns.features import Feature, Part, parts_of
from suffice.learning.columns.outcome_tables import KINDS, OutcomeTables

MOST_VALUES = 64  # that a table distinguishes; the rarest of a column count as one


class ColumnEvidence(NamedTuple):
    """The evidence for a feature, as the logarithm of its e-value, and the table that contributes most to it."""

    feature: Feature
    log_e: float
    table: int  # −1: there is none


class Example(NamedTuple):
    """An outcome that is more frequent with one value of a column than with another, in the same state."""

    action: int  # code
    reward: int | None  # code; None: the outcome is a state
    value: int  # code of the feature with which the outcome is more frequent
    other: int  # code of another value
    k1: int  # times that the outcome occurred with the value
    n1: int
    k2: int  # with the other
    n2: int


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceTables:
    """Tables of outcomes with what their e-values need."""

    tables: OutcomeTables
    weight: Int64  # [N], or empty: one each
    log_factorial: Float  # [largest table + 1]

    @classmethod
    def of(cls, tables: OutcomeTables, log: ColumnarLog) -> EvidenceTables:
        """Prepare the tables of a log."""
        grouped = log.base.group is not None  # equal episodes of one group are not independent
        weight = np.empty(0, np.int64) if grouped else weights(log.base)
        largest = int(np.diff(tables.begin).max(initial=0)) * int(weight.max(initial=1))
        return cls(tables, weight, np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, largest + 1)))]))

    def of_categories(self, feature: Feature, codes: Codes, values: int) -> ColumnEvidence:
        """Return the evidence for a column of categories, or for several columns together."""
        if not len(self.tables):
            return ColumnEvidence(feature, -math.inf, -1)
        flat, values = _merge_rare(codes.reshape(-1), values)
        found = np.empty(len(self.tables))
        kernels.category_e_values(*self._events, flat, values, self.weight, self.log_factorial, found)
        return ColumnEvidence(feature, self._mean(found), int(found.argmax()))

    def of_cuts(self, log: ColumnarLog, feature: Feature) -> ColumnEvidence:
        """Return the evidence for one more cut of a column of numbers, with the cut that has most of it."""
        parts = parts_of(log, feature)
        found = [self._of_part(part) for part in parts] if len(self.tables) else []
        if not found:
            return ColumnEvidence(feature, -math.inf, -1)
        together = np.concatenate(found, axis=1)  # [T, all cuts]
        edges = np.concatenate([part.edges for part in parts])
        most = together.max(axis=1, keepdims=True)
        each = (most + np.log(np.mean(np.exp(together - most), axis=1, keepdims=True)))[:, 0]
        table = int(together.max(axis=1).argmax())
        best = float(edges[int(together[table].argmax())])
        return ColumnEvidence(feature.with_cut(best).apart_from_missing(log), self._mean(each), table)

    def example(self, table: int, codes: Codes, values: int) -> Example | None:
        """Return the clearest difference between two values of a column in a table."""
        tables = self.tables
        part = slice(tables.begin[table], tables.begin[table + 1])
        cells, outcome = tables.cell[part], tables.outcome[part]
        known = codes.reshape(-1)[cells].astype(np.int64)
        weight = self.weight[cells % len(self.weight)] if len(self.weight) else np.ones(len(cells), np.int64)
        counts = np.zeros((values, tables.sizes[table]), np.int64)
        np.add.at(counts, (known, outcome), weight)
        met = np.flatnonzero(counts.sum(axis=1))[:MOST_VALUES]
        sums = counts[met].sum(axis=1)
        shares = counts[met] / sums[:, None]
        named = np.flatnonzero(tables.names[table][: tables.sizes[table]] >= 0)
        gaps = shares[:, None, named] - shares[None, :, named]  # [V, V, K]
        clear = gaps * np.abs(gaps) * (sums[:, None] * sums[None, :] / (sums[:, None] + sums[None, :]))[:, :, None]
        if not clear.size or clear.max() <= 0:
            return None
        i, j, k = np.unravel_index(int(clear.argmax()), clear.shape)
        reward = None if tables.next_state[table] else int(tables.names[table, named[k]])
        met1, met2, rank = int(met[i]), int(met[j]), int(named[k])
        found = int(counts[met1, rank]), int(sums[i]), int(counts[met2, rank]), int(sums[j])
        return Example(int(tables.place[table, 2]), reward, met1, met2, *found)

    def _of_part(self, part: Part) -> Float:
        """Return the logarithms of the e-values of the cuts of one range, [T, cuts]."""
        found = np.empty((len(self.tables), len(part.edges)))
        size = len(part.edges) + 1
        kernels.cut_e_values(*self._events, part.codes.reshape(-1), size, self.weight, self.log_factorial, found)
        return found

    @property
    def _events(self) -> tuple[Int64, Int64, Int64, Int64, Float]:
        tables = self.tables
        return tables.begin, tables.cell, tables.outcome, tables.sizes, tables.effect

    def _mean(self, found: Float) -> float:
        """Return the logarithm of the mean e-value, with the same weight for each kind of arrival."""
        means = []
        for kind in range(KINDS):
            if len(logs := found[self.tables.kind == kind]):
                means.append(_log_mean(logs))
        return _log_mean(np.array(means))


def _log_mean(logs: Float) -> float:
    """Return ln of the mean of exp."""
    most = float(logs.max())
    return most + math.log(float(np.mean(np.exp(logs - most))))


def _merge_rare(codes: Codes, values: int) -> tuple[Codes, int]:
    """Give the rarest values of a column one code; negative codes stay."""
    if values <= MOST_VALUES:
        return codes, values
    counts = np.bincount(codes[codes >= 0], minlength=values)
    order = np.argsort(-counts, kind="stable")
    of_code = np.full(values, MOST_VALUES - 1, np.int64)
    of_code[order[: MOST_VALUES - 1]] = np.arange(MOST_VALUES - 1)
    return np.where(codes < 0, -1, of_code[codes]), MOST_VALUES
