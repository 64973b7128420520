"""From episodes to traces of letters, and from a machine over letters back to an RDP."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD, STOP
from suffice.data.episodes import Episodes, weights
from suffice.kernels.array_types import Int32, Int64
from suffice.lab.learner import LearnerResult
from suffice.lab.resources import ResourceUse
from suffice.learning.stationary.labels import completed

END = 1  # the number of the end in an RDP made here; 0 is the start


class Machine(NamedTuple):
    """What a peer learned."""

    delta: Int64  # [states, X] where each letter leads, or UNSEEN; the start is 0
    took: ResourceUse
    closed: bool  # whether its traces had a termination symbol

    @property
    def n_states(self) -> int:
        """That a history can lead to."""
        return len(_breadth_first(self.delta))


def traces(episodes: Episodes, closed: bool) -> list[list[int]]:
    """The letters of each episode that a peer gets to see; in closed ones X, the termination symbol, comes last."""
    word = episodes.word if closed else episodes.word[:-1]
    if episodes.weight is not None:
        word = np.repeat(word, episodes.weight, axis=1)
    lengths = (episodes.letters[:, 0] != PAD)[word].sum(axis=0)
    last = [len(episodes.letters)] if closed else []
    return [[*column[:length], *last] for column, length in zip(word.T.tolist(), lengths.tolist(), strict=True)]


def as_tau(machine: Machine, episodes: Episodes) -> Int64:
    """[Q, Y] over symbols: what the log uses of a machine and knows the sequel of, numbered breadth first."""
    pairs, of_letter = episodes.symbols()
    delta, n_letters = machine.delta, len(episodes.letters)
    going_on = episodes.letters[:, 1] != STOP
    used = np.zeros(delta.size, np.int64)
    state = np.zeros(episodes.n, np.int64)
    weight = np.ones_like(state) if episodes.weight is None else episodes.weight
    for row in episodes.word[:-1] if machine.closed else episodes.word[:-2]:
        alive = going_on[row] & (state != UNSEEN)
        np.add.at(used, state[alive] * n_letters + row[alive], weight[alive])
        state = np.where(alive, delta[state, row], UNSEEN)
    most = np.zeros((len(delta), len(pairs)), np.int64)
    tau = np.full(most.shape, UNSEEN)
    for count, target, symbol in zip(used.reshape(delta.shape).T, delta.T, of_letter.tolist(), strict=True):
        better = (count > most[:, symbol]) & (target != UNSEEN)
        most[better, symbol], tau[better, symbol] = count[better], target[better]
    return _breadth_first(tau)


def _breadth_first(tau: Int64) -> Int64:
    """The states that can be reached from 0, in the order in which they are."""
    number, order = {0: 0}, [0]
    for q in order:
        for target in tau[q][tau[q] != UNSEEN].tolist():
            if target not in number:
                number[target] = len(order)
                order.append(target)
    renumber = np.full(len(tau) + 1, UNSEEN)  # the last place is UNSEEN's own
    renumber[order] = np.arange(len(order))
    return renumber[tau[order]]


def with_end(tau: Int64, episodes: Episodes) -> Int32:
    """[Q+1, Y] with the state that every end leads to: the transitions of `as_rdp` that are no guess."""
    whole = np.insert(np.where(tau >= END, tau + 1, tau), END, UNSEEN, axis=0)
    whole[:, episodes.symbols()[0][:, 1] == STOP] = END
    return whole.astype(np.int32)


def as_rdp(tau: Int64, episodes: Episodes) -> RDP:
    """An automaton over symbols with an end and the log's counts, like ours: to be planned on as on ours."""
    symbols, of_letter = episodes.symbols()
    whole = completed(with_end(tau, episodes))
    counts, cut = np.zeros((2, len(whole), len(episodes.letters)), np.int64)
    state, weight = np.zeros(episodes.n, np.int64), 1 if episodes.weight is None else weights(episodes)
    for t, word in enumerate(episodes.word):
        np.add.at(counts if t < episodes.horizon else cut, (state, word), weight)
        state = whole[state, of_letter[word]].astype(np.int64)
    taken = np.zeros(whole.shape, np.int64)
    np.add.at(taken.T, of_letter, counts.T)
    tau_taken = np.where(taken > 0, whole, UNSEEN).astype(np.int32)
    layers = np.array([len(whole)], np.int64)
    return RDP(episodes.alphabet, episodes.letters, symbols, layers, tau_taken, counts, episodes.horizon, cut)


def closed_setting(setting: str) -> tuple[str, bool]:
    """A setting without `/closed`, and whether it had that: traces with a termination symbol."""
    rest = setting.removesuffix("/closed")
    return rest, rest != setting


def as_found(machine: Machine, episodes: Episodes) -> LearnerResult:
    """A peer's machine as an automaton to plan on."""
    tau = as_tau(machine, episodes)
    sure = with_end(tau, episodes) != UNSEEN
    return LearnerResult(as_rdp(tau, episodes), machine.n_states, machine.took, sure=sure)
