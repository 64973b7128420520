"""The settings of peers that serve them best, by the names of `learners`.

They were found on other seeds than those that results are reported on.

AALpy: eps of 0.0005, 0.005, 0.05, 0.5, 1 and auto at 10⁴ episodes, the better ones at 10⁵ too, two to four seeds. 1 is
best in T-mazes without noise (length 4, visible cue: exact in 2 of 4 logs of 20,000, in all of 50,000; length 5: in
both of 10⁵). Elsewhere 0.05, AALpy's default, comes nearest: exact in 1 of 2 for Mini-hall and never otherwise; 0.5 has
too many states. CPU time hardly depends on eps until it nears 1 in Mini-hall.

FlexFringe: T-maze of length 4 with a visible cue, exact from 1,000, 2,000, 5,000 and 10,000 episodes in 9, 10, 10 and
10 of ten logs with `likelihood-ratio-few`. Counts of 5 and 2: in 3 and 6; of 10 and 5: in none of six and 1, in all of
four from 5,000; of 1 and 1: ten times the states. largestblue 1, extend 1, blueblue 1 harm; testmerge 0 is faster, and
better with larger counts; sinks, correction, finalprob, shallowfirst and a confidence_bound of 0.001 to 0.2 change
little. Elsewhere: enemy-corridor in 3 of 3 from 1,000, Mini-hall in 6 of 8 from 10,000, no other with any setting.
"""

from __future__ import annotations

from typing import Final

# Several settings of each, for tables in which the best in hindsight counts.
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
    """AALpy's best eps in a domain."""
    return BEST_EPS.get(domain, USUAL_EPS)


def best_aalpy(domain: str) -> str:
    """AALpy at its best eps in a domain."""
    return f"aalpy/{best_eps(domain):g}"
