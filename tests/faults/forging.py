"""Forge checkpoint and model files: change their contents and keep the format and the checksums valid."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.files.archives import add_checksum

Contents = dict[str, Any]  # JSON and arrays by the names of their members


def read(path: Path) -> Contents:
    with zipfile.ZipFile(path) as archive:
        return {name: _decoded(name, archive.read(name)) for name in archive.namelist()}


def write(path: Path, contents: Contents, checksum: bool = True) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, _encoded(content))
    if checksum and path.suffix == ".checkpoint":
        add_checksum(path)


def forge(path: Path, change: Callable[[Contents], None], checksum: bool = True) -> None:
    contents = read(path)
    change(contents)
    write(path, contents, checksum)


def putting(name: str, place: float, value: float) -> Callable[[Contents], None]:
    """Return a change that puts a number into an array, at a place between its start (0) and its end (1)."""

    def change(contents: Contents) -> None:
        array = contents[f"{name}.npy"] = wide(contents[f"{name}.npy"])
        array.reshape(-1)[min(int(place * array.size), array.size - 1)] = value

    return change


def wide(array: NDArray[Any]) -> NDArray[Any]:
    """Convert an array of integers to 64 bits."""
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


def _decoded(name: str, data: bytes) -> Any:
    return json.loads(data) if name.endswith(".json") else np.lib.format.read_array(io.BytesIO(data))


def _encoded(content: Any) -> bytes:
    if not isinstance(content, np.ndarray):
        return json.dumps(content).encode()
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, content, (1, 0))
    return buffer.getvalue()
