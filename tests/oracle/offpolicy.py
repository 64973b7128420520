"""Off-policy evaluation by definition, episode by episode. Theory: docs/theory.md, section 6.

A place is the number of a state, or ("lost", t) before step t if the automaton has no state for the history. A step is
(action, observation, reward) in the values of the log; its action is None in step 0 and "pad" after the end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.planning.plan import Plan

from . import planning

Step = tuple[Any, Any, float]
Place = int | tuple[str, int]
Chances = Mapping[Any, float]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A plan on an automaton, with propensities estimated from it where the log has no column for them."""

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

    def ratio(self, place: Place, action: Any, propensity: float | None) -> float:
        """Return the importance ratio ρ; 0 if the behaviour policy never takes the action."""
        if action == "pad":
            return 1.0
        chance = self.log_chances(place)[action] if propensity is None else propensity
        return self.chances(place).get(action, 0.0) / chance if chance else 0.0

    # Values

    @cached_property
    def _by_the_log(self) -> tuple[planning.Process, Any]:
        process = planning.Process.of(self.rdp)
        actions = {q: None if a == BEHAVE else a for q, a in enumerate(self.plan.actions.tolist())}
        return process, planning.value_of(process, actions)

    def stated(self, place: Place) -> float:
        """Return the value of a place in the plan; if lost, the mean over all episodes at that step."""
        if isinstance(place, int):
            return float(self.plan.values[place])
        states = [q for q, t in enumerate(self.layer) if t == place[1]]
        visits = {q: sum(k for *_, k in self.met[q]) for q in states}
        return sum(visits[q] * float(self.plan.values[q]) for q in states) / max(sum(visits.values()), 1)

    def action_value(self, place: Place, action: Any) -> float:
        """Return Q(place, action); the value of the place if the action was never taken."""
        process, values = self._by_the_log
        code = process.actions[self.rdp.alphabet.actions.index(action)]
        moves = process.moves[place].get(code) if isinstance(place, int) else None
        if not moves or not isinstance(place, int):
            return self.stated(place)
        return process.in_user_units(place, planning.mean(moves, values))

    def value(self, place: Place) -> float:
        """Return V(place) under the plan."""
        return sum(p * self.action_value(place, a) for a, p in self.chances(place).items())

    # Estimates for one episode

    def importance(self, steps: Sequence[Step], propensity: Sequence[float] | None = None) -> float:
        """Return the importance-sampling estimate Σ_t ρ_1⋯ρ_t r_t."""
        places, weight, total = self.places(steps), 1.0, 0.0
        for t in range(1, len(steps)):
            action, _, reward = steps[t]
            weight *= self.ratio(places[t], action, None if propensity is None else propensity[t])
            total += weight * reward
        return total

    def weight(self, steps: Sequence[Step], propensity: Sequence[float] | None = None) -> float:
        """Return the weight ρ_1⋯ρ_H."""
        places, weight = self.places(steps), 1.0
        for t in range(1, len(steps)):
            weight *= self.ratio(places[t], steps[t][0], None if propensity is None else propensity[t])
        return weight

    def doubly_robust(self, steps: Sequence[Step], propensity: Sequence[float] | None = None) -> float:
        """Return the doubly robust estimate D_1."""
        places = self.places(steps)

        def from_step(t: int) -> float:
            if t == len(steps):
                return 0.0
            action, _, reward = steps[t]
            if action == "pad":
                return reward + from_step(t + 1)
            place, ratio = places[t], self.ratio(places[t], action, None if propensity is None else propensity[t])
            return self.value(place) + ratio * (reward + from_step(t + 1) - self.action_value(place, action))

        return from_step(1)

    def lost(self, steps: Sequence[Step]) -> tuple[int, int]:
        """Count the decisions in places without a state, and all decisions."""
        decisions = [p for p, (a, _, _) in zip(self.places(steps), steps, strict=False) if a not in (None, "pad")]
        return sum(not isinstance(place, int) for place in decisions), len(decisions)
