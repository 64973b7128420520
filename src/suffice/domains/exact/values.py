"""Exact values of policies on a model, the best plan of a minimal RDP, and its concentrability."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from suffice.domains.exact.minimal import Minimal
from suffice.domains.finite import ENDED, FiniteModel
from suffice.errors import SettingsError, require_type
from suffice.kernels.array_types import Array, Int64
from suffice.planning.controller import Controller


@dataclass(frozen=True, slots=True, eq=False)
class ExactPlan:
    """Best plan of a minimal RDP, computed by backward induction."""

    values: tuple[Array, ...]  # [H+2][Q_t] largest expected remaining return
    actions: tuple[Int64, ...]  # [H+1][Q_t] code of the best action; the lowest of equals

    @property
    def value(self) -> Any:
        """V*, the largest mean return."""
        return self.values[0][0]


def best_plan(minimal: Minimal) -> ExactPlan:
    """Compute the best policy among those that take only actions of the behaviour policy."""
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
    """Compute C* = max d*(q, ao) / d(q, ao) over steps 1..H, the concentrability of a plan.

    d* and d are the probabilities of a state with a symbol under the plan and under the behaviour policy. If several
    actions are equally good there are several plans, with different values.
    """
    shares = minimal.occupancy()
    worst: Any = Fraction(1) if minimal.rational else 1.0
    theirs = shares[1]  # step 0 has no choice
    for t in range(1, minimal.horizon + 1):
        arrows, chances = minimal.arrows[t], minimal.chances(t)
        follows = arrows.action == plan.actions[t][arrows.source]
        arrived = theirs[arrows.source] > 0
        chosen = np.flatnonzero(follows & arrived)
        chance = chances[arrows.source[chosen], arrows.action[chosen]]
        # the probability of the outcome of an action is a factor of both, and cancels
        ratio = theirs[arrows.source[chosen]] / (shares[t][arrows.source[chosen]] * chance)
        worst = max(worst, *ratio)
        following = shares[t + 1] * 0
        np.add.at(following, arrows.target[chosen], theirs[arrows.source[chosen]] * arrows.probability[chosen] / chance)
        theirs = following
    return worst


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Exact value of a policy, computed without sampling.

    Attributes
    ----------
    mean_return
        Expected return of an episode.
    steps
        Expected number of decisions per episode.
    success_rate
        Probability of an episode with a positive reward.
    """

    mean_return: Any
    steps: Any
    success_rate: Any

    @property
    def return_per_step(self) -> Any:
        """Mean return divided by the mean number of decisions."""
        return self.mean_return / self.steps


RATIONAL_PAIRS = 20_000  # arithmetic is rational up to this many pairs of a state and a memory
MAX_DENOMINATOR = 1 << 32  # and up to this common denominator of the action probabilities


def exact_value(model: FiniteModel, policy: Controller, horizon: int) -> Evaluation:
    """Compute the exact value of a policy on a finite model, without sampling.

    The probabilities of all pairs of a hidden state and a memory are computed step by step.

    Parameters
    ----------
    model
        The finite model, for example `suffice.make("t-maze").model(5)`.
    policy
        The policy. `Controller.on_automaton` makes one from a learned plan.
    horizon
        Number of actions per episode.

    Returns
    -------
    Evaluation
        Mean return, mean number of decisions and success rate, as fractions where the model is small.

    Examples
    --------
    >>> finite = suffice.make("corridor").model(5)
    >>> plan = suffice.Controller.on_automaton(model.planned, finite.alphabet, model.plan.actions)
    >>> suffice.exact_value(finite, plan, 5).mean_return, suffice.exact_value(finite, finite.usual, 5).mean_return
    (Fraction(5, 1), Fraction(5, 2))
    """
    require_type("model", model, FiniteModel, "a finite model. Pass one such as suffice.make('t-maze').model(5).")
    require_type(
        "policy", policy, Controller, "a controller. Pass model.usual of the finite model, or one of your own."
    )
    model.refuse_beyond(horizon)
    if policy.alphabet != model.alphabet:
        raise SettingsError("the policy has another alphabet than the model. Construct it with model.alphabet.")
    rational = len(model.states) * len(policy.chances) <= RATIONAL_PAIRS and _few_digits(policy)
    return _PolicyWalk(model, policy, (lambda p: p) if rational else float).run(horizon)


evaluate = exact_value  # deprecated name


def _few_digits(policy: Controller) -> bool:
    """Check that the common denominator stays small; frequencies of a log have a denominator for every state."""
    common = 1
    for denominator in {p.denominator for row in policy.chances for p in row}:
        common = math.lcm(common, denominator)
        if common >= MAX_DENOMINATOR:
            return False
    return True


Place = tuple[int, int, bool]  # hidden state, memory, and whether a positive reward occurred


class _PolicyWalk:
    """Step-by-step computation of the probabilities of hidden states and memories."""

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
        """Yield the possible next places with their probabilities and rewards."""
        for (s, m, won), share in here.items():
            for a, chance in enumerate(self._chances[m]):
                if chance:
                    row = s * len(self._chances[m]) + a
                    for p, s2, o, r in self._outcomes[self._begin[row] : self._begin[row + 1]]:
                        reward = self._rewards[r]
                        yield (s2, self._after[m][a][o], won or reward > 0), share * chance * p, reward
