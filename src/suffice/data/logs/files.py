"""Open log files of any format as tables of columns."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from pathlib import Path

from suffice.data.encoding.tables import LogTable
from suffice.data.logs.arrays import first_line
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.formats import format_of
from suffice.data.logs.limits import BROKEN
from suffice.errors import LogError
from suffice.files.atomic import name_beside


def open_file(path: Path, text: Collection[str] = ()) -> LogTable:
    """Open a log; in a CSV the columns `text` are text even where they look like numbers."""
    try:
        if (dataset := Dataset.of(path)) is not None and dataset.files != (path,):
            return dataset.table()
        if not path.exists():
            raise LogError(f"{path}: there is no such file{name_beside(path)}")
        log_format = format_of(path)
        if path.stat().st_size == 0:
            raise LogError(f"{path}: the file is empty; a log has a header and one row per decision")
        return log_format.open(path, text)
    except (*BROKEN, EOFError, zlib.error) as error:
        raise LogError(f"{path}: the file cannot be read ({first_line(error)}); copy or export it again") from error
