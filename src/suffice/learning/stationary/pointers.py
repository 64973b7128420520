"""One round: a pointer for each episode walks along known transitions and stops at the first unknown one.

The transitions at which pointers wait are the candidates. The largest is compared with every state: with what followed
the first visit of each episode there. It joins the nearest state it is not distinct from, or becomes one, and its
pointers walk on. When none waits any more, every transition is looked at once again, with all the episodes that took
it: one that proves to be distinct from its state is kept apart from it in the next round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import UNSEEN
from suffice.evidence.events import Witness
from suffice.kernels import evidence as evidence_kernels
from suffice.kernels import stationary
from suffice.kernels.array_types import Int32, Int64
from suffice.kernels.evidence import DEPTH
from suffice.learning.borderline import CLOSE
from suffice.learning.merging import Verdict
from suffice.learning.refinement import EQUAL, TIE
from suffice.learning.stationary.labels import Labelling, Steps, grouped

Edge = tuple[int, int]  # state and symbol

START, END = 0, 1
FIRST, MOST = 1 << 11, 1 << 16  # episodes of a candidate that are compared first, and at most
VISITORS = 1 << 17  # episodes, or up to twice as many, whose visits are a state's sample
FRESH = 1.1  # times as many episodes as it was compared by let a transition be looked at again
FEWEST = 5  # episodes of a candidate that is compared; others join what is most alike, until they are settled
SPECIAL = 2  # these two states are compared with nothing


class Choice(NamedTuple):
    """What became of a candidate."""

    state: int
    symbol: int
    n: int
    verdict: Verdict


class Outcome(NamedTuple):
    """What a round found."""

    tau: Int32  # [Q, Y] START and END first
    choices: list[Choice]
    tests: list[float]  # δ of each candidate that was compared
    depths: list[int]  # by state that was told apart: how far one had to look, DEPTH for along the automaton
    apart: dict[Edge, Edge]  # transitions that proved distinct from the state they led to, and that state's founder


class _Near(NamedTuple):
    """How a candidate compares with a state."""

    state: int
    evidence: float  # ln E that they differ
    balance: float
    telling: int  # the cell that differs most, or -1
    split: int  # and how rows were split there


class _Scratch:
    """Tables that the comparisons of a round fill and clear in turn, so that none of them allocates its own."""

    def __init__(self, size: int) -> None:
        self.mine = np.zeros((2, size), np.int64)  # what the episodes of a comparison met, by side
        self.twice = np.zeros(size, np.int64)  # what both rows of a comparison count
        self._owner: _Comparison | None = None  # whose `mine` is
        self._cells = np.zeros(0, np.int64)  # in which it has counts

    def is_of(self, comparison: _Comparison) -> bool:
        """Whether `mine` still holds what a comparison filled in."""
        return self._owner is comparison

    def clear(self) -> None:
        """Empty `mine`."""
        self.mine[:, self._cells] = 0

    def keep(self, comparison: _Comparison, cells: Int64) -> None:
        """Note whose `mine` is now, and in which cells it has counts."""
        self._owner, self._cells = comparison, cells


@dataclass(frozen=True, slots=True, eq=False)
class _Samples:
    """What the states of a round have seen so far, as comparisons need it."""

    steps: Steps
    labelling: Labelling
    path: Int32  # [N, H+1] the state of each episode at each step
    label: Int64  # [Q] the label of each state
    rows: Int64  # [at least Q, 2, cells] what followed the first visit of each episode, by side
    stride: int  # every so many episodes' visits are a state's sample
    strict: bool
    scratch: _Scratch


class Round:
    """Pointers, the states found so far, and what each has seen."""

    def __init__(
        self,
        steps: Steps,
        labelling: Labelling,
        level: Callable[[int], float],
        least: float,
        apart: Mapping[Edge, Edge],
        strict: bool = False,
    ) -> None:
        """`level(i)` is δ of the i-th candidate; one of fewer than `least` episodes founds no state.

        If `strict`, what is compared is what the proof of docs/stationary.md covers.
        """
        self._strict = strict
        self._stride = max(1, len(steps.word) // VISITORS)
        self._steps, self._labelling, self._level, self._least, self._apart = steps, labelling, level, least, apart
        n, n_symbols = len(steps.word), len(steps.symbols)
        self._path, self._at = np.zeros(steps.word.shape, np.int32), np.zeros(n, np.int64)
        self._tau = np.full((SPECIAL, n_symbols), UNSEEN, np.int32)
        self._tau[:, steps.ends()] = END
        self._label = np.zeros(SPECIAL, np.int64)
        self._rows = np.zeros((SPECIAL, 2, labelling.size), np.int64)  # by side
        self._scratch = _Scratch(labelling.size)
        self._founders: list[Edge] = [(UNSEEN, UNSEEN)] * SPECIAL  # by edges of this round
        self._waiting: dict[int, list[Int64]] = {}  # candidates: blocks of episodes
        self._sizes: dict[int, int] = {}
        self._compared: dict[Edge, int] = {}  # by how many episodes
        self._choices: list[Choice] = []
        self._tests: list[float] = []
        self._depths: list[int] = []

    def run(self, again: bool = True) -> Outcome:
        """Until no pointer waits; if wanted, look at every transition again."""
        self._walk(np.arange(len(self._steps.word)))
        while self._sizes:
            key = min(self._sizes, key=lambda k: (-self._sizes[k], k))  # the largest; ties by state and symbol
            episodes = np.sort(np.concatenate(self._waiting.pop(key)))
            n = self._sizes.pop(key)
            state, symbol = divmod(key, len(self._steps.symbols))
            verdict = self._place(state, symbol, episodes, n)
            self._compared[state, symbol] = n
            self._tau[state, symbol] = verdict.target
            self._choices.append(Choice(state, symbol, n, verdict))
            self._walk(episodes)
        return Outcome(self._tau, self._choices, self._tests, self._depths, self._look_again() if again else {})

    def _walk(self, episodes: Int64) -> None:
        """Let pointers walk on, and note where they wait."""
        steps, labels = self._steps, self._labelling.labels
        stationary.follow(
            self._tau, steps.symbol_of, steps.word, steps.weight, episodes, self._path, self._at, SPECIAL,
            self._stride, labels, self._label, self._rows,
        )  # fmt: skip
        waiting = episodes[self._at[episodes] < steps.horizon]
        at = self._at[waiting]
        keys = self._path[waiting, at].astype(np.int64) * len(steps.symbols) + steps.symbol_of[steps.word[waiting, at]]
        for key, places in grouped(keys):
            block = waiting[places]
            self._waiting.setdefault(key, []).append(block)
            self._sizes[key] = self._sizes.get(key, 0) + steps.total(block)

    def _place(self, state: int, symbol: int, episodes: Int64, n: int) -> Verdict:
        """Promote a candidate or let it join."""
        edge = (int(self._label[state]), symbol)
        kept_from = self._apart.get(edge)
        label = int(self._labelling.reference[edge])
        others = [s for s in range(SPECIAL, len(self._tau)) if self._named(s) != kept_from or kept_from is None]
        if not others:
            return Verdict(self._found((state, symbol), label), promoted=True)
        start = self._at[episodes] + 1
        if n < FEWEST:
            return Verdict(self._compared_by(episodes, start).likest(others))
        delta = self._level(len(self._tests))
        self._tests.append(delta)
        threshold = -math.log(delta)
        if len(episodes) > FIRST:  # some first, and all for what these leave open; both looks share δ
            threshold += math.log(2)
            some = slice(0, None, -(-len(episodes) // FIRST))
            others = self._compared_by(episodes[some], start[some]).undecided(others, threshold)
        most = slice(0, None, -(-len(episodes) // MOST))
        compare = self._compared_by(episodes[most], start[most])
        others = compare.worth_comparing(others, threshold) if len(episodes) <= FIRST else others
        near = _nearest([compare.with_state(s) for s in others], threshold)
        alone = near.evidence >= threshold
        told = alone or near.evidence >= CLOSE * threshold
        why = compare.witness(near) if told else None
        verdict = Verdict(near.state, False, alone, near.state, near.evidence, threshold, witness=why)
        if not alone or n < self._least:
            return verdict
        self._depths.append(self._labelling.depth_needed(*compare.rows(near), threshold))
        return verdict._replace(target=self._found((state, symbol), label), promoted=True, forced=False)

    def _compared_by(self, episodes: Int64, start: Int64, joined: bool = False) -> _Comparison:
        """Episodes from a step of each on, to be compared with states; `joined`: they are among those of the states."""
        samples = _Samples(
            self._steps, self._labelling, self._path, self._label, self._rows, self._stride, self._strict, self._scratch
        )
        return _Comparison(samples, episodes, start, joined)

    def _named(self, state: int) -> Edge:
        """The founder of a state as the last round would call it."""
        source, symbol = self._founders[state]
        return int(self._label[source]), symbol

    def _found(self, founder: Edge, label: int) -> int:
        """A new state."""
        self._tau = np.concatenate([self._tau, np.full((1, self._tau.shape[1]), UNSEEN, np.int32)])
        self._tau[-1, self._steps.ends()] = END
        self._label = np.append(self._label, label)
        if len(self._tau) > len(self._rows):  # room for as many again
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._founders.append(founder)
        return len(self._tau) - 1

    def _look_again(self) -> dict[Edge, Edge]:
        """Every transition by itself, with all the episodes that took it."""
        apart: dict[Edge, Edge] = {}
        for state, symbol, visitors, steps in self._steps.transitions(self._path):
            target = int(self._tau[state, symbol])
            if target < SPECIAL or self._founders[target] == (state, symbol):
                continue
            episodes, first = np.unique(visitors, return_index=True)
            if self._steps.total(episodes) <= FRESH * self._compared.get((state, symbol), 0):
                continue
            self._tests.append(self._level(len(self._tests)))
            threshold = -math.log(self._tests[-1])
            compare = self._compared_by(episodes, steps[first] + 1, joined=True)
            if compare.with_state(target).evidence >= threshold:
                apart[state, symbol] = self._founders[target]
        return apart


class _Comparison:
    """Episodes from a step of each on, against states."""

    def __init__(self, samples: _Samples, episodes: Int64, start: Int64, joined: bool) -> None:
        self._states, self._joined = samples, joined
        # every so many of them would have kernels compiled anew
        self._episodes, self._start = np.ascontiguousarray(episodes), np.ascontiguousarray(start)
        self._label, self._tables = UNSEEN, (np.zeros(0, np.int64), np.zeros(0, np.int64))  # of what was met last

    def worth_comparing(self, states: list[int], threshold: float) -> list[int]:
        """Without those that the tree alone tells apart; if it tells all apart, the one it does so least."""
        if self._states.strict:
            return states
        enough = threshold + math.log(2 * (DEPTH + 2))  # it is one of as many ways to deal out, and to label
        found = self._screened(states, enough)
        left = [s for s, evidence in zip(states, found.tolist(), strict=True) if evidence < enough]
        return left or [states[int(found.argmin())]]

    def likest(self, states: list[int]) -> int:
        """The state that the tree tells it apart from least."""
        found = self._screened(states, math.inf)
        return states[int(np.argmax(found <= found.min() + TIE))]  # the oldest of equals

    def _screened(self, states: list[int], enough: float) -> NDArray[np.float64]:
        r, labels = self._states, self._states.labelling.labels
        rows, (tables, _) = self._met(0)
        found = evidence_kernels.screen(
            rows.sum(axis=0), tables, r.labelling.tree_tables.begin, r.labelling.tree_group, np.array(states), enough,
            r.rows, r.path, self._episodes, self._start, self._joined, r.stride, r.steps.word, r.steps.weight,
            r.steps.symbol_of, labels.tree, labels.tree_cells, EQUAL,
        )  # fmt: skip
        return np.asarray(found)

    def undecided(self, states: list[int], threshold: float) -> list[int]:
        """Those it is not distinct from; if it is from all, the least distinct."""
        found = [self.with_state(s) for s in self.worth_comparing(states, threshold)]
        left = [near.state for near in found if near.evidence < threshold]
        return left or [min(found, key=lambda near: near.evidence).state]

    def with_state(self, state: int) -> _Near:
        """How they compare."""
        r, made = self._states, self._states.labelling
        mine, touched = self._met(int(r.label[state]))
        self._count_twice(state, 1)
        found = evidence_kernels.weigh(
            mine, r.rows[state], r.scratch.twice, touched[0], made.tree_tables.begin, made.tree_group, touched[1],
            made.tables.begin, made.group, DEPTH, r.strict, EQUAL,
        )  # fmt: skip
        self._count_twice(state, -1)
        return _Near(state, *found)

    def witness(self, near: _Near) -> Witness | None:
        """What differs most."""
        return self._states.labelling.witness(near.telling, *self.rows(near)) if near.telling >= 0 else None

    def rows(self, near: _Near) -> tuple[Int64, Int64]:
        """Both rows, split as they differ most."""
        r, state = self._states, near.state
        mine, _ = self._met(int(r.label[state]))
        theirs = r.rows[state]
        if near.split:
            return mine[1].copy(), theirs[0]
        self._count_twice(state, 1)
        rows = mine.sum(axis=0), theirs.sum(axis=0) - r.scratch.twice
        self._count_twice(state, -1)
        return rows

    def _count_twice(self, state: int, sign: int) -> None:
        """Note what both rows count, or clear that away."""
        r, steps = self._states, self._states.steps
        if sign < 0 and len(self._episodes) * steps.horizon > len(r.scratch.twice):
            r.scratch.twice[:] = 0
            return
        stationary.meet_twice(
            r.labelling.labels, steps.symbol_of, steps.word, steps.weight, self._episodes, self._start, r.path, state,
            int(r.label[state]), self._joined, r.stride, sign, r.scratch.twice,
        )  # fmt: skip

    def _met(self, label: int) -> tuple[Int64, tuple[Int64, Int64]]:
        """What the episodes met, by side, seen from a label, and in which tables; until it is asked again."""
        r = self._states
        labels, steps = r.labelling.labels, r.steps
        if self._label != label or not r.scratch.is_of(self):
            r.scratch.clear()
            stationary.meet_tied(
                labels, steps.symbol_of, steps.word, steps.weight, self._episodes, self._start, label, r.scratch.mine
            )
            if len(self._episodes) * steps.horizon < len(r.scratch.twice):
                cells = stationary.cells_met(labels, steps.symbol_of, steps.word, self._episodes, self._start, label)
            else:
                cells = np.flatnonzero(r.scratch.mine.any(axis=0))
            r.scratch.keep(self, cells)
            self._label, self._tables = label, r.labelling.touched(cells)
        return r.scratch.mine, self._tables


def _nearest(found: list[_Near], threshold: float) -> _Near:
    """Of the states it is not distinct from the one that most speaks for; if there are none, the least distinct."""
    possible = [f for f in found if f.evidence < threshold]
    if not possible:
        least = min(f.evidence for f in found)
        return next(f for f in found if f.evidence <= least + TIE)
    least = min(f.balance for f in possible)
    return next(f for f in possible if f.balance <= least + TIE)  # the oldest of equals
