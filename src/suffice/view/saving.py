"""Writing of figures to files, atomically and with the same bytes for the same figure."""

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
DOTS, COLOURS = 160, 128  # of PNG files: dots per inch, and size of the palette


def save_figure(figure: Figure, path: str | Path) -> tuple[Path, Path]:
    """Write a figure as `path`.svg and `path`.png.

    Parameters
    ----------
    figure
        Figure to write, such as that of `draw_automaton`.
    path
        Path without an ending.

    Returns
    -------
    tuple[Path, Path]
        The SVG file and the PNG file.

    Examples
    --------
    >>> from suffice.view import save_figure
    >>> [file.name for file in save_figure(suffice.draw_automaton(model.rdp), "corridor")]
    ['corridor.svg', 'corridor.png']
    """
    svg, png = (save_picture(figure, f"{path}.{suffix}") for suffix in ("svg", "png"))
    return svg, png


def save_picture(figure: Figure, path: str | Path) -> Path:
    """Write a figure to one file, without date and program in its metadata.

    Parameters
    ----------
    figure
        Figure to write, such as that of `draw_automaton`.
    path
        File to write. The ending chooses the format: .svg, .png or .pdf.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    SettingsError
        If the name has another ending.

    Examples
    --------
    >>> from suffice.view import save_picture
    >>> save_picture(suffice.draw_automaton(model.rdp), "corridor.pdf").name
    'corridor.pdf'
    """
    path = Path(path)
    _refuse_other_formats(path)
    with drawing(), replacing(path) as temporary:
        match path.suffix.lower():
            case ".svg":
                figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": None})
            case ".png":
                _write_png(figure, temporary)
            case _:
                figure.savefig(temporary, format="pdf", metadata=dict.fromkeys(("CreationDate", "Creator", "Producer")))
    return path


def _refuse_other_formats(path: Path) -> None:
    if path.suffix.lower() not in PICTURES:
        ending = f"{path.suffix!r} is not the ending of a picture" if path.suffix else "the name has no ending"
        raise SettingsError(f"{path}: {ending}. Use a name that ends in .svg, .png or .pdf.")


def _write_png(figure: Figure, path: Path) -> None:
    """Write a PNG file with a palette, which has a quarter of the size and suffices for flat colours."""
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS, metadata={"Software": None})
    palette = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    palette.save(path, format="PNG", optimize=True)
