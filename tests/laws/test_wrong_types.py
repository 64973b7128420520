"""Objects of a wrong type, given to public functions, are refused in one line that names what is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.errors import SufficeError

MODEL = suffice.make("corridor").model(3)
EPISODES = suffice.simulate(MODEL, n=60, horizon=3, rng=1)
LEARNED = suffice.learn(EPISODES)
WRONG: dict[str, Any] = {
    "number": 5,
    "bytes": b"log.csv",
    "array": np.zeros(3),
    "object": object(),
    "function": print,
    "log": EPISODES,
    "model": LEARNED,
    "policy": LEARNED.policy(),
}
CALLS: dict[str, tuple[Callable[[Any], object], set[str]]] = {  # and what is not wrong there
    "make": (suffice.make, set()),
    "load": (suffice.load, set()),
    "save": (LEARNED.save, set()),
    "learn": (suffice.learn, {"log"}),
    "learn progress": (lambda wrong: suffice.learn(EPISODES, progress=wrong), {"function"}),
    "learn like": (lambda wrong: suffice.learn(EPISODES, like=wrong), {"model"}),
    "check": (suffice.check, {"log"}),
    "check progress": (lambda wrong: suffice.check(EPISODES, progress=wrong), {"function"}),
    "check seconds": (lambda wrong: suffice.check(EPISODES, seconds=wrong), {"number"}),
    "read_log": (suffice.read_log, set()),
    "write_log": (lambda wrong: suffice.write_log(wrong, "a.csv"), {"log"}),
    "write_log path": (lambda wrong: suffice.write_log(EPISODES, wrong), set()),
    "read_schema": (suffice.read_schema, set()),
    "write_schema": (lambda wrong: suffice.write_schema(wrong, "a.json"), set()),
    "write_schema path": (lambda wrong: suffice.write_schema(EPISODES.alphabet, wrong), set()),
    "simulate": (lambda wrong: suffice.simulate(wrong, 5), set()),
    "simulate n": (lambda wrong: suffice.simulate(MODEL, wrong, 3), {"number"}),
    "simulate rng": (lambda wrong: suffice.simulate(MODEL, 5, 3, rng=wrong), {"number"}),
    "compare": (lambda wrong: suffice.compare(LEARNED.rdp, wrong), set()),
    "truth_of": (lambda wrong: suffice.truth_of(wrong, 3), set()),
    "minimal_rdp": (lambda wrong: suffice.minimal_rdp(wrong, 3), set()),
    "exact_value": (lambda wrong: suffice.exact_value(wrong, MODEL.usual, 3), set()),
    "exact_value policy": (lambda wrong: suffice.exact_value(MODEL, wrong, 3), set()),
    "plan_on": (suffice.plan_on, set()),
    "refine": (lambda wrong: suffice.refine(wrong, EPISODES), set()),
    "evaluate_off_policy": (lambda wrong: suffice.evaluate_off_policy(wrong, LEARNED.plan, EPISODES), set()),
    "evaluate_off_policy plan": (lambda wrong: suffice.evaluate_off_policy(LEARNED.rdp, wrong, EPISODES), set()),
    "evaluate_off_policy log": (
        lambda wrong: suffice.evaluate_off_policy(LEARNED.rdp, LEARNED.own_plan, wrong),
        {"log"},
    ),
    "draw_automaton": (suffice.draw_automaton, set()),
    "describe_witness": (lambda wrong: suffice.describe_witness(wrong, EPISODES.alphabet), set()),
}


@pytest.mark.parametrize("name", CALLS)
def test_public_functions_refuse_objects_of_wrong_types(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, right = CALLS[name]
    for kind in sorted(WRONG.keys() - right):
        with pytest.raises(SufficeError) as caught:
            call(WRONG[kind])
        message = str(caught.value)
        assert "\n" not in message and message.endswith(".") and message.rstrip(".").count(". "), (kind, message)
    assert not list(tmp_path.iterdir())
