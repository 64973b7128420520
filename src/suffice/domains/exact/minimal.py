"""The minimal layered RDP of a finite model under a behaviour policy (docs/theory.md, section 7).

Forward pass: compute the beliefs about the hidden state after each history, together with the memory of the policy.
Both determine the complete future. Backward pass, from the last layer: beliefs with the same probabilities of actions,
observations, rewards and successors become one state.

Histories of an RDP consist of actions and observations. Where rewards carry information about the hidden state that
these do not, the future depends on past rewards too. The forward pass therefore conditions beliefs on rewards. If no
reward makes a difference, the automaton reads actions and observations, and is exact. If one does, this is reported,
and the automaton is built from beliefs without rewards: expectations, and so the values of policies, are exact, but the
distributions of complete futures are not.
"""

from __future__ import annotations

import math
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
from suffice.data.listing import layer_sizes
from suffice.domains.finite import FiniteModel, Outcomes
from suffice.errors import SettingsError, SufficeError, parameter, require_type
from suffice.kernels.array_types import Array, Int64
from suffice.planning.controller import Controller

TOLERANCE = 1e-9  # doubles that differ by less are equal
RATIONAL_BELIEFS = 20_000  # number of beliefs up to which arithmetic is rational
MAX_BELIEFS = 500_000


@dataclass(frozen=True, slots=True, eq=False)
class Arrows:
    """Transitions out of the states of one layer, sorted by state."""

    source: Int64  # [E] position in the layer
    action: Int64  # [E] codes
    observation: Int64  # [E] codes
    reward: Int64  # [E] codes
    target: Int64  # [E] position in the next layer
    probability: Array  # [E] of action, observation and reward, given the state

    def rows(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield source, action, observation, reward and target of each arrow."""
        columns = (self.source, self.action, self.observation, self.reward, self.target)
        return zip(*(column.tolist() for column in columns), strict=True)

    def starts(self) -> Int64:
        """Return [Q] the position of the first arrow of each state; every state has one."""
        return np.flatnonzero(np.diff(self.source, prepend=-1))


@dataclass(frozen=True, slots=True)
class RewardDependence:
    """A history after which the reward, which an automaton does not read, determines what may follow."""

    history: History
    rewards: tuple[float, float]  # two rewards with different futures

    @property
    def sentence(self) -> str:
        """Return the problem and its fix as text."""
        return (
            f"Rewards carry information that observations do not: after {show(self.history)} the reward "
            f"{self.rewards[0]:g} or {self.rewards[1]:g} determines what may follow, and no state can remember it. "
            "Values are exact for policies that do not see rewards, but there are too few states for complete futures, "
            f"and distinguishability is not defined. Add the reward to the observation with {observing_reward()}."
        )


def observing_reward() -> str:
    """Name the way to observe rewards: a method in Python, an option on the command line."""
    named = parameter("observe_reward")
    return named if named.startswith("--") else "model.observing_reward()"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Minimal:
    """The minimal layered RDP of a finite model, with its probabilities under the behaviour policy.

    `minimal_rdp` computes it.

    Attributes
    ----------
    alphabet
        Codes of actions, observations and rewards.
    rewards
        The rewards of the alphabet as fractions.
    arrows
        The transitions out of each layer 0..H.
    rational
        Whether probabilities are fractions. Otherwise they are doubles, equal up to 1e-9.
    reward_dependence
        A history after which rewards determine the future, which states cannot remember; None if there is none.

    Examples
    --------
    >>> minimal = suffice.minimal_rdp(suffice.make("corridor").model(5), 5)
    >>> minimal
    <Minimal: 11 states in layers 1 1 2 2 2 2 1>
    >>> suffice.compare(minimal.rdp(), model.rdp) is None
    True
    """

    alphabet: Alphabet
    rewards: tuple[Fraction, ...]  # [R]
    arrows: tuple[Arrows, ...]  # [H+1]
    rational: bool
    reward_dependence: RewardDependence | None = None

    def __repr__(self) -> str:
        return f"<Minimal: {self.n_states} states in layers {layer_sizes(self.layers)}>"

    @property
    def telling(self) -> RewardDependence | None:
        """Deprecated name of `reward_dependence`, for existing programs."""
        return self.reward_dependence

    @property
    def horizon(self) -> int:
        """H, the number of actions per episode."""
        return len(self.arrows) - 1

    @property
    def layers(self) -> tuple[int, ...]:
        """Number of states of each of the H+2 layers."""
        return (*(int(arrows.source[-1]) + 1 for arrows in self.arrows), 1)

    @property
    def n_states(self) -> int:
        """Q_min, the number of states in all layers."""
        return sum(self.layers)

    def occupancy(self) -> list[Array]:
        """Compute the probability of each state at its step.

        Returns
        -------
        list of arrays
            [H+2][Q_t] probabilities; those of each layer add up to 1.
        """
        shares = [self._number([1])]
        for arrows, n in zip(self.arrows, self.layers[1:], strict=True):
            following = self._number([0] * n)
            np.add.at(following, arrows.target, shares[-1][arrows.source] * arrows.probability)
            shares.append(following)
        return shares

    def chances(self, t: int) -> Array:
        """Compute the probabilities of actions in the states of a layer.

        Parameters
        ----------
        t
            The layer, from 0 to H.

        Returns
        -------
        array
            [Q_t, A+2] probabilities, by state and action code.
        """
        arrows = self.arrows[t]
        table = self._number([0] * (self.layers[t] * self.alphabet.n_actions)).reshape(self.layers[t], -1)
        np.add.at(table, (arrows.source, arrows.action), arrows.probability)
        return table

    def _number(self, values: list[int]) -> Array:
        return np.array([Fraction(v) for v in values], object) if self.rational else np.array(values, float)

    def letters(self) -> Int64:
        """List the distinct steps in lexicographic order.

        Returns
        -------
        array
            [X, 3] codes of action, observation and reward.
        """
        steps = [np.stack([a.action, a.observation, a.reward], axis=1) for a in self.arrows]
        return np.unique(np.concatenate(steps), axis=0)

    def rdp(self, episodes: int = 10**9) -> RDP:
        """Convert to an automaton like a learned one.

        Parameters
        ----------
        episodes
            Number of episodes of the log it stands for: counts are their expectations, rounded, but at least 1.

        Returns
        -------
        RDP
            The automaton.
        """
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
    """Compute the minimal layered RDP of a finite model under a policy.

    Parameters
    ----------
    model
        The finite model, for example `suffice.make("t-maze").model(5)`.
    horizon
        Number of actions per episode.
    policy
        The behaviour policy. Default: that of the model.

    Returns
    -------
    Minimal
        The automaton with its probabilities.

    Examples
    --------
    >>> suffice.minimal_rdp(suffice.make("t-maze").model(5), 5)
    <Minimal: 20 states in layers 1 2 3 4 5 4 1>
    """
    require_type("model", model, FiniteModel, "a finite model. Pass one such as suffice.make('t-maze').model(5).")
    model.refuse_beyond(horizon)
    policy = policy or model.usual
    if policy.alphabet != model.alphabet:
        raise SettingsError("the policy has another alphabet than the model. Construct it with model.alphabet.")
    found = _minimal(model, policy, horizon, rewards_seen=True)
    if dependence := _first_dependence(found):
        found = _minimal(model, policy, horizon, rewards_seen=False)
    return replace(found, reward_dependence=dependence)


def _minimal(model: FiniteModel, policy: Controller, horizon: int, rewards_seen: bool) -> Minimal:
    """Search in rational arithmetic, or with floating-point numbers if there are too many beliefs for it."""
    try:
        return _Search(model, policy, _Rational(), rewards_seen).run(horizon)
    except _NotRationalError:
        return _Search(model, policy, _Double(), rewards_seen).run(horizon)


class _NotRationalError(Exception):
    """There are too many beliefs for rational arithmetic."""


Belief = tuple[tuple[int, Any], ...]  # states with weights; proportional beliefs are equal
Node = tuple[int, Belief]  # memory of the policy, and a belief, which is empty after the end of the episode
Move = tuple[int, int, int, Node, Any]  # action, observation, reward, target, probability
Arrow = tuple[int, int, int, int, Any]  # the same with the position of the target

THE_END: Node = (0, ())


class _Rational:
    """Exact arithmetic with fractions; weights of beliefs are integers without a common divisor."""

    limit = RATIONAL_BELIEFS

    def weights(self, probabilities: Sequence[Fraction]) -> list[Any]:
        """Return integers proportional to the probabilities."""
        common = lcm(*(p.denominator for p in probabilities))
        return [p.numerator * (common // p.denominator) for p in probabilities]

    def probability(self, p: Fraction) -> Any:
        return p

    def total(self, weights: Iterable[Any]) -> Any:
        return sum(weights)

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
    """Floating-point arithmetic; a number within the tolerance of an earlier one is replaced by that."""

    limit = MAX_BELIEFS

    def __init__(self) -> None:
        self._known: dict[int, float] = {}  # by rounded multiple of the tolerance

    def weights(self, probabilities: Sequence[Fraction]) -> list[Any]:
        return [float(p) for p in probabilities]

    def probability(self, p: Fraction) -> Any:
        return float(p)

    def total(self, weights: Iterable[Any]) -> Any:
        return math.fsum(weights)

    def ratio(self, part: Any, whole: Any) -> Any:
        return part / whole

    def belief(self, weight: dict[int, Any]) -> Belief:
        total = self.total(weight.values())
        return tuple((s, self.key(w / total)) for s, w in sorted(weight.items()))

    def key(self, p: Any) -> Any:
        cell = round(p / TOLERANCE)
        near = [self._known[c] for c in (cell, cell - 1, cell + 1) if c in self._known]
        near = [q for q in near if abs(p - q) <= TOLERANCE]
        return near[0] if near else self._known.setdefault(cell, p)

    def refuse(self) -> Exception:
        return SufficeError(f"the model has over {MAX_BELIEFS:,} beliefs. Use a smaller {parameter('horizon')}.")


class _Search:
    """Search of the minimal RDP, with beliefs in the forward and states in the backward pass."""

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
        """Return the outcomes of each row, with weights instead of probabilities."""
        weights = self._arithmetic.weights(outcomes.probability)
        columns = (outcomes.state.tolist(), outcomes.observation.tolist(), outcomes.reward.tolist())
        flat = list(zip(weights, *columns, strict=True))
        return [flat[a:b] for a, b in pairwise(outcomes.begin.tolist())]

    def run(self, horizon: int) -> Minimal:
        """Compute all layers of beliefs, then merge them into states."""
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
        """Return the arrows of each node, and the nodes they lead to."""
        place: dict[Node, int] = {}
        layer = []
        for row in moves:
            layer.append([(a, o, r, place.setdefault(node, len(place)), p) for a, o, r, node, p in row])
            if not last and self._n_beliefs + len(place) > self._arithmetic.limit:
                raise self._arithmetic.refuse()
        self._n_beliefs += len(place)
        return layer, list(place)

    def _moves(self, node: Node, last: bool) -> Iterator[Move]:
        """Yield the possible next steps of a node."""
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
        """Yield the possible outcomes of an action with the resulting beliefs."""
        found: dict[tuple[int, int], dict[int, Any]] = {}
        for w, s, o, r in outcomes:
            posterior = found.setdefault((o, r), {})
            posterior[s] = posterior.get(s, 0) + w
        arithmetic = self._arithmetic
        parts = {key: arithmetic.total(posterior.values()) for key, posterior in found.items()}
        total = arithmetic.total(parts.values())
        without: dict[int, dict[int, Any]] = {}  # beliefs not conditioned on rewards
        for (o, _), posterior in found.items():
            for s, w in posterior.items():
                both = without.setdefault(o, {})
                both[s] = both.get(s, 0) + w
        for (o, r), posterior in sorted(found.items()):
            left = posterior if self._rewards_seen else without[o]
            node = THE_END if o == STOP else (memory[o], arithmetic.belief(left))
            yield action, o, r, node, chance * arithmetic.ratio(parts[o, r], total)


def _merged(layers: list[list[list[Arrow]]], arithmetic: _Rational | _Double) -> list[Arrows]:
    """Merge nodes with equal probabilities and successors into states, from the last layer backwards."""
    merged: list[Arrows] = []
    state_of = [0]  # of each node of the next layer; after the last layer there is one final state
    for layer in reversed(layers):
        states: dict[tuple[Any, ...], int] = {}
        following, state_of = state_of, []
        for row in layer:
            future = tuple(sorted((a, o, r, following[target], arithmetic.key(p)) for a, o, r, target, p in row))
            state_of.append(states.setdefault(future, len(states)))
        merged.append(_arrows([(q, *arrow) for future, q in states.items() for arrow in future]))
    return merged[::-1]


def _arrows(rows: list[tuple[Any, ...]]) -> Arrows:
    *codes, probability = zip(*rows, strict=True)
    source, action, observation, reward, target = (np.array(code, np.int64) for code in codes)
    kind = object if isinstance(probability[0], Fraction) else float
    return Arrows(source, action, observation, reward, target, np.array(probability, kind))


def _in_order(found: Minimal) -> Minimal:
    """Sort the states of each layer by descending occupancy, the order in which the learner promotes them."""
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


def _first_dependence(found: Minimal) -> RewardDependence | None:
    """Find a history after which two rewards lead to different states."""
    histories: dict[int, History] = {0: ()}
    for arrows in found.arrows:
        following: dict[int, History] = {}
        seen: dict[tuple[int, int, int], tuple[int, int]] = {}
        for q, a, o, r, target in arrows.rows():
            symbol = found.alphabet.action(a), found.alphabet.observation(o)
            other, before = seen.setdefault((q, a, o), (target, r))
            if other != target:
                rewards = found.alphabet.rewards[before], found.alphabet.rewards[r]
                return RewardDependence((*histories[q], symbol), rewards)
            following.setdefault(target, (*histories[q], symbol))
        histories = following
    return None
