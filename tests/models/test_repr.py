"""`repr(model)` and the notebook view: the advice first, then memory and guarantee."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.domains.tasks.corridor import Corridor
from suffice.models.repr import WEAK_GUARANTEE
from support.samples import from_values


def corridor(n: int) -> suffice.Episodes:
    return Corridor().simulate(n, 5, np.random.default_rng(1))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("stationary", [False, True])
def test_repr_begins_with_the_advice_and_has_memory_and_returns(stationary: bool) -> None:
    model = suffice.learn(corridor(600), stationary=stationary)
    about, shown, tags = model.about, repr(model), _Tags()
    assert about.plan is not None
    html = model._repr_html_()
    for text in (shown, html):
        for part in (f"{model.rdp.n_states} states", "600 episodes", f"predicted return {about.plan.predicted:.4g}"):
            assert part in text
        assert f"{about.plan.behaviour_value:.4g}" in text
    assert len(shown.splitlines()) <= 5
    assert shown.startswith("<Model: follow the plan") and html.startswith("<div><strong>Follow the plan")
    tags.feed(html)
    assert not tags.open and "script" not in tags.seen
    assert tags.seen.count("circle") == (0 if stationary else model.rdp.n_states)
    assert repr(suffice.learn(corridor(300), plan=False)).startswith("<Model: no plan")


def test_repr_html_escapes_names_of_the_log() -> None:
    bad = "<script>alert('x')</script>"
    steps = [[(None, (1,), 0.0), (bad if i % 2 else "b", None, float(i % 2))] for i in range(40)]
    html = suffice.learn(from_values(steps))._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html


def test_repr_advises_to_keep_the_logged_behaviour_where_the_verdict_does() -> None:
    model = suffice.learn(corridor(300), strength=1000.0)
    assert model.verdict is not None and model.verdict.code == "keep"
    assert repr(model).startswith("<Model: keep the logged behaviour: predicted return")


def test_repr_states_what_the_lower_bound_assumes() -> None:
    model = suffice.learn(corridor(300))
    assert model.about.plan is not None
    for text in (repr(model), model._repr_html_()):
        assert f"likely at least {model.about.plan.lower_bound:.4g} if the automaton is right" in text
    assert "<svg" in model._repr_html_() and "model.draw()" not in model._repr_html_()


def test_repr_of_a_weak_guarantee_names_the_parameter_for_a_better_one() -> None:
    weak, strong = suffice.learn(corridor(300), delta=0.1), suffice.learn(corridor(300), confidence=0.95)
    assert weak.about.promise.split > 1 - WEAK_GUARANTEE > strong.about.promise.split
    assert "learn with confidence=0.95" in repr(weak) and "confidence=" not in repr(strong)


def test_repr_html_without_a_picture_names_the_call_that_draws_it() -> None:
    model = suffice.learn(corridor(500), stationary=True)
    assert "<svg" not in (shown := model._repr_html_()) and "model.draw()" in shown
