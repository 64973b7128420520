"""What a plan is worth, as honestly as its own episodes can tell.

The plan's own value believes every merge: a few histories that were merged with a good state, for lack of evidence,
count as good as it, and a plan seeks out exactly those. Here each *candidate* (a state with the symbol that leads on)
is valued by what its own episodes met, and by the state it was merged with only as much as one more visit would count:

    U(c) = (Σ_x k_c(x) (r_x + U(q, y_x)) + m_q) / (n_c + 1),   m_q the same mean over all episodes of c's state q

where x runs over the letters that followed c with the plan's action, y_x is the symbol of x, and (q, y_x) is the next
candidate. Wrong merges then show in the prediction or, where a candidate was rarely seen, in its standard error.

Where the automaton is stationary, a candidate is the same at all steps, and so are its counts: what they are off by
adds up over the steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice import kernels
from suffice.episodes import PAD, Codes, Episodes, Int64
from suffice.estimates import Estimate
from suffice.planner import BEHAVE, Plan, Scale
from suffice.rdp import RDP, UNSEEN
from suffice.statistics import weights

Float = NDArray[np.float64]


def predict(rdp: RDP, plan: Plan, episodes: Episodes) -> Estimate:
    """The mean return of a plan, by episodes with the letters of the automaton.

    A stationary automaton's plan is one on its layers: see `RDP.unroll`.
    """
    prediction = (_Tied if rdp.stationary else _Prediction)(rdp, plan, episodes)
    layers = [prediction.layer(t) for t in range(rdp.horizon + 1)]
    return prediction.estimate(layers)


class _Layer(NamedTuple):
    """What the candidates that lead into a layer met there, as far as they followed the plan."""

    state: Int64  # [C] place in the layer
    source: Int64  # [C] state and symbol that lead there, as one number
    n: Int64  # [C] how often they followed the plan
    candidate: Int64  # [E] of each pair of a candidate and a letter that occurred
    letter: Int64  # [E]
    times: Int64  # [E] how often

    def sums(self, values: Float) -> Float:
        """[C] over the letters that each candidate met; `values` [E]."""
        return np.bincount(self.candidate, self.times * values, len(self.n)).astype(float)


class _Prediction:
    def __init__(self, rdp: RDP, plan: Plan, episodes: Episodes) -> None:
        self._rdp, self._actions, self._word = rdp, plan.actions, episodes.word
        self._states = rdp.run_all(episodes)  # [H+2, N]
        self._weight, self._scale = weights(episodes), Scale.of(rdp)
        self._of_letter, self._offsets, self._reward = rdp.symbol_of_letter(), rdp.offsets(), self._scale.rewards(rdp)

    def estimate(self, layers: list[_Layer]) -> Estimate:
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
        """States of a layer."""
        return int(self._rdp.layers[t])

    def layer(self, t: int) -> _Layer:
        """The candidates that lead into layer t: their state, their source, and what they met."""
        seen = self._states[t] != UNSEEN
        there = slice(None) if seen.all() else np.flatnonzero(seen)
        state, word = self._states[t, there] - self._offsets[t], self._word[t, there]
        before, led = self._states[t - 1, there], self._word[t - 1, there]  # nothing came before layer 0
        weight = self._weight[there] if len(self._weight) else self._weight
        n_symbols, n_letters = len(self._rdp.symbols), len(self._rdp.letters)
        key = (before - self._offsets[t - 1]) * n_symbols + self._of_letter[led] if t else np.zeros_like(state)
        number = np.zeros(int(self._rdp.layers[max(t - 1, 0)]) * n_symbols, np.int64)
        number[key] = 1
        source = np.flatnonzero(number)
        number[source] = np.arange(len(source))
        led_to = np.zeros(len(number), np.int64)
        led_to[key] = state
        start, letter, count = kernels.tally(number[key], word, weight, len(source), n_letters)
        candidate = np.repeat(np.arange(len(source)), np.diff(start))
        action = self._actions[self._offsets[t] + led_to[source]][candidate]
        follows = (action == BEHAVE) | (self._rdp.letters[letter, 0] == action + PAD + 1)
        candidate, letter, count = candidate[follows], letter[follows].astype(np.int64), count[follows]
        n = np.bincount(candidate, count, len(source)).astype(np.int64)
        return _Layer(led_to[source], source, n, candidate, letter, count)

    def _backward(self, t: int, layer: _Layer, values: Float) -> tuple[Float, Float]:
        """U of the candidates that lead into a layer, and the variance of these means."""
        state, left = layer.state[layer.candidate], self._rdp.horizon - t + 1
        gains = self._reward[layer.letter] + values[state, self._of_letter[layer.letter]]  # [E]
        size = self._size(t)
        visits = np.maximum(np.bincount(layer.state, layer.n, size), 1)
        pooled = [np.bincount(state, layer.times * g, size) / visits for g in (gains, gains**2)]
        mean, square = (
            (layer.sums(g) + p[layer.state]) / (layer.n + 1) for g, p in zip((gains, gains**2), pooled, strict=True)
        )
        spread = np.maximum(square - mean**2, 0.0)
        # as if one more visit had been half the range away: few visits that agree prove little
        return mean, (spread * (layer.n + 1) + left**2 / 4) / (layer.n + 2.0) ** 2

    def _forward(self, layers: list[_Layer], variances: list[Float]) -> float:
        """The variance of the prediction: each candidate's, as often as the plan gets there."""
        share, shares = np.ones(1), []
        for t, layer in enumerate(layers):
            shares.append(share)
            if t + 1 < len(layers):
                share = self._arriving(t, layer, share)[layers[t + 1].source]
        return self._variance(shares, variances)

    def _variance(self, shares: list[Float], variances: list[Float]) -> float:
        """Candidates of different layers are off independently of each other."""
        return sum(float(np.sum(share**2 * variance)) for share, variance in zip(shares, variances, strict=True))

    def _arriving(self, t: int, layer: _Layer, share: Float) -> Float:
        """[Q_t · Y] how often the plan leaves each state of layer t with each symbol."""
        state, symbol = layer.state[layer.candidate], self._of_letter[layer.letter]
        size, n_symbols = self._size(t), len(self._rdp.symbols)
        visits = np.maximum(np.bincount(layer.state, layer.n, size), 1)
        per_visit = share / (layer.n + 1)
        borrowed = np.bincount(layer.state, per_visit, size) / visits  # what each state lends its candidates, per visit
        flow = layer.times * (per_visit[layer.candidate] + borrowed[state])
        return np.bincount(state * n_symbols + symbol, flow, size * n_symbols).astype(float)


class _Tied(_Prediction):
    """The same candidates at every step but the first."""

    def __init__(self, rdp: RDP, plan: Plan, episodes: Episodes) -> None:
        super().__init__(rdp, plan, episodes)
        layered, stands = rdp.unroll()
        self._planned = np.full((rdp.horizon + 1, rdp.n_states), BEHAVE, np.int64)  # by step and state
        inner = slice(0, layered.n_states - 1)
        self._planned[layered.layer_of()[inner], stands[inner]] = plan.actions[inner]
        self._first, self._later, self._last = self._start(), *self._met()

    def _size(self, t: int) -> int:
        return self._rdp.n_states

    def layer(self, t: int) -> _Layer:
        """What followed the plan of step t, at whatever step; what the last shows is not seen."""
        met = self._last if t == self._rdp.horizon else self._later if t else self._first
        action = self._planned[t, met.state[met.candidate]]
        follows = (action == BEHAVE) | (self._rdp.letters[met.letter, 0] == action + PAD + 1)
        candidate, times = met.candidate[follows], met.times[follows]
        n = np.bincount(candidate, times, len(met.n)).astype(np.int64)
        return _Layer(met.state, met.source, n, candidate, met.letter[follows], times)

    def _start(self) -> _Layer:
        """Before anything was seen."""
        nothing = np.zeros(self._word.shape[1], np.int64)
        return self._layer_of(nothing, self._word[0], self._weight, np.zeros(1, np.int64), np.zeros(1, np.int64))

    def _met(self) -> tuple[_Layer, _Layer]:
        """All that candidates met before the last step, and all that they met with it, seen as there."""
        rdp, steps = self._rdp, self._rdp.horizon
        state, before = self._states[1 : steps + 1], self._states[:steps].astype(np.int64)
        key = before * len(rdp.symbols) + self._of_letter[self._word[:steps]]
        weight = np.tile(self._weight, (steps, 1)) if len(self._weight) else self._weight
        known = state != UNSEEN
        source, number = np.unique(key[known], return_inverse=True)
        led_to = np.zeros(len(source), np.int64)
        led_to[number] = state[known]
        inner = np.repeat(np.arange(steps) < steps - 1, state.shape[1]).reshape(state.shape)[known]
        word, weight = self._word[1:][known], weight[known] if len(weight) else weight
        later = self._layer_of(number[inner], word[inner], weight[inner] if len(weight) else weight, source, led_to)
        return later, self._layer_of(number, rdp.when_cut()[word], weight, source, led_to)

    def _layer_of(self, number: Int64, word: Codes, weight: Int64, source: Int64, led_to: Int64) -> _Layer:
        start, letter, count = kernels.tally(number, word, weight, len(source), len(self._rdp.letters))
        candidate = np.repeat(np.arange(len(source)), np.diff(start))
        n = np.bincount(candidate, count, len(source)).astype(np.int64)
        return _Layer(led_to, source, n, candidate, letter.astype(np.int64), count)

    def _variance(self, shares: list[Float], variances: list[Float]) -> float:
        """A candidate is off by the same at every step."""
        off = [share * np.sqrt(variance) for share, variance in zip(shares, variances, strict=True)]
        later = np.sum(off[1:], axis=0)
        return float(np.sum(off[0] ** 2) + np.sum(later**2))
