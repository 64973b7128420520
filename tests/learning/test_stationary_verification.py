"""Verification finds transitions that are distinct from their target, as a literal count of futures does."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from oracle import stationary as oracle
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import STOP
from suffice.data.sampling import shuffled_sample
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.learning.adact_h import Settings
from suffice.learning.stationary import learner
from suffice.learning.stationary.labels import PointerLog
from suffice.learning.stationary.learner import learn_stationary
from suffice.learning.stationary.pointers import FEWEST_COMPARED
from suffice.learning.stationary.reference import completed, last_observation
from suffice.learning.stationary.verification import Growing, evidence_of_transitions
from support.stationary_logs import CENSORED, DOMAINS, log, one_round, spelled


def by_hand(case: Any, tau: Any, edges: Any) -> list[float]:
    """Return ln E of transitions by definition."""
    known, whole = spelled(case), completed(tau)
    number = {y: i for i, y in enumerate(known.symbols)}
    uses: dict[tuple[int, int], list[tuple[int, int, bool]]] = {}  # edge: episode, next step, first visit
    for e, word in enumerate(known.words):
        q, used, seen = 0, set(), set()  # type: int, set[tuple[int, int]], set[int]
        for u, (a, o, _) in enumerate(word[:-1]):
            edge = (q, number[a, o or 0])
            q = int(whole[edge])
            if edge not in used or q not in seen:
                uses.setdefault(edge, []).append((e, u + 1 if edge not in used else -u - 1, q not in seen))
            used.add(edge)
            seen.add(q)
    return [_ln_e(known, whole, number, uses, tuple(edge)) for edge in edges.tolist()]


def _ln_e(known: Any, whole: Any, number: Any, uses: Any, edge: Any) -> float:
    target, found = int(whole[edge]), []
    ways = [(way, *use) for way, all_uses in uses.items() if int(whole[way]) == target for use in all_uses]
    mine = [_count(known, whole, number, target, [(e, abs(u), None) for w, e, u, v in ways if w == edge and v])]
    rest = [_count(known, whole, number, target, [(e, abs(u), None) for w, e, u, v in ways if w != edge and v])]
    mine.append(_count(known, whole, number, target, [(e, u, 1) for w, e, u, v in ways if w == edge and u > 0]))
    rest.append(_count(known, whole, number, target, [(e, abs(u), 0) for w, e, u, v in ways if v]))
    labels = oracle.Labels(known, {(q, y): int(whole[q, i]) for y, i in number.items() for q in range(len(whole))})
    for one, other in zip(mine, rest, strict=True):
        tables = list(oracle._tables(labels, one, other))
        for choice in (False, True):
            es = [x for is_choice, row in tables if is_choice == choice for _, x in row]
            found += [math.fsum(oracle._ln_mixed(float(w), x) for x in es) for w in oracle.EQUAL]
    return oracle.ln_mean(found)


def _count(known: Any, whole: Any, number: Any, target: int, starts: Any) -> Counter[Any]:
    counts: Counter[Any] = Counter()
    for e, start, side in starts:
        weight, q = known.weights[e], target
        if side is not None:
            weight = weight // 2 + (weight % 2) * (oracle.side(e) == side)
        for letter in known.words[e][start:] if weight else ():
            for kind, event in oracle.kinds_of(letter):
                counts[q, kind, event] += weight
            q = int(whole[q, number[letter[0], letter[1] or 0]]) if letter[1] is not None else q
    return counts


@pytest.mark.parametrize("case", [1, 2, 3, 6, 9, *CENSORED, *DOMAINS], ids=str)
def test_evidence_of_transitions_agrees_with_literal_counts(case: Any) -> None:
    steps = PointerLog.of(log(case))
    tau = one_round(steps, last_observation(steps), Settings(delta=0.3)).tau
    edges, n, evidence = evidence_of_transitions(steps, tau)
    assert len(edges) and (n >= 0).all()
    assert evidence == pytest.approx(by_hand(case, tau, edges), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("case", [1, 3, 6, *CENSORED, *DOMAINS], ids=str)
def test_evidence_after_splits_agrees_with_that_of_the_automaton_from_the_start(case: Any) -> None:
    """Only what a split concerns is counted and evaluated again; splits are of transitions to shared states."""
    steps, rng = PointerLog.of(log(case)), np.random.default_rng(5)
    growing = Growing(steps, one_round(steps, last_observation(steps), Settings(delta=0.3)).tau)
    for _ in range(20):
        edges, n, evidence = growing.evidence()
        right = evidence_of_transitions(steps, growing.tau)
        assert np.array_equal(edges, right[0]) and np.array_equal(n, right[1])
        assert evidence == pytest.approx(right[2], rel=1e-12, abs=1e-12)
        if not len(edges):
            break
        growing.split(tuple(rng.choice(edges).tolist()))


@pytest.mark.parametrize("seed", [103, 104])
def test_learn_stationary_has_the_states_of_nested_logs(seed: int) -> None:
    """A small ladder: more episodes neither merge states nor add any, and nothing decided stays merged."""
    episodes = TMaze().simulate(300_000, 5, np.random.default_rng(seed))
    for n in (100_000, 300_000):
        part = episodes.columns(np.arange(n))
        found = learn_stationary(part)
        assert found.rdp.n_states == 11


def internal(rdp: RDP) -> Any:
    """Return the transitions of a learned automaton as the learner numbers states: start, end, others."""
    ends = np.flatnonzero(rdp.symbols[:, 1] == STOP)
    has_end = bool((rdp.tau[:, ends] == rdp.n_states - 1).any())
    kept = np.array([0, *range(2, rdp.n_states + 1 - has_end), *([1] if has_end else [])])
    tau = np.full((rdp.n_states + 1 - has_end, len(rdp.symbols)), UNSEEN, np.int32)
    tau[kept] = np.where(rdp.tau == UNSEEN, UNSEEN, kept[rdp.tau])
    tau[:, ends] = 1
    return tau


MERGED = [
    *((seed, Settings(delta=0.2)) for seed in (1, 2, 4, 5, 7, 8)),
    *(((domain, 1500, horizon), Settings()) for domain, horizon in ((Cheese(), 8), (TMaze(length=2), 7))),
    ((EnemyCorridor(), 600, 10), Settings(delta=0.05)),
    ((Cookie(), 3000, 9), Settings(delta=0.05)),
]


@pytest.mark.parametrize(("case", "settings"), MERGED, ids=str)
def test_no_merge_that_stays_is_decided(case: Any, settings: Settings) -> None:
    """On all episodes every transition is below the threshold against its target, and no listed merge is above it."""
    episodes = log(case)
    found = learn_stationary(episodes, settings)
    order = np.random.default_rng(learner.ORDER_SEED)
    steps = PointerLog.of(shuffled_sample(episodes, episodes.n, order, 1))
    _, n, evidence = evidence_of_transitions(steps, internal(found.rdp))
    assert evidence[n >= FEWEST_COMPARED].max(initial=-math.inf) < -math.log(settings.delta)
    merged = [d.placement for d in found.decisions if not d.placement.promoted and d.placement.distance is not None]
    assert all(p.threshold is not None and p.distance < p.threshold for p in merged)
