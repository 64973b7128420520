"""Choose the observation columns of a log before it is read: what `observations="auto"` does.

The log is read column by column (`data.logs.columnar_reading`), `learning.columns` finds the columns and cuts that
matter, and the result is a request for an encoder of these columns, with which the log is then read like any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

from msgspec import structs

from suffice.data.alphabet import MISSING, Value
from suffice.data.columnar import ColumnarLog
from suffice.data.encoding.binning import LOWEST, Bins
from suffice.data.encoding.columns import Columns, text_columns
from suffice.data.encoding.grouping import Frequent
from suffice.data.encoding.kinds import ColumnRequest
from suffice.data.ends import LogEnds, ends_of
from suffice.data.episodes import Episodes
from suffice.data.loading import Data, Reading, read_data, refuse_for_workers, room_for, sources_of
from suffice.data.logs.columnar_reading import ColumnarReading, read_sample
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.episode_sample import EpisodeSample, sample_in_memory
from suffice.data.logs.reading import ReadOptions
from suffice.data.logs.sources import open_table
from suffice.data.streaming import MemoryBudget, SampleTooLargeError, sample_stored
from suffice.errors import SettingsError, parameter
from suffice.kernels.array_types import UInt64
from suffice.learning.adact_h import Settings
from suffice.learning.columns.cuts import readable_cuts
from suffice.learning.columns.features import Feature
from suffice.learning.columns.narrow import can_compare, is_very_narrow, prefer_all, prefer_selected
from suffice.learning.columns.selection import DELTA, Candidate, ColumnSelection, select_columns
from suffice.models.column_findings import ColumnExample, ColumnFinding, ColumnsFound
from suffice.models.learn_options import LearnOptions
from suffice.models.log_options import LogOptions
from suffice.models.model import Model

ChosenBy = Literal["caller", "data", "data if possible"]
USUALLY = True  # whether the data choose columns unless the caller names some, or a test


def columns_chosen_by(log: LogOptions, options: LearnOptions, like: Model | None) -> ChosenBy:
    """Return who chooses the observation columns: the caller, the data, or the data where that is possible."""
    if like is not None or not log.chooses_columns(USUALLY and not options.chooses_algorithm):
        return "caller"
    return "data" if log.observations is not None else "data if possible"


def settings_for(columns: Columns, settings: Settings) -> Settings:
    """Return the settings for a log: where a column says that the logger adapts, choices are not evidence."""
    return settings if columns.adaptive_logger is None else replace(settings, adaptive_logger=True)


class ChosenColumns(NamedTuple):
    """How a log is read with the columns that matter, and the evidence for them."""

    how: ReadOptions
    found: ColumnsFound
    offered: tuple[str, ...]  # all observation columns of the log
    ends: LogEnds  # decided by all columns
    keys: UInt64 | None  # [N] hashes by which episodes are held out


def read_for_learning(
    data: Data, how: ReadOptions, room: MemoryBudget, settings: Settings, chosen_by: ChosenBy, like: Model | None = None
) -> Reading:
    """Read logs with the columns that the caller names, or those that the first log shows to matter."""
    chosen = choose_columns(data, how, room, settings, chosen_by)
    return _read_as_named(data, how, room, like) if chosen is None else _read_chosen(data, chosen, room)


def choose_columns(
    data: Data, how: ReadOptions, room: MemoryBudget, settings: Settings, chosen_by: ChosenBy
) -> ChosenColumns | None:
    """Choose the columns of the first of several logs; None if the caller names them, or all are to be used."""
    sources = sources_of(data)
    if chosen_by == "caller" or not sources:
        return None
    sample = _sample(sources[0], how, room_for(sources, room) or room)
    if isinstance(sample, str):
        if chosen_by == "data":
            raise SettingsError(
                f"{parameter('observations', 'auto')}: {sample}, so columns cannot be chosen. Name them, or use "
                f"{parameter('observations', 'all')}."
            )
        return None
    columnar = read_sample(sample)
    settings = settings_for(columnar.columns, settings)
    log, usual = columnar.log, chosen_by == "data if possible" and _has_few_observations(columnar)
    if usual and (len(log.columns) < 2 or not can_compare(log)):
        return None
    selection = select_columns(log, DELTA, settings)
    if usual and not prefer_selected(log, selection.features, settings):
        return None
    return _chosen(how, columnar, selection, settings, sample.keys)


def _read_as_named(data: Data, how: ReadOptions, room: MemoryBudget, like: Model | None) -> Reading:
    """Read logs with the columns that the caller names, or all of them."""
    read = read_data(data, how.encoder, how.horizon, room, how)
    same = like is not None and read.encoder.features == like.encoder.features
    return read._replace(encoder=replace(read.encoder, offered=like.encoder.offered)) if same and like else read


def _has_few_observations(columnar: ColumnarReading) -> bool:
    """Return whether a log has very few distinct observations, with all columns as they are."""
    if any(column.name not in columnar.offered for column in columnar.log.columns):  # parts of dates
        return False
    if any(isinstance(kind, Frequent) for kind in columnar.kinds.values()):
        return False
    return all(reason == "constant" for reason in columnar.left_out.values()) and is_very_narrow(columnar.log)


def _sample(source: Any, how: ReadOptions, room: MemoryBudget) -> EpisodeSample | str:
    """Draw episodes with all columns from a source, wherever it is; return why that is not possible instead."""
    if isinstance(source, Episodes):
        return "Episodes have been read already"
    text = text_columns(how.encoder.columns, how.schema)
    dataset = Dataset.of(source, text)
    try:
        if dataset is not None and room.elsewhere is not None:
            draw = getattr(room.elsewhere, "sample", None)  # an engine of another package may have none
            return "the engine draws no sample" if draw is None else draw(dataset, how, room)
        if dataset is not None and not room.holds(dataset):
            return sample_stored(dataset, how, room)
    except SampleTooLargeError as error:
        return str(error).rstrip(".")
    if room.elsewhere is not None:
        refuse_for_workers(source)
    return sample_in_memory(open_table(source, text), how)


def _chosen(
    how: ReadOptions, columnar: ColumnarReading, selection: ColumnSelection, settings: Settings, keys: UInt64 | None
) -> ChosenColumns:
    """Return an encoder of the selected columns, or of all columns of a narrow log."""
    log, features = columnar.log, selection.features
    every = tuple(Feature(column.name) for column in log.columns if column.codes is not None)
    whole = len(features) < len(every) == len(columnar.offered) and prefer_all(log, features, settings)
    features = every if whole else features
    cuts = {f.column: readable_cuts(log, f) for f in features if f.cuts}
    own = {name: kind for name, kind in how.encoder.kinds.items() if name not in columnar.offered}
    own = {name: kind for name, kind in own.items() if not _is_vector(name, columnar.offered)}
    kinds: dict[str, ColumnRequest] = {name: Bins(edges) for name, edges in cuts.items()}
    kinds |= {f.column: columnar.kinds[f.column] for f in features if f.column in columnar.kinds}
    names = tuple(feature.column for feature in features)
    request = replace(how.encoder, columns=replace(how.encoder.columns, observations=names), kinds=own | kinds)
    ends = ends_of(columnar.ends.kind) if columnar.ends.assumed else how.ends
    found = structs.replace(_found(columnar, selection, whole), apart=keys is not None)
    return ChosenColumns(replace(how, encoder=request, ends=ends), found, columnar.offered, columnar.ends, keys)


def _read_chosen(data: Data, chosen: ChosenColumns, room: MemoryBudget) -> Reading:
    """Read logs with the chosen columns."""
    how, decided = chosen.how, chosen.ends
    reading = read_data(data, how.encoder, how.horizon, room, how)
    if decided.assumed and reading.ends.kind == decided.kind:
        known = replace(decided, shorter=reading.ends.shorter, cut_off=reading.ends.cut_off)
        reading = reading._replace(ends=known)
    offered = chosen.offered if reading.encoder.features != chosen.offered else ()
    encoder = replace(reading.encoder, offered=offered)
    return reading._replace(encoder=encoder, found=chosen.found, keys=chosen.keys)


def _is_vector(name: str, offered: tuple[str, ...]) -> bool:
    """Return whether a name stands for several of the observation columns."""
    return any(column.startswith(f"{name}.") for column in offered)


def _found(columnar: ColumnarReading, selection: ColumnSelection, whole: bool) -> ColumnsFound:
    """Convert a selection to the form that a model stores."""
    log = columnar.log
    return ColumnsFound(
        delta=selection.delta,
        episodes=log.n,
        kept_all=whole,
        chosen=[_finding(log, one) for one in selection.chosen],
        others=[_finding(log, one) for one in selection.others],
        dropped=list(selection.dropped),
        left_out=dict(columnar.left_out),
        pairs=selection.pairs,
    )


def _finding(log: ColumnarLog, one: Candidate) -> ColumnFinding:
    return ColumnFinding(
        columns=[feature.column for feature in one.features],
        log_e=max(one.log_e, -1e6),
        threshold=one.threshold,
        tells=one.tells,
        example=_example(log, one),
    )


def _example(log: ColumnarLog, one: Candidate) -> ColumnExample | None:
    """Convert an example to the values of the log."""
    found = one.example
    if found is None:
        return None
    alphabet = log.base.alphabet
    reward = None if found.reward is None else alphabet.rewards[found.reward]
    values = [_values(log, one.features, code) for code in (found.value, found.other)]
    action = alphabet.action(found.action)
    assert action is not None  # an action follows every arrival
    return ColumnExample(action, reward, values[0], values[1], found.k1, found.n1, found.k2, found.n2)


def _values(log: ColumnarLog, features: tuple[Feature, ...], code: int) -> list[list[float | None] | Value]:
    """Return the value of each feature in a combination: a value of the log, or the limits of a range."""
    found: list[list[float | None] | Value] = []
    for feature in reversed(features):
        size = len(log.column(feature.column).values) if feature.cuts is None else len(feature.cuts) + 1
        code, here = divmod(code, size)
        if feature.cuts is None:
            found.append(log.column(feature.column).values[here])
        else:
            limits = [None, *readable_cuts(log, feature), None]
            low, high = limits[here : here + 2]
            found.append(MISSING if high == LOWEST else [None if low == LOWEST else low, high])
    return found[::-1]
