"""What policies are worth: the optimum of a minimal RDP, any policy on a model, and how well a behaviour covers it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from suffice.domains.exact.minimal import Minimal
from suffice.domains.finite import ENDED, FiniteModel
from suffice.errors import SettingsError
from suffice.kernels.array_types import Array, Int64
from suffice.planning.controller import Controller


@dataclass(frozen=True, slots=True, eq=False)
class ExactPlan:
    """Backward induction on a minimal RDP."""

    values: tuple[Array, ...]  # [H+2][Q_t] the best that can still be had
    actions: tuple[Int64, ...]  # [H+1][Q_t] the code of the best action; the first of equals

    @property
    def value(self) -> Any:
        """V*, the best mean return."""
        return self.values[0][0]


def best_plan(minimal: Minimal) -> ExactPlan:
    """The best policy among those that take only actions the behaviour takes."""
    rewards = np.array(minimal.rewards if minimal.rational else [float(r) for r in minimal.rewards])
    values: list[Array] = [np.zeros(1, rewards.dtype)]
    actions: list[Int64] = []
    for t in range(minimal.horizon, -1, -1):
        arrows, chances = minimal.arrows[t], minimal.chances(t)
        total = chances * 0
        gains = arrows.probability * (rewards[arrows.reward] + values[-1][arrows.target])
        np.add.at(total, (arrows.source, arrows.action), gains)
        taken = chances > 0
        choices = [
            max((total[q, a] / chances[q, a], -a) for a in np.flatnonzero(taken[q])) for q in range(len(chances))
        ]
        values.append(np.array([value for value, _ in choices], rewards.dtype))
        actions.append(np.array([-a for _, a in choices], np.int64))
    return ExactPlan(tuple(values[::-1]), tuple(actions[::-1]))


def concentrability(minimal: Minimal, plan: ExactPlan) -> Any:
    """C* = max d*(q, ao) / d(q, ao) over steps 1..H: how much rarer the behaviour is where the plan goes.

    With equally good actions there are several plans; this is about the one given.
    """
    shares = minimal.occupancy()
    worst: Any = Fraction(1) if minimal.rational else 1.0
    theirs = shares[1]  # nothing is chosen at step 0
    for t in range(1, minimal.horizon + 1):
        arrows, chances = minimal.arrows[t], minimal.chances(t)
        follows = arrows.action == plan.actions[t][arrows.source]
        arrived = theirs[arrows.source] > 0
        chosen = np.flatnonzero(follows & arrived)
        chance = chances[arrows.source[chosen], arrows.action[chosen]]
        # both occupancies share the probability of what the action brings, so that it cancels
        ratio = theirs[arrows.source[chosen]] / (shares[t][arrows.source[chosen]] * chance)
        worst = max(worst, *ratio)
        following = shares[t + 1] * 0
        np.add.at(following, arrows.target[chosen], theirs[arrows.source[chosen]] * arrows.probability[chosen] / chance)
        theirs = following
    return worst


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a policy brings on average, without sampling."""

    mean_return: Any
    steps: Any  # decisions per episode
    success_rate: Any  # the probability of any positive reward

    @property
    def return_per_step(self) -> Any:
        """The mean return over the mean number of decisions."""
        return self.mean_return / self.steps


RATIONAL_PAIRS = 20_000  # pairs of a state and a memory up to which arithmetic is rational
MAX_DENOMINATOR = 1 << 32  # of all chances together, up to which it is


def evaluate(model: FiniteModel, policy: Controller, horizon: int) -> Evaluation:
    """The exact value of a policy: how probable each hidden state is with each memory, step by step.

    >>> finite = suffice.make("corridor").model(5)
    >>> plan = suffice.Controller.on_automaton(model.planned, finite.alphabet, model.plan.actions)
    >>> suffice.evaluate(finite, plan, 5).mean_return, suffice.evaluate(finite, finite.usual, 5).mean_return
    (Fraction(5, 1), Fraction(5, 2))
    """
    model.refuse_beyond(horizon)
    if policy.alphabet != model.alphabet:
        raise SettingsError("the policy is for another alphabet than the model's")
    rational = len(model.states) * len(policy.chances) <= RATIONAL_PAIRS and _few_digits(policy)
    return _PolicyWalk(model, policy, (lambda p: p) if rational else float).run(horizon)


def _few_digits(policy: Controller) -> bool:
    """Whether exact sums of its chances stay short; frequencies of a log have a denominator for every state."""
    common = 1
    for denominator in {p.denominator for row in policy.chances for p in row}:
        common = math.lcm(common, denominator)
        if common >= MAX_DENOMINATOR:
            return False
    return True


Place = tuple[int, int, bool]  # hidden state, memory, and whether a positive reward was seen


class _PolicyWalk:
    def __init__(self, model: FiniteModel, policy: Controller, number: Any) -> None:
        self._model, self._number = model, number
        self._rewards = [number(r) for r in model.rewards]
        self._chances = [[number(p) for p in row] for row in policy.chances]
        self._first, self._after = policy.first.tolist(), policy.after.tolist()
        after = model.after
        self._begin = after.begin.tolist()
        columns = (after.state.tolist(), after.observation.tolist(), after.reward.tolist())
        self._outcomes = list(zip([number(p) for p in after.probability], *columns, strict=True))

    def run(self, horizon: int) -> Evaluation:
        here = self._start()
        mean = steps = success = self._number(Fraction(0))
        for t in range(1, horizon + 1):
            following: dict[Place, Any] = {}
            for place, share, reward in self._moves(here):
                mean += share * reward
                steps += share
                if place[0] == ENDED or t == horizon:
                    success += share if place[2] else 0
                else:
                    following[place] = following.get(place, 0) + share
            here = following
        return Evaluation(mean, steps, success)

    def _start(self) -> dict[Place, Any]:
        first = self._model.first
        here: dict[Place, Any] = {}
        for p, s, o in zip(first.probability, first.state.tolist(), first.observation.tolist(), strict=True):
            place = (s, self._first[o], False)
            here[place] = here.get(place, 0) + self._number(p)
        return here

    def _moves(self, here: dict[Place, Any]) -> Iterator[tuple[Place, Any, Any]]:
        """Everything that may happen, how probable it is, and its reward."""
        for (s, m, won), share in here.items():
            for a, chance in enumerate(self._chances[m]):
                if chance:
                    row = s * len(self._chances[m]) + a
                    for p, s2, o, r in self._outcomes[self._begin[row] : self._begin[row + 1]]:
                        reward = self._rewards[r]
                        yield (s2, self._after[m][a][o], won or reward > 0), share * chance * p, reward
