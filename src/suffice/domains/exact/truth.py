"""Exact results for a domain, computed without data: what `suffice exact` prints (docs/theory.md, section 7)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from suffice.domains.exact.distances import (
    Closest,
    closest_by_prefixes,
    closest_by_sum,
    closest_in,
    futures,
    letters_as_log,
)
from suffice.domains.exact.minimal import TOLERANCE, Minimal, minimal_rdp
from suffice.domains.exact.samples import candidates, coverage, likely, most, sufficient
from suffice.domains.exact.values import Evaluation, best_plan, concentrability, exact_value
from suffice.domains.finite import FiniteModel
from suffice.errors import require_type
from suffice.evidence.bounds import BOUNDS, Bound
from suffice.evidence.languages import Family
from suffice.planning.controller import Controller


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Exact results for a finite model: the minimal RDP and the values of policies.

    `truth_of` computes it.

    Attributes
    ----------
    minimal
        The minimal layered RDP under the behaviour policy.
    optimal_value
        V*, the largest mean return of any policy.
    covered_value
        The largest mean return of a policy that takes only actions of the behaviour policy.
    behaviour
        Mean return, length and success rate of the behaviour policy.
    concentrability
        C* of the best plan; infinite if the behaviour policy never takes an action of it.

    Examples
    --------
    >>> truth = suffice.truth_of(suffice.make("corridor").model(5), 5)
    >>> truth.optimal_value, truth.behaviour.mean_return
    (Fraction(5, 1), Fraction(5, 2))
    """

    minimal: Minimal
    optimal_value: Any
    covered_value: Any
    behaviour: Evaluation
    concentrability: Any


def truth_of(model: FiniteModel, horizon: int, policy: Controller | None = None) -> Truth:
    """Compute exact results for a finite model under a behaviour policy.

    Parameters
    ----------
    model
        The finite model, for example `suffice.make("t-maze").model(5)`.
    horizon
        Number of actions per episode.
    policy
        The behaviour policy. Default: that of the model.

    Returns
    -------
    Truth
        The minimal RDP, and the values of the best policy and of the behaviour policy.

    Examples
    --------
    >>> suffice.truth_of(suffice.make("t-maze").model(5), 5).concentrability
    Fraction(1024, 1)
    """
    require_type("model", model, FiniteModel, "a finite model. Pass one such as suffice.make('t-maze').model(5).")
    policy = policy or model.usual
    minimal = minimal_rdp(model, horizon, policy)
    plan = best_plan(minimal)
    optimal = plan.value
    if any(0 in row for row in policy.chances):
        optimal = best_plan(minimal_rdp(model, horizon, Controller.uniform(model.alphabet))).value
    behaviour = exact_value(model, policy, horizon)
    reached = math.isclose(plan.value, optimal, rel_tol=TOLERANCE, abs_tol=TOLERANCE)  # one of the two may be a double
    covered = concentrability(minimal, plan) if reached else math.inf
    return Truth(minimal, optimal, plan.value, behaviour, covered)


@dataclass(frozen=True, slots=True)
class EpisodesNeeded:
    """Numbers of episodes to learn the minimal RDP exactly, with one bound."""

    sufficient: float | None  # proved; infinite if some states cannot be distinguished; None: unknown for the bound
    likely: float | None  # where about half of all runs succeed; None: unknown


NOT_KNOWN: Final = EpisodesNeeded(None, None)  # for a bound of another package that cannot be loaded


@dataclass(frozen=True, slots=True)
class Distinguishability:
    """Distinguishability μ₀ of a minimal RDP under a statistic, and the episodes it implies."""

    statistic: str
    closest: Closest | None  # the closest two states; None: no layer has two states
    needed: dict[str, EpisodesNeeded]  # by bound

    @property
    def likely_known(self) -> bool:
        """Whether the likely number of episodes is known for a bound."""
        return any(needed.likely is not None for needed in self.needed.values())

    @property
    def value(self) -> Any:
        """μ₀, or 1 if no layer has two states."""
        return 1 if self.closest is None else self.closest.distance


def by_languages(minimal: Minimal, family: Family, delta: float) -> Distinguishability:
    """Compute μ₀ under a family of languages, and the episodes that each bound needs."""
    layers = {found.layer: found for found in futures(minimal, family)}
    closest = [near for found in layers.values() if (near := closest_in(found))]
    met, seen = candidates(minimal), coverage(minimal)
    expected = [likely(met[t], found, delta) for t, found in layers.items()]

    proved = _Sufficient(minimal, closest, {t: math.log(found.size) for t, found in layers.items()}, delta)
    needed = dict.fromkeys(BOUNDS, NOT_KNOWN) | {
        name: EpisodesNeeded(proved.episodes(bound), most((episodes[name] for episodes in expected), seen))
        for name, bound in BOUNDS.loadable().items()
    }
    return Distinguishability(str(family), _least(closest), needed)


def by_prefixes(minimal: Minimal, delta: float) -> tuple[Distinguishability, Distinguishability]:
    """Compute μ₀ under prefixes (L∞^p), with exact counts and with a sketch."""
    closest = closest_by_prefixes(minimal)
    ln_steps = math.fsum(math.log(len(codes)) for codes in letters_as_log(minimal).suffix_alphabet())  # ln ARO
    lengths = {t: minimal.horizon - t + 1 for t in range(1, minimal.horizon + 1)}
    sizes = {t: math.log(2) + length * ln_steps for t, length in lengths.items()}
    proved = _Sufficient(minimal, closest, sizes, delta)
    bounds = BOUNDS.loadable()
    exact = dict.fromkeys(BOUNDS, NOT_KNOWN) | {
        name: EpisodesNeeded(proved.episodes(bound), None) for name, bound in bounds.items()
    }
    covering = {name: bound for name, bound in bounds.items() if bound.allows_estimates}
    sketch = {name: EpisodesNeeded(proved.episodes(bound, sketch=True), None) for name, bound in covering.items()}
    least = _least(closest)
    return Distinguishability("prefixes", least, exact), Distinguishability("sketch", least, sketch)


def by_sum(minimal: Minimal) -> Distinguishability:
    """Compute μ₀ under the sum over prefixes (L₁^p), which no test uses."""
    return Distinguishability("L1", _least(closest_by_sum(minimal)), {})


# Metrics between futures by their names on the command line: (minimal RDP, family, δ) → Distinguishability.
METRICS: Final[dict[str, Callable[[Minimal, str, float], Distinguishability]]] = {
    "languages": lambda minimal, family, delta: by_languages(minimal, Family.parse(family), delta),
    "prefixes": lambda minimal, _, delta: by_prefixes(minimal, delta)[0],
    "sketch": lambda minimal, _, delta: by_prefixes(minimal, delta)[1],
    "L1": lambda minimal, *_: by_sum(minimal),
}


def _least(closest: Iterable[Closest]) -> Closest | None:
    return min(closest, key=lambda c: (c.distance, c.layer, c.states), default=None)


@dataclass(frozen=True, slots=True)
class _Sufficient:
    """Proved numbers of episodes that distinguish the states of every layer and contain every transition."""

    minimal: Minimal
    closest: list[Closest]  # of each layer with two states or more
    ln_sizes: dict[int, float]  # ln |X| by layer
    delta: float

    def episodes(self, bound: Bound, sketch: bool = False) -> float | None:
        met = candidates(self.minimal)
        by_layer = (
            sufficient(bound, c.distance, met[c.layer][-1].share, self.ln_sizes[c.layer], self.delta, sketch)
            for c in self.closest
        )
        return most(by_layer, coverage(self.minimal, self.delta))
