"""What several studies do with their results: find them, say which are missing, sum them up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.knowing import known
from suffice.lab.plotting import look_of, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REFUSED: Final = "refused"
NOTHING: Final = "–"
RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
DOTTED: Final = ("aalpy/0.05",)  # settings of a peer share its colour

K = TypeVar("K")


def found(results: Results, wanted: Iterable[Experiment]) -> list[Result]:
    """The results of these experiments, in their order; other studies' are left alone."""
    return [results[e.id] for e in wanted if e.id in results]


def done(runs: Iterable[Result]) -> list[Result]:
    """Those that were not stopped."""
    return [run for run in runs if not run.stopped]


def grouped(runs: Iterable[Result], key: Callable[[Result], K]) -> dict[K, list[Result]]:
    """By a key, in the order of its first mention."""
    groups: dict[K, list[Result]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def by_learner(runs: Iterable[Result]) -> dict[str, list[Result]]:
    """The runs of each learner."""
    return grouped(runs, lambda run: run.experiment.learner)


def account(results: Results, wanted: Sequence[Experiment]) -> str:
    """A sentence on what is behind a page: runs, seeds, and all that is missing."""
    runs = found(results, wanted)
    absent = Counter(e.learner for e in wanted if e.id not in results)
    said = [f"{len(runs):,} of {len(wanted):,} runs are here."]
    if absent:
        said.append(f"Not run: {_counted(absent)}.")
    if stopped := Counter(f"{named(run.experiment.learner)} {_why(run)}" for run in runs if run.stopped):
        said.append(f"Given up: {', '.join(f'{why} ({times})' for why, times in stopped.items())}.")
    return " ".join(said)


def _counted(learners: Counter[str]) -> str:
    return ", ".join(f"{named(learner)} ({times})" for learner, times in learners.items())


def _why(run: Result) -> str:
    """Why a run was stopped, in few words."""
    return REFUSED if run.stopped.startswith(REFUSED) else run.stopped


def middle(runs: Iterable[Result], of: Callable[[Result], float]) -> float:
    """The median: a run that was disturbed by others on the machine does not move it."""
    return median(of(run) for run in runs)


def gained(run: Result) -> float:
    """The share of what can be gained over the behaviour: 0 is its mean return, 1 the optimum; below 0 is worse."""
    truth = known(run.experiment).truth
    base, best = float(truth.behaviour.mean_return), float(truth.optimal_value)
    return (run.mean_return - base) / (best - base)


def exponent(points: dict[float, float]) -> float | None:
    """The slope of y against x on logarithmic scales, by least squares; None of fewer than two points."""
    if len(points) < 2:
        return None
    x, y = np.log(list(points)), np.log(list(points.values()))
    return float(np.polyfit(x, y, 1)[0])


def geometric(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    return math.exp(float(np.mean(np.log(list(ratios)))))


def look(learner: str) -> dict[str, Any]:
    """That of all curves, and two settings of one peer apart."""
    return {**look_of(learner), **({"linestyle": ":"} if learner in DOTTED else {})}


def line(ax: Axes, points: dict[float, float], **look: Any) -> None:
    """A curve without a band, in order."""
    ax.plot(list(points), list(points.values()), marker="o", markersize=2.5, linewidth=1.2, **look)


def guide(ax: Axes) -> None:
    """A line of slope 1 through the middle of what is drawn, within it."""
    if not ax.lines:
        return
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    scale = (low * high / (left * right)) ** 0.5
    ax.plot((left, right), (scale * left, scale * right), linestyle="--", color="#aaaaaa", linewidth=1, zorder=0)
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)


def brief(number: float) -> str:
    """Two digits, with an exponent only where a person would write one."""
    if number >= 1e6:
        mantissa, _, power = f"{number:.1e}".partition("e")
        return f"{mantissa}·10{str(int(power)).translate(RAISED)}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def joined(words: Sequence[str]) -> str:
    """As in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
