"""Automata that fold time: unrolled, compared, planned on, predicted, saved, and on the command line."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import sys
import zipfile
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.compare import compare
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.automata.state_tracker import Memory
from suffice.cli.main import main
from suffice.data.alphabet import DUMMY, PAD, STOP
from suffice.data.episodes import Episodes
from suffice.data.logs.writing import write_log
from suffice.domains.domain import Domain
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.stationary import END, START, stationary_rdp
from suffice.domains.exact.values import best_plan
from suffice.domains.pomdp.writing import to_pomdp
from suffice.domains.registry import make
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.stationary.learner import tie
from suffice.models.export import to_dot, to_json
from suffice.models.model import Model
from suffice.planning.backward_induction import unroll_plan
from suffice.planning.plan import Plan, fold_plan
from suffice.planning.planner import GREEDY, Planning, plan_on
from suffice.planning.policy import Policy
from suffice.planning.prediction import predict
from suffice.planning.regorl import Split, regorl
from support.log_files import decode
from support.samples import of_one_feature, rising

F = Fraction
SEEDS = range(6)


@cache
def log(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    horizon = int(rng.integers(3, 6))
    how: dict[str, Any] = {"early_end": 0.3 * (seed % 2), "weighted": seed % 3 == 0}
    return random_episodes(rng, horizon, 2, 3, 2, 3, 200, **how)


@cache
def automaton(seed: int) -> RDP:
    return tie(log(seed), Settings(delta=0.3)).rdp


@cache
def true(domain: Domain, horizon: int) -> RDP:
    return stationary_rdp(domain.model(horizon)).rdp(horizon)


DOMAINS: list[tuple[Domain, int]] = [
    (TMaze(length=3), 7),
    (TMaze(length=2, cue_visible=True, noise=True), 6),
    (Cheese(), 6),
    (EnemyCorridor(columns=3), 7),
    (MiniHall(), 6),
    (Corridor(columns=3), 6),
]

# What they must be


def changed(rdp: RDP, **changes: Any) -> RDP:
    arrays = {name: getattr(rdp, name).copy() for name in ("letters", "symbols", "layers", "tau", "counts")}
    return RDP(**({"alphabet": rdp.alphabet, "steps": rdp.steps, "cut": rdp.cut} | arrays | changes))


def test_one_layer_goes_with_a_number_of_steps() -> None:
    rdp, in_layers = automaton(0), adact_h(log(0)).rdp
    assert rdp.stationary and rdp.horizon == log(0).horizon and len(rdp.offsets()) == 2
    assert not in_layers.stationary and in_layers.steps is None
    wrong: list[tuple[RDP, dict[str, Any]]] = [
        (rdp, {"steps": None}),
        (rdp, {"steps": -1}),
        (in_layers, {"steps": in_layers.horizon}),
    ]
    for given, changes in wrong:
        with pytest.raises(SufficeError, match="a layer for each step, or a single one and a horizon"):
            changed(given, **changes)
    assert changed(rdp, steps=0).horizon == 0
    assert repr(rdp) == f"<RDP: {rdp.n_states} states in one layer>"


def test_transitions_lead_to_states_and_counts_have_transitions() -> None:
    rdp = automaton(0)
    for bad in (rdp.n_states, -2):
        tau = rdp.tau.copy()
        tau[0, np.flatnonzero(tau[0] != UNSEEN)[0]] = bad
        with pytest.raises(SufficeError, match="must lead to one of its states"):
            changed(rdp, tau=tau)
    with pytest.raises(SufficeError, match="counts where it has transitions"):
        changed(rdp, counts=rdp.counts + 1)
    with pytest.raises(SufficeError, match="one row of transitions and of counts for each state"):
        changed(rdp, layers=rdp.layers + 1)
    assert rdp.cut is not None
    for cut in (rdp.cut[1:], rdp.cut - 1):
        with pytest.raises(SufficeError, match="what an RDP met at the last step must be counts"):
            changed(rdp, cut=cut)
    with pytest.raises(SufficeError, match="layers, each with a state"):
        changed(rdp, layers=np.array([], np.int64))


def test_only_layers_are_minimised() -> None:
    with pytest.raises(SufficeError, match="unroll a stationary one first"):
        automaton(0).minimise()
    assert automaton(0).unroll()[0].minimise().horizon == automaton(0).horizon


@pytest.mark.parametrize("seed", SEEDS)
def test_histories_that_are_typical_lead_to_their_states_and_are_shortest(seed: int) -> None:
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
def test_a_symbol_is_like_the_state_it_most_often_leads_to(seed: int) -> None:
    rdp = automaton(seed)
    arrived: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for q, y in np.argwhere(rdp.tau != UNSEEN).tolist():
        arrived[y][int(rdp.tau[q, y])] += int(rdp.taken()[q, y])
    like = rdp.most_like()
    assert like.shape == (1, len(rdp.symbols))
    for y, found in enumerate(like[0].tolist()):
        assert found == (min(arrived[y], key=lambda p: (-arrived[y][p], p)) if arrived[y] else UNSEEN)
    memory = Memory.of(rdp)
    assert len(memory.astray) == rdp.n_states + 1 and (memory.astray == rdp.n_states).all()
    for q, y in np.argwhere(rdp.tau == UNSEEN).tolist():
        assert memory.following[q, y] == (like[0, y] if like[0, y] != UNSEEN else rdp.n_states)


# Unrolled


def case(which: int) -> RDP:
    """Some that were learned, and some that are right."""
    return automaton(which) if which < len(SEEDS) else true(*DOMAINS[which - len(SEEDS)])


CASES = pytest.mark.parametrize("which", range(len(SEEDS) + len(DOMAINS)))


@CASES
def test_unrolled_it_is_the_same_automaton_step_by_step(which: int) -> None:
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


def test_layers_stay_as_they_are() -> None:
    in_layers = adact_h(log(0)).rdp
    assert in_layers.layered() is in_layers
    assert compare(automaton(0).layered(), automaton(0).unroll()[0]) is None


@pytest.mark.parametrize(("domain", "horizon"), DOMAINS, ids=str)
def test_the_truth_as_an_automaton_has_its_chances_and_its_end_last(domain: Domain, horizon: int) -> None:
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


# Compared


def renamed(rdp: RDP, rng: np.random.Generator) -> RDP:
    """The same states in another order, the first first."""
    order = np.concatenate([[0], 1 + rng.permutation(rdp.n_states - 1)])
    place = np.append(np.argsort(order), UNSEEN).astype(np.int32)
    cut = None if rdp.cut is None else rdp.cut[order]
    return changed(rdp, tau=place[rdp.tau[order]], counts=rdp.counts[order], cut=cut)


@CASES
def test_renamed_it_is_equal_however_many_steps(which: int) -> None:
    rdp = case(which)
    other = renamed(rdp, np.random.default_rng(which))
    assert compare(rdp, other) is None and compare(other, rdp) is None
    assert compare(rdp, changed(other, steps=rdp.horizon + 5)) is None


def test_a_transition_that_leads_elsewhere_is_a_difference() -> None:
    """Wherever it is; and the history says where."""
    rdp = true(TMaze(length=3), 7)
    for q, y in np.argwhere(rdp.tau != UNSEEN).tolist():
        tau = rdp.tau.copy()
        tau[q, y] = 1 + tau[q, y] % (rdp.n_states - 1)
        if tau[q, y] != rdp.tau[q, y]:
            found = compare(rdp, changed(rdp, tau=tau))
            assert found is not None and found.history, (q, y)


def test_a_cycle_is_no_layers() -> None:
    rdp = automaton(0)
    for pair, which in (((rdp, rdp.layered()), "first"), ((rdp.layered(), rdp), "second")):
        found = compare(*pair)
        assert found is not None and found.reason == f"the {which} is stationary, the other layered"


def test_a_reward_that_only_one_has_seen_is_a_difference() -> None:
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


# Planned on


@pytest.mark.parametrize(("domain", "horizon"), DOMAINS, ids=str)
def test_the_best_plan_on_the_true_cycle_is_worth_what_the_best_policy_is(domain: Domain, horizon: int) -> None:
    best = float(best_plan(minimal_rdp(domain.model(horizon), horizon)).value)
    rdp = true(domain, horizon)
    assert plan_on(rdp.unroll()[0], GREEDY).value == pytest.approx(best, abs=1e-6)
    assert plan_on(rdp.layered(), Planning(strength=0)).value == pytest.approx(best, abs=1e-6)


def iterated(rdp: RDP, planning: Planning) -> tuple[list[float], list[float], list[int]]:
    """Value iteration by definition: of each state the value, what is left of it after penalties, and the action.

    Rewards are scaled to [0, 1]; b = √(c L Var / n) + c L B / n, at most B: a state is worth at most 1/(1 − γ), and as
    far as the log goes H + 1.
    """
    gamma, strength = planning.discount, planning.strength
    assert gamma is not None
    pay = [rdp.alphabet.rewards[r] for r in rdp.letters[:, 2].tolist()]
    low, wide = min(pay), max(pay) - min(pay) or 1.0
    left, of_letter = 1 / (1 - gamma), rdp.symbol_of_letter()
    most = min(left, rdp.horizon + 1)
    unit = strength * math.log(int(rdp.counts[0].sum()) * rdp.horizon / planning.delta)
    met = [
        [(a, int(k), (pay[x] - low) / wide, int(rdp.tau[q, of_letter[x]])) for x, (a, k) in enumerate(row) if k]
        for q, row in enumerate(
            [list(zip(rdp.letters[:, 0].tolist(), counts, strict=True)) for counts in rdp.counts.tolist()]
        )
    ]

    def mean(moves: list[Any], values: list[float]) -> tuple[float, float, int]:
        n = sum(k for _, k, _, _ in moves)
        gains = [(k, r + gamma * values[p]) for _, k, r, p in moves]
        middle = sum(k * g for k, g in gains) / max(n, 1)
        return middle, sum(k * (g - middle) ** 2 for k, g in gains) / max(n, 1), n

    values, lower, actions = ([0.0] * rdp.n_states for _ in range(3))
    for _ in range(600):
        new = [list(values), list(lower)]
        for q, moves in enumerate(met):
            bounds = {}
            for a in range(len(rdp.alphabet.actions)):
                if mine := [move for move in moves if move[0] == a + PAD + 1]:
                    middle, spread, n = mean(mine, lower)
                    bounds[a] = max(middle - min(math.sqrt(unit / n * spread) + unit / n * most, most), 0.0)
            behaving = mean(moves, lower)[0]
            best = max(bounds, key=lambda a: (round(bounds[a], 11), -a), default=BEHAVE)
            floor = behaving if planning.safe else 0.0 if strength else -1.0
            actions[q] = best if bounds and bounds[best] > floor + 1e-12 else BEHAVE
            chosen = moves if actions[q] == BEHAVE else [move for move in moves if move[0] == actions[q] + PAD + 1]
            new[0][q] = mean(chosen, values)[0]
            new[1][q] = behaving if actions[q] == BEHAVE else bounds[best]
        values, lower = new
    return *([wide * v + low * left for v in found] for found in (values, lower)), [int(a) for a in actions]


DISCOUNTED = [
    replace(GREEDY, discount=0.9),
    Planning(strength=0, discount=0.5),
    Planning(strength=0.05, discount=0.9),
    Planning(strength=0.05, discount=0.8, safe=False),
    replace(GREEDY, discount=0.0),
]


@pytest.mark.parametrize("planning", DISCOUNTED, ids=range(5))
@pytest.mark.parametrize("which", [0, 1, 2, 3, len(SEEDS), len(SEEDS) + 3])
def test_a_discounted_plan_is_that_of_value_iteration(which: int, planning: Planning) -> None:
    rdp = case(which)
    plan = plan_on(rdp, planning)
    values, lower, actions = iterated(rdp, planning)
    assert plan.values == pytest.approx(values, abs=1e-6)
    assert plan.lower == pytest.approx(lower, abs=1e-6)
    if which < len(SEEDS):  # elsewhere several actions are as good
        assert plan.actions.tolist() == actions
    assert math.isnan(plan.error)


def test_what_brings_the_same_for_ever_is_worth_its_sum() -> None:
    """1 + γ + γ² + …, after a first step that brings nothing."""
    plan = plan_on(always(300, 4), Planning(discount=0.75))
    assert plan.values == pytest.approx([3.0, 4.0])


def always(n: int, horizon: int) -> RDP:
    return tie(paying(n, horizon)).rdp


def paying(n: int, horizon: int) -> Episodes:
    """Each of two actions pays 1, whatever it shows."""
    rng = np.random.default_rng(0)
    action = rng.integers(2, size=(horizon + 1, n)) + 2
    observation = rng.integers(2, size=(horizon + 1, n)) + 1
    action[0], observation[-1] = DUMMY, STOP
    reward = np.ones_like(action)
    reward[0] = 0
    return Episodes.from_steps(of_one_feature(2), action, observation, reward)


def test_discounts_are_for_cycles_and_horizons_for_layers() -> None:
    rdp = automaton(0)
    with pytest.raises(SufficeError, match="unroll it first, or plan with a discount"):
        plan_on(rdp)
    with pytest.raises(SufficeError, match="it is for stationary automata"):
        plan_on(rdp.layered(), Planning(discount=0.9))
    for bad in (0.9991, 1.0, -0.1, 1.5, math.nan):
        with pytest.raises(SufficeError, match=r"from 0 to 0\.999"):
            Planning(discount=bad)


@CASES
def test_a_plan_is_unrolled_and_folded_to_itself(which: int) -> None:
    rdp = case(which)
    plan = plan_on(rdp, Planning(discount=0.9))
    layers, stands = rdp.unroll()
    unrolled = unroll_plan(rdp, plan)
    assert unrolled.actions[:-1].tolist() == plan.actions[stands[:-1]].tolist()
    assert unrolled.values[:-1].tolist() == plan.values[stands[:-1]].tolist()
    assert (unrolled.actions[-1], unrolled.values[-1], unrolled.lower[-1]) == (BEHAVE, 0.0, 0.0)
    assert math.isfinite(unrolled.error)
    folded = fold_plan(rdp, unrolled)
    known = np.unique(stands[:-1])
    for name in ("actions", "values", "lower"):
        assert getattr(folded, name)[known].tolist() == getattr(plan, name)[known].tolist()
    assert layers.n_states == len(unrolled.actions)


@CASES
def test_folded_a_plan_does_what_it_does_where_it_is_most_often(which: int) -> None:
    rdp = case(which)
    layers, stands = rdp.unroll()
    plan = plan_on(layers, GREEDY)
    share, folded = plan.occupancy(layers), fold_plan(rdp, plan)
    for q in np.unique(stands[:-1]).tolist():
        places = [i for i in range(len(stands) - 1) if stands[i] == q]
        best = min(places, key=lambda i: (-share[i], i))
        assert (folded.actions[q], folded.values[q], folded.lower[q]) == (
            plan.actions[best],
            plan.values[best],
            plan.lower[best],
        )


def test_a_policy_on_a_cycle_goes_on_for_as_long_as_it_is_asked() -> None:
    domain = EnemyCorridor(columns=3)
    episodes = domain.simulate(2000, 8, np.random.default_rng(0))
    forever = Model.of(regorl(episodes, planning=Planning(discount=0.9), stationary=True), episodes)
    bounded = Model.of(regorl(episodes, stationary=True), episodes)
    known = set(episodes.alphabet.actions)
    for model, lasts in ((forever, True), (bounded, False)):
        policy = model.policy()
        policy.reset()
        rng = np.random.default_rng(1)
        observation = episodes.alphabet.observation(int(episodes.letters[episodes.word[0, 0], 1]))
        for _ in range(40):
            action = policy.act(observation)
            assert action in known
            rows = (
                [o for o, _, _ in model.rdp.outputs(where(model.rdp, policy), action) if o is not None] if lasts else []
            )
            observation = rows[int(rng.integers(len(rows)))] if rows else observation
        assert (policy.rdp is model.rdp) == lasts
        assert (policy.fallbacks == 0) == lasts, "beyond its horizon a plan on layers is lost"
    assert forever.about.plan is not None and forever.about.plan.discount == 0.9


def where(rdp: RDP, policy: Policy) -> int:
    assert policy.state < rdp.n_states
    return policy.state


# Predicted


class Formula:
    """What the docstring of predicting.py says where candidates are the same at all steps but the first."""

    def __init__(self, rdp: RDP, plan: Plan, episodes: Episodes) -> None:
        self.rdp, self.horizon = rdp, rdp.horizon
        layers, stands = rdp.unroll()
        self.planned = {
            (int(t), int(q)): int(a)
            for t, q, a in zip(layers.layer_of()[:-1], stands[:-1], plan.actions[:-1], strict=True)
        }
        rewards = [F(rdp.alphabet.rewards[r]) for r in rdp.letters[:, 2].tolist()]
        self.low, self.wide = min(rewards), max(rewards) - min(rewards) or F(1)
        number = {rdp.symbol(y): y for y in range(len(rdp.symbols))}
        self.tau = {
            (q, symbol): int(rdp.tau[q, y])
            for q in range(rdp.n_states)
            for symbol, y in number.items()
            if rdp.tau[q, y] != UNSEEN
        }
        seen = {(a, o, F(r)) for a, o, r in self.letters_of(rdp)}
        self.first: Counter[Any] = Counter()
        self.last: defaultdict[Any, Counter[Any]] = defaultdict(Counter)  # as met if the log was cut then
        self.later: defaultdict[Any, Counter[Any]] = defaultdict(Counter)
        for c in self.tau:
            self.later[c] = Counter()
        weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
        for steps, weight in zip(decode(episodes), weights, strict=True):
            candidate: Any = None
            q = 0
            for t, (action, observation, reward) in enumerate(steps):
                paid = (F(reward) - self.low) / self.wide
                letter, cut = (action, observation, paid), (action, None, paid)
                if t:
                    self.last[candidate][cut if (action, None, F(reward)) in seen else letter] += weight
                if t < len(steps) - 1:
                    (self.first if t == 0 else self.later[candidate])[letter] += weight
                    candidate, q = (q, (action, observation)), self.tau[q, (action, observation)]

    def letters_of(self, rdp: RDP) -> list[Any]:
        alphabet = rdp.alphabet
        return [(alphabet.action(a), alphabet.observation(o), alphabet.rewards[r]) for a, o, r in rdp.letters.tolist()]

    def state(self, c: Any) -> int:
        return 0 if c is None else self.tau[c]

    def followed(self, t: int, c: Any) -> Counter[Any]:
        action = self.planned.get((t, self.state(c)), BEHAVE)
        met = self.first if c is None else self.last[c] if t == self.horizon else self.later[c]
        return Counter({x: k for x, k in met.items() if action == BEHAVE or x[0] == self.rdp.alphabet.actions[action]})

    def candidates(self, t: int) -> list[Any]:
        return list(self.later) if t else [None]

    def rates(self, t: int) -> dict[Any, dict[Any, Fraction]]:
        """Of each candidate how often letters follow: as after itself, and for one more visit as in its state."""
        whole: defaultdict[int, Counter[Any]] = defaultdict(Counter)
        for c in self.candidates(t):
            whole[self.state(c)] += self.followed(t, c)
        found = {}
        for c in self.candidates(t):
            own, of_state = self.followed(t, c), whole[self.state(c)]
            found[c] = {x: (own[x] + F(k, of_state.total())) / (own.total() + 1) for x, k in of_state.items()}
        return found

    def estimate(self) -> tuple[float, float]:
        values: dict[Any, Fraction] = {}
        variances: list[dict[Any, Fraction]] = []
        all_rates = [self.rates(t) for t in range(self.horizon + 1)]
        for t in range(self.horizon, -1, -1):
            new, spread = {}, {}
            for c, rates in all_rates[t].items():
                gains = {x: x[2] + values.get((self.state(c), x[:2]), F(0)) for x in rates}
                new[c] = sum((p * gains[x] for x, p in rates.items()), F(0))
                n = self.followed(t, c).total() + 1
                square = sum((p * (gains[x] - new[c]) ** 2 for x, p in rates.items()), F(0))
                spread[c] = (n * square + F(self.horizon - t + 1, 2) ** 2) / (n + 1) ** 2
            values = new
            variances.append(spread)
        off: defaultdict[Any, float] = defaultdict(float)  # a candidate is off by the same at every step
        share: dict[Any, Fraction] = {None: F(1)}
        for t, spread in enumerate(reversed(variances)):
            for c, p in share.items():
                off[c] += float(p) * math.sqrt(spread[c])
            following: defaultdict[Any, Fraction] = defaultdict(Fraction)
            for c, p in share.items():
                for x, rate in all_rates[t][c].items():
                    following[self.state(c), x[:2]] += p * rate
            share = following
        value = self.wide * values[None] + self.low * (self.horizon + 1)
        return float(value), float(self.wide) * math.sqrt(sum(x**2 for x in off.values()))


PLANNERS = (GREEDY, Planning(), Planning(strength=0.1, safe=False), Planning(strength=1e6))


@cache
def short(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    return random_episodes(rng, 4, 2, 2, 2, 2, 150, early_end=0.2 * (seed % 2), weighted=seed % 3 == 0)


@pytest.mark.parametrize("seed", [1, 2, 3, 6, 8, 9, 13, 22])
def test_predictions_are_those_of_the_formula(seed: int) -> None:
    episodes = short(seed)
    rdp = tie(episodes, Settings(delta=0.05)).rdp
    for how in PLANNERS:
        plan = plan_on(rdp.layered(), how)
        assert predict(rdp, plan, episodes) == pytest.approx(Formula(rdp, plan, episodes).estimate(), rel=1e-9)
    forever = unroll_plan(rdp, plan_on(rdp, Planning(discount=0.9)))
    assert predict(rdp, forever, episodes) == pytest.approx(Formula(rdp, forever, episodes).estimate(), rel=1e-9)


def test_what_is_new_at_the_end_counts_as_its_state() -> None:
    """Whatever is done brings 2 in two steps."""
    found = regorl(paying(500, 2), stationary=True)
    assert found.plan.value == 2.0
    assert found.prediction.value == pytest.approx(2.0, abs=0.01)


def test_where_nothing_matters_predictions_are_certain() -> None:
    for horizon in (2, 3, 6):
        found = regorl(paying(500, horizon), stationary=True)
        assert found.prediction.value == pytest.approx(horizon, abs=0.01) and found.behaviour_value == horizon


@pytest.mark.parametrize("seed", range(3))
def test_a_weight_is_so_many_episodes(seed: int) -> None:
    episodes = log(3 * seed)
    assert episodes.weight is not None
    repeated = episodes.columns(np.repeat(np.arange(episodes.n), episodes.weight))
    alone = Episodes(repeated.alphabet, repeated.letters, repeated.word, repeated.follows)
    rdp = automaton(3 * seed) if 3 * seed in SEEDS else tie(episodes).rdp
    plan = plan_on(rdp.layered())
    assert predict(rdp, plan, episodes) == pytest.approx(predict(rdp, plan, alone), rel=1e-12)


def test_the_papers_way_is_for_layers() -> None:
    for how in ({"split": Split()}, {"planning": Planning(subsample=True)}):
        with pytest.raises(SufficeError, match="proof is for layers"):
            regorl(log(0), stationary=True, **how)


def test_a_solution_on_a_cycle_plans_on_its_layers() -> None:
    episodes = TMaze(length=3).simulate(1000, 9, np.random.default_rng(0))
    found = regorl(episodes, stationary=True)
    assert found.learned.rdp.stationary and not found.planned.stationary
    assert len(found.plan.actions) == found.planned.n_states
    best = float(best_plan(minimal_rdp(TMaze(length=3).model(9), 9)).value)
    assert found.prediction.value == pytest.approx(best, abs=5 * found.prediction.error + 0.1)


# Saved


@cache
def models() -> dict[str, Model]:
    episodes = TMaze(length=3).simulate(1000, 9, np.random.default_rng(0))
    return {
        "planned": Model.of(regorl(episodes, stationary=True), episodes),
        "forever": Model.of(regorl(episodes, planning=Planning(discount=0.9), stationary=True), episodes),
        "planless": Model.of(tie(episodes), episodes),
    }


@pytest.mark.parametrize("name", ["planned", "forever", "planless"])
def test_a_model_survives_its_file(tmp_path: Path, name: str) -> None:
    model = models()[name]
    model.save(tmp_path / "a.model")
    loaded = Model.load(tmp_path / "a.model")
    loaded.save(tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
    assert loaded.about == model.about and loaded.decisions == model.decisions
    assert loaded.rdp.steps == 9 and loaded.rdp.stationary and compare(loaded.rdp, model.rdp) is None
    assert (loaded.plan is None) == (name == "planless")
    if loaded.plan is not None and model.plan is not None:
        assert loaded.plan.actions.tolist() == model.plan.actions.tolist()
    assert loaded.about.layers == [model.rdp.n_states] == loaded.rdp.layers.tolist()
    assert len(loaded.about.candidates) == 1 and loaded.about.languages == [0]
    assert (loaded.about.metric, loaded.about.family, loaded.about.bound) == ("outcomes", None, "e-values")


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"steps": None}, {}),
        ({"steps": -1}, {}),
        ({"steps": 2.5}, {}),
        ({"steps": 8}, {}),
        ({"layers": [3]}, {}),
        ({"layers": [6, 6]}, {"layers": np.array([6, 6])}),
        ({"layers": [1, 10, 1]}, {"layers": np.array([1, 10, 1])}),
        ({}, {"layers": np.array([9])}),
        ({}, {"cut": np.zeros((3, 3), np.int64)}),
        ({"steps": 10**9}, {}),
        ({}, {"plan_actions": np.zeros(10, np.int64)}),
    ],
    ids=str,
)
def test_steps_and_layers_that_contradict_each_other_are_refused(tmp_path: Path, header: Any, arrays: Any) -> None:
    path = tmp_path / "a.model"
    models()["planned"].save(path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries["header.json"] = json.dumps(json.loads(entries["header.json"]) | header).encode()
    entries |= {f"{name}.npy": npy(array) for name, array in arrays.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    with pytest.raises(SufficeError, match="this model file is damaged") as refused:
        Model.load(path)
    assert "\n" not in str(refused.value)
    ran = suffice("info", str(path))
    assert ran[0] == 2 and one_line(ran[2])


# Exported


def keys_within(content: Any) -> set[str]:
    if isinstance(content, dict):
        return {*content, *(key for value in content.values() for key in keys_within(value))}
    return {key for value in content for key in keys_within(value)} if isinstance(content, list) else set()


@pytest.mark.parametrize("name", ["planned", "forever", "planless"])
def test_json_has_the_promised_keys_and_no_time(name: str) -> None:
    model = models()[name]
    rdp, found = model.rdp, json.loads(to_json(model))
    assert list(found) == ["horizon", "delta", "metric", "bound", "layers", "transitions", "policy"]
    assert found["layers"] == [rdp.n_states] and found["horizon"] == 9
    assert "t" not in keys_within(found)
    taken = rdp.taken()
    rows = {
        (row["state"], row["action"], tuple((row["observation"] or {}).values())): row for row in found["transitions"]
    }
    assert len(rows) == len(found["transitions"]) == (rdp.tau != UNSEEN).sum()
    for q, y in np.argwhere(rdp.tau != UNSEEN).tolist():
        action, observation = rdp.symbol(y)
        row = rows[q, action, observation or ()]
        assert set(row) == {"state", "action", "observation", "next", "count", "rewards"}
        assert (row["next"], row["count"]) == (rdp.tau[q, y], taken[q, y])
        seen = {r: k for o, r, k in rdp.outputs(q, action) if o == observation}
        assert dict(row["rewards"]) == seen
    if name == "planless":
        assert found["policy"] == []
        return
    assert [row["state"] for row in found["policy"]] == list(range(1, rdp.n_states))
    for row in found["policy"]:
        assert set(row) <= {"state", "action", "value", "chances"} and set(row) >= {"state", "action", "value"}
        assert row["action"] in (*rdp.alphabet.actions, None, "pad") and ("chances" in row) == (row["action"] is None)
    assert found["policy"][-1]["action"] == "pad", "the end"


def test_dot_has_every_state_and_arrow() -> None:
    rdp, text = models()["planned"].rdp, to_dot(models()["planned"])
    assert "rank=same" not in text
    arrows = {(q, int(rdp.tau[q, y])) for q, y in np.argwhere(rdp.tau != UNSEEN).tolist()}
    assert text.count(" -> ") == len(arrows) and all(f"  {q} -> {p} " in text for q, p in arrows)
    assert all(f'  {q} [label="{q}"];' in text for q in range(rdp.n_states))


def test_pomdp_is_of_its_layers(tmp_path: Path) -> None:
    """And is worth as much as the plan says, whatever the log did."""
    model = models()["planned"]
    (tmp_path / "a.POMDP").write_text(to_pomdp(model))
    read = make(str(tmp_path / "a.POMDP"), {}).model(10)
    best = float(best_plan(minimal_rdp(read, 10)).value)
    assert best == pytest.approx(plan_on(model.planned, GREEDY).value, abs=1e-6)


# On the command line


def suffice(*args: str) -> tuple[int, str, str]:
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["suffice", *args]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main()
    finally:
        sys.argv = before
    return int(stopped.value.code or 0), out.getvalue(), err.getvalue()


def one_line(text: str) -> bool:
    return text.count("\n") == 1 and "Traceback" not in text


def ok(*args: str) -> str:
    code, out, err = suffice(*args)
    assert (code, err) == (0, ""), err
    return out


MAZE = ("--set", "length=3")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stationary")
    ok("simulate", "t-maze", *MAZE, "--horizon", "9", "--episodes", "2000", "-o", str(folder / "log.parquet"))
    ok("learn", str(folder / "log.parquet"), "-o", str(folder / "a.model"), "--stationary", "--hold-out", "0.2")
    ok("learn", str(folder / "log.parquet"), "-o", str(folder / "layers.model"))
    return folder


def test_learning_says_what_it_found(here: Path) -> None:
    out = ok("learn", "log.parquet", "-o", "b.model", "--stationary")
    assert out.splitlines()[0].startswith("10 states for all steps, from 2,000 episodes in ")
    assert "there is no false split" in out and "layer" not in out.split("Next:")[0].replace("in layers", "layer")
    again = ok("learn", "log.parquet", "-o", "c.model", "--stationary=yes", "--threads", "1")
    assert Path("b.model").read_bytes() == Path("c.model").read_bytes() and "10 states" in again


def test_no_is_the_default(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--stationary", "no")
    assert Path("b.model").read_bytes() == Path("layers.model").read_bytes()


def test_info_tells_the_same_to_people_and_machines(here: Path) -> None:
    told = json.loads(ok("info", "a.model", "--json"))
    assert told["stationary"] is True and told["states"] == 10 and told["layers"] == [10] and told["horizon"] == 9
    assert len(told["candidates"]) == 1 and told["metric"] == "outcomes" and told["family"] is None
    assert json.loads(ok("info", "layers.model", "--json"))["stationary"] is False
    out = ok("info", "a.model", "--states", "--decisions", "50")
    assert out.startswith("10 states for all steps")
    rows = [line for line in out.splitlines() if line.startswith(("  state ", "  over: "))]
    assert len(rows) == 10 and "layer" not in "".join(rows)  # one state is where episodes are over
    shares = [float(share) for row in rows for share in re.findall(r"(?:state|over: state) \d+ +([\d.]+)%", row)]
    assert len(shares) == 10 and sum(shares) == pytest.approx(100, abs=1)
    assert "Told apart, for example, by:" in out


def test_a_model_is_compared_with_the_truth_and_with_models(here: Path) -> None:
    assert ok("compare", "a.model", "t-maze", *MAZE).splitlines()[:-1] == ["Equal up to renaming of states."]
    told = json.loads(ok("compare", "a.model", "t-maze", "--set", "length=4", "--json"))
    assert told["equal"] is False and told["difference"]["history"]
    assert "the first is stationary, the other layered" in ok("compare", "a.model", "layers.model")
    ok("learn", "log.parquet", "-o", "b.model", "--stationary")
    assert ok("compare", "a.model", "b.model").splitlines()[:-1] == ["Equal up to renaming of states."]


def test_it_is_evaluated_in_a_domain_and_by_a_log(here: Path) -> None:
    exact = json.loads(ok("evaluate", "a.model", "--domain", "t-maze", *MAZE, "--exact", "--json"))
    assert exact["horizon"] == 9
    assert exact["mean_return"] == pytest.approx(exact["optimal_value"], abs=0.3)
    assert exact["mean_return"] > exact["behaviour"]["mean_return"] + 1
    tried = json.loads(ok("evaluate", "a.model", "--domain", "t-maze", *MAZE, "--episodes", "4000", "--json"))
    assert tried["mean_return"] == pytest.approx(exact["mean_return"], abs=5 * tried["mean_return_stderr"])
    by_log = json.loads(ok("evaluate", "a.model", "--log", "log.parquet", "--json"))
    assert by_log["episodes"] == 400
    assert by_log["model_based_value"] == pytest.approx(exact["mean_return"], abs=1)


def test_exports_are_written(here: Path) -> None:
    for kind, sign in (("json", '"layers": [\n  10\n ]'), ("dot", "digraph rdp"), ("pomdp", "discount: 1.0")):
        ok("export", "a.model", "--format", kind, "-o", f"a.{kind}")
        assert sign in Path(f"a.{kind}").read_text()
    assert '"t"' not in Path("a.json").read_text()


def test_a_discounted_plan_is_for_ever(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--stationary", "--discount", "0.9")
    assert json.loads(ok("info", "b.model", "--json"))["plan"]["discount"] == 0.9
    assert Model.load("b.model").policy().rdp.stationary
    exact = json.loads(ok("evaluate", "b.model", "--domain", "t-maze", *MAZE, "--exact", "--json"))
    assert exact["mean_return"] > exact["behaviour"]["mean_return"] + 1


def test_without_a_plan_there_is_an_automaton(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--stationary", "--planner", "none")
    assert ok("compare", "b.model", "t-maze", *MAZE).splitlines()[:-1] == ["Equal up to renaming of states."]
    assert json.loads(ok("info", "b.model", "--json"))["plan"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--stationary --metric prefixes", "no metric, family or bound to choose"),
        ("--stationary --family 1,1,1", "no metric, family or bound to choose"),
        ("--stationary --bound paper", "no metric, family or bound to choose"),
        ("--stationary --split", "leave --stationary out"),
        ("--stationary --planner subsampled", "leave --stationary out"),
        ("--stationary auto --split", "leave --stationary out"),
        ("--stationary --second-look", "--second-look is for layers"),
        ("--discount 0.9", "add --stationary, or leave it out"),
        ("--stationary --discount 1", "from 0 to 0.999"),
        ("--stationary --discount -0.5", "from 0 to 0.999"),
        ("--stationary --discount 0.9 --planner none", "--discount does not go with --planner none"),
        ("--stationary --horizon 1", "at least two decisions; leave --stationary out"),
        ("--stationary --memory 1KB", "raise --memory"),
        ("--stationary --delta 0.01 --confidence 0.9", "give one of them"),
        ("--stationary=perhaps", ""),
        ("--strict", "--strict is for --stationary"),
    ],
)
def test_options_that_do_not_go_together_are_refused(here: Path, options: str, said: str) -> None:
    code, out, err = suffice("learn", "log.parquet", "-o", "b.model", *options.split())
    assert (code, out) == (2, "") and said in err and not Path("b.model").exists()
    assert one_line(err) or options.endswith("perhaps")


def test_auto_folds_a_maze(here: Path) -> None:
    out = ok("learn", "log.parquet", "-o", "b.model", "--stationary", "auto")
    assert out.startswith("Fold time: one automaton for all steps predicts as well or better.")
    assert ok("compare", "b.model", "t-maze", *MAZE).splitlines()[:-1] == ["Equal up to renaming of states."]
    told = json.loads(ok("learn", "log.parquet", "-o", "c.model", "--stationary", "auto", "--json"))
    assert told["stationarity"]["stationary"] is True and told["stationary"] is True
    assert Path("b.model").read_bytes() == Path("c.model").read_bytes()


def test_auto_keeps_the_layers_of_what_depends_on_the_step(here: Path) -> None:
    write_log(rising(400), "steps.parquet")
    out = ok("learn", "steps.parquet", "-o", "b.model", "--stationary", "auto", "--discount", "0.9")
    assert out.startswith("Keep the layers: what happens depends on the step.")
    ok("learn", "steps.parquet", "-o", "c.model")
    assert Path("b.model").read_bytes() == Path("c.model").read_bytes(), "as if nothing had been said of time"
    told = json.loads(ok("learn", "steps.parquet", "-o", "d.model", "--stationary", "auto", "--json"))
    assert told["stationary"] is False and told["stationarity"]["stationary"] is False
    assert told["stationarity"]["tied_bits"] > told["stationarity"]["layered_bits"]
