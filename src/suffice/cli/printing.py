"""How it is said: in colour and wrapped on a terminal, in plain lines elsewhere, where scripts read."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TextIO

from suffice.errors import visible


def put(line: str) -> None:
    """A line that holds whatever was logged."""
    print(visible(line))


def say(text: str, *, label: str = "", style: str = "", wrap: bool = True, file: TextIO | None = None) -> None:
    """A paragraph, its label bold; what may be copied had better not be wrapped."""
    file, text = file or sys.stdout, visible(text)
    label = f"{label} " if label else ""
    if not file.isatty():
        print(f"{label}{text}", file=file)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, highlight=False)
    console.print(Text.assemble((label, style or "bold"), (text, "dim" if style == "dim" else "")), soft_wrap=not wrap)


def complain(text: str) -> None:
    """What went wrong, in one line on stderr."""
    say(" ".join(text.split()), label="suffice:", style="bold red", wrap=False, file=sys.stderr)


def say_next(*commands: str) -> None:
    """What one may do with the result: commands to copy, the likeliest first."""
    say("   or   ".join(commands), label="Next:", wrap=False)


def command(*words: str, options: str = "") -> str:
    """A command of suffice to copy; options are quoted already."""
    return f"suffice {shlex.join(words)} {options}".rstrip()


def named_after(path: str, suffix: str) -> str:
    """A name for what is made of a file, in the current folder."""
    name = Path(path).name
    return f"{name.partition('.')[0] or name}{suffix}"
