"""Random regular decision processes with exact values, and behaviour policies that log them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.domains.finite import FiniteModel, Outcome
from suffice.planning.controller import Controller

Logger = Literal["uniform", "epsilon-greedy", "history"]
LOGGERS: tuple[Logger, ...] = ("uniform", "epsilon-greedy", "history")

SKEW = 0.4  # concentration of the output distributions: well below 1, so that states differ visibly
PARTS = 64  # probabilities are multiples of 1/64
MEMORIES = 3  # of a logger that remembers


def fractions(chances: NDArray[np.float64]) -> list[Fraction]:
    """Round probabilities to multiples of 1/PARTS that add up to 1."""
    parts = np.round(chances * PARTS).astype(int)
    parts[parts.argmax()] += PARTS - parts.sum()
    return [Fraction(int(part), PARTS) for part in parts]


@dataclass(frozen=True)
class RandomProcess:
    """State and action determine observation and reward, independently; with the observation they determine the next
    state. Rewards are 0, 1 and 2.
    """

    first: list[Fraction]  # [O]
    observes: list[list[list[Fraction]]]  # [Q][A][O]
    pays: list[list[list[Fraction]]]  # [Q][A][R]
    after_first: list[int]  # [O]
    after: list[list[list[int]]]  # [Q][A][O]

    @classmethod
    def draw(cls, rng: np.random.Generator, n_states: int, n_actions: int, n_observations: int) -> RandomProcess:
        def outputs(n: int) -> list[list[list[Fraction]]]:
            skewed = rng.dirichlet(np.full(n, SKEW), size=(n_states, n_actions))
            return [[fractions(chances) for chances in row] for row in skewed]

        first = fractions(rng.dirichlet(np.full(n_observations, 2.0)))
        observes, pays = outputs(n_observations), outputs(3)
        after_first = rng.integers(n_states, size=n_observations).tolist()
        return cls(first, observes, pays, after_first, rng.integers(n_states, size=np.shape(observes)).tolist())

    @property
    def features(self) -> tuple[str, ...]:
        return ("seen",)

    @property
    def all_actions(self) -> tuple[str, ...]:
        return tuple(f"a{i}" for i in range(len(self.pays[0])))

    def choices(self, observation: Any) -> Sequence[str]:
        return self.all_actions

    def start(self) -> Iterator[Outcome]:
        for o, chance in enumerate(self.first):
            if chance:
                yield Outcome(chance, self.after_first[o], (o,))

    def step(self, state: Any, action: Any) -> Iterator[Outcome]:
        a = self.all_actions.index(action)
        for o, seen in enumerate(self.observes[state][a]):
            for reward, paid in enumerate(self.pays[state][a]):
                if seen * paid:
                    yield Outcome(seen * paid, self.after[state][a][o], (o,), Fraction(reward))


def behaviour(kind: Logger, model: FiniteModel, rng: np.random.Generator) -> Controller:
    """Draw a behaviour policy: uniform, by the last observation, or with a memory of its own."""
    alphabet, actions = model.alphabet, len(model.alphabet.actions)

    def mostly(action: int, epsilon: Fraction) -> tuple[Fraction, ...]:
        return tuple(epsilon / actions + (1 - epsilon) * (a == action) for a in range(actions))

    if kind == "uniform":
        return Controller.uniform(alphabet)
    if kind == "epsilon-greedy":
        favourites = rng.integers(actions, size=len(alphabet.observations)).tolist()
        return Controller.by_observation(alphabet, [mostly(a, Fraction(3, 10)) for a in favourites])
    n = alphabet.n_observations
    first, after = (rng.integers(MEMORIES, size=shape).astype(np.int32) for shape in ((n,), (MEMORIES, actions, n)))
    favourites = rng.integers(actions, size=MEMORIES).tolist()
    return Controller(alphabet, first, after, tuple(mostly(a, Fraction(4, 10)) for a in favourites))


def propensities(policy: Controller, episodes: Episodes) -> NDArray[np.float64]:
    """Return [H+1, N], the probabilities with which a behaviour policy took the actions of its own episodes."""
    assert episodes.alphabet == policy.alphabet
    action, observation, _ = (column[episodes.word] for column in episodes.letters.T)
    found, memory, table = np.ones(action.shape), policy.first[observation[0]], policy.table
    for t in range(1, len(action)):
        acts, a = action[t] > PAD, np.maximum(action[t].astype(int) - PAD - 1, 0)
        found[t] = np.where(acts, table[memory, a], 1.0)
        memory = np.where(acts, policy.after[memory, a, observation[t]], memory)
    return found
