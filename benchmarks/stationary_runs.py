"""What the benchmark of stationary automata runs, and one run of it; stationary.py runs them all.

Seeds are fixed here, before any result was seen. What peers are spared is said in suffice.lab.peers; the same is
spared to us, and all automata get the same counts of the log, the same planner and the same exact evaluation.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

import numpy as np
from peers import BEST_EPS, is_exact

from suffice import Controller, FiniteModel, evaluate, make
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.exact.stationary import END, START, Stationary, stationary_rdp
from suffice.kernels.array_types import Int64
from suffice.lab.peers.alergia import aalpy
from suffice.lab.peers.flexfringe import HEURISTICS, flexfringe
from suffice.lab.peers.machines import Machine, as_rdp, as_tau
from suffice.lab.resources import measure
from suffice.learning.adact_h import Settings
from suffice.learning.layers import learn_layers
from suffice.learning.stationary.learner import tie
from suffice.planning.planner import GREEDY, plan_on

SEEDS: Final = (11, 12, 13)
TEN: Final = tuple(range(100, 110))
SIZES: Final = (300, 1_000, 3_000, 10_000, 30_000)
METHODS: Final = ("suffice", "AALpy", "FlexFringe")
LIMIT, LONG_LIMIT = 60, 600  # seconds by the clock on the wall
MEMORY: Final = 8 << 30  # of address space

Result = dict[str, float]  # states, exact, share, seconds, bytes; {} if it took too long
Results = dict[str, Result]


@dataclass(frozen=True)
class Experiment:
    """A domain and how long its episodes are."""

    domain: str
    options: str
    horizon: int

    @property
    def name(self) -> str:
        """Which is how the results are filed."""
        return " ".join(f"{self.domain} {self.options} H={self.horizon}".split())

    def made(self) -> Domain:
        """The domain."""
        return make(self.domain, dict(option.split("=") for option in self.options.split()))

    def episodes(self, n: int, seed: int) -> Episodes:
        """A log."""
        return self.made().simulate(n, self.horizon, np.random.default_rng(seed))


VISIBLE, FIVE, NOISE = (
    Experiment("t-maze", options, horizon)
    for options, horizon in (("length=4 cue_visible=true", 14), ("length=5", 15), ("length=4 noise=true", 10))
)
CHEESE, HALL = Experiment("cheese", "", 15), Experiment("mini-hall", "", 15)
EXPERIMENTS: Final = (
    *(
        CHEESE,
        HALL,
        VISIBLE,
        FIVE,
        Experiment("t-maze", "length=10", 40),
        Experiment("t-maze", "length=20", 120),
        NOISE,
    ),
    *(Experiment("t-maze", f"length={n} actions=east", n + 4) for n in (20, 50, 100)),
    Experiment("rotating-maze", "", 15),
    *(Experiment("enemy-corridor", f"columns={n}", n * 5 // 4) for n in (8, 32, 128)),  # once around and a bit
    Experiment("two-keys", "", 12),
)
GOALS: Final = ((VISIBLE, 1_000), (FIVE, 2_000), (NOISE, 5_000), (CHEESE, 1_000), (HALL, 5_000))
SCALING: Final = tuple(product((VISIBLE, FIVE, HALL), (10_000, 100_000, 1_000_000)))


@dataclass(frozen=True)
class Job:
    """One run."""

    experiment: Experiment
    method: str  # of METHODS; "scaling": ours and the layers in turn
    n: int
    seed: int

    @property
    def key(self) -> str:
        """Where its result is filed."""
        return f"{self.experiment.name} | {self.method} | {self.n} | {self.seed}"


# A run, in a process of its own


@dataclass(frozen=True)
class Truth:
    """What there is to know."""

    model: FiniteModel
    automaton: Stationary
    best: float
    behaviour: float

    @property
    def states(self) -> int:
        """Without the end."""
        return len(set(self.automaton.arrows.source.tolist()) - {END})


@cache
def truth_of(experiment: Experiment) -> Truth:
    """The exact automaton, the best value on it, and that of the behaviour."""
    model = experiment.made().model(experiment.horizon)
    automaton = stationary_rdp(model)
    best = plan_on(automaton.rdp(experiment.horizon).unroll()[0], GREEDY).value
    return Truth(model, automaton, best, float(evaluate(model, model.usual, experiment.horizon).mean_return))


def filled(tau: Int64, episodes: Episodes, truth: Stationary) -> Int64:
    """An exact automaton with the transitions that were left out of it as they truly are: another favour to peers."""
    names, alphabet = truth.alphabet, episodes.alphabet
    arrows = {(q, names.action(a), names.observation(o)): target for q, a, o, _, target in truth.arrows.rows()}
    seen = [(alphabet.action(a), alphabet.observation(o)) for a, o in episodes.symbols()[0].tolist()]
    meaning = {0: START}
    for q, row in enumerate(tau.tolist()):  # breadth first, so that its meaning is known by now
        meaning |= {to: arrows[meaning[q], *seen[y]] for y, to in enumerate(row) if to != UNSEEN}
    number = {true: q for q, true in meaning.items()}
    whole = tau.copy()
    for q, y in np.argwhere(tau == UNSEEN).tolist():
        whole[q, y] = number.get(arrows.get((meaning[q], *seen[y]), END), UNSEEN)
    return whole


def share(rdp: RDP, truth: Truth, horizon: int) -> float:
    """What the default plan gains over the behaviour, of what can be gained; exact."""
    layered = rdp.unroll()[0]
    policy = Controller.on_automaton(layered, truth.model.alphabet, plan_on(layered).actions)
    value = float(evaluate(truth.model, policy, horizon).mean_return)
    return (value - truth.behaviour) / (truth.best - truth.behaviour)


def perform(job: Job, binary: str | None) -> Result:
    """Simulate, learn, plan, evaluate."""
    episodes, truth = job.experiment.episodes(job.n, job.seed), truth_of(job.experiment)
    if job.method in ("suffice", "scaling"):
        tie(episodes.columns(slice(0, 300)))  # compiles
        learned, took = measure(lambda: tie(episodes))
        rdp = learned.rdp
        machine = Machine(rdp.tau[:, rdp.symbol_of_letter()].astype(np.int64), took, closed=False)
    elif job.method == "AALpy":
        machine = aalpy(episodes, BEST_EPS.get(job.experiment.domain, 0.05))
    else:
        machine = flexfringe(episodes, binary or "flexfringe", HEURISTICS["likelihood-ratio-few"])
    tau, (seconds, peak) = as_tau(machine, episodes), machine.took
    exact = is_exact(tau, episodes.symbols()[0], episodes.alphabet, truth.automaton)
    if job.method in METHODS[1:]:
        rdp = as_rdp(filled(tau, episodes, truth.automaton) if exact else tau, episodes)
    gained = share(rdp, truth, job.experiment.horizon)
    result = {"states": len(tau), "exact": int(exact), "share": gained, "seconds": seconds, "bytes": peak}
    if job.method == "scaling":
        learn_layers(episodes.columns(slice(0, 300)), Settings())
        start = time.process_time()
        learn_layers(episodes, Settings())
        result["layers"] = time.process_time() - start
    return {name: round(float(value), 4) for name, value in result.items()}


def started(job: Job, binary: str | None) -> Result | None:
    """The result of a job in its own process; {} if it took too long or too much memory, None if it failed."""
    e = job.experiment
    given = [e.domain, e.options, str(e.horizon), job.method, str(job.n), str(job.seed), binary or ""]
    command = [sys.executable, __file__, json.dumps(given)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = child.communicate(timeout=LIMIT if job.n in SIZES else LONG_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # with all that it started
        child.communicate()
        return {}
    if child.returncode:
        print(f"{job.key}: failed\n{err[-1500:]}", file=sys.stderr, flush=True)
        return {} if "MemoryError" in err or "bad_alloc" in err else None
    result: Result = json.loads(out.splitlines()[-1])
    return result


def main() -> None:
    """The job that was given."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    domain, options, horizon, method, n, seed, binary = json.loads(sys.argv[1])
    job = Job(Experiment(domain, options, int(horizon)), method, int(n), int(seed))
    print(json.dumps(perform(job, binary)))


if __name__ == "__main__":
    main()
