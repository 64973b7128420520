"""Shapes, numbers and bins of observations that `Policy` accepts and refuses."""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.automata.rdp import UNSEEN
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.encoder import Encoder
from suffice.data.logs.reading import read_log
from suffice.errors import LogError, SufficeError
from suffice.models.model import Model
from suffice.planning.planner import GREEDY, plan_on
from suffice.planning.policy import Policy
from suffice.planning.regorl import regorl
from support.log_files import write
from support.small_automata import CUE, SMALL, automaton, of_maze, plan_of


@pytest.mark.parametrize(
    "seen",
    [
        CUE,
        list(CUE),
        np.array(CUE),
        np.array(CUE, float),
        np.array(CUE, np.int8),
        (False, True, True),
        (np.bool_(False), np.int64(1), np.float32(1.0)),
        (0.0, 1, True),
        {"bit3": 1, "bit1": 0, "bit2": 1},
        {"bit1": np.int16(0), "bit2": 1.0, "bit3": True, "more": "that is not read"},
    ],
    ids=repr,
)
def test_policy_act_accepts_observations_in_many_forms(seen: Any) -> None:
    rdp = of_maze()
    policy = Policy(rdp, plan_on(rdp, GREEDY))
    policy.reset()
    policy.act(seen)
    assert policy.state == rdp.run(((None, CUE),)) != UNSEEN and policy.fallbacks == 0


@pytest.mark.parametrize("seen", ["x", ("x",), ["x"], np.str_("x"), np.array(["x"]), {"seen": "x"}], ids=repr)
def test_policy_observe_accepts_single_feature_without_tuple(seen: Any) -> None:
    policy = Policy(SMALL, plan_of(SMALL))
    policy.reset()
    policy.observe(None, seen)
    assert policy.state == 1


def test_policy_observe_accepts_single_feature_as_scalar_array() -> None:
    policy = Policy(SMALL, plan_of(SMALL))
    policy.reset()
    policy.observe(None, np.array("x"))
    assert policy.state == 1


def test_policy_observe_compares_numbers_by_value() -> None:
    """1, 1.0 and True are equal, as in logs."""
    rdp = automaton([1, 1, 1, 1], [(0, None, 1, 0.0, 9, 1), (1, 2, 0.5, 0.0, 9, 2), (2, 2, None, 1.0, 9, 3)])
    for first, action, second in ((1, 2, 0.5), (1.0, 2.0, np.float64(0.5)), (True, np.int32(2), np.float32(0.5))):
        policy = Policy(rdp, plan_of(rdp))
        policy.reset()
        policy.observe(None, first)
        policy.observe(action, second)
        assert (policy.state, policy.fallbacks) == (2, 0)


def after_first(*values: Any, **options: Any) -> Policy:
    """Return a policy for episodes whose only observation is one of the values."""
    rdp = automaton(
        [1, len(values), 1],
        [(0, None, value, 0.0, 9, q) for q, value in enumerate(values, 1)]
        + [(q, 2, None, 1.0, 9, len(values) + 1) for q in range(1, len(values) + 1)],
    )
    policy = Policy(rdp, plan_of(rdp), **options)
    policy.reset()
    return policy


@pytest.mark.parametrize(
    ("logged", "seen"),
    [
        (0, "0"),
        (0, "0.0"),
        (1, "+1"),
        (-2, "-2"),
        (0.5, "0.5"),
        (0.5, "5e-1"),
        (2**53 + 1, str(2**53 + 1)),
        (True, "True"),
        (False, "false"),
        ("0", 0),
        ("0.5", np.float32(0.5)),
        ("true", True),
        ("True", np.bool_(True)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.filterwarnings("error")
def test_policy_act_converts_values_of_another_type_without_loss(logged: Any, seen: Any, strict: bool) -> None:
    policy = after_first(logged, "other", strict=strict)
    policy.act(seen)
    assert policy.fallbacks == 0 and policy.state == after_first(logged, "other").rdp.run(((None, (logged,)),))


@pytest.mark.parametrize(
    ("logged", "seen"),
    [
        ((0, 1), "2"),
        ((0, 1), "zero"),
        ((0, 1), "true"),
        ((0, 1), " 0"),
        ((0, 1), "0_0"),
        ((0, 1), "nan"),
        ((0, 1), "٠"),
        ((0, 1), ""),
        ((0, 1), "1" * 5000),
        ((2**53, 0), str(2**53 + 1)),
        (("0", "1"), 2),
        (("True", "true"), True),
        (("a", "b"), "A"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_policy_act_warns_once_about_unknown_observations_or_refuses_them(logged: Any, seen: Any) -> None:
    policy, strict = after_first(*logged), after_first(*logged, strict=True)
    with pytest.raises(LogError, match=r"is not known to the model\. Its values are .*strict=False") as caught:
        strict.act(seen)
    assert "\n" not in str(caught.value)
    assert (strict.state, strict.steps, strict.fallbacks) == (0, 0, 0), "a refused call changes nothing"
    assert strict.act(logged[0]) == 2
    with pytest.warns(UserWarning, match=r"is not known to the model\. .*policy\.fallbacks"):
        policy.act(seen)
    assert policy.fallbacks == 1 and repr(policy).endswith("1 of 1 steps fell back>")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy.reset()
        policy.act(seen)
        copy = policy.spawn(1)[0]
        copy.reset()
        copy.act(seen)
    assert policy.fallbacks == 2 and copy.fallbacks == 1


@pytest.mark.filterwarnings("error")
def test_policy_act_keeps_text_that_was_logged_beside_numbers() -> None:
    policy = after_first(0, "0", strict=True)
    states = []
    for seen in (0, "0"):
        policy.reset()
        policy.act(seen)
        states.append(policy.state)
    assert len(set(states)) == 2 and policy.fallbacks == 0


def test_policy_strict_refuses_unknown_combinations_of_known_values() -> None:
    policy = Policy(of_maze(), plan_of(of_maze()), strict=True)
    policy.reset()
    unknown = next(o for o in product((0, 1), repeat=3) if o not in of_maze().alphabet.observations)
    with pytest.raises(LogError, match=r"the model knows these values, but not together\. Pass observations"):
        policy.act(unknown)
    policy.act(tuple(map(str, CUE)))
    assert policy.fallbacks == 0


@pytest.mark.filterwarnings("error")
def test_model_policy_follows_the_plan_on_observations_as_text() -> None:
    """As from a server that passes strings."""
    model = suffice.learn(suffice.make("corridor").simulate(300, 5, np.random.default_rng(1)))
    policy, strict = model.policy(), model.policy(strict=True)
    for each in (policy, strict):
        each.reset()
        assert each.act({"row": "0", "column": "0", "guard": "clear"}) == 1
        assert each.act(("1", "1", "clear")) == 1 and each.fallbacks == 0
    with pytest.raises(LogError, match="guard: 'cloud' is not known to the model"):
        strict.act(("1", "1", "cloud"))


@pytest.mark.parametrize(
    ("seen", "complaint"),
    [
        ((0, 1), "2 values, but the model reads 3. Pass one for each feature: bit1, bit2, bit3"),
        ((0, 1, 1, 0), "4 values, but the model reads 3"),
        (7, "1 values, but the model reads 3"),
        ("011", "1 values, but the model reads 3"),
        ((), "0 values, but the model reads 3"),
        ({"bit1": 0, "bit3": 1}, "observation: 'bit2' is missing. Pass a value for each feature: bit1, bit2, bit3"),
        ({}, "observation: 'bit1' is missing"),
    ],
)
def test_policy_refuses_observations_of_other_shapes(seen: Any, complaint: str) -> None:
    policy = Policy(of_maze(), plan_of(of_maze()))
    policy.reset()
    for ask in (policy.act, lambda o: policy.observe(None, o)):
        with pytest.raises(SufficeError) as caught:
            ask(seen)
        assert complaint in str(caught.value) and "\n" not in str(caught.value)
    assert policy.state == 0 and policy.steps == 0, "a refused call changes nothing"


def test_policy_bins_numbers_like_the_log(tmp_path: Path) -> None:
    """The policy reads raw numbers, and reaches the same states as the rows of the log."""
    rng = np.random.default_rng(3)
    rows = ["episode,step,level,colour,action,reward"]
    raw = np.round(rng.normal(size=(200, 3)) * 10, 1)
    for e, levels in enumerate(raw):
        rows += [f"{e},{t},{level},{rng.integers(2)},{rng.integers(2)},{t}" for t, level in enumerate(levels)]
    episodes = read_log(write(tmp_path, "\n".join(rows) + "\n"), bins={"level": 4})
    report = episodes.report
    solution = regorl(episodes)
    model = Model.of(solution, episodes, encoder=report.encoder)
    model.save(tmp_path / "a.model")
    policy = Model.load(tmp_path / "a.model").policy()
    states = model.rdp.run_all(episodes)
    logged = [row.split(",") for row in rows[1:]]
    for e in range(episodes.n):
        policy.reset()
        for t in range(3):
            _, _, level, colour, _, _ = logged[3 * e + t]
            policy.observe(int(logged[3 * e + t - 1][4]) if t else None, (float(level), int(colour)))
            assert policy.state == states[t + 1, e]
    assert policy.fallbacks == 0 and policy.steps == 600
    without = Policy(model.rdp, model.required_plan())
    without.reset()
    without.observe(None, (float(raw[0, 0]), 0))
    assert without.fallbacks == 1


def test_policy_bins_include_lower_edges() -> None:
    rdp = automaton([1, 3, 1], [(0, None, b, 0.0, 5, 1 + b) for b in range(3)] + [(1, "l", None, 0.0, 5, 4)])
    for value, bin_ in ((-1e9, 0), (0.99, 0), (1.0, 1), (2.4, 1), (2.5, 2), (np.float32(1e9), 2), (3, 2)):
        policy = Policy(rdp, plan_of(rdp), encoder=Encoder.of_features(("seen",), {"seen": Bins((1.0, 2.5))}))
        policy.reset()
        policy.observe(None, value)
        assert policy.state == 1 + bin_
