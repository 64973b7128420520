"""Greedy selection of the columns that matter, along the automaton of those chosen so far.

Start without observations: an automaton over actions alone. Repeat: learn the automaton of the features chosen so far,
measure the evidence of every other column given its states (`column_evidence`), and add the column with most evidence
if it exceeds the threshold of the round. When no single column does, pairs of columns are tried. At the end each
feature is left out once more, and stays out if it has no evidence given the others.

Level: the threshold of round r with d candidates is ln(d r (r + 1) / δ), so that all rounds together add a column that
is independent of everything else with probability at most δ. Theory and proof: docs/theory.md, section 12.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from suffice.data.columnar import ColumnarLog
from suffice.data.threads import gather
from suffice.kernels.array_types import Int32
from suffice.kernels.columns import EVERY_VISIT
from suffice.learning.adact_h import Settings
from suffice.learning.columns.column_evidence import ColumnEvidence, EvidenceTables, Example
from suffice.learning.columns.features import Feature, codes_of, joined, parts_of, project
from suffice.learning.columns.outcome_tables import coins_of, outcome_tables, walk
from suffice.learning.stationary.learner import learn_stationary

DELTA = 0.001  # probability of a false selection from a log
MOST_ROUNDS = 40
MOST_CUTS = 15  # of a column
MOST_PAIRS = 300
MOST_PAIR_VALUES = 64  # combinations of the values of two columns

Progress = Callable[[int, int], None]
Outcome = Literal["reward", "later reward", "state"]
Features = tuple[Feature, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A column, or a pair of columns, in one round of the selection."""

    features: Features
    log_e: float  # logarithm of the e-value
    threshold: float  # of its round
    tells: Outcome | None = None  # what the table with most evidence is about; None: there is none
    example: Example | None = None  # only of one that was chosen; codes of the first feature

    @property
    def enough(self) -> bool:
        """Whether the evidence exceeds the threshold."""
        return self.log_e > self.threshold


@dataclass(frozen=True, slots=True)
class ColumnSelection:
    """The features that matter, with the evidence for them and for the others."""

    features: Features  # in the order of the columns
    chosen: tuple[Candidate, ...]  # in the order in which they were added
    others: tuple[Candidate, ...]  # the other columns given the features, in the order of the columns
    dropped: tuple[str, ...]  # columns that were added, and left out again at the end
    pairs: int  # number of pairs that were tried
    delta: float
    states: int  # of the last automaton


def select_columns(
    log: ColumnarLog, delta: float = DELTA, settings: Settings | None = None, progress: Progress = lambda done, of: None
) -> ColumnSelection:
    """Find the columns of a log, and the cuts of its numbers, that tell what follows."""
    return _Selection(log, delta, settings or Settings()).run(progress)


class _Selection:
    """The state of a selection: the features so far, and how many rounds were tested."""

    def __init__(self, log: ColumnarLog, delta: float, settings: Settings) -> None:
        self._log, self._delta, self._settings = log, delta, settings
        self._coins = coins_of(log)
        self._features: list[Feature] = []
        self._rounds = self._pairs = 0

    def run(self, progress: Progress) -> ColumnSelection:
        """Add columns while there is evidence, then try to leave each one out."""
        evidence, chosen, singles = self._tables(()), [], []  # type: EvidenceTables, list[Candidate], list[Candidate]
        while self._rounds < MOST_ROUNDS:
            progress(len(self._features), len(self._log.columns) + 1)
            singles = self._test(evidence, self._singles())
            best = _best(singles) or _best(self._test(evidence, self._pairs_of(singles)))
            if best is None:
                break
            chosen.append(best)
            for feature in best.features:
                self._features = [f for f in self._features if f.column != feature.column] + [feature]
            evidence = self._tables(self._features)
        if dropped := self._drop(chosen):
            evidence = self._tables(self._features)
            singles = self._test(evidence, self._singles())
        names = [column.name for column in self._log.columns]
        taken = {feature.column for feature in self._features}
        return ColumnSelection(
            features=tuple(sorted(self._features, key=lambda feature: names.index(feature.column))),
            chosen=tuple(chosen),
            others=tuple(one for one in _by_column(singles) if one.features[0].column not in taken),
            dropped=tuple(dropped),
            pairs=self._pairs,
            delta=self._delta,
            states=evidence.tables.n_states,
        )

    def _tables(self, features: Sequence[Feature]) -> EvidenceTables:
        """Learn the automaton of some features, and list the outcomes along it."""
        return EvidenceTables.of(outcome_tables(self._log, self._path(features), self._coins), self._log)

    def _path(self, features: Sequence[Feature]) -> Int32:
        if self._log.horizon < 2:  # a single decision has no memory
            return np.zeros(self._log.action.shape, np.int32)
        episodes = project(self._log, features)
        return walk(learn_stationary(episodes, self._settings).rdp, episodes)

    def _singles(self) -> list[Features]:
        """List what may be added: other columns as categories, and further cuts of numbers."""
        found: list[Features] = []
        taken = {feature.column: feature for feature in self._features}
        for column in self._log.columns:
            before = taken.get(column.name)
            if column.codes is not None and before is None and len(column.values) > 1:
                found.append((Feature(column.name),))
            cuts = () if before is None else before.cuts
            if column.numbers is not None and cuts is not None and len(cuts) < MOST_CUTS:
                found.append((Feature(column.name, cuts),))
        return found

    def _pairs_of(self, singles: Sequence[Candidate]) -> list[Features]:
        """List pairs of other columns, numbers cut at their medians; the first ones if there are many."""
        taken = {feature.column for feature in self._features}
        free = [one.features[0] for one in _by_column(singles) if one.features[0].column not in taken]
        halves = [half for feature in free if (half := _halved(self._log, feature)) is not None]
        sizes = [codes_of(self._log, half)[1] for half in halves]
        small = [(i, j) for i, j in combinations(range(len(halves)), 2) if sizes[i] * sizes[j] <= MOST_PAIR_VALUES]
        self._pairs += len(small[:MOST_PAIRS])
        return [(halves[i], halves[j]) for i, j in small[:MOST_PAIRS]]

    def _test(self, evidence: EvidenceTables, candidates: Sequence[Features]) -> list[Candidate]:
        """Measure the evidence of the candidates of a round."""
        if not candidates:
            return []
        self._rounds += 1
        threshold = math.log(len(candidates) * self._rounds * (self._rounds + 1) / self._delta)

        def measure(i: int) -> dict[int, Candidate]:
            found = _measure(evidence, self._log, candidates[i])
            features = candidates[i] if len(candidates[i]) > 1 else (found.feature,)
            tells = None if found.table < 0 else _outcome(evidence, found.table)
            example = None
            if found.log_e > threshold:
                codes, values = joined([codes_of(self._log, feature) for feature in features])
                example = evidence.example(found.table, codes, values)
            return {i: Candidate(features, found.log_e, threshold, tells, example)}

        found = gather(len(candidates), self._settings.threads, measure, lambda parts: dict(ChainMap(*parts)))
        return [found[i] for i in range(len(candidates))]

    def _drop(self, chosen: Sequence[Candidate]) -> list[str]:
        """Leave out each feature, first the one that was added first, if the others make it redundant.

        A feature that was added in a pair is tested by itself and together with its partner.
        """
        dropped: list[str] = []
        for feature in list(self._features):
            rest = [other for other in self._features if other.column != feature.column]
            if not rest or self._rounds >= MOST_ROUNDS:
                continue
            added = [one for one in chosen if feature.column in [f.column for f in one.features]]
            partners = {f.column for one in added for f in one.features}
            alone = (feature,) if feature.cuts is None else (feature, feature)  # its ranges as categories
            pairs = [(feature, other) for other in rest if other.column in partners]
            if not any(one.enough for one in self._test(self._tables(rest), [alone, *pairs])):
                self._features = rest
                dropped.append(feature.column)
        return dropped


def _measure(evidence: EvidenceTables, log: ColumnarLog, features: Features) -> ColumnEvidence:
    """Return the evidence of columns as categories, or of one more cut of a single column of numbers."""
    if len(features) == 1 and features[0].cuts is not None:
        return evidence.of_cuts(log, features[0])
    return evidence.of_categories(features[0], *joined([codes_of(log, feature) for feature in features]))


def _outcome(evidence: EvidenceTables, table: int) -> Outcome:
    """Return what a table is about."""
    if evidence.tables.next_state[table]:
        return "state"
    return "reward" if evidence.tables.kind[table] == EVERY_VISIT else "later reward"


def _halved(log: ColumnarLog, feature: Feature) -> Feature | None:
    """Return a column of numbers cut at its median; categories as they are."""
    if feature.cuts is None:
        return feature
    parts = parts_of(log, Feature(feature.column, ()))
    return Feature(feature.column).with_cut(float(parts[0].edges[len(parts[0].edges) // 2])) if parts else None


def _best(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the candidate with most evidence if it is enough; the first one of several."""
    best = max(candidates, key=lambda candidate: candidate.log_e, default=None)
    return best if best is not None and best.enough else None


def _by_column(singles: Sequence[Candidate]) -> list[Candidate]:
    """Return one candidate for each column, the one with more evidence."""
    found: dict[str, Candidate] = {}
    for one in singles:
        name = one.features[0].column
        if name not in found or one.log_e > found[name].log_e:
            found[name] = one
    return list(found.values())
