"""Validation of arguments and rewards, so that mistakes are reported before or while episodes are played."""

from __future__ import annotations

import math
from operator import index
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv

from suffice.data.alphabet import unboxed
from suffice.errors import LogError, SettingsError, is_whole, parameter, require_type
from suffice.models.model import Model
from suffice.planning.policy import Policy

LONGEST_EPISODE = 100_000  # steps after which an episode without a limit is assumed to have no end


def require_environment(env: Any, instead: str) -> None:
    """Refuse anything but a single environment; `instead` says what to do with a vector environment."""
    _refuse_name(env)
    if not isinstance(env, gymnasium.Env):
        fix = instead if isinstance(env, VectorEnv) else "Make one with gymnasium.make."
        raise SettingsError(f"env is of type {type(env).__name__}, not a single environment. {fix}")


def require_environments(envs: Any) -> None:
    """Refuse anything but a vector environment."""
    _refuse_name(envs)
    if not isinstance(envs, VectorEnv):
        raise SettingsError(
            f"envs is of type {type(envs).__name__}, not a vector environment. Make one with gymnasium.make_vec, or "
            "use play."
        )


def _refuse_name(env: Any) -> None:
    if isinstance(env, str):
        raise SettingsError(f"{env!r} is the name of an environment. Make it first: gymnasium.make({env!r}).")


def require_policy(policy: Any) -> None:
    require_type("policy", policy, Policy, "a policy. Pass model.policy().")


def require_model(model: Any) -> None:
    """Refuse anything but a model or a policy of one."""
    if not isinstance(model, Model | Policy):
        source = f"suffice.load({str(model)!r})" if isinstance(model, str | Path) else "suffice.learn or suffice.load"
        raise SettingsError(f"model is of type {type(model).__name__}, not a model. Pass what {source} returns.")


def require_counts(episodes: Any, horizon: Any, seed: Any = None) -> None:
    """Refuse numbers of episodes, horizons and seeds that cannot be used."""
    if seed is not None and not (is_whole(seed) and seed >= 0):
        raise SettingsError(f"{parameter('seed', seed)} is not a whole number of at least 0. Use one such as 1.")
    for name, value in (("episodes", episodes), ("horizon", horizon)):
        try:
            index(0 if value is None and name == "horizon" else value)
        except TypeError:
            given = f"{name}=None" if value is None else parameter(name, value)
            raise SettingsError(f"{given} is not a whole number. Use 1 or more.") from None
    if episodes < 1:
        raise SettingsError(f"{parameter('episodes', episodes)} leaves nothing to play. Use 1 or more.")
    if horizon is not None and horizon < 1:
        raise SettingsError(f"{parameter('horizon', horizon)} leaves no action. Use 1 or more.")


def refuse_endless(episode: int, steps: int) -> None:
    """Refuse an episode that does not end."""
    if steps >= LONGEST_EPISODE:
        raise SettingsError(
            f"episode {episode} has not ended after {steps:,} steps. Truncate episodes, for example with "
            f"{parameter('horizon', 1000)}."
        )


def finite_reward(reward: Any, episode: int, step: int, where: str = "") -> float:
    """Return a reward as a float; refuse anything but a finite number."""
    if type(reward) is float and math.isfinite(reward):
        return reward
    value = unboxed(reward if np.size(reward) != 1 else np.ravel(reward)[0])
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise LogError(
            f"{where}episode {episode}, step {step}: the reward {reward!r} is not a finite number. Fix the environment."
        )
    return float(value)
