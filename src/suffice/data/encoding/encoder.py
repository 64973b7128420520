"""The encoder: from rows of a log, and from observations at run time, to symbols.

An `EncoderRequest` is what the caller says before a log is read: names of columns, and what to do with some of them.
Reading a log turns it into an `Encoder`, which knows every column and is stored in the model, so that other logs, and
what a policy observes, are encoded alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from suffice.data.alphabet import Alphabet, Value
from suffice.data.encoding.binning import Binning, Bins, request_of
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.kinds import CATEGORY, ColumnEncoder, ColumnRequest, LogColumn, from_data, to_data
from suffice.data.encoding.observations import values_of
from suffice.data.encoding.tables import Coded, LogTable, dense
from suffice.data.episodes import MAX_LETTERS
from suffice.errors import SettingsError
from suffice.kernels.array_types import Int64


@dataclass(frozen=True, slots=True)
class Encoded:
    """The rows of a log as codes of the distinct values of their columns."""

    action: Coded[Value]
    features: Mapping[str, Coded[Value]]  # by observation column, in order
    observation: Coded[tuple[Value, ...]]  # the features together
    reward: Coded[float]


class EncoderData(msgspec.Struct, frozen=True):
    """An encoder as a model file stores it."""

    roles: dict[str, str]  # columns whose names are not the usual ones
    observations: list[str]
    kinds: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Encoder:
    """Which columns of a log have which role, and how their values become symbols.

    >>> log = {"episode": [1, 2, 3], "step": [0, 0, 0], "heat": [36, 38, 39], "action": [0, 1, 1], "reward": [1, 1, 0]}
    >>> encoder = suffice.read_log(log, bins={"heat": [37, 38]})[1].encoder
    >>> encoder.encode_observation({"heat": 37.5})
    (1,)
    >>> encoder.legend("heat")
    ['below 37', '37 to 38', '38 or more']
    """

    columns: Columns = field(default_factory=Columns)
    kinds: Mapping[str, ColumnEncoder] = field(default_factory=dict)  # by column; all others are categories

    @classmethod
    def of_features(cls, names: Sequence[str], kinds: Mapping[str, ColumnEncoder] | None = None) -> Encoder:
        """The encoder of observations with these features, of which nothing else is known."""
        return cls(Columns(observations=tuple(names)), kinds or {})

    @classmethod
    def given(
        cls,
        encoder: Encoder | None,
        names: Sequence[str],
        bins: Mapping[str, Bins | Sequence[float]] | None = None,
        columns: Columns | None = None,
    ) -> Encoder:
        """The encoder that a caller gives, or says by the deprecated keywords `bins` and `columns`.

        To be called by the function that has these keywords, whose caller is warned. Without any of them, nothing but
        the features is known.
        """
        if bins is None and columns is None:
            return encoder or cls.of_features(names)
        if encoder is not None:
            raise SettingsError("an encoder has bins and columns of its own; leave out these keywords")
        warnings.warn("bins= and columns= are deprecated: give an encoder=", DeprecationWarning, stacklevel=3)
        kinds = {
            name: how if isinstance(how, Bins) else Bins(tuple(map(float, how))) for name, how in (bins or {}).items()
        }
        return cls(replace(columns or Columns(), observations=tuple(names)), kinds)

    @property
    def features(self) -> tuple[str, ...]:
        """The observation columns, in order."""
        return self.columns.observations or ()

    @property
    def bins(self) -> dict[str, Bins]:
        """Of binned columns."""
        return {name: kind for name, kind in self.kinds.items() if isinstance(kind, Bins)}

    def encode(self, table: LogTable, counts: Int64 | None = None, max_values: int | None = None) -> Encoded:
        """Encode the rows of a flat table that has these columns."""
        counts = np.ones(table.rows, np.int64) if counts is None else counts
        return encode_table(table, self.columns, self.kinds, counts, max_values)[1]

    def encode_observation(self, observation: Any) -> tuple[Value, ...]:
        """The symbols of one observation: a tuple of features as logged, a dict that has them, or a single one.

        Vectors within a tuple are several features, one after the other.
        """
        names, kinds = self.columns.observations or (), self.kinds
        pairs = zip(values_of(observation, names), names, strict=True)
        return tuple([kinds.get(name, CATEGORY).encode_value(value, name) for value, name in pairs])

    def legend(self, name: str) -> list[str]:
        """What the symbols 0, 1, … of a column stand for; empty if its symbols are its values."""
        return self.kinds.get(name, CATEGORY).legend()

    def display(self, alphabet: Alphabet) -> Alphabet:
        """The same alphabet for people: symbols that stand for values read as these."""
        legends = [self.legend(name) for name in alphabet.features]

        def shown(observation: tuple[Value, ...]) -> tuple[Value, ...]:
            pairs = zip(legends, observation, strict=True)
            return tuple(_labelled(symbol, legend) for legend, symbol in pairs)

        return replace(alphabet, observations=tuple(map(shown, alphabet.observations)))

    def to_data(self) -> EncoderData:
        """As a model file stores it; names that any log is searched for are left out."""
        kinds = {name: to_data(kind) for name, kind in self.kinds.items()}
        return EncoderData(self.columns.unusual(), list(self.features), kinds)

    @classmethod
    def from_data(cls, data: EncoderData) -> Encoder:
        """From a model file."""
        columns = Columns(**data.roles, observations=tuple(data.observations))
        return cls(columns, {name: from_data(kind) for name, kind in data.kinds.items()})


class Labelled(int):
    """A symbol that stands for values: equal to its number, but its text says which values."""

    label: str

    def __new__(cls, symbol: int, label: str) -> Labelled:
        made = super().__new__(cls, symbol)
        made.label = label
        return made

    def __str__(self) -> str:
        return self.label


def _labelled(symbol: Value, legend: Sequence[str]) -> Value:
    """A symbol that the legend does not have, as in a forged file, reads as it is."""
    known = isinstance(symbol, int) and 0 <= symbol < len(legend)
    return Labelled(int(symbol), legend[int(symbol)]) if known else symbol


@dataclass(frozen=True, slots=True)
class EncoderRequest:
    """What is known of an encoder before a log is read."""

    columns: Columns = field(default_factory=Columns)  # as the caller names them
    kinds: Mapping[str, ColumnRequest] = field(default_factory=dict)  # by column, or the vector or record it is part of
    like: Columns | None = None  # of an earlier log, used where this log has them

    @classmethod
    def of(
        cls,
        columns: Columns | Mapping[str, Any] | str | None = None,
        bins: Mapping[str, Binning] | None = None,
        like: Encoder | Columns | None = None,
    ) -> EncoderRequest:
        """What a caller says; without `bins`, columns are encoded as in an earlier log."""
        kinds: Mapping[str, ColumnRequest] = {name: request_of(name, how) for name, how in (bins or {}).items()}
        if isinstance(like, Encoder):
            return cls(Columns.of(columns), like.kinds if bins is None else kinds, like.columns)
        return cls(Columns.of(columns), kinds, like)

    def by_column(self, columns: Columns) -> dict[str, ColumnRequest]:
        """The requests by column: that for a vector or record goes to each of its parts."""
        names = (columns.action or "", *(columns.observations or ()), columns.reward or "")
        found: dict[str, ColumnRequest] = {}
        for name, request in self.kinds.items():
            parts = [name] if name in names else [column for column in names if column.startswith(f"{name}.")]
            if not parts:
                known = " ".join(", ".join(names).split())
                raise SettingsError(f"--bin {name} is for an observation, action or reward column: {known}")
            found |= dict.fromkeys(parts, request)
        return found

    def fit_encode(
        self, table: LogTable, columns: Columns, counts: Int64, max_values: int | None
    ) -> tuple[Encoder, Encoded]:
        """Fit the encoder to a flat table with these columns, whose rows count [rows] times, and encode the table."""
        return encode_table(table, columns, self.by_column(columns), counts, max_values)


def encode_table(
    table: LogTable, columns: Columns, kinds: Mapping[str, ColumnRequest], counts: Int64, max_values: int | None
) -> tuple[Encoder, Encoded]:
    """Fit and encode column by column, so that each is read once and only one is in memory."""
    features, action, reward = columns.observations or (), columns.action, columns.reward
    assert action is not None and reward is not None  # they were found
    fitted: dict[str, ColumnEncoder] = {}
    coded: dict[str, Coded[Value]] = {}
    for name in (action, *features):
        column = LogColumn(table, name, max_values)
        fitted[name] = kinds.get(name, CATEGORY).fit(column)
        coded[name] = fitted[name].encode(column)
    column = LogColumn(table, reward, max_values)
    fitted[reward] = kinds.get(reward, CATEGORY).fit(column).fit_rewards(column, counts)
    rewards = fitted[reward].encode_rewards(column)
    by_feature = {name: coded[name] for name in features}
    encoder = Encoder(columns, {name: kind for name, kind in fitted.items() if kind != CATEGORY})
    return encoder, Encoded(coded[action], by_feature, _combine(table, list(by_feature.values())), rewards)


def _combine(table: LogTable, features: Sequence[Coded[Value]]) -> Coded[tuple[Value, ...]]:
    """The features of each row taken together, numbered in mixed radix and made dense feature by feature."""
    codes, size = features[0].codes, len(features[0].values)
    for feature in features[1:]:
        radix = len(feature.values)
        codes, present = dense(codes.astype(np.int64) * radix + feature.codes, size * radix)
        size = len(present)
    if size > MAX_LETTERS:
        table.refuse(f"{size:,} distinct observations are no finite alphabet; bin a column (--bin) or list fewer")
    example = np.empty(size, dtype=np.int64)
    example[codes] = np.arange(table.rows)
    values = ([feature.values[code] for code in feature.codes[example].tolist()] for feature in features)
    return Coded(codes, tuple(zip(*values, strict=True)))
