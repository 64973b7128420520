"""Score a learned automaton by the match of its states with the true ones and by the value of its plan."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import STOP
from suffice.domains.exact.values import Evaluation, evaluate
from suffice.domains.finite import FiniteModel
from suffice.kernels.array_types import Mask
from suffice.lab.experiment import Result
from suffice.lab.learners import kind_of
from suffice.lab.truth import truth_for
from suffice.planning.controller import Controller
from suffice.planning.plan import Plan
from suffice.planning.planner import plan_on


class StateMatch(NamedTuple):
    """Match of learned and true states by the histories that lead to both."""

    recovered: int  # true states that correspond one to one to a learned state
    splits: int  # superfluous states: of those that represent one true state, all but the first
    merges: int  # states that represent several true ones
    true: int  # states of the minimal automaton

    @property
    def exact(self) -> bool:
        """Whether learned and true states match one to one: the only definition of an exact automaton."""
        return self.recovered == self.true and not self.splits and not self.merges


def match_states(learned: RDP, true: RDP, sure: Mask | None = None) -> StateMatch:
    """Match states by following both automata together, along transitions that are `sure` [Q, Y] if given.

    Histories that the log does not contain are ignored.
    """
    tau = learned.tau if sure is None else np.where(sure, learned.tau, UNSEEN)
    index = {true.symbol(y): y for y in range(len(true.symbols))}
    translate = [index.get(learned.symbol(y), UNSEEN) for y in range(len(learned.symbols))]
    pairs = {(0, 0): None}  # learned and true states, in the order of discovery
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
    return StateMatch(once, splits, len(means) - len(pure), true.n_states)


def states_before_end(rdp: RDP) -> int:
    """Return the number of states reached before an episode ends."""
    tau = rdp.tau[:, rdp.symbols[:, 1] != STOP]
    reached, queue = {0}, deque([0])
    while queue:
        new = set(tau[queue.popleft()].tolist()) - reached - {UNSEEN}
        reached |= new
        queue.extend(new)
    return len(reached)


def true_automaton(run: Result) -> RDP | None:
    """Return the minimal automaton of the kind that the run's learner seeks; None if no finite one exists."""
    truth = truth_for(run.experiment)
    return truth.stationary if kind_of(run.experiment.learner).cyclic else truth.layered


def is_exact(run: Result) -> bool:
    """Return whether a run found the minimal automaton: every true state once, and no other."""
    true = true_automaton(run)
    if true is None or run.recovered is None:
        return False
    return StateMatch(run.recovered, run.splits or 0, run.merges or 0, true.n_states).exact


def gained(run: Result) -> float:
    """Return the gain of a run's plan over the behaviour policy, as a share of the largest possible gain."""
    return truth_for(run.experiment).gain(run.mean_return)


def value_of(rdp: RDP, model: FiniteModel, plan: Plan | None = None) -> Evaluation:
    """Return the exact value of a plan on the layers of an automaton; default: the default planner's."""
    spread = rdp.layered()
    policy = Controller.on_automaton(spread, model.alphabet, (plan or plan_on(spread)).actions)
    return evaluate(model, policy, rdp.horizon)
