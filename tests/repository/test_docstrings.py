"""Docstrings of public names follow numpydoc: every parameter is described, with Returns and Examples."""

from __future__ import annotations

import pytest

from support.docstrings import problems, public_names

NAMES = public_names()


@pytest.mark.parametrize("name", NAMES)
def test_docstring_of_public_name_has_all_numpydoc_sections(name: str) -> None:
    assert list(problems(name, NAMES[name])) == []
