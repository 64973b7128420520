"""Parquet files, whose columns are read one at a time, and which can be read in pieces."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from suffice.data.encoding.tables import LogTable
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.formats import LogFormat


class Parquet(LogFormat):
    """The log format of Parquet files."""

    name: ClassVar[str] = "parquet"
    title: ClassVar[str] = "Parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    in_pieces: ClassVar[bool] = True

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """Open a file; its values have types."""
        return Dataset(str(path), (path,)).table()

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        """Return a writer of a Parquet file."""
        counted = dict.fromkeys(("episode", "step"), "DELTA_BINARY_PACKED")  # ascending, so that differences are small
        values = [name for name in schema.names if name not in counted]
        return pq.ParquetWriter(sink, schema, compression="zstd", use_dictionary=values, column_encoding=counted)


PARQUET = Parquet()
