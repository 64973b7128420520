"""Reading a log into Episodes.

Time is linear in the number of rows. Peak memory is about 50 bytes per row for Parquet, whose columns are read one at a
time, and 130 for a CSV of six columns, which is parsed as a whole; the Episodes take one or two bytes per step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet, Value, smallest_uint
from suffice.data.encoding.binning import Binning
from suffice.data.encoding.columns import KNOWN, Columns, find_columns, roles_of, text_columns
from suffice.data.encoding.encoder import Encoded, Encoder, EncoderRequest, HasEncoder
from suffice.data.encoding.parts import with_parts
from suffice.data.encoding.tables import Coded, LogTable, V
from suffice.data.ends import Ends, decide_ends, ends_of
from suffice.data.episodes import Episodes
from suffice.data.logs.episode_keys import episode_hashes
from suffice.data.logs.nesting import unnest
from suffice.data.logs.placement import (
    GridLayout,
    RowPositions,
    lay_out,
    marks_ends,
    place_rows,
    read_groups,
    read_propensities,
    read_weights,
)
from suffice.data.logs.problems import REPORTED, all_problems
from suffice.data.logs.schema import read_schema
from suffice.data.logs.sources import open_table
from suffice.data.report import CutReward, ReadReport
from suffice.errors import LogError, SettingsError, is_whole, parameter
from suffice.kernels.array_types import Codes, Int64, Mask

MANY_VALUES = 50  # distinct values of a numeric column above which bins are advised


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of reading a log."""

    encoder: EncoderRequest = field(default_factory=EncoderRequest)
    horizon: int | None = None
    schema: Alphabet | None = None
    drop_truncated: bool = False
    max_values: int = 1000
    one_of_several: bool = False  # whether other logs are read too, which may have the first rows of an episode
    in_pieces: bool = False  # whether this is one piece, so that notes on values wait for all pieces
    room: int | None = None  # cells [H+1, N] that fit into memory
    ends: Ends = "auto"  # how shorter episodes end, if no column marks it
    held_out: float | None = None  # share of the episodes from which no columns are chosen
    keyed: tuple[str, ...] = ()  # observation columns whose content identifies episodes, for `report.keys`

    def __post_init__(self) -> None:
        ends_of(self.ends)
        for name, value in (("horizon", self.horizon), ("max_values", self.max_values)):
            if value is not None and not is_whole(value):
                raise SettingsError(f"{parameter(name, value)} is not a whole number. Use 1 or more.")
        if self.horizon is not None and self.horizon < 1:
            raise SettingsError(f"{parameter('horizon', self.horizon)} leaves no decision. Use 1 or more.")
        if self.max_values is not None and self.max_values < 1:
            raise SettingsError(f"{parameter('max_values', self.max_values)} allows no values. Use 1 or more.")
        if self.schema is not None and not isinstance(self.schema, Alphabet):
            raise SettingsError(
                f"{parameter('schema', self.schema)} is not an alphabet. Pass what read_schema returns."
            )
        if self.encoder.kinds and self.schema is not None:
            raise SettingsError(
                f"{parameter('bins')} and {parameter('schema')} cannot be combined: bins depend on the log. Bin the "
                "columns before writing the log, or leave one out."
            )


def read_log(
    source: object,
    columns: Columns | Mapping[str, Any] | str | None = None,
    *,
    observations: Sequence[str] | str | None = None,
    like: Encoder | Columns | HasEncoder | None = None,
    horizon: int | None = None,
    schema: Alphabet | str | Path | None = None,
    drop_truncated: bool = False,
    max_values: int = 1000,
    bins: Mapping[str, Binning | str] | None = None,
    ends: Ends = "auto",
    group_column: str | None = None,
) -> Episodes:
    """Read a log into Episodes.

    A log has one row per decision: episode, step, observation columns, action and reward.

    Parameters
    ----------
    source
        A file (Parquet, Arrow, CSV, JSON lines), a folder or pattern of them, a table of pandas, polars or pyarrow, a
        Hugging Face, Minari or d3rlpy dataset, arrays by name, or a list of episodes, each a list of
        (observation, action, reward).
    columns
        Names of the columns by role, as a dict or as text: `"episode=patient,action=drug"`. Default: the usual names.
    observations
        Names of the observation columns, as a sequence or as text separated by commas. Default: all other columns.
    like
        Earlier model or report, or its encoder: its columns are used where this log has them, and its bins unless
        `bins` are given.
    horizon
        Number of decisions to which longer episodes are cut. Default: the longest episode.
    schema
        Declared alphabet, or the JSON file that declares it; values that it lacks are refused. Default: the values of
        the log.
    drop_truncated
        Whether to leave out episodes that were marked as cut off before the horizon. Default: their observed steps
        are used.
    max_values
        Largest number of distinct values of a column.
    bins
        Bins of numeric columns, by column: a number of bins with equally many rows, edges, `EqualWidth(8)`, or the
        `Bins` of an earlier report.
    ends
        How episodes end that are shorter than the horizon, if no column marks it: "terminal" (by themselves),
        "censored" (observation stopped), or "auto", which decides by whether anything predicts the end; see
        `report.ends`.
    group_column
        Column of the person, site or other group of an episode. Episodes of one group may depend on each other.

    Returns
    -------
    Episodes
        The episodes in order of their ids. `episodes.report` has the columns, bins and notes on the log; `learn` uses
        them.

    Raises
    ------
    LogError
        If the log cannot be read. The message names the file, row, column and fix.

    Examples
    --------
    >>> steps = [("red", "go", 0), ("green", "go", 1)], [("green", "go", 1), ("red", "stop", 0.5)]
    >>> log = suffice.read_log(steps)
    >>> log, log.report.values
    (<Episodes: 2 of up to 2 decisions, 6 distinct steps>, {'action': 2, 'observation': 2, 'reward': 3})
    >>> log[1]
    [Step(observation='green', action='go', reward=1.0), Step(observation='red', action='stop', reward=0.5)]
    """
    request = EncoderRequest.of(with_group(columns, group_column), bins, like, observations)
    schema = read_schema(schema) if isinstance(schema, str | Path) else schema
    how = ReadOptions(request, horizon, schema, drop_truncated, max_values, ends=ends)
    episodes, report = read_as(source, how)
    return replace(episodes, report=report)


def with_group(columns: Columns | Mapping[str, Any] | str | None, group_column: str | None) -> Columns:
    """Return the named columns, with the group column if it is named apart."""
    found = Columns.of(columns)
    if group_column is None:
        return found
    if not isinstance(group_column, str):
        raise SettingsError(f"{parameter('group_column', group_column)} is not the name of a column. Give a text.")
    if found.group not in (None, group_column):
        raise SettingsError(
            f"{parameter('group_column')} and {parameter('columns')} both name the group. Leave one out."
        )
    return replace(found, group=group_column)


def read_as(source: object, how: ReadOptions) -> tuple[Episodes, ReadReport]:
    """Read a log with given options; return the report apart from the episodes."""
    return read_table(open_table(source, text_columns(how.encoder.columns, how.schema)), how)


def flat_table(opened: LogTable, how: ReadOptions) -> tuple[LogTable, Columns, tuple[str, ...]]:
    """Return the log with one row per decision and one value per cell, its columns by role, and notes."""
    named, like = how.encoder.columns, how.encoder.like
    table = unnest(opened, named if like is None else named.over(like))
    table = with_parts(table, [*(named.observations or ()), *((like and like.observations) or ())])
    if like is not None:
        taken = [getattr(named, role) for role in KNOWN]
        named = named.over(like.where_in([name for name in table.names if name not in taken]))
    columns, notes = find_columns(table, named, how.schema, how.drop_truncated)
    return replace(table, roles=roles_of(columns)), columns, notes


def read_table(opened: LogTable, how: ReadOptions) -> tuple[Episodes, ReadReport]:
    """Read the episodes of an open log; an error lists all of its problems."""
    table, columns, notes = flat_table(opened, how)
    try:
        return _read_flat(table, columns, notes, how)
    except LogError as error:
        if type(error) not in REPORTED or how.in_pieces:
            raise
        raise all_problems(error, table, columns, how.encoder, how.max_values) from error


def _read_flat(
    table: LogTable, columns: Columns, notes: tuple[str, ...], how: ReadOptions
) -> tuple[Episodes, ReadReport]:
    rows = place_rows(table, columns, how.one_of_several)
    layout = lay_out(table, rows, how.horizon, columns, how.drop_truncated, how.room)
    weight = read_weights(table, columns.weight, rows) if columns.weight else None
    counts = _counts(rows, layout, weight)
    encoder, encoded = how.encoder.fit_encode(table, columns, counts, how.max_values)
    alphabet = how.schema or _alphabet_seen(layout, encoded)
    steps = _encode_steps(table, columns, layout, alphabet, encoded)
    weight = None if weight is None else weight[layout.episodes]
    group = read_groups(table, columns.group, rows)[layout.episodes] if columns.group else None
    episodes = Episodes.from_steps(alphabet, *steps, weight, how.schema is not None, layout.length, group)
    report = _report(encoder, rows, layout, encoded, (*table.notes, *notes, *rows.notes))
    if not how.in_pieces:
        decided, ends = decide_ends(episodes, how.ends, marks_ends(columns))
        assert isinstance(decided, Episodes), "the episodes were read into memory"
        episodes, report = decided, replace(report, ends=ends.named(columns.action, columns.reward))
        values = {columns.action or "": encoded.action, **encoded.features}
        by_column = {name: column.values for name, column in values.items()}
        on_values = notes_on_values(by_column, len(rows.step), columns.action)
        report = replace(report, notes=(*report.notes, *on_values, *report.lost.notes(layout.horizon)))
    if how.keyed and set(how.keyed) <= set(table.names):
        known = replace(columns, observations=how.keyed)
        report = replace(report, keys=episode_hashes(replace(table, roles=roles_of(known)), known, layout))
    if columns.propensity:
        report = replace(report, propensities=read_propensities(table, columns.propensity, layout))
    return episodes, report


def _counts(rows: RowPositions, layout: GridLayout, weight: Int64 | None) -> Int64:
    """Return the [rows] number of episodes that each row counts for: 0 if it is cut off or left out."""
    counts = np.ones(len(rows.step), np.int64) if weight is None else weight[rows.episode]
    return counts if layout.rows is None else counts * layout.rows


def notes_on_values(values: Mapping[str, Collection[Value]], rows: int, action: str | None) -> Iterator[str]:
    """Yield notes on columns whose values are unlikely to be meant as symbols."""
    for name, column in values.items():
        words = [value for value in column if isinstance(value, str)]
        alike: dict[str, str] = {}
        if twice := next((w for w in words if alike.setdefault(w.strip().lower(), w) != w), None):
            first = alike[twice.strip().lower()]
            yield f"column {name!r} has {first!r} and {twice!r}, which are two values. Write them alike if they are one"
        if len(column) <= MANY_VALUES:
            continue
        bins = parameter("bins", {name: 8})
        if name == action:
            if len(column) > rows // 2:
                yield f"column {name!r} hardly ever repeats an action. Group actions into fewer"
            else:
                amounts = "" if words else f", or use {bins} if they are amounts"
                yield f"column {name!r} has {len(column)} distinct actions. Group them into fewer{amounts}"
        elif len(column) > rows // 2:
            yield (
                f"column {name!r} hardly ever repeats a value. Leave it out by naming the others with "
                f"{parameter('observations')}"
            )
        elif not words:
            yield f"column {name!r} has {len(column)} distinct numbers, each a separate symbol. Try {bins}"


def _cut_reward(rows: RowPositions, layout: GridLayout, encoded: Encoded) -> CutReward:
    rewards = np.abs(np.array(encoded.reward.values))

    def total(part: Mask | slice) -> float:
        with np.errstate(over="ignore"):  # rewards that are too large for a plan are refused there
            return float(np.bincount(encoded.reward.codes[part], minlength=len(rewards)) @ rewards)

    if layout.rows is None:
        return CutReward(total=total(slice(None)))
    kept = layout.episodes[rows.episode]
    cut = np.count_nonzero(layout.episodes & (rows.length > layout.horizon))
    return CutReward(int(cut), total(kept & ~layout.rows), total(kept))


def _report(
    encoder: Encoder, rows: RowPositions, layout: GridLayout, encoded: Encoded, notes: tuple[str, ...]
) -> ReadReport:
    columns = encoder.columns
    assert columns.action is not None and columns.reward is not None  # `find_columns` found them
    coded = {columns.action: encoded.action, **encoded.features}
    return ReadReport(
        rows=len(rows.step),
        episodes=layout.n,
        horizon=layout.horizon,
        lengths=(int(rows.length.min()), float(np.median(rows.length)), int(rows.length.max())),
        sorted=rows.sorted,
        cut=int(np.count_nonzero(layout.episodes & (rows.length > layout.horizon))),
        lost=_cut_reward(rows, layout, encoded),
        padded=int(np.count_nonzero(layout.episodes & (rows.length < layout.horizon))),
        dropped=len(rows.length) - layout.n,
        values={name: len(c.values) for name, c in coded.items()} | {columns.reward: len(encoded.reward.values)},
        observations=len(encoded.observation.values),
        encoder=encoder,
        notes=notes,
        ids=rows.ids.filter(pa.array(layout.episodes)),
        first_step=rows.first_step,
        row_counts=rows.length[layout.episodes],
        spans=None if rows.spans is None else rows.spans[layout.episodes],
    )


def _alphabet_seen(layout: GridLayout, encoded: Encoded) -> Alphabet:
    def seen(column: Coded[V]) -> tuple[V, ...]:
        return tuple(column.values[code] for code in layout.used(column))

    return Alphabet(
        actions=seen(encoded.action),
        features=tuple(encoded.features),
        observations=seen(encoded.observation),
        rewards=seen(encoded.reward),
    )


def _encode_steps(
    table: LogTable, columns: Columns, layout: GridLayout, alphabet: Alphabet, encoded: Encoded
) -> tuple[Codes, Codes, Codes]:
    """Return the [H+1, N] codes of action, observation and reward, with special symbols where there is no row."""
    action, observation, reward = encoded.action, encoded.observation, encoded.reward
    assert columns.action is not None and columns.reward is not None  # `find_columns` found them
    of_action = _recode(table, (columns.action,), layout, action, alphabet.actions, special=PAD + 1)
    of_observation = _recode(table, alphabet.features, layout, observation, alphabet.observations, special=STOP + 1)
    of_reward = _recode(table, (columns.reward,), layout, reward, alphabet.rewards, special=0)
    actions = layout.spread(action.codes, of_action, elsewhere=PAD, later=1)
    actions[0] = DUMMY
    observations = layout.spread(observation.codes, of_observation, elsewhere=STOP, later=0)
    rewards = layout.spread(reward.codes, of_reward, elsewhere=alphabet.rewards.index(0.0), later=1)
    return actions, observations, rewards


def _recode(
    table: LogTable, names: Sequence[str], layout: GridLayout, column: Coded[V], symbols: Sequence[V], special: int
) -> Codes:
    """Return the code in the alphabet of each code of a column; `special` symbols come first."""
    known = {symbol: code for code, symbol in enumerate(symbols, start=special)}
    of_code = np.zeros(len(column.values), dtype=smallest_uint(special + len(symbols)))
    undeclared = []
    for code in layout.used(column):
        if column.values[code] in known:
            of_code[code] = known[column.values[code]]
        else:
            undeclared.append(code)
    if undeclared:
        row = int(np.argmax(np.isin(column.codes, undeclared)))
        _refuse_undeclared(table, row, names, column.values[column.codes[row]], symbols)
    return of_code


def _refuse_undeclared(
    table: LogTable, row: int, names: Sequence[str], value: object, symbols: Sequence[object]
) -> NoReturn:
    """Raise an error about the column whose value the schema lacks, or about the combination of values."""
    values = value if isinstance(value, tuple) else (value,)
    for j, (name, part) in enumerate(zip(names, values, strict=True)):
        if part not in {symbol[j] if isinstance(symbol, tuple) else symbol for symbol in symbols}:
            table.refuse_row(row, name, f"{part!r} is not in the schema. Add it there, or correct the log.")
    text = f"the combination {values!r} is not in the schema. Add it there, or correct the log."
    table.refuse_row(row, ", ".join(names), text)
