"""Output that several commands share, as JSON for scripts, and as tables and sentences for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from suffice.cli.environment import is_unicode
from suffice.cli.printing import WIDEST, put, say
from suffice.errors import visible

if TYPE_CHECKING:
    from suffice.models.model import Model

WIDEST_INDENT = 80  # characters before the last column of a table, beyond which it gets lines of its own


def describe(model: Model, path: str) -> dict[str, Any]:
    """Return what `suffice info --json` prints about a model file."""
    from suffice.files.run_notes import load_run_notes
    from suffice.models.log_warnings import stored_warnings
    from suffice.models.model_data import model_dict

    notes = load_run_notes(path)
    known = replace(model, warnings=stored_warnings(notes))
    return model_dict(known, notes.seconds if notes else None, notes.bytes if notes else None)


def print_comparison(model: Model) -> None:
    """Print the kinds of memory that were compared, one line each; nothing if the kind was given."""
    from suffice.models.memory_texts import comparison_lines

    for line in comparison_lines(model.about):
        say(line, wrap=False)


def print_sentences(model: Model) -> None:
    """Print the full guarantee, the refinement, the languages needed and the forecast of the plan."""
    from suffice.models.details import detail_sentences

    for sentence in detail_sentences(model):
        say(sentence)


def print_states(model: Model) -> None:
    """Print each state with its share of the episodes, the plan's action and value, and a typical history.

    States in which the episode has ended share one line.
    """
    from suffice.data.listing import listed
    from suffice.models.model_data import state_rows

    rdp, rows, gathered = model.rdp, [], []
    called = {"t": "layer", "state": "state"}
    for row, address in zip(state_rows(model), rdp.addresses(), strict=True):
        name, share, q = (
            " ".join(f"{called[part]} {i}" for part, i in address.items()),
            f"{row['share']:.1%}",
            row["state"],
        )
        if row["ended"]:
            gathered += [] if q == rdp.final else [f"{name} {share}"]
            continue
        advice = [] if model.plan is None else [str(row["action"]) if q else "", f"{row['value']:.4g}"]
        shared = row["common"] or ("nothing in common" if row["varies"] else "")
        rows.append([name, share, *advice, shared, f"e.g. {row['example']}" if q else "the beginning"])
    print_rows(rows, right=(1, 3) if model.plan is not None else (1,))
    if gathered:
        put(f"  over: {listed(gathered)}")


def print_rows(rows: list[list[str]], right: tuple[int, ...] = ()) -> None:
    """Print a table with aligned columns; those in `right` are aligned to the right.

    The last cell may be wrapped. If it starts too far to the right for that, it gets lines of its own.
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    before_last = 2 + sum(widths[:-1]) + 2 * (len(widths) - 1)
    own_line = before_last > WIDEST_INDENT and before_last + widths[-1] > WIDEST
    for row in rows:
        cells = [
            f"{cell:{'>' if i in right else '<'}{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        if own_line:
            put(f"  {'  '.join(cells[:-1])}".rstrip())
            put(f"{' ' * 8}{row[-1]}")
        else:
            put(f"  {'  '.join(cells)}".rstrip(), before_last + 5)


def print_undecided(model: Model, most: int) -> None:
    """Print up to `most` of the merges that more episodes might undo."""
    from suffice.models.details import undecided_lines

    _print_examples(undecided_lines(model, most))


def print_witnesses(model: Model, most: int) -> None:
    """Print up to `most` events whose frequencies distinguish two states."""
    from suffice.models.details import witness_lines

    _print_examples(witness_lines(model, most))


def _print_examples(lines: list[str]) -> None:
    """Print a heading and indented lines, if there are any."""
    for heading in lines[:1]:
        say(heading)
    for line in lines[1:]:
        put(line)


def print_json(content: dict[str, Any]) -> None:
    """Print JSON, with characters escaped that are not printable, or that stdout cannot show."""
    lines = json.dumps(content, ensure_ascii=not is_unicode(sys.stdout), indent=1).split("\n")
    for line in lines:
        print(line if line.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line))


LABELS = {  # of JSON keys that do not explain themselves
    "bytes": "peak memory",
    "cut": "episodes cut",
    "dropped": "episodes dropped",
    "forced_share": "share merged by --cut",
    "languages": "|X| per layer",
    "learning_bytes": "learning needs, bytes",
    "learning_seconds": "learning takes, s",
    "lengths": "rows per episode",
    "letters": "distinct steps",
    "padded": "episodes padded",
    "second_look": "refinement",
    "sorted": "rows out of order",
    "total": "weights add up to",
    "values": "distinct values",
}


def print_table(content: Mapping[str, Any], width: int = 0) -> None:
    """Print names and values in two aligned columns, the first at least `width` wide, without empty values."""
    rows = {LABELS.get(name, name.replace("_", " ")): value for name, value in content.items()}
    width = max(width, *map(len, rows))
    for name, value in rows.items():
        if value not in (None, [], {}, ""):
            say(_shown(value), label=f"  {name:<{width}} ", style="cyan")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        from suffice.data.listing import layer_sizes

        return layer_sizes([_shown(each) for each in value])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
