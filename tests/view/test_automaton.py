"""`suffice draw`: files of every kind, cycles that go around states, fewest words, and large automata in small."""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD, Alphabet
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.rotating_mab import ResetRotatingMAB
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import MissingError, SettingsError
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.stationary.learner import learn_stationary
from suffice.models.model import Model
from suffice.planning.plan import fold_plan
from suffice.planning.planner import plan_on
from suffice.planning.regorl import regorl
from suffice.view.arrows import arrows_of, terminated_states
from suffice.view.automaton import draw_automaton
from suffice.view.brief_labels import Usage, brief_labels
from suffice.view.placing import place
from suffice.view.saving import save_picture
from suffice.view.scene import GATHERED, MOST_ARROWS, Scene, passed, scene_of
from support.automata import shuffled
from support.cli import ok, suffice


@cache
def cycle(name: str) -> RDP:
    domain, n, horizon = {
        "cheese": (Cheese(), 4000, 6),
        "cookie": (Cookie(), 4000, 9),
        "corridor": (Corridor(), 2000, 8),
        "maze": (TMaze(length=2, cue_visible=True), 2000, 12),
    }[name]
    return learn_stationary(domain.simulate(n, horizon, np.random.default_rng(0))).rdp


def labels(rdp: RDP) -> dict[tuple[int, int], list[str]]:
    """By source and target."""
    usage, leaving = Usage.of(rdp), {}  # type: ignore[var-annotated]
    for arrow in arrows_of(rdp):
        leaving.setdefault(arrow.source, []).append(arrow)
    return {
        (q, arrow.target): [line.text for line in lines]
        for q, arrows in leaving.items()
        for arrow, lines in zip(arrows, brief_labels(rdp, usage, q, [a.symbols for a in arrows]), strict=True)
    }


def choice(seen: list[tuple[object, ...]], ways: dict[tuple[int, int, int], int], actions: str = "EW") -> RDP:
    """One decision after the first observation: letters, and the states they lead to; each then ends."""
    features = tuple(f"f{i}" for i in range(len(seen[0])))
    alphabet = Alphabet(tuple(actions), features, tuple(seen), (-1.0, 0.0, 2.0))  # type: ignore[arg-type]
    letters = np.array(sorted({(0, 1, 1), (2, 0, 1), *ways}))
    symbols, symbol = np.unique(letters[:, :2], axis=0, return_inverse=True)
    steps: list[dict[tuple[int, int, int], int]] = [{(0, 1, 1): 0}, ways, {(2, 0, 1): 0}]
    rows = [1, 1, 1 + max(ways.values())]
    tau, counts = [], []
    for step, n in zip(steps, rows, strict=True):
        met = np.array([tuple(letter) in step for letter in letters.tolist()])
        leads = np.full(len(symbols), UNSEEN)
        for letter, target in step.items():
            leads[symbol[letters.tolist().index(list(letter))]] = target
        tau.append(np.tile(leads, (n, 1)))
        counts.append(np.tile(met.astype(np.int64), (n, 1)))
    return RDP.of_layers(alphabet, letters, symbols, tau, counts)


ROOMS: list[tuple[object, ...]] = [("blue", "large"), ("blue", "small"), ("red", "large"), ("red", "small")]


@pytest.mark.parametrize(
    ("seen", "ways", "said"),
    [
        # the action decides: what is seen goes without saying, and so does the usual reward
        (ROOMS, {(2, 1, 1): 0, (2, 2, 1): 0, (3, 3, 1): 1}, [["E"], ["W"]]),
        (ROOMS, {(2, 1, 1): 0, (3, 3, 2): 1, (3, 4, 1): 1}, [["E"], ["W : 0 or 2"]]),
        # the observation decides, by one of two features
        (ROOMS, {(a, o, 1): int(o > 2) for a in (2, 3) for o in (1, 2, 3, 4)}, [["→ f0=blue"], ["→ f0=red"]]),
        (ROOMS, {(a, o, 1): o % 2 for a in (2, 3) for o in (1, 2, 3, 4)}, [["→ f1=small"], ["→ f1=large"]]),
        # what was never seen after an action is no reason to name actions
        (ROOMS, {(2, 1, 1): 0, (2, 3, 1): 1, (3, 1, 1): 0}, [["→ blue"], ["→ red"]]),
        # both features are needed: in their order, as the legend says
        (ROOMS, {(a, o, 1): int(o in (1, 4)) for a in (2, 3) for o in (1, 2, 3, 4)},
         [["→ blue,small or red,large"], ["→ blue,large or red,small"]]),
        # both decide together, for one of the actions
        (ROOMS, {(2, 1, 1): 0, (2, 3, 1): 1, (3, 1, 1): 1}, [["E → blue"], ["E → red", "W"]]),
        # rewards tell actions apart even if nothing else does
        ([("a",), ("b",)], {(2, 1, 1): 0, (3, 1, 0): 0}, [["E", "W : −1"]]),
        ([("a",), ("b",)], {(2, 1, 1): 0, (3, 1, 1): 0}, [["any"]]),
    ],
)  # fmt: skip
def test_labels_say_only_what_tells_arrows_apart(
    seen: list[tuple[object, ...]], ways: dict[tuple[int, int, int], int], said: list[list[str]]
) -> None:
    written = labels(choice(seen, ways))
    assert [written[1, 2 + i] for i in range(len(said))] == said
    assert written[0, 1] == []  # there is no other way


@pytest.mark.parametrize("seed", range(12))
def test_no_two_arrows_out_of_a_state_read_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    actions, values, features = int(rng.integers(1, 8)), int(rng.integers(2, 10)), int(rng.integers(1, 4))
    episodes = random_episodes(rng, actions, values, 3, 4, 3, 400, n_features=features, early_end=0.3)
    rdp = adact_h(episodes, Settings(delta=0.999)).rdp
    written = labels(rdp)
    told = Counter((q, tuple(lines)) for (q, _), lines in written.items() if lines)
    assert told and max(told.values()) == 1
    padding = rdp.symbols[:, 0] == PAD
    for (q, r), lines in written.items():  # only padding, or what has no alternative at the start, says nothing
        assert lines or q == 0 or padding[rdp.tau[q] == r].all()


def test_words_too_long_for_a_line_still_differ() -> None:
    far = [(f"{'very ' * 12}far {side}",) for side in ("left", "right")]
    written = labels(choice(far, {(2, 1, 1): 0, (2, 2, 1): 1}, "E"))
    assert written[1, 2] != written[1, 3] and "far left" in written[1, 2][0]
    alone = labels(choice([("near",), far[0]], {(2, 1, 1): 0, (2, 2, 1): 1}, "E"))
    assert len(alone[1, 3][0]) == 40


@pytest.mark.parametrize("name", ["cheese", "cookie", "corridor", "maze"])
def test_arrows_lead_around_states(name: str) -> None:
    scene = scene_of(cycle(name), None)
    layout = scene.layout()
    placed = place(layout, scene.arrows, np.tile([0.5, 0.14], (len(scene.arrows), 1)))
    backward = [a for a in scene.arrows if layout.column[a.source] > layout.column[a.target]]
    assert backward
    for arrow, curve in zip(scene.arrows, placed.curves, strict=True):
        points = curve.at(np.linspace(0, 1, 60))
        others = np.delete(placed.states, [arrow.source, arrow.target], axis=0)
        assert np.hypot(*(points[:, None] - others[None]).transpose(2, 0, 1)).min() > placed.radius, arrow


def test_loops_are_whole_and_their_labels_beyond_them() -> None:
    scene = scene_of(cycle("maze"), None)
    sizes = np.tile([0.5, 0.14], (len(scene.arrows), 1))
    placed = place(scene.layout(), scene.arrows, sizes)
    loops = [i for i, arrow in enumerate(scene.arrows) if arrow.source == arrow.target]
    assert loops
    for i in loops:
        points = placed.curves[i].at(np.linspace(0, 1, 60))
        inside = np.all(np.abs(points - placed.labels[i]) < sizes[i] / 2, axis=1)
        assert not inside.any()


def held(scene: Scene, rdp: RDP) -> None:
    """Nothing is lost but detail."""
    assert scene.visits.sum() == rdp.counts.sum() == sum(arrow.count for arrow in scene.arrows)
    assert scene.holds().sum() == rdp.n_states
    kept = scene.states != GATHERED
    assert np.array_equal(scene.node_of[scene.states[kept]], np.flatnonzero(kept))
    assert (scene.holds()[kept] == 1).all() and (scene.holds()[~kept] > 1).all()
    ends = {(int(scene.node_of[q]), int(scene.node_of[rdp.tau[q, y]])) for q, y in np.argwhere(rdp.tau != UNSEEN)}
    assert ends == {(arrow.source, arrow.target) for arrow in scene.arrows}


@pytest.mark.parametrize("most", [4, 10, 30, 60, 200])
@pytest.mark.parametrize("case", ["wide", "cheese", "long"])
def test_what_is_gathered_keeps_its_visits_and_arrows(case: str, most: int) -> None:
    rdp = {"wide": lambda: shuffled(30, 6), "cheese": lambda: cycle("cheese"), "long": lambda: shuffled(2, 90)}[case]()
    scene = scene_of(rdp, None if rdp.stationary else plan_on(rdp), most)
    held(scene, rdp)
    assert len(scene) == rdp.n_states if rdp.n_states <= most else len(scene) <= most
    assert scene.states[0] == 0 and scene.node_of[0] == 0
    if not rdp.stationary:
        assert scene.states[scene.node_of[-1]] == rdp.n_states - 1 and scene.over[scene.node_of[-1]]


def test_what_the_plan_passes_is_drawn_however_rare() -> None:
    rdp = adact_h(TMaze(length=3).simulate(20_000, 6, np.random.default_rng(0))).rdp
    plan = plan_on(rdp)
    times = passed(rdp, plan)
    assert np.allclose(times, plan.occupancy(rdp))
    path = set(np.flatnonzero(times > 0.1).tolist()) - terminated_states(rdp)
    assert path <= set(scene_of(rdp, plan, 24).states.tolist())
    assert not path <= set(scene_of(rdp, None, 24).states.tolist())


def test_thousands_of_states_fit_a_page() -> None:
    rdp = shuffled(700, 8)
    assert rdp.n_states > 5000
    scene = scene_of(rdp, None)
    held(scene, rdp)
    assert len(scene) <= 60 and len(scene.arrows) <= MOST_ARROWS
    texts = [text.get_text() for text in draw_automaton(rdp, plan_on(rdp), brief=True).axes[0].texts]
    caption = " ".join(texts)
    some = re.search(r"5,602 states .* the rest of a column \(([\d,]+) of them, with ([\d.]+)% of the visits", caption)
    assert some and "suffice explore" in caption
    assert int(some[1].replace(",", "")) == sum(int(n) for n, more in pairwise(texts) if more == "more")


def test_many_arrows_are_followed_among_fewer_states() -> None:
    n = 20  # what is seen is the state, and any may follow any
    alphabet = Alphabet(("go",), ("seen",), tuple((i,) for i in range(n)), (0.0,))
    letters = np.array([(a, o, 0) for a in (0, 2) for o in range(1, n + 1)])
    tau = np.tile(letters[:, 1], (n + 1, 1))
    tau[0, n:] = tau[1:, :n] = UNSEEN
    counts = (tau != UNSEEN) * np.arange(n + 1, 0, -1)[:, None]
    rdp = RDP(alphabet, letters, letters[:, :2], np.array([n + 1]), tau, counts, 9)
    assert len(arrows_of(rdp)) > MOST_ARROWS
    scene = scene_of(rdp, None)
    held(scene, rdp)
    assert len(scene.arrows) <= MOST_ARROWS and 4 < len(scene) < n
    assert len(scene_of(rdp, None, 60)) == n + 1  # if that is what you ask for


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("draw") / "mab.model"
    episodes = ResetRotatingMAB().simulate(3000, 8, np.random.default_rng(0))
    Model.of(regorl(episodes, stationary=True), episodes).save(path)
    return str(path)


def test_every_kind_of_file_is_written_and_always_the_same(model: str, tmp_path: Path) -> None:
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "dot": b"digraph"}
    for kind, begin in begins.items():
        first, second = tmp_path / f"first.{kind}", tmp_path / f"second.{kind.upper()}"
        said = ok("draw", model, "-o", str(first))
        ok("draw", model, "-o", str(second))
        assert first.read_bytes() == second.read_bytes() and first.read_bytes().startswith(begin)
        assert not re.search(rb"[Mm]atplotlib|CreationDate|dc:date|Software", first.read_bytes())
        following = "dot -Tsvg" if kind == "dot" else f"suffice explore {model} -o mab.html"
        assert said.startswith(f"Wrote {first}.\nNext: {following}")


def test_the_picture_says_what_it_leaves_out(model: str, tmp_path: Path) -> None:
    file = tmp_path / "mab.svg"
    ok("draw", model, "-o", str(file), "--title", "A bandit & its <arms>")
    brief = " ".join(" ".join(ElementTree.parse(file).getroot().itertext()).split())  # the caption is wrapped
    assert "A bandit & its <arms>" in brief and "→ yes : 1" in brief and "any → yes" not in brief
    assert "only what tells them apart" in brief and "reward 0 unless said" in brief and "orange: planned" in brief
    loaded = Model.load(model)
    assert loaded.plan is not None
    plan = fold_plan(loaded.rdp, loaded.plan)
    assert f"{min(plan.values):.3g} to {max(plan.values):.3g}" in brief
    ok("draw", model, "-o", str(file), "--full")
    assert "any → yes : 1" in file.read_text(encoding="utf-8").replace("&gt;", ">")
    ok("draw", model, "-o", str(file), "--no-labels")
    assert "labelled" in file.read_text(encoding="utf-8") and "→ yes" not in file.read_text(encoding="utf-8")
    ok("draw", model, "-o", str(file), "--most", "4")
    gathered = " ".join(" ".join(ElementTree.parse(file).getroot().itertext()).split())
    assert "dashed: the rest of" in gathered and "shows all" in gathered


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("-o a.gif", r"a\.gif: end it in \.svg, \.png, \.pdf or \.dot"),
        ("-o picture", r"picture: end it in \.svg"),
        ("-o a.svg --most 2", r"from 4 to 1,000 states, not 2; try 60"),
        ("-o a.svg --most 2000", r"from 4 to 1,000 states, not 2,000"),
        ("-o a.svg --most few", "needs a whole number"),
        ("-o a.dot --most 9", "leave the other options out"),
        ("-o nowhere/a.svg", "there is no folder nowhere"),
    ],
)
def test_mistakes_are_one_clear_line(
    model: str, words: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = suffice("draw", model, *words.split())
    assert ran.code == 2 and ran.out == "" and ran.err.count("\n") == 1
    assert re.search(reason, ran.err), ran.err
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_there_is_dot(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = suffice("draw", model, "-o", str(tmp_path / "a.svg"))
    assert ran.code == 2 and "pip install 'suffice[plots]'" in ran.err and f"{tmp_path / 'a.dot'} instead" in ran.err
    ok("draw", model, "-o", str(tmp_path / "a.dot"))
    with pytest.raises(MissingError):
        draw_automaton(cycle("maze"))


def test_pictures_of_other_kinds_are_refused(tmp_path: Path) -> None:
    figure = draw_automaton(cycle("maze"))
    with pytest.raises(SettingsError, match=r"\.gif; end it in \.svg, \.png, \.pdf"):
        save_picture(figure, tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())
