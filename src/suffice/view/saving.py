"""Figures as files: the same figure gives the same bytes, and a file is there whole or not at all."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from suffice.files import replacing
from suffice.view.style import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS, COLOURS = 160, 128  # per inch, and in all


def save_figure(figure: Figure, path: str | Path) -> tuple[Path, Path]:
    """Writes `path`.svg and `path`.png, without date or program, and returns both."""
    svg, png = (Path(f"{path}.{suffix}") for suffix in ("svg", "png"))
    with drawing():
        with replacing(svg) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": None})
        with replacing(png) as temporary:
            _write_png(figure, temporary)
    return svg, png


def _write_png(figure: Figure, path: Path) -> None:
    """With a palette: flat colours need no more, and the file is a quarter of the size."""
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS, metadata={"Software": None})
    palette = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    palette.save(path, format="PNG", optimize=True)
