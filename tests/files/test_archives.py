"""Archives: sizes and types stated in a file are checked before anything is unpacked."""

from __future__ import annotations

import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from suffice.errors import ModelError, SufficeError
from suffice.files import archives, json_text
from suffice.files.archives import Kind, Shape, opened, write_archive

KIND = Kind(
    "heap",
    "a-heap",
    1,
    ModelError,
    remake="heap it up again",
    make=("pile it up: {path}", "heap one up with: heap {path}"),
)
MIB = 1 << 20


class Header(msgspec.Struct):
    format: str = "a-heap"
    format_version: int = 1
    version: str = "1"
    rows: int = 3


ARRAYS = {"wide": np.arange(12).reshape(3, 4), "high": np.arange(3.0)}
DECLARED: dict[str, tuple[str, Shape]] = {"wide": ("iu", (3, "X")), "high": ("f", ("Y",))}


def heap(folder: Path, **arrays: Any) -> Path:
    write_archive(folder / "a.heap", Header(), {"words": ["one"]}, ARRAYS | arrays)
    return folder / "a.heap"


def read(path: Path, declared: dict[str, tuple[str, Shape]] = DECLARED) -> tuple[Header, list[str], dict[str, Any]]:
    with opened(path, KIND) as archive:
        return archive.header(Header), archive.text("words", list[str]), archive.arrays(declared)


def refusal(path: Path, declared: dict[str, tuple[str, Shape]] = DECLARED) -> str:
    """Return the message that refuses a file; check that it is one line and that little memory is allocated."""
    tracemalloc.start()
    try:
        with pytest.raises(SufficeError) as caught:
            read(path, declared)
        assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    finally:
        tracemalloc.stop()
    said = str(caught.value)
    assert said.startswith(f"{path}: ") and said.isprintable() and len(said) < 1000
    return said


def entries_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_entries(path: Path, entries: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def npy(descr: str, shape: str, data: bytes = b"", *, order: str = "False", version: bytes = b"\1\0") -> bytes:
    """Return an array in numpy's format, possibly invalid."""
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2 if version == b"\1\0" else 4, "little") + text.encode() + data


# Round trip


def test_archive_is_read_as_it_was_written(tmp_path: Path) -> None:
    header, words, arrays = read(heap(tmp_path))
    assert header == Header() and words == ["one"]
    assert all(
        np.array_equal(arrays[name], array) and arrays[name].dtype == array.dtype for name, array in ARRAYS.items()
    )


def test_write_archive_gives_equal_bytes_for_equal_contents(tmp_path: Path) -> None:
    first = heap(tmp_path).read_bytes()
    assert heap(tmp_path, wide=np.asfortranarray(ARRAYS["wide"])).read_bytes() == first
    assert heap(tmp_path, wide=ARRAYS["wide"] + 1).read_bytes() != first


@pytest.mark.parametrize("shape", [(0,), (0, 4), (1,), (5, 0, 2), (2 * MIB,)])
def test_archive_arrays_of_any_shape_are_read_back(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).integers(0, 2**62, shape)
    found = read(heap(tmp_path, wide=array), {"wide": ("i", shape)})[2]["wide"]
    assert found.shape == shape and np.array_equal(found, array)


def test_write_archive_stores_large_arrays_of_zeros_uncompressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compressed, the file would be refused as a zip bomb."""
    array = np.zeros(MIB)
    assert heap(tmp_path, high=array).stat().st_size < array.nbytes // archives.TIGHTEST, "small files are compressed"
    monkeypatch.setattr(archives, "ROOMY", MIB)
    path = heap(tmp_path, high=array)
    assert path.stat().st_size > array.nbytes
    assert np.array_equal(read(path)[2]["high"], array)


# Files that would take much memory or time


def test_archive_refuses_a_small_file_that_unpacks_to_a_large_one(tmp_path: Path) -> None:
    path = heap(tmp_path)
    huge = npy("'<f8'", f"({9 * MIB},)", bytes(72 * MIB))
    write_entries(path, entries_of(path) | {"high.npy": huge})
    assert path.stat().st_size < MIB and "would unpack to" in refusal(path)


def test_archive_refuses_sizes_above_the_limit_of_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = heap(tmp_path, high=np.random.default_rng(0).random(MIB))
    small = Kind(KIND.name, KIND.format, 1, ModelError, KIND.remake, KIND.make, most_bytes=MIB)
    with pytest.raises(ModelError, match="would unpack to"), opened(path, small):
        pass
    monkeypatch.setattr(json_text, "LARGEST_JSON", 20)
    assert "header.json is larger than" in refusal(path)


@pytest.mark.parametrize(
    ("descr", "shape", "why"),
    [
        ("'<f8'", "(1000000000000,)", "has 131 bytes, not 8,000,000,000,128"),
        ("'<f8'", "(99999999999999999999,)", "bytes"),
        ("'<f8'", "(-1, -3)", "bytes"),
        ("'|i1'", "(-1, -3)", "expected f of shape"),
        ("'<f8'", "(3", "not an array of numbers"),
        ("'<f8'", "(3L,)", "not an array of numbers"),
        ("'<f8'", "3", "not an array of numbers"),
        ("'<f8'", "__import__('os').getcwd()", "not an array of numbers"),
        ("'<f8'", "[" * 900, "not an array of numbers"),
        ("'S4000000000'", "(1,)", "not an array of numbers"),
        ("'S2000000000'", "(1,)", "bytes"),
        ("'|O'", "(3,)", "Object arrays cannot be loaded"),
        ("[('a', '|O')]", "(3,)", "Object arrays cannot be loaded"),
        ("'V3'", "(1,)", "expected f of shape"),
        ("'U0'", "(3,)", "bytes"),
        ("'>i1'", "(3,)", "expected f of shape"),
        ("'|b1'", "(3,)", "expected f of shape"),
        ("'|i1'", "(3, 1)", "expected f of shape"),
        ("'|i1'", "()", "bytes"),
    ],
)
def test_archive_refuses_arrays_of_wrong_type_shape_or_size(tmp_path: Path, descr: str, shape: str, why: str) -> None:
    path = heap(tmp_path)
    write_entries(path, entries_of(path) | {"high.npy": npy(descr, shape, b"abc")})
    assert why in refusal(path) and "this heap is damaged" in refusal(path)


def test_archive_reads_only_the_plain_form_of_arrays(tmp_path: Path) -> None:
    path, data = heap(tmp_path), np.arange(3.0).tobytes()
    entries = entries_of(path)
    for wrong in (
        npy("'<f8'", "(3,)", data, order="True"),
        npy("'<f8'", "(3,)", data, version=b"\2\0"),
        npy("'>f8'", "(3,)", data),
        b"\x93NUMPY\1\0\xff\xff" + bytes(70_000),
        b"\x93NUMPY\1\0",
        b"",
    ):
        write_entries(path, entries | {"high.npy": wrong})
        assert "this heap is damaged (high.npy" in refusal(path)


def test_archive_checks_all_shapes_before_unpacking_an_array(tmp_path: Path) -> None:
    path, n = heap(tmp_path), 2 * MIB
    write_entries(path, entries_of(path) | {"high.npy": npy("'<f8'", f"({n},)", bytes(8 * n))}, zipfile.ZIP_STORED)
    declared: dict[str, tuple[str, Shape]] = {"high": ("f", ("X",)), "wide": ("iu", (3, "X"))}
    assert f"wide.npy has int64 of shape [3, 4], expected iu of shape [3, {n}]" in refusal(path, declared)
    assert "deep.npy is missing" in refusal(path, {"high": ("f", ("X",)), "deep": ("f", (1,))})


@pytest.mark.parametrize("deep", [b"[" * 10**6, b'{"a":' * 10**5 + b"1" + b"}" * 10**5, b"[" * 100 + b"]" * 100])
def test_archive_refuses_deeply_nested_json(tmp_path: Path, deep: bytes) -> None:
    path = heap(tmp_path)
    for name in ("header.json", "words.json"):
        write_entries(path, entries_of(path) | {name: deep})
        assert "deep" in refusal(path)


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        (b"", 0),
        (b'"[["', 0),
        (b'["[\\"[", {"a]": []}]', 3),
        (b"[] [] {}", 1),
        (b'[]][[["', 2),
        (b'{"a\\\\": [1]}', 2),
        (b'"\n[["', 0),
    ],
)
def test_json_depth_counts_brackets_outside_strings(text: bytes, depth: int) -> None:
    assert json_text.depth(text) == depth
    far = (
        b'["' + b"[" * json_text.BRACKETS_AT_A_TIME + b'", ' + b"[]," * json_text.BRACKETS_AT_A_TIME
    )  # more brackets than are processed together
    assert json_text.depth(far + text) == max(2, depth + 1)


# Files that `write_archive` did not write


@pytest.mark.parametrize("name", ["../up.npy", "/root.npy", "a/b.npy", "C:\\a.npy", "x.exe", "\x1b[31m.npy", "é.npy"])
def test_archive_refuses_members_with_other_names(tmp_path: Path, name: str) -> None:
    path = heap(tmp_path)
    write_entries(path, entries_of(path) | {name: b""})
    assert "this is not a heap, or it is damaged" in refusal(path)


def test_archive_refuses_two_members_of_one_name(tmp_path: Path) -> None:
    path = heap(tmp_path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("words.json", b'["two"]')
    assert "5 members with 4 names" in refusal(path)


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archive_refuses_other_compression_methods(tmp_path: Path, packing: int) -> None:
    path = heap(tmp_path)
    write_entries(path, entries_of(path), packing)
    assert "was not written by suffice" in refusal(path)


def test_archive_refuses_a_long_table_of_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, many = heap(tmp_path), {f"a{i}.json": b"" for i in range(archives.MOST_MEMBERS)}
    write_entries(path, entries_of(path) | many)
    assert "10,004 members" in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(100):
            archive.writestr(info := zipfile.ZipInfo(f"a{i}.json"), b"")
            info.extra = struct.pack("<HH", 0x9999, 60_000) + bytes(60_000)  # in the table alone
    assert "parts of more than 4,194,304 bytes" in refusal(path)


def test_archive_of_a_newer_format_is_refused_with_an_upgrade_hint(tmp_path: Path) -> None:
    """The version is checked before the rest of the file."""
    path = tmp_path / "a.heap"
    write_entries(path, {"header.json": b'{"format": "a-heap", "format_version": 2, "version": "9.1"}'})
    assert "written by suffice 9.1 in format 2, newer than the 1" in refusal(path)
    assert refusal(path).endswith(". Upgrade suffice.")


def test_archive_of_an_older_format_is_refused_with_a_fix(tmp_path: Path) -> None:
    path = tmp_path / "a.heap"
    write_entries(path, {"header.json": b'{"format": "a-heap", "format_version": 0, "version": "0.1"}'})
    assert "written by suffice 0.1 in format 0, older than the 1" in refusal(path)
    assert refusal(path).endswith(". Heap it up again.")


def test_opened_converts_errors_about_contents_to_one_line(tmp_path: Path) -> None:
    message = r"this heap is damaged \(too few\)\. Heap it up again\."
    with pytest.raises(ModelError, match=message), opened(heap(tmp_path), KIND):
        raise ValueError("too few")
    with pytest.raises(ModelError, match="cannot be read"):
        read(tmp_path / "a\0b")
    with pytest.raises(ModelError, match=r"no such file\. Pile it up: "):
        read(tmp_path / "nothing")


def test_archive_is_read_with_little_more_memory_than_its_arrays(tmp_path: Path) -> None:
    path = heap(tmp_path, high=np.zeros(4 * MIB))
    tracemalloc.start()
    try:
        read(path)
        assert 32 * MIB < tracemalloc.get_traced_memory()[1] < 40 * MIB
    finally:
        tracemalloc.stop()
