"""Training of agents in a domain, a Gymnasium environment or a vector environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from suffice.domains.agent.agent import Agent
from suffice.domains.agent.worlds import FiniteWorld, GymWorld, World, actions_of, episode_seed
from suffice.domains.domain import Domain
from suffice.domains.finite import FiniteModel
from suffice.domains.gym.requests import refuse_endless, require_counts
from suffice.domains.gym.spaces import action_of, refuse_varying
from suffice.domains.model_evaluation import is_environment, names_domain
from suffice.domains.registry import make
from suffice.errors import SettingsError, SufficeError, TrainingError, parameter
from suffice.models.log_options import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from suffice.data.loading import Data
    from suffice.models.model import Model

Progress = Callable[[Agent, int], None]
Playable = World | VectorEnv[Any, Any, Any]


def _silently(agent: Agent, episodes: int) -> None:
    """Ignore progress; this is the default callback."""


def train(
    env: Any,
    episodes: int,
    *,
    horizon: int | None = None,
    seed: int = 0,
    options: Mapping[str, object] | None = None,
    log: Data | None = None,
    like: Model | str | Path | None = None,
    observations: Sequence[str] | str | None = None,
    agent: Agent | None = None,
    progress: Progress = _silently,
) -> Agent:
    """Let an agent learn in an environment while it acts.

    The agent explores what decides, and follows its greedy policy in a share of the episodes that grows. It learns when
    its episodes have grown by half; its policy and its model come from all episodes.

    Parameters
    ----------
    env
        Name of a domain, of a `.POMDP` file or of a Gymnasium environment; or a domain, a finite model, a Gymnasium
        environment or a vector environment.
    episodes
        Number of episodes. With an agent that has played before, the number of all its episodes.
    horizon
        Decisions per episode. Default: that of the domain; in other environments, only these end episodes.
    seed
        Seed of the environment and of the agent.
    options
        Options of a domain, or of `gymnasium.make`, if `env` is a name.
    log
        Logged episodes to start from, as `learn` accepts them.
    like
        Earlier model or its file, to start from: see `Agent`.
    observations
        Names of the observation columns, "all" or "auto", as for `learn`. Default: all in a domain, elsewhere
        as `learn` chooses.
    agent
        An agent to continue, for example of `Agent.load`. It has its own seed, horizon, log and observations.
    progress
        Function called after each episode with the agent and the number of episodes to play.

    Returns
    -------
    Agent
        The agent; `agent.model()` has the automaton, the plan and the verdict.

    Raises
    ------
    TrainingError
        If the environment fails, never ends or returns something that is not a number. The error's `agent` has what was
        learned before.

    Examples
    --------
    >>> agent = suffice.train("rotating-mab", episodes=100, seed=1)
    >>> agent
    <Agent: 100 episodes, 3 states>
    >>> agent.model().evaluate_in("rotating-mab", exact=True).policy.mean_return.value
    9.0
    """
    require_counts(episodes, horizon, seed)
    if agent is not None:
        seed, horizon = agent.seed, agent.horizon
    opened = world_of(env, horizon, seed, options or {})
    if agent is None:
        agent = agent_for(opened, episodes, seed, log=log, like=like, observations=observations)
    run(opened.world, agent, episodes, progress)
    return agent


class OpenedWorld(NamedTuple):
    """An environment as agents meet it."""

    world: Playable
    horizon: int | None
    every_column: bool  # whether all columns are observations that may matter, as in a domain


def agent_for(
    opened: OpenedWorld,
    episodes: int,
    seed: int,
    *,
    log: Data | None = None,
    like: Model | str | Path | None = None,
    observations: Sequence[str] | str | None = None,
) -> Agent:
    """Make an agent for an environment; its parameters are those of `train`."""
    require_counts(episodes, opened.horizon, seed)
    world = opened.world
    return Agent(
        actions_of(world.single_action_space) if isinstance(world, VectorEnv) else world.actions,
        horizon=opened.horizon,
        seed=seed,
        log=log,
        like=like,
        observations=ALL if observations is None and opened.every_column else observations,
    )


def world_of(env: Any, horizon: int | None, seed: int, options: Mapping[str, object]) -> OpenedWorld:
    """Open an environment that is given by name or as an object."""
    if isinstance(env, str) and not names_domain(env) and is_environment(env):
        try:
            env = gymnasium.make(env, **cast("dict[str, Any]", options))
        except SufficeError:
            raise
        except Exception as error:  # of any package
            raise SettingsError(
                f"{env}: the environment cannot be made ({_one_line(error)}). Change its options, or install what it "
                "needs."
            ) from error
    elif isinstance(env, str):
        env = make(env, options)
    elif options:
        raise SettingsError(f"{parameter('options')} belong to an environment that is given by name. Leave them out.")
    if isinstance(env, Domain):
        horizon = env.default_horizon if horizon is None else horizon
        env = env.model(horizon)
    if isinstance(env, FiniteModel):
        if horizon is None:
            raise SettingsError("a finite model has no default horizon. Pass horizon=, the decisions per episode.")
        return OpenedWorld(FiniteWorld(env, horizon, seed), horizon, True)
    if isinstance(env, VectorEnv):
        refuse_varying(env.single_action_space, env.single_observation_space)
        return OpenedWorld(env, horizon, False)
    if not isinstance(env, gymnasium.Env):
        raise SettingsError(
            f"env is of type {type(env).__name__}, not an environment. Pass a name, a domain or a Gymnasium "
            "environment."
        )
    return OpenedWorld(GymWorld(env, horizon, seed), horizon, False)


def run(world: Playable, agent: Agent, episodes: int, progress: Progress = _silently) -> None:
    """Play episodes until the agent has this many episodes."""
    with _failing(agent):
        if isinstance(world, VectorEnv):
            _run_vector(world, agent, episodes, progress)
        else:
            while agent.n_episodes < episodes:
                _play(world, agent)
                progress(agent, episodes)


def _play(world: World, agent: Agent) -> None:
    """Play one episode to its end."""
    number, steps = agent.n_episodes, 0
    agent.reset(world.reset(number))
    while agent.acting:
        agent.observe(*world.step(agent.act()))
        steps += 1
        if agent.horizon is None:
            refuse_endless(number, steps)


def _run_vector(envs: VectorEnv[Any, Any, Any], agent: Agent, episodes: int, progress: Progress) -> None:
    """Play episodes in all sub-environments at once."""
    mode = envs.metadata.get("autoreset_mode")
    if mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        raise SettingsError(
            "envs: the episodes of its sub-environments do not begin by themselves. Make it with gymnasium.make_vec, "
            "which begins them."
        )
    space, players = envs.single_action_space, agent.spawn(envs.num_envs)
    if agent.horizon is not None:
        raise SettingsError(
            f"{parameter('horizon', agent.horizon)}: a vector environment ends its own episodes. Wrap its "
            "sub-environments in a TimeLimit instead."
        )
    batch, _ = envs.reset(seed=episode_seed(agent.seed, agent.n_episodes))
    for player, observation in zip(players, iterate(envs.observation_space, batch), strict=True):
        player.reset(observation)
    resting = np.zeros(len(players), bool)
    while agent.n_episodes < episodes:
        actions = [
            action_of(space, agent.actions[0] if rests else p.act()) for p, rests in zip(players, resting, strict=True)
        ]
        empty: Any = create_empty_array(space, len(actions))
        batch, rewards, terminated, truncated, _ = envs.step(concatenate(space, actions, empty))
        before = agent.n_episodes
        for i, observation in enumerate(iterate(envs.observation_space, batch)):
            if resting[i]:
                players[i].reset(observation)
            elif agent.n_episodes < episodes:
                players[i].observe(rewards[i], observation, bool(terminated[i]), bool(truncated[i]))
                if mode is AutoresetMode.SAME_STEP and not players[i].acting:
                    players[i].reset(observation)
        resting = (terminated | truncated) & ~resting if mode is AutoresetMode.NEXT_STEP else resting
        if agent.n_episodes > before:
            progress(agent, episodes)


@contextmanager
def _failing(agent: Agent) -> Iterator[None]:
    """Raise any failure of an environment as a TrainingError that has the agent."""
    try:
        yield
    except Exception as error:  # an environment may raise anything
        place = "" if isinstance(error, SufficeError) else f"episode {agent.n_episodes}: the environment failed with "
        text = str(error) if isinstance(error, SufficeError) else f"{_one_line(error)}. Fix the environment."
        failure = TrainingError(f"{place}{text}")
        failure.agent = agent
        raise failure from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
