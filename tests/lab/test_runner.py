"""Running many experiments in separate processes, with limits, failures and interruptions."""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from suffice.errors import SufficeError
from suffice.lab import store
from suffice.lab.experiment import Experiment, Result
from suffice.lab.peers import alergia
from suffice.lab.peers.flexfringe import find_flexfringe
from suffice.lab.run_experiment import run_experiment
from suffice.lab.runner import DIED, RunSettings, run_all

OTHERS_PROGRAM = "flexfringe/likelihood-ratio"  # runs the given program


def an_experiment(**changes: Any) -> Experiment:
    """Return an experiment of a domain that the fork server has loaded."""
    usual: dict[str, Any] = {"domain": "t-maze", "horizon": 5, "episodes": 300, "seed": 0, "learner": "layers"}
    return Experiment(**{**usual, **changes})


QUICK = [
    an_experiment(learner=learner, seed=seed)
    for learner, seed in (("1,1,1/paper", 0), ("1,1,1/paper", 1), ("layers", 1), ("stationary", 0))
]
SLOW = an_experiment(learner=OTHERS_PROGRAM)


@cache
def expected() -> dict[str, Result]:
    return {e.id: what(run_experiment(e)) for e in QUICK}


def what(result: Result) -> Result:
    """Remove the fields that depend on the machine."""
    return msgspec.structs.replace(result, seconds=0.0, bytes=0)


def files(folder: Path) -> dict[str, int]:
    """Return when each file was written."""
    return {file.stem: file.stat().st_mtime_ns for file in (folder / store.RUNS).glob("*")}


def program(folder: Path, lines: str) -> str:
    """Write a program that replaces FlexFringe and records each of its runs."""
    file = folder / "program"
    file.write_text(f"#!/bin/sh\n[ $1 = --help ] && exit\npwd > {folder}/place; echo $$ >> {folder}/pids\n{lines}\n")
    file.chmod(0o755)
    return str(file)


def sleeper(folder: Path) -> str:
    """Write a program that never ends and starts another that never ends."""
    return program(folder, f"sleep 1000 &\necho $! >> {folder}/pids\nwait")


def pids(folder: Path, at_least: int = 0) -> list[int]:
    """Return the process ids of all programs that were started."""
    file = folder / "pids"
    end = time.monotonic() + 10
    while time.monotonic() < end:
        found = file.read_text().split() if file.exists() else []
        if len(found) >= at_least:
            break
        time.sleep(0.01)
    return [int(pid) for pid in found]


def gone(pid: int) -> bool:
    """Return whether no process with that id runs; a zombie does not run."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("jobs", [1, 3])
def test_run_all_returns_the_results_of_run_experiment(tmp_path: Path, jobs: int) -> None:
    progress: list[tuple[int, int]] = []
    results = run_all([*QUICK, *QUICK], tmp_path, RunSettings(jobs), lambda done, of: progress.append((done, of)))
    assert {name: what(result) for name, result in results.items()} == expected()
    assert all(result.bytes > 0 for result in results.values())
    assert results[QUICK[-1].id].seconds > 0  # the others are faster than the resolution of some clocks
    assert store.load(tmp_path) == results and set(files(tmp_path)) == set(results)
    assert progress == [(i, len(QUICK)) for i in range(len(QUICK) + 1)]


def test_run_all_reuses_results_in_the_folder(tmp_path: Path) -> None:
    """Missing results are computed, and other files in the folder are ignored."""
    first = run_all(QUICK[:2], tmp_path, RunSettings(2))
    before = files(tmp_path)
    progress: list[tuple[int, int]] = []
    assert run_all(QUICK[1::-1], tmp_path, RunSettings(2), lambda done, of: progress.append((done, of))) == first
    assert files(tmp_path) == before and progress == [(2, 2)]
    store.save_bundle(first.values(), tmp_path / "all.jsonl.gz")
    for file in (tmp_path / store.RUNS).iterdir():
        file.unlink()
    assert run_all(QUICK[1:3], tmp_path, RunSettings(2)).keys() == {e.id for e in QUICK[1:3]}
    assert files(tmp_path).keys() == {QUICK[2].id}


def test_run_all_kills_a_late_run_with_all_its_processes(tmp_path: Path) -> None:
    settings = RunSettings(2, seconds=2.0, flexfringe=sleeper(tmp_path))
    results = run_all([SLOW, QUICK[0]], tmp_path, settings)
    assert results[SLOW.id] == Result(experiment=SLOW, stopped="over 2 s", limit=2.0) and not results[SLOW.id].failed
    assert not results[QUICK[0].id].stopped and len(pids(tmp_path)) == 2
    assert all(gone(pid) for pid in pids(tmp_path))
    place = Path((tmp_path / "place").read_text().strip())
    assert place.is_relative_to(tempfile.gettempdir()) and not place.exists()
    # a stopped run is repeated only with a higher limit
    assert run_all([SLOW, QUICK[0]], tmp_path, settings) == results == store.load(tmp_path)
    assert run_all([SLOW], tmp_path, replace(settings, seconds=0.5)) == {SLOW.id: results[SLOW.id]}
    assert len(pids(tmp_path)) == 2
    again = run_all([SLOW, QUICK[0]], tmp_path, replace(settings, seconds=2.1))
    assert again[SLOW.id].limit == 2.1 and again[QUICK[0].id] == results[QUICK[0].id]
    assert len(pids(tmp_path)) == 4 and all(gone(pid) for pid in pids(tmp_path))
    assert store.load(tmp_path) == again


def test_run_all_reports_runs_over_the_memory_limit(tmp_path: Path) -> None:
    large = an_experiment(episodes=2_000_000)
    results = run_all([large, QUICK[0]], tmp_path, RunSettings(1, seconds=60, bytes=1 << 29))
    assert results[large.id] == Result(experiment=large, stopped="over 0.5 GiB", limit=60)
    assert store.load(tmp_path) == results


def test_run_all_omits_learners_without_their_program(tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    wanted = [SLOW, an_experiment(learner=f"{OTHERS_PROGRAM}/closed"), QUICK[0]]
    results = run_all(wanted, tmp_path, RunSettings(1), lambda done, of: progress.append((done, of)))
    assert results.keys() == files(tmp_path).keys() == {QUICK[0].id}
    assert progress == [(0, 1), (1, 1)]
    stopped = Result(experiment=wanted[0], stopped="over 5 s", limit=5)
    store.save(stopped, tmp_path)  # it would be repeated if the program were installed
    assert run_all(wanted, tmp_path, RunSettings(1)) == {**results, wanted[0].id: stopped}


def test_run_all_omits_learners_without_their_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored refusal would prevent the run after the library is installed."""
    monkeypatch.setattr(alergia, "find_spec", lambda name: None)
    assert run_all([an_experiment(learner="aalpy/auto")], tmp_path, RunSettings(1)) == {} == files(tmp_path)


def test_find_flexfringe_refuses_missing_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, missing = program(tmp_path, "exit"), str(tmp_path / "missing")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("FLEXFRINGE", raising=False)
    assert find_flexfringe() is None and find_flexfringe("program") == find_flexfringe(here) == here
    (tmp_path / "flexfringe").symlink_to(here)
    assert find_flexfringe() == here
    with pytest.raises(SufficeError, match=f"^flexfringe='{missing}' is not an executable program"):
        find_flexfringe(missing)
    monkeypatch.setenv("FLEXFRINGE", missing)
    assert find_flexfringe(here) == here
    with pytest.raises(SufficeError, match=f"^FLEXFRINGE={missing} is not an executable program"):
        find_flexfringe()


def test_run_all_stores_refusals_as_results(tmp_path: Path) -> None:
    refused = {
        an_experiment(
            domain="cookie", learner="3,3,3/paper"
        ): "refused: family='3,3,3': .* languages on this log do not fit",
        an_experiment(domain="cheese", learner="stationary", horizon=1): "refused: a stationary automaton needs",
        an_experiment(learner="best"): "refused: learner 'best': '' is not a bound",
        an_experiment(options=(("colour", "red"),)): "refused: colour is not an option of t-maze",
    }
    settings = RunSettings(2)
    results = run_all(refused, tmp_path, settings)
    for experiment, words in refused.items():
        result = results[experiment.id]
        assert re.match(words, result.stopped) and result.limit == settings.seconds and not result.failed
    assert store.load(tmp_path) == results
    before = files(tmp_path)
    assert run_all(refused, tmp_path, settings) == results and files(tmp_path) == before


def test_run_all_reports_but_does_not_store_crashed_runs(tmp_path: Path) -> None:
    """The program kills its process group: the run, but neither other runs nor the server."""
    settings = RunSettings(2, flexfringe=program(tmp_path, "kill -9 0"))
    results = run_all([SLOW, *QUICK[:2]], tmp_path, settings)
    assert results[SLOW.id] == Result(experiment=SLOW, stopped=DIED) and results[SLOW.id].failed
    assert files(tmp_path).keys() == {e.id for e in QUICK[:2]}
    assert run_all([SLOW], tmp_path, settings)[SLOW.id].failed and len(pids(tmp_path)) == 2


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'no | licence' >&2; exit 1", "died: program failed: no | licence"),
        ("exit 3", "died: program failed: no message"),
        ("exit 0", "died: program did not write learned.final.json"),
        ("echo '{' > learned.final.json", "died: JSONDecodeError: Expecting property name"),
    ],
)
def test_run_all_repeats_runs_of_failing_programs(tmp_path: Path, script: str, words: str) -> None:
    result = run_all([SLOW], tmp_path, RunSettings(1, flexfringe=program(tmp_path, script)))[SLOW.id]
    assert result.failed and result.stopped.startswith(words) and not files(tmp_path)


def test_run_all_continues_after_an_interruption(tmp_path: Path) -> None:
    binary = sleeper(tmp_path)

    def interrupt(done: int, of: int) -> None:
        assert of == len(QUICK) + 1
        if done == 2:
            pids(tmp_path, at_least=2)  # until the slow run has started
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_all([SLOW, *QUICK], tmp_path, RunSettings(2, seconds=30, flexfringe=binary), interrupt)
    assert time.monotonic() - start < 20
    assert len(pids(tmp_path)) == 2 and all(gone(pid) for pid in pids(tmp_path))
    kept = files(tmp_path)
    assert len(kept) == 2 and kept.keys() < {e.id for e in QUICK}
    results = run_all([SLOW, *QUICK], tmp_path, RunSettings(2))
    assert results.keys() == files(tmp_path).keys() == {e.id for e in QUICK}
    assert not any(result.stopped for result in results.values()) and kept.items() < files(tmp_path).items()
