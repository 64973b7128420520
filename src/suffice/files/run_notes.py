"""Time, memory and warnings of a run, beside the model: they vary between runs that give the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from suffice.files import json_text
from suffice.files.atomic import replacing


class RunNotes(msgspec.Struct, frozen=True):
    """Time and memory of a run, fingerprints of its logs, and warnings about them."""

    seconds: float
    bytes: int  # peak memory of the process
    log_file: str = ""  # fingerprint of the log, the same however the log is read
    log_files: list[str] = []  # fingerprints, if there are several logs
    warnings: list[dict[str, Any]] = []  # about the logs, see `models.log_warnings`


def save_run_notes(path: str | Path, notes: RunNotes) -> None:
    """Write the notes to the file beside a model."""
    with replacing(notes_path(path)) as temporary:
        temporary.write_bytes(msgspec.json.encode(notes))


def load_run_notes(path: str | Path) -> RunNotes | None:
    """Read the notes from the file beside a model; None if it is missing or invalid."""
    try:
        return json_text.read(notes_path(path), RunNotes)
    except (OSError, ValueError):
        return None


def notes_path(path: str | Path) -> Path:
    """Return the file beside a model that has the notes."""
    return Path(f"{path}.run.json")
