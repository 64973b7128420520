"""The minimal stationary RDP of a finite model, if one exists (docs/theory.md, section 8).

Beliefs are computed independently of the step until no new ones appear. If there are finitely many, beliefs with the
same probabilities of actions, observations, rewards and successor classes become one state: the coarsest such
partition, found by splitting classes until nothing changes. Some processes need unbounded memory, for example because
every noisy observation changes the belief a little. They have no finite stationary automaton, and are refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.domains.exact.minimal import Arrows, observing_reward
from suffice.domains.finite import ENDED, FiniteModel, Outcomes
from suffice.errors import SettingsError, parameter
from suffice.planning.controller import Controller

MAX_STATIONARY_BELIEFS = 20_000
MAX_DIGITS = 4096  # bits of a denominator; those of beliefs that never repeat grow without bound

Belief = tuple[tuple[int, Fraction], ...]  # hidden states with their probabilities, in order
Place = tuple[Belief, int]  # a belief and the memory of the behaviour policy
Step = tuple[int, int, int, int, Fraction]  # action, observation and reward codes, target, probability

START, END = 0, 1  # numbers of the first state and of the final state, which is its own successor


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stationary:
    """A stationary RDP in which state 0 is the start, 1 the end, and others are ordered by distance from the start."""

    alphabet: Alphabet
    n_states: int  # with the end, if episodes end; its number 1 stays reserved if not
    arrows: Arrows  # of all states

    def __repr__(self) -> str:
        return f"<Stationary: {self.n_states} states>"

    def rdp(self, steps: int, visits: int = 10**9) -> RDP:
        """Convert to an automaton for `steps` steps, its end last, with the expected counts of `visits` per state."""
        arrows = self.arrows
        codes = np.stack([arrows.action, arrows.observation, arrows.reward], axis=1)
        letters, of_arrow = np.unique(codes, axis=0, return_inverse=True)
        symbols, of_letter = np.unique(letters[:, :2], axis=0, return_inverse=True)
        place = np.arange(int(max(arrows.source.max(), arrows.target.max())) + 1)
        place = np.where(place == END, self.n_states - 1, place - (place > END))
        tau = np.full((self.n_states, len(symbols)), UNSEEN, np.int32)
        counts = np.zeros((self.n_states, len(letters)), np.int64)
        x = of_arrow.reshape(-1)
        tau[place[arrows.source], of_letter.reshape(-1)[x]] = place[arrows.target]
        counts[place[arrows.source], x] = np.maximum(np.rint(arrows.probability.astype(float) * visits), 1)
        layers = np.array([self.n_states], np.int64)
        return RDP(self.alphabet, letters.astype(np.int32), symbols.astype(np.int32), layers, tau, counts, steps=steps)


def stationary_rdp(model: FiniteModel, policy: Controller | None = None) -> Stationary:
    """Compute the stationary automaton of a model, for histories of any length."""
    if model.reach is not None:
        raise SettingsError(
            "the model has too many states for a stationary automaton. Choose smaller options, or compute the layered "
            f"automaton, without {parameter('stationary', True)}."
        )
    found = _BeliefClosure(model, policy or model.usual)
    classes = _coarsest([found.start, *found.rows])
    return _automaton(model.alphabet, found, classes)


class _BeliefClosure:
    """The beliefs after all histories of a model."""

    def __init__(self, model: FiniteModel, policy: Controller) -> None:
        self._model, self._policy = model, policy
        self._number: dict[Place, int] = {}
        self._queue: deque[Place] = deque()
        nothing = model.alphabet.rewards.index(0.0)
        self.start = [
            (DUMMY, o, nothing, self._place(belief, int(policy.first[o])), p)
            for (o, _), (belief, p) in self._outcomes(model.first, 0, Fraction(1)).items()
        ]
        self.rows: list[list[Step]] = []
        while self._queue:
            self.rows.append(list(self._steps(*self._queue.popleft())))
        self.ends = any(target == ENDED for row in self.rows for *_, target, _ in row)

    def _place(self, weights: dict[int, Fraction], memory: int) -> int:
        total = sum(weights.values())
        belief = tuple(sorted((state, p / total) for state, p in weights.items()))
        place = (belief, memory)
        if place not in self._number:
            if (
                len(self._number) >= MAX_STATIONARY_BELIEFS
                or max(p.denominator.bit_length() for _, p in belief) > MAX_DIGITS
            ):
                raise SettingsError(
                    f"the model has no finite stationary automaton, as far as {len(self._number):,} beliefs about the "
                    "hidden state show: new beliefs keep appearing. Compute the layered automaton, without "
                    f"{parameter('stationary', True)}."
                )
            self._number[place] = len(self._number)
            self._queue.append(place)
        return self._number[place]

    def _steps(self, belief: Belief, memory: int) -> Iterator[Step]:
        """Yield the possible next steps with their targets."""
        model, policy = self._model, self._policy
        for a, chance in enumerate(policy.chances[memory]):
            if not chance:
                continue
            seen: dict[tuple[int, int], tuple[dict[int, Fraction], Fraction]] = {}
            for state, p in belief:
                row = state * len(model.alphabet.actions) + a
                for key, (weights, total) in self._outcomes(model.after, row, p).items():
                    known, sum_so_far = seen.setdefault(key, ({}, Fraction(0)))
                    for s, w in weights.items():
                        known[s] = known.get(s, Fraction(0)) + w
                    seen[key] = known, sum_so_far + total
            yield from self._outcome_steps(a, chance, memory, seen)

    def _outcome_steps(
        self, a: int, chance: Fraction, memory: int, seen: dict[tuple[int, int], tuple[dict[int, Fraction], Fraction]]
    ) -> Iterator[Step]:
        """Yield the steps of an action; histories have no rewards, so each observation leads to one belief."""
        together: dict[int, dict[int, Fraction]] = {}
        for (o, _), (weights, _) in seen.items():
            for s, w in weights.items():
                belief = together.setdefault(o, {})
                belief[s] = belief.get(s, Fraction(0)) + w
        targets = {o: self._place(w, int(self._policy.after[memory, a, o])) for o, w in together.items() if o != STOP}
        for (o, r), (weights, p) in seen.items():
            if o != STOP and _scaled(weights) != _scaled(together[o]):
                raise SettingsError(
                    "rewards carry information about the hidden state that observations do not, and no state can "
                    f"remember it. Add the reward to the observation with {observing_reward()}."
                )
            yield PAD + 1 + a, o, r, targets.get(o, ENDED), chance * p

    def _outcomes(
        self, table: Outcomes, row: int, share: Fraction
    ) -> dict[tuple[int, int], tuple[dict[int, Fraction], Fraction]]:
        """Return, by observation and reward, the probability of each hidden state, and their sum."""
        found: dict[tuple[int, int], tuple[dict[int, Fraction], Fraction]] = {}
        for k in range(int(table.begin[row]), int(table.begin[row + 1])):
            key, p = (int(table.observation[k]), int(table.reward[k])), share * table.probability[k]
            weights, total = found.setdefault(key, ({}, Fraction(0)))
            weights[int(table.state[k])] = weights.get(int(table.state[k]), Fraction(0)) + p
            found[key] = weights, total + p
        return found


def _scaled(weights: dict[int, Fraction]) -> dict[int, Fraction]:
    total = sum(weights.values())
    return {state: p / total for state, p in weights.items()}


def _coarsest(rows: list[list[Step]]) -> list[int]:
    """Return the class of each row, so that rows of a class have equal steps into equal classes; row 0 is alone."""
    classes = [0] + [1] * (len(rows) - 1)
    while True:
        known: dict[tuple[object, ...], int] = {}
        finer = []
        for i, row in enumerate(rows):
            merged: dict[tuple[int, ...], Fraction] = {}
            for a, o, r, target, p in row:
                key = (a, o, r, ENDED if target == ENDED else classes[target + 1])
                merged[key] = merged.get(key, Fraction(0)) + p
            finer.append(known.setdefault((classes[i], *sorted(merged.items())), len(known)))
        if len(known) == len(set(classes)):
            return finer
        classes = finer


def _automaton(alphabet: Alphabet, found: _BeliefClosure, classes: list[int]) -> Stationary:
    """Build the automaton whose states are the classes, numbered by distance from the start."""
    number = {classes[0]: START}
    arrows: dict[tuple[int, int, int, int, int], Fraction] = {}
    done = set()
    for i, row in enumerate(
        [found.start, *found.rows]
    ):  # breadth first: every class has its number before its row is read
        source = number[classes[i]]
        if source in done:
            continue
        done.add(source)
        for a, o, r, target, p in row:
            to = END if target == ENDED else number.setdefault(classes[target + 1], len(number) + 1)
            arrows[source, a, o, r, to] = arrows.get((source, a, o, r, to), Fraction(0)) + p
    if found.ends:
        arrows[END, PAD, STOP, alphabet.rewards.index(0.0), END] = Fraction(1)
    ordered = sorted(arrows)
    columns = (np.array(column, np.int64) for column in zip(*ordered, strict=True))
    sources, actions, observations, rewards, targets = columns
    probability = np.array([arrows[key] for key in ordered], object)
    n_states = len(number) + found.ends
    return Stationary(alphabet, n_states, Arrows(sources, actions, observations, rewards, targets, probability))
