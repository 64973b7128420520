"""The base class of domains, and helpers to write their outcomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from suffice.data.alphabet import Value
from suffice.data.episodes import Episodes
from suffice.domains.finite import FiniteModel, Observation, Outcome
from suffice.errors import SettingsError, parameter

HALF = Fraction(1, 2)


class Domain(ABC):
    """A domain, the base class of frozen dataclasses of options that define a finite model.

    A subclass defines how episodes start (`start`) and what each action leads to (`step`). States are any hashable
    values; see `Outcome` for the end of an episode. Probabilities and rewards are fractions, so that the exact
    analysis is exact. `make` constructs the domains of this package by name.

    Attributes
    ----------
    DEFAULT_HORIZON
        Default number of actions per episode, where no option decides it.
    features
        Names of the components of an observation.

    Examples
    --------
    >>> maze = suffice.make("t-maze")
    >>> maze.all_actions, maze.features
    (('E', 'W', 'N', 'S'), ('bit1', 'bit2', 'bit3'))
    >>> maze.model(5)
    <FiniteModel: 10 states, 4 actions>
    """

    __slots__ = ()

    DEFAULT_HORIZON: ClassVar[int]
    features: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def all_actions(self) -> tuple[Value, ...]:
        """All actions of the domain, in any order."""

    @property
    def default_horizon(self) -> int:
        """Number of actions per episode unless a horizon is given."""
        return self.DEFAULT_HORIZON

    def for_horizon(self, horizon: int) -> Self:
        """Return the domain with the options that depend on the horizon filled in.

        Parameters
        ----------
        horizon
            Number of actions per episode.

        Returns
        -------
        Domain
            A domain in which no option depends on the horizon.
        """
        del horizon
        return self

    @abstractmethod
    def start(self) -> Iterable[Outcome]:
        """List the possible first states and observations.

        Returns
        -------
        iterable of Outcome
            Outcomes whose probabilities add up to 1, without rewards.
        """

    @abstractmethod
    def step(self, state: Any, action: Any) -> Iterable[Outcome]:
        """List what may happen when an action is taken in a state.

        Parameters
        ----------
        state
            A state that `start` or `step` returned.
        action
            One of `all_actions`.

        Returns
        -------
        iterable of Outcome
            Outcomes whose probabilities add up to 1.
        """

    def choices(self, observation: Observation) -> Sequence[Value]:
        """List the actions from which the behaviour policy draws uniformly.

        Parameters
        ----------
        observation
            Values of the features at this step.

        Returns
        -------
        sequence of actions
            Some or all of `all_actions`.
        """
        del observation
        return self.all_actions

    def render(self, state: Any) -> str:
        """Return a state as text, for display.

        Parameters
        ----------
        state
            A state, or None after the end of an episode.

        Returns
        -------
        str
            One or more lines.
        """
        return "the end" if state is None else str(state)

    def model(self, horizon: int | None = None) -> FiniteModel:
        """Compute all states and outcomes as tables.

        Parameters
        ----------
        horizon
            Number of actions per episode. Default: `default_horizon`.

        Returns
        -------
        FiniteModel
            The tables, with the behaviour policy.
        """
        horizon = self.default_horizon if horizon is None else horizon
        if horizon < 1:
            raise SettingsError(f"{parameter('horizon', horizon)} leaves no action. Use 1 or more.")
        return FiniteModel.of(self.for_horizon(horizon), horizon)

    def simulate(self, n: int, horizon: int, rng: np.random.Generator) -> Episodes:
        """Simulate independent episodes under the behaviour policy.

        Parameters
        ----------
        n
            Number of episodes.
        horizon
            Number of actions per episode. Episodes that end earlier are padded.
        rng
            Random number generator.

        Returns
        -------
        Episodes
            The simulated episodes, ready to learn from.
        """
        from suffice.domains.simulation import simulate

        return simulate(self.model(horizon), n, horizon, rng)


def uniformly(outcomes: Sequence[tuple[Any, Observation, Fraction | int]]) -> list[Outcome]:
    """Return outcomes in which each (state, observation, reward) is equally probable."""
    share = Fraction(1, len(outcomes))
    return [Outcome(share, state, observation, Fraction(reward)) for state, observation, reward in outcomes]


def surely(state: Any, observation: Observation, reward: Fraction | int = 0) -> list[Outcome]:
    """Return the single outcome of a deterministic step."""
    return [Outcome(Fraction(1), state, observation, Fraction(reward))]


def ending(reward: Fraction | int = 0) -> list[Outcome]:
    """Return the single outcome of a step that ends the episode."""
    return [Outcome(Fraction(1), None, None, Fraction(reward))]
