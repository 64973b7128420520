"""Policies that follow a plan step by step at run time, with a state of the automaton as memory.

    policy = Policy(rdp, plan)
    policy.reset()
    action = policy.act(observation)                     # take the action, pass the next observation, and so on
    policy.observe(action_taken, observation); policy.act()  # if someone else chose the last action

A policy does not fail on a history that is not in the log (see `StateTracker`): known values in a new combination lead
where the transitions of the state predict; other steps fall back and are counted in `fallbacks`. It warns once about a
value that the model does not know, or refuses what it does not know if `strict`, and warns once beyond the horizon.
"""

from __future__ import annotations

import warnings
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
from suffice.data.encoding.known_values import KnownValues
from suffice.errors import LogError, SettingsError, SufficeError
from suffice.planning.plan import Plan

NOT_BEGUN = -1
OWN_SEED = (0, 1)  # not 0: an environment with that seed would draw the same numbers


@dataclass(frozen=True, slots=True)
class ActionChoice:
    """Action probabilities of a policy in its current state."""

    chances: dict[Value, float]  # by action
    planned: bool  # chosen by the plan; else the logged behaviour in this state or, for an unseen history, at this step


class Policy:
    """A policy that follows a plan on an automaton; `Model.policy` makes one.

    Where the plan keeps the logged behaviour, the policy draws an action with the logged frequencies. Its memory has
    more values (`n_states`) than the model has states: a stationary automaton is unrolled over the steps, because a
    plan for a horizon may take different actions in the same state; and unseen histories have states of their own. To
    use the policy only for advice, read `advice`, act freely, and report the action with `observe`.

    Parameters
    ----------
    rdp
        The automaton that the plan refers to, in layers.
    plan
        The plan.
    rng
        Random numbers for the logged behaviour. Default: a fixed seed.
    deterministic
        Take the most frequent logged action instead of drawing one.
    encoder
        Encoder of observations and bins, as the log was read with. Default: observations are values of the alphabet.
    states
        Number of states of the model, where `rdp` is unrolled; for `repr` only.
    strict
        Refuse observations that the model does not know. Default: fall back, and warn about the first one. Text that
        stands for a known number, and the reverse, is converted in either case.
    bins
        Deprecated: part of the encoder.

    Examples
    --------
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
        strict: bool = False,
        bins: Mapping[str, Bins | Sequence[float]] | None = None,  # deprecated: part of the encoder
    ) -> None:
        self.rdp, self.plan = rdp, plan
        self._states = rdp.n_states if states is None else states
        self.fallbacks = 0  # steps to unseen histories, since this policy was made
        self.steps = 0  # all steps since then
        self.memory = StateTracker.of(rdp)
        self.encoder = Encoder.given(encoder, rdp.alphabet.features, bins)
        self.strict = strict
        self._known: list[KnownValues] = []  # made when first needed; shared by copies
        self._warned: list[str] = []  # problems that were warned about; shared by copies
        choices = self.memory.choices(plan.actions).astype(float)
        choices[~choices.any(axis=1)] = 1.0
        if deterministic:
            choices = np.eye(choices.shape[1])[choices.argmax(axis=1)]
        self._chances = choices / choices.sum(axis=1, keepdims=True)
        self._sums = np.cumsum(choices, axis=1) / choices.sum(axis=1, keepdims=True)
        self._rng = np.random.default_rng(OWN_SEED) if rng is None else rng
        self._place, self._action = NOT_BEGUN, None  # type: int, Value | None
        self._observed = 0  # observations of the episode

    def __repr__(self) -> str:
        unrolled = f" ({self.rdp.n_states} over {self.rdp.horizon} steps)" if self._states != self.rdp.n_states else ""
        return f"<Policy: {self._states} states{unrolled}, {self.fallbacks} of {self.steps} steps fell back>"

    @property
    def bins(self) -> dict[str, Bins]:
        """The bins of the encoder, by column."""
        return self.encoder.bins

    @property
    def alphabet(self) -> Alphabet:
        """The actions and observations that the policy knows."""
        return self.rdp.alphabet

    @property
    def state(self) -> int:
        """The current state of the automaton, numbered over all layers; a larger number for an unseen history."""
        if self._place == NOT_BEGUN:
            raise SufficeError("the episode has not begun. Call reset(), then act() with the first observation.")
        return self._place

    @property
    def n_states(self) -> int:
        """Number of values that `state` can take, the states of all layers, and those for unseen histories."""
        return len(self.memory.astray)

    @property
    def advice(self) -> ActionChoice:
        """The probabilities with which `act` chooses each action now, and whether the plan chooses."""
        self._require_observation()
        chances = dict(zip(self.alphabet.actions, self._chances[self._place].tolist(), strict=True))
        planned = self._place < self.rdp.n_states and bool(self.plan.actions[self._place] != BEHAVE)
        return ActionChoice(chances, planned)

    def spawn(self, n: int, rng: np.random.Generator | None = None) -> list[Policy]:
        """Make copies that share the tables, each with its own memory, counters and random numbers.

        Parameters
        ----------
        n
            Number of copies.
        rng
            Random number generator to spawn theirs from. Default: that of this policy.

        Returns
        -------
        list of Policy
            The copies, before their first `reset`.
        """
        copies = [copy(self) for _ in range(n)]
        for policy, own in zip(copies, (rng or self._rng).spawn(n), strict=True):
            policy._rng, policy.fallbacks, policy.steps, policy._place = own, 0, 0, NOT_BEGUN
        return copies

    def reset(self) -> None:
        """Begin a new episode, with an empty history."""
        self._place, self._action, self._observed = 0, None, 0

    def act(self, observation: object = None) -> Value:
        """Choose the next action, given the observation after the last one.

        Parameters
        ----------
        observation
            A tuple of feature values as they were logged, or a dict by feature names; for a single feature its value
            alone. None, the default, after `observe`, which has passed the observation already.

        Returns
        -------
        Value
            The action, as it was logged.
        """
        if observation is not None:
            self.observe(self._action, observation)
        self._require_observation()
        if self._observed > self.rdp.horizon and not self.rdp.stationary:
            self._warn_once(
                f"decision {self._observed} is beyond the {self.rdp.horizon} decisions that the model plans. The "
                "policy falls back to the logged behaviour. For longer episodes learn with stationary=True, "
                "discount=0.99.",
                depth=3,
            )
        chosen = int(np.searchsorted(self._sums[self._place], self._rng.random(), side="right"))
        self._action = self.alphabet.actions[chosen]
        return self._action

    def _require_observation(self) -> None:
        if self.state == 0:
            raise SufficeError("the first observation of the episode is missing. Pass it to act().")

    def observe(self, action: Value | None, observation: object, *, strict: bool = True) -> None:
        """Update the memory with an action, chosen by this policy or not, and the observation that followed.

        Parameters
        ----------
        action
            The action that was taken, by the number of its bin if actions are binned. None before the first action.
        observation
            The observation that followed, as for `act`. None at the end of an episode.
        strict
            Refuse actions that the model does not know. If False, they lead to an unseen history.
        """
        if self._place == NOT_BEGUN:
            raise SufficeError("the episode has not begun. Call reset() first.")
        if (action is None) != (self._place == 0):
            problem = "no action precedes the first observation" if action is not None else "the action is missing"
            raise SufficeError(
                f"{problem}. Call observe(None, observation) first in an episode, then observe(action, observation)."
            )
        done = None if action is None else plain(unboxed(action))
        if strict and done is not None and done not in self.alphabet.actions:
            raise SettingsError(
                f"action {done!r} is not known to the model. Pass one of {', '.join(map(repr, self.alphabet.actions))}."
            )
        seen = None if observation is None else self.encoder.encode_observation(observation)
        if seen is not None and (done, seen) not in self.memory.known:
            seen = self._recognised(seen)
        symbol = (done, seen)
        self.steps, self._observed = self.steps + 1, self._observed + 1
        self.fallbacks += not self.memory.is_known(self._place, symbol)
        self._place, self._action = self.memory.after(self._place, symbol), None

    def _recognised(self, seen: tuple[Value, ...]) -> tuple[Value, ...]:
        """Convert values to the types of the log; refuse an observation that the model does not know, or warn once."""
        if not self._known:
            self._known.append(KnownValues(self.alphabet, self.encoder.kinds))
        seen = self._known[0].convert(seen)
        problem = self._known[0].problem(seen, combinations=self.strict)
        if problem is not None and self.strict:
            raise LogError(f"{problem} Pass observations as they were logged, or make the policy with strict=False.")
        if problem is not None:
            self._warn_once(
                f"{problem} The policy falls back, here and at later unknown observations; policy.fallbacks counts "
                "them. Pass observations as they were logged, or make the policy with strict=True to refuse others.",
                depth=4,
            )
        return seen

    def _warn_once(self, problem: str, depth: int) -> None:
        """Warn about the first problem of this policy and its copies; `depth` is that of the user's call."""
        if not self._warned:
            self._warned.append(problem)
            warnings.warn(problem, stacklevel=depth)

    def table(self) -> list[dict[str, Any]]:
        """Return the plan as rows.

        Returns
        -------
        list of dict
            One row for each state in which an action is chosen: the state, its action and its value. Where the plan
            keeps the logged behaviour, `action` is None and `chances` has the logged frequencies.
        """
        return policy_rows(self.rdp, self.plan)


def policy_rows(rdp: RDP, plan: Plan) -> list[dict[str, Any]]:
    """Return one row for each state but the first and the final one; the action is "pad" where an episode is over.

    Where the plan keeps the logged behaviour, the action is None and `chances` has the logged frequencies.
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
