"""Loading data of any kind: a source that `read_log` reads, Episodes, or a list of several of these."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from suffice.data.encoding.columns import text_columns
from suffice.data.encoding.encoder import Encoder, EncoderRequest
from suffice.data.encoding.kinds import ColumnEncoder
from suffice.data.ends import NO_EARLY_ENDS, LogEnds, decide_ends
from suffice.data.episodes import Episodes
from suffice.data.log import Log
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.divided import refuse_divided
from suffice.data.logs.formats import no_such_file
from suffice.data.logs.placement import GridTooLargeError, marks_ends
from suffice.data.logs.reading import ReadOptions, read_as
from suffice.data.memory_limit import limit_memory, within_memory
from suffice.data.report import ReadReport
from suffice.data.streaming import MemoryBudget, read_stored
from suffice.data.whole_logs import read_whole
from suffice.errors import LogError, SettingsError, parameter
from suffice.kernels.array_types import UInt64

Data = Any  # what `read_log` reads, Episodes, or a list or tuple of these
Source = TypeVar("Source")


class Reading(NamedTuple):
    """Episodes, with the encoder and the notes of the reports on their logs."""

    episodes: Log
    encoder: Encoder
    notes: tuple[str, ...] = ()
    propensities: NDArray[np.float64] | None = None  # [H+1, N] of the logged actions, if the log has them
    ids: Any = None  # [N] of the episodes, an Arrow array
    cut: int | None = None  # episodes that the horizon cuts; None if that is not known
    sizes: tuple[int, ...] = ()  # stored episodes of each log, if there are several
    found: Any = None  # evidence for and against columns, if they were chosen (`models.column_choice`)
    ends: LogEnds = NO_EARLY_ENDS  # how episodes end, of the first log in which that was assumed
    keys: UInt64 | None = None  # [N] hashes of the content of all columns, by which episodes are held out
    report: ReadReport | None = None  # on a log that was read into memory

    @property
    def here(self) -> Episodes:
        """The episodes, if they are in memory; a larger log is refused."""
        if not isinstance(self.episodes, Episodes):
            raise SettingsError(
                "this log is larger than memory, and this operation needs all of it in memory. Use a part of the log, "
                f"or raise {parameter('memory')}."
            )
        return self.episodes

    @property
    def digests(self) -> list[str]:
        """The digest of each log if there are several, in their common alphabet and horizon; else none."""
        ends = np.cumsum(self.sizes, dtype=np.int64).tolist()
        parts = zip([0, *ends], ends, strict=False)
        return [self.here.columns(slice(*part)).digest() for part in parts]


def read_data(
    data: Data,
    request: EncoderRequest,
    horizon: int | None = None,
    room: MemoryBudget | None = None,
    how: ReadOptions | None = None,
) -> Reading:
    """Read one source or several with the same encoder; a log that does not fit into memory stays in a file.

    `how` has the other options, such as a schema.
    """
    sources = sources_of(data)
    other_options = replace(how or ReadOptions(), one_of_several=len(sources) > 1)

    def read(source: Data, request: EncoderRequest, horizon: int | None) -> Reading:
        if isinstance(source, Episodes) and (room is None or room.elsewhere is None):
            return _as_given(source, request, horizon)
        return read_source(source, replace(other_options, encoder=request, horizon=horizon), room_for(sources, room))

    with limit_memory(None) if room is None else within_memory(room.memory):
        return read_together(sources, read, request, horizon)


def refuse_for_workers(source: Data, *more: Data) -> None:
    """Refuse data that the workers of a cluster cannot read."""
    if more:
        raise SettingsError("workers read one log, but several were given. Put their Parquet files into one folder.")
    if isinstance(source, str | Path):
        if (dataset := Dataset.of(source)) is not None and dataset.format.on_workers:
            return
        if not Path(source).exists():
            raise LogError(no_such_file(Path(source)))
    raise SettingsError(
        f"{source if isinstance(source, str | Path) else 'this log'}: workers read only Parquet files. Write the log "
        f"as Parquet, or leave out {parameter('engine', 'ray')}."
    )


def read_source(source: Data, how: ReadOptions, room: MemoryBudget | None = None) -> Reading:
    """Read a log into memory, into a file if it does not fit, or in parts on other machines."""
    text = text_columns(how.encoder.columns, how.schema)
    if room is None:
        return of_report(*read_whole(source, how))
    dataset = Dataset.of(source, text)
    if room.elsewhere is not None:
        refuse_for_workers(source)
    if dataset is None:
        return of_report(*read_as(source, how))
    if room.elsewhere is None and room.holds(dataset):
        with suppress(GridTooLargeError):
            return of_report(*read_as(source, replace(how, room=room.cells(dataset))))
    undecided, report = (room.elsewhere or read_stored)(dataset, how, room)
    episodes, ends = decide_ends(undecided, how.ends, marks_ends(report.columns))
    ends = ends.named(report.columns.action, report.columns.reward)
    return Reading(episodes, report.encoder, report.notes, cut=report.cut, ends=ends)


def room_for(sources: Sequence[Any], room: MemoryBudget | None) -> MemoryBudget | None:
    """Return the memory budget if there is one log; several logs are read into memory."""
    if len(sources) == 1:
        return room
    if room is not None and room.elsewhere is not None:
        refuse_for_workers(*sources)
    return None


def of_report(episodes: Episodes, report: ReadReport) -> Reading:
    """Combine episodes with the report on reading them."""
    return Reading(
        episodes,
        report.encoder,
        report.notes,
        report.propensities,
        report.ids,
        report.cut,
        ends=report.ends,
        keys=report.keys,
        report=report,
    )


def read_together(
    sources: Sequence[Source],
    read: Callable[[Source, EncoderRequest, int | None], Reading],
    request: EncoderRequest,
    horizon: int | None,
) -> Reading:
    """Read several logs as one, with the encoder fitted to the first; equal ids in two logs are two episodes."""
    if not sources:
        raise LogError("the list of data is empty. Pass at least one log.")
    files = [
        Path(os.path.realpath(str(source))) for source in sources if isinstance(source, str | Path)
    ]  # accepts loops
    if twice := [file.name for i, file in enumerate(files) if file in files[:i]]:
        raise LogError(f"{twice[0]}: this log is given twice, and its episodes would count twice. Leave one out.")
    first = read(sources[0], request, horizon)
    if not isinstance(sources[0], Episodes):
        request = replace(request, kinds=first.encoder.kinds)
    elif sources[0].report is not None:
        request = replace(request, kinds=first.encoder.kinds, like=request.like or first.encoder.columns)
    found = [first, *(read(source, request, horizon) for source in sources[1:])]
    longest = max(reading.episodes.horizon for reading in found)
    for i, source in enumerate(sources):  # only its log shows whether an episode ended or was cut off
        if found[i].episodes.horizon < longest and not isinstance(source, Episodes):
            found[i] = read(source, request, longest)
    if len(found) == 1:
        return first
    _refuse_different_kinds(sources, found)
    refuse_divided([reading.report for reading in found if reading.report is not None])
    notes = tuple(dict.fromkeys([*(note for reading in found for note in reading.notes), *_repeated(found)]))
    kinds = next((reading.encoder.kinds for reading in found if reading.encoder.kinds), {})
    together = Episodes.joined([r.episodes for r in found if isinstance(r.episodes, Episodes)])
    cuts = [reading.cut for reading in found if reading.cut is not None]
    cut = sum(cuts) if len(cuts) == len(found) else None
    encoder = replace(first.encoder, kinds=kinds)
    ends = next((reading.ends for reading in found if reading.ends.assumed), first.ends)
    sizes = tuple(reading.episodes.n for reading in found)
    return Reading(together, encoder, notes, _propensities(found), cut=cut, sizes=sizes, ends=ends)


def _repeated(found: Sequence[Reading]) -> Iterator[str]:
    """Yield a note if two logs share ids that are text; integer ids often count from 0 in each log."""
    named = [pc.cast(r.ids, pa.string()) for r in found if r.ids is not None and pa.types.is_string(r.ids.type)]
    for i, later in enumerate(named[1:], 1):
        before = pa.chunked_array(named[:i])
        if again := pc.sum(pc.is_in(later, before)).as_py():
            yield (
                f"{again:,} episodes have the id of an episode in an earlier log; if the logs overlap, remove one of "
                "each"
            )


def _propensities(found: Sequence[Reading]) -> NDArray[np.float64] | None:
    parts = [reading.propensities for reading in found if reading.propensities is not None]
    if len(parts) < len(found):
        return None
    longest = max(map(len, parts))  # Episodes keep their own horizon
    padded = [np.pad(part, ((0, longest - len(part)), (0, 0)), constant_values=1.0) for part in parts]
    return np.concatenate(padded, axis=1)


def _as_given(episodes: Episodes, request: EncoderRequest, horizon: int | None) -> Reading:
    """Return episodes that were read before, with the encoder of their report or the bins that the caller gives."""
    if not len(episodes):
        raise LogError("there are no episodes. Select at least one.")
    kinds = {name: kind for name, kind in request.kinds.items() if isinstance(kind, ColumnEncoder)}
    if asked := [name for name in request.kinds if name not in kinds]:
        raise SettingsError(
            f"{parameter('bins')}: Episodes are binned when they are read, so {asked[0]!r} cannot be binned now. Pass "
            "bins to read_log, or pass the log itself."
        )
    cut = None
    if horizon is not None and horizon != episodes.horizon:
        cut = int(np.count_nonzero(episodes.lengths() > horizon))
        episodes = episodes.cut(horizon) if horizon < episodes.horizon else episodes.padded(horizon)
    if episodes.report is None:
        return Reading(episodes, Encoder.of_features(episodes.alphabet.features, kinds), cut=cut or None)
    reading = of_report(episodes, episodes.report)
    _refuse_other_kinds(reading.encoder, kinds, all_columns=request.fixed)
    return reading


def _refuse_other_kinds(encoder: Encoder, kinds: Mapping[str, ColumnEncoder], *, all_columns: bool) -> None:
    """Refuse episodes whose columns were not encoded by the given kinds: those of a caller, a model or another log.

    With `all_columns`, a column without a given kind must be a plain category.
    """
    names = [*encoder.features, encoder.columns.action, encoder.columns.reward]
    compared = [name for name in names if name and (all_columns or name in kinds)]
    if other := [name for name in compared if kinds.get(name) != encoder.kinds.get(name)]:
        raise SettingsError(
            f"column {other[0]!r}: these Episodes were read with other bins than the model or the first log. Read them "
            "with read_log(log, like=model.encoder), or pass the log itself."
        )


def _refuse_different_kinds(sources: Sequence[Any], found: Sequence[Reading]) -> None:
    """Refuse logs that were encoded differently, as far as it is known."""
    known = [r for source, r in zip(sources, found, strict=True) if getattr(source, "report", r) is not None]
    for reading in known[1:]:
        _refuse_other_kinds(reading.encoder, known[0].encoder.kinds, all_columns=True)


def sources_of(data: Data) -> list[Any]:
    """Return the sources of a list, or a single source; a list of steps is a single source."""
    several = isinstance(data, list | tuple) and all(map(_is_source, data))
    return list(data) if several else [data]


def _is_source(item: object) -> bool:
    tables = ("__arrow_c_stream__", "with_format", "iterate_episodes", "episodes")
    return isinstance(item, str | Path | Episodes) or any(hasattr(item, name) for name in tables)
