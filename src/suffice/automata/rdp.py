"""The transducer of a Regular Decision Process: ⟨Q, AO, τ, θ_o, θ_r, q_0⟩, layered by time or the same at all times.

States are numbered layer by layer, q_0 = 0 first, within a layer in the order of promotion. Instead of the output
functions θ the automaton keeps what they are estimated from: how often each state met each letter.

A *stationary* automaton has a single layer, and its transitions may lead back. Its counts leave the last step of the
log out, where every episode is cut: it is counted by itself, since it still tells rewards. If episodes ended before,
the state they ended in comes last, and stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.histories import History, Symbol
from suffice.data.alphabet import PAD, STOP, Alphabet, Value
from suffice.data.episodes import Episodes, weights
from suffice.data.log import Log, ask
from suffice.data.queries import View, added
from suffice.errors import ModelError
from suffice.kernels import walking
from suffice.kernels.array_types import Codes, Int32, Int64

UNSEEN = -1
MOST_COUNTED = 1 << 62  # all counts together: their sums do not overflow
MOST_UNROLLED = 1 << 29  # cells of the tables that unrolling makes: four gigabytes each


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How often episodes were in each state of an automaton, and what they met there."""

    counts: Int64  # [Q, X] by letter
    lost: Int64  # [Q, A] by action: what followed is no transition of the automaton

    def visits(self) -> Int64:
        """[Q]."""
        return np.asarray(self.counts.sum(axis=1) + self.lost.sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RDP:
    """An automaton over action-observation pairs and what its states were seen to do.

    >>> model.rdp
    <RDP: 11 states in layers 1 1 2 2 2 2 1>
    >>> model.rdp.symbol(0)
    (None, (0, 0, 'clear'))
    >>> model.rdp.outputs(0, None)
    [((0, 0, 'clear'), 0.0, 153), ((1, 0, 'clear'), 0.0, 147)]
    """

    alphabet: Alphabet
    letters: Codes  # [X, 3] action, observation and reward codes
    symbols: Codes  # [Y, 2] action and observation codes
    layers: Int64  # [H+2] states per layer, q_0 first, the one final state last; [1] if stationary
    tau: Int32  # [Q, Y] successor, UNSEEN where the log has none
    counts: Int64  # [Q, X] how often each state met each letter
    steps: int | None = None  # H of a stationary automaton: of the episodes it was learned from, and plans for
    cut: Int64 | None = None  # [Q, X] what its states met at step H, where the log was cut; only rewards tell

    @classmethod
    def of_layers(
        cls, alphabet: Alphabet, letters: Codes, symbols: Codes, tau: Sequence[Int64], counts: Sequence[Int64]
    ) -> RDP:
        """From one table of places in the next layer [Q_t, Y] and one of counts [Q_t, X] for each of layers 0..H."""
        layers = np.array([len(rows) for rows in tau] + [1], np.int64)
        offsets = np.concatenate([[0], np.cumsum(layers)])
        whole = np.full((int(layers.sum()), len(symbols)), UNSEEN, np.int32)
        met = np.zeros((len(whole), len(letters)), np.int64)
        for t, rows in enumerate(tau):
            whole[offsets[t] : offsets[t + 1]] = np.where(rows == UNSEEN, UNSEEN, rows + offsets[t + 1])
            met[offsets[t] : offsets[t + 1]] = counts[t]
        return cls(alphabet, letters, symbols, layers, whole, met)

    def __post_init__(self) -> None:
        self._check_shapes()
        self._check_codes()
        self._check_transitions()
        for array in (self.letters, self.symbols, self.layers, self.tau, self.counts, self.cut):
            if array is not None:
                array.setflags(write=False)

    def _check_shapes(self) -> None:
        arrays = (self.letters, self.symbols, self.layers, self.tau, self.counts)
        if any(array.dtype.kind not in "iu" for array in arrays):
            raise ModelError("letters, symbols, layers, transitions and counts of an RDP must be integers")
        if self.layers.ndim != 1 or len(self.layers) < 1 or self.layers.min() < 1:
            raise ModelError("an RDP needs layers, each with a state")
        if self.stationary != (self.steps is not None) or (self.steps is not None and self.steps < 0):
            raise ModelError("an RDP has a layer for each step, or a single one and a horizon")
        if not self.stationary and (self.layers[0] != 1 or self.layers[-1] != 1):
            raise ModelError("an RDP has one first and one final state")
        if self.cut is not None and (self.cut.shape != self.counts.shape or self.cut.min(initial=0) < 0):
            raise ModelError("what an RDP met at the last step must be counts, as many as all others")
        n = int(self.layers.sum())
        if self.tau.shape != (n, len(self.symbols)) or self.counts.shape != (n, len(self.letters)):
            raise ModelError("an RDP needs one row of transitions and of counts for each state")

    def _check_codes(self) -> None:
        alphabet = self.alphabet
        limits = np.array([alphabet.n_actions, alphabet.n_observations, len(alphabet.rewards)])
        if self.letters.shape[1:] != (3,) or np.any((self.letters < 0) | (self.letters >= limits)):
            raise ModelError("the letters of an RDP must be codes of its alphabet")
        if not np.array_equal(self.symbols, np.unique(self.letters[:, :2], axis=0)):
            raise ModelError("the symbols of an RDP must be those of its letters, in order")

    def _check_transitions(self) -> None:
        layer = self.layer_of()
        sources, symbols = np.nonzero(self.tau != UNSEEN)
        targets = self.tau[sources, symbols]
        outside = bool(np.any((targets < 0) | (targets >= len(layer))))
        if outside or (not self.stationary and np.any(layer[targets] != layer[sources] + 1)):
            following = "one of its states" if self.stationary else "a state of the next layer"
            raise ModelError(f"a transition of an RDP must lead to {following}")
        if np.any(self.counts < 0) or np.any((self.counts > 0) & (self.tau == UNSEEN)[:, self.symbol_of_letter()]):
            raise ModelError("an RDP has counts where it has transitions, and none below 0")
        if self.counts.sum(dtype=np.float64) > MOST_COUNTED:
            raise ModelError("the counts of an RDP add up to less than 2**62")

    def __repr__(self) -> str:
        layers = "one layer" if self.stationary else f"layers {' '.join(map(str, self.layers))}"
        return f"<RDP: {self.n_states} states in {layers}>"

    @property
    def stationary(self) -> bool:
        """Whether it is the same at all times."""
        return len(self.layers) == 1

    @property
    def horizon(self) -> int:
        """H."""
        return len(self.layers) - 2 if self.steps is None else self.steps

    @property
    def n_states(self) -> int:
        """Q, all layers together."""
        return int(self.layers.sum())

    def offsets(self) -> Int64:
        """[H+3] the first state of each layer."""
        return np.concatenate([[0], np.cumsum(self.layers)])

    def layer_of(self) -> Int64:
        """[Q] the layer of each state."""
        return np.repeat(np.arange(len(self.layers)), self.layers)

    def symbol(self, y: int) -> Symbol:
        """A symbol as it was logged."""
        a, o = (int(code) for code in self.symbols[y])
        return self.alphabet.action(a), self.alphabet.observation(o)

    def symbol_of_letter(self) -> NDArray[np.intp]:
        """[X] the symbol of each letter."""
        wide = self.alphabet.n_observations
        keys, pairs = (a[:, 0].astype(np.int64) * wide + a[:, 1] for a in (self.symbols, self.letters))
        return np.searchsorted(keys, pairs)

    def outputs(self, q: int, action: Value | None) -> list[tuple[tuple[Value, ...] | None, float, int]]:
        """θ(q, a) as counts: which observation and reward followed the action, and how often."""
        rows = [
            (int(a), int(o), int(r), int(k)) for (a, o, r), k in zip(self.letters, self.counts[q], strict=True) if k
        ]
        alphabet = self.alphabet
        return [
            (alphabet.observation(o), alphabet.rewards[r], k) for a, o, r, k in rows if alphabet.action(a) == action
        ]

    def rewards_seen(self, q: int, symbol: Symbol) -> set[float]:
        """The rewards that came with a symbol."""
        return {reward for observation, reward, _ in self.outputs(q, symbol[0]) if observation == symbol[1]}

    def taken(self) -> Int64:
        """[Q, Y] how often each transition was taken."""
        taken = np.zeros(self.tau.shape, np.int64)
        np.add.at(taken.T, self.symbol_of_letter(), self.counts.T)
        return taken

    def most_like(self) -> Int32:
        """[H+1, Y] the state that a symbol most often led to at a step, whatever came before; UNSEEN if to none.

        [1, Y] if stationary.
        """
        arrived = np.zeros((self.n_states, len(self.symbols)), np.int64)
        sources, symbols = np.nonzero(self.tau != UNSEEN)
        np.add.at(arrived, (self.tau[sources, symbols], symbols), self.taken()[sources, symbols])
        offsets = self.offsets() if self.stationary else self.offsets()[1:]  # of the layers that are led to
        like = np.full((len(offsets) - 1, len(self.symbols)), UNSEEN, np.int32)
        for t, (begin, end) in enumerate(pairwise(offsets)):
            layer = arrived[begin:end]
            like[t] = np.where(layer.any(axis=0), layer.argmax(axis=0) + begin, UNSEEN)
        return like

    def typical_histories(self) -> list[History]:
        """For each state a shortest history that leads to it, by the most frequent transitions; () if none does."""
        taken = self.taken()
        histories: dict[int, History] = {0: ()}
        reached = [0]
        while reached:
            most: dict[int, tuple[int, int, int]] = {}  # by target: how often, from where, by which symbol
            for q in reached:
                for y in np.flatnonzero(self.tau[q] != UNSEEN).tolist():
                    target = int(self.tau[q, y])
                    if target not in histories and taken[q, y] > most.get(target, (0,))[0]:
                        most[target] = int(taken[q, y]), q, y
            for target, (_, q, y) in most.items():
                histories[target] = (*histories[q], self.symbol(y))
            reached = sorted(most)
        return [histories.get(q, ()) for q in range(self.n_states)]

    def run(self, history: History) -> int:
        """τ̄: the state after a history of (action, observation) pairs, UNSEEN if the log never took it."""
        index = {self.symbol(y): y for y in range(len(self.symbols))}
        q = 0
        for symbol in history:
            y = index.get(symbol, UNSEEN)
            q = int(self.tau[q, y]) if y != UNSEEN else UNSEEN
            if q == UNSEEN:
                return UNSEEN
        return q

    def run_all(self, episodes: Episodes) -> Int32:
        """The states of every episode, [H+2, N], UNSEEN from where a history was never logged; any log will do.

        [H+1, N] if stationary, for as many steps as the log has: where it was cut, nothing is known to follow.
        """
        # an extra row and column to stay unseen in: UNSEEN is the last of each
        tau = np.full((self.n_states + 1, len(self.symbols) + 1), UNSEEN, np.int32)
        tau[:-1, :-1] = self.tau
        symbol, states = self.symbols_in(episodes), np.zeros((self.steps_in(episodes) + 1, episodes.n), np.int32)
        for t, word in enumerate(episodes.word[: len(states) - 1]):
            states[t + 1] = tau[states[t], symbol[word]]
        return states

    def steps_in(self, episodes: Episodes) -> int:
        """Of a log, that the automaton may take."""
        return episodes.horizon if self.stationary else min(len(episodes.word), self.horizon + 1)

    def symbols_in(self, episodes: Episodes) -> Int64:
        """[X] the symbol here of each letter of a log, UNSEEN where this automaton has none."""
        index = {self.symbol(y): y for y in range(len(self.symbols))}
        alphabet = episodes.alphabet
        seen = [(alphabet.action(a), alphabet.observation(o)) for a, o, _ in episodes.letters.tolist()]
        return np.array([index.get(symbol, UNSEEN) for symbol in seen], np.int64)

    def unseen_decisions(self, episodes: Episodes) -> NDArray[np.bool_]:
        """[H, N] which decisions of other episodes came after a history that the automaton has not seen."""
        acts = np.asarray((episodes.letters[:, 0] != PAD)[episodes.word[1:]])
        states = self.run_all(episodes)[1 : len(acts) + 1]
        acts[: len(states)] &= states == UNSEEN  # whatever is longer than the automaton is unseen
        return acts

    def own_tally(self) -> Tally:
        """Of the episodes that the automaton was learned from."""
        return Tally(self.counts, np.zeros((self.n_states, self.alphabet.n_actions), np.int64))

    def tally(self, episodes: Log) -> Tally:
        """Of any episodes, with their weights."""
        return ask(episodes, _Tallied(self))

    def codes_in(self, episodes: Episodes) -> tuple[Int64, Int64]:
        """The letter and the action code here of each letter of a log, UNSEEN where this alphabet has none."""

        def words(alphabet: Alphabet, letters: Codes) -> list[tuple[object, object, float]]:
            return [(alphabet.action(a), alphabet.observation(o), alphabet.rewards[r]) for a, o, r in letters.tolist()]

        theirs = words(episodes.alphabet, episodes.letters)
        letters = {word: x for x, word in enumerate(words(self.alphabet, self.letters))}
        actions: dict[object, int] = {self.alphabet.action(code): code for code in range(self.alphabet.n_actions)}
        return (
            np.array([letters.get(word, UNSEEN) for word in theirs]),
            np.array([actions.get(word[0], UNSEEN) for word in theirs]),
        )

    def unroll(self, most: int | None = None) -> tuple[RDP, Int64]:
        """A stationary automaton as a layered one over its horizon, and the state that each state of it stands for.

        It is refused if it has more states than `most`, or than there is room for.

        Counts are those of the states, whatever the step. What the last action shows is not seen any more: its outcomes
        differ by their rewards alone, as in the log.
        """
        room = MOST_UNROLLED // max(len(self.letters), len(self.symbols))
        most = room if most is None else min(most, room)
        stands, states = [np.zeros(1, np.int64)], 2  # the first and the final one
        for _ in range(self.horizon):
            targets = self.tau[stands[-1]]
            stands.append(np.unique(targets[targets != UNSEEN]).astype(np.int64))
            states += max(len(stands[-1]), 1)
            if states > most:
                raise ModelError(f"over {self.horizon:,} steps this automaton has more than {most:,} states")
        cut, tau = self._cut_counts(), []
        for now, then in pairwise(stands):
            place = np.searchsorted(then, self.tau[now])
            tau.append(np.where(self.tau[now] == UNSEEN, UNSEEN, place))
        last = np.zeros((len(stands[-1]), len(self.symbols)), np.int64)
        np.add.at(last.T, self.symbol_of_letter(), cut[stands[-1]].T)
        tau.append(np.where(last > 0, 0, UNSEEN))
        counts = [*(self.counts[now] for now in stands[:-1]), cut[stands[-1]]]
        layered = RDP.of_layers(self.alphabet, self.letters, self.symbols, tau, counts)
        return layered, np.concatenate([*stands, [self.n_states - 1]])  # the final state stands for none

    def _cut_counts(self) -> Int64:
        """[Q, X] with o_⊥ in place of what was seen, and what was met at the last step itself."""
        counts = np.zeros_like(self.counts)
        np.add.at(counts.T, self.when_cut(), self.counts.T)
        return counts if self.cut is None else counts + self.cut

    def when_cut(self) -> Int64:
        """[X] each letter with o_⊥ in place of what was seen, where the log has such a letter."""
        number = {tuple(letter): x for x, letter in enumerate(self.letters.tolist())}
        return np.array([number.get((a, STOP, r), x) for x, (a, _, r) in enumerate(self.letters.tolist())])

    def minimise(self) -> RDP:
        """The smallest automaton with the same outputs: merge states of a layer whose counts are, action by action,
        proportional, and whose successors are merged; from the last layer backwards.
        """
        if self.stationary:
            raise ModelError("only layered automata are minimised; unroll a stationary one first")
        of_letter = self.symbol_of_letter()
        offsets = self.offsets()
        merged = np.zeros(self.n_states, np.int32)  # place in the smaller layer
        layers = np.ones_like(self.layers)
        for t in range(self.horizon, -1, -1):
            found: dict[tuple[object, ...], int] = {}
            for q in range(offsets[t], offsets[t + 1]):
                merged[q] = found.setdefault(self._behaviour(q, of_letter, merged), len(found))
            layers[t] = len(found)
        place = merged + np.concatenate([[0], np.cumsum(layers)])[self.layer_of()]
        tau = np.full((int(layers.sum()), len(self.symbols)), UNSEEN, np.int32)
        sources, symbols = np.nonzero(self.tau != UNSEEN)
        tau[place[sources], symbols] = place[self.tau[sources, symbols]]
        counts = np.zeros((len(tau), len(self.letters)), np.int64)
        np.add.at(counts, place, self.counts)
        return RDP(self.alphabet, self.letters, self.symbols, layers, tau, counts)

    def _behaviour(self, q: int, of_letter: NDArray[np.intp], merged: Int32) -> tuple[object, ...]:
        """θ(q, ·) in lowest terms with the successor of each letter."""
        seen = np.flatnonzero(self.counts[q])
        by_action: dict[int, list[tuple[int, int, int]]] = {}
        for x in seen:
            successor = int(merged[self.tau[q, of_letter[x]]])
            by_action.setdefault(int(self.letters[x, 0]), []).append((int(x), int(self.counts[q, x]), successor))
        shares: list[object] = []
        for rows in by_action.values():
            unit = reduce(gcd, (k for _, k, _ in rows))
            shares.append(tuple((x, k // unit, s) for x, k, s in rows))
        return tuple(shares)


class _Tallied(NamedTuple):
    """What the states of an automaton met, as `Tally` has it."""

    rdp: RDP

    def __call__(self, view: View) -> Tally:
        """See `Question`."""
        rdp, episodes = self.rdp, view.episodes
        codes = rdp.symbols_in(episodes), *rdp.codes_in(episodes)
        counts = np.zeros(rdp.counts.shape, np.int64)  # large, and of which little may be touched
        lost = np.zeros((rdp.n_states, rdp.alphabet.n_actions), np.int64)
        state = np.zeros(episodes.n, np.int32)
        for word in episodes.word[: rdp.steps_in(episodes)]:
            walking.tally_along(state, rdp.tau, *codes, word, weights(episodes), counts, lost)
        return Tally(counts, lost)

    def together(self, answers: list[Tally]) -> Tally:
        """See `Question`."""
        return Tally(added([answer.counts for answer in answers]), added([answer.lost for answer in answers]))


BEHAVE = -1  # instead of an action: choose as the log did
