"""`PlanVerdict` decides by codes, and `Forecast` describes a plan in sentences."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import pytest

from suffice.errors import naming_options
from suffice.evidence.estimates import Estimate
from suffice.planning.subsampling import Bracket
from suffice.planning.verdict import Code, Forecast, Halves, PlanVerdict, Reason, format_return

FOLLOW = PlanVerdict.of(Estimate(1.0, 0.5))
PLAIN = Forecast(FOLLOW, 3.0, 2.0, 1.0, 4.0, 0.05, horizon=7, discount=None, judged=True, halves=None)
SPLIT = Halves(0.1, 0.5, max_states=9, states=9, bracket=Bracket(1.0, 1.5))


@pytest.mark.parametrize(
    ("gain", "code", "reason"),
    [
        (Estimate(1.0, 0.5), "follow", "better_on_held_out"),
        (Estimate(1.0, 0.52), "no difference", "no_gain_shown"),
        (Estimate(0.0, 0.0), "no difference", "no_gain_shown"),
        (Estimate(1e-9, 0.0), "no difference", "no_gain_shown"),
        (Estimate(-1.0, 0.52), "no difference", "no_gain_shown"),
        (Estimate(-1.0, 0.5), "keep", "worse_on_held_out"),
        (Estimate(1.0, math.inf), "keep", "too_few_episodes"),
        (None, "keep", "too_few_episodes"),
    ],
)
@pytest.mark.parametrize("fits", [True, False])
def test_plan_verdict_of_returns_code_and_reasons(gain: Estimate | None, code: str, reason: str, fits: bool) -> None:
    found = PlanVerdict.of(gain, fits)
    assert (found.code, found.reasons) == (code, (reason,) if fits else (reason, "automaton_does_not_fit"))


def test_plan_verdict_reasons_are_identifiers() -> None:
    assert all(reason.isidentifier() and reason.islower() for reason in get_args(Reason))


def test_plan_verdict_str_differs_for_every_reason() -> None:
    decisive = [reason for reason in get_args(Reason) if reason != "automaton_does_not_fit"]
    texts = {str(PlanVerdict("keep", (reason,))) for reason in decisive}
    assert len(texts) == len(decisive) and all(text.endswith(".") for text in texts)
    starts = [(code, str(PlanVerdict(code, ())).split()[0]) for code in get_args(Code)]
    assert starts == [("follow", "Follow"), ("no difference", "No"), ("keep", "Keep")]


@pytest.mark.parametrize(
    ("forecast", "part"),
    [
        (PLAIN, "Follow the plan: held-out episodes show that it returns more than the logged behaviour. Predicted "),
        (
            PLAIN,
            "(lower bound 2.00 with about 95 % confidence); logged mean return 1.00. Prediction and bound come from",
        ),
        (replace(PLAIN, judged=False), "(lower bound 2.00, if the automaton is right); logged mean return 1.00."),
        (replace(PLAIN, judged=False), "so the prediction is optimistic and the lower bound, if there is one, is not"),
        (replace(PLAIN, lower_bound=None), "Predicted return 3.00 per episode (no lower bound);"),
        (replace(PLAIN, verdict=PlanVerdict.of(None)), "too few episodes to judge the plan. Predicted return 3.00"),
        (replace(PLAIN, verdict=PlanVerdict.of(Estimate(0.0, 1.0))), "More episodes may help."),
        (replace(PLAIN, verdict=PlanVerdict.of(Estimate(9.0, 1.0), fits=False)), "do not fit the automaton: it lacks"),
        (replace(PLAIN, best=2.5), "No logged episode had a return this high (best 2.50): be careful."),
        (replace(PLAIN, discount=0.9), "These are undiscounted returns over 7 steps; the plan itself maximises the"),
        (replace(PLAIN, judged=False, halves=SPLIT), "2.00 with about 95 % confidence, if the automaton is right"),
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
