"""Opening logs of any kind as tables: files, tables and arrays in memory, datasets of other libraries.

No library is imported for this. A table is an object with an Arrow stream (pandas, polars, pyarrow) or with Arrow
tables (Hugging Face datasets); a dataset has `episodes` (d3rlpy) or iterates over them (Minari), each with
observations, actions and rewards; arrays are given by name, or as a list of episodes that are lists of steps.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from suffice.data.encoding.columns import ENDS, KNOWN
from suffice.data.encoding.tables import NO_ROWS, LogTable, flag
from suffice.data.logs.arrays import exact_array, first_line, has_inexact, table_of_arrays, table_of_rows
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.formats import format_of, no_such_file, refuse_bytes
from suffice.data.logs.limits import BROKEN
from suffice.data.logs.steps import column_name, leaves, named, table_of_steps
from suffice.errors import LogError, MissingError

MINARI = "minari:"  # prefix of the id of a dataset, which is given in place of a file
STEP_KEYS = {
    "observation": ("observations", "observation", "obs"),
    "action": KNOWN["action"],
    "reward": KNOWN["reward"],
}


def open_table(source: object, text: Collection[str] = ()) -> LogTable:
    """Open a log; in a CSV, the columns `text` are text even if they look like numbers."""
    table = _open(source, text)
    if not table.types:
        table.refuse("there are no columns. Add episode, step, observations, action and reward.")
    if table.rows == 0:
        table.refuse(NO_ROWS)
    return table


def _open(source: Any, text: Collection[str]) -> LogTable:
    if isinstance(source, str | Path):
        if not str(source):
            raise LogError("the name of the log is empty. Name a file.")
        if str(source).startswith(MINARI):
            return _of_dataset(_load_minari(str(source)[len(MINARI) :]), str(source))
        return open_file(Path(source), text)
    name = f"the {type(source).__name__}"
    if hasattr(source, "__arrow_c_stream__"):
        names = (
            list(map(str, source.columns)) if hasattr(source, "iterrows") else []
        )  # only pandas allows two of a name
        if twice := [column for column in names if names.count(column) > 1]:
            raise LogError(f"{name}: there are two columns {twice[0]!r}. Rename or remove one.")
        with _library_errors(name):
            return LogTable.of(pa.RecordBatchReader.from_stream(source).read_all(), name)
    if hasattr(source, "with_format"):
        return _of_hugging_face(source, name)
    if hasattr(source, "collect"):
        raise LogError(f"{name}: this is a lazy table. Pass the result of its collect() method.")
    if hasattr(source, "iterate_episodes") or hasattr(source, "episodes"):
        return _of_dataset(source, name)
    if isinstance(source, Mapping):
        return LogTable.of(table_of_arrays(source, name), name)
    if isinstance(source, Sequence) and not isinstance(source, bytes | bytearray | memoryview):
        return _of_list(source, name)
    raise LogError(
        f"an object of type {type(source).__name__} is not a log. Pass a file, a table of pandas, polars or pyarrow, a "
        "dataset, arrays by name, or a list of episodes, each a list of (observation, action, reward)."
    )


@contextmanager
def _library_errors(name: str) -> Iterator[None]:
    """Convert errors of other libraries, which have no common type, to a LogError."""
    try:
        yield
    except LogError:
        raise
    except Exception as error:
        if column := re.search(r"Conversion failed for column (.*) with type", str(error)):
            raise LogError(
                f"{name}, column {column[1]!r}: its values are not of one type, or not booleans, numbers or text "
                f"({first_line(error.args[0])}). Convert the column."
            ) from error
        raise LogError(f"{name} cannot be read ({first_line(error)}). Convert it, or write it to a file.") from error


def _of_hugging_face(dataset: Any, name: str) -> LogTable:
    """Open a Hugging Face dataset with its selected rows, in their order."""
    if isinstance(dataset, Mapping):
        raise LogError(f"{name} has several tables ({', '.join(map(str, dataset))}). Pass one of them.")
    if not hasattr(dataset, "__len__"):
        raise LogError(f"{name} is a stream of rows. Pass all rows: list(dataset).")
    with _library_errors(name):
        return LogTable.of(dataset.with_format("arrow")[:], name)


def _load_minari(name: str) -> Any:
    try:
        import minari
    except ImportError as error:
        raise MissingError(
            "Minari datasets need Minari, which is not installed. Run: pip install 'suffice[minari]'"
        ) from error
    try:
        return minari.load_dataset(name)
    except (OSError, ValueError, KeyError) as error:
        here = ", ".join(sorted(minari.list_local_datasets())) or "none"
        raise LogError(
            f"{MINARI}{name}: there is no such dataset on this machine (found: {here}). Run: minari download {name}"
        ) from error


# ---------------------------------------------------------------- episodes


def _of_dataset(dataset: Any, source: str) -> LogTable:
    """Open a dataset whose episodes are objects with arrays."""
    with _library_errors(source):
        return _of_objects(
            list(dataset.iterate_episodes() if hasattr(dataset, "iterate_episodes") else dataset.episodes), source
        )


def _of_objects(episodes: Sequence[Any], source: str) -> LogTable:
    parts = [_steps_of_object(episode, f"{source}: episode {i}", i) for i, episode in enumerate(episodes)]
    kept = [part for part in parts if len(part["step"])]
    if not kept:
        raise LogError(f"{source}: no episode has a step. Pass episodes with observations, actions and rewards.")
    notes = (f"{empty:,} episodes without a step were left out",) if (empty := len(parts) - len(kept)) else ()
    return replace(LogTable.of(_joined(kept, source), source), notes=notes)


def _steps_of_object(episode: Any, place: str, number: int) -> dict[str, Any]:
    """Return the columns of one episode; the observation after the last step is left out."""
    found: dict[str, Any] = {}
    for role, names in STEP_KEYS.items():
        if (values := _first(episode, names)) is None:
            raise LogError(f"{place} has no {names[0]}. An episode has observations, actions and rewards.")
        found[role] = values
    rewards = _array(found["reward"], f"{place}, rewards").reshape(-1)
    n = len(rewards)
    steps: dict[str, Any] = {"episode": np.full(n, number), "step": np.arange(n)}
    for role in ("observation", "action"):
        for path, values in leaves(named(role, found[role]), _side_by_side(found[role])):
            name = column_name(path)
            array = _array(values, f"{place}, {name}")
            if array.ndim == 0:
                raise LogError(f"{place}: {name} is a single value. Pass episodes that have a value per step.")
            if len(array) not in (n, n + 1):
                raise LogError(f"{place} has {n} rewards, but {len(array)} values of {name}. Give one per step.")
            steps[name] = array[:n, 0] if array.ndim == 2 and array.shape[1] == 1 else array[:n]
    steps["reward"] = rewards
    for role in ENDS:
        if (marks := _first(episode, KNOWN[role])) is not None:
            steps[role] = _marks(marks, n, f"{place}, {role}")
    return steps


def _first(episode: Any, names: Sequence[str]) -> Any:
    return next((value for name in names if (value := getattr(episode, name, None)) is not None), None)


def _array(values: Any, place: str) -> Any:
    try:
        return exact_array(values)
    except (ValueError, TypeError) as error:
        raise LogError(f"{place}: the values differ in length or kind. Give every step equally many values.") from error


def _marks(marks: Any, n: int, place: str) -> Any:
    """Return a flag for each step; a single flag is that of the last step."""
    array = _array(marks, place).reshape(-1)
    if len(array) == n:
        return array
    if len(array) != 1:
        raise LogError(f"{place}: {len(array)} flags for {n} steps. Give one per step, or one for the episode.")
    try:
        return (np.arange(n) == n - 1) & flag(array[0].item())
    except ValueError as error:
        raise LogError(f"{place}: {error}") from error


def _side_by_side(values: Any) -> Any:
    """Return a tuple of numbers as one array; the arrays of a Tuple space stay separate."""
    return list(values) if isinstance(values, tuple) and not all(map(np.ndim, values)) else values


def _joined(parts: Sequence[Mapping[str, Any]], source: str) -> pa.Table:
    """Concatenate all episodes, which must have the same columns."""
    names, columns = list(parts[0]), {}
    for part in parts:
        if list(part) != names:
            who = f"episode {part['episode'][0]} has {', '.join(part)}"
            raise LogError(f"{source}: {who}, but the first one {', '.join(names)}. Give all the same.")
    for name in names:
        shapes = {(part[name].shape[1:], part[name].dtype.kind in "SUO") for part in parts}
        if len(shapes) > 1:
            raise LogError(f"{source}, column {name!r}: its shape or kind differs between episodes. Convert it.")
        columns[name] = np.concatenate([part[name] for part in parts])
        integers = [part[name] for part in parts if part[name].dtype.kind in "iu"]
        if columns[name].dtype.kind == "f" and any(map(has_inexact, integers)):
            raise LogError(
                f"{source}, column {name!r}: integers of 2**53 and above are not exact beside those of other episodes, "
                "which have another type. Convert it."
            )
    return table_of_arrays(columns, source)


def _of_list(items: Sequence[Any], source: str) -> LogTable:
    """Open a list of rows or episodes by name, or of episodes that are lists of steps."""
    if not items:
        raise LogError(f"{source}: there are no episodes. Pass at least one.")
    if files := [item for item in items if isinstance(item, str | Path)]:
        raise LogError(
            f"{source}: {str(files[0])!r} is not an episode. Pass one file by its name, or pass files to suffice.learn "
            "as a list of names."
        )
    if all(isinstance(item, Mapping) for item in items):
        return LogTable.of(table_of_rows(items, source), source)
    if all(any(hasattr(item, name) for name in STEP_KEYS["reward"]) for item in items):
        with _library_errors(source):
            return _of_objects(items, source)
    if any(items) and all(isinstance(i, list | tuple) and all(isinstance(s, Mapping) for s in i) for i in items):
        return LogTable.of(table_of_rows([{"steps": item} for item in items], source), source)
    return LogTable.of(table_of_steps(items, source), source)


def open_file(path: Path, text: Collection[str] = ()) -> LogTable:
    """Open a log; in a CSV, the columns `text` are text even if they look like numbers."""
    try:
        if (dataset := Dataset.of(path, text)) is not None and dataset.files != (path,):
            return dataset.open()
        if not path.exists():
            raise LogError(no_such_file(path))
        log_format = format_of(path)
        refuse_bytes(path)
        return log_format.open(path, text)
    except MemoryError:
        raise
    except (*BROKEN, EOFError, zlib.error) as error:
        raise LogError(f"{path}: the file cannot be read ({first_line(error)}). Copy or export it again.") from error
