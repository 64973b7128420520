"""The minimal layered RDP of a finite model under a behaviour policy (theory.md §7).

Forward: the beliefs about the hidden state that histories can leave, each with the policy's memory; together they
decide the whole future. Backward, from the last layer: beliefs with the same chances of actions, observations, rewards
and successors are one state.

Histories of an RDP consist of actions and observations. Where rewards tell more about the hidden state than these do,
what follows a history is not what its belief alone says: the rewards on the way matter too. So beliefs are followed
with the rewards seen; if it turns out that no reward ever makes a difference, the automaton reads actions and
observations and is exact. If one does, that is reported, and the automaton is built from beliefs without rewards:
right about expectations, and so about the value of policies, but not about whole futures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm
from typing import Any

import numpy as np

from suffice.automata.histories import History, show
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.domains.finite import FiniteModel, Outcomes
from suffice.errors import SettingsError, SufficeError
from suffice.kernels.array_types import Array, Int64
from suffice.planning.controller import Controller

TOLERANCE = 1e-9  # doubles: probabilities closer than this are taken for equal
RATIONAL_BELIEFS = 20_000  # beliefs up to which arithmetic is rational
MAX_BELIEFS = 500_000


@dataclass(frozen=True, slots=True, eq=False)
class Arrows:
    """What the states of one layer may do next, sorted by state."""

    source: Int64  # [E] place in the layer
    action: Int64  # [E] codes
    observation: Int64
    reward: Int64
    target: Int64  # [E] place in the next layer
    probability: Array  # [E] that the state chooses the action and this follows

    def rows(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Source, action, observation, reward and target of each arrow."""
        columns = (self.source, self.action, self.observation, self.reward, self.target)
        return zip(*(column.tolist() for column in columns), strict=True)

    def starts(self) -> Int64:
        """[Q] where the arrows of each state begin; every state has some."""
        return np.flatnonzero(np.diff(self.source, prepend=-1))


@dataclass(frozen=True, slots=True)
class Telling:
    """A history after which the reward, unseen by an automaton, says what will happen."""

    history: History
    rewards: tuple[float, float]

    @property
    def sentence(self) -> str:
        """For a person."""
        return (
            f"Rewards tell more than observations: after {show(self.history)} the reward {self.rewards[0]:g} or "
            f"{self.rewards[1]:g} decides what may follow, and no state can remember it. Values are exact for who does "
            "not see rewards, but the states are too few for whole futures, and distinguishability is not defined; put "
            "the reward into the observation with --observe-reward."
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Minimal:
    """The minimal layered RDP, with its probabilities under the behaviour policy.

    >>> minimal = suffice.minimal_rdp(suffice.make("corridor").model(5), 5)
    >>> minimal
    <Minimal: 11 states in layers 1 1 2 2 2 2 1>
    >>> suffice.compare(minimal.rdp(), model.rdp) is None
    True
    """

    alphabet: Alphabet
    rewards: tuple[Fraction, ...]  # the alphabet's, exactly
    arrows: tuple[Arrows, ...]  # [H+1] out of layer t
    rational: bool  # or doubles, equal up to TOLERANCE
    telling: Telling | None = None

    def __repr__(self) -> str:
        return f"<Minimal: {self.n_states} states in layers {' '.join(map(str, self.layers))}>"

    @property
    def horizon(self) -> int:
        """H."""
        return len(self.arrows) - 1

    @property
    def layers(self) -> tuple[int, ...]:
        """[H+2] states per layer."""
        return (*(int(arrows.source[-1]) + 1 for arrows in self.arrows), 1)

    @property
    def n_states(self) -> int:
        """Q_min."""
        return sum(self.layers)

    def occupancy(self) -> list[Array]:
        """[H+2][Q_t] how probable each state is at its time."""
        shares = [self._number([1])]
        for arrows, n in zip(self.arrows, self.layers[1:], strict=True):
            following = self._number([0] * n)
            np.add.at(following, arrows.target, shares[-1][arrows.source] * arrows.probability)
            shares.append(following)
        return shares

    def chances(self, t: int) -> Array:
        """[Q_t, A+2] how a state of layer t chooses among the action codes."""
        arrows = self.arrows[t]
        table = self._number([0] * (self.layers[t] * self.alphabet.n_actions)).reshape(self.layers[t], -1)
        np.add.at(table, (arrows.source, arrows.action), arrows.probability)
        return table

    def _number(self, values: list[int]) -> Array:
        return np.array([Fraction(v) for v in values], object) if self.rational else np.array(values, float)

    def letters(self) -> Int64:
        """[X, 3] the distinct steps in lexicographic order."""
        steps = [np.stack([a.action, a.observation, a.reward], axis=1) for a in self.arrows]
        return np.unique(np.concatenate(steps), axis=0)

    def rdp(self, episodes: int = 10**9) -> RDP:
        """As an automaton: counts are what so many episodes bring on average, but at least 1."""
        letters = self.letters()
        symbols, of_letter = np.unique(letters[:, :2], axis=0, return_inverse=True)
        offsets = np.cumsum((0, *self.layers))
        tau = np.full((self.n_states, len(symbols)), UNSEEN, np.int32)
        counts = np.zeros((self.n_states, len(letters)), np.int64)
        place = {tuple(letter): x for x, letter in enumerate(letters.tolist())}
        for t, (arrows, share) in enumerate(zip(self.arrows, self.occupancy(), strict=False)):
            x = np.array([place[a, o, r] for _, a, o, r, _ in arrows.rows()])
            q = offsets[t] + arrows.source
            tau[q, of_letter.ravel()[x]] = offsets[t + 1] + arrows.target
            expected = (share[arrows.source] * arrows.probability).astype(float) * episodes
            counts[q, x] = np.maximum(np.rint(expected), 1)
        return RDP(self.alphabet, letters, symbols, np.array(self.layers), tau, counts)


def minimal_rdp(model: FiniteModel, horizon: int, policy: Controller | None = None) -> Minimal:
    """The minimal RDP of a model under a policy, the usual one unless another is given.

    >>> suffice.minimal_rdp(suffice.make("t-maze").model(5), 5)
    <Minimal: 20 states in layers 1 2 3 4 5 4 1>
    """
    model.refuse_beyond(horizon)
    policy = policy or model.usual
    if policy.alphabet != model.alphabet:
        raise SettingsError("the policy is for another alphabet than the model's")
    try:
        arithmetic: type[_Rational] | type[_Double] = _Rational
        found = _Search(model, policy, arithmetic(), rewards_seen=True).run(horizon)
    except _NotRationalError:
        arithmetic = _Double
        found = _Search(model, policy, arithmetic(), rewards_seen=True).run(horizon)
    if telling := _first_telling(found):
        found = _Search(model, policy, arithmetic(), rewards_seen=False).run(horizon)
    return replace(found, telling=telling)


class _NotRationalError(Exception):
    """For rational arithmetic."""


Belief = tuple[tuple[int, Any], ...]  # states with their weights; proportional beliefs are the same
Node = tuple[int, Belief]  # the policy's memory, and a belief; no belief: the episode is over
Move = tuple[int, int, int, Node, Any]  # action, observation, reward, what it leads to, probability
Arrow = tuple[int, int, int, int, Any]  # the same with the target's place

THE_END: Node = (0, ())


class _Rational:
    """Exact arithmetic: weights are whole numbers without a common divisor, probabilities are fractions."""

    limit = RATIONAL_BELIEFS

    def weights(self, probabilities: Sequence[Fraction]) -> list[Any]:
        """Whole numbers over one denominator."""
        common = lcm(*(p.denominator for p in probabilities))
        return [p.numerator * (common // p.denominator) for p in probabilities]

    def probability(self, p: Fraction) -> Any:
        return p

    def ratio(self, part: Any, whole: Any) -> Any:
        return Fraction(part, whole)

    def belief(self, weight: dict[int, Any]) -> Belief:
        unit = gcd(*weight.values())
        return tuple((s, w // unit) for s, w in sorted(weight.items()))

    def key(self, p: Any) -> Any:
        return p

    def refuse(self) -> Exception:
        return _NotRationalError()


class _Double:
    """Floating point: numbers within the tolerance of one met before are taken for it."""

    limit = MAX_BELIEFS

    def __init__(self) -> None:
        self._known: dict[int, float] = {}  # by multiples of the tolerance

    def weights(self, probabilities: Sequence[Fraction]) -> list[Any]:
        return [float(p) for p in probabilities]

    def probability(self, p: Fraction) -> Any:
        return float(p)

    def ratio(self, part: Any, whole: Any) -> Any:
        return part / whole

    def belief(self, weight: dict[int, Any]) -> Belief:
        total = sum(weight.values())
        return tuple((s, self.key(w / total)) for s, w in sorted(weight.items()))

    def key(self, p: Any) -> Any:
        cell = round(p / TOLERANCE)
        near = [self._known[c] for c in (cell, cell - 1, cell + 1) if c in self._known]
        near = [q for q in near if abs(p - q) <= TOLERANCE]
        return near[0] if near else self._known.setdefault(cell, p)

    def refuse(self) -> Exception:
        return SufficeError(f"histories leave over {MAX_BELIEFS:,} beliefs; choose a shorter horizon")


class _Search:
    """Beliefs forward, states backward."""

    def __init__(
        self, model: FiniteModel, policy: Controller, arithmetic: _Rational | _Double, rewards_seen: bool
    ) -> None:
        self._model, self._policy, self._arithmetic = model, policy, arithmetic
        self._rewards_seen = rewards_seen
        self._chances = [[arithmetic.probability(p) for p in row] for row in policy.chances]
        self._memory_after = policy.after.tolist()
        self._first, self._after = self._rows(model.first), self._rows(model.after)
        self._nothing = model.alphabet.rewards.index(0.0)
        self._n_beliefs = 0

    def _rows(self, outcomes: Outcomes) -> list[list[tuple[Any, int, int, int]]]:
        """The outcomes of each row, with weights in place of probabilities."""
        weights = self._arithmetic.weights(outcomes.probability)
        columns = (outcomes.state.tolist(), outcomes.observation.tolist(), outcomes.reward.tolist())
        flat = list(zip(weights, *columns, strict=True))
        return [flat[a:b] for a, b in pairwise(outcomes.begin.tolist())]

    def run(self, horizon: int) -> Minimal:
        """All layers of beliefs, then their states."""
        start = self._outcomes(self._first[0], DUMMY, 1, self._policy.first.tolist())
        layer, nodes = self._layer([start], last=False)
        layers = [layer]
        for t in range(1, horizon + 1):
            layer, nodes = self._layer([self._moves(node, t == horizon) for node in nodes], last=t == horizon)
            layers.append(layer)
        arrows = tuple(_merged(layers, self._arithmetic))
        rational = isinstance(self._arithmetic, _Rational)
        return _in_order(Minimal(self._model.alphabet, self._model.rewards, arrows, rational))

    def _layer(self, moves: list[Iterator[Move]], last: bool) -> tuple[list[list[Arrow]], list[Node]]:
        """The arrows of each node, and the nodes they lead to."""
        place: dict[Node, int] = {}
        layer = []
        for row in moves:
            layer.append([(a, o, r, place.setdefault(node, len(place)), p) for a, o, r, node, p in row])
            if not last and self._n_beliefs + len(place) > self._arithmetic.limit:
                raise self._arithmetic.refuse()
        self._n_beliefs += len(place)
        return layer, list(place)

    def _moves(self, node: Node, last: bool) -> Iterator[Move]:
        """What may happen next."""
        memory, belief = node
        if not belief:
            yield PAD, STOP, self._nothing, THE_END, self._arithmetic.probability(Fraction(1))
            return
        n_actions = len(self._chances[0])
        for a, chance in enumerate(self._chances[memory]):
            if chance:
                weighted = (
                    (w * p, s, STOP if last else o, r)
                    for state, w in belief
                    for p, s, o, r in self._after[state * n_actions + a]
                )
                yield from self._outcomes(weighted, a + PAD + 1, chance, self._memory_after[memory][a])

    def _outcomes(
        self, outcomes: Iterable[tuple[Any, int, int, int]], action: int, chance: Any, memory: list[int]
    ) -> Iterator[Move]:
        """What an action may bring, and the belief each leaves."""
        found: dict[tuple[int, int], dict[int, Any]] = {}
        for w, s, o, r in outcomes:
            posterior = found.setdefault((o, r), {})
            posterior[s] = posterior.get(s, 0) + w
        total = sum(sum(posterior.values()) for posterior in found.values())
        without: dict[int, dict[int, Any]] = {}  # rewards left out
        for (o, _), posterior in found.items():
            for s, w in posterior.items():
                both = without.setdefault(o, {})
                both[s] = both.get(s, 0) + w
        for (o, r), posterior in sorted(found.items()):
            left = posterior if self._rewards_seen else without[o]
            node = THE_END if o == STOP else (memory[o], self._arithmetic.belief(left))
            yield action, o, r, node, chance * self._arithmetic.ratio(sum(posterior.values()), total)


def _merged(layers: list[list[list[Arrow]]], arithmetic: _Rational | _Double) -> list[Arrows]:
    """From the last layer backwards, nodes that choose and bring the same are one state."""
    merged: list[Arrows] = []
    state_of = [0]  # of each node of the layer after; nothing follows the last, so there is one final state
    for layer in reversed(layers):
        states: dict[tuple[Any, ...], int] = {}
        following, state_of = state_of, []
        for row in layer:
            says = tuple(sorted((a, o, r, following[target], arithmetic.key(p)) for a, o, r, target, p in row))
            state_of.append(states.setdefault(says, len(states)))
        merged.append(_arrows([(q, *arrow) for says, q in states.items() for arrow in says]))
    return merged[::-1]


def _arrows(rows: list[tuple[Any, ...]]) -> Arrows:
    *codes, probability = zip(*rows, strict=True)
    source, action, observation, reward, target = (np.array(code, np.int64) for code in codes)
    kind = object if isinstance(probability[0], Fraction) else float
    return Arrows(source, action, observation, reward, target, np.array(probability, kind))


def _in_order(found: Minimal) -> Minimal:
    """States of a layer by descending occupancy, as a learner would promote them."""
    arrows = list(found.arrows)
    place = np.zeros(1, np.int64)
    for t, share in enumerate(found.occupancy()):
        order = np.array(sorted(range(len(share)), key=lambda q: (-share[q], q)))
        place = np.argsort(order)
        if t:
            arrows[t - 1] = replace(arrows[t - 1], target=place[arrows[t - 1].target])
        if t < len(arrows):
            moved = place[arrows[t].source]
            rows = np.argsort(moved, kind="stable")
            arrows[t] = Arrows(moved[rows], *(getattr(arrows[t], f.name)[rows] for f in fields(Arrows)[1:]))
    return replace(found, arrows=tuple(arrows))


def _first_telling(found: Minimal) -> Telling | None:
    """A history after which two rewards lead to different states."""
    histories: dict[int, History] = {0: ()}
    for arrows in found.arrows:
        following: dict[int, History] = {}
        seen: dict[tuple[int, int, int], tuple[int, int]] = {}
        for q, a, o, r, target in arrows.rows():
            symbol = found.alphabet.action(a), found.alphabet.observation(o)
            other, before = seen.setdefault((q, a, o), (target, r))
            if other != target:
                rewards = found.alphabet.rewards[before], found.alphabet.rewards[r]
                return Telling((*histories[q], symbol), rewards)
            following.setdefault(target, (*histories[q], symbol))
        histories = following
    return None
