"""Test every transition of a finished automaton on all episodes, and separate what is decided.

Rounds decide by parts of long logs, by labels that change from round to round, and before later transitions are known.
At the end each transition is compared once more, by all episodes and with the states of the automaton as labels, with
the other ways to its target. One that is distinct gets a state of its own, which continues like the target; this is
repeated, most evidence first, until no transition is distinct from its target.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import UNSEEN
from suffice.kernels import verification
from suffice.kernels.array_types import Float, Int32, Int64
from suffice.kernels.evidence import DEPTH
from suffice.learning.merging import Placement
from suffice.learning.stationary.labels import CountTables, PointerLog, tables_of
from suffice.learning.stationary.pointers import FEWEST_COMPARED, SPECIAL, Choice, Edge, RoundResult
from suffice.learning.stationary.reference import completed
from suffice.learning.stationary.rounds import FoundRound
from suffice.learning.stationary.settling import settle
from suffice.learning.stationary.uses import Uses, bytes_of_states, bytes_of_uses

MOST_SPLITS = 64  # transitions that get a state of their own
SPLITS_AT_ONCE = 16  # splits before everything is counted again
MOST_BYTES = 1 << 28  # of counts; larger automata are verified part by part, and again after each split


@dataclass(frozen=True, slots=True)
class Levels:
    """Level δ of the i-th test, and the fewest episodes of a transition that may get a state of its own."""

    level: Callable[[int], float]
    least: float
    exchangeable: bool = True  # episodes are independent, and each counts once


Known = dict[tuple[float, ...], float]  # level of each test, by its transition, target, episodes and evidence


class _Decided(NamedTuple):
    """A transition that is distinct from the other ways to its target."""

    edge: Edge
    n: int  # episodes
    evidence: float  # ln E
    threshold: float


def confirm(steps: PointerLog, found: FoundRound, levels: Levels, known: Known) -> FoundRound:
    """Give transitions that are distinct from their target a state of their own, until there are none.

    A test is repeated after each split, and counts once as long as the split leaves its samples as they were.
    """
    growing, outcome, split = Growing(steps, found.tau.copy()), found.outcome, {}  # type: Growing, RoundResult, dict[Edge, Choice]
    tests = list(outcome.tests)
    for _ in range(MOST_SPLITS):
        decided = _decided(growing, levels, tests, known)
        if not decided:
            break
        edge, n, evidence, threshold = max(decided, key=lambda d: d.evidence - d.threshold)
        before = int(growing.tau[edge])
        split[edge] = Choice(*edge, n, Placement(growing.split(edge), True, False, before, evidence, threshold))
    depths = [*outcome.depths, *[DEPTH] * (len(growing.tau) - len(found.tau))]
    choices = replaced(outcome.choices, list(split.values()))
    return FoundRound(growing.tau, outcome._replace(choices=choices, tests=tests, depths=depths))


def extend(
    steps: PointerLog, stride: int, found: FoundRound, resume: Callable[[PointerLog, Int32], RoundResult]
) -> FoundRound:
    """Extend the automaton of a sample, each `stride`-th episode, by the transitions that only other episodes take.

    `resume` continues a round with a known automaton. Known transitions stay as they are.
    """
    tau, outcome = found.tau, found.outcome
    n, stopped = verification.episodes_using(tau, steps.walked)
    choices = [c._replace(n=int(n[c.state, c.symbol]) or c.n) for c in outcome.choices]
    if not stopped.any():
        return FoundRound(tau, outcome._replace(choices=choices))
    stopped[::stride] = True
    part = steps.columns(np.flatnonzero(stopped))
    more = resume(part, tau)
    states = np.arange(len(more.tau))
    fixed = {(q, y): states != tau[q, y] for q, y in np.argwhere(tau != UNSEEN).tolist()}
    return FoundRound(
        settle(part, more.tau, fixed | more.excluded),
        RoundResult(
            tau=more.tau,
            choices=replaced(choices, more.choices),
            tests=outcome.tests + more.tests,
            depths=outcome.depths + more.depths,
            apart={},
            excluded={},
        ),
    )


def _decided(growing: Growing, levels: Levels, tests: list[float], known: Known) -> list[_Decided]:
    """Return the transitions that are distinct from their target, and add the levels of new tests to `tests`."""
    found = []
    edges, n, evidence = growing.evidence()
    targets = growing.tau[tuple(edges.T)].tolist()
    for (q, y), target, size, ln_e in zip(edges.tolist(), targets, n.tolist(), evidence.tolist(), strict=True):
        if size < max(FEWEST_COMPARED, levels.least):
            continue
        test = (q, y, target, size, round(ln_e, 6))  # the same samples have the same evidence, up to rounding errors
        if test not in known:
            known[test] = levels.level(len(tests))
            tests.append(known[test])
        if ln_e >= -math.log(known[test]):
            found.append(_Decided((q, y), size, ln_e, -math.log(known[test])))
    return found


def replaced(choices: list[Choice], later: list[Choice]) -> list[Choice]:
    """Replace choices by later ones for the same transitions."""
    by_edge = {(c.state, c.symbol): c for c in (*choices, *later)}
    return list(by_edge.values())


class Growing:
    """An automaton in which transitions get states of their own."""

    def __init__(self, steps: PointerLog, tau: Int32) -> None:
        self.tau, self._steps = tau, steps
        self._uses: Uses | None = None  # of all transitions, after the first split

    def split(self, edge: Edge) -> int:
        """Give a transition a state of its own, which continues like its target, and return its number."""
        if self._uses is None or self._uses.room == 0:
            self._uses = self._all_uses()
        if self._uses is not None:
            self._uses.split(edge)
        self.tau = np.concatenate([self.tau, self.tau[self.tau[edge]][None]])
        self.tau[edge] = len(self.tau) - 1
        return len(self.tau) - 1

    def evidence(self) -> tuple[Int64, Int64, Float]:
        """Return the transitions [E, 2] whose target others lead to, their episodes, and ln E of a difference."""
        edges = joined_transitions(self._steps, self.tau)
        if self._uses is not None:
            numbers = self._uses.numbers(edges)
            return edges, self._uses.n[numbers], self._uses.evidence()[numbers]
        tables, counts, evidence = self._tables(), [np.zeros(0, np.int64)], [np.zeros(0)]
        most = max(1, MOST_BYTES // bytes_of_uses(1, len(self.tau), int(tables.begin[-1])))
        for part in parts_of(self.tau[tuple(edges.T)], most):
            uses = Uses(self._steps, self.tau, edges[part], tables)
            counts.append(uses.n)
            evidence.append(uses.evidence())
        return edges, np.concatenate(counts), np.concatenate(evidence)

    def _all_uses(self) -> Uses | None:
        """Count what followed all transitions, if the counts fit into memory."""
        edges, tables = np.argwhere((self.tau >= SPECIAL) & ~self._steps.ends()), self._tables()
        leaving = int(np.bincount(edges[:, 0]).max(initial=0))  # a split adds as many transitions
        n, states = len(edges) + SPLITS_AT_ONCE * leaving, len(self.tau) + SPLITS_AT_ONCE
        width = tables.widest(SPLITS_AT_ONCE)
        needed = bytes_of_uses(n, states, width) + bytes_of_states(states, width)
        return Uses(self._steps, self.tau, edges, tables, SPLITS_AT_ONCE) if needed <= MOST_BYTES else None

    def _tables(self) -> CountTables:
        return tables_of(self._steps, completed(self.tau))


def evidence_of_transitions(steps: PointerLog, tau: Int32) -> tuple[Int64, Int64, Float]:
    """Return the transitions [E, 2] whose target others lead to, their episodes, and ln E that they are distinct."""
    return Growing(steps, tau).evidence()


def joined_transitions(steps: PointerLog, tau: Int32) -> Int64:
    """Return the transitions [E, 2] whose target others lead to, in the order of their targets."""
    edges = np.argwhere((tau >= SPECIAL) & ~steps.ends())
    targets = tau[tuple(edges.T)]
    joined = np.bincount(targets, minlength=len(tau)) > 1
    return edges[np.argsort(targets, kind="stable")][joined[np.sort(targets)]]


def parts_of(targets: Int32, most: int) -> list[slice]:
    """Divide transitions, ordered by target, into parts of about `most` that keep each target's together."""
    ends = [*np.flatnonzero(np.diff(targets)) + 1, len(targets)]
    parts, begin = [], 0
    for end, following in zip(ends, [*ends[1:], math.inf], strict=True):
        if following - begin > most and end > begin:
            parts.append(slice(begin, int(end)))
            begin = int(end)
    return parts
