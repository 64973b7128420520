"""One round of the stationary learner, in which a pointer for each episode follows known transitions.

A pointer waits at the first unknown transition; these transitions are the candidates. The largest one is compared with
every state, by the suffixes after the first visit of each episode. It joins the nearest state that it is not distinct
from, or becomes a state, and its pointers move on. When no pointer waits, every transition is tested once more, with
all the episodes that took it: one that is distinct from its target is not merged with it in the next round.
Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import UNSEEN
from suffice.kernels import stationary
from suffice.kernels.array_types import Int32, Int64
from suffice.learning.borderline import BORDERLINE_SHARE
from suffice.learning.merging import Placement
from suffice.learning.stationary.comparison import Comparison, Samples, nearest
from suffice.learning.stationary.labels import Labelling, PointerLog, grouped

Edge = tuple[int, int]  # state and symbol

START, END = 0, 1
EARLY_TESTS = ((16, 1 / 32), (128, 1 / 32), (2048, 1 / 16))  # episodes that are compared first, and shares of δ
EARLY_FROM = 4  # an early test is made of candidates with more than this many times its episodes
MOST_COMPARED = 1 << 16  # episodes of a candidate that are compared
VISITORS = 1 << 17  # episodes, or up to twice as many, whose visits are a state's sample
FRESH = 1.1  # a transition is tested again if it has this many times the episodes of its first test
FEWEST_COMPARED = 5  # episodes of a candidate that is tested; others join the most similar state, until settled
SPECIAL = 2  # START and END, which are compared with nothing


class Choice(NamedTuple):
    """The placement of a candidate."""

    state: int
    symbol: int
    n: int
    placement: Placement


class RoundResult(NamedTuple):
    """The automaton of a round, with its decisions and tests."""

    tau: Int32  # [Q, Y] START and END first
    choices: list[Choice]
    tests: list[float]  # δ of each test
    depths: list[int]  # for each distinct state, the steps ahead that were needed; DEPTH for the automaton
    apart: dict[Edge, Edge]  # transitions that are distinct from their target, and the edge that became this target
    excluded: dict[Edge, NDArray[np.bool_]]  # [Q] targets that a test excluded; empty if loaded from a checkpoint


class Round:
    """A round in progress, with its pointers, the states so far, and their samples."""

    def __init__(
        self,
        steps: PointerLog,
        labelling: Labelling,
        level: Callable[[int], float],
        least: float,
        apart: Mapping[Edge, Edge],
        strict: bool = False,
        known: Int32 | None = None,
    ) -> None:
        """Start a round; `level(i)` is δ of the i-th test, and rarer candidates than `least` never become states.

        With `strict`, only comparisons are made that the proof of docs/stationary.md covers. `known` is an automaton to
        start with, whose states are the labels.
        """
        self._strict = strict
        self._stride = max(1, len(steps.word) // VISITORS)
        self._steps, self._labelling, self._level, self._least, self._apart = steps, labelling, level, least, apart
        n, n_symbols = len(steps.word), len(steps.symbols)
        self._path, self._at = np.zeros(steps.word.shape, np.int32), np.zeros(n, np.int64)
        self._tau = np.full((SPECIAL, n_symbols), UNSEEN, np.int32)
        self._tau[:, steps.ends()] = END
        self._label = np.zeros(SPECIAL, np.int64)
        if known is not None:
            self._tau, self._label = known.copy(), np.arange(len(known))
        expected = SPECIAL + len(labelling.reference)  # the last round's states, and some more
        self._rows = np.zeros((expected, labelling.size, 2), np.int64)  # by side
        self._room = labelling.room()
        self._founders: list[Edge] = [(UNSEEN, UNSEEN)] * len(self._tau)  # edges of this round
        self._waiting: dict[int, list[Int64]] = {}  # blocks of episodes by candidate
        self._sizes: dict[int, int] = {}
        self._largest: list[tuple[int, int]] = []  # heap of (−size, candidate), with outdated sizes
        self._compared: dict[Edge, int] = {}  # number of episodes of the first test
        self._choices: list[Choice] = []
        self._tests: list[float] = []
        self._depths: list[int] = []
        self._distinct: dict[Edge, NDArray[np.bool_]] = {}  # [Q then] states that each candidate is distinct from

    def run(self, again: bool = True) -> RoundResult:
        """Place candidates until no pointer waits; with `again`, test every transition once more."""
        self._walk(np.arange(len(self._steps.word)))
        while self._largest:
            size, key = heappop(self._largest)
            if self._sizes.get(key) != -size:
                continue  # it has grown since, or was placed
            episodes, n = np.sort(np.concatenate(self._waiting.pop(key))), self._sizes.pop(key)
            state, symbol = divmod(key, len(self._steps.symbols))
            placement = self._place(state, symbol, episodes, n)
            self._compared[state, symbol] = n
            self._tau[state, symbol] = placement.target
            self._choices.append(Choice(state, symbol, n, placement))
            self._walk(episodes)
        apart = self._test_again() if again else {}
        return RoundResult(self._tau, self._choices, self._tests, self._depths, apart, self._excluded())

    def _walk(self, episodes: Int64) -> None:
        """Move pointers along known transitions, and note where they wait."""
        steps, labels = self._steps, self._labelling.labels
        stationary.follow(
            self._tau, steps.walked, episodes, self._path, self._at, SPECIAL, self._stride, labels, self._label,
            self._rows,
        )  # fmt: skip
        waiting = episodes[self._at[episodes] < steps.last[episodes]]
        at = self._at[waiting]
        keys = self._path[waiting, at].astype(np.int64) * len(steps.symbols) + steps.symbol_of[steps.word[waiting, at]]
        for key, places in grouped(keys):
            block = waiting[places]
            self._waiting.setdefault(key, []).append(block)
            self._sizes[key] = self._sizes.get(key, 0) + steps.total(block)
            heappush(self._largest, (-self._sizes[key], key))  # ties by state and symbol

    def _place(self, state: int, symbol: int, episodes: Int64, n: int) -> Placement:
        """Promote a candidate, or merge it with a state."""
        edge = (int(self._label[state]), symbol)
        distinct_from = self._apart.get(edge)
        label = int(self._labelling.reference[edge])
        others = list(range(SPECIAL, len(self._tau)))
        if distinct_from is not None:
            others = [s for s in others if self._named(s) != distinct_from]
        distinct = self._distinct[state, symbol] = np.ones(len(self._tau), bool)
        distinct[others] = False
        if not others:
            return Placement(self._add_state((state, symbol), label), promoted=True)
        start = self._at[episodes] + 1
        if n < FEWEST_COMPARED:
            return Placement(self._compared_by(episodes, start).most_similar(others))
        delta = self._level(len(self._tests))
        self._tests.append(delta)
        left = 1.0
        for size, share in EARLY_TESTS:  # clear differences need few episodes, and only the other states need more
            if len(episodes) > EARLY_FROM * size:
                some = slice(0, None, -(-len(episodes) // size))
                level = -math.log(delta) - math.log(share)  # the product can underflow
                others = self._compared_by(episodes[some], start[some]).undecided(others, level)
                left -= share
        threshold = -math.log(delta) - math.log(left)
        most = slice(0, None, -(-len(episodes) // MOST_COMPARED))
        compare = self._compared_by(episodes[most], start[most])
        others = compare.worth_comparing(others, threshold)
        found = compare.with_states(others)
        distinct[:] = True
        distinct[[f.state for f in found if f.evidence < threshold]] = False
        near = nearest(found, threshold)
        alone = near.evidence >= threshold
        explained = alone or near.evidence >= BORDERLINE_SHARE * threshold
        why = compare.witness(near) if explained else None
        placement = Placement(near.state, False, alone, near.state, near.evidence, threshold, witness=why)
        if not alone or n < self._least:
            return placement
        self._depths.append(self._labelling.depth_needed(*compare.rows(near), threshold))
        return placement._replace(target=self._add_state((state, symbol), label), promoted=True, forced=False)

    def _compared_by(self, episodes: Int64, start: Int64, joined: bool = False) -> Comparison:
        """Prepare the comparison of suffixes with states; `joined`: the episodes are among those of the states."""
        samples = Samples(
            self._steps, self._labelling, self._path, self._label, self._rows, self._stride, self._strict, self._room
        )
        return Comparison(samples, episodes, start, joined)

    def _named(self, state: int) -> Edge:
        """Return the edge that became a state, in the labels of the last round."""
        source, symbol = self._founders[state]
        return int(self._label[source]), symbol

    def _add_state(self, founder: Edge, label: int) -> int:
        """Add a new state, and return its number."""
        self._tau = np.concatenate([self._tau, np.full((1, self._tau.shape[1]), UNSEEN, np.int32)])
        self._tau[-1, self._steps.ends()] = END
        self._label = np.append(self._label, label)
        if len(self._tau) > len(self._rows):  # double the room
            rows = np.zeros((2 * len(self._rows), *self._rows.shape[1:]), np.int64)  # unlike zeros_like, lazily
            rows[: len(self._rows)] = self._rows
            self._rows = rows
        self._founders.append(founder)
        return len(self._tau) - 1

    def _excluded(self) -> dict[Edge, NDArray[np.bool_]]:
        """Return the targets [Q] that a test excluded for each transition; states that came later were not tested."""
        excluded = {}
        for state, symbol, _, placement in self._choices:
            distinct = self._distinct[state, symbol]
            decided = distinct.all()  # distinct from all states: became one, or too rare to become one
            excluded[state, symbol] = np.pad(distinct, (0, len(self._tau) - len(distinct)), constant_values=decided)
            excluded[state, symbol][placement.target] = False
        return excluded

    def _test_again(self) -> dict[Edge, Edge]:
        """Test every transition by itself, with all the episodes that took it."""
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
            if compare.with_states([target])[0].evidence >= threshold:
                apart[state, symbol] = self._founders[target]
        return apart
