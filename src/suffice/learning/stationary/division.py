"""Verify a finished automaton by tests of all its transitions, and of all its states as a whole, until none decides.

A state whose ways differ is divided: the smaller part gets a state of its own, which continues like the old one. Ways
may also have been assigned to a wrong state; if other states describe them better than a state of their own, they join
these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import UNSEEN
from suffice.kernels import permutation
from suffice.kernels.array_types import Int32
from suffice.kernels.evidence import DEPTH
from suffice.kernels.permutation import Followed
from suffice.learning.merging import Placement
from suffice.learning.stationary.homogeneity import Ways
from suffice.learning.stationary.labels import CHOICE, PointerLog, tables_of
from suffice.learning.stationary.pointers import Choice, Edge
from suffice.learning.stationary.reference import AIC, completed, description
from suffice.learning.stationary.rounds import FoundRound
from suffice.learning.stationary.settling import settle
from suffice.learning.stationary.verification import (
    MOST_BYTES,
    Known,
    Levels,
    confirm,
    evidence_of_transitions,
    joined_transitions,
    parts_of,
    replaced,
)

MOST_PASSES = 64  # in which states are divided
SEED = 3  # of the random assignments, the same for each state


class _Division(NamedTuple):
    """Ways to a state that are distinct from its other ways, the most frequent first."""

    edges: list[Edge]
    n: list[int]  # episodes
    evidence: float  # ln 1/p
    threshold: float


def verify(steps: PointerLog, found: FoundRound, levels: Levels) -> FoundRound:
    """Separate what tests of transitions and of states decide on all episodes."""
    known, tested = Known(), dict[int, bytes]()
    found = confirm(steps, found, levels, known)
    for _ in range(MOST_PASSES if levels.exchangeable else 0):
        tests = list(found.outcome.tests)
        divisions = _divisions(steps, found.tau, levels, tests, tested)
        found = FoundRound(found.tau, found.outcome._replace(tests=tests))
        if not divisions:
            break
        for division in divisions:
            found = _divided(steps, found, division)
        found = confirm(steps, found, levels, known)
    return found


def _divisions(
    steps: PointerLog, tau: Int32, levels: Levels, tests: list[float], tested: dict[int, bytes]
) -> list[_Division]:
    """Test states whose ways have not been `tested`, and add the levels of all tests to `tests`."""
    found = []
    for target, ways, followed in ways_to_states(steps, tau):
        delta = levels.level(len(tests))
        if not ways.affordable(delta) or tested.get(target) == ways.edges.tobytes():
            continue
        tests.append(delta)
        tested[target] = ways.edges.tobytes()
        if (p := ways.p_value(steps, followed, delta, np.random.default_rng(SEED))) > delta:
            continue
        few = np.flatnonzero(ways.smaller_part())
        few = few[np.argsort(-ways.n[few], kind="stable")]
        edges = [(q, y) for q, y in ways.edges[few].tolist()]
        found.append(_Division(edges, ways.n[few].tolist(), -math.log(p), -math.log(delta)))
    return found


def _divided(steps: PointerLog, found: FoundRound, division: _Division) -> FoundRound:
    """Give ways a state of their own, or the targets that describe them better."""
    first, outcome = division.edges[0], found.outcome
    before, tau = int(found.tau[first]), _separated(steps, found.tau, division.edges)
    choices = [Choice(*edge, n, Placement(int(tau[edge]))) for edge, n in zip(division.edges, division.n, strict=True)]
    depths = outcome.depths
    if len(tau) > len(found.tau):
        own = Placement(len(found.tau), True, False, before, division.evidence, division.threshold)
        choices[0], depths = choices[0]._replace(placement=own), [*depths, DEPTH]
    return FoundRound(tau, outcome._replace(choices=replaced(outcome.choices, choices), depths=depths))


def _separated(steps: PointerLog, tau: Int32, ways: list[Edge]) -> Int32:
    """Return the automaton in which ways lead to a state of their own, or to others if these describe them as well."""
    edges, before, new = tuple(np.array(ways).T), int(tau[ways[0]]), len(tau)
    own = np.concatenate([tau, tau[before][None]])
    own[edges] = new
    states = np.arange(len(own))
    excluded = {(q, y): states != own[q, y] for q, y in np.argwhere(own != UNSEEN).tolist()}
    excluded |= dict.fromkeys(ways, (states == before) | (states == new))
    elsewhere = settle(steps, own, excluded)
    if (elsewhere[:new] == new).any():  # transitions that were unseen before may lead there, too
        return own
    better = description(steps, completed(elsewhere), AIC) < description(steps, completed(own), AIC)
    return elsewhere[:new] if better and not _differ(steps, elsewhere[:new], ways) else own


def _differ(steps: PointerLog, tau: Int32, ways: list[Edge]) -> bool:
    """Return whether outcomes after some transitions seem to differ from those after other ways to their targets."""
    edges, _, evidence = evidence_of_transitions(steps, tau)
    return any(ln_e > 0 and (q, y) in ways for (q, y), ln_e in zip(edges.tolist(), evidence.tolist(), strict=True))


def ways_to_states(steps: PointerLog, tau: Int32) -> Iterator[tuple[int, Ways, Followed]]:
    """Generate each state that several transitions lead to, with the outcomes that follow them."""
    whole = completed(tau)
    tables, edges = tables_of(steps, whole), joined_transitions(steps, tau)
    table_of = np.where(tables.kinds == CHOICE, UNSEEN, np.arange(len(tables.kinds)))
    followed = Followed(whole, tables.of_letters(steps), np.repeat(table_of, np.diff(tables.begin)))
    targets, width = whole[tuple(edges.T)], len(followed.table_of)
    for part in parts_of(targets, max(1, MOST_BYTES // (8 * max(width, 1)))):
        edge_of, rows = np.full(tau.shape, UNSEEN, np.int32), np.zeros((len(edges[part]), width), np.int64)
        edge_of[tuple(edges[part].T)] = np.arange(len(edges[part]))
        n = permutation.count_entries(followed, steps.walked, edge_of, rows)
        for target in np.unique(targets[part]).tolist():
            here = targets[part] == target
            yield target, Ways.of(edges[part][here], n[here], rows[here], tables.begin), followed
