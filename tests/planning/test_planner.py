"""Plans agree with backward induction by definition, are in the user's units, and their bounds hold."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from laws.logs import logs
from oracle import planning as oracle
from oracle import random_episodes
from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.tally import Tally
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import best_plan, evaluate
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.learning.adact_h import Settings, adact_h
from suffice.planning.backward_induction import action_values, worth
from suffice.planning.controller import Controller
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, Planning, backward_induction, plan_on
from suffice.planning.regorl import mean_return
from suffice.planning.subsampling import prove, two_fold
from support.log_files import decode
from support.samples import from_values, to_values

F = Fraction

PLANNERS = [
    GREEDY,
    *(Planning(strength=c, safe=False) for c in (0.001, 0.1, 1, 16)),
    *(Planning(strength=c) for c in (0, 0.001, 0.01, 0.1, 1)),
    Planning(strength=0.02, delta=0.5),
]
SEEDS = range(16)

ROUNDING = 1e-11  # values are rounded to the twelfth digit of the range
ROUNDING_OF_ROOTS = 1e-7  # a variance that is 0 comes out as 1e-16 at times, and its root as 1e-8


@cache
def log(seed: int) -> Episodes:
    """Draw a log of a random process, some with early ends, weights, and rewards that are negative or not integers."""
    rng = np.random.default_rng(seed)
    horizon, n_actions, n = int(rng.integers(1, 5)), int(rng.integers(2, 4)), int(rng.integers(50, 400))
    how: dict[str, Any] = {"early_end": 0.3 * (seed % 2), "weighted": seed % 3 == 0}
    drawn = random_episodes(rng, horizon, n_actions, 3, 3, 3, n, **how)
    return drawn if seed % 4 < 2 else repaid(drawn, {0.0: -1.5, 1.0: 0.25, 2.0: 2 / 3})


def repaid(episodes: Episodes, pay: dict[float, float]) -> Episodes:
    """Replace the rewards of a log; those of step 0 and of padding are always 0."""
    return from_values(
        [[(a, o, r if a in (None, "pad") else pay[r]) for a, o, r in episode] for episode in to_values(episodes)]
    )


@cache
def automaton(seed: int) -> RDP:
    return adact_h(log(seed), Settings(delta=0.3)).rdp


def in_codes(actions: list[int | None]) -> list[int]:
    return [BEHAVE if action is None else action for action in actions]


def assert_same(found: Plan, right: oracle.OraclePlan) -> None:
    assert found.actions.tolist() == in_codes(right.actions)
    assert found.values == pytest.approx(right.values, rel=ROUNDING, abs=ROUNDING)
    assert found.lower == pytest.approx(right.lower, rel=ROUNDING, abs=ROUNDING_OF_ROOTS)
    assert found.value == found.values[0]


# By definition


@pytest.mark.parametrize("seed", SEEDS)
def test_plan_on_agrees_with_definition(seed: int) -> None:
    process = oracle.Process.of(automaton(seed))
    for how in PLANNERS:
        right = oracle.plan(process, how.strength, how.delta, how.safe)
        found = plan_on(automaton(seed), how)
        assert_same(found, right)
        assert found.error == pytest.approx(right.error, rel=ROUNDING)
    assert plan_on(automaton(seed)).actions.tolist() == plan_on(automaton(seed), Planning()).actions.tolist()
    assert backward_induction(automaton(seed)).lower.tolist() == plan_on(automaton(seed), GREEDY).lower.tolist()


def test_plan_on_chooses_actions_and_behaviour_in_random_processes() -> None:
    """Check that the test above is not vacuous: nearly every planner acts in some states and not in others."""
    acts: Counter[Planning] = Counter()
    behaves: Counter[Planning] = Counter()
    for seed in SEEDS:
        real = automaton(seed).letters[:, 0] > PAD
        choosing = automaton(seed).counts[:, real].any(axis=1)
        for how in PLANNERS:
            actions = plan_on(automaton(seed), how).actions
            acts[how] += int(np.count_nonzero(actions[choosing] != BEHAVE))
            behaves[how] += int(np.count_nonzero(actions[choosing] == BEHAVE))
            assert np.all(actions[~choosing] == BEHAVE)
    assert behaves[GREEDY] == 0
    assert all(acts[how] > 0 for how in PLANNERS if how.strength < 16)
    assert all(behaves[how] > 0 for how in PLANNERS if how.safe)
    assert all(behaves[how] > 50 for how in PLANNERS if how.strength >= 1)
    several = [plan_on(automaton(seed), GREEDY).actions.max() for seed in SEEDS]
    assert max(several) == 2 and min(several) >= 0


@cache
def stray(seed: int) -> Tally:
    """Tally episodes that the automaton was not learned from; some leave it, because it was learned from few."""
    rng = np.random.default_rng(100 + seed)
    whole = random_episodes(rng, 3, 2, 4, 3, 3, 260, early_end=0.2)
    return few(seed).tally(whole.columns(np.arange(60, whole.n)))


@cache
def few(seed: int) -> RDP:
    whole = random_episodes(np.random.default_rng(100 + seed), 3, 2, 4, 3, 3, 260, early_end=0.2)
    return adact_h(whole.columns(np.arange(60)), Settings(delta=0.5)).rdp


@pytest.mark.parametrize("seed", range(6))
def test_plan_on_agrees_with_definition_on_counts_of_other_episodes(seed: int) -> None:
    """A visit that leaves the automaton counts as one with the smallest return."""
    rdp, tally = few(seed), stray(seed)
    assert tally.lost.sum() > 0
    process = oracle.Process.of(rdp, tally)
    for how in PLANNERS:
        assert_same(plan_on(rdp, how, tally), oracle.plan(process, how.strength, how.delta, how.safe))


@pytest.mark.parametrize("seed", range(3))
def test_plan_on_standard_error_includes_unseen_transitions(seed: int) -> None:
    right = oracle.plan(oracle.Process.of(few(seed), stray(seed)), 0.0, 0.05, safe=False)
    assert plan_on(few(seed), GREEDY, stray(seed)).error == pytest.approx(right.error, rel=ROUNDING)


@pytest.mark.parametrize("seed", range(6))
def test_worth_and_action_values_agree_with_definition_on_other_episodes(seed: int) -> None:
    rdp, tally = few(seed), stray(seed)
    process = oracle.Process.of(rdp, tally)
    for how in (GREEDY, Planning()):
        plan = plan_on(rdp, how)
        actions = {q: None if a == BEHAVE else a for q, a in enumerate(plan.actions.tolist())}
        values = oracle.value_of(process, actions)
        assert worth(rdp, plan, tally).value == pytest.approx(process.in_user_units(0, values[0]), rel=ROUNDING)
        own = worth(rdp, plan, rdp.own_tally())
        assert own[:2] == pytest.approx((plan.value, plan.error), rel=ROUNDING)
        table = action_values(rdp, plan, tally)
        for q, code in np.ndindex(table.shape):
            moves = process.moves[q].get(process.actions[code])
            right = process.in_user_units(q, oracle.mean(moves, values)) if moves else math.nan
            assert table[q, code] == pytest.approx(right, rel=ROUNDING, abs=ROUNDING, nan_ok=True)


# Laws


@settings(deadline=None, max_examples=25)
@given(logs())
def test_plan_on_with_behaviour_only_has_logged_mean_return(episodes: Episodes) -> None:
    rdp = adact_h(episodes, Settings(delta=0.3)).rdp
    plan = plan_on(rdp, Planning(strength=1e6))
    assert np.all(plan.actions == BEHAVE)
    assert plan.value == pytest.approx(mean_return(episodes)) and plan.lower[0] == pytest.approx(plan.value)


@settings(deadline=None, max_examples=25)
@given(logs())
def test_plan_on_safe_lower_bound_is_at_least_logged_return(episodes: Episodes) -> None:
    """By the counts, no plan exceeds the greedy one, and lower bounds of safe plans are at least the logged return."""
    rdp = adact_h(episodes, Settings(delta=0.3)).rdp
    best, logged = plan_on(rdp, GREEDY), mean_return(episodes)
    before = math.inf
    for strength in (0.0, 0.001, 0.01, 0.1, 1.0):
        safe, bold = plan_on(rdp, Planning(strength=strength)), plan_on(rdp, Planning(strength=strength, safe=False))
        for plan in (safe, bold):
            assert np.all(plan.values <= best.values + 1e-9)
        assert np.all(safe.lower <= safe.values + 1e-9)
        assert logged - 1e-9 <= safe.lower[0] <= before + 1e-9
        before = safe.lower[0]


def test_plan_on_returns_same_bytes_for_same_counts() -> None:
    def everything(plan: Plan) -> tuple[Any, ...]:
        return plan.actions.tobytes(), plan.values.tobytes(), plan.lower.tobytes(), plan.error

    for how in PLANNERS:
        assert everything(plan_on(automaton(5), how)) == everything(plan_on(automaton(5), how))
    for seed in SEEDS:
        assert not np.shares_memory(plan_on(automaton(seed)).values, automaton(seed).counts)


# By hand

START = (None, (0,), 0.0)


def one_decision(**outcomes: list[float]) -> RDP:
    """Learn an automaton of episodes with one decision, whose actions had these rewards."""
    return adact_h(from_values([[START, (a, None, r)] for a, paid in outcomes.items() for r in paid])).rdp


def test_plan_on_takes_most_logged_of_equally_good_actions_and_of_these_the_first() -> None:
    rdp = one_decision(c=[1.0] * 8, a=[0.0, 2.0] * 2, b=[1.0] * 16, d=[0.0] * 20)
    assert plan_on(rdp, GREEDY).actions.tolist() == [BEHAVE, 1, BEHAVE]
    rdp = one_decision(c=[1.0] * 8, a=[0.0, 2.0] * 4, b=[1.0] * 8, d=[0.0] * 20)
    assert plan_on(rdp, GREEDY).actions.tolist() == [BEHAVE, 0, BEHAVE]
    rdp = one_decision(c=[1.0] * 8, b=[0.0, 2.0] * 2, a=[0.0])
    assert plan_on(rdp, GREEDY).actions.tolist() == [BEHAVE, 2, BEHAVE]
    nothing = one_decision(b=[0.0, 0.0], a=[0.0])
    assert plan_on(nothing, GREEDY).actions[1] == 1


def test_plan_on_ignores_rounding_between_equal_values() -> None:
    """Both actions always have reward 0.2, and the first was taken more often."""
    automata = {n: one_decision(a=[0.2] * 64, b=[0.2] * n, c=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]) for n in range(1, 60)}
    assert [n for n, rdp in automata.items() if plan_on(rdp, GREEDY).actions[1] != 0] == []


def test_plan_on_safe_acts_only_if_better_than_behaviour() -> None:
    """Where every action has the same value, a safe plan keeps the behaviour; a better action is taken."""
    same = one_decision(a=[1.0] * 4, b=[0.0, 2.0] * 4)
    assert plan_on(same, Planning(strength=0)).actions[1] == BEHAVE
    better = one_decision(a=[1.0] * 500, b=[0.0, 2.0] * 250 + [2.0])
    assert plan_on(better, Planning(strength=0)).actions[1] == 1
    assert plan_on(better, Planning(strength=1)).actions[1] == BEHAVE  # not by much: it may be chance
    clear = one_decision(a=[1.0] * 500, b=[2.0] * 500)
    assert plan_on(clear, Planning(strength=1)).actions[1] == 1
    rare = one_decision(a=[1.0] * 500, b=[2.0])
    assert plan_on(rare, Planning(strength=1)).actions[1] == BEHAVE and plan_on(rare, GREEDY).actions[1] == 1


def test_plan_on_pessimistic_keeps_behaviour_where_all_lower_bounds_are_zero() -> None:
    rdp = one_decision(a=[0.0, 1.0], b=[0.0])
    assert plan_on(rdp, Planning(strength=1, safe=False)).actions[1] == BEHAVE
    many = one_decision(a=[0.0, 1.0] * 300, b=[0.0] * 300)
    assert plan_on(many, Planning(strength=1, safe=False)).actions[1] == 0


def test_plan_on_penalty_matches_calculation_by_hand() -> None:
    """One action with reward 0 or 1 equally often: 1/2 − √(cL/4n) − cL/n in the last layer, with L = ln(NH/δ)."""
    n, c, delta = 600, 0.25, 0.1
    rdp = one_decision(a=[0.0, 1.0] * (n // 2))
    unit = c * math.log(n * 1 / delta) / n
    plan = plan_on(rdp, Planning(strength=c, delta=delta, safe=False))
    assert plan.lower[1] == pytest.approx(0.5 - math.sqrt(unit / 4) - unit, rel=1e-12)
    assert plan.values[1] == 0.5 and plan.values[0] == 0.5 and plan.values[2] == 0


def test_plan_on_standard_error_matches_calculation_by_hand() -> None:
    """A fair coin has √((n/4 + 1/4)/(n+1)²); step 0, with reward 0, adds one visit half of the range away."""
    n = 400
    rdp = one_decision(a=[0.0, 1.0] * (n // 2))
    first, last = 2**2 / 4 / (n + 1) ** 2, (n / 4 + 1 / 4) / (n + 1) ** 2
    assert plan_on(rdp, GREEDY).error == pytest.approx(math.sqrt(first + last), rel=1e-12)


# Units


@pytest.mark.parametrize("seed", SEEDS)
def test_plan_on_is_unchanged_by_units_of_rewards(seed: int) -> None:
    episodes = log(seed)
    rewards = sorted({r for episode in to_values(episodes) for _, _, r in episode})
    one = adact_h(repaid(episodes, {r: r for r in rewards}), Settings(delta=0.3)).rdp
    for factor in (100.0, 0.03):
        two = adact_h(repaid(episodes, {r: factor * r for r in rewards}), Settings(delta=0.3)).rdp
        assert two.layers.tolist() == one.layers.tolist()
        for how in PLANNERS:
            before, after = plan_on(one, how), plan_on(two, how)
            assert after.actions.tolist() == before.actions.tolist()
            assert after.values == pytest.approx(factor * before.values, rel=1e-9, abs=1e-9 * factor)
            assert after.lower == pytest.approx(factor * before.lower, rel=1e-9, abs=ROUNDING_OF_ROOTS * factor)
            assert after.error == pytest.approx(factor * before.error, rel=1e-9)
            brackets = [prove(rdp, plan, rdp.own_tally(), 0.1) for rdp, plan in ((one, before), (two, after))]
            assert brackets[1] == pytest.approx([factor * v for v in brackets[0]], rel=1e-7, abs=1e-7 * factor)


@pytest.mark.parametrize("seed", [s for s in SEEDS if not s % 2])
@pytest.mark.parametrize("shift", [-10.0, 2.5, 1000.0])
def test_plan_on_values_shift_with_constant_added_to_rewards(seed: int, shift: float) -> None:
    """Holds for episodes of one length, without penalties: their unit is the range, which includes step 0's 0."""
    episodes = log(seed)
    rewards = sorted({r for episode in to_values(episodes) for _, _, r in episode})
    one = adact_h(repaid(episodes, {r: r for r in rewards}), Settings(delta=0.3)).rdp
    two = adact_h(repaid(episodes, {r: r + shift for r in rewards}), Settings(delta=0.3)).rdp
    assert two.layers.tolist() == one.layers.tolist()
    decisions = np.minimum(one.horizon, one.horizon + 1 - one.layer_of())  # remaining
    for how in (GREEDY, Planning(strength=0)):
        before, after = plan_on(one, how), plan_on(two, how)
        assert after.actions.tolist() == before.actions.tolist()
        assert after.values == pytest.approx(before.values + shift * decisions, rel=1e-9, abs=1e-9)


def test_plan_on_chooses_smallest_loss_with_negative_rewards() -> None:
    rdp = one_decision(a=[-3.0] * 300, b=[-1.0] * 300, c=[-2.0, -0.5] * 100)
    for how in (GREEDY, Planning(), Planning(strength=0.01, safe=False)):
        plan = plan_on(rdp, how)
        assert plan.actions[1] == 1 and plan.value == pytest.approx(-1.0)
        assert -1.2 < plan.lower[0] < -1.0 + 1e-12
    assert plan_on(rdp, Planning(strength=100)).value == pytest.approx(-(900 + 300 + 250) / 800)


def test_plan_on_has_zero_values_when_all_rewards_are_zero() -> None:
    for how in PLANNERS:
        plan = plan_on(one_decision(a=[0.0, 0.0], b=[0.0]), how)
        assert plan.values.tolist() == [0, 0, 0] and plan.lower.tolist() == [0, 0, 0] and plan.error == 0


# The standard error and the lower bound on real logs


@pytest.mark.parametrize("acts", [True, False], ids=["greedy", "behaving"])
def test_worth_standard_error_equals_scatter_of_estimates(acts: bool) -> None:
    """For one plan on the true automaton, over 300 logs: 15% is nearly four times the chance error of 300 logs."""
    domain, horizon = Corridor(enemy=F(7, 10)), 4
    right = minimal_rdp(domain.model(horizon), horizon).rdp()
    plan = plan_on(right, GREEDY if acts else Planning(strength=1e6))
    assert np.any(plan.actions != BEHAVE) == acts
    drawn = [domain.simulate(1000, horizon, np.random.default_rng(seed)) for seed in range(300)]
    found = [worth(right, plan, right.tally(episodes)) for episodes in drawn]
    scatter = np.std([estimate.value for estimate in found])
    assert math.sqrt(np.mean([estimate.error**2 for estimate in found])) == pytest.approx(scatter, rel=0.15)


# Two folds


def halves(seed: int, n: int = 6000) -> tuple[RDP, Tally, Tally]:
    domain = Corridor(enemy=F(7, 10))
    right = minimal_rdp(domain.model(), domain.default_horizon).rdp()
    drawn = (domain.simulate(n, domain.default_horizon, np.random.default_rng((seed, half))) for half in (0, 1))
    one, other = (right.tally(episodes) for episodes in drawn)
    return right, one, other


@pytest.mark.parametrize("seed", range(5))
def test_two_fold_draws_trimmed_number_of_visits(seed: int) -> None:
    for one, other in [halves(seed)[1:], halves(seed, 300)[1:], halves(seed)[:0:-1]]:
        drawn = two_fold(one, other, 0.05, np.random.default_rng(seed))
        sizes = oracle.trimmed_sizes(one.visits().tolist(), other.visits().tolist(), 0.05)
        assert drawn.visits().tolist() == sizes
        assert np.all((drawn.counts >= 0) & (drawn.counts <= one.counts))
        assert np.all((drawn.lost >= 0) & (drawn.lost <= one.lost))
        again = two_fold(one, other, 0.05, np.random.default_rng(seed))
        assert again.counts.tobytes() == drawn.counts.tobytes()


def test_two_fold_sizes_match_calculation_by_hand() -> None:
    """Three states, δ = 3/e⁴: 10,000 − 10 √(10,000 · 4) = 8,000; 400 − 10 √1,600 = 0; 100 gives 0."""
    delta = 3 / math.exp(4)
    nothing = np.zeros((3, 2), np.int64)
    spare = Tally(np.array([[6000], [400], [100]]), np.array([[0, 4000], [0, 0], [0, 0]]))
    plenty = Tally(np.array([[20_000], [400], [400]]), nothing)
    scarce = Tally(np.array([[700], [0], [0]]), np.array([[0, 50], [0, 0], [0, 0]]))
    rng = np.random.default_rng(0)
    assert two_fold(plenty, spare, delta * (1 + 1e-9), rng).visits().tolist() == [8000, 0, 0]
    drawn = two_fold(scarce, spare, delta, rng)
    assert drawn.counts.tolist() == scarce.counts.tolist() and drawn.lost.tolist() == scarce.lost.tolist()


def test_two_fold_draws_visits_uniformly() -> None:
    """Shares of letters among drawn visits equal those among all visits, within five sigma over 200 draws."""
    one = Tally(np.array([[6000, 1500]]), np.array([[0, 500]]))
    other = Tally(np.array([[3000, 0]]), np.array([[0, 0]]))
    rng, delta = np.random.default_rng(1), 0.05
    size = oracle.trimmed_sizes([8000], [3000], delta)[0]
    assert 1000 < size < 3000
    shares = np.mean([two_fold(one, other, delta, rng).counts[0] for _ in range(200)], axis=0) / size
    assert shares == pytest.approx([0.75, 1500 / 8000], abs=5 * math.sqrt(0.25 / (200 * size)))


# Proofs


@pytest.mark.parametrize("seed", SEEDS)
def test_prove_agrees_with_definition(seed: int) -> None:
    rdp = automaton(seed)
    process = oracle.Process.of(rdp)
    for how, delta in ((GREEDY, 0.05), (Planning(), 0.2), (Planning(strength=1e6), 0.05)):
        plan = plan_on(rdp, how)
        actions = {q: None if a == BEHAVE else a for q, a in enumerate(plan.actions.tolist())}
        found = prove(rdp, plan, rdp.own_tally(), delta)
        assert found == pytest.approx(oracle.proved(process, actions, delta), rel=ROUNDING, abs=ROUNDING_OF_ROOTS)


def test_prove_agrees_with_definition_for_many_episodes() -> None:
    """With 10⁷ episodes neither bound is trivial."""
    domain, horizon = TMaze(length=2), 4
    rdp = minimal_rdp(domain.model(horizon), horizon).rdp(10**7)
    plan = plan_on(rdp)
    actions = {q: None if a == BEHAVE else a for q, a in enumerate(plan.actions.tolist())}
    found = prove(rdp, plan, rdp.own_tally(), 0.05)
    assert found == pytest.approx(oracle.proved(oracle.Process.of(rdp), actions, 0.05), rel=ROUNDING, abs=1e-7)
    assert plan.value == pytest.approx(4)
    assert 3 < found.lower < plan.value < found.upper < 5


@pytest.mark.parametrize("domain", [Corridor(), Corridor(enemy=F(7, 10))], ids=["sure", "unsure"])
def test_prove_bounds_true_values_of_plan_and_optimum(domain: Corridor) -> None:
    """Holds in all of 15 logs: bounds with the theorem's constant are very conservative."""
    horizon, delta = 5, 0.05
    model = domain.model(horizon)
    minimal = minimal_rdp(model, horizon)
    right, best = minimal.rdp(), float(best_plan(minimal).value)
    for seed in range(15):
        episodes = domain.simulate(20_000, horizon, np.random.default_rng(seed))
        tally, rng = right.tally(episodes), np.random.default_rng(seed)
        parts = np.array_split(rng.permutation(episodes.n), 2)
        drawn = two_fold(*(right.tally(episodes.columns(part)) for part in parts), delta, rng)
        for counts, least, most in ((tally, 2.0, 4.8), (drawn, 0.5, 5.5)):
            plan = plan_on(right, None, counts)
            policy = Controller.on_automaton(right, model.alphabet, plan.actions)
            true = float(evaluate(model, policy, horizon).mean_return)
            bracket = prove(right, plan, counts, delta)
            assert bracket.lower <= true <= best <= bracket.upper
            assert bracket.lower > least
            assert bracket.upper < most or domain.enemy == 1


def test_prove_bracket_narrows_with_episodes_and_widens_with_confidence() -> None:
    domain = TMaze(length=2)
    minimal = minimal_rdp(domain.model(4), 4)
    brackets = []
    for n in (10**5, 10**6, 10**8):
        rdp = minimal.rdp(n)
        brackets.append(prove(rdp, plan_on(rdp, GREEDY), rdp.own_tally(), 0.05))
    assert brackets[0].lower < brackets[1].lower < brackets[2].lower < 4 < brackets[2].upper < brackets[1].upper
    rdp = minimal.rdp(10**6)
    surer = prove(rdp, plan_on(rdp, GREEDY), rdp.own_tally(), 1e-6)
    assert surer.lower < brackets[1].lower and brackets[1].upper < surer.upper


def test_prove_upper_bound_allows_any_value_for_untaken_actions() -> None:
    """The first state has an action that the second lacks: the second may have the largest possible value."""
    seen = [[(None, (i,), 0.0), ("a", (0,), 0.0), (b, None, r)] for i, b, r in ((0, "a", 0.0), (1, "b", 1.0))]
    rdp = adact_h(from_values(seen * 40_000)).rdp
    assert rdp.layers.tolist() == [1, 2, 2, 1]
    bracket = prove(rdp, plan_on(rdp, GREEDY), rdp.own_tally(), 0.05)
    assert bracket.upper == pytest.approx(2, abs=0.2)  # both decisions; step 0 has no choice


# Tallies


def literal_tally(rdp: RDP, episodes: Episodes) -> tuple[Counter[Any], Counter[Any]]:
    """Count by state and step, and unseen steps by state and action, following every episode by its values."""
    known = [(rdp.alphabet.action(a), rdp.alphabet.observation(o), rdp.alphabet.rewards[r]) for a, o, r in rdp.letters]
    arrows = {(q, rdp.symbol(y)): int(rdp.tau[q, y]) for q, y in np.argwhere(rdp.tau >= 0).tolist()}
    actions = {None, "pad", *rdp.alphabet.actions}
    counts: Counter[Any] = Counter()
    lost: Counter[Any] = Counter()
    weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    for steps, weight in zip(decode(episodes), weights, strict=True):
        state: int | None = 0
        for action, observation, reward in steps[: rdp.horizon + 1]:
            if state is None:
                break
            following = arrows.get((state, (action, observation)))
            if following is not None and (action, observation, reward) in known:
                counts[state, action, observation, reward] += weight
            elif action in actions:
                lost[state, action] += weight
            state = following
    return counts, lost


def by_values(rdp: RDP, tally: Tally) -> tuple[Counter[Any], Counter[Any]]:
    alphabet = rdp.alphabet
    letters = [(alphabet.action(a), alphabet.observation(o), alphabet.rewards[r]) for a, o, r in rdp.letters]
    counts = {(q, *letters[x]): int(tally.counts[q, x]) for q, x in np.argwhere(tally.counts).tolist()}
    return Counter(counts), Counter(
        {(q, alphabet.action(a)): int(tally.lost[q, a]) for q, a in np.argwhere(tally.lost)}
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_rdp_tally_of_training_episodes_equals_own_counts(seed: int) -> None:
    rdp = automaton(seed)
    for tally in (rdp.own_tally(), rdp.tally(log(seed))):
        assert tally.counts.tolist() == rdp.counts.tolist() and not tally.lost.any()
        assert tally.visits().tolist() == rdp.counts.sum(axis=1).tolist()
        assert tally.visits()[0] == log(seed).total
        for t, end in enumerate(np.cumsum(rdp.layers[:-1])):
            assert tally.visits()[end - rdp.layers[t] : end].sum() == log(seed).total


@pytest.mark.parametrize("seed", range(6))
def test_rdp_tally_separates_unseen_steps_of_other_episodes(seed: int) -> None:
    rdp = few(seed)
    other = random_episodes(np.random.default_rng(seed), 3, 3, 4, 3, 3, 200, early_end=0.3, weighted=True)
    counts, lost = literal_tally(rdp, other)
    assert by_values(rdp, rdp.tally(other)) == (counts, lost)
    assert counts and lost and "a2" not in {action for _, action in lost}  # unknown actions have no column
    renumbered = from_values(to_values(other.columns(np.arange(50))))  # another alphabet: other codes, same values
    assert by_values(rdp, rdp.tally(renumbered)) == literal_tally(rdp, renumbered)


def test_rdp_tally_counts_unseen_reward_as_lost_and_continues() -> None:
    rdp = adact_h(from_values([[START, ("a", (1,), 1.0), ("a", None, 0.0)]] * 3)).rdp
    other = from_values([[START, ("a", (1,), 7.0), ("a", None, 0.0)]] * 2)
    tally = rdp.tally(other)
    assert tally.visits().tolist() == [2, 2, 2, 0]
    assert tally.lost.sum(axis=1).tolist() == [0, 2, 0, 0]


@pytest.mark.parametrize("horizon", [2, 4])
def test_rdp_tally_counts_episodes_of_other_lengths_up_to_horizon(horizon: int) -> None:
    rdp = few(0)
    other = random_episodes(np.random.default_rng(0), horizon, 2, 4, 3, 3, 200)
    assert by_values(rdp, rdp.tally(other)) == literal_tally(rdp, other)


# Refused settings


@pytest.mark.parametrize("strength", [-0.1, math.nan, math.inf, -math.inf])
def test_planning_refuses_invalid_strength(strength: float) -> None:
    with pytest.raises(SufficeError, match=r"^strength=\S+ is not a number of at least 0\. Try 0\.01\.$") as caught:
        Planning(strength=strength)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.5, 2.0, math.nan])
def test_planning_refuses_invalid_delta(delta: float) -> None:
    with pytest.raises(SufficeError, match=r"^delta=\S+ is not a probability between 0 and 1\. Try 0\.05\.$"):
        Planning(delta=delta)


def test_planning_refuses_the_name_of_a_planner_as_strength() -> None:
    with pytest.raises(SufficeError, match=r"^strength='greedy' is not a number\..* pass planning='greedy'\.$"):
        Planning("greedy")  # type: ignore[arg-type]
    with pytest.raises(SufficeError, match=r"^strength='gredy' is not a number\..* pass planning='safe'\.$"):
        Planning("gredy")  # type: ignore[arg-type]


def test_planning_name_follows_from_its_settings() -> None:
    names = [p.name for p in (Planning(), GREEDY, Planning(safe=False), Planning(subsample=True))]
    assert names == ["safe", "greedy", "pessimistic", "subsampled"]
