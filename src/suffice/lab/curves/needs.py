"""Sample sizes that suffice by proof, that theory expects, that the paper's theorem needs, and that were observed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from suffice.domains.exact.truth import EpisodesNeeded
from suffice.evidence.bounds import BOUNDS
from suffice.lab.curves import recovery, theorem
from suffice.lab.curves.cases import CASES, SMALL, Case, needed
from suffice.lab.curves.summaries import paragraph, present
from suffice.lab.experiment import Experiment, Result, Results, distinct
from suffice.lab.plotting import named, panels
from suffice.lab.scoring import is_exact
from suffice.lab.study import Page, Study, brief, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DELTA: Final = 1e-3  # as in the recovery curves
FAR: Final = 10  # multiple of the largest size beyond which predictions cannot be compared with runs
STUDIED_FAMILIES: Final = ("conjunctions", "1,1,1")
SIZES: Final = (30, *recovery.SIZES)
SEEDS: Final = (*recovery.SEEDS, 106, 107, 108, 109, 110)


def experiments(quick: bool) -> list[Experiment]:
    """List runs of the recovery curves, additional runs on small domains, and the test of the theorem."""
    learners = {f"{family}/{bound}" for family in STUDIED_FAMILIES for bound in BOUNDS.own}
    shared = [experiment for experiment in recovery.experiments(quick) if experiment.learner in learners]
    sizes, seeds = (SIZES[:6], SEEDS[:2]) if quick else (SIZES, SEEDS)
    small = [(case, f"conjunctions/{bound}") for case in SMALL for bound in BOUNDS.own]
    more = [case.experiment(learner, n, s, DELTA) for n in sizes for s in seeds for case, learner in small]
    tried = [experiment for case in theorem.TESTED for experiment in theorem.trials(case)[: 4 if quick else None]]
    return distinct([*shared, *more, *tried])


class Observed(NamedTuple):
    """The N at which half of the runs are exact, or a bound on it."""

    n: float
    sign: str = ""  # "≤" or ">" if it is outside the sizes that were run, which end at n

    def __str__(self) -> str:
        return f"{self.sign} {brief(self.n)}".strip()


def halfway(shares: Mapping[int, float]) -> Observed | None:
    """Return where the share of exact runs first reaches ½, by linear interpolation over ln N."""
    before: tuple[int, float] | None = None
    for n, share in sorted(shares.items()):
        if share >= 0.5:
            if before is None:
                return Observed(n, "≤")
            part = (0.5 - before[1]) / (share - before[1])
            return Observed(before[0] * (n / before[0]) ** part)
        before = n, share
    return before and Observed(before[0], ">")


class Point(NamedTuple):
    """Sample sizes of a test in a case, by theory and observed."""

    case: Case
    family: str
    bound: str
    theory: EpisodesNeeded
    seen: Observed | None  # None: not run

    @property
    def likely(self) -> float:
        """Number of episodes that is likely to suffice."""
        return math.inf if self.theory.likely is None else self.theory.likely

    @property
    def cell(self) -> str:
        """The three sample sizes as a cell of the table."""
        return f"{_episodes(self.theory.sufficient)} / {_episodes(self.theory.likely)} / **{self.seen or 'not run'}**"


def _episodes(episodes: float | None) -> str:
    return "not available" if episodes is None else brief(episodes)


def points(runs: Sequence[Result]) -> list[Point]:
    """Return sample sizes of all cases and families that were run with DELTA and can distinguish all states."""
    groups: dict[tuple[Case, str], dict[int, list[bool]]] = {}
    for run in runs:
        e = run.experiment
        if e.delta == DELTA:
            groups.setdefault((Case.of(e), e.learner), {}).setdefault(e.episodes, []).append(is_exact(run))
    return [
        Point(case, family, bound, theory, halfway({n: sum(group) / len(group) for n, group in found.items()}))
        for case in CASES
        for family in STUDIED_FAMILIES
        if any((case, f"{family}/{bound}") in groups for bound in BOUNDS.own)  # the theory takes up to a second
        for theories in [needed(case, family, DELTA)]
        if theories.value
        for bound, theory in theories.needed.items()
        if bound in BOUNDS.own
        for found in [groups.get((case, f"{family}/{bound}"), {})]
    ]


def analyse(results: Results) -> Page:
    """Compare theory with observation in a table and a figure, and test the theorem."""
    there = present(results, experiments(False))
    found = points(there.runs)
    lines: dict[str, list[str]] = {}
    for point in found:
        lines.setdefault(f"{point.case.title}: {named(point.family)}", []).append(point.cell)
    reached = any(point.seen and point.likely <= FAR * SIZES[-1] for point in found)
    figures = (("needs_likely", _figure(found)),) if reached else ()
    within = [(point.seen.n, point) for point in found if point.seen and not point.seen.sign]
    ratios = [n / point.likely for n, point in within if math.isfinite(point.likely)]
    near = sum(0.5 <= ratio <= 2 for ratio in ratios)
    spread = f"; observed over likely is between {min(ratios):.2g} and {max(ratios):.2g}" if ratios else ""
    more = [point.theory.sufficient / n for n, point in within if point.theory.sufficient is not None]
    excess = (
        f"The sufficient number is {brief(min(more))} to {brief(max(more))} times the observed one." if more else ""
    )
    text = [
        f"## {NEEDS.title}\n",
        paragraph(
            there.sentence,
            f"For each test at δ = {DELTA:g}: episodes that *suffice* by proof (each single test is then right with",
            "probability 1 − δ) / that are *likely* to suffice, computed from the exact automaton without data /",
            "**at which half of the runs were exact**, that is, found each true state once and no other state;",
            "interpolated over log N between the sizes that were run, with > and ≤ outside them. Families with μ₀ = 0,",
            "which cannot distinguish some states at any N, are omitted, as are cases that were not run. Of",
            f"{len(ratios)} predictions within the sizes run, {near} are right within a factor of two{spread}.",
        ),
        table(
            ["domain: family", *(bound.replace("-", " ") for bound in BOUNDS.own)],
            [[k, *v] for k, v in lines.items()],
        ),
        *(f"![episodes, predicted and observed]({name}.svg)\n" for name, _ in figures),
        paragraph(
            excess,
            "The proofs treat every language as a fair coin. Likelihood ratio and Fisher's exact test use the true",
            "variance; the proofs about them do not. *Likely* does, but replaces random frequencies by their means.",
            "The sizes that were run are about a factor of three apart, which limits the precision of *observed*. The",
            f"figure omits predictions beyond {FAR} times the largest size. If a domain has two marks of a colour,",
            "they belong to its two families.",
        ),
        paragraph(
            "The paper's Theorem 2 requires Õ(1/(d_min μ₀)) episodes. Its lemma on different states needs samples of",
            "M = 8 ln(4|X|/δ)/μ₀². The proof inserts this M into a bound on the error of a candidate's frequency,",
            "where only √M matters. N is then large enough to estimate the frequency within a half, but the sample",
            "itself need not be as large as M, which requires an N of order 1/(d_min μ₀²). The table compares N₁ of",
            f"the proof at δ = {theorem.DELTA:g} with the number that suffices for the same test (the paper's, with",
            "conjunctions), and the share of exact runs on N₁ episodes, with a 95 % interval, with the theorem's",
            "1 − 4AOQδ. (The theorem's Õ hides constants and logarithms; N₁ contains those of the proof. It suffices",
            "if rare candidates make it large, and is too small if μ₀ is small and no candidate is rare, as in the",
            "last row.)",
        ),
        theorem.compared(there.runs),
    ]
    return Page("\n".join(text), figures)


_MARKS: Final = dict(zip(CASES, "osD^vP*X", strict=True))


def _figure(found: Sequence[Point]) -> Figure:
    """Plot observed against likely numbers; hollow marks are at the end of the sizes that were run."""
    figure, [[ax]] = panels(1, 1, wide=7.4, high=4.4)
    drawn = [(point, point.likely, point.seen) for point in found if point.seen and point.likely <= FAR * SIZES[-1]]
    both = [n for _, likely, seen in drawn for n in (likely, seen.n)]
    ends = [min(both) / 2, max(both) * 2]
    ax.fill_between(ends, [n / 2 for n in ends], [n * 2 for n in ends], color="#ececec", linewidth=0, zorder=0)
    ax.plot(ends, ends, color="#aaaaaa", linewidth=0.8, zorder=1)
    for point, likely, seen in drawn:
        fill = "none" if seen.sign else recovery.BOUND_COLOURS[point.bound]
        ax.plot([likely], [seen.n], markerfacecolor=fill, alpha=0.85, **_marker_style(point.bound, point.case))
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=(ends[0], 2 * max(seen.n for *_, seen in drawn)))
    ax.set_xlabel("episodes likely to suffice, by theory", fontsize=10)
    ax.set_ylabel("episodes at which half of the runs were exact", fontsize=10)
    ax.minorticks_off()
    _explain(figure, ax, [case for case in CASES if any(point.case == case for point, *_ in drawn)])
    return figure


def _marker_style(bound: str | None, case: Case | None) -> dict[str, Any]:
    colour = recovery.BOUND_COLOURS[bound] if bound else "#555555"
    return {"color": colour, "marker": _MARKS[case] if case else "o", "markersize": 7, "linestyle": "none"}


def _explain(figure: Figure, ax: Axes, cases: Sequence[Case]) -> None:
    """Add a legend in which colours are bounds and marks are cases."""
    for bound in BOUNDS.own:
        ax.plot([], [], label=bound.replace("-", " "), **_marker_style(bound, None))
    ax.plot([], [], label="outside the sizes run", markerfacecolor="none", **_marker_style(None, None))
    for case in cases:
        ax.plot([], [], label=case.title, **_marker_style(None, case))
    figure.legend(loc="outside right center", frameon=False, fontsize=9)


NEEDS: Final = Study("needs", "Sample sizes: theory and observation", experiments, analyse)
