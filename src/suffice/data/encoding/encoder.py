"""The encoder converts rows of a log, and observations at run time, to symbols.

An `EncoderRequest` is what the caller specifies before a log is read: names of columns, and how to encode some of them.
Reading a log turns it into an `Encoder`, which knows every column and is stored in the model, so that other logs and
the observations of a policy are encoded in the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from suffice.data.alphabet import MAX_LETTERS, PADDING, Alphabet, Value
from suffice.data.encoding.binning import Binning, Bins, request_of
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.grouping import refuse_continuous
from suffice.data.encoding.kinds import CATEGORY, ColumnEncoder, ColumnRequest, LogColumn, from_data, to_data
from suffice.data.encoding.observations import values_of
from suffice.data.encoding.parts import split_part
from suffice.data.encoding.tables import Coded, LogTable, dense
from suffice.errors import SettingsError, did_you_mean, parameter
from suffice.kernels.array_types import Int64


@dataclass(frozen=True, slots=True)
class Encoded:
    """The rows of a log as codes of the distinct values of their columns."""

    action: Coded[Value]
    features: Mapping[str, Coded[Value]]  # by observation column, in order of the columns
    observation: Coded[tuple[Value, ...]]  # the features together
    reward: Coded[float]


class EncoderData(msgspec.Struct, frozen=True):
    """The form in which a model file stores an encoder."""

    roles: dict[str, str]  # columns whose names are not the usual ones
    observations: list[str]
    kinds: dict[str, dict[str, Any]] = {}
    offered: list[str] | UnsetType = UNSET  # all observation columns of the log, if some are not used


@dataclass(frozen=True, slots=True)
class Encoder:
    """The roles of the columns of a log, and how their values are converted to symbols.

    Parameters
    ----------
    columns
        Names of the columns by role.
    kinds
        Column encoder of each column that is not a plain category.
    offered
        All observation columns of the log in order, if only some are used; empty if all are.

    Examples
    --------
    >>> log = {"episode": [1, 2, 3], "step": [0, 0, 0], "heat": [36, 38, 39], "action": [0, 1, 1], "reward": [1, 1, 0]}
    >>> encoder = suffice.read_log(log, bins={"heat": [37, 38]}).report.encoder
    >>> encoder.encode_observation({"heat": 37.5})
    (1,)
    >>> encoder.legend("heat")
    ['below 37', '37 to 38', '38 or more']
    """

    columns: Columns = field(default_factory=Columns)
    kinds: Mapping[str, ColumnEncoder] = field(default_factory=dict)  # by column; all others are categories
    offered: tuple[str, ...] = ()  # all columns that the log offers; empty: the observations are all

    @classmethod
    def of_features(cls, names: Sequence[str], kinds: Mapping[str, ColumnEncoder] | None = None) -> Encoder:
        """Return an encoder of observations with these features."""
        return cls(Columns(observations=tuple(names)), kinds or {})

    @classmethod
    def given(
        cls,
        encoder: Encoder | None,
        names: Sequence[str],
        bins: Mapping[str, Bins | Sequence[float]] | None = None,
        columns: Columns | None = None,
    ) -> Encoder:
        """Return the encoder of a caller who may also use the deprecated keywords `bins` and `columns`.

        Call it from the function that has these keywords: its caller is warned. Without any of them, only the features
        are known.
        """
        if bins is None and columns is None:
            return encoder or cls.of_features(names)
        if encoder is not None:
            raise SettingsError("encoder= contains bins and columns. Leave out bins= and columns=.")
        warnings.warn("bins= and columns= are deprecated. Pass encoder= instead.", DeprecationWarning, stacklevel=3)
        kinds = {
            name: how if isinstance(how, Bins) else Bins(tuple(map(float, how))) for name, how in (bins or {}).items()
        }
        return cls(replace(columns or Columns(), observations=tuple(names)), kinds)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the observation columns, in order."""
        return self.columns.observations or ()

    @property
    def ignored(self) -> tuple[str, ...]:
        """The observation columns of the log that are not used, in order."""
        used = {*self.features, *(part[0] for name in self.features if (part := split_part(name)) is not None)}
        return tuple(name for name in self.offered if name not in used)

    @property
    def bins(self) -> dict[str, Bins]:
        """The bins of each binned column."""
        return {name: kind for name, kind in self.kinds.items() if isinstance(kind, Bins)}

    def encode(self, table: LogTable, counts: Int64 | None = None, max_values: int | None = None) -> Encoded:
        """Encode the rows of a flat table with these columns."""
        counts = np.ones(table.rows, np.int64) if counts is None else counts
        return encode_table(table, self.columns, self.kinds, counts, max_values)[1]

    def encode_observation(self, observation: Any) -> tuple[Value, ...]:
        """Return the symbols of one observation: a tuple of features as logged, a dict, or a single value.

        A vector within a tuple stands for several features in order. Columns that are not used may be present or
        absent: a tuple has the values of all columns of the log, or of those that are used.
        """
        names, kinds = self.columns.observations or (), self.kinds
        pairs = zip(values_of(observation, names, self.offered), names, strict=True)
        return tuple([kinds.get(name, CATEGORY).encode_value(value, name) for value, name in pairs])

    def legend(self, name: str) -> list[str]:
        """Return what the symbols 0, 1, … of a column stand for; empty if its symbols are its values."""
        return self.kinds.get(name, CATEGORY).legend()

    def display(self, alphabet: Alphabet) -> Alphabet:
        """Return the alphabet with readable symbols: the number of a bin is shown as its range."""
        legends = [self.legend(name) for name in alphabet.features]

        def shown(observation: tuple[Value, ...]) -> tuple[Value, ...]:
            pairs = zip(legends, observation, strict=True)
            return tuple(_labelled(symbol, legend) for legend, symbol in pairs)

        return replace(alphabet, observations=tuple(map(shown, alphabet.observations)))

    def to_data(self) -> EncoderData:
        """Convert to the form that a model file stores; the usual names of columns are left out."""
        kinds = {name: to_data(kind) for name, kind in self.kinds.items()}
        return EncoderData(self.columns.unusual(), list(self.features), kinds, list(self.offered) or UNSET)

    @classmethod
    def from_data(cls, data: EncoderData) -> Encoder:
        """Convert from the form that a model file stores."""
        columns = Columns(**data.roles, observations=tuple(data.observations))
        return cls(columns, {name: from_data(kind) for name, kind in data.kinds.items()}, tuple(data.offered or ()))


class Labelled(int):
    """A symbol that equals its number, but is shown as the values it stands for."""

    label: str

    def __new__(cls, symbol: int, label: str) -> Labelled:
        made = super().__new__(cls, symbol)
        made.label = label
        return made

    def __str__(self) -> str:
        return self.label


def _labelled(symbol: Value, legend: Sequence[str]) -> Value:
    """Label a symbol; one that the legend lacks, as in a forged file, stays unchanged."""
    known = isinstance(symbol, int) and 0 <= symbol < len(legend)
    return Labelled(int(symbol), legend[int(symbol)]) if known else symbol


class HasEncoder(Protocol):
    """A model or a report, which has the encoder of its log."""

    @property
    def encoder(self) -> Encoder:
        """The encoder with which the log was read."""


@dataclass(frozen=True, slots=True)
class EncoderRequest:
    """What the caller specifies of an encoder before a log is read."""

    columns: Columns = field(default_factory=Columns)  # named by the caller
    kinds: Mapping[str, ColumnRequest] = field(default_factory=dict)  # by column, or the vector or record it is part of
    like: Columns | None = None  # columns of an earlier log, used where this log has them
    fixed: bool = False  # `kinds` are all of an earlier encoder: columns that are not among them are not binned

    @classmethod
    def of(
        cls,
        columns: Columns | Mapping[str, Any] | str | None = None,
        bins: Mapping[str, Binning | str] | None = None,
        like: Encoder | Columns | HasEncoder | None = None,
        observations: Sequence[str] | str | None = None,
    ) -> EncoderRequest:
        """Build a request from parameters; without `bins`, columns are encoded as in the earlier log `like`."""
        named = Columns.of(columns, observations)
        if bins is not None and not isinstance(bins, Mapping):
            raise SettingsError(f"{parameter('bins', bins)} is not a dict. Use one such as bins={{'age': 8}}.")
        like = getattr(like, "encoder", like)  # of a model or report
        if like is not None and not isinstance(like, Encoder | Columns):
            raise SettingsError(
                f"{parameter('like')} is of type {type(like).__name__}, not an Encoder. Pass model.encoder."
            )
        kinds: Mapping[str, ColumnRequest] = {name: request_of(name, how) for name, how in (bins or {}).items()}
        if isinstance(like, Encoder):
            return cls(named, like.kinds if bins is None else kinds, like.columns, fixed=bins is None)
        return cls(named, kinds, like)

    def by_column(self, columns: Columns) -> dict[str, ColumnRequest]:
        """Return the requests by column; one for a vector or record applies to each of its parts."""
        names = (columns.action or "", *(columns.observations or ()), columns.reward or "")
        found: dict[str, ColumnRequest] = {}
        for name, request in self.kinds.items():
            parts = [name] if name in names else [column for column in names if column.startswith(f"{name}.")]
            if not parts:
                known = " ".join(", ".join(names).split())
                raise SettingsError(
                    f"{parameter('bins')}: {name!r} is not an observation, action or reward column"
                    f"{did_you_mean(name, names) or '.'} Choose from {known}."
                )
            found |= dict.fromkeys(parts, request)
        return found

    def fit_encode(
        self, table: LogTable, columns: Columns, counts: Int64, max_values: int | None
    ) -> tuple[Encoder, Encoded]:
        """Fit an encoder to a flat table with these columns, whose rows count `counts` times, and encode the table."""
        return encode_table(table, columns, self.by_column(columns), counts, max_values)


def encode_table(
    table: LogTable, columns: Columns, kinds: Mapping[str, ColumnRequest], counts: Int64, max_values: int | None
) -> tuple[Encoder, Encoded]:
    """Fit and encode column by column, so that each is read once and only one is in memory."""
    features, action, reward = columns.observations or (), columns.action, columns.reward
    assert action is not None and reward is not None  # `find_columns` found them
    fitted: dict[str, ColumnEncoder] = {}
    coded: dict[str, Coded[Value]] = {}
    for name in (action, *features):
        column = LogColumn(table, name, max_values)
        fitted[name] = kinds.get(name, CATEGORY).fit(column)
        coded[name] = fitted[name].encode(column)
        if name == action:
            refuse_continuous(column, coded[name])
    if PADDING in coded[action].values:
        padding = coded[action].codes == coded[action].values.index(PADDING)
        table.refuse_any(padding, action, f"the name {PADDING!r} is reserved for padding. Rename the action.")
    column = LogColumn(table, reward, max_values)
    fitted[reward] = kinds.get(reward, CATEGORY).fit(column).fit_rewards(column, counts)
    rewards = fitted[reward].encode_rewards(column)
    by_feature = {name: coded[name] for name in features}
    encoder = Encoder(columns, {name: kind for name, kind in fitted.items() if kind != CATEGORY})
    return encoder, Encoded(coded[action], by_feature, _combine(table, list(by_feature.values())), rewards)


def _combine(table: LogTable, features: Sequence[Coded[Value]]) -> Coded[tuple[Value, ...]]:
    """Number the whole observation of each row, in mixed radix, made dense feature by feature."""
    if not features:
        return Coded(np.zeros(table.rows, np.uint8), ((),))
    codes, size = features[0].codes, len(features[0].values)
    for feature in features[1:]:
        radix = len(feature.values)
        codes, present = dense(codes.astype(np.int64) * radix + feature.codes, size * radix)
        size = len(present)
    if size > MAX_LETTERS:
        table.refuse(
            f"{size:,} distinct observations are too many for a finite alphabet. Bin numeric columns with "
            f"{parameter('bins')}, or name fewer {parameter('observations')}."
        )
    example = np.empty(size, dtype=np.int64)
    example[codes] = np.arange(table.rows)
    values = ([feature.values[code] for code in feature.codes[example].tolist()] for feature in features)
    return Coded(codes, tuple(zip(*values, strict=True)))
