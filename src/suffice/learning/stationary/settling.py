"""Assign transitions that no test decided by maximum posterior probability.

A test cannot decide where a transition leads that was taken twice, so the most probable target is used, among those
that no test excluded. Likelihoods come from all visits, followed along the automaton to the end of the log: of the
actions that were taken, and of their rewards and observations. The prior is learned from the automaton too:
symbols that lead to the same target in all states where both are known are likely to do so again; so are actions, or
observations, that agree in the state itself (where an episode starts again, no action matters); and a symbol that
elsewhere leads to a state that leads back probably leads back here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import UNSEEN
from suffice.kernels import stationary
from suffice.kernels.array_types import Float, Int32, Int64
from suffice.learning.refinement import EQUAL_BALANCE
from suffice.learning.stationary.labels import ALL, PointerLog, completed
from suffice.learning.stationary.pointers import SPECIAL, Edge

PASSES = 5
VISITS = 2000  # visits of a transition that are used
FEW_VISITS, SOON = 50, 20  # visits, and steps after each, that are used to choose BEST_STATES
BEST_STATES = 8  # states that all visits are compared with
AGREEING_SHARE = 0.8  # share of the states with two symbols in which they must have the same target


def settle(steps: PointerLog, tau: Int32, excluded: Mapping[Edge, NDArray[np.bool_]]) -> Int32:
    """Set every transition to its most probable target, in passes until nothing changes.

    `excluded` has the targets [Q] to which a transition must not move; those of transitions without an entry are free.
    """
    tau = tau.copy()
    for _ in range(PASSES):
        if not _Pass(steps, tau, excluded).run():
            break
    return tau


class _Visits(NamedTuple):
    """Visits of a transition, by the episode and the step after it."""

    episodes: Int64
    start: Int64


class _Pass:
    """One pass over every transition, which changes the given table."""

    def __init__(self, steps: PointerLog, tau: Int32, excluded: Mapping[Edge, NDArray[np.bool_]]) -> None:
        self._steps, self._tau, self._whole = steps, tau, completed(tau)
        self._excluded, self._none = excluded, np.arange(len(tau)) < SPECIAL
        self._path = stationary.trace(self._whole, steps.symbol_of, steps.word)
        self._ln_chance = self._chances()
        share = np.bincount(
            self._path.ravel(), np.repeat(steps.weight, self._path.shape[1]) if len(steps.weight) else None
        )
        self._share = np.pad(share / share.sum(), (0, len(tau) - len(share)))
        self._known = (tau != UNSEEN) & ~steps.ends()
        self._agreement = _agreement(tau, self._known)
        self._leads = np.zeros((len(tau), len(tau)), bool)  # [Q, Q] whether some symbol leads there
        sources, symbols = np.nonzero(self._known)
        self._leads[sources, tau[sources, symbols]] = True

    def run(self) -> int:
        """Set every transition, and return the number of changes."""
        before = self._tau.copy()
        visits: dict[int, dict[int, _Visits]] = {}
        for state, symbol, episodes, at in self._steps.transitions(self._path, VISITS):
            if not self._steps.ends()[symbol]:
                visits.setdefault(state, {})[symbol] = _Visits(episodes, at + 1)
        for state, of_symbol in visits.items():
            free = [y for y in of_symbol if len(self._possible(state, [y])) > 1]
            for symbol in free:
                self._tau[state, symbol] = self._best(state, [symbol], of_symbol)
            for group in self._agreeing(state, free):
                self._tau[state, group] = self._best(state, group, of_symbol)
        return int(np.count_nonzero(self._tau != before))

    def _agreeing(self, state: int, symbols: list[int]) -> list[list[int]]:
        """Group symbols with the same target here and elsewhere, which must move together: one alone never would."""
        groups: list[list[int]] = []
        for y in symbols:
            together = (g for g in groups if self._tau[state, g[0]] == self._tau[state, y])
            found = next((g for g in together if self._agreement[g[0], y] >= AGREEING_SHARE), None)
            groups = groups if found else [*groups, []]
            (found or groups[-1]).append(y)
        return [g for g in groups if len(g) > 1]

    def _best(self, state: int, symbols: list[int], of_symbol: dict[int, _Visits]) -> int:
        """Return the most probable target of some symbols together; ties keep the present target."""
        episodes, start = (np.concatenate(part) for part in zip(*(of_symbol[y] for y in symbols), strict=True))
        ln_prior = np.sum([self._ln_prior(state, y, symbols) for y in symbols], axis=0)
        now = int(self._tau[state, symbols[0]])
        states = self._possible(state, symbols)
        if len(episodes) > FEW_VISITS and len(states) > BEST_STATES:
            rough = self._likelihoods(episodes[:FEW_VISITS], start[:FEW_VISITS], states, SOON) + ln_prior[states]
            kept = np.argsort(-rough, kind="stable")[:BEST_STATES]
            states = np.union1d(states[kept], states[states == now])
        score = self._likelihoods(episodes, start, states) + ln_prior[states]
        best = int(score.argmax())
        stays = now in states and score[best] <= score[np.flatnonzero(states == now)[0]] + EQUAL_BALANCE
        return now if stays else int(states[best])

    def _possible(self, state: int, symbols: list[int]) -> Int64:
        """Return the targets that no test excluded for any of some symbols."""
        excluded = [self._excluded.get((state, y), self._none) for y in symbols]
        return np.flatnonzero(~np.any([self._none, *excluded], axis=0))

    def _likelihoods(self, episodes: Int64, start: Int64, states: Int64, within: int = ALL) -> Float:
        steps, whole = self._steps, self._whole
        return np.asarray(
            stationary.likelihoods(
                whole, steps.symbol_of, steps.word, steps.weight, episodes, start, within, self._ln_chance, states
            )
        )

    def _chances(self) -> Float:
        """Return [Q, X], the log frequency of each letter: that of its action, and of its outcome given the action."""
        steps, n_actions = self._steps, self._steps.episodes.alphabet.n_actions
        counts = stationary.count_letters(self._path, steps.word, steps.weight, len(self._tau), len(steps.symbol_of))
        found, acts = np.zeros(counts.shape), np.flatnonzero(steps.action_of != UNSEEN)
        for action in np.unique(steps.action_of[acts]):
            letters = np.flatnonzero(steps.action_of == action)
            found[:, letters] = _ln_shares(counts[:, letters])
        actions, of_letter = np.unique(steps.action_of[acts] % n_actions, return_inverse=True)
        taken = np.zeros((len(counts), len(actions)), np.int64)
        np.add.at(taken.T, of_letter, counts[:, acts].T)
        found[:, acts] += _ln_shares(taken)[:, of_letter]
        return found

    def _ln_prior(self, state: int, symbol: int, without: list[int]) -> Float:
        """Return the log prior [Q] of targets: votes of the state's other symbols, or the frequency of states."""
        known = self._known[state].copy()
        known[without] = False
        voters = np.flatnonzero(known)
        trust = np.maximum(self._agreement[symbol, voters], self._local(state, symbol, voters))
        doubt = np.ones(len(self._tau))
        np.multiply.at(doubt, self._tau[state, voters], 1 - trust)
        origins = np.flatnonzero(self._leads[:, state] & (np.arange(len(doubt)) != state))
        if len(origins):
            doubt[origins] *= 1 - self._returns(state, symbol) / len(origins)
        prior = doubt.prod() * self._share + (1 - doubt)
        prior[:SPECIAL] = 0
        return np.asarray(np.log(prior / max(prior.sum(), 1e-300) + 1e-12))

    def _returns(self, state: int, symbol: int) -> float:
        """Return how often a symbol leads from other states to one that leads back, like a step west after one east."""
        others = np.flatnonzero(self._known[:, symbol] & (self._tau[:, symbol] != np.arange(len(self._tau))))
        others = others[others != state]
        back = self._leads[self._tau[others, symbol], others]
        return float(_rate(int(back.sum()), len(others), len(self._tau)))

    def _local(self, state: int, symbol: int, voters: Int64) -> Float:
        """Return [V], how often each voter's action (or observation) agrees with the symbol's in this state."""
        grid = self._grid(state, symbol)  # [A, O]
        a, o = (int(code) for code in self._steps.symbols[symbol])
        actions, observations = self._steps.symbols[voters].T
        found = np.zeros(len(voters))
        for same, lines, mine in ((observations == o, grid, a), (actions == a, grid.T, o)):
            others = (actions if lines is grid else observations)[same]
            both = (lines[others] != UNSEEN) & (lines[mine] != UNSEEN)
            agree = both & (lines[others] == lines[mine])
            found[same] = _rate(agree.sum(axis=1), both.sum(axis=1), len(self._tau))
        return found

    def _grid(self, state: int, symbol: int) -> Int32:
        """Return [A, O], the targets of the state's symbols, without one of them."""
        alphabet = self._steps.episodes.alphabet
        grid = np.full((alphabet.n_actions, alphabet.n_observations), UNSEEN, np.int32)
        known = self._known[state].copy()
        known[symbol] = False
        grid[self._steps.symbols[known, 0], self._steps.symbols[known, 1]] = self._tau[state, known]
        return grid


def _agreement(tau: Int32, known: NDArray[np.bool_]) -> Float:
    """Return [Y, Y], how often two symbols lead from the same state to the same state."""
    agree, both = (np.zeros((tau.shape[1], tau.shape[1])) for _ in range(2))
    for row, seen in zip(tau, known, strict=True):
        places = np.flatnonzero(seen)
        cells = np.ix_(places, places)
        both[cells] += 1
        agree[cells] += row[places][:, None] == row[places]
    return np.asarray(_rate(agree, both, len(tau)))


def _ln_shares(counts: Int64) -> Float:
    """Return the log shares of counts in their row, with half a visit spread evenly."""
    return np.asarray(np.log((counts + 0.5 / counts.shape[1]) / (counts.sum(axis=1, keepdims=True) + 0.5)))


def _rate(agree: float | Float | Int64, both: float | Float | Int64, n_states: int) -> Float:
    """Return a rate of agreement, with one more observation at the rate of chance."""
    return np.asarray((agree + 1 / n_states) / (both + 1))
