"""`evaluate_off_policy` agrees with loops over episodes and with calculations by hand; refused logs."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from oracle import random_episodes
from oracle.held_out_value import LiteralPlan
from oracle.offpolicy import HeldOut, Sample
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError, naming_options
from suffice.evidence.estimates import Estimate
from suffice.learning.adact_h import Settings, adact_h
from suffice.planning.held_out_value import HeldOutPlan
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
    """Return an automaton learned from few episodes and other episodes, some of which leave it.

    Some logs have early ends, weights, and negative rewards.
    """
    rng = np.random.default_rng(100 + seed)
    whole = random_episodes(rng, 3, 2, 4, 3, 3, 260, early_end=0.4 * (seed % 2), weighted=seed % 3 == 0)
    if seed % 4 > 1:
        pay = {0.0: -1.5, 1.0: 0.25, 2.0: 2 / 3}
        steps = [[(a, o, r if a in (None, "pad") else pay[r]) for a, o, r in episode] for episode in to_values(whole)]
        whole = replace(from_values(steps), weight=whole.weight)
    rdp = adact_h(whole.columns(np.arange(60)), Settings(delta=0.5)).rdp
    return rdp, whole.columns(np.arange(60, whole.n))


def chances_of(episodes: Episodes, seed: int) -> np.ndarray:
    """Draw some propensities; 1 where there was no choice."""
    drawn = np.random.default_rng(seed).uniform(0.1, 1, size=episodes.word.shape)
    decides = episodes.letters[episodes.word, 0] > PAD
    return np.where(decides, drawn, 1.0)


def sample_of(rdp: RDP, plan: Plan, episodes: Episodes, propensity: np.ndarray | None = None) -> Sample:
    """Return the oracle for episodes, those of weight w repeated w times."""
    repeats = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    which = [i for i, k in enumerate(repeats) for _ in range(k)]
    steps = to_values(episodes)
    chances = None if propensity is None else propensity.T.tolist()
    return Sample(HeldOut(rdp, plan), [steps[i] for i in which], chances and [chances[i] for i in which])


def assert_as_defined(rdp: RDP, plan: Plan, episodes: Episodes, propensity: np.ndarray | None = None) -> None:
    """Compare both estimators with loops over episodes; estimates are limited to the possible returns, or unknown."""
    found, oracle = evaluate_off_policy(rdp, plan, episodes, propensity), sample_of(rdp, plan, episodes, propensity)
    low, high = (sum(ends) for ends in zip(*oracle.ranges, strict=True))
    assert found.possible == pytest.approx((low, high), abs=1e-9)
    fewest = min(oracle.effective(t) for t in oracle.decisions)
    by_nodes = literal_intervals(rdp, plan, episodes, propensity, oracle)
    for name in ("model_based", *OFF_POLICY):
        value, error = oracle.importance() if name == "importance" else by_nodes[name]
        right = Estimate(value, error).within(found.possible)
        wide = 2 * 1.959963984540054 * error > 0.75 * (high - low)
        few = name == "importance" and fewest < 10
        if not (few or wide):
            assert getattr(found, name) == pytest.approx(right, rel=1e-9, abs=1e-9)
            assert name not in found.unknown
        else:
            assert math.isnan(getattr(found, name).value) and getattr(found, name).interval() == found.possible
            assert found.unknown[name] == ("wide_interval" if not few else reason(oracle))


def literal_intervals(
    rdp: RDP, plan: Plan, episodes: Episodes, propensity: np.ndarray | None, oracle: Sample
) -> dict[str, tuple[float, float]]:
    """Return value and error of the estimates on nodes: their intervals contain those of all refinements."""
    spans = [high - low for low, high in oracle.ranges[1:]]
    walked = HeldOutPlan(rdp, plan, episodes, np.array(spans), propensity=propensity)
    tests = [walked.fit(name) for name in ("edge", "two edges", "first observation")]
    misfit = any(excess >= 3 * math.sqrt(variance) > 0 for excess, variance in tests)
    literal = LiteralPlan(rdp, plan, episodes, spans, mu=propensity)
    found = {}
    for refinement in (None, "edge", "two edges", "first observation", *(["history"] if misfit else [])):
        value, influence, rare = literal.estimate(refinement)
        squares = sum(w * x**2 for w, x in zip(literal.weight, influence, strict=True))
        found[refinement] = value, math.sqrt(squares + rare)
    z = 1.959963984540054

    def of(name: str | None) -> tuple[float, float]:
        return found[name][0], max(abs(value - found[name][0]) + z * error for value, error in found.values()) / z

    return {"model_based": of(None), "doubly_robust": of("edge")}


def reason(oracle: Sample) -> str:
    matched = any(oracle.weight(i, oracle.decisions[-1]) for i in range(len(oracle.episodes)))
    return "few_effective_episodes" if matched else "no_match"


@pytest.mark.parametrize("logged", [False, True], ids=["estimated", "logged"])
@pytest.mark.parametrize("seed", SEEDS)
def test_evaluate_off_policy_agrees_with_definition(seed: int, logged: bool) -> None:
    rdp, rest = divided(seed)
    propensity = chances_of(rest, seed) if logged else None
    other = plan_on(rdp, GREEDY, rdp.tally(rest))  # as with --split: some actions are not in the training episodes
    for plan in (other, plan_on(rdp, PLANNERS[seed % 3])):
        assert_as_defined(rdp, plan, rest, propensity)


@pytest.mark.parametrize("seed", SEEDS)
def test_evaluate_off_policy_accepts_log_with_other_codes(seed: int) -> None:
    """Few episodes have a smaller alphabet, in which the same values have other codes."""
    rdp, rest = divided(seed)
    few = from_values(to_values(rest.columns(np.arange(40))))
    assert few.alphabet != rdp.alphabet or len(few.letters) != len(rdp.letters)
    assert_as_defined(rdp, plan_on(rdp), few)


@pytest.mark.parametrize("seed", SEEDS)
def test_evaluate_off_policy_coverage_agrees_with_definition(seed: int) -> None:
    """Checks the effective number of episodes, the matched ones, and the log's own return."""
    rdp, rest = divided(seed)
    for how in PLANNERS:
        plan = plan_on(rdp, how)
        oracle, found = sample_of(rdp, plan, rest), evaluate_off_policy(rdp, plan, rest)
        weights = [oracle.weight(i, oracle.decisions[-1]) for i in range(len(oracle.episodes))]
        assert found.effective == pytest.approx(oracle.effective(oracle.decisions[-1]))
        assert found.matched == pytest.approx(sum(w > 0 for w in weights) / len(weights))
        returns = np.array([sum(r for _, _, r in steps) for steps in oracle.episodes])
        assert found.log == pytest.approx(Estimate.mean(returns).within(found.possible))
        assert found.episodes == len(returns)


def test_random_logs_have_unseen_histories_and_plans_that_differ_from_the_log() -> None:
    """Check that the agreement tests above are not vacuous."""
    lost = 0
    for rdp, rest in map(divided, SEEDS):
        oracle = HeldOut(rdp, plan_on(rdp))
        lost += sum(oracle.lost(steps)[0] for steps in to_values(rest))
    assert lost > 10
    acting = [np.count_nonzero(plan_on(divided(seed)[0], how).actions != BEHAVE) for seed in SEEDS for how in PLANNERS]
    assert min(acting[2::3]) == max(acting[2::3]) == 0 and min(acting[0::3]) > 5 and sum(acting[1::3]) > 30
    untaken = 0
    for rdp, rest in map(divided, SEEDS):
        planned = plan_on(rdp, GREEDY, rdp.tally(rest)).actions
        taken = [{int(a) for a in rdp.letters[row > 0, 0]} for row in rdp.counts]
        untaken += sum(action != BEHAVE and action + PAD + 1 not in taken[q] for q, action in enumerate(planned))
    assert untaken > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_evaluate_off_policy_of_behaviour_equals_logged_return(seed: int) -> None:
    """On the training episodes all weights are 1; only prior values make the doubly robust estimate differ."""
    rng = np.random.default_rng(seed)
    episodes = random_episodes(rng, 3, 2, 4, 3, 3, 150, early_end=0.3, weighted=seed % 2 == 0)
    rdp = adact_h(episodes, Settings(delta=0.5)).rdp
    found = evaluate_off_policy(rdp, plan_on(rdp, Planning(strength=1e6)), episodes)
    assert found.importance.value == pytest.approx(found.log.value, rel=1e-12)
    assert abs(found.doubly_robust.value - found.log.value) < 0.5 * found.log.error
    assert found.model_based.value == pytest.approx(found.log.value)
    assert found.effective == pytest.approx(episodes.total) and (found.matched, found.unseen) == (1, 0)


# Weights


@pytest.mark.parametrize("logged", [False, True], ids=["estimated", "logged"])
@pytest.mark.parametrize("seed", [s for s in SEEDS if s % 3 == 0])
def test_evaluate_off_policy_treats_weights_like_repeated_episodes(seed: int, logged: bool) -> None:
    one, many = in_both_ways(seed, logged)
    for name in ESTIMATES:
        assert getattr(one, name) == pytest.approx(getattr(many, name), rel=1e-9, nan_ok=True)
    assert one.effective == pytest.approx(many.effective) and one.matched == pytest.approx(many.matched)
    assert (one.rare, one.gaps, one.episodes) == (many.rare, many.gaps, many.episodes)


def in_both_ways(seed: int, logged: bool = False) -> tuple[OffPolicyEvaluation, OffPolicyEvaluation]:
    """Evaluate episodes with weights, and with every episode repeated."""
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


def test_evaluate_off_policy_unseen_share_treats_weights_like_repetitions() -> None:
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
def test_evaluate_off_policy_counts_decisions_after_unseen_histories(seed: int) -> None:
    """Decisions after an unseen history count as unseen even if the state tracker continues in a similar state."""
    rdp, rest = divided(seed)
    oracle = HeldOut(rdp, plan_on(rdp))
    found, lost = evaluate_off_policy(rdp, plan_on(rdp), rest).unseen, [oracle.lost(steps) for steps in to_values(rest)]
    assert found == pytest.approx(literally_unseen(rdp, rest), rel=1e-12)
    assert found > sum(n for n, _ in lost) / sum(of for _, of in lost)


# The column of a log


def skewed(n: int, seed: int) -> tuple[Episodes, np.ndarray]:
    """Draw episodes with one decision after observation 0, where the behaviour policy knew which of two cases it was,
    which the automaton cannot observe, and took the right action with probability 0.9.
    """
    rng = np.random.default_rng(seed)
    case = rng.integers(2, size=n)
    right = rng.random(n) < 0.9
    action = np.where(right, case, 1 - case)
    steps = [[(None, (0,), 0.0), (int(a), None, float(a == c))] for a, c in zip(action, case, strict=True)]
    propensity = np.ones((2, n))
    propensity[1] = np.where(right, 0.9, 0.1)
    return from_values(steps), propensity


def test_evaluate_off_policy_uses_logged_propensities() -> None:
    """On the automaton each action is taken half of the time with mean reward 0.9; the true value is 0.5."""
    rdp = adact_h(skewed(2000, 0)[0]).rdp
    plan = plan_on(rdp, GREEDY)
    assert rdp.layers.tolist() == [1, 1, 1] and plan.value == pytest.approx(0.9, abs=0.02)
    episodes, propensity = skewed(4000, 1)
    for name in OFF_POLICY:
        with_column, without = (getattr(evaluate_off_policy(rdp, plan, episodes, p), name) for p in (propensity, None))
        assert with_column.interval()[0] < 0.5 < with_column.interval()[1] and with_column.error < 0.05
        assert without.value == pytest.approx(0.9, abs=0.05)


def test_evaluate_off_policy_ignores_propensities_without_decision() -> None:
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
    """Return an automaton with two states: a is best in the first, and b, logged three times, in the second."""
    rdp = adact_h(one_decision(*LEARNED)).rdp
    plan = plan_on(rdp, GREEDY)
    assert rdp.layers.tolist() == [1, 2, 1] and plan.actions.tolist() == [BEHAVE, 0, 1, BEHAVE]
    return rdp, plan


def test_evaluate_off_policy_matches_calculation_by_hand(small: tuple[RDP, Plan]) -> None:
    """Twenty episodes start in each state, and ten of them take the plan's action there: all weights are 2 or 0.

    The matching returns are 1 and 5, ten times each. The doubly robust estimate has the same values: those of the
    training episodes are equal. Its error has the difference of the first states, and one more visit in 11.
    """
    found = evaluate_off_policy(
        *small, one_decision(*[(0, "a", 1.0), (0, "b", 0.0), (1, "b", 5.0), (1, "a", 0.0)] * 10)
    )
    assert found.effective == pytest.approx(20) and found.matched == 0.5
    left_out = math.sqrt(20 * (2 / 20 / (1 - 1 / 20)) ** 2)
    assert found.importance == pytest.approx((3.0, left_out + 5 / 21, 0, 5))
    assert found.doubly_robust == pytest.approx((3.0, math.hypot(2 / 40**0.5, 2**0.5 * 5 / 2 / 11 / 2), 0, 5))
    assert found.model_based.value == 3.0 and found.log.value == 1.5
    assert (found.unseen, found.episodes, found.unknown) == (0, 40, {})


def test_evaluate_off_policy_doubly_robust_correction_matches_calculation_by_hand(small: tuple[RDP, Plan]) -> None:
    """In the second state b has mean reward 0.5 in 40 episodes instead of 5; what it had in training does not count."""
    found = evaluate_off_policy(*small, one_decision(*[(1, "b", 0.0), (1, "b", 1.0), (1, "a", 0.0)] * 20))
    assert found.doubly_robust.value == pytest.approx(0.5)


def test_evaluate_off_policy_importance_is_unknown_below_ten_effective_episodes(small: tuple[RDP, Plan]) -> None:
    for times, known in ((9, False), (10, True)):
        found = evaluate_off_policy(*small, one_decision(*[(0, "a", 1.0), (0, "b", 0.0)] * times))
        assert found.effective == pytest.approx(times) and found.importance.known is known
        if known:
            assert found.importance.value == 1.0 and found.importance.interval()[0] < 1
        else:
            assert math.isnan(found.importance.value) and found.unknown == {"importance": "few_effective_episodes"}


def test_evaluate_off_policy_is_unknown_if_interval_spans_most_of_the_possible_range(small: tuple[RDP, Plan]) -> None:
    found = evaluate_off_policy(*small, one_decision((1, "b", 0.0), (1, "b", 5.0)))
    assert found.unknown["doubly_robust"] == "wide_interval" and found.doubly_robust.interval() == found.possible
    assert math.isnan(found.doubly_robust.value)


def test_evaluate_off_policy_gaps_match_calculation_by_hand(small: tuple[RDP, Plan]) -> None:
    """The second state occurs in 15 of 55 episodes, and its action was logged three times."""
    found = evaluate_off_policy(*small, one_decision((0, "a", 1.0)))
    assert found.gaps == (RareAction(state=2, action=1, visits=3, share=pytest.approx(15 / 55)),)
    assert found.rare == pytest.approx(15 / 55)


def test_evaluate_off_policy_reports_no_gap_from_ten_visits_on() -> None:
    for times, gaps in ((9, 1), (10, 0)):
        rdp = adact_h(one_decision(*[(0, "a", 1.0)] * times, *[(0, "b", 0.0)] * 30)).rdp
        found = evaluate_off_policy(rdp, plan_on(rdp, GREEDY), one_decision((0, "a", 1.0)))
        assert len(found.gaps) == gaps and found.rare == gaps
        behaves = evaluate_off_policy(rdp, plan_on(rdp, Planning(strength=1e6)), one_decision((0, "a", 1.0)))
        assert behaves.gaps == () and behaves.rare == 0


def test_evaluate_off_policy_lists_five_most_frequent_gaps() -> None:
    """b distinguishes seven states; a is best in each, and was taken once."""
    often = {k: 31 + 10 * k for k in range(7)}
    steps = [(k, "a", 9.0) for k in often] + [(k, "b", float(k)) for k, n in often.items() for _ in range(n - 1)]
    rdp = adact_h(one_decision(*steps)).rdp
    assert rdp.layers.tolist() == [1, 7, 1]
    found = evaluate_off_policy(rdp, plan_on(rdp, GREEDY), one_decision((0, "a", 9.0)))
    total = sum(often.values())
    assert [gap.share for gap in found.gaps] == pytest.approx([often[k] / total for k in (6, 5, 4, 3, 2)])
    assert {(gap.action, gap.visits) for gap in found.gaps} == {(0, 1)} and found.rare == pytest.approx(1)


def test_evaluate_off_policy_without_matches_has_no_effective_episodes(small: tuple[RDP, Plan]) -> None:
    found = evaluate_off_policy(*small, one_decision((0, "b", 0.0), (1, "a", 0.0)))
    assert (found.effective, found.matched, found.unknown["importance"]) == (0, 0, "no_match")


# Early ends and other lengths

BEGIN, END = (None, (0,), 0.0), ("pad", None, 0.0)
STOP, ON = ("stop", None, -1.0), ("on", (1,), -0.25)


def ends_early() -> tuple[RDP, Plan]:
    """`stop` has reward −1 and ends the episode, `on` has −0.25 and another observation; at most three decisions."""
    last = ("on", None, -0.25)
    logs = [[BEGIN, STOP, END, END], [BEGIN, ON, STOP, END], [BEGIN, ON, ON, STOP], [BEGIN, ON, ON, last]]
    rdp = adact_h(from_values(logs * 40)).rdp
    return rdp, plan_on(rdp, GREEDY)


def short_and_padded() -> tuple[Episodes, Episodes]:
    """Return episodes that all end after two decisions, as a log of horizon 2 and of horizon 3."""
    steps = [[BEGIN, STOP, END]] * 30 + [[BEGIN, ON, STOP]] * 50
    return from_values(steps), from_values([[*episode, END] for episode in steps])


def test_evaluate_off_policy_corrects_nothing_after_early_end() -> None:
    rdp, plan = ends_early()
    for episodes in short_and_padded():
        found = evaluate_off_policy(rdp, plan, episodes)
        if episodes.horizon == rdp.horizon:
            assert_as_defined(rdp, plan, episodes)
        assert found.log.value == pytest.approx(-(3 * 1 + 5 * 1.25) / 8)


def test_evaluate_off_policy_corrects_nothing_after_end_in_merged_states() -> None:
    """Few episodes give one state in each layer; padding after the end must not be corrected by its values."""
    logs = [[BEGIN, STOP, END, END], [BEGIN, ON, STOP, END], [BEGIN, ON, ON, STOP]]
    rdp = adact_h(from_values(logs), Settings(delta=1e-9)).rdp
    assert rdp.layers.tolist() == [1, 1, 1, 1, 1]
    episodes = from_values(logs * 20)
    for how in (GREEDY, Planning(strength=1e6)):
        assert_as_defined(rdp, plan_on(rdp, how), episodes)


def test_evaluate_off_policy_is_uniform_where_no_action_was_logged() -> None:
    """All training episodes ended at once; the others go on, unseen, with uniform action probabilities."""
    rdp = adact_h(from_values([[BEGIN, STOP, END, END], [BEGIN, ("on", None, -0.25), END, END]] * 9)).rdp
    episodes = from_values([[BEGIN, ON, ON, STOP], [BEGIN, ON, STOP, END]])
    propensity = chances_of(episodes, 0)
    for plan in (plan_on(rdp, GREEDY), plan_on(rdp, Planning(strength=1e6))):
        assert_as_defined(rdp, plan, episodes, propensity)


@pytest.mark.parametrize("name", ["log", "importance", "doubly_robust"])
def test_evaluate_off_policy_pads_log_of_short_episodes(name: str) -> None:
    rdp, plan = ends_early()
    short, padded = (evaluate_off_policy(rdp, plan, episodes) for episodes in short_and_padded())
    assert getattr(short, name) == pytest.approx(getattr(padded, name), nan_ok=True)
    assert (short.matched, short.unseen) == (padded.matched, padded.unseen)


def test_evaluate_off_policy_model_based_pads_log_of_short_episodes() -> None:
    """To stop at once has value −1, and 0 after that, also without padding in the log."""
    rdp, plan = ends_early()
    stop = rdp.alphabet.actions.index("stop")
    at_once = replace(plan, actions=np.where(plan.actions == BEHAVE, BEHAVE, stop))
    for chosen in (plan, at_once, plan_on(rdp, Planning(strength=1e6))):
        short, padded = (evaluate_off_policy(rdp, chosen, episodes).model_based for episodes in short_and_padded())
        assert short == pytest.approx(padded, nan_ok=True)
    assert evaluate_off_policy(rdp, at_once, short_and_padded()[0]).model_based.value == pytest.approx(-1)


def test_evaluate_off_policy_model_based_uses_behaviour_of_training_log() -> None:
    """It took a half of the time; that the other log takes it more often does not make the policy better."""
    rdp = adact_h(one_decision(*[(0, "a", 1.0)] * 20, *[(0, "b", 0.0)] * 20)).rdp
    found = evaluate_off_policy(
        rdp, plan_on(rdp, Planning(strength=1e6)), one_decision(*[(0, "a", 1.0)] * 30, (0, "b", 0.0))
    )
    assert found.model_based.value == pytest.approx(0.5) and found.log.value == pytest.approx(30 / 31)


# Refused logs


def refused(rdp: RDP, plan: Plan, episodes: Episodes) -> str:
    with pytest.raises(SufficeError) as caught:
        evaluate_off_policy(rdp, plan, episodes)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("reward", [5.5, -0.5])
def test_evaluate_off_policy_refuses_rewards_outside_the_model_range(small: tuple[RDP, Plan], reward: float) -> None:
    message = refused(*small, one_decision((0, "a", 1.0), (1, "b", reward)))
    assert message == (
        f"the log has reward {reward:g}, but the model was learned from rewards 0 to 5. Check that the log is of the "
        "same process, in the same units. If so, learn the model again from a log with such rewards."
    )


def test_evaluate_off_policy_accepts_rewards_within_the_model_range(small: tuple[RDP, Plan]) -> None:
    found = evaluate_off_policy(*small, one_decision((0, "a", 2.5), (1, "b", 5.0)))
    assert found.log.value == 3.75


def test_evaluate_off_policy_refuses_unknown_actions(small: tuple[RDP, Plan]) -> None:
    message = refused(*small, one_decision((0, "a", 1.0), (1, "c", 0.0)))
    assert message == (
        "the log has action 'c', which the model does not know. Its actions are a, b. Rename those of the log, or "
        "learn the model again."
    )


def test_evaluate_off_policy_refuses_other_observation_columns(small: tuple[RDP, Plan]) -> None:
    two = from_values([[(None, (0, 1), 0.0), ("a", None, 1.0)]])
    message = refused(*small, two)
    problem = "the log's observations are f0, f1, the model's f0. Choose these columns with "
    assert message == f"{problem}read_log(log, observations=...), or rename those of the log."
    with naming_options():
        assert refused(*small, two) == f"{problem}--observations, or rename those of the log."


def test_evaluate_off_policy_refuses_longer_episodes(small: tuple[RDP, Plan]) -> None:
    longer = from_values([[(None, (0,), 0.0), ("a", (1,), 1.0), ("b", None, 5.0)]])
    assert refused(*small, longer) == (
        "the log's episodes have up to 2 decisions, but the model plans only 1. Cut the episodes with "
        "read_log(log, horizon=1)."
    )


def test_evaluate_off_policy_without_visits_falls_back_to_logged_behaviour(small: tuple[RDP, Plan]) -> None:
    """No held-out episode takes b in the second state, where the training episodes have reward 1 on average."""
    episodes = one_decision(*[(0, "a", 1.0)] * 40, *[(0, "b", 0.0)] * 40, *[(1, "a", 0.0)] * 4)
    found = evaluate_off_policy(*small, episodes)
    assert found.model_based.value == found.doubly_robust.value == pytest.approx((80 * 1 + 4 * 1) / 84)


def test_evaluate_off_policy_model_based_is_unknown_where_it_relies_on_training_counts() -> None:
    """None of 200 held-out episodes of the T-maze turns as the policy does."""
    domain, horizon = TMaze(), 5
    solution = regorl(domain.simulate(100_000, horizon, np.random.default_rng(1)))
    found = evaluate_off_policy(
        solution.learned.rdp, solution.plan, domain.simulate(200, horizon, np.random.default_rng(2))
    )
    assert found.unknown["model_based"] == "wide_interval" and found.possible == (-5, 4)
