"""Off-policy evaluation by definition, in loops over episodes. Theory: docs/theory.md, section 6.

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

from . import planning

Step = tuple[Any, Any, float]
Place = int | tuple[str, int]
Chances = Mapping[Any, float]
Node = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A plan on an automaton, with the choices and values of the training episodes."""

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

    # Values

    @cached_property
    def _by_the_log(self) -> tuple[planning.Process, Any]:
        process = planning.Process.of(self.rdp)
        actions = {q: None if a == BEHAVE else a for q, a in enumerate(self.plan.actions.tolist())}
        return process, planning.value_of(process, actions)

    @cached_property
    def own(self) -> dict[int, float]:
        """The value of following the plan from each state on, by the training episodes."""
        process, values = self._by_the_log
        return {q: process.in_user_units(q, value) for q, value in values.items()}

    def stated(self, place: Place) -> float:
        """Return the value of a place under the plan; if lost, the mean over all episodes at that step."""
        if isinstance(place, int):
            return float(self.own[place])
        states = [q for q, t in enumerate(self.layer) if t == place[1]]
        visits = {q: sum(k for *_, k in self.met[q]) for q in states}
        return sum(visits[q] * float(self.own[q]) for q in states) / max(sum(visits.values()), 1)

    def action_value(self, place: Place, action: Any) -> float:
        """Return Q(place, action); the value of the place if the action was never taken."""
        process, values = self._by_the_log
        code = process.actions[self.rdp.alphabet.actions.index(action)]
        moves = process.moves[place].get(code) if isinstance(place, int) else None
        if not moves or not isinstance(place, int):
            return self.stated(place)
        return process.in_user_units(place, planning.mean(moves, values))

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

    # Weights of states

    def node(self, i: int, t: int, edges: int) -> Node:
        """Return the place before decision t, whether the episode has ended, and the last edges before it."""
        steps, places = self.episodes[i], self.places[i]
        edge = [(places[s - 1], steps[s - 1][:2]) for s in range(t, max(t - edges, 0), -1)]
        return t, places[t], self.acts(i, t), *edge

    @cached_property
    def _values(self) -> dict[tuple[Node, Any, int], float]:
        return {}

    def action_value(self, node: Node, action: Any, edges: int) -> float:
        """Return Q(u, a): the mean over visits, with one more visit that has the value of the coarser node."""
        if (node, action, edges) not in self._values:
            t, place = node[:2]
            visits = [i for i in self.visits[node] if self.episodes[i][t][0] == action]
            omega = [1 / self.mu(i, t) for i in visits]
            gains = [self.episodes[i][t][2] + self.value_after(i, t, edges) for i in visits]
            coarser = node[: 2 + edges]
            prior = self.action_value(coarser, action, edges - 1) if edges else self.held.action_value(place, action)
            n = sum(omega) ** 2 / sum(w**2 for w in omega) if omega else 0.0
            mean = sum(w * g for w, g in zip(omega, gains, strict=True)) / sum(omega) if omega else 0.0
            self._values[node, action, edges] = (n * mean + prior) / (n + 1)
        return self._values[node, action, edges]

    @cached_property
    def visits(self) -> dict[Node, list[int]]:
        """The episodes that visit each node."""
        found: defaultdict[Node, list[int]] = defaultdict(list)
        for i in range(len(self.episodes)):
            for t in self.decisions:
                for node in {self.node(i, t, edges) for edges in range(3)}:
                    found[node].append(i)
        return found

    def value(self, i: int, t: int, edges: int) -> float:
        """Return V(u) of the node before decision t, which is 0 after the end."""
        node = self.node(i, t, edges)
        if not self.acts(i, t):
            return 0.0
        return sum(p * self.action_value(node, a, edges) for a, p in self.held.chances(node[1]).items())

    def value_after(self, i: int, t: int, edges: int) -> float:
        return self.value(i, t + 1, edges) if t + 1 in self.decisions else 0.0

    def by_nodes(self, edges: int) -> tuple[float, float]:
        """Return the estimate for nodes with some of the last edges, and its error."""
        n = len(self.episodes)
        first = [self.value(i, 1, edges) for i in range(n)]
        value = sum(first) / n
        influence, extra = [(v - value) / n for v in first], 0.0
        visited: defaultdict[Node, float] = defaultdict(float)
        for i in range(n):
            visited[self.node(i, 1, edges)] += 1 / n
        for t in self.decisions:
            left = sum(high - low for low, high in self.ranges[t:])
            for node in sorted((u for u in visited if u[0] == t and u[2]), key=repr):
                for action, chance in self.held.chances(node[1]).items():
                    flow = visited[node] * chance
                    taken = [i for i in self.visits[node] if self.episodes[i][t][0] == action]
                    omega = {i: 1 / self.mu(i, t) for i in taken}
                    m = sum(omega.values()) ** 2 / sum(w**2 for w in omega.values()) if omega else 0.0
                    extra += (flow * left / 2 / (m + 1)) ** 2
                    for i in taken:
                        weight = flow * omega[i] / sum(omega.values())
                        gain = self.episodes[i][t][2] + self.value_after(i, t, edges)
                        influence[i] += weight * m / (m + 1) * (gain - self.action_value(node, action, edges))
                        if t + 1 in self.decisions:
                            visited[self.node(i, t + 1, edges)] += weight
        return value, math.sqrt(sum(x**2 for x in influence) + extra)

    def doubly_robust(self) -> tuple[float, float]:
        """Return the doubly robust estimate and its error."""
        (coarse, _), (value, error), (fine, _) = (self.by_nodes(edges) for edges in range(3))
        return value, math.hypot(error, coarse - fine)
