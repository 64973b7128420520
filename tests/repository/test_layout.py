"""Layout of the tests: they mirror the packages, stay short, and share helpers through `support`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support.paths import ROOT

PACKAGE = ROOT / "src" / "suffice"
TESTS = ROOT / "tests"
FILES = sorted(TESTS.rglob("*.py"))
TEST_FILES = [path for path in FILES if path.name.startswith("test_")]
# Tests that cut across packages, with the programs that they need.
ACROSS = {"faults", "fuzz", "laws", "oracle", "repository"}
BY_TOPIC = {"cli/test_golden_outputs.py"}
MOST_LINES = 600


def name_of(path: Path) -> str:
    return str(path.relative_to(TESTS))


MIRRORS = [path for path in TEST_FILES if path.parent.name not in ACROSS and name_of(path) not in BY_TOPIC]


def subjects(folder: Path) -> set[str]:
    """List files and folders of a package as test files name them: `logs_reading` for `logs/reading.py`."""
    inner = [path.relative_to(folder) for path in folder.rglob("*") if path.suffix == ".py" or path.is_dir()]
    return {"_".join(path.with_suffix("").parts) for path in inner}


@pytest.mark.parametrize("path", MIRRORS, ids=name_of)
def test_file_is_named_after_the_module_it_tests(path: Path) -> None:
    """`tests/<package>/test_<file>.py`, or `test_<file>_<topic>.py` where a file has several."""
    folder = PACKAGE / path.parent.relative_to(TESTS)
    assert folder.is_dir(), f"{name_of(path)} is in a folder that mirrors no package"
    tested, known = path.stem.removeprefix("test_"), subjects(folder)
    assert tested in known or any(tested.startswith(f"{name}_") for name in known), f"{name_of(path)} mirrors no file"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_file_has_at_most_the_allowed_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_file_imports_no_other_test(path: Path) -> None:
    """Helpers of several tests belong to `support`."""
    nodes = list(ast.walk(ast.parse(path.read_bytes())))
    imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            imported += [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    modules = {path.stem for path in TEST_FILES}
    assert not [name for name in imported if modules & set(name.split("."))]
