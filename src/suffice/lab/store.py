"""Results on disk: a file for each run, and one for all of a list once it is done, small enough to keep."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from suffice.errors import SufficeError
from suffice.files.atomic import replacing
from suffice.lab.experiment import Result

RUNS = "runs"  # the folder of single results
BUNDLE = ".jsonl.gz"  # how the file of all results ends; ten thousand of them take a few hundred kilobytes


def save(result: Result, folder: Path) -> None:
    """One result, whole or not at all."""
    try:
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SufficeError(f"{folder / RUNS}: the folder cannot be made ({error.strerror}); move that file") from error
    with replacing(folder / RUNS / f"{result.experiment.id}.json") as temporary:
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")


def load(folder: Path) -> dict[str, Result]:
    """All results of a folder, by the id of the experiment; single ones count more than those kept together."""
    found = [result for file in sorted(folder.glob(f"*{BUNDLE}")) for result in load_bundle(file)]
    for file in sorted((folder / RUNS).glob("*.json")):
        found.append(_decoded(file.read_bytes(), str(file)))
    return {result.experiment.id: result for result in found}


def save_bundle(results: Iterable[Result], file: Path) -> None:
    """One line for each result, ordered by id: the order in which they came about does not show."""
    lines = [msgspec.json.encode(result) for result in sorted(results, key=lambda result: result.experiment.id)]
    with replacing(file) as temporary:
        temporary.write_bytes(gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0))


def load_bundle(file: Path) -> list[Result]:
    """What `save_bundle` wrote."""
    try:
        lines = gzip.decompress(file.read_bytes()).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise SufficeError(f"{file}: no file of results ({error}); delete it, and they are run again") from error
    return [_decoded(line, f"{file}, line {i}") for i, line in enumerate(lines, 1)]


def _decoded(text: bytes, where: str) -> Result:
    try:
        return msgspec.json.decode(text, type=Result)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SufficeError(f"{where}: no result of an experiment ({error}); delete it, and it is run again") from error
