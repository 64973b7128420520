"""Whatever holds episodes, as a table: files, tables and arrays in memory, datasets of other libraries.

No library is imported for it. A table is what gives an Arrow stream (pandas, polars, pyarrow) or Arrow tables (Hugging
Face datasets); a dataset is what has `episodes` (d3rlpy) or iterates them (Minari), each with observations, actions and
rewards; arrays come by name, or as a list of episodes that are lists of steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from suffice.errors import LogError, MissingError
from suffice.logs.columns import KNOWN, known_as
from suffice.logs.files import open_file
from suffice.logs.tables import Table

MINARI = "minari:"  # before the id of a dataset, where a file could stand
STEP = ("observation", "action", "reward")
PARTS = {"observation": ("observations", "observation", "obs"), "action": KNOWN["action"], "reward": KNOWN["reward"]}


def open_table(source: object, text: Collection[str] = ()) -> Table:
    """Open a log; in a CSV the columns `text` are text even where they look like numbers."""
    table = _open(source, text)
    if table.rows == 0:
        table.refuse("there are columns but no rows; a log has one row per decision")
    return table


def _open(source: Any, text: Collection[str]) -> Table:
    if isinstance(source, str | Path):
        if str(source).startswith(MINARI):
            return _of_dataset(_load_minari(str(source)[len(MINARI) :]), str(source))
        return open_file(Path(source), text)
    kind = type(source).__name__
    if hasattr(source, "__arrow_c_stream__"):
        return Table.of(pa.RecordBatchReader.from_stream(source).read_all(), f"the {kind}")
    if hasattr(source, "with_format"):  # with the rows that were selected, in their order
        return Table.of(source.with_format("arrow")[:], f"the {kind}")
    if hasattr(source, "collect"):
        raise LogError(f"the {kind} is not worked out yet; give what its collect() returns")
    if hasattr(source, "iterate_episodes") or hasattr(source, "episodes"):
        return _of_dataset(source, f"the {kind}")
    if isinstance(source, Mapping):
        return Table.of(_of_arrays(source), f"the {kind}")
    if isinstance(source, Sequence) and len(source):
        return _of_list(source, f"the {kind}")
    raise LogError(
        f"{kind} is nothing that episodes can be read from; give a file, a table of pandas, polars or pyarrow, a "
        "dataset, arrays by name, or a list of episodes, each a list of (observation, action, reward)"
    )


def _load_minari(name: str) -> Any:
    try:
        import minari
    except ImportError as error:
        raise MissingError("Minari datasets need Minari: pip install 'suffice[minari]'") from error
    try:
        return minari.load_dataset(name)
    except (OSError, ValueError, KeyError) as error:
        here = ", ".join(sorted(minari.list_local_datasets())) or "none"
        raise LogError(
            f"{MINARI}{name}: no such dataset on this machine (there are: {here}); minari download {name}"
        ) from error


# ---------------------------------------------------------------- arrays by name


def _of_arrays(arrays: Mapping[str, Any]) -> pa.Table:
    """A column for each array; what is no array, such as a note on the data, is left out."""
    columns = {name: column for name, values in _by_name(arrays) if (column := _column(name, values)) is not None}
    lengths = {name: len(column) for name, column in columns.items()}
    if not lengths:
        raise LogError("the arrays are empty; a log has one entry per decision")
    reward = known_as("reward", list(lengths)) or next(iter(lengths))
    if wrong := [name for name, length in lengths.items() if length != lengths[reward]]:
        told = f"{wrong[0]!r} has {lengths[wrong[0]]:,} entries, {reward!r} {lengths[reward]:,}"
        raise LogError(f"the arrays differ in length: {told}; give one entry per decision, or one per episode")
    return pa.table(columns)


def _by_name(arrays: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Nested ones by the names they have together."""
    for name, values in arrays.items():
        if isinstance(values, Mapping):
            yield from _by_name(values, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", values


def _column(name: str, values: Any) -> pa.Array | None:
    if isinstance(values, list | tuple):
        values = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
        try:
            return pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise LogError(f"{name!r} holds values of different kinds ({error}); give it one type") from error
    array = np.asarray(values)
    if array.ndim == 0:
        return None
    if array.dtype == object:
        return _column(name, array.tolist())
    column = pa.array(array.reshape(-1))
    for width in reversed(array.shape[1:]):
        column = pa.FixedSizeListArray.from_arrays(column, width)
    return column


# ---------------------------------------------------------------- episodes


def _of_dataset(dataset: Any, source: str) -> Table:
    """Episodes that are objects with arrays in them."""
    episodes = dataset.iterate_episodes() if hasattr(dataset, "iterate_episodes") else dataset.episodes
    parts = [_steps_of_object(episode, i) for i, episode in enumerate(episodes)]
    if not parts:
        raise LogError(f"{source}: there are no episodes")
    return Table.of(_joined(parts), source)


def _steps_of_object(episode: Any, number: int) -> dict[str, Any]:
    """The columns of one episode: n steps, of which what is seen after the last is left out."""
    found: dict[str, Any] = {}
    for role, names in PARTS.items():
        values = next((v for name in names if (v := _part(episode, name)) is not None), None)
        if values is None:
            raise LogError(
                f"episode {number} has no {names[0]}; an episode has {', '.join(n[0] for n in PARTS.values())}"
            )
        found[role] = values
    rewards = np.asarray(found["reward"]).reshape(-1)
    n = len(rewards)
    steps: dict[str, Any] = {"episode": np.full(n, number), "step": np.arange(n)}
    for role in ("observation", "action"):
        for name, values in _leaves(_named(role, found[role]), _side_by_side(found[role])):
            values = np.asarray(values)
            if values.ndim == 0 or len(values) not in (n, n + 1):
                raise LogError(f"episode {number} has {n} rewards, but {np.size(values)} values of {name}")
            steps[name] = values[:n, 0] if values.ndim == 2 and values.shape[1] == 1 else values[:n]
    steps["reward"] = rewards
    for role in ("terminated", "truncated"):
        ends = next((e for name in KNOWN[role] if (e := _part(episode, name)) is not None), None)
        if ends is not None:
            steps[role] = (np.arange(n) == n - 1) & bool(np.asarray(ends).reshape(-1)[-1])
    return steps


def _part(episode: Any, name: str) -> Any:
    return episode.get(name) if isinstance(episode, Mapping) else getattr(episode, name, None)


def _named(role: str, values: Any) -> str:
    """What the parts of an observation have before their names: nothing, if those are free."""
    taken = {name for names in KNOWN.values() for name in names}
    return "" if role == STEP[0] and isinstance(values, Mapping) and not taken & set(values) else role


def _side_by_side(values: Any) -> Any:
    """The arrays of a Tuple space stay apart; any other tuple is one array."""
    return list(values) if isinstance(values, tuple) and not all(map(np.ndim, values)) else values


def _leaves(name: str, values: Any) -> Iterable[tuple[str, Any]]:
    """The parts of a Dict or a tuple, each with its whole name."""
    if isinstance(values, Mapping | tuple):
        for key, part in values.items() if isinstance(values, Mapping) else enumerate(values):
            yield from _leaves(f"{name}.{key}" if name else str(key), part)
    else:
        yield name, values


def _joined(parts: Sequence[Mapping[str, Any]]) -> pa.Table:
    """All episodes one after the other; they must have the same columns."""
    names = list(parts[0])
    for number, part in enumerate(parts):
        if list(part) != names:
            raise LogError(f"episode {number} has {', '.join(part)}, but the first one has {', '.join(names)}")
    return _of_arrays({name: np.concatenate([part[name] for part in parts]) for name in names})


def _of_list(items: Sequence[Any], source: str) -> Table:
    """Rows or whole episodes by name, or episodes that are lists of steps."""
    if all(isinstance(item, Mapping) for item in items):
        reward = known_as("reward", list(items[0]))
        if reward is None or np.ndim(items[0][reward]) == 0:
            return Table.of(_of_records(items), source)
    if all(isinstance(item, Mapping) or any(hasattr(item, name) for name in PARTS["reward"]) for item in items):
        return Table.of(_joined([_steps_of_object(item, i) for i, item in enumerate(items)]), source)
    return Table.of(table_of_steps(items), source)


def _of_records(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    try:
        return pa.Table.from_pylist([dict(row) for row in rows])
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise LogError(f"the rows hold values of different kinds in a column ({error}); give each one type") from error


def table_of_steps(episodes: Sequence[Any]) -> pa.Table:
    """From lists of (observation, action, reward), an observation being a value, a tuple or a dict of them."""
    columns: dict[str, list[Any]] = {"episode": [], "step": []}
    for number, episode in enumerate(episodes):
        for t, step in enumerate(episode):
            values = dict(_leaves_of_step(step, number, t))
            if columns["step"] and values.keys() != columns.keys() - {"episode", "step"}:
                raise LogError(f"episode {number}, step {t}: it has {', '.join(values)}, unlike the steps before")
            for name, value in {"episode": number, "step": t, **values}.items():
                columns.setdefault(name, []).append(value)
    return _of_arrays(columns)


def _leaves_of_step(step: Any, number: int, t: int) -> Iterable[tuple[str, Any]]:
    parts = [_part(step, name) for name in STEP] if isinstance(step, Mapping) else step
    if not isinstance(parts, Sequence) or isinstance(parts, str) or len(parts) != len(STEP):
        raise LogError(f"episode {number}, step {t}: a step is (observation, action, reward), not {step!r:.60}")
    for name, value in zip(STEP, parts, strict=True):
        yield from _leaves(_named(name, value), _opened(value))


def _opened(value: Any) -> Any:
    """Arrays and lists as tuples, numbers as Python's own."""
    if isinstance(value, Mapping):
        return {key: _opened(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return value
    return _opened(value[0]) if len(value) == 1 else tuple(map(_opened, value))
