"""Logs larger than memory: read in pieces, and learned from with the same bytes out."""

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
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.pieces import Extent, Pieces
from suffice.data.logs.reading import ReadOptions, read_as
from suffice.data.streaming import MemoryBudget, read_stored
from suffice.errors import LogError, SufficeError
from support.logs_in_pieces import make_logs, read_in_pieces, suffice, write_files

SCRIPTED = settings(derandomize=True, max_examples=30, deadline=None, database=None)
KINDS = ("numbers", "text", "dictionary", "done", "ends", "record", "lists", "steps", "named lists", "parts of lists")


@dataclass(frozen=True)
class Drawn:
    """A log, how it lies in files, and how it is gone through."""

    table: pa.Table
    episode: list[int]  # [rows] the place of each row's episode
    files: list[list[int]]  # rows of each row group, file by file
    rows: int  # of a piece
    parts: list[float]  # where it is divided, as shares of the row groups


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    table, episode = log_of(draw(st.sampled_from(KINDS)), rng)
    files, left = [], len(table)
    for _ in range(draw(st.integers(1, 5))):
        mine = rng.randint(0, left)
        files.append(groups_of(mine, rng))
        left -= mine
    files.append(groups_of(left, rng))
    return Drawn(table, episode, files, draw(st.integers(1, 20)), [rng.random() for _ in range(3)])


def groups_of(rows: int, rng: random.Random) -> list[int]:
    """Row groups of one file: empty ones among them, or one for all."""
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
    """A row for each episode or, if it has an id, for a part of one."""
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
    with tempfile.TemporaryDirectory() as folder:
        dataset = Dataset.of(write_files(Path(folder), log.table, log.files))
        assert dataset is not None and dataset.rows == len(log.table)
        yield dataset


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """From now on every Parquet log is too large, and pieces have about so many rows."""
    return read_in_pieces(monkeypatch)


# ---------------------------------------------------------------- pieces


@SCRIPTED
@given(drawn())
def test_pieces_are_whole_episodes_in_order_and_every_one_is_in_one_part(log: Drawn) -> None:
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
            assert values == log.table.column(name).to_pylist()
        whole = Extent.combine(extents, "it")
    assert whole.episodes == log.episode[-1] + 1
    assert whole.ascending


@SCRIPTED
@given(drawn(), st.integers(1, 3))
def test_a_log_in_pieces_is_the_log(log: Drawn, threads: int) -> None:
    with written(log) as dataset, pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryBudget, "rows", log.rows)
        assert_same(dataset, ReadOptions(), threads)


def assert_same(dataset: Dataset, how: ReadOptions, threads: int = 2) -> None:
    """What is read in pieces is what is read at once."""
    whole, report = read_as(dataset.name, how)
    stored, told = read_stored(dataset, how, MemoryBudget(1 << 40, threads))
    assert stored.alphabet == whole.alphabet
    assert stored.declared == whole.declared
    assert (stored.horizon, stored.n, stored.total) == (whole.horizon, whole.n, whole.total)
    np.testing.assert_array_equal(stored.letters, whole.letters)
    np.testing.assert_array_equal(stored.follows, whole.follows)
    blocks = [stored.block(i) for i in range(len(stored.blocks))]
    np.testing.assert_array_equal(np.concatenate([block.word for block in blocks], axis=1), whole.word)
    if whole.weight is not None:
        np.testing.assert_array_equal(np.concatenate([block.weight for block in blocks]), whole.weight)
    assert told.encoder == report.encoder
    assert told.notes == report.notes


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `maze`, a log in three files: who recalls the first sight is paid at the end."""
    return make_logs(tmp_path_factory)


SEEN = "observations=seen"
TWO = "observations=seen+heat"
READING: dict[str, dict[str, Any]] = {
    "plain": {"columns": SEEN},
    "a horizon that cuts": {"columns": f"{SEEN},truncated=timeout", "horizon": 2},
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
def test_what_is_said_about_a_log_holds_for_all_its_pieces(
    here: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(MemoryBudget, "rows", 30)
    dataset = Dataset.of("maze")
    assert dataset is not None
    assert_same(dataset, how_to(**READING[name]))


def refusals(source: str, how: ReadOptions, rows: int) -> tuple[str, str]:
    """What is said about a log that is read at once, and in pieces."""
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
    """The log `maze`, a row of which is another."""
    for file in Dataset.of("maze").files:  # type: ignore[union-attr]
        rows = pq.read_table(file).to_pylist()
        if 0 <= row < len(rows):
            rows[row] |= values
            pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=64)
        row -= len(rows)


@pytest.mark.parametrize(
    ("row", "values"),
    [
        (500, {"seen": None}),
        (500, {"seen": ""}),
        (1100, {"action": None}),
        (1100, {"reward": float("nan")}),
        (7, {"step": 5}),
        (1100, {"step": 7}),
        (1100, {"episode": None}),
        (1101, {"count": 9}),
        (1100, {"count": 0}),
        (700, {"timeout": None}),
        (700, {"timeout": True}),
    ],
    ids=str,
)
def test_a_complaint_names_the_same_file_and_row(here: Path, row: int, values: dict[str, Any]) -> None:
    changed(here, row, **values)
    how = how_to(f"{SEEN},weight=count,truncated=timeout", drop_truncated=True)
    at_once, in_pieces = refusals("maze", how, 50)
    assert at_once == in_pieces
    assert re.search(r"row \d+ of part-\d.parquet", at_once)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"columns": f"{SEEN},truncated=timeout"}, "29 of 400 episodes are truncated"),
        ({"columns": f"{SEEN},reward=paid"}, "there is no column 'paid'"),
        ({"columns": TWO, "bins": {"seen": 3}}, "only numbers can be binned"),
        ({"columns": TWO, "bins": {"wind": 3}}, "--bin wind is for"),
    ],
)
def test_complaints_about_the_whole_log_are_the_same(here: Path, options: dict[str, Any], told: str) -> None:
    at_once, in_pieces = refusals("maze", how_to(**options), 50)
    assert at_once == in_pieces
    assert told in at_once


def renumbered(here: Path, new: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    for file in Dataset.of("maze").files:  # type: ignore[union-attr]
        pq.write_table(pa.Table.from_pylist([row | new(row) for row in pq.read_table(file).to_pylist()]), file)


def test_values_of_one_piece_may_be_too_many(here: Path) -> None:
    at_once, in_pieces = refusals("maze", how_to(TWO, max_values=30), 50)
    assert re.sub("at least [0-9]+", "984", in_pieces) == at_once


def test_a_log_of_which_nothing_is_left_says_what_there_was(here: Path) -> None:
    renumbered(here, lambda row: {"timeout": row["step"] == (2 if (row["episode"] + 100) // 3 % 7 else 1)})
    how = how_to(f"{SEEN},truncated=timeout", drop_truncated=True, horizon=5)
    at_once, in_pieces = refusals("maze", how, 4)
    assert at_once == in_pieces
    assert "say --horizon 3" in at_once


@pytest.mark.parametrize("later", [True, False])
def test_steps_are_counted_in_one_way(here: Path, later: bool) -> None:
    renumbered(here, lambda row: {"step": row["step"] + ((row["episode"] > 500) == later)})
    at_once, in_pieces = refusals("maze", how_to(SEEN), 50)
    assert at_once == in_pieces or not later  # else the first piece that has both is complained of
    assert "begins with step 1, not 0" in in_pieces


def test_of_a_damaged_file_the_column_is_named(here: Path) -> None:
    """As when it is read at once."""
    file = next(Path("maze").rglob("*.parquet"))
    where = pq.read_metadata(file).row_group(0).column(4)
    damaged = bytearray(file.read_bytes())
    begin = where.dictionary_page_offset or where.data_page_offset
    damaged[begin : begin + where.total_compressed_size] = bytes(where.total_compressed_size)
    file.write_bytes(damaged)
    for told in refusals("maze", how_to(SEEN), 50):
        assert f"{file}: column {where.path_in_schema!r} cannot be read" in told


@pytest.mark.parametrize("new", [lambda i: i % 300, lambda i: f"ß{i % 300}", lambda i: float(i % 300)])
def test_scattered_episodes_are_refused(here: Path, new: Callable[[int], Any]) -> None:
    renumbered(here, lambda row: {"episode": new(row["episode"])})
    dataset = Dataset.of("maze")
    assert dataset is not None
    with pytest.raises(LogError, match="the rows of an episode do not lie together"):
        read_stored(dataset, how_to(SEEN), MemoryBudget(1 << 40))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"columns": SEEN, "bins": {"reward": 3}}, "bins are worked out in memory"),
        ({"columns": f"{SEEN},episode=who.id"}, "the episode ids lie within"),
    ],
)
def test_what_needs_the_whole_log_is_refused(here: Path, options: dict[str, Any], told: str) -> None:
    renumbered(here, lambda row: {"who": {"id": row["episode"]}})
    dataset = Dataset.of("maze")
    assert dataset is not None
    with pytest.raises(SufficeError, match=told):
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
)


@pytest.mark.parametrize("options", LEARNING)
def test_the_model_is_the_same_to_the_byte(here: Path, in_pieces: Callable[[int], None], options: str) -> None:
    given = [*options.split(), *(() if "observations" in options else ("--observations", "seen"))]
    code, told, complaint = suffice("learn", "maze", "-o", "whole.model", *given)
    assert code == 0, complaint
    in_pieces(120)
    code, again, complaint = suffice("learn", "maze/*.parquet", "-o", "pieces.model", "--threads", "3", *given)
    assert code == 0, complaint
    assert Path("pieces.model").read_bytes() == Path("whole.model").read_bytes()
    untimed = [re.sub(r" in \d.* s$", "", text, flags=re.M).replace("pieces", "whole") for text in (told, again)]
    assert untimed[0].replace("maze", "") == untimed[1].replace("'maze/*.parquet'", "")


def test_order_matters_only_to_what_is_chosen_by_place(here: Path, in_pieces: Callable[[int], None]) -> None:
    renumbered(here, lambda row: {"episode": (row["episode"] * 7919) % 10007})
    given = ("maze", "--observations", "seen", "-o")
    assert suffice("learn", *given, "whole.model")[0] == 0
    in_pieces(120)
    assert suffice("learn", *given, "pieces.model")[0] == 0
    assert Path("pieces.model").read_bytes() == Path("whole.model").read_bytes()
    for option in ("--stationary", "--split", "--hold-out=0.2"):
        code, _, complaint = suffice("learn", *given, "no.model", option)
        assert code == 2
        assert "episode ids do not increase" in complaint


def test_a_pattern_may_name_one_file(here: Path) -> None:
    given = ("--observations", "seen", "--horizon", "1", "-o")
    assert suffice("learn", "maze/part-0.parquet", *given, "one.model")[0] == 0
    assert suffice("learn", "maze/*-0.*", *given, "same.model")[0] == 0
    assert Path("one.model").read_bytes() == Path("same.model").read_bytes()


def test_weights_are_not_divided(here: Path, in_pieces: Callable[[int], None]) -> None:
    renumbered(here, lambda row: {"count": 1})
    in_pieces(120)
    given = ("--observations", "seen", "--weight-column", "count")
    code, _, complaint = suffice("learn", "maze", "-o", "no.model", *given, "--hold-out", "0.2")
    assert code == 2
    assert "episodes with weights are divided in memory only" in complaint
