"""Select, group and summarise the results of a study."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from textwrap import fill
from typing import Final, NamedTuple, TypeVar

import numpy as np

from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.plotting import NORMAL, named
from suffice.lab.scoring import true_automaton
from suffice.lab.truth import truth_for

REFUSED: Final = "refused"
NO_RESULT: Final = "–"
LINE_WIDTH: Final = 118

K = TypeVar("K")


class Present(NamedTuple):
    """The runs of a study that are there and ended, and a sentence about the others."""

    runs: list[Result]
    sentence: str


def present(results: Results, wanted: Sequence[Experiment]) -> Present:
    """Of the wanted experiments; results may hold those of other studies too."""
    runs = found(results, wanted)
    finished = done(runs)
    said = [f"{len(finished):,} of {len(wanted):,} runs are here."]
    if absent := Counter(named(e.learner) for e in wanted if e.id not in results):
        said.append(f"Not run: {_counted(absent)}.")
    if stopped := Counter(f"{named(run.experiment.learner)} {_why(run)}" for run in runs if run.stopped):
        said.append(f"Given up: {_counted(stopped)}.")
    return Present(finished, " ".join(said))


def found(results: Results, wanted: Iterable[Experiment]) -> list[Result]:
    """The results of these experiments, in their order."""
    return [results[e.id] for e in wanted if e.id in results]


def done(runs: Iterable[Result]) -> list[Result]:
    """Those that were not stopped."""
    return [run for run in runs if not run.stopped]


def _counted(words: Counter[str]) -> str:
    return ", ".join(f"{word} ({times})" for word, times in words.items())


def _why(run: Result) -> str:
    """Why a run was stopped, in few words."""
    return REFUSED if run.stopped.startswith(REFUSED) else run.stopped


def grouped(runs: Iterable[Result], key: Callable[[Result], K]) -> dict[K, list[Result]]:
    """By a key, in the order of its first mention."""
    groups: dict[K, list[Result]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def by_learner(runs: Iterable[Result]) -> dict[str, list[Result]]:
    """The runs of each learner."""
    return grouped(runs, lambda run: run.experiment.learner)


def middle(runs: Iterable[Result], of: Callable[[Result], float]) -> float:
    """The median: a run that was disturbed by others on the machine does not move it."""
    return median(of(run) for run in runs)


def recovered(run: Result) -> float:
    """The share of true states that exactly one learned state stands for, of the minimal automaton of the same kind."""
    true = true_automaton(run) or truth_for(run.experiment).layered
    return (run.recovered or 0) / true.n_states


def exponent(points: dict[float, float]) -> float | None:
    """The slope of y against x on logarithmic scales, by least squares; None of fewer than two points."""
    if len(points) < 2:
        return None
    x, y = np.log(list(points)), np.log(list(points.values()))
    return float(np.polyfit(x, y, 1)[0])


def geometric(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    return math.exp(float(np.mean(np.log(list(ratios)))))


class Rate(NamedTuple):
    """A share of runs with its 95 % confidence interval, Wilson's."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, n: int) -> Rate:
        """Of n ≥ 1 independent runs; unlike the usual interval it has a width where none or all are hits."""
        share, z = hits / n, NORMAL
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        wide = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        return cls(share, max(0.0, middle - wide), min(1.0, middle + wide))


def paragraph(*sentences: str) -> str:
    """Prose for a page, in lines of one width whatever numbers it holds."""
    return fill(" ".join(sentences), LINE_WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def joined(words: Sequence[str]) -> str:
    """As in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
