"""Ways to run the command line: in this process, as installed, and on a terminal."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from suffice.cli.main import main
from support.processes import with_signals

SCRIPT = str(Path(sys.executable).with_name("suffice"))
MAZE = ("t-maze", "--horizon", "4", "--set", "length=2")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def suffice(*args: str) -> Ran:
    """Run the command line within this process, which is faster than starting another."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["suffice", *args]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main()
    finally:
        sys.argv = before
    return Ran(int(stopped.value.code or 0), out.getvalue(), err.getvalue())


def installed(*args: str, **options: Any) -> Ran:
    """Run the installed script, as a user does."""
    ran = subprocess.run([SCRIPT, *args], capture_output=True, text=True, timeout=60, check=False, **options)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def ok(*args: str) -> str:
    """Return what a command prints, which must succeed without messages on stderr."""
    ran = suffice(*args)
    assert (ran.code, ran.err) == (0, ""), ran.err
    return ran.out


def unwrapped(said: str) -> str:
    """Return printed text with line ends and runs of spaces replaced by single spaces."""
    return " ".join(said.split())


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return the bytes of all files in a folder, including hidden ones."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


ROWS = "episode,step,price,action,reward\n"
LOGS = {
    "empty.csv": "",
    "header.csv": ROWS,
    "column.csv": "episode,step,price,move,reward\n0,0,1,1,0\n",
    "twice.csv": ROWS + "0,0,1,1,0\n0,0,2,1,0\n",
    "gap.csv": ROWS + "0,0,1,1,0\n0,2,2,1,0\n",
    "missing.csv": ROWS + "0,0,1,1,0\n0,1,,1,0\n",
    "words.csv": ROWS + "0,0,1,1,much\n",
    "many.csv": ROWS + "".join(f"{i},0,{i / 7},1,0\n" for i in range(1200)),
    "wide.csv": ROWS + "".join(f"{i // 2},{i % 2},{i},1,0\n" for i in range(2400)),
    "log.txt": ROWS + "0,0,1,1,0\n",
    "notes.csv.gz": "no gzip",
    "schema.json": '{"actions": []}',
    "other.model": "no model",
}


def assert_mistake(here: Path, args: list[str], complaint: str) -> None:
    """Check that a command exits with code 2 after one line on stderr, and writes nothing."""
    for name, text in LOGS.items():
        (here / name).write_text(text)
    (here / "folder").mkdir()
    before = contents(here)
    ran = suffice(*args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("suffice: ") and ran.err.endswith("\n") and ran.err.count("\n") == 1
    assert complaint in ran.err
    assert contents(here) == before


def on_a_terminal(*args: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a process whose stderr is a terminal; return it and the end from which its output is read."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [SCRIPT, *args], stdout=subprocess.PIPE, stderr=theirs, env=environment, preexec_fn=with_signals()
    )
    os.close(theirs)
    return process, ours


def read_until(end: int, text: bytes, seconds: float = 60) -> bytes:
    """Read what a terminal shows until it shows a text, or until its process ends."""
    shown, until = b"", time.monotonic() + seconds
    while text not in shown and time.monotonic() < until:
        if select.select([end], [], [], 0.1)[0]:
            try:
                shown += os.read(end, 1 << 16)
            except OSError:  # Linux raises it when the other end is closed
                break
    return shown


END = b"\0 nothing shows this"


def without_colours(shown: bytes) -> bytes:
    """Remove the control sequences of a terminal."""
    return re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", shown)
