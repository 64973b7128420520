"""AALpy's ALERGIA and FlexFringe beside the exact stationary automaton; `suffice.lab.peers` runs them.

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
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from suffice.automata.rdp import UNSEEN
from suffice.data.alphabet import STOP, Alphabet
from suffice.domains.exact.stationary import END, START, Stationary, stationary_rdp
from suffice.domains.registry import make
from suffice.kernels.array_types import Codes, Int64
from suffice.lab.peers.alergia import aalpy
from suffice.lab.peers.flexfringe import HEURISTICS, find_flexfringe, flexfringe
from suffice.lab.peers.machines import as_tau

BEST_EPS: Final = {"t-maze": 1.0}  # elsewhere 0.05


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
        peers["FlexFringe"] = partial(flexfringe, episodes, binary, HEURISTICS["likelihood-ratio-few"])
    for name, learn in peers.items():
        machine = learn()
        tau, (seconds, peak) = as_tau(machine, episodes), machine.took
        verdict = "exact" if is_exact(tau, episodes.symbols()[0], episodes.alphabet, truth) else "not exact"
        print(f"{name:10} {len(tau):6} states {verdict:>10} {seconds:8.2f} s {peak / 1e6:8.0f} MB")


if __name__ == "__main__":
    main()
