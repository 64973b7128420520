"""Many experiments in processes of their own: what they give, what stops them, and what is left of them."""

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

OTHERS_PROGRAM = "flexfringe/likelihood-ratio"  # runs whatever is given


def an_experiment(**changes: Any) -> Experiment:
    """Of a domain that the server knows."""
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
    """Without what depends on the machine."""
    return msgspec.structs.replace(result, seconds=0.0, bytes=0)


def files(folder: Path) -> dict[str, int]:
    """When each was written."""
    return {file.stem: file.stat().st_mtime_ns for file in (folder / store.RUNS).glob("*")}


def program(folder: Path, lines: str) -> str:
    """One that can be given for FlexFringe's binary, and says each time that it has been run."""
    file = folder / "program"
    file.write_text(f"#!/bin/sh\n[ $1 = --help ] && exit\npwd > {folder}/place; echo $$ >> {folder}/pids\n{lines}\n")
    file.chmod(0o755)
    return str(file)


def sleeper(folder: Path) -> str:
    """Never ends, nor does what it started."""
    return program(folder, f"sleep 1000 &\necho $! >> {folder}/pids\nwait")


def pids(folder: Path, at_least: int = 0) -> list[int]:
    """Of all programs that were started."""
    file = folder / "pids"
    end = time.monotonic() + 10
    while time.monotonic() < end:
        found = file.read_text().split() if file.exists() else []
        if len(found) >= at_least:
            break
        time.sleep(0.01)
    return [int(pid) for pid in found]


def gone(pid: int) -> bool:
    """Nothing runs by that number; what nobody has waited for yet does not."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("jobs", [1, 3])
def test_runs_give_what_experiments_give(tmp_path: Path, jobs: int) -> None:
    told: list[tuple[int, int]] = []
    results = run_all([*QUICK, *QUICK], tmp_path, RunSettings(jobs), lambda done, of: told.append((done, of)))
    assert {name: what(result) for name, result in results.items()} == expected()
    assert all(result.bytes > 0 for result in results.values())
    assert results[QUICK[-1].id].seconds > 0  # the others take less than a tick of some clocks
    assert store.load(tmp_path) == results and set(files(tmp_path)) == set(results)
    assert told == [(i, len(QUICK)) for i in range(len(QUICK) + 1)]


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    """But what is not, and whatever else is in the folder does not matter."""
    first = run_all(QUICK[:2], tmp_path, RunSettings(2))
    before = files(tmp_path)
    told: list[tuple[int, int]] = []
    assert run_all(QUICK[1::-1], tmp_path, RunSettings(2), lambda done, of: told.append((done, of))) == first
    assert files(tmp_path) == before and told == [(2, 2)]
    store.save_bundle(first.values(), tmp_path / "all.jsonl.gz")
    for file in (tmp_path / store.RUNS).iterdir():
        file.unlink()
    assert run_all(QUICK[1:3], tmp_path, RunSettings(2)).keys() == {e.id for e in QUICK[1:3]}
    assert files(tmp_path).keys() == {QUICK[2].id}


def test_over_time_a_run_ends_with_all_that_it_started(tmp_path: Path) -> None:
    settings = RunSettings(2, seconds=2.0, flexfringe=sleeper(tmp_path))
    results = run_all([SLOW, QUICK[0]], tmp_path, settings)
    assert results[SLOW.id] == Result(experiment=SLOW, stopped="over 2 s", limit=2.0) and not results[SLOW.id].failed
    assert not results[QUICK[0].id].stopped and len(pids(tmp_path)) == 2
    assert all(gone(pid) for pid in pids(tmp_path))
    place = Path((tmp_path / "place").read_text().strip())
    assert place.is_relative_to(tempfile.gettempdir()) and not place.exists()
    # once is enough, but more time may help
    assert run_all([SLOW, QUICK[0]], tmp_path, settings) == results == store.load(tmp_path)
    assert run_all([SLOW], tmp_path, replace(settings, seconds=0.5)) == {SLOW.id: results[SLOW.id]}
    assert len(pids(tmp_path)) == 2
    again = run_all([SLOW, QUICK[0]], tmp_path, replace(settings, seconds=2.1))
    assert again[SLOW.id].limit == 2.1 and again[QUICK[0].id] == results[QUICK[0].id]
    assert len(pids(tmp_path)) == 4 and all(gone(pid) for pid in pids(tmp_path))
    assert store.load(tmp_path) == again


def test_a_run_over_the_memory_limit_says_so(tmp_path: Path) -> None:
    large = an_experiment(episodes=2_000_000)
    results = run_all([large, QUICK[0]], tmp_path, RunSettings(1, seconds=60, bytes=1 << 29))
    assert results[large.id] == Result(experiment=large, stopped="over 0.5 GiB", limit=60)
    assert store.load(tmp_path) == results


def test_without_its_program_a_learner_is_left_out(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    wanted = [SLOW, an_experiment(learner=f"{OTHERS_PROGRAM}/closed"), QUICK[0]]
    results = run_all(wanted, tmp_path, RunSettings(1), lambda done, of: told.append((done, of)))
    assert results.keys() == files(tmp_path).keys() == {QUICK[0].id}
    assert told == [(0, 1), (1, 1)]
    stopped = Result(experiment=wanted[0], stopped="over 5 s", limit=5)
    store.save(stopped, tmp_path)  # it is worth another try, but not here
    assert run_all(wanted, tmp_path, RunSettings(1)) == {**results, wanted[0].id: stopped}


def test_without_its_library_a_learner_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal would be kept, and in the way once it is installed."""
    monkeypatch.setattr(alergia, "find_spec", lambda name: None)
    assert run_all([an_experiment(learner="aalpy/auto")], tmp_path, RunSettings(1)) == {} == files(tmp_path)


def test_a_program_that_is_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, missing = program(tmp_path, "exit"), str(tmp_path / "missing")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("FLEXFRINGE", raising=False)
    assert find_flexfringe() is None and find_flexfringe("program") == find_flexfringe(here) == here
    (tmp_path / "flexfringe").symlink_to(here)
    assert find_flexfringe() == here
    with pytest.raises(SufficeError, match=f"^--flexfringe {missing} is no program"):
        find_flexfringe(missing)
    monkeypatch.setenv("FLEXFRINGE", missing)
    assert find_flexfringe(here) == here
    with pytest.raises(SufficeError, match=f"^FLEXFRINGE {missing} is no program"):
        find_flexfringe()


def test_refusals_are_results(tmp_path: Path) -> None:
    refused = {
        an_experiment(domain="cookie", learner="3,3,3/paper"): "refused: family 3,3,3 has .* languages .*does not fit",
        an_experiment(domain="cheese", learner="stationary", horizon=1): "refused: a stationary automaton needs",
        an_experiment(learner="best"): "refused: best is no learner",
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


def test_a_run_that_dies_is_told_of_but_not_kept(tmp_path: Path) -> None:
    """The program ends everything in its group: the run too, but not those beside it, nor the server."""
    settings = RunSettings(2, flexfringe=program(tmp_path, "kill -9 0"))
    results = run_all([SLOW, *QUICK[:2]], tmp_path, settings)
    assert results[SLOW.id] == Result(experiment=SLOW, stopped=DIED) and results[SLOW.id].failed
    assert files(tmp_path).keys() == {e.id for e in QUICK[:2]}
    assert run_all([SLOW], tmp_path, settings)[SLOW.id].failed and len(pids(tmp_path)) == 2


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'no | licence' >&2; exit 1", "died: program failed: no | licence"),
        ("exit 3", "died: program failed: without a word"),
        ("exit 0", "died: program wrote no learned.final.json"),
        ("echo '{' > learned.final.json", "died: JSONDecodeError: Expecting property name"),
    ],
)
def test_another_programs_faults_are_worth_another_try(tmp_path: Path, script: str, words: str) -> None:
    result = run_all([SLOW], tmp_path, RunSettings(1, flexfringe=program(tmp_path, script)))[SLOW.id]
    assert result.failed and result.stopped.startswith(words) and not files(tmp_path)


def test_an_interrupted_list_goes_on_where_it_was(tmp_path: Path) -> None:
    binary = sleeper(tmp_path)

    def interrupt(done: int, of: int) -> None:
        assert of == len(QUICK) + 1
        if done == 2:
            pids(tmp_path, at_least=2)  # until the slow one has begun
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
