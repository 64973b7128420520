"""Measure the selection of columns among irrelevant ones, store each result, and write the page COLUMNS.md.

`python benchmarks/columns.py [PART…] [--seeds N] [--first S] [--cells N]` runs the parts `domains`, `cues`, `null`,
`cost`, `verdicts`, `narrow` and `peers` (default: all). Each result becomes a line of columns.jsonl, with its seed and
settings, as soon as it is known; what is stored already is not run again, so a run can be stopped and continued. All
results except CPU times depend on seed and settings alone. Only this command writes the file and the page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from columns_measures import PARTS, Row, warm_up
from columns_page import write_page

HERE = Path(__file__).parent
STORED = HERE / "columns.jsonl"


def stored_rows() -> list[Row]:
    """Read the results so far."""
    return [json.loads(line) for line in STORED.read_text().splitlines()] if STORED.exists() else []


def missing(parts: Sequence[str], seeds: range, most: int | None) -> Iterator[Row]:
    """List the part, seed and settings of results that are not stored: all cells of a seed before the next seed."""
    known = stored_rows()
    for seed in seeds:
        for part in parts:
            for settings in PARTS[part].cells[:most]:
                cell = {"part": part, "seed": seed, **settings}
                if not any(cell.items() <= row.items() for row in known):
                    yield cell


def main() -> None:
    """Run what is missing of the parts that are named, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds; 0 writes the page alone")
    parser.add_argument("--first", type=int, default=40, help="the first seed")
    parser.add_argument("--cells", type=int, help="run only the first cells of each part, which are the cheapest")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"{sorted(unknown)[0]!r} is not a part. Choose from {', '.join(PARTS)}.")
    cells = list(missing(given.parts or list(PARTS), range(given.first, given.first + given.seeds), given.cells))
    if cells:
        warm_up()
    for cell in cells:
        settings = {name: value for name, value in cell.items() if name not in ("part", "seed")}
        row = cell | PARTS[cell["part"]].measure(cell["seed"], **settings)
        with STORED.open("a") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        print(row, flush=True)
    write_page(stored_rows(), HERE / "COLUMNS.md")


if __name__ == "__main__":
    main()
