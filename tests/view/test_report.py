"""Reports show the numbers and the verdict of the model, escape all text, and need no external resources."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from base64 import b64encode
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from suffice.automata.describe import describe_witness
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.encoder import Encoder
from suffice.data.episodes import Episodes
from suffice.data.logs.writing import write_log
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.learning.adact_h import adact_h
from suffice.models.model import Model
from suffice.models.sentences import forecast_of, plan_sentence
from suffice.planning.backward_induction import action_values, behaviour_values
from suffice.planning.off_policy import evaluate_off_policy
from suffice.planning.regorl import regorl
from suffice.planning.verdict import PlanVerdict
from suffice.view.html import Html, page, tag, text
from suffice.view.report import pictures
from suffice.view.report.content import NO_PLAN, content_of
from suffice.view.report.report import report_of
from suffice.view.report.texts import command_of, figure
from support.cli import ok, suffice
from support.samples import coins, from_values

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

NASTY = "</td><script>alert(1)</script>"
QUOTED = "\"'><img src=http://example.org onerror=alert(1)>&amp;"


class Parsed(HTMLParser):
    """Elements, attributes and text of a page whose elements are properly nested."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def names(self) -> set[str]:
        return {name for name, _ in self.elements}


@cache
def log(n: int = 3000) -> Episodes:
    return TMaze(length=2).simulate(n, 4, np.random.default_rng(1))


@cache
def model(kind: str = "layered") -> Model:
    if kind == "none":
        return Model.of(adact_h(log()), log())
    if kind == "stationary":
        episodes = TMaze(length=2, cue_visible=True).simulate(500, 8, np.random.default_rng(1))
        return Model.of(regorl(episodes, stationary=True), episodes)
    return Model.of(regorl(log()), log())


KINDS = ["layered", "stationary", "none"]
every_kind = pytest.mark.parametrize("kind", KINDS)


def by_hand(nasty: bool = False) -> Model:
    """Learn a model in which the best action depends on the light: `a` pays in light (1), `b` in the dark (0).

    The logged behaviour ignores the light.
    """
    a, b = (NASTY, QUOTED) if nasty else ("a", "b")
    steps = []
    for light, action, times in ((1, a, 300), (1, b, 100), (0, a, 150), (0, b, 50)):
        steps += [[(None, (light,), 0.0), (action, None, float(light == (action == a)))]] * times
    episodes = from_values(steps)
    return Model.of(regorl(episodes), episodes)


# Content


def test_content_of_has_returns_computed_by_hand() -> None:
    content = content_of(by_hand(), None, "")
    log, plan = content.worth
    assert content.verdict == "Follow the plan"
    assert log.value == pytest.approx(350 / 600) and plan.value == pytest.approx(1, abs=0.02)
    error = (350 / 600 * 250 / 600 / 599) ** 0.5
    assert log.high is not None and log.high - log.value == pytest.approx(1.96 * error, rel=1e-3)


def test_content_of_has_changes_computed_by_hand() -> None:
    dark, light = content_of(by_hand(), None, "").advice or []
    assert (light.after, light.action, light.logged) == ("(1)", "a", {"a": 0.75, "b": 0.25})
    assert (dark.after, dark.action, dark.logged) == ("(0)", "b", {"a": 0.75, "b": 0.25})
    assert [light.visits, light.gain] == pytest.approx([2 / 3, 1 / 4])
    assert [dark.visits, dark.gain] == pytest.approx([1 / 3, 3 / 4])


@every_kind
def test_report_of_shows_numbers_of_the_model(kind: str) -> None:
    found = model(kind)
    content, about, page = content_of(found, None, "A title"), found.about, Parsed(report_of(found, title="A title"))
    assert content.data.episodes == about.episodes and content.data.decisions == found.rdp.horizon
    assert content.automaton.states == found.rdp.n_states and content.data.log_hash == about.log_hash
    for shown in (f"{about.episodes:,}", about.log_hash, about.version, about.promise.sentence, "A title"):
        assert shown in page.text
    if about.plan is not None:
        values = [about.plan.behaviour_value, about.plan.predicted]
        assert [row.value for row in content.worth] == values
        assert all(figure(value) in page.text for value in values)
    visits = found.rdp.counts.sum(axis=1)
    total = visits.sum() if found.rdp.stationary else about.episodes
    shares = sorted((visits[1:] / total).tolist(), reverse=True)
    over = 0 if kind != "stationary" else 1  # the state of ended episodes has no row
    largest = [state.share for state in content.automaton.largest]
    assert largest == sorted(largest, reverse=True)
    assert over or largest == pytest.approx(shares[: len(largest)])
    assert len({state.name for state in content.automaton.largest}) == len(largest)


def test_content_of_advice_matches_plan_and_counts() -> None:
    found = model()
    rdp, plan, offsets = found.rdp, found.required_plan(), found.rdp.offsets()
    worth = action_values(rdp, plan, rdp.own_tally())
    advice = content_of(found, None, "").advice
    assert advice
    for row in advice:
        t, place = map(int, row.state.split("."))
        q = int(offsets[t]) + place
        assert row.steps == [t, t] and row.action == rdp.alphabet.actions[plan.actions[q]]
        taken = {a: sum(k for *_, k in rdp.outputs(q, a)) for a in rdp.alphabet.actions}
        assert row.logged == pytest.approx({a: k / sum(taken.values()) for a, k in taken.items() if k})
        assert row.visits == pytest.approx(plan.occupancy(rdp)[q])
        logged = sum(row.logged.get(a, 0) * worth[q, i] for i, a in enumerate(rdp.alphabet.actions))
        assert row.gain == pytest.approx(worth[q, plan.actions[q]] - logged)
    assert [-row.visits * row.gain for row in advice] == sorted(-row.visits * row.gain for row in advice)


def test_content_of_orders_uncertain_actions_by_effect() -> None:
    found = content_of(model(), None, "").untried
    matters = [row.matter for row in found if row.matter is not None]
    assert found and len(matters) == len(found) and min(matters) > 0 and all(row.error > 0 for row in found)
    assert matters == sorted(matters, reverse=True)
    for row in found:
        assert row.matter is not None
        hope = row.error * 2 + (0 if row.chosen or row.worth is None else row.worth - row.planned)
        assert row.matter <= hope * (1 + 1e-9)  # an episode visits a state at most once


def test_content_of_lists_undecided_merges_of_the_model() -> None:
    episodes = TMaze().simulate(10_000, 5, np.random.default_rng(1))
    found = Model.of(regorl(episodes), episodes)
    content, right = content_of(found, None, ""), found.undecided()
    assert right and content.undecided and len(content.undecided) + content.undecided_left_out == len(right)
    assert {content.undecided[0].one, content.undecided[0].other} == {"(0, 1, 1)", "(1, 1, 0)"}
    page = Parsed(report_of(found)).text
    assert f"{right[0].episodes:,.0f}" in page and describe_witness(right[0].witness, found.rdp.alphabet) in page


@pytest.mark.parametrize(
    ("verdict", "box"),
    [("Follow the plan", "good"), ("No difference", "even"), ("Keep the logged behaviour", "wait")],
)
def test_report_of_shows_verdict_of_the_plan(verdict: str, box: str) -> None:
    """Actions have no effect in the other logs, so there is no reason to follow a plan."""
    noise = 20 if box == "wait" else 300
    episodes = log() if box == "good" else coins(np.random.default_rng(1), 3, noise)
    found = Model.of(regorl(episodes), episodes)
    assert found.about.plan is not None and content_of(found, None, "").verdict == verdict
    assert f'class="verdict {box}"' in report_of(found)
    forecast = forecast_of(found.about)
    assert forecast is not None and plan_sentence(found.about).startswith(str(forecast.verdict))
    assert str(forecast.verdict) in Parsed(report_of(found)).text


@pytest.mark.parametrize("verdict", ["follow", "no difference", "keep"])
def test_report_of_heading_of_changes_fits_the_verdict(verdict: str) -> None:
    found = model()
    assert found.about.plan is not None
    plan = msgspec.structs.replace(found.about.plan, verdict=verdict)
    about = msgspec.structs.replace(found.about, plan=plan)
    page = report_of(Model(found.rdp, about, found.decisions, found.plan))
    follow = verdict == "follow"
    assert ('<h2 id="policy">What to do</h2>' in page) == follow
    assert ('<h2 id="policy">What the plan would do</h2>' in page) != follow
    assert ("The advice is not to change the logged behaviour. The plan would differ" in page) != follow


def test_report_of_shows_an_interval_of_the_plan_only_after_a_split() -> None:
    """Cross-fitting gives a lower bound instead, with its level; without it the bound has none."""
    found = model()
    plan = found.about.plan
    assert plan is not None and not plan.split and plan.lower_bound is not None
    low, high = (
        figure(plan.predicted - 1.96 * plan.predicted_error),
        figure(plan.predicted + 1.96 * plan.predicted_error),
    )
    shared = Parsed(report_of(found)).text
    assert f"(at least {figure(plan.lower_bound)} with 95 % confidence)" in shared
    assert f"{low} to {high}" not in shared
    about = msgspec.structs.replace(found.about, plan=msgspec.structs.replace(plan, judged=None))
    unjudged = Parsed(report_of(Model(found.rdp, about, found.decisions, found.plan))).text
    assert f"(at least {figure(plan.lower_bound)}, if the automaton is right)" in unjudged
    assert "which has no confidence level" in unjudged and "which has no confidence level" not in shared
    about = msgspec.structs.replace(found.about, plan=msgspec.structs.replace(plan, split=True))
    split = Parsed(report_of(Model(found.rdp, about, found.decisions, found.plan))).text
    assert f"95 % interval {low} to {high}" in split


def test_report_of_labels_values_by_first_observation() -> None:
    found = model()
    assert found.about.plan is not None and len(content_of(found, None, "").starts) > 1
    page = Parsed(report_of(found)).text
    assert "Value on the automaton by first observation" in page
    assert f"The predicted mean return, {figure(found.about.plan.predicted)}, comes from episodes" in page


def test_report_of_writes_all_percentages_alike() -> None:
    page = Parsed(re.sub("<style>.*?</style>", "", report_of(by_hand()), flags=re.S)).text
    assert "a: 75 %, b: 25 %" in page and not re.search(r"\d%", page)


def test_content_of_settings_have_the_former_name_of_the_refinement() -> None:
    settings = content_of(model(), None, "").settings
    former = " ".join(["second", "look"])
    assert settings[former] == settings["refinement"] == "yes"
    assert former not in Parsed(report_of(model())).text


def test_report_of_keeps_the_logged_behaviour_when_histories_are_too_rare() -> None:
    """The verdict is that of the plan, even if the lower bound alone is above the logged return."""
    found = model()
    plan = found.about.plan
    assert plan is not None and plan.lower_bound is not None and plan.lower_bound > plan.behaviour_value
    rare = msgspec.structs.replace(plan, verdict="keep", verdict_reasons=["too_rare"])
    kept = Model(found.rdp, msgspec.structs.replace(found.about, plan=rare), found.decisions, found.plan)
    content = content_of(kept, None, "")
    assert (content.verdict, content.verdict_code, content.verdict_reasons) == (
        "Keep the logged behaviour",
        "keep",
        ["too_rare"],
    )
    page = report_of(kept)
    assert str(PlanVerdict("keep", ("too_rare",))) in Parsed(page).text
    assert (
        'class="verdict wait"' in page and str(PlanVerdict("follow", ("better_on_held_out",))) not in Parsed(page).text
    )


def test_report_of_shows_evaluation_on_new_episodes() -> None:
    found, others = model(), TMaze(length=2).simulate(2000, 4, np.random.default_rng(2))
    judged = evaluate_off_policy(found.planned, found.required_plan(), others)
    content = content_of(found, judged, "")
    right = [judged.log, judged.doubly_robust, judged.model_based, judged.importance]
    assert [row.value for row in content.worth[2:]] == [estimate.value for estimate in right]
    assert [(row.low, row.high) for row in content.worth[2:]] == [estimate.interval() for estimate in right]
    page = Parsed(report_of(found, evaluation=judged)).text
    assert "2,000 episodes" in page and all(figure(estimate.value) in page for estimate in right)


def test_content_of_model_without_plan_has_no_advice() -> None:
    content = content_of(model("none"), None, "")
    assert content.verdict == NO_PLAN and content.advice is None and content.worth == content.untried == []
    assert all(state.action is None and state.value is None for state in content.automaton.largest)


def test_report_of_older_models_has_no_interval_of_the_log(tmp_path: Path) -> None:
    path, old = tmp_path / "a.model", tmp_path / "old.model"
    model().save(path)
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(old, "w") as archive:
        for name in whole.namelist():
            data = whole.read(name)
            if name == "header.json":
                header = json.loads(data)
                del header["plan"]["behaviour_error"]
                data = json.dumps(header).encode()
            archive.writestr(name, data)
    content = content_of(Model.load(old), None, "")
    assert (content.worth[0].low, content.worth[0].high) == (None, None)
    assert "interval unknown" in Parsed(report_of(Model.load(old))).text


def test_content_of_shows_bins_by_their_ranges() -> None:
    found = model()
    encoder = Encoder.of_features(found.encoder.features, {"bit1": Bins((0.5,))})
    about = msgspec.structs.replace(found.about, encoder=encoder.to_data())
    binned = Model(found.rdp, about, found.decisions, found.plan)
    content = content_of(binned, None, "")
    assert content.data.columns[0].values == "0: below 0.5; 1: 0.5 or more"
    assert {state.after for state in content.automaton.largest} & {"(below 0.5, 1, 1)", "(0.5 or more, 1, 0)"}
    assert "--bin bit1=0.5," in content.command


def support(n: int = 400, *, ends: bool = True) -> Model:
    """Learn a model of customers: calm ones pay when served, angry ones leave at once unless `ends` is false."""
    steps: list[list[tuple[Any, Any, float]]] = []
    for i in range(n):
        mood, topic, action = (("calm", "angry")[i % 2], ("bill", "late")[i // 2 % 2], ("serve", "wait")[i // 4 % 2])
        seen = None if ends and mood == "angry" else (mood, "same")
        paid = float(mood == "calm" and action == "serve")
        last = ("pad", None, 0.0) if seen is None else (action, None, paid)
        steps.append([(None, (mood, topic), 0.0), (action, seen, 0.0), last])
    episodes = from_values(steps)
    return Model.of(regorl(episodes), episodes)


def test_content_of_describes_states_by_common_and_varying_values() -> None:
    content = content_of(support(), None, "")
    calm = next(state for state in content.automaton.largest if state.common == "f0 = calm")
    assert calm.varies == "f1: bill 50 %, late 50 %" and calm.after in ("(calm, bill)", "(calm, late)")
    page = report_of(support())
    assert page.index("f1: bill 50 %, late 50 %") < page.index("For example: ")


def test_content_of_starts_are_states_after_first_observation() -> None:
    found = support()
    content, values, behaved = content_of(found, None, ""), found.required_plan().values, behaviour_values(found.rdp)
    first = range(1, 1 + int(found.rdp.layers[1]))
    right = sorted((values[q], behaved[q]) for q in first)
    assert np.allclose(sorted((row.plan, row.log) for row in content.starts), right)
    assert sum(row.share for row in content.starts) == pytest.approx(1)
    calm = next(row for row in content.starts if row.common == "f0 = calm")
    assert calm.log == pytest.approx(0.5) and calm.plan > 0.9 and "By first observation" in report_of(found)


def test_content_of_has_length_of_episodes() -> None:
    lasts = content_of(support(), None, "").lasts
    assert lasts is not None and lasts.most == 2
    assert [lasts.log, lasts.plan, lasts.log_whole] == pytest.approx([1.5, 1.5, 0.5])
    assert "1.5 decisions on average" in Parsed(report_of(support())).text
    assert content_of(support(ends=False), None, "").lasts is None


def test_report_of_warns_of_small_logs_and_high_predictions() -> None:
    found = model()
    plan, promise = found.about.plan, found.about.promise
    assert plan is not None and figure(plan.lower_bound) in Parsed(report_of(found)).text
    assert content_of(found, None, "").lower_bound == plan.lower_bound

    def warned(detectable: float, best: float | None) -> list[str]:
        about = msgspec.structs.replace(
            found.about,
            promise=replace(promise, detectable=detectable),
            plan=msgspec.structs.replace(plan, best_return=best),
        )
        changed = Model(found.rdp, about, found.decisions, found.plan)
        warnings = content_of(changed, None, "").warnings
        assert all(warning in Parsed(report_of(changed)).text for warning in warnings)
        assert ("Caution" in report_of(changed)) == bool(warnings)
        return warnings

    for best in (plan.best_return, plan.predicted, None):
        assert warned(0.05, best) == []
        assert len(warned(0.42, best)) == 1 and "42 percentage points" in warned(0.42, best)[0]
    assert len(warned(0.42, plan.predicted - 1)) == 2 and len(warned(0.05, plan.predicted - 1)) == 1


def test_content_of_separates_actions_never_tried() -> None:
    steps = []
    for light, action, times in ((1, "a", 300), (0, "a", 150), (0, "b", 50)):
        steps += [[(None, (light,), 0.0), (action, None, float(light == (action == "a")))]] * times
    found = Model.of(regorl(from_values(steps)), from_values(steps))
    content = content_of(found, None, "")
    assert [(row.after, row.action, row.tries, row.worth, row.matter) for row in content.never_tried] == [
        ("(1)", "b", 0, None, None)
    ]
    assert all(row.worth is not None and row.matter is not None for row in content.untried)
    assert "Never tried" in report_of(found) and "Never tried" not in report_of(by_hand())


def test_report_of_draws_no_dot_for_unavailable_estimates() -> None:
    found = model()
    judged = evaluate_off_policy(
        found.planned, found.required_plan(), TMaze(length=2).simulate(3, 4, np.random.default_rng(1))
    )
    assert not np.isfinite(judged.importance.error)
    content, page = content_of(found, judged, ""), report_of(found, evaluation=judged)
    assert content.worth[-1].value is None and "not available" in page
    intervals = page[page.index('class="intervals"') :].partition("</svg>")[0]
    known = [row for row in content.worth if row.value is not None]
    assert intervals.count("<circle") == len(known) < len(content.worth)


# The command that repeats the run


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--planner none",
        "--planner greedy",
        "--stationary",
        "--stationary --discount 0.9",
        "--stationary --strict",
        "--bound paper --delta 0.01",
        "--metric prefixes --second-look",
        "--stationary no --no-second-look",
        "--stationary no",
        "--stationary auto --confidence 0.9",
        "--family 1,1,1 --cut 0.01",
        "--split --delta 0.1",
        "--confidence 0.9 --hold-out 0.3",
        "--strength 0.1",
    ],
)
def test_command_of_learns_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    monkeypatch.chdir(tmp_path)
    write_log(log(300), "LOG.parquet")
    ok("learn", "LOG.parquet", *options.split(), "-o", "MODEL")
    first = Path("MODEL").read_bytes()
    words = command_of(Model.load("MODEL")).split()
    assert words[:3] == ["suffice", "learn", "LOG"]
    ok(*words[1:2], "LOG.parquet", *words[3:])
    assert Path("MODEL").read_bytes() == first


# The page


@every_kind
def test_report_of_has_no_scripts_and_no_external_resources(kind: str) -> None:
    source = report_of(model(kind))
    page = Parsed(source)
    assert page.names() & {"script", "link", "iframe", "img", "object", "embed", "base", "form"} == set()
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert all((attributes.get(name) or "#").startswith("#") for name in ("href", "src", "xlink:href"))
    assert "@import" not in source and not re.search(r"url\((?!#)", source)
    targets = [str(a["href"])[1:] for name, a in page.elements if name == "a"]
    assert targets and set(targets) <= {str(a.get("id")) for _, a in page.elements}


@every_kind
def test_report_of_security_policy_allows_only_its_style_sheet(kind: str) -> None:
    source = report_of(model(kind))
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', source)
    assert policy and source.index("<style") > policy.end()
    assert "default-src 'none'" in policy[1] and "unsafe" not in policy[1] and "script-src" not in policy[1]
    sheets = re.findall(r"<style[^>]*>(.*?)</style>", source, re.DOTALL)
    assert len(sheets) == 1
    digest = b64encode(hashlib.sha256(sheets[0].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy[1]
    page = Parsed(source)
    assert not any("style" in attributes for _, attributes in page.elements)  # the policy would ignore them
    drawn = {a["class"] for _, a in page.elements if (a.get("class") or "").startswith("drawn-")}
    assert drawn and all(f".{name}{{" in sheets[0] for name in drawn)


def test_page_moves_only_styles_of_tags_into_its_style_sheet() -> None:
    spoof = 'a <b style="color: red"> style="color: red"'
    made = page("", "", text(spoof), Html('<g\nstyle="fill: red" id="a"/><g style="fill: red"/><i style="x: &lt;/">'))
    assert spoof in Parsed(made.replace("<i ", "<br ")).text and made.count('class="drawn-0"') == 2
    assert "<style>.drawn-0{fill: red}\n</style>" in made


@every_kind
def test_report_of_is_accessible(kind: str) -> None:
    page = Parsed(report_of(model(kind)))
    names = [name for name, _ in page.elements]
    assert names.count("h1") == names.count("main") == 1 and names.count("table") == names.count("caption") > 0
    assert next(a for name, a in page.elements if name == "html")["lang"] == "en"
    pictures = [i for i, (name, a) in enumerate(page.elements) if name == "svg" and a.get("role") == "img"]
    assert len(pictures) == (1 if kind == "none" else 2)
    assert all(page.elements[i + 1][0] == "title" for i in pictures)


@every_kind
def test_report_of_is_deterministic(kind: str, tmp_path: Path) -> None:
    model(kind).save(tmp_path / "a.model")
    assert report_of(Model.load(tmp_path / "a.model")) == report_of(model(kind))


def test_report_of_escapes_values_of_the_log() -> None:
    found = by_hand(nasty=True)
    source = report_of(found, title=f"{NASTY} {QUOTED}\x00")
    page = Parsed(source)
    assert page.names() & {"script", "img"} == set() and NASTY in page.text and QUOTED in page.text
    assert "\x00" not in source
    encoder = msgspec.structs.replace(found.about.encoder, observations=[NASTY])
    nasty = msgspec.structs.replace(found.about, encoder=encoder, version=QUOTED, log_hash=NASTY)
    again = Parsed(report_of(Model(found.rdp, nasty, found.decisions, found.plan)))
    assert again.names() == page.names()


def test_tag_escapes_text_and_attributes() -> None:
    assert tag("p", "a<b", tag("b", "&"), class_='"x"') == '<p class="&quot;x&quot;">a&lt;b<b>&amp;</b></p>'
    assert text(Html("<i>")) == "<i>" and text("<i>") == "&lt;i&gt;"
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'


@pytest.mark.parametrize(
    ("value", "text"),
    [(4.0, "4"), (-3.34796, "−3.348"), (1234567.8, "1,235,000"), (1e-12, "0"), (0.00012345, "0.0001234")],
)
def test_figure_formats_numbers_for_people(value: float, text: str) -> None:
    assert figure(value) == text


def test_report_of_states_why_there_is_no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise SufficeError("an automaton of 5,000 states fits no page")

    with monkeypatch.context() as patch:
        patch.setattr(pictures, "draw_automaton", refuse)
        page = Parsed(report_of(model()))
        assert "No drawing: an automaton of 5,000 states fits no page." in page.text and "svg" in page.names()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "No drawing: matplotlib is not installed" in Parsed(report_of(model())).text


# On the command line


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    model().save("maze.model")
    return tmp_path


def test_report_writes_the_page(here: Path) -> None:
    printed = ok("report", "maze.model")
    assert printed.startswith("Wrote maze-report.html ") and "Next: " in printed
    assert Path("maze-report.html").read_text("utf-8") == report_of(model(), title="maze")
    ok("report", "maze.model", "-o", "b.html", "--title", "For you")
    assert Path("b.html").read_text("utf-8") == report_of(model(), title="For you")


def test_report_json_prints_the_content(here: Path) -> None:
    printed = json.loads(ok("report", "maze.model", "--json"))
    assert printed == msgspec.to_builtins(content_of(model(), None, "maze")) and not Path("maze-report.html").exists()


def test_report_with_log_shows_estimates_of_evaluate(here: Path) -> None:
    write_log(log(), "log.parquet")
    ok("learn", "log.parquet", "--hold-out", "0.3", "-o", "held.model")
    printed = json.loads(ok("report", "held.model", "--log", "log.parquet", "--json"))
    right = json.loads(ok("evaluate", "held.model", "--log", "log.parquet", "--json"))
    names = ("log", "doubly_robust", "model_based", "importance")
    assert [row["value"] for row in printed["worth"][2:]] == [right[f"{name}_value"] for name in names]
    assert [row["name"] for row in printed["worth"]] == [
        "The log",
        "The plan, predicted",
        "New episodes: the log",
        "New episodes: the plan, doubly robust",
        "New episodes: the plan, by the model",
        "New episodes: the plan, reweighted",
    ]
    ok("report", "held.model", "--log", "log.parquet")
    page = Parsed(Path("held-report.html").read_text("utf-8")).text
    assert "held-out episodes: plan, doubly robust" in page and "New episodes" not in page


def test_report_reports_mistakes_in_one_line(here: Path) -> None:
    write_log(log(), "log.parquet")
    for args, message in (
        (("maze.model", "--log", "log.parquet"), "learned from all of log.parquet"),
        (("maze.model", "--horizon", "3"), "--horizon 3 applies to logs only"),
        (("maze.model", "-o", "maze.model"), "this would overwrite an input file"),
        (("none.model",), "there is no such file"),
    ):
        ran = suffice("report", *args)
        assert ran.code == 2 and message in ran.err and ran.err.count("\n") == 1
    assert not list(here.glob("*.html"))
