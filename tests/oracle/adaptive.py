"""AdaCT-H with a ladder of families, by definition: one rung after the other, one state at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from suffice.data.episodes import Episodes

from .adact import Candidate, Layer, Multiset, OracleDecision, OracleResult, Statistic, adact_h, make_layer, nearest
from .distinctness import Bound, threshold
from .languages import Letter, Suffix, SuffixAlphabet


@dataclass(frozen=True)
class LadderDecision(OracleDecision):
    """A decision with the rung of its distance and threshold, and all rungs used."""

    rung: int = -1
    asked: tuple[int, ...] = ()


@dataclass(frozen=True)
class LadderLayer:
    """A layer for each rung; all have the same suffixes."""

    rungs: list[Layer]

    @property
    def suffixes(self) -> list[Suffix]:
        """The suffixes, which all rungs share."""
        return self.rungs[0].suffixes

    @property
    def log_size(self) -> float:
        """ln |X| of the first rung."""
        return self.rungs[0].log_size


def shares(rungs: int) -> list[float]:
    """Return the shares of δ: 1/2, 1/4, …, and the last equal to the one before; they add up to 1."""
    return [1 / 2 ** (r + 1) for r in range(rungs - 1)] + [1 / 2 ** (rungs - 1)]


def attainable(bound: Bound, n1: int, n2: int) -> float:
    """Return the evidence of an event that occurs in all of one sample and none of the other."""
    if bound in ("paper", "two-sample"):
        return 1.0
    if bound == "likelihood-ratio":
        return -n1 * math.log(n1 / (n1 + n2)) - n2 * math.log(n2 / (n1 + n2))
    return math.log(math.comb(n1 + n2, n1))


def can_be_distinct(layer: Layer, n1: int, n2: int, delta: float) -> bool:
    """Return whether any counts would be distinct; Fisher's threshold is lowest if only one event is testable."""
    return attainable(layer.bound, n1, n2) >= threshold(layer.bound, layer.log_size, {}, delta, n1, n2)


def decide_by_rungs(
    t: int, layer: LadderLayer, candidate: Candidate, z: Multiset, states: list[Multiset], delta: float, rare: bool
) -> LadderDecision:
    """Decide about a candidate: a state is distinct as soon as it is distinct on one rung.

    A rung above the first is used for all undecided states, unless no possible counts would be distinct on it. The
    distance of an undecided state is the largest over all rungs used; the decision shows the rung on which the nearest
    was closest to its threshold. If none is undecided, the nearest is one that only the last rung distinguished.
    """
    if not states or layer.log_size == -math.inf:
        near = 0 if states else None
        return LadderDecision(t, candidate, z.total(), not states, near, 0.0 if states else None)
    said: dict[int, dict[int, tuple[float, float]]] = {}  # rung → state → distance, threshold
    undecided = list(range(len(states)))
    for r, (rung, share) in enumerate(zip(layer.rungs, shares(len(layer.rungs)), strict=True)):
        if r and not any(can_be_distinct(rung, z.total(), states[q].total(), delta * share) for q in undecided):
            continue
        said[r] = {q: rung.compare(z, states[q], delta * share) for q in undecided}
        undecided = [q for q in undecided if not said[r][q][0] >= said[r][q][1]]
        if not undecided:
            near = nearest({q: d for q, (d, _) in said[r].items()})
            return LadderDecision(t, candidate, z.total(), not rare, near, *said[r][near], r, tuple(said))
    near = nearest({q: max(compared[q][0] for compared in said.values()) for q in undecided})
    closest = max(said, key=lambda r: said[r][near][0] / said[r][near][1])
    return LadderDecision(t, candidate, z.total(), False, near, *said[closest][near], closest, tuple(said))


def adaptive_adact_h(
    episodes: Episodes,
    ladder: Sequence[Statistic],
    bound: Bound,
    delta: float | Callable[[int], float],
    cut: float = 0.0,
) -> OracleResult:
    """Run AdaCT-H with a ladder of families, smallest first."""

    def layers(
        bound: Bound, gamma: SuffixAlphabet, logged: Iterable[Letter], suffixes: Sequence[Suffix]
    ) -> LadderLayer:
        return LadderLayer([make_layer(rung, bound, gamma, logged, suffixes) for rung in ladder])

    return adact_h(episodes, layers, bound, delta, cut, decide_by_rungs)
