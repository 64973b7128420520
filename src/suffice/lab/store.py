"""Results on disk, as one file per run and as a compressed bundle of all runs of a study."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from suffice.errors import SufficeError
from suffice.files.atomic import replacing
from suffice.lab.experiment import Result

RUNS = "runs"  # folder of single results
BUNDLE = ".jsonl.gz"  # ending of bundles; ten thousand results take a few hundred kilobytes


def save(result: Result, folder: Path) -> None:
    """Write one result atomically to the folder of runs."""
    try:
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SufficeError(
            f"{folder / RUNS}: the folder cannot be created ({error.strerror}). Move or rename the file of that name."
        ) from error
    with replacing(folder / RUNS / f"{result.experiment.id}.json") as temporary:
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")


def load(folder: Path) -> dict[str, Result]:
    """Return all results of a folder by id; files of single runs take precedence over bundles."""
    found = [result for file in sorted(folder.glob(f"*{BUNDLE}")) for result in load_bundle(file)]
    for file in sorted((folder / RUNS).glob("*.json")):
        found.append(_decoded(file.read_bytes(), str(file)))
    return {result.experiment.id: result for result in found}


def save_bundle(results: Iterable[Result], file: Path) -> None:
    """Write results ordered by id, one per line, so that the bytes do not depend on the order of runs."""
    lines = [msgspec.json.encode(result) for result in sorted(results, key=lambda result: result.experiment.id)]
    with replacing(file) as temporary:
        temporary.write_bytes(gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0))


def load_bundle(file: Path) -> list[Result]:
    """Read results that `save_bundle` wrote."""
    try:
        lines = gzip.decompress(file.read_bytes()).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise SufficeError(
            f"{file}: this is not a file of results ({error}). Delete it to run its experiments again."
        ) from error
    return [_decoded(line, f"{file}, line {i}") for i, line in enumerate(lines, 1)]


def _decoded(text: bytes, where: str) -> Result:
    try:
        return msgspec.json.decode(text, type=Result)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SufficeError(
            f"{where}: this is not a result of an experiment ({error}). Delete it to run it again."
        ) from error
