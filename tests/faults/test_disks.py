"""Full disks and folders that cannot be written: one clear line, and existing checkpoints remain valid."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faults.conftest import IN_PIECES, Undisturbed
from faults.harness import LAYERS, Fault, fails_from, goes_on, here, learn, left_in, never_ready, suffice

Record = Callable[[str, object], None]

REASONS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT)


@pytest.mark.parametrize("reason", REASONS, ids=errno.errorcode.get)
def test_learn_reports_a_failing_disk_and_continues_later(
    reason: int, log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    """Writes fail from different files of a run on; afterwards the same command continues."""
    expected, faults = undisturbed(), 0
    for k in (1, 3, 10, 14, 17, 20):
        ran = suffice(*learn(log, tmp_path, LAYERS), fault=fails_from(k, tmp_path, reason))
        assert ran.refused, ran
        assert os.strerror(reason) in ran.err
        assert not (tmp_path / "a.model.run.json").exists()
        faults += 1
    record_property("failing writes", faults)
    goes_on(log, tmp_path, LAYERS, expected)


@pytest.mark.long
def test_learn_continues_after_any_single_failing_change_of_a_file(
    log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    expected, k = undisturbed(), 0
    while True:
        folder = tmp_path / str(k)
        folder.mkdir()
        ran = suffice(*learn(log, folder, LAYERS), fault=fails_from(k + 1, folder, errno.EIO, once=True))
        assert ran.code == 0 or ran.refused, ran
        goes_on(log, folder, LAYERS, expected)
        if ran.code == 0 and not ran.err and k > 40:
            break
        k += 1
    record_property("failing writes", k)


def test_learn_does_not_change_stored_checkpoints_when_a_write_fails(log: Path, tmp_path: Path) -> None:
    assert suffice(*learn(log, tmp_path, LAYERS), fault=fails_from(30, tmp_path)).refused
    kept = {file.name: file.read_bytes() for file in (tmp_path / "kept").iterdir()}
    assert len(kept) > 2 and not any(name.endswith(".tmp") for name in kept)
    assert suffice(*learn(log, tmp_path, LAYERS), fault=fails_from(2, tmp_path)).refused
    assert {file.name: file.read_bytes() for file in (tmp_path / "kept").iterdir()} == kept


@pytest.mark.parametrize("size", [0, 100, 700, 2000])
def test_learn_reports_a_file_size_limit(
    size: int, log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    """The limit of the operating system ends a write in its middle."""
    expected = undisturbed()
    ran = suffice(*learn(log, tmp_path, LAYERS), fault=_limited(size))
    assert ran.refused and "File too large" in ran.err, ran
    assert not list(tmp_path.rglob("*.tmp"))
    record_property("failing writes", 1)
    goes_on(log, tmp_path, LAYERS, expected)


def _limited(size: int) -> Fault:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.fixture(params=["20k", "40k"])
def tiny(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of a few kilobytes, if the user may."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only an administrator may mount a disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_learn_reports_a_full_disk_and_continues_on_a_larger_one(
    tiny: Path, log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    """Checkpoints that fit are stored; copied to a larger disk, the run continues from them."""
    expected = undisturbed()
    ran = suffice(*learn(log, tiny, LAYERS))
    assert ran.refused and os.strerror(errno.ENOSPC) in ran.err, ran
    larger = tmp_path / "larger"
    shutil.copytree(tiny, larger)
    assert left_in(larger) == ["kept"] and len(left_in(larger / "kept")) > 1
    record_property("failing writes", 1)
    goes_on(log, larger, LAYERS, expected)


@pytest.mark.parametrize(
    "words",
    [
        ("explore", "a.model", "-o", "out/page.html"),
        ("draw", "a.model", "-o", "out/picture.svg"),
        ("export", "a.model", "--format", "json", "-o", "out/a.json"),
        ("simulate", "t-maze", "--episodes", "10", "-o", "out/log.parquet"),
        ("check", "log.parquet", "--write-schema", "out/schema.json"),
        ("learn", "log.parquet", "-o", "out/b.model"),
    ],
    ids=lambda words: words[0],
)
def test_commands_write_their_output_completely_or_not_at_all(
    words: tuple[str, ...], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Record
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(log, "log.parquet")
    here("learn", "log.parquet", "-o", "a.model")
    assert here(*words[:-1], f"a{Path(words[-1]).suffix}").code == 0  # compiles and imports for children
    out = tmp_path / "out"
    out.mkdir()
    for fault in (fails_from(1, out), never_ready(out), _limited(50)):
        ran = suffice(*words, fault=fault)
        assert ran.refused and words[-1] in ran.err, ran
        assert left_in(out) == []
    before = b"what was there before"
    (tmp_path / words[-1]).write_bytes(before)
    assert suffice(*words, fault=never_ready(out)).refused
    assert (tmp_path / words[-1]).read_bytes() == before and left_in(out) == [Path(words[-1]).name]
    record_property("failing writes", 4)


def test_learn_keeps_checkpoints_if_the_model_cannot_be_written(
    log: Path, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    expected = undisturbed()
    output = tmp_path / "models"
    output.mkdir()
    words = ("learn", log, "-o", output / "a.model", "--checkpoint", tmp_path / "kept", "--stationary", "no")
    ran = suffice(*words, fault=fails_from(1, output))
    assert ran.refused and "a.model" in ran.err and left_in(output) == []
    assert len(left_in(tmp_path / "kept")) == 11
    assert suffice(*words).code == 0
    assert (output / "a.model").read_bytes() == expected and left_in(tmp_path) == ["models"]


def test_learn_succeeds_although_the_checkpoint_cannot_be_removed(
    log: Path, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    expected = undisturbed()
    ran = suffice(*learn(log, tmp_path, LAYERS), fault=_removes_no_layers)
    assert ran.code == 0 and (tmp_path / "a.model").read_bytes() == expected
    reason = "the checkpoint cannot be removed (Permission denied). Delete it yourself."
    assert ran.err == f"suffice: {tmp_path / 'kept'}: {reason}\n"
    goes_on(log, tmp_path, LAYERS, expected)


def _removes_no_layers() -> None:
    def hook(event: str, args: tuple[object, ...]) -> None:
        if event == "os.remove" and str(args[0]).endswith(".checkpoint"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    sys.addaudithook(hook)


@pytest.mark.usefixtures("pieces")
def test_learn_reports_a_full_temporary_folder(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Undisturbed, record_property: Record
) -> None:
    """The steps of a large log are stored in a temporary file."""
    options = IN_PIECES
    expected = undisturbed(*options)
    folder = tmp_path / "temporary"
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for fault in (None, fails_from(1, folder), _limited(100)):
        ran = suffice(*learn(log, tmp_path, options), fault=fault)
        assert ran.refused and "TMPDIR" in ran.err, ran
        folder.mkdir(exist_ok=True)
        assert left_in(folder) == [] and left_in(tmp_path) == ["temporary"]
    folder.rmdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    record_property("failing writes", 3)
    goes_on(log, tmp_path, options, expected)
