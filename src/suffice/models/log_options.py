"""Parameters about a log, shared by `learn`, `check`, `evaluate` and the pages that show a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suffice.data.alphabet import Alphabet
from suffice.data.encoding.binning import Binning, parse_binning, request_of
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import Encoder, EncoderRequest
from suffice.data.encoding.kinds import ColumnEncoder
from suffice.data.ends import Ends, ends_of
from suffice.data.episodes import Episodes
from suffice.data.loading import Data, sources_of
from suffice.data.logs.reading import ReadOptions, with_group
from suffice.data.logs.schema import read_schema
from suffice.errors import LogError, SettingsError, did_you_mean, parameter

MAX_VALUES = ReadOptions().max_values
AUTO, ALL = "auto", "all"  # instead of names of observation columns: those that matter, or all


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
    ends: Ends = "auto"
    group_column: str | None = None

    def read_options(self, like: Encoder | None = None) -> ReadOptions:
        """Turn the parameters into options for the reader; with `like`, as a log was read before."""
        bins = self._bins()
        if like is not None and bins is not None:
            _refuse_other_bins(bins, like)
            bins = None
        schema = read_schema(self.schema) if isinstance(self.schema, str | Path) else self.schema
        return ReadOptions(
            EncoderRequest.of(self._columns(), bins, like),
            horizon=self.horizon,
            schema=schema,
            drop_truncated=self.drop_truncated,
            max_values=self.max_values,
            ends=ends_of(self.ends),
        )

    def chooses_columns(self, usual: bool) -> bool:
        """Return whether the data choose the observation columns: if the caller says so or, if `usual`, does not."""
        if self.observations == AUTO:
            return True
        given = self.observations is not None or self.schema is not None or bool(self.bins)
        return usual and not given and self._columns().observations is None

    def _columns(self) -> Columns:
        columns = with_group(self.columns, self.group_column)
        if self.observations is None or self.observations in (AUTO, ALL):
            return columns
        return Columns.of(None, self.observations).over(columns)

    def _bins(self) -> dict[str, Binning] | None:
        if self.bins is not None and not isinstance(self.bins, Mapping):
            raise SettingsError(f"{parameter('bins', self.bins)} is not a dict. Use one such as bins={{'age': 8}}.")
        if self.bins is None:
            return None
        return {name: parse_binning(how, name) if isinstance(how, str) else how for name, how in self.bins.items()}

    def refuse_for_episodes(self, data: Data) -> None:
        """Refuse options that take effect only while a log is read, where all data are Episodes."""
        sources = sources_of(data)
        if not sources or not all(isinstance(source, Episodes) for source in sources):
            return
        if not all(len(episodes) for episodes in sources):
            raise LogError("there are no episodes. Select at least one.")
        ReadOptions(horizon=self.horizon)  # refuses an invalid horizon
        usual = LogOptions()
        for name in ("columns", "observations", "drop_truncated", "max_values", "schema", "ends", "group_column"):
            if getattr(self, name) not in (getattr(usual, name), ALL):
                raise SettingsError(
                    f"{parameter(name)} takes effect when a log is read, and Episodes are read already. Pass it to "
                    "read_log."
                )
        for name, how in (self._bins() or {}).items():
            known = {column for episodes in sources for column in _columns_of(episodes)}
            if not isinstance(how, ColumnEncoder):
                raise SettingsError(
                    f"{parameter('bins')}: Episodes are binned when they are read, so {name!r} cannot be binned now. "
                    "Pass bins to read_log, or pass the log itself."
                )
            if name not in known:
                raise SettingsError(
                    f"{parameter('bins')}: {name!r} is not a column of the Episodes{did_you_mean(name, known) or '.'} "
                    "Leave it out."
                )


def _columns_of(episodes: Episodes) -> tuple[str, ...]:
    """Return the columns of Episodes that may have bins."""
    columns = Columns() if episodes.report is None else episodes.report.columns
    return (*episodes.alphabet.features, columns.action or "action", columns.reward or "reward")


def _refuse_other_bins(bins: Mapping[str, Binning], like: Encoder) -> None:
    """Refuse bins that differ from those of a model."""
    for name, how in bins.items():
        theirs = like.kinds.get(name)
        if theirs is None or request_of(name, how) != theirs:
            problem = "does not bin this column" if theirs is None else "has its own bins of this column"
            raise SettingsError(
                f"{parameter('bins', {name: how})}: the earlier model {problem}, and its bins are used. Leave it out, "
                "or learn without an earlier model."
            )
