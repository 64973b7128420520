"""Work that is not lost: what a run has found so far, in a folder; the same command goes on where it was killed.

A run is told by what its result depends on: the log's content and every setting but how much of a machine it may take.
Its parts (the first look, the second …) write a file after each layer or round; a file appears whole or not at all, and
holds data, never code. What is read again is checked against the log, like everything that comes from outside. One run
at a time works in a folder: it holds a lock, which ends with the process however that ends.
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

from suffice.errors import CheckpointError, SufficeError
from suffice.files.archives import Kind, Shape, opened, write_archive
from suffice.files.signals import if_interrupted, is_kept_in
from suffice.kernels.array_types import Array
from suffice.version import __version__

FORMAT, FORMAT_VERSION = "suffice-checkpoint", 2
RUN_FILE, STEP_FILE = "run.checkpoint", re.compile(r"[a-z]+(-[a-z]+)*-\d{6}\.checkpoint")
HASH = re.compile(r"[0-9a-f]{32}")  # that says nothing to a person
OF_RUN = Kind(
    "checkpoint",
    FORMAT,
    FORMAT_VERSION,
    CheckpointError,
    remake="delete the folder, and run the command again",
    make="a run makes one with --checkpoint, and not",
)
OF_STEP = replace(OF_RUN, remake="delete this file, and run the same command again")


class _RunRecord(msgspec.Struct):
    """What a folder is about."""

    format: str
    format_version: int
    version: str
    told: dict[str, str]


class _Step(msgspec.Struct):
    """What a file is of."""

    format: str
    format_version: int
    version: str
    run: str  # a hash of what tells the run
    step: str  # the name of the file, so that none passes for another
    figures: dict[str, list[str]]


class StepRecord(NamedTuple):
    """What a step found: small figures, records that JSON can hold, and arrays."""

    figures: dict[str, list[str]]
    records: Any
    arrays: dict[str, Array]


@dataclass(frozen=True, slots=True)
class CheckpointStage:
    """A part of a run: steps one after the other."""

    name: str
    folder: Path | None = None  # None: nothing is kept
    run: str = ""

    def part(self, name: str) -> CheckpointStage:
        """A part of this part."""
        return CheckpointStage(f"{self.name}-{name}" if self.name else name, self.folder, self.run)

    def recall(self, step: int, declared: Mapping[str, tuple[str, Shape]], records: type[Any]) -> StepRecord | None:
        """What a step found, if the run got so far: its arrays, and its records of a type."""
        if self.folder is None or not os.path.exists(self._path(step)):
            return None
        with opened(self._path(step), OF_STEP) as archive:
            header = archive.header(_Step)
            if (header.run, header.step) != (self.run, self._path(step).name):
                raise ValueError(f"it is {header.step!r} of run {header.run!r}")
            return StepRecord(header.figures, archive.text("records", records), archive.arrays(declared))

    def keep(self, step: int, found: StepRecord) -> None:
        """Write down what a step found."""
        if self.folder is None:
            return
        path = self._path(step)
        header = _Step(FORMAT, FORMAT_VERSION, __version__, self.run, path.name, found.figures)
        try:
            write_archive(path, header, {"records": found.records}, found.arrays)
        except SufficeError as error:
            raise CheckpointError(
                f"{error}; mend that and run the same command again: what was kept before is still good"
            ) from error

    @contextlib.contextmanager
    def doubting(self, step: int) -> Iterator[None]:
        """Whatever in the block turns out to be wrong with what a step is said to have found becomes one line."""
        try:
            yield
        except (ValueError, LookupError) as error:
            reason = str(error) if type(error) is ValueError else repr(error)
            raise CheckpointError(
                f"{self._path(step)}: this checkpoint is damaged ({reason}); {OF_STEP.remake}"
            ) from error

    def _path(self, step: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.name}-{step:06}.checkpoint"


NO_CHECKPOINT = CheckpointStage("")


@contextlib.contextmanager
def checkpoint_in(folder: Path, told: Mapping[str, object]) -> Iterator[CheckpointStage]:
    """The checkpoint of a run in a folder, which is made if it is not there; one of another run is refused."""
    texts = {name: str(value) for name, value in told.items()}
    _make(folder)
    with _alone_in(folder):
        if os.path.exists(folder / RUN_FILE):
            _refuse_another(folder, _told_before(folder), texts)
        else:
            _begin(folder, texts)
        run = hashlib.blake2b(repr(sorted(texts.items())).encode(), digest_size=16).hexdigest()
        with if_interrupted(is_kept_in(folder)):
            yield CheckpointStage("", folder, run)


def refuse_other_choices(folder: Path, told: Mapping[str, object]) -> None:
    """Before a log is read: refuse the checkpoint of a run that was told something else, or what can hold none."""
    _refuse_file(folder)
    if not folder.exists():
        return
    texts = {name: str(value) for name, value in told.items()}
    with _alone_in(folder):
        before = _told_before(folder) if os.path.exists(folder / RUN_FILE) else texts
        _refuse_another(folder, {name: before[name] for name in texts if name in before}, texts)


def steps_kept(folder: Path) -> int:
    """How many steps of a run are kept there, of whatever part."""
    return len(_steps(folder)) if folder.is_dir() else 0


def forget(folder: Path) -> None:
    """Remove a checkpoint, and its folder if nothing else is in it."""
    with _alone_in(folder):
        try:
            for file in (*_steps(folder), folder / RUN_FILE):  # what the rest belongs to, last
                file.unlink(missing_ok=True)
            if not any(folder.iterdir()):
                folder.rmdir()
        except OSError as error:
            reason = f"the checkpoint cannot be removed ({error.strerror}); delete it"
            raise CheckpointError(f"{folder}: {reason}") from error


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise CheckpointError(f"{folder}: the folder cannot be opened ({error.strerror}); name another") from error
    try:
        with contextlib.suppress(OSError):  # of file systems without locks
            _lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise CheckpointError(f"{folder}: another run is at work there; wait for it, or name another folder") from error


def _refuse_file(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"{folder}: this is a file; --checkpoint names a folder")


def _make(folder: Path) -> None:
    _refuse_file(folder)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{folder}: the folder cannot be made ({error.strerror}); name another") from error


def _begin(folder: Path, told: dict[str, str]) -> None:
    if _steps(folder):
        raise CheckpointError(
            f"{folder}: there are checkpoints without {RUN_FILE}, of a run that nobody knows; delete them"
        )
    try:
        write_archive(folder / RUN_FILE, _RunRecord(FORMAT, FORMAT_VERSION, __version__, told), {}, {})
    except SufficeError as error:
        raise CheckpointError(f"{error}; give --checkpoint another folder") from error


def _steps(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if STEP_FILE.fullmatch(file.name))


def _told_before(folder: Path) -> dict[str, str]:
    with opened(folder / RUN_FILE, OF_RUN) as archive:
        return archive.header(_RunRecord).told


def _refuse_another(folder: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    differing = [name for name in dict.fromkeys([*now, *before]) if before.get(name) != now.get(name)]
    if differing:
        told = "; ".join(_difference(name, before.get(name), now.get(name)) for name in differing[:4])
        more = f"; and {len(differing) - 4} more" if len(differing) > 4 else ""
        raise CheckpointError(
            f"{folder}: this is the checkpoint of another run: {told}{more}; give that run's command again, or another "
            "folder, or delete this one"
        )


def _difference(name: str, before: str | None, now: str | None) -> str:
    if before and now and HASH.fullmatch(before) and HASH.fullmatch(now):
        return f"the {name} is another"
    return f"{name} was {before}, and is {now} now"
