"""Finite models for the tests of exact results: random, small, and from the paper."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracle.exact import ExactOracle, History, controller, history_of, usual
from suffice.domains.domain import Domain
from suffice.domains.exact import minimal as minimal_module
from suffice.domains.exact import values as values_module
from suffice.domains.exact.minimal import Minimal, minimal_rdp
from suffice.domains.exact.truth import Truth, by_languages, truth_of
from suffice.domains.exact.values import best_plan, concentrability, exact_value
from suffice.domains.finite import FiniteModel, Outcome
from suffice.domains.registry import DOMAINS
from suffice.domains.tasks.repeat_previous import RepeatPrevious
from suffice.evidence.languages import Family
from suffice.planning.controller import Controller

DELTA = 1e-3
HALF = Fraction(1, 2)
SINGLE = Family(1, 1, 1)
ALL_DOMAINS = [  # repeat-previous has 1,706 states with four suits, 126 with two
    RepeatPrevious(suits=2) if domain is RepeatPrevious else domain() for domain in DOMAINS.values()
]


@cache
def truth(domain: Domain) -> Truth:
    horizon = domain.default_horizon
    return truth_of(domain.model(horizon), horizon)


# ---------------------------------------------------------------- random definitions


@dataclass(frozen=True)
class Drawn:
    """A definition given by tables."""

    starts: tuple[Outcome, ...]
    steps: dict[tuple[Any, Any], tuple[Outcome, ...]]
    features: tuple[str, ...] = ("f", "g")

    @property
    def all_actions(self) -> tuple[str, ...]:
        return ("b", "a")

    def start(self) -> tuple[Outcome, ...]:
        return self.starts

    def step(self, state: Any, action: Any) -> tuple[Outcome, ...]:
        return self.steps[state, action]

    def choices(self, observation: Any) -> tuple[str, ...]:
        return ("a",) if observation == (1, "x") else ("a", "b")


def shares(rng: np.random.Generator, parts: int) -> list[Fraction]:
    """Draw positive fractions that add up to 1."""
    numbers = rng.integers(1, 4, parts).tolist()
    return [Fraction(n, sum(numbers)) for n in numbers]


VIEWS = [(0, "x"), (1, "x"), (1, "y")]
PAY = [Fraction(0), Fraction(1, 3), Fraction(2), Fraction(-1)]


def draw(seed: int, informative: bool) -> Drawn:
    """Draw a definition with two actions, up to four hidden states and early ends.

    Rewards are drawn given action and observation, or, if `informative`, also depend on the hidden state.
    """
    rng = np.random.default_rng(seed)
    n, views = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    lottery = {
        (a, o): [(p, PAY[i]) for p, i in zip(shares(rng, k), rng.permutation(4)[:k].tolist(), strict=True)]
        for a in "ab"
        for o in range(views)
        for k in [int(rng.integers(1, 3))]
    }

    def row(a: str) -> Iterator[Outcome]:
        for p in shares(rng, int(rng.integers(1, 4))):
            o, state = int(rng.integers(views)), int(rng.integers(n))
            if rng.random() < 0.15:
                yield Outcome(
                    p, None, None, PAY[int(rng.integers(4))]
                )  # the last reward has no influence on the future
            elif informative:
                yield Outcome(p, state, VIEWS[o], PAY[int(rng.integers(4))])
            else:
                yield from (Outcome(p * q, state, VIEWS[o], r) for q, r in lottery[a, o])

    count = int(rng.integers(1, 4))
    starts = [Outcome(p, int(rng.integers(n)), VIEWS[int(rng.integers(views))]) for p in shares(rng, count)]
    return Drawn(tuple(starts), {(s, a): tuple(row(a)) for s in range(n) for a in "ab"})


def draw_policy(seed: int, model: FiniteModel) -> Controller:
    """Draw a policy of one to three memories, some of which never take an action."""
    rng = np.random.default_rng([seed, 1])
    memories = int(rng.integers(1, 4))
    actions, observations = len(model.alphabet.actions), model.alphabet.n_observations
    chances = []
    for _ in range(memories):
        taken = rng.permutation(actions)[: rng.integers(1, actions + 1)].tolist()
        part = dict(zip(taken, shares(rng, len(taken)), strict=True))
        chances.append(tuple(part.get(a, Fraction(0)) for a in range(actions)))
    first = rng.integers(memories, size=observations).astype(np.int32)
    after = rng.integers(memories, size=(memories, actions, observations)).astype(np.int32)
    return Controller(model.alphabet, first, after, tuple(chances))


# ---------------------------------------------------------------- agreement with an enumeration of all episodes


@dataclass(frozen=True)
class Both:
    """A minimal RDP, the enumeration of all episodes, and the correspondence of their states."""

    minimal: Minimal
    oracle: ExactOracle
    place: list[dict[History, int]]  # [H+2] state of the automaton after each history

    @classmethod
    def of(cls, minimal: Minimal, oracle: ExactOracle) -> Both:
        alphabet = minimal.alphabet
        place: list[dict[History, int]] = [{(): 0}]
        for t, arrows in enumerate(minimal.arrows):
            targets: dict[Any, set[int]] = {}
            for q, a, o, _, target in arrows.rows():
                targets.setdefault((q, alphabet.action(a), alphabet.observation(o)), set()).add(target)
            assert all(len(several) == 1 for several in targets.values())
            following = {}
            for history in oracle.futures[t + 1]:
                (following[history],) = targets[place[t][history[:-1]], *history[-1]]
            place.append(following)
        return cls(minimal, oracle, place)

    def paired(self, t: int, states: list[dict[History, int]]) -> dict[int, int]:
        """Map the states of layer t of the oracle to those of the automaton; both must join the same histories."""
        pairs = {(q, self.place[t][history]) for history, q in states[t].items()}
        assert len(pairs) == len({q for q, _ in pairs}) == len({p for _, p in pairs}) == self.minimal.layers[t]
        return dict(pairs)

    def steps(self, t: int) -> list[dict[Any, Any]]:
        """Return the distribution of the next step in each state of layer t."""
        minimal, alphabet = self.minimal, self.minimal.alphabet
        found: list[dict[Any, Any]] = [{} for _ in range(minimal.layers[t])]
        for (q, a, o, r, _), p in zip(minimal.arrows[t].rows(), minimal.arrows[t].probability, strict=True):
            found[q][alphabet.action(a), alphabet.observation(o), minimal.rewards[r]] = p
        return found


def compared(definition: Any, horizon: int, policy: Controller | None = None) -> Both:
    minimal = minimal_rdp(FiniteModel.of(definition), horizon, policy)
    assert minimal.rational
    choose = controller(policy) if policy else usual(definition)
    return Both.of(minimal, ExactOracle(definition, horizon, choose))


def assert_states(both: Both) -> None:
    """Check that states, probabilities and occupancies are exactly equal."""
    minimal, oracle = both.minimal, both.oracle
    states = oracle.expected_states if minimal.reward_dependence else oracle.states
    assert minimal.horizon == oracle.horizon
    for t in range(minimal.horizon + 2):
        pairs = both.paired(t, states)
        share: Counter[int] = Counter()
        for history, weight in oracle.weight(t).items():
            share[pairs[states[t][history]]] += weight
        occupancy = minimal.occupancy()[t].tolist()
        assert occupancy == [share[q] for q in range(minimal.layers[t])]
        assert occupancy == sorted(occupancy, reverse=True)  # the order of promotion by the learner
        if t <= minimal.horizon:
            next_steps, chances = both.steps(t), minimal.chances(t)
            for history, steps in oracle.one_step(t).items():
                q = both.place[t][history]
                assert next_steps[q] == steps
                by_action: Counter[Any] = Counter()
                for (a, _, _), p in steps.items():
                    by_action[a] += p
                codes = range(minimal.alphabet.n_actions)
                assert chances[q].tolist() == [by_action[minimal.alphabet.action(a)] for a in codes]


def assert_reward_dependence(both: Both) -> None:
    """Check that informative rewards are reported if and only if there are any, with a shortest history."""
    dependence, oracle = both.minimal.reward_dependence, both.oracle
    found = oracle.rewards_tell()
    assert (dependence is None) == (not found)
    if dependence:
        shortest = min(len(history) for history in found)
        assert dependence.history in found and len(dependence.history) == shortest
        t = len(dependence.history)
        laws: dict[Fraction, Counter[Any]] = {}
        for steps, p in oracle.law.items():
            if history_of(steps[:t]) == dependence.history:
                laws.setdefault(steps[t - 1][2], Counter())[steps[t:]] += p
        first, second = (laws[min(laws, key=lambda r, paid=paid: abs(r - paid))] for paid in dependence.rewards)
        scales = sum(first.values()), sum(second.values())
        assert {e: p / scales[0] for e, p in first.items()} != {e: p / scales[1] for e, p in second.items()}


def assert_values(both: Both, definition: Any, policy: Controller | None) -> None:
    """Check V* over all and over covered policies, the behaviour value, the best plan and its concentrability."""
    oracle, model = both.oracle, FiniteModel.of(definition)
    known = truth_of(model, oracle.horizon, policy)
    assert known.optimal_value == oracle.best_value(covered=False)
    assert known.covered_value == oracle.best_value(covered=True)
    found = known.behaviour
    assert found == exact_value(model, policy or model.usual, oracle.horizon)
    assert (found.mean_return, found.steps) == (oracle.mean_return(), oracle.decisions())
    assert found.success_rate == oracle.success_rate()
    assert found.return_per_step == oracle.mean_return() / oracle.decisions()

    plan = best_plan(both.minimal)
    alphabet = both.minimal.alphabet

    def choose(history: History) -> dict[Any, Fraction]:
        q = both.place[len(history)][history]
        return {alphabet.action(int(plan.actions[len(history)][q])): Fraction(1)}

    planned = ExactOracle(definition, oracle.horizon, choose)
    assert plan.value == known.covered_value == planned.mean_return()
    if not both.minimal.reward_dependence:  # otherwise the states of the oracle are finer
        assert concentrability(both.minimal, plan) == oracle.concentrability(planned)
        covers = known.covered_value == known.optimal_value
        assert known.concentrability == (oracle.concentrability(planned) if covers else math.inf)


def atoms(step: Any, features: tuple[str, ...]) -> set[str]:
    """Return the atomic statements that hold for one step."""
    action, observation, reward = step
    said = {f"action = {action}", f"reward = {float(reward):g}"}
    if observation is None:
        return said | {"the episode is over"}
    shown = [str(v) for v in observation]
    named = {f"{name} = {v}" for name, v in zip(features, shown, strict=True)}
    return said | named | {f"observation = ({', '.join(shown)})"}


def pattern(text: str, letters: set[Any], features: tuple[str, ...]) -> frozenset[Any]:
    """Return the steps for which a text of atoms, "and" and "or" is true."""
    known = {step: atoms(step, features) for step in letters}
    for i, atom in enumerate(sorted({atom for said in known.values() for atom in said}, key=len, reverse=True)):
        text = text.replace(atom, f"[{i}]")
        for said in known.values():
            if atom in said:
                said.add(f"[{i}]")
    assert re.fullmatch(r"[\[\]\d() andor]*", text), text
    python = re.sub(r"\[\d+\]", lambda found: f"('{found[0]}' in said)", text)
    return frozenset(step for step, said in known.items() if eval(python, {"said": said}))


def named(value: Any) -> str:
    return str(value)


# ---------------------------------------------------------------- rational and double arithmetic


def in_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimal_module._Rational, "limit", 0)
    monkeypatch.setattr(values_module, "RATIONAL_PAIRS", 0)


@cache
def distinguishability(domain: Domain, family: Family, delta: float = DELTA) -> Any:
    return by_languages(truth(domain).minimal, family, delta)
