"""Generator of docs/gallery.md and its pictures: run `python docs/gallery/make.py`, which takes a few minutes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import automata
from facts import facts_of
from pages import PAGES
from writing import write_page

from suffice.domains.registry import DOMAINS

HERE = Path(__file__).parent


def main() -> None:
    """Compute and write everything; the result is the same bytes every time."""
    gallery = []
    for name, domain in DOMAINS.items():
        start = time.perf_counter()
        facts = facts_of(name, domain())
        page = PAGES[name]
        (HERE / f"{name}.svg").write_text(page.draw(facts.domain).svg(), encoding="utf-8")
        automaton = automata.draw(facts.truth.minimal, name, page.words).svg()
        (HERE / f"{name}-automaton.svg").write_text(automaton, encoding="utf-8")
        gallery.append(facts)
        print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    HERE.with_suffix(".md").write_text(write_page(gallery), encoding="utf-8")


if __name__ == "__main__":
    main()
