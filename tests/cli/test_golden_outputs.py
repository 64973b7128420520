"""Tests that commands print and write the outputs whose digests tests/golden/outputs.json records."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from golden import outputs

RECORDED = outputs.recorded()
HOW_TO_SEE = """
To see the differences, run in this checkout and in one from before the change
    python tests/golden/outputs.py --keep DIR
with two folders, and compare: diff -r BEFORE/compared AFTER/compared
If the change is intended: python tests/golden/outputs.py --write"""


@pytest.fixture(scope="module")
def float_sums() -> list[str]:
    """Return the places where the commands add floats with `sum`, once they have run."""
    return []


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, float_sums: list[str]) -> dict[str, str]:
    """Return the digest of every output."""
    add = builtins.sum

    def noting(terms: Iterable[Any], /, start: Any = 0) -> Any:
        caller, listed = sys._getframe(1), list(terms)
        if caller.f_globals["__name__"].startswith("suffice.") and any(isinstance(x, float) for x in (start, *listed)):
            float_sums.append(f"{caller.f_globals['__name__']}, line {caller.f_lineno}")
        return add(listed, start)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "sum", noting)
        return outputs.digests(tmp_path_factory.mktemp("outputs").resolve())


@pytest.mark.parametrize("name", RECORDED)
def test_golden_outputs_match_the_recorded_digests(found: dict[str, str], name: str) -> None:
    assert name in found, f"{name} is no longer written.{HOW_TO_SEE}"
    assert found[name] == RECORDED[name], f"{name} has changed.{HOW_TO_SEE}"


def test_golden_outputs_contain_a_digest_for_every_case(found: dict[str, str]) -> None:
    assert set(found) <= set(RECORDED), f"some outputs are not recorded.{HOW_TO_SEE}"


def test_learn_in_pieces_gives_the_same_model(found: dict[str, str]) -> None:
    assert found["learn-out-of-core.model"] == found["learn-large.model"]


def test_commands_add_no_floats_with_sum(found: dict[str, str], float_sums: list[str]) -> None:
    """From Python 3.12 on, `sum` rounds floats in another way; `math.fsum` is the same in all versions."""
    assert found and not float_sums
