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
    """The finished runs of a study, and a sentence about the others."""

    runs: list[Result]
    sentence: str


def present(results: Results, wanted: Sequence[Experiment]) -> Present:
    """Select the results of the wanted experiments; `results` may contain those of other studies."""
    runs = found(results, wanted)
    finished = done(runs)
    texts = [f"{len(finished):,} of {len(wanted):,} runs are finished."]
    if absent := Counter(named(e.learner) for e in wanted if e.id not in results):
        texts.append(f"Not run: {_counted(absent)}.")
    if stopped := Counter(f"{named(run.experiment.learner)} {_why(run)}" for run in runs if run.stopped):
        texts.append(f"Stopped: {_counted(stopped)}.")
    return Present(finished, " ".join(texts))


def found(results: Results, wanted: Iterable[Experiment]) -> list[Result]:
    """Return the available results of these experiments, in their order."""
    return [results[e.id] for e in wanted if e.id in results]


def done(runs: Iterable[Result]) -> list[Result]:
    """Return the runs that were not stopped."""
    return [run for run in runs if not run.stopped]


def _counted(words: Counter[str]) -> str:
    return ", ".join(f"{word} ({times})" for word, times in words.items())


def _why(run: Result) -> str:
    """Return why a run was stopped, in a few words."""
    return REFUSED if run.stopped.startswith(REFUSED) else run.stopped


def grouped(runs: Iterable[Result], key: Callable[[Result], K]) -> dict[K, list[Result]]:
    """Group runs by a key, in the order of its first occurrence."""
    groups: dict[K, list[Result]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def by_learner(runs: Iterable[Result]) -> dict[str, list[Result]]:
    """Group runs by their learner."""
    return grouped(runs, lambda run: run.experiment.learner)


def middle(runs: Iterable[Result], of: Callable[[Result], float]) -> float:
    """Return the median, which is robust to runs that other processes slowed down."""
    return median(of(run) for run in runs)


def recovered(run: Result) -> float:
    """Return the share of true states of the minimal automaton that correspond one to one to a learned state."""
    true = true_automaton(run) or truth_for(run.experiment).layered
    return (run.recovered or 0) / true.n_states


def exponent(points: dict[float, float]) -> float | None:
    """Fit the slope of y against x on logarithmic scales by least squares; None for fewer than two points."""
    if len(points) < 2:
        return None
    x, y = np.log(list(points)), np.log(list(points.values()))
    return float(np.polyfit(x, y, 1)[0])


def geometric(ratios: Iterable[float]) -> float:
    """Return the geometric mean of ratios."""
    return math.exp(float(np.mean(np.log(list(ratios)))))


class Rate(NamedTuple):
    """A share of runs with its 95 % confidence interval by Wilson."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, n: int) -> Rate:
        """Return the share of hits among n ≥ 1 runs; Wilson's interval is not empty if none or all are hits."""
        share, z = hits / n, NORMAL
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        wide = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        return cls(share, max(0.0, middle - wide), min(1.0, middle + wide))


def paragraph(*sentences: str) -> str:
    """Join sentences into a paragraph, wrapped to one width."""
    return fill(" ".join(sentences), LINE_WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def joined(words: Sequence[str]) -> str:
    """Join words with commas and a final "and"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
