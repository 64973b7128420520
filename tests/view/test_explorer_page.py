"""The explorer's page shows the numbers of the model, and contents of a log cannot run in it."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from suffice.automata.compare import compare
from suffice.automata.describe import describe_witness
from suffice.automata.histories import show
from suffice.automata.rdp import BEHAVE, UNSEEN
from suffice.automata.state_summary import arrivals
from suffice.data.alphabet import PAD
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.encoder import Encoder
from suffice.data.logs.writing import write_log
from suffice.kernels.comparing import FISHER
from suffice.learning.borderline import borderline_merges
from suffice.models.explanations import reasons
from suffice.models.model import Model
from suffice.planning.backward_induction import behaviour_values
from suffice.view.arrows import arrows_of
from suffice.view.explorer.comparison import comparison_data
from suffice.view.explorer.data import model_data
from suffice.view.explorer.page import PROGRAM, page_of
from suffice.view.explorer.places import _breadth, _stretched
from suffice.view.explorer.replays import LOGGED, PLANNED, choose, replay_data
from suffice.view.layout import _exchanged, _neighbours, crossings, lay_out
from support.cli import ok, suffice
from support.explorer_models import NASTY, cycle, maze, maze_log, nasty
from support.large_models import large_model

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

MODELS: dict[str, Callable[[], Model]] = {
    "maze": maze,
    "few episodes": lambda: maze(500),
    "cycle": cycle,
    "discounted": lambda: cycle(0.9),
    "discount 0": lambda: cycle(0.0),
    "hostile": nasty,
    "large": lambda: large_model(maze(), 10, 30),
}


@pytest.fixture
def model(case: str) -> Model:
    return MODELS[case]()


every_model = pytest.mark.parametrize("case", MODELS)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


# Data of the page


@every_model
def test_model_data_events_are_the_counts_of_the_automaton(model: Model) -> None:
    rdp, events = model.rdp, model_data(model, "")["events"]
    rewards = {f"{reward:.6g}": r for r, reward in enumerate(rdp.alphabet.rewards)}
    letters = {tuple(letter): x for x, letter in enumerate(rdp.letters.tolist())}
    counts = np.zeros_like(rdp.counts)
    for q in range(rdp.n_states):
        for i in range(events["begin"][q], events["begin"][q + 1]):
            y = events["symbol"][i]
            counts[q, letters[*rdp.symbols[y].tolist(), rewards[f"{events['reward'][i]:.6g}"]]] += events["count"][i]
            assert events["target"][i] == rdp.tau[q, y] != UNSEEN
    assert np.array_equal(counts, rdp.counts)


@every_model
def test_model_data_arrows_are_those_of_the_automaton(model: Model) -> None:
    arrows = model_data(model, "")["arrows"]
    shown = list(zip(*(arrows[name] for name in ("source", "target", "symbols", "count")), strict=True))
    assert shown == [(arrow.source, arrow.target, arrow.symbols, arrow.count) for arrow in arrows_of(model.rdp)]


@every_model
def test_model_data_typical_histories_lead_to_their_states(model: Model) -> None:
    states, rdp = model_data(model, "")["states"], model.rdp
    for q, history in enumerate(rdp.typical_histories()):
        way, at = [], q
        while states["before"][at] >= 0:
            way.insert(0, rdp.symbol(states["by"][at]))
            at = states["before"][at]
        assert tuple(way) == history


@every_model
def test_model_data_value_of_planned_action_is_value_of_state(model: Model) -> None:
    data = model_data(model, "")
    states, choices = data["states"], data["choices"]
    planned = [q for q, action in enumerate(states["planned"]) if action != BEHAVE]
    for q in planned:
        here = slice(*choices["begin"][q : q + 2])
        worth = dict(zip(choices["action"][here], choices["worth"][here], strict=True))
        assert worth[states["planned"][q]] == pytest.approx(states["value"][q], abs=1e-4)


def test_model_data_values_are_those_of_plan_and_log() -> None:
    model, states = maze(), model_data(maze(), "")["states"]
    plan, about = model.required_plan(), model.about.plan
    assert about is not None
    assert states["value"] == pytest.approx(plan.values, rel=1e-5)
    assert states["behaviour"][0] == pytest.approx(about.behaviour_value, rel=1e-5)
    assert [None if a == BEHAVE else a - PAD - 1 for a in states["planned"]] == [
        None if a == BEHAVE else a for a in plan.actions.tolist()
    ]


def test_model_data_of_stationary_model_has_values_by_step() -> None:
    model, at = cycle(), model_data(cycle(), "")["at_steps"]
    layers, stands = model.rdp.unroll()
    assert at["state"] == stands[:-1].tolist() and at["step"] == layers.layer_of()[:-1].tolist()
    assert at["value"] == pytest.approx(model.required_plan().values[:-1], rel=1e-5)
    assert model_data(maze(), "")["at_steps"] is None and model_data(cycle(0.9), "")["at_steps"] is None


def test_behaviour_values_satisfy_the_discounted_bellman_equation() -> None:
    rdp, gamma = cycle().rdp, 0.9
    values = behaviour_values(rdp, gamma)
    of_letter, rewards = rdp.symbol_of_letter(), np.array(rdp.alphabet.rewards)[rdp.letters[:, 2]]
    for q in range(rdp.n_states):
        gains = rewards + gamma * values[rdp.tau[q, of_letter]]
        assert values[q] == pytest.approx(rdp.counts[q] @ gains / rdp.counts[q].sum(), abs=1e-6)


@every_model
def test_model_data_contains_every_reason(model: Model) -> None:
    data = model_data(model, "")
    shown, texts = data["reasons"], data["texts"]
    for q, some in enumerate(reasons(model.rdp, model.decisions, 4)):
        here = range(shown["begin"][q], shown["begin"][q + 1])
        assert [(shown["other"][i], texts[shown["text"][i]], bool(shown["learned"][i])) for i in here] == [
            (reason.other, describe_witness(reason.witness, model.rdp.alphabet), reason.learned) for reason in some
        ]
        assert [texts[shown["first"][i]] for i in here] == [show(r.first) if r.first else "" for r in some]


def test_model_data_lists_undecided_merges_at_their_states() -> None:
    model = maze(5000)
    found, data = borderline_merges(model.rdp, model.decisions, model.about.episodes, FISHER), model_data(model, "")
    shown = zip(data["doubts"]["state"], data["doubts"]["candidate"], strict=True)
    assert found
    assert sorted((model.rdp.run(merge.histories[0]), show(merge.histories[0])) for merge in found) == sorted(
        (q, data["texts"][text]) for q, text in shown
    )


@every_model
def test_model_data_describes_states_by_arrivals(model: Model) -> None:
    data, right = model_data(model, ""), arrivals(model.rdp)
    for name in ("common", "varies"):
        assert [data["texts"][i] for i in data["states"][name]] == [getattr(each, name) for each in right]


def test_page_of_shows_bins_by_their_ranges() -> None:
    """Ranges are shown on the map, in distinguishing events, and in logged and simulated replays."""
    encoder = Encoder.of_features(maze().encoder.features, {"bit1": Bins((0.5,))})
    about = msgspec.structs.replace(maze().about, encoder=encoder.to_data())
    for log in (None, maze_log()):
        page = page_of(Model(maze().rdp, about, maze().decisions, maze().plan), episodes=log)
        data = data_of(page)
        model, seen = data["models"][0], {o for replay in data["replays"] for o in replay["observation"] if o}
        texts = {*filter(None, model["observations"]), *seen}
        assert texts and all(text.startswith(("(below 0.5, ", "(0.5 or more, ")) for text in texts)
        assert not any("(0, 1, 1)" in text or "(1, 1, 0)" in text for text in model["texts"])
        assert all(y >= 0 for replay in data["replays"] for y in replay["symbols"][0])


def test_stretched_layout_increases_height_of_wide_maps() -> None:
    """The distance of rows grows, unless steep arrows would then widen the map."""
    heights = []
    for each in (maze(), cycle(), nasty()):
        arrows, layout = arrows_of(each.rdp), lay_out(each.rdp)
        for wide in (0.0, 60.0, 300.0):
            sizes = np.tile([wide, 16.0 * bool(wide)], (len(arrows), 1))
            before, after = (_breadth(some, arrows, sizes) for some in (layout, _stretched(layout, arrows, sizes)))
            assert after[0] <= 1.05 * before[0] + 1e-9 and after[1] >= before[1] - 1e-9
            assert after[1] == pytest.approx(before[1]) or after[0] >= 1.8 * after[1]
            heights.append(after[1] / max(before[1], 1e-9))
    assert max(heights) > 1.3


@every_model
def test_model_data_places_states_without_overlap(model: Model) -> None:
    states = model_data(model, "")["states"]
    places = np.array([states["x"], states["y"]]).T
    apart = np.hypot(*np.moveaxis(places[:, None] - places, 2, 0)) + 1e6 * np.eye(len(places))
    assert apart.min() > 2 * 24  # the radius of geometry.js


def test_exchanged_columns_have_no_improving_exchange() -> None:
    rdp = large_model(maze(), 6, 9).rdp
    sources, symbols = np.nonzero(rdp.tau != UNSEEN)
    before, after = _neighbours(np.stack([sources, rdp.tau[sources, symbols]], axis=1), rdp.layer_of())
    columns = [np.flatnonzero(rdp.layer_of() == c).tolist() for c in range(len(rdp.layers))]
    settled = _exchanged(columns, before, after, [False] * rdp.n_states)
    fewest = crossings(settled, after)
    assert fewest < crossings(columns, after)
    for c, states in enumerate(settled):
        for i in range(len(states) - 1):
            tried = [*states[:i], states[i + 1], states[i], *states[i + 2 :]]
            assert crossings([*settled[:c], tried, *settled[c + 1 :]], after) >= fewest


# Episodes


def test_replay_data_contains_logged_episodes_unchanged() -> None:
    model, log = maze(), maze_log()
    replays = [replay for replay in replay_data([model], log, 7) if replay["kind"] == LOGGED]
    assert len(replays) == 7
    states = model.rdp.run_all(log)
    for replay in replays:
        q = 0
        for t, y in enumerate(replay["symbols"][0]):
            q = int(model.rdp.tau[q, y])
            assert q == states[t + 1, replay["number"] - 1]
    visited = {q for replay in replays for q in states[:, replay["number"] - 1].tolist()}
    assert len(visited) > 0.9 * model.rdp.n_states


def test_choose_prefers_episodes_with_new_states() -> None:
    rdp, log = maze().rdp, maze_log()
    states, covered = rdp.run_all(log), set[int]()
    for column in choose(rdp, log, 5):
        gains = [len(set(states[:, i].tolist()) - covered - {UNSEEN}) for i in (column, *range(0, log.n, 500))]
        assert gains[0] == max(gains)
        covered |= set(states[:, column].tolist())


@pytest.mark.parametrize("case", ["maze", "few episodes", "cycle", "hostile"])
def test_replay_data_planned_episodes_follow_the_plan(model: Model) -> None:
    layers, plan = model.planned, model.required_plan()
    replays = [replay for replay in replay_data([model], None, 20) if replay["kind"] == PLANNED]
    assert replays
    for replay in replays:
        q = 0
        for y in replay["symbols"][0]:
            chosen = plan.actions[q]
            assert chosen == BEHAVE or layers.symbols[y, 0] == chosen + PAD + 1
            q = int(layers.tau[q, y])
            assert q != UNSEEN


def test_replay_data_marks_unknown_symbols() -> None:
    replays = replay_data([nasty(), maze()], maze_log(), 2)
    logged = [replay for replay in replays if replay["kind"] == LOGGED]
    assert all(set(replay["symbols"][0]) == {-1} and -1 not in replay["symbols"][1] for replay in logged)


# Two models


def test_comparison_data_pairs_a_model_with_itself() -> None:
    found = comparison_data(maze().rdp, maze().rdp)
    assert found["equal"] and found["first"] == found["second"] == list(range(maze().rdp.n_states))


def test_comparison_data_pairs_states_with_a_common_history() -> None:
    large, small = maze().rdp, maze(500).rdp
    found = comparison_data(large, small)
    difference = compare(large, small)
    assert difference is not None and found["history"] == show(difference.history)
    pairs = set(zip(found["first"], found["second"], strict=True))
    states = large.run_all(maze_log()), small.run_all(maze_log())
    together = {(p, q) for p, q in zip(*(s.ravel().tolist() for s in states), strict=True) if UNSEEN not in (p, q)}
    assert together <= pairs
    assert len({p for p, _ in pairs}) <= large.n_states and len(pairs) > small.n_states


# The page


def test_page_of_is_deterministic_for_a_model() -> None:
    assert page_of(maze(), episodes=maze_log(), title="a") == page_of(maze(), episodes=maze_log(), title="a")


def test_page_of_escapes_contents_of_the_log() -> None:
    page = page_of(nasty(), other=nasty(), title=NASTY[0], other_title=NASTY[1])
    raw = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert raw and not set("<>&\u2028\u2029") & set(raw[1])
    model = data_of(page)["models"][0]
    assert set(NASTY[:2]) < set(model["actions"]) and model["title"] == NASTY[0]
    assert {f"({text}, &amp;)" for text in NASTY} < set(model["observations"])
    outside = page.replace(raw[1], "")
    assert not any(text in outside for text in NASTY)
    title = re.search(r"<title>(.*?) · suffice</title>", outside)
    assert title and unescape(title[1]) == f"{NASTY[0]} and {NASTY[1]}"


def test_page_of_security_policy_allows_only_its_program() -> None:
    page = page_of(maze())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy and "default-src 'none'" in policy[1] and "unsafe" not in policy[1]
    for kind, tag in (("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>")):
        parts = re.findall(tag, page, re.DOTALL)
        assert len(parts) == 1
        digest = b64encode(hashlib.sha256(parts[0].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy[1]
    assert not re.search(r"\bsrc=|url\(|@import|https?://(?!www\.w3\.org/2000/svg)|innerHTML|eval\(", page)


def test_page_of_contains_every_script_file() -> None:
    names = [entry.name for entry in files("suffice.view.explorer").iterdir() if entry.name.endswith(".js")]
    assert sorted(names) == sorted(f"{name}.js" for name in PROGRAM)


def test_page_of_probabilities_of_an_action_add_up() -> None:
    for model in data_of(page_of(maze(), other=cycle()))["models"]:
        events, sums = model["events"], defaultdict[tuple[int, int], float](float)
        times = defaultdict[tuple[int, int], int](int)
        rows = [
            ((q, model["symbols"]["action"][events["symbol"][i]]), events["count"][i])
            for q in range(len(model["states"]["x"]))
            for i in range(events["begin"][q], events["begin"][q + 1])
        ]
        for key, count in rows:
            times[key] += count
        for key, count in rows:
            sums[key] += count / times[key]
        assert all(total == pytest.approx(1) for total in sums.values())


# The command


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    maze().save(folder / "maze.model")
    maze(500).save(folder / "small.model")
    write_log(maze_log(200), folder / "log.parquet")
    return folder


def test_explore_writes_the_page(here: Path) -> None:
    ran = ok(
        "explore", "maze.model", "--log", "log.parquet", "--compare", "small.model", "--episodes", "3", "-o", "a.html"
    )
    assert (here / "a.html").resolve().as_uri() in ran and "Next:" in ran
    data = data_of((here / "a.html").read_text(encoding="utf-8"))
    assert [model["title"] for model in data["models"]] == ["maze.model", "small.model"]
    assert [replay["kind"] for replay in data["replays"]].count(LOGGED) == 3


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--episodes", "0"), "--episodes"),
        (("--horizon", "3"), "--log"),
        (("--compare", "none.model"), "none.model"),
        (("-o", "maze.model"), "maze.model"),
    ],
)
def test_explore_reports_mistakes_in_one_line(here: Path, options: tuple[str, ...], named: str) -> None:
    output = () if "-o" in options else ("-o", "a.html")
    ran = suffice("explore", "maze.model", *options, *output)
    assert ran.code == 2 and named in ran.err and len(ran.err.splitlines()) == 1
    assert not (here / "a.html").exists()
