"""Data of any kind as episodes: a source that `read_log` reads, episodes that are read already, or several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from suffice.data.encoding.encoder import Encoder, EncoderRequest
from suffice.data.encoding.kinds import ColumnEncoder
from suffice.data.episodes import Episodes
from suffice.data.log import Log
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.placement import GridTooLargeError
from suffice.data.logs.reading import ReadOptions, ReadReport, read_as
from suffice.data.streaming import MemoryBudget, read_stored
from suffice.errors import LogError, SettingsError
from suffice.files.atomic import name_beside

Data = Any  # what `read_log` reads, Episodes, or a list or tuple of these
Source = TypeVar("Source")


class Reading(NamedTuple):
    """Episodes, and what is to be known of how they were read."""

    episodes: Log
    encoder: Encoder
    notes: tuple[str, ...] = ()
    propensities: NDArray[np.float64] | None = None  # [H+1, N] of the logged actions, if a column says so
    ids: Any = None  # [N] of the episodes, an Arrow array

    @property
    def here(self) -> Episodes:
        """Episodes in memory, for whoever needs them there."""
        if not isinstance(self.episodes, Episodes):
            raise SettingsError("this log is larger than memory, and this needs it as a whole; take a part of the log")
        return self.episodes


def read_data(
    data: Data,
    request: EncoderRequest,
    horizon: int | None = None,
    room: MemoryBudget | None = None,
    how: ReadOptions | None = None,
) -> Reading:
    """One source or several, all by the same encoder.

    One that is larger than the room there is stays in a file. `how` has the other options, such as a schema.
    """
    other_options = how or ReadOptions()

    def read(source: Data, request: EncoderRequest, horizon: int | None) -> Reading:
        if isinstance(source, Episodes) and (room is None or room.elsewhere is None):
            return _as_given(source, request, horizon)
        return read_source(source, replace(other_options, encoder=request, horizon=horizon), room_for(sources, room))

    sources = list(data) if _are_several(data) else [data]
    return read_together(sources, read, request, horizon)


def refuse_for_workers(source: Data, *more: Data) -> None:
    """Refuse what the workers of a cluster cannot read."""
    if more:
        raise SettingsError("workers read one log; put its Parquet files into one folder, and give that")
    if isinstance(source, str | Path):
        if Dataset.of(source) is not None:
            return
        if not Path(source).exists():
            raise LogError(f"{source}: there is no such file{name_beside(source)}")
    raise SettingsError(f"{source if isinstance(source, str | Path) else 'this log'}: {PARQUET_ONLY}")


def read_source(source: Data, how: ReadOptions, room: MemoryBudget | None = None) -> Reading:
    """A log as a whole, or in a file if it is larger than the room there is, or in parts on other machines."""
    dataset = Dataset.of(source) if room is not None else None
    if dataset is None or room is None:
        if room is not None and room.elsewhere is not None:
            refuse_for_workers(source)
        return of_report(*read_as(source, how))
    if room.elsewhere is None and room.holds(dataset):
        with suppress(GridTooLargeError):
            return of_report(*read_as(source, replace(how, room=room.cells(dataset))))
    episodes, report = (room.elsewhere or read_stored)(dataset, how, room)
    return Reading(episodes, report.encoder, report.notes)


PARQUET_ONLY = (
    "workers read Parquet files, each its own row groups; write the log as Parquet, or leave out --engine ray"
)


def room_for(sources: Sequence[Any], room: MemoryBudget | None) -> MemoryBudget | None:
    """For one log; several are read as a whole."""
    if len(sources) == 1:
        return room
    if room is not None and room.elsewhere is not None:
        refuse_for_workers(*sources)
    return None


def of_report(episodes: Episodes, report: ReadReport) -> Reading:
    """A log as it was read."""
    return Reading(episodes, report.encoder, report.notes, report.propensities, report.ids)


def read_together(
    sources: Sequence[Source],
    read: Callable[[Source, EncoderRequest, int | None], Reading],
    request: EncoderRequest,
    horizon: int | None,
) -> Reading:
    """Several logs as one, by the encoder that the first is fitted to; equal ids in two logs are two episodes."""
    if not sources:
        raise LogError("there is nothing to learn from: the list of data is empty")
    files = [Path(source).resolve() for source in sources if isinstance(source, str | Path)]
    if twice := [file.name for i, file in enumerate(files) if file in files[:i]]:
        raise LogError(f"{twice[0]} is given twice, and its episodes would count twice; leave one out")
    first = read(sources[0], request, horizon)
    if not isinstance(sources[0], Episodes):
        request = replace(request, kinds=first.encoder.kinds)
    found = [first, *(read(source, request, horizon) for source in sources[1:])]
    longest = max(reading.episodes.horizon for reading in found)
    for i, source in enumerate(sources):  # whether an episode ended, or was cut off, is for its log to say
        if found[i].episodes.horizon < longest and not isinstance(source, Episodes):
            found[i] = read(source, request, longest)
    if len(found) == 1:
        return first
    notes = tuple(dict.fromkeys([*(note for reading in found for note in reading.notes), *_repeated(found)]))
    kinds = next((reading.encoder.kinds for reading in found if reading.encoder.kinds), {})
    together = Episodes.joined([r.episodes for r in found if isinstance(r.episodes, Episodes)])
    return Reading(together, replace(first.encoder, kinds=kinds), notes, _propensities(found))


def _repeated(found: Sequence[Reading]) -> Iterator[str]:
    """Names of episodes that are in two logs; numbers often count from 0 in each, and say nothing."""
    named = [pc.cast(r.ids, pa.string()) for r in found if r.ids is not None and pa.types.is_string(r.ids.type)]
    for i, later in enumerate(named[1:], 1):
        before = pa.chunked_array(named[:i])
        if again := pc.sum(pc.is_in(later, before)).as_py():
            yield f"{again:,} episodes have ids that an earlier log has too; if the logs overlap, remove one of each"


def _propensities(found: Sequence[Reading]) -> NDArray[np.float64] | None:
    parts = [reading.propensities for reading in found if reading.propensities is not None]
    if len(parts) < len(found):
        return None
    return np.concatenate(parts, axis=1)  # of one horizon, since all were read from logs


def _as_given(episodes: Episodes, request: EncoderRequest, horizon: int | None) -> Reading:
    """Episodes that were encoded when they were read, by kinds of columns that are known."""
    kinds = {name: kind for name, kind in request.kinds.items() if isinstance(kind, ColumnEncoder)}
    if asked := [name for name in request.kinds if name not in kinds]:
        raise SettingsError(
            f"Episodes are binned when they are read; give {asked[0]!r} the Bins of the report, or give the log"
        )
    if horizon is not None and horizon != episodes.horizon:
        episodes = episodes.cut(horizon) if horizon < episodes.horizon else episodes.padded(horizon)
    return Reading(episodes, Encoder.of_features(episodes.alphabet.features, kinds))


def _are_several(data: Data) -> bool:
    """A list of sources, rather than a list that is one."""
    return isinstance(data, list | tuple) and all(map(_is_source, data))


def _is_source(item: object) -> bool:
    tables = ("__arrow_c_stream__", "with_format", "iterate_episodes", "episodes")
    return isinstance(item, str | Path | Episodes) or any(hasattr(item, name) for name in tables)
