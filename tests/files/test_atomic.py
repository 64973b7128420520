"""Atomic writes: files appear complete or not at all, and no other file is changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from suffice.errors import SufficeError
from suffice.files.atomic import replacing


def test_replacing_does_not_follow_a_link_at_its_temporary_name(tmp_path: Path) -> None:
    """Another user may write to the folder and guess the name of the temporary file."""
    other, path = tmp_path / "other", tmp_path / "a.model"
    other.write_text("precious")
    with replacing(path) as temporary:
        name = temporary.name
    (tmp_path / name).symlink_to(other)
    with replacing(path) as temporary:
        assert temporary.name == name
        temporary.write_text("ours")
    assert other.read_text() == "precious" and path.read_text() == "ours" and not path.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["a.model", "other"]


def test_replacing_removes_temporary_files_of_killed_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of running processes and of other machines stay."""
    path, names = tmp_path / "a.model", []
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    for machine, process in (("ours", child.pid), ("ours", os.getppid()), ("theirs", child.pid)):
        with monkeypatch.context() as patched:
            patched.setattr(os, "uname", lambda machine=machine: SimpleNamespace(nodename=machine))
            patched.setattr(os, "getpid", lambda process=process: process)
            with replacing(path) as temporary:
                names.append(temporary.name)
    for name in names:
        (tmp_path / name).write_text("half")
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename="ours"))
    with replacing(path) as temporary:
        temporary.write_text("ours")
    assert sorted(os.listdir(tmp_path)) == sorted([*names[1:], "a.model"])


def test_replacing_replaces_a_link_and_does_not_follow_it(tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "a.model"
    other.write_text("precious")
    path.symlink_to(other)
    with replacing(path) as temporary:
        temporary.write_text("ours")
    assert other.read_text() == "precious" and path.read_text() == "ours"


@pytest.mark.parametrize("name", ["x" * 250, "é" * 120, " ", "-", "a\nb", "\x1b[31m"])
def test_replacing_writes_files_of_any_valid_name(tmp_path: Path, name: str) -> None:
    with replacing(tmp_path / name) as temporary:
        temporary.write_text("ours")
    assert os.listdir(tmp_path) == [name]


def test_replacing_refuses_pipes_and_devices(tmp_path: Path) -> None:
    """As root, `-o /dev/null` would otherwise remove the device."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(SufficeError, match="this is a device or a pipe"), replacing(tmp_path / name):
            pass
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


def test_replacing_reports_a_full_disk_with_a_fix(tmp_path: Path) -> None:
    with pytest.raises(SufficeError, match="Free some space, or choose another folder"), replacing(tmp_path / "a"):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_replacing_refuses_invalid_file_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(SufficeError), replacing(tmp_path / name) as temporary:
        temporary.write_text("ours")
    assert not os.listdir(tmp_path)
