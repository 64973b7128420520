"""Events that distinguish a state from the most similar states.

The learner has a witness against one state, the nearest one when the state was promoted. Witnesses against others are
found here, in the counts. Two states differ *immediately* if an action is chosen, or leads to an observation and a
reward, more often in one than in the other (likelihood-ratio test: `bounds`). Otherwise they may differ later: both are
followed together, breadth first, to the first pair of states that differs immediately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from suffice.automata.histories import History
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.evidence.bounds import LIKELIHOOD_RATIO
from suffice.evidence.events import Chosen, OutcomeAt, Shown, StepsLater, Witness
from suffice.kernels.array_types import Float, Int64
from suffice.learning.merging import Decision

LEVEL = 1e-3  # probability that two equal states are reported as different
TABLE_CELLS = 1 << 20  # of a table that is computed at a time
BLOCK_STATES = 256  # states whose distances to all others are in memory at a time
MOST_PAIRS = 1 << 15  # pairs of states to follow; later differences would take too long to find
EVIDENCE_DIGITS = 9  # of evidence and distances; further digits are rounding errors and must not decide


class Reason(NamedTuple):
    """An event that distinguishes one state from another."""

    state: int  # numbered over all layers, as is the other
    other: int
    witness: Witness  # the event, with the counts of the state before those of the other
    first: History  # what has to happen in both states first; () if they differ immediately
    learned: bool  # found by the learner; else found afterwards in the counts


def reasons(rdp: RDP, decisions: Sequence[Decision], most: int = 5) -> list[list[Reason]]:
    """For each state, list reasons against the `most` nearest states of its layer, the nearest first.

    The learner's own reason comes before what the counts show for the same pair. A pair whose counts do not differ has
    none.
    """
    events, learned = _Events.of(rdp), _learned(rdp, decisions)
    near = _neighbours(rdp, events, most, learned)
    pairs = np.array([(q, other) for q, others in enumerate(near) for other in others], np.int64).reshape(-1, 2)
    walks = _Walks(rdp, events, pairs)
    found: list[list[Reason]] = [[] for _ in near]
    for q, other in pairs.tolist():
        if (q, other) in learned:
            found[q].append(Reason(q, other, learned[q, other], (), True))
        if (way := walks.way(q, other)) is not None:
            one, two, event, symbols = way
            first = tuple(map(rdp.symbol, symbols))
            found[q].append(Reason(q, other, events.witness(event, one, two, len(first)), first, False))
    return found


def _learned(rdp: RDP, decisions: Sequence[Decision]) -> dict[tuple[int, int], Witness]:
    """Return the learner's reasons by pair: each promoted state against its nearest, and the other way round."""
    offsets = rdp.offsets()
    found: dict[tuple[int, int], Witness] = {}
    for d in decisions:
        placed = d.placement
        if placed.promoted and placed.nearest is not None and placed.witness and placed.nearest != placed.target:
            pair = int(offsets[d.layer]) + placed.target, int(offsets[d.layer]) + placed.nearest
            found.setdefault(pair, placed.witness)
            found.setdefault((pair[1], pair[0]), placed.witness.swapped())
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Events:
    """Events that may come next in a state: an outcome given the action, or the choice of an action."""

    outcomes: tuple[Shown | Chosen, ...]  # [V]
    times: Int64  # [Q, V] how often each happened
    chances: Int64  # [Q, V] how often each could have happened

    @classmethod
    def of(cls, rdp: RDP) -> _Events:
        taken = np.zeros((rdp.n_states, rdp.alphabet.n_actions), np.int64)
        np.add.at(taken.T, rdp.letters[:, 0], rdp.counts.T)
        shown = np.flatnonzero(rdp.letters[:, 0] > PAD)
        outcomes: list[Shown | Chosen] = [Shown(*letter) for letter in rdp.letters[shown].tolist()]
        outcomes += [Chosen(action) for action in range(PAD, rdp.alphabet.n_actions)]
        choices = taken[:, PAD:]
        visits = np.broadcast_to(taken.sum(axis=1)[:, None], choices.shape)
        times = np.concatenate([rdp.counts[:, shown], choices], axis=1)
        return cls(tuple(outcomes), times, np.concatenate([taken[:, rdp.letters[shown, 0]], visits], axis=1))

    def differ(self, pairs: Int64) -> Int64:
        """Return [P] the event with most evidence for each pair [P, 2], UNSEEN where none has enough."""
        enough = float(LIKELIHOOD_RATIO.threshold(1, np.ones(1, np.int64), len(self.outcomes), LEVEL)[0])
        alone = _information(self.times, self.chances)
        most = np.full(len(pairs), UNSEEN, np.int64)
        step = max(TABLE_CELLS // len(self.outcomes), 1)
        for begin in range(0, len(pairs), step):
            one, other = pairs[begin : begin + step].T
            k, n = self.times[one] + self.times[other], self.chances[one] + self.chances[other]
            evidence = np.round(alone[one] + alone[other] - _information(k, n), EVIDENCE_DIGITS)  # G
            event = evidence.argmax(axis=1)
            distinct = evidence[np.arange(len(event)), event] >= enough
            most[begin : begin + step] = np.where(distinct, event, UNSEEN)
        return most

    def witness(self, event: int, one: int, other: int, later: int) -> Witness:
        """Count how often an event happens in two states, `later` steps after the compared ones."""
        (k1, n1), (k2, n2) = ((int(self.times[q, event]), int(self.chances[q, event])) for q in (one, other))
        return Witness(OutcomeAt(StepsLater(later), self.outcomes[event]), k1, n1, k2, n2)


def _information(k: Int64, n: Int64) -> Float:
    """Return n times the negative entropy of k in n; two samples minus their union give G of `bounds`."""

    def times_its_logarithm(x: Int64) -> Float:
        return np.asarray(x * np.log(np.maximum(x, 1)))

    return times_its_logarithm(k) + times_its_logarithm(n - k) - times_its_logarithm(n)


def _neighbours(rdp: RDP, events: _Events, most: int, learned: dict[tuple[int, int], Witness]) -> list[list[int]]:
    """List the states of its layer nearest to each state, including the one that the learner compared it with.

    The first state has none, because no action is chosen there.
    """
    traits, near = _traits(rdp, events), [[] for _ in range(rdp.n_states)]  # type: Float, list[list[int]]
    own = dict(reversed(learned))  # the first of several
    for begin, end in pairwise([1, *rdp.offsets()[1:].tolist()]):
        kept = min(most, end - begin - 1)
        for first in range(begin, end if kept > 0 else begin, BLOCK_STATES):
            block = traits[first : min(first + BLOCK_STATES, end)]
            distances = _distances(block, traits[begin:end])
            distances[np.arange(len(block)), np.arange(len(block)) + first - begin] = np.inf
            nearest = np.argpartition(distances, kept - 1, axis=1)[:, :kept]
            for i, row in enumerate(nearest.tolist()):
                q, by = first + i, distances[i]
                if q in own and own[q] - begin not in row:
                    row[max(range(kept), key=lambda j: by[row[j]])] = own[q] - begin
                near[q] = [begin + other for other in sorted(row, key=lambda other: by[other])]
    return near


def _traits(rdp: RDP, events: _Events) -> Float:
    """Return [Q, 2V] the square roots of the frequencies of each event next, and on average one step later.

    Every state counts the average once more, so that events with few chances make no difference.
    """
    usual = events.times.sum(axis=0) / np.maximum(events.chances.sum(axis=0), 1)
    here = np.sqrt((events.times + usual) / (events.chances + 1))
    taken, ahead = rdp.taken(), np.zeros_like(here)
    for y in np.flatnonzero(taken.any(axis=0)):
        ahead += taken[:, y, None] * here[rdp.tau[:, y]]  # an unseen transition has count 0
    return np.concatenate([here, ahead / np.maximum(taken.sum(axis=1), 1)[:, None]], axis=1)


def _distances(some: Float, others: Float) -> Float:
    """Return [S, O] squared Hellinger distances up to a factor, without ties in a row: the lower number is nearer.

    Traits are at most 1 and become integers whose products add up to less than 2⁵³, so that the order does not matter.
    """
    unit = 0.5 ** ((52 - some.shape[1].bit_length()) // 2)
    some, others = np.round(some / unit), np.round(others / unit)
    squares = unit**2 * ((some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * (some @ others.T))
    return np.asarray(
        np.round(np.maximum(squares, 0), EVIDENCE_DIGITS)
        + 10.0**-EVIDENCE_DIGITS * np.arange(len(others)) / len(others)
    )


class _Walks:
    """Pairs of states, followed together to where they differ."""

    def __init__(self, rdp: RDP, events: _Events, pairs: Int64) -> None:
        self._tau, self._taken, self._events = rdp.tau, rdp.taken(), events
        asked = np.unique(self._key(pairs.min(axis=1, initial=rdp.n_states), pairs.max(axis=1, initial=0)))
        keys, event, *ways = self._explore(asked)
        symbol = self._choose(keys, event, *ways)
        self._known = dict(zip(keys.tolist(), zip(event.tolist(), symbol.tolist(), strict=True), strict=True))

    def way(self, one: int, other: int) -> tuple[int, int, int, list[int]] | None:
        """Return where two states differ next, by which event, and the symbols that lead there; None if nowhere."""
        symbols: list[int] = []
        while True:
            event, symbol = self._known[min(one, other) * len(self._tau) + max(one, other)]
            if event != UNSEEN:
                return one, other, event, symbols
            if symbol == UNSEEN:
                return None
            symbols.append(symbol)
            one, other = int(self._tau[one, symbol]), int(self._tau[other, symbol])

    def _key(self, one: Int64, other: Int64) -> Int64:
        return np.asarray(np.minimum(one, other).astype(np.int64) * len(self._tau) + np.maximum(one, other))

    def _explore(self, keys: Int64) -> tuple[Int64, Int64, Int64, Int64, Int64]:
        """Search breadth first, from pairs that do not differ immediately to the pairs that follow them.

        Returns all pairs met, the event that distinguishes each immediately, and all steps: pair, symbol, pair.
        """
        known, events, ways, most = keys, [], [], len(keys) + MOST_PAIRS
        while len(keys):
            one, other = np.divmod(keys, len(self._tau))
            events.append(self._events.differ(np.stack([one, other], axis=1)))
            alike = events[-1] == UNSEEN
            mine, theirs = self._tau[one[alike]], self._tau[other[alike]]
            at, symbol = np.nonzero((mine != UNSEEN) & (theirs != UNSEEN) & (mine != theirs))
            target = self._key(mine[at, symbol], theirs[at, symbol])
            ways.append((keys[alike][at], symbol, target))
            keys = np.setdiff1d(target, known)[: max(most - len(known), 0)]
            known = np.concatenate([known, keys])
        source, symbol, target = (np.concatenate(parts) for parts in zip(*ways, strict=True)) if ways else [known] * 3
        order, inside = np.argsort(known), np.isin(target, known)
        event = np.concatenate([*events, known[:0]])[order]
        return known[order], event, source[inside], symbol[inside], target[inside]

    def _choose(self, keys: Int64, event: Int64, source: Int64, symbol: Int64, target: Int64) -> Int64:
        """Return [P] the symbol that begins the shortest way to a difference; of several, the most frequent in both."""
        one, other = np.divmod(source, len(self._tau))
        often = np.minimum(self._taken[one, symbol], self._taken[other, symbol])
        begin, end = np.searchsorted(keys, source), np.searchsorted(keys, target)
        never = len(keys) + 1
        steps = np.where(event == UNSEEN, never, 0)
        while True:
            shorter = steps.copy()
            np.minimum.at(shorter, begin, steps[end] + 1)
            if np.array_equal(shorter, steps):
                break
            steps = shorter
        shortest = np.flatnonzero((steps[begin] < never) & (steps[end] + 1 == steps[begin]))
        best = shortest[np.lexsort((symbol[shortest], -often[shortest], begin[shortest]))]
        found = np.full(len(keys), UNSEEN, np.int64)
        places, first = np.unique(begin[best], return_index=True)
        found[places] = symbol[best[first]]
        return found
