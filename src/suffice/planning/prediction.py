"""Predict the return of a plan with little optimism, even from the episodes it was made from.

The plan's own value trusts every merge: rare histories that were merged with a good state for lack of evidence get its
full value, and a plan prefers exactly these histories. Here each *candidate* (a state with the symbol that leads on) is
valued by what followed in its own episodes; the state it was merged with counts only as much as one more visit:

    U(c) = (Σ_x k_c(x) (r_x + U(q, y_x)) + m_q) / (n_c + 1),   m_q the same mean over all episodes of c's state q

where x runs over the letters that followed c with the plan's action, y_x is the symbol of x, and (q, y_x) is the next
candidate. Wrong merges then lower the prediction or, where a candidate was rarely seen, raise its standard error.

In a stationary automaton a candidate and its counts are the same at every step, so its error adds up over the steps.
Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.data.episodes import weights
from suffice.data.log import Log, run_query
from suffice.data.possible_returns import RewardRanges
from suffice.data.queries import EpisodesView, added
from suffice.evidence.estimates import Estimate
from suffice.kernels import walking
from suffice.kernels.array_types import Float, Int64
from suffice.planning.backward_induction import Scale
from suffice.planning.plan import Plan

DENSE_CELLS = 1 << 20  # cells, over all steps, up to which counts are stored in dense tables


def predict(rdp: RDP, plan: Plan, episodes: Log, threads: int = 1) -> Estimate:
    """Predict the mean return of a plan from episodes with the letters of the automaton.

    The plan for a stationary automaton is one on its unrolled layers: see `RDP.unroll`.
    """
    passages = _EdgeCountsQuery(rdp)
    passed = passages.passed(run_query(episodes, passages, threads))
    prediction = (_StationaryPrediction if rdp.stationary else _Prediction)(rdp, plan, passed)
    layers = [prediction.layer(t) for t in range(rdp.horizon + 1)]
    return prediction.estimate(layers).within(_reward_ranges(rdp, passed).returns())


def _reward_ranges(rdp: RDP, passed: list[_EdgeCounts]) -> RewardRanges:
    """Return the range of rewards at each step, from counts."""
    rewards = np.array(rdp.alphabet.rewards)[rdp.letters[:, 2]]
    steps = [rewards[counts.key % len(rewards)] for counts in passed]
    low, high = ([bound(step) if len(step) else 0.0 for step in steps] for bound in (np.min, np.max))
    return RewardRanges(np.array(low), np.array(high))


class _EdgeCounts(NamedTuple):
    """Counts of how often an edge (a state with a symbol) was followed by a letter."""

    key: Int64  # [E] edge and letter as one number, ascending
    times: Int64  # [E]

    @classmethod
    def of(cls, keys: list[Int64], times: list[Int64]) -> _EdgeCounts:
        """Add up the counts of equal keys."""
        key, place = np.unique(np.concatenate(keys), return_inverse=True)
        total = np.zeros(len(key), np.int64)
        np.add.at(total, place, np.concatenate(times))
        return cls(key, total)


Counts = _EdgeCounts | Int64  # or a table [edges of a step + 1, X], if the tables of all steps together are small


class _EdgeCountsQuery(NamedTuple):
    """Query that counts, for each of the H+1 steps, the letters that follow each edge of the automaton.

    One more edge stands for episodes that have left the automaton; their counts are not used.
    """

    rdp: RDP

    def __call__(self, view: EpisodesView) -> list[Counts]:
        """Count the letters that follow each edge, for some episodes; see `Query`."""
        rdp, word, weight = self.rdp, view.episodes.word, weights(view.episodes)
        n, n_letters, of_letter = rdp.n_states, len(rdp.letters), rdp.symbol_of_letter()
        after = np.full((n + 1, n_letters), n, np.uint32)  # the last row: unseen histories, which stay unseen
        after[:n] = np.where(rdp.tau == UNSEEN, n, rdp.tau)[:, of_letter]
        edge_of = np.where(after == n, n, np.arange(n + 1)[:, None]) * len(rdp.symbols) + of_letter
        state = np.zeros(view.episodes.n, np.uint32)
        found: list[Counts] = [walking.cross_count(state, np.zeros(1, np.int64), word[0], weight, 2, n_letters)]
        all_edges = self._edges()
        dense = sum(len(edges) + 1 for edges in all_edges) * n_letters <= DENSE_CELLS
        for t, edges in enumerate(all_edges[1:], 1):
            if dense:
                table = np.zeros((len(edges) + 1, n_letters), np.int64)
                along = after.ravel(), edge_of.ravel(), edges.start
                walking.advance_along(state, *along, word[t - 1], word[t], weight, table)
                found.append(table)
                continue
            taken = np.minimum(edge_of[state, word[t - 1]] - edges.start, len(edges)).astype(np.uint32)
            state = after[state, word[t - 1]]
            start, letter, times = walking.tally(taken, word[t], weight, len(edges) + 1, n_letters)
            counted = slice(0, int(start[-2]))
            key = np.repeat(np.array(edges), np.diff(start[:-1])) * n_letters + letter[counted]
            found.append(_EdgeCounts.of([key], [times[counted]]))
        return found

    def _edges(self) -> list[range]:
        """Return the edges that lead into each of the H+1 steps."""
        rdp = self.rdp
        first = (rdp.offsets() * len(rdp.symbols)).tolist()
        sources = [(first[0], first[1])] * rdp.horizon if rdp.stationary else list(pairwise(first))[: rdp.horizon]
        return [range(1), *(range(begin, end) for begin, end in sources)]

    def combine(self, answers: list[list[Counts]]) -> list[Counts]:
        """Add up the counts of parts of the log; see `Query`."""
        return answers[0] if len(answers) == 1 else [_added(list(parts)) for parts in zip(*answers, strict=True)]

    def passed(self, answer: list[Counts]) -> list[_EdgeCounts]:
        """Convert counts in dense tables to sparse counts."""
        return [_sparse(edges.start, counts) for edges, counts in zip(self._edges(), answer, strict=True)]


def _sparse(first: int, counts: Counts) -> _EdgeCounts:
    """Convert a table of counts by edge, from edge `first` on, to sparse counts."""
    if isinstance(counts, _EdgeCounts):
        return counts
    edge, letter = np.nonzero(counts[:-1])
    return _EdgeCounts((first + edge) * counts.shape[1] + letter, counts[edge, letter])


def _added(parts: list[Any]) -> Counts:
    if isinstance(parts[0], np.ndarray):
        return added(parts)
    return _EdgeCounts.of([part.key for part in parts], [part.times for part in parts])


class _FollowedCounts(NamedTuple):
    """Counts of the letters that followed each candidate of a layer, where they agree with the plan."""

    state: Int64  # [C] the candidate's state: its place in the layer
    source: Int64  # [C] the candidate: the state and symbol that lead there, as one number
    n: Int64  # [C] visits that followed the plan
    candidate: Int64  # [E] index of the candidate, for each pair of candidate and letter that occurred
    letter: Int64  # [E]
    times: Int64  # [E] occurrences of the pair

    def sums(self, values: Float) -> Float:
        """Return [C], the sum of `values` [E] over the letters that followed each candidate."""
        return np.bincount(self.candidate, self.times * values, len(self.n)).astype(float)


class _Prediction:
    """Prediction for a layered automaton, by backward induction over candidates."""

    def __init__(self, rdp: RDP, plan: Plan, passed: list[_EdgeCounts]) -> None:
        self._rdp, self._actions, self._passed, self._scale = rdp, plan.actions, passed, Scale.of(rdp)
        self._of_letter, self._offsets, self._reward = rdp.symbol_of_letter(), rdp.offsets(), self._scale.rewards(rdp)

    def estimate(self, layers: list[_FollowedCounts]) -> Estimate:
        """Return the predicted mean return and its standard error."""
        rdp, variances = self._rdp, []
        values = np.zeros((self._size(rdp.horizon), len(rdp.symbols)))  # U of each state of layer t with a symbol
        for t in range(rdp.horizon, -1, -1):
            mean, variance = self._backward(t, layers[t], values)
            variances.append(variance)
            if t:
                values = np.zeros((self._size(t - 1), len(rdp.symbols)))
                values.reshape(-1)[layers[t].source] = mean
        spread = self._forward(layers, variances[::-1])
        value = float(self._scale.values(float(mean[0]), float(rdp.horizon + 1)))
        return Estimate(value, self._scale.width * math.sqrt(spread))

    def _size(self, t: int) -> int:
        """Return the number of states of a layer."""
        return int(self._rdp.layers[t])

    def layer(self, t: int) -> _FollowedCounts:
        """Return the candidates that lead into layer t with the counts that follow the plan."""
        met = self._by_candidate(self._passed[t], first=t == 0)
        state = met.state - self._offsets[t]
        action = self._actions[met.state][met.candidate]
        source = met.source - self._offsets[t - 1] * len(self._rdp.symbols) if t else met.source
        return self._following(met._replace(state=state, source=source), action)

    def _by_candidate(self, passed: _EdgeCounts, first: bool, others: Int64 | None = None) -> _FollowedCounts:
        """Group counts by candidate, for any plan; `others` are further candidates, perhaps without counts."""
        rdp, n_letters = self._rdp, len(self._rdp.letters)
        of_key, letter = np.divmod(passed.key, n_letters)
        source = np.unique(of_key if others is None else np.concatenate([of_key, others]))
        candidate = np.searchsorted(source, of_key)
        led_to = rdp.tau[np.divmod(source, len(rdp.symbols))].astype(np.int64) if not first else np.zeros(1, np.int64)
        n = np.bincount(candidate, passed.times, len(source)).astype(np.int64)
        return _FollowedCounts(led_to, source, n, candidate, letter, passed.times)

    def _following(self, met: _FollowedCounts, action: Int64) -> _FollowedCounts:
        """Keep only the counts of letters that have the plan's actions [E]."""
        follows = (action == BEHAVE) | (self._rdp.letters[met.letter, 0] == action + PAD + 1)
        candidate, times = met.candidate[follows], met.times[follows]
        n = np.bincount(candidate, times, len(met.n)).astype(np.int64)
        return _FollowedCounts(met.state, met.source, n, candidate, met.letter[follows], times)

    def _backward(self, t: int, layer: _FollowedCounts, values: Float) -> tuple[Float, Float]:
        """Return U of the candidates that lead into a layer, and the variances of these means."""
        state, left = layer.state[layer.candidate], self._rdp.horizon - t + 1
        gains = self._reward[layer.letter] + values[state, self._of_letter[layer.letter]]  # [E]
        size = self._size(t)
        visits = np.maximum(np.bincount(layer.state, layer.n, size), 1)
        pooled = [np.bincount(state, layer.times * g, size) / visits for g in (gains, gains**2)]
        mean, square = (
            (layer.sums(g) + p[layer.state]) / (layer.n + 1) for g, p in zip((gains, gains**2), pooled, strict=True)
        )
        spread = np.maximum(square - mean**2, 0.0)
        # one more visit half the range away: a few visits that happen to agree must not have variance 0
        return mean, (spread * (layer.n + 1) + left**2 / 4) / (layer.n + 2.0) ** 2

    def _forward(self, layers: list[_FollowedCounts], variances: list[Float]) -> float:
        """Return the variance of the prediction: the candidates' variances, weighted by the plan's visits."""
        share, shares = np.ones(1), []
        for t, layer in enumerate(layers):
            shares.append(share)
            if t + 1 < len(layers):
                share = self._arriving(t, layer, share)[layers[t + 1].source]
        return self._variance(shares, variances)

    def _variance(self, shares: list[Float], variances: list[Float]) -> float:
        """Add up variances, because the errors of candidates in different layers are independent."""
        return math.fsum(float(np.sum(share**2 * variance)) for share, variance in zip(shares, variances, strict=True))

    def _arriving(self, t: int, layer: _FollowedCounts, share: Float) -> Float:
        """Return [Q_t · Y], the expected number of times the plan leaves each state of layer t with each symbol."""
        state, symbol = layer.state[layer.candidate], self._of_letter[layer.letter]
        size, n_symbols = self._size(t), len(self._rdp.symbols)
        visits = np.maximum(np.bincount(layer.state, layer.n, size), 1)
        per_visit = share / (layer.n + 1)
        borrowed = np.bincount(layer.state, per_visit, size) / visits  # weight of the pooled mean, per visit
        flow = layer.times * (per_visit[layer.candidate] + borrowed[state])
        return np.bincount(state * n_symbols + symbol, flow, size * n_symbols).astype(float)


class _StationaryPrediction(_Prediction):
    """Prediction for a stationary automaton, whose candidates are the same at every step but the first."""

    def __init__(self, rdp: RDP, plan: Plan, passed: list[_EdgeCounts]) -> None:
        super().__init__(rdp, plan, passed)
        layered, stands = rdp.unroll()
        self._planned = np.full((rdp.horizon + 1, rdp.n_states), BEHAVE, np.int64)  # by step and state
        inner = slice(0, layered.n_states - 1)
        self._planned[layered.layer_of()[inner], stands[inner]] = plan.actions[inner]
        inside, cut = passed[1 : rdp.horizon], self._as_last_step(passed[1 : rdp.horizon + 1])
        sources = np.unique(cut.key // len(rdp.letters))
        self._first = self._by_candidate(passed[0], first=True)
        self._later = self._by_candidate(
            _EdgeCounts.of([p.key for p in inside], [p.times for p in inside]), False, sources
        )
        self._last = self._by_candidate(cut, first=False)

    def _as_last_step(self, passed: list[_EdgeCounts]) -> _EdgeCounts:
        """Replace the observations in counts by o_⊥: at the horizon the last observation is not seen."""
        n, cut = len(self._rdp.letters), self._rdp.vocabulary.when_cut()
        return _EdgeCounts.of([p.key // n * n + cut[p.key % n] for p in passed], [p.times for p in passed])

    def _size(self, t: int) -> int:
        return self._rdp.n_states

    def layer(self, t: int) -> _FollowedCounts:
        """Return the counts of all steps that agree with the plan for step t; see `_as_last_step` for the last one."""
        met = self._last if t == self._rdp.horizon else self._later if t else self._first
        return self._following(met, self._planned[t, met.state[met.candidate]])

    def _variance(self, shares: list[Float], variances: list[Float]) -> float:
        """Add up standard errors over steps first: a candidate has the same error at every step."""
        off = [share * np.sqrt(variance) for share, variance in zip(shares, variances, strict=True)]
        later = np.sum(off[1:], axis=0)
        return float(np.sum(off[0] ** 2) + np.sum(later**2))
