"""A policy at run time: memory and choice, one step after the other.

    policy = Policy(rdp, plan)
    policy.reset()
    action = policy.act(observation)                       # … do it, see what it shows, and so on
    policy.observe(their_action, observation); policy.act()  # where somebody else acted

Memory is a state of the automaton. On a history that the log never had it does not fail (`Memory` says what happens
then), but counts: `fallbacks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from suffice.episodes import Alphabet, Value, plain
from suffice.errors import SufficeError
from suffice.memory import Memory, read_features
from suffice.planner import BEHAVE, Plan
from suffice.rdp import RDP

NOT_BEGUN = -1
OWN_SEED = (0, 1)  # not 0: an environment with that seed would draw the same numbers


class Policy:
    """Follows a plan on an automaton; where the plan says to behave as the log did, it draws (or takes the usual).

    >>> policy = model.policy()
    >>> policy.reset()
    >>> policy.act((0, 0, "clear"))
    1
    >>> policy.act({"row": 1, "column": 1, "guard": "clear"})
    1
    >>> policy
    <Policy: 11 states, 0 of 2 steps fell back>
    """

    def __init__(
        self,
        rdp: RDP,
        plan: Plan,
        rng: np.random.Generator | None = None,
        *,
        deterministic: bool = False,
        bins: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        self.rdp, self.plan = rdp, plan
        self.fallbacks = 0  # steps that no logged history had taken, since this policy was made
        self.steps = 0  # and all its steps
        self.memory, self.bins = Memory.of(rdp), dict(bins or {})
        choices = self.memory.choices(plan.actions).astype(float)
        choices[~choices.any(axis=1)] = 1.0
        if deterministic:
            choices = np.eye(choices.shape[1])[choices.argmax(axis=1)]
        self._sums = np.cumsum(choices, axis=1) / choices.sum(axis=1, keepdims=True)
        self._rng = np.random.default_rng(OWN_SEED) if rng is None else rng
        self._place, self._action = NOT_BEGUN, None  # type: int, Value | None

    def __repr__(self) -> str:
        return f"<Policy: {self.rdp.n_states} states, {self.fallbacks} of {self.steps} steps fell back>"

    @property
    def alphabet(self) -> Alphabet:
        """The actions and observations it knows."""
        return self.rdp.alphabet

    @property
    def state(self) -> int:
        """The place in memory: a state of the automaton, numbered over all layers, or beyond them where it is lost."""
        if self._place == NOT_BEGUN:
            raise SufficeError("the episode has not begun: call reset(), then act() with the first observation")
        return self._place

    @property
    def n_states(self) -> int:
        """How many values `state` may take."""
        return len(self.memory.astray)

    def spawn(self, n: int, rng: np.random.Generator | None = None) -> list[Policy]:
        """Policies that share the tables; each has a memory, counters and randomness of its own."""
        copies = [copy(self) for _ in range(n)]
        for policy, own in zip(copies, (rng or self._rng).spawn(n), strict=True):
            policy._rng, policy.fallbacks, policy.steps, policy._place = own, 0, 0, NOT_BEGUN
        return copies

    def reset(self) -> None:
        """Begin an episode."""
        self._place, self._action = 0, None

    def act(self, observation: object = None) -> Value:
        """The action to take now, given what the last one showed (at first: what is seen first).

        An observation is a tuple of features as they were logged, or a dict by their names; a single feature may stand
        alone. Without one, the memory is as the last `observe` left it.
        """
        if observation is not None:
            self.observe(self._action, observation)
        if self.state == 0:
            raise SufficeError("what is seen? give act() the first observation")
        chosen = int(np.searchsorted(self._sums[self._place], self._rng.random(), side="right"))
        self._action = self.alphabet.actions[chosen]
        return self._action

    def observe(self, action: Value | None, observation: object) -> None:
        """Take note of an action, whoever chose it, and what it showed.

        None stands for the action before the first, and for what is seen when an episode is over. Binned actions go by
        the number of their bin.
        """
        if self._place == NOT_BEGUN:
            raise SufficeError("the policy is asked before an episode began: call reset() first")
        if (action is None) != (self._place == 0):
            told = "the first observation follows no action" if self._place == 0 else "an action led here; which one?"
            raise SufficeError(f"{told}: observe(None, observation) begins, observe(action, observation) goes on")
        seen = None if observation is None else read_features(observation, self.alphabet.features, self.bins)
        symbol = (None if action is None else plain(action), seen)
        self.steps += 1
        self.fallbacks += not self.memory.was_seen(self._place, symbol)
        self._place, self._action = self.memory.after(self._place, symbol), None

    def table(self) -> list[dict[str, Any]]:
        """The plan, one row for each state in which something is chosen: what it does, and what that is worth."""
        return policy_rows(self.rdp, self.plan)


def policy_rows(rdp: RDP, plan: Plan) -> list[dict[str, Any]]:
    """One row for each state of layers 1..H, or of a cycle all but the first; where an episode is over it says "pad".

    Where the plan is to behave as the log did, the action is null and `chances` says how often the log took each.
    """
    layer, offsets, choices = rdp.layer_of(), rdp.offsets(), Memory.of(rdp).choices(plan.actions)
    rows = []
    for q in range(1, rdp.n_states if rdp.stationary else rdp.n_states - 1):
        t, taken = int(layer[q]), choices[q]
        row: dict[str, Any] = {"state": int(q - offsets[t]), "action": "pad", "value": float(plan.values[q])}
        if plan.actions[q] != BEHAVE:
            row["action"] = rdp.alphabet.actions[plan.actions[q]]
        elif taken.any():
            shares = (taken / taken.sum()).tolist()
            row |= {"action": None, "chances": dict(zip(map(str, rdp.alphabet.actions), shares, strict=True))}
        rows.append(row if rdp.stationary else {"t": t} | row)
    return rows
