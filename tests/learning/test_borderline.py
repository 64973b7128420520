"""Doubts: which merges are undecided, between which histories, and how many episodes would decide them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from suffice.automata.describe import describe_witness
from suffice.data.logs.writing import write_log
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.evidence.bounds import BOUNDS, PAPER
from suffice.evidence.events import Last, RewardIs, Witness
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.borderline import BORDERLINE_SHARE, BorderlineMerge, borderline_merges
from suffice.learning.merging import Decision, Placement
from suffice.learning.refinement import refine
from suffice.models.model import Model
from suffice.planning.regorl import Solution, regorl
from support.cli import ok

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

CUES = {((None, (0, 1, 1)),), ((None, (1, 1, 0)),)}


@cache
def t_maze(n: int, seed: int = 1) -> Solution:
    return regorl(TMaze().simulate(n, 5, np.random.default_rng(seed)))


def doubts_of(solution: Solution) -> list[BorderlineMerge]:
    rdp = solution.learned.rdp
    return borderline_merges(rdp, solution.learned.decisions, int(rdp.counts[0].sum()), 1)


WITNESS = Witness(Last(RewardIs(1)), 3, 4, 1, 4)


# In the T-maze


def test_too_few_episodes_leave_the_cue_undecided() -> None:
    """With 10,000 both cues count as one; with two to four times as many they would not."""
    assert t_maze(10_000).learned.rdp.layers[1] == 1
    (doubt,) = [d for d in doubts_of(t_maze(10_000)) if d.layer == 1]
    assert set(doubt.histories) == CUES
    assert 12_000 <= doubt.episodes <= 40_000
    told = describe_witness(doubt.witness, t_maze(10_000).learned.rdp.alphabet)
    assert re.fullmatch(r"at step 5, .* (N|S) → \(end\) with reward (4|-1): \d+ of \d+ against \d+ of \d+", told)


def test_so_many_episodes_do_decide_it() -> None:
    """Half as many again as the doubt asks for, on the safe side of chance."""
    (doubt,) = [d for d in doubts_of(t_maze(10_000)) if d.layer == 1]
    more = t_maze(round(1.5 * doubt.episodes))
    assert more.learned.rdp.layers[1] == 2 and not [d for d in doubts_of(more) if d.layer == 1]


def test_where_everything_is_decided_there_is_no_doubt() -> None:
    """Neither after a first nor after a second look."""
    episodes = Corridor().simulate(1000, 5, np.random.default_rng(1))
    learned = adact_h(episodes)
    for looked in (learned, refine(learned, episodes)):
        assert borderline_merges(looked.rdp, looked.decisions, 1000, 1) == []


# By hand


@cache
def first_look() -> Learned:
    """An automaton with several candidates in each layer."""
    return adact_h(TMaze().simulate(3000, 5, np.random.default_rng(0)), Settings(bound=PAPER))


def merge(distance: float | None, threshold: float | None, n: int = 100, **verdict: bool) -> Decision:
    """Of the second candidate of layer 1."""
    said = Placement(0, nearest=0, distance=distance, threshold=threshold, witness=WITNESS, **verdict)
    return Decision(1, 0, 1, n, said)


def found(*decisions: Decision, power: int = 1) -> list[BorderlineMerge]:
    return borderline_merges(first_look().rdp, decisions, 3000, power)


def test_evidence_grows_with_the_episodes() -> None:
    """At three quarters of the threshold a third more are needed."""
    (doubt,) = found(merge(6.0, 8.0))
    assert doubt.episodes == pytest.approx(3000 * 4 / 3) and (doubt.layer, doubt.witness) == (1, WITNESS)


def test_thresholds_on_differences_fall_with_their_root() -> None:
    """At three quarters of the threshold (4/3)² times as many are needed."""
    (doubt,) = found(merge(0.06, 0.08), power=2)
    assert doubt.episodes == pytest.approx(3000 * 16 / 9)


def test_the_powers_are_those_of_the_bounds() -> None:
    powers = {name: bound.measure.power for name, bound in BOUNDS.items()}
    assert powers == {"paper": 2, "two-sample": 2, "likelihood-ratio": 1, "fisher": 1}


def test_from_half_of_the_threshold_on_a_merge_is_undecided() -> None:
    assert BORDERLINE_SHARE == 0.5
    assert len(found(merge(4.0, 8.0))) == 1 and found(merge(3.99, 8.0)) == []


def test_what_was_told_apart_or_never_compared_is_no_doubt() -> None:
    assert found(merge(9.0, 8.0, promoted=True), merge(None, None), merge(0.0, 8.0), merge(0.0, None)) == []


def test_the_largest_come_first_and_ties_stay_in_order() -> None:
    ordered = found(merge(4.0, 8.0, n=5), merge(8.0, 8.0, n=70), merge(6.0, 8.0, n=5))
    assert [doubt.episodes for doubt in ordered] == pytest.approx([3000, 6000, 4000])


def test_histories_are_those_of_the_candidate_and_of_the_state_it_joined() -> None:
    rdp = first_look().rdp
    for decision in first_look().decisions:
        if decision.placement.promoted or decision.layer > rdp.horizon:
            continue
        close = decision._replace(placement=decision.placement._replace(distance=1.0, threshold=1.0))
        (doubt,) = found(close)
        candidate, joined = doubt.histories
        target = int(rdp.offsets()[decision.layer]) + decision.placement.target
        assert len(candidate) == len(joined) == doubt.layer == decision.layer
        assert rdp.run(candidate) == rdp.run(joined) == target
        assert candidate[-1] == rdp.symbol(decision.symbol)


def test_what_was_merged_for_being_rare_is_no_doubt() -> None:
    """With --cut: it is distinct, and more episodes of the same kind change nothing about its share."""
    assert found(merge(9.0, 8.0, forced=True)) == []


# On the command line


@pytest.fixture
def maze(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_log(TMaze().simulate(10_000, 5, np.random.default_rng(1)), "log.parquet")
    return tmp_path


def told(said: str) -> list[tuple[str, str, int]]:
    """The histories and the episodes of each doubt."""
    rows = re.findall(
        r"^  layer \d+: (.*?)  with  (.*)\n    .*; if this difference is real, about ([\d,]+) episodes would show it$",
        re.sub(r"\n {6,}", " ", said),  # lines that were wrapped
        re.M,
    )
    return [(one, other, int(n.replace(",", ""))) for one, other, n in rows]


def test_learn_and_info_name_what_is_undecided(maze: Path) -> None:
    right = doubts_of(t_maze(10_000))
    for said in (
        ok("learn", "log.parquet", "-o", "a.model", "--why"),
        ok("info", "a.model", "--decisions", "3"),
    ):
        assert f"Undecided merges ({len(right)}), for example:\n" in said
        (row,) = told(said)
        assert set(row[:2]) == {"(0, 1, 1)", "(1, 1, 0)"} and row[2] == round(right[0].episodes)
    assert "Undecided" not in ok("info", "a.model") and "undecided" in ok("info", "a.model")


def test_only_so_many_are_shown_but_all_are_counted(maze: Path) -> None:
    ok("learn", "log.parquet", "-o", "a.model", "--delta", "1e-30")
    loaded = Model.load("a.model")
    many = borderline_merges(loaded.rdp, loaded.decisions, 10_000, 1)
    assert len(many) > 2
    for shown in (1, 2, 100):
        said = ok("info", "a.model", "--decisions", str(shown))
        assert f"Undecided merges ({len(many)}), for example:\n" in said
        assert [n for *_, n in told(said)] == [round(doubt.episodes) for doubt in many[:shown]]


def test_bounds_on_differences_ask_for_the_square(maze: Path) -> None:
    """By what the model file says about its bound."""
    ok("learn", "log.parquet", "-o", "a.model", "--bound", "two-sample")
    loaded = Model.load("a.model")
    square = borderline_merges(loaded.rdp, loaded.decisions, 10_000, 2)
    assert square and all(doubt.episodes > 10_000 for doubt in square)
    said = ok("info", "a.model", "--decisions", "100")
    assert [n for *_, n in told(said)] == [round(doubt.episodes) for doubt in square]


def test_nothing_is_said_where_nothing_is_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_log(Corridor().simulate(1000, 5, np.random.default_rng(1)), "log.parquet")
    assert "ndecided" not in ok("learn", "log.parquet", "-o", "a.model", "--why")
    assert "ndecided" not in ok("info", "a.model", "--decisions", "9")


def test_pairs_that_read_the_same_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = TMaze().simulate(1000, 5, np.random.default_rng(1))
    model = Model.of(regorl(episodes), episodes)
    one, other = ((None, (0, 1, 1)),), ((None, (1, 1, 0)),)
    found = [BorderlineMerge(1, (one, one), None, 1.0), BorderlineMerge(1, (one, other), None, 2.0)]
    monkeypatch.setattr("suffice.models.model.borderline_merges", lambda *_: found)
    assert model.undecided() == found[1:]
