"""Every fault of a log is named in one line: file, row, column and the fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from suffice.data.alphabet import Alphabet
from suffice.data.encoding.columns import Columns
from suffice.data.logs.reading import read_log
from suffice.data.logs.schema import read_schema
from suffice.errors import SufficeError
from support.log_files import (
    FIRST,
    HEADER,
    RAGGED,
    SCHEMA,
    TRUNCATED,
    WEIGHTED,
    convert,
    refusal,
    write,
    write_parquet,
)

MISSING = "the value is missing; fill it in (with a word such as unknown), or remove the whole episode"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the file is empty"),
        ("\n", "the file is empty"),
        (HEADER + "\n", "there are columns but no rows"),
        (FIRST + "0,1,1,1\n", "row 3 has 4 cells, but the header has 5"),
        (FIRST + "\n\n0,1,,1,1\n", f"row 5, column 'o': {MISSING}"),
        (FIRST + "0,1,1,,1\n", f"row 3, column 'action': {MISSING}"),
        (FIRST + "0,1,1,1,\n", f"row 3, column 'reward': {MISSING}"),
        (FIRST + "0,1,NA,1,0\n", f"row 3, column 'o': {MISSING}"),
        (FIRST.replace(",1,1", ",a,1") + "0,1,,1,0\n", f"row 3, column 'o': {MISSING}"),
        (FIRST + ",1,1,1,0\n", f"row 3, column 'episode': {MISSING}"),
        (FIRST.replace("\n0", "\na") + ",0,1,1,0\n", f"row 3, column 'episode': {MISSING}"),
        (FIRST + "0,,1,1,0\n", f"row 3, column 'step': {MISSING}"),
        (FIRST + "0,1,1,1,much\n", "row 3, column 'reward': 'much' is not a number"),
        (FIRST + "0,1,1,1,-inf\n", "row 3, column 'reward': -inf is not a finite number"),
        (FIRST + "0,1,inf,1,0\n", "row 3, column 'o': inf is not a finite number"),
        (FIRST + "0,1.5,1,1,0\n", "row 3, column 'step': 1.5 is not an integer"),
        (FIRST + "0,b,1,1,0\n", "row 3, column 'step': 'b' is not a number"),
        (FIRST + "0,0,2,1,0\n", "row 3, column 'step': episode 0 has step 0 twice, first in row 2"),
        (FIRST + "0,3,1,1,0\n0,2,1,1,0\n", "row 4, column 'step': episode 0 jumps from step 0 to step 2"),
        (
            FIRST + "0,1,1,1,0\n0,1,1,1,0\n0,3,1,1,0\n",
            "row 4, column 'step': episode 0 has step 1 twice, first in row 3",
        ),
        (FIRST + "x,1,1,1,0\n", "row 3, column 'step': episode 'x' begins with step 1, not 0"),
        (FIRST.replace("0,0", "0,2"), "row 2, column 'step': the first step of the log is 2"),
        (FIRST + "0.5,0,1,1,0\n", "row 3, column 'episode': an episode id is an integer or text"),
        (
            FIRST.replace("action", "Actio"),
            "there is no column 'action'; did you mean 'Actio'? say --action-column Actio",
        ),
        (FIRST.replace("reward", "gain"), "there is no column 'reward', only 'episode', 'step', 'o', 'action', 'gain'"),
        (FIRST.replace(",", ";"), "there is only one column, 'episode;step;o;action;reward'"),
        (FIRST.replace(",o,", ",step,"), "there are two columns 'step'"),
        ("episode,step,action,reward\n0,0,1,0\n", "there are no observation columns"),
        (WEIGHTED.replace(",0,3", ",0,0"), "row 2, column 'weight': 0 is not a positive integer"),
        (WEIGHTED.replace(",0,2", ",0,2.5"), "row 4, column 'weight': 2.5 is not a positive integer"),
        (WEIGHTED.replace(",1,3", ",1,4"), "row 3, column 'weight': the weight varies within episode 0"),
        (
            TRUNCATED.replace("false\n0", "true\n0"),
            "row 2, column 'truncated': true before the last row of the episode",
        ),
        (TRUNCATED.replace("true\n1", "maybe\n1"), "row 3, column 'truncated': 'maybe' is neither true nor false"),
        ((FIRST + "0,1,\xe9,1,0\n").encode("latin1"), r"row 3, column 'o': b'\xe9' is not UTF-8 text"),
        (FIRST.replace(",o,", ",\xe9,").encode("latin1"), "row 1: the header is not UTF-8 text"),
        (FIRST.encode("utf-16"), "row 1: the header is not UTF-8 text"),
    ],
)
def test_csv_faults_are_named(tmp_path: Path, text: str | bytes, complaint: str) -> None:
    said = refusal(write(tmp_path, text))
    assert said.startswith(f"log.csv: {complaint}") and "; " in said


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"reward": [0, 1, float("nan")]}, "row 3, column 'reward': nan is not a finite number"),
        ({"reward": ["0", "1.5", "x"]}, "row 3, column 'reward': 'x' is not a number"),
        ({"seen": ["a", None, "b"]}, f"row 2, column 'seen': {MISSING}"),
        ({"seen": ["a", "", "b"]}, f"row 2, column 'seen': {MISSING}"),
        ({"seen": [None, None, None]}, f"row 1, column 'seen': {MISSING}"),
        ({"episode": ["a", "", "b"]}, f"row 2, column 'episode': {MISSING}"),
        ({"step": [0, 1, 1]}, "row 3, column 'step': episode 1 begins with step 1, not 0"),
        ({"step": [0, 2**40, 0]}, "row 2, column 'step': episode 0 jumps from step 0 to step 1099511627776"),
        ({"seen": [[1], [2, 3], [3]]}, "column 'seen' has type list<element: int64>, but a cell holds one"),
    ],
)
def test_parquet_faults_are_named(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    assert refusal(write_parquet(tmp_path, **changes)).startswith(f"log.parquet: {complaint}")


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    assert refusal(tmp_path / "log.csv") == "log.csv: there is no such file"
    assert (
        refusal(write(tmp_path, FIRST, "log.txt"))
        == "log.txt: a log is a Parquet, Arrow, CSV or JSON lines file; name it .parquet, .pq, .arrow, .feather, .ipc, "
        ".csv, .csv.gz, .jsonl, .jsonl.gz, .ndjson, .json"
    )
    assert refusal(write(tmp_path, FIRST, "log.parquet")).startswith("log.parquet: this is not a Parquet file (")
    assert refusal(write(tmp_path, FIRST, "log.csv.gz")).startswith("log.csv.gz: the file cannot be read (")
    (tmp_path / "folder.csv").mkdir()
    assert (
        refusal(tmp_path / "folder.csv")
        == "folder.csv: there is no Parquet file in this folder; name a file, or another folder"
    )
    for name in ("README.md", ".hidden.csv", "_part.parquet"):
        (tmp_path / "folder.csv" / name).write_text("")
    assert refusal(tmp_path / "folder.csv").endswith("; name a file, or another folder")
    (tmp_path / "folder.csv" / "log.csv").write_text("")
    assert refusal(tmp_path / "folder.csv").endswith("this folder; log.csv is a log by itself: name it")


def test_too_many_values_are_refused(tmp_path: Path) -> None:
    rows = [f"{i},0,{i / 7},{i % 2},{i / 3}\n" for i in range(1200)]
    path = write(tmp_path, "episode,step,price,action,reward\n" + "".join(rows))
    limit = "distinct values, more than a finite alphabet can mean (limit 1,000)"
    otherwise = "leave the column out (--observations names what is seen), or raise --max-values"
    assert refusal(path) == f"log.csv: column 'price' has 1,200 {limit}; bin it: --bin price=8, {otherwise}"
    assert (
        refusal(path, bins={"price": 8})
        == f"log.csv: column 'reward' has 1,200 {limit}; bin it: --bin reward=8, {otherwise}"
    )
    assert read_log(path, max_values=1200).report.observations == 1200
    text = convert(path, "text.csv")
    text.write_text(path.read_text().replace(".", "·"))
    assert refusal(text).endswith(f"(limit 1,000); group them first, {otherwise}")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"columns": Columns(observations=("color",))}, "log.csv: there is no column 'color'; did you mean 'colour'?"),
        ({"columns": Columns(observations=("size", "action"))}, "log.csv: column 'action' is asked for twice"),
        ({"columns": Columns(weight="mass")}, "log.csv: there is no column 'mass', only"),
        ({"drop_truncated": True}, "log.csv: there is no column 'truncated', only"),
        ({"horizon": 0}, "--horizon must be at least 1, not 0"),
        ({"horizon": 10**10}, "log.csv: 3 episodes of 10,000,000,000 steps make 30,000,000,003 cells, mostly padding"),
        ({"bins": {"prize": 3}}, "--bin prize is for an observation, action or reward column: action, colour, size, r"),
        ({"bins": {"size": 1}}, "log.csv: --bin size=1 leaves nothing to tell apart"),
        ({"bins": {"colour": 2}}, "log.csv: column 'colour' has type"),
        ({"bins": {"size": 2}, "schema": SCHEMA}, "--bin takes its bins from the log"),
        (
            {"columns": Columns(observations=("size",)), "schema": SCHEMA},
            "log.csv: the schema's observations are colour, ",
        ),
    ],
)
def test_options_that_cannot_be_right(tmp_path: Path, options: dict[str, Any], complaint: str) -> None:
    assert refusal(write(tmp_path, RAGGED), **options).startswith(complaint)


CHANCE = "a propensity is the probability with which the logged action was chosen, above 0 and at most 1"


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("0", f"row 3, column 'p': {CHANCE}"),
        ("1.001", f"row 3, column 'p': {CHANCE}"),
        ("-0.5", f"row 3, column 'p': {CHANCE}"),
        ("inf", "row 3, column 'p': not a finite number; replace it"),
        ("nan", f"row 3, column 'p': {MISSING}"),
        ("", f"row 3, column 'p': {MISSING}"),
        ("half", "column 'p' has type "),
    ],
)
def test_what_is_no_propensity_is_refused(tmp_path: Path, value: str, complaint: str) -> None:
    path = write(tmp_path, f"episode,step,o,action,reward,p\n0,0,1,1,0,0.5\n0,1,1,1,0,{value}\n0,2,1,1,0,0\n")
    said = refusal(path, Columns(propensity="p"))
    assert said.startswith(f"log.csv: {complaint}")
    if value == "half":
        assert said.endswith("; a propensity is a number")


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (Columns(propensity="chance"), "log.csv: there is no column 'chance', only "),
        (
            Columns(propensity="colr"),
            "log.csv: there is no column 'colr'; did you mean 'colour'? say --propensity-column",
        ),
        (Columns(propensity="reward"), "log.csv: column 'reward' is asked for twice; give it one role"),
        (Columns(propensity="size", observations=("size",)), "log.csv: column 'size' is asked for twice"),
        (Columns(propensity="colour"), "log.csv: column 'colour' has type "),
    ],
)
def test_a_propensity_needs_a_column_of_its_own(tmp_path: Path, columns: Columns, complaint: str) -> None:
    assert refusal(write(tmp_path, RAGGED), columns).startswith(complaint)


def test_truncated_before_the_horizon_is_refused(tmp_path: Path) -> None:
    assert refusal(write(tmp_path, TRUNCATED)) == (
        "log.csv: 1 of 3 episodes are truncated before the horizon 2, no early end; "
        "cut all with --horizon 1 or leave them out with --drop-truncated"
    )


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("red,1,left,-0.5", "red,1,up,-0.5", "row 4, column 'action': 'up' is"),
        ("red,1,left,-0.5", "red,1,left,0.5", "row 4, column 'reward': 0.5 is"),
        ("red,1,left,-0.5", "red,3,left,-0.5", "row 4, column 'size': 3 is"),
    ],
)
def test_what_a_schema_lacks_is_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    path = write(tmp_path, RAGGED.replace(old, new))
    assert refusal(path, schema=SCHEMA) == f"log.csv: {complaint} not in the schema; add it there or correct the log"


def test_a_combination_a_schema_lacks_is_refused(tmp_path: Path) -> None:
    schema = Alphabet(("left", "right"), ("colour", "size"), (("blue", 1), ("blue", 2.5), ("red", 1)), (-0.5, 1))
    assert refusal(write(tmp_path, RAGGED), schema=schema) == (
        "log.csv: row 6, column 'colour, size': the schema has no observation ('red', 2.5), only its parts; "
        "add it there or correct the log"
    )


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("1, 2]", "1, null]", "Expected `bool | int | float | str`, got `null` - at `$.actions[1]`"),
        ("0.5]}", "0.5]", "Input data was truncated"),
        ("rewards", "reward", "Object contains unknown field `reward`"),
        ("values", "value", "Object contains unknown field `value` - at `$.observations`"),
        ("1, 2]", "]", "`$.actions` is empty"),
        ("1, 2]", "1, '2']", "`$.actions` mixes numbers and text"),
        ("['b']", "['b', 'c']", "`$.observations.values[1]` has 2 values for 1 columns"),
        ("['b']", "[3]", "`$.observations.values[:][0]` mixes numbers and text"),
        ("['b']", "['']", "`$.observations.values[:][0]` has an empty text"),
        ("['o']", "['o', 'o']", "`$.observations.columns` must name at least one column, and none twice"),
    ],
)
def test_schema_faults_are_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    good = "{'actions': [1, 2], 'observations': {'columns': ['o'], 'values': [['a'], ['b']]}, 'rewards': [0.5]}"
    path = write(tmp_path, good.replace(old, new).replace("'", '"'), "schema.json")
    with pytest.raises(SufficeError) as caught:
        read_schema(path)
    assert str(caught.value).startswith(f"{path}: {complaint}")


def test_schema_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SufficeError, match=r"schema\.json: the schema cannot be read"):
        read_schema(tmp_path / "schema.json")
