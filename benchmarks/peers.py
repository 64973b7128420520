"""Peers that learn one automaton for all times from the episodes we learn from: AALpy's ALERGIA and FlexFringe.

Both read a step as one letter, action, observation and reward together. What either is spared, always in its favour:
- Step H. Its o_⊥ is the cut of the log, and a peer would take it for something that happened.
- Padding: an early end is the end of the trace.
- Where an end leads, and where a symbol leads that was logged in step H−1 alone: nothing is known of what follows, so
  that the peer had to guess. Such transitions are left out of what it found.
- Rewards: histories have none. Where one symbol leads to several states by its rewards, the most frequent counts.

AALpy, eps of 0.0005, 0.005, 0.05, 0.5, 1 and 'auto' at 10⁴ episodes, the better ones at 10⁵ too, two to four seeds:
1 is best in T-mazes without noise (length 4, visible cue: exact in 2 of 4 logs of 20,000, in all of 50,000; length 5:
in both of 10⁵). Elsewhere 0.05 comes nearest, exact in 1 of 2 for mini-hall and never else; 0.5 has too many states.

FlexFringe, T-maze of length 4 with a visible cue, exact from 1,000, 2,000, 5,000 and 10,000 episodes in 9, 10, 10 and
10 of ten logs with the settings below. Counts of 5 and 2: in 3 and 6; of 10 and 5: in none of six and 1, in all of four
from 5,000; of 1 and 1: ten times the states. largestblue 1, extend 1, blueblue 1 harm; testmerge 0 is faster, and
better with larger counts; sinks, correction, finalprob, shallowfirst and a confidence_bound of 0.001 to 0.2 change
little. Elsewhere: enemy-corridor in 3 of 3 from 1,000, mini-hall in 6 of 8 from 10,000, no other with any setting.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from aalpy.learning_algs import run_Alergia
from baselines import FIRST_ACTION
from measure import status

from suffice.domains import make
from suffice.episodes import DUMMY, PAD, STOP, Alphabet, Codes, Episodes, Int64
from suffice.errors import SufficeError
from suffice.exact.stationary import END, START, Stationary, stationary_rdp

UNSEEN: Final = -1

BEST_EPS: Final = {"t-maze": 1.0}  # elsewhere 0.05

ROOT: Final = -1  # its number in what FlexFringe writes
LIKELIHOOD_RATIO: Final = (
    *("--heuristic-name", "likelihoodratio", "--data-name", "likelihood_data", "--addtails", "0"),
    *("--state_count", "3", "--symbol_count", "1", "--largestblue", "0", "--mergeroot", "0"),
    *("--confidence_bound", "0.05", "--sinkson", "0", "--correction", "1"),
)

STARTER: Final = """
import os, resource, sys
status = os.waitpid(os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ), 0)[1]
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, file=file)
sys.exit(status != 0)
"""


class Found(NamedTuple):
    """An automaton and what it took."""

    tau: Int64  # [Q, Y] the state after a symbol of `episodes.symbols()`, or UNSEEN; breadth first from the start, 0
    seconds: float  # of CPU time
    bytes: int  # peak memory above an idle process


def traces(episodes: Episodes) -> list[list[int]]:
    """The letters of each episode that a peer gets to see."""
    word = episodes.word[:-1] if episodes.weight is None else np.repeat(episodes.word[:-1], episodes.weight, axis=1)
    lengths = (episodes.letters[:, 0] != PAD)[word].sum(axis=0)
    return [column[:length] for column, length in zip(word.T.tolist(), lengths.tolist(), strict=True)]


def as_tau(delta: Int64, episodes: Episodes) -> Int64:
    """[Q, Y] over symbols, from [states, X] over letters: what the log's steps before H−1 use, numbered anew."""
    pairs, of_letter = episodes.symbols()
    n_letters = len(episodes.letters)
    going_on = episodes.letters[:, 1] != STOP
    used = np.zeros(delta.size, np.int64)
    state = np.zeros(episodes.n, np.int64)
    weight = np.ones_like(state) if episodes.weight is None else episodes.weight
    for row in episodes.word[:-2]:
        alive = going_on[row] & (state != UNSEEN)
        np.add.at(used, state[alive] * n_letters + row[alive], weight[alive])
        state = np.where(alive, delta[state, row], UNSEEN)
    most = np.zeros((len(delta), len(pairs)), np.int64)
    tau = np.full(most.shape, UNSEEN)
    for count, target, symbol in zip(used.reshape(delta.shape).T, delta.T, of_letter.tolist(), strict=True):
        better = count > most[:, symbol]
        most[better, symbol], tau[better, symbol] = count[better], target[better]
    return breadth_first(tau)


def breadth_first(tau: Int64) -> Int64:
    """The states that can be reached from 0, in the order in which they are."""
    number, order = {0: 0}, [0]
    for q in order:
        for target in tau[q][tau[q] != UNSEEN].tolist():
            if target not in number:
                number[target] = len(order)
                order.append(target)
    renumber = np.full(len(tau) + 1, UNSEEN)  # the last place is UNSEEN's own
    renumber[order] = np.arange(len(order))
    return renumber[tau[order]]


# AALpy


def aalpy(episodes: Episodes, eps: float | str) -> Found:
    """`run_Alergia` for stochastic Mealy machines, in a process of its own; preparing its data is not measured."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        delta, seconds, peak = pool.submit(_alergia, episodes, eps).result()
    return Found(as_tau(delta, episodes), seconds, peak)


def _alergia(episodes: Episodes, eps: float | str) -> tuple[Int64, float, int]:
    """Inputs are actions, outputs letters.

    Step 0 has the first logged action for its input: AALpy calls states without a common input compatible, so a root
    that knew the dummy alone would swallow every state.
    """
    action = [FIRST_ACTION if a == DUMMY else a for a in episodes.letters[:, 0].tolist()]
    steps = list(zip(action, range(len(action)), strict=True))
    data = [[steps[letter] for letter in trace] for trace in traces(episodes)]
    gc.disable()  # the collector finds nothing in a growing prefix tree and doubles the peer's time
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    start = time.process_time()
    machine = run_Alergia(data, automaton_type="smm", eps=eps)
    seconds, peak = time.process_time() - start, status("VmHWM") - before
    states = [machine.initial_state, *(state for state in machine.states if state is not machine.initial_state)]
    number = {id(state): q for q, state in enumerate(states)}
    delta = np.full((len(states), len(episodes.letters)), UNSEEN)
    for q, state in enumerate(states):
        for target, letter, _ in (row for rows in state.transitions.values() for row in rows):
            delta[q, letter] = number[id(target)]
    return delta, seconds, peak


# FlexFringe


def flexfringe(episodes: Episodes, binary: str | Path, settings: Sequence[str] = LIKELIHOOD_RATIO) -> Found:
    """FlexFringe's likelihood ratio on an Abbadingo file; reading it and writing the answer are part of its time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_abbadingo(episodes, folder / "log.dat")
        program = str(Path(binary).resolve())
        _, idle = _measured([program, "--help"], folder)
        command = [program, "log.dat", "--outputfile", "learned", "--output", "json", *settings]
        seconds, peak = _measured(command, folder)
        text = (folder / "learned.final.json").read_text()
    return Found(as_tau(read_flexfringe(text, len(episodes.letters)), episodes), seconds, peak - idle)


def write_abbadingo(episodes: Episodes, path: Path) -> None:
    """Letters by their codes; every trace has the same label, for they all happened."""
    rows = [(1, len(trace), *trace) for trace in traces(episodes)]
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in [(len(rows), len(episodes.letters)), *rows]))


def read_flexfringe(text: str, n_letters: int) -> Int64:
    """[states, X] from the JSON of a learned automaton, its root first."""
    found = json.loads(text)
    ids = [str(node["id"]) for node in sorted(found["nodes"], key=lambda node: node["id"] != ROOT)]
    number = {name: q for q, name in enumerate(ids)}
    delta = np.full((len(ids), n_letters), UNSEEN)
    for edge in found["edges"]:
        delta[number[edge["source"]], int(edge["name"])] = number.get(edge["target"], UNSEEN)
    return delta


def _measured(command: Sequence[str], folder: Path) -> tuple[float, int]:
    """CPU seconds and peak memory of a command; Linux adds the starter's memory, so a small process starts it."""
    usage = folder / "usage"
    starter = [sys.executable, "-I", "-S", "-c", STARTER, str(usage), *command]
    done = subprocess.run(starter, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SufficeError(f"{command[0]} failed: {(done.stderr or done.stdout)[-500:]}")
    seconds, peak = usage.read_text().split()
    return float(seconds), int(peak)


# What is right


def is_exact(tau: Int64, symbols: Codes, alphabet: Alphabet, truth: Stationary) -> bool:
    """Whether states stand one to one for all true ones but the end, and every transition found agrees with them."""
    names = truth.alphabet
    arrows = {(q, names.action(a), names.observation(o)): target for q, a, o, _, target in truth.arrows.rows()}
    seen = [(alphabet.action(a), alphabet.observation(o)) for a, o in symbols.tolist()]
    meaning, queue = {0: START}, [0]
    for q in queue:
        for symbol, target in enumerate(tau[q].tolist()):
            if target == UNSEEN or symbols[symbol, 1] == STOP:
                continue
            true = arrows.get((meaning[q], *seen[symbol]))
            if true is None or meaning.setdefault(target, true) != true:
                return False
            if target not in queue:
                queue.append(target)
    others = set(truth.arrows.source.tolist()) - {END}
    return len(queue) == len(tau) == len(others) and set(meaning.values()) == others


def find_flexfringe(given: str | None = None) -> str | None:
    """The binary that was named, or that of the environment variable FLEXFRINGE, or the one on the path."""
    return given or os.environ.get("FLEXFRINGE") or shutil.which("flexfringe")


def main(arguments: Sequence[str] | None = None) -> None:
    """Both peers on one domain."""
    parser = argparse.ArgumentParser(description="What the peers learn from one domain's episodes, and what it takes.")
    parser.add_argument("domain", nargs="?", default="t-maze")
    parser.add_argument("options", nargs="*", help="of the domain: name=value")
    parser.add_argument("--episodes", type=int, default=5000)
    parser.add_argument("--horizon", type=int, help="the domain's own if left out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flexfringe", metavar="PATH", help="its binary; else $FLEXFRINGE, else the one on the path")
    given = parser.parse_args(arguments)
    domain = make(given.domain, dict(option.split("=", 1) for option in given.options))
    horizon = given.horizon or domain.default_horizon
    episodes = domain.simulate(given.episodes, horizon, np.random.default_rng(given.seed))
    truth = stationary_rdp(domain.model(horizon))
    states = len(set(truth.arrows.source.tolist()) - {END})
    print(f"{domain}, {episodes.total:,} episodes of {horizon} decisions; {states} states are right")
    binary = find_flexfringe(given.flexfringe)
    peers = {"AALpy": partial(aalpy, episodes, BEST_EPS.get(given.domain, 0.05))}
    if binary is not None:
        peers["FlexFringe"] = partial(flexfringe, episodes, binary)
    for name, learn in peers.items():
        tau, seconds, peak = learn()
        verdict = "exact" if is_exact(tau, episodes.symbols()[0], episodes.alphabet, truth) else "not exact"
        print(f"{name:10} {len(tau):6} states {verdict:>10} {seconds:8.2f} s {peak / 1e6:8.0f} MB")


if __name__ == "__main__":
    main()
