"""The transducer of a regular decision process, ⟨Q, AO, τ, θ_o, θ_r, q_0⟩, in layers or stationary.

States are numbered layer by layer, q_0 = 0 first, within a layer in the order of promotion. Instead of the output
functions θ the automaton stores the counts they are estimated from: how often each letter occurred in each state.

A *stationary* automaton has a single layer, and its transitions may lead back to earlier states. The last step of the
log, after which no observation is seen, is counted separately (`cut`), because its rewards are still informative. If
some episodes ended early, the state after their end is the last one, and leads to itself.

Callers need not distinguish the kinds: `unroll` gives layers of either, `layer_at` and `states_at` the states of a
step, `limit` and `final` the end of a layered automaton, and `labels`, `addresses` and `shares` the names of states and
how often they are visited. Theory: docs/theory.md, sections 1 and 8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from suffice.automata.edges import Edges
from suffice.automata.histories import History, Symbol
from suffice.automata.minimise import merge_equivalent
from suffice.automata.row_tables import SharedRows
from suffice.automata.tally import Tally, TallyQuery, steps_walked
from suffice.automata.typical import TypicalHistories
from suffice.automata.unroll import unroll, unrolled_states
from suffice.automata.vocabulary import UNSEEN as UNSEEN
from suffice.automata.vocabulary import Vocabulary
from suffice.data.alphabet import PAD, Alphabet, Value
from suffice.data.episodes import Episodes
from suffice.data.listing import layer_sizes
from suffice.data.log import Log, run_query
from suffice.errors import ModelError
from suffice.kernels.array_types import Codes, Float, Int32, Int64

BLOCK_CELLS = 1 << 20  # cells of a table by state and letter that are computed at once
MOST_COUNTED = 1 << 60  # largest sum of all counts, so that sums and their small multiples do not overflow


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RDP:
    """An automaton over action-observation pairs, with counts of the letters that occurred in each state.

    Parameters
    ----------
    alphabet
        Actions, observations and rewards that the codes stand for.
    letters
        Action, observation and reward codes of each letter, [X, 3].
    symbols
        Action and observation codes of each symbol, [Y, 2]: those of the letters, in order.
    layers
        Number of states in each layer, [H+2], q_0 first and the final state last; [1] for a stationary automaton.
    tau
        Successor of each state for each symbol, [Q, Y]; `UNSEEN` (-1) where the log has none.
    counts
        Number of times that each letter occurred in each state, [Q, X].
    steps
        Horizon H of a stationary automaton: that of the episodes it was learned from. None for a layered one.
    cut
        Counts [Q, X] of a stationary automaton at the last step, where only rewards are informative; also of an
        unrolled one, if it has states that the log visited at the last step only.

    Examples
    --------
    >>> model.rdp
    <RDP: 11 states in layers 1 1 2 2 2 2 1>
    >>> model.rdp.symbol(0)
    (None, (0, 0, 'clear'))
    >>> model.rdp.outputs(0, None)
    [((0, 0, 'clear'), 0.0, 153), ((1, 0, 'clear'), 0.0, 147)]
    """

    alphabet: Alphabet
    letters: Codes  # [X, 3]
    symbols: Codes  # [Y, 2]
    layers: Int64  # [H+2]; [1] if stationary
    tau: Int32  # [Q, Y], UNSEEN = -1
    counts: Int64  # [Q, X]
    steps: int | None = None  # H, only if stationary
    cut: Int64 | None = None  # [Q, X], only if stationary or unrolled

    @classmethod
    def of_layers(
        cls,
        alphabet: Alphabet,
        letters: Codes,
        symbols: Codes,
        tau: Sequence[Int64],
        counts: Sequence[Int64],
        cut: Int64 | None = None,
    ) -> RDP:
        """Make a layered automaton from one table of successors and one of counts for each of the layers 0..H.

        Parameters
        ----------
        alphabet, letters, symbols
            As for `RDP`.
        tau
            Successors [Q_t, Y] of each layer, as places in the next layer, or `UNSEEN`.
        counts
            Counts [Q_t, X] of each layer.
        cut
            Counts [Q, X] of an unrolled automaton; see `RDP`.

        Returns
        -------
        RDP
            The automaton, with a final state after layer H.
        """
        layers = np.array([len(rows) for rows in tau] + [1], np.int64)
        offsets = np.concatenate([[0], np.cumsum(layers)])
        whole = np.full((int(layers.sum()), len(symbols)), UNSEEN, np.int32)
        met = np.zeros((len(whole), len(letters)), np.int64)
        for t, rows in enumerate(tau):
            whole[offsets[t] : offsets[t + 1]] = np.where(rows == UNSEEN, UNSEEN, rows + offsets[t + 1])
            met[offsets[t] : offsets[t + 1]] = counts[t]
        return cls(alphabet, letters, symbols, layers, whole, met, cut=cut)

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
            raise ModelError("letters, symbols, layers, transitions and counts of an RDP must be integers.")
        if self.layers.ndim != 1 or len(self.layers) < 1 or self.layers.min() < 1:
            raise ModelError("an RDP needs layers with at least one state each.")
        if self.stationary != (self.steps is not None) or (self.steps is not None and self.steps < 0):
            raise ModelError("an RDP needs a layer for each step, or a single layer and steps of at least 0.")
        if not self.stationary and (self.layers[0] != 1 or self.layers[-1] != 1):
            raise ModelError("an RDP needs exactly one first and one final state.")
        if self.cut is not None and (self.cut.shape != self.counts.shape or self.cut.min(initial=0) < 0):
            raise ModelError("cut of an RDP must have the shape of its counts, and none below 0.")
        n = int(self.layers.sum())
        if self.tau.shape != (n, len(self.symbols)) or self.counts.shape != (n, len(self.letters)):
            raise ModelError("an RDP needs one row of transitions and of counts for each state.")

    def _check_codes(self) -> None:
        alphabet = self.alphabet
        limits = np.array([alphabet.n_actions, alphabet.n_observations, len(alphabet.rewards)])
        if self.letters.shape[1:] != (3,) or np.any((self.letters < 0) | (self.letters >= limits)):
            raise ModelError("the letters of an RDP must be codes of its alphabet.")
        if not np.array_equal(self.symbols, np.unique(self.letters[:, :2], axis=0)):
            raise ModelError("the symbols of an RDP must be those of its letters, in order.")

    def _check_transitions(self) -> None:
        layer, of_letter = self.layer_of(), self.symbol_of_letter()
        for rows in self.blocks():
            tau, counts = self.tau[rows], self.counts[rows]
            sources, symbols = np.nonzero(tau != UNSEEN)
            targets = tau[sources, symbols]
            outside = bool(np.any((targets < 0) | (targets >= len(layer))))
            if outside or np.any(layer[targets] != layer[rows][sources] + self.layer_at(1)):
                following = "one of its states" if self.stationary else "a state of the next layer"
                raise ModelError(f"a transition of an RDP must lead to {following}.")
            if np.any(counts < 0) or np.any((counts > 0) & (tau == UNSEEN)[:, of_letter]):
                raise ModelError("the counts of an RDP must not be below 0, and must be 0 where it has no transition.")
        counted = math.fsum(counts.sum(dtype=np.float64) for counts in (self.counts, self.cut) if counts is not None)
        if counted > MOST_COUNTED:
            raise ModelError("the counts of an RDP must add up to less than 2**60.")

    def __repr__(self) -> str:
        layers = "one layer" if self.stationary else f"layers {layer_sizes(self.layers.tolist())}"
        return f"<RDP: {self.n_states} states in {layers}>"

    @property
    def stationary(self) -> bool:
        """Whether the automaton is the same at every step."""
        return len(self.layers) == 1

    @property
    def horizon(self) -> int:
        """The horizon H, which is the largest number of decisions."""
        return len(self.layers) - 2 if self.steps is None else self.steps

    @property
    def limit(self) -> int | None:
        """The largest number of decisions of an episode; None for a stationary automaton, which has no limit."""
        return None if self.stationary else self.horizon

    @property
    def final(self) -> int | None:
        """The state after the last step; None for a stationary automaton."""
        return None if self.stationary else self.n_states - 1

    @property
    def n_states(self) -> int:
        """The number of states Q, over all layers."""
        return int(self.layers.sum())

    def offsets(self) -> Int64:
        """Return the first state of each layer.

        Returns
        -------
        array of shape [H+3]
            Layer t has the states from `offsets()[t]` to `offsets()[t + 1] - 1`.
        """
        return np.concatenate([[0], np.cumsum(self.layers)])

    def blocks(self) -> list[slice]:
        """Return blocks of states, for tables that are too large to compute at once.

        Returns
        -------
        list of slice
            The numbers of the states, in order.
        """
        size = max(1, BLOCK_CELLS // max(len(self.letters), 1))
        return [slice(begin, min(begin + size, self.n_states)) for begin in range(0, self.n_states, size)]

    def layer_of(self) -> Int64:
        """Return the layer of each state.

        Returns
        -------
        array of shape [Q]
            The layers, from 0 on.
        """
        return np.repeat(np.arange(len(self.layers)), self.layers)

    def layer_at(self, step: int) -> int:
        """Return the layer of a step.

        Parameters
        ----------
        step
            The step, from 0 on.

        Returns
        -------
        int
            The step itself, or 0 for a stationary automaton.
        """
        return 0 if self.stationary else step

    def states_at(self, step: int) -> slice:
        """Return the states of a step's layer.

        Parameters
        ----------
        step
            The step, from 0 on.

        Returns
        -------
        slice
            The numbers of the states.
        """
        begin, end = self.offsets()[self.layer_at(step) :][:2].tolist()
        return slice(begin, end)

    def addresses(self) -> list[dict[str, int]]:
        """Return the address of each state, as exported files have it.

        Returns
        -------
        list of dict
            For each state its layer `t` and its place in the layer, `state`; without `t` for a stationary automaton.
        """
        layer = self.layer_of()
        places = (np.arange(self.n_states) - self.offsets()[layer]).tolist()
        if self.stationary:
            return [{"state": place} for place in places]
        return [{"t": t, "state": place} for t, place in zip(layer.tolist(), places, strict=True)]

    def labels(self) -> list[str]:
        """Return a short name of each state.

        Returns
        -------
        list of str
            Layer and place such as "3.1", or the number of the state for a stationary automaton.
        """
        return [".".join(map(str, address.values())) for address in self.addresses()]

    def shares(self) -> Float:
        """Return how often each state is visited.

        Returns
        -------
        array of shape [Q]
            The share of the episodes that visit the state or, for a stationary automaton, of all steps.
        """
        visits = self.counts.sum(axis=1)
        if self.stationary and self.cut is not None:  # the last decision is counted separately
            visits = visits + self.cut.sum(axis=1)
        return np.asarray(visits / (visits.sum() if self.stationary else visits[0]))

    @property
    def vocabulary(self) -> Vocabulary:
        """The letters and symbols of the automaton, for translating other logs to its codes."""
        return Vocabulary(self.alphabet, self.letters, self.symbols)

    def symbol(self, y: int) -> Symbol:
        """Return a symbol as logged.

        Parameters
        ----------
        y
            Number of the symbol.

        Returns
        -------
        tuple
            Its action and its observation. The action is None at step 0; the observation is None at the end.
        """
        return self.vocabulary.symbol(y)

    def symbol_of_letter(self) -> NDArray[np.intp]:
        """Return the symbol of each letter.

        Returns
        -------
        array of shape [X]
            Numbers of symbols.
        """
        return self.vocabulary.symbol_of_letter()

    def symbols_in(self, episodes: Episodes) -> Int64:
        """Translate the letters of another log to symbols of this automaton.

        Parameters
        ----------
        episodes
            The other log.

        Returns
        -------
        array of shape [X of the log]
            Numbers of symbols; `UNSEEN` where the automaton does not have the symbol.
        """
        return self.vocabulary.symbols_in(episodes)

    def codes_in(self, episodes: Episodes) -> tuple[Int64, Int64]:
        """Translate the letters of another log to letters and actions of this automaton.

        Parameters
        ----------
        episodes
            The other log.

        Returns
        -------
        tuple of two arrays of shape [X of the log]
            Numbers of letters, and action codes; `UNSEEN` where the automaton does not have them.
        """
        return self.vocabulary.codes_in(episodes)

    def when_cut(self) -> Int64:
        """Return for each letter the one that is logged in its place at the horizon, with observation o_⊥.

        Returns
        -------
        array of shape [X]
            Numbers of letters; that of the letter itself where the log has no such letter.
        """
        return self.vocabulary.when_cut()

    def steps_in(self, episodes: Episodes) -> int:
        """Return how many steps of another log are transitions of this automaton.

        Parameters
        ----------
        episodes
            The other log.

        Returns
        -------
        int
            The number of steps, up to the horizon of a layered automaton.
        """
        return steps_walked(episodes.horizon, self.limit)

    def outputs(self, q: int, action: Value | None) -> list[tuple[tuple[Value, ...] | None, float, int]]:
        """Return the counts of the output function θ(q, a).

        Parameters
        ----------
        q
            The state.
        action
            The action, as logged; None at step 0.

        Returns
        -------
        list of tuple
            Observation and reward that followed the action, and how often.
        """
        rows = [
            (int(a), int(o), int(r), int(k)) for (a, o, r), k in zip(self.letters, self.counts[q], strict=True) if k
        ]
        alphabet = self.alphabet
        return [
            (alphabet.observation(o), alphabet.rewards[r], k) for a, o, r, k in rows if alphabet.action(a) == action
        ]

    def rewards_seen(self, q: int, symbol: Symbol) -> set[float]:
        """Return the rewards that occurred with a symbol in a state.

        Parameters
        ----------
        q
            The state.
        symbol
            Action and observation, as logged.

        Returns
        -------
        set of float
            The rewards.
        """
        return {reward for observation, reward, _ in self.outputs(q, symbol[0]) if observation == symbol[1]}

    def taken(self) -> Int64:
        """Return how often each transition was taken.

        Returns
        -------
        array of shape [Q, Y]
            Counts by state and symbol.
        """
        taken = np.zeros(self.tau.shape, np.int64)
        np.add.at(taken.T, self.symbol_of_letter(), self.counts.T)
        return taken

    def cells(self) -> tuple[Int64, Int64]:
        """Return the states and letters that occur together.

        Returns
        -------
        tuple of two arrays
            States and letters of all counts above 0, ordered by state and letter.
        """
        found = [(rows.start, *np.nonzero(self.counts[rows])) for rows in self.blocks()]
        states = np.concatenate([places + begin for begin, places, _ in found])
        return states, np.concatenate([letters for _, _, letters in found])

    def edges(self) -> Edges:
        """Return the transitions as a list, with how often each was taken.

        Returns
        -------
        Edges
            Source, symbol, target and count of each transition, ordered by source and symbol.
        """
        return Edges.of(self.tau, self.counts, self.symbol_of_letter(), self.blocks())

    def most_like(self) -> Int32:
        """Return the state that each symbol most often led to at each step, for histories that are not in the log.

        Returns
        -------
        array of shape [H+1, Y]
            States, or `UNSEEN` where the symbol never occurred; of shape [1, Y] for a stationary automaton.
        """
        offsets, of_letter = self.offsets(), self.symbol_of_letter()
        following, size = offsets[self.layer_at(1) :], max(1, BLOCK_CELLS // len(self.letters))  # of the layers led to
        like = np.full((len(following) - 1, len(self.symbols)), UNSEEN, np.int32)
        for t, (begin, end) in enumerate(pairwise(following)):
            arrived = np.zeros((end - begin, len(self.symbols)), np.int64)
            for first in range(offsets[t], offsets[t + 1], size):
                rows = slice(first, min(first + size, offsets[t + 1]))
                tau, taken = self.tau[rows], np.zeros(self.tau[rows].shape, np.int64)
                np.add.at(taken.T, of_letter, self.counts[rows].T)
                sources, symbols = np.nonzero(tau != UNSEEN)
                np.add.at(arrived, (tau[sources, symbols] - begin, symbols), taken[sources, symbols])
            like[t] = np.where(arrived.any(axis=0), arrived.argmax(axis=0) + begin, UNSEEN)
        return like

    def typical_histories(self) -> TypicalHistories:
        """Return an example history for each state: a shortest one, by the most frequent transitions.

        Returns
        -------
        sequence of histories
            For each state a tuple of (action, observation) pairs; () for q_0 and for states that cannot be reached.
        """
        return TypicalHistories.of(self.edges(), self.n_states, [self.symbol(y) for y in range(len(self.symbols))])

    def run(self, history: History) -> int:
        """Return the state after a history, τ̄.

        Parameters
        ----------
        history
            A tuple of (action, observation) pairs, as logged.

        Returns
        -------
        int
            The state, or `UNSEEN` if the history is not in the log.
        """
        index, q = self.vocabulary.index(), 0
        for symbol in history:
            y = index.get(symbol, UNSEEN)
            q = int(self.tau[q, y]) if y != UNSEEN else UNSEEN
            if q == UNSEEN:
                return UNSEEN
        return q

    def run_all(self, episodes: Episodes) -> Int32:
        """Return the states that episodes visit.

        Parameters
        ----------
        episodes
            The log that the automaton was learned from, or any other.

        Returns
        -------
        array of shape [H+2, N]
            States before each step and after the last one; `UNSEEN` from where a history is not in the training log.
            Of shape [H+1, N] for a stationary automaton, whose state after the last step of the log is unknown.
        """
        symbol, states = self.symbols_in(episodes), np.zeros((self.steps_in(episodes) + 1, episodes.n), np.int32)
        for t, word in enumerate(episodes.word[: len(states) - 1]):
            here, y = states[t], symbol[word]
            states[t + 1] = np.where((here == UNSEEN) | (y == UNSEEN), UNSEEN, self.tau[here, y])
        return states

    def unseen_decisions(self, episodes: Episodes) -> NDArray[np.bool_]:
        """Return which decisions of other episodes follow a history that the automaton has not seen.

        Parameters
        ----------
        episodes
            The other log.

        Returns
        -------
        array of shape [H, N]
            True for decisions after an unseen history.
        """
        acts = np.asarray((episodes.letters[:, 0] != PAD)[episodes.word[1:]])
        states = self.run_all(episodes)[1 : len(acts) + 1]
        acts[: len(states)] &= states == UNSEEN  # steps beyond the automaton's horizon are unseen
        return acts

    def own_tally(self) -> Tally:
        """Return the counts of the episodes that the automaton was learned from.

        Returns
        -------
        Tally
            The automaton's own counts; no step is lost.
        """
        return Tally(self.counts, np.zeros((self.n_states, self.alphabet.n_actions), np.int64))

    def tally(self, episodes: Log) -> Tally:
        """Count the steps of any episodes in the states of the automaton, with their weights.

        Parameters
        ----------
        episodes
            The log that the automaton was learned from, or any other.

        Returns
        -------
        Tally
            Counts by state and letter, and of steps that are not transitions of the automaton.
        """
        return run_query(episodes, TallyQuery(self.vocabulary, self.tau, self.limit))

    def unroll(self, most: int | None = None) -> tuple[RDP, Int64]:
        """Convert the automaton to one with a layer for each step of its horizon.

        Parameters
        ----------
        most
            Largest number of states. Default: as many as fit into memory.

        Returns
        -------
        tuple of RDP and array
            The layered automaton, and for each of its states the state of this automaton that it stands for. A layered
            automaton is returned as it is.

        Raises
        ------
        ModelError
            If it has more states than `most`.
        """
        if not self.stationary:
            return self, np.arange(self.n_states)
        found = unroll(self.vocabulary, self.tau, self.counts, self.cut, self.horizon, most)
        stands = np.append(found.origin, self.n_states - 1)  # the final state has no counterpart
        only_last = ~self.counts.any(axis=1)  # states that the log visits at the last step only, or never
        cut = SharedRows(self.cut, stands) if self.cut is not None and self.cut[only_last].any() else None
        tables = {"tau": found.tau, "counts": found.counts, "cut": cut}  # read like arrays
        return replace(self, layers=found.layers, steps=None, **cast("dict[str, Any]", tables)), stands

    def unrolled_states(self, most: int) -> int:
        """Return the number of states in layers, without making them.

        Parameters
        ----------
        most
            Largest number of states.

        Returns
        -------
        int
            The number of states of `unroll(most)`, which is refused in the same way.
        """
        return unrolled_states(self.tau, self.horizon, most) if self.stationary else self.n_states

    def layered(self) -> RDP:
        """Convert the automaton to layers, as plans for a horizon need them.

        Returns
        -------
        RDP
            The automaton of `unroll`.
        """
        return self.unroll()[0]

    def minimise(self) -> RDP:
        """Merge states of a layer that have the same outputs and successors.

        Returns
        -------
        RDP
            The smallest layered automaton with the same outputs.
        """
        if self.stationary:
            raise ModelError("a stationary automaton cannot be minimised. Use rdp.layered().minimise().")
        smaller = merge_equivalent(self.vocabulary, self.layers, self.tau, self.counts)
        return RDP(self.alphabet, self.letters, self.symbols, *smaller)


BEHAVE = -1  # in place of an action: keep the logged behaviour
