"""A sample of the episodes of a log, as a table of their rows with all columns, wherever the log is stored.

First every part of the log answers with the keys of its episodes (`episode_keys`), from which a sample is drawn; then
with the rows of the drawn ones. Both passes read a part piece by piece, in memory, in a file or on a worker. The sample
depends on the content of the log alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from suffice.data import content
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.kinds import LogColumn
from suffice.data.encoding.tables import LogTable, NoEpisodesLeftError
from suffice.data.episodes import share_of
from suffice.data.logs.episode_keys import EpisodeKeys, episode_hashes
from suffice.data.logs.pieces import Pieces
from suffice.data.logs.placement import GridLayout, RowPositions, lay_out, place_rows, read_groups, read_weights
from suffice.data.logs.problems import listing_problems
from suffice.data.logs.reading import ReadOptions, flat_table
from suffice.data.stored import in_turn
from suffice.kernels.array_types import Mask, UInt64

MOST_STEPS = 1 << 19  # steps, with padding, of the episodes that columns are chosen from
MOST_CELLS = 1 << 26  # values of all columns in these steps
SEED = 0  # of the sample
HOLD_OUT_SEED = 0  # fixed, so that the held-out episodes of a log can be found again


class EpisodeSample(NamedTuple):
    """A table of the rows of some episodes, with all columns, and how it is read."""

    table: LogTable
    how: ReadOptions  # with the columns, bins and horizon of the whole log
    keys: UInt64 | None = None  # [N] hashes of all episodes of a log in memory, if some are held out by them


class LogParts(Protocol):
    """A log that is read piece by piece, perhaps on several machines."""

    def keys(self, how: ReadOptions) -> list[EpisodeKeys]:
        """Return the keys of the episodes of each piece."""

    def rows(self, how: ReadOptions, chosen: Sequence[Mask]) -> list[pa.Table]:
        """Return the rows of the chosen episodes of each piece; a table may have those of several."""


def sample_in_memory(opened: LogTable, how: ReadOptions, most_steps: int | None = None) -> EpisodeSample:
    """Draw episodes of an open log, all of them if they are few; an error lists all problems of the log."""
    table, columns, _ = flat_table(opened, how)
    with listing_problems(table, columns, how.encoder, how.max_values):
        return _sample_flat(FlatLog.of(table, columns, how), how, MOST_STEPS if most_steps is None else most_steps)


def _sample_flat(log: FlatLog, how: ReadOptions, most_steps: int) -> EpisodeSample:
    kinds = how.encoder.by_column(log.columns)
    binned = [name for name in log.columns.observations or () if name in kinds]
    fitted = {name: kinds[name].fit(LogColumn(log.table, name)) for name in binned}
    own = {name: kind for name, kind in kinds.items() if name in (log.columns.action, log.columns.reward)}
    encoder = replace(how.encoder, columns=log.columns, kinds=own | fitted, like=None)
    how = replace(how, encoder=encoder, horizon=log.layout.horizon)
    if how.held_out is None and log.layout.n <= _size(log.columns, log.layout.horizon, most_steps):
        return EpisodeSample(log.table, how)
    keys = log.keys()
    chosen = draw(keys, log.columns, how, most_steps)
    table = log.table if chosen.all() and log.layout.rows is None else log.some(chosen)
    return EpisodeSample(table, how, None if how.held_out is None or keys.group is not None else keys.hashes)


def sample_of_parts(parts: LogParts, pieces: Pieces, how: ReadOptions) -> EpisodeSample:
    """Draw episodes of a log that is read in pieces, with the horizon and encoder of the whole log."""
    keys = parts.keys(how)
    every = EpisodeKeys.joined(keys)
    if every.group is None:  # which episodes are held out depends on the columns that are chosen
        how = replace(how, held_out=None)
    chosen = draw(every, pieces.columns, how, MOST_STEPS)
    ends = np.cumsum([len(piece.hashes) for piece in keys])[:-1]
    table = pa.concat_tables(parts.rows(how, np.split(chosen, ends)), promote_options="permissive")
    encoder = replace(how.encoder, columns=pieces.columns, like=None)
    return EpisodeSample(LogTable.of(table, pieces.dataset.name), replace(how, encoder=encoder, in_pieces=False))


def draw(keys: EpisodeKeys, columns: Columns, how: ReadOptions, most_steps: int) -> Mask:
    """Draw episodes at random, [N], none of them held out."""
    assert how.horizon is not None, "the horizon of the whole log is known"
    size = _size(columns, how.horizon, most_steps)
    learned = np.ones(len(keys.hashes), bool) if how.held_out is None else learned_part(keys, how.held_out)
    places = np.flatnonzero(learned)
    chosen = np.zeros(len(learned), bool)
    weight = None if keys.weight is None else keys.weight[places]
    drawn = content.sample(keys.hashes[places], weight, min(size, len(places)), np.random.default_rng(SEED))
    chosen[places[drawn]] = True
    return chosen


def learned_part(keys: EpisodeKeys, share: float) -> Mask:
    """Return the episodes that are learned from if a share of them is held out, [N]; with weights, in part."""
    rng, weight = np.random.default_rng(HOLD_OUT_SEED), keys.weight
    if keys.group is not None:
        return ~content.draw_groups(keys.group, weight, share, rng)
    if weight is None:
        return ~content.draw(keys.hashes, share_of(share, len(keys.hashes)), rng)
    return np.asarray(content.draw_weighted(keys.hashes, weight, share_of(share, int(weight.sum())), rng) < weight)


def _size(columns: Columns, horizon: int, most_steps: int) -> int:
    """Return the number of episodes of a sample."""
    width = max(1, len(columns.observations or ()))
    return max(1, min(most_steps, MOST_CELLS // width) // (horizon + 1))


def sample_cells(columns: Columns, horizon: int, episodes: int) -> int:
    """Return the number of values of all columns in a sample of a log."""
    size = min(_size(columns, horizon, MOST_STEPS), episodes)
    return size * (horizon + 1) * (len(columns.observations or ()) + 4)


@dataclass(frozen=True, slots=True)
class FlatLog:
    """A log, or a piece of one, with one row per decision, and the places of its rows."""

    table: LogTable
    columns: Columns  # by role
    rows: RowPositions
    layout: GridLayout

    @classmethod
    def of(cls, table: LogTable, columns: Columns, how: ReadOptions) -> FlatLog:
        """Find the episode and step of each row."""
        rows = place_rows(table, columns, how.one_of_several)
        return cls(table, columns, rows, lay_out(table, rows, how.horizon, columns, how.drop_truncated))

    @classmethod
    def of_piece(cls, opened: LogTable, how: ReadOptions) -> FlatLog:
        """Find the columns of a piece, and the episode and step of each row."""
        return cls.of(*flat_table(opened, how)[:2], how)

    def keys(self) -> EpisodeKeys:
        """Return what identifies the episodes."""
        table, columns, kept = self.table, self.columns, self.layout.episodes
        weight = read_weights(table, columns.weight, self.rows)[kept] if columns.weight else None
        group = read_groups(table, columns.group, self.rows)[kept] if columns.group else None
        return EpisodeKeys(episode_hashes(table, columns, self.layout), weight, group)

    def some(self, chosen: Mask) -> LogTable:
        """Return the rows of some of the kept episodes, [N]; columns are read on demand."""
        episodes = np.zeros(len(self.rows.length), bool)
        episodes[np.flatnonzero(self.layout.episodes)[chosen]] = True
        mask = episodes[self.rows.episode]
        table, places, rows = self.table, np.flatnonzero(mask), pa.array(mask)
        return replace(
            table,
            rows=len(places),
            column=lambda name: table.column(name).filter(rows),
            place=lambda row: table.place(int(places[row])),
        )


@dataclass(frozen=True, slots=True)
class PiecesInTurn:
    """The part of a log that begins in units begin..end−1, read piece by piece; implements `LogParts`."""

    pieces: Pieces
    begin: int
    end: int
    threads: int = 1
    progress: Callable[[int], None] = lambda rows: None  # called with the rows done

    def keys(self, how: ReadOptions) -> list[EpisodeKeys]:
        """Return the keys of the episodes of each piece."""

        def read(table: LogTable) -> tuple[int, EpisodeKeys]:
            try:
                return table.rows, FlatLog.of_piece(table, how).keys()
            except NoEpisodesLeftError:
                return table.rows, EpisodeKeys(np.zeros(0, np.uint64))

        found, done = [], 0
        for rows, keys in in_turn(self.pieces.tables(self.begin, self.end), read, self.threads):
            done += rows
            self.progress(done)
            found.append(keys)
        return found

    def rows(self, how: ReadOptions, chosen: Sequence[Mask]) -> list[pa.Table]:
        """Return the rows of the chosen episodes of the pieces that have any."""

        def read(piece: tuple[LogTable, Mask]) -> pa.Table | None:
            table, mask = piece
            if not mask.any():
                return None
            some = FlatLog.of_piece(table, how).some(mask)
            return pa.table({name: some.column(name).combine_chunks() for name in some.names})

        pieces = zip(self.pieces.tables(self.begin, self.end), chosen, strict=True)
        return [table for table in in_turn(pieces, read, self.threads) if table is not None]
