"""Compare two automata up to renaming of states, and find the shortest history that distinguishes them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from suffice.automata.histories import History, Symbol, show
from suffice.automata.rdp import RDP, UNSEEN
from suffice.errors import require_type

_Pair = tuple[int, int]  # a state of each automaton
_Arrivals = dict[_Pair, tuple[_Pair, Symbol] | None]  # pair and symbol by which each pair was reached; None: the first


@dataclass(frozen=True, slots=True)
class Difference:
    """The shortest history on which two automata differ, and how they differ after it."""

    history: History
    reason: str


def compare(first: RDP, second: RDP) -> Difference | None:
    """Compare two automata up to renaming of states.

    Automata differ if only one has seen a history, or a reward after it, or if one leads two histories to the same
    state and the other does not. Counts are not compared.

    Parameters
    ----------
    first, second
        The automata, both layered or both stationary.

    Returns
    -------
    Difference or None
        None if the automata are equal; else the shortest `history` that distinguishes them, and the `reason`.

    Examples
    --------
    >>> suffice.compare(model.rdp, suffice.learn(episodes, stationary=True).rdp.unroll()[0]) is None
    True
    >>> print(suffice.compare(model.rdp, suffice.learn(episodes, settings=suffice.Settings(cut=0.9)).rdp).reason)
    the second merges it with (0, 0, clear) · 0 → (0, 1, enemy), the first does not
    """
    for name, rdp in (("first", first), ("second", second)):
        require_type(name, rdp, RDP, "an automaton. Pass model.rdp.")
    if first.stationary != second.stationary:
        return Difference((), f"the {'first' if first.stationary else 'second'} is stationary, the other layered")
    if first.limit != second.limit:
        return Difference((), f"horizons {first.horizon} and {second.horizon}")
    index = {second.symbol(y): y for y in range(len(second.symbols))}
    translate = [index.get(first.symbol(y), UNSEEN) for y in range(len(first.symbols))]
    partner = ({0: 0}, {0: 0})  # from states of one automaton to those of the other
    arrived: _Arrivals = {(0, 0): None}
    queue = deque([(0, 0)])
    while queue:
        p, q = queue.popleft()
        for symbol, p2, q2 in _moves(first, second, translate, p, q):
            if UNSEEN in (p2, q2):
                reason = f"only the {'second' if p2 == UNSEEN else 'first'} has seen this history"
                return Difference(_history(arrived, (p, q), symbol), reason)
            known = partner[0].setdefault(p2, q2), partner[1].setdefault(q2, p2)
            if known != (q2, p2):
                one, other, pair = (
                    ("first", "second", (p2, known[0])) if known[0] != q2 else ("second", "first", (known[1], q2))
                )
                reason = f"the {one} merges it with {show(_history(arrived, pair))}, the {other} does not"
                return Difference(_history(arrived, (p, q), symbol), reason)
            rewards = first.rewards_seen(p, symbol), second.rewards_seen(q, symbol)
            if lone := sorted(rewards[0] ^ rewards[1]):
                only = "first" if lone[0] in rewards[0] else "second"
                reason = f"only the {only} has seen reward {lone[0]:g} there"
                return Difference(_history(arrived, (p, q), symbol), reason)
            if (p2, q2) not in arrived:
                arrived[p2, q2] = (p, q), symbol
                queue.append((p2, q2))
    return None


def _history(arrived: _Arrivals, pair: _Pair, *further: Symbol) -> History:
    """Return the history by which a pair was first reached, and further symbols."""
    symbols: list[Symbol] = []
    while (before := arrived[pair]) is not None:
        pair, symbol = before
        symbols.append(symbol)
    return (*reversed(symbols), *further)


def _moves(first: RDP, second: RDP, translate: list[int], p: int, q: int) -> list[tuple[Symbol, int, int]]:
    """List the symbols that either automaton has seen in state p or q, with both successors."""
    moves = []
    for y, z in enumerate(translate):
        p2, q2 = int(first.tau[p, y]), int(second.tau[q, z]) if z != UNSEEN else UNSEEN
        if (p2, q2) != (UNSEEN, UNSEEN):
            moves.append((first.symbol(y), p2, q2))
    known = set(translate)
    moves += [
        (second.symbol(z), UNSEEN, int(second.tau[q, z]))
        for z in range(len(second.symbols))
        if z not in known and second.tau[q, z] != UNSEEN
    ]
    return moves
