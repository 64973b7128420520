"""What a state stands for: what was seen on arrival, feature by feature, by how often.

One history that leads to a state reads as if it defined the state. What all arrivals have in common says more, and so
does what varies among them and therefore does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD, STOP, Value
from suffice.kernels.array_types import Int64

NAMED_VALUES = 3  # of a feature that varies, by name
COMMON = 0.95  # of the arrivals: what so many share is common to them


@dataclass(frozen=True, slots=True)
class Feature:
    """What a feature was on arrival."""

    name: str
    values: tuple[Value, ...]  # the most frequent first
    shares: tuple[float, ...]  # of the arrivals, as many

    @property
    def common(self) -> bool:
        """Whether it was nearly always the same."""
        return self.shares[0] >= COMMON

    @property
    def text(self) -> str:
        """What it was: "mood = calm", or "topic: billing 60 %, delivery 40 %"."""
        if self.common:
            return f"{self.name} = {self.values[0]}" + (
                "" if len(self.values) == 1 else f" ({_percent(self.shares[0])})"
            )
        named = zip(self.values[:NAMED_VALUES], self.shares, strict=False)
        spaced = any(" " in str(value) for value in self.values)  # "6.8 or more 39 %" is hard to read
        told = ", ".join(f"{v} ({_percent(s)})" if spaced else f"{v} {_percent(s)}" for v, s in named)
        return f"{self.name}: {told}" + (", …" if len(self.values) > NAMED_VALUES else "")


@dataclass(frozen=True, slots=True)
class Arrival:
    """How episodes come to a state."""

    features: tuple[Feature, ...]  # in the order of the log; none where nothing is seen on arrival
    action: Value | None  # that always led there, None if several did

    @property
    def common(self) -> str:
        """What nearly all arrivals share, "" if nothing."""
        last = [] if self.action is None else [f"after {self.action}"]
        return ", ".join([*(feature.text for feature in self.features if feature.common), *last])

    @property
    def varies(self) -> str:
        """What they do not share, "" if nothing."""
        return "; ".join(feature.text for feature in self.features if not feature.common)

    @property
    def text(self) -> str:
        """Both: "mood = calm; topic: billing 60 %, delivery 40 %"."""
        return "; ".join(filter(None, (self.common, self.varies)))


def arrivals(rdp: RDP) -> list[Arrival]:
    """[Q] of every state; nothing is seen before the first, nor where an episode is over."""
    came = _came(rdp)
    return [_arrival(rdp, row) for row in came]


def _came(rdp: RDP) -> Int64:
    """[Q, Y] how often each symbol led to each state."""
    came = np.zeros((rdp.n_states, len(rdp.symbols)), np.int64)
    sources, symbols = np.nonzero(rdp.tau != UNSEEN)
    np.add.at(came, (rdp.tau[sources, symbols], symbols), rdp.taken()[sources, symbols])
    return came


def _arrival(rdp: RDP, times: Int64) -> Arrival:
    came = np.flatnonzero(times)
    actions = set(rdp.symbols[came, 0].tolist())
    seen = [y for y in came.tolist() if rdp.symbols[y, 1] != STOP]
    observations = [rdp.alphabet.observations[int(rdp.symbols[y, 1]) - STOP - 1] for y in seen]
    weights = times[seen]
    features = []
    for name, column in zip(rdp.alphabet.features, zip(*observations, strict=True), strict=False):
        often: dict[Value, int] = {}
        for value, weight in zip(column, weights.tolist(), strict=True):
            often[value] = often.get(value, 0) + weight
        ranked = sorted(often, key=lambda value: -often[value])  # among equals as the alphabet has them
        features.append(Feature(name, tuple(ranked), tuple(often[v] / int(weights.sum()) for v in ranked)))
    always = rdp.alphabet.action(actions.pop()) if len(actions) == 1 and min(actions) > PAD else None
    return Arrival(tuple(features), always)


def _percent(share: float) -> str:
    """Never 0 or 100 of what is not quite none or all."""
    whole = f"{100 * share:.0f}"
    return "< 1 %" if whole == "0" else "> 99 %" if whole == "100" and share < 1 else f"{whole} %"
