"""Validation, unrolling and comparison of stationary automata."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from suffice.automata.compare import compare
from suffice.automata.rdp import RDP, UNSEEN
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import STOP
from suffice.domains.domain import Domain
from suffice.domains.exact.stationary import END, START, stationary_rdp
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.learning.adact_h import adact_h
from support.stationary_automata import CASES, DOMAINS, SEEDS, automaton, case, log, true

# Validation


def changed(rdp: RDP, **changes: Any) -> RDP:
    arrays = {name: getattr(rdp, name).copy() for name in ("letters", "symbols", "layers", "tau", "counts")}
    return RDP(**({"alphabet": rdp.alphabet, "steps": rdp.steps, "cut": rdp.cut} | arrays | changes))


def test_rdp_with_one_layer_requires_steps() -> None:
    rdp, in_layers = automaton(0), adact_h(log(0)).rdp
    assert rdp.stationary and rdp.horizon == log(0).horizon and len(rdp.offsets()) == 2
    assert not in_layers.stationary and in_layers.steps is None
    wrong: list[tuple[RDP, dict[str, Any]]] = [
        (rdp, {"steps": None}),
        (rdp, {"steps": -1}),
        (in_layers, {"steps": in_layers.horizon}),
    ]
    for given, changes in wrong:
        with pytest.raises(SufficeError, match="a layer for each step, or a single layer and steps of at least 0"):
            changed(given, **changes)
    assert changed(rdp, steps=0).horizon == 0
    assert repr(rdp) == f"<RDP: {rdp.n_states} states in one layer>"


def test_rdp_stationary_refuses_inconsistent_arrays() -> None:
    rdp = automaton(0)
    for bad in (rdp.n_states, -2):
        tau = rdp.tau.copy()
        tau[0, np.flatnonzero(tau[0] != UNSEEN)[0]] = bad
        with pytest.raises(SufficeError, match="must lead to one of its states"):
            changed(rdp, tau=tau)
    with pytest.raises(SufficeError, match="must be 0 where it has no transition"):
        changed(rdp, counts=rdp.counts + 1)
    with pytest.raises(SufficeError, match="one row of transitions and of counts for each state"):
        changed(rdp, layers=rdp.layers + 1)
    assert rdp.cut is not None
    for cut in (rdp.cut[1:], rdp.cut - 1):
        with pytest.raises(SufficeError, match="cut of an RDP must have the shape of its counts, and none below 0"):
            changed(rdp, cut=cut)
    with pytest.raises(SufficeError, match="layers with at least one state each"):
        changed(rdp, layers=np.array([], np.int64))


def test_rdp_minimise_refuses_stationary_automata() -> None:
    with pytest.raises(SufficeError, match=r"cannot be minimised\. Use rdp\.layered\(\)\.minimise\(\)\."):
        automaton(0).minimise()
    assert automaton(0).unroll()[0].minimise().horizon == automaton(0).horizon


@pytest.mark.parametrize("seed", SEEDS)
def test_rdp_typical_histories_are_shortest_histories_of_their_states(seed: int) -> None:
    rdp = automaton(seed)
    steps = {0: 0}
    queue = [0]
    for q in queue:
        for target in rdp.tau[q][rdp.tau[q] != UNSEEN].tolist():
            if target not in steps:
                steps[target] = steps[q] + 1
                queue.append(target)
    for q, history in enumerate(rdp.typical_histories()):
        assert rdp.run(history) == q and len(history) == steps[q]


@pytest.mark.parametrize("seed", SEEDS)
def test_rdp_most_like_is_the_most_frequent_target(seed: int) -> None:
    rdp = automaton(seed)
    arrived: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for q, y in np.argwhere(rdp.tau != UNSEEN).tolist():
        arrived[y][int(rdp.tau[q, y])] += int(rdp.taken()[q, y])
    like = rdp.most_like()
    assert like.shape == (1, len(rdp.symbols))
    for y, found in enumerate(like[0].tolist()):
        assert found == (min(arrived[y], key=lambda p: (-arrived[y][p], p)) if arrived[y] else UNSEEN)
    memory = StateTracker.of(rdp)
    assert len(memory.astray) == rdp.n_states + 1 and (memory.astray == rdp.n_states).all()
    for q, y in np.argwhere(rdp.tau == UNSEEN).tolist():
        assert memory.following[q, y] == (like[0, y] if like[0, y] != UNSEEN else rdp.n_states)


@CASES
def test_rdp_unroll_agrees_with_stationary_automaton_step_by_step(which: int) -> None:
    rdp = case(which)
    found, stands = rdp.unroll()
    assert found.horizon == rdp.horizon and len(stands) == found.n_states and not found.stationary
    layer, offsets = found.layer_of(), found.offsets()
    reached = {0}
    for t in range(rdp.horizon + 1):
        states = list(range(offsets[t], offsets[t + 1]))
        assert [int(stands[q]) for q in states] == sorted(reached)
        if t == rdp.horizon:
            break
        for q in states:
            assert found.counts[q].tolist() == rdp.counts[stands[q]].tolist()
            for y, target in enumerate(found.tau[q].tolist()):
                assert (UNSEEN if target == UNSEEN else stands[target]) == rdp.tau[stands[q], y]
        reached = {int(p) for q in reached for p in rdp.tau[q] if p != UNSEEN}
    letters = [tuple(letter) for letter in rdp.letters.tolist()]
    for q in range(offsets[rdp.horizon], offsets[rdp.horizon + 1]):
        shown: Counter[Any] = Counter()
        for (a, o, r), k in zip(letters, rdp.counts[stands[q]].tolist(), strict=True):
            shown[(a, STOP, r) if (a, STOP, r) in letters else (a, o, r)] += k
        if rdp.cut is not None:
            shown.update(dict(zip(letters, rdp.cut[stands[q]].tolist(), strict=True)))
        assert [shown[letter] for letter in letters] == found.counts[q].tolist()
        assert (found.tau[q] != UNSEEN).tolist() == [
            any(k and letter[:2] == tuple(symbol) for letter, k in shown.items()) for symbol in rdp.symbols.tolist()
        ]
    assert layer[-1] == rdp.horizon + 1 and not found.counts[-1].any()


def test_rdp_layered_returns_layered_automaton_unchanged() -> None:
    in_layers = adact_h(log(0)).rdp
    assert in_layers.layered() is in_layers
    assert compare(automaton(0).layered(), automaton(0).unroll()[0]) is None


@pytest.mark.parametrize(("domain", "horizon"), DOMAINS, ids=str)
def test_stationary_rdp_counts_match_exact_probabilities_with_end_last(domain: Domain, horizon: int) -> None:
    exact = stationary_rdp(domain.model(horizon))
    rdp = exact.rdp(horizon, visits=10**9)
    assert rdp.n_states == exact.n_states and rdp.horizon == horizon
    place = {START: 0, END: rdp.n_states - 1}
    letters = {tuple(letter): x for x, letter in enumerate(rdp.letters.tolist())}
    symbols = {tuple(symbol): y for y, symbol in enumerate(rdp.symbols.tolist())}
    arrows = 0
    for (q, a, o, r, target), p in zip(exact.arrows.rows(), exact.arrows.probability, strict=True):
        q, target = (place.setdefault(s, s - 1) for s in (q, target))
        assert rdp.tau[q, symbols[a, o]] == target
        assert rdp.counts[q, letters[a, o, r]] == pytest.approx(float(p) * 1e9, abs=1)
        arrows += 1
    assert (rdp.counts > 0).sum() == arrows
    assert np.allclose(rdp.counts.sum(axis=1), 1e9, atol=50)


# Comparison


def renamed(rdp: RDP, rng: np.random.Generator) -> RDP:
    """Reorder the states, except the first."""
    order = np.concatenate([[0], 1 + rng.permutation(rdp.n_states - 1)])
    place = np.append(np.argsort(order), UNSEEN).astype(np.int32)
    cut = None if rdp.cut is None else rdp.cut[order]
    return changed(rdp, tau=place[rdp.tau[order]], counts=rdp.counts[order], cut=cut)


@CASES
def test_compare_stationary_ignores_renaming_and_number_of_steps(which: int) -> None:
    rdp = case(which)
    other = renamed(rdp, np.random.default_rng(which))
    assert compare(rdp, other) is None and compare(other, rdp) is None
    assert compare(rdp, changed(other, steps=rdp.horizon + 5)) is None


def test_compare_stationary_finds_every_redirected_transition() -> None:
    """Every redirected transition is found, with a history that leads to it."""
    rdp = true(TMaze(length=3), 7)
    for q, y in np.argwhere(rdp.tau != UNSEEN).tolist():
        tau = rdp.tau.copy()
        tau[q, y] = 1 + tau[q, y] % (rdp.n_states - 1)
        if tau[q, y] != rdp.tau[q, y]:
            found = compare(rdp, changed(rdp, tau=tau))
            assert found is not None and found.history, (q, y)


def test_compare_distinguishes_stationary_from_layered() -> None:
    rdp = automaton(0)
    for pair, which in (((rdp, rdp.layered()), "first"), ((rdp.layered(), rdp), "second")):
        found = compare(*pair)
        assert found is not None and found.reason == f"the {which} is stationary, the other layered"


def test_compare_stationary_finds_reward_seen_by_one_only() -> None:
    rdp = automaton(0)
    of_letter = rdp.symbol_of_letter()
    q, x = next(
        (q, x)
        for q, x in np.argwhere(rdp.counts == 0).tolist()
        if rdp.tau[q, of_letter[x]] != UNSEEN and rdp.symbols[of_letter[x], 1] != STOP
    )
    counts = rdp.counts.copy()
    counts[q, x] = 1
    found = compare(rdp, changed(rdp, counts=counts))
    assert found is not None and found.reason.startswith("only the second has seen reward")
