"""Effect of irrelevant noise on learners that compare whole futures and on those that compare languages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from suffice.lab.curves.summaries import by_learner, grouped, joined, middle, present
from suffice.lab.experiment import Experiment, Result, Results, options_of
from suffice.lab.plotting import curve, legend_below, line, look_of, named, panels
from suffice.lab.scoring import gained
from suffice.lab.study import Page, Study, table
from suffice.lab.truth import Options, ground_truth

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PREFIXES: Final = ("prefixes/paper", "prefixes/fisher", "sketch/paper")
LANGUAGES: Final = ("1,1,1/fisher", "conjunctions/fisher", "layers", "stationary")
PEERS: Final = ("aalpy/0.05", "aalpy/1", "flexfringe/likelihood-ratio")
QUICK: Final = ("prefixes/fisher", "sketch/paper", "conjunctions/fisher", "layers", "stationary", "aalpy/1")

HORIZON: Final = 10
QUIET: Final = options_of({"length": 4})
NOISY: Final = options_of({"length": 4, "noise": "true"})
SEEDS: Final = (330, 331, 332, 333, 334)
PEER_SEEDS: Final = SEEDS[:2]
SIZES: Final = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
PEER_SIZE: Final = 10_000  # largest log of peers
SLOWED: Final = "flexfringe/likelihood-ratio"  # with noise, its time grows with the cube of N
SLOWED_SIZE: Final = 3_000  # its largest log with noise, with a single seed
WORSE: Final = 0.2  # loss of the share gained that is reported
MORE: Final = 1.5  # factor of the number of states that is reported
HEAD: Final = ("learner", "N", "states", "×", "share gained", "change", "CPU s")


def experiments(quick: bool) -> list[Experiment]:
    """List the runs, small logs first."""
    sizes, learners = (SIZES[:4], QUICK) if quick else (SIZES, (*PREFIXES, *LANGUAGES, *PEERS))
    return [
        Experiment(domain="t-maze", options=options, horizon=HORIZON, episodes=n, seed=seed, learner=learner)
        for n in sizes
        for options in (QUIET, NOISY)
        for seed in (SEEDS[:1] if quick else SEEDS)
        for learner in learners
        if _affordable(learner, options, n, seed)
    ]


def _affordable(learner: str, options: Options, n: int, seed: int) -> bool:
    if learner == SLOWED and options == NOISY and n >= SLOWED_SIZE:
        return n == SLOWED_SIZE and seed == SEEDS[0]
    return learner not in PEERS or (n <= PEER_SIZE and seed in PEER_SEEDS)


def analyse(results: Results) -> Page:
    """Compare learners without and with noise in a figure and a table."""
    wanted = experiments(False)
    there = present(results, wanted)
    runs = there.runs
    quiet, noisy = (joined([str(size) for size in _true(options)]) for options in (QUIET, NOISY))
    compared = [both for learner in (*PREFIXES, *LANGUAGES, *PEERS) if (both := at_largest(learner, runs))]
    parts = [
        f"## {NOISE.title}\n",
        "A T-maze whose corridor shows one of two pictures at random at every step, which is irrelevant. The minimal "
        f"layered and stationary automata have {quiet} states without noise and {noisy} with it (dashed). Every "
        "picture doubles the number of possible futures, so each prefix has fewer examples with every step, whereas "
        "the frequency of one feature or reward is estimated as well as before. Peers and `--stationary` learn the "
        "stationary automaton, the others the layered one. Bands are 95 % confidence intervals of up to "
        f"{len(SEEDS)} seeds; peers have at most {len(PEER_SEEDS)} seeds and no band.",
        there.sentence + "\n",
        "![States and share gained, without and with noise](noise.svg)\n",
    ]
    if compared:
        parts += [
            "Medians over seeds without → with noise, at the largest N that a learner has in both cases:\n",
            table(HEAD, [_row(both) for both in compared]),
            _verdict(compared),
            _beaten(runs),
        ]
    return Page("\n".join(parts), (("noise", _figure(runs)),))


def _true(options: Options) -> list[int]:
    """Return the sizes of the minimal layered automaton and of the minimal stationary one, if it exists."""
    known = ground_truth("t-maze", options, HORIZON)
    return [known.layered.n_states, *([known.stationary.n_states] if known.stationary else [])]


class Both(NamedTuple):
    """A learner without and with noise."""

    learner: str
    episodes: int
    quiet: list[Result]
    noisy: list[Result]

    @property
    def states(self) -> tuple[float, float]:
        """Median numbers of states without and with noise."""
        return middle(self.quiet, _states), middle(self.noisy, _states)

    @property
    def gained(self) -> tuple[float, float]:
        """Median shares gained without and with noise."""
        return middle(self.quiet, gained), middle(self.noisy, gained)

    @property
    def factor(self) -> float:
        """Factor by which noise multiplies the states."""
        return self.states[1] / self.states[0]

    @property
    def change(self) -> float:
        """Change of the share gained by noise."""
        return self.gained[1] - self.gained[0]


def at_largest(learner: str, runs: Sequence[Result]) -> Both | None:
    """Return a learner's runs at the largest N that it has both without and with noise."""
    mine = [run for run in runs if run.experiment.learner == learner]
    by_size = grouped(mine, lambda run: (run.experiment.episodes, run.experiment.options))
    both = [n for n in SIZES if (n, QUIET) in by_size and (n, NOISY) in by_size]
    return Both(learner, both[-1], by_size[both[-1], QUIET], by_size[both[-1], NOISY]) if both else None


def _states(run: Result) -> float:
    return run.states


def _row(both: Both) -> list[str]:
    seconds = [middle(runs, lambda run: run.seconds) for runs in (both.quiet, both.noisy)]
    return [
        named(both.learner),
        f"{both.episodes:,}",
        " → ".join(f"{states:g}" for states in both.states),
        f"{both.factor:.2f}",
        " → ".join(f"{share:.2f}" for share in both.gained),
        f"{both.change:+.2f}",
        " → ".join(f"{s:.2g}" for s in seconds),
    ]


def _verdict(compared: Sequence[Both]) -> str:
    """List learners whose number of states or share gained changes much, each at its own largest N."""
    grow = [f"{named(b.learner)} (× {b.factor:.1f})" for b in compared if b.factor >= MORE]
    shrink = [f"{named(b.learner)} (× {b.factor:.2f})" for b in compared if b.factor <= 1 / MORE]
    lose = [f"{named(b.learner)} ({b.change:+.2f})" for b in compared if b.change <= -WORSE]
    calm = [named(b.learner) for b in compared if 1 / MORE < b.factor < MORE and b.change > -WORSE]
    groups = [
        (f"With noise, at least {MORE:g} times the states", grow),
        (f"at most 1/{MORE:g} of the states", shrink),
        (f"a share gained that is lower by at least {WORSE:g}", lose),
        ("none of these", calm),
    ]
    return "; ".join(f"{what}: {joined(who) if who else 'none'}" for what, who in groups) + ".\n"


def _beaten(runs: Sequence[Result]) -> str:
    """List peers that gain more than `layers` from the same number of episodes."""
    groups = grouped(runs, lambda run: (run.experiment.options, run.experiment.learner, run.experiment.episodes))
    better = []
    for (options, learner, n), group in groups.items():
        ours = groups.get((options, "layers", n), [])
        if learner in PEERS and ours and middle(group, gained) > middle(ours, gained) + 0.01:
            where = "with" if options == NOISY else "without"
            shares = f"{middle(group, gained):.2f} instead of {middle(ours, gained):.2f}"
            better.append(f"{named(learner)} {where} noise, N = {n:,} ({shares})")
    return f"Peers that gain more than `suffice learn`: {joined(better) if better else 'none at any size'}.\n"


def _figure(runs: Sequence[Result]) -> Figure:
    figure, axes = panels(2, 2, wide=4.6, high=2.9)
    measures: tuple[tuple[Callable[[Result], float], str], ...] = ((_states, "states"), (gained, "share gained"))
    for column, (options, title) in enumerate(((QUIET, "without noise"), (NOISY, "with noise"))):
        mine = by_learner(run for run in runs if run.experiment.options == options)
        for row, (of, label) in enumerate(measures):
            ax = axes[row][column]
            for learner in (*PREFIXES, *LANGUAGES):
                curve(ax, mine.get(learner, []), _size, of, **look_of(learner))
            for learner in PEERS:  # two seeds are too few for a band
                by_size = grouped(mine.get(learner, []), _size)
                if by_size:
                    line(ax, {n: middle(group, of) for n, group in sorted(by_size.items())}, **look_of(learner))
            ax.set_xscale("log")
            if not row:
                for size in _true(options):
                    ax.axhline(size, color="#999999", linestyle="--", linewidth=0.9, zorder=0, label="minimal")
                ax.set_yscale("log")
                ax.set_title(title, fontsize=9)
            else:
                ax.set_xlabel("episodes N", fontsize=8)
            if not column:
                ax.set_ylabel(label, fontsize=9)
    for (left, right), most in zip(
        axes, (inf, 1.05), strict=True
    ):  # the same scale on both sides; shares are at most 1
        limits = [ax.get_ylim() for ax in (left, right)]
        for ax in (left, right):
            ax.set_ylim(min(low for low, _ in limits), min(most, max(high for _, high in limits)))
    legend_below(figure, axes)
    return figure


def _size(run: Result) -> float:
    return run.experiment.episodes


NOISE: Final = Study("noise", "Irrelevant noise", experiments, analyse)
