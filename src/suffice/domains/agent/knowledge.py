"""What an agent knows after a round of learning: the automaton, its greedy policy, and what to explore."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import Value
from suffice.data.encoding.encoder import Encoder
from suffice.data.encoding.known_values import KnownValues
from suffice.data.episodes import Episodes
from suffice.domains.agent.exploration import Exploration
from suffice.kernels.array_types import Int64
from suffice.learning.adact_h import Learned
from suffice.planning.memory_plans import plan_stationary
from suffice.planning.plan import Plan
from suffice.planning.planner import Planning

GREEDY_PLAN = Planning(safe=False)  # the usual caution about rare actions, and never the logged behaviour


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """An automaton with the tables that acting needs."""

    learned: Learned
    encoder: Encoder
    tracker: StateTracker
    plan: Plan  # on the layers of the automaton
    greedy: Int64  # [H+1, Q] action of the plan by step and state, BEHAVE where it has none
    exploration: Exploration
    known: KnownValues
    codes: dict[Hashable, tuple[Value, ...]] = field(default_factory=dict)  # observations that were encoded before

    @property
    def rdp(self) -> RDP:
        """The automaton that was learned."""
        return self.learned.rdp

    @classmethod
    def of(cls, learned: Learned, encoder: Encoder, episodes: Episodes) -> Knowledge:
        """Plan on an automaton, and count what its episodes have tried."""
        rdp = learned.rdp
        plan = plan_stationary(rdp, GREEDY_PLAN)
        layered, stands = rdp.unroll()
        greedy = np.full((rdp.horizon + 1, rdp.n_states), BEHAVE, np.int64)
        inner = np.arange(len(stands)) < len(stands) - 1  # the final state has no action
        greedy[layered.layer_of()[inner], stands[inner]] = plan.actions[inner]
        exploration = Exploration.of(rdp, learned.decisions, episodes)
        known = KnownValues(rdp.alphabet, encoder.kinds)
        return cls(learned, encoder, StateTracker.of(rdp), plan, greedy, exploration, known)

    def encode(self, observation: Any) -> tuple[Value, ...]:
        """Return the features of an observation as the automaton reads them."""
        key = _key(observation)
        found = None if key is None else self.codes.get(key)
        if found is None:
            found = self.known.convert(self.encoder.encode_observation(observation))
            if key is not None:
                self.codes[key] = found
        return found

    def best_action(self, step: int, state: int) -> int:
        """Return the index of the greedy action at a step, from 1 on; BEHAVE where the plan has none."""
        if state >= self.greedy.shape[1]:
            return BEHAVE
        return int(self.greedy[min(step, len(self.greedy) - 1), state])

    def follow(self, state: int, action: Value | None, seen: tuple[Value, ...]) -> tuple[int, int]:
        """Return the number of a symbol, or UNSEEN, and the place that it leads to."""
        symbol = (action, seen)
        return self.tracker.known.get(symbol, UNSEEN), self.tracker.after(state, symbol)


def _key(observation: Any) -> Hashable | None:
    """Return a key by which an observation is recognised; None if it has none."""
    if isinstance(observation, dict):
        observation = tuple(observation.values())
    if isinstance(observation, np.ndarray):
        return (observation.shape, observation.dtype.str, observation.tobytes())
    try:
        hash(observation)
    except TypeError:
        return None
    return (type(observation), observation)
