"""Conversion of episodes to traces of letters, and of automata over letters to RDPs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD, STOP
from suffice.data.episodes import Episodes, weights
from suffice.kernels.array_types import Int32, Int64
from suffice.lab.learner import LearnerResult
from suffice.lab.resources import ResourceUse
from suffice.learning.stationary.reference import completed

END = 1  # number of the terminal state in RDPs made here; 0 is the initial state


class Machine(NamedTuple):
    """An automaton that a peer learned."""

    delta: Int64  # [states, X] target of each letter, or UNSEEN; 0 is the initial state
    took: ResourceUse
    closed: bool  # whether the traces had a termination symbol

    @property
    def n_states(self) -> int:
        """Number of states that are reachable."""
        return len(_breadth_first(self.delta))


def traces(episodes: Episodes, closed: bool) -> list[list[int]]:
    """Return the letters of each episode for a peer; closed traces end with X, the termination symbol."""
    word = episodes.word if closed else episodes.word[:-1]
    if episodes.weight is not None:
        word = np.repeat(word, episodes.weight, axis=1)
    lengths = (episodes.letters[:, 0] != PAD)[word].sum(axis=0)
    last = [len(episodes.letters)] if closed else []
    return [[*column[:length], *last] for column, length in zip(word.T.tolist(), lengths.tolist(), strict=True)]


def as_tau(machine: Machine, episodes: Episodes) -> Int64:
    """Return transitions over symbols [Q, Y] that the log uses and continues, with states in breadth-first order."""
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
    """Restrict transitions to states reachable from 0, in breadth-first order."""
    number, order = {0: 0}, [0]
    for q in order:
        for target in tau[q][tau[q] != UNSEEN].tolist():
            if target not in number:
                number[target] = len(order)
                order.append(target)
    renumber = np.full(len(tau) + 1, UNSEEN)  # the last entry is for UNSEEN
    renumber[order] = np.arange(len(order))
    return renumber[tau[order]]


def with_end(tau: Int64, episodes: Episodes) -> Int32:
    """Add a terminal state to the transitions [Q+1, Y]; these are the transitions of `as_rdp` that are not guesses."""
    whole = np.insert(np.where(tau >= END, tau + 1, tau), END, UNSEEN, axis=0)
    whole[:, episodes.symbols()[0][:, 1] == STOP] = END
    return whole.astype(np.int32)


def as_rdp(tau: Int64, episodes: Episodes) -> RDP:
    """Return an RDP with a terminal state and the log's counts, on which the same planners run."""
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
    """Split `/closed` off a setting, which asks for traces with a termination symbol."""
    rest = setting.removesuffix("/closed")
    return rest, rest != setting


def as_found(machine: Machine, episodes: Episodes) -> LearnerResult:
    """Return a peer's automaton as a result to plan on."""
    tau = as_tau(machine, episodes)
    sure = with_end(tau, episodes) != UNSEEN
    return LearnerResult(as_rdp(tau, episodes), machine.n_states, machine.took, sure=sure)
