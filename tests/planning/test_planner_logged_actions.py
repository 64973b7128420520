"""No plan or policy takes an action that was never logged in that state, whatever the learner and the planner."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.data.episodes import Episodes
from suffice.planning.controller import Controller
from suffice.planning.planner import Planning
from suffice.planning.policy import Policy
from suffice.planning.regorl import Solution, Split, regorl
from support.two_step import ACTIONS, two_step

LAYERS: list[dict[str, Any]] = [
    *({"planning": name} for name in ("safe", "greedy", "pessimistic", "subsampled")),
    {"split": Split()},
    {"split": Split(), "planning": "subsampled"},
]
CYCLES: list[dict[str, Any]] = [
    *({"planning": name, "stationary": True} for name in ("safe", "greedy", "pessimistic")),
    {"planning": Planning(discount=0.9), "stationary": True},
    {"planning": Planning(discount=0.9, strength=0.0, safe=False), "stationary": True},
]


@cache
def log(seed: int, n: int) -> Episodes:
    """Simulate a process in whose states different actions are taken."""
    rng = np.random.default_rng(seed)
    how: dict[str, Any] = {"early_end": 0.3 * (seed % 2), "weighted": seed % 3 == 0, "few_actions": True}
    return random_episodes(rng, int(rng.integers(3, 6)), 4, 3, 2, 3, n, **how)


def logged(rdp: RDP, episodes: Episodes) -> Counter[tuple[int, int]]:
    """Count (state, action) pairs, by following every logged episode from state to state."""
    symbols = {(a, o): y for y, (a, o) in enumerate(rdp.symbols.tolist())}
    found: Counter[tuple[int, int]] = Counter()
    for word in episodes.word.T:
        q = 0
        for a, o, _ in episodes.letters[word].tolist():
            if a not in (DUMMY, PAD):
                found[q, a - PAD - 1] += 1
            q = int(rdp.tau[q, symbols[a, o]])
            if q < 0:
                break  # the last step of a stationary automaton, or a history of the other half
    return found


def assert_within(solution: Solution, episodes: Episodes) -> int:
    """Check every state of a plan and of its policies; return the number of states in which the plan acts."""
    rdp, planned = solution.learned.rdp, solution.planned
    taken, stands = logged(rdp, episodes), rdp.unroll()[1]
    policy = Policy(planned, solution.plan)
    controller = Controller.on_automaton(planned, planned.alphabet, solution.plan.actions)
    most_frequent = Policy(planned, solution.plan, deterministic=True)
    acts = 0
    for q in range(1, planned.n_states - 1):
        known = {a for a in range(len(rdp.alphabet.actions)) if taken[int(stands[q]), a]}
        if (action := int(solution.plan.actions[q])) != BEHAVE:
            assert action in known
            acts += 1
        if known:
            for chances in (policy._chances[q], controller.table[q], most_frequent._chances[q]):
                assert set(np.flatnonzero(chances).tolist()) <= known
    return acts


@pytest.mark.parametrize("how", [*LAYERS, *CYCLES], ids=str)
def test_plan_takes_only_actions_logged_in_that_state(how: dict[str, Any]) -> None:
    acts = sum(assert_within(regorl(log(seed, n), **how), log(seed, n)) for seed in range(6) for n in (12, 60, 200))
    assert acts > 0 or how.get("planning") == "subsampled", "these plans act"


@pytest.mark.parametrize("how", [LAYERS[0], LAYERS[1], *CYCLES], ids=str)
@pytest.mark.parametrize("trials", [1, 2, 3])
def test_plan_takes_only_actions_of_its_stage(trials: int, how: dict[str, Any]) -> None:
    """In a two-step task each place has actions of its own; merged places would show as actions of another one."""
    for seed in range(4):
        episodes = two_step(120, trials, np.random.default_rng(seed))
        assert_stages(regorl(episodes, **how), episodes)


MERGED = [(60, 1, [2, 5, 15, 18, 19, 26]), (100, 1, [14, 20]), (100, 2, [0, 8, 10]), (300, 1, [3, 5, 14, 29])]


@pytest.mark.parametrize(("n", "trials", "seeds"), MERGED)
def test_plan_keeps_places_distinct_that_a_test_distinguished(n: int, trials: int, seeds: list[int]) -> None:
    """The likelihood of outcomes given actions merged these places, or parts of them, after tests had decided."""
    for seed in seeds:
        episodes = two_step(n, trials, np.random.default_rng(seed))
        assert_stages(regorl(episodes, stationary=True, planning="greedy"), episodes)


def assert_stages(solution: Solution, episodes: Episodes) -> None:
    """Check that the policy takes actions of the present place after every history of the log."""
    policy, alphabet = Policy(solution.planned, solution.plan), episodes.alphabet
    for word in np.unique(episodes.word, axis=1).T:
        policy.reset()
        for a, o, _ in episodes.letters[word][:-1].tolist():
            place = alphabet.observation(o)
            assert place is not None
            policy.observe(alphabet.action(a), place)
            taken = {action for action, chance in policy.advice.chances.items() if chance > 0}
            assert taken <= set(ACTIONS[str(place[0])])
    assert policy.fallbacks == 0


def test_policy_takes_logged_action_in_state_visited_at_last_step_only() -> None:
    """Such a state has no transitions, but at run time it can be reached earlier."""
    alphabet = Alphabet(("a0", "a1", "a2", "a3"), ("f",), ((0,), (1,)), (0.0, 1.0))
    n, horizon, rare = 400, 3, 6
    rng = np.random.default_rng(1)
    action = rng.integers(2, 4, size=(horizon + 1, n))
    observation, reward = np.ones_like(action), rng.integers(2, size=action.shape)
    action[0], observation[-1], reward[0] = DUMMY, STOP, 0
    action[-1, :rare], observation[-2, :rare] = 4, 2
    episodes = Episodes.from_steps(alphabet, action, observation, reward)
    for how in CYCLES:
        solution = regorl(episodes, **how)
        assert not solution.learned.rdp.counts[-1].any(), "the log visits this state at the last step only"
        policy = Policy(solution.planned, solution.plan)
        policy.reset()
        policy.observe(None, 0)
        policy.observe("a0", 1)
        assert policy.state < solution.planned.n_states
        assert policy.advice.chances == {"a0": 0.0, "a1": 0.0, "a2": 1.0, "a3": 0.0}
