"""From a log to a policy in one call, what is said about it, and the plan as part of a model file."""

from __future__ import annotations

import io
import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import BEHAVE
from suffice.data.episodes import Episodes
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import best_plan, evaluate
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.refinement import refine
from suffice.models.export import to_dot, to_json
from suffice.models.model import Model
from suffice.planning.controller import Controller
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, Planning, plan_on
from suffice.planning.regorl import Solution, Split, log_return, mean_return, regorl
from suffice.planning.subsampling import prove, two_fold
from support.archives import entries_of, npy, write_entries
from support.log_files import decode
from support.samples import everything, from_values


def whole(plan: Plan) -> tuple[Any, ...]:
    return plan.actions.tobytes(), plan.values.tobytes(), plan.lower.tobytes(), plan.error


@cache
def log(case: str) -> Episodes:
    rng = np.random.default_rng(7)
    if case == "maze":
        return TMaze(length=2).simulate(1500, 4, rng)
    if case == "corridor":
        return Corridor().simulate(600, 4, rng)
    return random_episodes(rng, 3, 2, 3, 3, 3, 401, early_end=0.3, weighted=case == "weights")


CASES = ["maze", "corridor", "random", "weights"]
every_log = pytest.mark.parametrize("case", CASES)

USUAL = Settings(delta=0.01)


# All episodes for both


@every_log
@pytest.mark.parametrize("planning", [None, GREEDY, Planning(strength=0.3, delta=0.2)], ids=["usual", "greedy", "bold"])
def test_a_solution_is_what_its_steps_give(case: str, planning: Planning | None) -> None:
    found = regorl(log(case), USUAL, planning)
    learned = refine(adact_h(log(case), USUAL, ended_apart=True), log(case))
    assert everything(found.learned) == everything(learned) and found.learned.settings == USUAL
    assert whole(found.plan) == whole(plan_on(learned.rdp, planning))
    assert found.planning == (planning or Planning()) and found.split is None and found.bracket is None
    assert found.behaviour_value == pytest.approx(mean_return(log(case)))


def test_the_defaults_are_the_usual_ones() -> None:
    found = regorl(log("maze"))
    learned = refine(adact_h(log("maze"), ended_apart=True), log("maze"))
    assert everything(found.learned) == everything(learned)
    assert whole(found.plan) == whole(plan_on(learned.rdp))
    assert repr(found) == f"<Solution: {learned.rdp!r}, predicted {found.prediction.value:.4g}>"


def test_one_look_is_enough_if_one_says_so() -> None:
    for case in CASES:
        found = regorl(log(case), USUAL, second_look=False)
        assert everything(found.learned) == everything(adact_h(log(case), USUAL))
    assert any(regorl(log(case), USUAL).learned.promise.second_tests > 0 for case in CASES)


@every_log
def test_two_looks_share_a_confidence(case: str) -> None:
    found = regorl(log(case), Settings(confidence=0.9))
    half = Settings(confidence=0.95)
    assert everything(found.learned) == everything(refine(adact_h(log(case), half, ended_apart=True), log(case)))
    assert found.learned.settings.confidence == 0.9
    assert found.learned.promise.split <= 0.1 + 1e-12
    once = regorl(log(case), Settings(confidence=0.9), second_look=False)
    assert everything(once.learned) == everything(adact_h(log(case), Settings(confidence=0.9)))


@every_log
def test_the_mean_return_is_the_mean_of_all_returns(case: str) -> None:
    episodes = log(case)
    weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    returns = [sum((Fraction(r) for _, _, r in steps), Fraction(0)) for steps in decode(episodes)]
    right = sum((w * r for w, r in zip(weights, returns, strict=True)), Fraction(0)) / sum(weights)
    assert mean_return(episodes) == pytest.approx(float(right), rel=1e-12)
    n, squares = sum(weights), sum((w * (r - right) ** 2 for w, r in zip(weights, returns, strict=True)), Fraction(0))
    error = float(squares / (n - 1) / n) ** 0.5
    assert log_return(episodes) == pytest.approx((float(right), error), rel=1e-9)


def test_progress_is_told_layer_by_layer() -> None:
    told: list[tuple[int, int]] = []
    regorl(log("random"), progress=lambda done, of: told.append((done, of)))
    assert told == [(t, 8) for t in range(1, 9)], "both looks"
    told.clear()
    regorl(log("random"), second_look=False, progress=lambda done, of: told.append((done, of)))
    assert told == [(t, 4) for t in range(1, 5)]


def test_a_solution_is_good() -> None:
    """From 2,000 episodes of a T-maze: the best policy, and a prediction that is not far off."""
    domain, horizon = TMaze(length=2), 4
    model = domain.model(horizon)
    best = best_plan(minimal_rdp(model, horizon)).value
    for seed in range(5):
        solution = regorl(domain.simulate(2000, horizon, np.random.default_rng(seed)))
        rdp = solution.learned.rdp
        policy = Controller.on_automaton(rdp, model.alphabet, solution.plan.actions)
        assert evaluate(model, policy, horizon).mean_return == best == 4
        assert solution.lower_bound < 4 < solution.prediction.value + 5 * solution.prediction.error


# Two halves


@every_log
def test_halves_are_disjoint_and_of_the_same_size(case: str) -> None:
    """What was learned is what one half gives, and what is planned on is what the other one counts."""
    split, planning = Split(delta=0.1, max_states=30), Planning(strength=0.05)
    found = regorl(log(case), USUAL, planning, split=split, rng=np.random.default_rng(3))
    episodes = log(case)
    first, second, columns = episodes.divide(0.5, np.random.default_rng(3))
    assert abs(first.total - second.total) <= 1 and first.total + second.total == episodes.total
    assert np.array_equal(second.word, episodes.word[:, columns])
    learned = adact_h(first, replace(USUAL, delta=split.per_test(episodes)))
    assert everything(found.learned) == everything(learned)
    assert found.learned.rdp.counts[0].sum() == first.total
    how = replace(planning, delta=0.05)
    assert found.planning == how and found.split is split and found.bracket is None
    assert whole(found.plan) == whole(plan_on(learned.rdp, how, learned.rdp.tally(second)))
    assert found.behaviour_value == pytest.approx(mean_return(episodes))


def test_halves_of_an_odd_number_differ_by_one() -> None:
    for n in range(2, 12):
        episodes = log("maze").columns(np.arange(n))
        first, second, _ = episodes.divide(0.5, np.random.default_rng(n))
        assert first.n + second.n == n and abs(first.n - second.n) <= 1
        together = np.concatenate([first.word, second.word], axis=1)
        assert sorted(map(tuple, together.T.tolist())) == sorted(map(tuple, episodes.word.T.tolist()))


def test_a_weight_is_divided_like_so_many_episodes() -> None:
    """Of 2,000 episodes of which 1,000 are alike, about 500 of these belong to each half; nothing gets lost."""
    episodes = log("maze").columns(np.arange(1001))
    heavy = replace(episodes, weight=np.array([1000] + [1] * 1000))
    first, second, columns = heavy.divide(0.5, np.random.default_rng(0))
    assert first.total == second.total == 1000 and first.weight is not None and second.weight is not None
    whole_weight = np.zeros(1001, np.int64)
    whole_weight[columns] += second.weight
    assert 400 < whole_weight[0] < 600 and first.weight[0] + second.weight[0] == 1000


def test_halves_depend_on_nothing_but_the_generator() -> None:
    one, same, other = (
        regorl(log("random"), USUAL, split=Split(max_states=10), rng=np.random.default_rng(s)) for s in (1, 1, 2)
    )
    assert everything(one.learned) == everything(same.learned) and whole(one.plan) == whole(same.plan)
    assert everything(one.learned) != everything(other.learned)
    plain, again = (regorl(log("random"), USUAL, split=Split(max_states=10)) for _ in range(2))
    assert everything(plain.learned) == everything(again.learned) and whole(plain.plan) == whole(again.plan)


@every_log
def test_each_test_gets_its_part_of_delta(case: str) -> None:
    """δ/(4AO·Q̄), where A and O count what occurs after step 0, padding and o_⊥ among it."""
    later = [step for steps in decode(log(case)) for step in steps[1:]]
    actions, observations = ({step[part] for step in later} for part in (0, 1))
    split = Split(delta=0.2, max_states=17)
    assert split.per_test(log(case)) == pytest.approx(0.2 / (4 * len(actions) * len(observations) * 17), rel=1e-12)
    found = regorl(log(case), Settings(confidence=0.5, delta=0.3), split=split)
    assert set(found.learned.deltas) == {split.per_test(log(case))}
    assert found.learned.settings.confidence is None and found.learned.settings.delta == split.per_test(log(case))


def test_a_split_takes_one_look() -> None:
    """As in the paper, whose proof is for AdaCT-H."""
    for look in (True, False):
        found = regorl(log("maze"), split=Split(max_states=20), second_look=look)
        assert not found.learned.second_look


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"delta": 0.0}, "δ of a split is a probability between 0 and 1, not 0; try 0.05"),
        ({"delta": 1.5}, "δ of a split is a probability between 0 and 1, not 1.5"),
        ({"delta": math.nan}, "δ of a split is a probability"),
        ({"accuracy": 0.0}, "accuracy must be above 0, not 0"),
        ({"accuracy": -1.0}, "accuracy must be above 0, not -1"),
        ({"accuracy": math.nan}, "accuracy must be above 0"),
        ({"max_states": 0}, "max_states must be at least 1, not 0"),
    ],
    ids=str,
)
def test_an_impossible_split_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SufficeError) as caught:
        Split(**options)
    assert complaint in str(caught.value)


def test_too_few_episodes_are_not_split() -> None:
    with pytest.raises(SufficeError) as caught:
        regorl(log("maze").columns(np.arange(1)), split=Split())
    assert "1 episode" in str(caught.value) and "log more" in str(caught.value)


# Independent counts


def test_subsampled_plans_come_with_a_bracket() -> None:
    split, planning = Split(max_states=40), Planning(subsample=True)
    found = regorl(log("corridor"), None, planning, split=split, rng=np.random.default_rng(2))
    rng = np.random.default_rng(2)
    _, second, _ = log("corridor").divide(0.5, rng)
    rdp = found.learned.rdp
    drawn = two_fold(*(rdp.tally(part) for part in second.divide(0.5, rng)[:2]), 0.025, rng)
    assert whole(found.plan) == whole(plan_on(rdp, replace(planning, delta=0.025), drawn))
    assert found.bracket == prove(rdp, found.plan, drawn, 0.025)
    assert found.planning.name == "subsampled"


def test_what_is_proved_holds() -> None:
    """With 40,000 episodes, half of them for the automaton and few enough of the rest kept, in all of 8 runs."""
    domain, horizon = Corridor(enemy=Fraction(9, 10)), 3
    model = domain.model(horizon)
    best = float(best_plan(minimal_rdp(model, horizon)).value)
    for seed in range(8):
        episodes = domain.simulate(40_000, horizon, np.random.default_rng(seed))
        found = regorl(episodes, None, Planning(subsample=True), split=Split(max_states=20))
        assert found.bracket is not None
        policy = Controller.on_automaton(found.learned.rdp, model.alphabet, found.plan.actions)
        true = float(evaluate(model, policy, horizon).mean_return)
        assert 0.5 < found.bracket.lower <= true <= best <= found.bracket.upper < 4


def test_without_a_split_nothing_is_proved() -> None:
    found = regorl(log("corridor"), None, Planning(subsample=True))
    assert found.bracket is None and "Proved" not in found.sentence


def test_the_verdict_is_to_follow_a_plan_only_if_it_is_likely_to_bring_more() -> None:
    sure = regorl(log("corridor"))
    assert sure.lower_bound > sure.behaviour_value and sure.sentence.startswith("Follow the plan")
    unsure = regorl(log("maze").columns(slice(0, 3)))
    assert unsure.lower_bound <= unsure.behaviour_value and unsure.sentence.startswith("Keep to what the log did")


# What is said


def test_a_sentence_tells_what_is_predicted_and_what_the_log_brought() -> None:
    found = regorl(log("maze"), None, Planning(delta=0.1))
    said = found.sentence
    assert f"predicted to bring {found.prediction.value:.4g} per episode" in said
    assert f"likely at least {found.lower_bound:.4g}" in said
    assert f"the log brought {found.behaviour_value:.4g}" in said
    assert said.endswith("share the same episodes, which flatters the prediction.") and "\n" not in said
    assert found.lower_bound < found.prediction.value
    assert found.lower_bound == pytest.approx(found.prediction.value - 1.2815515655446 * found.prediction.error)


def test_a_sentence_about_halves_says_what_the_theorem_asks_for() -> None:
    said = regorl(log("maze"), split=Split(delta=0.2)).sentence
    assert "one half of the episodes, the plan from the other, the prediction from episodes that its plan did" in said
    assert "with about 90 % confidence" in said, "half of δ is the plan's"
    assert "with probability 0.8" in said and said.endswith("--planner subsampled.")


@pytest.mark.parametrize(
    ("accuracy", "ends"),
    [
        (None, "of the best policy."),
        (100.0, "The accuracy of 100 that was asked for is proved."),
        (0.01, "The accuracy of 0.01 that was asked for is not proved; that takes more episodes."),
    ],
    ids=str,
)
def test_a_sentence_says_what_is_proved(accuracy: float | None, ends: str) -> None:
    split = Split(delta=0.1, accuracy=accuracy, max_states=77)
    found = regorl(log("corridor"), None, Planning(subsample=True), split=split)
    assert found.bracket is not None
    gap = found.bracket.upper - found.bracket.lower
    assert "Proved, with probability 0.9, if the process has at most 77 states" in found.sentence
    assert f"brings at least {found.bracket.lower:.4g} and is within {gap:.4g} of the best" in found.sentence
    assert found.sentence.endswith(ends)


# The plan in a model file


def equal(first: Model, second: Model) -> bool:
    one, other = first.required_plan(), second.required_plan()
    return first.about == second.about and whole(one) == whole(other) and to_json(first) == to_json(second)


@cache
def solution(case: str) -> Solution:
    if case == "corridor":
        return regorl(log(case), None, Planning(subsample=True), split=Split(max_states=50, accuracy=0.5))
    return regorl(log(case), USUAL)


@cache
def model(case: str) -> Model:
    return Model.of(solution(case), log(case))


def saved(folder: Path, case: str = "random") -> Path:
    model(case).save(folder / "a.model")
    return folder / "a.model"


def refusal(path: Path) -> str:
    with pytest.raises(SufficeError) as caught:
        Model.load(path)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


@every_log
def test_a_plan_is_kept(tmp_path: Path, case: str) -> None:
    path = saved(tmp_path, case)
    loaded = Model.load(path)
    assert equal(loaded, model(case)) and loaded.required_plan().value == solution(case).plan.value
    loaded.save(tmp_path / "b.model")
    assert (tmp_path / "b.model").read_bytes() == path.read_bytes()
    made_again = Model.of(regorl_again(case), log(case))
    made_again.save(tmp_path / "c.model")
    assert (tmp_path / "c.model").read_bytes() == path.read_bytes()


def regorl_again(case: str) -> Solution:
    again: Callable[[str], Solution] = solution.__wrapped__
    return again(case)


@every_log
def test_the_header_says_how_it_was_planned(tmp_path: Path, case: str) -> None:
    told, found = json.loads(entries_of(saved(tmp_path, case))["header.json"])["plan"], solution(case)
    assert told["planner"] == ("subsampled" if case == "corridor" else "safe")
    assert (told["strength"], told["delta"]) == (found.planning.strength, found.planning.delta)
    assert (told["value"], told["error"]) == (found.plan.value, found.plan.error)
    assert told["predicted"] == found.prediction.value and told["lower_bound"] == found.lower_bound
    assert told["behaviour_error"] == found.behaviour.error > 0
    assert told["behaviour_value"] == found.behaviour_value and told["best_return"] == found.best_return
    assert (told["verdict"], tuple(told["verdict_reasons"])) == (found.verdict.code, found.verdict.reasons)
    assert told["split"] == (case == "corridor")
    bracket = (None, None) if found.bracket is None else found.bracket
    assert (told["proved_lower"], told["proved_upper"]) == tuple(bracket)


def test_a_loaded_policy_does_what_the_plan_says(tmp_path: Path) -> None:
    loaded, domain = Model.load(saved(tmp_path, "maze")), TMaze(length=2)
    policy = loaded.policy(np.random.default_rng(0))
    for cue, right in (((0, 1, 1), "N"), ((1, 1, 0), "S")):
        policy.reset()
        assert [policy.act(cue), policy.act((1, 0, 1)), policy.act((0, 1, 0))] == ["E", "E", right]
    assert policy.fallbacks == 0 and domain.length == 2


def test_a_model_without_a_plan_is_kept_without(tmp_path: Path) -> None:
    plain = Model.of(adact_h(log("random")), log("random"))
    plain.save(tmp_path / "a.model")
    loaded = Model.load(tmp_path / "a.model")
    assert loaded.plan is None and loaded.about.plan is None
    assert not [name for name in entries_of(tmp_path / "a.model") if name.startswith("plan")]
    with pytest.raises(SufficeError, match="this model has no plan"):
        loaded.required_plan()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("actions", lambda a: a[1:]),
        ("actions", lambda a: np.append(a, 0)),
        ("actions", lambda a: a[:, None]),
        ("actions", lambda a: np.array(0)),
        ("actions", lambda a: a[:0]),
        ("actions", lambda a: a.astype(float)),
        ("actions", lambda a: a.astype(str)),
        ("actions", lambda a: a.astype("datetime64[s]")),
        pytest.param("actions", lambda a: np.where(a == a.max(), 2, a), id="an action too many"),
        pytest.param("actions", lambda a: a - 1, id="less than to behave"),
        pytest.param("actions", lambda a: a + 2**40, id="far too many"),
        ("values", lambda a: a[1:]),
        ("values", lambda a: a[None]),
        ("values", lambda a: a.astype(str)),
        ("values", lambda a: a.astype(complex)),
        ("values", lambda a: a > 0),
        ("lower", lambda a: a[:-1]),
        ("lower", lambda a: a.astype("S8")),
    ],
)
def test_a_damaged_plan_is_refused(tmp_path: Path, name: str, change: Callable[[Any], Any]) -> None:
    path = saved(tmp_path)
    entries = entries_of(path)
    array = np.load(io.BytesIO(entries[f"plan_{name}.npy"]))
    write_entries(path, entries | {f"plan_{name}.npy": npy(change(array))})
    assert "this model file is damaged" in refusal(path)


@pytest.mark.parametrize("name", ["values", "lower"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_plan_that_is_worth_no_number_is_refused(tmp_path: Path, name: str, value: float) -> None:
    """NaN is no JSON either."""
    path = saved(tmp_path)
    entries = entries_of(path)
    array = np.load(io.BytesIO(entries[f"plan_{name}.npy"]))
    write_entries(path, entries | {f"plan_{name}.npy": npy(np.full_like(array, value))})
    assert "this model file is damaged" in refusal(path)


@pytest.mark.parametrize("name", ["actions", "values", "lower"])
def test_half_a_plan_is_refused(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path)
    write_entries(path, {key: data for key, data in entries_of(path).items() if key != f"plan_{name}.npy"})
    assert "this model file is damaged" in refusal(path)


@pytest.mark.parametrize("key", ["value", "error", "delta", "planner", "verdict", "verdict_reasons", "split"])
def test_an_incomplete_header_of_a_plan_is_refused(tmp_path: Path, key: str) -> None:
    path = saved(tmp_path)
    entries = entries_of(path)
    header = json.loads(entries["header.json"])
    for plan in ({k: v for k, v in header["plan"].items() if k != key}, header["plan"] | {key: [1]}, [1], "plan"):
        write_entries(path, entries | {"header.json": json.dumps(header | {"plan": plan}).encode()})
        assert "this model file is damaged" in refusal(path)


@pytest.mark.filterwarnings("ignore:Data type alias:DeprecationWarning")
def test_damage_within_a_plan_is_refused_or_harmless(tmp_path: Path) -> None:
    """As if written by another program: check sums hold, contents may not. What is loaded can act."""
    path, rng = saved(tmp_path), random.Random(2)
    whole_file = entries_of(path)
    names = [name for name in whole_file if name.startswith("plan_") or name == "header.json"]
    faults, refused = set(), 0
    for _ in range(200):
        name = rng.choice(names)
        data = bytearray(whole_file[name])
        data[rng.randrange(len(data))] ^= rng.choice([1 << rng.randrange(8), rng.randrange(1, 256)])
        write_entries(
            path, whole_file | {name: bytes(data[: rng.randrange(len(data))] if rng.random() < 0.1 else data)}
        )
        try:
            loaded = Model.load(path)
            to_json(loaded), to_dot(loaded)
            if loaded.plan is not None:
                policy = loaded.policy()
                policy.reset()
                assert policy.act((0,)) in loaded.rdp.alphabet.actions
        except Exception as error:
            refused += isinstance(error, SufficeError)
            if not isinstance(error, SufficeError) or "\n" in str(error):
                faults.add((name, repr(error)))
    assert not faults and refused > 40


def test_weights_of_a_log_count_in_all_of_it() -> None:
    """A log with weights, and the same with each column repeated: the same solution."""
    light = log("weights")
    assert light.weight is not None
    heavy = Episodes(light.alphabet, light.letters, np.repeat(light.word, light.weight, axis=1), light.follows)
    one, other = (regorl(episodes, USUAL) for episodes in (light, heavy))
    assert everything(one.learned) == everything(other.learned) and whole(one.plan) == whole(other.plan)
    assert one.behaviour_value == pytest.approx(other.behaviour_value, rel=1e-12)
    assert one.prediction == pytest.approx(other.prediction, rel=1e-9)


def test_a_log_without_a_choice_has_a_plan_too() -> None:
    """One action, one step, one episode."""
    episodes = from_values([[(None, ("x",), 0.0), ("go", None, 3.0)]])
    found = regorl(episodes)
    assert found.plan.value == pytest.approx(3) and found.behaviour_value == 3
    assert set(found.plan.actions.tolist()) <= {BEHAVE, 0}
    policy = Model.of(found, episodes).policy()
    policy.reset()
    assert policy.act("x") == "go"


def test_a_prediction_beyond_all_that_was_logged_is_said_to_be_so() -> None:
    """Few episodes of many mergers promise too much; the sentence does not hide it."""
    episodes = log("maze")
    solution = regorl(episodes)
    beyond = replace(solution, best_return=solution.prediction.value - 1)
    assert "No logged episode brought that much" in beyond.sentence
    assert "No logged episode" not in replace(solution, best_return=solution.prediction.value).sentence
    rewards = [sum(r for _, _, r in steps) for steps in decode(episodes)]
    assert solution.best_return == max(rewards)
