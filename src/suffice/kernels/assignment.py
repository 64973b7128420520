"""Assign transitions of a stationary automaton by maximum posterior probability; `learning/stationary/settling.py`.

Logarithms of probabilities are never positive, so the likelihood of some visits bounds that of all: a state whose
likelihood has fallen below that of the best one is not followed to the end. Nor is one that meets the path of the
episode itself, because from there on the likelihood is the same for all of them, and known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from suffice.kernels.array_types import Float, Int32, Int64, Mask
from suffice.kernels.jit import jit, jit_unless_rare

ROUNDING_ERROR = 1e-9  # a state is dropped only if it is behind by more


class Beliefs(NamedTuple):
    """An automaton at the beginning of a pass, with what is known of its letters and symbols."""

    whole: Int32  # [Q, Y] all transitions
    known: Mask  # [Q, Y] transitions that were taken and do not end an episode
    leads: Mask  # [Q, Q] whether some symbol leads there
    agreement: Float  # [Y, Y] how often two symbols lead from the same state to the same state
    share: Float  # [Q] visits
    ln_chance: Float  # [Q, X] of letters in states
    excluded: Mask  # [E, Q] targets that tests excluded
    excluded_of: Int32  # [Q, Y] the row of `excluded`
    symbols: Int64  # [Y, 2]
    begin: Int64  # [Q·Y+1] the range of visits of each transition
    episodes: Int32  # of the visits
    start: Int32  # the step after each visit
    path: Int32  # [N, H+1] the state of each episode at each step
    row: Int32  # [N] the row of `later` of an episode with visits
    later: Float  # [·, H+2] the ln-likelihood of an episode from each step on


class Limits(NamedTuple):
    """Constants that limit the work of assignment, from `learning/stationary/settling.py`."""

    special: int
    soon: int
    first_few: tuple[int, int]  # visits, and the number of states that are kept by them
    few: tuple[int, int]
    agreeing_share: float
    equal: float


@jit_unless_rare
def assign(tau, steps, beliefs, limits):
    """Assign all transitions that have several possible targets, one by one and then those that agree."""
    n_states, n_symbols = tau.shape
    grid = np.full((beliefs.symbols[:, 0].max() + 1, beliefs.symbols[:, 1].max() + 1), -1, np.int32)
    free = np.empty(n_symbols, np.int64)
    for state in range(n_states):
        n = 0
        for y in range(n_symbols):
            key = state * n_symbols + y
            if beliefs.begin[key] < beliefs.begin[key + 1]:
                free[n] = y
                if np.count_nonzero(_possible(state, free[n : n + 1], beliefs, limits)) > 1:
                    n += 1
        if n == 0:
            continue
        for y in range(n_symbols):
            a, o = beliefs.symbols[y]
            grid[a, o] = tau[state, y] if beliefs.known[state, y] else -1
        for i in range(n):
            _move(state, free[i : i + 1], tau, steps, beliefs, limits, grid)
        group, groups = _agreeing(state, free[:n], tau, beliefs, limits)
        for g in range(groups):
            members = free[:n][group == g]
            if members.size > 1:
                _move(state, members, tau, steps, beliefs, limits, grid)
        grid[:] = -1


@jit
def _move(state, symbols, tau, steps, beliefs, limits, grid):
    """Set the target of some symbols together."""
    target = _best(state, symbols, tau, steps, beliefs, limits, grid)
    for y in symbols:
        tau[state, y] = target
        if beliefs.known[state, y]:
            a, o = beliefs.symbols[y]
            grid[a, o] = target


@jit
def _agreeing(state, symbols, tau, beliefs, limits):
    """Group symbols with the same target here and elsewhere: (group of each, number of groups)."""
    group, first, n = np.zeros(symbols.size, np.int64), np.zeros(symbols.size, np.int64), 0
    for i in range(symbols.size):
        y, found = symbols[i], n
        for g in range(n - 1, -1, -1):
            if tau[state, first[g]] == tau[state, y] and beliefs.agreement[first[g], y] >= limits.agreeing_share:
                found = g
        if found == n:
            first[n] = y
            n += 1
        group[i] = found
    return group, n


@jit
def _possible(state, symbols, beliefs, limits):
    """Return [Q], the targets that no test excluded for any of some symbols."""
    possible = np.ones(beliefs.whole.shape[0], np.bool_)
    possible[: limits.special] = False
    for y in symbols:
        possible &= ~beliefs.excluded[beliefs.excluded_of[state, y]]
    return possible


@jit
def _best(state, symbols, tau, steps, beliefs, limits, grid):
    """Return the most probable target of some symbols together; ties keep the present target."""
    ln_prior = np.zeros(tau.shape[0])
    for y in symbols:
        ln_prior += ln_prior_of(state, y, symbols, tau, beliefs, limits, grid)
    now, possible, visits = tau[state, symbols[0]], _possible(state, symbols, beliefs, limits), 0
    for y in symbols:
        key = state * tau.shape[1] + y
        visits += beliefs.begin[key + 1] - beliefs.begin[key]
    for few, kept in (limits.first_few, limits.few):
        if np.count_nonzero(possible) > kept and (visits > few or kept > limits.few[1]):
            possible = _likeliest(state, symbols, possible, steps, beliefs, limits.soon, few, kept, ln_prior, now)
    best, most = now, -math.inf
    if now >= 0 and possible[now]:  # the present target first, because it is usually the best
        most = likelihood(state, symbols, now, ln_prior[now], -math.inf, visits, tau.shape[1], steps, beliefs, -1)
    for s in np.flatnonzero(possible):
        if s != now:
            score = likelihood(state, symbols, s, ln_prior[s], most, visits, tau.shape[1], steps, beliefs, -1)
            if score > most + limits.equal:  # of equals the present target, or else the first
                best, most = s, score
    return best


@jit
def _likeliest(state, symbols, possible, steps, beliefs, soon, few, n, ln_prior, now):
    """Return [Q], the n states from which a few steps after a few visits are most probable, and the present target."""
    scores, states, found, width = np.full(n + 1, -math.inf), np.zeros(n + 1, np.int64), 0, beliefs.known.shape[1]
    for s in np.flatnonzero(possible):
        least = scores[n - 1] if found >= n else -math.inf
        score = likelihood(state, symbols, s, ln_prior[s], least, few, width, steps, beliefs, soon)
        at = min(found, n)
        while at > 0 and scores[at - 1] < score:
            scores[at], states[at] = scores[at - 1], states[at - 1]
            at -= 1
        scores[at], states[at] = score, s
        found += 1
    kept = np.zeros(possible.size, np.bool_)
    kept[states[: min(n, found)]] = True
    if now >= 0 and possible[now]:
        kept[now] = True
    return kept


@jit
def likelihood(state, symbols, target, ln_prior, least, visits, n_symbols, steps, beliefs, within):
    """Return the ln-likelihood of what followed symbols that led to a target, plus `ln_prior`; −∞ if below `least`.

    Only the first `visits` are used, and `within` steps after each (−1: all).
    """
    total, enough = 0.0, least - ln_prior - ROUNDING_ERROR * (1.0 + abs(least))
    word, last, weight, symbol_of = steps.word, steps.last, steps.weight, steps.symbol_of
    begin, episodes, starts = beliefs.begin, beliefs.episodes, beliefs.start
    ln_chance, whole, path, row, later = beliefs.ln_chance, beliefs.whole, beliefs.path, beliefs.row, beliefs.later
    for y in symbols:
        key = state * n_symbols + y
        for v in range(begin[key], min(begin[key + 1], begin[key] + visits)):
            e, start, here, q = episodes[v], starts[v], 0.0, target
            amount, end = (
                weight[e] if weight.size else 1,
                last[e] + 1 if within < 0 else min(last[e] + 1, start + within),
            )
            for u in range(start, end):
                if q == path[e, u]:
                    here += later[row[e], u] - later[row[e], end]
                    break
                x = word[e, u]
                here += ln_chance[q, x]
                if total + here * amount < enough:
                    return -math.inf
                q = whole[q, symbol_of[x]]
            total += here * amount
            if total < enough:
                return -math.inf
        visits -= min(visits, begin[key + 1] - begin[key])
    return total + ln_prior


@jit_unless_rare
def likelihoods_of_paths(path, steps, ln_chance, episodes):
    """Return the ln-likelihood of episodes from each step on: the row [N] of each, −1 for none, and rows [·, H+2]."""
    word, last = steps.word, steps.last
    row, n = np.full(word.shape[0], -1, np.int32), 0
    for e in episodes:
        if row[e] < 0:
            row[e] = n
            n += 1
    later = np.zeros((n, word.shape[1] + 1))
    for e in range(word.shape[0]):
        for u in range(last[e] if row[e] >= 0 else -1, -1, -1):
            later[row[e], u] = later[row[e], u + 1] + ln_chance[path[e, u], word[e, u]]
    return row, later


@jit
def ln_prior_of(state, symbol, without, tau, beliefs, limits, grid):
    """Return the log prior [Q] of targets: votes of the state's other symbols, or the frequency of states."""
    n_states = tau.shape[0]
    votes = beliefs.known[state].copy()
    for y in without:
        votes[y] = False
    doubt = np.ones(n_states)
    for z in np.flatnonzero(votes):
        trust = max(beliefs.agreement[symbol, z], _local(symbol, z, beliefs, n_states, grid))
        doubt[tau[state, z]] *= 1 - trust
    origins = 0
    for q in range(n_states):
        origins += beliefs.leads[q, state] and q != state
    if origins:
        returns = 1 - _returns(state, symbol, tau, beliefs) / origins
        for q in range(n_states):
            if beliefs.leads[q, state] and q != state:
                doubt[q] *= returns
    return _ln_shares(doubt, beliefs.share, limits.special)


@jit
def _ln_shares(doubt, share, special):
    """Return the log [Q] of prior probabilities; loops, because NumPy adds and takes logarithms in another way."""
    prior, every, total = np.zeros(doubt.size), 1.0, 0.0
    for q in range(doubt.size):
        every *= doubt[q]
    for q in range(special, doubt.size):
        prior[q] = every * share[q] + (1 - doubt[q])
        total += prior[q]
    for q in range(doubt.size):
        prior[q] = math.log(prior[q] / max(total, 1e-300) + 1e-12)
    return prior


@jit
def _returns(state, symbol, tau, beliefs):
    """Return how often a symbol leads from other states to one that leads back, like a step west after one east."""
    back, others = 0, 0
    for q in range(tau.shape[0]):
        if q != state and beliefs.known[q, symbol] and tau[q, symbol] != q:
            others += 1
            back += beliefs.leads[tau[q, symbol], q]
    return (back + 1 / tau.shape[0]) / (others + 1)


@jit
def _local(symbol, voter, beliefs, n_states, grid):
    """Return how often a voter's action (or observation) agrees with the symbol's in this state, without the symbol."""
    (a, o), (b, p) = beliefs.symbols[symbol], beliefs.symbols[voter]
    if (a == b) == (o == p):
        return 0.0
    agree, both = 0, 0
    for k in range(grid.shape[1] if o == p else grid.shape[0]):
        one, other = (grid[a, k], grid[b, k]) if o == p else (grid[k, o], grid[k, p])
        if one >= 0 and other >= 0 and k != (o if o == p else a):
            both += 1
            agree += one == other
    return (agree + 1 / n_states) / (both + 1)


@jit_unless_rare
def agreement_of(tau, known):
    """Return [Y, Y], how often two symbols lead from the same state to the same state."""
    n_states, n_symbols = tau.shape
    agree, both = np.zeros((n_symbols, n_symbols)), np.zeros((n_symbols, n_symbols))
    for q in range(n_states):
        places = np.flatnonzero(known[q])
        for y in places:
            for z in places:
                both[y, z] += 1
                agree[y, z] += tau[q, y] == tau[q, z]
    return (agree + 1 / n_states) / (both + 1)
