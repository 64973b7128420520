"""Processes with known values on which verdicts and lower bounds are calibrated: noise, domains, random RDPs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from suffice import Controller, FiniteModel, Outcome, make
from suffice.domains.registry import DOMAINS

PARTS = 64  # probabilities of random processes are multiples of 1/64
LOGGERS = ("uniform", "epsilon-greedy", "history")


class Process(NamedTuple):
    """A process with its logger."""

    model: FiniteModel
    logger: Controller
    horizon: int


def kinds() -> list[str]:
    """Return the names of all processes."""
    return ["noise", *(f"random {logger}" for logger in LOGGERS), *DOMAINS]


def process_of(kind: str, rng: np.random.Generator) -> Process:
    """Return a process; random ones differ from call to call."""
    if kind == "noise":
        model = FiniteModel.of(Noise(Fraction(int(rng.integers(1, 10)), 10)))
        return Process(model, model.usual, 6)
    if kind.startswith("random "):
        model = FiniteModel.of(RandomRDP.of(rng))
        return Process(model, logger_of(kind.removeprefix("random "), model, rng), int(rng.integers(4, 9)))
    domain = make(kind)
    model = domain.model(domain.default_horizon)
    return Process(model, model.usual, domain.default_horizon)


def logger_of(name: str, model: FiniteModel, rng: np.random.Generator) -> Controller:
    """Return a logger: uniform, ε-greedy by the last observation, or with a random memory of three values."""
    alphabet, actions = model.alphabet, len(model.alphabet.actions)
    if name == "uniform":
        return Controller.uniform(alphabet)

    def mostly(action: int, epsilon: Fraction) -> tuple[Fraction, ...]:
        return tuple(epsilon / actions + (1 - epsilon) * (a == action) for a in range(actions))

    if name == "epsilon-greedy":
        chosen = rng.integers(actions, size=len(alphabet.observations)).tolist()
        return Controller.by_observation(alphabet, [mostly(action, Fraction(3, 10)) for action in chosen])
    memories, observations = 3, alphabet.n_observations
    first = rng.integers(memories, size=observations).astype(np.int32)
    after = rng.integers(memories, size=(memories, actions, observations)).astype(np.int32)
    chosen = rng.integers(actions, size=memories).tolist()
    return Controller(alphabet, first, after, tuple(mostly(action, Fraction(4, 10)) for action in chosen))


@dataclass(frozen=True)
class Noise:
    """Three observations and three actions without any effect, and a reward of 1 with a fixed probability."""

    chance: Fraction
    all_actions: tuple[str, ...] = ("a", "b", "c")
    features: tuple[str, ...] = ("light",)

    def start(self) -> list[Outcome]:
        return [Outcome(Fraction(1, 3), 0, (o,)) for o in range(3)]

    def step(self, state: Any, action: Any) -> list[Outcome]:
        rewards = ((1 - self.chance, 0), (self.chance, 1))
        return [Outcome(p / 3, 0, (o,), Fraction(r)) for o in range(3) for p, r in rewards]

    def choices(self, observation: Any) -> Sequence[str]:
        return self.all_actions


@dataclass(frozen=True)
class RandomRDP:
    """A random automaton with two to six states, two to four actions and observations, and rewards 0, 1 and 2."""

    first: list[Fraction]  # [O] chance of each first observation
    observe: list[list[list[Fraction]]]  # [Q][A][O]
    pay: list[list[list[Fraction]]]  # [Q][A][3]
    begin: list[int]  # [O] state after each first observation
    after: list[list[list[int]]]  # [Q][A][O]
    all_actions: tuple[str, ...]
    features: tuple[str, ...] = ("light",)

    @classmethod
    def of(cls, rng: np.random.Generator) -> RandomRDP:
        states, actions, observations = (int(rng.integers(2, most)) for most in (7, 5, 5))
        cells = [(q, a) for q in range(states) for a in range(actions)]
        observe, pay = ({cell: _chances(rng, 0.4, size) for cell in cells} for size in (observations, 3))
        return cls(
            _chances(rng, 2.0, observations),
            [[observe[q, a] for a in range(actions)] for q in range(states)],
            [[pay[q, a] for a in range(actions)] for q in range(states)],
            rng.integers(states, size=observations).tolist(),
            rng.integers(states, size=(states, actions, observations)).tolist(),
            tuple(f"a{i}" for i in range(actions)),
        )

    def start(self) -> list[Outcome]:
        return [Outcome(p, self.begin[o], (o,)) for o, p in enumerate(self.first) if p]

    def step(self, state: Any, action: Any) -> list[Outcome]:
        a = self.all_actions.index(action)
        seen, paid, after = self.observe[state][a], self.pay[state][a], self.after[state][a]
        return [
            Outcome(p * chance, after[o], (o,), Fraction(r))
            for o, p in enumerate(seen)
            for r, chance in enumerate(paid)
            if p and chance
        ]

    def choices(self, observation: Any) -> Sequence[str]:
        return self.all_actions


def _chances(rng: np.random.Generator, concentration: float, size: int) -> list[Fraction]:
    """Draw probabilities from a Dirichlet distribution, rounded to multiples of 1/64."""
    parts = np.round(PARTS * rng.dirichlet(np.full(size, concentration))).astype(int)
    parts[parts.argmax()] += PARTS - parts.sum()
    return [Fraction(int(part), PARTS) for part in parts]
