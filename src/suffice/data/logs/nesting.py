"""Conversion of nested columns to one row per decision and one value per cell.

A row may hold a whole episode: lists of rewards, actions and observations, or one list of steps with these as fields.
Observations may be one longer than the rewards; the last one is then left out, because no decision follows it. A cell
may hold several values, as a record or as a vector of constant length; they become separate columns: `obs.colour`,
`obs.0`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.data.encoding.columns import ENDS, Columns, known_as
from suffice.data.encoding.tables import LogTable, NoEpisodesLeftError
from suffice.data.logs.arrays import DEEPEST_VALUE
from suffice.kernels.array_types import Int64, Mask

WIDEST_CELL = 256  # values of one cell that become columns; larger cells are images, not features
Part = tuple[str, pa.DataType, Callable[[pa.ChunkedArray], pa.ChunkedArray]]


def unnest(table: LogTable, columns: Columns) -> LogTable:
    """Return the log with flat columns; columns that are flat already are unchanged."""
    table = _squeezed(table, columns)
    if (lists := _lists_of(table, columns)) is not None:
        bare = lists != _column_of("reward", table, columns)  # the rewards are fields of its entries
        table = _explode(table if bare else _spread(table, lists=False), lists, columns, bare)
    return _spread(table)


def lists_of_steps(table: LogTable, columns: Columns) -> str | None:
    """Return the column whose lists are the steps of episodes; None if a row is a decision."""
    return _lists_of(_squeezed(table, columns), columns)


def _lists_of(table: LogTable, columns: Columns) -> str | None:
    reward = _column_of("reward", table, columns)
    if reward is not None and reward in table.types:
        return reward if is_list(table.types[reward]) else None
    return _steps_of(table, columns)


def _squeezed(table: LogTable, columns: Columns) -> LogTable:
    """Unpack rewards of shape [N, 1], which are not episodes if another column bounds the episodes."""
    reward = _column_of("reward", table, columns)
    known = any(_column_of(role, table, columns) in table.types for role in ("episode", *ENDS))
    if (
        table.episode_rows
        or reward is None
        or reward not in table.types
        or not known
        or not is_list(table.types[reward])
    ):
        return table
    parts = list(_parts(table, reward, table.types[reward]))
    return _replaced_by_parts(table, {reward: parts}) if len(parts) == 1 else table


def _column_of(role: str, table: LogTable, columns: Columns) -> str | None:
    given: str | None = getattr(columns, role)
    return given if given is not None else known_as(role, table.names)


def _steps_of(table: LogTable, columns: Columns) -> str | None:
    """Return the column whose cells are lists of steps."""
    for name, kind in table.types.items():
        if is_list(kind) and pa.types.is_struct(kind.value_type):
            fields = [field.name for field in kind.value_type]
            if columns.reward in fields or known_as("reward", fields):
                return name
    return None


def _explode(table: LogTable, by: str, columns: Columns, bare: bool = False) -> LogTable:
    """Return a row for each entry of the lists in a column; with `bare`, the fields of its entries become columns."""
    lengths = list_lengths(table.column(by))
    ends = [_column_of(role, table, columns) for role in ENDS]
    row = np.repeat(np.arange(table.rows), lengths)
    if not len(row):
        raise NoEpisodesLeftError(
            f"{table.source}, column {by!r}: all lists are empty. Give each episode at least one step."
        )
    step = np.arange(len(row)) - (np.cumsum(lengths) - lengths)[row]

    def entries(name: str) -> pa.Array | pa.ChunkedArray:
        if name in numbered:
            return pa.array(numbered[name])
        column = table.column(name)
        if not is_list(table.types[name]):
            repeated = column.take(pa.array(row))
            return _on_last(repeated, step + 1 == lengths[row]) if name in ends else repeated
        found = list_lengths(column)
        longer = found - lengths
        if longer.any() and not (longer == 1).all():
            at = int(np.argmax((longer != 0) & (longer != 1))) if ((longer != 0) & (longer != 1)).any() else 0
            differs = f"{found[at]:,} entries where column {by!r} has {lengths[at]:,}"
            table.refuse_row(
                at,
                name,
                f"{differs}. Give one per step, or one more per episode for the last observation.",
            )
        values = _flattened(column)
        if not longer.any():
            return values
        last = np.cumsum(found) - 1
        keep = np.ones(len(values), dtype=bool)
        keep[last] = False
        return values.filter(pa.array(keep))

    numbered: dict[str, Int64] = {}
    fields = [field.name for field in table.types[by].value_type] if bare else []
    for role, numbers in (("episode", row), ("step", step)):
        if getattr(columns, role) is None and known_as(role, [*table.names, *fields]) is None:
            numbered[role] = numbers
    types = {name: kind.value_type if is_list(kind) else kind for name, kind in table.types.items()}
    types = {name: pa.int64() for name in numbered} | types
    exploded = LogTable(
        table.source,
        types,
        len(row),
        lambda name: _chunked(entries(name)),
        lambda i: f"{table.place(int(row[i]))}, step {step[i]}",
        (f"{empty:,} episodes without a step were left out",) if (empty := np.count_nonzero(lengths == 0)) else (),
        table.part,
    )
    return _replaced_by_parts(exploded, {by: _fields(exploded, by, prefix="")}) if bare else exploded


def _spread(table: LogTable, lists: bool = True, room: int = DEEPEST_VALUE) -> LogTable:
    """Replace records and, with `lists`, vectors by columns until every cell holds one value; large cells stay."""
    nested: dict[str, list[Part]] = {}
    for name, kind in table.types.items():
        if not pa.types.is_struct(kind) and not (lists and is_list(kind)):
            continue
        whole = lists and room == DEEPEST_VALUE and _width(table.column(name)) > WIDEST_CELL
        if not whole and (parts := list(_parts(table, name, kind))):
            nested[name] = parts
    return _spread(_replaced_by_parts(table, nested), lists, room - 1) if nested and room else table


def _width(column: pa.ChunkedArray, room: int = DEEPEST_VALUE) -> int:
    """Return the number of values of a cell; a list of varying length counts as one."""
    if pa.types.is_struct(column.type) and room:
        return sum(_width(pc.struct_field(column, [i]), room - 1) for i in range(column.type.num_fields))
    width = _common_length(column) if is_list(column.type) and room else 0
    return width * _width(_flattened(column), room - 1) if width else 1


def _common_length(column: pa.ChunkedArray) -> int:
    """Return the length of the lists in a column; 0 if it varies."""
    if pa.types.is_fixed_size_list(column.type):
        return int(column.type.list_size)
    lengths = list_lengths(column)
    return int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else 0


def _flattened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Concatenate the entries of all lists."""
    return pa.chunked_array([pc.list_flatten(chunk) for chunk in column.chunks], column.type.value_type)


def _parts(table: LogTable, name: str, kind: pa.DataType) -> Iterator[Part]:
    """Yield name, type and values of each part of a column's cells; nothing if each cell is one value."""
    if pa.types.is_struct(kind):
        yield from _fields(table, name, prefix=f"{name}.")
    elif is_list(kind):
        width = _common_length(table.column(name))
        for i in range(width if width <= WIDEST_CELL else 0):
            yield f"{name}.{i}" if width > 1 else name, kind.value_type, lambda c, i=i: pc.list_element(c, i)  # type: ignore[misc]


def _fields(table: LogTable, name: str, prefix: str) -> list[Part]:
    fields = list(table.types[name])
    return [(f"{prefix}{f.name}", f.type, lambda c, i=i: pc.struct_field(c, [i])) for i, f in enumerate(fields)]  # type: ignore[misc]


def _replaced_by_parts(table: LogTable, nested: Mapping[str, list[Part]]) -> LogTable:
    """Return the table with some columns replaced by their parts."""
    types: dict[str, pa.DataType] = {}
    origin: dict[str, tuple[str, Callable[[pa.ChunkedArray], pa.ChunkedArray]]] = {}
    for name, kind in table.types.items():
        for part, part_kind, values in nested.get(name, [(name, kind, lambda column: column)]):
            if part in types:
                table.refuse(f"there are two columns {part!r}, one of them within {name!r}. Rename or remove one.")
            types[part], origin[part] = part_kind, (name, values)
    whole = lru_cache(maxsize=1)(table.column)  # its parts are read one after the other

    def column(name: str) -> pa.ChunkedArray:
        source, values = origin[name]
        return _chunked(values(whole(source)))

    return replace(table, types=types, column=column)


def _on_last(marks: pa.ChunkedArray, last: Mask) -> pa.ChunkedArray:
    """Apply a flag that is given once per episode to its last step only."""
    if pa.types.is_dictionary(marks.type):
        marks = marks.cast(marks.type.value_type)
    return pc.if_else(pa.array(last), marks, pa.scalar("0").cast(marks.type))


def list_lengths(column: pa.ChunkedArray) -> Int64:
    """Return the [rows] lengths of the lists in a column; a missing list is empty."""
    lengths: Int64 = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    return lengths


def is_list(kind: pa.DataType) -> bool:
    """Return whether the cells of a column are lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _chunked(values: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
