"""The page COLUMNS.md, made from the stored results of `columns.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LEVELS = ("at_0.05", "at_0.001")
HEAD = """# Columns that matter, among irrelevant ones

Measured by `python benchmarks/columns.py`, which stores every result with its seed and settings in
`benchmarks/columns.jsonl` and writes this page from them. Logs get ten categories of four values, five autocorrelated
walks and five Gaussian columns, none of which has to do with anything
([how it works](../docs/theory.md#12-which-columns-matter), [how to use it](../docs/howto/wide-logs.md)). Each seed
gives one log, except where a number of logs is stated. Times are CPU seconds of the selection, the largest over logs.
"""


def write_page(rows: Sequence[Row], path: Path) -> None:
    """Write the tables of the parts that have been run."""
    stored = _grouped(rows, "part")
    parts = [HEAD, *(line for name, make in PARTS.items() if name in stored for line in make(stored[name]))]
    path.write_text("\n".join(parts).rstrip() + "\n")


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"
    yield ""


def _grouped(rows: Sequence[Row], *keys: str) -> dict[Any, list[Row]]:
    """Group rows by a setting, or by several."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        group = tuple(row[key] for key in keys)
        found.setdefault(group if len(keys) > 1 else group[0], []).append(row)
    return found


def _seeds(rows: Sequence[Row]) -> str:
    """Return the seeds of rows as ranges, such as "40–42, 45"."""
    found: list[list[int]] = []
    for seed in sorted({row["seed"] for row in rows}):
        if found and seed == found[-1][-1] + 1:
            found[-1].append(seed)
        else:
            found.append([seed])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in found)


def _selected(rows: Sequence[Row]) -> str:
    """Return the selections that occurred."""
    return "; ".join(sorted({", ".join(row["columns"]) or "none" for row in rows}))


def _slowest(rows: Sequence[Row], key: str = "seconds") -> str:
    return f"{max(row[key] for row in rows):.1f}"


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
        lines.append(
            (
                name,
                f"{some[0]['episodes']:,}",
                len(some),
                _seeds(some),
                _selected(some),
                f"{same} of {len(some)}",
                f"{min(share for share, _ in shares):.3f}",
                f"{min(clean for _, clean in shares):.3f}",
                f"{max(max(clean - share for share, clean in shares), 0):.3f}",
                _slowest(some),
            )
        )
    head = ("domain", "episodes", "logs", "seeds", "selected", "states as clean", "share", "clean", "worst", "seconds")
    yield from _table(head, lines)


def _cues(rows: list[Row]) -> Iterator[str]:
    yield "## Cues in other forms\n"
    yield "A T-maze of length 5 whose cue is given in another form, with twenty irrelevant columns unless stated.\n"
    lines = []
    for name, some in _grouped(rows, "form").items():
        right, wrong = sum(row["found"] for row in some), sum(row["irrelevant"] for row in some)
        lines.append((name, _seeds(some), f"{right} of {len(some)}", wrong, _selected(some)))
    yield from _table(("cue", "seeds", "found", "irrelevant columns", "selected"), lines)


def _null(rows: list[Row]) -> Iterator[str]:
    yield "## Logs in which nothing matters\n"
    yield "Twenty columns; number of logs in which any column is selected.\n"
    lines = [
        (kind, f"{sum(row['logs'] for row in some):,}", _seeds(some), *(sum(row[at] for row in some) for at in LEVELS))
        for kind, some in _grouped(rows, "kind").items()
    ]
    yield from _table(("logs", "number", "seeds", "at δ = 0.05", "at δ = 0.001"), lines)


def _cost(rows: list[Row]) -> Iterator[str]:
    yield "## Cost\n"
    yield "T-maze, 3,000 episodes of 15 steps.\n"
    lines = [
        (number, _seeds(some), f"{max(row['seconds'] for row in some):.2f}", _selected(some))
        for number, some in _grouped(rows, "irrelevant").items()
    ]
    yield from _table(("irrelevant columns", "seeds", "seconds", "selected"), lines)


def _verdicts(rows: list[Row]) -> Iterator[str]:
    follow = sum(row["verdict"] == "follow" for row in rows)
    yield "## Verdicts in wide logs without an effect\n"
    yield (
        "300 episodes of six steps, 20 columns, rewards independent of everything: the verdict is to follow the plan"
        f" in {follow} of {len(rows)} logs (seeds {_seeds(rows)}); columns were selected in"
        f" {sum(bool(row['columns']) for row in rows)}.\n"
    )


def _narrow(rows: list[Row]) -> Iterator[str]:
    yield "## Logs with few distinct observations\n"
    yield (
        "Clean logs (no coins) and logs with two columns that are fair coins; exact values of stationary plans with all"
        " columns, with the selected ones, and with those that `suffice learn` uses by default. *Better* and *worse*"
        " count logs in which the plan of the default differs by more than 0.001 from that with all columns; *loss* is"
        " the largest loss of the default against all columns, as a share of the optimum.\n"
    )
    lines = []
    for (domain, coins), some in _grouped(rows, "domain", "coins").items():
        gains = [(_default(row) - row["all_value"]) for row in some]
        sizes = sorted({row["episodes"] for row in some})
        means = [sum(values) / len(some) for values in (
            [row["all_value"] for row in some], [row["value"] for row in some], [_default(row) for row in some]
        )]  # fmt: skip
        loss = max(0.0, *(-gain / row["optimum"] for gain, row in zip(gains, some, strict=True)))
        lines.append(
            (domain, coins, ", ".join(f"{n:,}" for n in sizes), len(some), _seeds(some), *(f"{v:.3f}" for v in means),
             sum(gain > 0.001 for gain in gains), sum(gain < -0.001 for gain in gains), f"{loss:.3f}")
        )  # fmt: skip
    head = ("domain", "coins", "episodes", "logs", "seeds", "all", "selected", "default", "better", "worse", "loss")
    yield from _table(head, lines)


def _default(row: Row) -> float:
    return float(row["all_value"] if row["keeps_all"] else row["value"])


def _peers(rows: list[Row]) -> Iterator[str]:
    yield "## Another learner, with all columns\n"
    yield (
        "States that ALERGIA (AALpy) finds with all columns, and the selection here, in a T-maze of 14 states (the"
        " selection counts one more, after the end), 5,000 episodes; irrelevant columns have four values.\n"
    )
    lines = [
        (row["irrelevant"], row["seed"], row["eps"], row["aalpy_states"], f"{row['aalpy_seconds']:.1f}",
         row["suffice_states"], f"{row['suffice_seconds']:.1f}")
        for row in rows
    ]  # fmt: skip
    yield from _table(("irrelevant", "seed", "eps", "AALpy", "seconds", "here", "seconds"), lines)


PARTS: dict[str, Callable[[list[Row]], Iterator[str]]] = {
    "domains": _domains,
    "cues": _cues,
    "null": _null,
    "cost": _cost,
    "verdicts": _verdicts,
    "narrow": _narrow,
    "peers": _peers,
}
