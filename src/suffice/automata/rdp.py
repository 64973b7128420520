"""The transducer of a Regular Decision Process: ⟨Q, AO, τ, θ_o, θ_r, q_0⟩, layered by time or the same at all times.

States are numbered layer by layer, q_0 = 0 first, within a layer in the order of promotion. Instead of the output
functions θ the automaton keeps what they are estimated from: how often each state met each letter.

A *stationary* automaton has a single layer, and its transitions may lead back. Its counts leave the last step of the
log out, where every episode is cut: it is counted by itself, since it still tells rewards. If episodes ended before,
the state they ended in comes last, and stays.

Callers need not know the kind: `unroll` gives layers of either, `layer_at` and `states_at` what there is at a step,
`limit` and `final` where a layered automaton ends, and `labels`, `addresses` and `shares` what to call a state and
how often it is visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from suffice.automata.histories import History, Symbol
from suffice.automata.minimise import merge_equivalent
from suffice.automata.tally import Tally, TallyQuery, steps_walked
from suffice.automata.unroll import unroll
from suffice.automata.vocabulary import UNSEEN as UNSEEN
from suffice.automata.vocabulary import Vocabulary
from suffice.data.alphabet import PAD, Alphabet, Value
from suffice.data.episodes import Episodes
from suffice.data.log import Log, run_query
from suffice.errors import ModelError
from suffice.kernels.array_types import Codes, Float, Int32, Int64

MOST_COUNTED = 1 << 62  # all counts together: their sums do not overflow


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
        if outside or np.any(layer[targets] != layer[sources] + self.layer_at(1)):
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
    def limit(self) -> int | None:
        """The most decisions that an episode may have, None if any number."""
        return None if self.stationary else self.horizon

    @property
    def final(self) -> int | None:
        """The state that follows the last step; a stationary automaton has none."""
        return None if self.stationary else self.n_states - 1

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

    def layer_at(self, step: int) -> int:
        """The layer of a step; a stationary automaton has a single one."""
        return 0 if self.stationary else step

    def states_at(self, step: int) -> slice:
        """The states of a step."""
        begin, end = self.offsets()[self.layer_at(step) :][:2].tolist()
        return slice(begin, end)

    def addresses(self) -> list[dict[str, int]]:
        """[Q] the layer `t` of each state and its place there, `state`; without `t` if there is a single layer."""
        layer = self.layer_of()
        places = (np.arange(self.n_states) - self.offsets()[layer]).tolist()
        if self.stationary:
            return [{"state": place} for place in places]
        return [{"t": t, "state": place} for t, place in zip(layer.tolist(), places, strict=True)]

    def labels(self) -> list[str]:
        """[Q] a short name of each state: layer and place, "3.1", or its number if there is a single layer."""
        return [".".join(map(str, address.values())) for address in self.addresses()]

    def shares(self) -> Float:
        """[Q] how much of the log visits a state: the share of the episodes or, if stationary, of all steps."""
        visits = self.counts.sum(axis=1)
        return np.asarray(visits / (visits.sum() if self.stationary else visits[0]))

    @property
    def vocabulary(self) -> Vocabulary:
        """Its letters and symbols."""
        return Vocabulary(self.alphabet, self.letters, self.symbols)

    def symbol(self, y: int) -> Symbol:
        """A symbol as it was logged."""
        return self.vocabulary.symbol(y)

    def symbol_of_letter(self) -> NDArray[np.intp]:
        """[X] the symbol of each letter."""
        return self.vocabulary.symbol_of_letter()

    def symbols_in(self, episodes: Episodes) -> Int64:
        """[X] the symbol here of each letter of another log, UNSEEN where there is none."""
        return self.vocabulary.symbols_in(episodes)

    def codes_in(self, episodes: Episodes) -> tuple[Int64, Int64]:
        """The letter and the action code here of each letter of another log, UNSEEN where there is none."""
        return self.vocabulary.codes_in(episodes)

    def when_cut(self) -> Int64:
        """[X] each letter with o_⊥ in place of what was seen, where the log has such a letter."""
        return self.vocabulary.when_cut()

    def steps_in(self, episodes: Episodes) -> int:
        """How many steps of another log are transitions here."""
        return steps_walked(episodes.horizon, self.limit)

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
        offsets = self.offsets()[self.layer_at(1) :]  # of the layers that are led to
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
        index, q = self.vocabulary.index(), 0
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
        return run_query(episodes, TallyQuery(self.vocabulary, self.tau, self.limit))

    def unroll(self, most: int | None = None) -> tuple[RDP, Int64]:
        """The automaton with a layer for each step of its horizon, and the state that each of its states stands for.

        A layered automaton is this itself. It is refused if it has more states than `most`, or than there is room for.
        """
        if not self.stationary:
            return self, np.arange(self.n_states)
        found = unroll(self.vocabulary, self.tau, self.counts, self.cut, self.horizon, most)
        layered = RDP.of_layers(self.alphabet, self.letters, self.symbols, found.tau, found.counts)
        return layered, np.concatenate([*found.origin, [self.n_states - 1]])  # the final state stands for none

    def layered(self) -> RDP:
        """The automaton with a layer for each step, as plans for a horizon need it."""
        return self.unroll()[0]

    def minimise(self) -> RDP:
        """The smallest layered automaton with the same outputs."""
        if self.stationary:
            raise ModelError("only layered automata are minimised; unroll a stationary one first")
        smaller = merge_equivalent(self.vocabulary, self.layers, self.tau, self.counts)
        return RDP(self.alphabet, self.letters, self.symbols, *smaller)


BEHAVE = -1  # instead of an action: choose as the log did
