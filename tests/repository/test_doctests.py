"""Every public name has an example in its docstring, and the examples are correct."""

from __future__ import annotations

import doctest
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
import suffice.playing
from suffice.domains.exact.automaton import exact_rdp, optimal_value
from suffice.models.held_out import find_held_out
from suffice.models.learn_options import memory_bytes
from suffice.planning.planner import planning_with

CONSTANTS = {  # described in docs/api; the examples of functions that take them show some
    "BOUNDS", "CONJUNCTIONS", "FISHER_EXACT", "GREEDY", "LIKELIHOOD_RATIO", "PAPER", "TWO_SAMPLE", "UNSEEN",
    "__version__",
}  # fmt: skip
PUBLIC = {f"suffice.{name}": getattr(suffice, name) for name in suffice.__all__ if name not in CONSTANTS}
PUBLIC |= {f"suffice.playing.{name}": getattr(suffice.playing, name) for name in suffice.playing.__all__}
PUBLIC |= {
    f"{each.__module__}.{each.__name__}": each
    for each in (exact_rdp, find_held_out, memory_bytes, optimal_value, planning_with)
}
METHODS = {
    f"suffice.Model.{name}": method
    for name, method in vars(suffice.Model).items()
    if inspect.isfunction(method) and ">>>" in (method.__doc__ or "")
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Make the names and files that the docstring of `suffice` promises to the examples."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("examples"))
    corridor = suffice.make("corridor").model(5)
    episodes = suffice.simulate(corridor, n=300, horizon=5, rng=np.random.default_rng(1))
    model = suffice.learn(episodes, stationary=False)
    suffice.write_log(episodes, "log.parquet")
    suffice.write_log(suffice.simulate(corridor, 300, 5, np.random.default_rng(2)), "more.parquet")
    model.save("log.model")
    yield {"suffice": suffice, "np": np, "episodes": episodes, "model": model}
    os.chdir(before)


@pytest.mark.parametrize("name", [*PUBLIC, *METHODS])
def test_example_of_every_public_name_is_correct(name: str, world: dict[str, Any]) -> None:
    text = inspect.getdoc((PUBLIC | METHODS)[name]) or ""
    example = doctest.DocTestParser().get_doctest(text, dict(world), name, None, None)
    assert example.examples, f"{name} has no example in its docstring"
    assert 1 <= len(example.examples) <= 5, "examples are short"
    shown: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(example, out=shown.append)
    assert not failed, "".join(shown)


def test_constants_without_examples_are_not_functions() -> None:
    assert not [name for name in CONSTANTS if inspect.isroutine(getattr(suffice, name))]
    assert set(suffice.__all__) >= CONSTANTS
