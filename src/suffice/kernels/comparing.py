"""Compare two samples by the evidence of one event, or of the event with the largest evidence.

Measures and bounds: `evidence/measures.py`, `evidence/bounds.py`. Theory: docs/theory.md, sections 4 and 5.
"""

from __future__ import annotations

import math

import numpy as np

from suffice.kernels.jit import EQUAL_DISTANCE, jit, jit_unless_rare
from suffice.kernels.tables import cross, likeliest, likelihood_ratio, ln_table

# Measures of evidence between the counts of one event in two samples (see evidence/measures.py).
DIFFERENCE, LIKELIHOOD, FISHER = 0, 1, 2

_EQUAL_FACTOR = 1e-7  # tables whose probabilities differ by less than this factor count as equally probable


@jit
def _tail(x, up, n1, n2, k, enough):
    """Return the sum of table probabilities from x outward, as a multiple of that of x; stop at `enough`."""
    total, term = 1.0, 1.0
    if up:
        a, b, c, d = float(n1 - x), float(k - x), x + 1.0, n2 - k + x + 1.0
    else:
        a, b, c, d = float(x), float(n2 - k + x), n1 - x + 1.0, k - x + 1.0
    while total < enough:
        term *= a * b / (c * d)
        total += term
        a, b, c, d = a - 1.0, b - 1.0, c + 1.0, d + 1.0
        if term < 1e-18 * total:
            break
    return total


@jit
def _opposite(k1, mode, outer, n1, n2, k, limit):
    """Return the table nearest to the mode, on its other side, whose ln-probability is at most `limit`.

    That of `outer` is. The table is close to the mirror image of k₁: steps from there double until it is enclosed, then
    it is found by bisection.
    """
    inner, step = mode, 1
    x = 2 * mode - k1
    while min(inner, outer) < x < max(inner, outer):
        if ln_table(x, n1, k - x, n2) <= limit:
            outer, x = x, (x - step if outer > inner else x + step)
        else:
            inner, x = x, (x + step if outer > inner else x - step)
        step *= 2
    while abs(outer - inner) > 1:
        x = (inner + outer) // 2
        if ln_table(x, n1, k - x, n2) <= limit:
            outer = x
        else:
            inner = x
    return outer


@jit
def _least_tail(x, n1, n2, k):
    """Return a cheap lower bound of `_tail`.

    The ratios of successive terms fall, so those up to the m-th are at least its ratio ρ, and the sum up to there is at
    least (1 − ρ^{m+1}) / (1 − ρ). The bound is sharpest at about m = σ/(1 + z).
    """
    n = n1 + n2
    mean = k * (n1 / n)
    variance = mean * (n2 / n) * (1 - k / n)
    m = math.floor(variance / (math.sqrt(variance) + abs(x - mean)))
    if x > mean:
        y = float(x + m)
        ratio = (n1 - y) * (k - y) / ((y + 1.0) * (n2 - k + y + 1.0))
    else:
        y = float(x - m)
        ratio = y * (n2 - k + y) / ((n1 - y + 1.0) * (k - y + 1.0))
    return (1 - ratio ** (m + 1)) / (1 - ratio) if 0 < ratio < 1 else 1.0


@jit
def fisher(k1, n1, k2, n2, seen, worth):
    """Return −ln p of Fisher's exact two-sided test, or 0 if the value is at most `worth`.

    p is the probability of all tables that are not more probable than the observed one, of ln-probability `seen`.
    """
    k = k1 + k2
    low, high = max(0, k - n2), min(k, n1)
    mode = likeliest(n1, n2, k)
    if k1 == mode or seen >= ln_table(mode, n1, k - mode, n2) - _EQUAL_FACTOR:
        return 0.0
    up = k1 > mode
    enough = math.exp(min(-seen - worth, 700.0))  # a sum this large means p ≥ e^−worth
    total = _tail(k1, up, n1, n2, k, enough)
    if total >= enough:
        return 0.0
    outer = low if up else high
    if ln_table(outer, n1, k - outer, n2) <= seen + _EQUAL_FACTOR:
        outer = _opposite(k1, mode, outer, n1, n2, k, seen + _EQUAL_FACTOR)
        total += math.exp(ln_table(outer, n1, k - outer, n2) - seen) * _tail(outer, not up, n1, n2, k, math.inf)
    return max(-seen - math.log(total), 0.0)


@jit
def most_evidence(n1, n2, k):
    """Return −ln of the smallest p-value that Fisher's test can attain given the margins (Tarone's correction)."""
    low, high = max(0, k - n2), min(k, n1)
    if low == high:
        return 0.0
    left, right = ln_table(low, n1, k - low, n2), ln_table(high, n1, k - high, n2)
    least = min(left, right)
    return max(-least - (math.log(2.0) if abs(left - right) <= _EQUAL_FACTOR else 0.0), 0.0)


@jit
def _most_likelihood_ratio(k1, n1, k2, n2):
    """Return an upper bound of G without logarithms.

    kl(p, q) = ∫ (p−u)/(u(1−u)) du from q to p is at most (p−q)²/(2v), where v is the minimum of u(1−u) in between,
    attained at an end, and at most (p−q)²/(q(1−q)).
    """
    n, d = float(n1 + n2), cross(k1, n1, k2, n2)
    p1, p2, pooled = k1 / n1, k2 / n2, (k1 + k2) / n
    v = pooled * (1 - pooled)
    d1, d2 = d / (n1 * n), d / (n2 * n)  # p₁ − p̄ and p̄ − p₂
    d1, d2 = d1 * d1, d2 * d2
    v1, v2 = min(p1 * (1 - p1), v), min(p2 * (1 - p2), v)
    first = d1 / v if 2 * v1 <= v else d1 / (2 * v1)
    second = d2 / v if 2 * v2 <= v else d2 / (2 * v2)
    return (n1 * first + n2 * second) * (1 + 1e-9)


@jit
def _most_table_evidence(k1, n1, k2, n2, g):
    """Return an upper bound of −ln P(table) from one of G, by Stirling's formula with an error of 0 to 1/12x for x!."""
    k, n = float(k1 + k2), float(n1 + n2)
    scale, error = n / (k * (n - k) * n1 * n2), 1 / n
    for cell in (k1, n1 - k1, k2, n2 - k2):
        if cell > 0:  # an empty cell has neither the factor √(2πx) nor an error
            scale *= 2 * math.pi * cell
            error += 1.0 / cell
    return g + 0.5 * math.log(scale / (2 * math.pi) ** 3) + error / 12


@jit
def evidence(kind, k1, n1, k2, n2, worth, ceiling):
    """Return the evidence of one event between two samples.

    Return 0 if a cheap bound shows that it is at most `worth`. If a cheap bound shows that it reaches `ceiling`, return
    that bound, which may be less than the evidence.
    """
    if kind == DIFFERENCE:
        return abs(k1 / n1 - k2 / n2)
    k, n = k1 + k2, n1 + n2
    if k == 0 or k == n:
        return 0.0
    g = _most_likelihood_ratio(k1, n1, k2, n2)
    if kind == LIKELIHOOD:
        return 0.0 if g <= worth else likelihood_ratio(k1, n1, k2, n2)
    difference = k1 / n1 - k2 / n2
    surely = 2 * difference * difference * n1 * (n2 / n) - 1.5 * math.log(2.0 * n)
    if surely >= ceiling:  # Pinsker's inequality for G; a table has at most √2n e^−G, and there are fewer than 2n
        return surely
    most = _most_table_evidence(k1, n1, k2, n2, g)
    if most <= worth or most - math.log(_least_tail(k1, n1, n2, k)) * (1 - 1e-9) <= worth:
        return 0.0
    seen = ln_table(k1, n1, k2, n2)
    if -seen * (1 + 1e-9) <= worth:  # p is at least the probability of the observed table
        return 0.0
    least = -seen - math.log(min(k, n1) - max(0, k - n2) + 1.0)  # and at most that times the number of tables
    return least if least >= ceiling else fisher(k1, n1, k2, n2, seen, worth)


@jit
def subtree_bound(kind, k1, n1, k2, n2):
    """Return an upper bound of the evidence of all events with counts at most k₁ and k₂ (docs/theory.md, section 5).

    The difference and G are convex, and the probability of a table has a single mode along each axis, so over the box
    [0, k₁] × [0, k₂] the extremes lie at the corners (k₁, 0) and (0, k₂).
    """
    if kind == DIFFERENCE:
        return max(k1 / n1, k2 / n2)
    if kind == LIKELIHOOD:
        return max(likelihood_ratio(k1, n1, 0, n2), likelihood_ratio(0, n1, k2, n2)) * (1 + 1e-9)
    return -min(ln_table(k1, n1, 0, n2), ln_table(0, n1, k2, n2)) * (1 + 1e-9)


# ---------------------------------------------------------------- rows of events


@jit
def _compare_row(kind, row, n1, other, n2, first, floor, ceiling):
    """Return the largest evidence above `floor` and its event, starting the search at event `first`."""
    most, where = floor, -1
    for i in range(row.size):
        j = first + i if first + i < row.size else first + i - row.size
        value = evidence(kind, row[j], n1, other[j], n2, most, ceiling)
        if value > most:
            most, where = value, j
            if most >= ceiling:
                break
    return most, where


@jit
def _most_promising(kind, row, n1, other, n2):
    """Return the event with the largest cheap bound; if it is compared first, few others need exact sums."""
    most, where = -1.0, 0
    for j in range(row.size if kind != DIFFERENCE else 0):
        k = row[j] + other[j]
        if 0 < k < n1 + n2:
            g = _most_likelihood_ratio(row[j], n1, other[j], n2)
            if g > most:
                most, where = g, j
    return where


@jit
def compare_rows(kind, row, n1, rows, sizes, low, high, best, event):
    """Find the largest evidence between one row and each of several, and the event that attains it.

    The result is exact for the nearest of the states below `low`. For other states the search stops where the evidence
    reaches `high` or that of a nearer state. It starts with the event on which the last candidate differed most.
    """
    least = math.inf
    for q in range(sizes.size):
        ceiling = min(high[q], least + 2 * EQUAL_DISTANCE)
        hint = max(event[q], 0)
        if hint < row.size:
            best[q], event[q] = evidence(kind, row[hint], n1, rows[q, hint], sizes[q], 0.0, ceiling), hint
            if best[q] >= ceiling:
                continue
        hint = _most_promising(kind, row, n1, rows[q], sizes[q])
        best[q], event[q] = _compare_row(kind, row, n1, rows[q], sizes[q], hint, 0.0, ceiling)
        if best[q] < low[q]:
            least = min(least, best[q])


@jit
def nearest(distances, low, high):
    """Return the nearest state, of equals the oldest, among those below their thresholds.

    Thresholds lie between `low` and `high`. Return −1 if all states are distinct, −2 if that depends on a threshold.
    """
    least, between = math.inf, False
    for q in range(distances.size):
        if distances[q] < low[q]:
            least = min(least, distances[q])
        elif distances[q] < high[q]:
            between = True
    for q in range(distances.size):
        if distances[q] < low[q] and distances[q] <= least + EQUAL_DISTANCE:
            return q
    return -2 if between else -1


@jit
def attainable(row, n1, other, n2, enough):
    """Return the largest evidence of each event given its margins, or `enough` where it is at least that.

    With m = min(n₁, n₂) and h = min(k, n − k, m) it is at least (h − 1) ln 2: if k ≤ m, the k suffixes of an event are
    all in the smaller sample with probability at most (m/n)^k ≤ 2^−k, and likewise for the n − k others. If both exceed
    m, one of them fills the smaller sample with probability at most 2^−m. At most two such tables count.
    """
    out = np.empty(row.size)
    smaller, surely = min(n1, n2), enough / math.log(2.0) + 1
    for j in range(row.size):
        k = np.int64(row[j]) + other[j]
        out[j] = enough if min(k, n1 + n2 - k, smaller) >= surely else most_evidence(n1, n2, k)
    return out


@jit
def tarone(attainable, multiplicity, ln_delta):
    """Return Tarone's κ, the smallest κ ≥ 1 such that at most κ events can reach −ln p ≥ ln(κ/δ)."""
    low, high = 1, max(1, math.ceil(multiplicity.sum()))
    while low < high:
        middle = (low + high) // 2
        reach, testable = math.log(middle) - ln_delta - 1e-12, 0.0
        for j in range(attainable.size):
            if attainable[j] >= reach:
                testable += multiplicity[j]
        if testable <= middle:
            high = middle
        else:
            low = middle + 1
    return low


@jit_unless_rare
def judge_rows(kind, row, n1, rows, sizes, best, event, low, high, multiplicity, ln_delta):
    """Apply `judging.judge` to rows in one call: (nearest state, distinct from all, distance, threshold, event)."""
    compare_rows(kind, row, n1, rows, sizes, low, high, best, event)
    q = nearest(best, low, high)
    if q == -2:
        exact = high.copy()
        for i in range(sizes.size):
            if low[i] <= best[i] < high[i]:
                exact[i] = tarone_threshold(row, n1, rows[i], sizes[i], multiplicity, ln_delta)
        q = nearest(best, exact, exact)
    alone = q < 0
    if alone:
        infinite = np.full(sizes.size, math.inf)
        compare_rows(kind, row, n1, rows, sizes, infinite, infinite, best, event)
        q = nearest(best, infinite, infinite)
    threshold = low[q]
    if low[q] < high[q]:
        threshold = tarone_threshold(row, n1, rows[q], sizes[q], multiplicity, ln_delta)
    return q, alone, best[q], threshold, event[q]


@jit
def tarone_threshold(row, n1, other, n2, multiplicity, ln_delta):
    """Return ln(κ/δ) with Tarone's κ for the events of two rows."""
    enough = math.log(max(1.0, multiplicity.sum())) - ln_delta + 1  # above the threshold for every κ
    return math.log(tarone(attainable(row, n1, other, n2, enough), multiplicity, ln_delta)) - ln_delta


# ---------------------------------------------------------------- nodes of a prefix tree


@jit
def _compare_tree(kind, row, n1, other, n2, end, floor, ceiling):
    most, where, v = floor, -1, 1
    while v < end.size and most < ceiling:
        k1, k2 = np.int64(row[v]), np.int64(other[v])
        value = evidence(kind, k1, n1, k2, n2, most, ceiling)
        if value > most:
            most, where = value, v
        if end[v] > v + 1 and subtree_bound(kind, k1, n1, k2, n2) > most:
            v += 1
        else:
            v = end[v]
    return most, where


@jit
def compare_trees(kind, row, n1, other, n2, end, low, high, least):
    """Apply `compare_rows` to one state, with the nodes of a prefix tree as events.

    A preorder scan skips subtrees that cannot have more evidence. `least` is the evidence of the nearest state so far.
    """
    if low < math.inf:
        most, where = _compare_tree(kind, row, n1, other, n2, end, low, high)
        if where >= 0 and most >= high:
            return most, where
    return _compare_tree(kind, row, n1, other, n2, end, 0.0, least + 2 * EQUAL_DISTANCE)


@jit
def attainable_in_tree(row, n1, other, n2, end, ln_delta):
    """Return the largest evidence of each node given its margins, for the nodes where it can reach −ln δ.

    It grows with the count of the node up to min(n₁, n₂), so nodes of small counts are skipped, with their subtrees.
    """
    low, high = 0, min(n1, n2)
    if most_evidence(n1, n2, high) < -ln_delta:
        return np.zeros(0)
    while high - low > 1:
        middle = (low + high) // 2
        if most_evidence(n1, n2, middle) < -ln_delta:
            low = middle
        else:
            high = middle
    out = np.empty(end.size)
    m, v = 0, 1
    while v < end.size:
        k = np.int64(row[v]) + other[v]
        if k < high:
            v = end[v]
        else:
            out[m] = most_evidence(n1, n2, k)
            m += 1
            v += 1
    return out[:m].copy()
