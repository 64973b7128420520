"""Files appear whole or not at all, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from suffice.errors import SufficeError
from suffice.files.atomic import replacing


def test_a_link_that_waits_is_not_followed(tmp_path: Path) -> None:
    """Somebody else may write to the folder, and guess the name of the temporary file."""
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


def test_what_processes_left_that_were_killed_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But not what others still write, nor what another machine does in the same folder."""
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


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "a.model"
    other.write_text("precious")
    path.symlink_to(other)
    with replacing(path) as temporary:
        temporary.write_text("ours")
    assert other.read_text() == "precious" and path.read_text() == "ours"


@pytest.mark.parametrize("name", ["x" * 250, "é" * 120, " ", "-", "a\nb", "\x1b[31m"])
def test_any_name_that_a_file_may_have(tmp_path: Path, name: str) -> None:
    with replacing(tmp_path / name) as temporary:
        temporary.write_text("ours")
    assert os.listdir(tmp_path) == [name]


def test_no_file_takes_the_place_of_a_pipe(tmp_path: Path) -> None:
    """Nor of a device: as root, `-o /dev/null` would leave the machine without one."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(SufficeError, match="this is a device or a pipe"), replacing(tmp_path / name):
            pass
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


def test_a_full_disk_is_told_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(SufficeError, match="make room, or choose another folder"), replacing(tmp_path / "a"):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_names_that_no_file_may_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(SufficeError), replacing(tmp_path / name) as temporary:
        temporary.write_text("ours")
    assert not os.listdir(tmp_path)
