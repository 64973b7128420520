"""Small logs, and helpers that write, convert, decode and refuse them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from suffice.data.alphabet import Alphabet
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.errors import SufficeError

HEADER = "episode,step,colour,size,action,reward"
RAGGED = f"""{HEADER}
7,0,red,1,left,0
7,1,blue,2.5,right,1
7,2,red,1,left,-0.5
3,0,blue,1,left,0
9,0,red,2.5,right,0
9,1,red,1,left,1
"""
PAD = ("pad", None, 0.0)
Step = tuple[Any, Any, float]


def write(folder: Path, text: str | bytes, name: str = "log.csv") -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_parquet(folder: Path, **changes: Any) -> Path:
    """Write a Parquet log of three rows, with some columns replaced."""
    columns = {
        "episode": [0, 0, 1],
        "step": [0, 1, 0],
        "seen": ["a", "b", "a"],
        "action": [1, 2, 1],
        "reward": [0, 1, 0],
    }
    pq.write_table(pa.table(columns | changes), folder / "log.parquet")
    return folder / "log.parquet"


def convert(path: Path, name: str, order: list[int] | None = None) -> Path:
    """Write the same rows as Parquet or CSV, possibly in another order."""
    table = pacsv.read_csv(path)
    table = table if order is None else table.take(order)
    target = path.with_name(name)
    pq.write_table(table, target) if name.endswith("parquet") else pacsv.write_csv(table, target)
    return target


def decode(episodes: Episodes) -> list[list[Step]]:
    """Return every episode as a list of (action, observation, reward), special symbols included."""
    alphabet = episodes.alphabet
    letters = [(alphabet.action(a), alphabet.observation(o), alphabet.rewards[r]) for a, o, r in episodes.letters]
    return [[letters[x] for x in column] for column in episodes.word.T]


def refusal(path: Path, *args: Any, **options: Any) -> str:
    """Return the error about a file, without the name of its folder."""
    with pytest.raises(SufficeError) as caught:
        read_log(path, *args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{path.parent}/", "")


WEIGHTED = """episode,step,o,action,reward,weight
0,0,1,1,0,3
0,1,1,1,1,3
1,0,1,1,0,2
"""
TRUNCATED = """episode,step,o,action,reward,truncated
0,0,1,1,0,false
0,1,2,1,1,true
1,0,3,1,0,false
2,0,4,1,0,true
"""
SCHEMA = Alphabet(
    ("left", "right", "stay"), ("colour", "size"), (("blue", 1), ("blue", 2.5), ("red", 1), ("red", 2.5)), (-0.5, 1, 2)
)
FIRST = "episode,step,o,action,reward\n0,0,1,1,0\n"
"""A header and one valid row, so that the next row is row 3."""
