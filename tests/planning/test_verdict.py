"""The verdict on a plan: codes that decide, and one sentence for each reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from suffice.planning.subsampling import Bracket
from suffice.planning.verdict import Forecast, Halves, PlanVerdict, Reason

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
def test_verdict_codes(lower: float, logged: float, too_rare: bool, code: str, reason: str) -> None:
    found = PlanVerdict.of(lower, logged, too_rare)
    assert (found.code, found.reasons) == (code, (reason,))


def test_reasons_are_codes_and_not_phrases() -> None:
    assert all(reason.isidentifier() and reason.islower() for reason in get_args(Reason))


def test_every_reason_has_a_sentence_of_its_own() -> None:
    told = {str(PlanVerdict("keep", (reason,))) for reason in get_args(Reason)}
    assert len(told) == len(get_args(Reason)) and all(text.endswith(".") for text in told)
    assert str(PlanVerdict("keep", ())).startswith("Keep") and str(PlanVerdict("follow", ())).startswith("Follow")


@pytest.mark.parametrize(
    ("forecast", "part"),
    [
        (PLAIN, "Follow the plan: it will likely bring more than the log did. The plan is predicted to bring 3 per"),
        (PLAIN, "likely at least 2 if the automaton is right; the log brought 1. Automaton, plan and prediction share"),
        (replace(PLAIN, best=2.5), "No logged episode brought that much, the best 2.5: be careful."),
        (replace(PLAIN, discount=0.9), "That is for 7 steps and undiscounted, though the plan is for ever."),
        (replace(PLAIN, halves=SPLIT), "with about 95 % confidence at least 2"),
        (
            replace(PLAIN, halves=SPLIT),
            "the plan brings at least 1 and is within 0.5 of the best policy.",
        ),
        (replace(PLAIN, halves=SPLIT), "The accuracy of 0.5 that was asked for is proved."),
        (replace(PLAIN, halves=replace(SPLIT, accuracy=0.1)), "is not proved; that takes more episodes."),
        (replace(PLAIN, halves=replace(SPLIT, states=10)), "more states than the 9 of max_states; raise it."),
        (
            replace(PLAIN, halves=replace(SPLIT, bracket=None)),
            "if N is large enough) is for plans on independent counts",
        ),
    ],
)
def test_forecast_sentence(forecast: Forecast, part: str) -> None:
    assert part in forecast.sentence


@pytest.mark.parametrize(("best", "beyond"), [(2.0, True), (3.0, False), (3.0 - 1e-9, False), (float("inf"), False)])
def test_beyond_log(best: float, beyond: Any) -> None:
    assert replace(PLAIN, best=best).beyond_log == beyond == ("be careful" in replace(PLAIN, best=best).sentence)
