"""A finite model: everything a domain may do, as tables with exact probabilities.

A *definition* says in words of its own how a domain starts and what each action may bring; the model is its closure
under all actions, in the codes of the alphabet that it turns out to have. Simulation, the exact analysis and other
programs' formats all start from here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from suffice.data.alphabet import STOP, Alphabet, Value
from suffice.errors import SettingsError
from suffice.kernels.array_types import Int32, Int64
from suffice.planning.controller import Controller, uniform_over

State = Hashable
Observation = tuple[Value, ...]

ENDED = -1  # the state after an episode's end
MANY_STATES = 10_000  # up to here a model is closed; beyond it is explored only as far as an episode reaches
MAX_STATES = 200_000
MAX_ROWS = 1 << 19  # of a state and an action
MAX_OUTCOMES = 1 << 21  # of all states and actions together: half a gigabyte of fractions


class Outcome(NamedTuple):
    """One thing that may happen; without a state the episode is over, and nothing is seen.

    >>> from fractions import Fraction
    >>> suffice.Outcome(Fraction(1, 2), state="awake", observation=("light",), reward=Fraction(1)).reward
    Fraction(1, 1)
    """

    probability: Fraction
    state: State | None
    observation: Observation | None
    reward: Fraction = Fraction(0)


class Definition(Protocol):
    """What a domain has to say about itself."""

    @property
    def all_actions(self) -> tuple[Value, ...]:
        """In any order."""

    @property
    def features(self) -> tuple[str, ...]:
        """What an observation consists of."""

    def start(self) -> Iterable[Outcome]:
        """The first state and observation."""

    def step(self, state: State, action: Value) -> Iterable[Outcome]:
        """What an action may bring."""

    def choices(self, observation: Observation) -> Sequence[Value]:
        """The actions among which the usual behaviour chooses uniformly."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Rows of what may happen, one after the other."""

    begin: Int64  # [rows+1] where each row begins
    probability: tuple[Fraction, ...]  # [K] each row adds up to 1
    state: Int32  # [K] or ENDED
    observation: Int32  # [K] codes; STOP where the episode ends
    reward: Int32  # [K] codes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FiniteModel:
    """States, what each action may bring in them, and how episodes are usually logged.

    >>> finite = suffice.make("corridor").model(5)
    >>> finite
    <FiniteModel: 11 states, 2 actions>
    >>> finite.states[:3]
    ((0, 0), (1, 1), (1, 0))
    """

    alphabet: Alphabet
    rewards: tuple[Fraction, ...]  # the alphabet's, exactly
    states: tuple[State, ...]  # [S] as the definition calls them
    first: Outcomes  # one row
    after: Outcomes  # [S·A] rows, by state and action; empty where no episode of the model's horizon acts
    usual: Controller  # the behaviour policy, unless another is given
    reach: int | None = None  # the horizon up to which the model holds; None: any

    def __repr__(self) -> str:
        return f"<FiniteModel: {len(self.states)} states, {len(self.alphabet.actions)} actions>"

    @classmethod
    def of(cls, definition: Definition, horizon: int = MAX_STATES) -> FiniteModel:
        """The closure of a definition under all its actions; if that is large, as far as a horizon reaches."""
        actions = Alphabet(definition.all_actions, (), (), ()).actions
        if not actions:
            raise SettingsError("a model needs at least one action")
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
            raise SettingsError("two rewards of a model are too close to be told apart as doubles")
        tables = [_Coder(alphabet, exact, found.number).encode(rows) for rows in (found.rows[:1], found.rows[1:])]
        usual = [uniform_over(alphabet, definition.choices(o)) for o in alphabet.observations]
        anything = uniform_over(alphabet, alphabet.actions)
        policy = (
            Controller.uniform(alphabet) if set(usual) == {anything} else Controller.by_observation(alphabet, usual)
        )
        reach = None if found.closed else horizon
        return cls(alphabet, tuple(exact), tuple(found.number), tables[0], tables[1], policy, reach)

    def refuse_beyond(self, horizon: int) -> None:
        """Where a longer episode could leave the states that are known."""
        if horizon < 1:
            raise SettingsError(f"a horizon of {horizon} leaves no action; use 1 or more")
        if self.reach is not None and horizon > self.reach:
            raise SettingsError(f"the model was made for a horizon of {self.reach}, not {horizon}; make it for that")

    def observing_reward(self) -> FiniteModel:
        """The same model, with the reward as a further feature of the observation."""
        shown = FiniteModel.of(_Observing(self), self.reach or MAX_STATES)
        known: dict[Observation | None, int] = {o: i + 1 for i, o in enumerate(self.alphabet.observations)}
        without = [STOP, *(known[o[:-1]] for o in shown.alphabet.observations)]
        states = tuple(self.states[s] for s in cast(tuple[int, ...], shown.states))
        usual = self.usual.reading(shown.alphabet, without)
        return replace(shown, states=states, usual=usual, reach=self.reach)


@dataclass(frozen=True, slots=True)
class _Observing:
    """A model as the definition of another, which shows its rewards; states go by their numbers."""

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
        return self.all_actions  # the first model's behaviour takes its place


class _StateClosure(NamedTuple):
    number: dict[State, int]
    rows: list[list[Outcome]]  # of the start, then of each state and action
    closed: bool  # no state was left out


def _closure(definition: Definition, actions: Sequence[Value], horizon: int) -> _StateClosure:
    """Breadth first, so that states are numbered by how soon they can be reached."""
    number: dict[State, int] = {}
    queue: deque[tuple[State, int]] = deque()
    depth, closed = 0, True

    def checked(row: Iterable[Outcome], what: str) -> list[Outcome]:
        outcomes = [_exactly(outcome, what) for outcome in row if outcome.probability]
        if any(o.probability < 0 for o in outcomes) or sum(o.probability for o in outcomes) != 1:
            raise SettingsError(f"the probabilities of {what} must be fractions from 0 on that add up to 1")
        for outcome in outcomes:
            if outcome.state is not None and outcome.state not in number:
                number[outcome.state] = len(number)
                queue.append((outcome.state, depth))
        if len(number) > MAX_STATES:
            raise SettingsError(
                f"the model has more than {MAX_STATES:,} states; choose smaller options or a shorter horizon"
            )
        return outcomes

    rows = [checked(definition.start(), "the start")]
    if any(outcome.state is None or outcome.reward for outcome in rows[0]):
        raise SettingsError("an episode cannot be over, or pay, before its first action")
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
                f"the model has over {MAX_ROWS:,} pairs of a state and an action; choose smaller options"
            )
    return _StateClosure(number, rows, closed)


def _exactly(outcome: Outcome, what: str) -> Outcome:
    """With fractions for numbers of any kind."""
    probability, state, observation, reward = outcome
    if (state is None) != (observation is None):
        raise SettingsError(f"an outcome of {what} must have both a state and an observation, or at the end neither")
    try:
        return Outcome(Fraction(probability), state, observation, Fraction(reward))
    except (TypeError, ValueError, OverflowError):
        raise SettingsError(f"{what} has the probability {probability} or the reward {reward}, no number") from None


class _Coder:
    """From words to codes."""

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
