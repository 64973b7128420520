"""Whether two automata are the same, whatever their states are called; and if not, what shows it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from suffice.automata.histories import History, Symbol, show
from suffice.automata.rdp import RDP, UNSEEN


@dataclass(frozen=True, slots=True)
class Difference:
    """Why two automata are not the same: the shortest history that shows it."""

    history: History
    reason: str


def compare(first: RDP, second: RDP) -> Difference | None:
    """None where the automata are equal up to renaming of states, else the shortest history that tells them apart.

    Both are walked together, breadth first. They differ where only one has seen a history, or a reward after it, or
    where one leads two histories to the same state and the other does not. How often things happened does not matter.

    >>> suffice.compare(model.rdp, suffice.learn(episodes, stationary=True).rdp.unroll()[0]) is None
    True
    >>> print(suffice.compare(model.rdp, suffice.learn(episodes, settings=suffice.Settings(cut=0.9)).rdp).reason)
    the second takes it for (0, 0, clear) · 0 → (0, 1, enemy), the other does not
    """
    if first.stationary != second.stationary:
        return Difference((), f"the {'first' if first.stationary else 'second'} is stationary, the other layered")
    if first.limit != second.limit:
        return Difference((), f"horizons {first.horizon} and {second.horizon}")
    index = {second.symbol(y): y for y in range(len(second.symbols))}
    translate = [index.get(first.symbol(y), UNSEEN) for y in range(len(first.symbols))]
    partner = ({0: 0}, {0: 0})  # states of one automaton → state of the other
    arrived: dict[tuple[int, int], History] = {(0, 0): ()}
    queue = deque([(0, 0)])
    while queue:
        p, q = queue.popleft()
        history = arrived[p, q]
        for symbol, p2, q2 in _moves(first, second, translate, p, q):
            longer = (*history, symbol)
            if UNSEEN in (p2, q2):
                return Difference(longer, f"only the {'second' if p2 == UNSEEN else 'first'} has seen it")
            known = partner[0].setdefault(p2, q2), partner[1].setdefault(q2, p2)
            if known != (q2, p2):
                which, pair = ("first", (p2, known[0])) if known[0] != q2 else ("second", (known[1], q2))
                return Difference(longer, f"the {which} takes it for {show(arrived[pair])}, the other does not")
            rewards = first.rewards_seen(p, symbol), second.rewards_seen(q, symbol)
            if lone := sorted(rewards[0] ^ rewards[1]):
                only = "first" if lone[0] in rewards[0] else "second"
                return Difference(longer, f"only the {only} has seen reward {lone[0]:g} there")
            if (p2, q2) not in arrived:
                arrived[p2, q2] = longer
                queue.append((p2, q2))
    return None


def _moves(first: RDP, second: RDP, translate: list[int], p: int, q: int) -> list[tuple[Symbol, int, int]]:
    """Every symbol that either automaton has seen from (p, q), with both successors."""
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
