"""The best settings of peers, by the names of `learners`.

They were found on other seeds than those of the reported results. "Exact" means that the minimal automaton was found.

AALpy was run with eps of 0.0005, 0.005, 0.05, 0.5, 1 and auto on 10⁴ episodes, with the better values also on 10⁵,
on two to four seeds. 1 is best in T-mazes without noise (length 4, visible cue: exact in 2 of 4 logs of 20,000
episodes and in all of 50,000; length 5: exact in both logs of 10⁵). In other domains 0.05, the default, is best: exact
in 1 of 2 logs of Mini-hall, and in no other domain; with 0.5 there are too many states. CPU time hardly depends on
eps, except near 1 in Mini-hall.

FlexFringe with `likelihood-ratio-few` is exact on 9, 10, 10 and 10 of ten logs of 1,000, 2,000, 5,000 and 10,000
episodes of the T-maze of length 4 with a visible cue. Counts of 5 and 2: 3 and 6 logs; of 10 and 5: none of six and 1,
all of four from 5,000 episodes; of 1 and 1: ten times the states. largestblue 1, extend 1 and blueblue 1 are worse;
testmerge 0 is faster, and better with larger counts; sinks, correction, finalprob, shallowfirst and a confidence_bound
of 0.001 to 0.2 change little. In other domains: enemy-corridor in 3 of 3 logs of 1,000 episodes, Mini-hall in 6 of 8
of 10,000, no other domain with any setting.
"""

from __future__ import annotations

from typing import Final

# Several settings of each peer, for tables that show the best in hindsight.
AALPY: Final = (
    *(f"aalpy/{eps}{end}" for eps in ("0.05", "0.5", "1", "auto") for end in ("", "/closed")),
    "aalpy-gsm/0.05/closed",
)
FLEXFRINGE: Final = {
    "likelihood ratio": (
        *("flexfringe/likelihood-ratio", "flexfringe/likelihood-ratio/closed"),
        "flexfringe/likelihood-ratio-few",
    ),
    "ALERGIA": tuple(f"flexfringe/alergia{more}" for more in ("", "/closed", "-eager/closed")),
    "css": ("flexfringe/css", "flexfringe/css/closed"),
}

BEST_EPS: Final = {"t-maze": 1.0}
USUAL_EPS: Final = 0.05
BEST_FLEXFRINGE: Final = "flexfringe/likelihood-ratio-few"


def best_eps(domain: str) -> float:
    """Return AALpy's best eps in a domain."""
    return BEST_EPS.get(domain, USUAL_EPS)


def best_aalpy(domain: str) -> str:
    """Return the name of AALpy with its best eps in a domain."""
    return f"aalpy/{best_eps(domain):g}"
