"""Layout and drawing of automata: positions of states, labels of arrows, and reproducible files."""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD, Alphabet
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.stationary.learner import learn_stationary
from suffice.models.model_data import ended_states
from suffice.planning.plan import Plan
from suffice.planning.planner import plan_on
from suffice.view.arrows import arrows_of
from suffice.view.automaton import draw_automaton
from suffice.view.curves import lead
from suffice.view.labels import label
from suffice.view.layout import Layout, lay_out
from suffice.view.placing import place
from suffice.view.saving import save_figure
from support.automata import shuffled

CASES = ["corridor", "forward", "early", "random", "wide", "cycle"]


@cache
def automaton(case: str) -> RDP:
    rng = np.random.default_rng(5)
    if case == "corridor":
        return adact_h(Corridor().simulate(10_000, 5, rng)).rdp
    if case == "forward":
        return adact_h(TMaze(actions="forward").simulate(20_000, 5, rng)).rdp
    if case == "early":  # episodes that end before the horizon
        return adact_h(TMaze(length=1).simulate(4000, 4, rng)).rdp
    if case == "cycle":
        return learn_stationary(TMaze(length=2, cue_visible=True).simulate(4000, 12, rng)).rdp
    if case == "wide":
        return shuffled(8, 5)
    return adact_h(random_episodes(rng, 3, 2, 3, 3, 3, 500, n_features=2, early_end=0.4), Settings(delta=0.9)).rdp


def links(rdp: RDP, column: np.ndarray) -> set[tuple[int, int]]:
    """Return pairs of states in adjacent columns that an arrow joins, the left one first."""
    pairs = {(arrow.source, arrow.target) for arrow in arrows_of(rdp)}
    return {(q, r) for q, r in pairs | {pair[::-1] for pair in pairs} if column[q] + 1 == column[r]}


def crossings(rdp: RDP, column: np.ndarray, row: np.ndarray) -> int:
    return sum(
        column[q] == column[p] and (row[q] - row[p]) * (row[r] - row[s]) < 0
        for (q, r), (p, s) in combinations(sorted(links(rdp, column)), 2)
    )


def texts(svg: Path) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.read_text(encoding="utf-8").replace("&gt;", ">"))


@pytest.mark.parametrize("case", CASES)
def test_lay_out_gives_every_state_its_own_place(case: str) -> None:
    rdp, layout = automaton(case), lay_out(automaton(case))
    assert len(layout.column) == len(layout.row) == len(layout.height) == rdp.n_states
    for c in range(int(layout.column.max()) + 1):
        inside = np.flatnonzero(layout.column == c)
        assert sorted(layout.row[inside]) == list(range(len(inside))) and len(inside)
        heights = layout.height[inside[np.argsort(layout.row[inside])]]
        assert (np.diff(heights) > 1 - 1e-9).all()
    assert abs(layout.height.min() + layout.height.max()) < 1e-9


@pytest.mark.parametrize("case", CASES)
def test_lay_out_uses_layers_or_distances_as_columns(case: str) -> None:
    rdp, column = automaton(case), lay_out(automaton(case)).column
    if not rdp.stationary:
        assert np.array_equal(column, rdp.layer_of())
        return
    assert column[0] == 0 and Counter(column)[0] == 1
    led = {arrow.target: [] for arrow in arrows_of(rdp)}  # type: dict[int, list[int]]
    for arrow in arrows_of(rdp):
        led[arrow.target].append(int(column[arrow.source]))
    assert all(min(sources) + 1 == column[q] for q, sources in led.items() if q)


@pytest.mark.parametrize("case", CASES)
def test_lay_out_has_no_more_crossings_than_the_order_of_numbers(case: str) -> None:
    rdp, layout = automaton(case), lay_out(automaton(case))
    assert crossings(rdp, layout.column, layout.row) <= crossings(rdp, layout.column, np.arange(rdp.n_states))


def test_lay_out_removes_most_crossings_of_a_t_maze() -> None:
    rdp = automaton("forward")
    layout = lay_out(rdp)
    assert crossings(rdp, layout.column, layout.row) <= 7 < crossings(rdp, layout.column, np.arange(rdp.n_states))


@pytest.mark.parametrize("case", CASES)
def test_lay_out_is_deterministic(case: str) -> None:
    one, other = (lay_out(automaton(case)) for _ in range(2))
    for field in Layout.__dataclass_fields__:
        assert np.array_equal(getattr(one, field), getattr(other, field))


@pytest.mark.parametrize("case", CASES)
def test_arrows_of_contains_every_transition_once(case: str) -> None:
    rdp, arrows = automaton(case), arrows_of(automaton(case))
    held = Counter((arrow.source, y, arrow.target) for arrow in arrows for y in arrow.symbols)
    assert held == Counter((int(q), int(y), int(rdp.tau[q, y])) for q, y in np.argwhere(rdp.tau != UNSEEN))
    assert len({(arrow.source, arrow.target) for arrow in arrows}) == len(arrows)
    assert sum(arrow.count for arrow in arrows) == rdp.counts.sum()


def test_ended_states_are_the_final_state_and_padded_states() -> None:
    rdp = automaton("early")
    padded = {arrow.source for arrow in arrows_of(rdp) if (rdp.symbols[list(arrow.symbols), 0] == PAD).all()}
    assert padded and ended_states(rdp) == padded | {rdp.n_states - 1}
    assert ended_states(automaton("corridor")) == {10}


def test_curve_outside_ends_at_the_given_distances() -> None:
    start, end = np.array([0.0, 0.0]), np.array([2.0, 1.0])
    for bowed in (False, True):
        points = lead(start, end, bowed).outside(0.2, 0.25).at(np.linspace(0, 1, 50))
        assert np.hypot(*(points - start).T).min() == pytest.approx(0.2, abs=0.01)
        assert np.hypot(*(points - end).T).min() == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("case", ["corridor", "forward", "early", "cycle"])
def test_place_keeps_labels_off_each_other_and_off_states(case: str) -> None:
    arrows = arrows_of(automaton(case))
    lines = [label(automaton(case), arrow) for arrow in arrows]
    sizes = np.array([(0.07 * max((len(line.text) for line in some), default=0), 0.14 * len(some)) for some in lines])
    placed = place(lay_out(automaton(case)), arrows, sizes)
    centres = np.concatenate([placed.labels, placed.states])
    halves = np.concatenate([sizes, np.full(placed.states.shape, 1.8 * placed.radius)]) / 2
    drawn = [i for i in range(len(centres)) if halves[i, 0]]
    hidden = [
        (i, j)
        for i, j in combinations(drawn, 2)
        if (np.abs(centres[i] - centres[j]) < halves[i] + halves[j] - 0.01).all()
    ]
    assert not hidden


def label_lines(rdp: RDP, q: int, target: int) -> list[str]:
    arrow = next(arrow for arrow in arrows_of(rdp) if (arrow.source, arrow.target) == (q, target))
    return [line.text for line in label(rdp, arrow)]


def outcomes(actions: str, seen: list[tuple[object, ...]], letters: list[tuple[int, int, int]]) -> RDP:
    """Return an automaton with one decision whose outcomes lead to one state, followed by one more decision."""
    features = tuple(f"f{i}" for i in range(len(seen[0])))
    alphabet = Alphabet(tuple(actions), features, tuple(seen), (-1.0, 0.0, 0.5, 2.0))  # type: ignore[arg-type]
    codes = np.array(sorted({(0, 1, 1), (2, 0, 1), *letters}))
    symbols, place = np.unique(codes[:, :2], axis=0, return_inverse=True)
    steps = [{(0, 1)}, {(a, o) for a, o, _ in letters}, {(2, 0)}]
    known = [np.array([tuple(symbol) in step for symbol in symbols.tolist()]) for step in steps]
    tau = [np.where(step, 0, UNSEEN)[None] for step in known]
    return RDP.of_layers(alphabet, codes, symbols, tau, [step[place][None].astype(np.int64) for step in known])


BITS: list[tuple[object, ...]] = [(0, 1), (1, 0), (1, 1)]
WORDS: list[tuple[object, ...]] = [(row, "door") for row in (0, 1, 2, 3)]


@pytest.mark.parametrize(
    ("actions", "seen", "letters", "lines"),
    [
        ("EW", BITS, [(2, 1, 1)], ["E → 01 : 0"]),
        ("EW", BITS, [(2, 1, 0), (3, 1, 0)], ["any → 01 : −1"]),
        ("EW", BITS, [(2, 1, 0), (3, 1, 1)], ["E → 01 : −1", "W → 01 : 0"]),
        ("ENW", BITS, [(2, 1, 1), (3, 1, 1), (4, 2, 1)], ["not W → 01 : 0", "W → 10 : 0"]),
        ("ENSW", BITS, [(2, 1, 1), (3, 1, 1), (4, 2, 1), (5, 2, 1)], ["E or N → 01 : 0", "S or W → 10 : 0"]),
        ("E", BITS, [(2, 1, 0), (2, 1, 3)], ["E → 01 : −1 or 2"]),
        ("E", BITS, [(2, 1, 1), (2, 2, 1)], ["E → 01 or 10 : 0"]),
        ("E", BITS, [(2, 0, 1), (2, 2, 1)], ["E → 10 or end : 0"]),
        ("E", WORDS, [(2, 1, 1), (2, 2, 1)], ["E → 0|1,door : 0"]),
        ("E", WORDS, [(2, o, 1) for o in (1, 2, 3, 4)], ["E → *,door : 0"]),
        ("ABCD", BITS, [(2, 1, 0), (3, 1, 1), (4, 1, 2), (5, 1, 3)], ["A → 01 : −1", "B → 01 : 0", "… 2 more"]),
    ],
)
def test_label_combines_symbols_that_differ_in_one_component(
    actions: str, seen: list[tuple[object, ...]], letters: list[tuple[int, int, int]], lines: list[str]
) -> None:
    assert label_lines(outcomes(actions, seen, letters), 1, 2) == lines


def test_label_omits_dummy_action_and_end() -> None:
    rdp = outcomes("E", BITS, [(2, 1, 1)])
    assert label_lines(rdp, 0, 1) == ["01"] and label_lines(rdp, 2, 3) == ["E : 0"]


def test_draw_automaton_writes_names_labels_and_caption(tmp_path: Path) -> None:
    rdp = automaton("corridor")
    svg, _ = save_figure(draw_automaton(rdp, plan_on(rdp), title="Corridor"), tmp_path / "corridor")
    written = texts(svg)
    assert {"Corridor", "0.0", "5.1", "6.0", "end", "t = 0", "0|1,0,clear", "0 → 0,1,enemy : 0"} <= set(written)
    assert {"1 → 1,4,clear : 1", "0 : 1", "1 : 0"} <= set(written)
    assert any("11 states" in text and "row,column,guard : reward" in text for text in written)


@pytest.mark.parametrize("case", ["corridor", "wide", "cycle"])
def test_save_figure_writes_same_bytes_for_same_automaton(case: str, tmp_path: Path) -> None:
    drawn = [[path.read_bytes() for path in save_figure(draw_automaton(automaton(case)), tmp_path / n)] for n in "ab"]
    assert drawn[0] == drawn[1] and len(drawn[0][0]) < 150_000 and len(drawn[0][1]) < 250_000


def test_save_figure_ignores_user_settings_and_writes_no_metadata(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    before = save_figure(draw_automaton(automaton("corridor")), tmp_path / "before")
    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9, "svg.fonttype": "path", "axes.xmargin": 0.4}):
        mine = dict(matplotlib.rcParams)
        after = save_figure(draw_automaton(automaton("corridor")), tmp_path / "after")
        assert dict(matplotlib.rcParams) == mine
    for one, other in zip(before, after, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert not re.search(rb"[Mm]atplotlib|dc:date|tIME|Software", one.read_bytes())
    assert "matplotlib.pyplot" not in sys.modules or sys.modules["matplotlib.pyplot"].get_fignums() == []


def test_draw_automaton_omits_labels_of_many_arrows_and_states_it() -> None:
    rdp = automaton("wide")
    bare, labelled = (
        [text.get_text() for text in figure.axes[0].texts]
        for figure in (draw_automaton(rdp, plan_on(rdp)), draw_automaton(rdp, labels=True))
    )
    assert any("arrows, not labelled" in text for text in bare) and not any("→" in text for text in bare)
    assert {"1.7", "left"} <= set(bare)
    assert any("→ $door$ : 0" in text for text in labelled)


@pytest.mark.parametrize("most", [3, 1001])
def test_draw_automaton_refuses_most_out_of_range(most: int) -> None:
    with pytest.raises(SufficeError, match=f"most={most} is not a number of states from 4 to 1,000. Try most=60"):
        draw_automaton(shuffled(300, 4), most=most)


def test_draw_automaton_refuses_plan_of_another_automaton() -> None:
    plan: Plan = plan_on(automaton("corridor"))
    with pytest.raises(SufficeError, match="plan: it has 11 states, but the automaton has"):
        draw_automaton(automaton("forward"), plan)


def test_draw_automaton_names_package_to_install_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SufficeError) as refused:
        draw_automaton(automaton("corridor"))
    assert str(refused.value) == "matplotlib is not installed. Figures need it: pip install 'suffice[plots]'"


def test_save_figure_leaves_existing_files_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = draw_automaton(automaton("corridor"))
    assert save_figure(figure, tmp_path / "v1.2") == (tmp_path / "v1.2.svg", tmp_path / "v1.2.png")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def half(path: Path, **_: object) -> None:
        Path(path).write_text("<svg")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", half)
    with pytest.raises(SufficeError, match=r"v1\.2\.svg: the file cannot be written \(No space left"):
        save_figure(figure, tmp_path / "v1.2")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(SufficeError, match="there is no folder"):
        save_figure(figure, tmp_path / "nowhere" / "picture")
