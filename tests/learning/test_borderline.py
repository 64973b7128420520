"""`borderline_merges` lists undecided merges, their histories, and how many episodes would decide them."""

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


def undecided_in(solution: Solution) -> list[BorderlineMerge]:
    rdp = solution.learned.rdp
    return borderline_merges(rdp, solution.learned.decisions, int(rdp.counts[0].sum()), 1)


WITNESS = Witness(Last(RewardIs(1)), 3, 4, 1, 4)


# In the T-maze


def test_borderline_merges_include_cues_with_too_few_episodes() -> None:
    """With 10,000 both cues are merged; with up to four times as many they would not be."""
    assert t_maze(10_000).learned.rdp.layers[1] == 1
    (merged,) = [m for m in undecided_in(t_maze(10_000)) if m.layer == 1]
    assert set(merged.histories) == CUES
    assert 12_000 <= merged.episodes <= 40_000
    text = describe_witness(merged.witness, t_maze(10_000).learned.rdp.alphabet)
    assert re.fullmatch(r"at step 5, .* (N|S) → \(end\) with reward (4|-1): \d+ of \d+ against \d+ of \d+", text)


def test_borderline_merge_is_decided_with_the_stated_number_of_episodes() -> None:
    """1.5 times the stated number is enough for chance not to matter."""
    (merged,) = [m for m in undecided_in(t_maze(10_000)) if m.layer == 1]
    more = t_maze(round(1.5 * merged.episodes))
    assert more.learned.rdp.layers[1] == 2 and not [m for m in undecided_in(more) if m.layer == 1]


def test_borderline_merges_are_empty_where_everything_is_decided() -> None:
    """Holds for the AdaCT-H pass and for the refinement."""
    episodes = Corridor().simulate(1000, 5, np.random.default_rng(1))
    learned = adact_h(episodes)
    for one in (learned, refine(learned, episodes)):
        assert borderline_merges(one.rdp, one.decisions, 1000, 1) == []


# By hand


@cache
def several_candidates() -> Learned:
    """Learn an automaton with several candidates in each layer."""
    return adact_h(TMaze().simulate(3000, 5, np.random.default_rng(0)), Settings(bound=PAPER))


def merge(distance: float | None, threshold: float | None, n: int = 100, **flags: bool) -> Decision:
    """Make a decision on the second candidate of layer 1."""
    placement = Placement(0, nearest=0, distance=distance, threshold=threshold, witness=WITNESS, **flags)
    return Decision(1, 0, 1, n, placement)


def found(*decisions: Decision, power: int = 1) -> list[BorderlineMerge]:
    return borderline_merges(several_candidates().rdp, decisions, 3000, power)


def test_borderline_merges_scale_evidence_with_episodes() -> None:
    """At three quarters of the threshold a third more are needed."""
    (merged,) = found(merge(6.0, 8.0))
    assert merged.episodes == pytest.approx(3000 * 4 / 3) and (merged.layer, merged.witness) == (1, WITNESS)


def test_borderline_merges_scale_differences_with_square_root_of_episodes() -> None:
    """At three quarters of the threshold (4/3)² times as many are needed."""
    (merged,) = found(merge(0.06, 0.08), power=2)
    assert merged.episodes == pytest.approx(3000 * 16 / 9)


def test_bounds_have_expected_measure_powers() -> None:
    powers = {name: bound.measure.power for name, bound in BOUNDS.items()}
    assert powers == {"paper": 2, "two-sample": 2, "likelihood-ratio": 1, "fisher": 1}


def test_borderline_merges_start_at_half_of_the_threshold() -> None:
    assert BORDERLINE_SHARE == 0.5
    assert len(found(merge(4.0, 8.0))) == 1 and found(merge(3.99, 8.0)) == []


def test_borderline_merges_exclude_splits_and_untested_merges() -> None:
    assert found(merge(9.0, 8.0, promoted=True), merge(None, None), merge(0.0, 8.0), merge(0.0, None)) == []


def test_borderline_merges_are_ordered_by_size() -> None:
    ordered = found(merge(4.0, 8.0, n=5), merge(8.0, 8.0, n=70), merge(6.0, 8.0, n=5))
    assert [merged.episodes for merged in ordered] == pytest.approx([3000, 6000, 4000])


def test_borderline_merge_histories_lead_to_candidate_and_state() -> None:
    rdp = several_candidates().rdp
    for decision in several_candidates().decisions:
        if decision.placement.promoted or decision.layer > rdp.horizon:
            continue
        close = decision._replace(placement=decision.placement._replace(distance=1.0, threshold=1.0))
        (merged,) = found(close)
        candidate, joined = merged.histories
        target = int(rdp.offsets()[decision.layer]) + decision.placement.target
        assert len(candidate) == len(joined) == merged.layer == decision.layer
        assert rdp.run(candidate) == rdp.run(joined) == target
        assert candidate[-1] == rdp.symbol(decision.symbol)


def test_borderline_merges_exclude_forced_merges() -> None:
    """With --cut a distinct candidate may be merged; more episodes do not change its share."""
    assert found(merge(9.0, 8.0, forced=True)) == []


# On the command line


@pytest.fixture
def maze(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_log(TMaze().simulate(10_000, 5, np.random.default_rng(1)), "log.parquet")
    return tmp_path


def printed_merges(output: str) -> list[tuple[str, str, int]]:
    """Parse the histories and the number of episodes of each undecided merge."""
    rows = re.findall(
        r"^  layer \d+: (.*?)  with  (.*)\n    .*; if this difference is real, about ([\d,]+) episodes would show it$",
        re.sub(r"\n {6,}", " ", output),  # lines that were wrapped
        re.M,
    )
    return [(one, other, int(n.replace(",", ""))) for one, other, n in rows]


def test_learn_and_info_print_undecided_merges(maze: Path) -> None:
    right = undecided_in(t_maze(10_000))
    for output in (
        ok("learn", "log.parquet", "-o", "a.model", "--why", "--stationary", "no"),
        ok("info", "a.model", "--decisions", "3"),
    ):
        assert f"Undecided merges ({len(right)}), for example:\n" in output
        (row,) = printed_merges(output)
        assert set(row[:2]) == {"(0, 1, 1)", "(1, 1, 0)"} and row[2] == round(right[0].episodes)
    assert "Undecided" not in ok("info", "a.model") and "undecided" in ok("info", "a.model")


def test_info_decisions_limits_printed_merges_but_counts_all(maze: Path) -> None:
    ok("learn", "log.parquet", "-o", "a.model", "--delta", "1e-30")
    loaded = Model.load("a.model")
    many = borderline_merges(loaded.rdp, loaded.decisions, 10_000, 1)
    assert len(many) > 2
    for shown in (1, 2, 100):
        output = ok("info", "a.model", "--decisions", str(shown))
        assert f"Undecided merges ({len(many)}), for example:\n" in output
        assert [n for *_, n in printed_merges(output)] == [round(merged.episodes) for merged in many[:shown]]


def test_info_scales_episodes_by_the_bound_of_the_model(maze: Path) -> None:
    """The bound is that of the model file."""
    ok("learn", "log.parquet", "-o", "a.model", "--bound", "two-sample")
    loaded = Model.load("a.model")
    square = borderline_merges(loaded.rdp, loaded.decisions, 10_000, 2)
    assert square and all(merged.episodes > 10_000 for merged in square)
    output = ok("info", "a.model", "--decisions", "100")
    assert [n for *_, n in printed_merges(output)] == [round(merged.episodes) for merged in square]


def test_learn_and_info_print_nothing_where_nothing_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_log(Corridor().simulate(1000, 5, np.random.default_rng(1)), "log.parquet")
    assert "ndecided" not in ok("learn", "log.parquet", "-o", "a.model", "--why")
    assert "ndecided" not in ok("info", "a.model", "--decisions", "9")


def test_model_undecided_omits_pairs_with_equal_text(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = TMaze().simulate(1000, 5, np.random.default_rng(1))
    model = Model.of(regorl(episodes), episodes)
    one, other = ((None, (0, 1, 1)),), ((None, (1, 1, 0)),)
    found = [BorderlineMerge(1, (one, one), None, 1.0), BorderlineMerge(1, (one, other), None, 2.0)]
    monkeypatch.setattr("suffice.models.model.borderline_merges", lambda *_: found)
    assert model.undecided() == found[1:]
