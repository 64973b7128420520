"""Drawings of automata and `suffice draw`: brief labels, routes of arrows, combined states, and file formats."""

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
from suffice.models.model_data import ended_states
from suffice.planning.plan import fold_plan
from suffice.planning.planner import plan_on
from suffice.planning.regorl import regorl
from suffice.view.arrows import arrows_of
from suffice.view.automaton import draw_automaton
from suffice.view.brief_labels import Usage, brief_labels
from suffice.view.placing import place
from suffice.view.saving import save_picture
from suffice.view.scene import GATHERED, MOST_ARROWS, Scene, expected_visits, scene_of
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
    """Return the brief label of each arrow by source and target."""
    usage, leaving = Usage.of(rdp), {}  # type: ignore[var-annotated]
    for arrow in arrows_of(rdp):
        leaving.setdefault(arrow.source, []).append(arrow)
    return {
        (q, arrow.target): [line.text for line in lines]
        for q, arrows in leaving.items()
        for arrow, lines in zip(arrows, brief_labels(rdp, usage, q, [a.symbols for a in arrows]), strict=True)
    }


def choice(seen: list[tuple[object, ...]], ways: dict[tuple[int, int, int], int], actions: str = "EW") -> RDP:
    """Return an automaton with one decision; `ways` maps letters to the states after it, which then end."""
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
    ("seen", "ways", "expected"),
    [
        # the action determines the state: observation and usual reward are omitted
        (ROOMS, {(2, 1, 1): 0, (2, 2, 1): 0, (3, 3, 1): 1}, [["E"], ["W"]]),
        (ROOMS, {(2, 1, 1): 0, (3, 3, 2): 1, (3, 4, 1): 1}, [["E"], ["W : 0 or 2"]]),
        # one feature of the observation determines the state
        (ROOMS, {(a, o, 1): int(o > 2) for a in (2, 3) for o in (1, 2, 3, 4)}, [["→ f0=blue"], ["→ f0=red"]]),
        (ROOMS, {(a, o, 1): o % 2 for a in (2, 3) for o in (1, 2, 3, 4)}, [["→ f1=small"], ["→ f1=large"]]),
        # observations that never follow an action do not require naming it
        (ROOMS, {(2, 1, 1): 0, (2, 3, 1): 1, (3, 1, 1): 0}, [["→ blue"], ["→ red"]]),
        # both features are needed, in the order of the legend
        (ROOMS, {(a, o, 1): int(o in (1, 4)) for a in (2, 3) for o in (1, 2, 3, 4)},
         [["→ blue,small or red,large"], ["→ blue,large or red,small"]]),
        # action and observation are both needed for one of the actions
        (ROOMS, {(2, 1, 1): 0, (2, 3, 1): 1, (3, 1, 1): 1}, [["E → blue"], ["E → red", "W"]]),
        # actions that differ only in their rewards are distinguished
        ([("a",), ("b",)], {(2, 1, 1): 0, (3, 1, 0): 0}, [["E", "W : −1"]]),
        ([("a",), ("b",)], {(2, 1, 1): 0, (3, 1, 1): 0}, [["any"]]),
    ],
)  # fmt: skip
def test_brief_labels_contain_only_what_distinguishes_arrows(
    seen: list[tuple[object, ...]], ways: dict[tuple[int, int, int], int], expected: list[list[str]]
) -> None:
    written = labels(choice(seen, ways))
    assert [written[1, 2 + i] for i in range(len(expected))] == expected
    assert written[0, 1] == []  # a single arrow needs no label


@pytest.mark.parametrize("seed", range(12))
def test_brief_labels_differ_between_arrows_of_a_state(seed: int) -> None:
    rng = np.random.default_rng(seed)
    actions, values, features = int(rng.integers(1, 8)), int(rng.integers(2, 10)), int(rng.integers(1, 4))
    episodes = random_episodes(rng, actions, values, 3, 4, 3, 400, n_features=features, early_end=0.3)
    rdp = adact_h(episodes, Settings(delta=0.999)).rdp
    written = labels(rdp)
    found = Counter((q, tuple(lines)) for (q, _), lines in written.items() if lines)
    assert found and max(found.values()) == 1
    padding = rdp.symbols[:, 0] == PAD
    for (q, r), lines in written.items():  # only padding and a single first observation have no label
        assert lines or q == 0 or padding[rdp.tau[q] == r].all()


def test_brief_labels_differ_when_lines_are_cut() -> None:
    far = [(f"{'very ' * 12}far {side}",) for side in ("left", "right")]
    written = labels(choice(far, {(2, 1, 1): 0, (2, 2, 1): 1}, "E"))
    assert written[1, 2] != written[1, 3] and "far left" in written[1, 2][0]
    alone = labels(choice([("near",), far[0]], {(2, 1, 1): 0, (2, 2, 1): 1}, "E"))
    assert len(alone[1, 3][0]) == 40


@pytest.mark.parametrize("name", ["cheese", "cookie", "corridor", "maze"])
def test_place_routes_arrows_around_states(name: str) -> None:
    scene = scene_of(cycle(name), None)
    layout = scene.layout()
    placed = place(layout, scene.arrows, np.tile([0.5, 0.14], (len(scene.arrows), 1)))
    backward = [a for a in scene.arrows if layout.column[a.source] > layout.column[a.target]]
    assert backward
    for arrow, curve in zip(scene.arrows, placed.curves, strict=True):
        points = curve.at(np.linspace(0, 1, 60))
        others = np.delete(placed.states, [arrow.source, arrow.target], axis=0)
        assert np.hypot(*(points[:, None] - others[None]).transpose(2, 0, 1)).min() > placed.radius, arrow


def test_place_puts_labels_of_loops_outside_the_loop() -> None:
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
    """Assert that combined states keep all visits and arrows."""
    assert scene.visits.sum() == rdp.counts.sum() == sum(arrow.count for arrow in scene.arrows)
    assert scene.holds().sum() == rdp.n_states
    kept = scene.states != GATHERED
    assert np.array_equal(scene.node_of[scene.states[kept]], np.flatnonzero(kept))
    assert (scene.holds()[kept] == 1).all() and (scene.holds()[~kept] > 1).all()
    ends = {(int(scene.node_of[q]), int(scene.node_of[rdp.tau[q, y]])) for q, y in np.argwhere(rdp.tau != UNSEEN)}
    assert ends == {(arrow.source, arrow.target) for arrow in scene.arrows}


@pytest.mark.parametrize("most", [4, 10, 30, 60, 200])
@pytest.mark.parametrize("case", ["wide", "cheese", "long"])
def test_scene_of_keeps_visits_and_arrows_of_combined_states(case: str, most: int) -> None:
    rdp = {"wide": lambda: shuffled(30, 6), "cheese": lambda: cycle("cheese"), "long": lambda: shuffled(2, 90)}[case]()
    scene = scene_of(rdp, None if rdp.stationary else plan_on(rdp), most)
    held(scene, rdp)
    assert len(scene) == rdp.n_states if rdp.n_states <= most else len(scene) <= most
    assert scene.states[0] == 0 and scene.node_of[0] == 0
    if not rdp.stationary:
        assert scene.states[scene.node_of[-1]] == rdp.n_states - 1 and scene.over[scene.node_of[-1]]


def test_scene_of_draws_rare_states_that_the_plan_visits() -> None:
    rdp = adact_h(TMaze(length=3).simulate(20_000, 6, np.random.default_rng(0))).rdp
    plan = plan_on(rdp)
    times = expected_visits(rdp, plan)
    assert np.allclose(times, plan.occupancy(rdp))
    path = set(np.flatnonzero(times > 0.1).tolist()) - ended_states(rdp)
    assert path <= set(scene_of(rdp, plan, 24).states.tolist())
    assert not path <= set(scene_of(rdp, None, 24).states.tolist())


def test_draw_automaton_combines_thousands_of_states() -> None:
    rdp = shuffled(700, 8)
    assert rdp.n_states > 5000
    scene = scene_of(rdp, None)
    held(scene, rdp)
    assert len(scene) <= 60 and len(scene.arrows) <= MOST_ARROWS
    texts = [text.get_text() for text in draw_automaton(rdp, plan_on(rdp), brief=True).axes[0].texts]
    caption = " ".join(texts)
    some = re.search(
        r"5,602 states .* remaining states of a column \(([\d,]+) states, ([\d.]+)% of the visits", caption
    )
    assert some and "the explorer page shows all" in caption
    assert int(some[1].replace(",", "")) == sum(int(n) for n, more in pairwise(texts) if more == "more")


def test_scene_of_draws_fewer_states_when_arrows_are_many() -> None:
    n = 20  # the observation is the state, and any state may follow any
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
    assert len(scene_of(rdp, None, 60)) == n + 1  # an explicit limit is respected


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("draw") / "mab.model"
    episodes = ResetRotatingMAB().simulate(3000, 8, np.random.default_rng(0))
    Model.of(regorl(episodes, stationary=True), episodes).save(path)
    return str(path)


def test_draw_writes_every_format_with_same_bytes(model: str, tmp_path: Path) -> None:
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "dot": b"digraph"}
    for kind, begin in begins.items():
        first, second = tmp_path / f"first.{kind}", tmp_path / f"second.{kind.upper()}"
        printed = ok("draw", model, "-o", str(first))
        ok("draw", model, "-o", str(second))
        assert first.read_bytes() == second.read_bytes() and first.read_bytes().startswith(begin)
        assert not re.search(rb"[Mm]atplotlib|CreationDate|dc:date|Software", first.read_bytes())
        following = "dot -Tsvg" if kind == "dot" else f"suffice explore {model} -o mab.html"
        assert printed.startswith(f"Wrote {first}.\nNext: {following}")


def test_draw_states_in_the_caption_what_is_omitted(model: str, tmp_path: Path) -> None:
    file = tmp_path / "mab.svg"
    ok("draw", model, "-o", str(file), "--title", "A bandit & its <arms>")
    brief = " ".join(" ".join(ElementTree.parse(file).getroot().itertext()).split())  # the caption is wrapped
    assert "A bandit & its <arms>" in brief and "→ yes : 1" in brief and "any → yes" not in brief
    assert (
        "only what distinguishes the arrows of a state" in brief
        and "reward 0 unless shown" in brief
        and "orange: planned" in brief
    )
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
    assert "dashed: remaining" in gathered and "of a column" in gathered and "shows all" in gathered


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("-o a.gif", r"a\.gif: the file type is not known\. End the name in \.svg, \.png, \.pdf or \.dot"),
        ("-o picture", r"picture: the file type is not known"),
        ("-o a.svg --most 2", r"--most 2 is not a number of states from 4 to 1,000. Try --most 60"),
        ("-o a.svg --most 2000", r"--most 2000 is not a number of states from 4 to 1,000"),
        ("-o a.svg --most few", "--most few is not a whole number"),
        (
            "-o a.dot --most 9",
            r"a\.dot: a \.dot file has the whole automaton with all labels\. Leave out --labels, --full",
        ),
        ("-o nowhere/a.svg", "there is no folder nowhere"),
    ],
)
def test_draw_reports_mistakes_in_one_line(
    model: str, words: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = suffice("draw", model, *words.split())
    assert ran.code == 2 and ran.out == "" and ran.err.count("\n") == 1
    assert re.search(reason, ran.err), ran.err
    assert not list(tmp_path.iterdir())


def test_draw_writes_dot_without_matplotlib(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = suffice("draw", model, "-o", str(tmp_path / "a.svg"))
    assert ran.code == 2 and "pip install 'suffice[plots]'" in ran.err and f"Or write {tmp_path / 'a.dot'}" in ran.err
    ok("draw", model, "-o", str(tmp_path / "a.dot"))
    with pytest.raises(MissingError):
        draw_automaton(cycle("maze"))


def test_save_picture_refuses_other_formats(tmp_path: Path) -> None:
    figure = draw_automaton(cycle("maze"))
    with pytest.raises(
        SettingsError,
        match=r"a\.gif: '\.gif' is not the ending of a picture\. Use a name that ends in \.svg, \.png or \.pdf",
    ):
        save_picture(figure, tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())
