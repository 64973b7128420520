"""What a cell of a log may mean; each function takes a cell and raises a ValueError that says what to do.

Values are booleans, integers, floats and text. Integral floats become integers and float32 its shortest decimal, so
that CSV and Parquet agree; dates and times become ISO text, which is what they are in a CSV. An empty cell is missing,
and so is the empty string. In a CSV column of numbers or booleans `NA`, `null`, `nan` and their like are missing too;
in a column of text they are ordinary values. A CSV column whose cells all look like numbers is one of numbers.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from suffice.data.alphabet import Value

EXACT = 2**53  # beyond this, floats skip integers
FLAGS = {"true": True, "false": False, "1": True, "0": False}  # a CSV column with one bad cell is all text
NOT_A_CELL = "a cell holds one boolean, number or text: split or convert the column"
MISSING = "the value is missing; fill it in (with a word such as unknown), or remove the whole episode"


def plain(value: Any) -> Value:
    """A cell as a value of the alphabet."""
    if value is None or value in ("", b""):
        raise ValueError(MISSING)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{value!r} is not UTF-8 text; save the file as UTF-8") from None
    if isinstance(value, bool | int | str):
        return value
    if not isinstance(value, float | Decimal):
        raise ValueError(f"this is a {type(value).__name__}, but {NOT_A_CELL}")
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number; replace it")
    result = float(value)
    return int(result) if result.is_integer() and abs(result) < EXACT else result


def number(value: Any) -> float:
    """A cell as a finite number; text that spells one will do."""
    value = plain(value)
    try:
        result = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r} is not a number; mend it or remove the episode") from None
    if not math.isfinite(result):
        raise ValueError(f"{value!r} is not a finite number; replace it")
    return result


def integer(value: Any) -> int:
    """A cell as an integer."""
    result = value if isinstance(value, int) else number(value)
    if result != int(result) or abs(result) >= EXACT:
        raise ValueError(f"{value!r} is not an integer within ±2**53; mend it or remove the episode")
    return int(result)


def flag(value: Any) -> bool:
    """A cell as yes or no."""
    value = plain(value)
    value = FLAGS.get(value.lower(), value) if isinstance(value, str) else value
    if value not in (0, 1):
        raise ValueError(f"{value!r} is neither true nor false; write true or false, 1 or 0")
    return bool(value)
