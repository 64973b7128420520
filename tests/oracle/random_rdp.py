"""Episodes of small random regular decision processes, on which learners are compared."""

from __future__ import annotations

from bisect import bisect_right
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.data.episodes import Episodes

SKEW = 0.4  # concentration of the output distributions: well below 1, so that states differ visibly


def random_alphabet(
    rng: np.random.Generator, n_actions: int, n_observations: int, n_rewards: int, n_features: int
) -> Alphabet:
    """Draw distinct observations from the smallest cube of feature values that has enough; rewards are 0, 1, …"""
    side = next(v for v in range(1, n_observations + 1) if v**n_features >= n_observations)
    cube = list(product(range(side), repeat=n_features))
    chosen = rng.choice(len(cube), size=n_observations, replace=False)
    return Alphabet(
        actions=tuple(f"a{i}" for i in range(n_actions)),
        features=tuple(f"f{i}" for i in range(n_features)),
        observations=tuple(cube[c] for c in chosen),
        rewards=tuple(float(r) for r in range(n_rewards)),
    )


def cumulative(chances: NDArray[np.float64]) -> list[Any]:
    """Return cumulative probabilities along the last axis, as lists, in which bisection is faster than in arrays."""
    sums = chances.cumsum(axis=-1)
    return (sums / sums[..., -1:]).tolist()


def random_episodes(
    rng: np.random.Generator,
    horizon: int,
    n_actions: int,
    n_observations: int,
    n_rewards: int,
    n_states: int,
    n: int,
    *,
    n_features: int = 1,
    early_end: float = 0.0,
    weighted: bool = False,
    declared: bool = False,
    few_actions: bool = False,
) -> Episodes:
    """Simulate n episodes of a random automaton under the uniform policy.

    State and action determine skewed distributions of observation and reward; with the observation they determine the
    next state. `n_observations` counts whole observations without o_⊥. An episode ends in state q after action a with
    a random probability of at most `early_end`, and is padded. `weighted` gives each episode a weight of 1 to 3;
    `declared` marks the alphabet as declared. With `few_actions`, each state has its own random set of actions, not all
    of them, from which the policy draws.
    """
    alphabet = random_alphabet(rng, n_actions, n_observations, n_rewards, n_features)
    start = rng.dirichlet(np.full(n_observations, 2.0))
    observe = rng.dirichlet(np.full(n_observations, SKEW), size=(n_states, n_actions))
    pay = rng.dirichlet(np.full(n_rewards, SKEW), size=(n_states, n_actions))
    end = early_end * rng.random((n_states, n_actions))
    after_start = rng.integers(n_states, size=n_observations)
    after = rng.integers(n_states, size=(n_states, n_actions, n_observations))
    allowed = [np.arange(n_actions)] * n_states
    if few_actions:
        allowed = [rng.choice(n_actions, size=rng.integers(1, n_actions), replace=False) for _ in range(n_states)]
    starts, observes, pays = cumulative(start), cumulative(observe), cumulative(pay)

    action = np.full((horizon + 1, n), PAD)
    observation = np.full((horizon + 1, n), STOP)
    reward = np.zeros((horizon + 1, n), dtype=np.int64)
    for e in range(n):
        o = bisect_right(starts, rng.random())
        action[0, e], observation[0, e] = DUMMY, o + 1 if horizon else STOP
        q = after_start[o]
        for t in range(1, horizon + 1):
            a = allowed[q][rng.integers(len(allowed[q]))]
            o = bisect_right(observes[q][a], rng.random())
            action[t, e], reward[t, e] = a + 2, bisect_right(pays[q][a], rng.random())
            if t == horizon or rng.random() < end[q, a]:
                break  # o_⊥, then padding
            observation[t, e] = o + 1
            q = after[q, a, o]
    weight = rng.integers(1, 4, size=n) if weighted else None
    return Episodes.from_steps(alphabet, action, observation, reward, weight, declared)
