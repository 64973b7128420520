"""Errors about logs: one line that names the file, row, column and fix."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.data.alphabet import Alphabet
from suffice.data.encoding.columns import Columns
from suffice.data.logs.reading import read_log
from suffice.data.logs.schema import read_schema
from suffice.errors import LogError, LogProblemsError, SufficeError, naming_options
from support.log_files import (
    FIRST,
    HEADER,
    RAGGED,
    SCHEMA,
    TRUNCATED,
    WEIGHTED,
    refusal,
    write,
    write_parquet,
)

LEFT = "or remove the whole episode."


def missing(what: str, fill: str = "it in") -> str:
    """Return the message about a missing value."""
    return f"the {what} is missing. Fill {fill}, {LEFT}"


NUMBER = "in a number"
ORDER = "Use numbers, or dates such as 2026-05-30 10:07, or remove the column if the rows are in order."


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", ": the file is empty"),
        ("\n", ": the file is empty"),
        (HEADER + "\n", ": there are columns but no rows"),
        (FIRST + "0,1,1,1\n", ", row 3: 4 cells, but the header has 5. Correct or remove the row."),
        (FIRST + "0,1,1,,1\n", f", row 3, column 'action': {missing('action')}"),
        (FIRST + "0,1,1,1,\n", f", row 3, column 'reward': {missing('reward', NUMBER)}"),
        (FIRST + ",1,1,1,0\n", f", row 3, column 'episode': {missing('episode id')}"),
        (FIRST.replace("\n0", "\na") + ",0,1,1,0\n", f", row 3, column 'episode': {missing('episode id')}"),
        (FIRST + "0,,1,1,0\n", f", row 3, column 'step': {missing('step number')}"),
        (FIRST + "0,1,1,1,much\n", ", row 3, column 'reward': 'much' is not a number"),
        (FIRST + "0,1,1,1,-inf\n", ", row 3, column 'reward': -inf is not a finite number"),
        (FIRST + "0,1,inf,1,0\n", ", row 3, column 'o': inf is not a finite number"),
        (FIRST + "0,b,1,1,0\n", f", row 3, column 'step': 'b' is not a step that can be ordered. {ORDER}"),
        (
            FIRST + "0,5/30/2026,1,1,0\n",
            f", row 3, column 'step': '5/30/2026' is not a step that can be ordered. {ORDER}",
        ),
        (FIRST + "0,0,2,1,0\n", ", row 3, column 'step': episode 0 has step 0 twice, first in row 2"),
        (
            FIRST + "0,1,1,1,0\n0,1,1,1,0\n0,3,1,1,0\n",
            ", row 4, column 'step': episode 0 has step 1 twice, first in row 3",
        ),
        (FIRST + "0.5,0,1,1,0\n", ", row 3, column 'episode': 0.5 is not an episode id, which is an integer or text"),
        (
            FIRST.replace("action", "Actio"),
            ": there is no action column. Did you mean columns='action=Actio'?",
        ),
        (
            FIRST.replace("reward", "gain"),
            ": there is no reward column. The columns are 'episode', 'step', 'o', 'action', 'gain'. Add it",
        ),
        (FIRST.replace(",", ";"), ": the cells are separated by ';'. Separate them by commas, or"),
        (FIRST.replace(",o,", ",step,"), ": there are two columns 'step'"),
        ("episode,step,action,reward\n0,0,1,0\n", ": there are no observation columns"),
        (WEIGHTED.replace(",0,3", ",0,0"), ", row 2, column 'weight': 0 is not a positive integer"),
        (WEIGHTED.replace(",0,2", ",0,2.5"), ", row 4, column 'weight': 2.5 is not a positive integer"),
        (WEIGHTED.replace(",1,3", ",1,4"), ", row 3, column 'weight': the weight varies within episode 0"),
        (
            TRUNCATED.replace("false\n0", "true\n0"),
            ", row 2, column 'truncated': it is true before the last row of the episode",
        ),
        (TRUNCATED.replace("true\n1", "maybe\n1"), ", row 3, column 'truncated': 'maybe' is neither true nor false"),
        ((FIRST + "0,1,\xe9,1,0\n").encode("latin1"), r", row 3, column 'o': b'\xe9' is not UTF-8 text"),
        (FIRST.replace(",o,", ",\xe9,").encode("latin1"), ", row 1: the header is not UTF-8 text"),
        (FIRST.encode("utf-16"), ", row 1: the header is not UTF-8 text"),
    ],
)
def test_read_log_names_row_column_and_fix_of_invalid_csv(tmp_path: Path, text: str | bytes, complaint: str) -> None:
    message = refusal(write(tmp_path, text))
    assert message.startswith(f"log.csv{complaint}") and message[-1] in ".?" and re.search(r"[.;] \w", message)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"reward": [0, 1, float("nan")]}, f", row 3, column 'reward': nan is not a finite number. Replace it, {LEFT}"),
        ({"reward": [0, 1, None]}, f", row 3, column 'reward': {missing('reward', NUMBER)}"),
        ({"reward": ["0", "1", ""]}, f", row 3, column 'reward': {missing('reward', NUMBER)}"),
        ({"reward": ["0", "1.5", "x"]}, ", row 3, column 'reward': 'x' is not a number"),
        ({"action": [None, None, None]}, ", row 1, column 'action': the action is missing (3 are missing in this"),
        ({"episode": ["a", "", "b"]}, f", row 2, column 'episode': {missing('episode id')}"),
        ({"step": [2**40, 2**40, 0]}, ", row 2, column 'step': episode 0 has step 1099511627776 twice, first in row 1"),
        ({"seen": [[1], [2, 3], [3]]}, ", column 'seen': its type is list<element: int64>, but a cell holds one"),
    ],
)
def test_read_log_names_row_column_and_fix_of_invalid_parquet(
    tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    assert refusal(write_parquet(tmp_path, **changes)).startswith(f"log.parquet{complaint}")


def test_read_log_refuses_a_nan_reward_of_pandas_and_requests_a_number() -> None:
    table = pd.DataFrame(
        {"episode": [0, 1], "step": [0, 0], "o": [1, 2], "action": [1, 2], "reward": [0.5, float("nan")]}
    )
    with pytest.raises(SufficeError, match=re.escape(missing("reward", NUMBER))):
        read_log(table)


def test_read_log_names_all_missing_columns_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "user,occupation,age\n1,nurse,30\n")
    assert refusal(path) == (
        "log.csv: there is no episode, action or reward column. The columns are 'user', "
        "'occupation', 'age'. Add them, or name them with columns='episode=NAME,action=NAME,reward=NAME'."
    )
    assert refusal(path, {"episode": "usr"}) == (
        "log.csv: there is no column 'usr' (episode) and no action or reward column. The columns are "
        "'user', 'occupation', 'age'. Add them, or name them with columns='episode=user,action=NAME,reward=NAME'."
    )
    with naming_options():
        assert refusal(path).endswith("name them with --columns episode=NAME,action=NAME,reward=NAME.")
    path = write(tmp_path, "episode,step,o,action_id,Reward (USD)\n0,0,1,1,0\n")
    assert refusal(path).endswith("Did you mean columns='action=action_id,reward=Reward (USD)'?")
    path = write(tmp_path, "episode,step,o,the action,reward\n0,0,1,1,0\n")
    with naming_options():
        assert refusal(path) == "log.csv: there is no action column. Did you mean --columns 'action=the action'?"


def test_read_log_names_missing_columns_of_a_parquet_file_with_one_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"value": [1, 2]}), tmp_path / "log.parquet")
    message = refusal(tmp_path / "log.parquet")
    assert message.startswith("log.parquet: there is no episode, action or reward column.")
    assert "commas" not in message


def test_read_log_names_the_suffix_that_a_compressed_file_needs(tmp_path: Path) -> None:
    for name in ("log.csv", "log.jsonl"):
        assert refusal(write(tmp_path, gzip.compress(FIRST.encode()), name)) == (
            f"{name}: the file is compressed by gzip, but its name does not end in .gz. Rename it to {name}.gz."
        )
    assert refusal(write(tmp_path, gzip.compress(b"PAR1"), "log.arrow")).endswith("Unpack it with gunzip.")
    assert refusal(write(tmp_path, FIRST, "log.csv.gz")) == (
        "log.csv.gz: the file is not compressed by gzip. Rename it to log.csv."
    )


def test_read_log_refuses_pipes_and_dangling_links(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    assert refusal(tmp_path / "pipe.csv") == ("pipe.csv: this is a pipe or a device. Save the data to a file first.")
    (tmp_path / "link.csv").symlink_to("gone.csv")
    assert refusal(tmp_path / "link.csv") == (
        "link.csv: this is a link to gone.csv, which does not exist. Correct the link."
    )
    with pytest.raises(SufficeError, match=r"this is a link to gone\.csv, which does not exist"):
        read_schema(tmp_path / "link.csv")


def test_read_log_refuses_files_that_are_not_logs(tmp_path: Path) -> None:
    assert refusal(tmp_path / "log.csv") == "log.csv: there is no such file. Check the name and the folder."
    assert (
        refusal(write(tmp_path, FIRST, "log.txt"))
        == "log.txt: the file type is not known. Use a Parquet, Arrow, CSV, TSV or JSON lines file, whose name ends in "
        ".parquet, .pq, .arrow, .feather, .ipc, .csv, .csv.gz, .tsv, .tsv.gz, .tab, .jsonl, .jsonl.gz, .ndjson or "
        ".json."
    )
    assert refusal(write(tmp_path, FIRST, "log.parquet")).startswith("log.parquet: this is not a Parquet file (")
    (tmp_path / "folder.csv").mkdir()
    assert (
        refusal(tmp_path / "folder.csv")
        == "folder.csv: there is no log in this folder. Pass a file, or another folder."
    )
    for name in ("README.md", ".hidden.csv", "_part.parquet"):
        (tmp_path / "folder.csv" / name).write_text("")
    assert refusal(tmp_path / "folder.csv").endswith(" Pass a file, or another folder.")
    (tmp_path / "folder.csv" / "log.csv").write_text("")
    assert refusal(tmp_path / "folder.csv") == "folder.csv/log.csv: the file is empty. Write one row per decision."


def test_read_log_refuses_continuous_actions_and_names_all_columns_with_too_many_values(tmp_path: Path) -> None:
    rows = [f"{i},0,name {i},{i / 7},{i / 3}\n" for i in range(1200)]
    path = write(tmp_path, "episode,step,person,action,reward\n" + "".join(rows))
    with pytest.raises(LogProblemsError) as caught:
        read_log(path)
    action, person, reward = caught.value.problems
    assert "column 'person': 1,200 distinct values are too many" in person
    assert "column 'reward': 1,200 distinct rewards are too many" in reward
    assert action.endswith(
        "1,200 distinct actions are too many for a finite alphabet (limit 1,000). Group them into fewer actions, bin "
        "them with bins={'action': 8} if they are amounts, or raise max_values."
    )
    few = {"episode": list(range(200)), "step": [0] * 200, "o": [1] * 200, "action": [i / 3 for i in range(200)]}
    with pytest.raises(
        LogError, match=r"200 distinct amounts are a continuous action.*Bin them with bins={'action': 5}"
    ):
        read_log(few | {"reward": [0] * 200})
    assert len(read_log(few | {"reward": [0] * 200}, bins={"action": 5}).alphabet.actions) == 5


def test_read_log_notes_many_actions_without_advising_bins_only() -> None:
    """Item ids cannot be binned, and an action column cannot be left out."""
    n = 400
    log = {"episode": range(n), "step": [0] * n, "o": [1] * n, "action": [i % 60 for i in range(n)], "reward": [0] * n}
    report = read_log({name: list(values) for name, values in log.items()}).report
    assert report is not None and report.notes == (
        "column 'action' has 60 distinct actions. Group them into fewer, or use bins={'action': 8} if they are amounts",
    )
    items = {name: list(values) for name, values in log.items()} | {"action": [f"item {i % 60}" for i in range(n)]}
    report = read_log(items).report
    assert report is not None and report.notes == ("column 'action' has 60 distinct actions. Group them into fewer",)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            {"columns": Columns(observations=("color",))},
            "log.csv: there is no column 'color' (observations). Did you mean 'colour'?",
        ),
        ({"observations": "colour, weight"}, "log.csv: there is no column 'weight' (observations). Choose from"),
        ({"observations": [1]}, "observations=[1] is not a list of names. Give column names."),
        (
            {"observations": "size", "columns": "observations=size"},
            "observations and columns both name the observations",
        ),
        (
            {"columns": Columns(observations=("size", "action"))},
            "log.csv: column 'action' is used as action and observation",
        ),
        ({"columns": Columns(weight="mass")}, "log.csv: there is no column 'mass' (weight). The columns are"),
        ({"drop_truncated": True}, "log.csv: there is no truncated column. The columns are"),
        ({"horizon": 0}, "horizon=0 leaves no decision. Use 1 or more."),
        ({"horizon": 10**10}, "log.csv: 3 episodes of 10,000,000,000 steps make 30,000,000,003 cells, mostly padding"),
        (
            {"bins": {"prize": 3}},
            "bins: 'prize' is not an observation, action or reward column. Did you mean 'size'? Choose from action",
        ),
        ({"bins": {"size": 1}}, "log.csv: bins={'size': 1} is out of range. Use 2 to 1,000 bins."),
        ({"bins": {"colour": 2}}, "log.csv, column 'colour': its type is text, but only numbers can be binned."),
        ({"bins": {"size": 2}, "schema": SCHEMA}, "bins and schema cannot be combined"),
        (
            {"columns": Columns(observations=("size",)), "schema": SCHEMA},
            "log.csv: the schema's observations are colour, ",
        ),
    ],
)
def test_read_log_refuses_invalid_options(tmp_path: Path, options: dict[str, Any], complaint: str) -> None:
    assert refusal(write(tmp_path, RAGGED), **options).startswith(complaint)


CHANCE = "is not a probability, above 0 and at most 1, of the logged action. Correct it, or remove the column."


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("0", f"row 3, column 'p': 0 {CHANCE}"),
        ("1.001", f"row 3, column 'p': 1.001 {CHANCE}"),
        ("-0.5", f"row 3, column 'p': -0.5 {CHANCE}"),
        ("inf", "row 3, column 'p': inf is not a finite number. Replace it"),
        ("nan", f"row 3, column 'p': {missing('propensity')}"),
        ("", f"row 3, column 'p': {missing('propensity')}"),
        ("half", "column 'p': its type is "),
    ],
)
def test_read_log_refuses_invalid_propensities(tmp_path: Path, value: str, complaint: str) -> None:
    path = write(tmp_path, f"episode,step,o,action,reward,p\n0,0,1,1,0,0.5\n0,1,1,1,0,{value}\n0,2,1,1,0,0\n")
    said = refusal(path, Columns(propensity="p"))
    assert said.startswith(f"log.csv, {complaint}")
    if value == "half":
        assert said.endswith(", but a propensity is a number. Convert it.")


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (Columns(propensity="chance"), "log.csv: there is no column 'chance' (propensity). The columns are "),
        (
            Columns(propensity="colr"),
            "log.csv: there is no column 'colr' (propensity). Did you mean columns='propensity=colour'?",
        ),
        (Columns(propensity="reward"), "log.csv: column 'reward' is used as reward and propensity. Give it one role."),
        (
            Columns(propensity="size", observations=("size",)),
            "log.csv: column 'size' is used as propensity and observation",
        ),
        (Columns(propensity="colour"), "log.csv, column 'colour': its type is text, but a propensity is a number."),
    ],
)
def test_read_log_refuses_propensity_columns_with_another_role(
    tmp_path: Path, columns: Columns, complaint: str
) -> None:
    assert refusal(write(tmp_path, RAGGED), columns).startswith(complaint)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("red,1,left,-0.5", "red,1,up,-0.5", "row 4, column 'action': 'up' is"),
        ("red,1,left,-0.5", "red,1,left,0.5", "row 4, column 'reward': 0.5 is"),
        ("red,1,left,-0.5", "red,3,left,-0.5", "row 4, column 'size': 3 is"),
    ],
)
def test_read_log_refuses_values_that_the_schema_lacks(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    path = write(tmp_path, RAGGED.replace(old, new))
    assert refusal(path, schema=SCHEMA) == f"log.csv, {complaint} not in the schema. Add it there, or correct the log."


def test_read_log_refuses_combinations_that_the_schema_lacks(tmp_path: Path) -> None:
    schema = Alphabet(("left", "right"), ("colour", "size"), (("blue", 1), ("blue", 2.5), ("red", 1)), (-0.5, 1))
    assert refusal(write(tmp_path, RAGGED), schema=schema) == (
        "log.csv, row 6, column 'colour, size': the combination ('red', 2.5) is not in the schema. Add it there, or "
        "correct the log."
    )


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "1, 2]",
            "1, null]",
            "this is not a schema (Expected `bool | int | float | str`, got `null` - at `$.actions[1]`",
        ),
        ("0.5]}", "0.5]", "this is not a schema (Input data was truncated). Write one with suffice.write_schema."),
        ("rewards", "reward", "this is not a schema (Object contains unknown field `reward`"),
        ("values", "value", "this is not a schema (Object contains unknown field `value` - at `$.observations`"),
        ("1, 2]", "]", "`$.actions` is empty"),
        ("1, 2]", "1, '2']", "`$.actions` mixes numbers and text"),
        ("['b']", "['b', 'c']", "`$.observations.values[1]` has 2 values for 1 columns"),
        ("['b']", "[3]", "`$.observations.values[:][0]` mixes numbers and text"),
        ("['b']", "['']", "`$.observations.values[:][0]` has an empty text"),
        ("['o']", "['o', 'o']", "`$.observations.columns` is empty or has a name twice"),
    ],
)
def test_read_schema_names_the_place_of_an_error(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    good = "{'actions': [1, 2], 'observations': {'columns': ['o'], 'values': [['a'], ['b']]}, 'rewards': [0.5]}"
    path = write(tmp_path, good.replace(old, new).replace("'", '"'), "schema.json")
    with pytest.raises(SufficeError) as caught:
        read_schema(path)
    assert str(caught.value).startswith(f"{path}: {complaint}")


def test_read_schema_refuses_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SufficeError, match=r"schema\.json: there is no such file"):
        read_schema(tmp_path / "schema.json")
