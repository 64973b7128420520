"""Off-policy evaluation: against loops over episodes, against exact values over many logs, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from oracle.offpolicy import HeldOut
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.exact.values import evaluate
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.evidence.estimates import Estimate
from suffice.learning.adact_h import Settings, adact_h
from suffice.planning.controller import Controller
from suffice.planning.off_policy import OffPolicyEvaluation, RareAction, evaluate_off_policy
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, Planning, plan_on
from suffice.planning.regorl import regorl
from support.samples import from_values, to_values

F = Fraction

ESTIMATES = ("log", "model_based", "importance", "doubly_robust")
OFF_POLICY = ("importance", "doubly_robust")
PLANNERS = (GREEDY, Planning(), Planning(strength=1e6))
SEEDS = range(8)


# Against loops over episodes


@cache
def divided(seed: int) -> tuple[RDP, Episodes]:
    """An automaton of few episodes and many others, of which some get lost: with early ends, weights, and losses."""
    rng = np.random.default_rng(100 + seed)
    whole = random_episodes(rng, 3, 2, 4, 3, 3, 260, early_end=0.4 * (seed % 2), weighted=seed % 3 == 0)
    if seed % 4 > 1:
        pay = {0.0: -1.5, 1.0: 0.25, 2.0: 2 / 3}
        steps = [[(a, o, r if a in (None, "pad") else pay[r]) for a, o, r in episode] for episode in to_values(whole)]
        whole = replace(from_values(steps), weight=whole.weight)
    rdp = adact_h(whole.columns(np.arange(60)), Settings(delta=0.5)).rdp
    return rdp, whole.columns(np.arange(60, whole.n))


def chances_of(episodes: Episodes, seed: int) -> np.ndarray:
    """Some propensities; 1 where there was no choice."""
    drawn = np.random.default_rng(seed).uniform(0.1, 1, size=episodes.word.shape)
    decides = episodes.letters[episodes.word, 0] > PAD
    return np.where(decides, drawn, 1.0)


def by_loops(rdp: RDP, plan: Plan, episodes: Episodes, propensity: np.ndarray | None, name: str) -> Estimate:
    """The mean of what the oracle says of each episode, those of weight w counted w times.

    As if one more of the episodes that count had been half the range away; where fewer than ten count, nobody knows
    how far off it is.
    """
    oracle = HeldOut(rdp, plan)
    of_each = [None] * episodes.n if propensity is None else propensity.T.tolist()
    repeats = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    steps = [pair for *pair, k in zip(to_values(episodes), of_each, repeats, strict=True) for _ in range(k)]
    mean = Estimate.mean(np.array([getattr(oracle, name)(*pair) for pair in steps]))
    effective = count([oracle.weight(*pair) for pair in steps])
    returns = [sum(r for _, _, r in episode) for episode, _ in steps]
    aside = (max(returns) - min(returns)) / 2 / (effective + 1)
    return Estimate(mean.value, math.inf if effective < 10 else math.hypot(mean.error, aside))


def count(weights: list[float]) -> float:
    """How many equally weighted episodes would count as much."""
    return sum(weights) ** 2 / sum(w**2 for w in weights) if any(weights) else 0.0


@pytest.mark.parametrize("logged", [False, True], ids=["estimated", "logged"])
@pytest.mark.parametrize("seed", SEEDS)
def test_estimates_are_those_of_the_definition(seed: int, logged: bool) -> None:
    rdp, rest = divided(seed)
    propensity = chances_of(rest, seed) if logged else None
    other = plan_on(rdp, GREEDY, rdp.tally(rest))  # as with --split: not all that it does was learned from
    for plan in (other, *(plan_on(rdp, how) for how in PLANNERS)):
        found = evaluate_off_policy(rdp, plan, rest, propensity)
        for name in OFF_POLICY:
            right = by_loops(rdp, plan, rest, propensity, name)
            assert getattr(found, name) == pytest.approx(right, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_log_with_other_codes_is_read_by_its_words(seed: int) -> None:
    """Few episodes have a smaller alphabet, so that the same words have other codes."""
    rdp, rest = divided(seed)
    few = from_values(to_values(rest.columns(np.arange(40))))
    assert few.alphabet != rdp.alphabet or len(few.letters) != len(rdp.letters)
    plan = plan_on(rdp)
    for name in OFF_POLICY:
        right = by_loops(rdp, plan, few, None, name)
        assert getattr(evaluate_off_policy(rdp, plan, few), name) == pytest.approx(right, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_counts_is_that_of_the_definition(seed: int) -> None:
    """The effective number of episodes, the matched ones, and the log's own return."""
    rdp, rest = divided(seed)
    repeats = np.ones(rest.n, int) if rest.weight is None else rest.weight
    steps = [s for s, k in zip(to_values(rest), repeats, strict=True) for _ in range(k)]
    for how in PLANNERS:
        plan = plan_on(rdp, how)
        oracle, found = HeldOut(rdp, plan), evaluate_off_policy(rdp, plan, rest)
        weights = [oracle.weight(s) for s in steps]
        assert found.effective == pytest.approx(count(weights))
        assert found.matched == pytest.approx(sum(w > 0 for w in weights) / len(weights))
        assert found.log == pytest.approx(Estimate.mean(np.array([sum(r for _, _, r in s) for s in steps])))
        assert found.episodes == len(steps)


def test_these_logs_get_lost_and_the_plans_differ_from_the_log() -> None:
    """Or else agreement would say little."""
    lost = 0
    for rdp, rest in map(divided, SEEDS):
        oracle = HeldOut(rdp, plan_on(rdp))
        lost += sum(oracle.lost(steps)[0] for steps in to_values(rest))
    assert lost > 10
    acting = [np.count_nonzero(plan_on(divided(seed)[0], how).actions != BEHAVE) for seed in SEEDS for how in PLANNERS]
    assert min(acting[2::3]) == max(acting[2::3]) == 0 and min(acting[0::3]) > 5 and sum(acting[1::3]) > 30
    unheard_of = 0
    for rdp, rest in map(divided, SEEDS):
        planned = plan_on(rdp, GREEDY, rdp.tally(rest)).actions
        taken = [{int(a) for a in rdp.letters[row > 0, 0]} for row in rdp.counts]
        unheard_of += sum(action != BEHAVE and action + PAD + 1 not in taken[q] for q, action in enumerate(planned))
    assert unheard_of > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_who_behaves_as_the_log_did_is_worth_what_it_brought(seed: int) -> None:
    """By the episodes that were learned from: all weights are 1, and corrections cancel."""
    rng = np.random.default_rng(seed)
    episodes = random_episodes(rng, 3, 2, 4, 3, 3, 150, early_end=0.3, weighted=seed % 2 == 0)
    rdp = adact_h(episodes, Settings(delta=0.5)).rdp
    found = evaluate_off_policy(rdp, plan_on(rdp, Planning(strength=1e6)), episodes)
    assert found.importance.value == pytest.approx(found.log.value, rel=1e-12)
    assert found.doubly_robust.value == pytest.approx(found.log.value)
    assert found.model_based.value == pytest.approx(found.log.value)
    assert found.effective == pytest.approx(episodes.total) and (found.matched, found.unseen) == (1, 0)


# Weights


@pytest.mark.parametrize("logged", [False, True], ids=["estimated", "logged"])
@pytest.mark.parametrize("seed", [s for s in SEEDS if s % 3 == 0])
def test_a_weight_is_so_many_episodes(seed: int, logged: bool) -> None:
    one, many = in_both_ways(seed, logged)
    for name in ESTIMATES:
        assert getattr(one, name) == pytest.approx(getattr(many, name), rel=1e-12)
    assert one.effective == pytest.approx(many.effective) and one.matched == pytest.approx(many.matched)
    assert (one.rare, one.gaps, one.episodes) == (many.rare, many.gaps, many.episodes)


def in_both_ways(seed: int, logged: bool = False) -> tuple[OffPolicyEvaluation, OffPolicyEvaluation]:
    """By weights, and with every episode repeated."""
    rdp, rest = divided(seed)
    assert rest.weight is not None and rest.weight.max() > 1
    which = np.repeat(np.arange(rest.n), rest.weight)
    repeated = replace(rest.columns(which), weight=None)
    propensity = chances_of(rest, seed) if logged else None
    plan = plan_on(rdp)
    return (
        evaluate_off_policy(rdp, plan, rest, propensity),
        evaluate_off_policy(rdp, plan, repeated, None if propensity is None else propensity[:, which]),
    )


def test_a_weight_is_so_many_unseen_decisions() -> None:
    found = [in_both_ways(seed) for seed in SEEDS if seed % 3 == 0]
    assert [one.unseen for one, _ in found] == pytest.approx([many.unseen for _, many in found], rel=1e-12)
    assert max(one.unseen for one, _ in found) > 0


# Unseen


def literally_unseen(rdp: RDP, episodes: Episodes) -> float:
    lost = decisions = 0
    for steps in to_values(episodes):
        symbols = tuple((a, o) for a, o, _ in steps)
        for t in range(1, len(symbols)):
            if symbols[t][0] != "pad":
                decisions += 1
                lost += rdp.run(symbols[:t]) == UNSEEN
    return lost / decisions


@pytest.mark.parametrize("seed", [s for s in SEEDS if s % 3])
def test_decisions_after_a_history_that_was_not_learned_from_are_unseen(seed: int) -> None:
    """Also where memory goes on in the state most like it."""
    rdp, rest = divided(seed)
    oracle = HeldOut(rdp, plan_on(rdp))
    found, lost = evaluate_off_policy(rdp, plan_on(rdp), rest).unseen, [oracle.lost(steps) for steps in to_values(rest)]
    assert found == pytest.approx(literally_unseen(rdp, rest), rel=1e-12)
    assert found > sum(n for n, _ in lost) / sum(of for _, of in lost)


# Over many logs

REPEATS = 300


@cache
def solved(domain: Domain, horizon: int, episodes: int) -> tuple[RDP, Plan, float]:
    """An automaton and a plan from a log of their own, and what the plan is worth in truth."""
    model = domain.model(horizon)
    solution = regorl(domain.simulate(episodes, horizon, np.random.default_rng(10**6)))
    rdp, plan = solution.learned.rdp, solution.plan
    policy = Controller.on_automaton(rdp, model.alphabet, plan.actions)
    return rdp, plan, float(evaluate(model, policy, horizon).mean_return)


@cache
def judged(domain: Domain, horizon: int, learned_from: int, n: int) -> list[OffPolicyEvaluation]:
    """By many logs of the uniform policy, whose probabilities are known."""
    rdp, plan, _ = solved(domain, horizon, learned_from)
    chance = 1 / len(domain.all_actions)
    found = []
    for seed in range(REPEATS):
        episodes = domain.simulate(n, horizon, np.random.default_rng(seed))
        found.append(evaluate_off_policy(rdp, plan, episodes, np.full(episodes.word.shape, chance)))
    return found


def off_by(many: list[OffPolicyEvaluation], name: str, right: float) -> np.ndarray:
    return np.array([getattr(one, name).value - right for one in many])


def covered(many: list[OffPolicyEvaluation], name: str, right: float) -> float:
    intervals = [getattr(one, name).interval() for one in many]
    return float(np.mean([low <= right <= high for low, high in intervals]))


CORRIDOR = Corridor(enemy=F(7, 10)), 5, 2000
MAZE = Cheese(), 3, 5000
FOUR_SIGMA = 4 * (0.95 * 0.05 / REPEATS) ** 0.5  # 0.050: what chance makes of a coverage of 95 % in so many repeats


@pytest.mark.parametrize(("case", "n"), [(CORRIDOR, 1000), (MAZE, 1000)], ids=["corridor", "cheese"])
@pytest.mark.parametrize("name", OFF_POLICY)
def test_with_known_chances_estimates_are_right_on_average(case: Any, n: int, name: str) -> None:
    """Whatever the automaton: within four standard errors of the mean of all repeats."""
    off = off_by(judged(*case, n), name, solved(*case)[2])
    assert abs(off.mean()) < 4 * off.std() / REPEATS**0.5


@pytest.mark.parametrize("name", OFF_POLICY)
def test_intervals_hold_the_truth_as_often_as_they_say(name: str) -> None:
    """In 95 % of the repeats, up to four standard errors of such a share: 90 to 100 %."""
    assert covered(judged(*CORRIDOR, 1000), name, solved(*CORRIDOR)[2]) == pytest.approx(0.95, abs=FOUR_SIGMA)


@pytest.mark.parametrize("case", [CORRIDOR, MAZE], ids=["corridor", "cheese"])
def test_the_automaton_helps_importance_sampling(case: Any) -> None:
    many, right = judged(*case, 1000), solved(*case)[2]
    sampled, robust = (np.sqrt(np.mean(off_by(many, name, right) ** 2)) for name in OFF_POLICY)
    assert robust < 0.7 * sampled


def test_a_right_automaton_needs_no_importance_sampling() -> None:
    """Model-based, it is unbiased, its intervals hold the truth, and it is nearer than the others."""
    many, right = judged(*CORRIDOR, 1000), solved(*CORRIDOR)[2]
    off = off_by(many, "model_based", right)
    assert abs(off.mean()) < 4 * off.std() / REPEATS**0.5
    assert covered(many, "model_based", right) == pytest.approx(0.95, abs=FOUR_SIGMA)
    assert np.sqrt(np.mean(off**2)) < 0.7 * np.sqrt(np.mean(off_by(many, "doubly_robust", right) ** 2))


def test_a_wrong_automaton_misleads_only_who_believes_it() -> None:
    """Five thousand episodes are too few for the maze: model-based estimates are off by ten standard errors and more,
    doubly robust ones are not (see above).
    """
    many, right = judged(*MAZE, 1000), solved(*MAZE)[2]
    off = off_by(many, "model_based", right)
    assert off.mean() > 10 * off.std() / REPEATS**0.5
    assert covered(many, "model_based", right) < 0.9


def test_no_episode_that_matches_is_no_evidence() -> None:
    """10,000 episodes are too few for this T-maze: the automaton promises 2.5, in truth it is 1.5. Of 200 other
    episodes none does what the policy would do; whatever is said about it then, not that it is certain.
    """
    domain, horizon = TMaze(), 5
    solution = regorl(domain.simulate(10_000, horizon, np.random.default_rng(1)))
    rdp, plan = solution.learned.rdp, solution.plan
    model = domain.model(horizon)
    policy = Controller.on_automaton(rdp, model.alphabet, plan.actions)
    right = float(evaluate(model, policy, horizon).mean_return)
    found = evaluate_off_policy(rdp, plan, domain.simulate(200, horizon, np.random.default_rng(2)))
    assert found.matched == found.effective == 0 and abs(plan.value - right) > 0.5
    for name in OFF_POLICY:
        low, high = getattr(found, name).interval()
        assert low <= right <= high


# The column of a log


def skewed(n: int, seed: int) -> tuple[Episodes, np.ndarray]:
    """One decision after an observation 0: the automaton sees no more, but the logger knew which of two cases it was,
    and took the right action nine times in ten.
    """
    rng = np.random.default_rng(seed)
    case = rng.integers(2, size=n)
    right = rng.random(n) < 0.9
    action = np.where(right, case, 1 - case)
    steps = [[(None, (0,), 0.0), (int(a), None, float(a == c))] for a, c in zip(action, case, strict=True)]
    propensity = np.ones((2, n))
    propensity[1] = np.where(right, 0.9, 0.1)
    return from_values(steps), propensity


def test_logged_probabilities_are_used() -> None:
    """In the automaton each action is taken half of the time and brings 0.9: so it would estimate. In truth 0.5."""
    rdp = adact_h(skewed(2000, 0)[0]).rdp
    plan = plan_on(rdp, GREEDY)
    assert rdp.layers.tolist() == [1, 1, 1] and plan.value == pytest.approx(0.9, abs=0.02)
    episodes, propensity = skewed(4000, 1)
    for name in OFF_POLICY:
        with_column, without = (getattr(evaluate_off_policy(rdp, plan, episodes, p), name) for p in (propensity, None))
        assert with_column.interval()[0] < 0.5 < with_column.interval()[1] and with_column.error < 0.05
        assert without.value == pytest.approx(0.9, abs=0.05)


def test_the_probabilities_of_step_0_and_of_other_actions_do_not_matter() -> None:
    rdp, rest = divided(1)
    plan, propensity = plan_on(rdp), chances_of(rest, 1)
    odd = propensity.copy()
    odd[0] = 0.123
    decides = rest.letters[rest.word, 0] > PAD
    odd[1:][~decides[1:]] = 0.456
    assert (propensity != odd).sum() > rest.n
    assert evaluate_off_policy(rdp, plan, rest, odd) == evaluate_off_policy(rdp, plan, rest, propensity)


# By hand


def one_decision(*steps: tuple[int, str, float]) -> Episodes:
    return from_values([[(None, (o,), 0.0), (a, None, r)] for o, a, r in steps])


LEARNED = [(0, "a", 1.0)] * 20 + [(0, "b", 0.0)] * 20 + [(1, "a", 0.0)] * 12 + [(1, "b", 5.0)] * 3


@pytest.fixture
def small() -> tuple[RDP, Plan]:
    """Two states: a is right in the first and b in the second, which the log took three times only."""
    rdp = adact_h(one_decision(*LEARNED)).rdp
    plan = plan_on(rdp, GREEDY)
    assert rdp.layers.tolist() == [1, 2, 1] and plan.actions.tolist() == [BEHAVE, 0, 1, BEHAVE]
    return rdp, plan


def test_a_judgement_by_hand(small: tuple[RDP, Plan]) -> None:
    """Weights are 2, 0, 5 and 0, ten times each; the automaton's values 1 and 5 are what the log brings, so nothing is
    corrected. Returns are from 0 to 5: one more episode would be 5/2 away.
    """
    found = evaluate_off_policy(
        *small, one_decision(*[(0, "a", 1.0), (0, "b", 0.0), (1, "b", 5.0), (1, "a", 0.0)] * 10)
    )
    effective = 10 * 7**2 / (2**2 + 5**2)
    assert found.effective == pytest.approx(effective) and found.matched == 0.5
    for name, each in (("importance", [2.0, 0, 25, 0]), ("doubly_robust", [1.0, 1, 5, 5])):
        mean = Estimate.mean(np.array(each * 10))
        error = math.hypot(mean.error, 5 / 2 / (effective + 1))
        assert getattr(found, name) == pytest.approx((mean.value, error))
    assert found.model_based.value == 3.0 and found.log.value == 1.5
    assert (found.unseen, found.episodes) == (0, 40)


def test_a_correction_by_hand(small: tuple[RDP, Plan]) -> None:
    """In the second state b brings 5 no longer, but 0 and 1."""
    found = evaluate_off_policy(*small, one_decision((1, "b", 0.0), (1, "b", 1.0), (1, "a", 0.0)))
    assert found.doubly_robust.value == pytest.approx(np.mean([5 + 5 * (0 - 5.0), 5 + 5 * (1 - 5.0), 5]))


def test_fewer_than_ten_episodes_that_count_say_nothing(small: tuple[RDP, Plan]) -> None:
    for times, known in ((9, False), (10, True)):
        found = evaluate_off_policy(*small, one_decision(*[(0, "a", 1.0), (0, "b", 0.0)] * times))
        assert found.effective == pytest.approx(times)
        for name in OFF_POLICY:
            assert math.isfinite(getattr(found, name).error) is known
            assert getattr(found, name).value == 1.0 and getattr(found, name).interval()[0] < 1


def test_gaps_by_hand(small: tuple[RDP, Plan]) -> None:
    """The second state is that of 15 in 55 episodes, and its action was logged three times."""
    found = evaluate_off_policy(*small, one_decision((0, "a", 1.0)))
    assert found.gaps == (RareAction(state=2, action=1, visits=3, share=pytest.approx(15 / 55)),)
    assert found.rare == pytest.approx(15 / 55)


def test_ten_examples_are_no_gap() -> None:
    for times, gaps in ((9, 1), (10, 0)):
        rdp = adact_h(one_decision(*[(0, "a", 1.0)] * times, *[(0, "b", 0.0)] * 30)).rdp
        found = evaluate_off_policy(rdp, plan_on(rdp, GREEDY), one_decision((0, "a", 1.0)))
        assert len(found.gaps) == gaps and found.rare == gaps
        behaves = evaluate_off_policy(rdp, plan_on(rdp, Planning(strength=1e6)), one_decision((0, "a", 1.0)))
        assert behaves.gaps == () and behaves.rare == 0


def test_five_gaps_are_named_the_most_frequent_first() -> None:
    """Seven states that b tells apart; a is best in each, and was taken once."""
    often = {k: 31 + 10 * k for k in range(7)}
    steps = [(k, "a", 9.0) for k in often] + [(k, "b", float(k)) for k, n in often.items() for _ in range(n - 1)]
    rdp = adact_h(one_decision(*steps)).rdp
    assert rdp.layers.tolist() == [1, 7, 1]
    found = evaluate_off_policy(rdp, plan_on(rdp, GREEDY), one_decision((0, "a", 9.0)))
    total = sum(often.values())
    assert [gap.share for gap in found.gaps] == pytest.approx([often[k] / total for k in (6, 5, 4, 3, 2)])
    assert {(gap.action, gap.visits) for gap in found.gaps} == {(0, 1)} and found.rare == pytest.approx(1)


def test_nothing_that_matches_counts_as_no_episode(small: tuple[RDP, Plan]) -> None:
    found = evaluate_off_policy(*small, one_decision((0, "b", 0.0), (1, "a", 0.0)))
    assert (found.effective, found.matched, found.importance.value) == (0, 0, 0)


# Early ends and other lengths

BEGIN, END = (None, (0,), 0.0), ("pad", None, 0.0)
STOP, ON = ("stop", None, -1.0), ("on", (1,), -0.25)


def ends_early() -> tuple[RDP, Plan]:
    """`stop` pays −1 and ends the episode, `on` pays −0.25 and shows another observation; three decisions at most."""
    last = ("on", None, -0.25)
    logs = [[BEGIN, STOP, END, END], [BEGIN, ON, STOP, END], [BEGIN, ON, ON, STOP], [BEGIN, ON, ON, last]]
    rdp = adact_h(from_values(logs * 40)).rdp
    return rdp, plan_on(rdp, GREEDY)


def short_and_padded() -> tuple[Episodes, Episodes]:
    """Episodes that all end after two decisions, as a log of horizon 2 and of horizon 3."""
    steps = [[BEGIN, STOP, END]] * 3 + [[BEGIN, ON, STOP]] * 5
    return from_values(steps), from_values([[*episode, END] for episode in steps])


def test_after_an_early_end_nothing_is_corrected() -> None:
    rdp, plan = ends_early()
    for episodes in short_and_padded():
        found = evaluate_off_policy(rdp, plan, episodes)
        for name in OFF_POLICY:
            assert getattr(found, name) == pytest.approx(by_loops(rdp, plan, episodes, None, name))
        assert found.log.value == pytest.approx(-(3 * 1 + 5 * 1.25) / 8)


def test_also_where_the_automaton_takes_the_end_for_a_place_to_act() -> None:
    """One state in each layer, for too few episodes: what comes after the end is not the state's to correct."""
    logs = [[BEGIN, STOP, END, END], [BEGIN, ON, STOP, END], [BEGIN, ON, ON, STOP]]
    rdp = adact_h(from_values(logs), Settings(delta=1e-9)).rdp
    assert rdp.layers.tolist() == [1, 1, 1, 1, 1]
    episodes = from_values(logs * 2)
    for how in (GREEDY, Planning(strength=1e6)):
        plan = plan_on(rdp, how)
        for name in OFF_POLICY:
            assert getattr(evaluate_off_policy(rdp, plan, episodes), name) == pytest.approx(
                by_loops(rdp, plan, episodes, None, name)
            )


def test_where_nobody_ever_acted_any_action_is_as_good() -> None:
    """All episodes that were learned from ended at once; the others go on, lost, and choose evenly."""
    rdp = adact_h(from_values([[BEGIN, STOP, END, END], [BEGIN, ("on", None, -0.25), END, END]] * 9)).rdp
    episodes = from_values([[BEGIN, ON, ON, STOP], [BEGIN, ON, STOP, END]])
    propensity = chances_of(episodes, 0)
    for plan in (plan_on(rdp, GREEDY), plan_on(rdp, Planning(strength=1e6))):
        for name in OFF_POLICY:
            right = by_loops(rdp, plan, episodes, propensity, name)
            assert getattr(evaluate_off_policy(rdp, plan, episodes, propensity), name) == pytest.approx(right)


@pytest.mark.parametrize("name", ["log", "importance", "doubly_robust"])
def test_a_log_of_short_episodes_counts_as_one_that_is_padded(name: str) -> None:
    rdp, plan = ends_early()
    short, padded = (evaluate_off_policy(rdp, plan, episodes) for episodes in short_and_padded())
    assert getattr(short, name) == pytest.approx(getattr(padded, name))
    assert (short.matched, short.unseen) == (padded.matched, padded.unseen)


def test_model_based_a_log_of_short_episodes_counts_as_one_that_is_padded() -> None:
    """To stop at once is worth −1, and nothing after that: also where no padding says so."""
    rdp, plan = ends_early()
    stop = rdp.alphabet.actions.index("stop")
    at_once = replace(plan, actions=np.where(plan.actions == BEHAVE, BEHAVE, stop))
    for chosen in (plan, at_once, plan_on(rdp, Planning(strength=1e6))):
        short, padded = (evaluate_off_policy(rdp, chosen, episodes).model_based for episodes in short_and_padded())
        assert short == pytest.approx(padded)
    assert evaluate_off_policy(rdp, at_once, short_and_padded()[0]).model_based.value == pytest.approx(-1)


def test_model_based_behaving_is_to_choose_as_the_log_that_was_learned_from() -> None:
    """Which took a half of the time; that the other log takes it more often does not make the policy better."""
    rdp = adact_h(one_decision(*[(0, "a", 1.0)] * 20, *[(0, "b", 0.0)] * 20)).rdp
    found = evaluate_off_policy(
        rdp, plan_on(rdp, Planning(strength=1e6)), one_decision(*[(0, "a", 1.0)] * 30, (0, "b", 0.0))
    )
    assert found.model_based.value == pytest.approx(0.5) and found.log.value == pytest.approx(30 / 31)


# What is refused


def refused(rdp: RDP, plan: Plan, episodes: Episodes) -> str:
    with pytest.raises(SufficeError) as caught:
        evaluate_off_policy(rdp, plan, episodes)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("reward", [5.5, -0.5])
def test_rewards_that_the_model_never_saw_are_refused(small: tuple[RDP, Plan], reward: float) -> None:
    said = refused(*small, one_decision((0, "a", 1.0), (1, "b", reward)))
    assert said.startswith(f"the log has reward {reward:g}, the model saw only 0 to 5: is it a log of the same process")


def test_rewards_between_those_the_model_saw_are_fine(small: tuple[RDP, Plan]) -> None:
    found = evaluate_off_policy(*small, one_decision((0, "a", 2.5), (1, "b", 5.0)))
    assert found.log.value == 3.75


def test_actions_that_the_model_does_not_know_are_refused(small: tuple[RDP, Plan]) -> None:
    said = refused(*small, one_decision((0, "a", 1.0), (1, "c", 0.0)))
    assert said == "the log's actions are a, c, of which the model does not know 'c'; it knows a, b"


def test_observations_that_the_model_does_not_have_are_refused(small: tuple[RDP, Plan]) -> None:
    two = from_values([[(None, (0, 1), 0.0), ("a", None, 1.0)]])
    assert (
        refused(*small, two) == "the log's observations are f0, f1, the model's f0; say --observations, or rename them"
    )


def test_longer_episodes_than_the_model_plans_are_refused(small: tuple[RDP, Plan]) -> None:
    longer = from_values([[(None, (0,), 0.0), ("a", (1,), 1.0), ("b", None, 5.0)]])
    assert refused(*small, longer) == (
        "the log's episodes have up to 2 decisions, the model plans 1; cut them with --horizon 1"
    )


def test_model_based_what_was_not_held_out_is_taken_from_what_was_learned() -> None:
    """None of 200 held-out episodes of the T-maze turns as the policy does; the log that was learned from knows."""
    domain, horizon = TMaze(), 5
    solution = regorl(domain.simulate(100_000, horizon, np.random.default_rng(1)))
    found = evaluate_off_policy(
        solution.learned.rdp, solution.plan, domain.simulate(200, horizon, np.random.default_rng(2))
    )
    assert found.model_based.value == pytest.approx(4)
