"""The mean return of the logged episodes, by the objective, with its standard error.

If every episode is observed to its end, this is a mean over episodes. If some were cut off, it is put together decision
by decision, like a survival curve (Kaplan and Meier, 1958):

    Σ_t S_t μ_t,    S_1 = 1,    S_(t+1) = S_t (1 − e_t)

where μ_t is the mean reward among the n_t episodes that were observed to make decision t, and e_t the share of them
that ended after it; an episode that was cut off there did not end. This is right if observation stops independently of
what would have followed. An episode changes the sum by its influence

    Σ_t (S_t (r_t − μ_t)  −  (E_t − e_t) W_t / (1 − e_t)) / n_t,    W_t = Σ_(u>t) S_u μ_u

over its observed decisions, with E_t = 1 where it ends. The variance is the sum of the squared influences,
over groups if there are any, with one more observation of each decision, half the range of its rewards away. Without
cut-off episodes all of this is the plain mean. The reward per step is a ratio of two such sums, the other one with μ_t
= 1. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.data.log import Log, run_query
from suffice.data.possible_returns import RewardRanges, reward_ranges
from suffice.data.queries import EpisodesView, added
from suffice.evidence.estimates import UNIT, Estimate, Moments, exact_units, sum_of_squares
from suffice.kernels import sums
from suffice.kernels.array_types import Float, Int64, Mask, UInt64
from suffice.planning.objective import RETURN, Objective


def factors(objective: Objective, horizon: int) -> Float:
    """Return [H], the factor γ^(t−1) of the reward of each decision."""
    return np.asarray(objective.gamma ** np.arange(horizon))


class LoggedMean(NamedTuple):
    """The logged return of some episodes, and how much each contributes to its error."""

    value: float
    influence: Float  # [N] of one episode each
    rare: float = 0.0  # variance that is added for decisions that few episodes reached


def logged_mean(episodes: Episodes, objective: Objective = RETURN) -> LoggedMean:
    """Return the logged return of episodes in memory with their influences."""
    if episodes.length is None and not objective.per_step:
        returns = _returns(episodes, np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]], objective)
        mean = float(np.average(returns, weights=episodes.weight))
        return LoggedMean(mean, (returns - mean) / episodes.total)
    means = _step_means(episodes, 1)
    ranges = reward_ranges(episodes) if episodes.length is not None else None
    return LoggedMean(means.value(objective), means.influences(episodes, objective), means.rare(ranges, objective))


def logged_return(log: Log, objective: Objective = RETURN, threads: int = 1) -> tuple[Estimate, float]:
    """Return the logged return with its standard error, and the best one of an episode; infinite if it is unknown.

    The result does not depend on the order of the episodes, nor on where they are.
    """
    rewards = np.array(log.alphabet.rewards)[log.letters[:, 2]]
    moments, best = run_query(log, _Returns(rewards, objective), threads)
    best = math.inf if log.censored else best
    if not (log.censored or log.grouped or objective.per_step):
        return moments.estimate(), best
    means = _step_means(log, threads)
    influences = run_query(log, _Influences(means, objective), threads)
    whole = not log.censored and not objective.per_step
    value = float(moments.total / moments.n) if whole else means.value(objective)
    rare = means.rare(reward_ranges(log, threads) if log.censored else None, objective)
    return Estimate(value, math.sqrt(influences.variance() + rare)), best


def possible_values(ranges: RewardRanges, objective: Objective) -> tuple[float, float]:
    """Return the smallest and the largest possible value of the objective, by the range of rewards of each step."""
    if objective.per_step:
        return float(ranges.low[1:].min()), float(ranges.high[1:].max())
    counts = np.concatenate([[1.0], factors(objective, len(ranges.low) - 1)])
    return math.fsum(counts * ranges.low), math.fsum(counts * ranges.high)


class _Returns(NamedTuple):
    """Query for the moments of the values of episodes, and their largest value."""

    rewards: Float  # [X] of each letter
    objective: Objective

    def __call__(self, view: EpisodesView) -> tuple[Moments, float]:
        """Return moments and largest value of some episodes; see `Query`."""
        episodes = view.episodes
        total = _returns(episodes, self.rewards, self.objective)
        moments = Moments.of(total, episodes.weight)
        if self.objective.per_step:
            total = total / np.maximum(episodes.lengths(), 1)
        return moments, float(total.max())

    def combine(self, answers: list[tuple[Moments, float]]) -> tuple[Moments, float]:
        """Combine the answers of parts of the log; see `Query`."""
        moments = [moment for moment, _ in answers]
        return sum(moments[1:], moments[0]), max(most for _, most in answers)


class _StepMeans(NamedTuple):
    """Means over the episodes that were observed at each decision."""

    reward: Float  # [H] μ
    end: Float  # [H] e
    n: Int64  # [H] episodes that were observed to make the decision

    @property
    def alive(self) -> Float:
        """Return S [H], the probability that an episode makes each decision."""
        return np.concatenate([[1.0], np.cumprod(1 - self.end)[:-1]])

    @property
    def steps(self) -> float:
        """Return the expected number of decisions."""
        return math.fsum(self.alive)

    def value(self, objective: Objective) -> float:
        """Return the value of the objective."""
        total = math.fsum(factors(objective, len(self.n)) * self.alive * self.reward)
        return total / self.steps if objective.per_step else total

    def influences(self, episodes: Episodes, objective: Objective) -> Float:
        """Return [N], the influence of each episode on the value."""
        made = _ObservedDecisions.of(episodes)
        rewards = np.array(episodes.alphabet.rewards)[made.reward]
        found = self._influences(made, rewards, self.reward, factors(objective, len(self.n)))
        if not objective.per_step:
            return found
        one = np.ones_like(self.reward)
        of_steps = self._influences(made, np.ones(len(rewards)), one, one)
        return np.asarray((found - self.value(objective) * of_steps) / self.steps)

    def _influences(self, made: _ObservedDecisions, reward: Float, mean: Float, factor: Float) -> Float:
        parts, t = factor * self.alive * mean, made.step
        later = np.cumsum(parts[::-1])[::-1] - parts  # W
        of_reward = (factor * self.alive / np.maximum(self.n, 1))[t] * (reward - mean[t])
        goes_on = np.where(self.end < 1, 1 - self.end, 1.0)
        of_end = (later / goes_on / np.maximum(self.n, 1))[t] * (made.ends - self.end[t])
        return np.asarray(np.bincount(made.episode, of_reward - of_end, made.n), float)

    def rare(self, ranges: RewardRanges | None, objective: Objective) -> float:
        """Return the variance of one more observation of each decision; 0 without ranges.

        One episode may determine all late decisions, so that their errors are added before they are squared.
        """
        if ranges is None:
            return 0.0
        spans = (ranges.high - ranges.low)[1:] * factors(objective, len(self.n)) * self.alive
        scale = self.steps if objective.per_step else 1.0
        return float(np.sum(spans / 2 / (self.n + 1)) / scale) ** 2


class _ObservedDecisions(NamedTuple):
    """The observed decisions of some episodes, step by step; padding takes no room."""

    step: Int64  # [D] from 0
    episode: Int64  # [D]
    reward: Int64  # [D] code
    ends: Mask  # [D] whether the episode ended after it, before the horizon; one that was cut off has not ended
    n: int  # episodes

    @classmethod
    def of(cls, episodes: Episodes) -> _ObservedDecisions:
        """List the decisions of all episodes, in order of their steps."""
        acts = episodes.letters[:, 0] > PAD
        step, episode = np.nonzero(acts[episodes.word[1:]])
        word = episodes.word[step + 1, episode]
        going_on = np.minimum(step + 2, episodes.horizon)
        ends = (step + 1 < episodes.horizon) & ~acts[episodes.word[going_on, episode]]
        if episodes.length is not None:  # the observation after the last decision is missing
            length = episodes.length[episode]
            ends &= (length > step + 2) | (length > episodes.horizon)
        return cls(step, episode, episodes.letters[:, 2].astype(np.int64)[word], ends, episodes.n)


class _Sums(NamedTuple):
    """Sums over the episodes that were observed at each decision."""

    reward: list[int]  # [H] exact, in units of the smallest float
    n: Int64  # [H]
    ends: Int64  # [H]


class _StepSums(NamedTuple):
    """Query for the sums of each decision."""

    units: list[int]  # of each reward code

    def __call__(self, view: EpisodesView) -> _Sums:
        """Add up what was observed of some episodes; see `Query`."""
        episodes, made, codes = view.episodes, _ObservedDecisions.of(view.episodes), len(self.units)
        times = (np.ones(episodes.n, np.int64) if episodes.weight is None else episodes.weight)[made.episode]
        n, ends = np.zeros((2, episodes.horizon), np.int64)
        np.add.at(n, made.step, times)
        np.add.at(ends, made.step[made.ends], times[made.ends])
        keys, place = np.unique(made.step * codes + made.reward, return_inverse=True)
        met = np.zeros(len(keys), np.int64)
        np.add.at(met, place, times)
        reward = [0] * episodes.horizon
        for key, many in zip(keys.tolist(), met.tolist(), strict=True):
            reward[key // codes] += many * self.units[key % codes]
        return _Sums(reward, n, ends)

    def combine(self, answers: list[_Sums]) -> _Sums:
        """Add up the sums of parts of the log; see `Query`."""
        rewards = [sum(parts) for parts in zip(*(answer.reward for answer in answers), strict=True)]
        return _Sums(rewards, added([answer.n for answer in answers]), added([answer.ends for answer in answers]))


def _step_means(log: Log, threads: int) -> _StepMeans:
    found = run_query(log, _StepSums([exact_units(reward) for reward in log.alphabet.rewards]), threads)
    n = np.maximum(found.n, 1)
    rewards = [units / (many * UNIT) for units, many in zip(found.reward, n.tolist(), strict=True)]
    return _StepMeans(np.array(rewards), found.ends / n, found.n)


class _GroupInfluences(NamedTuple):
    """Influences of episodes with their weights and groups."""

    influence: Float  # [N]
    weight: Int64 | None  # [N]
    group: UInt64 | None  # [N]

    def variance(self) -> float:
        """Return the variance of the sum, in an order of the episodes that depends on their content alone."""
        keys = [self.influence] if self.group is None else [self.influence, self.group]
        order = np.lexsort(keys if self.weight is None else [self.weight, *keys])
        parts = (None if array is None else array[order] for array in self)
        influence, weight, group = parts
        assert influence is not None
        if group is not None:
            return sum_of_squares(influence, weight, group)  # type: ignore[arg-type]
        n = len(influence) if weight is None else int(weight.sum())
        return sum_of_squares(influence, weight) * n / (n - 1) if n > 1 else math.inf  # type: ignore[arg-type]


class _Influences(NamedTuple):
    """Query for the influences of all episodes."""

    means: _StepMeans
    objective: Objective

    def __call__(self, view: EpisodesView) -> _GroupInfluences:
        """Return the influences of some episodes; see `Query`."""
        episodes = view.episodes
        return _GroupInfluences(self.means.influences(episodes, self.objective), episodes.weight, episodes.group)

    def combine(self, answers: list[_GroupInfluences]) -> _GroupInfluences:
        """Concatenate the influences of parts of the log; see `Query`."""
        weight = [a.weight for a in answers if a.weight is not None]
        group = [a.group for a in answers if a.group is not None]
        return _GroupInfluences(
            np.concatenate([a.influence for a in answers]),
            np.concatenate(weight) if weight else None,
            np.concatenate(group) if group else None,
        )


def _returns(episodes: Episodes, rewards: Float, objective: Objective) -> Float:
    """Return [N], the sums of rewards, of which `rewards` [X] are those of letters, discounted by the objective."""
    total = np.zeros(episodes.n)
    if objective.gamma == 1.0:
        sums.add_values(episodes.word, rewards, total)
        return total
    for factor, word in zip(factors(objective, episodes.horizon).tolist(), episodes.word[1:], strict=True):
        total += factor * rewards[word]
    return total
