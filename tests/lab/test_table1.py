"""The paper's table: its runs, its rows from results, and missing results."""

from __future__ import annotations

import msgspec
import pytest

from suffice.lab.experiment import Result, Results
from suffice.lab.paper import TABLE_1
from suffice.lab.study import brief
from suffice.lab.table1 import (
    AALPY,
    FLEXFRINGE,
    METHODS,
    OURS,
    PEER_SEEDS,
    SEEDS,
    SIZES,
    Method,
    analyse,
    experiments,
    summary,
)

MAZE = next(row for row in TABLE_1 if row.name == "t-maze")
N = SIZES[-1]


def result(learner: str, seed: int, **fields: float | str) -> Result:
    return Result(experiment=MAZE.experiment(learner, N, seed), **fields)  # type: ignore[arg-type]


def by_id(*results: Result) -> Results:
    return {r.experiment.id: r for r in results}


def line(text: str, title: str) -> list[str]:
    """Return the cells of the only row of the T-maze table that starts with a title."""
    (found,) = [
        row for row in text.split("## T-maze")[1].split("\n## ")[0].splitlines() if row.startswith(f"| {title}")
    ]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_experiments_contain_all_methods_sizes_and_seeds() -> None:
    full = experiments(quick=False)
    assert len({e.id for e in full}) == len(full)
    for row in TABLE_1:
        learners = {e.learner for e in full if (e.domain, e.horizon) == (row.name, row.horizon)}
        assert {"sketch/paper", "prefixes/paper", "1,1,1/paper", "layers", "stationary"} <= learners
        assert {f"flexfringe/{h}/closed" for h in ("likelihood-ratio", "alergia", "css")} <= learners
        assert learners == {learner for method in METHODS for learner in method.learners}
    assert {e.episodes for e in full} == set(SIZES) and {e.seed for e in full} == set(SEEDS)


def test_experiments_quick_are_a_subset_of_full() -> None:
    quick, full = ({e.id for e in experiments(quick)} for quick in (True, False))
    assert quick < full and len(quick) * 5 < len(full)


def test_method_best_returns_the_best_setting() -> None:
    first, second, third = FLEXFRINGE[0].learners
    runs = by_id(
        *(result(first, seed, states=9, mean_return=1.0) for seed in PEER_SEEDS),
        *(result(second, seed, states=7, mean_return=3.0) for seed in PEER_SEEDS),
        *(result(third, seed, states=5, mean_return=3.0) for seed in PEER_SEEDS),
    )
    assert {run.experiment.learner for run in FLEXFRINGE[0].best(runs, MAZE, N)} == {third}  # fewer states
    lucky = by_id(*runs.values(), *(result(first, seed, states=1, mean_return=4.0) for seed in PEER_SEEDS[:1]))
    fewer = {id: run for id, run in lucky.items() if run.experiment.learner != first or run.states == 1}
    assert {run.experiment.learner for run in FLEXFRINGE[0].best(fewer, MAZE, N)} == {third}  # one seed is luck
    assert Method("none of it", ("layers",)).best(runs, MAZE, N) == []


def test_method_best_returns_stopped_runs_only_without_finished_ones() -> None:
    first, second, _ = FLEXFRINGE[0].learners
    late = [result(first, seed, stopped="over 600 s", limit=600.0) for seed in PEER_SEEDS]
    ended = [result(second, seed, mean_return=-1.0) for seed in PEER_SEEDS]
    assert FLEXFRINGE[0].best(by_id(*late, *ended), MAZE, N) == ended
    assert FLEXFRINGE[0].best(by_id(*late), MAZE, N) == late


def test_analyse_escapes_messages_of_peers_in_tables() -> None:
    first, *rest = (result("flexfringe/css", seed, mean_return=1.0) for seed in PEER_SEEDS)
    broken = result("flexfringe/css/closed", PEER_SEEDS[-1], stopped="refused: a | b\nc", limit=1.0)
    assert "refused: a / b c" not in analyse(by_id(first, *rest, broken)).text
    assert line(analyse(by_id(broken)).text, "FlexFringe, css")[1] == "refused: a / b c"
    assert "refused: a / b c" in summary(by_id(broken))


def test_analyse_lists_the_seeds_of_the_runs() -> None:
    ours, theirs = result("layers", 14), result("flexfringe/css", 12)
    assert "Seeds 14 for ours and 12 for peers." in analyse(by_id(ours, theirs)).text
    assert "Seeds 14 for ours.\n" in analyse(by_id(ours)).text


def test_analyse_shows_means_errors_and_medians() -> None:
    values = dict(zip(SEEDS, (4.0, 4.0, 3.0, 4.0, 4.0), strict=True))
    runs = [
        result(
            "default", s, states=20 + (s == 11), mean_return=v, return_per_step=v / 5, success_rate=1.0, seconds=0.042
        )
        for s, v in values.items()
    ]
    runs = [msgspec.structs.replace(run, bytes=2_940_000) for run in runs]
    cells = line(analyse(by_id(*runs)).text, "`suffice learn` |")
    assert cells == ["`suffice learn`", "20", "3.8 ± 0.2", "0.76 ± 0.04", "1", "0.042", "2.9"]
    little = [msgspec.structs.replace(run, bytes=20_000) for run in runs]
    assert line(analyse(by_id(*little)).text, "`suffice learn` |")[-1] == "< 1"  # memory allocated before hides it
    assert f"| `suffice learn` | not run | 20 · 3.8 · {brief(0.042)} s | not run |" in summary(by_id(*runs))


def test_analyse_states_missing_peers_and_runs() -> None:
    text = analyse(by_id(result("layers", 11, states=20))).text
    assert "**FlexFringe is not installed: build it" in text and "**AALpy is not installed" in text
    assert line(text, "FlexFringe, css")[1:] == ["not run", *[""] * 5]
    with_peers = by_id(
        result("flexfringe/css", 11, stopped="over 600 s", limit=600.0), result(AALPY.learners[0], 11, states=3)
    )
    text = analyse(with_peers).text
    assert "not installed" not in text
    assert line(text, "FlexFringe, css")[1:] == ["over 600 s", *[""] * 5]


def test_analyse_shows_numbers_of_the_paper_and_exact_values() -> None:
    text = analyse(by_id(result("layers", 11, states=20))).text
    assert line(text, "*the paper's* CMS")[1:6:4] == ["104", "10.1"] and line(text, "*the paper's* X")[2] == "r = 4"
    assert "Q_min = 20 states, the minimal stationary one 12. Mean returns: V* = 4, behaviour policy -3.35." in text
    assert text.count("| > 1800 |") == 1  # the paper's CMS on the mini-hall


def test_summary_shows_exact_values_and_the_main_methods() -> None:
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in summary({}).splitlines()]
    assert rows[0] == ["100,000 episodes", "Corridor", "T-maze", "Cookie", "Cheese", "Mini-hall"]
    assert "the paper's" not in summary({}) and len(rows) == 8
    assert rows[2] == [
        "minimal automaton · optimal return", "11 · 5", "20 · 4", "65 · 1", "67 · 1.09", "261 · 2.07",
    ]  # fmt: skip
    titles = ["FlexFringe, best of all settings", "AALpy, best of all settings"]
    titles += ["`suffice learn`", "`suffice learn --stationary no`", "`suffice learn --stationary yes`"]
    assert rows[3:] == [[title, *["not run"] * 5] for title in titles]


@pytest.mark.parametrize("method", OURS, ids=lambda method: method.title)
def test_methods_of_ours_have_a_single_setting(method: Method) -> None:
    assert len(method.learners) == 1
