"""Episodes of an environment as a log: one row per decision, ends and cuts told apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import gymnasium
import pyarrow as pa

from suffice.errors import SettingsError
from suffice.logs.sources import table_of_steps
from suffice.playing.words import Env

Chooser = Callable[[Any], Any]


def record(
    env: Env, episodes: int, *, choose: Chooser | None = None, horizon: int | None = None, seed: int | None = None
) -> pa.Table:
    """Play episodes and log them, as a table to learn from or to write to a file.

    Actions are random, or what `choose` makes of each observation. An episode that reaches `horizon` is cut there. The
    entries of a Dict space, and of vectors, become columns of their own.
    """
    if not isinstance(env, gymnasium.Env):
        raise SettingsError("this is no single environment; record each of several on its own")
    if episodes < 1 or (horizon is not None and horizon < 1):
        raise SettingsError("there is nothing to record; ask for 1 episode or more, of 1 step or more")
    if seed is not None:
        env.action_space.seed(seed)
    seeds = chain([seed], repeat(None, episodes - 1))
    choose = choose or (lambda observation: env.action_space.sample())
    logged = [_episode(env, choose, horizon, s) for s in seeds]
    table = table_of_steps([steps for steps, _ in logged], "the environment")
    ends = {role: [] for role in ("terminated", "truncated")}  # type: dict[str, list[bool]]
    for steps, ended in logged:
        for role, last in (("terminated", ended), ("truncated", not ended)):
            ends[role] += [False] * (len(steps) - 1) + [last]
    return table.append_column("terminated", pa.array(ends["terminated"])).append_column(
        "truncated", pa.array(ends["truncated"])
    )


def _episode(
    env: Env, choose: Chooser, horizon: int | None, seed: int | None
) -> tuple[list[tuple[Any, Any, float]], bool]:
    """Its steps, and whether it came to its end."""
    observation, _ = env.reset(seed=seed)
    steps: list[tuple[Any, Any, float]] = []
    terminated = truncated = False
    while not (terminated or truncated) and (horizon is None or len(steps) < horizon):
        action = choose(observation)
        following, reward, terminated, truncated, _ = env.step(action)
        steps.append((observation, action, float(reward)))
        observation = following
    return steps, bool(terminated)
