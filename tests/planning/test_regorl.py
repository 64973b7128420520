"""`regorl` learns and plans, `Split` halves the episodes, `Solution` describes the result; plans in model files."""

from __future__ import annotations

import io
import json
import math
import random
import re
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
from suffice.data.possible_returns import possible_returns
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


# All episodes for automaton and plan


@every_log
@pytest.mark.parametrize("planning", [None, GREEDY, Planning(strength=0.3, delta=0.2)], ids=["usual", "greedy", "bold"])
def test_regorl_combines_learning_refinement_and_planning(case: str, planning: Planning | None) -> None:
    found = regorl(log(case), USUAL, planning)
    learned = refine(adact_h(log(case), USUAL, ended_apart=True), log(case))
    assert everything(found.learned) == everything(learned) and found.learned.settings == USUAL
    assert whole(found.plan) == whole(plan_on(learned.rdp, planning))
    assert found.planning == (planning or Planning()) and found.split is None and found.bracket is None
    assert found.behaviour_value == pytest.approx(mean_return(log(case)))


def test_regorl_without_arguments_uses_default_settings() -> None:
    found = regorl(log("maze"))
    learned = refine(adact_h(log("maze"), ended_apart=True), log("maze"))
    assert everything(found.learned) == everything(learned)
    assert whole(found.plan) == whole(plan_on(learned.rdp))
    assert repr(found) == f"<Solution: {learned.rdp!r}, predicted {found.prediction.value:.4g}>"


def test_regorl_without_second_look_skips_refinement() -> None:
    for case in CASES:
        found = regorl(log(case), USUAL, second_look=False)
        assert everything(found.learned) == everything(adact_h(log(case), USUAL))
    assert any(regorl(log(case), USUAL).learned.promise.second_tests > 0 for case in CASES)


@every_log
def test_regorl_divides_confidence_between_learning_and_refinement(case: str) -> None:
    found = regorl(log(case), Settings(confidence=0.9))
    half = Settings(confidence=0.95)
    assert everything(found.learned) == everything(refine(adact_h(log(case), half, ended_apart=True), log(case)))
    assert found.learned.settings.confidence == 0.9
    assert found.learned.promise.split <= 0.1 + 1e-12
    once = regorl(log(case), Settings(confidence=0.9), second_look=False)
    assert everything(once.learned) == everything(adact_h(log(case), Settings(confidence=0.9)))


@every_log
def test_mean_return_is_weighted_mean_of_returns(case: str) -> None:
    episodes = log(case)
    weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    returns = [sum((Fraction(r) for _, _, r in steps), Fraction(0)) for steps in decode(episodes)]
    right = sum((w * r for w, r in zip(weights, returns, strict=True)), Fraction(0)) / sum(weights)
    assert mean_return(episodes) == pytest.approx(float(right), rel=1e-12)
    n, squares = sum(weights), sum((w * (r - right) ** 2 for w, r in zip(weights, returns, strict=True)), Fraction(0))
    error = float(squares / (n - 1) / n) ** 0.5
    assert log_return(episodes)[:2] == pytest.approx((float(right), error), rel=1e-9)


def test_regorl_reports_progress_layer_by_layer() -> None:
    reported: list[tuple[int, int]] = []
    regorl(log("random"), progress=lambda done, of: reported.append((done, of)))
    assert reported == [(t, 32) for t in range(1, 33)], "AdaCT-H pass and refinement, for the plan and three folds"
    reported.clear()
    regorl(log("random"), second_look=False, progress=lambda done, of: reported.append((done, of)))
    assert reported == [(t, 16) for t in range(1, 17)]


def test_regorl_accepts_the_name_of_a_planner() -> None:
    assert whole(regorl(log("corridor"), planning="greedy").plan) == whole(regorl(log("corridor"), None, GREEDY).plan)
    with pytest.raises(SufficeError, match=r"^planning='gredy' is not a planner\. Choose 'safe', 'greedy'"):
        regorl(log("corridor"), planning="gredy")


def test_regorl_finds_optimal_policy_of_t_maze() -> None:
    """2,000 episodes of a T-maze give the best policy, and a prediction within five standard errors."""
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
def test_regorl_with_split_uses_disjoint_halves_of_equal_size(case: str) -> None:
    """The automaton is learned from one half, and the plan is made on the counts of the other."""
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


def test_episodes_divide_odd_number_into_halves_that_differ_by_one() -> None:
    for n in range(2, 12):
        episodes = log("maze").columns(np.arange(n))
        first, second, _ = episodes.divide(0.5, np.random.default_rng(n))
        assert first.n + second.n == n and abs(first.n - second.n) <= 1
        together = np.concatenate([first.word, second.word], axis=1)
        assert sorted(map(tuple, together.T.tolist())) == sorted(map(tuple, episodes.word.T.tolist()))


def test_episodes_divide_weight_like_repeated_episodes() -> None:
    """Of 2,000 episodes of which 1,000 are equal, about 500 of these are in each half; none is lost."""
    episodes = log("maze").columns(np.arange(1001))
    heavy = replace(episodes, weight=np.array([1000] + [1] * 1000))
    first, second, columns = heavy.divide(0.5, np.random.default_rng(0))
    assert first.total == second.total == 1000 and first.weight is not None and second.weight is not None
    whole_weight = np.zeros(1001, np.int64)
    whole_weight[columns] += second.weight
    assert 400 < whole_weight[0] < 600 and first.weight[0] + second.weight[0] == 1000


def test_regorl_with_split_depends_only_on_the_generator() -> None:
    one, same, other = (
        regorl(log("random"), USUAL, split=Split(max_states=10), rng=np.random.default_rng(s)) for s in (1, 1, 2)
    )
    assert everything(one.learned) == everything(same.learned) and whole(one.plan) == whole(same.plan)
    assert everything(one.learned) != everything(other.learned)
    plain, again = (regorl(log("random"), USUAL, split=Split(max_states=10)) for _ in range(2))
    assert everything(plain.learned) == everything(again.learned) and whole(plain.plan) == whole(again.plan)


@every_log
def test_split_per_test_divides_delta_as_in_the_paper(case: str) -> None:
    """δ/(4AO·Q̄), where A and O count values that occur after step 0, padding and o_⊥ included."""
    later = [step for steps in decode(log(case)) for step in steps[1:]]
    actions, observations = ({step[part] for step in later} for part in (0, 1))
    split = Split(delta=0.2, max_states=17)
    assert split.per_test(log(case)) == pytest.approx(0.2 / (4 * len(actions) * len(observations) * 17), rel=1e-12)
    found = regorl(log(case), Settings(confidence=0.5, delta=0.3), split=split)
    assert set(found.learned.deltas) == {split.per_test(log(case))}
    assert found.learned.settings.confidence is None and found.learned.settings.delta == split.per_test(log(case))


def test_regorl_with_split_never_refines() -> None:
    """The paper's proof is for AdaCT-H without refinement."""
    for look in (True, False):
        found = regorl(log("maze"), split=Split(max_states=20), second_look=look)
        assert not found.learned.second_look


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"delta": 0.0}, "delta=0.0 is not a probability between 0 and 1. Try 0.05."),
        ({"delta": 1.5}, "delta=1.5 is not a probability between 0 and 1."),
        ({"delta": math.nan}, "delta=nan is not a probability"),
        ({"accuracy": 0.0}, "accuracy=0.0 is not a number above 0."),
        ({"accuracy": -1.0}, "accuracy=-1.0 is not a number above 0."),
        ({"accuracy": math.nan}, "accuracy=nan is not a number above 0."),
        ({"max_states": 0}, "max_states=0 is not a number of states."),
    ],
    ids=str,
)
def test_split_refuses_invalid_settings(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SufficeError) as caught:
        Split(**options)
    assert complaint in str(caught.value)


def test_regorl_refuses_to_split_one_episode() -> None:
    with pytest.raises(SufficeError) as caught:
        regorl(log("maze").columns(np.arange(1)), split=Split())
    assert (
        str(caught.value)
        == "a share of 0.5 of 1 episode leaves one part empty. Choose another share, or log more episodes."
    )


# Independent counts


def test_regorl_with_subsampled_planning_returns_bracket() -> None:
    split, planning = Split(max_states=40), Planning(subsample=True)
    found = regorl(log("corridor"), None, planning, split=split, rng=np.random.default_rng(2))
    rng = np.random.default_rng(2)
    _, second, _ = log("corridor").divide(0.5, rng)
    rdp = found.learned.rdp
    drawn = two_fold(*(rdp.tally(part) for part in second.divide(0.5, rng)[:2]), 0.025, rng)
    assert whole(found.plan) == whole(plan_on(rdp, replace(planning, delta=0.025), drawn))
    lower, upper = prove(rdp, found.plan, drawn, 0.025)
    low, high = possible_returns(log("corridor"))
    assert found.bracket == (max(lower, low), min(upper, high)) and upper > high
    assert found.planning.name == "subsampled"


def test_regorl_bracket_contains_true_values() -> None:
    """Holds in all of 8 runs with 40,000 episodes, half of them for the automaton, the rest subsampled."""
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


def test_regorl_without_split_has_no_bracket() -> None:
    found = regorl(log("corridor"), None, Planning(subsample=True))
    assert found.bracket is None and "Proved" not in found.sentence


def test_solution_verdict_follows_plan_only_if_held_out_episodes_show_a_gain() -> None:
    sure = regorl(log("corridor"))
    assert sure.judged is not None and sure.judged.gain.lower(0.025) > 0 and sure.sentence.startswith("Follow the plan")
    unknown = regorl(log("maze").columns(slice(0, 3)))
    assert unknown.judged is None and unknown.lower_bound is None
    assert unknown.sentence.startswith("Keep the logged behaviour: too few episodes to judge the plan.")


# Sentences


def test_solution_sentence_states_prediction_and_logged_return() -> None:
    found = regorl(log("maze"), None, Planning(delta=0.1))
    text = found.sentence
    pattern = (
        r"Predicted return (\S+) per episode \(lower bound (\S+) with about 90 % confidence\); "
        r"logged mean return (\S+)\. "
    )
    (printed,) = re.findall(pattern, text)
    right = [found.prediction.value, found.lower_bound, found.behaviour_value]
    assert list(map(float, printed)) == pytest.approx(right, rel=5e-3)  # three digits
    assert all(len(number.partition(".")[2]) >= 2 for number in printed)
    assert "Prediction and bound come from cross-fitting" in text
    assert text.endswith("assumed to be worth at least as much as those on average.") and "\n" not in text
    assert found.lower_bound is not None and found.lower_bound < found.prediction.value


def test_solution_sentence_states_requirements_of_theorem_with_split() -> None:
    text = regorl(log("maze"), split=Split(delta=0.2)).sentence
    assert "one half of the episodes and the plan from the other; the prediction comes from episodes that its" in text
    assert "with about 90 % confidence" in text, "half of δ is the plan's"
    assert "with probability 0.8" in text and text.endswith("use planning='subsampled'.")


@pytest.mark.parametrize(
    ("accuracy", "ends"),
    [
        (None, "of the best policy's."),
        (100.0, "The requested accuracy of 100 is proved."),
        (0.01, "The requested accuracy of 0.01 is not proved; that takes more episodes."),
    ],
    ids=str,
)
def test_solution_sentence_states_proved_bounds_and_accuracy(accuracy: float | None, ends: str) -> None:
    split = Split(delta=0.1, accuracy=accuracy, max_states=77)
    found = regorl(log("corridor"), None, Planning(subsample=True), split=split)
    assert found.bracket is not None
    gap = found.bracket.upper - found.bracket.lower
    assert "Proved, with probability 0.9, if the process has at most 77 states" in found.sentence
    pattern = r"the plan's expected return is at least (\S+) and within (\S+) of the best policy's"
    (printed,) = re.findall(pattern, found.sentence)
    assert list(map(float, printed)) == pytest.approx([found.bracket.lower, gap], rel=5e-3)  # three digits
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
def test_model_save_and_load_keep_the_plan(tmp_path: Path, case: str) -> None:
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
def test_model_header_describes_planner_and_results(tmp_path: Path, case: str) -> None:
    header, found = json.loads(entries_of(saved(tmp_path, case))["header.json"])["plan"], solution(case)
    assert header["planner"] == ("subsampled" if case == "corridor" else "safe")
    assert (header["strength"], header["delta"]) == (found.planning.strength, found.planning.delta)
    assert (header["value"], header["error"]) == (found.plan.value, found.plan.error)
    assert header["predicted"] == found.prediction.value and header["lower_bound"] == found.lower_bound
    assert header["behaviour_error"] == found.behaviour.error > 0
    assert header["behaviour_value"] == found.behaviour_value and header["best_return"] == found.best_return
    assert (header["verdict"], tuple(header["verdict_reasons"])) == (found.verdict.code, found.verdict.reasons)
    assert header["split"] == (case == "corridor")
    bracket = (None, None) if found.bracket is None else found.bracket
    assert (header["proved_lower"], header["proved_upper"]) == tuple(bracket)


def test_model_load_gives_policy_that_follows_the_plan(tmp_path: Path) -> None:
    loaded, domain = Model.load(saved(tmp_path, "maze")), TMaze(length=2)
    policy = loaded.policy(np.random.default_rng(0))
    for cue, right in (((0, 1, 1), "N"), ((1, 1, 0), "S")):
        policy.reset()
        assert [policy.act(cue), policy.act((1, 0, 1)), policy.act((0, 1, 0))] == ["E", "E", right]
    assert policy.fallbacks == 0 and domain.length == 2


def test_model_save_and_load_without_plan(tmp_path: Path) -> None:
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
        pytest.param("actions", lambda a: a - 1, id="less than BEHAVE"),
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
def test_model_load_refuses_damaged_plan_arrays(tmp_path: Path, name: str, change: Callable[[Any], Any]) -> None:
    path = saved(tmp_path)
    entries = entries_of(path)
    array = np.load(io.BytesIO(entries[f"plan_{name}.npy"]))
    write_entries(path, entries | {f"plan_{name}.npy": npy(change(array))})
    assert "this model file is damaged" in refusal(path)


@pytest.mark.parametrize("name", ["values", "lower"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_model_load_refuses_plan_values_that_are_not_finite(tmp_path: Path, name: str, value: float) -> None:
    """NaN is not valid JSON either."""
    path = saved(tmp_path)
    entries = entries_of(path)
    array = np.load(io.BytesIO(entries[f"plan_{name}.npy"]))
    write_entries(path, entries | {f"plan_{name}.npy": npy(np.full_like(array, value))})
    assert "this model file is damaged" in refusal(path)


@pytest.mark.parametrize("name", ["actions", "values", "lower"])
def test_model_load_refuses_incomplete_plan(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path)
    write_entries(path, {key: data for key, data in entries_of(path).items() if key != f"plan_{name}.npy"})
    assert "this model file is damaged" in refusal(path)


@pytest.mark.parametrize("key", ["value", "error", "delta", "planner", "verdict", "verdict_reasons", "split"])
def test_model_load_refuses_incomplete_plan_header(tmp_path: Path, key: str) -> None:
    path = saved(tmp_path)
    entries = entries_of(path)
    header = json.loads(entries["header.json"])
    for plan in ({k: v for k, v in header["plan"].items() if k != key}, header["plan"] | {key: [1]}, [1], "plan"):
        write_entries(path, entries | {"header.json": json.dumps(header | {"plan": plan}).encode()})
        assert "this model file is damaged" in refusal(path)


@pytest.mark.filterwarnings("ignore:Data type alias:DeprecationWarning")
def test_model_load_refuses_or_survives_random_damage_to_plan(tmp_path: Path) -> None:
    """Check sums are valid but contents may not be, as if written by another program; a loaded policy can act."""
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


def test_regorl_treats_weights_like_repeated_episodes() -> None:
    """A log with weights has the same solution as one with each column repeated."""
    light = log("weights")
    assert light.weight is not None
    heavy = Episodes(light.alphabet, light.letters, np.repeat(light.word, light.weight, axis=1), light.follows)
    one, other = (regorl(episodes, USUAL) for episodes in (light, heavy))
    assert everything(one.learned) == everything(other.learned) and whole(one.plan) == whole(other.plan)
    assert one.behaviour_value == pytest.approx(other.behaviour_value, rel=1e-12)
    assert one.prediction == pytest.approx(other.prediction, rel=1e-9)


def test_regorl_plans_on_log_with_a_single_action() -> None:
    """The log has one action, one step and one episode."""
    episodes = from_values([[(None, ("x",), 0.0), ("go", None, 3.0)]])
    found = regorl(episodes)
    assert found.plan.value == pytest.approx(3) and found.behaviour_value == 3
    assert set(found.plan.actions.tolist()) <= {BEHAVE, 0}
    policy = Model.of(found, episodes).policy()
    policy.reset()
    assert policy.act("x") == "go"


def test_solution_sentence_warns_of_prediction_beyond_best_return() -> None:
    """The sentence warns if no logged episode reached the predicted return."""
    episodes = log("maze")
    solution = regorl(episodes)
    beyond = replace(solution, best_return=solution.prediction.value - 1)
    assert "No logged episode had a return this high" in beyond.sentence
    assert "No logged episode" not in replace(solution, best_return=solution.prediction.value).sentence
    rewards = [sum(r for _, _, r in steps) for steps in decode(episodes)]
    assert solution.best_return == max(rewards)
