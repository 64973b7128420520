"""A model in a few lines: what rests on what, and what to do next."""

from __future__ import annotations

import numpy as np

import suffice
from suffice.domains.tasks.corridor import Corridor
from suffice.models.repr import UNSURE


def test_a_bound_says_what_it_rests_on() -> None:
    model = suffice.learn(Corridor().simulate(300, 5, np.random.default_rng(1)))
    for told in (repr(model), model._repr_html_()):
        assert f"likely at least {model.about.plan.lower_bound:.4g} if the automaton is right" in told  # type: ignore[union-attr]
    assert "<svg" in model._repr_html_() and "draw_automaton" not in model._repr_html_()


def test_a_weak_promise_says_how_to_get_a_better_one() -> None:
    episodes = Corridor().simulate(300, 5, np.random.default_rng(1))
    weak, strong = suffice.learn(episodes, delta=0.1), suffice.learn(episodes, confidence=0.95)
    assert weak.about.promise.split > 1 - UNSURE > strong.about.promise.split
    assert "learn with confidence=0.95" in repr(weak) and "confidence=" not in repr(strong)


def test_what_is_not_pictured_says_how_to_draw_it() -> None:
    model = suffice.learn(Corridor().simulate(500, 5, np.random.default_rng(1)), stationary=True)
    assert "<svg" not in (shown := model._repr_html_()) and "suffice.draw_automaton(model.rdp, model.own_plan)" in shown
