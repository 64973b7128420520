"""Rates of false splits and false merges against δ, compared with the guarantees of the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from suffice.evidence.bounds import BOUNDS
from suffice.lab.curves.cases import Case
from suffice.lab.curves.recovery import BOUND_COLOURS
from suffice.lab.curves.summaries import Rate, grouped, paragraph, present
from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.plotting import BLACK, RED, SKY, curve, legend_below, look_of, named, panels
from suffice.lab.study import Page, Study, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DELTAS: Final = (0.3, 0.1, 0.03, 0.01, 0.001, 0.0001)
QUICK_DELTAS: Final = (0.3, 0.03, 0.001)
SEEDS: Final = tuple(range(201, 221))
SIZES: Final = {Case("corridor", 5): 300, Case("t-maze", 5): 30_000, Case("cheese", 6): 10_000}
QUICK_PLACES: Final = tuple(SIZES)[:2]
LEVEL_LEARNERS: Final = (*(f"conjunctions/{bound}" for bound in BOUNDS.own), "layers", "stationary")


def experiments(quick: bool) -> list[Experiment]:
    """List the runs of all learners on the same logs."""
    deltas, seeds = (QUICK_DELTAS, SEEDS[:8]) if quick else (DELTAS, SEEDS)
    cases = QUICK_PLACES if quick else tuple(SIZES)
    return [
        case.experiment(learner, SIZES[case], seed, delta)
        for seed in seeds
        for delta in deltas
        for case in cases
        for learner in LEVEL_LEARNERS
    ]


def split(run: Result) -> bool:
    """Return whether several learned states represent the same single true state."""
    return bool(run.splits)


def certainly_false(run: Result) -> bool:
    """Return whether a true state is split and no learned state is a mixture, so that a test must have erred."""
    return bool(run.splits) and not run.merges


class Level(NamedTuple):
    """Runs of one learner on one domain at one δ."""

    splits: Rate
    false: Rate  # runs in which a test must have erred
    promised: float  # mean guarantee of the runs
    merges: float  # mean number of states that represent several true ones


def level(runs: Sequence[Result]) -> Level:
    """Summarise at least one run."""

    def rate(of: Callable[[Result], bool]) -> Rate:
        return Rate.of(sum(map(of, runs)), len(runs))

    promised = fmean(min(1.0, 1.0 if run.promised is None else run.promised) for run in runs)
    return Level(rate(split), rate(certainly_false), promised, fmean(run.merges or 0 for run in runs))


Key = tuple[Case, str, float]


def levels(runs: Sequence[Result]) -> dict[Key, Level]:
    """Summarise runs by case, learner and δ."""
    groups: dict[Key, list[Result]] = {}
    for run in runs:
        e = run.experiment
        groups.setdefault((Case.of(e), e.learner, e.delta), []).append(run)
    return {key: level(group) for key, group in groups.items()}


def analyse(results: Results) -> Page:
    """Compare rates with guarantees in figures and a table."""
    there = present(results, experiments(False))
    found = levels(there.runs)
    cases = [case for case in SIZES if any(key[0] == case for key in found)]
    figures: tuple[tuple[str, Figure], ...] = ()
    if cases:
        figures = ("levels_splits", _splits(found, cases)), ("levels_merges", _merges(there.runs, cases))
    kept = sum(one.false.low <= one.promised for one in found.values())
    most = max((one.splits.high - one.splits.low for one in found.values()), default=1.0)
    cells = {key: f"{one.splits.share:.2f} / {one.false.share:.2f} ≤ {one.promised:.2g}" for key, one in found.items()}
    rows = [
        [f"{case.domain}, δ = {delta:g}", *(cells.get((case, learner, delta), "not run") for learner in LEVEL_LEARNERS)]
        for case in cases
        for delta in DELTAS
        if any((case, learner, delta) in cells for learner in LEVEL_LEARNERS)
    ]
    text = [
        f"## {LEVELS.title}\n",
        paragraph(
            there.sentence,
            "δ is the level of a single test. A run guarantees that a false split occurs with probability at most the",
            "sum of the levels of its tests (at most 1), for every N. *Split*: several learned states represent the",
            "same single true state. This covers more than the guarantee: if part of a state was wrongly merged into",
            "another, the rest may correctly be found different from the mixture, and the true state is represented",
            "twice although no test erred (docs/decisions/0007).",
            "*Certainly false* therefore counts the runs with a split and without any merge, in which a test must have",
            "erred; the rate of false splits is between the two, except for splits that a later merge hides. The",
            "guarantee of `suffice learn` covers learning and refinement together. That of `--stationary` assumes that",
            "the labels by which it compares futures are right.",
        ),
        *(f"![{_ALT[name]}]({name}.svg)\n" for name, _ in figures),
        paragraph(
            "Cells are the share of runs with a split / certainly false ≤ mean guarantee. Intervals are Wilson's, at",
            f"95 %; the widest is {most:.2f} wide, so violations of small levels can be found here, but compliance",
            f"cannot be confirmed. In {kept} of {len(found)} cells the interval of certainly false splits includes the",
            "guarantee or lies below it. The second figure shows false merges: the share of runs with one, and their",
            "number. States that no test can distinguish within the length of the episodes stay merged at any δ, as",
            "with `--stationary` on short episodes.",
        ),
        table(["domain", *map(named, LEVEL_LEARNERS)], rows),
    ]
    return Page("\n".join(text), figures)


_ALT: Final = {"levels_splits": "rates of false splits and guarantees", "levels_merges": "merges against δ"}

_THIN: Final[dict[str, Any]] = {"linewidth": 1, "elinewidth": 0.8, "markersize": 2.5}


def _title(case: Case) -> str:
    return f"{case.domain}, N = {SIZES[case]:,}"


def _levels_axis(ax: Axes) -> None:
    ax.set_xscale("log")
    ax.minorticks_off()
    ax.set_xticks([1e-4, 1e-3, 1e-2, 1e-1])


def _splits(found: Mapping[Key, Level], cases: Sequence[Case]) -> Figure:
    """Draw a row of plots for each domain and a column for each learner."""
    figure, axes = panels(len(cases), len(LEVEL_LEARNERS), wide=1.75, high=1.75)
    for case, line in zip(cases, axes, strict=True):
        for learner, ax in zip(LEVEL_LEARNERS, line, strict=True):
            at = sorted(delta for p, l, delta in found if (p, l) == (case, learner))
            here = [found[case, learner, delta] for delta in at]
            ax.plot(at, [one.promised for one in here], color=BLACK, linewidth=1, linestyle=":", label="guarantee")
            _rates(ax, at, here)
            _levels_axis(ax)
            ax.set_ylim(-0.05, 1.05)
            ax.tick_params(labelleft=learner == LEVEL_LEARNERS[0], labelbottom=case == cases[-1])
        line[0].set_ylabel(_title(case), fontsize=9)
    for learner, ax in zip(LEVEL_LEARNERS, axes[0], strict=True):
        ax.set_title(named(learner).replace("conjunctions ", "conjunctions\n").replace(" --", "\n--"), fontsize=9)
    axes[-1][2].set_xlabel("δ of each test", fontsize=10)
    legend_below(figure, axes)
    return figure


def _rates(ax: Axes, at: Sequence[float], here: Sequence[Level]) -> None:
    """Draw splits with a band and certainly false splits with bars, so that both are visible if they are equal."""
    low, high = [one.splits.low for one in here], [one.splits.high for one in here]
    ax.fill_between(at, low, high, color=SKY, alpha=0.25, linewidth=0)
    ax.plot(at, [one.splits.share for one in here], color=SKY, linewidth=2.5, label="split")
    false = [one.false for one in here]
    bars = [[rate.share - rate.low for rate in false], [rate.high - rate.share for rate in false]]
    ax.errorbar(at, [rate.share for rate in false], bars, fmt="o--", color=RED, **_THIN, label="certainly false")


def _merges(runs: Sequence[Result], cases: Sequence[Case]) -> Figure:
    """Draw, for each domain, the share of runs with a merged state and the number of such states."""
    figure, axes = panels(2, len(cases), wide=3.2, high=2.4)
    for case, column in zip(cases, zip(*axes, strict=True), strict=True):
        for learner in LEVEL_LEARNERS:
            mine = [run for run in runs if (Case.of(run.experiment), run.experiment.learner) == (case, learner)]
            look = look_of(learner)
            if bound := learner.partition("/")[2]:
                look |= {"color": BOUND_COLOURS[bound]}
            look |= {"linestyle": "--" if learner in ("layers", "stationary") else "-"}
            _merge_rate(column[0], mine, look)
            curve(column[1], mine, _delta, lambda run: run.merges or 0, **look)
        for ax in column:
            _levels_axis(ax)
        column[0].set_ylim(-0.05, 1.05)
        column[1].set_ylim(bottom=-0.04 * column[1].get_ylim()[1])  # makes a line at 0 visible
        column[0].set_title(_title(case), fontsize=10)
        column[1].set_xlabel("δ of each test", fontsize=10)
    axes[0][0].set_ylabel("runs with a false merge", fontsize=9)
    axes[1][0].set_ylabel("merged states", fontsize=9)
    legend_below(figure, axes, len(cases))
    return figure


def _merge_rate(ax: Axes, runs: Sequence[Result], look: dict[str, Any]) -> None:
    """Draw the share of runs in which some state represents several true ones, with Wilson's interval."""
    at = grouped(runs, _delta)
    rates = [Rate.of(sum(bool(run.merges) for run in at[delta]), len(at[delta])) for delta in sorted(at)]
    ax.plot(sorted(at), [rate.share for rate in rates], marker="o", markersize=2.5, linewidth=1.2, **look)
    low, high = [rate.low for rate in rates], [rate.high for rate in rates]
    ax.fill_between(sorted(at), low, high, color=look["color"], alpha=0.1, linewidth=0)


def _delta(run: Result) -> float:
    return run.experiment.delta


LEVELS: Final = Study("levels", "False splits and false merges against δ", experiments, analyse)
