"""Summaries of states by the observations on arrival, feature by feature with frequencies.

A single example history reads as if it defined the state. A summary is more precise: features that all arrivals share
describe the state, and features that vary among arrivals do not matter for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.alphabet import PAD, STOP, Value
from suffice.kernels.array_types import Int64

NAMED_VALUES = 3  # values that are listed of a feature that varies
COMMON = 0.95  # share of the arrivals from which on a value counts as common to them


@dataclass(frozen=True, slots=True)
class Feature:
    """Values of a feature on arrival in a state."""

    name: str
    values: tuple[Value, ...]  # the most frequent first
    shares: tuple[float, ...]  # share of the arrivals with each value

    @property
    def common(self) -> bool:
        """Whether nearly all arrivals have the same value."""
        return self.shares[0] >= COMMON

    @property
    def text(self) -> str:
        """The values as text, such as "mood = calm" or "topic: billing 60 %, delivery 40 %"."""
        if self.common:
            return f"{self.name} = {self.values[0]}" + (
                "" if len(self.values) == 1 else f" ({_percent(self.shares[0])})"
            )
        named = zip(self.values[:NAMED_VALUES], self.shares, strict=False)
        spaced = any(" " in str(value) for value in self.values)  # "6.8 or more 39 %" is hard to read
        listed = ", ".join(f"{v} ({_percent(s)})" if spaced else f"{v} {_percent(s)}" for v, s in named)
        return f"{self.name}: {listed}" + (", …" if len(self.values) > NAMED_VALUES else "")


@dataclass(frozen=True, slots=True)
class Arrival:
    """Actions and observations with which episodes arrive in a state."""

    features: tuple[Feature, ...]  # in the order of the log; empty where arrivals have no observation
    action: Value | None  # the only action that leads there, None if there are several

    @property
    def common(self) -> str:
        """Values that nearly all arrivals share, as text; "" if there are none."""
        last = [] if self.action is None else [f"after {self.action}"]
        return ", ".join([*(feature.text for feature in self.features if feature.common), *last])

    @property
    def varies(self) -> str:
        """Features that vary among arrivals, as text; "" if there are none."""
        return "; ".join(feature.text for feature in self.features if not feature.common)

    @property
    def text(self) -> str:
        """Common and varying features, such as "mood = calm; topic: billing 60 %, delivery 40 %"."""
        return "; ".join(filter(None, (self.common, self.varies)))


def arrivals(rdp: RDP, before: int | None = None) -> list[Arrival]:
    """Summarise the arrivals in every state [Q], or in those before a number; q_0 and ended ones show nothing."""
    edges, n = rdp.edges(), len(rdp.symbols)
    taken, key_of_edge = edges.times, edges.target * n + edges.symbol
    del edges  # to save memory
    keys = np.unique(key_of_edge)
    times = np.zeros(len(keys), np.int64)
    np.add.at(times, np.searchsorted(keys, key_of_edge), taken)
    keys, times = keys[times > 0], times[times > 0]
    begins = np.searchsorted(keys, np.arange((rdp.n_states if before is None else before) + 1) * n)
    return [_arrival(rdp, keys[begin:end] % n, times[begin:end]) for begin, end in pairwise(begins.tolist())]


def _arrival(rdp: RDP, arriving: Int64, times: Int64) -> Arrival:
    """Summarise the arrivals in one state, from the symbols that led there and how often each did."""
    actions = set(rdp.symbols[arriving, 0].tolist())
    codes = rdp.symbols[arriving, 1]
    observations = [rdp.alphabet.observations[code - STOP - 1] for code in codes[codes != STOP].tolist()]
    weights = times[codes != STOP]
    features = []
    for name, column in zip(rdp.alphabet.features, zip(*observations, strict=True), strict=False):
        often: dict[Value, int] = {}
        for value, weight in zip(column, weights.tolist(), strict=True):
            often[value] = often.get(value, 0) + weight
        ranked = sorted(often, key=lambda value: -often[value])  # ties in the alphabet's order
        features.append(Feature(name, tuple(ranked), tuple(often[v] / int(weights.sum()) for v in ranked)))
    always = rdp.alphabet.action(actions.pop()) if len(actions) == 1 and min(actions) > PAD else None
    return Arrival(tuple(features), always)


def _percent(share: float) -> str:
    """Format a share in percent; 0 % and 100 % only if they are exact."""
    whole = f"{100 * share:.0f}"
    return "< 1 %" if whole == "0" else "> 99 %" if whole == "100" and share < 1 else f"{whole} %"
