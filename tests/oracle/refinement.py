"""Refinement of a layered automaton by definition, in fractions. Theory: docs/theory.md, section 9.

A table has a row of counts for each of two groups. Outcome by outcome, in order, it is divided into this outcome and
the later ones. Given the margins, the count of the first group is hypergeometric if the groups are equal (P₀), and
distributed by two Beta(½, ½) mixtures if not (Q). e = Q/P₀.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import comb

from suffice.automata.rdp import RDP
from suffice.data.episodes import Episodes

from .adact import spell
from .distinctness import fisher_evidence, fisher_threshold
from .languages import Suffix
from .prefixes import frequent_prefixes

Letter = tuple[int, int, int]
Symbol = tuple[int, int]
Cell = tuple[int, int, Letter | None]  # state, action and letter; None: a letter that is new to the state and action
Row = Counter[Cell]

EQUAL = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))
SAME = 1e-9  # evidence that differs by less is the same
FOR_PREFIXES = Fraction(1, 16)  # share of δ for the comparison by prefixes
FEWEST = 5  # suffixes of the layer that begin with a prefix which is compared


def ln(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator)


# e-values


@cache
def half_chances(n: int) -> list[Fraction]:
    """Return ∏ (i + ½)/(i + 1) over i < k, for k = 0..n."""
    found = [Fraction(1)]
    for i in range(n):
        found.append(found[-1] * (i + Fraction(1, 2)) / (i + 1))
    return found


def free(k: int, n: int) -> Fraction:
    """Return the probability C(n, k) B(k + ½, n − k + ½)/B(½, ½) of k in n for a frequency of Beta(½, ½)."""
    return half_chances(n)[k] * half_chances(n)[n - k]


def divisions(k: int, n1: int, n2: int) -> range:
    """Return the numbers of the k that may be in the group of n₁."""
    return range(max(0, k - n2), min(n1, k) + 1)


def hypergeometric(k1: int, n1: int, k2: int, n2: int) -> Fraction:
    """Return P₀ of k₁ in n₁ and k₂ in n₂."""
    return Fraction(comb(n1, k1) * comb(n2, k2), comb(n1 + n2, k1 + k2))


@cache
def e_value(k1: int, n1: int, k2: int, n2: int) -> Fraction:
    """Return Q/P₀ of k₁ in n₁ and k₂ in n₂."""
    k = k1 + k2
    weight = {j: free(j, n1) * free(k - j, n2) for j in divisions(k, n1, n2)}
    return weight[k1] / sum(weight.values()) / hypergeometric(k1, n1, k2, n2)


def factors(one: Sequence[int], other: Sequence[int]) -> list[Fraction]:
    """Return the e-value of each outcome of a table, among it and the later outcomes."""
    found = []
    for x in range(len(one)):
        n1, n2 = sum(one[x:]), sum(other[x:])
        found.append(e_value(one[x], n1, other[x], n2))
    return found


def mixture(tables: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Fraction:
    """Return E: each e is mixed with 1 and multiplied over all tables and outcomes; the mean over the weights of 1."""
    every = [e for one, other in tables for e in factors(one, other)]
    products = [math.prod((w + (1 - w) * e for e in every), start=Fraction(1)) for w in EQUAL]
    return sum(products, Fraction(0)) / len(EQUAL)


def ln_evidence(tables: list[tuple[Sequence[int], Sequence[int]]]) -> tuple[float, float, tuple[int, int] | None]:
    """Return ln E, Σ ln e, and the table and outcome with the largest e above 1, by logarithms for speed."""
    every = {(g, x): e for g, table in enumerate(tables) for x, e in enumerate(factors(*table))}
    sums = [sum(ln(w + (1 - w) * e) for e in every.values()) for w in EQUAL]
    most = max(sums)
    evidence = most + math.log(sum(math.exp(s - most) for s in sums) / len(sums))
    most_distinct = max(every, key=lambda place: every[place], default=None)
    return evidence, sum(map(ln, every.values())), most_distinct if most_distinct and every[most_distinct] > 1 else None


def tables_with(outcomes: Sequence[int], n1: int) -> Iterator[tuple[list[int], list[int], Fraction]]:
    """Yield all divisions of the outcomes of both groups into n₁ and the rest, with their probabilities."""

    def rows(rest: Sequence[int], n: int) -> Iterator[list[int]]:
        if not rest:
            if n == 0:
                yield []
            return
        for k in range(min(rest[0], n) + 1):
            for row in rows(rest[1:], n - k):
                yield [k, *row]

    whole = comb(sum(outcomes), n1)
    for row in rows(outcomes, n1):
        ways = math.prod(comb(both, k) for both, k in zip(outcomes, row, strict=True))
        yield row, [both - k for both, k in zip(outcomes, row, strict=True)], Fraction(ways, whole)


# Refinement


@dataclass(frozen=True)
class OracleVerdict:
    """The decision about one candidate. `nearest` is None for the first of its label, which is not compared."""

    t: int
    state: int
    symbol: Symbol
    n: int
    target: int
    promoted: bool
    nearest: int | None = None
    evidence: float | None = None
    most_distinct: tuple[Cell, tuple[int, int], tuple[int, int]] | None = None  # cell, and (count, total) of both
    moved: bool = False  # whether it joined a state of another label
    threshold: float | None = None
    prefix: tuple[Suffix, tuple[int, int], tuple[int, int]] | None = None  # that distinguishes it from the nearest
    label: int = -1  # state of its histories in the first automaton


@dataclass
class OracleRefinement:
    """The automaton, τ(t, q, ao) for t = 0..H, the counts of its states, and all decisions."""

    layers: list[int] = field(default_factory=lambda: [1])
    tau: dict[tuple[int, int, Symbol], int] = field(default_factory=dict)
    counts: Counter[tuple[int, int, Letter]] = field(default_factory=Counter)
    verdicts: list[OracleVerdict] = field(default_factory=list)
    tests: int = 0


class FirstAutomaton:
    """The automaton to be refined, as dictionaries."""

    def __init__(self, rdp: RDP) -> None:
        letters: list[Letter] = [(a, o, r) for a, o, r in rdp.letters.tolist()]
        symbols: list[Symbol] = [(a, o) for a, o in rdp.symbols.tolist()]
        self.layer_of = [t for t, n in enumerate(rdp.layers.tolist()) for _ in range(n)]
        self.met = {
            q: {letter: k for letter, k in zip(letters, row, strict=True) if k}
            for q, row in enumerate(rdp.counts.tolist())
        }
        self.tau = {
            (q, symbol): target
            for q, row in enumerate(rdp.tau.tolist())
            for symbol, target in zip(symbols, row, strict=True)
            if target >= 0
        }
        self.horizon = rdp.horizon

    def following(self, q: int, symbol: Symbol) -> int:
        """Return the next state.

        Without a transition, it is the most frequent target of the symbol at that step, or the largest state of the
        next layer; of equals the oldest.
        """
        if (q, symbol) in self.tau:
            return self.tau[q, symbol]
        t = self.layer_of[q]
        arrived: Counter[int] = Counter()
        for (source, other), target in self.tau.items():
            if other == symbol and self.layer_of[source] == t:
                arrived[target] += sum(k for letter, k in self.met[source].items() if letter[:2] == symbol)
        next_layer = [p for p, layer in enumerate(self.layer_of) if layer == t + 1]
        size = {p: sum(self.met[p].values()) for p in next_layer}
        return max(arrived or next_layer, key=lambda p: (arrived[p], size[p] if not arrived else 0, -p))

    def cell(self, q: int, letter: Letter) -> Cell | None:
        """Return the cell that counts a letter in a state; None if the action was never taken there."""
        if letter in self.met[q]:
            return q, letter[0], letter
        return (q, letter[0], None) if any(other[0] == letter[0] for other in self.met[q]) else None

    def tables(self, t: int, steps: int) -> list[list[Cell]]:
        """Return the cells of every state and action in as many layers as steps from layer t on, in order."""
        found: dict[tuple[int, int], list[Cell]] = {}
        for q, met in self.met.items():
            if t <= self.layer_of[q] < t + steps:
                for letter in sorted(met):
                    found.setdefault((q, letter[0]), []).append((q, letter[0], letter))
        return [[*cells, (q, a, None)] for (q, a), cells in found.items()]


class Refinement:
    """Refinement of an automaton, layer by layer."""

    def __init__(self, rdp: RDP, episodes: Episodes, delta: Callable[[int], float], steps: int | None = None) -> None:
        self.first, self.log, self.delta = FirstAutomaton(rdp), spell(episodes), delta
        self.steps = rdp.horizon + 1 if steps is None else steps  # for which merged histories are followed
        self.weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
        self.label = [0] * episodes.n  # state of each episode in the first automaton
        self.state = [0] * episodes.n  # and in the new one
        self.result = OracleRefinement()

    def run(self) -> OracleRefinement:
        for t in range(self.first.horizon + 1):
            self.step(t)
        return self.result

    def step(self, t: int) -> None:
        candidates: dict[tuple[int, Symbol], list[int]] = {}
        for e, steps in enumerate(self.log):
            candidates.setdefault((self.state[e], steps[t][:2]), []).append(e)
            self.result.counts[t, self.state[e], steps[t]] += self.weights[e]
            self.label[e] = self.first.following(self.label[e], steps[t][:2])
        sizes = {c: sum(self.weights[e] for e in members) for c, members in candidates.items()}
        layer = _Layer(self, t + 1, self.delta(len(candidates)))
        for c in sorted(candidates, key=lambda c: (-sizes[c], c)):
            verdict = layer.place(c, candidates[c], sizes[c])
            self.result.verdicts.append(verdict)
            self.result.tau[t, *c] = verdict.target
            for e in candidates[c]:
                self.state[e] = verdict.target
        self.result.layers.append(len(layer.rows))
        self.result.tests += layer.tests

    def row(self, t: int, members: list[int], label: int) -> Row:
        """Count what some episodes meet from step t on, starting at a label."""
        row: Row = Counter()
        for e in members:
            q = label
            for letter in self.log[e][t : t + self.steps]:
                if (cell := self.first.cell(q, letter)) is not None:
                    row[cell] += self.weights[e]
                q = self.first.following(q, letter[:2])
        return row


class _Layer:
    def __init__(self, run: Refinement, t: int, delta: float) -> None:
        self.run, self.t, self.threshold = run, t, -math.log(delta * (1 - FOR_PREFIXES))
        self.delta = float(delta * FOR_PREFIXES)
        futures = [(steps[t:], n) for steps, n in zip(run.log, run.weights, strict=True)]
        self.prefixes = list(frequent_prefixes(futures, FEWEST))
        self.members: list[list[int]] = []  # episodes of the states so far
        self.tables = run.first.tables(t, run.steps)
        self.rows: list[Row] = []  # counts of the states so far
        self.labels: list[int] = []
        self.tests = 0

    def place(self, c: tuple[int, Symbol], members: list[int], n: int) -> OracleVerdict:
        (label,) = {self.run.label[e] for e in members}
        row, (state, symbol) = self.run.row(self.t, members, label), c
        where = self.t, state, symbol, n
        own = [s for s, other in enumerate(self.labels) if other == label]
        if not own:
            return OracleVerdict(*where, self._add_state(row, label, members), True, label=label)
        if not self.tables:
            self.rows[own[0]] += row
            self.members[own[0]] += members
            return OracleVerdict(*where, own[0], False, own[0], 0.0, label=label)
        self.tests += 1
        found, by_prefix = {s: self._compare(row, s) for s in own}, None
        while found:
            near, evidence, _, most_distinct = self._nearest(found)
            if evidence >= self.threshold:
                break
            by_prefix = self._by_prefixes(members, near)
            if by_prefix is None:
                self.rows[near] += row
                self.members[near] += members
                return OracleVerdict(
                    *where, near, False, near, evidence, most_distinct, label=label, threshold=self.threshold
                )
            del found[near]
        elsewhere = {}
        walked = {}
        for s, other in enumerate(self.labels):
            if other != label:
                walked[s] = self.run.row(self.t, members, other)
                elsewhere[s] = self._compare(walked[s], s)
        if elsewhere:
            s, its_evidence, balance, its_most_distinct = self._nearest(elsewhere)
            if its_evidence < self.threshold and balance < 0 and self._by_prefixes(members, s) is None:
                self.rows[s] += walked[s]
                self.members[s] += members
                for e in members:
                    self.run.label[e] = self.labels[s]
                return OracleVerdict(
                    *where, s, False, s, its_evidence, its_most_distinct, True, self.threshold, label=label
                )
        if by_prefix is not None and evidence < self.threshold:
            reached, limit, prefix = by_prefix
            new = self._add_state(row, label, members)
            return OracleVerdict(*where, new, True, near, reached, threshold=limit, prefix=prefix, label=label)
        new = self._add_state(row, label, members)
        return OracleVerdict(*where, new, True, near, evidence, most_distinct, threshold=self.threshold, label=label)

    def _by_prefixes(self, members: list[int], s: int) -> tuple[float, float, object] | None:
        """Return evidence, threshold and prefix of Fisher's test with Tarone's correction, if it decides "distinct"."""
        run, groups = self.run, (members, self.members[s])
        n1, n2 = (sum(run.weights[e] for e in group) for group in groups)
        best: tuple[float, object] = (0.0, None)
        by_k: Counter[int] = Counter()
        for prefix in self.prefixes:
            k1, k2 = (
                sum(run.weights[e] for e in group if run.log[e][self.t : self.t + len(prefix)] == prefix)
                for group in groups
            )
            by_k[k1 + k2] += 1
            if (reached := fisher_evidence(k1, n1, k2, n2)) > best[0]:
                best = reached, (prefix, (k1, n1), (k2, n2))
        limit = fisher_threshold(by_k, self.delta, n1, n2)
        return (best[0], limit, best[1]) if best[0] >= limit else None

    def _add_state(self, row: Row, label: int, members: list[int]) -> int:
        self.members.append(list(members))
        self.rows.append(row)
        self.labels.append(label)
        return len(self.rows) - 1

    def _compare(self, row: Row, s: int) -> tuple[float, float, object]:
        other = self.rows[s]
        pairs = [([row[cell] for cell in cells], [other[cell] for cell in cells]) for cells in self.tables]
        evidence, balance, place = ln_evidence(pairs)
        if place is None:
            return evidence, balance, None
        g, x = place
        one, two = pairs[g]
        return evidence, balance, (self.tables[g][x], (one[x], sum(one)), (two[x], sum(two)))

    def _nearest(self, found: dict[int, tuple[float, float, object]]) -> tuple[int, float, float, object]:
        """Return the state with the smallest Σ ln e among those not distinct, or else with the smallest ln E."""
        possible = {s: f[1] for s, f in found.items() if f[0] < self.threshold}
        by = possible or {s: f[0] for s, f in found.items()}
        near = min(s for s, value in by.items() if value <= min(by.values()) + SAME)
        return near, *found[near]
