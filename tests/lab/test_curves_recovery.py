"""Three studies on results made by hand: what they say is what the numbers are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import pytest

pytest.importorskip("matplotlib", reason="pictures are optional")

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

CORRIDOR = Case("corridor", 5)  # Q_min = 11, V* = 5, the behaviour's return 2.5
STUDIES = (RECOVERY, NEEDS, LEVELS)


def by_id(runs: Iterable[Result]) -> Results:
    return {run.experiment.id: run for run in runs}


def made(experiments: Iterable[Experiment], result: Callable[[Experiment], Result]) -> Results:
    return by_id(map(result, experiments))


def row(text: str, start: str) -> list[str]:
    """The cells of a line of a table."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_experiments_are_distinct_and_quick_ones_fewer(study: Study) -> None:
    quick, full = ([experiment.id for experiment in study.experiments(quick)] for quick in (True, False))
    assert len(set(full)) == len(full)
    assert set(quick) < set(full) and len(set(quick)) == len(quick) < len(full) / 5


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_nothing_run_is_said(study: Study) -> None:
    page = study.analyse({})
    assert page.text.startswith(f"## {study.title}\n")
    assert f"0 of {len(study.experiments(False)):,} runs are here." in page.text
    assert not page.figures and "![" not in page.text


def test_stopped_runs_are_said_and_left_out() -> None:
    first, second = RECOVERY.experiments(True)[:2]
    stopped = Result(experiment=second, stopped="over 60 s", limit=60)
    stranger = Result(experiment=CORRIDOR.experiment("layers", 7, 7, 0.5))
    results = by_id([Result(experiment=first, states=1), stopped, stranger])
    there = present(results, RECOVERY.experiments(True))
    assert [run.experiment for run in there.runs] == [first]
    assert there.sentence.startswith("1 of 180 runs are here. Not run: ") and "suffice learn (30)" in there.sentence
    assert there.sentence.endswith("Given up: Count-Min-Sketch paper over 60 s (1).")
    assert "over 60 s (1)" in " ".join(RECOVERY.analyse(results).text.split())


def test_wilson() -> None:
    none, half = Rate.of(0, 40), Rate.of(20, 40)
    z = 1.96**2
    assert none.share == none.low == 0 and none.high == pytest.approx(z / (40 + z))  # its known form at zero
    assert (half.low + half.high) / 2 == pytest.approx(0.5)
    assert half.high == pytest.approx(0.6480, abs=1e-4)
    assert Rate.of(40, 40).low == pytest.approx(1 - none.high) and Rate.of(40, 40).high == 1


def test_numbers_and_prose() -> None:
    assert [brief(n) for n in (3.46, 55.2, 469, 34_400, 962_000, 5.77e7, 7.02e9, math.inf)] == (
        ["3.5", "55", "470", "34,000", "960,000", "5.8·10⁷", "7.0·10⁹", "∞"]
    )
    assert paragraph("a b.", "c" * 117) == "a b.\n" + "c" * 117 + "\n"


def test_shares() -> None:
    run = Result(
        experiment=CORRIDOR.experiment("conjunctions/fisher", 100, 101, 1e-3), mean_return=3.125, recovered=8, merges=1
    )
    assert gained(run) == 0.25
    assert recovered(run) == pytest.approx(8 / 11)
    folded = ground_truth("t-maze", (), 5).stationary
    assert folded is not None
    tied = Result(experiment=Case("t-maze", 5).experiment("stationary", 100, 101, 1e-3), recovered=6)
    assert recovered(tied) == 6 / folded.n_states == 0.5  # of 12, where the layered automaton has 20


def test_enough() -> None:
    assert enough_from({100: 0.95, 300: 0.9, 1_000: 0.96, 3_000: 1.0}) == 1_000
    assert enough_from({100: 1.0, 300: 0.9}) is None
    assert enough_from({}) is None


def test_recovery_says_where_a_learner_arrives() -> None:
    wanted = [e for e in recovery.experiments(False) if (e.domain, e.learner) == ("corridor", "layers")]

    def result(e: Experiment) -> Result:
        arrived = e.episodes >= 1_000
        return Result(experiment=e, states=11, mean_return=5 if arrived else 2.5, recovered=10 if arrived else 3)

    page = RECOVERY.analyse(made(wanted, result))
    assert row(page.text, "suffice learn ")[:3] == ["suffice learn", "1,000 / > 300,000", "not run"]  # 10/11 < 0.95
    assert [name for name, _ in page.figures] == ["recovery_learners_return", "recovery_learners_states"]
    assert all(f"({name}.svg)" in page.text for name, _ in page.figures)


def test_halfway() -> None:
    assert halfway({}) is None
    assert halfway({30: 0.0, 100: 0.4}) == Observed(100, ">")
    assert halfway({30: 0.5, 100: 0.4}) == Observed(30, "≤")
    found = halfway({300: 0.25, 100: 0.0, 2_700: 0.75})  # half of the way from 300 to 2,700, in ln N
    assert found is not None
    assert found.n == pytest.approx(900) and str(found) == "900"


def exactly(e: Experiment, yes: bool) -> Result:
    """A run on the corridor that found everything, or merged something."""
    return Result(experiment=e, recovered=11 if yes else 9, splits=0, merges=0 if yes else 1)


def test_exact() -> None:
    e = CORRIDOR.experiment("conjunctions/fisher", 100, 101, 1e-3)
    assert is_exact(exactly(e, True)) and not is_exact(exactly(e, False))
    assert not is_exact(Result(experiment=e, recovered=11, splits=1, merges=0))


def test_needs_puts_observations_beside_theory() -> None:
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


def test_the_theorem_asks_for_the_number_of_its_proof() -> None:
    """The corridor's layer 3: |X| = 645 languages, states that differ by ½, candidates with ¼ of the episodes."""
    delta, minimal = 1e-3, CORRIDOR.minimal
    ell, needed_size = math.log(4 / delta), 8 * math.log(4 * 645 / delta) / 0.5**2
    by_hand = 2 * (math.sqrt(2 * needed_size * ell) + 14 * ell / 3) / 0.25
    assert theorem.asked(minimal, Family.parse("conjunctions"), delta) == pytest.approx(by_hand)
    assert needed(CORRIDOR, "conjunctions", delta).needed["paper"].sufficient == pytest.approx(2 * needed_size / 0.25)
    assert theorem.asked(minimal, Family.parse("1,1,1"), delta) == math.inf  # it cannot tell all states apart
    assert theorem.promised(minimal, 1e-4) == pytest.approx(1 - 4 * 2 * 15 * 11 * 1e-4)
    assert theorem.promised(minimal, 1) == 0


def test_the_theorem_is_put_to_the_test() -> None:
    (n,) = {e.episodes for e in theorem.trials(CORRIDOR)}
    assert 0 <= n - theorem.asked(CORRIDOR.minimal, Family.parse("conjunctions"), 1e-4) <= n / 10
    results = made(theorem.trials(CORRIDOR), lambda e: exactly(e, e.seed <= 305))
    lines = theorem.compared(list(results.values()))
    low, high = Rate.of(5, 20)[1:]
    assert row(lines, "corridor, H = 5")[-1] == f"5 of 20 ({low:.2f} to {high:.2f})"
    assert row(lines, SMALL[-1].title)[-1] == "not run"


def test_levels_counts_splits() -> None:
    wanted = [e for e in levels.experiments(False) if (e.domain, e.learner, e.delta) == ("corridor", "layers", 0.1)]
    assert len(wanted) == 20

    def result(e: Experiment) -> Result:
        """Ten with a split, four of them with a mixture as well; promises of 0.5 and 3, which is 1."""
        splits, merges = int(e.seed <= 210), int(e.seed <= 204)
        return Result(experiment=e, splits=splits, merges=merges, promised=0.5 if e.seed % 2 else 3.0)

    results = made(wanted, result)
    found = levels.level(list(results.values()))
    assert found == (Rate.of(10, 20), Rate.of(6, 20), 0.75, 0.2)
    page = LEVELS.analyse(results)
    cells = row(page.text, "corridor, δ = 0.1")
    assert cells[5] == "0.50 / 0.30 ≤ 0.75" and cells[1] == "not run"
    assert "In 1 of 1 cells" in page.text
    assert [name for name, _ in page.figures] == ["levels_splits", "levels_merges"]
