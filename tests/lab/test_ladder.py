"""More episodes do not make plans worse."""

from __future__ import annotations

import pytest

from suffice.domains.registry import DOMAINS, make
from suffice.lab.ladder import SIZES, Rung, climb, falls


def rungs(*shares: tuple[int, int, float]) -> list[Rung]:
    return [Rung("maze", seed, n, "cycle", 3, share) for seed, n, share in shares]


def test_falls_names_means_and_seeds_that_get_worse() -> None:
    steady = rungs((1, 100, 0.9), (2, 100, 0.992), (1, 300, 0.91), (2, 300, 0.98))
    assert falls(steady) == []
    assert falls([*steady, *rungs((1, 900, 0.8), (2, 900, 0.98))]) == [
        "maze: the mean falls from 0.945 to 0.890 at 900 episodes"
    ]
    one = rungs((1, 100, 0.5), (2, 100, 0.99), (1, 300, 0.6), (2, 300, 0.96))
    assert falls(one) == ["maze, seed 2: from 0.990 at 100 to 0.960 at 300 episodes"]


@pytest.mark.parametrize("domain", ["corridor", "malfunction-mab", "delayed-match"])
def test_climb_gains_with_the_number_of_episodes(domain: str) -> None:
    """A small ladder; `python benchmarks/ladder.py` runs all domains."""
    found = [rung for seed in (1, 2) for rung in climb(domain, make(domain).default_horizon, seed, (300, 1_000, 3_000))]
    assert falls(found) == []


@pytest.mark.long
@pytest.mark.parametrize("domain", DOMAINS)
def test_climb_gains_in_every_domain(domain: str) -> None:
    """Twenty seeds, up to 10⁶ episodes: hours for each domain."""
    horizon = make(domain).default_horizon
    assert falls([rung for seed in range(20) for rung in climb(domain, horizon, seed, SIZES)]) == []
