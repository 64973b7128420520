"""An agent that learns the automaton of an environment while it acts in it.

    agent = suffice.Agent(actions=["north", "south", "east", "west"])
    agent.reset(observation)
    while not over:
        observation, reward, terminated, truncated, _ = env.step(agent.act())
        agent.observe(reward, observation, terminated, truncated)

The loop: learn the stationary automaton of all episodes so far, choose what to try next, act, and learn again when the
episodes have grown by half. Only outcomes of actions are evidence, never which actions were chosen, because the agent
changes. Every episode has random numbers of its own, derived from the seed and its number, so that an agent that was
saved and loaded continues as if it had not stopped. Theory: docs/theory.md, section 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from msgspec import structs

from suffice.automata.rdp import RDP
from suffice.data.alphabet import Value, plain, unboxed
from suffice.data.loading import Reading
from suffice.domains.agent.automata import NextAutomaton, Origin, next_automaton
from suffice.domains.agent.experience import Experience, log_tables, read_experience
from suffice.domains.agent.knowledge import GREEDY_PLAN, Knowledge
from suffice.domains.agent.player import Player
from suffice.errors import SettingsError, SufficeError, is_whole, parameter
from suffice.learning.adact_h import Learned, Settings
from suffice.models.log_warnings import log_warnings
from suffice.models.model import Model
from suffice.planning.policy import Policy
from suffice.planning.regorl import judge_stationary
from suffice.registry import Lazy

if TYPE_CHECKING:
    from suffice.data.loading import Data

FIRST_ROUND = 20  # episodes before the first round of learning
GROWTH = 1.5  # factor by which episodes grow from round to round


@dataclass(frozen=True, slots=True)
class LearningRound:
    """Results of one round of learning of an agent.

    Attributes
    ----------
    episodes : int
        Episodes that were learned from.
    states : int
        States of the automaton that was kept.
    origin : str
        "learned" if the automaton was learned from all episodes, "continued" if it continues the one before.
    bits : float
        Bits that the outcomes of an episode cost, predicted from the other half of the episodes.
    predicted : float
        Return of the greedy policy if the frequencies of the automaton are the true probabilities.
    explored : float or None
        Mean return of the exploring episodes since the round before; None if there were none.
    exploited : float or None
        Mean return of the episodes since then that followed the greedy policy; None if there were none.

    Examples
    --------
    >>> agent = suffice.train("corridor", episodes=50, seed=1)
    >>> [found.episodes for found in agent.rounds]
    [20, 30, 45]
    """

    episodes: int
    states: int
    origin: Origin
    bits: float
    predicted: float
    explored: float | None
    exploited: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the round as plain values, as `suffice train --json` prints them.

        Returns
        -------
        dict
            The attributes by name.
        """
        return asdict(self)


class Agent:
    """An agent that learns the memory it needs while it acts.

    Parameters
    ----------
    actions
        The actions that the agent may take, at least two: texts or numbers.
    horizon
        Decisions per episode, if the environment truncates episodes there. Default: those of the longest episode.
    seed
        Seed of all random choices.
    log
        Logged episodes to start from: what `learn` accepts.
    like
        Earlier model or its file: its columns and bins are used, and its automaton, if it is the same at every step, is
        followed and continued.
    observations
        Names of the observation columns, "all" or "auto", as for `learn`.
    settings
        Settings of the learner. `adaptive_logger` is always set.

    Examples
    --------
    >>> import gymnasium
    >>> env, agent = gymnasium.make("suffice/Corridor-v0"), suffice.Agent(actions=[0, 1], seed=1)
    >>> for number in range(150):
    ...     agent.reset(env.reset(seed=number)[0])
    ...     while agent.acting:
    ...         observation, reward, terminated, truncated, _ = env.step(agent.act())
    ...         agent.observe(reward, observation, terminated, truncated)
    >>> agent
    <Agent: 150 episodes, 8 states>
    """

    def __init__(
        self,
        actions: Sequence[Value],
        *,
        horizon: int | None = None,
        seed: int = 0,
        log: Data | None = None,
        like: Model | str | Path | None = None,
        observations: Sequence[str] | str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.actions = _checked_actions(actions)
        if not (is_whole(seed) and seed >= 0):
            raise SettingsError(f"{parameter('seed', seed)} is not a whole number of at least 0. Use one such as 1.")
        if horizon is not None and not (is_whole(horizon) and horizon >= 2):
            raise SettingsError(
                f"{parameter('horizon', horizon)} is not a number of decisions that an automaton can be learned from. "
                "Use 2 or more."
            )
        self.seed, self.horizon = int(seed), None if horizon is None else int(horizon)
        self.observations = observations
        self.settings = _adaptive(settings or Settings())
        self.earlier = Model.load(like) if isinstance(like, str | Path) else like
        self.logs = [] if log is None else log_tables(log)
        self.experience = Experience()
        self.rounds: list[LearningRound] = []
        self._knowledge: Knowledge | None = None
        self._reading: Reading | None = None
        self._last: tuple[int, Knowledge, Reading] | None = None  # what `latest` found, with the number of episodes
        self._player = Player(self)
        if self.logs:
            self.learn()

    def __repr__(self) -> str:
        states = "nothing learned yet" if self._knowledge is None else f"{self._knowledge.rdp.n_states} states"
        return f"<Agent: {self.n_episodes:,} episodes, {states}>"

    @property
    def n_episodes(self) -> int:
        """Number of finished episodes so far."""
        return len(self.experience)

    @property
    def rdp(self) -> RDP | None:
        """The automaton of the last round of learning; None before the first."""
        return None if self._knowledge is None else self._knowledge.rdp

    @property
    def knowledge(self) -> Knowledge | None:
        """The automaton of the last round with its greedy policy and targets; None before the first."""
        return self._knowledge

    @property
    def reading(self) -> Reading | None:
        """The episodes that the last round learned from, with their encoder; None before the first."""
        return self._reading

    @property
    def due(self) -> bool:
        """Whether the episodes have grown by half since the last round of learning."""
        return self.n_episodes >= self.next_round

    @property
    def next_round(self) -> int:
        """Number of episodes at which the next round of learning is due."""
        if not self.rounds:
            return FIRST_ROUND
        last = self.rounds[-1].episodes
        return max(FIRST_ROUND, last + 1, int(GROWTH * last))

    @property
    def acting(self) -> bool:
        """Whether an episode is in progress."""
        return self._player.acting

    @property
    def purpose(self) -> str:
        """What the present episode is for: "uniform", "explore", "deviate" or "exploit"."""
        return self._player.purpose

    def reset(self, observation: Any) -> None:
        """Begin an episode, and learn before it if that is due; an episode in progress is recorded as truncated.

        Parameters
        ----------
        observation
            The first observation.
        """
        self._player.reset(observation)

    def act(self) -> Value:
        """Choose the next action of the episode in progress.

        Returns
        -------
        Value
            One of the actions.
        """
        return self._player.act()

    def observe(self, reward: float, observation: Any, terminated: bool = False, truncated: bool = False) -> None:
        """Note what followed the action.

        Parameters
        ----------
        reward
            Reward of the action, a finite number.
        observation
            The observation that followed. At the end of an episode it is not used.
        terminated
            Whether the episode has ended.
        truncated
            Whether it was cut off, for example by a time limit.
        """
        self._player.observe(reward, observation, terminated, truncated)

    def spawn(self, n: int) -> list[Player]:
        """Make players that act at the same time and share what is learned, for vector environments.

        Parameters
        ----------
        n
            Number of players.

        Returns
        -------
        list of Player
            Objects with `reset`, `act` and `observe`, one for each sub-environment.
        """
        return [Player(self) for _ in range(n)]

    def learn(self) -> LearningRound:
        """Learn from all finished episodes now, whether it is due or not.

        Returns
        -------
        LearningRound
            What was learned.
        """
        reading, found = self._learn()
        self._reading = reading
        self._knowledge = Knowledge.of(found.learned, reading.encoder, reading.here)
        self.rounds.append(self._record(found.origin, found.bits))
        return self.rounds[-1]

    def _learn(self) -> tuple[Reading, NextAutomaton]:
        """Read all finished episodes, and learn their automaton or continue the one before."""
        if not len(self.experience) and not self.logs:
            raise SufficeError("the agent has no episodes to learn from. Play at least one.")
        reading, before = self._read(), self._knowledge
        earlier, decisions = (None, ()) if before is None else (before.rdp, before.learned.decisions)
        if before is None and self.earlier is not None and self.earlier.rdp.stationary:
            earlier, decisions = self.earlier.rdp, self.earlier.decisions
        same = self._reading is None or self._reading.encoder == reading.encoder
        return reading, next_automaton(reading.here, earlier if same else None, decisions, self.settings)

    def recall(self, learned: Learned) -> None:
        """Set the automaton of the last round, as an agent file has it.

        Parameters
        ----------
        learned
            The automaton and how it was learned.
        """
        self._reading = self._read(self.rounds[-1].episodes)
        self._knowledge = Knowledge.of(learned, self._reading.encoder, self._reading.here)

    def _read(self, episodes: int | None = None) -> Reading:
        count = len(self.experience) if episodes is None else episodes
        own = [self.experience.table(count)] if count else []
        return read_experience([*self.logs, *own], self.horizon, self.observations, self.earlier, self.settings)

    def _record(self, origin: Origin, bits: float) -> LearningRound:
        assert self._knowledge is not None
        since = self.rounds[-1].episodes if self.rounds else 0
        new = list(zip(self.experience.returns, self.experience.purposes, strict=True))[since:]
        explored = [value for value, purpose in new if purpose != "exploit"]
        exploited = [value for value, purpose in new if purpose == "exploit"]
        return LearningRound(
            self.n_episodes,
            self._knowledge.rdp.n_states,
            origin,
            bits,
            self._knowledge.plan.value,
            math.fsum(explored) / len(explored) if explored else None,
            math.fsum(exploited) / len(exploited) if exploited else None,
        )

    def policy(self, rng: np.random.Generator | None = None) -> Policy:
        """Return the greedy policy of all episodes so far, which does not explore.

        Parameters
        ----------
        rng
            Random number generator of the policy, where it has no plan. Default: a generator with a fixed seed.

        Returns
        -------
        Policy
            The policy, as `Model.policy` returns it.
        """
        known, _ = self.latest()
        return Policy(known.rdp.layered(), known.plan, rng, encoder=known.encoder, states=known.rdp.n_states)

    def model(self, progress: Callable[[int, int], None] = lambda done, of: None) -> Model:
        """Make a model of the automaton that was kept, with the greedy plan, its prediction and the verdict.

        The prediction comes from cross-fitting, as for `learn`: automata and plans from a part of the episodes are
        judged by the others. Episodes of an agent depend on those before them, so that its level is not proved.

        Parameters
        ----------
        progress
            Function called with the number of finished steps and the number of all steps.

        Returns
        -------
        Model
            The model, ready to be saved.
        """
        known, read = self.latest()
        solution = judge_stationary(read.episodes, known.learned, known.plan, GREEDY_PLAN, progress)
        model = Model.of(solution, read.episodes, encoder=read.encoder, logs=read.digests, ends=read.ends)
        if read.found is not None:
            model = replace(model, about=structs.replace(model.about, columns_found=read.found))
        return replace(model, warnings=log_warnings(read.episodes, read.encoder, read.ends))

    def table(self) -> pa.Table:
        """Return the log of all finished episodes, which `learn` accepts and `write_log` writes.

        Returns
        -------
        pyarrow.Table
            One row per decision, with the column `adaptive_logger`.
        """
        return self.experience.table()

    def save(self, path: str | Path) -> None:
        """Save the agent with all finished episodes; an episode in progress is not saved.

        Parameters
        ----------
        path
            File to write.
        """
        _files("save_agent")(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Agent:
        """Load an agent, which continues as if it had not stopped.

        Parameters
        ----------
        path
            File that `save` wrote.

        Returns
        -------
        Agent
            The agent, before its next episode.
        """
        return cast("Agent", _files("load_agent")(Path(path)))

    def latest(self) -> tuple[Knowledge, Reading]:
        """Return what all finished episodes show, without a round of learning, so that the agent goes on as before.

        Returns
        -------
        tuple
            The knowledge that the greedy policy and the model are made from, and the episodes with their encoder.
        """
        if self._knowledge is not None and self._reading is not None and self.rounds[-1].episodes == self.n_episodes:
            return self._knowledge, self._reading
        if self._last is None or self._last[0] != self.n_episodes:
            reading, found = self._learn()
            self._last = self.n_episodes, Knowledge.of(found.learned, reading.encoder, reading.here), reading
        return self._last[1:]


def _files(name: str) -> Any:
    """Import a function of the module that reads and writes agents, which itself imports this one."""
    return Lazy(f"suffice.domains.agent.agent_file:{name}").load()


def _adaptive(settings: Settings) -> Settings:
    return replace(settings, adaptive_logger=True)


def _checked_actions(actions: Sequence[Value]) -> tuple[Value, ...]:
    """Return the actions as logs have them, in the given order."""
    if isinstance(actions, str) or not isinstance(actions, Sequence | np.ndarray | range):
        raise SettingsError(f"{parameter('actions', actions)} is not a list of actions. Give one such as [0, 1].")
    found = tuple(plain(unboxed(action)) for action in actions)
    if wrong := [action for action in found if not isinstance(action, bool | int | float | str)]:
        raise SettingsError(f"actions: {wrong[0]!r} is neither a text nor a number. Number the actions.")
    if len(set(found)) != len(found) or len(found) < 2:
        raise SettingsError(f"{parameter('actions', list(actions))}: give at least two actions, each once.")
    return found
