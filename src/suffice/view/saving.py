"""Figures as files: the same figure gives the same bytes, and a file is there whole or not at all."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from suffice.errors import SettingsError
from suffice.files.atomic import replacing
from suffice.view.style import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".svg", ".png", ".pdf")
DOTS, COLOURS = 160, 128  # per inch, and in all


def save_figure(figure: Figure, path: str | Path) -> tuple[Path, Path]:
    """Writes `path`.svg and `path`.png and returns both."""
    svg, png = (save_picture(figure, f"{path}.{suffix}") for suffix in ("svg", "png"))
    return svg, png


def save_picture(figure: Figure, path: str | Path) -> Path:
    """Writes one file, as its suffix says, without date or program."""
    path = Path(path)
    with drawing(), replacing(path) as temporary:
        match path.suffix.lower():
            case ".svg":
                figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": None})
            case ".png":
                _write_png(figure, temporary)
            case ".pdf":
                figure.savefig(temporary, format="pdf", metadata=dict.fromkeys(("CreationDate", "Creator", "Producer")))
            case other:
                raise SettingsError(
                    f"{path}: no picture is called {other or 'nothing'}; end it in {', '.join(PICTURES)}"
                )
    return path


def _write_png(figure: Figure, path: Path) -> None:
    """With a palette: flat colours need no more, and the file is a quarter of the size."""
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS, metadata={"Software": None})
    palette = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    palette.save(path, format="PNG", optimize=True)
