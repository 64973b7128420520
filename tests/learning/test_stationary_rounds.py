"""Rounds of the stationary learner make the same decisions as the slow version in `oracle`."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from oracle import stationary as oracle
from oracle.settling import Pass as SlowPass
from oracle.settling import settle as slow_settle
from suffice.automata.describe import describe_witness
from suffice.automata.histories import show_symbol
from suffice.automata.rdp import UNSEEN
from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes
from suffice.kernels import stationary
from suffice.kernels.stationary import side_of
from suffice.learning.adact_h import Settings
from suffice.learning.borderline import BORDERLINE_SHARE
from suffice.learning.stationary.labels import Labelling, PointerLog
from suffice.learning.stationary.learner import _rounds
from suffice.learning.stationary.pointers import Round
from suffice.learning.stationary.reference import completed, last_observation
from suffice.learning.stationary.settling import _Pass, settle
from support.stationary_logs import CENSORED, DOMAINS, level_of, log, one_round, spelled

SOME = [1, 2, 3, 6, 9, 10, 12, *CENSORED, *DOMAINS]


def in_symbols(tau: Any, case: Any) -> oracle.Tau:
    """Return transitions by their symbols, without those that end an episode."""
    symbols = spelled(case).symbols
    return {(q, symbols[y]): int(tau[q, y]) for q, y in np.argwhere(tau != UNSEEN).tolist() if symbols[y][1] != STOP}


def excluded_symbols(excluded: Any, case: Any) -> dict[oracle.Edge, set[int]]:
    """Return the excluded targets of transitions by their symbols."""
    symbols = spelled(case).symbols
    states = {edge: set(np.flatnonzero(row).tolist()) - {oracle.START, oracle.END} for edge, row in excluded.items()}
    return {(q, symbols[y]): targets for (q, y), targets in states.items()}


def in_words(episodes: Episodes, most_distinct: Any) -> str:
    """Describe the witness of the oracle as users read it."""
    (label, _, event), (k1, n1), (k2, n2) = most_distinct
    alphabet = episodes.alphabet

    def shown(a: int, o: int) -> str:
        return show_symbol((alphabet.action(a), alphabet.observation(o)))

    where = "in a state that both reach later"
    if isinstance(label, tuple):
        where = f"after {' · '.join(shown(a, o) for a, o in label)}" if label else "next"
    what = "an unseen outcome"
    if isinstance(event, int):
        what = f"{alphabet.action(event)} is chosen"
    elif event is not None:
        a, *o, r = event
        paid = f"with reward {alphabet.rewards[r]:g}"
        what = f"{shown(a, *o)} {paid}" if o else f"{alphabet.action(a)} {paid}"
    return f"{where}, {what}: {k1} of {n1} against {k2} of {n2}"


LEVELS = [Settings(delta=0.3), Settings(delta=0.02), Settings(delta=0.5, cut=0.5), Settings(confidence=0.5)]
EVERY_LEVEL = pytest.mark.parametrize("how", [*LEVELS, Settings(delta=0.5, strict=True)], ids=range(5))


def by_hand_too(
    case: Any, found: Any, reference: oracle.Tau, how: Settings, apart: Any = None, of: Any = None
) -> oracle.Round:
    """Run the oracle; of states that the tree alone shows to be distinct, the one `found` counts as the nearest.

    The choice affects only candidates that are too rare to become states.
    """
    known = spelled(case)
    joined = {(c.state, known.symbols[c.symbol]): c.placement for c in found.choices}

    def which(edge: Any, states: list[int]) -> int:
        verdict = joined[edge]
        near = verdict.target if verdict.nearest is None else verdict.nearest
        assert near in states
        return near

    labels = oracle.Labels(known if of is None else of, reference)
    return oracle.Round(known, labels, level_of(how), how.cut * known.total, apart or {}, how.strict, which).run(
        again=not how.strict
    )


def same_round(case: Any, found: Any, right: oracle.Round) -> None:
    symbols = spelled(case).symbols
    assert in_symbols(found.tau, case) == right.tau
    assert len(found.tau) == right.n_states
    assert found.tests == pytest.approx(right.tests)
    for choice, by_hand in zip(found.choices, right.choices, strict=True):
        verdict = choice.placement
        assert (choice.state, symbols[choice.symbol], choice.n) == (by_hand.state, by_hand.symbol, by_hand.n)
        assert (verdict.target, verdict.promoted, verdict.forced, verdict.nearest) == (
            by_hand.target,
            by_hand.promoted,
            by_hand.forced,
            by_hand.nearest,
        )
        if by_hand.evidence is None:
            assert (verdict.distance, verdict.threshold, verdict.witness) == (None, None, None)
        else:
            assert verdict.distance == pytest.approx(by_hand.evidence, rel=1e-9, abs=1e-9)
            assert verdict.threshold == pytest.approx(by_hand.threshold)
            expected = {in_words(log(case), t) for t in by_hand.most_distinct} or {""}
            text = describe_witness(verdict.witness, log(case).alphabet)
            assert text in (expected if by_hand.evidence >= BORDERLINE_SHARE * by_hand.threshold else {""})
    named = {(q, symbols[y]): (p, symbols[z]) for (q, y), (p, z) in found.apart.items()}
    assert named == right.apart
    assert excluded_symbols(found.excluded, case) == right.excluded()


@pytest.fixture
def no_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the learner and the oracle test candidates of any size."""
    for module in ("suffice.learning.stationary.pointers", "oracle.stationary"):
        monkeypatch.setattr(f"{module}.FEWEST_COMPARED", 0)


@EVERY_LEVEL
@pytest.mark.parametrize("case", SOME, ids=str)
@pytest.mark.usefixtures("no_few")
def test_round_agrees_with_oracle(case: Any, how: Settings) -> None:
    steps = PointerLog.of(log(case))
    found = one_round(steps, last_observation(steps), how)
    same_round(case, found, by_hand_too(case, found, oracle.last_observation(spelled(case)), how))


@pytest.mark.parametrize("case", SOME, ids=str)
def test_round_compares_sample_of_large_candidates_first(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("suffice.learning.stationary.pointers", "oracle.stationary"):
        monkeypatch.setattr(f"{module}.EARLY_TESTS", ((3, 1 / 8), (6, 1 / 4)))
        monkeypatch.setattr(f"{module}.EARLY_FROM", 2)
    steps = PointerLog.of(log(case))
    for how in (LEVELS[1], Settings(delta=0.2, strict=True)):
        found = one_round(steps, last_observation(steps), how)
        same_round(case, found, by_hand_too(case, found, oracle.last_observation(spelled(case)), how))


@pytest.mark.parametrize("case", [3, 6, 10, DOMAINS[1]], ids=str)
def test_comparison_tree_evidence_agrees_with_oracle(case: Any) -> None:
    """Compares every transition that was taken with its target."""
    steps, how = PointerLog.of(log(case)), LEVELS[1]
    done = Round(steps, Labelling(steps, last_observation(steps)), level_of(how), 0.0, {})
    right = by_hand_too(case, done.run(), oracle.last_observation(spelled(case)), how)
    several = 0
    for (state, symbol), visits in spelled(case).transitions(right.paths).items():
        target = right.tau.get((state, symbol), oracle.END)
        first = {e: u + 1 for e, u in reversed(visits)}
        if target >= oracle.SPECIAL:
            episodes = np.array(sorted(first))
            compare = done._compared_by(episodes, np.array([first[e] for e in sorted(first)]), joined=True)
            (found,) = compare._screened([target], math.inf)
            assert found == pytest.approx(right._screen(first, target), rel=1e-9, abs=1e-9)
            several += any(0 < start - right.visits(target)[e] < oracle.DEPTH for e, start in first.items())
    assert several, "some episodes visit the target twice within the depth of the tree"


@pytest.mark.parametrize("case", SOME, ids=str)
def test_round_accepts_labels_from_part_of_the_log(case: Any) -> None:
    """Some of the counted events are unseen by these labels."""
    some = log(case).columns(np.arange(0, log(case).n, 4))
    steps, part, how = PointerLog.of(log(case)), PointerLog.of(some), Settings(delta=0.3)
    found = one_round(steps, last_observation(steps), how, of=part)
    right = by_hand_too(case, found, oracle.last_observation(spelled(case)), how, of=oracle.Log(some))
    same_round(case, found, right)


@pytest.mark.parametrize("case", SOME, ids=str)
def test_round_uses_labels_and_distinct_edges_of_last_round(case: Any) -> None:
    steps, by_hand, how = PointerLog.of(log(case)), spelled(case), Settings(delta=0.3)
    first = one_round(steps, last_observation(steps), how)
    named = {(q, by_hand.symbols[y]): (p, by_hand.symbols[z]) for (q, y), (p, z) in first.apart.items()}
    whole = oracle.complete(
        oracle.with_ends(in_symbols(first.tau, case), len(first.tau), by_hand), len(first.tau), by_hand.symbols
    )
    second = one_round(steps, completed(first.tau), how, first.apart)
    same_round(case, second, by_hand_too(case, second, whole, how, named))


@pytest.mark.usefixtures("no_few")
def test_round_cases_show_every_kind_of_decision() -> None:
    """Decisions are first, joined, split, forced and tested again; witnesses have both kinds of labels, and choices."""
    kinds: Counter[str] = Counter()
    for case in SOME:
        steps = PointerLog.of(log(case))
        part = PointerLog.of(log(case).columns(np.arange(0, log(case).n, 4)))
        for how, of in [*((how, steps) for how in LEVELS), (LEVELS[0], part)]:
            found = one_round(steps, last_observation(steps), how, of=of)
            kinds["apart"] += len(found.apart)
            for *_, verdict in found.choices:
                kinds["first" if verdict.nearest is None else "split" if verdict.promoted else "joined"] += 1
                kinds["forced"] += verdict.forced
                for word in ("next", "after", "later", "is chosen", "→"):
                    kinds[word] += word in describe_witness(verdict.witness, log(case).alphabet)
    assert all(kinds[k] >= 5 for k in ("first", "split", "joined", "forced", "next", "after", "later")), kinds
    assert all(kinds[k] for k in ("apart", "is chosen", "→")) and kinds["→"] < kinds["split"] + kinds["forced"], kinds


@pytest.mark.parametrize("case", SOME, ids=str)
def test_settle_agrees_with_oracle(case: Any) -> None:
    """Starts from the automaton of a round, and from a random one, where nearly all transitions change if they may."""
    steps, by_hand = PointerLog.of(log(case)), spelled(case)
    found = one_round(steps, last_observation(steps), Settings(delta=0.3))
    mixed = found.tau.copy()
    inner = np.argwhere((found.tau >= oracle.SPECIAL) & ~steps.ends())
    mixed[tuple(inner.T)] = np.random.default_rng(0).integers(2, len(mixed), len(inner))
    for tau, excluded in product((found.tau, mixed), (found.excluded, {})):
        given = tau.copy()
        settled = in_symbols(settle(steps, tau, excluded), case)
        assert settled == slow_settle(by_hand, in_symbols(tau, case), len(tau), excluded_symbols(excluded, case))
        assert (tau == given).all(), "the argument is not changed"


@pytest.mark.parametrize("case", SOME, ids=str)
def test_settle_moves_no_transition_to_state_that_a_test_excluded(case: Any) -> None:
    steps = PointerLog.of(log(case))
    found = one_round(steps, last_observation(steps), Settings(delta=0.5))
    settled = settle(steps, found.tau, found.excluded)
    assert not any(excluded[settled[edge]] for edge, excluded in found.excluded.items())
    for state, symbol, _, placement in found.choices:
        if placement.promoted or placement.forced:
            assert settled[state, symbol] == placement.target


@pytest.mark.parametrize("case", [3, 6, DOMAINS[0]], ids=str)
def test_settling_scores_agree_with_oracle(case: Any) -> None:
    steps, by_hand = PointerLog.of(log(case)), spelled(case)
    tau = one_round(steps, last_observation(steps), Settings(delta=0.3)).tau
    fast, slow = _Pass(steps, tau, {}), SlowPass(by_hand, in_symbols(tau, case), len(tau), {})
    for state, y, episodes, at in steps.transitions(stationary.trace(fast.beliefs.whole, steps.walked)):
        if not steps.ends()[y]:
            symbol, visits = by_hand.symbols[y], list(zip(episodes.tolist(), at.tolist(), strict=True))
            prior = fast.ln_prior(state, y)
            assert prior == pytest.approx(slow.ln_prior(state, symbol, [symbol]), rel=1e-9)
            likelihoods = [fast.ln_likelihood(state, y, s) for s in range(len(tau))]
            assert likelihoods == pytest.approx([slow.ln_likelihood(s, visits) for s in range(len(tau))], rel=1e-9)


def test_settle_scores_only_likeliest_of_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("suffice.learning.stationary.settling", "oracle.settling"):
        for name, value in (("FIRST_FEW", (2, 3)), ("FEW", (3, 2)), ("VISITS", 9), ("MOST_STEPS", 40), ("SOON", 2)):
            monkeypatch.setattr(f"{module}.{name}", value)
    for case in SOME:
        steps = PointerLog.of(log(case))
        found = one_round(steps, last_observation(steps), Settings(delta=0.5))
        for excluded in (found.excluded, {}):
            tau, by_hand = in_symbols(found.tau, case), excluded_symbols(excluded, case)
            slow = slow_settle(spelled(case), tau, len(found.tau), by_hand)
            assert in_symbols(settle(steps, found.tau, excluded), case) == slow


@pytest.mark.parametrize("how", [LEVELS[0], Settings(delta=0.5, strict=True)], ids=["usual", "strict"])
@pytest.mark.parametrize("case", [1, 2, 6, 9, 10, *CENSORED, *DOMAINS], ids=str)
def test_rounds_end_with_the_automaton_of_the_oracle(case: Any, how: Settings) -> None:
    found = _rounds(PointerLog.of(log(case)), how, lambda done: None)
    right = oracle.rounds(spelled(case), level_of(how), strict=how.strict)
    assert in_symbols(found.tau, case) == right.tau
    assert in_symbols(found.outcome.tau, case) == right.of.tau


@pytest.mark.usefixtures("no_few")
@pytest.mark.parametrize("seed", [0, 9, 18, 26])
def test_rounds_keep_distinct_edges_from_round_to_round(seed: int) -> None:
    """These logs end differently if it is forgotten, or applied to transitions that were settled elsewhere."""
    rng = np.random.default_rng(seed)
    horizon, n = int(rng.integers(2, 5)), int(rng.integers(15, 40))
    how: dict[str, Any] = {"early_end": 0.3 * (seed % 2), "weighted": seed % 3 == 0}
    episodes = random_episodes(rng, horizon, 2, 2, 2, 3, n, **how)
    known = oracle.Log(episodes)
    tau = _rounds(PointerLog.of(episodes), LEVELS[0], lambda done: None).tau
    taken = {(q, known.symbols[y]): int(tau[q, y]) for q, y in np.argwhere(tau != UNSEEN).tolist()}
    right = oracle.rounds(known, level_of(LEVELS[0])).tau
    assert {edge: target for edge, target in taken.items() if edge[1][1] != STOP} == right


def test_side_of_is_balanced_and_deterministic() -> None:
    sides = [int(side_of(e)) for e in range(4000)]
    assert sides == [oracle.side(e) for e in range(4000)]
    assert 1800 < sum(sides) < 2200
