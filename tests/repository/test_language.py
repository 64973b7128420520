"""Source, tests and documentation are written in plain technical English, as far as a program can check."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.language import checked_files, findings
from support.paths import ROOT

FILES = checked_files()


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_file_has_no_findings_of_the_language_check(path: Path) -> None:
    assert list(findings(path)) == []
