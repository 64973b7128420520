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

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import UNSEEN
from suffice.kernels import assignment, stationary
from suffice.kernels.array_types import Float, Int32, Int64
from suffice.kernels.assignment import Beliefs, Limits
from suffice.learning.refinement import EQUAL_BALANCE
from suffice.learning.stationary.labels import PointerLog
from suffice.learning.stationary.pointers import SPECIAL, Edge
from suffice.learning.stationary.reference import completed

PASSES = 5
VISITS, MOST_STEPS = 2000, 1 << 15  # visits of a transition that are used, and about how many steps
SOON = 20  # steps after each of a few visits by which states are chosen
FIRST_FEW, FEW = (8, 32), (50, 8)  # visits, and states that are chosen by them; all visits are compared with the last
AGREEING_SHARE = 0.8  # share of the states with two symbols in which they must have the same target


def settle(steps: PointerLog, tau: Int32, excluded: Mapping[Edge, NDArray[np.bool_]]) -> Int32:
    """Set every transition to its most probable target, in passes until nothing changes.

    `excluded` has the targets [Q] to which a transition must not move; those of transitions without an entry are free.
    If observations are grouped, nothing is changed: the prior compares all symbols with each other.
    """
    tau = tau.copy()
    if steps.grouped:
        return tau
    for _ in range(PASSES):
        if not _Pass(steps, tau, excluded).run():
            break
    return tau


class _Pass:
    """One pass over every transition, which changes the given table."""

    def __init__(self, steps: PointerLog, tau: Int32, excluded: Mapping[Edge, NDArray[np.bool_]]) -> None:
        self._steps, self._tau, whole = steps, tau, completed(tau)
        path = stationary.trace(whole, steps.walked)
        counts = stationary.count_letters(path, steps.walked, len(tau))
        known = (tau != UNSEEN) & ~steps.ends()
        leads = np.zeros((len(tau), len(tau)), bool)
        sources, symbols = np.nonzero(known)
        leads[sources, tau[sources, symbols]] = True
        rows, row_of = [np.zeros(len(tau), bool)], np.zeros(tau.shape, np.int32)
        for edge, targets in excluded.items():
            row_of[edge] = len(rows)
            rows.append(targets)
        most = min(VISITS, max(FEW[0], MOST_STEPS // steps.horizon))
        begin, episodes, at = stationary.transitions(path, steps.walked, ~steps.ends(), len(tau), most)
        ln_chance = self._chances(counts)
        row, later = assignment.likelihoods_of_paths(path, steps.walked, ln_chance, episodes)
        self._limits = Limits(SPECIAL, SOON, FIRST_FEW, FEW, AGREEING_SHARE, EQUAL_BALANCE)
        self.beliefs = Beliefs(
            whole=whole,
            known=known,
            leads=leads,
            agreement=assignment.agreement_of(tau, known),
            share=counts.sum(axis=1) / counts.sum(),
            ln_chance=ln_chance,
            excluded=np.array(rows),
            excluded_of=row_of,
            symbols=steps.symbols.astype(np.int64),
            begin=begin,
            episodes=episodes,
            start=at + np.int32(1),
            path=path,
            row=row,
            later=later,
        )

    def run(self) -> int:
        """Set every transition, and return the number of changes."""
        before = self._tau.copy()
        assignment.assign(self._tau, self._steps.walked, self.beliefs, self._limits)
        return int(np.count_nonzero(self._tau != before))

    def ln_prior(self, state: int, symbol: int) -> Float:
        """Return the log prior [Q] of the targets of a symbol."""
        grid = np.full(self.beliefs.symbols.max(axis=0) + 1, UNSEEN, np.int32)
        known = self.beliefs.known[state]
        grid[tuple(self.beliefs.symbols[known].T)] = self._tau[state, known]
        only = np.array([symbol])
        return np.asarray(assignment.ln_prior_of(state, symbol, only, self._tau, self.beliefs, self._limits, grid))

    def ln_likelihood(self, state: int, symbol: int, target: int) -> float:
        """Return the ln-likelihood of what followed a symbol if it led to a target."""
        y, n, walked = np.array([symbol]), len(self._steps.symbols), self._steps.walked
        return float(assignment.likelihood(state, y, target, 0.0, -np.inf, VISITS, n, walked, self.beliefs, -1))

    def _chances(self, counts: Int64) -> Float:
        """Return [Q, X], the log frequency of each letter: that of its action, and of its outcome given the action."""
        steps, n_actions = self._steps, self._steps.episodes.alphabet.n_actions
        found, acts = np.zeros(counts.shape), np.flatnonzero(steps.action_of != UNSEEN)
        for action in np.unique(steps.action_of[acts]):
            letters = np.flatnonzero(steps.action_of == action)
            found[:, letters] = _ln_shares(counts[:, letters])
        if steps.adaptive:
            return found
        actions, of_letter = np.unique(steps.action_of[acts] % n_actions, return_inverse=True)
        taken = np.zeros((len(counts), len(actions)), np.int64)
        np.add.at(taken.T, of_letter, counts[:, acts].T)
        found[:, acts] += _ln_shares(taken)[:, of_letter]
        return found


def _ln_shares(counts: Int64) -> Float:
    """Return the log shares of counts in their row, with half a visit spread evenly."""
    return np.asarray(np.log((counts + 0.5 / counts.shape[1]) / (counts.sum(axis=1, keepdims=True) + 0.5)))
