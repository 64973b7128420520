"""Looks that all pictures share, and matplotlib, which is optional and is imported only to draw."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from suffice.errors import MissingError

INK, NOTE, FAINT, PAGE = "#2f343b", "#727a85", "#a3a9b2", "#ffffff"
ARROW_COLOUR = "#6b737e"  # an arrow
RIM, STATE_FILL = "#3f74ad", "#e8f0f9"
POOR, RICH = "#f4f7fb", "#8fbbe6"  # states by value
PLAN_COLOUR = "#bf4f0b"

SETTINGS: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so pictures are the same everywhere
    # Text stays text: a third of the size, can be searched and read aloud. DejaVu is wider than what viewers replace it
    # by, so labels keep their room.
    "svg.fonttype": "none",
    "svg.hashsalt": "suffice",  # names inside the file would be random otherwise
}


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Matplotlib with our settings, whatever the user's are; theirs are back afterwards."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingError("pictures need matplotlib: pip install 'suffice[plots]'") from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def refuse_without_matplotlib() -> None:
    """Before the work that a picture is to show."""
    with drawing():
        pass


def blend(low: str, high: str, share: float) -> str:
    """A colour between two."""
    pairs = ((int(low[i : i + 2], 16), int(high[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)
