"""Correspondence of learned and true states by definition: each history is run in both automata."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from suffice.automata.histories import History, Symbol
from suffice.automata.rdp import RDP, UNSEEN


def likeness(learned: RDP, true: RDP, longest: int) -> tuple[int, int, int]:
    """Count recovered true states, superfluous states, and states that join several, by histories up to a length."""
    met: defaultdict[int, set[int]] = defaultdict(set)  # true states by learned
    for history in shared(learned, true, longest):
        met[learned.run(history)].add(true.run(history))
    states = {q for qs in met.values() for q in qs}
    standing = {q: [p for p, qs in met.items() if q in qs] for q in states}
    recovered = [q for q, ps in standing.items() if len(ps) == 1 and met[ps[0]] == {q}]
    too_many = {q: [p for p in ps if met[p] == {q}][1:] for q, ps in standing.items()}
    return len(recovered), sum(map(len, too_many.values())), sum(len(qs) > 1 for qs in met.values())


def shared(learned: RDP, true: RDP, longest: int) -> Iterator[History]:
    """Yield every history that is possible in both automata."""
    ways, other_ways = arrows(learned), arrows(true)
    waiting: list[tuple[History, int, int]] = [((), 0, 0)]
    while waiting:
        history, p, q = waiting.pop()
        yield history
        if len(history) < longest:
            waiting += [((*history, s), ways[p][s], other_ways[q][s]) for s in ways[p].keys() & other_ways[q].keys()]


def arrows(rdp: RDP) -> list[dict[Symbol, int]]:
    """Return the transitions of each state by symbol."""
    names = [rdp.symbol(y) for y in range(len(rdp.symbols))]
    return [{s: q for s, q in zip(names, row, strict=True) if q != UNSEEN} for row in rdp.tau.tolist()]
