"""Choose the kind of memory by episodes that were not learned from.

A sample of the log is divided as for cross-fitting. From each two thirds an automaton of every kind is learned, with a
plan, and compared with the others on the remaining third:

*bits*    the cost of predicting the outcomes of an episode (`learning.prediction`)
*return*  the value of the plan. A coarse automaton misjudges its own plan, so two plans are compared on nodes that
          distinguish whatever one of the two automata distinguishes

Of all windows of two or more observations only the best in bits is compared further. The rule, with paired differences
and their standard errors:

1. Kinds whose bits are at most two standard errors above the least are not clearly worse. Among them the cycle is
   taken, because its states rest on tests that few bits do not outweigh; a window with as many states is as good, and
   simpler. Without a cycle among them the kind with the fewest states is taken.
2. Another kind is taken instead if its plan returns more by three standard errors, or by four if its bits are clearly
   worse. Memory that matters late in an episode is worth few bits, but much of the return. The levels are high because
   the verdict on the plan uses the same episodes: a plan that was chosen for its luck would look better than it is.

Theory: docs/theory.md, section 8, and docs/decisions/0037.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.episodes import Episodes
from suffice.data.possible_returns import reward_ranges
from suffice.errors import MemoryLimitError, ModelError
from suffice.evidence.estimates import Estimate, sum_of_squares
from suffice.kernels.array_types import Float, Int64, UInt64
from suffice.learning.memories import MemoryKind, Progress, Window
from suffice.learning.prediction import outcome_bits
from suffice.planning.cross_fitting import FOLDS, divide_folds, enough_to_judge
from suffice.planning.judged_plan import JudgedPlan
from suffice.planning.objective import RETURN, Objective
from suffice.planning.plan import Plan

COMPARED_STEPS = 1 << 18  # of longer logs a sample is compared
CLEARLY = 2.0  # standard errors by which bits are clearly worse
BETTER = 3.0  # standard errors by which the return of a plan must be better to be chosen for it
SURELY = 4.0  # the same for a memory whose bits are clearly worse

PlanMaker = Callable[[MemoryKind, Episodes], tuple[RDP, Plan | None]]


@dataclass(frozen=True, slots=True)
class MemoryAlternative:
    """A kind of memory, as held-out episodes show it.

    Attributes
    ----------
    memory
        Its name: "none", "last observation", "last k observations", "layers" or "cycle".
    states
        Mean number of states of the automata learned from two thirds of the sample.
    bits
        Mean cost of the outcomes of a held-out episode, in bits.
    more_bits
        Mean difference from the chosen memory, with its standard error.
    less_return
        By how much the chosen memory's plan returns more than this one's, with its standard error; None without plans.

    Examples
    --------
    >>> last = suffice.learn(episodes, stationary="auto").compared.of("last observation")
    >>> last.more_bits.value > 2 * last.more_bits.error
    True
    """

    memory: str
    states: float
    bits: float
    more_bits: Estimate
    less_return: Estimate | None

    @property
    def clearly_worse(self) -> bool:
        """Whether the chosen memory is better by two standard errors, in bits or in return."""
        differences = [self.more_bits, *([] if self.less_return is None else [self.less_return])]
        return any(map(is_clear, differences))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MemoryAlternative:
        """Make an alternative from the data of a model file.

        Parameters
        ----------
        data
            What `to_dict` returns.

        Returns
        -------
        MemoryAlternative
            The same results.
        """
        less, error = data["less_return"], data["less_return_error"]
        return cls(
            data["memory"],
            data["states"],
            data["bits"],
            Estimate(data["more_bits"], data["more_bits_error"]),
            None if less is None or error is None else Estimate(less, error),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON data.

        Returns
        -------
        dict
            Name, number of states, bits and differences from the chosen memory.
        """
        less = self.less_return
        return {
            "memory": self.memory,
            "states": self.states,
            "bits": self.bits,
            "more_bits": self.more_bits.value,
            "more_bits_error": self.more_bits.error,
            "less_return": None if less is None else less.value,
            "less_return_error": None if less is None else less.error,
        }


@dataclass(frozen=True, slots=True)
class MemoryComparison:
    """The comparison of all kinds of memory on held-out episodes, and the chosen kind.

    Attributes
    ----------
    memory
        Name of the chosen kind.
    alternatives
        All kinds that were compared, the simplest first.
    episodes
        Number of episodes that they were compared on.

    Examples
    --------
    >>> compared = suffice.learn(episodes, stationary="auto").compared
    >>> compared.memory, [one.memory for one in compared.alternatives]
    ('cycle', ['none', 'last observation', 'last 2 observations', 'layers', 'cycle'])
    """

    memory: str
    alternatives: tuple[MemoryAlternative, ...]
    episodes: int

    @property
    def matters(self) -> bool:
        """Whether the chosen memory is clearly better than the last observation, in bits or in return."""
        last = self.of(Window(1).name)
        return last is not None and self.memory not in (Window(0).name, Window(1).name) and last.clearly_worse

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> MemoryComparison:
        """Make a comparison from the data of a model file.

        Parameters
        ----------
        data
            Its attributes by name, with alternatives as `MemoryAlternative.to_dict` returns them.

        Returns
        -------
        MemoryComparison
            The comparison.
        """
        return cls(data["memory"], tuple(map(MemoryAlternative.from_dict, data["alternatives"])), data["episodes"])

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON data.

        Returns
        -------
        dict
            The attributes by name.
        """
        alternatives = [one.to_dict() for one in self.alternatives]
        return {"memory": self.memory, "episodes": self.episodes, "alternatives": alternatives}

    def of(self, memory: str) -> MemoryAlternative | None:
        """Return the results of a kind of memory.

        Parameters
        ----------
        memory
            Its name, such as "last observation".

        Returns
        -------
        MemoryAlternative or None
            The results; None if it was not compared.
        """
        return next((one for one in self.alternatives if one.memory == memory), None)


def is_clear(difference: Estimate) -> bool:
    """Return whether a difference is positive by two standard errors."""
    return difference.value > CLEARLY * difference.error


class ComparedMemories(NamedTuple):
    """The comparison, the kinds with the chosen one first, and its automata and plans by fold."""

    comparison: MemoryComparison
    order: tuple[MemoryKind, ...]
    plans: list[tuple[RDP, Plan | None]]


class _Trial(NamedTuple):
    """What each fold shows about a kind of memory."""

    kind: MemoryKind
    plans: list[tuple[RDP, Plan | None]]
    bits: Float  # [n] of all held-out episodes

    @property
    def states(self) -> float:
        """Return the mean number of states."""
        return math.fsum(rdp.n_states for rdp, _ in self.plans) / len(self.plans)


def compare_memories(
    sample: Episodes,
    kinds: Sequence[MemoryKind],
    make_plan: PlanMaker,
    rng: np.random.Generator,
    progress: Progress,
    objective: Objective = RETURN,
) -> ComparedMemories | None:
    """Compare kinds of memory by cross-fitting.

    Parameters
    ----------
    sample
        Episodes in an order that depends on their content alone, because sums of floats depend on it.
    kinds
        Kinds of memory, the simplest first; those that do not fit into memory are left out.
    make_plan
        Function that learns an automaton of a kind from episodes, and makes a plan on its layers unless none is wanted.
    rng
        Random numbers that divide the episodes.
    progress
        Function called with the number of automata that were learned, and of all.
    objective
        What plans are compared by. Default: their returns.

    Returns
    -------
    ComparedMemories or None
        The comparison; None if there are too few episodes, or too little memory.
    """
    if not enough_to_judge(sample):
        return None
    folds = list(divide_folds(sample, rng))
    weight = _HeldOut.of([held_out for _, held_out in folds])
    trials = []
    for i, kind in enumerate(kinds):
        try:
            plans = [make_plan(kind, training) for training, _ in folds]
        except (MemoryLimitError, ModelError):  # too large, or no episode of a fold is long enough to plan on
            continue
        bits = [outcome_bits(rdp, held_out) for (rdp, _), (_, held_out) in zip(plans, folds, strict=True)]
        trials.append(_Trial(kind, plans, np.concatenate(bits)))
        progress(i + 1, len(kinds))
    if not trials:
        return None
    trials = _without_other_windows(trials, weight)
    returns = _Returns(sample, [held_out for _, held_out in folds], objective)
    chosen = _least_bits(trials, weight)
    less = returns.less(trials, chosen)
    if (better := _better_plan(trials, chosen, weight, less)) is not chosen:
        chosen, less = better, returns.less(trials, better)
    alternatives = tuple(
        MemoryAlternative(
            trial.kind.name,
            trial.states,
            _mean(trial.bits, weight).value,
            _mean(trial.bits - chosen.bits, weight),
            less[i],
        )
        for i, trial in enumerate(trials)
    )
    order = sorted(trials, key=lambda trial: (trial is not chosen, _mean(trial.bits, weight).value))
    comparison = MemoryComparison(chosen.kind.name, alternatives, sample.total)
    return ComparedMemories(comparison, tuple(trial.kind for trial in order), chosen.plans)


class _HeldOut(NamedTuple):
    """Weights and groups of all held-out episodes."""

    weight: Int64 | None  # [n]
    group: UInt64 | None  # [n]

    @classmethod
    def of(cls, parts: list[Episodes]) -> _HeldOut:
        """Concatenate the weights and groups of all folds."""
        weight = [part.weight for part in parts if part.weight is not None]
        group = [part.group for part in parts if part.group is not None]
        return cls(np.concatenate(weight) if weight else None, np.concatenate(group) if group else None)


def _mean(values: Float, held_out: _HeldOut) -> Estimate:
    """Return the mean with its standard error; an episode of weight k counts as k equal ones."""
    weight, group = held_out
    times = np.ones(len(values)) if weight is None else weight.astype(float)
    total = float(times.sum())
    mean = float((times * values).sum()) / total
    if group is not None:
        return Estimate(mean, math.sqrt(sum_of_squares((values - mean) / total, times, group)))
    return Estimate(mean, math.sqrt(float((times * (values - mean) ** 2).sum()) / max(total - 1, 1) / total))


def _without_other_windows(trials: list[_Trial], weight: _HeldOut) -> list[_Trial]:
    """Keep one of the windows of two or more observations, the best in bits."""
    longer = [trial for trial in trials if (trial.kind.window or 0) > 1]
    best = min(longer, key=lambda trial: _mean(trial.bits, weight).value, default=None)
    return [trial for trial in trials if trial is best or trial not in longer]


def _not_clearly_worse(trial: _Trial, than: _Trial, weight: _HeldOut) -> bool:
    difference = _mean(trial.bits - than.bits, weight)
    return difference.value <= CLEARLY * difference.error


def _least_bits(trials: list[_Trial], weight: _HeldOut) -> _Trial:
    """Return the kind that part 1 of the rule takes."""
    best = min(trials, key=lambda trial: _mean(trial.bits, weight).value)
    close = [trial for trial in trials if _not_clearly_worse(trial, best, weight)]
    cycle = next((trial for trial in close if trial.kind.stationary and trial.kind.window is None), None)
    if cycle is None:
        return min(close, key=lambda trial: trial.states)
    return next((trial for trial in close if trial.kind.window is not None and trial.states == cycle.states), cycle)


def _better_plan(trials: list[_Trial], chosen: _Trial, weight: _HeldOut, less: list[Estimate | None]) -> _Trial:
    """Return the kind that part 2 of the rule takes: the one whose plan is better by the most standard errors."""
    found, most = chosen, 0.0
    for trial, difference in zip(trials, less, strict=True):
        if trial is chosen or difference is None or not difference.value < 0:
            continue
        needed = BETTER if _not_clearly_worse(trial, chosen, weight) else SURELY
        z = -difference.value / difference.error if difference.error > 0 else math.inf
        if z > max(most, needed):
            found, most = trial, z
    return found


class _Returns:
    """Differences between the returns of plans on held-out episodes."""

    def __init__(self, sample: Episodes, parts: list[Episodes], objective: Objective) -> None:
        self._ranges, self._parts, self._objective = reward_ranges(sample), parts, objective

    def less(self, trials: list[_Trial], chosen: _Trial) -> list[Estimate | None]:
        """Return by how much each plan returns less than that of the chosen kind; None without plans."""
        sums: list[list[tuple[float, float]]] = [[] for _ in trials]
        for i, part in enumerate(self._parts):
            own = self._walked(chosen, i)
            for found, trial in zip(sums, trials, strict=True):
                other = own if trial is chosen else self._walked(trial, i)
                if own is not None and other is not None:
                    found.append(own.difference(other, part.weight, part.group))
        return [_combined(found) if found else None for found in sums]

    def _walked(self, trial: _Trial, i: int) -> JudgedPlan | None:
        rdp, plan = trial.plans[i]
        return None if plan is None else JudgedPlan.of(rdp, plan, self._parts[i], self._ranges, self._objective)


def _combined(found: list[tuple[float, float]]) -> Estimate:
    """Return the mean difference of all folds, from differences and variances."""
    value = math.fsum(difference for difference, _ in found) / FOLDS
    return Estimate(value, math.sqrt(math.fsum(variance for _, variance in found)) / FOLDS)
