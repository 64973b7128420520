"""Logs on workers that can be lost: the model has the same bytes as one learned in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cluster_plan
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import UNSET

import suffice
from suffice import (
    AdaptiveLanguages,
    EngineError,
    Episodes,
    Family,
    LanguageCounts,
    PrefixCounts,
    PrefixSketches,
    Settings,
)
from suffice.data.log import watched
from suffice.data.logs import datasets
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.pieces import Pieces
from suffice.data.logs.reading import ReadOptions
from suffice.data.queries import EpisodesView
from suffice.data.streaming import MemoryBudget
from suffice.engines.blocks import Move
from suffice.engines.distributed import cut_evenly
from suffice.engines.worker import EpisodeSubset, PartPosition, Worker, WorkerBehind, WorkerTask
from suffice.evidence.word_counts import FEWEST_ROWS, BackwardAutomaton, WordShard
from support.fake_workers import Here, scattered_log, write_files
from support.paths import ROOT


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scattered_log(tmp_path_factory.mktemp("logs") / "maze")


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write episodes of different lengths in row groups of two rows, some of which begin no episode."""
    return scattered_log(tmp_path_factory.mktemp("logs") / "cheese", "cookie", n=25, rows=2, files=3)


def model_file(log: Path, folder: Path, engine: Any = None, **choices: Any) -> bytes:
    suffice.learn(log, engine=engine, **choices).save(folder / "learned.model")
    return (folder / "learned.model").read_bytes()


WAYS: dict[str, dict[str, Any]] = {
    "layered": {"stationary": False},
    "stationary": {"stationary": True},
    "auto": {"stationary": "auto"},
    "held out": {"hold_out": 0.25},
    "split": {"split": suffice.Split(0.1, max_states=30)},
    "subsampled": {
        "split": suffice.Split(0.1, max_states=30),
        "planning": suffice.Planning(subsample=True),
    },
    "words": {"settings": Settings(LanguageCounts(Family(1, 2, 1)))},
    "adaptive": {"settings": Settings(AdaptiveLanguages((Family(1, 1, 1), Family(1, 1, 2))))},
    "prefixes": {"settings": Settings(PrefixCounts())},
    "sketch": {"settings": Settings(PrefixSketches(3))},
}


@pytest.mark.parametrize("way", WAYS)
def test_learn_gives_the_same_model_when_workers_die(way: str, log: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def accident(number: int, part: int) -> str:
        return str(rng.choice(["", "before", "after"], p=[0.6, 0.2, 0.2]))

    assert model_file(log, tmp_path, Here.of(3, accident), **WAYS[way]) == model_file(log, tmp_path, **WAYS[way])


@pytest.mark.parametrize("stationary", [False, True])
def test_learn_gives_the_same_model_for_any_partition(stationary: bool, uneven: Path, tmp_path: Path) -> None:
    alone = model_file(uneven, tmp_path, stationary=stationary)
    rng = np.random.default_rng(1)

    def cuts(dataset: Dataset) -> list[tuple[int, int]]:
        units = len(dataset.units)
        inner = sorted(rng.choice(np.arange(1, units), size=int(rng.integers(0, 6)), replace=False).tolist())
        return list(zip([0, *inner], [*inner, units], strict=True))

    def every_unit(dataset: Dataset) -> list[tuple[int, int]]:
        return [(i, i + 1) for i in range(len(dataset.units))]

    for engine in (*(Here(cuts) for _ in range(2)), Here(every_unit)):
        assert model_file(uneven, tmp_path, engine, stationary=stationary) == alone


@pytest.mark.parametrize(
    "choices",
    [
        {"stationary": True, "group_column": "person"},
        {"stationary": True, "ends": "censored", "objective": "per-step", "hold_out": 0.3},
        {"ends": "terminal", "objective": "discounted", "discount": 0.8, "group_column": "person"},
    ],
)
def test_learn_gives_the_same_model_with_ends_groups_and_objectives(choices: dict[str, Any], tmp_path: Path) -> None:
    """Episodes of 45 persons stop at random, so that they count as cut off unless the user says otherwise."""
    rng = np.random.default_rng(0)
    rows = [
        {"episode": e, "step": t, "person": f"p{e % 45}", "seen": int(rng.integers(2)), "action": int(rng.integers(2)),
         "reward": float(rng.integers(3))}
        for e in range(90) for t in range(int(min(rng.geometric(0.2), 6)))
    ]  # fmt: skip
    path = tmp_path / "panel.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=40)
    alone = model_file(path, tmp_path, observations="seen", **choices)
    assert model_file(path, tmp_path, Here.of(3), observations="seen", **choices) == alone
    about = suffice.load(tmp_path / "learned.model").about
    assert about.ends.kind == ("terminal" if choices.get("ends") == "terminal" else "censored")
    assert about.groups == (45 if "group_column" in choices else UNSET)


class Naive(Worker):
    """A worker that answers after a restart without taking the missing steps."""

    def answer(self, task: WorkerTask) -> Any:
        return super().answer(task._replace(taken=0))


def test_learn_would_differ_if_a_restarted_worker_did_not_catch_up(log: Path, tmp_path: Path) -> None:
    def accident(number: int, part: int) -> str:
        return "before" if (number, part) == (4, 1) else ""

    alone = model_file(log, tmp_path, stationary=False)
    assert model_file(log, tmp_path, Here.of(2, accident), stationary=False) == alone
    try:
        wrong = model_file(log, tmp_path, Here.of(2, accident, Naive), stationary=False) != alone
    except (IndexError, AssertionError, ValueError):
        wrong = True
    assert wrong


def test_worker_answers_for_the_steps_of_the_task(log: Path) -> None:
    """Earlier calls do not matter: calls may be repeated, late, or of another run."""
    dataset = Dataset.of(log)
    assert dataset is not None
    worker = Worker(Pieces.of(dataset, ReadOptions(), 64), 0, len(dataset.units), 1)
    notes, _ = worker.read(ReadOptions(horizon=worker.extent(False).longest), 64)
    assert notes is not None
    letters = len(notes.vocabulary.letters)
    agreed = PartPosition(ReadOptions(), 64, notes.digest, notes.vocabulary, np.arange(letters))
    task = WorkerTask(agreed, EpisodeSubset(0, np.zeros(0, np.uint8)), 0, Groups())
    apart = Move(0, np.zeros(1, int), np.arange(letters))  # by the first letter
    further = Move(1, np.arange(letters), np.arange(letters**2))  # by the first two
    together = Move(0, np.zeros(1, int), np.zeros(letters, int))
    first, second = task._replace(run=1, moves=(apart,)), task._replace(run=1, taken=1, moves=(further,))
    other = task._replace(run=2, moves=(together,))
    assert worker.answer(second) == WorkerBehind(0)
    one, two = worker.answer(first), worker.answer(second)
    assert len(one) < len(two) and worker.answer(second) == two
    assert worker.answer(first) == one and worker.answer(first) == one and worker.answer(second) == two
    assert worker.answer(other) == [0] and worker.answer(second) == WorkerBehind(0)
    assert worker.answer(first) == one and worker.answer(other) == [0]
    assert worker.answer(task._replace(run=3, moves=(apart, further))) == two


class Groups:
    """Query for the candidates that some episode is in."""

    def __call__(self, view: EpisodesView) -> list[int]:
        return np.unique(view.group).tolist()

    def combine(self, answers: list[list[int]]) -> list[int]:
        return sorted(set().union(*answers))


def test_learn_on_workers_accepts_weights_and_descending_ids(log: Path, tmp_path: Path) -> None:
    table = pa.concat_tables([pq.read_table(file) for file in sorted(log.iterdir())])
    episode = table.column("episode").to_numpy()
    weighted = table.append_column("weight", pa.array(1 + episode % 3))
    down = table.set_column(0, "episode", pa.array(int(episode.max()) - episode))
    for name, changed in (("weighted", weighted), ("down", down)):
        (tmp_path / name).mkdir()
        write_files(changed, tmp_path / name, 37, 2)
        alone = model_file(tmp_path / name, tmp_path)
        assert model_file(tmp_path / name, tmp_path, Here.of(3)) == alone
    for options in ({"hold_out": 0.2}, {"stationary": True}, {"split": True}):
        suffice.learn(log, **options).save(tmp_path / "up.model")
        suffice.learn(tmp_path / "down", engine=Here.of(3), **options).save(tmp_path / "down.model")
        assert (tmp_path / "up.model").read_bytes() == (tmp_path / "down.model").read_bytes()
    mixed = table.take(np.random.default_rng(0).permutation(len(table)))
    half = len(table) // 2 + 2
    torn = pa.concat_tables([table[half:], table[:half]])  # ids ascend in both halves, and one episode is in both
    for name, changed in (("mixed", mixed), ("torn", torn)):
        (tmp_path / name).mkdir()
        write_files(changed, tmp_path / name, half, 1)
        with pytest.raises(suffice.LogError, match="are not contiguous"):
            suffice.learn(tmp_path / name, engine=Here.of(2))


def test_backward_automaton_fits_depending_on_the_number_of_futures_alone() -> None:
    """The order of episodes and their partition do not matter, although parts may fit that together do not."""
    cheese = suffice.make("cheese").model(5)
    episodes = suffice.simulate(cheese, n=400, horizon=5, rng=np.random.default_rng(1))
    plan = LanguageCounts(Family(1, 1, 2)).plan(episodes.outline, suffice.FISHER_EXACT, 1 << 30)
    parts = [episodes.columns(slice(i, i + 40)) for i in range(0, 400, 40)]

    def futures(some: Episodes, memory: int = 1 << 30) -> set[bytes] | None:
        automaton = BackwardAutomaton(plan.patterns.member, plan.words, memory)
        try:
            return {row.tobytes() for row in WordShard(automaton, some).futures()}
        except suffice.SettingsError:
            return None

    whole, of_parts = futures(episodes), [futures(part) for part in parts]
    assert whole == set().union(*of_parts) and len(whole) > 2 * FEWEST_ROWS > max(map(len, of_parts))
    for rows in (FEWEST_ROWS, 2 * FEWEST_ROWS, 4 * FEWEST_ROWS):
        memory = 3 * rows * plan.words.columns - 1  # one byte too little for more rows
        fits = len(whole) + 1 <= rows
        assert all(
            futures(order, memory) == (whole if fits else None) for order in (episodes, Episodes.beside(parts[::-1]))
        )
        automaton = BackwardAutomaton(plan.patterns.member, plan.words, memory)
        automaton.refuse_if_more(rows - 1)
        with pytest.raises(suffice.SettingsError, match=r"allowed\. Choose a smaller family"):
            automaton.refuse_if_more(rows)
    assert all(
        futures(part, 3 * 2 * FEWEST_ROWS * plan.words.columns - 1) == found
        for part, found in zip(parts, of_parts, strict=True)
    )


def test_learn_refuses_a_log_that_changes_while_it_is_read(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").mkdir()
    table = pa.concat_tables([pq.read_table(file) for file in sorted(log.iterdir())])
    write_files(table, tmp_path / "log", 50, 1)

    def accident(number: int, part: int) -> str:
        if (number, part) != (5, 1):
            return ""
        flipped = table.set_column(
            table.column_names.index("reward"), "reward", pa.array(-table.column("reward").to_numpy())
        )
        write_files(flipped, tmp_path / "log", 50, 1)
        # a replacement worker has not seen the files before
        monkeypatch.setattr(datasets.Dataset, "_stamps", property(lambda dataset: {}))
        return "before"

    with pytest.raises(EngineError, match="the log has changed"):
        suffice.learn(tmp_path / "log", engine=Here.of(2, accident))


def test_watched_reports_progress_within_a_layer_that_never_decreases(log: Path) -> None:
    dataset, seen = Dataset.of(log), []
    assert dataset is not None
    with Here.of(2).reading() as read:
        scattered, _ = read(dataset, ReadOptions(), MemoryBudget(1 << 30))
    layers = watched(scattered, lambda done, of: seen.append((done, of)))
    layers(2, 10)
    for done in (5, 3, 8, 10):
        scattered.pool.watch(done, 10)
    layers(3, 10)
    scattered.pool.watch(1, 10)
    assert seen == [(2, 10), (2.5, 10), (2.5, 10), (2.8, 10), (2.99, 10), (3, 10), (3.1, 10)]


def test_cut_evenly_gives_parts_of_about_equal_size(uneven: Path) -> None:
    dataset = Dataset.of(uneven)
    assert dataset is not None
    units = len(dataset.units)
    for workers in (1, 2, 3, 7, units, units + 5):
        cuts = cut_evenly(dataset, workers)
        assert [a for a, _ in cuts] == [0, *(b for _, b in cuts[:-1])] and cuts[-1][1] == units
        assert len(cuts) == min(workers, units)
        sizes = [sum(unit.rows for unit in dataset.units[a:b]) for a, b in cuts]
        assert min(sizes) > 0 and max(sizes) - min(sizes) <= 4


@pytest.mark.parametrize("data", ["several", "csv", "episodes"])
def test_learn_refuses_data_that_workers_cannot_read(data: str, log: Path, tmp_path: Path) -> None:
    whole = suffice.read_log(log)
    suffice.write_log(whole, tmp_path / "log.csv")
    chosen: dict[str, Any] = {"several": [log, tmp_path / "log.csv"], "csv": tmp_path / "log.csv", "episodes": whole}
    with pytest.raises(suffice.SettingsError, match="Parquet"):
        suffice.learn(chosen[data], engine=Here.of(2))


def test_cluster_page_shows_the_table_of_the_simulation() -> None:
    page = (ROOT / "docs" / "howto" / "cluster.md").read_text(encoding="utf-8")
    assert cluster_plan.table() in page
    never, often = (cluster_plan.Run(cluster_plan.Log(), place, np.random.default_rng(1)) for place in PLACES)
    assert never.go()[2] < often.go()[2] and never.lost == 0 < often.lost < often.cluster.machines


PLACES = (cluster_plan.Cluster(), cluster_plan.Cluster(days=1 / 24))
