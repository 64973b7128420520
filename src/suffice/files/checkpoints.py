"""Checkpoints store intermediate results in a folder, from which the same command continues after it was killed.

A run is identified by what its result depends on: the content of the log and every setting except those of the machine.
Its stages (AdaCT-H, refinement …) write a file after each layer or round. A file appears complete or not at all, ends
with a checksum, and contains data, never code. What is read back is checked against the log, like all untrusted files.
One run at a time works in a folder: it holds a lock, which ends with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from suffice.errors import CheckpointError, SufficeError, parameter
from suffice.files.archives import Kind, Shape, opened, write_archive
from suffice.files.signals import if_interrupted, resume_message
from suffice.kernels.array_types import Array
from suffice.version import __version__

FORMAT, FORMAT_VERSION = "suffice-checkpoint", 4
RUN_FILE, STEP_FILE = "run.checkpoint", re.compile(r"[a-z]+(-[a-z]+)*-\d{6}\.checkpoint")
HASH = re.compile(r"[0-9a-f]{32}")  # not shown in messages
OF_RUN = Kind(
    "checkpoint",
    FORMAT,
    FORMAT_VERSION,
    CheckpointError,
    remake="delete the folder, and run the command again",
    make=("run the command again to create {path}.",) * 2,
    checksum=True,
)
OF_STEP = replace(OF_RUN, remake="delete this file, and run the same command again")


class _RunRecord(msgspec.Struct):
    """Header of the file that identifies the run of a folder."""

    format: str
    format_version: int
    version: str
    choices: dict[str, str]  # what the result of the run depends on


class _Step(msgspec.Struct):
    """Header of the file of a step."""

    format: str
    format_version: int
    version: str
    run: str  # hash that identifies the run
    step: str  # name of the file, so that it cannot be mistaken for another
    figures: dict[str, list[str]]


class StepRecord(NamedTuple):
    """The result of a step: small figures, records as JSON, and arrays."""

    figures: dict[str, list[str]]
    records: Any
    arrays: dict[str, Array]


@dataclass(frozen=True, slots=True)
class CheckpointStage:
    """A stage of a run: consecutive steps whose results are stored."""

    name: str
    folder: Path | None = None  # None: nothing is stored
    run: str = ""

    def part(self, name: str) -> CheckpointStage:
        """Return a stage within this stage."""
        return CheckpointStage(f"{self.name}-{name}" if self.name else name, self.folder, self.run)

    def recall(self, step: int, declared: Mapping[str, tuple[str, Shape]], records: type[Any]) -> StepRecord | None:
        """Read the result of a step, with the declared arrays and records of a type; None if it is not stored."""
        if self.folder is None or not os.path.exists(self._path(step)):
            return None
        with opened(self._path(step), OF_STEP) as archive:
            header = archive.header(_Step)
            if (header.run, header.step) != (self.run, self._path(step).name):
                raise ValueError(f"it is step {header.step!r} of run {header.run!r}")
            return StepRecord(header.figures, archive.text("records", records), archive.arrays(declared))

    def keep(self, step: int, found: StepRecord) -> None:
        """Store the result of a step."""
        if self.folder is None:
            return
        path = self._path(step)
        header = _Step(FORMAT, FORMAT_VERSION, __version__, self.run, path.name, found.figures)
        try:
            write_archive(path, header, {"records": found.records}, found.arrays, checksum=True)
        except SufficeError as error:
            raise CheckpointError(
                f"{error} Fix this and run the command again; existing checkpoints remain valid."
            ) from error

    @contextlib.contextmanager
    def validating(self, step: int) -> Iterator[None]:
        """Convert errors in the block, which checks the stored result of a step, to a CheckpointError."""
        try:
            yield
        except (ValueError, LookupError) as error:
            reason = str(error) if type(error) is ValueError else repr(error)
            raise OF_STEP.refuse(self._path(step), f"this checkpoint is damaged ({reason})") from error

    def _path(self, step: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.name}-{step:06}.checkpoint"


NO_CHECKPOINT = CheckpointStage("")


@contextlib.contextmanager
def checkpoint_in(folder: Path, choices: Mapping[str, object]) -> Iterator[CheckpointStage]:
    """Yield the checkpoint of a run in a folder, which is created if missing; that of another run is refused.

    `choices` has everything that the result of the run depends on.
    """
    texts = {name: str(value) for name, value in choices.items()}
    _make(folder)
    with _locked(folder):
        if os.path.exists(folder / RUN_FILE):
            _refuse_another(folder, _stored_choices(folder), texts)
        else:
            _begin(folder, texts)
        run = hashlib.blake2b(ascii(sorted(texts.items())).encode(), digest_size=16).hexdigest()
        with if_interrupted(resume_message(folder)):
            yield CheckpointStage("", folder, run)


def refuse_other_choices(folder: Path, choices: Mapping[str, object]) -> None:
    """Refuse a folder before a log is read: one with a checkpoint of other choices, or a file."""
    _refuse_file(folder)
    if not folder.exists():
        return
    texts = {name: str(value) for name, value in choices.items()}
    with _locked(folder):
        before = _stored_choices(folder) if os.path.exists(folder / RUN_FILE) else texts
        _refuse_another(folder, {name: before[name] for name in texts if name in before}, texts)


def stored_steps(folder: Path) -> int:
    """Return the number of steps stored in a folder, of all stages."""
    return len(_steps(folder)) if folder.is_dir() else 0


def forget(folder: Path) -> None:
    """Remove a checkpoint, and its folder if it is then empty."""
    with _locked(folder):
        try:
            for file in (*_steps(folder), folder / RUN_FILE):  # the file that identifies the run last
                file.unlink(missing_ok=True)
            if not any(folder.iterdir()):
                folder.rmdir()
        except OSError as error:
            reason = f"the checkpoint cannot be removed ({error.strerror}). Delete it yourself."
            raise CheckpointError(f"{folder}: {reason}") from error


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise CheckpointError(
            f"{folder}: the folder cannot be opened ({error.strerror}). Choose another folder."
        ) from error
    try:
        with contextlib.suppress(OSError):  # file systems without locks
            _lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise CheckpointError(
            f"{folder}: another run is using this folder. Wait for it to end, or choose another folder."
        ) from error


def _refuse_file(folder: Path) -> None:
    if os.path.lexists(folder) and not folder.is_dir():
        problem = "this is a file" if folder.exists() else "this is a link that leads nowhere"
        raise CheckpointError(f"{folder}: {problem}. Set {parameter('checkpoint')} to a folder.")


def _make(folder: Path) -> None:
    _refuse_file(folder)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"{folder}: the folder cannot be created ({error.strerror}). Create {folder.parent} "
            "first, or choose another folder."
        ) from error


def _begin(folder: Path, choices: dict[str, str]) -> None:
    if _steps(folder):
        raise CheckpointError(
            f"{folder}: there are checkpoints without {RUN_FILE}, so their run is unknown. Delete them."
        )
    try:
        header = _RunRecord(FORMAT, FORMAT_VERSION, __version__, choices)
        write_archive(folder / RUN_FILE, header, {}, {}, checksum=True)
    except SufficeError as error:
        raise CheckpointError(str(error)) from error


def _steps(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if STEP_FILE.fullmatch(file.name))


def _stored_choices(folder: Path) -> dict[str, str]:
    with opened(folder / RUN_FILE, OF_RUN) as archive:
        return archive.header(_RunRecord).choices


def _refuse_another(folder: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    differing = [name for name in dict.fromkeys([*now, *before]) if before.get(name) != now.get(name)]
    if differing:
        differences = "; ".join(_difference(name, before.get(name), now.get(name)) for name in differing[:4])
        more = f"; and {len(differing) - 4} more differences" if len(differing) > 4 else ""
        raise CheckpointError(
            f"{folder}: this is the checkpoint of another run: {differences}{more}. Repeat the command of that run, "
            "choose another folder, or delete this one."
        )


def _difference(name: str, before: str | None, now: str | None) -> str:
    if any(value and HASH.fullmatch(value) for value in (before, now)):
        return f"the {name} differs"
    return f"{name} was {before} and is now {now}"
