"""Logs of a two-step task in which every stage has actions of its own, as in experiments on human planning."""

from __future__ import annotations

import numpy as np

from suffice.data.alphabet import DUMMY, STOP, Alphabet
from suffice.data.episodes import Episodes

ACTIONS = {"base": ("fly east", "fly west"), "east": ("pick 1", "pick 2"), "west": ("pick 3", "pick 4")}  # in order
COMMON = 0.7  # probability of arriving where one wanted to fly


def two_step(n: int, trials: int, rng: np.random.Generator) -> Episodes:
    """Simulate episodes of some trials: fly from the base to one of two places, and pick something there.

    The observation is where one is. Picks pay 1 with fixed random probabilities between 1/4 and 3/4.
    """
    places = tuple(ACTIONS)
    names = tuple(action for actions in ACTIONS.values() for action in actions)
    alphabet = Alphabet(names, ("place",), tuple((place,) for place in places), (0.0, 1.0))
    pays = rng.uniform(0.25, 0.75, size=len(names))
    action, place, reward = np.zeros((3, 2 * trials + 1, n), np.int64)  # numbered from 0
    for t in range(1, 2 * trials + 1):
        action[t] = 2 * place[t - 1] + rng.integers(2, size=n)
        if t % 2:
            place[t] = np.where(rng.random(n) < COMMON, 1 + action[t], 2 - action[t])
        else:
            reward[t] = rng.random(n) < pays[action[t]]
    observation = place + 1
    action += 2
    action[0], observation[-1] = DUMMY, STOP
    return Episodes.from_steps(alphabet, action, observation, reward)
