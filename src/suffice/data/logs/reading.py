"""From the columns of a log to Episodes.

Time is linear in the rows. Peak memory is about 50 bytes a row for Parquet, whose columns are read one at a time, and
130 for a CSV of six columns, which is parsed as a whole; the Episodes keep one or two bytes a step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet, Value, smallest_uint
from suffice.data.encoding.binning import Binning, Bins
from suffice.data.encoding.columns import KNOWN, Columns, find_columns, text_columns
from suffice.data.encoding.encoder import Encoded, Encoder, EncoderRequest
from suffice.data.encoding.tables import Coded, LogTable, V
from suffice.data.episodes import Episodes
from suffice.data.logs.nesting import unnest
from suffice.data.logs.placement import GridLayout, RowPositions, lay_out, place_rows, read_propensities, read_weights
from suffice.data.logs.sources import open_table
from suffice.errors import SettingsError
from suffice.kernels.array_types import Codes, Float, Int64, Mask


class Lost(NamedTuple):
    """What a horizon cuts off."""

    episodes: int = 0
    reward: float = 0.0  # in absolute terms
    of: float = 0.0  # all reward

    def beside(self, other: Lost) -> Lost:
        """Of two pieces."""
        return Lost(self.episodes + other.episodes, self.reward + other.reward, self.of + other.of)

    def told(self, horizon: int) -> Iterator[str]:
        """If there is anything to tell."""
        if self.episodes:
            share = f"{self.reward / max(self.of, 1e-300):.0%}"
            yield f"{self.episodes:,} episodes are cut to {horizon} decisions, and with them goes {share} of all reward"


NOTHING_LOST = Lost()


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What happened while a log was read."""

    rows: int
    episodes: int  # kept, each counted once whatever its weight
    horizon: int
    lengths: tuple[int, float, int]  # shortest, median and longest episode in the file, in rows
    sorted: bool  # the rows were out of order
    cut: int  # episodes longer than the horizon
    padded: int  # episodes that ended before it
    dropped: int  # truncated episodes left out
    values: Mapping[str, int]  # distinct values of each action, observation and reward column
    observations: int  # distinct whole observations
    encoder: Encoder
    notes: tuple[str, ...]
    ids: Any = None  # [N] of the episodes, an Arrow array
    propensities: Float | None = None  # [H+1, N] of the logged actions, if a column says so
    first_step: int | None = None  # 0 or 1, if steps are numbered
    lost: Lost = NOTHING_LOST

    @property
    def columns(self) -> Columns:
        """The columns by their roles."""
        return self.encoder.columns

    @property
    def bins(self) -> dict[str, Bins]:
        """Of binned columns."""
        return self.encoder.bins


MANY_VALUES = 50  # of a numeric column, from which on bins are advised


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What is said about a log besides where it is."""

    encoder: EncoderRequest = field(default_factory=EncoderRequest)
    horizon: int | None = None
    schema: Alphabet | None = None
    drop_truncated: bool = False
    max_values: int = 1000
    first_step: int | None = None  # 0 or 1; None: as the log has it
    in_pieces: bool = False  # of which one says little about the log
    room: int | None = None  # for so many cells, [H+1, N]

    def __post_init__(self) -> None:
        if self.horizon is not None and self.horizon < 1:
            raise SettingsError(f"--horizon must be at least 1, not {self.horizon}")
        if self.encoder.kinds and self.schema is not None:
            raise SettingsError("--bin takes its bins from the log, so no schema can declare them; bin the log first")


def read_log(
    source: object,
    columns: Columns | Mapping[str, Any] | str | None = None,
    *,
    like: Encoder | Columns | None = None,
    horizon: int | None = None,
    schema: Alphabet | None = None,
    drop_truncated: bool = False,
    max_values: int = 1000,
    bins: Mapping[str, Binning] | None = None,
) -> tuple[Episodes, ReadReport]:
    """Read a log into Episodes: a file, a table or arrays in memory, a dataset (`sources` has them all).

    `bins` gives numeric columns a number of bins with equally many rows, or else edges, `EqualWidth(8)`, or the `Bins`
    that an earlier report has. Columns may be named by a dict or by text, `"episode=patient,action=drug"`. `like` is
    the encoder of an earlier report: its columns are used where this log has them, and its bins without others.

    >>> steps = [("red", "go", 0), ("green", "go", 1)], [("green", "go", 1), ("red", "stop", 0.5)]
    >>> episodes, report = suffice.read_log(steps)
    >>> episodes, report.values
    (<Episodes: 2 of up to 2 decisions, 6 distinct steps>, {'action': 2, 'observation': 2, 'reward': 3})
    """
    request = EncoderRequest.of(columns, bins, like)
    return read_as(source, ReadOptions(request, horizon, schema, drop_truncated, max_values))


def read_as(source: object, how: ReadOptions) -> tuple[Episodes, ReadReport]:
    """The same, for who knows how."""
    return read_table(open_table(source, text_columns(how.encoder.columns, how.schema)), how)


def flat_table(opened: LogTable, how: ReadOptions) -> tuple[LogTable, Columns, tuple[str, ...]]:
    """A log with one row per decision and one value per cell, its columns by their roles, and what is worth a note."""
    named, like = how.encoder.columns, how.encoder.like
    table = unnest(opened, named if like is None else named.over(like))
    if like is not None:
        taken = [getattr(named, role) for role in KNOWN]
        named = named.over(like.where_in([name for name in table.names if name not in taken]))
    return table, *find_columns(table, named, how.schema, how.drop_truncated)


def read_table(opened: LogTable, how: ReadOptions) -> tuple[Episodes, ReadReport]:
    """The episodes of an open log."""
    table, columns, notes = flat_table(opened, how)
    rows = place_rows(table, columns, how.first_step)
    layout = lay_out(table, rows, how.horizon, columns, how.drop_truncated, how.room)
    weight = read_weights(table, columns.weight, rows) if columns.weight else None
    counts = _counts(rows, layout, weight)
    encoder, encoded = how.encoder.fit_encode(table, columns, counts, how.max_values)
    alphabet = how.schema or _alphabet_seen(layout, encoded)
    steps = _encode_steps(table, columns, layout, alphabet, encoded)
    weight = None if weight is None else weight[layout.episodes]
    episodes = Episodes.from_steps(alphabet, *steps, weight, declared=how.schema is not None)
    report = _report(encoder, rows, layout, encoded, (*table.notes, *notes))
    if not how.in_pieces:
        values = {columns.action or "": encoded.action, **encoded.features}
        doubts = doubtful_values({name: column.values for name, column in values.items()}, len(rows.step))
        report = replace(report, notes=(*report.notes, *doubts, *report.lost.told(layout.horizon)))
    if columns.propensity:
        report = replace(report, propensities=read_propensities(table, columns.propensity, layout))
    return episodes, report


def _counts(rows: RowPositions, layout: GridLayout, weight: Int64 | None) -> Int64:
    """[rows] how many episodes each row belongs to: none, if it is cut off or left out."""
    counts = np.ones(len(rows.step), np.int64) if weight is None else weight[rows.episode]
    return counts if layout.rows is None else counts * layout.rows


def doubtful_values(values: Mapping[str, Collection[Value]], rows: int) -> Iterator[str]:
    """Values of columns that were hardly meant to be symbols."""
    for name, column in values.items():
        words = [value for value in column if isinstance(value, str)]
        alike: dict[str, str] = {}
        if twice := next((w for w in words if alike.setdefault(w.strip().lower(), w) != w), None):
            first = alike[twice.strip().lower()]
            yield f"column {name!r} has {first!r} and {twice!r}, which are two values; write them alike if they are one"
        if len(column) > max(MANY_VALUES, rows // 2):
            yield f"column {name!r} hardly ever has a value twice; leave it out: --observations names what is seen"
        elif len(column) > MANY_VALUES and not words:
            told = f"{len(column)} different numbers, each a symbol of its own"
            yield f"column {name!r} has {told}; try --bin {name}=8"


def _lost(rows: RowPositions, layout: GridLayout, encoded: Encoded) -> Lost:
    rewards = np.abs(np.array(encoded.reward.values))

    def total(part: Mask | slice) -> float:
        return float(np.bincount(encoded.reward.codes[part], minlength=len(rewards)) @ rewards)

    if layout.rows is None:
        return Lost(of=total(slice(None)))
    kept = layout.episodes[rows.episode]
    cut = np.count_nonzero(layout.episodes & (rows.length > layout.horizon))
    return Lost(int(cut), total(kept & ~layout.rows), total(kept))


def _report(
    encoder: Encoder, rows: RowPositions, layout: GridLayout, encoded: Encoded, notes: tuple[str, ...]
) -> ReadReport:
    columns = encoder.columns
    assert columns.action is not None and columns.reward is not None  # they were found
    coded = {columns.action: encoded.action, **encoded.features}
    return ReadReport(
        rows=len(rows.step),
        episodes=layout.n,
        horizon=layout.horizon,
        lengths=(int(rows.length.min()), float(np.median(rows.length)), int(rows.length.max())),
        sorted=rows.sorted,
        cut=int(np.count_nonzero(layout.episodes & (rows.length > layout.horizon))),
        lost=_lost(rows, layout, encoded),
        padded=int(np.count_nonzero(layout.episodes & (rows.length < layout.horizon))),
        dropped=len(rows.length) - layout.n,
        values={name: len(c.values) for name, c in coded.items()} | {columns.reward: len(encoded.reward.values)},
        observations=len(encoded.observation.values),
        encoder=encoder,
        notes=notes,
        ids=rows.ids.filter(pa.array(layout.episodes)),
        first_step=rows.first_step,
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
    """The [H+1, N] codes of action, observation and reward; special symbols where no row says otherwise."""
    action, observation, reward = encoded.action, encoded.observation, encoded.reward
    assert columns.action is not None and columns.reward is not None  # they were found
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
    """From the codes of a column to those of the alphabet, where `special` symbols come first."""
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
    """Name the one column whose value is not in the schema or, where each is, their combination."""
    values = value if isinstance(value, tuple) else (value,)
    for j, (name, part) in enumerate(zip(names, values, strict=True)):
        if part not in {symbol[j] if isinstance(symbol, tuple) else symbol for symbol in symbols}:
            table.refuse_row(row, name, f"{part!r} is not in the schema; add it there or correct the log")
    text = f"the schema has no observation {values!r}, only its parts; add it there or correct the log"
    table.refuse_row(row, ", ".join(names), text)
