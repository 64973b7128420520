"""Parameters about a log, shared by `learn`, `check`, `evaluate` and the pages that show a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suffice.data.alphabet import Alphabet
from suffice.data.encoding.binning import Binning, parse_binning
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import Encoder, EncoderRequest
from suffice.data.episodes import Episodes
from suffice.data.loading import Data
from suffice.data.logs.reading import ReadOptions
from suffice.data.logs.schema import read_schema
from suffice.errors import SettingsError, parameter

MAX_VALUES = ReadOptions().max_values


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """The parameters of `suffice.learn` that say how a log is read, as given; they are described there."""

    columns: Columns | Mapping[str, Any] | str | None = None
    observations: Sequence[str] | str | None = None
    horizon: int | None = None
    bins: Mapping[str, Binning | str] | None = None
    drop_truncated: bool = False
    max_values: int = MAX_VALUES
    schema: Alphabet | str | Path | None = None

    def read_options(self, like: Encoder | None = None) -> ReadOptions:
        """Turn the parameters into options for the reader; with `like`, as a log was read before."""
        columns = Columns.of(self.columns)
        if self.observations is not None:
            named = self.observations.split(",") if isinstance(self.observations, str) else self.observations
            columns = Columns(observations=tuple(named)).over(columns)
        bins: dict[str, Binning] | None = None
        if self.bins is not None and not isinstance(self.bins, Mapping):
            raise SettingsError(f"{parameter('bins', self.bins)} is not a dict. Use one such as bins={{'age': 8}}.")
        if self.bins is not None:
            bins = {name: parse_binning(how, name) if isinstance(how, str) else how for name, how in self.bins.items()}
        schema = read_schema(self.schema) if isinstance(self.schema, str | Path) else self.schema
        return ReadOptions(
            EncoderRequest.of(columns, bins, like),
            horizon=self.horizon,
            schema=schema,
            drop_truncated=self.drop_truncated,
            max_values=self.max_values,
        )

    def refuse_for_episodes(self, data: Data) -> None:
        """Refuse options that take effect only while a log is read, where `data` is Episodes."""
        if not isinstance(data, Episodes):
            return
        usual = LogOptions()
        for name in ("observations", "drop_truncated", "max_values", "schema"):
            if getattr(self, name) != getattr(usual, name):
                raise SettingsError(
                    f"{parameter(name)} takes effect when a log is read, and Episodes are read already. Pass it to "
                    "read_log."
                )
