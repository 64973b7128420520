"""Models for the tests of the explorer, which are learned once per process."""

from __future__ import annotations

from functools import cache

import numpy as np

from suffice.data.alphabet import DUMMY, STOP, Alphabet
from suffice.data.episodes import Episodes
from suffice.domains.tasks.t_maze import TMaze
from suffice.models.model import Model
from suffice.planning.planner import Planning
from suffice.planning.regorl import regorl

NASTY = (
    "</script><script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 2'>",
    '"><svg onload=window.ran=3>&lt;',
    "${window.ran = 4}`'\\\u2028\u2029]]><!--",
)


@cache
def maze_log(n: int = 20_000, seed: int = 1) -> Episodes:
    return TMaze().simulate(n, 5, np.random.default_rng(seed))


@cache
def maze(n: int = 20_000, seed: int = 1) -> Model:
    return Model.of(regorl(maze_log(n, seed)), maze_log(n, seed))


@cache
def cycle(discount: float | None = None) -> Model:
    episodes = TMaze(length=2, cue_visible=True).simulate(2000, 8, np.random.default_rng(5))
    return Model.of(regorl(episodes, planning=Planning(discount=discount), stationary=True), episodes)


@cache
def nasty() -> Model:
    """Learn a model of two steps whose actions, features and observations are HTML markup."""
    rng, shape = np.random.default_rng(0), (3, 600)
    alphabet = Alphabet(NASTY[:2], (NASTY[0], "<b>"), tuple((text, "&amp;") for text in NASTY), (0.0, 1.0))
    action, observation = rng.integers(2, 4, shape), rng.integers(1, 5, shape)
    reward = ((action == 2) & (np.roll(observation, 1, axis=0) < 3)).astype(int)
    action[0], reward[0], observation[-1] = DUMMY, 0, STOP
    episodes = Episodes.from_steps(alphabet, action, observation, reward)
    return Model.of(regorl(episodes), episodes)
