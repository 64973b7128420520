"""Generator of docs/gallery.md and its pictures: run `python docs/gallery/make.py`, which takes a few minutes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import automata
from facts import facts_of
from pages import PAGES
from writing import write_page

from suffice.domains.domain import Domain
from suffice.domains.registry import DOMAINS

HERE = Path(__file__).parent


def main() -> None:
    """Compute and write everything; the result is the same bytes every time."""
    gallery = []
    for name, domain in DOMAINS.items():
        start = time.perf_counter()
        page = PAGES[name]
        facts = facts_of(name, domain(**page.figures))
        (HERE / f"{name}.svg").write_text(page.draw(_default(domain)).svg(), encoding="utf-8")
        automaton = automata.draw(facts.truth.minimal, name, page.words).svg()
        (HERE / f"{name}-automaton.svg").write_text(automaton, encoding="utf-8")
        gallery.append(facts)
        print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    HERE.with_suffix(".md").write_text(write_page(gallery), encoding="utf-8")


def _default(domain: type[Domain]) -> Domain:
    """Return a domain with its default options, those that depend on the horizon included."""
    default = domain()
    return default.for_horizon(default.default_horizon)


if __name__ == "__main__":
    main()
