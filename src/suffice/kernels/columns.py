"""Contingency tables of a column's values and later outcomes along an automaton, and their e-values.

An *event* is a pair of an arrival in a state, at which a column has a value, and an outcome later in the same episode.
Theory: docs/theory.md, section 12.
"""

from __future__ import annotations

import math

import numpy as np

from suffice.kernels import small
from suffice.kernels.jit import at, jit, jit_unless_rare, jit_unless_small

EVERY_VISIT, FIRST_VISIT, DRAWN_VISIT = 0, 1, 2  # arrivals of a table: see `events`


@jit_unless_small(small.walk)
def walk(tau, symbol_of, word, path):
    """Write the state after each step, [H+1, N]; the last state of `tau` follows what is not known."""
    unknown = tau.shape[0] - 1
    for e in range(word.shape[1]):
        state = 0
        for t in range(word.shape[0]):
            following = tau[state, symbol_of[word[t, e]]]
            state = unknown if following < 0 else following
            path[t, e] = state


@jit
def _draw(z, state, visits):
    """Return a number below `visits` that depends on an episode and a state alone (splitmix64)."""
    z = z + np.uint64(state + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) % np.uint64(visits))


@jit
def _arrivals(path, length, coin, e, visits, chosen):
    """Find the first visit of each state in an episode, and one drawn by its coin; return how many states there are.

    chosen [3, H]: the state, the step of its first visit, the step of the drawn visit.
    """
    n = 0
    for t in range(length):
        q = path[t, e]
        if visits[q] == 0:
            chosen[0, n], chosen[1, n], chosen[2, n] = q, t, -1
            n += 1
        visits[q] += 1
    for i in range(n):
        visits[chosen[0, i]] = _draw(coin, chosen[0, i], visits[chosen[0, i]])
    for t in range(length):  # count down to the drawn visit
        for i in range(n):
            if chosen[0, i] == path[t, e] and chosen[2, i] < 0:
                if visits[path[t, e]] == 0:
                    chosen[2, i] = t
                visits[path[t, e]] -= 1
                break
    for i in range(n):
        visits[chosen[0, i]] = 0
    return n


@jit_unless_rare(most=1 << 17)  # three of its arrays have room for more than the events
def events(path, action, reward, lengths, last, coins, n_actions, key, cell, outcome):
    """List the events of as many episodes as fit into the arrays; return the numbers of events and of episodes.

    The key of a table is ((kind · Q + state) · Q + later state) · A + action, times 2, plus 1 if its outcome is the
    next state instead of the reward. The kinds: EVERY_VISIT, every visit of the state with what follows at once;
    FIRST_VISIT, the first visit of the state in an episode, and every later pair of a state and an action at its first
    occurrence since; DRAWN_VISIT, the same from a visit that a coin draws. The next state after the step `last` of an
    episode, at which it was cut off, is not known.
    """
    n_states, n, size = np.int64(path.max()) + 1, path.shape[1], 0
    visits = np.zeros(n_states, np.int64)
    stamp = np.zeros(n_states * n_actions, np.int64)
    chosen = np.empty((3, path.shape[0]), np.int64)
    now = 0
    for e in range(n):
        length = lengths[e]
        states = _arrivals(path, length, coins[e], e, visits, chosen)
        if size + 2 * length * (1 + 2 * states) > key.size:
            return size, e
        for t in range(length):
            name = (path[t, e] * n_states + path[t, e]) * n_actions + action[t + 1, e]
            size = _record(name, t, t + 1, e, n, last[e], path, reward, key, cell, outcome, size)
        for kind in range(FIRST_VISIT, DRAWN_VISIT + 1):
            for i in range(states):
                now += 1
                begin = (kind * n_states + chosen[0, i]) * n_states * n_actions
                for u in range(chosen[kind, i], length):
                    pair = path[u, e] * n_actions + action[u + 1, e]
                    if stamp[pair] != now:
                        stamp[pair] = now
                        size = _record(
                            begin + pair, chosen[kind, i], u + 1, e, n, last[e], path, reward, key, cell, outcome, size
                        )
    return size, n


@jit
def _record(name, t, u, e, n, last, path, reward, key, cell, outcome, size):
    """Append the reward at step u, and the next state if it is known, to the events of an arrival at step t."""
    key[size], cell[size], outcome[size] = 2 * name, t * n + e, reward[u, e]
    size += 1
    if u < last:
        key[size], cell[size], outcome[size] = 2 * name + 1, t * n + e, path[u, e]
        size += 1
    return size


@jit_unless_rare
def rank_outcomes(begin, outcome, most, n_outcomes):
    """Replace the outcomes of each table by their ranks in frequency; the rarest share rank `most` − 1.

    Ties have the smaller outcome first. Return the number of outcomes of each table, [T], and the outcome of each rank,
    [T, most]; −1 for those that share one.
    """
    sizes, names = np.zeros(begin.size - 1, np.int64), np.full((begin.size - 1, most), -1, np.int64)
    count, rank = np.zeros(n_outcomes, np.int64), np.zeros(n_outcomes, np.int64)
    met = np.empty(n_outcomes, np.int64)
    for table in range(begin.size - 1):
        n = 0
        for i in range(begin[table], begin[table + 1]):
            if count[outcome[i]] == 0:
                met[n] = outcome[i]
                n += 1
            count[outcome[i]] += 1
        order = met[:n].copy()
        order.sort()
        sizes[table] = min(n, most)
        for r in range(n):  # selection of the next largest; few outcomes have a rank of their own
            if r >= most - 1:
                for x in order[r:]:
                    rank[x] = most - 1
                break
            best = r
            for j in range(r + 1, n):
                if count[order[j]] > count[order[best]]:
                    best = j
            chosen = order[best]
            for j in range(best, r, -1):
                order[j] = order[j - 1]
            order[r] = chosen
            rank[chosen] = r
            names[table, r] = chosen
        for i in range(begin[table], begin[table + 1]):
            outcome[i] = rank[outcome[i]]
        for x in met[:n]:
            count[x] = 0
    return sizes, names


@jit_unless_rare
def design_effects(begin, unit, outcome, sizes):
    """Return by how much the events of a table count too much if a column hardly changes within a unit, [T].

    A unit is an episode or a group of episodes, and its events are adjacent. The effect is 1 + (m − 1) ρ, where m is
    the mean number of events of a unit, weighted by them, and ρ the correlation of the outcomes of one unit: the excess
    of pairs of equal outcomes, plus two standard errors, but at least 0.
    """
    effects = np.ones(begin.size - 1)
    here = np.zeros(sizes.max() if sizes.size else 0, np.int64)
    for table in range(begin.size - 1):
        total, pairs, equal, squares = begin[table + 1] - begin[table], 0.0, 0.0, 0.0
        share = np.zeros(sizes[table])
        i = begin[table]
        while i < begin[table + 1]:
            first = i
            while i < begin[table + 1] and unit[i] == unit[first]:
                here[outcome[i]] += 1
                share[outcome[i]] += 1.0 / total
                i += 1
            m = i - first
            pairs += m * (m - 1.0)
            squares += m * np.float64(m)
            for k in range(sizes[table]):
                equal += here[k] * (here[k] - 1.0)
                here[k] = 0
        if pairs > 0:
            chance = 0.0
            for p in share:  # in this order in all versions
                chance += p * p
            excess = equal / pairs - chance + 2 * math.sqrt(chance * (1 - chance) / (pairs / 2))
            effects[table] = 1 + (squares / total - 1) * min(max(excess / (1 - chance), 0.0), 1.0)
    return effects


@jit
def _ln_gamma(x):
    """Return ln Γ(x) for x > 0 by Stirling's series, because compiled code and Python have different versions of it."""
    product = 1.0
    while x < 12.0:
        product *= x
        x += 1.0
    z = 1.0 / (x * x)
    series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188))))) / x
    return (x - 0.5) * math.log(x) - x + 0.5 * math.log(2 * math.pi) + series - math.log(product)


@jit
def _ln_factorial(x, log_factorial):
    """Return ln x!, by the gamma function where x is not whole."""
    whole = np.int64(x)
    return log_factorial[whole] if whole == x else _ln_gamma(x + 1.0)


@jit
def _ln_choose(n, k, log_factorial):
    """Return the logarithm of the binomial coefficient."""
    below = _ln_factorial(k, log_factorial) + _ln_factorial(max(n - k, 0.0), log_factorial)
    return _ln_factorial(n, log_factorial) - below


@jit
def log_e_value(counts, values, outcomes, effect, pool, log_factorial):
    """Return the logarithm of the e-value of a table, [V, K], given its margins.

    The table is drawn cell by cell: given what is left, each cell is hypergeometric if values and outcomes are
    independent. The alternative is uniform on the range of the cell, so the ratio has expectation 1. With an effect
    above 1 all counts are divided by it, as if there were that many fewer events.
    """
    total = 0.0
    for k in range(outcomes):
        pool[k] = 0.0
        for v in range(values):
            pool[k] += counts[v, k] / effect
        total += pool[k]
    result = 0.0
    for v in range(values):
        slots = 0.0
        for k in range(outcomes):
            slots += counts[v, k] / effect
        if slots > total - 1e-6:
            break
        left, remaining = total, slots
        for k in range(outcomes - 1):
            if remaining < 1e-6:
                break
            x, m, others = counts[v, k] / effect, pool[k], max(left - pool[k], 0.0)
            low, high = max(0.0, remaining - others), min(remaining, m)
            if high > low + 1e-6:
                chance = _ln_choose(m, x, log_factorial) - _ln_choose(left, remaining, log_factorial)
                chance += _ln_choose(others, max(remaining - x, 0.0), log_factorial)
                result -= chance + math.log(high - low + 1.0)
            remaining -= x
            left -= m
        for k in range(outcomes):
            pool[k] = max(pool[k] - counts[v, k] / effect, 0.0)
        total -= slots
    return result


@jit
def _log_add(x, y):
    """Return ln(exp x + exp y)."""
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


@jit
def _one_against_rest(counts, values, outcomes, effect, pool, sides, log_factorial):
    """Return the logarithm of the mean e-value of the tables "one value, all others", over the values that occur."""
    found, result = 0, 0.0
    total = counts[:values].sum(axis=0)
    for v in range(values):
        slots = 0
        for k in range(outcomes):
            sides[0, k], sides[1, k] = counts[v, k], total[k] - counts[v, k]
            slots += counts[v, k]
        if slots > 0:
            this = log_e_value(sides, 2, outcomes, effect, pool, log_factorial)
            result = this if found == 0 else _log_add(result, this)
            found += 1
    return result - math.log(max(found, 1))


@jit_unless_rare
def category_e_values(begin, cell, outcome, sizes, effects, code, values, weight, log_factorial, result):
    """Write the logarithm of the e-value of each table, [T], for a column with `values` categories; −1 is left out.

    With more than two values, half of the weight is on the tables "one value, all others".
    """
    counts, pool = np.zeros((values, sizes.max()), np.int64), np.zeros(sizes.max())
    sides = np.zeros((2, sizes.max()), np.int64)
    n = weight.size
    for table in range(begin.size - 1):
        k = sizes[table]
        counts[:, :k] = 0
        for i in range(begin[table], begin[table + 1]):
            v = code[cell[i]]
            if v >= 0:
                counts[v, at(outcome[i])] += weight[cell[i] % n] if n > 0 else 1
        found = log_e_value(counts, values, k, effects[table], pool, log_factorial)
        if values > 2:
            one = _one_against_rest(counts, values, k, effects[table], pool, sides, log_factorial)
            found = _log_add(found, one) - math.log(2.0)
        result[table] = found


@jit_unless_rare
def cut_e_values(begin, cell, outcome, sizes, effects, code, values, weight, log_factorial, result):
    """Write the same for each cut of an ordered column with `values` ranges, [T, values − 1]."""
    counts, pool = np.zeros((values, sizes.max()), np.int64), np.zeros(sizes.max())
    sides = np.zeros((2, sizes.max()), np.int64)
    n = weight.size
    for table in range(begin.size - 1):
        counts[:, : sizes[table]] = 0
        sides[:, : sizes[table]] = 0
        for i in range(begin[table], begin[table + 1]):
            v = code[cell[i]]
            if v >= 0:
                w = weight[cell[i] % n] if n > 0 else 1
                counts[v, at(outcome[i])] += w
                sides[1, at(outcome[i])] += w
        for cut in range(values - 1):
            for k in range(sizes[table]):
                sides[0, k] += counts[cut, k]
                sides[1, k] -= counts[cut, k]
            result[table, cut] = log_e_value(sides, 2, sizes[table], effects[table], pool, log_factorial)


@jit_unless_small(small.add_hashes)
def add_hashes(of_row, cell, n, column):
    """Return the sum of the hashes of a column's values in each episode, [n], each mixed with its step (splitmix64)."""
    total = np.zeros(n, np.uint64)
    for i in range(cell.size):
        z = of_row[i] + np.uint64(column) * np.uint64(0xD1B54A32D192ED03)
        z += np.uint64(cell[i] // n + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        total[cell[i] % n] += z ^ (z >> np.uint64(31))
    return total


@jit_unless_rare
def hash_texts(begin, data):
    """Return a hash of each text, [n], whose bytes are `data` from begin[i] to begin[i + 1] (FNV-1a, splitmix64)."""
    found = np.empty(begin.size - 1, np.uint64)
    for i in range(begin.size - 1):
        z = np.uint64(0xCBF29CE484222325)
        for j in range(begin[i], begin[i + 1]):
            z = (z ^ np.uint64(data[j])) * np.uint64(0x100000001B3)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found[i] = z ^ (z >> np.uint64(31))
    return found
