"""Tables of learning: counted in parts with the same result, refused before they are made, within the memory limit."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.data import log as log_module
from suffice.data.episodes import Episodes
from suffice.domains.registry import make
from suffice.errors import MemoryLimitError
from suffice.evidence.adaptive import AdaptiveLanguages
from suffice.learning import adact_h as adact_h_module
from suffice.learning import refinement
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.layers import learn_layers
from suffice.models import trial as trial_module
from suffice.models.api import learn
from suffice.models.model import Model
from suffice.models.trial import try_sample
from support.confined import confined
from support.fake_workers import Here, scattered_log

LIMIT = 600  # MB


def simulated(name: str, n: int, weighted: bool = False) -> Episodes:
    episodes = make(name, {}).simulate(n, 5, np.random.default_rng(0))
    return episodes.compact() if weighted else episodes


def saved(episodes: Episodes, settings: Settings, path: Path) -> bytes:
    Model.of(learn_layers(episodes, settings), episodes).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("engine_memory", [1 << 40, 1 << 26])  # episodes prepared at once, and block by block
@pytest.mark.parametrize("statistic", [{}, {"statistic": AdaptiveLanguages()}])
def test_learn_layers_is_the_same_when_candidates_are_counted_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weighted: bool, engine_memory: int, statistic: dict[str, object]
) -> None:
    episodes = simulated("t-maze", 9000, weighted)
    settings = Settings(**statistic, threads=2, memory=engine_memory)  # type: ignore[arg-type]
    at_once = saved(episodes, settings, tmp_path / "once.model")
    for size in (1, 1 << 14):  # one candidate at a time, and a few
        monkeypatch.setattr(log_module, "COUNTED_AT_ONCE", size)
        assert saved(episodes, settings, tmp_path / "parts.model") == at_once


def test_learn_counts_candidates_in_parts_on_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = scattered_log(tmp_path / "maze")
    learn(log).save(tmp_path / "once.model")
    monkeypatch.setattr(log_module, "COUNTED_AT_ONCE", 1 << 12)
    learn(log, engine=Here.of(2)).save(tmp_path / "parts.model")
    assert (tmp_path / "parts.model").read_bytes() == (tmp_path / "once.model").read_bytes()


def test_adact_h_refuses_states_before_their_table_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adact_h_module, "automaton_bytes", lambda states, letters: states << 40 if states > 4 else 0)
    with pytest.raises(MemoryLimitError, match=r"^the table of \d states so far and \d+ distinct steps needs .* and "):
        adact_h(simulated("t-maze", 3000))


def test_refine_refuses_states_before_their_table_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "refinement_bytes", lambda states, letters: states << 40)
    with pytest.raises(MemoryLimitError, match=r"the table of \d+ states and \d+ distinct steps needs .* Raise memory"):
        learn_layers(simulated("t-maze", 3000), Settings())


def test_try_sample_takes_fewer_episodes_if_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = trial_module.learn_layers

    def refuse_many(episodes: Episodes, *rest: object, **options: object) -> object:
        if episodes.n > 1000:
            raise MemoryLimitError("too large")
        return learned(episodes, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(trial_module, "learn_layers", refuse_many)
    trial = try_sample(simulated("t-maze", 4000))
    assert trial.tried == 1000 and [episodes for episodes, _ in trial.growth] == [10, 100, 500, 1000]


# ---------------------------------------------------------------- many distinct observations in a confined process


def many_letters(path: Path, episodes: int, steps: int, observations: int, seed: int = 0) -> None:
    rng, shape = np.random.default_rng(seed), (episodes, steps)
    table = {
        "episode": np.repeat(np.arange(episodes), steps),
        "step": np.tile(np.arange(steps), episodes),
        "seen": rng.integers(0, observations, shape).ravel().astype(str),
        "action": rng.integers(0, 2, shape).ravel(),
        "reward": rng.integers(0, 2, shape).ravel(),
    }
    pq.write_table(pa.table(table), path)


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited on this platform")
def test_learn_keeps_the_memory_limit_with_many_observations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log, model = str(tmp_path / "log.parquet"), tmp_path / "a.model"
    many_letters(Path(log), 6000, 3, 700)
    found = confined(LIMIT, "learn", log, "-o", str(model), "--memory", f"{LIMIT}MB")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(model.with_suffix(".model.run.json").read_text())["bytes"] < LIMIT * 10**6
    other = tmp_path / "other.parquet"
    many_letters(other, 6000, 3, 700, seed=1)
    for command, *rest in (("evaluate", "--log", str(other)), ("report", "-o", "a.html"), ("explore", "-o", "b.html")):
        done = confined(LIMIT, command, str(model), *rest)
        assert (done.returncode, done.stderr) == (0, ""), command


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited on this platform")
def test_learn_refuses_what_does_not_fit_in_one_line(tmp_path: Path) -> None:
    log = str(tmp_path / "log.parquet")
    many_letters(Path(log), 6000, 3, 700)
    found = confined(
        LIMIT,
        "learn",
        log,
        "-o",
        str(tmp_path / "a.model"),
        "--memory",
        "20MB",  # reads the log; tables of steps do not fit, even by groups of observations
        "--stationary",
        "yes",
        "--observations",
        "all",
    )
    assert found.returncode == 2 and not (tmp_path / "a.model").exists()
    assert re.fullmatch(r"suffice: .* distinct steps .* raise --memory\.\n", found.stderr)


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited on this platform")
def test_learn_keeps_the_memory_limit_when_it_chooses_the_memory(tmp_path: Path) -> None:
    """Kinds of memory that do not fit are left out: 590 MB before, 390 now."""
    log, model, limit = str(tmp_path / "log.parquet"), tmp_path / "a.model", 500
    many_letters(Path(log), 1500, 3, 400)
    words = ("-o", str(model), "--memory", f"{limit}MB", "--stationary", "auto")
    found = confined(limit, "learn", log, *words)
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(model.with_suffix(".model.run.json").read_text())["bytes"] < limit * 10**6


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited on this platform")
def test_check_estimates_the_memory_of_learning_with_many_observations(tmp_path: Path) -> None:
    log, model = str(tmp_path / "log.parquet"), tmp_path / "a.model"
    many_letters(Path(log), 20_000, 5, 1000)
    found = confined(LIMIT, "check", log, "--memory", f"{LIMIT}MB", "--json", "--seconds", "300")
    assert (found.returncode, found.stderr) == (0, "")
    announced = json.loads(found.stdout)["learning_bytes"]
    assert confined(LIMIT, "learn", log, "-o", str(model), "--memory", f"{LIMIT}MB").returncode == 0
    peak = json.loads(model.with_suffix(".model.run.json").read_text())["bytes"]
    assert peak - 300e6 < announced < 2 * peak
