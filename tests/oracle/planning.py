"""Planning by definition: backward induction state by state, in fractions except for roots.

Rewards are scaled to [0, 1], so that a state of layer t has a value of at most H − t + 1. Moves that left the automaton
have no target and no return. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from suffice.automata.rdp import RDP, UNSEEN
from suffice.automata.tally import Tally
from suffice.data.alphabet import DUMMY, PAD

Move = tuple[int, Fraction, int | None]  # count, reward and next state
Values = Mapping[int, Fraction]

NOTHING = Fraction(0)
THEORY = 16


@dataclass(frozen=True, eq=False)
class Process:
    """The moves of each action in each state."""

    layers: list[list[int]]  # layers 0..H+1
    actions: list[int]  # codes of the actions, in order
    moves: dict[int, dict[int, list[Move]]]  # by state and action code
    usual: dict[int, dict[int, Fraction]]  # behaviour policy: state → probabilities of action codes
    low: Fraction
    wide: Fraction

    @classmethod
    def of(cls, rdp: RDP, tally: Tally | None = None) -> Process:
        offsets = [sum(rdp.layers[:t].tolist()) for t in range(rdp.horizon + 3)]
        layers = [list(range(offsets[t], offsets[t + 1])) for t in range(rdp.horizon + 2)]
        letters = [(a, o, Fraction(rdp.alphabet.rewards[r])) for a, o, r in rdp.letters.tolist()]
        low, high = min(r for _, _, r in letters), max(r for _, _, r in letters)
        wide = high - low or Fraction(1)
        symbols = {(a, o): y for y, (a, o) in enumerate(rdp.symbols.tolist())}
        moves: dict[int, dict[int, list[Move]]] = {q: defaultdict(list) for layer in layers for q in layer}
        for q, row in moves.items():
            for (a, o, r), k in zip(letters, (rdp if tally is None else tally).counts[q].tolist(), strict=True):
                if k:
                    target = int(rdp.tau[q, symbols[a, o]])
                    assert target != UNSEEN
                    row[a].append((k, (r - low) / wide, target))
            for a, k in enumerate([] if tally is None else tally.lost[q].tolist()):
                if k:
                    row[a].append((k, NOTHING, None))
        usual: dict[int, dict[int, Fraction]] = {q: defaultdict(Fraction) for q in moves}
        for q, row in enumerate(rdp.counts.tolist()):
            for (a, _, _), k in zip(letters, row, strict=True):
                usual[q][a] += Fraction(k, max(sum(row), 1))
        actions = [PAD + 1 + i for i in range(len(rdp.alphabet.actions))]
        return cls(layers, actions, moves, usual, low, wide)

    @property
    def horizon(self) -> int:
        return len(self.layers) - 2

    @cached_property
    def layer_of(self) -> dict[int, int]:
        return {q: t for t, layer in enumerate(self.layers) for q in layer}

    def left(self, q: int) -> int:
        """Return the number of remaining steps."""
        return self.horizon + 1 - self.layer_of[q]

    def all_moves(self, q: int) -> list[Move]:
        return [move for moves in self.moves[q].values() for move in moves]

    def backwards(self) -> Iterable[int]:
        return (q for layer in self.layers[-2::-1] for q in layer)

    def in_user_units(self, q: int, value: Fraction) -> float:
        return float(self.wide * value + self.low * self.left(q))

    def log_term(self, delta: float) -> float:
        """Return L = ln(NH/δ)."""
        episodes = max(times(self.all_moves(0)), 1)
        return math.log(episodes * max(self.horizon, 1) / delta)


def times(moves: Iterable[Move]) -> int:
    return sum(k for k, _, _ in moves)


def gains(moves: Iterable[Move], values: Values) -> list[tuple[int, Fraction]]:
    """Return the values r + V of moves with their counts."""
    return [(k, NOTHING if target is None else r + values[target]) for k, r, target in moves]


def mean(moves: list[Move], values: Values) -> Fraction:
    return sum((k * g for k, g in gains(moves, values)), NOTHING) / max(times(moves), 1)


def variance(moves: list[Move], values: Values) -> Fraction:
    middle = mean(moves, values)
    return sum((k * (g - middle) ** 2 for k, g in gains(moves, values)), NOTHING) / max(times(moves), 1)


def penalty(process: Process, q: int, moves: list[Move], values: Values, strength: float, delta: float) -> Fraction:
    """Return b = √(c L Var(r + V) / n) + c (H − t + 1) L / n, at most H − t + 1, and that value if n = 0."""
    n, left = times(moves), process.left(q)
    if n == 0:
        return Fraction(left)
    unit = strength * process.log_term(delta) / n
    return min(Fraction(math.sqrt(unit * variance(moves, values)) + unit * left), Fraction(left))


@dataclass(frozen=True)
class OraclePlan:
    actions: list[int | None]  # [Q] index of the action; None: keep the logged behaviour
    values: list[float]  # in units of the log
    lower: list[float]
    error: float


def plan(process: Process, strength: float, delta: float, safe: bool) -> OraclePlan:
    """Plan safely, or without `safe` by VI-LCB, which is greedy if the strength is 0."""
    final = process.layers[-1][0]
    actions: dict[int, int | None] = {final: None}
    values, lower = {final: NOTHING}, {final: NOTHING}
    for q in process.backwards():
        bounds: dict[int, Fraction] = {}
        for place, code in enumerate(process.actions):
            if moves := process.moves[q].get(code):
                off = penalty(process, q, moves, lower, strength, delta)
                bounds[place] = max(mean(moves, lower) - off, NOTHING)
        behaving = mean(process.all_moves(q), lower)
        best = max(bounds.values(), default=None)
        if best is not None and (best > behaving if safe else best > 0 or strength == 0):
            actions[q] = next(place for place, bound in bounds.items() if bound == best)
            lower[q] = best
        else:
            actions[q], lower[q] = None, behaving
        values[q] = mean(followed(process, q, actions[q]), values)
    return OraclePlan(
        [actions[q] for q in sorted(actions)],
        [process.in_user_units(q, values[q]) for q in sorted(values)],
        [process.in_user_units(q, lower[q]) for q in sorted(lower)],
        float(process.wide) * math.sqrt(variance_of_value(process, actions, values)),
    )


def followed(process: Process, q: int, action: int | None) -> list[Move]:
    """Return the moves of a state in which the plan was followed."""
    return process.all_moves(q) if action is None else process.moves[q].get(process.actions[action], [])


def value_of(process: Process, actions: Mapping[int, int | None]) -> dict[int, Fraction]:
    """Return the value of each state under some actions, with frequencies as probabilities."""
    values = {process.layers[-1][0]: NOTHING}
    for q in process.backwards():
        chances = chances_of(process, q, actions[q])
        values[q] = sum((p * mean(process.moves[q].get(a, []), values) for a, p in chances.items()), NOTHING)
    return values


def chances_of(process: Process, q: int, action: int | None) -> dict[int, Fraction]:
    """Return the probabilities of action codes under the plan."""
    return process.usual[q] if action is None else {process.actions[action]: Fraction(1)}


def variance_of_value(process: Process, actions: Mapping[int, int | None], values: Values) -> Fraction:
    """Return the variance of the value of the first state: those of all means, weighted by squared occupancies.

    The variance of a mean includes one more visit at a distance of half the range: n + 1 visits, over their number.
    """
    total = NOTHING
    for q, share in occupancy(process, actions).items():
        moves = followed(process, q, actions[q])
        visits = times(moves) + 1
        spread = (times(moves) * variance(moves, values) + Fraction(process.left(q), 2) ** 2) / visits
        total += share**2 * spread / visits
    return total


def occupancy(process: Process, actions: Mapping[int, int | None]) -> dict[int, Fraction]:
    """Return the probability of each state under the plan, with frequencies as probabilities."""
    share = defaultdict(Fraction, {0: Fraction(1)})
    for layer in process.layers[:-1]:
        for q in layer:
            moves = followed(process, q, actions[q])
            for k, _, target in moves:
                if target is not None:
                    share[target] += share[q] * k / times(moves)
    return {q: p for q, p in share.items() if p}


def proved(process: Process, actions: Mapping[int, int | None], delta: float) -> tuple[float, float]:
    """Return a lower bound on the value of the plan, and an upper bound on that of any policy."""
    final = process.layers[-1][0]
    lower, upper = {final: NOTHING}, {final: NOTHING}
    for q in process.backwards():
        lower[q] = NOTHING
        for code, p in chances_of(process, q, actions[q]).items():
            moves = process.moves[q].get(code, [])
            lower[q] += p * max(mean(moves, lower) - penalty(process, q, moves, lower, THEORY, delta), NOTHING)
        forced = [code for code in (DUMMY, PAD) if process.moves[q].get(code)]
        options = [process.moves[q].get(code, []) for code in forced or process.actions]
        most = [mean(moves, upper) + penalty(process, q, moves, upper, THEORY, delta) for moves in options]
        upper[q] = min(max(most), Fraction(process.left(q)))
    return process.in_user_units(0, lower[0]), process.in_user_units(0, upper[0])


def trimmed_sizes(seen: list[int], spare: list[int], delta: float) -> list[int]:
    """Return the visits of each state after two-fold subsampling.

    They are at most N_trim = max(N_aux − 10 √(N_aux ln(Q/δ)), 0).
    """
    kept = [max(k - 10 * math.sqrt(k * math.log(len(spare) / delta)), 0.0) for k in spare]
    return [min(n, math.floor(k)) for n, k in zip(seen, kept, strict=True)]
