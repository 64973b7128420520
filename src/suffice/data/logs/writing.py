"""Writing Episodes to a log, so that reading it returns the same Episodes.

A log does not store a horizon that no episode reaches, nor a declared alphabet: pass them again when reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from suffice.data.alphabet import PAD, STOP, Value, in_order
from suffice.data.encoding.columns import KNOWN
from suffice.data.encoding.tables import plain
from suffice.data.episodes import Episodes
from suffice.data.logs.formats import LogFormat, format_to_write
from suffice.data.logs.limits import is_packed
from suffice.errors import LogError, require_path
from suffice.files.atomic import replacing
from suffice.kernels.array_types import Int64

# Names that reading would interpret as roles: those of our own columns, and of roles that are not written.
ROLES = ("episode", "step", "action", "reward", *(name for role in list(KNOWN)[4:] for name in KNOWN[role]))
BLOCK_ROWS = 1 << 20  # rows of a row group, which never divides an episode


def write_log(episodes: Episodes | Iterable[Episodes], path: str | Path) -> None:
    """Write a log with episode ids 0..N−1; the file is written completely or not at all.

    Parameters
    ----------
    episodes
        The episodes, or an iterable of parts with the same alphabet, of which one at a time is in memory.
    path
        The file to write. Its suffix chooses the format: Parquet, Arrow or CSV.

    Examples
    --------
    >>> suffice.write_log(episodes, "same.csv")
    >>> suffice.read_log("same.csv")
    <Episodes: 300 of up to 5 decisions, 20 distinct steps>
    """
    path = require_path(path)
    log_format = format_to_write(path)
    with replacing(path) as temporary:
        compression = "gzip" if is_packed(path) else None
        with pa.output_stream(str(temporary), compression=compression) as sink, ExitStack() as stack:
            writer = None
            for table in _tables([episodes] if isinstance(episodes, Episodes) else episodes, log_format):
                writer = writer or stack.enter_context(log_format.writer(sink, table.schema))
                writer.write_table(table)


def _tables(parts: Iterable[Episodes], log_format: LogFormat) -> Iterator[pa.Table]:
    """Yield the rows of all parts, one row group at a time."""
    first = 0
    if isinstance(parts, pa.Table):  # a log already, such as `record` returns
        for name in parts.column_names:
            _as_column(name, parts[name].drop_null().unique().to_pylist(), log_format)
        yield parts
        return
    given = f"an object of type {type(parts).__name__} is not a log"
    other = f"write_log: {given}. Pass Episodes, or the table that suffice.record returns."
    if not isinstance(parts, Iterable):
        raise LogError(other)
    episodes: Any  # checked, because users may pass other iterables
    for episodes in parts:
        if not isinstance(episodes, Episodes):
            raise LogError(other)
        if not episodes.n:
            raise LogError("write_log: there are no episodes. Select at least one.")
        lengths, columns = _lengths(episodes), _value_columns(episodes, log_format)
        block = max(1, BLOCK_ROWS // episodes.horizon)
        for start in range(0, episodes.n, block):
            yield _rows(episodes, lengths, columns, slice(start, start + block), first)
        first += episodes.n


def _lengths(episodes: Episodes) -> Int64:
    """Return the [N] number of decisions of each episode: the step of its first o_⊥."""
    stops = episodes.letters[:, 1] == STOP
    length = np.full(episodes.n, -1, dtype=np.int64)
    for t in reversed(range(episodes.horizon + 1)):
        length[stops[episodes.word[t]]] = t
    if length.min() < 1:
        raise LogError("an episode without a decision, or without o_⊥ at its end, cannot be written. Remove it.")
    return length


def _value_columns(episodes: Episodes, log_format: LogFormat) -> dict[str, pa.Array]:
    """Return the value of each letter in each column; values of special symbols are never written."""
    alphabet, (action, observation, reward) = episodes.alphabet, episodes.letters.T.astype(np.int64)
    if clash := [name for name in alphabet.features if name in ROLES]:
        raise LogError(f"column {clash[0]!r}: an observation cannot have this name in a log. Rename it.")
    columns = {}
    for j, name in enumerate(alphabet.features):
        values = _as_column(name, [features[j] for features in alphabet.observations], log_format)
        columns[name] = values.take(pa.array(np.maximum(observation - STOP - 1, 0)))
    actions = _as_column("action", alphabet.actions, log_format)
    columns["action"] = actions.take(pa.array(np.maximum(action - PAD - 1, 0)))
    columns["reward"] = pa.array(alphabet.rewards, pa.float64()).take(pa.array(reward))
    return columns


def _as_column(name: str, values: Sequence[Value], log_format: LogFormat) -> pa.Array:
    """Return the values as one column; refuse values that would be read back differently."""
    distinct = in_order(values)
    try:
        written = log_format.read_back(pa.table({name: pa.array(distinct)}))
        if tuple(plain(value) for value in written.column(0).to_pylist()) == distinct:
            return pa.array(values)
    except (pa.ArrowException, OverflowError, ValueError):
        pass
    if not log_format.keeps_types:
        title = log_format.title
        raise LogError(f"column {name!r}: its values would change in a {title} file. Write a .parquet file.")
    raise LogError(f"column {name!r}: its values have no common type. Write its numbers as text.")


def _rows(episodes: Episodes, lengths: Int64, columns: dict[str, pa.Array], part: slice, first: int) -> pa.Table:
    """Return the decisions of some episodes; the first episode of the part has id `first`."""
    length, word = lengths[part], episodes.word[:, part]
    episode = np.repeat(np.arange(len(length)), length)
    step = np.arange(len(episode)) - np.repeat(np.cumsum(length) - length, length)
    here, after = pa.array(word[step, episode]), pa.array(word[step + 1, episode])
    table = {"episode": pa.array(episode + (first + part.start)), "step": pa.array(step)}
    table |= {name: values.take(after if name in ROLES else here) for name, values in columns.items()}
    if episodes.weight is not None:
        table["weight"] = pa.array(episodes.weight[part][episode])
    if episodes.length is not None:  # the reader treats such an episode as cut off, not as ended
        cut_off = episodes.length[part] <= episodes.horizon
        table["truncated"] = pa.array(cut_off[episode] & (step + 1 == length[episode]))
    return pa.table(table)
