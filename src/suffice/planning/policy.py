"""A policy at run time: memory and choice, one step after the other.

    policy = Policy(rdp, plan)
    policy.reset()
    action = policy.act(observation)                       # … do it, see what it shows, and so on
    policy.observe(their_action, observation); policy.act()  # where somebody else acted

Memory is a state of the automaton. On a history that the log never had it does not fail (`StateTracker` says what
happens then), but counts: `fallbacks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import Alphabet, Value, plain, unboxed
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.encoder import Encoder
from suffice.errors import SettingsError, SufficeError
from suffice.planning.plan import Plan

NOT_BEGUN = -1
OWN_SEED = (0, 1)  # not 0: an environment with that seed would draw the same numbers


@dataclass(frozen=True, slots=True)
class ActionChoice:
    """How a policy chooses where it is."""

    chances: dict[Value, float]  # of each action
    planned: bool  # the plan's choice; else as the log behaved in this state or, where one is lost, at this step


class Policy:
    """Follows a plan on an automaton; where the plan says to behave as the log did, it draws (or takes the usual).

    Its memory has more places (`n_states`) than the model has states: a plan for a horizon may do something else in the
    same state at another step, so that a stationary automaton is unrolled over the steps; and there are places to be
    lost in, where a history is unlike any in the log. Who only wants advice asks for `advice`, does what they like, and
    tells by `observe` what it was.

    >>> policy = model.policy()
    >>> policy.reset()
    >>> policy.act((0, 0, "clear")), policy.act({"row": 1, "column": 1, "guard": "clear"})
    (1, 1)
    >>> policy.advice
    ActionChoice(chances={0: 0.0, 1: 1.0}, planned=True)
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
        encoder: Encoder | None = None,
        states: int | None = None,  # of the model, where `rdp` is unrolled
        bins: Mapping[str, Bins | Sequence[float]] | None = None,  # deprecated: part of the encoder
    ) -> None:
        self.rdp, self.plan = rdp, plan
        self._states = rdp.n_states if states is None else states
        self.fallbacks = 0  # steps that no logged history had taken, since this policy was made
        self.steps = 0  # and all its steps
        self.memory = StateTracker.of(rdp)
        self.encoder = Encoder.given(encoder, rdp.alphabet.features, bins)
        choices = self.memory.choices(plan.actions).astype(float)
        choices[~choices.any(axis=1)] = 1.0
        if deterministic:
            choices = np.eye(choices.shape[1])[choices.argmax(axis=1)]
        self._chances = choices / choices.sum(axis=1, keepdims=True)
        self._sums = np.cumsum(choices, axis=1) / choices.sum(axis=1, keepdims=True)
        self._rng = np.random.default_rng(OWN_SEED) if rng is None else rng
        self._place, self._action = NOT_BEGUN, None  # type: int, Value | None

    def __repr__(self) -> str:
        unrolled = f" ({self.rdp.n_states} over {self.rdp.horizon} steps)" if self._states != self.rdp.n_states else ""
        return f"<Policy: {self._states} states{unrolled}, {self.fallbacks} of {self.steps} steps fell back>"

    @property
    def bins(self) -> dict[str, Bins]:
        """Those of the encoder."""
        return self.encoder.bins

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
        """How many values `state` may take: the automaton's states at all steps, and places to be lost in."""
        return len(self.memory.astray)

    @property
    def advice(self) -> ActionChoice:
        """How likely `act` chooses each action now, and whether by the plan."""
        self._require_observation()
        chances = dict(zip(self.alphabet.actions, self._chances[self._place].tolist(), strict=True))
        planned = self._place < self.rdp.n_states and bool(self.plan.actions[self._place] != BEHAVE)
        return ActionChoice(chances, planned)

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
        self._require_observation()
        chosen = int(np.searchsorted(self._sums[self._place], self._rng.random(), side="right"))
        self._action = self.alphabet.actions[chosen]
        return self._action

    def _require_observation(self) -> None:
        if self.state == 0:
            raise SufficeError("what is seen? give act() the first observation")

    def observe(self, action: Value | None, observation: object, *, strict: bool = True) -> None:
        """Take note of an action, whoever chose it, and what it showed.

        None stands for the action before the first, and for what is seen when an episode is over. Binned actions go by
        the number of their bin. An action that the model does not know is refused as a mistake or, if not `strict`,
        taken for one that no logged history had.
        """
        if self._place == NOT_BEGUN:
            raise SufficeError("the policy is asked before an episode began: call reset() first")
        if (action is None) != (self._place == 0):
            told = "the first observation follows no action" if self._place == 0 else "an action led here; which one?"
            raise SufficeError(f"{told}: observe(None, observation) begins, observe(action, observation) goes on")
        done = None if action is None else plain(unboxed(action))
        if strict and done is not None and done not in self.alphabet.actions:
            raise SettingsError(
                f"the model knows no action {done!r}; it knows {', '.join(map(repr, self.alphabet.actions))}"
            )
        seen = None if observation is None else self.encoder.encode_observation(observation)
        symbol = (done, seen)
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
    addresses, choices, rows = rdp.addresses(), StateTracker.of(rdp).choices(plan.actions), []
    for q in range(1, rdp.n_states):
        if q == rdp.final:
            continue
        taken = choices[q]
        row: dict[str, Any] = {**addresses[q], "action": "pad", "value": float(plan.values[q])}
        if plan.actions[q] != BEHAVE:
            row["action"] = rdp.alphabet.actions[plan.actions[q]]
        elif taken.any():
            shares = (taken / taken.sum()).tolist()
            row |= {"action": None, "chances": dict(zip(map(str, rdp.alphabet.actions), shares, strict=True))}
        rows.append(row)
    return rows
