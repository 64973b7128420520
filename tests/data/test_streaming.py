"""Logs larger than memory: reading in pieces gives the same episodes, and learning the same model bytes."""

from __future__ import annotations

import contextlib
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.data.alphabet import Alphabet
from suffice.data.encoding.binning import EqualWidth
from suffice.data.encoding.encoder import EncoderRequest
from suffice.data.log import content_of
from suffice.data.logs import log_files
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.pieces import Extent, Pieces
from suffice.data.logs.reading import ReadOptions, read_as
from suffice.data.streaming import MemoryBudget, read_stored
from suffice.errors import LogError, SufficeError
from support.logs_in_pieces import make_logs, read_in_pieces, suffice, write_files

SCRIPTED = settings(derandomize=True, max_examples=80, deadline=None, database=None)
SUFFIXES = (".parquet", ".arrow", ".stream.arrow", ".lz4.arrow", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
KINDS = ("numbers", "text", "dictionary", "done", "ends", "record", "lists", "steps", "named lists", "parts of lists")


@dataclass(frozen=True)
class Drawn:
    """A random log, its division into files, and how it is read."""

    table: pa.Table
    episode: list[int]  # [rows] index of each row's episode
    files: list[list[int]]  # rows of each row group, file by file
    suffix: str  # of the files
    chunk: int  # bytes of a text file that are parsed at a time
    rows: int  # rows of a piece
    parts: list[float]  # bounds of the parts, as shares of the row groups


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    suffix = draw(st.sampled_from(SUFFIXES))
    table, episode = log_of(draw(st.sampled_from(KINDS[:5] if "csv" in suffix else KINDS)), rng)
    files, left = [], len(table)
    for _ in range(draw(st.integers(1, 5))):
        mine = rng.randint(0, left)
        files.append(groups_of(mine, rng))
        left -= mine
    files.append(groups_of(left, rng))
    chunk, rows = draw(st.integers(1, 400)), draw(st.integers(1, 20))
    return Drawn(table, episode, files, suffix, chunk, rows, [rng.random() for _ in range(3)])


def groups_of(rows: int, rng: random.Random) -> list[int]:
    """Return the sizes of the row groups of one file: one for all, or several, some of them empty."""
    if rng.random() < 0.3:
        return [rows]
    sizes = []
    while rows:
        sizes.append(min(rows, rng.randint(0, 7)))
        rows -= sizes[-1]
    return sizes


def log_of(kind: str, rng: random.Random) -> tuple[pa.Table, list[int]]:
    lengths = [rng.randint(1, 6) for _ in range(rng.randint(1, 12))]
    ids: list[Any] = sorted(rng.sample(range(-50, 50), len(lengths)))
    if kind in ("text", "dictionary"):
        ids = sorted(f"{rng.choice('aßé日🙂')}{i}" for i in ids)
    place = [e for e, length in enumerate(lengths) for _ in range(length)]
    step = [t for length in lengths for t in range(length)]
    last = [t == length - 1 for length in lengths for t in range(length)]
    seen = [rng.choice(["a", "b", "ç"]) for _ in step]
    columns: dict[str, Any] = {
        "episode": [ids[e] for e in place],
        "step": step,
        "seen": seen,
        "action": [rng.randint(0, 1) for _ in step],
        "reward": [float(rng.randint(-1, 1)) for _ in step],
    }
    if kind in ("done", "ends"):
        del columns["episode"], columns["step"]
        stopped = [rng.random() < 0.5 for _ in step]
        columns |= (
            {"done": last}
            if kind == "done"
            else {"terminated": last, "timeout": [a and b for a, b in zip(last, stopped, strict=True)]}
        )
    if kind == "dictionary":
        columns["episode"] = pa.array(columns["episode"]).dictionary_encode()
    if kind == "record":
        columns["seen"] = [{"what": what, "when": t % 2} for what, t in zip(seen, step, strict=True)]
    if kind not in ("lists", "steps", "named lists", "parts of lists"):
        return pa.table(columns), place
    return nested(kind, columns, place, rng)


def nested(
    kind: str, columns: dict[str, list[Any]], place: list[int], rng: random.Random
) -> tuple[pa.Table, list[int]]:
    """Return a table with a row for each episode or, if it has an id, for a part of one."""
    begins = [
        i
        for i in range(len(place))
        if i == 0 or place[i] != place[i - 1] or (kind == "parts of lists" and rng.random() < 0.3)
    ]
    rows = []
    for a, b in pairwise([*begins, len(place)]):
        row = {name: values[a:b] for name, values in columns.items() if name not in ("episode", "step")}
        if kind == "parts of lists":
            row = {"episode": columns["episode"][a], "step": columns["step"][a:b], **row}
        elif kind == "named lists":
            row = {"episode": columns["episode"][a], **row}
        elif kind == "steps":
            row = {"run": [dict(zip(row, step, strict=True)) for step in zip(*row.values(), strict=True)]}
        rows.append(row)
    return pa.Table.from_pylist(rows), [place[a] for a in begins]


@contextlib.contextmanager
def written(log: Drawn) -> Iterator[Dataset]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_files, "CHUNK", log.chunk)
        dataset = Dataset.of(write_files(Path(folder), log.table, log.files, log.suffix))
        assert dataset is not None and dataset.rows == len(log.table)
        yield dataset


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that makes every log too large, with pieces of about `rows` rows."""
    return read_in_pieces(monkeypatch)


# ---------------------------------------------------------------- pieces


@SCRIPTED
@given(drawn())
def test_pieces_contain_every_episode_once_whole_and_in_order(log: Drawn) -> None:
    with written(log) as dataset:
        pieces = Pieces.of(dataset, ReadOptions(), log.rows)
        edges = sorted({0, len(dataset.units), *(int(share * len(dataset.units)) for share in log.parts)})
        found = [table for begin, end in pairwise(edges) for table in pieces.tables(begin, end)]
        extents = [pieces.extent(begin, end) for begin, end in pairwise(edges)]
        at, places = 0, []
        for table in found:
            places.append(table.place(0))
            assert table.place(0) == dataset.place(at)
            assert at == 0 or log.episode[at] != log.episode[at - 1]
            at += table.rows
        assert at == len(log.table)
        for name in pieces.read:
            values = [value for table in found for value in table.column(name).to_pylist()]
            assert [v.decode() if isinstance(v, bytes) else v for v in values] == log.table.column(name).to_pylist()
        whole = Extent.combine(extents, "it")
    assert whole.episodes == log.episode[-1] + 1
    assert whole.ascending


@SCRIPTED
@given(drawn(), st.integers(1, 3))
def test_read_stored_equals_reading_at_once_on_random_logs(log: Drawn, threads: int) -> None:
    with written(log) as dataset, pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryBudget, "rows", log.rows)
        assert_same(dataset, ReadOptions(), threads)


def test_read_stored_reads_lists_of_steps_where_the_first_rows_have_length_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists of length 1 beside an episode id could also be values of single decisions."""
    monkeypatch.setattr(MemoryBudget, "rows", 1)
    lists = {"o": [["a"], ["b"], ["a", "b"]], "action": [[1], [1], [1, 2]], "reward": [[0], [1], [0, 1]]}
    lists["episode"] = [1, 2, 3]  # type: ignore[assignment]
    dataset = Dataset.of(write_files(tmp_path, pa.table(lists), [[1], [1, 1]]))
    assert dataset is not None
    assert_same(dataset, ReadOptions())


@pytest.mark.parametrize("missing", [False, True])
def test_read_stored_bins_by_given_edges_like_reading_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: bool
) -> None:
    """Missing values have a bin of their own in all pieces, also in those without any."""
    monkeypatch.setattr(MemoryBudget, "rows", 2)
    log = {"episode": range(9), "o": [0.5, 1.5] * 4 + [None if missing else 2.5], "action": [1] * 9, "reward": [0] * 9}
    dataset = Dataset.of(write_files(tmp_path, pa.table({k: list(v) for k, v in log.items()}), [[4], [5]]))
    assert dataset is not None
    assert_same(dataset, how_to("", bins={"o": [1, 2]}))


def assert_same(dataset: Dataset, how: ReadOptions, threads: int = 2) -> None:
    """Check that reading in pieces gives the same as reading at once."""
    whole, report = read_as(dataset.name, how)
    stored, in_pieces = read_stored(dataset, how, MemoryBudget(1 << 40, threads))
    assert stored.alphabet == whole.alphabet
    assert stored.declared == whole.declared
    assert (stored.horizon, stored.n, stored.total) == (whole.horizon, whole.n, whole.total)
    np.testing.assert_array_equal(stored.letters, whole.letters)
    np.testing.assert_array_equal(stored.follows, whole.follows)
    blocks = [stored.block(i) for i in range(len(stored.blocks))]
    np.testing.assert_array_equal(np.concatenate([block.word for block in blocks], axis=1), whole.word)
    if whole.weight is not None:
        np.testing.assert_array_equal(np.concatenate([block.weight for block in blocks]), whole.weight)
    assert in_pieces.encoder == report.encoder
    assert in_pieces.notes == report.notes


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of `maze`, a log in three files in which memory of the first observation is rewarded."""
    return make_logs(tmp_path_factory)


SEEN = "observations=seen"
TWO = "observations=seen+heat"
READING: dict[str, dict[str, Any]] = {
    "plain": {"columns": SEEN},
    "a horizon that cuts": {"columns": f"{SEEN},truncated=timeout", "horizon": 2},
    "truncated episodes": {"columns": f"{SEEN},truncated=timeout"},
    "ends": {"columns": SEEN, "ends": "auto"},
    "censored": {"columns": SEEN, "ends": "censored"},
    "terminal": {"columns": SEEN, "ends": "terminal"},
    "truncated episodes left out": {"columns": f"{SEEN},truncated=timeout", "drop_truncated": True},
    "weights": {"columns": f"{SEEN},weight=count"},
    "edges of bins": {"columns": TWO, "bins": {"heat": (-0.5, 0.5)}},
    "bins of equal size": {"columns": TWO, "bins": {"heat": 4}},
    "bins of equal width": {"columns": TWO, "bins": {"heat": EqualWidth(4)}},
    "many values": {"columns": TWO, "max_values": 2000},
    "a schema": {
        "columns": "reward=reward",
        "schema": Alphabet("lr", ("seen",), [(what,) for what in "lrxyz"], (0, 0.5, 1, 1.5, 2)),
    },
}


def how_to(columns: str, bins: Any = None, **options: Any) -> ReadOptions:
    return ReadOptions(EncoderRequest.of(columns, bins), **options)


@pytest.mark.parametrize("name", READING)
def test_read_stored_applies_all_options_to_every_piece(here: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(MemoryBudget, "rows", 30)
    dataset = Dataset.of("maze")
    assert dataset is not None
    assert_same(dataset, how_to(**READING[name]))


def refusals(source: str, how: ReadOptions, rows: int) -> tuple[str, str]:
    """Return the errors about a log that is read at once, and in pieces."""
    dataset, found = Dataset.of(source), []
    assert dataset is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryBudget, "rows", rows)
        for read in (lambda: read_as(source, how), lambda: read_stored(dataset, how, MemoryBudget(1 << 40, 2))):
            with pytest.raises(SufficeError) as caught:
                read()
            found.append(str(caught.value))
    return found[0], found[1]


def changed(here: Path, row: int, **values: Any) -> None:
    """Change one row of the log `maze`."""
    for file in Dataset.of("maze").files:  # type: ignore[union-attr]
        rows = pq.read_table(file).to_pylist()
        if 0 <= row < len(rows):
            rows[row] |= values
            pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=64)
        row -= len(rows)


@pytest.mark.parametrize(
    ("row", "values"),
    [
        (1100, {"action": None}),
        (1100, {"reward": float("nan")}),
        (1100, {"step": 7}),
        (1100, {"episode": None}),
        (1101, {"count": 9}),
        (1100, {"count": 0}),
        (700, {"timeout": None}),
        (700, {"timeout": True}),
    ],
    ids=str,
)
def test_read_stored_names_the_same_file_and_row_as_reading_at_once(
    here: Path, row: int, values: dict[str, Any]
) -> None:
    changed(here, row, **values)
    how = how_to(f"{SEEN},weight=count,truncated=timeout", drop_truncated=True)
    at_once, in_pieces = refusals("maze", how, 50)
    assert at_once == in_pieces
    assert re.search(r"row \d+ of part-\d.parquet", at_once)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"columns": f"{SEEN},reward=paid"}, "there is no column 'paid' (reward)"),
        ({"columns": TWO, "bins": {"seen": 3}}, "only numbers can be binned"),
        ({"columns": TWO, "bins": {"wind": 3}}, "bins: 'wind' is not an observation"),
    ],
)
def test_read_stored_raises_the_same_errors_about_the_whole_log(
    here: Path, options: dict[str, Any], complaint: str
) -> None:
    at_once, in_pieces = refusals("maze", how_to(**options), 50)
    assert at_once == in_pieces
    assert complaint in at_once


def renumbered(here: Path, new: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    for file in Dataset.of("maze").files:  # type: ignore[union-attr]
        pq.write_table(pa.Table.from_pylist([row | new(row) for row in pq.read_table(file).to_pylist()]), file)


def test_read_stored_refuses_too_many_values_within_one_piece(here: Path) -> None:
    at_once, in_pieces = refusals("maze", how_to(TWO, max_values=30), 50)
    assert re.sub("at least [0-9]+", "984", in_pieces) == at_once


def test_read_stored_advises_a_horizon_when_no_episode_is_left(here: Path) -> None:
    renumbered(here, lambda row: {"timeout": row["step"] == (2 if (row["episode"] + 100) // 3 % 7 else 1)})
    how = how_to(f"{SEEN},truncated=timeout", drop_truncated=True, horizon=5)
    at_once, in_pieces = refusals("maze", how, 4)
    assert at_once == in_pieces
    assert "Use horizon=3" in at_once


def test_read_stored_ranks_the_rows_of_episodes_that_count_differently(here: Path) -> None:
    renumbered(here, lambda row: {"step": row["step"] * 3 + (row["episode"] > 500)})
    how = how_to(SEEN)
    dataset = Dataset.of("maze")
    assert dataset is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryBudget, "rows", 50)
        stored, _ = read_stored(dataset, how, MemoryBudget(1 << 40, 2))
    at_once, report = read_as("maze", how)
    assert stored.total == at_once.total
    assert (np.sort(content_of(stored).hashes) == np.sort(content_of(at_once).hashes)).all()
    assert report.first_step == 0


def test_read_stored_names_the_damaged_column(here: Path) -> None:
    """The error is the same as when the log is read at once."""
    file = next(Path("maze").rglob("*.parquet"))
    where = pq.read_metadata(file).row_group(0).column(4)
    damaged = bytearray(file.read_bytes())
    begin = where.dictionary_page_offset or where.data_page_offset
    damaged[begin : begin + where.total_compressed_size] = bytes(where.total_compressed_size)
    file.write_bytes(damaged)
    for complaint in refusals("maze", how_to(SEEN), 50):
        assert f"{file}, column {where.path_in_schema!r}: it cannot be read" in complaint


@pytest.mark.parametrize("new", [lambda i: i % 300, lambda i: f"ß{i % 300}", lambda i: float(i % 300)])
def test_read_stored_refuses_episodes_whose_rows_are_not_contiguous(here: Path, new: Callable[[int], Any]) -> None:
    renumbered(here, lambda row: {"episode": new(row["episode"])})
    dataset = Dataset.of("maze")
    assert dataset is not None
    with pytest.raises(LogError, match="the rows of an episode are not contiguous"):
        read_stored(dataset, how_to(SEEN), MemoryBudget(1 << 40))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"columns": SEEN, "bins": {"reward": 3}}, "the bins of 'reward' are computed in memory"),
        ({"columns": f"{SEEN},episode=who.id"}, "the episode ids are within"),
    ],
)
def test_read_stored_refuses_options_that_need_the_whole_log(
    here: Path, options: dict[str, Any], complaint: str
) -> None:
    renumbered(here, lambda row: {"who": {"id": row["episode"]}})
    dataset = Dataset.of("maze")
    assert dataset is not None
    with pytest.raises(SufficeError, match=complaint):
        read_stored(dataset, how_to(**options), MemoryBudget(1 << 40))


LEARNING = (
    "",
    "--metric prefixes",
    "--metric sketch",
    "--family adaptive",
    "--family 1,2,1",
    "--family 1,1,2 --planner none",
    "--stationary",
    "--stationary auto",
    "--hold-out 0.2",
    "--split",
    "--split --planner subsampled",
    "--weight-column count",
    "--horizon 2 --confidence 0.9",
    "--truncated-column timeout --drop-truncated --cut 0.01",
    "--bin heat=-0.5,0.5 --columns observations=seen+heat",
    "--stationary --ends censored",
    "--stationary --truncated-column timeout --objective per-step",
    "--stationary --group-column count --objective discounted --discount 0.9",
    "--group-column count --ends terminal --objective per-step --hold-out 0.3",
)


@pytest.mark.parametrize("options", LEARNING)
def test_learn_in_pieces_gives_the_same_model_bytes(here: Path, in_pieces: Callable[[int], None], options: str) -> None:
    given = [*options.split(), *(() if "observations" in options else ("--observations", "seen"))]
    code, out, complaint = suffice("learn", "maze", "-o", "whole.model", *given)
    assert code == 0, complaint
    in_pieces(120)
    code, again, complaint = suffice("learn", "maze/*.parquet", "-o", "pieces.model", "--threads", "3", *given)
    assert code == 0, complaint
    assert Path("pieces.model").read_bytes() == Path("whole.model").read_bytes()
    untimed = [re.sub(r" \(learned in .*", "", text).replace("pieces", "whole") for text in (out, again)]
    assert untimed[0].replace("maze", "") == untimed[1].replace("'maze/*.parquet'", "")


@pytest.mark.parametrize("options", ["", "--stationary", "--stationary auto", "--split", "--hold-out 0.2"])
def test_learn_in_pieces_gives_the_same_model_bytes_for_unsorted_ids(
    here: Path, in_pieces: Callable[[int], None], options: str
) -> None:
    given = ("maze", "--observations", "seen", *options.split(), "-o")
    assert suffice("learn", *given, "sorted.model")[0] == 0
    renumbered(here, lambda row: {"episode": (row["episode"] * 7919) % 10007})
    assert suffice("learn", *given, "whole.model")[0] == 0
    in_pieces(120)
    assert suffice("learn", *given, "pieces.model", "--threads", "3")[0] == 0
    expected = Path("sorted.model").read_bytes()
    assert Path("whole.model").read_bytes() == expected == Path("pieces.model").read_bytes()


def test_learn_in_pieces_refuses_to_choose_among_more_episodes_than_memory_holds(
    here: Path, in_pieces: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_pieces(120)
    monkeypatch.setattr("suffice.models.api.BYTES_TO_CHOOSE", 1 << 40)
    code, _, complaint = suffice("learn", "maze", "--observations", "seen", "-o", "no.model", "--split")
    assert code == 2 and "to choose among" in complaint and "Raise --memory" in complaint


def test_learn_accepts_a_pattern_for_one_file(here: Path) -> None:
    given = ("--observations", "seen", "--horizon", "1", "-o")
    assert suffice("learn", "maze/part-0.parquet", *given, "one.model")[0] == 0
    assert suffice("learn", "maze/*-0.*", *given, "same.model")[0] == 0
    assert Path("one.model").read_bytes() == Path("same.model").read_bytes()


def test_learn_in_pieces_refuses_to_hold_out_weighted_episodes(here: Path, in_pieces: Callable[[int], None]) -> None:
    renumbered(here, lambda row: {"count": 1})
    in_pieces(120)
    given = ("--observations", "seen", "--weight-column", "count")
    code, _, complaint = suffice("learn", "maze", "-o", "no.model", *given, "--hold-out", "0.2")
    assert code == 2
    assert "episodes with weights are divided only in memory" in complaint
