"""What is asked for, and what an environment gives: mistakes are told in one line, before anything is played."""

from __future__ import annotations

import math
from operator import index
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv

from suffice.data.alphabet import unboxed
from suffice.errors import LogError, SettingsError
from suffice.models.model import Model
from suffice.planning.policy import Policy

LONGEST_EPISODE = 100_000  # of an episode that nothing limits: by then it seems to have no end


def require_environment(env: Any, instead: str) -> None:
    """A single one."""
    _refuse_name(env)
    if not isinstance(env, gymnasium.Env):
        raise SettingsError(f"this is no single environment; {instead}")


def require_environments(envs: Any) -> None:
    """Many in one."""
    _refuse_name(envs)
    if not isinstance(envs, VectorEnv):
        raise SettingsError("this is no vector environment; make one with gymnasium.make_vec, or use play")


def _refuse_name(env: Any) -> None:
    if isinstance(env, str):
        raise SettingsError(f"{env!r} is the name of an environment; make it first: gymnasium.make({env!r})")


def require_policy(policy: Any) -> None:
    if not isinstance(policy, Policy):
        raise SettingsError(f"a policy plays, not a {type(policy).__name__}: give model.policy()")


def require_model(model: Any) -> None:
    """Or a policy, which has one."""
    if not isinstance(model, Model | Policy):
        told = f"suffice.load({str(model)!r})" if isinstance(model, str | Path) else "suffice.learn or suffice.load"
        raise SettingsError(f"a {type(model).__name__} is no model; give what {told} returns")


def require_counts(episodes: Any, horizon: Any) -> None:
    """As many as can be played."""
    for name, value in (("episodes", episodes), ("horizon", horizon)):
        try:
            index(0 if value is None and name == "horizon" else value)
        except TypeError:
            raise SettingsError(f"{name} is a whole number, not {value!r}") from None
    if episodes < 1:
        raise SettingsError(f"{episodes} episodes cannot be played; ask for 1 or more")
    if horizon is not None and horizon < 1:
        raise SettingsError(f"a horizon of {horizon} leaves no action; use 1 or more")


def refuse_endless(episode: int, steps: int) -> None:
    """Of an episode without a limit."""
    if steps >= LONGEST_EPISODE:
        raise SettingsError(f"episode {episode} has not ended after {steps:,} steps; cut episodes with horizon=")


def finite_reward(reward: Any, episode: int, step: int, where: str = "") -> float:
    """A reward as it is logged."""
    if type(reward) is float and math.isfinite(reward):
        return reward
    value = unboxed(reward if np.size(reward) != 1 else np.ravel(reward)[0])
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise LogError(f"{where}episode {episode}, step {step}: the reward is {reward!r}, not a finite number")
    return float(value)
