"""Reading and writing logs by the row convention, in any format and order of rows."""

from __future__ import annotations

import gzip
import os
import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.data.alphabet import Alphabet
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.columns import Columns
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.data.logs.schema import read_schema, write_schema
from suffice.data.logs.writing import write_log
from suffice.errors import SufficeError
from support.log_files import (
    FIRST,
    HEADER,
    PAD,
    RAGGED,
    SCHEMA,
    TRUNCATED,
    WEIGHTED,
    Step,
    convert,
    decode,
    write,
    write_parquet,
)

# The row convention


def test_read_log_converts_rows_to_steps(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, RAGGED))
    assert episodes.alphabet.features == ("colour", "size")
    assert decode(episodes) == [
        [(None, ("blue", 1), 0.0), ("left", None, 0.0), PAD, PAD],
        [(None, ("red", 1), 0.0), ("left", ("blue", 2.5), 0.0), ("right", ("red", 1), 1.0), ("left", None, -0.5)],
        [(None, ("red", 2.5), 0.0), ("right", ("red", 1), 0.0), ("left", None, 1.0), PAD],
    ]


def test_read_log_reports_rows_episodes_and_values(tmp_path: Path) -> None:
    report = read_log(write(tmp_path, RAGGED), horizon=2).report
    assert (report.rows, report.episodes, report.horizon, report.lengths) == (6, 3, 2, (1, 2.0, 3))
    assert (report.sorted, report.cut, report.padded, report.dropped) == (True, 1, 1, 0)
    assert report.values == {"colour": 2, "size": 2, "action": 2, "reward": 3}
    assert report.observations == 4


def test_read_log_cuts_to_the_horizon_without_the_cut_values(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, RAGGED), horizon=1)
    assert [len(steps) for steps in decode(episodes)] == [2, 2, 2]
    assert decode(episodes)[1] == [(None, ("red", 1), 0.0), ("left", None, 0.0)]
    assert episodes.alphabet.rewards == (0.0,)


def test_read_log_pads_to_a_longer_horizon(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, RAGGED), horizon=5)
    report = episodes.report
    assert [steps[-2:] for steps in decode(episodes)] == [[PAD, PAD]] * 3
    assert report.padded == 3


def test_read_log_gives_equal_episodes_for_any_format_and_order_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path, RAGGED)
    copies = [
        path,
        convert(path, "a.parquet"),
        convert(path, "b.parquet", [5, 3, 0, 4, 2, 1]),
        tmp_path / "c.csv.gz",
    ]
    copies[-1].write_bytes(gzip.compress(RAGGED.encode()))
    assert len({read_log(copy).digest() for copy in copies}) == 1


def test_read_log_reports_whether_rows_were_sorted(tmp_path: Path) -> None:
    path = convert(write(tmp_path, RAGGED), "ordered.csv", [3, 0, 1, 2, 4, 5])
    assert read_log(path).report.sorted is False


def test_read_log_accepts_steps_that_count_from_one(tmp_path: Path) -> None:
    shifted = f"{HEADER}\n7,1,red,1,left,0\n7,2,blue,2.5,right,1\n3,1,blue,1,left,0\n"
    plain = f"{HEADER}\n7,0,red,1,left,0\n7,1,blue,2.5,right,1\n3,0,blue,1,left,0\n"
    digests = {read_log(write(tmp_path, text)).digest() for text in (shifted, plain)}
    assert len(digests) == 1


@pytest.mark.parametrize(("ids", "order"), [((10, 9, -1), [2, 1, 0]), (("b", "a10", "a9"), [1, 2, 0])])
def test_read_log_orders_episodes_by_id(tmp_path: Path, ids: tuple[Any, ...], order: list[int]) -> None:
    path = write_parquet(tmp_path, episode=list(ids), step=[0, 0, 0], seen=[0, 1, 2])
    assert [steps[0][1] for steps in decode(read_log(path))] == [(i,) for i in order]


@pytest.mark.parametrize("seed", range(20))
def test_read_log_agrees_with_a_literal_implementation_on_random_logs(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, size=rng.integers(1, 12))
    ids = (
        rng.choice(10**6 * rng.choice([1, 10**6]), size=len(lengths), replace=False).tolist()
        if seed % 2
        else list("zyxwvutsrqp")
    )
    rows = [
        {
            "episode": ids[e],
            "step": t,
            "x": int(rng.integers(3)),
            "y": "pq"[rng.integers(2)],
            "action": int(rng.integers(2)),
        }
        | {"reward": float(rng.integers(3)) / 4}
        for e, n in enumerate(lengths)
        for t in range(n)
    ]
    pq.write_table(pa.Table.from_pylist([rows[i] for i in rng.permutation(len(rows))]), tmp_path / "log.parquet")
    assert decode(read_log(tmp_path / "log.parquet")) == literal_steps(rows)


def literal_steps(rows: list[dict[str, Any]]) -> list[list[Step]]:
    horizon = max(row["step"] for row in rows) + 1
    result = []
    for name in sorted({row["episode"] for row in rows}):
        own = sorted((row for row in rows if row["episode"] == name), key=lambda row: row["step"])
        seen = [(row["x"], row["y"]) for row in own] + [None]
        done = [(None, 0.0)] + [(row["action"], row["reward"]) for row in own]
        steps = [(action, o, reward) for o, (action, reward) in zip(seen, done, strict=True)]
        result.append(steps + [PAD] * (horizon + 1 - len(steps)))
    return result


# Columns and values


def test_read_log_uses_the_named_columns(tmp_path: Path) -> None:
    text = RAGGED.replace(HEADER, "run,t,colour,size,move,gain")
    columns = Columns("run", "t", "move", "gain", observations=("colour",))
    episodes = read_log(write(tmp_path, text), columns)
    assert episodes.alphabet.observations == (("blue",), ("red",))


def test_read_log_leaves_out_row_index_and_done(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, ",episode,step,o,done,action,reward\n0,0,0,1,True,1,0\n"))
    report = episodes.report
    assert episodes.alphabet.features == ("o",)
    assert report.columns.done == "done"
    note = "column 'done' marks ends, and was not read as an observation"
    assert report.notes == ("column '' looks like a row index and was left out", note)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ([1.0, 2.5, -0.0], [0, 1, 2.5]),
        (pa.array([0.1, 2, 0.1], pa.float32()), [0.1, 2]),
        (pa.array(["b", "a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(["a", "", "b"])), ["a", "b"]),
        (pa.array(["b", "a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array(["b", "a", "b"], pa.string_view()), ["a", "b"]),
        ([b"b", b"a", b"b"], ["a", "b"]),
        ([Decimal("1.50"), Decimal("2.00"), Decimal("2.00")], [1.5, 2]),
        ([date(2024, 1, 2), date(2024, 1, 1), date(2024, 1, 2)], ["2024-01-01", "2024-01-02"]),
        ([True, False, True], [False, True]),
        (pa.array([-120, 127, 0], pa.int8()), [-120, 0, 127]),
        (pa.array([2**63, 1, 1], pa.uint64()), [1, 2**63]),
        ([10**12, 1, 1], [1, 10**12]),
    ],
)
def test_read_log_converts_all_types_of_parquet(tmp_path: Path, column: Any, values: list[Any]) -> None:
    seen = read_log(write_parquet(tmp_path, seen=column)).alphabet.observations
    assert seen == tuple((value,) for value in values)
    assert [type(value) for (value,) in seen] == [type(value) for value in values]


def test_read_log_keeps_text_of_csv_as_text(tmp_path: Path) -> None:
    text = "episode,step,day,place,action,reward\na,0,2024-01-01T10:00,NA,1,0\na,1,2024-01-02T10:00,x,1,0\n"
    observations = read_log(write(tmp_path, text)).alphabet.observations
    assert observations == (("2024-01-01T10:00", "NA"), ("2024-01-02T10:00", "x"))


@pytest.mark.parametrize("lookup", [0, 1 << 22])
def test_read_log_combines_many_features_by_table_or_by_sorting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lookup: int
) -> None:
    monkeypatch.setattr("suffice.data.encoding.tables.LOOKUP", lookup)
    rng = np.random.default_rng(0)
    features: dict[str, Any] = {f"f{j}": rng.integers(200, size=300) for j in range(6)}
    features |= {"episode": np.arange(300), "step": np.zeros(300, int), "action": np.ones(300), "reward": np.ones(300)}
    pq.write_table(pa.table(features), tmp_path / "log.parquet")
    episodes = read_log(tmp_path / "log.parquet")
    report = episodes.report
    expected = list(zip(*(features[f"f{j}"].tolist() for j in range(6)), strict=True))
    assert [steps[0][1] for steps in decode(episodes)] == expected
    assert report.observations == 300


def test_read_log_bins_by_quantiles(tmp_path: Path) -> None:
    rows = "".join(f"{i},0,{i / 8},go,0\n" for i in range(100))
    path = write(tmp_path, "episode,step,price,action,reward\n" + rows)
    episodes = read_log(path, bins={"price": 4})
    report = episodes.report
    assert [steps[0][1] for steps in decode(episodes)] == [(0,)] * 24 + [(1,)] * 25 + [(2,)] * 25 + [(3,)] * 26
    assert report.bins == {"price": Bins((3.0, 6.125, 9.25))}


def test_read_log_makes_no_empty_bins(tmp_path: Path) -> None:
    rows = "".join(f"{i},0,{max(i, 90)},go,0\n" for i in range(100))
    path = write(tmp_path, "episode,step,price,action,reward\n" + rows)
    assert read_log(path, bins={"price": 20}).alphabet.observations == ((0,), (1,))


# Weights, truncation, schema


def test_read_log_reads_weights_of_episodes(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, WEIGHTED))
    assert episodes.alphabet.features == ("o",)
    assert episodes.weight is not None and episodes.weight.tolist() == [3, 2]
    assert (episodes.n, episodes.total) == (2, 5)


def test_read_log_reads_a_weight_column_as_observation_if_named(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, WEIGHTED), Columns(observations=("weight",)))
    assert episodes.weight is None and episodes.alphabet.observations == ((2,), (3,))


PROPENSITIES = """episode,step,o,p,action,reward
1,0,1,0.25,1,0
0,1,1,1,1,1
0,0,1,0.5,1,0
1,1,2,1e-3,1,0
1,2,2,0.125,1,0
"""


def test_read_log_places_propensities_at_their_steps(tmp_path: Path) -> None:
    """Propensities have shape [H+1, N] for any order of rows, and are 1 where no action was chosen."""
    path = write(tmp_path, PROPENSITIES)
    episodes = read_log(path, Columns(propensity="p"))
    report = episodes.report
    assert episodes.alphabet.features == ("o",)
    assert report.propensities is not None and report.propensities.T.tolist() == [
        [1, 0.5, 1, 1],
        [1, 0.25, 1e-3, 0.125],
    ]
    assert "p" not in report.values
    without = write(tmp_path, re.sub(r"(?m)^((?:[^,]+,){3})[^,]+,", r"\1", PROPENSITIES), "without.csv")
    assert read_log(without).digest() == episodes.digest()


def test_read_log_reads_propensities_only_if_the_column_is_named(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, PROPENSITIES))
    report = episodes.report
    assert report.propensities is None and episodes.alphabet.features == ("o", "p")


def test_read_log_reads_equal_propensities_from_csv_and_parquet(tmp_path: Path) -> None:
    path = write(tmp_path, PROPENSITIES)
    copies = [path, convert(path, "a.parquet"), convert(path, "b.parquet", [4, 2, 0, 3, 1])]
    read = [read_log(copy, Columns(propensity="p")).report.propensities for copy in copies]
    assert all(np.array_equal(read[0], other) for other in read[1:])


def test_read_log_accepts_propensities_of_any_numeric_type(tmp_path: Path) -> None:
    for column in (
        [1, 1, 1],
        pa.array([1, 0.5, 0.25], pa.float32()),
        [Decimal("1.00"), Decimal("0.50"), Decimal("0.25")],
    ):
        path = write_parquet(tmp_path, p=column)
        report = read_log(path, Columns(propensity="p")).report
        values = [float(value.as_py() if isinstance(value, pa.Scalar) else value) for value in column]
        assert report.propensities is not None
        assert report.propensities.T.tolist() == [[1, values[0], values[1]], [1, values[2], 1]]


def test_read_log_cuts_propensities_to_the_horizon(tmp_path: Path) -> None:
    report = read_log(write(tmp_path, PROPENSITIES), Columns(propensity="p"), horizon=1).report
    assert report.propensities is not None and report.propensities.T.tolist() == [[1, 0.5], [1, 0.25]]


def test_read_log_keeps_propensities_of_remaining_episodes_when_dropping(tmp_path: Path) -> None:
    rows = ["0,0,1,1,0,1,0.5", "1,0,1,1,0,0,0.25", "1,1,1,1,0,0,0.125", "2,0,1,1,0,0,0.75"]
    path = write(tmp_path, "episode,step,o,action,reward,truncated,p\n" + "\n".join(rows))
    episodes = read_log(path, Columns(propensity="p"), drop_truncated=True)
    report = episodes.report
    assert report.propensities is not None and report.propensities.shape == episodes.word.shape
    assert report.propensities.T.tolist() == [[1, 0.25, 0.125], [1, 0.75, 1]]


def test_read_log_reads_propensities_with_weights_and_a_schema(tmp_path: Path) -> None:
    lines = zip(WEIGHTED.split(), ["p", "0.5", "0.25", "0.75"], strict=True)
    path = write(tmp_path, "".join(f"{line},{p}\n" for line, p in lines))
    schema = Alphabet((1, 2), ("o",), ((1,),), (0, 1))
    episodes = read_log(path, Columns(propensity="p"), schema=schema)
    report = episodes.report
    assert episodes.weight is not None and episodes.weight.tolist() == [3, 2]
    assert report.propensities is not None and report.propensities.T.tolist() == [[1, 0.5, 0.25], [1, 0.75, 1]]


def test_read_log_accepts_episodes_truncated_at_the_horizon(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, TRUNCATED), horizon=1)
    report = episodes.report
    assert episodes.n == 3 and report.dropped == 0
    assert episodes.alphabet.features == ("o",)


def test_read_log_drops_truncated_episodes(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, TRUNCATED.replace("true", "1").replace("false", "0")), drop_truncated=True)
    report = episodes.report
    assert [steps[0][1] for steps in decode(episodes)] == [(1,), (3,)]
    assert (report.dropped, report.episodes, report.padded) == (1, 2, 1)


def test_read_log_keeps_weights_of_remaining_episodes_when_dropping(tmp_path: Path) -> None:
    rows = ["0,0,1,1,0,1,5", "1,0,1,1,0,0,6", "1,1,1,1,0,0,6"]
    path = write(tmp_path, "episode,step,o,action,reward,truncated,weight\n" + "\n".join(rows))
    episodes = read_log(path, drop_truncated=True)
    assert episodes.weight is not None and episodes.weight.tolist() == [6]


def test_read_log_uses_the_alphabet_of_the_schema(tmp_path: Path) -> None:
    path = write(tmp_path, RAGGED)
    episodes = read_log(path, schema=SCHEMA)
    assert episodes.declared and episodes.alphabet == SCHEMA
    assert decode(episodes) == decode(read_log(path))


def test_read_log_takes_columns_and_text_types_from_the_schema(tmp_path: Path) -> None:
    schema = Alphabet(("0", "1"), ("o",), (("01",), ("1",)), ())
    path = write(tmp_path, "episode,step,o,other,action,reward\n0,0,01,5,0,0\n0,1,1,6,1,0\n")
    assert [step[:2] for step in decode(read_log(path, schema=schema))[0]] == [
        (None, ("01",)),
        ("0", ("1",)),
        ("1", None),
    ]


def test_write_schema_and_read_schema_round_trip(tmp_path: Path) -> None:
    write_schema(SCHEMA, tmp_path / "schema.json")
    assert repr(read_schema(tmp_path / "schema.json")) == repr(SCHEMA)


# Writing


@pytest.mark.parametrize("name", ["log.parquet", "log.pq", "log.csv", "log.csv.gz"])
@pytest.mark.parametrize("text", [RAGGED, WEIGHTED])
def test_write_log_and_read_log_round_trip(tmp_path: Path, name: str, text: str) -> None:
    episodes = read_log(write(tmp_path, text, "original.csv"))
    write_log(episodes, tmp_path / name)
    assert read_log(tmp_path / name).digest() == episodes.digest()
    assert sorted(os.listdir(tmp_path)) == sorted(["original.csv", name])


def test_write_log_writes_rows_by_the_convention(tmp_path: Path) -> None:
    write_log(read_log(write(tmp_path, RAGGED)), tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == (
        '"episode","step","colour","size","action","reward"\n'
        '0,0,"blue",1,"left",0\n'
        '1,0,"red",1,"left",0\n1,1,"blue",2.5,"right",1\n1,2,"red",1,"left",-0.5\n'
        '2,0,"red",2.5,"right",0\n2,1,"red",1,"left",1\n'
    )


def test_write_log_keeps_weights_in_every_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.data.logs.writing.BLOCK_ROWS", 1)
    episodes = read_log(write(tmp_path, WEIGHTED))
    write_log(episodes, tmp_path / "log.parquet")
    assert read_log(tmp_path / "log.parquet").digest() == episodes.digest()


def test_write_log_never_divides_an_episode_between_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.data.logs.writing.BLOCK_ROWS", 7)
    episodes = read_log(write(tmp_path, RAGGED))
    write_log(episodes, tmp_path / "log.parquet")
    file = pq.ParquetFile(tmp_path / "log.parquet")
    assert [file.read_row_group(i)["episode"].to_pylist() for i in range(file.num_row_groups)] == [[0, 1, 1, 1], [2, 2]]
    assert read_log(tmp_path / "log.parquet").digest() == episodes.digest()


def test_write_log_round_trips_with_schema_and_horizon_passed_again(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, RAGGED), schema=SCHEMA, horizon=6)
    write_log(episodes, tmp_path / "log.csv")
    assert read_log(tmp_path / "log.csv", schema=SCHEMA, horizon=6).digest() == episodes.digest()


@pytest.mark.parametrize("values", [["1", "2", "3"], ["true", "false", "true"], ["2024-01-01", "1", "2"]])
def test_write_log_refuses_csv_for_text_that_looks_like_numbers(tmp_path: Path, values: list[str]) -> None:
    episodes = read_log(write_parquet(tmp_path, seen=values))
    write_log(episodes, tmp_path / "again.parquet")
    assert read_log(tmp_path / "again.parquet").digest() == episodes.digest()
    if values[0] != "2024-01-01":
        with pytest.raises(SufficeError, match="column 'seen': its values would change in a CSV file"):
            write_log(episodes, tmp_path / "again.csv")


def test_write_log_refuses_mixed_values_and_reserved_names(tmp_path: Path) -> None:
    text = FIRST + "0,1,1,1,0\n"
    steps = read_log(write(tmp_path, text))
    mixed = Alphabet((1, "a"), ("o",), ((1,),), (0,))
    with pytest.raises(SufficeError, match="column 'action': its values have no common type"):
        write_log(replace(steps, alphabet=mixed), tmp_path / "log.parquet")
    clash = Alphabet((1,), ("action",), ((1,),), (0,))
    with pytest.raises(SufficeError, match="column 'action': an observation cannot have this name in a log"):
        write_log(replace(steps, alphabet=clash), tmp_path / "log.parquet")


def test_write_log_refuses_episodes_without_decisions(tmp_path: Path) -> None:
    codes = np.array([[0], [1]])
    episodes = Episodes.from_steps(Alphabet((1,), ("o",), ((1,),), (0,)), codes, 0 * codes, 0 * codes)
    with pytest.raises(SufficeError, match="an episode without a decision"):
        write_log(episodes, tmp_path / "log.parquet")


def test_write_log_refuses_a_missing_folder(tmp_path: Path) -> None:
    episodes = read_log(write(tmp_path, RAGGED))
    with pytest.raises(SufficeError, match=r"log\.csv: there is no folder .*/nowhere\. Create it first"):
        write_log(episodes, tmp_path / "nowhere" / "log.csv")


def test_write_log_leaves_the_old_file_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, RAGGED)
    episodes = read_log(path)
    monkeypatch.setattr("suffice.data.logs.writing._rows", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(SufficeError, match=r"log.csv: the file cannot be written \(disk full\)"):
        write_log(episodes, path)
    assert path.read_text() == RAGGED and os.listdir(tmp_path) == ["log.csv"]
