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
from suffice.data.episodes import Episodes
from suffice.kernels import stationary, verification
from suffice.kernels.array_types import Float, Int32, Int64
from suffice.kernels.evidence import DEPTH
from suffice.learning.merging import Placement
from suffice.learning.refinement import EQUAL
from suffice.learning.stationary.labels import CHOICE, PointerLog
from suffice.learning.stationary.pointers import FEWEST_COMPARED, SPECIAL, Choice, Edge, RoundResult
from suffice.learning.stationary.reference import completed
from suffice.learning.stationary.rounds import FoundRound
from suffice.learning.stationary.settling import settle

MOST_SPLITS = 64  # transitions that get a state of their own
MOST_BYTES = 1 << 28  # of counts; larger automata are verified part by part


@dataclass(frozen=True, slots=True)
class Levels:
    """Level δ of the i-th test, and the fewest episodes of a transition that may get a state of its own."""

    level: Callable[[int], float]
    least: float


class _Decided(NamedTuple):
    """A transition that is distinct from the other ways to its target."""

    edge: Edge
    n: int  # episodes
    evidence: float  # ln E
    threshold: float


def confirm(steps: PointerLog, found: FoundRound, levels: Levels) -> FoundRound:
    """Give transitions that are distinct from their target a state of their own, until there are none."""
    tau, outcome, split = found.tau.copy(), found.outcome, {}  # type: Int32, RoundResult, dict[Edge, Choice]
    tests = list(outcome.tests)
    for _ in range(MOST_SPLITS):
        decided = _decided(steps, tau, levels, tests)
        if not decided:
            break
        edge, n, evidence, threshold = max(decided, key=lambda d: d.evidence - d.threshold)
        before, new = int(tau[edge]), len(tau)
        split[edge] = Choice(*edge, n, Placement(new, True, False, before, evidence, threshold))
        tau = np.concatenate([tau, tau[before][None]])
        tau[edge] = new
    depths = [*outcome.depths, *[DEPTH] * (len(tau) - len(found.tau))]
    choices = _replaced(outcome.choices, list(split.values()))
    return FoundRound(tau, outcome._replace(choices=choices, tests=tests, depths=depths))


def extend(
    chosen: Episodes, stride: int, found: FoundRound, resume: Callable[[PointerLog, Int32], RoundResult]
) -> FoundRound:
    """Extend the automaton of a sample, each `stride`-th episode, by the transitions that only other episodes take.

    `resume` continues a round with a known automaton. Known transitions stay as they are.
    """
    tau, outcome = found.tau, found.outcome
    n, stopped = verification.episodes_using(tau, PointerLog.of(chosen).walked)
    choices = [c._replace(n=int(n[c.state, c.symbol]) or c.n) for c in outcome.choices]
    if not stopped.any():
        return FoundRound(tau, outcome._replace(choices=choices))
    stopped[::stride] = True
    part = PointerLog.of(chosen.columns(np.flatnonzero(stopped)))
    more = resume(part, tau)
    states = np.arange(len(more.tau))
    fixed = {(q, y): states != tau[q, y] for q, y in np.argwhere(tau != UNSEEN).tolist()}
    return FoundRound(
        settle(part, more.tau, fixed | more.excluded),
        RoundResult(
            tau=more.tau,
            choices=_replaced(choices, more.choices),
            tests=outcome.tests + more.tests,
            depths=outcome.depths + more.depths,
            apart={},
            excluded={},
        ),
    )


def _decided(steps: PointerLog, tau: Int32, levels: Levels, tests: list[float]) -> list[_Decided]:
    """Return the transitions that are distinct from their target, and add the levels of all tests to `tests`."""
    edges, n, evidence = evidence_of_transitions(steps, tau)
    found = []
    for edge, size, ln_e in zip(edges.tolist(), n.tolist(), evidence.tolist(), strict=True):
        if size >= max(FEWEST_COMPARED, levels.least):
            tests.append(levels.level(len(tests)))
            if ln_e >= -math.log(tests[-1]):
                found.append(_Decided((edge[0], edge[1]), size, ln_e, -math.log(tests[-1])))
    return found


def _replaced(choices: list[Choice], later: list[Choice]) -> list[Choice]:
    """Replace choices by later ones for the same transitions."""
    by_edge = {(c.state, c.symbol): c for c in (*choices, *later)}
    return list(by_edge.values())


def evidence_of_transitions(steps: PointerLog, tau: Int32) -> tuple[Int64, Int64, Float]:
    """Return the transitions [E, 2] whose target others lead to, their episodes, and ln E that they are distinct."""
    whole = completed(tau)
    path = stationary.trace(whole, steps.walked)
    tables = steps.tables(np.asarray(stationary.count_letters(path, steps.walked, len(tau)) > 0))
    cells, width = tables.of_letters(steps), int(tables.begin[-1])
    edges = np.argwhere((tau >= SPECIAL) & ~steps.ends())
    joined = np.bincount(whole[tuple(edges.T)], minlength=len(tau)) > 1
    edges = edges[joined[whole[tuple(edges.T)]]]
    group = (tables.kinds == CHOICE).astype(np.int64)
    counts, evidence = [np.zeros(0, np.int64)], [np.zeros(0)]
    order = np.argsort(whole[tuple(edges.T)], kind="stable")  # the ways to a state together
    edges = edges[order]
    for part in _parts(whole[tuple(edges.T)], max(1, MOST_BYTES // (24 * max(width, 1)))):
        edge_of = np.full(tau.shape, UNSEEN, np.int32)
        edge_of[tuple(edges[part].T)] = np.arange(len(edges[part]))
        rows = np.zeros((len(edges[part]), width, 3), np.int64)
        counts.append(verification.count_uses(whole, steps.walked, edge_of, cells, rows))
        target = whole[tuple(edges[part].T)].astype(np.int64)
        evidence.append(verification.evidence_of_uses(rows, target, tables.begin, group, EQUAL))
    return edges, np.concatenate(counts), np.concatenate(evidence)


def _parts(targets: Int32, most: int) -> list[slice]:
    """Divide transitions, ordered by target, into parts of about `most` that keep each target's together."""
    ends = [*np.flatnonzero(np.diff(targets)) + 1, len(targets)]
    parts, begin = [], 0
    for end, following in zip(ends, [*ends[1:], math.inf], strict=True):
        if following - begin > most and end > begin:
            parts.append(slice(begin, int(end)))
            begin = int(end)
    return parts
