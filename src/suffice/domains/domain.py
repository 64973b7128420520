"""What the domains have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from suffice.data.alphabet import Value
from suffice.data.episodes import Episodes
from suffice.domains.finite import FiniteModel, Observation, Outcome
from suffice.errors import SettingsError

HALF = Fraction(1, 2)


class Domain(ABC):
    """A frozen dataclass of options that says how episodes start and what each action may bring.

    States are whatever a domain likes to call them, as long as they can be told apart; see `Outcome` for the end of
    an episode. Probabilities and rewards are fractions, so that the exact analysis is exact.

    >>> maze = suffice.make("t-maze")
    >>> maze.all_actions, maze.features
    (('E', 'W', 'N', 'S'), ('bit1', 'bit2', 'bit3'))
    >>> maze.model(5)
    <FiniteModel: 10 states, 4 actions>
    """

    __slots__ = ()

    DEFAULT_HORIZON: ClassVar[int]  # where no option decides it
    features: ClassVar[tuple[str, ...]]  # what an observation consists of

    @property
    @abstractmethod
    def all_actions(self) -> tuple[Value, ...]:
        """Whatever can be done, in any order."""

    @property
    def default_horizon(self) -> int:
        """How many actions an episode has unless somebody says otherwise."""
        return self.DEFAULT_HORIZON

    def for_horizon(self, horizon: int) -> Self:
        """The same domain with the options that were left to the horizon."""
        del horizon
        return self

    @abstractmethod
    def start(self) -> Iterable[Outcome]:
        """The first state and what it shows."""

    @abstractmethod
    def step(self, state: Any, action: Any) -> Iterable[Outcome]:
        """What an action may bring."""

    def choices(self, observation: Observation) -> Sequence[Value]:
        """The actions among which the behaviour policy chooses uniformly."""
        del observation
        return self.all_actions

    def render(self, state: Any) -> str:
        """The state as text, for a person; None stands for the end."""
        return "the end" if state is None else str(state)

    def model(self, horizon: int | None = None) -> FiniteModel:
        """All of it as tables."""
        horizon = self.default_horizon if horizon is None else horizon
        if horizon < 1:
            raise SettingsError(f"a horizon of {horizon} leaves no action; use 1 or more")
        return FiniteModel.of(self.for_horizon(horizon), horizon)

    def simulate(self, n: int, horizon: int, rng: np.random.Generator) -> Episodes:
        """`n` independent episodes of `horizon` actions under the behaviour policy."""
        from suffice.domains.simulation import simulate

        return simulate(self.model(horizon), n, horizon, rng)


def uniformly(outcomes: Sequence[tuple[Any, Observation, Fraction | int]]) -> list[Outcome]:
    """Each (state, observation, reward) with the same probability."""
    share = Fraction(1, len(outcomes))
    return [Outcome(share, state, observation, Fraction(reward)) for state, observation, reward in outcomes]


def surely(state: Any, observation: Observation, reward: Fraction | int = 0) -> list[Outcome]:
    """The one thing that happens."""
    return [Outcome(Fraction(1), state, observation, Fraction(reward))]


def ending(reward: Fraction | int = 0) -> list[Outcome]:
    """The episode is over."""
    return [Outcome(Fraction(1), None, None, Fraction(reward))]
