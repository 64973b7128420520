"""Policies in Gymnasium environments: play whole episodes, in one or in many at once, or show the automaton's state.

    played = play(gymnasium.make("suffice/TMaze-v0"), model.policy(), episodes=100, seed=1)
    played = play_vector(gymnasium.make_vec("suffice/TMaze-v0", num_envs=8), model.policy(), episodes=100, seed=1)
    env = AutomatonState(gymnasium.make("suffice/TMaze-v0"), model)  # to train any algorithm for MDPs

A `DomainEnv` numbers what it does and shows, a model has the words; whatever else has an `alphabet` and spaces that
number it is taken likewise. Any other environment is thought to do and show what was logged: an action as it is, of a
Dict observation the entries called like the model's features, of all else every value, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiDiscrete, Space
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from suffice.episodes import Alphabet, Int64, Mask, Value, in_order, plain
from suffice.errors import SufficeError
from suffice.memory import Memory, read_features
from suffice.model import Model
from suffice.policy import Policy
from suffice.rdp import Symbol

Env = gymnasium.Env[Any, Any]
Envs = VectorEnv[Any, Any, Any]


# ---------------------------------------------------------------- words


class _Numbered:
    """An environment whose spaces number the words of an alphabet."""

    def __init__(self, alphabet: Alphabet, known: Alphabet) -> None:
        self._actions = alphabet.actions
        columns = zip(alphabet.features, zip(*alphabet.observations, strict=True), strict=True)
        values = {feature: (place, in_order(column)) for place, (feature, column) in enumerate(columns)}
        self.fits = set(known.actions) <= set(alphabet.actions) and set(known.features) <= set(values)
        self._values = [values[feature] for feature in known.features] if self.fits else []

    def action(self, word: Value) -> Any:
        return self._actions.index(word)

    def word(self, action: Any) -> Value:
        return self._actions[int(action)]

    def features(self, observation: Any) -> tuple[Value, ...]:
        places = np.atleast_1d(observation)
        return tuple(values[places[place]] for place, values in self._values)


class _Logged:
    """An environment that does and shows what was logged."""

    def __init__(self, actions: Space[Any], observations: Space[Any], known: Alphabet) -> None:
        self._names = known.features
        self._by_name = isinstance(observations, Dict) and set(known.features) <= set(observations)
        seen = self.features(deepcopy(observations).sample())  # a copy, because sampling draws
        self.fits = len(seen) == len(known.features) and all(action in actions for action in known.actions)

    def action(self, word: Value) -> Any:
        return word

    def word(self, action: Any) -> Value:
        word: Value = np.asarray(action).item()
        return word

    def features(self, observation: Any) -> tuple[Value, ...]:
        return tuple(_flat([observation[name] for name in self._names] if self._by_name else observation))


_Words = _Numbered | _Logged


def _flat(observation: Any) -> list[Value]:
    if isinstance(observation, Mapping):
        return _flat(list(observation.values()))
    if isinstance(observation, list | tuple):
        return [value for part in observation for value in _flat(part)]
    values: list[Value] = np.ravel(observation).tolist()
    return values


def _words(actions: Space[Any], observations: Space[Any], alphabet: Any, known: Alphabet) -> _Words:
    """Between a model and the spaces of an environment, which may number an alphabet."""
    numbered = isinstance(alphabet, Alphabet) and _spaces(alphabet) == (actions, observations)
    words: _Words = _Numbered(alphabet, known) if numbered else _Logged(actions, observations, known)
    if not words.fits:
        theirs = _told(alphabet) if numbered else f"actions {actions} and observations {observations}"
        told = f"the model has {_told(known)}, the environment {theirs}; take a model learned from its episodes"
        raise SufficeError(" ".join(told.split()))  # some spaces need several lines
    return words


def _spaces(alphabet: Alphabet) -> tuple[Space[Any], Space[Any]]:
    """As `DomainEnv` makes them."""
    sizes = [len(set(column)) for column in zip(*alphabet.observations, strict=True)]
    return Discrete(len(alphabet.actions)), Discrete(sizes[0]) if len(sizes) == 1 else MultiDiscrete(sizes)


def _told(alphabet: Alphabet) -> str:
    return f"actions {', '.join(map(str, alphabet.actions))} and features {', '.join(alphabet.features)}"


def _words_of(env: Env, known: Alphabet) -> _Words:
    return _words(env.action_space, env.observation_space, getattr(env.unwrapped, "alphabet", None), known)


def _words_of_each(envs: Envs, known: Alphabet) -> list[_Words]:
    """One for each sub-environment; those of other vector environments than Gymnasium's own cannot be asked."""
    inner, alphabets = envs.unwrapped, [None] * envs.num_envs
    # asking a sub-environment in another process for what it does not have ends that process
    if isinstance(inner, SyncVectorEnv | AsyncVectorEnv) and all(inner.call("has_wrapper_attr", "alphabet")):
        alphabets = list(inner.get_attr("alphabet"))
    return [_words(envs.single_action_space, envs.single_observation_space, known_as, known) for known_as in alphabets]


# ---------------------------------------------------------------- playing


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Played:
    """What episodes brought."""

    returns: NDArray[np.float64]  # [n]
    steps: Int64  # [n] decisions
    success: Mask  # [n] whether any reward was positive
    fallbacks: int  # steps that no logged history had taken
    rewards: tuple[float, ...]  # those that occurred, in order

    @classmethod
    def of(cls, episodes: Sequence[Sequence[float]], fallbacks: int) -> Played:
        """From the rewards of each episode."""
        return cls(
            np.array([sum(rewards) for rewards in episodes], np.float64),
            np.array([len(rewards) for rewards in episodes], np.int64),
            np.array([any(reward > 0 for reward in rewards) for rewards in episodes], np.bool_),
            fallbacks,
            tuple(sorted(set(chain.from_iterable(episodes)))),
        )

    def __repr__(self) -> str:
        return f"<Played: {len(self.returns)} episodes, mean return {self.returns.mean():.4g}>"


def play(env: Env, policy: Policy, episodes: int, seed: int | None = None, horizon: int | None = None) -> Played:
    """Play episodes of at most `horizon` steps (usually the model's), with a copy of the policy.

    The seed is for both environment and policy. Without one, each goes on with its own randomness.
    """
    if not isinstance(policy, Policy):
        raise SufficeError("a policy plays: give model.policy()")
    if not isinstance(env, gymnasium.Env):
        raise SufficeError("this is no single environment; use play_vector for several in one")
    limit = _limit(policy, episodes, horizon)
    words = _words_of(env, policy.alphabet)
    player = _copies(policy, 1, seed)[0]
    seeds = chain([seed], repeat(None, episodes - 1))
    return Played.of([_episode(env, player, words, limit, s) for s in seeds], player.fallbacks)


def _episode(env: Env, player: Policy, words: _Words, limit: int, seed: int | None) -> list[float]:
    observation, _ = env.reset(seed=seed)
    player.reset()
    rewards: list[float] = []
    over = False
    while not over and len(rewards) < limit:
        action = words.action(player.act(words.features(observation)))
        observation, reward, terminated, truncated, _ = env.step(action)
        rewards.append(float(reward))
        over = terminated or truncated
    return rewards


def _limit(policy: Policy, episodes: int, horizon: int | None) -> int:
    if episodes < 1:
        raise SufficeError(f"{episodes} episodes cannot be played; ask for 1 or more")
    if horizon is not None and horizon < 1:
        raise SufficeError(f"a horizon of {horizon} leaves no action; use 1 or more")
    return policy.rdp.horizon if horizon is None else horizon


def _copies(policy: Policy, n: int, seed: int | None) -> list[Policy]:
    """Children of a seed differ from the generator that an environment makes of the same seed."""
    return policy.spawn(n, None if seed is None else np.random.default_rng(seed))


# ---------------------------------------------------------------- many at once


class VectorPolicy:
    """A policy for all sub-environments of a vector environment, with a memory for each.

        observations, _ = envs.reset()
        policy.reset()
        while …:
            observations, rewards, terminated, truncated, _ = envs.step(policy.act(observations))
            policy.ended(terminated | truncated)

    Where episodes do not begin by themselves (AutoresetMode.DISABLED), whoever ends them resets the environment, as
    ever: `envs.reset(options={"reset_mask": terminated | truncated})`.
    """

    def __init__(self, envs: Envs, policy: Policy, seed: int | None = None) -> None:
        if not isinstance(envs, VectorEnv):
            raise SufficeError("this is no vector environment; make one with gymnasium.make_vec, or use play")
        self.mode = envs.metadata.get("autoreset_mode")
        if not isinstance(self.mode, AutoresetMode):
            raise SufficeError(
                "the environment does not say how its episodes begin; set envs.metadata['autoreset_mode'] to an "
                "AutoresetMode of gymnasium.vector"
            )
        self.policies = _copies(policy, envs.num_envs, seed)
        self.resting: Mask = np.zeros(envs.num_envs, np.bool_)  # where the next step begins an episode, nothing else
        self._words = _words_of_each(envs, policy.alphabet)
        self._observations, self._dtype = envs.observation_space, envs.action_space.dtype
        self.reset()

    @property
    def fallbacks(self) -> int:
        """Steps that no logged history had taken."""
        return sum(policy.fallbacks for policy in self.policies)

    def reset(self, which: Mask | None = None) -> None:
        """Episodes begin with the next observations, in all or in some sub-environments."""
        chosen = np.ones_like(self.resting) if which is None else which
        for i in np.flatnonzero(chosen):
            self.policies[i].reset()
        self.resting &= ~chosen

    def act(self, observations: Any) -> NDArray[Any]:
        """An action for each sub-environment; any will do where it rests, and what is seen there is of no interest."""
        players = zip(self.policies, self._words, iterate(self._observations, observations), self.resting, strict=True)
        actions = [
            words.action(policy.alphabet.actions[0] if resting else policy.act(words.features(observation)))
            for policy, words, observation, resting in players
        ]
        return np.array(actions, self._dtype)

    def ended(self, over: Mask) -> None:
        """Take note, after each step, of the sub-environments whose episode is over."""
        self.reset(over)
        if self.mode is AutoresetMode.NEXT_STEP:
            self.resting = over.copy()


def play_vector(
    envs: Envs, policy: Policy, episodes: int, seed: int | None = None, horizon: int | None = None
) -> Played:
    """As `play`, in all sub-environments at once; the results come one sub-environment after the other.

    Each has its share of the episodes, whatever their length, and what it plays beyond does not count: short episodes
    are no more likely to be among the first than long ones are.
    """
    limit = _limit(policy, episodes, horizon)
    players = VectorPolicy(envs, policy, seed)
    n = envs.num_envs
    quota = [episodes // n + (i < episodes % n) for i in range(n)]
    books: list[list[list[float]]] = [[[]] for _ in range(n)]  # each one's rewards by episode; the last still runs
    fallbacks = 0
    observations, _ = envs.reset(seed=seed)
    while any(len(book) <= share for book, share in zip(books, quota, strict=True)):
        actions, plays = players.act(observations), ~players.resting
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        for i in np.flatnonzero(plays):
            books[i][-1].append(float(rewards[i]))
        ended = terminated | truncated
        cut = ~ended & np.array([len(book[-1]) == limit for book in books])
        for i in np.flatnonzero(ended | cut):
            fallbacks += players.policies[i].fallbacks if len(books[i]) == quota[i] else 0
            books[i].append([])
        players.ended(ended)
        idle = ended | cut if players.mode is AutoresetMode.DISABLED else cut  # all others begin by themselves
        if idle.any():
            players.reset(cut)
            observations = _begin_in(envs, idle)
    counted = [rewards for book, share in zip(books, quota, strict=True) for rewards in book[:share]]
    return Played.of(counted, fallbacks)


def _begin_in(envs: Envs, which: Mask) -> Any:
    """Begin episodes in some sub-environments, which not every vector environment can do while others go on."""
    able = envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    if not able and not isinstance(envs.unwrapped, SyncVectorEnv | AsyncVectorEnv):
        raise SufficeError(
            "the episodes of this vector environment are longer than the horizon; limit them when it is made, or use "
            "a SyncVectorEnv, which can begin anew"
        )
    observations, _ = envs.reset(options={"reset_mask": which})
    return observations


# ---------------------------------------------------------------- the automaton's state


class AutomatonState(gymnasium.Wrapper[dict[str, Any], Any, Any, Any], RecordConstructorArgs):
    """Shows the automaton's state beside each observation, so that any algorithm for MDPs can use its memory.

    States are numbered as `Policy.state` has them. Where an episode terminates or reaches the model's horizon, it is
    the state that logged episodes end in; beyond the horizon all is unseen.
    """

    def __init__(self, env: Env, model: Model | Policy) -> None:
        RecordConstructorArgs.__init__(self, model=model, _disable_deepcopy=True)  # nothing here changes it
        gymnasium.Wrapper.__init__(self, env)
        self._words = _words_of(env, model.rdp.alphabet)
        self._features, self._horizon = model.rdp.alphabet.features, model.rdp.horizon
        self._memory = model.memory if isinstance(model, Policy) else Memory.of(model.rdp)
        self._bins: Mapping[str, Sequence[float]] = model.bins if isinstance(model, Policy) else model.about.bins
        self.fallbacks = 0  # steps that no logged history had taken, since this wrapper was made
        self._place = self._steps = 0
        states = Discrete(len(self._memory.astray))
        self.observation_space = Dict(observation=env.observation_space, state=states)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._place = self._steps = 0
        self._follow((None, self._read(observation)))
        return self._show(observation), info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Act once, and follow."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        ended = terminated or self._steps == self._horizon  # where logs have no observation
        self._follow((plain(self._words.word(action)), None if ended else self._read(observation)))
        return self._show(observation), reward, terminated, truncated, info

    def _follow(self, symbol: Symbol) -> None:
        self.fallbacks += not self._memory.was_seen(self._place, symbol)
        self._place = self._memory.after(self._place, symbol)

    def _show(self, observation: Any) -> dict[str, Any]:
        return {"observation": observation, "state": np.int64(self._place)}

    def _read(self, observation: Any) -> tuple[Value, ...]:
        """The features as the model has them."""
        return read_features(self._words.features(observation), self._features, self._bins)
