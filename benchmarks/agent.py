"""Study of the online agent: exact value after every round of learning, beside three baselines.

    python benchmarks/agent.py run              # adds missing runs to benchmarks/agent.jsonl.gz, one process
    python benchmarks/agent.py run --quick      # two seeds of the fast tasks
    python benchmarks/agent.py page             # writes benchmarks/AGENT.md from the stored runs

A run is a method on a task with a seed. Methods: `agent` (suffice.train), `uniform` (episodes of uniform actions and
the offline learner on all of them), `rmax` (R-max on the last observation) and `qlearning` (tabular Q-learning on the
last four observations). Values of automata are exact; those of `rmax` and `qlearning` are means of 500 greedy episodes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import suffice
from suffice.automata.state_tracker import StateTracker
from suffice.domains.agent.agent import Agent
from suffice.domains.agent.training import train, world_of
from suffice.domains.agent.worlds import FiniteWorld
from suffice.domains.exact.automaton import optimal_value
from suffice.domains.finite import ENDED, FiniteModel
from suffice.learning.adact_h import Settings
from suffice.learning.stationary.learner import learn_stationary

HERE = Path(__file__).parent
STORED, PAGE = HERE / "agent.jsonl.gz", HERE / "AGENT.md"
ENOUGH = 0.95  # share of the optimal value
SEEDS = range(200, 210)
BASELINE_SEEDS = range(200, 203)
FIRST, GROWTH = 20, 1.5
PLAYED = 500  # greedy episodes that estimate the value of a table


class Task(NamedTuple):
    """A domain with the number of episodes within which the agent should be near the optimum."""

    name: str
    domain: str
    options: dict[str, object]
    horizon: int
    goal: int
    published: str = ""  # episodes of published results on the same domain

    def model(self) -> FiniteModel:
        """Return the finite model."""
        return suffice.make(self.domain, self.options).model(self.horizon)


TASKS = (
    Task("Two-keys", "two-keys", {}, 12, 1500),
    Task("T-maze 10", "t-maze", {"length": 10}, 40, 1000),
    Task("T-maze 20", "t-maze", {"length": 20}, 120, 2000),
    Task("Rotating maze", "rotating-maze", {}, 15, 3000, "15 M"),
    Task("Cookie", "cookie", {}, 9, 3000),
    Task("Rotating MAB, 2 arms", "rotating-mab", {}, 10, 300, "2 M"),
    Task("Rotating MAB, 6 arms", "rotating-mab", {"arms": 6}, 10, 1000),
    Task("Malfunction MAB", "malfunction-mab", {}, 10, 1000, "15 M"),
    Task("Cheat MAB 0001", "cheat-mab", {"code": "0001"}, 10, 1000, "5 M"),
    Task("Enemy corridor 64", "enemy-corridor", {"columns": 64}, 10, 1000, "0.5 M"),
    Task("Flickering grid", "flickering-grid", {}, 10, 1000, "1 M"),
    Task("Mini-hall", "mini-hall", {}, 15, 2000),
    Task("Symbol", "symbol", {}, 6, 3000),
)
SLOW = ("T-maze 20", "Rotating maze")
Point = tuple[int, float, int]  # episodes, value, states


# ---------------------------------------------------------------- exact values


def greedy_value(model: FiniteModel, agent_like: tuple[Any, Any, Any], horizon: int) -> float:
    """Return the exact mean return of a plan by step and state, uniform where it has no action."""
    rdp, greedy, tracker = agent_like
    alphabet, n_actions = model.alphabet, len(model.alphabet.actions)
    number = np.array([*(alphabet.actions.index(a) for a in rdp.alphabet.actions), -1])
    table = np.full((horizon + 1, len(tracker.astray)), -1)
    table[: len(greedy), : rdp.n_states] = number[greedy]
    following = np.stack(
        [
            [
                tracker.astray if (y := tracker.known.get((word, seen))) is None else tracker.after_symbol(y)
                for seen in map(alphabet.observation, range(alphabet.n_observations))
            ]
            for word in (None, *alphabet.actions)
        ]
    )  # [1 + A, O, P]
    chance, first = (np.array([float(p) for p in part.probability]) for part in (model.after, model.first))
    rewards, after, places = np.array(alphabet.rewards), model.after, len(tracker.astray)
    state, share, value = model.first.state.astype(np.int64), first, 0.0
    place = following[0, model.first.observation, 0].astype(np.int64)
    for t in range(1, horizon + 1):
        action = table[t, place]
        free = np.flatnonzero(action < 0)
        kept = np.flatnonzero(action >= 0)
        state, place = (np.concatenate([x[kept], np.repeat(x[free], n_actions)]) for x in (state, place))
        action = np.concatenate([action[kept], np.tile(np.arange(n_actions), len(free))])
        share = np.concatenate([share[kept], np.repeat(share[free] / n_actions, n_actions)])
        row = state * n_actions + action
        begin, size = after.begin[row], np.diff(after.begin)[row]
        which = np.repeat(np.arange(len(row)), size)
        k = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size) + np.repeat(begin, size)
        weight = share[which] * chance[k]
        value += float(weight @ rewards[after.reward[k]])
        live = after.state[k] != ENDED
        which, k, weight = which[live], k[live], weight[live]
        there = following[action[which] + 1, after.observation[k], place[which]]
        keys, of_key = np.unique(after.state[k].astype(np.int64) * places + there, return_inverse=True)
        share = np.bincount(of_key, weight, minlength=len(keys))
        state, place = keys // places, keys % places
    return value


# ---------------------------------------------------------------- methods: episodes, value and states of each round


def run_agent(task: Task, model: FiniteModel, seed: int) -> tuple[list[Point], dict[str, Any]]:
    """Train an agent and evaluate its greedy policy after every round."""
    points: list[Point] = []
    evaluating = [0.0]

    def look(agent: Agent, episodes: int) -> None:
        del episodes
        if agent.knowledge is not None and (not points or points[-1][0] < agent.rounds[-1].episodes):
            points.append(point(agent.rounds[-1].episodes, agent.knowledge))

    def point(episodes: int, known: Any) -> Point:
        before = time.process_time()
        value = greedy_value(model, (known.rdp, known.greedy, known.tracker), task.horizon)
        evaluating[0] += time.process_time() - before
        return episodes, value, known.rdp.n_states

    begun = time.process_time()
    agent = train(suffice.make(task.domain, task.options), task.goal, horizon=task.horizon, seed=seed, progress=look)
    known, reading = agent.latest()
    seconds = time.process_time() - begun
    points.append(point(task.goal, known))
    before = time.process_time()
    learn_stationary(reading.here, agent.settings)
    once = time.process_time() - before
    returns = agent.experience.returns
    return points, {"seconds": seconds - evaluating[0], "once": once, "mean_return": float(np.mean(returns))}


def run_uniform(task: Task, model: FiniteModel, seed: int) -> tuple[list[Point], dict[str, Any]]:
    """Learn offline from uniform episodes, at a quarter, half and all of the goal, and at twice and four times it."""
    from suffice.domains.agent.knowledge import Knowledge
    from suffice.planning.controller import Controller

    sizes = [task.goal // 4, task.goal // 2, task.goal, *([] if task.name in SLOW else [2 * task.goal, 4 * task.goal])]
    uniform = Controller.uniform(model.alphabet)
    episodes = suffice.simulate(model, max(sizes), task.horizon, rng=seed, policy=uniform)
    points = []
    for n in sizes:
        part = episodes[:n].compact()
        learned = learn_stationary(part, Settings(adaptive_logger=True))
        encoder = suffice.Model.of(learned, part).encoder
        known = Knowledge.of(learned, encoder, part)
        value = greedy_value(model, (learned.rdp, known.greedy, StateTracker.of(learned.rdp)), task.horizon)
        points.append((n, value, learned.rdp.n_states))
    return points, {}


class _Tabular:
    """Episodes of a tabular learner in a finite model."""

    def __init__(self, task: Task, model: FiniteModel, seed: int) -> None:
        opened = world_of(model, task.horizon, seed, {})
        assert isinstance(opened.world, FiniteWorld)
        self.world, self.task, self.rng = opened.world, task, np.random.default_rng([seed, 5])
        self.n_actions = len(model.alphabet.actions)

    def play(self, number: int, choose: Callable[[Any], int], learn: Callable[..., None], window: int) -> float:
        observation, total, over = self.world.reset(number), 0.0, False
        memory: tuple[Any, ...] = (tuple(observation.values()),)
        while not over:
            action = choose(memory)
            reward, seen, terminated, truncated = self.world.step(self.world.actions[action])
            after = None if terminated else (*memory, tuple(seen.values()))[-window:]
            learn(memory, action, reward, after)
            memory, total, over = after or (), total + reward, terminated or truncated
        return total

    def points(self, choose: Any, learn: Any, greedy: Any, window: int, replan: Any) -> list[Point]:
        found, size, first_test = [], FIRST, 10**7
        for n in range(self.task.goal):
            self.play(n, choose, learn, window)
            if n + 1 in (size, self.task.goal):
                replan()
                tests = (self.play(first_test + i, greedy, lambda *_: None, window) for i in range(PLAYED))
                found.append((n + 1, float(np.mean(list(tests))), 0))
                size = int(GROWTH * size)
        return found


def run_qlearning(task: Task, model: FiniteModel, seed: int) -> tuple[list[Point], dict[str, Any]]:
    """Q-learning on the last four observations; step size 0.1, epsilon from 1 to 0.05."""
    game = _Tabular(task, model, seed)
    q: dict[Any, Any] = defaultdict(lambda: np.zeros(game.n_actions))
    played = [0]

    def greedy(memory: Any) -> int:
        row = q.get(memory)
        return int(game.rng.integers(game.n_actions)) if row is None else int(row.argmax())

    def choose(memory: Any) -> int:
        epsilon = max(0.05, 1 - played[0] / (0.7 * task.goal * task.horizon))
        played[0] += 1
        return int(game.rng.integers(game.n_actions)) if game.rng.random() < epsilon else greedy(memory)

    def learn(memory: Any, action: int, reward: float, after: Any) -> None:
        target = reward + (q[after].max() if after is not None else 0.0)
        q[memory][action] += 0.1 * (target - q[memory][action])

    return game.points(choose, learn, greedy, 4, lambda: None), {}


def run_rmax(task: Task, model: FiniteModel, seed: int) -> tuple[list[Point], dict[str, Any]]:
    """R-max on the last observation: an action is known after ten tries."""
    game, known_after = _Tabular(task, model, seed), 10
    tables: dict[Any, list[dict[Any, list[float]]]] = defaultdict(lambda: [{} for _ in range(game.n_actions)])
    policy: dict[str, dict[Any, int]] = {"optimistic": {}, "greedy": {}}
    most = max(model.alphabet.rewards) * task.horizon
    steps = [0]

    def plan(optimistic: bool) -> None:
        value: dict[Any, float] = defaultdict(float)
        for _ in range(task.horizon):
            rows = {}
            for memory, row in tables.items():
                values = []
                for outcomes in row:
                    n = sum(count for count, _ in outcomes.values())
                    if n < known_after and optimistic:
                        values.append(most)
                    elif not n:
                        values.append(-np.inf)
                    else:
                        sums = (
                            paid + count * (value[after] if after is not None else 0.0)
                            for after, (count, paid) in outcomes.items()
                        )
                        values.append(sum(sums) / n)
                rows[memory] = values
            value = defaultdict(float, {memory: max(values) for memory, values in rows.items()})
        policy["optimistic" if optimistic else "greedy"] = {m: int(np.argmax(v)) for m, v in rows.items()}

    def act(name: str, memory: Any) -> int:
        found = policy[name].get(memory)
        return int(game.rng.integers(game.n_actions)) if found is None else found

    def learn(memory: Any, action: int, reward: float, after: Any) -> None:
        cell = tables[memory][action].setdefault(after, [0, 0.0])
        cell[0] += 1
        cell[1] += reward
        steps[0] += 1
        if steps[0] % (20 * task.horizon) == 0:
            plan(optimistic=True)

    choose, greedy = (lambda memory, name=name: act(name, memory) for name in ("optimistic", "greedy"))
    return game.points(choose, learn, greedy, 1, lambda: plan(optimistic=False)), {}


METHODS = {"agent": run_agent, "uniform": run_uniform, "qlearning": run_qlearning, "rmax": run_rmax}


# ---------------------------------------------------------------- runs and page


def stored() -> list[dict[str, Any]]:
    """Return the stored runs."""
    if not STORED.exists():
        return []
    with gzip.open(STORED, "rt") as file:
        return [json.loads(line) for line in file]


def missing(quick: bool) -> Iterator[tuple[str, Task, int]]:
    """List the runs that are not stored, the fast tasks first."""
    done = {(run["method"], run["task"], run["seed"]) for run in stored()}
    seeds = list(SEEDS)[: 2 if quick else None]
    fast = [(seed, task) for seed in seeds for task in TASKS if task.name not in SLOW]
    slow = [] if quick else [(seed, task) for seed in seeds for task in TASKS if task.name in SLOW]
    for seed, task in (*fast, *slow):  # so that results of most tasks are there early
        for method in METHODS if seed in BASELINE_SEEDS else ["agent"]:
            if (method, task.name, seed) not in done:
                yield method, task, seed


def run(quick: bool) -> None:
    """Run what is missing, and store every run as soon as it is finished."""
    best: dict[str, float] = {}
    for method, task, seed in missing(quick):
        model = task.model()
        if task.name not in best:
            value = optimal_value(model, task.horizon)
            assert value is not None
            best[task.name] = value
        points, notes = METHODS[method](task, model, seed)
        found = {"method": method, "task": task.name, "seed": seed, "optimal": best[task.name], "points": points}
        with gzip.open(STORED, "at") as file:
            file.write(json.dumps(found | notes) + "\n")
        print(method, task.name, seed, [(n, round(v / best[task.name], 3)) for n, v, _ in points][-4:], flush=True)


def reached(found: dict[str, Any]) -> int | None:
    """Return the episodes from which on the value stays near the optimum; None if it does not."""
    level = ENOUGH * found["optimal"]
    good = [n for n, value, _ in found["points"]]
    for n, value, _ in reversed(found["points"]):
        if value < level:
            break
        good = [n]
    return good[0] if found["points"][-1][1] >= level else None


def lost(found: dict[str, Any]) -> bool:
    """Return whether the value was near the optimum and then was not."""
    level = ENOUGH * found["optimal"]
    near = [value >= level for _, value, _ in found["points"]]
    return any(a and not b for a, b in pairwise(near))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "page"))
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.command == "run":
        run(given.quick)
    else:
        from agent_page import write_page

        write_page(PAGE)
