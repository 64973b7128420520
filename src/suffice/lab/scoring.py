"""A learned automaton beside the true one, and what the plan on it brings."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.domains.exact.values import Evaluation, evaluate
from suffice.domains.finite import FiniteModel
from suffice.kernels.array_types import Mask
from suffice.planning.controller import Controller
from suffice.planning.planner import plan_on
from suffice.planning.regorl import layered


class Likeness(NamedTuple):
    """How learned states stand for true ones, by the histories that lead to both."""

    recovered: int  # true states that one learned state stands for, and it for them alone
    splits: int  # states too many: of those that stand for one true state, all but the first of each
    merges: int  # states that stand for several true ones
    true: int

    @property
    def exact(self) -> bool:
        """Whether states stand one to one for each other."""
        return self.recovered == self.true and not self.splits and not self.merges


def likeness(learned: RDP, true: RDP, sure: Mask | None = None) -> Likeness:
    """Walk both together, by transitions that are `sure` [Q, Y] if given.

    Histories that the log did not have count neither for nor against.
    """
    tau = learned.tau if sure is None else np.where(sure, learned.tau, UNSEEN)
    index = {true.symbol(y): y for y in range(len(true.symbols))}
    translate = [index.get(learned.symbol(y), UNSEEN) for y in range(len(learned.symbols))]
    pairs = {(0, 0): None}  # of a learned and a true state, in the order of their meeting
    queue = deque(pairs)
    while queue:
        p, q = queue.popleft()
        for y, z in enumerate(translate):
            pair = (int(tau[p, y]), UNSEEN if z == UNSEEN else int(true.tau[q, z]))
            if UNSEEN not in pair and pair not in pairs:
                pairs[pair] = None
                queue.append(pair)
    means: dict[int, set[int]] = {}
    for p, q in pairs:
        means.setdefault(p, set()).add(q)
    pure = [next(iter(qs)) for qs in means.values() if len(qs) == 1]
    mixed = set().union(*(qs for qs in means.values() if len(qs) > 1))
    splits = len(pure) - len(set(pure))
    once = sum(pure.count(q) == 1 and q not in mixed for q in set(pure))
    return Likeness(once, splits, len(means) - len(pure), true.n_states)


def value_of(rdp: RDP, model: FiniteModel) -> Evaluation:
    """What the usual plan on an automaton brings, exactly."""
    spread = layered(rdp)
    policy = Controller.on_automaton(spread, model.alphabet, plan_on(spread).actions)
    return evaluate(model, policy, rdp.horizon)
