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

    from suffice.models.model import Model

PICTURES = (".svg", ".png", ".pdf")
DOTS, COLOURS = 160, 128  # of PNG files: dots per inch, and size of the palette


def write_picture(
    model: Model,
    path: str | Path,
    *,
    title: str = "",
    labels: bool | None = None,
    brief: bool = True,
    most: int | None = None,
) -> Path:
    """Draw a model's automaton and plan to a file.

    Parameters
    ----------
    model
        Model to draw. Bins are labelled by their ranges.
    path
        File to write. The ending chooses the format: .svg, .png or .pdf.
    title
        Heading of the figure. Default: no heading.
    labels
        Whether arrows are labelled. Default: only if all labels fit on one page.
    brief
        Whether labels are limited to what distinguishes the arrows that leave the same state. Default: True.
    most
        Largest number of nodes, 4 to 1,000; the other states are combined. Default: 60, or fewer if they have more
        than 240 arrows.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    SettingsError
        If the name has another ending, or `most` is out of range.
    MissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> from suffice.view import write_picture
    >>> write_picture(model, "corridor.svg", title="Corridor").name
    'corridor.svg'
    """
    from suffice.view.automaton import draw_automaton

    _refuse_other_formats(Path(path))
    figure = draw_automaton(model.in_words.rdp, model.own_plan, title=title, labels=labels, brief=brief, most=most)
    return save_picture(figure, path)


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
