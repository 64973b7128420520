"""Work that is not lost: what a run has found so far, in a folder; the same command goes on where it was killed.

A run is told by what its result depends on: the log's content and every setting but how much of a machine it may take.
Its parts (the first look, the second …) write a file after each layer or round; a file appears whole or not at all, and
holds data, never code. What is read again is checked against the log, like everything that comes from outside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import msgspec

from suffice.archives import Array, Kind, Shape, opened, write_archive
from suffice.errors import CheckpointError, SufficeError
from suffice.version import __version__

FORMAT, FORMAT_VERSION = "suffice-checkpoint", 1
RUN, SUFFIX = "run.checkpoint", ".checkpoint"
KIND = Kind(
    "checkpoint",
    FORMAT,
    FORMAT_VERSION,
    CheckpointError,
    remake="delete the folder, and run the command again",
    make="a run makes one with --checkpoint, and not",
)


class _Run(msgspec.Struct):
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
    figures: dict[str, list[str]]
    texts: int


class Found(NamedTuple):
    """What a step found: small figures, sentences, and arrays."""

    figures: dict[str, list[str]]
    texts: list[str]
    arrays: dict[str, Array]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a run: steps one after the other."""

    name: str
    folder: Path | None = None  # None: nothing is kept
    run: str = ""

    def part(self, name: str) -> Part:
        """A part of this part."""
        return Part(f"{self.name}-{name}" if self.name else name, self.folder, self.run)

    def recall(self, step: int, declared: Mapping[str, tuple[str, Shape]]) -> Found | None:
        """What a step found, if the run got so far."""
        if self.folder is None or not self._path(step).exists():
            return None
        with opened(self._path(step), KIND) as archive:
            header = archive.header(_Step)
            if header.run != self.run:
                raise ValueError("it is of another run")
            return Found(header.figures, archive.text("texts", list[str]), archive.arrays(declared))

    def keep(self, step: int, found: Found) -> None:
        """Write down what a step found."""
        if self.folder is None:
            return
        header = _Step(FORMAT, FORMAT_VERSION, __version__, self.run, found.figures, len(found.texts))
        try:
            write_archive(self._path(step), header, {"texts": found.texts}, found.arrays)
        except SufficeError as error:
            raise CheckpointError(
                f"{error}; mend that and run the same command again: what was kept before is still good"
            ) from error

    def refuse(self, step: int, reason: str) -> NoReturn:
        """Complain about what a step is said to have found."""
        raise CheckpointError(f"{self._path(step)}: this checkpoint is damaged ({reason}); {KIND.remake}")

    def _path(self, step: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.name}-{step:06}{SUFFIX}"


NOWHERE = Part("")


def checkpoint_in(folder: Path, told: Mapping[str, object]) -> Part:
    """The checkpoint of a run in a folder, which is made if it is not there; one of another run is refused."""
    texts = {name: str(value) for name, value in told.items()}
    run = folder / RUN
    if run.exists():
        with opened(run, KIND) as archive:
            before = archive.header(_Run).told
        _refuse_another(folder, before, texts)
    else:
        _make(folder)
        try:
            write_archive(run, _Run(FORMAT, FORMAT_VERSION, __version__, texts), {}, {})
        except SufficeError as error:
            raise CheckpointError(f"{error}; give --checkpoint another folder") from error
    return Part("", folder, hashlib.blake2b(repr(sorted(texts.items())).encode(), digest_size=16).hexdigest())


def forget(folder: Path) -> None:
    """Remove a checkpoint, and its folder if nothing else is in it."""
    for file in sorted(folder.glob(f"*{SUFFIX}"), key=lambda file: file.name == RUN):  # what the rest belongs to, last
        file.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _make(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"{folder}: this is a file; --checkpoint names a folder")
    if folder.is_dir() and any(folder.glob(f"*{SUFFIX}")):
        raise CheckpointError(f"{folder}: there are checkpoints without {RUN}, of a run that nobody knows; delete them")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{folder}: the folder cannot be made ({error.strerror}); name another") from error


def _refuse_another(folder: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    differing = [name for name in dict.fromkeys([*now, *before]) if before.get(name) != now.get(name)]
    if differing:
        told = "; ".join(f"{name} was {before.get(name)}, and is {now.get(name)} now" for name in differing[:4])
        more = f"; and {len(differing) - 4} more" if len(differing) > 4 else ""
        raise CheckpointError(
            f"{folder}: this is the checkpoint of another run: {told}{more}; give that run's command again, or another "
            "folder, or delete this one"
        )
