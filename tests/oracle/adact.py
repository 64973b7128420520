"""AdaCT-H by definition: layers, candidates, greedy merging.

Theory: docs/theory.md, sections 2 and 4; paper, appendix A.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes

from .distinctness import Bound, event_distance, threshold
from .languages import Conjunctions, Languages, Letter, Members, Suffix, SuffixAlphabet, language_events
from .languages import log_size as log_size_of_languages
from .prefixes import Prefixes, prefix_events
from .prefixes import log_size as log_size_of_prefixes

Statistic = Languages | Conjunctions | Prefixes
Symbol = tuple[int, int]  # ao
Candidate = tuple[int, Symbol]  # qao
Multiset = Counter[int]  # Z: how often each suffix of the layer, by its position
Decide = Callable[..., "OracleDecision"]  # as `decide` below

SAME_DISTANCE = 1e-12


@dataclass(frozen=True)
class OracleDecision:
    """The decision about one candidate. `t` is its layer, 1..H+1.

    `nearest` is the state that it joins, or for a promoted candidate the nearest of all; None for the first of a layer.
    """

    t: int
    candidate: Candidate
    n: int
    promoted: bool
    nearest: int | None = None
    distance: float | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class OracleResult:
    """The automaton: states of layers 0..H+1, τ(t, q, ao) for t = 0..H; all decisions; ln |X| of layers 1..H."""

    layers: list[int] = field(default_factory=lambda: [1])
    tau: dict[tuple[int, int, Symbol], int] = field(default_factory=dict)
    decisions: list[OracleDecision] = field(default_factory=list)
    log_sizes: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Layer:
    """The suffixes from step t and the events by which they are compared."""

    bound: Bound
    suffixes: list[Suffix]  # distinct, all of length ℓ
    events: Counter[Members]
    log_size: float

    def counts(self, z1: Multiset, z2: Multiset) -> Counter[tuple[int, int]]:
        """Count the events by (k₁, k₂)."""
        result: Counter[tuple[int, int]] = Counter()
        for members, events in self.events.items():
            result[sum(z1[s] for s in members), sum(z2[s] for s in members)] += events
        return result

    def compare(self, z1: Multiset, z2: Multiset, delta: float) -> tuple[float, float]:
        """Return the distance, the maximum over X (0 where X is empty), and the threshold."""
        n1, n2 = z1.total(), z2.total()
        counts = self.counts(z1, z2)
        events_by_k: Counter[int] = Counter()
        for (k1, k2), events in counts.items():
            events_by_k[k1 + k2] += events
        distance = max((event_distance(self.bound, k1, n1, k2, n2) for k1, k2 in counts), default=0.0)
        return distance, threshold(self.bound, self.log_size, events_by_k, delta, n1, n2)


def make_layer(
    statistic: Statistic, bound: Bound, gamma: SuffixAlphabet, logged: Iterable[Letter], suffixes: Iterable[Suffix]
) -> Layer:
    """Return the layer of these suffixes; if they are empty (ℓ = 0) there are no events."""
    distinct = sorted(set(suffixes))
    ell = len(distinct[0])
    if ell == 0:
        return Layer(bound, distinct, Counter(), -math.inf)
    if isinstance(statistic, Prefixes):
        return Layer(bound, distinct, prefix_events(distinct), log_size_of_prefixes(gamma, ell))
    events = _language_events(statistic, gamma, frozenset(logged), tuple(distinct))
    return Layer(bound, distinct, events, log_size_of_languages(statistic, gamma, ell))


_language_events = lru_cache(maxsize=64)(language_events)  # shared by all bounds


def distance(
    statistic: Statistic, gamma: SuffixAlphabet, z1: Sequence[Suffix], z2: Sequence[Suffix], bound: Bound = "paper"
) -> float:
    """Return the distance between two multisets of suffixes of one length."""
    layer = make_layer(statistic, bound, gamma, gamma.letters(), [*z1, *z2])
    position = {x: s for s, x in enumerate(layer.suffixes)}
    return layer.compare(Counter(position[x] for x in z1), Counter(position[x] for x in z2), delta=0.5)[0]


def suffix_alphabet(episodes: Episodes) -> SuffixAlphabet:
    """Return A, O and R of steps 1..H, or as declared (docs/theory.md, section 1)."""
    actions, observations, rewards = (tuple(codes.tolist()) for codes in episodes.suffix_alphabet())
    return SuffixAlphabet(actions, observations, rewards, episodes.alphabet.observations)


def spell(episodes: Episodes) -> list[Suffix]:
    """Return each episode as its H+1 letters."""
    letters: list[Letter] = [(a, o, r) for a, o, r in episodes.letters.tolist()]
    return [tuple(letters[code] for code in column) for column in episodes.word.T.tolist()]


def nearest(distances: dict[int, float]) -> int:
    """Return the oldest of the states at the smallest distance, up to 1e-12."""
    smallest = min(distances.values())
    return min(q for q, d in distances.items() if d <= smallest + SAME_DISTANCE)


def merge_layer(
    t: int,
    layer: Any,
    candidates: dict[Candidate, Multiset],
    delta: float,
    cut: float,
    decide: Decide,
    ended_apart: bool = False,
) -> tuple[list[OracleDecision], dict[Candidate, int]]:
    """Return the decisions of layer t in their order, and the state of every candidate.

    Candidates are ordered by descending |Z|, then (q, a, o). The first is promoted, and so is every other that is
    distinct from all states and not rarer than `cut`. The rest join the nearest state from which they are not distinct,
    or the nearest of all if there is none. With `ended_apart`, terminated histories share one state, untested.
    """
    total = sum(z.total() for z in candidates.values())
    goes_on = ended_apart and any(layer.suffixes)  # ℓ > 0
    states: list[Multiset | None] = []  # None: the state of terminated histories
    decisions: list[OracleDecision] = []
    state_of: dict[Candidate, int] = {}
    for candidate in sorted(candidates, key=lambda c: (-candidates[c].total(), c)):
        z = candidates[candidate]
        if goes_on and candidate[1][1] == STOP:
            if None in states:
                decisions.append(OracleDecision(t, candidate, z.total(), False, states.index(None), 0.0))
            else:
                decisions.append(OracleDecision(t, candidate, z.total(), promoted=True))
                states.append(None)
            state_of[candidate] = states.index(None)
            continue
        running = [q for q, state in enumerate(states) if state is not None]
        others = [state for state in states if state is not None]
        decision = decide(t, layer, candidate, z, others, delta, rare=z.total() / total < cut)
        if decision.nearest is not None:
            decision = replace(decision, nearest=running[decision.nearest])
        decisions.append(decision)
        if decision.nearest is None or decision.promoted:
            state_of[candidate] = len(states)
            states.append(z)
        else:
            state_of[candidate] = decision.nearest
            states[decision.nearest] = others[running.index(decision.nearest)] + z
    return decisions, state_of


def decide(
    t: int, layer: Layer, candidate: Candidate, z: Multiset, states: list[Multiset], delta: float, rare: bool
) -> OracleDecision:
    """Decide about a candidate with the multiset z, given the states of its layer so far."""
    if not states:
        return OracleDecision(t, candidate, z.total(), promoted=True)
    compared = {q: layer.compare(z, states[q], delta) for q in range(len(states))}
    distances = {q: d for q, (d, _) in compared.items()}
    similar = {q: d for q, (d, limit) in compared.items() if not d >= limit}
    near = nearest(similar or distances)
    return OracleDecision(t, candidate, z.total(), not similar and not rare, near, *compared[near])


def adact_h(
    episodes: Episodes,
    statistic: Statistic | Callable[..., Any],
    bound: Bound,
    delta: float | Callable[[int], float],
    cut: float = 0.0,
    decide: Decide = decide,
    ended_apart: bool = False,
) -> OracleResult:
    """Run AdaCT-H; with `cut` > 0 AdaCT-H-A, which promotes no candidate rarer than that. δ may depend on C_t.

    Another `decide` may use its own layers, created by a function in place of the statistic.
    """
    make = statistic if callable(statistic) else partial(make_layer, statistic)
    gamma, log = suffix_alphabet(episodes), spell(episodes)
    weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    logged = {letter for e in log for letter in e[1:]}
    result = OracleResult()
    state = [0] * len(log)  # state of each episode before step t
    for t in range(episodes.horizon + 1):
        layer = make(bound, gamma, logged, [e[t + 1 :] for e in log])
        position = {x: s for s, x in enumerate(layer.suffixes)}
        candidate_of = [(q, e[t][:2]) for q, e in zip(state, log, strict=True)]
        candidates: dict[Candidate, Multiset] = {}
        for candidate, e, weight in zip(candidate_of, log, weights, strict=True):
            candidates.setdefault(candidate, Counter())[position[e[t + 1 :]]] += weight
        level = delta(len(candidates)) if callable(delta) else delta
        decisions, state_of = merge_layer(t + 1, layer, candidates, level, cut, decide, ended_apart)
        result.layers.append(len(set(state_of.values())))
        result.tau.update({(t, q, ao): state_of[q, ao] for q, ao in candidates})
        result.decisions.extend(decisions)
        if t < episodes.horizon:
            result.log_sizes.append(layer.log_size)
        state = [state_of[candidate] for candidate in candidate_of]
    return result
