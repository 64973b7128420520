"""Episodes of an agent in one environment, each for one of four purposes.

    uniform  every action is drawn uniformly
    explore  go to a target, take its action, then act uniformly (`exploration`)
    deviate  follow the greedy policy up to a random step, then act uniformly
    exploit  follow the greedy policy

A quarter of the episodes follows the greedy policy, fully or up to a step; after n episodes a share of n/(n + 4,000),
if that is more, which grows towards 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from suffice.automata.rdp import BEHAVE, UNSEEN
from suffice.data.alphabet import Value
from suffice.domains.agent.experience import Step
from suffice.domains.agent.exploration import Target
from suffice.domains.agent.knowledge import Knowledge
from suffice.domains.gym.requests import finite_reward
from suffice.errors import SufficeError

if TYPE_CHECKING:
    from suffice.domains.agent.agent import Agent

LEAST_EXPLOITED = 0.25  # share of episodes that follow the greedy policy
EXPLOITED_AT = 4000  # episodes at which half of the episodes follow the greedy policy
DEVIATING_SHARE = 0.5  # of these, which act uniformly from a random step on
UNIFORM_SHARE = 0.1  # of the others, which act uniformly throughout

Purpose = Literal["uniform", "explore", "deviate", "exploit"]


class Player:
    """What acts in one environment, with the memory of one episode; it adds its episodes to those of an agent.

    `Agent.spawn` makes players, one for each sub-environment of a vector environment.

    Parameters
    ----------
    agent
        The agent that learns.

    Examples
    --------
    >>> first, second = suffice.Agent(actions=[0, 1], seed=1).spawn(2)
    >>> first.reset(0)
    >>> first.act() in (0, 1), second.acting
    (True, False)
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._number = {action: place for place, action in enumerate(agent.actions)}
        self._steps: list[Step] = []
        self._action: int | None = None  # index of the action that was chosen last
        self._target: Target | None = None  # where an exploring episode goes
        self._turn = 0  # step from which a deviating episode acts uniformly
        self.acting = False
        self.purpose: Purpose = "uniform"

    def reset(self, observation: Any) -> None:
        """Begin an episode, after learning if that is due.

        Parameters
        ----------
        observation
            The first observation.
        """
        agent = self._agent
        if self.acting and self._steps:
            agent.experience.add(self._steps, False, self.purpose)
        if agent.due:
            agent.learn()
        self._knowledge: Knowledge | None = agent.knowledge
        self._rng = np.random.default_rng([agent.seed, agent.experience.begin()])
        self._steps, self._observation, self._action = [], _copied(observation), None
        self.acting, self._target, self._turn = True, None, 0
        self.purpose = self._draw_purpose(agent.n_episodes)
        if self._knowledge is not None:
            self._symbol, self._state, self._before = UNSEEN, 0, 0
            self._follow(None, observation)

    def _draw_purpose(self, n: int) -> Purpose:
        known, rng = self._knowledge, self._rng
        if known is None:
            return "uniform"
        if rng.random() < max(LEAST_EXPLOITED, n / (n + EXPLOITED_AT)):
            if rng.random() >= DEVIATING_SHARE:
                return "exploit"
            self._turn = int(rng.integers(1, known.rdp.horizon + 1))
            return "deviate"
        if rng.random() >= UNIFORM_SHARE:
            self._target = known.exploration.draw(rng)
        return "uniform" if self._target is None else "explore"

    def act(self) -> Value:
        """Choose the next action of the episode in progress.

        Returns
        -------
        Value
            One of the agent's actions.
        """
        if not self.acting:
            raise SufficeError("the episode has not begun, or has ended. Call reset(observation) first.")
        if self._action is None:
            chosen = self._choose(len(self._steps) + 1)
            self._action = int(self._rng.integers(len(self._agent.actions))) if chosen is None else chosen
        return self._agent.actions[self._action]

    def _choose(self, step: int) -> int | None:
        """Return the action of the greedy policy, or towards the target; None for a uniform one."""
        known = self._knowledge
        if known is None or self.purpose == "uniform":
            return None
        if self.purpose != "explore":
            greedy = step < self._turn or self.purpose == "exploit"
            action = known.best_action(step, self._state) if greedy else BEHAVE
        elif self._target is None:
            return None
        elif (self._before, self._symbol) == self._target[:2]:
            action, self._target = self._target.action, None
        else:
            action = known.exploration.towards(self._target, self._state, known.rdp.horizon + 1 - step)
        return None if action in (BEHAVE, UNSEEN) else self._number.get(known.rdp.alphabet.actions[action])

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
        if not self.acting or self._action is None:
            raise SufficeError("no action was chosen. Call reset(observation), then act(), then observe().")
        agent, action = self._agent, self._agent.actions[self._action]
        paid = finite_reward(reward, agent.n_episodes, len(self._steps))
        self._steps.append(Step(self._observation, action, paid))
        self._observation, self._action = _copied(observation), None
        if terminated or truncated or len(self._steps) == agent.horizon:
            self.acting = False
            agent.experience.add(self._steps, bool(terminated), self.purpose)
            self._steps = []
        elif self._knowledge is not None:
            self._follow(action, observation)

    def _follow(self, action: Value | None, observation: Any) -> None:
        """Move to the state after an action and an observation."""
        known = self._knowledge
        assert known is not None
        self._before = self._state
        self._symbol, self._state = known.follow(self._state, action, known.encode(observation))


def _copied(observation: Any) -> Any:
    """Return an observation that later steps do not change; environments may reuse arrays."""
    if isinstance(observation, np.ndarray):
        return observation.copy()
    if isinstance(observation, dict):
        return {name: _copied(value) for name, value in observation.items()}
    return tuple(map(_copied, observation)) if isinstance(observation, tuple) else observation
