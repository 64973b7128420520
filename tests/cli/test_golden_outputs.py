"""Tests that commands print and write the outputs whose digests tests/golden/outputs.json records."""

from __future__ import annotations

import pytest

from golden import outputs

RECORDED = outputs.recorded()
HOW_TO_SEE = """
To see the differences, run in this checkout and in one from before the change
    python tests/golden/outputs.py --keep DIR
with two folders, and compare: diff -r BEFORE/compared AFTER/compared
If the change is intended: python tests/golden/outputs.py --write"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the digest of every output."""
    return outputs.digests(tmp_path_factory.mktemp("outputs").resolve())


@pytest.mark.parametrize("name", RECORDED)
def test_golden_outputs_match_the_recorded_digests(found: dict[str, str], name: str) -> None:
    assert name in found, f"{name} is no longer written.{HOW_TO_SEE}"
    assert found[name] == RECORDED[name], f"{name} has changed.{HOW_TO_SEE}"


def test_golden_outputs_contain_a_digest_for_every_case(found: dict[str, str]) -> None:
    assert set(found) <= set(RECORDED), f"some outputs are not recorded.{HOW_TO_SEE}"


def test_learn_in_pieces_gives_the_same_model(found: dict[str, str]) -> None:
    assert found["learn-out-of-core.model"] == found["learn-large.model"]
