"""`suffice.check`: its findings agree with learning, with the exact automaton and with the command."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import process_time

import numpy as np
import pytest

import suffice
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.registry import make
from suffice.learning.adact_h import Learned, Settings
from suffice.learning.layers import learn_layers
from suffice.models import trial
from suffice.models.log_check import check
from suffice.models.trial import CHECK_SAMPLE, Progress, _ambiguous, silently, try_sample
from suffice.models.trial_findings import Trial
from suffice.planning.regorl import regorl
from support.cli import ok


def simulated(name: str, n: int) -> Episodes:
    domain = make(name, {})
    return domain.simulate(n, domain.default_horizon, np.random.default_rng(0))


def ambiguous_by_definition(rdp: RDP) -> float:
    """Share of transitions for which another one has the same layer and observation, but another target."""
    layer, taken = rdp.layer_of(), rdp.taken()
    arrivals = [
        (int(layer[q]), int(rdp.symbols[y, 1]), int(rdp.tau[q, y]), int(taken[q, y]))
        for q in range(rdp.n_states)
        for y in range(len(rdp.symbols))
        if rdp.tau[q, y] != UNSEEN and rdp.symbols[y, 1] != STOP
    ]
    ambiguous = sum(n for t, o, q, n in arrivals if any(t == t2 and o == o2 and q != q2 for t2, o2, q2, _ in arrivals))
    return ambiguous / sum(n for *_, n in arrivals)


@pytest.mark.parametrize("name", ["t-maze", "cheese", "cookie", "symbol"])
def test_ambiguous_share_equals_its_definition(name: str) -> None:
    rdp = regorl(simulated(name, 2000)).learned.rdp
    assert _ambiguous(rdp) == pytest.approx(ambiguous_by_definition(rdp)) and _ambiguous(rdp) > 0


def test_try_sample_finds_memory_in_a_maze_and_none_in_a_corridor() -> None:
    """Both by the exact automaton and by a sample of a log."""
    corridor, maze = (make(name, {}) for name in ("corridor", "t-maze"))
    assert _ambiguous(minimal_rdp(corridor.model(5), 5).rdp()) == 0 < _ambiguous(minimal_rdp(maze.model(5), 5).rdp())
    assert "Memory: the last observation suffices" in try_sample(simulated("corridor", 500)).sentences[1]
    assert "Memory matters" in try_sample(simulated("t-maze", 5000)).sentences[1]


def test_sentence_about_a_window_is_in_the_plural() -> None:
    maker = make("repeat-previous", {"k": 2})
    log = maker.simulate(2000, 6, np.random.default_rng(0))
    assert try_sample(log).sentences[1].startswith("Memory matters: the last 2 observations add ")


def test_try_sample_finds_enough_episodes_of_a_corridor() -> None:
    trial = try_sample(simulated("corridor", 1000))
    assert trial.enough and trial.growth == ((125, 11), (250, 11), (500, 11), (1000, 11))
    assert trial.sentences[0].startswith("Probably enough")


def test_try_sample_reports_that_a_thousand_episodes_of_a_maze_are_too_few() -> None:
    trial = try_sample(simulated("t-maze", 1000))
    assert not trial.enough and trial.sentences[0].startswith("More episodes would show more")
    sampled = replace(trial, episodes=10**6, wanted=None)
    assert sampled.sentences[0].startswith("All episodes will show more: states")


def test_try_sample_extrapolates_cost_of_large_logs() -> None:
    """Ten times the episodes cost about ten times as much; the clock allows only a rough check."""
    small, large = simulated("corridor", CHECK_SAMPLE), simulated("corridor", 10 * CHECK_SAMPLE)
    looked = [try_sample(episodes) for episodes in (small, large)]
    assert [trial.tried for trial in looked] == [CHECK_SAMPLE, CHECK_SAMPLE]
    assert looked[1].seconds > 2 * looked[0].seconds and looked[1].bytes > 5 * looked[0].bytes


def test_try_sample_takes_fewer_episodes_within_a_time_budget() -> None:
    episodes = simulated("corridor", 1000)
    patient = try_sample(episodes, seconds=1e9)
    assert (patient.tried, patient.growth) == (1000, ((125, 11), (250, 11), (500, 11), (1000, 11)))
    with pytest.raises(suffice.SettingsError, match="seconds=0 is not a time budget"):
        check(episodes, seconds=0)


def test_try_sample_stops_growing_when_the_next_run_would_exceed_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is simulated: a run takes as many seconds as it has episodes; 60 % of the budget are for them."""
    now, episodes = [0.0], simulated("corridor", 1000)

    def slow(sample: Episodes, settings: Settings, progress: Progress = silently) -> Learned:
        now[0] += sample.n
        return learn_layers(sample, settings, progress=progress)

    for clock in ("perf_counter", "process_time"):
        monkeypatch.setattr(trial, clock, lambda: now[0])
    monkeypatch.setattr(trial, "learn_layers", slow)
    found = try_sample(episodes, seconds=1000)
    assert [n for n, _ in found.growth] == [10, 100, 125, 250]
    assert found.seconds == trial.WHOLE_RUN * 1000
    assert now[0] <= 1000


def test_try_sample_aborts_a_run_that_exceeds_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading of the clock takes a second, so that the budget ends within the first run."""
    ticks, used = count(), count(step=1000)  # CPU time of many cores, so that elapsed time counts
    monkeypatch.setattr(trial, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(trial, "process_time", lambda: float(next(used)))
    found = try_sample(simulated("corridor", 1000), seconds=8)
    assert (found.tried, found.growth, found.seconds, found.memory_matters) == (0, (), None, None)
    assert next(ticks) < 20 and "No trial run was completed in time" in found.sentences[0]


def test_check_in_hardly_any_time_reports_facts_and_a_small_run() -> None:
    found = check(simulated("corridor", 1000), seconds=1e-9)
    shown = found.to_dict()
    assert (shown["episodes"], shown["episodes_tried"], shown["family_needed"]) == (1000, 10, None)
    assert "1,000 of 5 decisions" in str(found) and "learning takes" in str(found)


def test_check_without_a_completed_run_reports_facts_and_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks, used = count(), count(step=1000)  # CPU time of many cores, so that elapsed time counts
    monkeypatch.setattr(trial, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(trial, "process_time", lambda: float(next(used)))
    found = check(simulated("corridor", 1000), seconds=2)
    shown = found.to_dict()
    assert (shown["episodes"], shown["states_by_episodes"], shown["learning_seconds"]) == (1000, [], None)
    assert "1,000 of 5 decisions" in str(found) and "learning takes" not in str(found)


def test_check_of_a_wide_log_ends_within_its_budget() -> None:
    """Twelve thousand rows of 20 columns took minutes; the time to compile and a slow machine are allowed for."""
    rng = np.random.default_rng(0)
    table = {"episode": np.repeat(np.arange(1200), 10), "step": np.tile(np.arange(10), 1200)}
    table |= {f"c{i}": rng.integers(0, 4, 12_000) for i in range(20)}
    table |= {"action": rng.integers(0, 2, 12_000), "reward": rng.integers(0, 2, 12_000)}
    check(table, observations="all", seconds=1.0)  # compiles
    start = process_time()
    found = check(table, observations="all", seconds=2.0)
    assert process_time() - start < 8 and found.n_rows == 12_000
    assert [warning.code for warning in found.warnings] == ["nearly_unique"]


@pytest.mark.parametrize("n", [1, 2, 15])
def test_try_sample_accepts_a_handful_of_episodes(n: int) -> None:
    trial = try_sample(simulated("t-maze", n))
    assert trial.tried == n and not trial.enough and all(trial.sentences)


def test_trial_steady_counts_doublings_from_the_end() -> None:
    def steady(*states: int) -> int:
        growth = tuple((2**i, n) for i, n in enumerate(states))
        return Trial(1, 1, growth, 0, None, False, 0.0, "none", (1,), 0.0, 0).steady

    assert [steady(5), steady(5, 5), steady(4, 5, 5), steady(5, 5, 5, 5), steady(5, 5, 6), steady(100, 102)] == [
        0,
        1,
        1,
        3,
        0,
        1,
    ]


# suffice.check


def test_check_returns_what_the_command_prints_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the measured time differs."""
    monkeypatch.chdir(tmp_path)
    suffice.write_log(simulated("corridor", 300), "log.csv")
    printed = json.loads(ok("check", "log.csv", "--json", "--bin", "row=2"))
    found = json.loads(json.dumps({"log": "log.csv"} | check("log.csv", bins={"row": "2"}).to_dict()))
    for each in (printed, found):
        del each["learning_seconds"]
    assert printed == found and list(printed) == list(found)


def test_check_prints_contents_notes_and_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    suffice.write_log(simulated("corridor", 300), "log.csv")
    found = check("log.csv")
    text = str(found)
    assert all(f"{label:<{len('distinct values')}} " in text for label, shown in found.contents.items() if shown)
    assert all(sentence in text for sentence in found.sentences) and text.endswith("No problems found.")
    assert all(part in text for part in ("300 of 5 decisions, 1,500 rows", "row 2, column 5, guard 2"))
    printed = " ".join(ok("check", "log.csv").split())
    assert all(" ".join(sentence.split()) in printed for sentence in (*found.sentences, "No problems found."))
    assert repr(found) == "<LogCheck: 300 episodes, 1,500 rows, enough>"


def test_check_of_episodes_equals_the_check_of_their_file(tmp_path: Path) -> None:
    episodes = simulated("corridor", 300)
    suffice.write_log(episodes, tmp_path / "log.csv")
    read, given = check(tmp_path / "log.csv").to_dict(), check(episodes).to_dict()
    for each in (read, given):
        del each["learning_seconds"], each["notes"]
    assert read == given


def test_check_reads_the_named_columns(tmp_path: Path) -> None:
    rows = ["patient,step,drug,pulse,age,reward"]
    rows += [f"{e},{t},{e % 2},{t},{e % 3},1" for e in range(30) for t in range(4)]
    (tmp_path / "visits.csv").write_text("\n".join(rows))
    chosen = check(
        tmp_path / "visits.csv", columns={"episode": "patient", "action": "drug"}, observations=["pulse"], horizon=2
    )
    assert (chosen.n_episodes, chosen.n_rows, chosen.horizon, chosen.columns) == (30, 120, 2, ["pulse"])
    assert chosen.report.cut == 30 and "30 cut to 2" in str(chosen)


def test_check_refuses_what_cannot_be_read() -> None:
    with pytest.raises(suffice.LogError, match=r"nowhere\.csv"):
        check("nowhere.csv")
    with pytest.raises(suffice.SettingsError, match="observations takes effect when a log is read"):
        check(simulated("corridor", 20), observations=["row"])


def test_check_counts_weights_as_episodes() -> None:
    episodes = simulated("corridor", 40)
    weighted = replace(episodes, weight=np.full(40, 3, np.int64))
    found = check(weighted)
    assert (found.n_episodes, found.weighted, found.to_dict()["total"]) == (120, True, 120)
    assert "120 of 5 decisions" in str(found) and "weights counted; 40 distinct" in str(found)
