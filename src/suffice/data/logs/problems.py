"""All problems of a log that cannot be read, so that they can be fixed at once.

A log is read until the first problem. Then every column is checked by itself, and the error lists what was found: the
first problem of each column, with its fix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from suffice.data.encoding.columns import ENDS, Columns
from suffice.data.encoding.encoder import EncoderRequest
from suffice.data.encoding.kinds import CATEGORY, LogColumn
from suffice.data.encoding.tables import LogTable, TooManyValuesError, flag
from suffice.data.logs.placement import lay_out, place_rows, read_groups, read_weights
from suffice.errors import LogError, LogProblemsError

REPORTED = (LogError, TooManyValuesError)  # errors about a column; others concern the log as a whole
MOST_PROBLEMS = 20  # that an error lists


@contextmanager
def listing_problems(table: LogTable, columns: Columns, request: EncoderRequest, max_values: int) -> Iterator[None]:
    """Let an error about a column list all problems of a log."""
    try:
        yield
    except LogError as error:
        if type(error) not in REPORTED:
            raise
        raise all_problems(error, table, columns, request, max_values) from error


def all_problems(
    first: LogError, table: LogTable, columns: Columns, request: EncoderRequest, max_values: int
) -> LogError:
    """Return the error about all problems of a log, given the one that was found first."""
    found = {str(first): None}
    for check in _checks(table, columns, request, max_values):
        try:
            check()
        except LogError as error:
            if type(error) in REPORTED:
                found[str(error)] = None
    if len(found) == 1:
        return first
    listed = list(found)
    more = len(listed) - MOST_PROBLEMS
    if more > 0:
        listed[MOST_PROBLEMS:] = [f"{table.source}: {more} more columns have problems. Fix these first."]
    return LogProblemsError(listed)


def _checks(
    table: LogTable, columns: Columns, request: EncoderRequest, max_values: int
) -> Iterator[Callable[[], object]]:
    """Yield a check for each column, or for several that are read together."""
    yield lambda: place_rows(table, columns)
    for name in filter(None, (getattr(columns, role) for role in ENDS)):
        yield lambda name=name: table.encode(name, flag)  # type: ignore[misc]
    kinds = request.by_column(columns)
    for name in (columns.action, *(columns.observations or ())):
        column = LogColumn(table, name or "", max_values)
        kind = kinds.get(column.name, CATEGORY)
        yield lambda column=column, kind=kind: kind.fit(column).encode(column)  # type: ignore[misc]
    reward = LogColumn(table, columns.reward or "", max_values)
    if columns.reward in kinds:
        yield lambda: kinds[reward.name].fit(reward)
    else:
        yield lambda: CATEGORY.encode_rewards(reward)
    if columns.propensity:
        yield lambda: table.numbers(columns.propensity or "", "a propensity is a number. Convert it.")
    yield lambda: _check_episodes(table, columns)


def _check_episodes(table: LogTable, columns: Columns) -> None:
    """Check what needs the order of rows."""
    rows = place_rows(table, columns)
    lay_out(table, rows, None, columns, False)
    if columns.weight:
        read_weights(table, columns.weight, rows)
    if columns.group:
        read_groups(table, columns.group, rows)
