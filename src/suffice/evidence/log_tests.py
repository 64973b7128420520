"""Tests of a log for what would mislead a learner: copies, a changing logger, dependent rewards.

Each test has a level: for a log of independent episodes of one regular decision process under one regular behaviour
policy, the probability that it rejects is at most `level`, whatever the process, its states and the policy. No
automaton is needed, so nothing depends on whether one was learned correctly. See docs/decisions/0032.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Float, Int64

MOST_STEPS = 50_000  # steps that permutation tests read: enough to see what matters, in milliseconds
LEAST_SHARED = 0.1  # share of the episodes whose past others must share, or a step is too late to test
PARTS = 4  # consecutive parts of the log among which the logger is compared
ODD_WORDS = (0.3, 0.6, 0.9, 0.999)  # tilts of the e-values against logs in which all counts are even
SINGLE_WORDS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # tilts of those against pairs and triples without neighbours
NEXT_WORDS = (0.99, 0.5, 0.1)


class Copies(NamedTuple):
    """Numbers of distinct episodes by how often they occur."""

    distinct: int
    even: int  # occur an even number of times
    repeated: int  # occur more than once


class Drift(NamedTuple):
    """The largest change of an action's frequency between the first and the last part of the log."""

    action: int  # code
    observation: int | None  # code of the observation that it follows; None: of all decisions
    first: float  # share
    last: float


class Dependence(NamedTuple):
    """How strongly the rewards of an episode depend on each other, given the same past actions and observations."""

    correlation: float
    episodes: int  # whose past is shared by others


def copies(episodes: Episodes, level: float) -> Copies | None:
    """Test whether episodes occur too often in equal numbers, as copies do; None if not.

    Let n_w count the episodes equal to w. If the number of episodes were Poisson, the n_w would be independent Poisson
    variables of unknown means λ_w. A product of factors g(n_w) is an e-value if g(0) = 1 and E g(n) ≤ 1 for every λ:

    - g = 1 + s for even n, 1 − s for odd n: valid because an odd count is at least as likely as an even one above 0;
    - g(k) = 1 + b, g(k − 1) = 1 − a, g(k + 1) = 1 − d with b² = 4adk/(k + 1): valid because the quadratic in λ that
      remains has no real root. It finds pairs (k = 2) or triples without the single and further ones they come with.

    Their mean is an e-value too. Given the number N of episodes, probabilities are at most 1/P(Poisson(N) = N) times
    larger.
    """
    times = np.unique(_fingerprints(episodes), return_counts=True)[1]
    found = Copies(len(times), int(np.count_nonzero(times % 2 == 0)), int(np.count_nonzero(times > 1)))
    counts = np.bincount(np.minimum(times, 5), minlength=5)[:5].tolist()
    evidence = _mean_exponential([*_parity_evidence(found), *_neighbour_evidence(counts)])
    n = episodes.n
    fixed_number = math.lgamma(n + 1) + n - n * math.log(n)  # −ln P(Poisson(n) = n)
    return found if evidence >= fixed_number - math.log(level) else None


def _parity_evidence(found: Copies) -> Iterator[float]:
    odd = found.distinct - found.even
    for tilt in ODD_WORDS:
        yield odd * math.log1p(-tilt) + found.even * math.log1p(tilt)


def _neighbour_evidence(counts: list[int]) -> Iterator[float]:
    """Yield the logarithms of e-values; `counts[k]` distinct episodes occur k times."""
    for k in (2, 3):
        for single in SINGLE_WORDS:
            for next_one in NEXT_WORDS:
                b = math.sqrt(4 * single * next_one * k / (k + 1))
                losses = counts[k - 1] * math.log1p(-single) + counts[k + 1] * math.log1p(-next_one)
                yield counts[k] * math.log1p(b) + losses


def _mean_exponential(logarithms: list[float]) -> float:
    """Return the logarithm of the mean of numbers that are given by their logarithms."""
    largest = max(logarithms)
    return largest + math.log(math.fsum(math.exp(x - largest) for x in logarithms) / len(logarithms))


def _fingerprints(episodes: Episodes) -> Int64:
    """Hash each episode to 64 bits, [N]."""
    state = np.zeros(episodes.n, np.uint64)
    for row in episodes.word:
        state = (state ^ row) * np.uint64(0x9E3779B97F4A7C15)  # overflow is intended
        state ^= state >> np.uint64(29)
    if episodes.length is not None:
        state = (state ^ episodes.length.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return state.view(np.int64)


def drift(episodes: Episodes, level: float, rng: np.random.Generator) -> Drift | None:
    """Test whether the logger takes other actions early than late in the log; None if no change is found.

    Compares action frequencies, given the last observation and overall, among four consecutive parts of the log by the
    likelihood ratio, and permutes the episodes among the parts.
    """
    used = some_of(episodes)
    owner, seen, action, *_ = Decisions.of(used)
    part = np.arange(used.n) * PARTS // used.n
    n_actions = used.alphabet.n_actions
    context, n_contexts = renumbered(seen)
    tables = np.concatenate([context * n_actions + action, n_contexts * n_actions + action])  # the last one: overall
    owners, shape = np.concatenate([owner, owner]), (PARTS, n_contexts + 1, n_actions)

    def table(part: Int64) -> Float:
        cells = part[owners] * (shape[1] * shape[2]) + tables
        return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.float64)

    def statistic(part: Int64) -> float:
        counts = table(part)
        return x_log_x(counts) - x_log_x(counts.sum(axis=2))

    if not exceeds(statistic(part), lambda: statistic(rng.permutation(part)), level):
        return None
    first, last = table(part)[[0, -1]]
    totals = first.sum(axis=1, keepdims=True), last.sum(axis=1, keepdims=True)
    shares = [np.divide(counts, total, where=total > 0, out=np.zeros_like(counts))
              for counts, total in zip((first, last), totals, strict=True)]  # fmt: skip
    both = np.maximum(totals[0] + totals[1], 1)
    score = np.abs(shares[0] - shares[1]) * np.sqrt(totals[0] * totals[1] / both)
    place, code = np.unravel_index(int(score.argmax()), score.shape)
    observation = None if place == n_contexts else int(np.unique(seen)[place])
    return Drift(int(code), observation, float(shares[0][place, code]), float(shares[1][place, code]))


def dependent_rewards(episodes: Episodes, level: float, rng: np.random.Generator) -> Dependence | None:
    """Test whether rewards depend on earlier rewards of their episode, given all past actions and observations.

    In a regular decision process they do not: the state is a function of that past. At each step, episodes with the
    same past are compared: the covariances of the reward with each earlier one and with their sum. Rewards are permuted
    among episodes with the same past. Later steps, at which hardly any past is shared, are not used.
    """
    used = some_of(episodes)
    action, observation, reward = (used.letters[:, i].astype(np.int64)[used.word] for i in range(3))
    value = np.array(used.alphabet.rewards)[reward]
    past = observation[0]
    earlier: list[Float] = []
    steps: list[_StepCovariance] = []
    for t in range(1, used.horizon + 1):
        group = renumbered(past * used.alphabet.n_actions + action[t])[0]
        centred, sizes = _centred(value[t], group)
        shared = sizes[group] > 1
        if np.count_nonzero(shared) < LEAST_SHARED * used.n or not (shared & (action[t] > PAD)).any():
            break
        if centred.any():
            if earlier:
                steps.append(_StepCovariance.of(group, centred, np.stack([*earlier, np.sum(earlier, axis=0)])))
            earlier.append(centred)
        past = renumbered(group * used.alphabet.n_observations + observation[t])[0]
    steps = [step for step in steps if (step.variance > 0).any()]
    if not exceeds(math.fsum(s.observed() for s in steps), lambda: math.fsum(s.permuted(rng) for s in steps), level):
        return None
    products, scale = math.fsum(s.reward @ s.before[-1] for s in steps), math.fsum(s.scale for s in steps)
    return Dependence(float(products / scale), max(len(s.reward) for s in steps))


class _StepCovariance(NamedTuple):
    """The covariances of the reward of a step and earlier ones within groups of episodes with the same past."""

    group: Int64  # [n] ascending; only groups in which the reward varies
    reward: Float  # [n] centred in each group
    before: Float  # [k, n] earlier rewards and, last, their sum, centred in each group
    variance: Float  # [k] of the sum of products if rewards are permuted in each group
    scale: float  # the largest possible sum of products with the last one

    @classmethod
    def of(cls, group: Int64, reward: Float, before: Float) -> _StepCovariance:
        """Leave out groups without variation, and sort the others."""
        varying = np.flatnonzero(np.bincount(group, reward**2)[group] > 0)
        order = varying[np.argsort(group[varying], kind="stable")]
        group, reward = renumbered(group[order])[0], reward[order]
        before = np.stack([_centred(row[order], group)[0] for row in before])
        freedom = np.maximum(np.bincount(group) - 1, 1)
        squares = np.stack([np.bincount(group, row**2) for row in before])
        variance = (np.bincount(group, reward**2) * squares / freedom).sum(axis=1)
        scale = math.sqrt(float((reward**2).sum() * (before[-1] ** 2).sum()))
        return cls(group, reward, before, variance, scale)

    def observed(self) -> float:
        """Return the sum of squared standardised covariances."""
        return self._statistic(self.reward)

    def permuted(self, rng: np.random.Generator) -> float:
        """Return the same after a random permutation of the rewards in each group."""
        return self._statistic(self.reward[np.argsort(self.group + rng.random(len(self.group)))])

    def _statistic(self, reward: Float) -> float:
        known = self.variance > 0
        return float(((self.before[known] @ reward) ** 2 / self.variance[known]).sum())


def exceeds(observed: float, permuted: Callable[[], float], level: float) -> bool:
    """Return whether a statistic is above those of all permutations, of as many as the level needs.

    Under the null hypothesis each of them is equally likely to be the largest, so this is exact; it ends at the first
    permutation that is not below, which without an effect is soon.
    """
    margin = 1e-9 * max(1.0, abs(observed))  # rounding is not evidence
    return all(permuted() < observed - margin for _ in range(math.ceil(1 / level) - 1))


def some_of(episodes: Episodes) -> Episodes:
    """Take episodes evenly spread over the log, with at most as many steps as the tests read."""
    most = max(MOST_STEPS // max(episodes.horizon, 1), 100)
    if episodes.n <= most:
        return episodes
    return episodes.columns(np.linspace(0, episodes.n - 1, most).astype(np.int64))


class Decisions(NamedTuple):
    """Every decision of a log in a row, as codes."""

    episode: Int64  # [n]
    seen: Int64  # [n] observation before the decision
    action: Int64  # [n]
    reward: Int64  # [n]
    led: Int64  # [n] previous observation and action, as one number

    @classmethod
    def of(cls, episodes: Episodes) -> Decisions:
        """List the decisions of all episodes."""
        action, observation, reward = (episodes.letters[:, i].astype(np.int64) for i in range(3))
        t, e = np.nonzero(action[episodes.word[1:]] > PAD)
        before, after = episodes.word[t, e], episodes.word[t + 1, e]
        earlier = np.where(t > 0, observation[episodes.word[np.maximum(t - 1, 0), e]], 0)
        led = earlier * episodes.alphabet.n_actions + action[before]
        return cls(e, observation[before], action[after], reward[after], led)


def renumbered(codes: Int64) -> tuple[Int64, int]:
    """Number the codes that occur, in their order; also return how many there are."""
    distinct, numbers = np.unique(codes, return_inverse=True)
    return numbers.reshape(codes.shape).astype(np.int64), len(distinct)


def _centred(values: Float, group: Int64) -> tuple[Float, Int64]:
    """Subtract the mean of each group; also return the sizes of the groups."""
    sizes = np.bincount(group)
    means = np.bincount(group, values) / np.maximum(sizes, 1)
    centred = values - means[group]
    centred[np.abs(centred) < 1e-12 * np.abs(values).max(initial=1.0)] = 0.0  # rounding
    return centred, sizes


def x_log_x(counts: Float | Int64) -> float:
    positive = counts[counts > 0].astype(np.float64)
    return float((positive * np.log(positive)).sum())
