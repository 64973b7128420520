"""Finite models, which hold all states and outcomes of a domain as tables with exact probabilities.

A *definition* states how a domain starts and what each action leads to, in values of its own. The model contains all
states that its actions reach, encoded by an alphabet. Simulation, the exact analysis (docs/theory.md, section 7) and
the `.POMDP` writer use these tables.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from suffice.data.alphabet import STOP, Alphabet, Value
from suffice.errors import SettingsError, parameter
from suffice.kernels.array_types import Int32, Int64
from suffice.planning.controller import Controller, uniform_over

State = Hashable
Observation = tuple[Value, ...]

ENDED = -1  # code of the state after the end of an episode
MANY_STATES = 10_000  # larger models are explored only as far as the horizon reaches
MAX_STATES = 200_000
MAX_ROWS = 1 << 19  # pairs of a state and an action
MAX_OUTCOMES = 1 << 21  # of all states and actions together: half a gigabyte of fractions


class Outcome(NamedTuple):
    """One possible outcome of a step, or of the start of an episode.

    Parameters
    ----------
    probability
        Probability of this outcome.
    state
        The next state, any hashable value. None: the episode ends.
    observation
        Values of the features, in their order. None at the end of an episode, where nothing is observed.
    reward
        Reward of the step. Default: 0.

    Examples
    --------
    >>> from fractions import Fraction
    >>> suffice.Outcome(Fraction(1, 2), state="awake", observation=("light",), reward=Fraction(1)).reward
    Fraction(1, 1)
    """

    probability: Fraction
    state: State | None
    observation: Observation | None
    reward: Fraction = Fraction(0)


class Definition(Protocol):
    """Protocol of the definition from which a finite model is computed."""

    @property
    def all_actions(self) -> tuple[Value, ...]:
        """All actions, in any order."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the components of an observation."""

    def start(self) -> Iterable[Outcome]:
        """List the possible first states and observations."""

    def step(self, state: State, action: Value) -> Iterable[Outcome]:
        """List what may happen when an action is taken."""

    def choices(self, observation: Observation) -> Sequence[Value]:
        """List the actions from which the behaviour policy draws uniformly."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Outcomes of several rows (pairs of a state and an action), concatenated."""

    begin: Int64  # [rows+1] first outcome of each row
    probability: tuple[Fraction, ...]  # [K] each row adds up to 1
    state: Int32  # [K] or ENDED
    observation: Int32  # [K] codes; STOP where the episode ends
    reward: Int32  # [K] codes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FiniteModel:
    """All states and outcomes of a domain as tables, with the behaviour policy that logs it.

    `Domain.model` makes one from a domain, `FiniteModel.of` from any definition.

    Attributes
    ----------
    alphabet
        Codes of actions, observations and rewards.
    rewards
        The rewards of the alphabet as fractions.
    states
        The states, as the definition names them. Tables refer to them by position.
    first
        Outcomes of the start of an episode: a single row.
    after
        Outcomes of each pair of a state and an action, in this order. Rows that no episode of the model's horizon
        reaches are empty.
    usual
        The behaviour policy, used unless another is given.
    reach
        Longest horizon for which the tables are complete. None: any horizon.

    Examples
    --------
    >>> finite = suffice.make("corridor").model(5)
    >>> finite
    <FiniteModel: 11 states, 2 actions>
    >>> finite.states[:3]
    ((0, 0), (1, 1), (1, 0))
    """

    alphabet: Alphabet
    rewards: tuple[Fraction, ...]  # [R]
    states: tuple[State, ...]  # [S]
    first: Outcomes  # 1 row
    after: Outcomes  # [S·A] rows
    usual: Controller
    reach: int | None = None

    def __repr__(self) -> str:
        return f"<FiniteModel: {len(self.states)} states, {len(self.alphabet.actions)} actions>"

    @classmethod
    def of(cls, definition: Definition, horizon: int = MAX_STATES) -> FiniteModel:
        """Compute the model of a definition: all states that its actions reach.

        Parameters
        ----------
        definition
            A `Domain`, or an object with the same `all_actions`, `features`, `start`, `step` and `choices`.
        horizon
            Number of actions per episode. Models of over 10,000 states are explored only this far.

        Returns
        -------
        FiniteModel
            The tables.
        """
        actions = Alphabet(definition.all_actions, (), (), ()).actions
        if not actions:
            raise SettingsError("the model has no actions. Return at least one in all_actions.")
        found = _closure(definition, actions, horizon)
        everything = [outcome for row in found.rows for outcome in row]
        exact = sorted({Fraction(0), *(outcome.reward for outcome in everything)})
        alphabet = Alphabet(
            actions,
            definition.features,
            tuple({o.observation: None for o in everything if o.observation is not None}),
            tuple(float(r) for r in exact),
        )
        if len(alphabet.rewards) != len(exact):
            raise SettingsError("two rewards of the model are equal as doubles. Use rewards that differ by more.")
        tables = [_Coder(alphabet, exact, found.number).encode(rows) for rows in (found.rows[:1], found.rows[1:])]
        usual = [uniform_over(alphabet, definition.choices(o)) for o in alphabet.observations]
        anything = uniform_over(alphabet, alphabet.actions)
        policy = (
            Controller.uniform(alphabet) if set(usual) == {anything} else Controller.by_observation(alphabet, usual)
        )
        reach = None if found.closed else horizon
        return cls(alphabet, tuple(exact), tuple(found.number), tables[0], tables[1], policy, reach)

    def refuse_beyond(self, horizon: int) -> None:
        """Raise a SettingsError if the tables are incomplete for a horizon.

        Parameters
        ----------
        horizon
            Number of actions per episode.
        """
        if horizon < 1:
            raise SettingsError(f"{parameter('horizon', horizon)} leaves no action. Use 1 or more.")
        if self.reach is not None and horizon > self.reach:
            given = parameter("horizon", horizon)
            raise SettingsError(
                f"{given}: the model was computed for a horizon of {self.reach}. Compute it with model({horizon})."
            )

    def observing_reward(self) -> FiniteModel:
        """Add the reward to each observation, as a further feature.

        Returns
        -------
        FiniteModel
            A model of the same states, whose observations end with the reward of the step.
        """
        shown = FiniteModel.of(_Observing(self), self.reach or MAX_STATES)
        known: dict[Observation | None, int] = {o: i + 1 for i, o in enumerate(self.alphabet.observations)}
        without = [STOP, *(known[o[:-1]] for o in shown.alphabet.observations)]
        states = tuple(self.states[s] for s in cast(tuple[int, ...], shown.states))
        usual = self.usual.reading(shown.alphabet, without)
        return replace(shown, states=states, usual=usual, reach=self.reach)


@dataclass(frozen=True, slots=True)
class _Observing:
    """Definition of the model whose observations include the reward; its states are numbers of the original states."""

    model: FiniteModel

    @property
    def all_actions(self) -> tuple[Value, ...]:
        return self.model.alphabet.actions

    @property
    def features(self) -> tuple[str, ...]:
        known = self.model.alphabet.features
        return (*known, next(name for name in ("paid", "paid_before", "reward_shown") if name not in known))

    def start(self) -> Iterator[Outcome]:
        return self._outcomes(self.model.first, 0)

    def step(self, state: Any, action: Value) -> Iterator[Outcome]:
        actions = self.model.alphabet.actions
        return self._outcomes(self.model.after, state * len(actions) + actions.index(action))

    def _outcomes(self, table: Outcomes, row: int) -> Iterator[Outcome]:
        alphabet = self.model.alphabet
        for k in range(table.begin[row], table.begin[row + 1]):
            state, reward = int(table.state[k]), int(table.reward[k])
            seen = alphabet.observation(int(table.observation[k]))
            shown = None if seen is None else (*seen, alphabet.rewards[reward])
            yield Outcome(table.probability[k], None if state == ENDED else state, shown, self.model.rewards[reward])

    def choices(self, observation: Observation) -> Sequence[Value]:
        return self.all_actions  # replaced by the behaviour policy of the original model


class _StateClosure(NamedTuple):
    number: dict[State, int]
    rows: list[list[Outcome]]  # of the start, then of each state and action
    closed: bool  # whether all states were explored


def _closure(definition: Definition, actions: Sequence[Value], horizon: int) -> _StateClosure:
    """Explore states breadth first, so that they are numbered by their distance from the start."""
    number: dict[State, int] = {}
    queue: deque[tuple[State, int]] = deque()
    depth, closed = 0, True

    def checked(row: Iterable[Outcome], what: str) -> list[Outcome]:
        outcomes = [_exactly(outcome, what) for outcome in row if outcome.probability]
        if any(o.probability < 0 for o in outcomes) or sum(o.probability for o in outcomes) != 1:
            raise SettingsError(
                f"{what}: the probabilities are negative or do not add up to 1. Use fractions.Fraction."
            )
        for outcome in outcomes:
            if outcome.state is not None and outcome.state not in number:
                number[outcome.state] = len(number)
                queue.append((outcome.state, depth))
        if len(number) > MAX_STATES:
            raise SettingsError(
                f"the model has more than {MAX_STATES:,} states. Choose smaller options or a shorter horizon."
            )
        return outcomes

    rows = [checked(definition.start(), "the start")]
    if any(outcome.state is None or outcome.reward for outcome in rows[0]):
        raise SettingsError(
            "the start: an outcome has no state, or a reward. Let start() return states without rewards."
        )
    while queue:
        state, before = queue.popleft()
        depth = before + 1
        if before >= horizon and len(number) > MANY_STATES:
            closed = False
            rows += [[] for _ in actions]
        else:
            rows += [checked(definition.step(state, a), f"action {a} in state {state}") for a in actions]
        if len(rows) > MAX_ROWS:
            raise SettingsError(
                f"the model has over {MAX_ROWS:,} pairs of a state and an action. Choose smaller options."
            )
    return _StateClosure(number, rows, closed)


def _exactly(outcome: Outcome, what: str) -> Outcome:
    """Return the outcome with its numbers as fractions."""
    probability, state, observation, reward = outcome
    if (state is None) != (observation is None):
        raise SettingsError(
            f"{what}: an outcome lacks a state or an observation. Give both, or neither to end the episode."
        )
    try:
        return Outcome(Fraction(probability), state, observation, Fraction(reward))
    except (TypeError, ValueError, OverflowError):
        raise SettingsError(
            f"{what}: the probability {probability} or the reward {reward} is not a finite number. Use fractions."
        ) from None


class _Coder:
    """Encoder of the states, observations and rewards of outcomes."""

    def __init__(self, alphabet: Alphabet, rewards: Sequence[Fraction], number: dict[State, int]) -> None:
        self._observation: dict[Observation | None, int] = {o: i + 1 for i, o in enumerate(alphabet.observations)}
        self._observation[None] = STOP
        self._reward = {r: i for i, r in enumerate(rewards)}
        self._state: dict[State | None, int] = {**number, None: ENDED}

    def encode(self, rows: list[list[Outcome]]) -> Outcomes:
        flat = [outcome for row in rows for outcome in row]
        return Outcomes(
            begin=np.cumsum([0] + [len(row) for row in rows]),
            probability=tuple(outcome.probability for outcome in flat),
            state=np.array([self._state[outcome.state] for outcome in flat], np.int32),
            observation=np.array([self._observation[outcome.observation] for outcome in flat], np.int32),
            reward=np.array([self._reward[outcome.reward] for outcome in flat], np.int32),
        )
