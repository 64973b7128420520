"""`PlanVerdict` decides by codes, and `Forecast` describes a plan in sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from suffice.errors import naming_options
from suffice.planning.subsampling import Bracket
from suffice.planning.verdict import Forecast, Halves, PlanVerdict, Reason, format_return

FOLLOW = PlanVerdict.of(lower_bound=2.0, logged=1.0, too_rare=False)
PLAIN = Forecast(FOLLOW, 3.0, 2.0, 1.0, 4.0, 0.05, horizon=7, discount=None, halves=None)
SPLIT = Halves(0.1, 0.5, max_states=9, states=9, bracket=Bracket(1.0, 1.5))


@pytest.mark.parametrize(
    ("lower", "logged", "too_rare", "code", "reason"),
    [
        (2.0, 1.0, False, "follow", "lower_bound_above_logged"),
        (1.0, 1.0, False, "keep", "lower_bound_below_logged"),
        (0.0, 1.0, False, "keep", "lower_bound_below_logged"),
        (2.0, 1.0, True, "keep", "too_rare"),
    ],
)
def test_plan_verdict_of_returns_code_and_reason(
    lower: float, logged: float, too_rare: bool, code: str, reason: str
) -> None:
    found = PlanVerdict.of(lower, logged, too_rare)
    assert (found.code, found.reasons) == (code, (reason,))


def test_plan_verdict_reasons_are_identifiers() -> None:
    assert all(reason.isidentifier() and reason.islower() for reason in get_args(Reason))


def test_plan_verdict_str_differs_for_every_reason() -> None:
    texts = {str(PlanVerdict("keep", (reason,))) for reason in get_args(Reason)}
    assert len(texts) == len(get_args(Reason)) and all(text.endswith(".") for text in texts)
    assert str(PlanVerdict("keep", ())).startswith("Keep") and str(PlanVerdict("follow", ())).startswith("Follow")


@pytest.mark.parametrize(
    ("forecast", "part"),
    [
        (PLAIN, "Follow the plan: its lower bound is above the logged return. Predicted return 3.00 per episode "),
        (PLAIN, "(lower bound 2.00, if the automaton is right); logged mean return 1.00. Automaton, plan and "),
        (PLAIN, "so the prediction is optimistic and the lower bound is not a confidence bound."),
        (replace(PLAIN, verdict=PlanVerdict.of(0.0, 1.0, False)), "logged return. Predicted return 3.00"),
        (replace(PLAIN, verdict=PlanVerdict.of(0.0, 1.0, True)), "More episodes may help."),
        (replace(PLAIN, best=2.5), "No logged episode had a return this high (best 2.50): be careful."),
        (replace(PLAIN, discount=0.9), "These are undiscounted returns over 7 steps; the plan itself maximises the"),
        (replace(PLAIN, halves=SPLIT), "lower bound 2.00 with about 95 % confidence, if the automaton is right"),
        (
            replace(PLAIN, halves=SPLIT),
            "the plan's expected return is at least 1.00 and within 0.500 of the best policy's.",
        ),
        (replace(PLAIN, halves=SPLIT), "The requested accuracy of 0.5 is proved."),
        (replace(PLAIN, halves=replace(SPLIT, accuracy=0.1)), "is not proved; that takes more episodes."),
        (
            replace(PLAIN, halves=replace(SPLIT, states=10)),
            "the automaton has 10 states, more than max_states=9 allows; raise it.",
        ),
        (
            replace(PLAIN, halves=replace(SPLIT, bracket=None)),
            "if N is large enough) is for plans on independent counts: use planning='subsampled'.",
        ),
    ],
)
def test_forecast_sentence_contains_expected_facts(forecast: Forecast, part: str) -> None:
    assert part in forecast.sentence


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.0, "4.00"),
        (-3.348, "-3.35"),
        (0.0, "0.00"),
        (0.15849, "0.158"),
        (0.00123456, "0.00123"),
        (1e-7, "1e-07"),
        (12345.678, "12345.68"),
        (2.5e12, "2.5e+12"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
    ],
)
def test_format_return_shows_two_decimals_or_three_digits(value: float, text: str) -> None:
    assert format_return(value) == text


def test_forecast_sentence_names_options_on_the_command_line() -> None:
    split = replace(PLAIN, halves=replace(SPLIT, bracket=None))
    with naming_options():
        assert "use --planner subsampled." in split.sentence


@pytest.mark.parametrize(("best", "beyond"), [(2.0, True), (3.0, False), (3.0 - 1e-9, False), (float("inf"), False)])
def test_forecast_beyond_log_compares_prediction_with_best_return(best: float, beyond: Any) -> None:
    assert replace(PLAIN, best=best).beyond_log == beyond == ("be careful" in replace(PLAIN, best=best).sentence)
