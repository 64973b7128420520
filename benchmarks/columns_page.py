"""The page COLUMNS.md, made from the stored results of `columns.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
HEAD = """# Columns that matter, among irrelevant ones

Measured by `python benchmarks/columns.py`, from the results in `benchmarks/columns.json`. Logs get ten categories of
four values, five autocorrelated walks and five Gaussian columns, none of which has to do with anything
([how it works](../docs/theory.md#12-which-columns-matter), [how to use it](../docs/howto/wide-logs.md)). Times are CPU
seconds of the selection.
"""


def write_page(stored: Mapping[str, list[Row]], path: Path) -> None:
    """Write the tables of the parts that have been run."""
    parts = [HEAD, *(line for name, make in PARTS.items() if stored.get(name) for line in make(stored[name]))]
    path.write_text("\n".join(parts).rstrip() + "\n")


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"
    yield ""


def _grouped(rows: Sequence[Row], key: str) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def _domains(rows: list[Row]) -> Iterator[str]:
    irrelevant = sum(row["irrelevant"] for row in rows)
    yield "## Twenty irrelevant columns\n"
    yield (
        f"{len(rows)} logs, {irrelevant} irrelevant columns selected. Share of the optimum: the smallest over seeds, of"
        " the plan with the selected columns and of the plan from the clean log; *worst* is the largest loss against"
        " the clean log in a single log.\n"
    )
    lines = []
    for name, some in _grouped(rows, "domain").items():
        shares = [(row["value"] / row["optimum"], row["clean_value"] / row["optimum"]) for row in some]
        same = sum(row["states"] == row["clean_states"] for row in some)
        chosen = sorted({", ".join(row["columns"]) or "none" for row in some})
        lines.append(
            (
                name,
                f"{some[0]['episodes']:,}",
                len(some),
                "; ".join(chosen),
                f"{same} of {len(some)}",
                f"{min(share for share, _ in shares):.3f}",
                f"{min(clean for _, clean in shares):.3f}",
                f"{max(max(clean - share for share, clean in shares), 0):.3f}",
                f"{max(row['seconds'] for row in some):.1f}",
            )
        )
    head = ("domain", "episodes", "logs", "selected", "states as clean", "share", "clean", "worst", "seconds")
    yield from _table(head, lines)


def _cues(rows: list[Row]) -> Iterator[str]:
    yield "## Cues in other forms\n"
    yield "A T-maze of length 5 whose cue is given in another form, with twenty irrelevant columns unless stated.\n"
    lines = []
    for name, some in _grouped(rows, "form").items():
        chosen = sorted({", ".join(row["columns"]) or "none" for row in some})
        right, wrong = sum(row["found"] for row in some), sum(row["irrelevant"] for row in some)
        lines.append((name, f"{right} of {len(some)}", wrong, "; ".join(chosen)))
    yield from _table(("cue", "found", "irrelevant columns", "selected"), lines)


def _null(rows: list[Row]) -> Iterator[str]:
    yield "## Logs in which nothing matters\n"
    yield "Twenty columns; number of logs in which any column is selected.\n"
    lines = [(row["kind"], f"{row['logs']:,}", row["at_0.05"], row["at_0.001"]) for row in rows]
    yield from _table(("logs", "number", "at δ = 0.05", "at δ = 0.001"), lines)


def _cost(rows: list[Row]) -> Iterator[str]:
    yield "## Cost\n"
    yield "T-maze, 3,000 episodes of 15 steps.\n"
    lines = [(row["columns"], f"{row['seconds']:.2f}", ", ".join(row["selected"])) for row in rows]
    yield from _table(("irrelevant columns", "seconds", "selected"), lines)


def _verdicts(rows: list[Row]) -> Iterator[str]:
    follow = sum(row["verdict"] == "follow" for row in rows)
    yield "## Verdicts in wide logs without an effect\n"
    yield (
        "300 episodes of six steps, 20 columns, rewards independent of everything: the verdict is to follow the plan"
        f" in {follow} of {len(rows)} logs; columns were selected in {sum(row['columns'] > 0 for row in rows)}.\n"
    )


def _peers(rows: list[Row]) -> Iterator[str]:
    yield "## Another learner, with all columns\n"
    yield (
        "States that ALERGIA (AALpy) finds with all columns, and the selection here, in a T-maze of 14 states (the"
        " selection counts one more, after the end), 5,000 episodes; irrelevant columns have four values.\n"
    )
    lines = [
        (row["columns"], row["seed"], row["eps"], row["aalpy_states"], f"{row['aalpy_seconds']:.1f}",
         row["suffice_states"], f"{row['suffice_seconds']:.1f}")
        for row in rows
    ]  # fmt: skip
    yield from _table(("irrelevant", "log", "eps", "AALpy", "seconds", "here", "seconds"), lines)


PARTS: dict[str, Callable[[list[Row]], Iterator[str]]] = {
    "domains": _domains,
    "cues": _cues,
    "null": _null,
    "cost": _cost,
    "verdicts": _verdicts,
    "peers": _peers,
}
