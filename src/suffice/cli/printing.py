"""Printing of text for people, in lines of at most 120 characters, with colours on a terminal."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from suffice.errors import visible

WIDEST = 120  # characters of a line
NARROWEST = 20  # characters of text beside a label, below which wrapping would be unreadable
OR = "   or   "  # between commands that a user may run next


def put(line: str, hang: int | None = None) -> None:
    """Print a line of logged data, wrapped with `hang` spaces before further lines (default: its indent and 4)."""
    line = visible(line)
    hang = len(line) - len(line.lstrip()) + 4 if hang is None else hang
    print("\n".join(wrapped(line, _width(sys.stdout), hang)))


def say(text: str, *, label: str = "", style: str = "", wrap: bool = True, file: TextIO | None = None) -> None:
    """Print a paragraph after a highlighted label. Text that users copy is not wrapped (`wrap=False`)."""
    file, text = file or sys.stdout, visible(text)
    label = f"{label} " if label else ""
    lines = wrapped(f"{label}{text}", _width(file), len(label) or 2) if wrap else [f"{label}{text}"]
    if not file.isatty():
        print("\n".join(lines), file=file)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, highlight=False)
    body = "\n".join(lines)[len(label) :]
    console.print(Text.assemble((label, style or "bold"), (body, "dim" if style == "dim" else "")), soft_wrap=True)


def wrapped(text: str, width: int, hang: int) -> list[str]:
    """Break a text into lines of at most `width` characters; only words that are longer exceed it."""
    hang = hang if hang + NARROWEST <= width else 2
    return textwrap.wrap(
        text, width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
    ) or [text]  # fmt: skip


def _width(file: TextIO) -> int:
    return min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST) if file.isatty() else WIDEST


def say_block(rows: Iterable[tuple[str, str]]) -> None:
    """Print labels and texts in two aligned columns. A row without a label continues the one before."""
    rows = list(rows)
    width = max(len(label) for label, _ in rows) + 1
    for label, text in rows:
        say(text, label=f"{label:<{width}}")


def complain(text: str) -> None:
    """Print an error in one line on stderr."""
    say(" ".join(text.split()), label="suffice:", style="bold red", wrap=False, file=sys.stderr)


def say_next(*commands: str, label: str = "Next:") -> None:
    """Print commands that a user may run next, the most likely one first; one per line if they do not fit in one."""
    line = OR.join(commands)
    if len(label) + 1 + len(line) <= WIDEST:
        say(line, label=label, wrap=False)
        return
    for i, one in enumerate(commands):
        say(one, label=f"{'   or':<{len(label)}}" if i else label, wrap=False)


def command(*words: str, options: str = "") -> str:
    """Return a command of suffice to copy. Options are quoted already."""
    return f"suffice {shlex.join(words)} {options}".rstrip()


def named_after(path: str, suffix: str) -> str:
    """Return a name in the current folder for a file that is made from another."""
    name = Path(path).name
    return f"{name.partition('.')[0] or name}{suffix}"
