"""Colours and matplotlib settings shared by all figures. Matplotlib is optional and imported only to draw."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from suffice.errors import MissingError

INK, NOTE, FAINT, PAGE = "#2f343b", "#727a85", "#a3a9b2", "#ffffff"
ARROW_COLOUR = "#6b737e"
RIM, STATE_FILL = "#3f74ad", "#e8f0f9"
POOR, RICH = "#f4f7fb", "#8fbbe6"  # states of the lowest and the highest value
PLAN_COLOUR = "#bf4f0b"

SETTINGS: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so figures are the same on every machine
    # Text is stored as text: files are a third of the size, can be searched and read aloud. DejaVu is wider than the
    # fonts that viewers substitute, so labels still fit.
    "svg.fonttype": "none",
    "svg.hashsalt": "suffice",  # identifiers inside the file would be random otherwise
}


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Apply the settings of this module to matplotlib, and restore the user's settings afterwards."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingError("matplotlib is not installed. Figures need it: pip install 'suffice[plots]'") from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def refuse_without_matplotlib() -> None:
    """Raise MissingError without matplotlib; called before long computations whose result is a figure."""
    with drawing():
        pass


def blend(low: str, high: str, share: float) -> str:
    """Interpolate linearly between two colours."""
    pairs = ((int(low[i : i + 2], 16), int(high[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)
