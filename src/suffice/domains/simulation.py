"""Simulation of a finite model under a policy: many episodes at once, in chunks that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from suffice.data.alphabet import DUMMY, PAD, STOP, smallest_uint
from suffice.data.episodes import Episodes
from suffice.domains.finite import FiniteModel, Outcomes
from suffice.errors import SettingsError, is_whole, require_type
from suffice.kernels import rollout
from suffice.kernels.array_types import Codes, Float
from suffice.planning.controller import Controller
from suffice.registry import Lazy

if TYPE_CHECKING:
    from suffice.domains.domain import Domain

CHUNK_STEPS = 1 << 20  # steps simulated together; another value changes the episodes of a seed

Steps = tuple[Codes, Codes, Codes]  # action, observation and reward codes, each [H+1, N]


def simulate(
    model: FiniteModel | Domain | str,
    n: int,
    horizon: int | None = None,
    rng: np.random.Generator | int = 0,
    policy: Controller | None = None,
) -> Episodes:
    """Simulate independent episodes of a domain or finite model.

    Parameters
    ----------
    model
        Name of a domain or `.POMDP` file, a domain of `make`, or a finite model such as `make("t-maze").model(5)`.
    n
        Number of episodes.
    horizon
        Number of actions per episode. Episodes that end earlier are padded. Default: that of the domain.
    rng
        Seed, or random number generator. The same seed gives the episodes of `suffice simulate --seed`.
    policy
        The policy that acts. Default: the behaviour policy of the model.

    Returns
    -------
    Episodes
        The simulated episodes, ready to learn from.

    Examples
    --------
    >>> suffice.simulate("t-maze", 1000)
    <Episodes: 1,000 of up to 5 decisions, 14 distinct steps>
    >>> suffice.simulate(suffice.make("t-maze", length=2), 1000, horizon=4, rng=np.random.default_rng(1)).horizon
    4
    """
    if not isinstance(model, FiniteModel):
        domain: Domain = Lazy("suffice.domains.registry:make").load()(model) if isinstance(model, str) else model
        require_type(
            "model",
            domain,
            Lazy("suffice.domains.domain:Domain").load(),
            "a domain. Pass a name, or what suffice.make returns.",
        )
        horizon = domain.default_horizon if horizon is None else horizon
        model = domain.model(horizon)
    if horizon is None:
        raise SettingsError("a finite model has no default horizon. Pass horizon=, the number of actions per episode.")
    if isinstance(rng, int | np.integer):
        if rng < 0:
            raise SettingsError(f"rng={rng} is not a seed. Use 0 or more, or a random number generator.")
        rng = np.random.default_rng(rng)
    if not hasattr(rng, "random"):
        raise SettingsError(f"rng is of type {type(rng).__name__}, not a random number generator. Pass a seed.")
    chunks = list(_Roller(model, policy or model.usual, horizon).chunks(n, rng))
    action, observation, reward = (np.concatenate(part, axis=1) for part in zip(*chunks, strict=True))
    return Episodes.from_steps(model.alphabet, action, observation, reward)


def stream(
    model: FiniteModel, n: int, horizon: int, rng: np.random.Generator, policy: Controller | None = None
) -> Iterator[Episodes]:
    """Yield the episodes that `simulate` returns, in chunks."""
    for steps in _Roller(model, policy or model.usual, horizon).chunks(n, rng):
        yield Episodes.from_steps(model.alphabet, *steps)


class _Roller:
    """Simulator of a model under a policy, with cumulative probabilities prepared for sampling."""

    def __init__(self, model: FiniteModel, policy: Controller, horizon: int) -> None:
        model.refuse_beyond(horizon)
        if policy.alphabet != model.alphabet:
            raise SettingsError("the policy has another alphabet than the model. Construct it with model.alphabet.")
        self._model, self._policy, self._horizon = model, policy, horizon
        sums = np.cumsum(policy.table, axis=1)
        self._chance = np.where(sums < sums[:, -1:], sums, 1.0)  # the last possible action takes the rounding error
        self._cumulative = _running_sums(model.after)

    def chunks(self, n: int, rng: np.random.Generator) -> Iterator[Steps]:
        if not is_whole(n) or n < 1:
            raise SettingsError(f"{n!r} episodes cannot be simulated. Use 1 or more.")
        size = max(1, CHUNK_STEPS // self._horizon)
        for begin in range(0, n, size):
            yield self._roll(min(size, n - begin), rng)

    def _roll(self, n: int, rng: np.random.Generator) -> Steps:
        alphabet, first, after = self._model.alphabet, self._model.first, self._model.after
        sizes = alphabet.n_actions, alphabet.n_observations, len(alphabet.rewards)
        action, observation, reward = (np.empty((self._horizon + 1, n), smallest_uint(size)) for size in sizes)
        nothing = alphabet.rewards.index(0.0)
        drawn = np.searchsorted(_running_sums(first), rng.random(n), side="right").clip(max=len(first.state) - 1)
        state, memory = first.state[drawn], self._policy.first[first.observation[drawn]]
        action[0], observation[0], reward[0] = DUMMY, first.observation[drawn], nothing
        rules = PAD + 1, self._chance, self._policy.after  # codes of actions begin after the special ones
        tables = after.begin, self._cumulative, after.state, after.observation, after.reward
        for t in range(1, self._horizon + 1):
            action[t], observation[t], reward[t] = PAD, STOP, nothing
            luck = rng.random((2, n))
            rollout.roll(*rules, *tables, luck, state, memory, action[t], observation[t], reward[t])
        observation[-1] = STOP
        return action, observation, reward


def _running_sums(outcomes: Outcomes) -> Float:
    """Return the cumulative probabilities within each row."""
    p = np.array([float(probability) for probability in outcomes.probability])
    return np.concatenate([np.cumsum(p[begin:end]) for begin, end in pairwise(outcomes.begin)])
