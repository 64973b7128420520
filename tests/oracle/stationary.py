"""The stationary learner by definition. Theory: docs/theory.md, section 8, and kernels/evidence.py.

After every decision all episodes are run again from their first step, and all rows are counted again. A letter is
(action, observation, reward) in codes; that of the last step has None as its observation.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from suffice.data.alphabet import DUMMY, PAD, STOP

from .refinement import EQUAL, SAME, e_value, ln
from .settling import settle, with_ends
from .spelled_log import END, SPECIAL, START, Edge, Event, Kind, Letter, Log, Symbol, Tau, complete

Label = tuple[Symbol, ...] | int  # the symbols since the start, or a state of the reference
Cell = tuple[Label, Kind, Event]
Difference = tuple[Cell, tuple[int, int], tuple[int, int]]  # (count, total) in both rows
Which = Callable[[Edge, list[int]], int]

DEPTH = 3
EARLY_TESTS = ((16, 1 / 32), (128, 1 / 32), (2048, 1 / 16))  # episodes that are compared first, with shares of δ
EARLY_FROM = 4  # of candidates with more than this many times the episodes
FEWEST_COMPARED = 5  # episodes of a candidate that is tested; smaller ones join the most similar state
FRESH = 1.1  # a transition is tested again if its episodes have grown by this factor
ROUNDS, IN_VAIN = 8, 2
LARGEST = 1 << 20  # entries of a table that counts how often an observation came


@cache
def ln_e(k1: int, n1: int, k2: int, n2: int) -> float:
    return ln(e_value(k1, n1, k2, n2))


def ln_mean(logarithms: Sequence[float]) -> float:
    most = max(logarithms)
    return most + math.log(math.fsum(math.exp(x - most) for x in logarithms) / len(logarithms))


@cache
def side(episode: int) -> int:
    """Return a fixed pseudo-random side of an episode: a bit of splitmix64."""
    z = (episode + 1) * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return (z ^ z >> 31) % 2


def kinds_of(letter: Letter) -> list[tuple[Kind, Event]]:
    """Return the events of a letter, each given those before it: choice, reward, observation. Padding has none."""
    a, o, r = letter
    if a in (DUMMY, PAD):
        return []
    shown: list[tuple[Kind, Event]] = [] if o is None else [(("shown", a, r), letter)]
    return [(("choice",), a), (("paid", a), (a, r)), *shown]


def last_observation(log: Log) -> Tau:
    return {(m, (a, o)): o + 1 for m in range(log.n_observations + 1) for a, o in log.symbols}


def repeated_observation(log: Log, most: int) -> Tau:
    """Return the automaton of the last observation and the number of its repetitions, up to `most`."""
    number = {(o, k): 1 + o * most + k for o in range(log.n_observations) for k in range(most)}
    tau = {(0, (a, o)): number[o, 0] for a, o in log.symbols}
    for (seen, k), m in number.items():
        tau |= {(m, (a, o)): number[o, min(k + 1, most - 1) if o == seen else 0] for a, o in log.symbols}
    return tau


def first_reference(log: Log) -> Tau:
    """Return the automaton of the last observation, unless that with repetitions halves the description length."""
    most = max(1, min(log.horizon, LARGEST // (log.n_observations * len(log.symbols))))
    coarse, fine = last_observation(log), repeated_observation(log, most)
    return fine if description(log, fine) < description(log, coarse) / 2 else coarse


def description(log: Log, tau: Tau, choices: bool = False) -> float:
    """Return Σ ln 1/p of outcomes given label and action, plus ½ ln N per free frequency; the last step is separate.

    With `choices` also that of actions given the label.
    """
    tables: dict[object, Counter[object]] = defaultdict(Counter)
    total = 0
    for word, weight in zip(log.words, log.weights, strict=True):
        m = 0
        for letter in word:
            a, o, _ = letter
            total += weight
            if a not in (DUMMY, PAD):
                tables[m, a, o is None][letter] += weight
                if choices:
                    tables[m][a] += weight
            m = tau.get((m, (a, o or 0)), 0)
    cost = math.fsum(-k * math.log(k / sum(t.values())) for t in tables.values() for k in t.values())
    return cost + sum(len(t) - 1 for t in tables.values()) * math.log(max(total, 2)) / 2


class Labels:
    """The reference automaton and the tree, with the events of each label and the cells that count them."""

    def __init__(self, log: Log, reference: Tau) -> None:
        self.reference = reference
        seen: dict[tuple[Label, Kind], set[Event]] = defaultdict(set)
        for word in log.words:
            state = 0
            for letter in word:
                for kind, event in kinds_of(letter):
                    seen[state, kind].add(event)
                state = reference.get((state, letter[:2]), -1)
            for start in range(1, len(word)):
                for depth, letter in enumerate(word[start : start + DEPTH]):
                    node = tuple(x[:2] for x in word[start : start + depth])
                    for kind, event in kinds_of(letter):
                        seen[node, kind].add(event)
        self.tables = {table: [*sorted(events, key=_order), None] for table, events in seen.items()}
        self.events = cache(self._events)

    def _events(self, label: Label, letter: Letter) -> list[Cell]:
        """Return the cells in which a label counts a letter: none if the action is new to it."""
        return [
            (label, kind, event if event in events else None)
            for kind, event in kinds_of(letter)
            if (events := self.tables.get((label, kind))) is not None
        ]

    def count(
        self, log: Log, visits: Mapping[int, int], label: int, skip: Mapping[int, int] | None = None
    ) -> list[_Row]:
        """Count the letters of episodes from a step of each on, starting at a label; stop at the step in `skip`.

        Return one row for each side.
        """
        rows = [_Row(), _Row()]
        for e, start in visits.items():
            state, word = label, log.words[e]
            # half of the weight on each side, and the odd one on the side of the episode
            weights = [log.weights[e] // 2 + (log.weights[e] % 2) * (s == side(e)) for s in (0, 1)]
            for u in range(start, len(word)):
                depth, letter = u - start, word[u]
                if skip is None or u < skip.get(e, len(word)):
                    cells = self.events(state, letter)
                    nodes = self.events(tuple(x[:2] for x in word[start:u]), letter) if depth < DEPTH else ()
                    for row, weight in zip(rows, weights, strict=True):
                        for cell in cells:
                            row.reference[min(depth, DEPTH)][cell] += weight
                        for cell in nodes:
                            row.tree[cell] += weight
                state = self.reference.get((state, letter[:2]), -1)
        return rows


def _order(event: Event) -> tuple[object, ...]:
    """Return the sort key of an event within its table."""
    return (event,) if isinstance(event, int) else event or ()


@dataclass
class _Row:
    """Counts of the cells of the tree, and of the reference at each depth; the last depth includes all deeper ones."""

    tree: Counter[Cell] = field(default_factory=Counter)
    reference: list[Counter[Cell]] = field(default_factory=lambda: [Counter() for _ in range(DEPTH + 1)])

    def __add__(self, other: _Row) -> _Row:
        pairs = zip(self.reference, other.reference, strict=True)
        return _Row(self.tree + other.tree, [a + b for a, b in pairs])

    def deeper(self, k: int) -> Counter[Cell]:
        """Return the counts of the reference at depth k or deeper."""
        return sum(self.reference[k:], Counter())


@dataclass(frozen=True)
class Weighed:
    evidence: float  # ln E
    strict: float  # ln E by the tree alone, split by sides
    balance: float
    most_distinct: list[Difference]  # all cells with the largest e
    strictly: list[Difference]  # the same among the cells of a strict comparison


def weigh(labels: Labels, mine: list[_Row], theirs: list[_Row], all_but: list[_Row]) -> Weighed:
    """Compare two rows by side; `all_but` is the row of the state without what both count.

    E is the mean of Π (w + (1 − w) e) over two splits, outcomes or choices, DEPTH + 2 ways to label, and weights w.
    """
    splits = [(mine[0] + mine[1], all_but[0] + all_but[1]), (mine[1], theirs[0])]
    every, strict, balances, by_all = [], [], [], []
    by_tree = []  # cells of a strict comparison
    for by, (one, other) in enumerate(splits):
        balance = []
        tree = [list(_tables(labels, one.tree, other.tree, d)) for d in range(DEPTH)]
        for k in range(DEPTH + 2):
            tables = [table for tables in tree[:k] for table in tables]
            if k <= DEPTH:
                tables += _tables(labels, one.deeper(k), other.deeper(k))
            for kind in ("outcome", "choice"):  # rewards and observations, and actions
                found = [e for is_choice, row in tables if is_choice == (kind == "choice") for _, e in row]
                mixed = [math.fsum(_ln_mixed(w, e) for e in found) for w in map(float, EQUAL)]
                every += mixed
                strict += mixed if by and k > DEPTH else []
                if kind == "outcome":
                    balance.append(math.fsum(found))
            by_all += [(e, by, cell) for _, row in tables for cell, e in row]
        by_tree += [(e, by, cell) for tables in tree if by for _, row in tables for cell, e in row]
        balances.append(ln_mean(balance))
    most_distinct = []
    for compared in (by_all, by_tree):
        most = max((e for e, _, _ in compared), default=0.0)
        cells = {(by, cell) for e, by, cell in compared if e > 0 and e >= most - SAME}
        most_distinct.append([(cell, *(_of_how_many(labels, row, cell) for row in splits[by])) for by, cell in cells])
    return Weighed(ln_mean(every), ln_mean(strict), balances[0] or balances[1], *most_distinct)


def tree_alone(labels: Labels, mine: list[_Row], all_but: list[_Row]) -> float:
    """Return ln E by the tree, split by steps, which screens candidates."""
    one, other = (mine[0] + mine[1]).tree, (all_but[0] + all_but[1]).tree
    tables = [table for d in range(DEPTH) for table in _tables(labels, one, other, d)]
    return ln_mean(
        [
            math.fsum(_ln_mixed(float(w), e) for is_choice, row in tables if is_choice == choice for _, e in row)
            for choice, w in product((False, True), EQUAL)
        ]
    )


def _ln_mixed(w: float, ln_e: float) -> float:
    return math.log(w + (1 - w) * math.exp(ln_e))


def _tables(
    labels: Labels, one: Counter[Cell], other: Counter[Cell], depth: int | None = None
) -> Iterator[tuple[bool, list[tuple[Cell, float]]]]:
    """Yield the tables of labels that `one` has met: whether it is of choices, and ln e of every outcome.

    With `depth`, only labels of the tree at that depth.
    """
    for label, kind in sorted({cell[:2] for cell in one}, key=str):
        if depth is not None and len(label) != depth:
            continue
        cells = [(label, kind, event) for event in labels.tables[label, kind]]
        row = []
        for i, cell in enumerate(cells):
            n1, n2 = (sum(counts[c] for c in cells[i:]) for counts in (one, other))
            row.append((cell, ln_e(one[cell], n1, other[cell], n2)))
        yield kind[0] == "choice", row


def _of_how_many(labels: Labels, row: _Row, cell: Cell) -> tuple[int, int]:
    label, kind, _ = cell
    counts = row.tree if isinstance(label, tuple) else row.deeper(0)
    return counts[cell], sum(counts[label, kind, event] for event in labels.tables[label, kind])


# Pointers


@dataclass(frozen=True)
class Choice:
    state: int
    symbol: Symbol
    n: int
    target: int
    promoted: bool
    forced: bool = False
    nearest: int | None = None
    evidence: float | None = None
    threshold: float | None = None
    most_distinct: tuple[Difference, ...] = ()


class Round:
    """One round of pointers."""

    def __init__(
        self,
        log: Log,
        labels: Labels,
        level: Callable[[int], float],
        least: float,
        apart: Mapping[Edge, Edge],
        strict: bool = False,
        which: Which = lambda edge, states: states[0],
    ) -> None:
        """`which` chooses among states where the definition allows any.

        That is the nearest state if the tree alone distinguishes all, and the target of a rare candidate among equals.
        """
        self.strict, self.which = strict, which
        self.compared: dict[Edge, int] = {}  # number of episodes compared
        self.log, self.labels, self.level, self.least, self.kept = log, labels, level, least, apart
        self.tau: Tau = {}
        self.founders: dict[int, Edge] = {}
        self.label = {START: 0, END: 0}  # state of the reference for each state
        self.choices: list[Choice] = []
        self.tests: list[float] = []
        self.apart: dict[Edge, Edge] = {}
        self.distinct: dict[Edge, set[int]] = {}  # states that a test distinguished each candidate from
        self.paths: list[list[int]] = []  # states of all episodes, as far as transitions are known

    @property
    def n_states(self) -> int:
        return SPECIAL + len(self.founders)

    def run(self, again: bool = True) -> Round:
        while candidates := self._waiting():  # runs all episodes again
            sizes = {c: sum(self.log.weights[e] for e in members) for c, members in candidates.items()}
            edge = min(candidates, key=lambda c: (-sizes[c], c))
            choice = self._place(edge, candidates[edge], sizes[edge])
            self.choices.append(choice)
            self.tau[edge], self.compared[edge] = choice.target, sizes[edge]
        if again:
            self._look_again()
        return self

    def _waiting(self) -> dict[Edge, dict[int, int]]:
        """Return the episodes that wait at each unknown transition, with the step after it."""
        self.paths = [self.log.walk(self.tau, e) for e in range(len(self.log.words))]
        found: dict[Edge, dict[int, int]] = {}
        for e, (word, path) in enumerate(zip(self.log.words, self.paths, strict=True)):
            if len(path) < len(word):
                a, o, _ = word[len(path) - 1]
                found.setdefault((path[-1], (a, o)), {})[e] = len(path)
        return found

    def _place(self, edge: Edge, members: dict[int, int], n: int) -> Choice:
        state, symbol = edge
        place = self.label[state], symbol
        label, distinct_from = self.labels.reference[place], self.kept.get(place)
        states = range(SPECIAL, self.n_states)
        others = [s for s in states if distinct_from is None or self._named(s) != distinct_from]
        self.distinct[edge] = set(states) - set(others)
        if not others:
            return Choice(state, symbol, n, self._add_state(edge, label), promoted=True)
        if n < FEWEST_COMPARED:
            screened = {s: self._screen(members, s) for s in others}
            alike = [s for s in others if screened[s] <= min(screened.values()) + SAME]
            return Choice(state, symbol, n, self.which(edge, alike), promoted=False)
        delta = self.level(len(self.tests))
        self.tests.append(delta)
        rest = 1.0
        for size, share in EARLY_TESTS:  # some episodes first, then more for undecided states; all tests share δ
            if len(members) > EARLY_FROM * size:
                some = dict(sorted(members.items())[:: math.ceil(len(members) / size)])
                early = -math.log(delta * share)
                evidence, _ = self._evidence(some, self._worth_comparing(edge, some, others, early))
                others = [s for s in evidence if evidence[s] < early] or [min(evidence, key=lambda s: evidence[s])]
                rest -= share
        threshold = -math.log(delta * rest)
        others = self._worth_comparing(edge, members, others, threshold)
        evidence, found = self._evidence(members, others)
        possible = {s: f.balance for s, f in found.items() if evidence[s] < threshold}
        self.distinct[edge] = set(states) - set(possible)
        by = possible or evidence
        near = min(s for s, value in by.items() if value <= min(by.values()) + SAME)
        most_distinct = found[near].strictly if self.strict else found[near].most_distinct
        alone, details = not possible, (near, evidence[near], threshold, tuple(most_distinct))
        if alone and n >= self.least:
            return Choice(state, symbol, n, self._add_state(edge, label), True, False, *details)
        return Choice(state, symbol, n, near, False, alone, *details)

    def _named(self, state: int) -> Edge:
        source, symbol = self.founders[state]
        return self.label[source], symbol

    def _add_state(self, edge: Edge, label: int) -> int:
        state = self.n_states
        self.founders[state], self.label[state] = edge, label
        return state

    def excluded(self) -> dict[Edge, set[int]]:
        """Return the states to which each transition must not lead, because a test decided that."""
        found = {}
        for choice in self.choices:
            edge, others = (choice.state, choice.symbol), set(range(SPECIAL, self.n_states)) - {choice.target}
            found[edge] = others if choice.promoted or choice.forced else self.distinct[edge]
        return found

    def visits(self, state: int) -> dict[int, int]:
        """Return the first visit of each episode to a state."""
        return {e: path.index(state) for e, path in enumerate(self.paths) if state in path}

    def compare(self, members: Mapping[int, int], state: int) -> Weighed:
        """Compare episodes from a step of each on with a state; what both have is counted for the candidate only."""
        label, visits = self.label[state], self.visits(state)
        mine, theirs = (self.labels.count(self.log, rows, label) for rows in (members, visits))
        return weigh(self.labels, mine, theirs, self.labels.count(self.log, visits, label, members))

    def _evidence(self, members: Mapping[int, int], others: list[int]) -> tuple[dict[int, float], dict[int, Weighed]]:
        found = {s: self.compare(members, s) for s in others}
        return {s: f.strict if self.strict else f.evidence for s, f in found.items()}, found

    def _worth_comparing(
        self, edge: Edge, members: Mapping[int, int], others: list[int], threshold: float
    ) -> list[int]:
        """Return the states that the tree alone does not distinguish, however it is mixed; if none, one of all."""
        if self.strict:
            return others
        screened = {s: self._screen(members, s) - math.log(2 * (DEPTH + 2)) for s in others}
        return [s for s in others if screened[s] < threshold] or [self.which(edge, others)]

    def _screen(self, members: Mapping[int, int], state: int) -> float:
        label = self.label[state]
        mine = self.labels.count(self.log, members, label)
        return tree_alone(self.labels, mine, self.labels.count(self.log, self.visits(state), label, members))

    def _look_again(self) -> None:
        """Test every transition again, with the first time that each episode took it."""
        for (state, symbol), visits in self.log.transitions(self.paths).items():
            target = END if symbol[1] == STOP else self.tau[state, symbol]
            if target < SPECIAL or self.founders[target] == (state, symbol):
                continue
            first: dict[int, int] = {}
            for e, u in visits:
                first.setdefault(e, u + 1)
            if sum(self.log.weights[e] for e in first) > FRESH * self.compared[state, symbol]:
                self.tests.append(self.level(len(self.tests)))
                if self.compare(first, target).evidence >= -math.log(self.tests[-1]):
                    self.apart[state, symbol] = self.founders[target]


# All rounds


@dataclass(frozen=True)
class Found:
    tau: Tau  # after settling, without o_⊥
    of: Round

    @property
    def apart(self) -> dict[Edge, Edge]:
        return {edge: to for edge, to in self.of.apart.items() if self.tau[edge] == self.of.tau[edge]}

    def reached(self) -> list[int]:
        order = [START, END]
        for q in order:
            order += dict.fromkeys(
                self.tau[q, y]
                for y in self.of.log.symbols
                if y[1] != STOP and (q, y) in self.tau and self.tau[q, y] not in order
            )
        return order

    def shape(self) -> object:
        """Return the same value for automata that differ only by the numbers of their states."""
        number = {q: i for i, q in enumerate(self.reached())}
        return frozenset((number[q], y, number[p]) for (q, y), p in self.tau.items() if q in number)


def rounds(log: Log, level: Callable[[int], float], strict: bool = False) -> Found:
    """Run rounds until an automaton recurs or two do not improve; return that of the shortest description."""
    reference = first_reference(log)
    apart: dict[Edge, Edge] = {}
    best: Found | None = None
    shortest, in_vain = math.inf, 0
    shapes: list[object] = []
    for i in range(ROUNDS):
        done = Round(log, Labels(log, reference), level, 0.0, apart, strict).run(again=not strict)
        found = Found(settle(log, done.tau, done.n_states, done.excluded()), done)
        apart = found.apart if i else {}
        reference = complete(with_ends(found.tau, done.n_states, log), done.n_states, log.symbols)
        length = description(log, reference, choices=True)
        in_vain = 0 if length < shortest - 1e-6 else in_vain + 1
        if best is None or length <= shortest + 1e-6:
            best, shortest = found, length
        shapes.append((frozenset(apart.items()), found.shape()))
        if shapes[-1] in shapes[:-1] or in_vain == IN_VAIN:
            break
    assert best is not None
    return best
