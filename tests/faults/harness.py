"""Run the command line in child processes with injected faults.

Children are forked, so that kernels are already compiled. Faults come from Python's audit hooks, which are called
before any file is opened for writing, renamed, removed or created, and can kill the process or let the operation fail.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import IO, Any, NoReturn

from suffice.__main__ import main as main_in_a_process
from suffice.cli.main import main

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
KILLED = -signal.SIGKILL
Fault = Callable[[], None]


@dataclass(frozen=True)
class Ran:
    """Exit code and output of a child; a negative code is a signal."""

    code: int
    out: str
    err: str

    @property
    def refused(self) -> bool:
        """Whether the command ended with code 2 and one line, as for a mistake of the user."""
        lines = self.err.splitlines()
        return self.code == 2 and len(lines) == 1 and lines[0].startswith("suffice: ")


def here(*words: str | Path) -> Ran:
    """Run the command line in this process, which also compiles kernels for children."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["suffice", *map(str, words)]
    code = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as ending:
        code = int(ending.code or 0)
    finally:
        sys.argv = before
    return Ran(code, out.getvalue(), err.getvalue())


def suffice(*words: str | Path, fault: Fault | None = None, within: float = 60) -> Ran:
    """Run the command line in a child process."""
    with started(*words, fault=fault) as child:
        return child.ended(within)


@dataclass(frozen=True)
class Child:
    """A running command, whose output comes through pipes, to which file limits do not apply."""

    pid: int
    out: IO[str]
    err: IO[str]

    def ended(self, within: float = 60) -> Ran:
        """Wait for the child, kill it if it is late, and return its exit code and output."""
        late = Timer(within, os.kill, (self.pid, signal.SIGKILL))
        late.start()
        out, err = self.out.read(), self.err.read()
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        late.cancel()
        late.join()
        return Ran(code, out, err)


@contextmanager
def started(*words: str | Path, fault: Fault | None = None) -> Iterator[Child]:
    """Start a command in a child process."""
    (out, said), (err, complained) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_the_child([str(word) for word in words], fault, said, complained)
    os.close(said)
    os.close(complained)
    with open(out) as read_out, open(err) as read_err:
        yield Child(pid, read_out, read_err)


def _be_the_child(words: list[str], fault: Fault | None, out: int, err: int) -> NoReturn:
    """Run a command in the forked process, and exit without returning to the tests."""
    code = 70
    try:
        sys.stdout, sys.stderr = open(out, "w"), open(err, "w")  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["suffice", *words]
        if fault is not None:
            fault()
        main_in_a_process()
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _on_change(folder: Path, act: Callable[[str, int], None]) -> None:
    """Call `act` before each change of a file in a folder, with the audit event and its number from 1 on."""
    inside, count = str(folder), 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open":
            path, mode, flags = args
            changes = bool(set(mode) & set("wxa+")) if isinstance(mode, str) else bool(flags & WRITING)
        else:
            changes, path = event in CHANGES, args[0] if args else ""
        if changes and isinstance(path, str | Path) and os.path.abspath(path).startswith(inside):
            count += 1
            act(event, count)

    sys.addaudithook(hook)


def dies_before(k: int, folder: Path) -> Fault:
    """Kill the process before its k-th change of a file."""

    def act(event: str, count: int) -> None:
        if count == k:
            os.kill(os.getpid(), signal.SIGKILL)

    return lambda: _on_change(folder, act)


def never_ready(folder: Path) -> Fault:
    """Let files be written, but not renamed to their final names."""

    def act(event: str, count: int) -> None:
        if event == "os.rename":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return lambda: _on_change(folder, act)


def fails_from(k: int, folder: Path, reason: int = errno.ENOSPC, once: bool = False) -> Fault:
    """Let changes of files fail from the k-th on, or only the k-th; on a full disk files can still be removed."""
    spared = ("os.remove", "os.rmdir") if reason in (errno.ENOSPC, errno.EDQUOT) else ()

    def act(event: str, count: int) -> None:
        if (count == k or (count > k and not once)) and event not in spared:
            raise OSError(reason, os.strerror(reason))

    return lambda: _on_change(folder, act)


LAYERS: tuple[str, ...] = ()


def layered(options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options with layers as the memory, unless they choose another one."""
    chosen = any(option.startswith("--stationary") for option in options)
    return options if chosen else (*options, "--stationary", "no")


def left_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def learn(log: Path, folder: Path, options: tuple[str, ...]) -> tuple[str | Path, ...]:
    return ("learn", log, "-o", folder / "a.model", "--checkpoint", folder / "kept", *layered(options))


def goes_on(log: Path, folder: Path, options: tuple[str, ...], expected: bytes) -> None:
    """Check that the same command again gives the same model and leaves no other files."""
    ran = here(*learn(log, folder, options))
    assert ran.code == 0, ran.err
    assert (folder / "a.model").read_bytes() == expected
    assert left_in(folder) == ["a.model", "a.model.run.json"]
