"""What a run took, in a small file beside the model: it differs from run to run although the result does not."""

from __future__ import annotations

from pathlib import Path

import msgspec

from suffice.files import json_text
from suffice.files.atomic import replacing


class RunNotes(msgspec.Struct, frozen=True):
    """What a run took."""

    seconds: float
    bytes: int  # peak memory of the process
    log_file: str = ""  # its fingerprint, by which it is known again however it is read
    log_files: list[str] = []  # of several logs instead


def save_run_notes(path: str | Path, notes: RunNotes) -> None:
    """Write the small file beside a model."""
    with replacing(_notes_path(path)) as temporary:
        temporary.write_bytes(msgspec.json.encode(notes))


def load_run_notes(path: str | Path) -> RunNotes | None:
    """What the run took, if the small file is still beside the model."""
    try:
        return json_text.read(_notes_path(path), RunNotes)
    except (OSError, ValueError):
        return None


def _notes_path(path: str | Path) -> Path:
    return Path(f"{path}.run.json")
