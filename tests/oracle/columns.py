"""Tables of outcomes along an automaton, and their e-values, by definition. Theory: docs/theory.md, section 12."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction

from suffice.data.alphabet import PAD

Table = list[list[int]]  # [values][outcomes]
Name = tuple[int, int, int, int, bool]  # kind, state, later state, action, whether the outcome is the next state
Event = tuple[int, int, int]  # episode, step of the arrival, outcome
MASK = (1 << 64) - 1


def chance(x: int, marked: int, others: int, drawn: int) -> Fraction:
    """Return the hypergeometric probability of x marked ones among those drawn."""
    return Fraction(math.comb(marked, x) * math.comb(others, drawn - x), math.comb(marked + others, drawn))


def e_value(table: Table) -> Fraction:
    """Return the product over cells of the uniform chance on the range of a cell over its hypergeometric chance."""
    left = [sum(column) for column in zip(*table, strict=True)]
    found = Fraction(1)
    for row in table[:-1]:
        pool, slots = sum(left), sum(row)
        for k in range(len(row) - 1):
            others = pool - left[k]
            low, high = max(0, slots - others), min(slots, left[k])
            found *= Fraction(1, high - low + 1) / chance(row[k], left[k], others, slots)
            pool, slots = others, slots - row[k]
        left = [have - used for have, used in zip(left, row, strict=True)]
    return found


def scaled_log_e_value(table: Table, effect: float) -> float:
    """Return the logarithm of the e-value with all counts divided by an effect: factorials are gamma functions."""

    def choose(n: float, k: float) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    counts = [[count / effect for count in row] for row in table]
    left = [sum(column) for column in zip(*counts, strict=True)]
    found = 0.0
    for row in counts[:-1]:
        pool, slots = sum(left), sum(row)
        for k in range(len(row) - 1):
            others = pool - left[k]
            low, high = max(0.0, slots - others), min(slots, left[k])
            if high - low > 1e-6:
                found -= choose(left[k], row[k]) + choose(others, slots - row[k]) - choose(pool, slots)
                found -= math.log(high - low + 1)
            pool, slots = others, slots - row[k]
        left = [have - used for have, used in zip(left, row, strict=True)]
    return found


def category_e_value(table: Table) -> Fraction:
    """Return the e-value of a column of categories: with over two, half of it from one value against the others."""
    whole = e_value(table)
    if len(table) == 2:
        return whole
    sums = [sum(column) for column in zip(*table, strict=True)]
    parts = [e_value([row, [total - own for total, own in zip(sums, row, strict=True)]]) for row in table if any(row)]
    return (whole + sum(parts, Fraction(0)) / len(parts)) / 2


def drawn_visit(coin: int, state: int, visits: int) -> int:
    """Return the number of the visit that the coin of an episode draws (splitmix64)."""
    z = (coin + (state + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return (z ^ (z >> 31)) % visits


def events(
    paths: Sequence[Sequence[int]],
    actions: Sequence[Sequence[int]],
    rewards: Sequence[Sequence[int]],
    last: Sequence[int],
    coins: Sequence[int],
) -> dict[Name, list[Event]]:
    """List the events of every table; paths, actions and rewards are [N][H+1]."""
    found: dict[Name, list[Event]] = defaultdict(list)

    def record(kind: int, e: int, t: int, u: int) -> None:
        """Add what happens at step u to the tables of the arrival at step t."""
        name = kind, paths[e][t], paths[e][u - 1], actions[e][u]
        found[(*name, False)].append((e, t, rewards[e][u]))
        if u < last[e]:
            found[(*name, True)].append((e, t, paths[e][u]))

    for e, path in enumerate(paths):
        decisions = [u for u in range(1, len(path)) if actions[e][u] > PAD]
        visited = [path[u - 1] for u in decisions]
        for u in decisions:
            record(0, e, u - 1, u)
        for q in sorted(set(visited)):
            steps = [t for t, state in enumerate(visited) if state == q]
            arrivals = {1: steps[0], 2: steps[drawn_visit(coins[e], q, len(steps))]}
            for kind, t in arrivals.items():
                met = set()
                for u in decisions[t:]:
                    if (path[u - 1], actions[e][u]) not in met:
                        met.add((path[u - 1], actions[e][u]))
                        record(kind, e, t, u)
    return found


def ranks(outcomes: Sequence[int], most: int) -> dict[int, int]:
    """Return the rank of each outcome in frequency; the rarest share the last one."""
    order = sorted(Counter(outcomes).items(), key=lambda pair: (-pair[1], pair[0]))
    return {outcome: min(rank, most - 1) for rank, (outcome, _) in enumerate(order)}


def design_effect(found: Sequence[Event], unit: Sequence[int] | None = None) -> float:
    """Return 1 + (m − 1) ρ of a table, from all pairs of events of one episode, or of one unit of episodes."""
    groups: dict[int, list[int]] = defaultdict(list)
    for episode, _, outcome in found:
        groups[episode if unit is None else unit[episode]].append(outcome)
    pairs = [(x, y) for group in groups.values() for i, x in enumerate(group) for y in group[:i]]
    if not pairs:
        return 1.0
    share = Counter(outcome for *_, outcome in found)
    by_chance = sum((count / len(found)) ** 2 for count in share.values())
    equal = sum(x == y for x, y in pairs) / len(pairs)
    error = math.sqrt(by_chance * (1 - by_chance) / len(pairs))
    rho = min(max((equal - by_chance + 2 * error) / (1 - by_chance), 0.0), 1.0)
    size = sum(len(group) ** 2 for group in groups.values()) / len(found)
    return 1 + (size - 1) * rho
