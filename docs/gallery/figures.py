"""Formatting of numbers and tables for the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

LONGEST = 11  # characters of the longest fraction that is shown
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(value: float, digits: int) -> str:
    """Format a number as a product with a power of ten: 3.4·10⁴, or 10⁻³."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    ten = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return ten if float(mantissa) == 1 else f"{float(mantissa):g}·{ten}"


def about(episodes: float) -> str:
    """Format a number of episodes, to two digits."""
    if math.isinf(episodes):
        return "∞"
    rounded = float(f"{episodes:.1e}")
    return f"{rounded:,.0f}" if rounded < 10_000 else power(episodes, 2)


def decimal(value: Any) -> str:
    """Format a number to four digits."""
    number = float(value)
    if number and abs(number) < 1e-3:
        return power(number, 3)
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def exactly(value: Any) -> str:
    """Format an exact value: an integer, a short fraction with its decimals, or decimals alone."""
    fraction = Fraction(value)
    if fraction.denominator == 1:
        return f"{fraction.numerator:,}".replace("-", "−")
    text = decimal(fraction).replace("-", "−")
    same = "·" not in text and Fraction(decimal(fraction).replace(",", "")) == fraction
    if len(str(fraction)) > LONGEST:
        return f"≈ {text}"
    return f"{fraction} {'=' if same else '≈'} {text}".replace("-", "−")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """Format a Markdown table whose first columns are text and the others numbers."""
    rules = ["---" if i < left else "---:" for i in range(len(head))]
    return [f"| {' | '.join(row)} |" for row in (head, rules, *rows)]
