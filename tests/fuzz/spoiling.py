"""Inputs for fuzzing: valid files with changed bytes, and files composed of parts that are valid by themselves."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from fuzz.targets import TARGETS, WORDS, Target

Edit = tuple[str, int, int, bytes]

TEXT = st.text(st.characters(), max_size=6)  # includes control characters and surrogates
PRINTABLE = st.text(st.characters(codec="utf-8"), max_size=6)
ODD_NUMBERS = st.sampled_from([0, 1, -1, 2**31, 2**53, 2**63 - 1, -(2**63), 0.5, -0.0, 1e308, 5e-324])
ODD_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ODD_NUMBERS | PRINTABLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PRINTABLE, inner, max_size=3),
    max_leaves=6,
)


ODD = ODD_JSON | st.lists(st.sampled_from(["", "x", "-1", "nan", "99999999999999999999"]), max_size=3)


def inputs(name: str) -> st.SearchStrategy[bytes]:
    """Return the inputs for one kind of file."""
    spoiled = _spoiled(TARGETS[name])
    if name in ("model", "checkpoint"):
        return spoiled | st.builds(
            _with_other, st.sampled_from(TARGETS[name].seeds()), st.integers(0), st.integers(0), ODD
        )
    if name in ("jsonl", "json"):
        return spoiled | st.builds(_as_json, _rows() | st.lists(ODD_JSON, max_size=3))
    if name == "csv":
        return spoiled | st.builds(_as_csv, st.lists(st.lists(TEXT, max_size=6), max_size=4))
    if name in ("parquet", "arrow"):
        return spoiled | st.builds(_as_parquet if name == "parquet" else _as_arrow, _columns())
    if name == "pomdp":
        more = st.lists(st.sampled_from(WORDS) | st.sampled_from([b":", b"0.5", b"left", b"listen", b"1"]), max_size=12)
        return spoiled | st.builds(lambda seed, words: seed + b" ".join(words), st.just(TARGETS[name].seeds()[0]), more)
    return spoiled


def _spoiled(target: Target) -> st.SearchStrategy[bytes]:
    kinds = st.sampled_from(["flip", "put", "insert", "cut", "copy", "end"])
    edit = st.tuples(
        kinds, st.integers(0, 1 << 30), st.integers(1, 40), st.sampled_from(target.words) | st.binary(max_size=8)
    )
    return st.builds(_edited, st.sampled_from(target.seeds()), st.lists(edit, min_size=1, max_size=4))


def _edited(data: bytes, edits: list[Edit]) -> bytes:
    for kind, where, length, word in edits:
        at = where % (len(data) or 1)
        before, after = data[:at], data[at:]
        match kind:
            case "flip":
                data = before + bytes([after[0] ^ 1 << length % 8]) + after[1:] if after else data
            case "put":
                data = before + word + after[len(word) :]
            case "insert":
                data = before + word + after
            case "cut":
                data = before + after[length:]
            case "copy":
                data = before + data[where // 7 % (len(data) or 1) :][:length] + after[length:]
            case "end":
                data = before if length < 5 else data
    return data


def _with_other(archive: bytes, which: int, leaf: int, value: Any) -> bytes:
    """Return an archive with another value somewhere in its JSON; bytes before the archive are kept."""
    begin = archive.index(b"PK")
    with zipfile.ZipFile(io.BytesIO(archive[begin:])) as whole:
        entries = {name: whole.read(name) for name in whole.namelist()}
    texts = [name for name in entries if name.endswith(".json")]
    name = texts[which % len(texts)]
    content = [json.loads(entries[name])]
    places = list(_places(content))
    parent, key = places[leaf % len(places)]
    parent[key] = value
    entries[name] = json.dumps(content[0]).encode()
    changed = io.BytesIO(archive[:begin])
    changed.seek(begin)
    with zipfile.ZipFile(changed, "w") as other:
        for name, data in entries.items():
            other.writestr(zipfile.ZipInfo(name), data)
    return changed.getvalue()


def _places(value: Any) -> Any:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _rows() -> st.SearchStrategy[list[Any]]:
    row = {"episode": ODD_JSON, "step": ODD_JSON, "o": ODD_JSON, "action": ODD_JSON, "reward": ODD_JSON}
    return st.lists(st.fixed_dictionaries({}, optional=row), max_size=4)


def _as_json(rows: list[Any]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def _as_csv(rows: list[list[str]]) -> bytes:
    cells = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    return "\n".join(["episode,step,o,action,reward", *cells]).encode("utf-8", "surrogatepass")


KINDS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(0, 2) | st.integers(-(2**63), 2**63 - 1),
    pa.uint8(): st.integers(0, 255),
    pa.float64(): st.floats(),
    pa.float16(): st.floats(width=16),
    pa.string(): PRINTABLE,
    pa.large_string(): PRINTABLE,
    pa.string_view(): PRINTABLE,
    pa.binary(): st.binary(max_size=4),
    pa.bool_(): st.booleans(),
    pa.null(): st.none(),
    pa.timestamp("us"): st.integers(-(2**62), 2**62),
    pa.duration("s"): st.integers(-(2**40), 2**40),
    pa.date32(): st.integers(-(2**31), 2**31 - 1),
    pa.decimal128(38, 3): st.decimals(-(10**9), 10**9, places=3),
    pa.list_(pa.int64()): st.lists(st.integers(0, 2), max_size=3),
    pa.list_(pa.string(), 2): st.lists(PRINTABLE, min_size=2, max_size=2),
    pa.struct([("a", pa.int64()), ("b", pa.string())]): st.fixed_dictionaries({"a": st.integers(0, 2), "b": PRINTABLE}),
}


@st.composite
def _columns(draw: st.DrawFn) -> pa.Table:
    """Draw a table of a few rows, whose columns may have unsuitable types."""
    n, columns = draw(st.integers(0, 4)), {}
    for name in draw(st.permutations(["episode", "step", "action", "reward", "o", "weight", "done"]))[
        : draw(st.integers(3, 7))
    ]:
        usual = name in ("episode", "step") and draw(st.booleans())
        kind = pa.int64() if usual else draw(st.sampled_from(list(KINDS)))
        values = list(range(n)) if usual else draw(st.lists(st.none() | KINDS[kind], min_size=n, max_size=n))
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def _as_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _as_arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return sink.getvalue()
