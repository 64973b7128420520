"""Schema files, which declare the alphabet of a log before the data are seen.

    {"actions": ["left", "right"],
     "observations": {"columns": ["colour", "size"], "values": [["red", 1], ["blue", 2]]},
     "rewards": [0, 1]}

`values` lists whole observations, one value per column. Numbers and text cannot be mixed within a column; integral
floats are integers, as in a log.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from suffice.data.alphabet import Alphabet, Value
from suffice.data.encoding.tables import plain
from suffice.data.logs.formats import no_such_file
from suffice.errors import LogError, require_path, require_type, spelled
from suffice.files import json_text
from suffice.files.atomic import replacing


class _Observations(msgspec.Struct, forbid_unknown_fields=True):
    columns: list[str]
    values: list[list[Value]]


class _Schema(msgspec.Struct, forbid_unknown_fields=True):
    actions: list[Value]
    observations: _Observations
    rewards: list[float]


def read_schema(path: str | Path) -> Alphabet:
    """Read the alphabet that a JSON file declares.

    Parameters
    ----------
    path
        The file, as `write_schema` or `suffice check LOG --write-schema FILE` writes it.

    Returns
    -------
    Alphabet
        The declared alphabet, for `read_log(..., schema=alphabet)`.

    Examples
    --------
    >>> suffice.write_schema(episodes.alphabet, "schema.json")
    >>> suffice.read_schema("schema.json") == episodes.alphabet
    True
    """
    file = require_path(path)
    try:
        return _checked(json_text.read(file, _Schema))
    except OSError as error:
        if not file.exists():
            raise LogError(no_such_file(file)) from error
        raise LogError(f"{path}: the schema cannot be read ({error.strerror}). Name another file.") from error
    except msgspec.MsgspecError as error:
        write = spelled("suffice.write_schema", "suffice check LOG --write-schema FILE")
        reason = " ".join(str(error).split())
        raise LogError(f"{path}: this is not a schema ({reason}). Write one with {write}.") from error
    except (ValueError, LogError) as error:
        raise LogError(f"{path}: {error}") from error


def _checked(schema: _Schema) -> Alphabet:
    columns, values = schema.observations.columns, schema.observations.values
    if not columns or len(set(columns)) < len(columns):
        raise ValueError("`$.observations.columns` is empty or has a name twice. Name each column once.")
    for i, value in enumerate(values):
        if len(value) != len(columns):
            raise ValueError(
                f"`$.observations.values[{i}]` has {len(value)} values for {len(columns)} columns. Give one for each."
            )
    by_column = [
        _of_one_kind(f"$.observations.values[:][{j}]", [value[j] for value in values]) for j in range(len(columns))
    ]
    return Alphabet(
        actions=tuple(_of_one_kind("$.actions", schema.actions)),
        features=tuple(columns),
        observations=tuple(zip(*by_column, strict=True)),
        rewards=tuple(schema.rewards),
    )


def _of_one_kind(place: str, values: list[Value]) -> list[Value]:
    if not values:
        raise ValueError(f"`{place}` is empty. List at least one value.")
    if len({isinstance(value, str) for value in values}) > 1:
        raise ValueError(f"`{place}` mixes numbers and text, but a column holds one kind. Write the numbers as text.")
    if "" in values:
        raise ValueError(f"`{place}` has an empty text, which is a missing value in a log. Replace it.")
    return [plain(value) for value in values]


def write_schema(alphabet: Alphabet, path: str | Path) -> None:
    """Write an alphabet to a JSON file that `read_schema` reads; the file is written completely or not at all.

    Parameters
    ----------
    alphabet
        The alphabet to declare.
    path
        The file to write.

    Examples
    --------
    >>> suffice.write_schema(episodes.alphabet, "schema.json")
    >>> again = suffice.read_log("more.parquet", schema=suffice.read_schema("schema.json"))
    >>> again.alphabet == episodes.alphabet
    True
    """
    file = require_path(path)
    require_type("alphabet", alphabet, Alphabet, "an alphabet. Pass episodes.alphabet.")
    observations = _Observations(list(alphabet.features), [list(value) for value in alphabet.observations])
    schema = _Schema(list(alphabet.actions), observations, list(alphabet.rewards))
    with replacing(file) as temporary:
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(schema), indent=1) + b"\n")
