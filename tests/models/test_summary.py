"""Tests of the summary of a model: advice, returns, memory, columns, guarantee and warnings."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest

import suffice
from suffice.data.episodes import Episodes
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import naming_options
from suffice.evidence.estimates import Estimate
from suffice.learning.borderline import BorderlineMerge
from suffice.models.header import Header, Planned
from suffice.models.model import Model
from suffice.models.summary import (
    advice_row,
    memory_of,
    percent,
    rounded,
    shorter_episodes,
    summary_json,
    summary_rows,
    warning_rows,
    with_error,
)
from suffice.planning.verdict import Code, Reason


@pytest.fixture(scope="module")
def episodes() -> Episodes:
    return TMaze(length=2).simulate(2000, 4, np.random.default_rng(0))


@pytest.fixture(scope="module")
def model(episodes: Episodes) -> Model:
    return suffice.learn(episodes, stationary=False)


def with_plan(about: Header, **changes: Any) -> Header:
    """Return a header whose plan has other values."""
    assert about.plan is not None
    return msgspec.structs.replace(about, plan=msgspec.structs.replace(about.plan, **changes))


def with_promise(about: Header, **changes: Any) -> Header:
    """Return a header whose guarantee has other values."""
    from dataclasses import replace

    return msgspec.structs.replace(about, promise=replace(about.promise, **changes))


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (3.97845, 0.07, "3.98"),
        (3.97845, 1.5, "3.98"),
        (3.97845, 0.0021, "3.978"),
        (3.97841, 1e-9, "3.9784"),
        (1234.56, 25, "1,235"),
        (-0.0001, 0.3, "0.00"),
        (4.0, 0.0, "4"),
        (4.0, math.inf, "4"),
    ],
)
def test_rounded_shows_as_many_decimals_as_the_error_supports(value: float, error: float, text: str) -> None:
    assert rounded(value, error) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (-2.5561, 0.0158, "-2.556 ± 0.016"),
        (1234.5, 12.4, "1,234 ± 12"),
        (-0.0001, 0.5, "0.00 ± 0.50"),
        (4 / 3, 0.0, "1.33333 ± 0"),
        (4 / 3, float("inf"), "1.333 ± ?"),
    ],
)
def test_with_error_shows_two_digits_of_the_error(value: float, error: float, text: str) -> None:
    assert with_error(Estimate(value, error)) == text


def test_percent_shows_three_digits() -> None:
    assert [percent(share) for share in (0, 0.000123, 0.10832, 0.5, 1)] == ["0%", "0.0123%", "10.8%", "50%", "100%"]


def test_summary_rows_start_with_the_advice(model: Model) -> None:
    rows = summary_rows(model.rdp, model.about, "below")
    assert [label for label, _ in rows] == ["Follow the plan", "Logged return", "Memory", "Columns", "Guarantee"]
    assert all(len(text) <= 100 for _, text in rows)


def test_advice_row_states_confidence_and_condition_of_the_lower_bound(model: Model) -> None:
    label, text = advice_row(model.about)
    assert label == "Follow the plan" and " with 95 % confidence; gain at least " in text
    split = advice_row(with_plan(model.about, split=True, delta=0.025, judged=None, gain=None))[1]
    assert split.endswith(" with 97.5 % confidence if the automaton is right")
    unjudged = advice_row(with_plan(model.about, judged=None, gain=None))[1]
    assert unjudged.endswith(" if the automaton is right") and "confidence" not in unjudged


@pytest.mark.parametrize(
    ("code", "reason", "label", "text"),
    [
        ("no difference", "no_gain_shown", "No difference", "no clear gain over the log; plan: "),
        ("keep", "worse_on_held_out", "Keep the logged behaviour", "the plan returns less on held-out episodes: "),
        ("keep", "too_few_episodes", "Keep the logged behaviour", "too few episodes to judge the plan; "),
        ("keep", "lower_bound_below_logged", "Keep the logged behaviour", "the plan's lower bound is not above the"),
        ("keep", "too_rare", "Keep the logged behaviour", "most histories are too rare to distinguish states; "),
    ],
)
def test_advice_row_begins_with_the_reason(model: Model, code: Code, reason: Reason, label: str, text: str) -> None:
    found = advice_row(with_plan(model.about, verdict=code, verdict_reasons=[reason]))
    assert found[0] == label and found[1].startswith(text) and "per episode expected" in found[1]


@pytest.mark.parametrize("bound", [None, -math.inf])
def test_advice_row_says_that_there_is_no_lower_bound(model: Model, bound: float | None) -> None:
    assert advice_row(with_plan(model.about, lower_bound=bound))[1].endswith("per episode expected, no lower bound")


def test_advice_row_states_a_lower_bound_of_the_gain_only_if_it_is_positive(model: Model) -> None:
    for bound, text in ((0.5, "; gain at least 0.50"), (-0.5, "; expected gain 1.25"), (None, "; expected gain 1.25")):
        changed = with_plan(model.about, verdict="follow", gain=1.25, gain_error=0.1, gain_lower_bound=bound)
        assert advice_row(changed)[1].endswith(text)


def test_summary_json_has_null_instead_of_infinity(model: Model) -> None:
    found = summary_json(model.rdp, with_plan(model.about, lower_bound=-math.inf))
    assert found["lower_bound"] is None and found["verdict"] == "follow" and json.dumps(found, allow_nan=False)


def test_summary_json_without_a_plan_has_no_verdict(episodes: Episodes) -> None:
    bare = suffice.learn(episodes, plan=False)
    found = summary_json(bare.rdp, bare.about)
    assert found["verdict"] is found["predicted"] is found["logged"] is None and found["verdict_reasons"] == []
    assert advice_row(bare.about) == ("No plan", "only the automaton was learned; for a policy leave out plan=False")


def test_memory_of_is_none_if_one_state_per_step_suffices(episodes: Episodes) -> None:
    rng = np.random.default_rng(0)
    table = {
        "episode": np.repeat(np.arange(400), 4),
        "step": np.tile(np.arange(4), 400),
        "x": rng.integers(2, size=1600),
        "action": rng.integers(2, size=1600),
        "reward": rng.integers(2, size=1600),
    }
    assert {memory_of(suffice.learn(table, stationary=stationary).rdp) for stationary in (False, True)} == {"none"}
    assert memory_of(suffice.learn(episodes, stationary=False).rdp) == "layers"
    assert memory_of(suffice.learn(episodes, stationary=True).rdp) == "cycle"


def test_shorter_episodes_counts_those_that_end_before_the_horizon() -> None:
    lengths = [2, 3, 3, 1] * 100
    table = {
        "episode": [i for i, length in enumerate(lengths) for _ in range(length)],
        "step": [step for length in lengths for step in range(length)],
    }
    table |= {name: [step % 2 for step in table["step"]] for name in ("x", "action", "reward")}
    for stationary in (False, True):
        assert shorter_episodes(suffice.learn(table, stationary=stationary, ends="terminal").rdp) == 200


def test_guarantee_is_none_where_the_bound_is_vacuous(model: Model) -> None:
    row = summary_rows(model.rdp, with_promise(model.about, split=1.3), "below")[-1]
    assert (
        row[0] == "Guarantee"
        and row[1].startswith("none: ")
        and row[1].endswith("use confidence=0.95, second_look=True")
    )
    row = summary_rows(model.rdp, with_promise(model.about, split=0.0109, second_split=0.0, second_tests=0), "below")[
        -1
    ]
    assert "probability at least 0.989 (" in row[1] and row[1].endswith("under assumptions (below)"), "rounded down"


def test_warning_rows_name_options_of_the_command_line(model: Model) -> None:
    weak = with_plan(with_promise(model.about, split=0.4), judged=None)
    with naming_options():
        merges = [BorderlineMerge(1, ((), ()), None, episodes) for episodes in (1200.0, 3400.0)]
        texts = [text for _, text in warning_rows(weak, merges, notes=["a note"])]
    assert texts[0] == "the guarantee is weak; for a stronger one use --confidence 0.95 --second-look"
    assert any("--hold-out 0.2" in text for text in texts) and texts[-1] == "a note"
    assert "2 merges are undecided; if the difference is real, about 3,400 episodes show it" in texts
    assert warning_rows(weak)[0][0] == "Careful" and not warning_rows(weak)[1][0]


def test_warning_rows_mention_returns_beyond_the_best_logged_one(model: Model) -> None:
    plan = model.about.plan
    assert isinstance(plan, Planned)
    texts = [text for _, text in warning_rows(with_plan(model.about, best_return=plan.predicted - 1))]
    assert any(text.startswith("no logged episode earned the expected return") for text in texts)
    assert not any("no logged episode" in text for _, text in warning_rows(with_plan(model.about, best_return=99.0)))
