"""Scripts of the gallery write pictures as anyone would; the page takes them from where they were written.

Pages that code hosts show too have copies in docs/pictures. They must say what the scripts draw now.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.util import logging
from sphinx_gallery.scrapers import figure_rst

COPIES = Path(__file__).parent.parent / "pictures"
TEXT = re.compile(r"<text[^>]*>([^<]*)</text>")


class PicturesOfExamples:
    """A scraper, in the words of sphinx-gallery: after each block it is asked for that block's pictures."""

    def __repr__(self) -> str:
        return "PicturesOfExamples"  # part of the environment that Sphinx keeps: without an address in memory

    def __call__(self, block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
        """Moves each new SVG to the page, and removes the same picture as PNG."""
        folder, taken = Path(block_vars["src_file"]).parent, []
        for picture in sorted(folder.glob("*.svg")):
            warn_if_stale(picture)
            place = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
            picture.replace(place)
            picture.with_suffix(".png").unlink(missing_ok=True)
            taken.append(str(place))
        return figure_rst(taken, gallery_conf["src_dir"]) if taken else ""


def warn_if_stale(picture: Path) -> None:
    """By its words and numbers: where exactly lines run may differ in the last digit from machine to machine."""
    copy = COPIES / picture.name
    if not copy.exists() or words(copy) != words(picture):
        told = "docs/pictures/%s is not what its script draws; run: python docs/pictures/draw.py"
        logging.getLogger(__name__).warning(told, picture.name)


def words(picture: Path) -> list[str]:
    """Everything written in an SVG."""
    return TEXT.findall(picture.read_text(encoding="utf-8"))
