"""A policy as tables: what it remembers of a history, and how it chooses.

A finite-state controller. Its memory is one number, which the first observation sets and every action with what it
showed changes; each memory chooses among the actions with fixed probabilities. A table by observation, a table by
observation and step, and an automaton with a choice for each state are all of this kind.
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
from suffice.errors import SettingsError
from suffice.kernels.array_types import Float, Int32, Int64

Chances = tuple[Fraction, ...]  # of the alphabet's actions, in order


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Controller:
    """A controller over the codes of an alphabet.

    >>> suffice.Controller.uniform(episodes.alphabet)
    <Controller: 1 memories, 2 actions>
    >>> suffice.Controller.on_automaton(model.planned, episodes.alphabet, model.plan.actions)
    <Controller: 18 memories, 2 actions>
    """

    alphabet: Alphabet
    first: Int32  # [O] the memory that a first observation leaves, by observation code
    after: Int32  # [M, A, O] the memory after an action and what it showed; A numbers the logged actions from 0
    chances: tuple[Chances, ...]  # [M][A] how each memory chooses

    def __post_init__(self) -> None:
        actions, observations = len(self.alphabet.actions), self.alphabet.n_observations
        memories = len(self.chances)
        if self.first.shape != (observations,) or self.after.shape != (memories, actions, observations):
            raise SettingsError("a policy needs a memory for every observation and every action with what it showed")
        for table in (self.first, self.after):
            if table.size and not 0 <= table.min() <= table.max() < memories:
                raise SettingsError(f"a memory of a policy is a number below {memories}")
            table.setflags(write=False)
        for row in self.chances:
            if len(row) != actions or min(row) < 0 or sum(row) != 1:
                raise SettingsError(f"the chances of a policy's {actions} actions must be at least 0 and add up to 1")

    def __repr__(self) -> str:
        return f"<Controller: {len(self.chances)} memories, {len(self.alphabet.actions)} actions>"

    @property
    def table(self) -> Float:
        """[M, A] the chances as doubles."""
        return np.array([[float(p) for p in row] for row in self.chances])

    @classmethod
    def by_observation(cls, alphabet: Alphabet, chances: Sequence[Chances]) -> Controller:
        """A policy that remembers only the last observation; one row for each, in the alphabet's order."""
        if len(chances) != len(alphabet.observations):
            raise SettingsError(f"{len(chances)} rows of chances for {len(alphabet.observations)} observations")
        n = alphabet.n_observations
        first = np.maximum(np.arange(n, dtype=np.int32) - 1, 0)  # nothing is chosen after o_⊥, code 0
        after = np.broadcast_to(first, (len(chances), len(alphabet.actions), n)).copy()
        return cls(alphabet, first, after, tuple(chances))

    @classmethod
    def uniform(cls, alphabet: Alphabet) -> Controller:
        """Every action with the same chance, whatever happened."""
        actions, observations = len(alphabet.actions), alphabet.n_observations
        nothing = np.zeros((1, actions, observations), np.int32)
        return cls(alphabet, nothing[0, 0].copy(), nothing, (uniform_over(alphabet, alphabet.actions),))

    @classmethod
    def on_automaton(cls, rdp: RDP, alphabet: Alphabet, actions: Int64, epsilon: Fraction = Fraction(0)) -> Controller:
        """A plan on an automaton; with probability ε any action instead.

        The alphabet may be another's, if it knows the automaton's actions: `StateTracker` says what becomes of
        histories that the automaton has never seen.
        """
        known = rdp.alphabet.actions
        if unknown := [a for a in known if a not in alphabet.actions]:
            raise SettingsError(f"the model's action {unknown[0]!r} is none of {', '.join(map(str, alphabet.actions))}")
        memory, anything = StateTracker.of(rdp), uniform_over(alphabet, alphabet.actions)
        seen = [alphabet.observation(code) for code in range(alphabet.n_observations)]

        def follow(action: Value | None) -> Int32:
            """[M, O] where each place goes with an action and what it shows."""
            columns = [
                memory.astray if (y := memory.known.get((action, o))) is None else memory.following[:, y] for o in seen
            ]
            return np.stack(columns, axis=1)

        def chances(row: Sequence[int]) -> Chances:
            times = dict(zip(known, row, strict=True))
            chosen = [Fraction(times.get(a, 0), sum(row)) for a in alphabet.actions] if any(row) else anything
            return tuple(epsilon * u + (1 - epsilon) * p for u, p in zip(anything, chosen, strict=True))

        after = np.stack([follow(action) for action in alphabet.actions], axis=1)
        rows = memory.choices(actions).tolist()
        return cls(alphabet, follow(None)[0], after, tuple(chances(row) for row in rows))

    def reading(self, alphabet: Alphabet, known_as: Sequence[int]) -> Controller:
        """The same choices where observations have other codes: `known_as` [O] gives those of this policy."""
        codes = np.asarray(known_as)
        return Controller(alphabet, self.first[codes], self.after[:, :, codes], self.chances)


def uniform_over(alphabet: Alphabet, actions: Sequence[Value]) -> Chances:
    """Each of these actions with the same chance; one that is named twice counts twice."""
    times = Counter(actions)
    return tuple(Fraction(times[a], len(actions)) for a in alphabet.actions)
