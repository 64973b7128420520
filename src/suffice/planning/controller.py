"""Finite-state controllers, which are policies as tables of memory updates and action probabilities.

The memory of a controller is one number. The first observation sets it, and every action with the observation that
follows updates it; each memory has fixed action probabilities. A table by observation, a table by observation and step,
and an automaton with an action for each state are all finite-state controllers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from suffice.automata.rdp import RDP
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import Alphabet, Value
from suffice.data.memory_limit import require_memory
from suffice.errors import SettingsError
from suffice.kernels.array_types import Float, Int32, Int64

MEMORY_BYTES = 200  # of an exact probability, with the numbers that it is computed from
Chances = tuple[Fraction, ...]  # of the alphabet's actions, in order


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Controller:
    """A finite-state controller over the observations and actions of an alphabet.

    Parameters
    ----------
    alphabet
        The observations and actions.
    first
        Memory [O] after the first observation, by observation code.
    after
        Memory [M, A, O] after an action and the observation that follows it. Actions are numbered from 0.
    chances
        Exact probabilities [M][A] of the actions for each memory.

    Examples
    --------
    >>> suffice.Controller.uniform(episodes.alphabet)
    <Controller: 1 memories, 2 actions>
    >>> suffice.Controller.on_automaton(model.planned, episodes.alphabet, model.plan.actions)
    <Controller: 18 memories, 2 actions>
    """

    alphabet: Alphabet
    first: Int32  # [O]
    after: Int32  # [M, A, O]
    chances: tuple[Chances, ...]  # [M][A]

    def __post_init__(self) -> None:
        actions, observations = len(self.alphabet.actions), self.alphabet.n_observations
        memories = len(self.chances)
        if self.first.shape != (observations,) or self.after.shape != (memories, actions, observations):
            raise SettingsError(
                f"first and after: their shapes are {self.first.shape} and {self.after.shape}. Use "
                f"({observations},) and ({memories}, {actions}, {observations})."
            )
        for table in (self.first, self.after):
            if table.size and not 0 <= table.min() <= table.max() < memories:
                raise SettingsError(f"first and after: a memory does not exist. Use numbers from 0 to {memories - 1}.")
            table.setflags(write=False)
        for row in self.chances:
            if len(row) != actions or min(row) < 0 or sum(row) != 1:
                raise SettingsError(
                    f"chances: {', '.join(map(str, row))} are not the probabilities of {actions} actions. Use "
                    "numbers from 0 on that add up to 1."
                )

    def __repr__(self) -> str:
        return f"<Controller: {len(self.chances)} memories, {len(self.alphabet.actions)} actions>"

    @property
    def table(self) -> Float:
        """The action probabilities [M, A] as doubles."""
        return np.array([[float(p) for p in row] for row in self.chances])

    @classmethod
    def by_observation(cls, alphabet: Alphabet, chances: Sequence[Chances]) -> Controller:
        """Make a controller that remembers only the last observation.

        Parameters
        ----------
        alphabet
            The observations and actions.
        chances
            Action probabilities for each observation, in the alphabet's order.

        Returns
        -------
        Controller
            A controller with one memory for each observation.
        """
        if len(chances) != len(alphabet.observations):
            raise SettingsError(
                f"there are {len(chances)} rows of chances for {len(alphabet.observations)} observations. Give one row "
                "for each observation."
            )
        n = alphabet.n_observations
        first = np.maximum(np.arange(n, dtype=np.int32) - 1, 0)  # no action follows o_⊥, code 0
        after = np.broadcast_to(first, (len(chances), len(alphabet.actions), n)).copy()
        return cls(alphabet, first, after, tuple(chances))

    @classmethod
    def uniform(cls, alphabet: Alphabet) -> Controller:
        """Make a controller that takes every action with the same probability.

        Parameters
        ----------
        alphabet
            The observations and actions.

        Returns
        -------
        Controller
            A controller with a single memory.
        """
        actions, observations = len(alphabet.actions), alphabet.n_observations
        nothing = np.zeros((1, actions, observations), np.int32)
        return cls(alphabet, nothing[0, 0].copy(), nothing, (uniform_over(alphabet, alphabet.actions),))

    @classmethod
    def on_automaton(cls, rdp: RDP, alphabet: Alphabet, actions: Int64, epsilon: Fraction = Fraction(0)) -> Controller:
        """Make a controller that follows a plan on an automaton.

        Parameters
        ----------
        rdp
            The automaton that the plan refers to, in layers.
        alphabet
            The observations and actions of the environment. It must have the automaton's actions; for histories that
            the automaton has never seen, see `StateTracker`.
        actions
            The plan's actions (`Plan.actions`).
        epsilon
            Probability of a uniformly random action instead of the plan's. Default: 0.

        Returns
        -------
        Controller
            A controller with one memory for each state and each kind of unseen history.
        """
        known = rdp.alphabet.actions
        if unknown := [a for a in known if a not in alphabet.actions]:
            raise SettingsError(
                f"the model's action {unknown[0]!r} does not exist here. Use a model whose actions are among "
                f"{', '.join(map(str, alphabet.actions))}."
            )
        places, cells = rdp.n_states + len(rdp.layers), len(alphabet.actions) * alphabet.n_observations
        require_memory(
            places * (8 * cells + MEMORY_BYTES * len(alphabet.actions)),
            f"a policy of {places:,} memories and {cells:,} pairs of action and observation",
        )
        memory, anything = StateTracker.of(rdp), uniform_over(alphabet, alphabet.actions)
        seen = [alphabet.observation(code) for code in range(alphabet.n_observations)]

        def follow(action: Value | None) -> Int32:
            """Return [M, O], the next memory after an action and each observation."""
            return np.stack([memory.places_after((action, o)) for o in seen], axis=1)

        def chances(row: Sequence[int]) -> Chances:
            times = dict(zip(known, row, strict=True))
            chosen = [Fraction(times.get(a, 0), sum(row)) for a in alphabet.actions] if any(row) else anything
            return tuple(epsilon * u + (1 - epsilon) * p for u, p in zip(anything, chosen, strict=True))

        after = np.stack([follow(action) for action in alphabet.actions], axis=1)
        rows = memory.choices(actions).tolist()
        return cls(alphabet, follow(None)[0], after, tuple(chances(row) for row in rows))

    def reading(self, alphabet: Alphabet, known_as: Sequence[int]) -> Controller:
        """Translate the controller to another alphabet, which has the same actions and other observation codes.

        Parameters
        ----------
        alphabet
            The new alphabet.
        known_as
            Observation code of this controller for each observation code of the new alphabet.

        Returns
        -------
        Controller
            A controller with the same memories and action probabilities.
        """
        codes = np.asarray(known_as)
        return Controller(alphabet, self.first[codes], self.after[:, :, codes], self.chances)


def uniform_over(alphabet: Alphabet, actions: Sequence[Value]) -> Chances:
    """Return the probabilities of a uniform choice from a list of actions; one that is listed twice counts twice."""
    times = Counter(actions)
    return tuple(Fraction(times[a], len(actions)) for a in alphabet.actions)
