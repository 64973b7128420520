"""Refinement of a layered automaton (`--second-look`): test merged histories again, along the automaton itself.

AdaCT-H compares how often an event occurs anywhere in the future, but a difference is often clear only at the decision
it matters to: at the junction of a maze, whether north is right. Refinement therefore follows the merged histories
along the automaton and compares, in each state they reach and for each action taken there, the outcomes. It conditions
on actions, so their randomness adds no noise; where an outcome is certain there is nothing to compare.

Layer by layer as in AdaCT-H, a candidate joins a state of its own *label* (the state of the AdaCT-H automaton that its
histories lead to) unless it is distinct from all of them. A distinct candidate joins a state of another label if the
evidence is in favour, and continues from there; else it becomes a state.

The evidence is a product of e-values (`kernels.evidence`), so no union bound over events is needed: for labels fixed
before the data, with outcomes that depend on the past through the label alone, a false split has probability at most δ
per candidate. This holds in a regular decision process with the right labels. Where the rewards of an episode depend on
each other beyond the state (an unobserved property of a patient), one chance imbalance counts at every step, and false
splits are more frequent (figures: docs/decisions/0011). The AdaCT-H pass needs no such assumption.

In long episodes merged histories are followed for a limited number of steps (`_steps_followed`), so that time is linear
in the number of decisions; fewer outcomes make no false split more likely. Theory: docs/theory.md, section 9.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.episodes import Outline
from suffice.data.log import SMALL, Log, require_log, room_for_counts, room_for_tables
from suffice.data.queries import NoQuery, Query
from suffice.data.threads import ANSWERS_A_THREAD
from suffice.engines.engine import Engine, running
from suffice.errors import MemoryLimitError, SettingsError, gigabytes, parameter, require_type
from suffice.evidence.statistic import RowsInParts
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.kernels import evidence as evidence_kernels
from suffice.kernels.array_types import Int32, Int64
from suffice.learning.adact_h import Learned
from suffice.learning.memory_needs import refinement_bytes
from suffice.learning.merging import Candidates, Decision, LayerRecord, Placement
from suffice.learning.outcome_counts import (
    AutomatonWalk,
    FollowedSteps,
    OutcomeCounts,
    OutcomeCountsFrom,
    ReferenceAutomaton,
    row_numbers,
)
from suffice.learning.prefix_tests import SHARE, PrefixTests

EQUAL = np.array([0.5, 0.9, 0.99])  # prior probabilities that a table is equal: many may differ, or few
LONG_HORIZON = 1_000  # steps; up to these, merged histories are followed to the end
MOST_COMPARED = 10**8  # steps of merged histories that are followed in longer episodes: about half a minute
FEWEST_STEPS = 100  # that are followed in any case
EQUAL_BALANCE = 1e-9  # balances closer than this are equal
NO_ROW = np.zeros(0, np.int64)


def refine(
    learned: Learned,
    episodes: Log,
    progress: Callable[[int, int], None] = lambda done, of: None,
    kept: CheckpointStage = NO_CHECKPOINT,
) -> Learned:
    """Refine a layered automaton by splitting states whose histories have different outcomes along the automaton.

    Memory: 4 bytes for each episode; 8 bytes for each state of a layer and each distinct step of a state; and the same
    for candidates, which are counted some at a time if all of them do not fit.

    Parameters
    ----------
    learned
        Result of `adact_h`.
    episodes
        The episodes that the automaton was learned from.
    progress
        Function called after every layer with the number of finished layers and the number of all layers.
    kept
        Checkpoint to resume from and to save to. Default: none.

    Returns
    -------
    Learned
        The refined automaton, with the decisions and the guarantee of the refinement.

    Examples
    --------
    >>> suffice.refine(suffice.adact_h(episodes, suffice.Settings(bound=suffice.PAPER)), episodes).rdp
    <RDP: 11 states in layers 1 1 2 2 2 2 1>
    """
    require_type("learned", learned, Learned, "what suffice.adact_h returns. Pass that.")
    require_log(episodes)
    if int(learned.rdp.counts[0].sum()) != episodes.total or not np.array_equal(learned.rdp.letters, episodes.letters):
        raise SettingsError("the episodes are not those that the automaton was learned from. Refine it with those.")
    memory = room_for_tables(learned.settings.memory, episodes)
    states, letters = learned.rdp.n_states, len(learned.rdp.letters)
    table = f"of {states:,} states and {letters:,} distinct steps"
    _refuse_if_over(max(SMALL, memory), refinement_bytes(states, letters), table)
    reference = ReferenceAutomaton(learned.rdp, _steps_followed(learned))
    rows = room_for_counts(memory) // (8 * reference.widest)
    _refuse_if_over(memory, 4 * episodes.n + 8 * ANSWERS_A_THREAD * reference.widest, "of a candidate's outcomes")
    with running(episodes, max(1, min(learned.settings.threads, rows // ANSWERS_A_THREAD))) as engine:
        return _Refinement(learned, episodes.outline, reference, engine, memory).run(progress, kept)


def _refuse_if_over(memory: int, needed: int, table: str) -> None:
    """Refuse a table that does not fit; without refinement, results would depend on the machine."""
    if needed > memory:
        raise MemoryLimitError(
            f"refinement of this automaton: the table {table} needs {gigabytes(needed)}, more than the "
            f"{gigabytes(memory)} that it may take. Raise {parameter('memory')}, or use "
            f"{parameter('second_look', False)}."
        )


def _steps_followed(learned: Learned) -> int:
    """Return for how many steps merged histories are followed: all, unless that would take long in long episodes."""
    horizon = learned.rdp.horizon
    left = np.array([horizon + 1 - d.layer for d in learned.decisions if not d.placement.promoted], np.int64)
    if horizon <= LONG_HORIZON or left.sum() <= MOST_COMPARED:
        return horizon + 1
    return min(horizon + 1, max(FEWEST_STEPS, MOST_COMPARED // len(left)))


class _StateComparison(NamedTuple):
    """Evidence from the comparison of a candidate with a state."""

    state: int
    evidence: float  # ln E that they differ
    balance: float  # Σ ln e; below 0 the evidence is in favour of a merge
    most_distinct: int  # the cell that differs most, or -1
    row: Int64  # the candidate's counts in the comparison


class _LayerRefiner:
    """Places the candidates of a layer, one after the other."""

    def __init__(
        self,
        engine: Engine,
        walk: AutomatonWalk,
        reference: ReferenceAutomaton,
        t: int,
        labels: Int32,
        row_of: Callable[[int], Int64 | None],  # row of a candidate; None: not counted
        tests: PrefixTests,
        delta: float,
        memory: int,
    ) -> None:
        self._engine, self._walk, self._reference, self._t = engine, walk, reference, t
        self._followed, self._prefixes = FollowedSteps.of(reference, t), tests
        self._threshold = -math.log(delta * (1 - SHARE if tests.length else 1))
        self._offset = int(reference.offsets[t])
        self._tables: Int64 | None = None  # limits of tables of cells, once they are needed
        met = reference.tables(t)
        self._n_tables = met.stop - met.start
        self._row_of, self._labels, self._memory = row_of, labels, memory
        self._at_once = self._followed.rows_at_once(memory, engine.answers)
        self._founders: list[int] = []  # by state, the candidate that founded it
        self._states: dict[int, Int64] = {}  # rows of the states that have been counted
        self.label_of: list[int] = []  # by state
        self.tests = 0

    def place(self, c: int, founded: Placement | None, rare: bool) -> Placement:
        """Promote candidate c or merge it; `founded` is the placement by which AdaCT-H promoted its label.

        A candidate that is too rare to become a state (AdaCT-H-A) joins the nearest one, if there is one.
        """
        placement = self._placed(c, founded, rare)
        self._prefixes.place(c, placement.target)
        return placement

    def _placed(self, c: int, founded: Placement | None, rare: bool) -> Placement:
        label, row = int(self._labels[c]), self._row_of(c)
        own = [s for s, other in enumerate(self.label_of) if other == label]
        if not own and not (rare and self._founders):
            return self._promote_label(c, founded)
        if not self._n_tables:  # no suffix, so no difference
            return Placement(0, nearest=0, distance=0.0)
        self.tests += 1
        by_prefix = None
        if own:
            assert row is not None, "candidates that share their label are counted"
            found = [self._compare(s, row) for s in own]
            near = self._nearest(found)
            if rare:
                return self._join(c, near)
            while near.evidence < self._threshold:
                by_prefix = self._prefixes.distinct(c, near.state)
                if by_prefix is None:
                    return self._join(c, near)
                found = [other for other in found if other.state != near.state]
                if not found:
                    break
                near = self._nearest(found)
        elsewhere = self._elsewhere(c, label)
        if elsewhere is not None and (rare or self._favours(c, elsewhere)):
            return self._join(c, elsewhere)  # and continues from there
        if by_prefix is not None and near.evidence < self._threshold:
            return self._prefixes.placement(c, by_prefix)._replace(target=self._add_state(c))
        return self._promote(c, near)

    def _favours(self, c: int, near: _StateComparison) -> bool:
        """Return whether the evidence is in favour of joining a state of another label."""
        return near.evidence < self._threshold and near.balance < 0 and not self._prefixes.distinct(c, near.state)

    def _elsewhere(self, c: int, label: int) -> _StateComparison | None:
        """Return the nearest state of another label, or None."""
        others = [s for s, other in enumerate(self.label_of) if other != label]
        labels = list(dict.fromkeys(self.label_of[s] for s in others))
        if not others:
            return None
        self._count_states()
        found: list[_StateComparison] = []
        for first in range(0, len(labels), self._at_once):
            rows = self._rows_from(c, labels[first : first + self._at_once])
            found += [self._compare(s, rows[self.label_of[s]]) for s in others if self.label_of[s] in rows]
            if len(labels) > self._at_once:  # keep no rows of any but the nearest state
                found = [compared._replace(row=NO_ROW) for compared in found]
        near = self._nearest(sorted(found, key=lambda compared: compared.state))
        label = self.label_of[near.state]
        return near if near.row is not NO_ROW else near._replace(row=self._rows_from(c, [label])[label])

    def _rows_from(self, c: int, labels: list[int]) -> dict[int, Int64]:
        """Count the outcomes of candidate c from each of some labels."""
        query = OutcomeCountsFrom(self._walk, self._followed, c, np.array(labels, np.int32))
        rows = self._engine.run_query(query)
        return dict(zip(labels, rows, strict=True))

    def _count_states(self) -> None:
        """Count the states that were left out, because their founders are alone in their labels."""
        left = [s for s in range(len(self._founders)) if s not in self._states]
        self._refuse_if_too_large(len(self._founders))
        for first in range(0, len(left), self._at_once):
            part = left[first : first + self._at_once]
            row_of = row_numbers(np.array([self._founders[s] for s in part]), len(self._labels))
            query = OutcomeCounts(self._walk, self._followed, self._labels, row_of)
            rows = self._engine.run_query(query)
            self._states.update(zip(part, rows, strict=True))

    def _refuse_if_too_large(self, states: int) -> None:
        """Refuse more rows of states than fit into memory."""
        cells = self._followed.cells
        table = f"of {states:,} states and {cells:,} outcomes"
        _refuse_if_over(max(SMALL, self._memory // 2), 8 * states * cells, table)

    def _compare(self, s: int, row: Int64) -> _StateComparison:
        if self._tables is None:
            self._tables = self._reference.tables_from(self._t)
        theirs = self._states[s]
        evidence, balance, most_distinct = evidence_kernels.evidence_of_rows(row, theirs, self._tables, EQUAL)
        return _StateComparison(s, evidence, balance, most_distinct, row)

    def _nearest(self, found: list[_StateComparison]) -> _StateComparison:
        """Return the state with most evidence for a merge among those not distinct; else the least distinct."""
        possible = [f for f in found if f.evidence < self._threshold]
        if not possible:
            return min(found, key=lambda f: f.evidence)
        least = min(f.balance for f in possible)
        return next(f for f in possible if f.balance <= least + EQUAL_BALANCE)  # the first of equals

    def _promote_label(self, c: int, founded: Placement | None) -> Placement:
        """Promote the first candidate of a label, for the reason that AdaCT-H had."""
        why = Placement(self._add_state(c), promoted=True)
        if founded is None or founded.nearest is None:
            return why
        near = self._offset + founded.nearest  # the label that AdaCT-H compared it with
        nearest = self.label_of.index(near) if near in self.label_of else None
        return founded._replace(target=why.target, nearest=nearest)

    def _promote(self, c: int, near: _StateComparison) -> Placement:
        placement = self._placement(near)  # before the state's row changes
        return placement._replace(target=self._add_state(c), promoted=True)

    def _join(self, c: int, near: _StateComparison) -> Placement:
        placement = self._placement(near)
        self._states[near.state] += near.row
        return placement._replace(forced=near.evidence >= self._threshold)

    def _add_state(self, c: int) -> int:
        s, row = len(self._founders), self._row_of(c)
        if row is not None:
            self._refuse_if_too_large(len(self._states) + 1)
            self._states[s] = row.copy()  # without the other rows that were counted with it
        self._founders.append(c)
        self.label_of.append(int(self._labels[c]))
        return s

    def _placement(self, near: _StateComparison) -> Placement:
        witness = None
        if near.most_distinct >= 0:
            first, theirs = self._followed.first, self._states[near.state]
            witness = self._reference.witness(first + near.most_distinct, near.row, theirs, first)
        return Placement(
            near.state, nearest=near.state, distance=near.evidence, threshold=self._threshold, witness=witness
        )


class _Refinement:
    """One run of the refinement over the layers."""

    def __init__(
        self, learned: Learned, log: Outline, reference: ReferenceAutomaton, engine: Engine, memory: int
    ) -> None:
        self._learned, self._log, self._reference, self._engine = learned, log, reference, engine
        self._memory = memory
        self._tau = reference.completed()
        after = np.ascontiguousarray(self._tau[:, reference.symbol_of_letter], np.uint32)
        self._walk = AutomatonWalk(after, reference.cell_of)
        self._founded = {(d.layer, d.placement.target): d.placement for d in learned.decisions if d.placement.promoted}
        self._decisions: list[Decision] = []
        self._candidates: list[int] = []
        self._split, self._tests = 0.0, 0
        self._steps = min(log.horizon, reference.steps)  # length up to which every layer was compared

    def run(self, progress: Callable[[int, int], None], kept: CheckpointStage) -> Learned:
        """Refine layer after layer, resuming from a checkpoint."""
        first = self._learned.rdp
        join, label_of, n_states = np.zeros(1, np.int64), np.zeros(1, np.int32), 0
        tau: list[Int64] = []
        counts: list[Int64] = []
        for t in range(self._log.horizon + 1):
            n_states += len(label_of)
            self._refuse_if_too_large(n_states)
            counts.append(self._engine.letters(t, join, len(label_of)))
            candidates = Candidates.of(counts[t], self._reference.symbol_of_letter, len(first.symbols))
            labels = self._tau[label_of[candidates.states], candidates.symbols]  # [C]
            layer = LayerRecord.load(kept, t, candidates, first.alphabet)
            if layer is None:
                layer = self._merge(t + 1, candidates, join, labels)
                layer.save(kept, t)
            else:
                self._engine.advance(t, join, candidates.of_letter, len(candidates.sizes), NoQuery())
            with kept.validating(t):
                self._note(layer)
            tau.append(np.full((len(label_of), len(first.symbols)), UNSEEN, np.int64))
            join, label_of = layer.join(candidates), labels[layer.founders(candidates)]
            tau[t][candidates.states, candidates.symbols] = join
            progress(t + 1, self._log.horizon + 1)
        return replace(
            self._learned,
            rdp=RDP.of_layers(first.alphabet, first.letters, first.symbols, tau, counts),
            decisions=tuple(self._decisions),
            candidates=tuple(self._candidates),
            forced_share=sum(d.n for d in self._decisions if d.placement.forced) / self._suffixes(),
            promise=replace(
                self._learned.promise, second_split=self._split, second_tests=self._tests, second_steps=self._limit()
            ),
            second_look=True,
        )

    def _limit(self) -> int | None:
        """Return the number of steps beyond which nothing was compared; None: there are no more."""
        return self._steps if self._steps < self._log.horizon else None

    def _refuse_if_too_large(self, n_states: int) -> None:
        """Refuse more states, beside those of the first automaton, than fit into memory."""
        letters, both = len(self._log.letters), self._learned.rdp.n_states + n_states
        table = f"of {n_states:,} states so far and {letters:,} distinct steps"
        _refuse_if_over(max(SMALL, self._memory), refinement_bytes(both, letters), table)

    def _suffixes(self) -> int:
        """Return the number of suffixes in layers 1 to H, of which `forced_share` is a share."""
        return self._log.total * max(1, self._log.horizon)

    def _merge(self, t: int, candidates: Candidates, join: Int64, labels: Int32) -> LayerRecord:
        """Place the candidates of layer t, given their labels [C]."""
        n, offset = len(candidates.sizes), int(self._reference.offsets[t])
        rare = candidates.sizes < self._learned.settings.cut * candidates.sizes.sum()  # [C]
        row_of = self._count(t, candidates, join, labels)
        settings = self._learned.settings
        delta = settings.of_dependent(settings.delta_at(self._log.horizon, n))
        tests = PrefixTests(self._engine, self._log, t, candidates.sizes, delta)
        layer = _LayerRefiner(self._engine, self._walk, self._reference, t, labels, row_of, tests, delta, self._memory)
        decisions = []
        for c in candidates.order.tolist():
            placement = layer.place(c, self._founded.get((t, int(labels[c]) - offset)), bool(rare[c]))
            source, symbol = int(candidates.states[c]), int(candidates.symbols[c])
            decisions.append(Decision(t, source, symbol, int(candidates.sizes[c]), placement))
        return LayerRecord(tuple(decisions), {"tests": [str(layer.tests)], "steps": [str(tests.steps)]})

    def _count(self, t: int, candidates: Candidates, join: Int64, labels: Int32) -> Callable[[int], Int64 | None]:
        """Let the episodes take the step to layer t; return the outcomes of candidates that share their label.

        Others are compared only where a candidate is distinct from its label, or too rare to become a state. So layers
        in which each label has one candidate, such as those of a single long episode, cost no counting. Rows that do
        not fit into memory are counted in parts.
        """
        n, followed, times = len(labels), FollowedSteps.of(self._reference, t), Counter(labels.tolist())
        shared = np.array([c for c in candidates.order.tolist() if times[labels[c]] > 1], np.int64)

        def query(counted: Int64) -> Query[Int64]:
            return OutcomeCounts(self._walk, followed, labels, row_numbers(counted, n))

        counts = len(shared) > 0 and t <= self._log.horizon
        most = followed.rows_at_once(self._memory, self._engine.answers)
        at_once: Query[Any] = query(shared) if counts and len(shared) <= most else NoQuery()
        met = self._engine.advance(t - 1, join, candidates.of_letter, n, at_once)
        if met is not None:
            return dict(zip(shared.tolist(), met, strict=True)).get
        if not counts:
            return lambda c: None
        rows = RowsInParts(shared, most, lambda counted: self._engine.run_query(query(counted)))
        return lambda c: rows(c) if times[labels[c]] > 1 else None

    def _note(self, layer: LayerRecord) -> None:
        """Append the results of a layer."""
        (tests,), n = [int(n) for n in layer.figures["tests"]], len(layer.decisions)
        if not 0 <= tests <= n:
            raise ValueError("its number of tests is impossible")
        (steps,), length = [int(n) for n in layer.figures["steps"]], self._log.horizon - len(self._candidates)
        if not 0 <= steps <= length:
            raise ValueError("its length of prefixes is impossible")
        if steps < length:
            self._steps = min(self._steps, steps)
        self._candidates.append(n)
        self._decisions += layer.decisions
        self._tests += tests
        self._split += tests * self._learned.settings.delta_at(self._log.horizon, n)
