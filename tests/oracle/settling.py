"""Maximum-likelihood assignment of transitions ("settling") by definition. Theory: docs/theory.md, section 8."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from suffice.data.alphabet import DUMMY, PAD, STOP

from .refinement import SAME
from .spelled_log import ALIKE, END, SPECIAL, START, Edge, Letter, Log, Symbol, Tau, Visit, complete

Excluded = Mapping[Edge, set[int]]  # states to which a transition must not lead

PASSES, VISITS, MOST_STEPS, SOON = 5, 2000, 1 << 15, 20
FIRST_FEW, FEW = (8, 32), (50, 8)  # visits, and states that are chosen by them


class Pass:
    """One pass over all transitions, which assigns each to its most probable target that no test excluded."""

    def __init__(self, log: Log, tau: Tau, n_states: int, excluded: Excluded) -> None:
        self.log, self.n, self.tau, self.excluded = log, n_states, tau, excluded
        self.before = dict(tau)
        self.whole = complete(with_ends(tau, n_states, log), n_states, log.symbols)
        self.paths = [log.walk(self.whole, e) for e in range(len(log.words))]
        self.met: Counter[tuple[int, Letter]] = Counter()
        self.visits: Counter[int] = Counter()
        for path, word, weight in zip(self.paths, log.words, log.weights, strict=True):
            for u, (q, letter) in enumerate(zip(path, word, strict=True)):
                self.visits[q] += weight
                if u:
                    self.met[q, letter] += weight
        self.rates = {(y, z): self._rate(*self._agree(y, z)) for y in log.symbols for z in log.symbols}

    def run(self) -> bool:
        """Assign all transitions; return whether anything changed."""
        taken: dict[int, dict[Symbol, list[Visit]]] = {}
        for (state, symbol), visits in self.log.transitions(self.paths).items():
            if symbol[1] != STOP:
                taken.setdefault(state, {})[symbol] = visits[: min(VISITS, max(FEW[0], MOST_STEPS // self.log.horizon))]
        given = dict(self.tau)
        for state, of_symbol in taken.items():
            free = [symbol for symbol in of_symbol if len(self._possible(state, [symbol])) > 1]
            for symbol in free:
                self.tau[state, symbol] = self.best(state, [symbol], of_symbol)
            for group in self._alike(state, free):
                target = self.best(state, group, of_symbol)
                self.tau |= {(state, symbol): target for symbol in group}
        return self.tau != given

    def _possible(self, state: int, symbols: list[Symbol]) -> list[int]:
        """Return the states to which all of some symbols may lead."""
        excluded = [self.excluded.get((state, symbol), set()) for symbol in symbols]
        return [s for s in range(SPECIAL, self.n) if not any(s in states for states in excluded)]

    def _alike(self, state: int, symbols: list[Symbol]) -> list[list[Symbol]]:
        """Group the symbols that lead to the same state here and usually to the same state elsewhere."""
        groups: list[list[Symbol]] = []
        for y in symbols:
            for group in groups:
                if self.tau[state, group[0]] == self.tau[state, y] and self.rates[group[0], y] >= ALIKE:
                    group.append(y)
                    break
            else:
                groups.append([y])
        return [group for group in groups if len(group) > 1]

    def best(self, state: int, symbols: list[Symbol], of_symbol: Mapping[Symbol, list[Visit]]) -> int:
        """Return the most probable common target of some symbols."""
        visits = [visit for y in symbols for visit in of_symbol[y]]
        priors = [self.ln_prior(state, y, symbols) for y in symbols]
        prior = [math.fsum(column) for column in zip(*priors, strict=True)]
        now, states = self.tau.get((state, symbols[0])), self._possible(state, symbols)
        for few, kept in (FIRST_FEW, FEW):
            if len(states) > kept and (len(visits) > few or kept > FEW[1]):
                rough = {s: self.ln_likelihood(s, visits[:few], SOON) + prior[s] for s in states}
                best_few = sorted(states, key=lambda s: -rough[s])[:kept]
                states = sorted({*best_few, *([now] if now in states else [])})
        score = {s: self.ln_likelihood(s, visits) + prior[s] for s in states}
        best = max(states, key=lambda s: score[s])
        return now if now in score and score[best] <= score[now] + SAME else best

    def ln_likelihood(self, state: int, visits: list[Visit], within: int | None = None) -> float:
        """Return the ln-likelihood of what followed visits, up to `within` steps, if they started in a state."""
        total = 0.0
        for e, u in visits:
            q, here = state, 0.0
            for letter in self.log.words[e][u + 1 :][:within]:
                here += self.ln_chance(q, letter)
                q = self.whole.get((q, letter[:2]), -1)
            total += here * self.log.weights[e]
        return total

    def ln_chance(self, q: int, letter: Letter) -> float:
        """Return the ln-probability of a letter: of its action, and of the letter given its action.

        Half a visit is added to each, divided equally among all actions, and among all letters of the action.
        """
        if letter[0] in (DUMMY, PAD):
            return 0.0
        actions = {x[0] for x in self.log.letters} - {DUMMY, PAD}
        taken = {a: sum(self.met[q, x] for x in self.log.letters if x[0] == a) for a in actions}
        alike = [x for x in self.log.letters if x[0] == letter[0] and (x[1] is None) == (letter[1] is None)]
        times = sum(self.met[q, x] for x in alike)
        acts = (taken[letter[0]] + 0.5 / len(actions)) / (sum(taken.values()) + 0.5)
        return math.log(acts) + math.log((self.met[q, letter] + 0.5 / len(alike)) / (times + 0.5))

    def ln_prior(self, state: int, symbol: Symbol, without: Sequence[Symbol]) -> list[float]:
        """Return the prior of each target: votes of other symbols of the state for their targets, and of origins.

        If all votes are wrong, states are as probable as their visits.
        """
        doubt = [1.0] * self.n
        for z in self.log.symbols:
            if z not in without and z[1] != STOP and (state, z) in self.before:
                trust = max(self.rates[symbol, z], self._local(state, symbol, z))
                doubt[self.tau[state, z]] *= 1 - trust
        origins = [q for q in range(self.n) if q != state and self._leads(q, state)]
        for q in origins:
            doubt[q] *= 1 - self._returns(state, symbol) / len(origins)
        everything = sum(self.visits.values())
        all_wrong = math.prod(doubt)
        prior = [all_wrong * self.visits[q] / everything + 1 - doubt[q] for q in range(self.n)]
        prior[START] = prior[END] = 0.0
        return [math.log(p / max(sum(prior), 1e-300) + 1e-12) for p in prior]

    def _leads(self, q: int, to: int) -> bool:
        return any(self.before.get((q, y)) == to for y in self.log.symbols if y[1] != STOP)

    def _returns(self, state: int, symbol: Symbol) -> float:
        """Return the rate at which a symbol leads from other states to one that leads back."""
        moves = [q for q in range(self.n) if q != state and (q, symbol) in self.before and self.tau[q, symbol] != q]
        return self._rate(sum(self._leads(self.tau[q, symbol], q) for q in moves), len(moves))

    def _agree(self, y: Symbol, z: Symbol) -> tuple[int, int]:
        """Count the states from which two symbols lead to the same state, and those from which both are known."""
        if STOP in (y[1], z[1]):
            return 0, 0
        both = [q for q in range(self.n) if (q, y) in self.before and (q, z) in self.before]
        return sum(self.before[q, y] == self.before[q, z] for q in both), len(both)

    def _local(self, state: int, symbol: Symbol, other: Symbol) -> float:
        """Return the rate at which two actions (over observations), or two observations, agree within a state."""
        (action, observation), (a, o) = symbol, other
        if (action == a) == (observation == o):
            return 0.0
        pairs = [((action, k), (a, k)) for k in range(1, self.log.n_observations)]
        if action == a:
            pairs = [((j, observation), (j, o)) for j in {j for j, _ in self.log.symbols}]
        here = {y: self.tau[state, y] for y in self.log.symbols if y != symbol and (state, y) in self.before}
        known = [(here[y], here[z]) for y, z in pairs if y in here and z in here]
        return self._rate(sum(u == v for u, v in known), len(known))

    def _rate(self, agree: int, both: int) -> float:
        return (agree + 1 / self.n) / (both + 1)


def with_ends(tau: Tau, n_states: int, log: Log) -> Tau:
    return tau | {(q, y): END for q in range(n_states) for y in log.symbols if y[1] == STOP}


def settle(log: Log, tau: Tau, n_states: int, excluded: Excluded) -> Tau:
    tau = dict(tau)
    for _ in range(PASSES):
        if not Pass(log, tau, n_states, excluded).run():
            break
    return tau
