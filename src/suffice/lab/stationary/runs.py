"""Runs that compare stationary automata with those of AALpy and FlexFringe (`suffice reproduce stationary`).

There are three parts: goals (ten logs each), long logs (time and memory), and ladders, which are logs of a domain of
increasing size until the automaton is exact and its plan good, or a run takes too long. Seeds were fixed before any
result was known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

from suffice.lab.experiment import Experiment, Result, Results, options_of
from suffice.lab.peers.best_settings import BEST_FLEXFRINGE, best_aalpy
from suffice.lab.scoring import gained, is_exact

SEEDS: Final = (11, 12, 13)
GOAL_SEEDS: Final = tuple(range(100, 110))
SIZES: Final = (1_000, 3_000, 10_000, 30_000)
METHODS: Final = ("suffice", "AALpy", "FlexFringe")
ENOUGH: Final = 0.95  # share of the possible gain of a good plan
PEER_SIZE: Final = 100_000  # episodes of the long log from which FlexFringe also learns


class Log(NamedTuple):
    """A domain with its options and a horizon, as named on the page."""

    domain: str
    options: str
    horizon: int

    @property
    def name(self) -> str:
        """Name of the log on the page."""
        return " ".join(f"{self.domain} {self.options} H={self.horizon}".split())

    def experiment(self, learner: str, n: int, seed: int) -> Experiment:
        """Return the experiment of a learner on a log of n episodes."""
        options = options_of(dict(option.split("=") for option in self.options.split()))
        return Experiment(
            domain=self.domain, options=options, horizon=self.horizon, episodes=n, seed=seed, learner=learner
        )

    def by(self, method: str, n: int, seed: int) -> Experiment:
        """Return the experiment of a method with its best settings."""
        learner = {"suffice": "stationary", "AALpy": best_aalpy(self.domain), "FlexFringe": BEST_FLEXFRINGE}[method]
        return self.experiment(learner, n, seed)


CHEESE, HALL = Log("cheese", "", 15), Log("mini-hall", "", 15)
VISIBLE, FIVE = Log("t-maze", "length=4 cue_visible=true", 14), Log("t-maze", "length=5", 15)
NOISE: Final = Log("t-maze", "length=4 noise=true", 10)
LOGS: Final = (
    *(CHEESE, HALL, VISIBLE, FIVE, Log("t-maze", "length=10", 40), Log("t-maze", "length=20", 120), NOISE),
    *(Log("t-maze", f"length={n} actions=east", n + 4) for n in (20, 50, 100)),
    Log("rotating-maze", "", 15),
    *(Log("enemy-corridor", f"columns={n}", n * 5 // 4) for n in (8, 32, 128)),  # a little more than once around
    Log("two-keys", "", 12),
)
GOALS: Final = ((VISIBLE, 1_000), (FIVE, 2_000), (NOISE, 5_000), (CHEESE, 1_000), (HALL, 5_000))
LONG: Final = tuple(product((VISIBLE, FIVE, HALL), (10_000, 100_000, 1_000_000)))


def experiments(quick: bool) -> list[Experiment]:
    """List the runs of goals and long logs; ladders are added by `next_rungs`."""
    goals = [log.by("suffice", n, seed) for log, n in GOALS for seed in GOAL_SEEDS]
    long = [log.experiment(learner, n, SEEDS[0]) for log, n in LONG for learner in ("stationary", "layers")]
    return goals if quick else [*goals, *long, VISIBLE.by("FlexFringe", PEER_SIZE, SEEDS[0])]


def next_rungs(results: Results, quick: bool) -> list[Experiment]:
    """List the next runs of all ladders, given the results so far."""
    sizes = SIZES[:1] if quick else SIZES
    return [e for log in LOGS for method in METHODS for e in next_rung(log, method, results, sizes)]


def next_rung(log: Log, method: str, results: Results, sizes: Sequence[int] = SIZES) -> list[Experiment]:
    """List the next runs of one ladder; none if it is complete.

    A ladder ends when the runs of all seeds are exact and good, or one takes too long. After a run that is neither
    exact nor good, other seeds of that size are omitted.
    """
    for n in sizes:
        runs = at(log, method, n, results)
        if any(run.stopped for run in runs):
            return []
        if any(not is_exact(run) and not is_good(run) for run in runs):
            continue
        left = [e for seed in SEEDS if (e := log.by(method, n, seed)).id not in results]
        if left:
            return left if runs else left[:1]
        if all(is_exact(run) and is_good(run) for run in runs):
            return []
    return []


def at(log: Log, method: str, n: int, results: Results) -> list[Result]:
    """Return the runs of a ladder at one size, in the order of seeds."""
    return [results[id] for seed in SEEDS if (id := log.by(method, n, seed).id) in results]


def climbed(log: Log, method: str, results: Results) -> dict[int, list[Result]]:
    """Return the runs of a ladder by size, without those of long logs."""
    runs: dict[int, list[Result]] = {}
    complete = False
    for n in SIZES:
        runs[n] = [] if complete else at(log, method, n, results)
        complete |= len(runs[n]) == len(SEEDS) and all(is_exact(run) and is_good(run) for run in runs[n])
    return runs


def is_good(run: Result) -> bool:
    """Return whether the plan reaches a share of ENOUGH."""
    return not run.stopped and gained(run) >= ENOUGH
