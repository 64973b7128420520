"""Writing of HTML pages, which must be named .html or .htm and never replace other kinds of files."""

from __future__ import annotations

from pathlib import Path

from suffice.errors import SettingsError
from suffice.files.atomic import replacing

PAGES = (".html", ".htm")
BEGINNING = 1024  # bytes read to recognise an HTML page


def refuse_as_page(path: str | Path) -> None:
    """Raise SettingsError if a page must not be written to `path`; called before the page is computed."""
    path = Path(path)
    if path.suffix.lower() not in PAGES:
        raise SettingsError(f"{path}: the name of a page ends in .html or .htm. Use {path.with_suffix('.html')}.")
    if path.is_file() and not _is_page(path):
        raise SettingsError(f"{path}: the existing file is not an HTML page. Choose another name to keep that file.")


def write_page(path: str | Path, page: str) -> Path:
    """Write a page atomically, and return its path."""
    path = Path(path)
    refuse_as_page(path)
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _is_page(path: Path) -> bool:
    """Return whether a file is empty or begins like an HTML page."""
    with path.open("rb") as file:
        beginning = file.read(BEGINNING).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return not beginning or beginning.startswith((b"<!doctype html", b"<html", b"<!--"))
