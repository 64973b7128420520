"""Commands print and write what they did when tests/golden/outputs.json was recorded."""

from __future__ import annotations

import pytest

from golden import outputs

RECORDED = outputs.recorded()
HOW_TO_SEE = """
In this checkout and in one from before the change, run
    python tests/golden/outputs.py --keep DIR
with a folder each, and compare: diff -r BEFORE/compared AFTER/compared
If the change is meant: python tests/golden/outputs.py --write"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digest of every output."""
    return outputs.digests(tmp_path_factory.mktemp("outputs").resolve())


@pytest.mark.parametrize("name", RECORDED)
def test_an_output_is_as_recorded(found: dict[str, str], name: str) -> None:
    assert name in found, f"{name} is no longer written.{HOW_TO_SEE}"
    assert found[name] == RECORDED[name], f"{name} is another than before.{HOW_TO_SEE}"


def test_no_output_is_new(found: dict[str, str]) -> None:
    assert set(found) <= set(RECORDED), f"these are not recorded.{HOW_TO_SEE}"


def test_reading_in_pieces_gives_the_same_model(found: dict[str, str]) -> None:
    assert found["learn-out-of-core.model"] == found["learn-large.model"]
