"""Importance sampling by definition, in loops over episodes. Theory: docs/theory.md, section 6.

A place is the number of a state, or ("lost", t) before step t if the automaton has no state for the history. A step is
(action, observation, reward) in the values of the log; its action is None in step 0 and "pad" after the end.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.planning.plan import Plan

Step = tuple[Any, Any, float]
Place = int | tuple[str, int]
Chances = Mapping[Any, float]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A plan on an automaton, with the choices of the training episodes."""

    rdp: RDP
    plan: Plan

    # Tracking the state of a history

    @cached_property
    def arrows(self) -> dict[tuple[int, Any], int]:
        rdp = self.rdp
        return {
            (q, rdp.symbol(y)): int(rdp.tau[q, y])
            for q in range(rdp.n_states)
            for y in range(len(rdp.symbols))
            if rdp.tau[q, y] != UNSEEN
        }

    @cached_property
    def layer(self) -> list[int]:
        return [t for t, width in enumerate(self.rdp.layers.tolist()) for _ in range(width)]

    @cached_property
    def met(self) -> list[list[tuple[Any, Any, float, int]]]:
        """The letters that each state met, with their counts, [Q]."""
        known = self.rdp.alphabet
        letters = [(known.action(a), known.observation(o), known.rewards[r]) for a, o, r in self.rdp.letters.tolist()]
        return [[(*letter, k) for letter, k in zip(letters, row, strict=True) if k] for row in self.rdp.counts.tolist()]

    @cached_property
    def usual(self) -> dict[tuple[int, Any], int]:
        """The state that a symbol most often led to at a step; of equals the first."""
        arrived: defaultdict[tuple[int, Any], Counter[int]] = defaultdict(Counter)
        for q, rows in enumerate(self.met):
            for action, observation, _, k in rows:
                symbol = (action, observation)
                arrived[self.layer[q], symbol][self.arrows[q, symbol]] += k
        return {where: min(states, key=lambda q: (-states[q], q)) for where, states in arrived.items()}

    def after(self, place: Place, t: int, symbol: Any) -> Place:
        """Return the place after step t."""
        if isinstance(place, int) and (place, symbol) in self.arrows:
            return self.arrows[place, symbol]
        return self.usual.get((t, symbol), ("lost", t + 1))

    def places(self, steps: Sequence[Step]) -> list[Place]:
        """Return the places before each step and after the last."""
        found: list[Place] = [0]
        for t, (action, observation, _) in enumerate(steps):
            found.append(self.after(found[-1], t, (action, observation)))
        return found

    # Probabilities of actions

    def log_chances(self, place: Place) -> Chances:
        """Return the logged probabilities of actions in a state, or at the step if lost; uniform without any action."""
        states = [place] if isinstance(place, int) else [q for q, t in enumerate(self.layer) if t == place[1]]
        taken: Counter[Any] = Counter()
        for q in states:
            for action, _, _, k in self.met[q]:
                if action not in (None, "pad"):
                    taken[action] += k
        actions = self.rdp.alphabet.actions
        return {a: taken[a] / sum(taken.values()) if taken else 1 / len(actions) for a in actions}

    def chances(self, place: Place) -> Chances:
        """Return the probabilities of actions under the plan."""
        if isinstance(place, int) and self.plan.actions[place] != BEHAVE:
            return {self.rdp.alphabet.actions[self.plan.actions[place]]: 1.0}
        return self.log_chances(place)

    def lost(self, steps: Sequence[Step]) -> tuple[int, int]:
        """Count the decisions in places without a state, and all decisions."""
        decisions = [p for p, (a, _, _) in zip(self.places(steps), steps, strict=False) if a not in (None, "pad")]
        return sum(not isinstance(place, int) for place in decisions), len(decisions)


@dataclass(frozen=True, eq=False)
class Sample:
    """Held-out episodes, each as often as its weight says, with the probabilities of their actions if known."""

    held: HeldOut
    episodes: Sequence[Sequence[Step]]
    propensity: Sequence[Sequence[float]] | None = None

    @cached_property
    def decisions(self) -> range:
        return range(1, len(self.episodes[0]))

    @cached_property
    def places(self) -> list[list[Place]]:
        return [self.held.places(steps) for steps in self.episodes]

    def acts(self, i: int, t: int) -> bool:
        return self.episodes[i][t][0] != "pad"

    @cached_property
    def frequencies(self) -> dict[Place, Counter[Any]]:
        """How often each action was taken in each place."""
        found: defaultdict[Place, Counter[Any]] = defaultdict(Counter)
        for i, steps in enumerate(self.episodes):
            for t in self.decisions:
                if self.acts(i, t):
                    found[self.places[i][t]][steps[t][0]] += 1
        return found

    def mu(self, i: int, t: int) -> float:
        """Return the probability of a logged action."""
        if self.propensity is not None:
            return self.propensity[i][t]
        taken = self.frequencies[self.places[i][t]]
        return taken[self.episodes[i][t][0]] / sum(taken.values())

    @cached_property
    def ranges(self) -> list[tuple[float, float]]:
        """The smallest and largest reward of each step, in these and the training episodes."""
        found = []
        for t in range(len(self.episodes[0])):
            trained = [r for q, layer in enumerate(self.held.layer) if layer == t for _, _, r, _ in self.held.met[q]]
            rewards = [steps[t][2] for steps in self.episodes] + trained
            found.append((min(rewards), max(rewards)))
        return found

    # Weights of episodes

    def weight(self, i: int, last: int) -> float:
        """Return the weight ρ_1⋯ρ_last of an episode."""
        weight = 1.0
        for t in range(1, last + 1):
            if self.acts(i, t):
                weight *= self.held.chances(self.places[i][t]).get(self.episodes[i][t][0], 0.0) / self.mu(i, t)
        return weight

    def effective(self, last: int) -> float:
        """Return the effective number of episodes at a step."""
        weights = [self.weight(i, last) for i in range(len(self.episodes))]
        return sum(weights) ** 2 / sum(w**2 for w in weights) if any(weights) else 0.0

    def importance(self) -> tuple[float, float]:
        """Return the estimate by weighted importance sampling and its error."""
        value, one_more, off = 0.0, 0.0, [0.0] * len(self.episodes)
        for t in self.decisions:
            weights = [self.weight(i, t) for i in range(len(self.episodes))]
            shares = [w / sum(weights) if any(weights) else 0.0 for w in weights]
            mean = sum(h * steps[t][2] for h, steps in zip(shares, self.episodes, strict=True))
            value += mean
            low, high = self.ranges[t]
            one_more += (high - low) / (self.effective(t) + 1)
            for i, (h, steps) in enumerate(zip(shares, self.episodes, strict=True)):
                off[i] += h * (steps[t][2] - mean) / max(1 - h, 0.02)
        return value, math.sqrt(sum(x**2 for x in off)) + one_more
