"""What a plan is worth, as honestly as its own episodes can tell.

The plan's own value believes every merge: a few histories that were merged with a good state, for lack of evidence,
count as good as it, and a plan seeks out exactly those. Here each *candidate* (a state with the symbol that leads on)
is valued by what its own episodes met, and by the state it was merged with only as much as one more visit would count:

    U(c) = (Σ_x k_c(x) (r_x + U(q, y_x)) + m_q) / (n_c + 1),   m_q the same mean over all episodes of c's state q

where x runs over the letters that followed c with the plan's action, y_x is the symbol of x, and (q, y_x) is the next
candidate. Wrong merges then show in the prediction or, where a candidate was rarely seen, in its standard error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice import kernels
from suffice.episodes import PAD, Episodes, Int64
from suffice.estimates import Estimate
from suffice.planner import BEHAVE, Plan, without_dust
from suffice.rdp import RDP, UNSEEN
from suffice.statistics import weights

Float = NDArray[np.float64]


def predict(rdp: RDP, plan: Plan, episodes: Episodes) -> Estimate:
    """The mean return of a plan, by episodes with the letters of the automaton."""
    return _Prediction(rdp, plan, episodes).run()


class _Layer(NamedTuple):
    """What the candidates that lead into a layer did there, if they followed the plan."""

    state: Int64  # [C] place in the layer
    source: Int64  # [C] state and symbol that lead there, as one number
    rates: Float  # [C, X] how often each letter follows
    variance: Float  # [C] of the mean


class _Prediction:
    def __init__(self, rdp: RDP, plan: Plan, episodes: Episodes) -> None:
        self._rdp, self._actions, self._word = rdp, plan.actions, episodes.word
        self._states = rdp.run_all(episodes)  # [H+2, N]
        self._weight = weights(episodes)
        self._of_letter, self._offsets = rdp.symbol_of_letter(), rdp.offsets()
        rewards = np.array(rdp.alphabet.rewards)[rdp.letters[:, 2]]
        self._low, self._range = float(rewards.min()), float(np.ptp(rewards)) or 1.0
        self._reward = (rewards - self._low) / self._range

    def run(self) -> Estimate:
        rdp, layers = self._rdp, []
        values = np.zeros((int(rdp.layers[rdp.horizon]), len(rdp.symbols)))  # U of each state of layer t with a symbol
        for t in range(rdp.horizon, -1, -1):
            layer, mean = self._layer(t, values)
            layers.append(layer)
            if t:
                values = np.zeros((int(rdp.layers[t - 1]), len(rdp.symbols)))
                values.reshape(-1)[layer.source] = mean
        error = self._range * math.sqrt(self._variance(layers[::-1]))
        value = self._range * float(mean[0]) + self._low * (rdp.horizon + 1)
        return Estimate(float(without_dust(value, self._range)), error)

    def _layer(self, t: int, values: Float) -> tuple[_Layer, Float]:
        """A layer, and U of the candidates that lead into it."""
        here = slice(self._offsets[t], self._offsets[t + 1])
        gains = self._reward + values[:, self._of_letter]  # [Q_t, X]
        state, source, met = self._met(t)
        action = self._actions[here]
        follows = (action == BEHAVE)[:, None] | (self._rdp.letters[None, :, 0] == (action + PAD + 1)[:, None])
        counts = np.where(follows[state], met, 0).astype(float)
        pooled = np.zeros((len(action), counts.shape[1]))
        np.add.at(pooled, state, counts)
        pooled /= np.maximum(pooled.sum(axis=1, keepdims=True), 1)
        rates = (counts + pooled[state]) / (counts.sum(axis=1, keepdims=True) + 1)
        mean = (rates * gains[state]).sum(axis=1)
        spread = np.maximum((rates * gains[state] ** 2).sum(axis=1) - mean**2, 0.0)
        n, left = counts.sum(axis=1) + 1, self._rdp.horizon - t + 1
        # as if one more visit had been half the range away: few visits that agree prove little
        return _Layer(state, source, rates, (spread * n + left**2 / 4) / (n + 1) ** 2), mean

    def _met(self, t: int) -> tuple[Int64, Int64, Int64]:
        """The candidates that lead into layer t: their state, their source, and how often they met each letter."""
        seen = self._states[t] != UNSEEN
        there = slice(None) if seen.all() else np.flatnonzero(seen)
        state, word = self._states[t, there], self._word[t, there]
        before, led = self._states[t - 1, there], self._word[t - 1, there]  # nothing came before layer 0
        weight = self._weight[there] if len(self._weight) else self._weight
        n_symbols = len(self._rdp.symbols)
        source_of = (before - self._offsets[t - 1]) * n_symbols + self._of_letter[led] if t else np.zeros_like(state)
        number = np.zeros(int(self._rdp.layers[max(t - 1, 0)]) * n_symbols, np.int64)
        number[source_of] = 1
        source = np.flatnonzero(number)
        number[source] = np.arange(len(source))
        led_to = np.zeros(len(number), np.int64)
        led_to[source_of] = state - self._offsets[t]
        counts = kernels.cross_count(source_of, number, word, weight, len(source), len(self._rdp.letters))
        return led_to[source], source, counts

    def _variance(self, layers: list[_Layer]) -> float:
        """Of the prediction: each candidate's, as often as the plan gets there."""
        share, total = np.ones(1), 0.0
        for t, layer in enumerate(layers):
            total += float(np.sum(share**2 * layer.variance))
            if t + 1 < len(layers):
                flow = np.zeros((int(self._rdp.layers[t]), len(self._rdp.letters)))
                np.add.at(flow, layer.state, share[:, None] * layer.rates)
                arriving = np.zeros((len(flow), len(self._rdp.symbols)))
                np.add.at(arriving.T, self._of_letter, flow.T)
                share = arriving.reshape(-1)[layers[t + 1].source]
        return total
