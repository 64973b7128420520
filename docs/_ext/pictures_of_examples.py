"""Show the pictures that scripts of the gallery write.

Pages that are also read on code hosts have copies in docs/pictures; a copy that differs from what its script draws is
reported.
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
    """Image scraper of sphinx-gallery, called after each block of a script."""

    def __repr__(self) -> str:
        return "PicturesOfExamples"  # stored in the environment of Sphinx, so without an address in memory

    def __call__(self, block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
        """Move each new SVG to the page, and remove the same picture as PNG."""
        folder, taken = Path(block_vars["src_file"]).parent, []
        for picture in sorted(folder.glob("*.svg")):
            warn_if_stale(picture)
            place = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
            picture.replace(place)
            picture.with_suffix(".png").unlink(missing_ok=True)
            taken.append(str(place))
        return figure_rst(taken, gallery_conf["src_dir"]) if taken else ""


def warn_if_stale(picture: Path) -> None:
    """Compare words and numbers only: coordinates may differ in the last digit between machines."""
    copy = COPIES / picture.name
    if not copy.exists() or words(copy) != words(picture):
        message = "docs/pictures/%s is not what its script draws; run: python docs/pictures/draw.py"
        logging.getLogger(__name__).warning(message, picture.name)


def words(picture: Path) -> list[str]:
    """List the texts of an SVG."""
    return TEXT.findall(picture.read_text(encoding="utf-8"))
