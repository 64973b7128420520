"""Atomic writes: files appear complete or not at all, and no other file is changed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from suffice.errors import SufficeError
from suffice.files import atomic
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


def test_replacing_writes_to_the_target_of_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "target").write_text("before")
    (folder / "second").symlink_to("target")
    path = tmp_path / "a.model"
    path.symlink_to("folder/second")
    with replacing(path) as temporary:
        assert temporary.parent == folder  # the same file system, so that it can be renamed
        temporary.write_text("ours")
    assert path.is_symlink() and (folder / "second").is_symlink()
    assert (folder / "target").read_text() == path.read_text() == "ours"
    assert sorted(os.listdir(folder)) == ["second", "target"] and sorted(os.listdir(tmp_path)) == ["a.model", "folder"]


def test_replacing_creates_the_missing_target_of_a_link(tmp_path: Path) -> None:
    path, lost = tmp_path / "a.model", tmp_path / "lost.model"
    path.symlink_to("target")
    with replacing(path) as temporary:
        temporary.write_text("ours")
    assert path.is_symlink() and (tmp_path / "target").read_text() == "ours"
    lost.symlink_to("gone/target")
    with pytest.raises(SufficeError, match=r"there is no folder .*gone"), replacing(lost):
        pass


def test_replacing_refuses_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(SufficeError, match="no file can be written here"), replacing(tmp_path / "a"):
        pass


def test_replacing_refuses_links_through_folders_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Like /dev/stdout, which leads over /proc to an ordinary file if the output is redirected."""
    for name in ("dev", "proc"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("redirected")
    (tmp_path / "proc" / "1").symlink_to(tmp_path / "file")
    (tmp_path / "dev" / "stdout").symlink_to("../proc/1")
    (tmp_path / "link").symlink_to("dev/stdout")
    (tmp_path / "folder").symlink_to("dev")
    monkeypatch.setattr(atomic, "SYSTEM_FOLDERS", (str(tmp_path / "dev"), str(tmp_path / "proc")))
    for name in ("dev/stdout", "proc/1", "link", "folder/stdout", "dev/new", "folder/new"):
        refused = pytest.raises(SufficeError, match=r"no file can be written in .*Choose another folder")
        with refused, replacing(tmp_path / name) as temporary:
            temporary.write_text("ours")
    assert (tmp_path / "file").read_text() == "redirected"
    assert (tmp_path / "dev" / "stdout").is_symlink() and (tmp_path / "proc" / "1").is_symlink()
    assert os.listdir(tmp_path / "dev") == ["stdout"] and os.listdir(tmp_path / "proc") == ["1"]
    monkeypatch.setattr(atomic, "SHARED_MEMORY", str(tmp_path / "dev" / "shm"))
    (tmp_path / "dev" / "shm").mkdir()
    with replacing(tmp_path / "dev" / "shm" / "a.model") as temporary:
        temporary.write_text("ours")


def test_refuse_special_file_refuses_new_files_in_folders_of_the_system() -> None:
    for name in ("/dev/a.model", "/proc/self/a.model", "/sys/a.model", "/proc/self/fd/1"):
        with pytest.raises(SufficeError, match="Choose another"):
            atomic.refuse_special_file(Path(name))  # writes nothing


def test_replacing_refuses_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("a.model")
        with pytest.raises(SufficeError, match="socket, which must not be replaced"), replacing(Path("a.model")):
            pass
        assert Path("a.model").is_socket()


@pytest.mark.parametrize("name", ["x" * 250, "é" * 120, " ", "-", "a\nb", "\x1b[31m"])
def test_replacing_writes_files_of_any_valid_name(tmp_path: Path, name: str) -> None:
    with replacing(tmp_path / name) as temporary:
        temporary.write_text("ours")
    assert os.listdir(tmp_path) == [name]


def test_replacing_refuses_pipes_and_devices(tmp_path: Path) -> None:
    """As root, `-o /dev/null` would otherwise remove the device."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name, message in (("pipe", "this is a device, a pipe or a socket"), ("link", "no file can be written in /dev")):
        with pytest.raises(SufficeError, match=message), replacing(tmp_path / name):
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
