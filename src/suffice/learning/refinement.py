"""A second look at what was merged, along the automaton itself.

AdaCT-H compares futures by how often an event happens at all; what matters to a decision is often plain only where it
is made: at the junction of a maze, whether north was right. So let the histories that were merged walk on along the
automaton, and compare, at each state they meet and for each action taken there, what it brought. Actions are given, so
their randomness is no noise; where an outcome is certain there is nothing to compare, and nothing to pay for.

Layer by layer as in AdaCT-H: a candidate joins a state of its own *label*, the state of the first automaton that its
histories lead to, unless it is distinct from all of them. One that is distinct joins a state of another label if the
evidence speaks for that, and walks on from there; else it becomes a state.

The evidence is a product of e-values (`kernels.folding`), so no union bound over events is paid: for labels fixed
before the data, with outcomes that depend on the past through the label alone, a false split has probability at most δ
per candidate. So it is in a regular decision process with the right labels. Where an episode's rewards depend on each
other beyond the state (a patient's constitution, seen in no observation), one chance imbalance counts at every step,
and false splits are more frequent; docs/decisions/0011 has the figures. The first look needs no such assumption.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.episodes import Outline, weights
from suffice.data.log import Log
from suffice.data.queries import EpisodesView, NoQuery
from suffice.engines.engine import Engine, running
from suffice.errors import SettingsError
from suffice.evidence.events import InState, New, OutcomeAt, Shown, Witness
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.kernels import evidence as evidence_kernels
from suffice.kernels import walking
from suffice.kernels.array_types import Int32, Int64
from suffice.learning.adact_h import Learned
from suffice.learning.merging import Candidates, Decision, KeptLayer, Placement

EQUAL = np.array([0.5, 0.9, 0.99])  # how likely a table is to be equal beforehand: many may differ, or few
EQUAL_BALANCE = 1e-9  # balances closer than this are equal


def refine(
    learned: Learned,
    episodes: Log,
    progress: Callable[[int, int], None] = lambda done, of: None,
    kept: CheckpointStage = NO_CHECKPOINT,
) -> Learned:
    """The automaton after a second look, from the episodes that the first was learned from.

    Needs 4 bytes an episode, and for each candidate of a layer twice a count of every step that the states have seen;
    so many threads as there is room for.

    >>> suffice.refine(suffice.adact_h(episodes, suffice.Settings(bound=suffice.PAPER)), episodes).rdp
    <RDP: 11 states in layers 1 1 2 2 2 2 1>
    """
    if int(learned.rdp.counts[0].sum()) != episodes.total or not np.array_equal(learned.rdp.letters, episodes.letters):
        raise SettingsError("a second look needs the episodes that the automaton was learned from")
    reference = _Reference(learned.rdp)
    memory, tables = learned.settings.memory, 16 * max(learned.candidates) * reference.cells  # of each thread
    needed = 4 * episodes.n + tables
    if needed > memory:  # to leave it out silently would make results depend on the machine
        raise SettingsError(
            f"a second look at this log needs about {needed / 1e9:.1f} GB, more than the "
            f"{memory / 1e9:.1f} GB it may take; raise --memory, or say --no-second-look"
        )
    with running(episodes, min(learned.settings.threads, (memory - 4 * episodes.n) // tables)) as engine:
        return _SecondLook(learned, episodes.outline, reference, engine).run(progress, kept)


class _Reference:
    """The first automaton: where to walk, and what is counted there.

    A *cell* counts a letter in a state, a *table* is the cells of a state and an action; its last cell counts letters
    that the state had never seen with the action. What is met with actions it had never seen is nowhere: a cell of no
    table, after all others.
    """

    def __init__(self, rdp: RDP) -> None:
        self.rdp = rdp
        self.symbol_of_letter = rdp.symbol_of_letter()
        action = rdp.letters[:, 0]
        states, letters = np.nonzero(rdp.counts)
        seen = np.zeros((rdp.n_states, rdp.alphabet.n_actions), bool)
        seen[states, action[letters]] = True
        table_of = np.cumsum(seen).reshape(seen.shape) - 1  # [Q, A]
        table = table_of[states, action[letters]]  # ascending: letters are ordered by action
        sizes = np.bincount(table, minlength=int(seen.sum())) + 1
        self.begin = np.concatenate([[0], np.cumsum(sizes)])  # [G+1] the first cell of each table
        self.cells = int(self.begin[-1]) + 1
        other = np.where(seen, self.begin[table_of + 1] - 1, self.cells - 1)  # [Q, A]
        self.cell_of = np.ascontiguousarray(other[:, action], np.uint32)  # [Q, X]
        self.cell_of[states, letters] = np.arange(len(states)) + table  # each table before has one more cell
        self._tables = np.argwhere(seen)  # [G, 2] state and action
        self._letter_of = np.full(self.cells, -1)
        self._letter_of[self.cell_of[states, letters]] = letters

    def completed(self) -> Int32:
        """[Q, Y] where to walk on, also where no history went: to what the symbol usually leads to, or any state."""
        rdp = self.rdp
        like, offsets = rdp.most_like(), rdp.offsets()
        largest = [
            offsets[t] + rdp.counts[offsets[t] : offsets[t + 1]].sum(axis=1).argmax() for t in range(1, rdp.horizon + 2)
        ]
        like = np.where(like == UNSEEN, np.array(largest)[:, None], like)
        layer = np.minimum(rdp.layer_of(), rdp.horizon)  # nothing follows the final state
        return np.where(rdp.tau == UNSEEN, like[layer], rdp.tau).astype(np.int32)

    def first_table(self, layer: int) -> int:
        """Of the states of a layer; histories of that layer never meet those before."""
        return int(np.searchsorted(self._tables[:, 0], self.rdp.offsets()[layer]))

    def witness(self, cell: int, one: Int64, other: Int64) -> Witness:
        """What a cell says about two rows of counts."""
        rdp = self.rdp
        table = int(np.searchsorted(self.begin, cell, side="right")) - 1
        state, action = (int(code) for code in self._tables[table])
        letter, layer = int(self._letter_of[cell]), int(rdp.layer_of()[state])
        what = Shown(*rdp.letters[letter].tolist()) if letter >= 0 else New(action)
        k1, k2 = int(one[cell]), int(other[cell])
        n1, n2 = (int(row[self.begin[table] : self.begin[table + 1]].sum()) for row in (one, other))
        place = InState(layer, state - int(rdp.offsets()[layer]))
        return Witness(OutcomeAt(place, what), k1, n1, k2, n2)


class _AutomatonWalk(NamedTuple):
    """The first automaton, for queries that let episodes walk on along it."""

    after: NDArray[np.uint32]  # [Q, X] the next state
    cell_of: NDArray[np.uint32]  # [Q, X]
    cells: int  # D


class _Met(NamedTuple):
    """[C, D] what the candidates meet from step t on, each from its label."""

    walk: _AutomatonWalk
    t: int
    labels: Int32  # [C]

    def __call__(self, view: EpisodesView) -> Int64:
        rows = np.zeros((len(self.labels), self.walk.cells), np.int64)
        met = view.group, view.episodes.word[self.t - view.since :], weights(view.episodes), rows
        walking.meet(self.walk.after, self.walk.cell_of, self.labels, *met)
        return rows

    def combine(self, answers: list[Int64]) -> Int64:
        return _into_first(answers)


class _MetFrom(NamedTuple):
    """[L, D] what the episodes of one candidate would meet from each of some other labels."""

    walk: _AutomatonWalk
    t: int
    candidate: int
    labels: Int32  # [L]

    def __call__(self, view: EpisodesView) -> Int64:
        rows = np.zeros((len(self.labels), self.walk.cells), np.int64)
        met = view.group, view.episodes.word[self.t - view.since :], weights(view.episodes), rows
        walking.meet_from(self.walk.after, self.walk.cell_of, self.labels, self.candidate, *met)
        return rows

    def combine(self, answers: list[Int64]) -> Int64:
        return _into_first(answers)


def _into_first(tables: list[Int64]) -> Int64:
    """Their sum, without room for one more."""
    for table in tables[1:]:
        tables[0] += table
    return tables[0]


class _StateComparison(NamedTuple):
    """How a candidate compares with a state."""

    state: int
    evidence: float  # ln E that they differ
    balance: float  # Σ ln e: below 0 the evidence speaks for one state
    telling: int  # the cell that differs most, or -1
    row: Int64  # what the candidate was compared by


class _LayerRefiner:
    """Places the candidates of a layer in the order given."""

    def __init__(
        self,
        asker: Engine,
        walk: _AutomatonWalk,
        reference: _Reference,
        t: int,
        labels: Int32,
        rows: Int64,
        delta: float,
    ) -> None:
        self._asker, self._walk, self._reference, self._t = asker, walk, reference, t
        self._threshold = -math.log(delta)
        self._tables, self._offset = reference.begin[reference.first_table(t) :], int(reference.rdp.offsets()[t])
        self._rows, self._labels = rows, labels.tolist()
        self._states: list[Int64] = []  # rows
        self.label_of: list[int] = []  # by state
        self.tests = 0

    def place(self, c: int, founded: Placement | None, rare: bool) -> Placement:
        """Promote candidate c or let it join; `founded` is why the first look set its label apart.

        One that is too rare to found a state (AdaCT-H-A) joins the nearest, if there is one.
        """
        label = self._labels[c]
        own = [s for s, other in enumerate(self.label_of) if other == label]
        if not own and not (rare and self._states):
            return self._keep(c, founded)
        if len(self._tables) < 2:  # nothing follows, so nothing differs
            return self._join(c, _StateComparison(0, 0.0, 0.0, -1, self._rows[c]))
        self.tests += 1
        if own:
            near = self._nearest([self._compare(s, self._rows[c]) for s in own])
            if rare or near.evidence < self._threshold:
                return self._join(c, near)
        elsewhere = self._elsewhere(c, label)
        if elsewhere is not None and (rare or (elsewhere.evidence < self._threshold and elsewhere.balance < 0)):
            return self._join(c, elsewhere)  # and walks on from there
        return self._promote(c, near)

    def _elsewhere(self, c: int, label: int) -> _StateComparison | None:
        """The nearest state of another label, if there is one."""
        others = [s for s, other in enumerate(self.label_of) if other != label]
        labels = list(dict.fromkeys(self.label_of[s] for s in others))
        if not others:
            return None
        found = self._asker.run_query(_MetFrom(self._walk, self._t, c, np.array(labels, np.int32)))
        rows = dict(zip(labels, found, strict=True))
        return self._nearest([self._compare(s, rows[self.label_of[s]]) for s in others])

    def _compare(self, s: int, row: Int64) -> _StateComparison:
        evidence, balance, telling = evidence_kernels.fold(row, self._states[s], self._tables, EQUAL)
        return _StateComparison(s, evidence, balance, telling, row)

    def _nearest(self, found: list[_StateComparison]) -> _StateComparison:
        """Of the states it is not distinct from the one that most speaks for; if there are none, the least distinct."""
        possible = [f for f in found if f.evidence < self._threshold]
        if not possible:
            return min(found, key=lambda f: f.evidence)
        least = min(f.balance for f in possible)
        return next(f for f in possible if f.balance <= least + EQUAL_BALANCE)  # the oldest of equals

    def _keep(self, c: int, founded: Placement | None) -> Placement:
        """The first of its label."""
        why = Placement(self._found(c), promoted=True)
        if founded is None or founded.nearest is None:
            return why
        near = self._offset + founded.nearest  # the label that the first look compared it with
        nearest = self.label_of.index(near) if near in self.label_of else None
        return founded._replace(target=why.target, nearest=nearest)

    def _promote(self, c: int, near: _StateComparison) -> Placement:
        placement = self._placement(near)  # before the state's row changes
        return placement._replace(target=self._found(c), promoted=True)

    def _join(self, c: int, near: _StateComparison) -> Placement:
        placement = self._placement(near)
        self._states[near.state] += near.row
        return placement._replace(forced=near.evidence >= self._threshold)

    def _found(self, c: int) -> int:
        self._states.append(self._rows[c])
        self.label_of.append(self._labels[c])
        return len(self._states) - 1

    def _placement(self, near: _StateComparison) -> Placement:
        told = near.telling >= 0
        witness = self._reference.witness(near.telling, near.row, self._states[near.state]) if told else None
        threshold = self._threshold if len(self._tables) > 1 else None
        return Placement(near.state, nearest=near.state, distance=near.evidence, threshold=threshold, witness=witness)


class _SecondLook:
    """One run over the layers."""

    def __init__(self, learned: Learned, log: Outline, reference: _Reference, engine: Engine) -> None:
        self._learned, self._log, self._reference, self._engine = learned, log, reference, engine
        self._tau = reference.completed()
        after = np.ascontiguousarray(self._tau[:, reference.symbol_of_letter], np.uint32)
        self._walk = _AutomatonWalk(after, reference.cell_of, reference.cells)
        self._founded = {(d.layer, d.placement.target): d.placement for d in learned.decisions if d.placement.promoted}
        self._decisions: list[Decision] = []
        self._candidates: list[int] = []
        self._split, self._tests = 0.0, 0

    def run(self, progress: Callable[[int, int], None], kept: CheckpointStage) -> Learned:
        first = self._learned.rdp
        join, label_of = np.zeros(1, np.int64), np.zeros(1, np.int32)
        tau: list[Int64] = []
        counts: list[Int64] = []
        for t in range(self._log.horizon + 1):
            counts.append(self._engine.letters(t, join, len(label_of)))
            candidates = Candidates.of(counts[t], self._reference.symbol_of_letter, len(first.symbols))
            labels = self._tau[label_of[candidates.states], candidates.symbols]  # [C]
            layer = KeptLayer.recall(kept, t, candidates, first.alphabet)
            if layer is None:
                layer = self._merge(t + 1, candidates, join, labels)
                layer.keep(kept, t)
            else:
                self._engine.advance(t, join, candidates.of_letter, len(candidates.sizes), NoQuery())
            with kept.doubting(t):
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
            forced_share=sum(d.n for d in self._decisions if d.placement.forced) / self._decided(),
            promise=replace(self._learned.promise, second_split=self._split, second_tests=self._tests),
            second_look=True,
        )

    def _decided(self) -> int:
        """Of all candidates' data, those of layers in which there is something to decide."""
        return self._log.total * max(1, self._log.horizon)

    def _merge(self, t: int, candidates: Candidates, join: Int64, labels: Int32) -> KeptLayer:
        """What becomes of each candidate in layer t, given its label."""
        n, offset, total = len(candidates.sizes), int(self._learned.rdp.offsets()[t]), int(candidates.sizes.sum())
        query = _Met(self._walk, t, labels)
        met = self._engine.advance(t - 1, join, candidates.of_letter, n, query)
        rows = np.zeros((n, self._walk.cells), np.int64) if met is None else met
        delta = self._learned.settings.delta_at(self._log.horizon, n)
        layer = _LayerRefiner(self._engine, self._walk, self._reference, t, labels, rows, delta)
        decisions = []
        for c in candidates.order.tolist():
            rare = candidates.sizes[c] < self._learned.settings.cut * total
            placement = layer.place(c, self._founded.get((t, int(labels[c]) - offset)), bool(rare))
            source, symbol = int(candidates.states[c]), int(candidates.symbols[c])
            decisions.append(Decision(t, source, symbol, int(candidates.sizes[c]), placement))
        return KeptLayer(tuple(decisions), {"tests": [str(layer.tests)]})

    def _note(self, layer: KeptLayer) -> None:
        (tests,), n = [int(n) for n in layer.figures["tests"]], len(layer.decisions)
        if not 0 <= tests <= n:
            raise ValueError("it counts tests that there were not")
        self._candidates.append(n)
        self._decisions += layer.decisions
        self._tests += tests
        self._split += tests * self._learned.settings.delta_at(self._log.horizon, n)
