"""Check that the site loads nothing from other hosts: `python docs/check.py build/docs`. Links to click are allowed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

ELSEWHERE = re.compile(r"\s*(?:https?:)?//")
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")
FETCHING = {"src", "srcset", "data", "poster"}  # attributes of any tag


class Fetched(HTMLParser):
    """Collects the addresses on other hosts that a browser would load with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect sources of a tag; links are loaded in the head only."""
        for name, value in attrs:
            fetches = name in FETCHING or (name == "href" and tag in ("link", "image", "use"))
            if fetches and ELSEWHERE.match(value or ""):
                self.places.append(value or "")
            elif name == "style":
                self.places += IN_STYLES.findall(value or "")


def fetched(folder: Path) -> Iterator[tuple[Path, str]]:
    """List each file that loads something from another host, with its address."""
    for path in sorted(folder.rglob("*")):
        text = path.read_text(encoding="utf-8") if path.suffix in (".html", ".css", ".svg") else ""
        if path.suffix in (".html", ".svg"):
            page = Fetched()
            page.feed(text)
            yield from ((path, place) for place in page.places)
        yield from ((path, place) for place in IN_STYLES.findall(text) if path.suffix != ".html" or "<style" in text)


if __name__ == "__main__":
    found = [f"{path}: {place}" for path, place in fetched(Path(sys.argv[1]))]
    sys.exit("\n".join(["The site loads from other hosts:", *found]) if found else 0)
