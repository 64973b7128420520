"""Learning time and memory against the number of episodes and against the horizon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from suffice.lab.curves.summaries import NO_RESULT, by_learner, exponent, geometric, grouped, joined, middle, present
from suffice.lab.experiment import Experiment, Result, Results, options_of
from suffice.lab.plotting import guide, legend_below, line, look_of, named, panels
from suffice.lab.study import Page, Study, brief, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS: Final = ("conjunctions/fisher", "layers", "stationary", "prefixes/fisher", "1,1,1/paper", "sketch/paper")
PEERS: Final = ("aalpy/0.05", "aalpy/1", "flexfringe/likelihood-ratio", "flexfringe/alergia")
QUICK: Final = ("layers", "stationary", "prefixes/fisher", "sketch/paper", "aalpy/1", "flexfringe/likelihood-ratio")
RATED: Final = ("layers", "stationary")  # learners of the command line, which peers are compared with

SEEDS: Final = (301, 302, 303)
SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
LARGE: Final = 100_000  # largest log of sketches and peers; peers have a single seed there
HORIZONS: Final = (5, 10, 20, 40, 80)
AT: Final = 10_000  # episodes of runs with different horizons
CLOCK_TICK: Final = 1e-4  # seconds: resolution of the clock


class Axis(NamedTuple):
    """A quantity that grows, episodes or horizon, in a domain."""

    title: str
    label: str
    upper: float  # exponents are fitted from here on; below it, fixed costs dominate
    of: Callable[[Result], float]
    holds: Callable[[Experiment], bool]


def _n(run: Result) -> float:
    return run.experiment.episodes


def _h(run: Result) -> float:
    return run.experiment.horizon


T_MAZE: Final = options_of({"length": 5})
LOOPING: Final = options_of({"cue_visible": "true", "length": 4})
AXES: Final = (
    Axis("t-maze, H = 15", "episodes N", 10_000, _n, lambda e: e.options == T_MAZE),
    Axis("mini-hall, H = 15", "episodes N", 10_000, _n, lambda e: e.domain == "mini-hall"),
    Axis(f"t-maze, N = {AT:,}", "horizon H", 20, _h, lambda e: e.options == LOOPING),
)


def experiments(quick: bool) -> list[Experiment]:
    """List the runs, small logs first."""
    sizes, horizons, seeds = (SIZES[:2], HORIZONS[0:3:2], SEEDS[:1]) if quick else (SIZES, HORIZONS, SEEDS)
    learners = QUICK if quick else (*OURS, *PEERS)
    longer = [
        Experiment(domain=domain, options=options, horizon=15, episodes=n, seed=seed, learner=learner)
        for n in sizes
        for domain, options in (("t-maze", T_MAZE), ("mini-hall", ()))
        for seed in seeds
        for learner in learners
        if _affordable(learner, n, seed)
    ]
    deeper = [
        Experiment(domain="t-maze", options=LOOPING, horizon=h, episodes=AT, seed=seed, learner=learner)
        for h in horizons
        for seed in seeds
        for learner in learners
    ]
    return longer + deeper


def _affordable(learner: str, n: int, seed: int) -> bool:
    if learner in PEERS:
        return n < LARGE or (n == LARGE and seed == SEEDS[0])
    return n <= LARGE or learner != "sketch/paper"


def analyse(results: Results) -> Page:
    """Make curves of time and memory, fitted exponents, and ratios of peers to ours."""
    wanted = experiments(False)
    there = present(results, wanted)
    runs = there.runs
    parts = [
        f"## {COST.title}\n",
        "CPU seconds and peak memory of learning, on the same episodes for all learners: medians of the seeds "
        f"{SEEDS[0]} to {SEEDS[-1]} (one seed for peers at {LARGE:,} episodes). Memory includes the log as the learner "
        "reads it, except for AALpy's traces; below a megabyte, memory that the process had allocated before hides "
        "part of the use. FlexFringe's seconds include reading and writing text files, which the others do not need; "
        "on a shared machine the time of the same run can vary by a factor of two. The dashed grey line is "
        "proportional to N or H; a flatter line means that twice the data cost less than twice as much.",
        there.sentence + "\n",
        "![Seconds and megabytes against episodes and horizon](cost.svg)\n",
        "Fitted exponents of seconds / bytes: "
        + "; ".join(f"*{axis.title}* from {axis.label} = {axis.upper:,} on" for axis in AXES)
        + ". In brackets: bytes per step, of N (H + 1) steps, for the largest log.\n",
        table(("learner", *(axis.title for axis in AXES)), _slopes(runs)),
        "Peers ÷ ours, on the same episodes, at the largest size that both have: seconds / bytes. Below 1 the peer "
        "needs less.\n",
        table(("peer", *(f"{axis.title}: ÷ `{ours}`" for axis in AXES for ours in RATED)), _ratios(runs)),
        _verdict(runs),
    ]
    return Page("\n".join(parts), (("cost", _figure(runs)),))


def _along(axis: Axis, runs: Sequence[Result]) -> dict[str, list[Result]]:
    return by_learner(run for run in runs if axis.holds(run.experiment))


def _medians(axis: Axis, runs: Sequence[Result], of: Callable[[Result], float]) -> dict[float, float]:
    return {x: middle(group, of) for x, group in sorted(grouped(runs, axis.of).items())}


def _seconds(run: Result) -> float:
    return max(run.seconds, CLOCK_TICK)


def _bytes(run: Result) -> float:
    return max(run.bytes, 1)


def _slopes(runs: Sequence[Result]) -> list[list[str]]:
    rows = []
    for learner in (*OURS, *PEERS):
        cells = [_slope(axis, _along(axis, runs).get(learner, [])) for axis in AXES]
        if any(cell != NO_RESULT for cell in cells):
            rows.append([named(learner), *cells])
    return rows


def _slope(axis: Axis, runs: Sequence[Result]) -> str:
    upper = [run for run in runs if axis.of(run) >= axis.upper]
    fits = [exponent(_medians(axis, upper, of)) for of in (_seconds, _bytes)]
    if not runs:
        return NO_RESULT
    last = max(axis.of(run) for run in runs)
    per_step = middle([run for run in runs if axis.of(run) == last], _bytes_per_step)
    return " / ".join(NO_RESULT if fit is None else f"{fit:.2f}" for fit in fits) + f" ({brief(per_step)} B)"


def _bytes_per_step(run: Result) -> float:
    return run.bytes / (run.experiment.episodes * (run.experiment.horizon + 1))


class Ratio(NamedTuple):
    """Cost of a peer divided by that of one of ours, at the largest size that both have."""

    at: float
    seconds: float
    bytes: float


def ratio(axis: Axis, peer: Sequence[Result], ours: Sequence[Result]) -> Ratio | None:
    """Return geometric means over the logs that both learned from; None if there are none."""
    other = {(axis.of(run), run.experiment.seed): run for run in ours}
    pairs = [(run, other[key]) for run in peer if (key := (axis.of(run), run.experiment.seed)) in other]
    if not pairs:
        return None
    last = max(axis.of(run) for run, _ in pairs)
    both = [pair for pair in pairs if axis.of(pair[0]) == last]
    return Ratio(last, *(geometric(of(p) / of(o) for p, o in both) for of in (_seconds, _bytes)))


def _ratios(runs: Sequence[Result]) -> list[list[str]]:
    rows = []
    for peer in PEERS:
        cells = []
        for axis in AXES:
            mine = _along(axis, runs)
            cells += [ratio(axis, mine.get(peer, []), mine.get(ours, [])) for ours in RATED]
        if any(cells):
            rows.append([named(peer), *(f"{brief(c.seconds)} / {brief(c.bytes)}" if c else NO_RESULT for c in cells)])
    return rows


def _verdict(runs: Sequence[Result]) -> str:
    """List where a peer needs less time or memory."""
    cheaper = []
    for axis in AXES:
        mine = _along(axis, runs)
        for peer in PEERS:
            for ours in RATED:
                found = ratio(axis, mine.get(peer, []), mine.get(ours, []))
                less = [what for what in ("seconds", "bytes") if found and getattr(found, what) < 1]
                if less:
                    cheaper.append(f"{named(peer)} needs fewer {joined(less)} than `{ours}` ({axis.title})")
    if not any(run.experiment.learner in PEERS for run in runs):
        return "No peer was run, so there is no comparison.\n"
    if not cheaper:
        return "At the largest size that both have, no peer needs less time or memory than ours.\n"
    return f"Where a peer needs less at the largest size: {'; '.join(cheaper)}.\n"


def _figure(runs: Sequence[Result]) -> Figure:
    figure, axes = panels(2, len(AXES), high=2.9)
    for column, axis in enumerate(AXES):
        mine = _along(axis, runs)
        for row, (of, label) in enumerate(((_seconds, "CPU seconds"), (_megabytes, "peak MB"))):
            ax = axes[row][column]
            for learner in (*OURS, *PEERS):
                if points := _medians(axis, mine.get(learner, []), of):
                    line(ax, points, **look_of(learner))
            ax.set_xscale("log")
            ax.set_yscale("log")
            guide(ax)
            if axis.of is _h:
                ax.set_xticks(HORIZONS, [str(h) for h in HORIZONS])
                ax.set_xticks([], minor=True)
            ax.set_xlabel(axis.label, fontsize=8)
            if not column:
                ax.set_ylabel(label, fontsize=9)
            if not row:
                ax.set_title(axis.title, fontsize=9)
    legend_below(figure, axes)
    return figure


def _megabytes(run: Result) -> float:
    return _bytes(run) / 1e6


COST: Final = Study("cost", "Learning time and memory", experiments, analyse)
