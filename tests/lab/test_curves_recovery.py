"""Studies of recovery, sample sizes and levels: their pages from results made by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is optional")

from suffice.evidence.languages import Family
from suffice.lab.curves import levels, needs, recovery, theorem
from suffice.lab.curves.cases import SMALL, Case, needed
from suffice.lab.curves.levels import LEVELS
from suffice.lab.curves.needs import NEEDS, Observed, halfway
from suffice.lab.curves.recovery import RECOVERY, enough_from
from suffice.lab.curves.summaries import Rate, paragraph, present, recovered
from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.scoring import gained, is_exact
from suffice.lab.study import Study, brief
from suffice.lab.truth import ground_truth

CORRIDOR = Case("corridor", 5)  # Q_min = 11, V* = 5, return of the behaviour policy 2.5
STUDIES = (RECOVERY, NEEDS, LEVELS)


def by_id(runs: Iterable[Result]) -> Results:
    return {run.experiment.id: run for run in runs}


def made(experiments: Iterable[Experiment], result: Callable[[Experiment], Result]) -> Results:
    return by_id(map(result, experiments))


def row(text: str, start: str) -> list[str]:
    """Return the cells of the table row that starts with a text."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_experiments_are_distinct_and_quick_ones_are_a_subset(study: Study) -> None:
    quick, full = ([experiment.id for experiment in study.experiments(quick)] for quick in (True, False))
    assert len(set(full)) == len(full)
    assert set(quick) < set(full) and len(set(quick)) == len(quick) < len(full) / 5


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_analyse_without_results_states_that_nothing_was_run(study: Study) -> None:
    page = study.analyse({})
    assert page.text.startswith(f"## {study.title}\n")
    assert f"0 of {len(study.experiments(False)):,} runs are finished." in page.text
    assert not page.figures and "![" not in page.text


def test_present_omits_and_mentions_stopped_runs() -> None:
    first, second = RECOVERY.experiments(True)[:2]
    stopped = Result(experiment=second, stopped="over 60 s", limit=60)
    foreign = Result(experiment=CORRIDOR.experiment("layers", 7, 7, 0.5))
    results = by_id([Result(experiment=first, states=1), stopped, foreign])
    there = present(results, RECOVERY.experiments(True))
    assert [run.experiment for run in there.runs] == [first]
    assert there.sentence.startswith("1 of 180 runs are finished. Not run: ") and "suffice learn (30)" in there.sentence
    assert there.sentence.endswith("Stopped: Count-Min-Sketch paper over 60 s (1).")
    assert "over 60 s (1)" in " ".join(RECOVERY.analyse(results).text.split())


def test_rate_has_wilson_interval() -> None:
    none, half = Rate.of(0, 40), Rate.of(20, 40)
    z = 1.96**2
    assert none.share == none.low == 0 and none.high == pytest.approx(z / (40 + z))  # its closed form at zero
    assert (half.low + half.high) / 2 == pytest.approx(0.5)
    assert half.high == pytest.approx(0.6480, abs=1e-4)
    assert Rate.of(40, 40).low == pytest.approx(1 - none.high) and Rate.of(40, 40).high == 1


def test_brief_and_paragraph_format_numbers_and_text() -> None:
    assert [brief(n) for n in (3.46, 55.2, 469, 34_400, 962_000, 5.77e7, 7.02e9, math.inf)] == (
        ["3.5", "55", "470", "34,000", "960,000", "5.8·10⁷", "7.0·10⁹", "∞"]
    )
    assert paragraph("a b.", "c" * 117) == "a b.\n" + "c" * 117 + "\n"


def test_gained_and_recovered_are_shares() -> None:
    run = Result(
        experiment=CORRIDOR.experiment("conjunctions/fisher", 100, 101, 1e-3), mean_return=3.125, recovered=8, merges=1
    )
    assert gained(run) == 0.25
    assert recovered(run) == pytest.approx(8 / 11)
    stationary = ground_truth("t-maze", (), 5).stationary
    assert stationary is not None
    cyclic = Result(experiment=Case("t-maze", 5).experiment("stationary", 100, 101, 1e-3), recovered=6)
    assert recovered(cyclic) == 6 / stationary.n_states == 0.5  # of 12, where the layered automaton has 20


def test_enough_from_returns_smallest_sufficient_size() -> None:
    assert enough_from({100: 0.95, 300: 0.9, 1_000: 0.96, 3_000: 1.0}) == 1_000
    assert enough_from({100: 1.0, 300: 0.9}) is None
    assert enough_from({}) is None


def test_recovery_page_has_smallest_sufficient_sizes() -> None:
    wanted = [e for e in recovery.experiments(False) if (e.domain, e.learner) == ("corridor", "layers")]

    def result(e: Experiment) -> Result:
        arrived = e.episodes >= 1_000
        return Result(experiment=e, states=11, mean_return=5 if arrived else 2.5, recovered=10 if arrived else 3)

    page = RECOVERY.analyse(made(wanted, result))
    assert row(page.text, "suffice learn ")[:3] == ["suffice learn", "1,000 / > 300,000", "not run"]  # 10/11 < 0.95
    assert [name for name, _ in page.figures] == ["recovery_learners_return", "recovery_learners_states"]
    assert all(f"({name}.svg)" in page.text for name, _ in page.figures)


def test_recovery_page_lists_losses_with_more_episodes() -> None:
    """A return that is lost at a larger N is a known failure, which the page must state."""
    wanted = [e for e in recovery.experiments(False) if (e.domain, e.learner) == ("corridor", "layers")]

    def page(lost: int) -> str:
        results = made(wanted, lambda e: Result(experiment=e, mean_return=2.5 if e.episodes == lost else 5))
        return " ".join(RECOVERY.analyse(results).text.split())

    assert "suffice learn on Corridor (1.00 at 100,000 episodes, 0.00 at 300,000)." in page(300_000)
    assert "No learner that reached a mean share of 0.95 for the return lost it" in page(0)


def test_halfway_interpolates_over_log_episodes() -> None:
    assert halfway({}) is None
    assert halfway({30: 0.0, 100: 0.4}) == Observed(100, ">")
    assert halfway({30: 0.5, 100: 0.4}) == Observed(30, "≤")
    found = halfway({300: 0.25, 100: 0.0, 2_700: 0.75})  # half of the way from 300 to 2,700, in ln N
    assert found is not None
    assert found.n == pytest.approx(900) and str(found) == "900"


def exactly(e: Experiment, yes: bool) -> Result:
    """Return a run on the corridor that found every state, or merged some."""
    return Result(experiment=e, recovered=11 if yes else 9, splits=0, merges=0 if yes else 1)


def test_is_exact_refuses_splits_and_merges() -> None:
    e = CORRIDOR.experiment("conjunctions/fisher", 100, 101, 1e-3)
    assert is_exact(exactly(e, True)) and not is_exact(exactly(e, False))
    assert not is_exact(Result(experiment=e, recovered=11, splits=1, merges=0))


def test_needs_page_compares_theory_and_observation() -> None:
    learners = ("conjunctions/paper", "conjunctions/fisher")
    wanted = [
        e for e in needs.experiments(False) if e.domain == "corridor" and e.learner in learners and e.delta == 1e-3
    ]
    page = NEEDS.analyse(made(wanted, lambda e: exactly(e, e.learner == learners[1] and e.episodes >= 100)))
    _, paper, two_sample, _, fisher = row(page.text, "corridor, H = 5: conjunctions")
    assert paper.startswith("3,800 / 470 / ") and paper.endswith("**> 300,000**")
    assert two_sample.endswith("**not run**")
    assert fisher.endswith("/ 110 / **55**")  # √(30 · 100) = 54.8
    assert "Of 1 predictions" in page.text and "between 0.49 and 0.49" in page.text
    assert [name for name, _ in page.figures] == ["needs_likely"]


def test_episodes_required_equals_the_number_of_the_proof() -> None:
    """In layer 3 of the corridor |X| = 645, states differ by ½, and candidates have ¼ of the episodes."""
    delta, minimal = 1e-3, CORRIDOR.minimal
    ell, needed_size = math.log(4 / delta), 8 * math.log(4 * 645 / delta) / 0.5**2
    by_hand = 2 * (math.sqrt(2 * needed_size * ell) + 14 * ell / 3) / 0.25
    assert theorem.episodes_required(minimal, Family.parse("conjunctions"), delta) == pytest.approx(by_hand)
    assert needed(CORRIDOR, "conjunctions", delta).needed["paper"].sufficient == pytest.approx(2 * needed_size / 0.25)
    assert (
        theorem.episodes_required(minimal, Family.parse("1,1,1"), delta) == math.inf
    )  # it cannot distinguish all states
    assert theorem.guaranteed(minimal, 1e-4) == pytest.approx(1 - 4 * 2 * 15 * 11 * 1e-4)
    assert theorem.guaranteed(minimal, 1) == 0


def test_compared_counts_exact_runs_of_the_theorem() -> None:
    (n,) = {e.episodes for e in theorem.trials(CORRIDOR)}
    assert 0 <= n - theorem.episodes_required(CORRIDOR.minimal, Family.parse("conjunctions"), 1e-4) <= n / 10
    results = made(theorem.trials(CORRIDOR), lambda e: exactly(e, e.seed <= 305))
    lines = theorem.compared(list(results.values()))
    low, high = Rate.of(5, 20)[1:]
    assert row(lines, "corridor, H = 5")[-1] == f"5 of 20 ({low:.2f} to {high:.2f})"
    assert row(lines, SMALL[-1].title)[-1] == "not run"


def test_levels_page_counts_splits_and_merges() -> None:
    wanted = [e for e in levels.experiments(False) if (e.domain, e.learner, e.delta) == ("corridor", "layers", 0.1)]
    assert len(wanted) == 20

    def result(e: Experiment) -> Result:
        """Return ten results with a split, four of them with a merge too; guarantees of 0.5 and 3, which is 1."""
        splits, merges = int(e.seed <= 210), int(e.seed <= 204)
        return Result(experiment=e, splits=splits, merges=merges, promised=0.5 if e.seed % 2 else 3.0)

    results = made(wanted, result)
    found = levels.level(list(results.values()))
    assert found == (Rate.of(10, 20), Rate.of(6, 20), 0.75, 0.2)
    page = LEVELS.analyse(results)
    cells = row(page.text, "corridor, δ = 0.1")
    assert cells[5] == "0.50 / 0.30 ≤ 0.75" and cells[1] == "not run"
    assert "In 1 of 1 cells" in " ".join(page.text.split())
    assert [name for name, _ in page.figures] == ["levels_splits", "levels_merges"]
