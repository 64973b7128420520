"""Events that distinguish a state from the most similar states.

The learner has a witness against one state, the nearest one when the state was promoted. Witnesses against others are
found here, in the counts. Two states differ *immediately* if an action is chosen, or leads to an observation and a
reward, more often in one than in the other (likelihood-ratio test: `bounds`). Otherwise they may differ later: both are
followed together, breadth first, to the first pair of states that differs immediately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from suffice.automata.edges import Edges
from suffice.automata.histories import History
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.evidence.bounds import LIKELIHOOD_RATIO
from suffice.evidence.events import Chosen, OutcomeAt, Shown, StepsLater, Witness
from suffice.kernels.array_types import Codes, Float, Int64
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
    events, learned = _Events(rdp), _learned(rdp, decisions)
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


class _Events:
    """Events that may come next in a state: an outcome given the action, or the choice of an action.

    Tables by state and event are as large as the automaton, so they are made for some states at a time.
    """

    def __init__(self, rdp: RDP) -> None:
        self._counts, actions = rdp.counts, rdp.alphabet.n_actions
        self._taken = np.concatenate(
            [_by_action(rdp.counts[rows], rdp.letters[:, 0], actions) for rows in rdp.blocks()]
        )
        self._visits = self._taken.sum(axis=1)  # [Q]
        self._shown = np.flatnonzero(rdp.letters[:, 0] > PAD)
        self._action = rdp.letters[self._shown, 0]
        shown = [Shown(*letter) for letter in rdp.letters[self._shown].tolist()]
        self.outcomes: tuple[Shown | Chosen, ...] = (*shown, *(Chosen(action) for action in range(PAD, actions)))  # [V]

    def of(self, states: Int64 | slice) -> tuple[Int64, Int64]:
        """Return [S, V] of some states, how often each event happened and how often it could have happened."""
        taken, visits = self._taken[states], self._visits[states]
        choices = taken[:, PAD:]
        times = np.concatenate([self._counts[states][:, self._shown], choices], axis=1)
        of_choices = np.broadcast_to(visits[:, None], choices.shape)
        return times, np.concatenate([taken[:, self._action], of_choices], axis=1)

    def differ(self, pairs: Int64) -> Int64:
        """Return [P] the event with most evidence for each pair [P, 2], UNSEEN where none has enough."""
        enough = float(LIKELIHOOD_RATIO.threshold(1, np.ones(1, np.int64), len(self.outcomes), LEVEL)[0])
        most = np.full(len(pairs), UNSEEN, np.int64)
        step = max(TABLE_CELLS // len(self.outcomes), 1)
        for begin in range(0, len(pairs), step):
            one, other = pairs[begin : begin + step].T
            (k1, n1), (k2, n2) = self.of(one), self.of(other)
            alone = _information(k1, n1) + _information(k2, n2)
            evidence = np.round(alone - _information(k1 + k2, n1 + n2), EVIDENCE_DIGITS)  # G
            event = evidence.argmax(axis=1)
            distinct = evidence[np.arange(len(event)), event] >= enough
            most[begin : begin + step] = np.where(distinct, event, UNSEEN)
        return most

    def witness(self, event: int, one: int, other: int, later: int) -> Witness:
        """Count how often an event happens in two states, `later` steps after the compared ones."""
        times, chances = self.of(np.array([one, other]))
        (k1, k2), (n1, n2) = times[:, event].tolist(), chances[:, event].tolist()
        return Witness(OutcomeAt(StepsLater(later), self.outcomes[event]), k1, n1, k2, n2)


def _by_action(counts: Int64, actions: Codes, n: int) -> Int64:
    """Add up counts [Q, X] to [Q, A] by the actions [X] of the letters."""
    taken = np.zeros((len(counts), n), np.int64)
    np.add.at(taken.T, actions, counts.T)
    return taken


def _information(k: Int64, n: Int64) -> Float:
    """Return n times the negative entropy of k in n; two samples minus their union give G of `bounds`."""

    def times_its_logarithm(x: Int64) -> Float:
        return np.asarray(x * np.log(np.maximum(x, 1)))

    return times_its_logarithm(k) + times_its_logarithm(n - k) - times_its_logarithm(n)


def _neighbours(rdp: RDP, events: _Events, most: int, learned: dict[tuple[int, int], Witness]) -> list[list[int]]:
    """List the states of its layer nearest to each state, including the one that the learner compared it with.

    The first state has none, because no action is chosen there.
    """
    near: list[list[int]] = [[] for _ in range(rdp.n_states)]
    own = dict(reversed(learned))  # the first of several
    for begin, end, traits in _traits(rdp, events):
        kept = min(most, end - begin - 1)
        for first in range(begin, end if kept > 0 else begin, BLOCK_STATES):
            block = traits[first - begin : min(first + BLOCK_STATES, end) - begin]
            distances = _distances(block, traits)
            distances[np.arange(len(block)), np.arange(len(block)) + first - begin] = np.inf
            nearest = np.argpartition(distances, kept - 1, axis=1)[:, :kept]
            for i, row in enumerate(nearest.tolist()):
                q, by = first + i, distances[i]
                if q in own and own[q] - begin not in row:
                    row[max(range(kept), key=lambda j: by[row[j]])] = own[q] - begin
                near[q] = [begin + other for other in sorted(row, key=lambda other: by[other])]
    return near


def _traits(rdp: RDP, events: _Events) -> Iterator[tuple[int, int, Float]]:
    """Yield the first state of each layer, the first after it, and the traits [Q_t, 2V] of its states.

    Traits are the square roots of the frequencies of each event next, and on average one step later. Every state counts
    the average once more, so that events with few chances make no difference.
    """
    sums = [[table.sum(axis=0) for table in events.of(rows)] for rows in rdp.blocks()]
    times, chances = (np.sum(columns, axis=0) for columns in zip(*sums, strict=True))
    usual, edges = times / np.maximum(chances, 1), rdp.edges()
    begins, offsets = edges.begins(rdp.n_states), rdp.offsets()

    def next_events(layer: int) -> tuple[int, Float]:
        states = slice(offsets[layer], offsets[layer + 1])
        times, chances = events.of(states)
        return states.start, np.sqrt((times + usual) / (chances + 1))

    following = next_events(0)
    for t, (begin, end) in enumerate(pairwise(offsets.tolist())):
        here = following[1]
        following = following if rdp.stationary or t + 1 == len(rdp.layers) else next_events(t + 1)
        ahead = _ahead(edges, begins[begin : end + 1], *following)
        first = max(begin, 1) - begin  # q_0 has no traits, because no action is chosen there
        yield begin + first, end, np.concatenate([here, ahead], axis=1)[first:]


def _ahead(edges: Edges, begins: Int64, first: int, values: Float) -> Float:
    """Return the means [Q_t, V] of the values of the next states, of which `first` has the values in row 0.

    `begins` [Q_t + 1] are the edges of the states. Edges are added in the order of symbols, so that sums are rounded
    in the same way everywhere.
    """
    leaving, ahead = np.diff(begins), np.zeros((len(begins) - 1, values.shape[1]))
    total = np.zeros(len(leaving), np.int64)
    for k in range(int(leaving.max(initial=0))):
        rows = np.flatnonzero(leaving > k)
        edge = begins[rows] + k
        ahead[rows] += edges.times[edge, None] * values[edges.target[edge] - first]
        total[rows] += edges.times[edge]
    return np.asarray(ahead / np.maximum(total, 1)[:, None])


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
        self._tau, self._events, self._edges = rdp.tau, events, rdp.edges()
        self._edge = self._edges.source * len(rdp.symbols) + self._edges.symbol  # [E] in order
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

    def _key(self, one: Codes, other: Codes) -> Int64:
        return np.asarray(np.minimum(one, other).astype(np.int64) * len(self._tau) + np.maximum(one, other))

    def _taken(self, state: Int64, symbol: Int64) -> Int64:
        """Return how often transitions, which exist, were taken."""
        return np.asarray(self._edges.times[np.searchsorted(self._edge, state * self._tau.shape[1] + symbol)])

    def _explore(self, keys: Int64) -> tuple[Int64, Int64, Int64, Int64, Int64]:
        """Search breadth first, from pairs that do not differ immediately to the pairs that follow them.

        Returns all pairs met, the event that distinguishes each immediately, and all steps: pair, symbol, pair.
        """
        known, events, ways, most = keys, [], [], len(keys) + MOST_PAIRS
        while len(keys):
            one, other = np.divmod(keys, len(self._tau))
            events.append(self._events.differ(np.stack([one, other], axis=1)))
            alike = np.flatnonzero(events[-1] == UNSEEN)
            steps = [
                self._steps(keys[block])
                for block in np.array_split(alike, len(alike) * self._tau.shape[1] // TABLE_CELLS + 1)
            ]
            ways.append([np.concatenate(columns) for columns in zip(*steps, strict=True)])
            keys = np.setdiff1d(ways[-1][2], known)[: max(most - len(known), 0)]
            known = np.concatenate([known, keys])
        source, symbol, target = (np.concatenate(parts) for parts in zip(*ways, strict=True)) if ways else [known] * 3
        order, inside = np.argsort(known), np.isin(target, known)
        event = np.concatenate([*events, known[:0]])[order]
        return known[order], event, source[inside], symbol[inside], target[inside]

    def _steps(self, keys: Int64) -> tuple[Int64, Int64, Int64]:
        """Return all steps from some pairs to pairs of different states: pair, symbol, pair."""
        one, other = np.divmod(keys, len(self._tau))
        mine, theirs = self._tau[one], self._tau[other]
        at, symbol = np.nonzero((mine != UNSEEN) & (theirs != UNSEEN) & (mine != theirs))
        return keys[at], symbol, self._key(mine[at, symbol], theirs[at, symbol])

    def _choose(self, keys: Int64, event: Int64, source: Int64, symbol: Int64, target: Int64) -> Int64:
        """Return [P] the symbol that begins the shortest way to a difference; of several, the most frequent in both."""
        one, other = np.divmod(source, len(self._tau))
        often = np.minimum(*(self._taken(state, symbol) for state in (one, other)))
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
