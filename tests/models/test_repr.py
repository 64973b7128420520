"""`repr(model)` and the notebook view: the advice first, then returns, memory, columns and guarantee."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.domains.tasks.corridor import Corridor
from suffice.models.header import Planned
from suffice.models.repr import DETAILS
from suffice.models.summary import rounded, summary_rows
from support.samples import from_values


def corridor(n: int) -> suffice.Episodes:
    return Corridor().simulate(n, 5, np.random.default_rng(1))


def planned(model: suffice.Model) -> Planned:
    assert model.about.plan is not None
    return model.about.plan


class _Tags(HTMLParser):
    """Collects the tags of a page and checks that they are nested correctly."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(html)
        assert not self.open

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
    plan, shown, html = planned(model), repr(model), model._repr_html_()
    assert plan.lower_bound is not None
    margin = plan.predicted - plan.lower_bound
    for text in (shown, html):
        for part in (f"{model.n_states} states", "600 episodes", f"{rounded(plan.predicted, margin)} per episode"):
            assert part in text
        assert plan.behaviour_error is not None
        assert f"{rounded(plan.behaviour_value, plan.behaviour_error)} per episode on average" in text
    assert len(shown.splitlines()) == 5 and "\n  Careful: " not in shown
    assert shown.startswith("<Model: Follow the plan: ") and html.startswith("<div><strong>Follow the plan: ")
    tags = _Tags(html).seen
    assert "script" not in tags
    assert tags.count("circle") == (0 if stationary else model.n_states)


def test_repr_and_html_show_every_row_of_the_summary() -> None:
    model = suffice.learn(corridor(300))
    rows, html = summary_rows(model.rdp, model.about, DETAILS), unescape(model._repr_html_())
    assert [label for label, _ in rows] == ["Follow the plan", "Logged return", "Memory", "", "Columns", "Guarantee"]
    for label, fact in rows:
        assert (f"{label}: {fact}" if label else f"    {fact}") in repr(model)
        assert label in html and fact in html
    assert "Actions" in html and "0, 1" in html


def test_repr_of_a_model_without_a_plan_names_the_parameter_for_one() -> None:
    model = suffice.learn(corridor(300), plan=False)
    assert repr(model).startswith("<Model: No plan: ") and "leave out plan=False" in repr(model).splitlines()[0]
    assert model._repr_html_().startswith("<div><strong>No plan: ")
    assert "Logged return" not in repr(model)


def test_repr_html_escapes_names_of_the_log() -> None:
    bad = "<script>alert('x')</script>"
    steps = [[(None, (1,), 0.0), (bad if i % 2 else "b", None, float(i % 2))] for i in range(40)]
    episodes = from_values(steps)
    html = suffice.learn(episodes)._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html
    column = replace(episodes, alphabet=replace(episodes.alphabet, features=(bad,)))
    html = suffice.learn(column)._repr_html_()
    assert "<script" not in html and html.count("&lt;script&gt;") == 2, "once for the action, once for the column"
    _Tags(html)


def test_repr_escapes_control_characters_in_names_of_the_log() -> None:
    bad = "a\x1b[2J\nb"
    episodes = from_values([[(None, (1,), 0.0), (bad if i % 2 else "b", None, float(i % 2))] for i in range(40)])
    model = suffice.learn(replace(episodes, alphabet=replace(episodes.alphabet, features=(bad,))))
    for text in (repr(model), model._repr_html_()):
        assert r"a\x1b[2J\nb" in text and "\x1b" not in text
    assert len(repr(model).splitlines()) == 6


def test_repr_begins_with_the_advice_of_the_verdict() -> None:
    same = suffice.learn(corridor(300), strength=1000.0)  # the plan is the logged behaviour
    assert same.verdict is not None and same.verdict.code == "no difference"
    assert repr(same).startswith("<Model: No difference: no clear gain over the log; plan: ")
    few = suffice.learn(corridor(20))
    assert few.verdict is not None and few.verdict.code == "keep"
    assert repr(few).startswith("<Model: Keep the logged behaviour: too few episodes to judge the plan; ")
    assert "no lower bound" in repr(few).splitlines()[0] and "verify with hold_out=0.2" in repr(few)


def test_repr_states_the_confidence_of_the_lower_bound() -> None:
    model = suffice.learn(corridor(300))
    plan = planned(model)
    assert plan.lower_bound is not None
    bound = rounded(plan.lower_bound, plan.predicted - plan.lower_bound)
    for text in (repr(model), model._repr_html_()):
        assert f"at least {bound} with 95 % confidence" in text


def test_repr_of_a_vacuous_guarantee_names_the_parameter_for_a_better_one() -> None:
    none, strong = suffice.learn(corridor(300), delta=0.3), suffice.learn(corridor(300), confidence=0.95)
    assert none.about.promise.split >= 1 and strong.about.promise.split <= 0.05
    assert "Guarantee: none" in repr(none) and "use confidence=0.95" in repr(none)
    assert "Guarantee: no false split with probability at least 0.9" in repr(strong)
    assert "confidence=" not in repr(strong)


def test_repr_html_draws_small_layered_models_only(monkeypatch: pytest.MonkeyPatch) -> None:
    layered, stationary = suffice.learn(corridor(300), stationary=False), suffice.learn(corridor(500), stationary=True)
    assert "<svg" in layered._repr_html_() and "model.draw()" not in layered._repr_html_()
    assert "<svg" not in (shown := stationary._repr_html_()) and "<code>model.draw()</code>" in shown
    monkeypatch.setattr("suffice.models.repr.MOST_PICTURED", layered.n_states)
    assert "<svg" in layered._repr_html_()
    monkeypatch.setattr("suffice.models.repr.MOST_PICTURED", layered.n_states - 1)
    large = layered._repr_html_()
    assert "<svg" not in large and "<code>model.draw()</code>" in large
    _Tags(large)
