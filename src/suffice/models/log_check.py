"""Before a log is learned from: is it enough, is there anything to remember, which languages, how long, what memory?

Nothing of this can be known beforehand, so a sample of the episodes is learned from, and parts of it. States that still
appear as episodes are added, and merges that were close, say that there is more to find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes
from suffice.evidence.adaptive import AdaptiveLanguages
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.languages import CONJUNCTIONS
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.borderline import borderline_merges
from suffice.learning.layers import learn_layers
from suffice.planning.regorl import regorl

CHECK_SAMPLE = 20_000  # episodes: enough to see how states grow, and a matter of a second or two
SAMPLE_PARTS = (8, 4, 2)  # of the sample, learned from to see states grow
SAME_STATES = 0.02  # of the states: as good as the same
UNNOTICED_DIFFERENCE = 0.5  # a difference in frequency that most merges could not have noticed: nothing is known
FAMILY_TRIAL_EPISODES = 2_000  # episodes on which all languages are tried


@dataclass(frozen=True, slots=True)
class LogCheck:
    """What learning from a log would take and bring."""

    episodes: int  # of the log
    tried: int  # of them
    growth: tuple[tuple[int, int], ...]  # episodes, and the states learned from so many
    undecided: int  # merges that were close
    wanted: float | None  # episodes of such a log that would decide them all
    blind: bool  # most merges rest on too few episodes to notice even a large difference
    untold: float  # share of the decisions whose state the step and the last observation do not tell
    family: str  # the largest that was needed
    languages: tuple[int, ...]  # |X| of the default family, layer by layer
    seconds: float  # to learn from the whole log
    bytes: int

    @property
    def states(self) -> int:
        """Learned from the sample."""
        return self.growth[-1][1]

    @property
    def steady(self) -> int:
        """How often the episodes were doubled at last without a change in the number of states."""
        found = [states for _, states in self.growth]
        steps = [after - before <= SAME_STATES * before for before, after in pairwise(found)]
        return next((i for i, same in enumerate(reversed(steps)) if not same), len(steps))

    @property
    def enough(self) -> bool:
        """Whether more episodes are unlikely to show more."""
        return self.steady > 1 and not self.undecided and not self.blind

    @property
    def sentences(self) -> tuple[str, ...]:
        """For a person."""
        return (self._is_it_enough(), self._is_there_memory(), self._which_family())

    def _is_it_enough(self) -> str:
        grown = ", ".join(f"{states:,} from {episodes:,}" for episodes, states in self.growth)
        if self.tried < self.episodes:
            grown += f" of your {self.episodes:,} episodes"
        if self.blind:
            return (
                f"Too few episodes to tell: most histories are too rare to be told apart (states: {grown}). Log more."
            )
        if self.enough:
            return f"It looks like enough: the states no longer change with the episodes ({grown}); no merge was close."
        there = self.wanted is not None and self.wanted <= self.episodes  # though not in what was tried
        left = "All your episodes will tell more" if self.tried < self.episodes else "More episodes would tell more"
        told = "It may be enough" if self.steady or there else left
        told += f": states learned are {grown}"
        if self.wanted is not None:
            what = "merge is" if self.undecided == 1 else "merges are"
            told += f"; {self.undecided:,} {what} undecided, which takes about {self.wanted:,.0f} episodes"
            told += ", and you have more" if there else ""
        return f"{told}. Learn all the same: the plan is safe, and says whether to follow it."

    def _is_there_memory(self) -> str:
        if self.blind:
            return "Whether there is anything to remember cannot be told from so few."
        if self.untold == 0:
            return (
                "Nothing to remember was found: the step and the last observation tell the state. If more episodes say "
                "the same, methods for Markov processes will do."
            )
        return (
            f"Memory matters: before {self.untold:.0%} of the decisions the last observation does not tell the state."
        )

    def _which_family(self) -> str:
        if self.family in ("none", "1,1,1", "conjunctions"):
            return "The usual languages will do: no larger family told more apart."
        return f"Larger languages than the usual told states apart ({self.family}): try --family adaptive."


def check_log(episodes: Episodes, progress: Callable[[int, int], None] = lambda done, of: None) -> LogCheck:
    """Try a sample: learn from it and from parts of it, with all languages from a smaller one."""
    settings = Settings()
    sample = _spread(episodes, CHECK_SAMPLE)
    steps = len(SAMPLE_PARTS) + 2
    regorl(_spread(episodes, 100), settings)  # compile first
    growth = []
    for i, part in enumerate(SAMPLE_PARTS):
        progress(i, steps)
        fewer = _spread(sample, sample.n // part)
        if fewer.n >= 10:
            growth.append((fewer.total, learn_layers(fewer, settings).rdp.n_states))
    progress(len(SAMPLE_PARTS), steps)
    start = perf_counter()
    learned = regorl(sample, settings).learned
    seconds = (perf_counter() - start) * episodes.n / sample.n
    growth.append((sample.total, learned.rdp.n_states))
    close = borderline_merges(learned.rdp, learned.decisions, sample.total, settings.chosen_bound.measure.power)
    progress(len(SAMPLE_PARTS) + 1, steps)
    plan = LanguageCounts().plan(episodes.outline, settings.chosen_bound, settings.memory)
    return LogCheck(
        episodes=episodes.total,
        tried=sample.total,
        growth=tuple(growth),
        undecided=len(close),
        wanted=max(doubt.episodes for doubt in close) if close else None,
        blind=(learned.promise.detectable or 0.0) > UNNOTICED_DIFFERENCE,
        untold=_untold(learned.rdp),
        family=_needed_family(_spread(sample, FAMILY_TRIAL_EPISODES), settings),
        languages=tuple(plan.size(length, settings.delta) for length in range(episodes.horizon, 0, -1)),
        seconds=seconds,
        bytes=plan.least_bytes(episodes.n) + plan.prepared_bytes(episodes.n) + 12 * episodes.n,
    )


def _spread(episodes: Episodes, most: int) -> Episodes:
    """At most so many columns, evenly spread, because logs are often ordered."""
    if episodes.n <= most:
        return episodes
    return episodes.columns(np.linspace(0, episodes.n - 1, most).astype(np.int64))


def _untold(rdp: RDP) -> float:
    """Of all arrivals with something left to decide, the share whose layer and observation lead to several states."""
    layer, taken = rdp.layer_of(), rdp.taken()
    sources, symbols = np.nonzero((rdp.tau != UNSEEN) & (rdp.symbols[:, 1] != STOP))
    states, times = rdp.tau[sources, symbols], taken[sources, symbols]
    seen = layer[states] * rdp.alphabet.n_observations + rdp.symbols[symbols, 1]
    led = np.unique(np.stack([seen, states], axis=1), axis=0)[:, 0]
    several = led[:-1][np.diff(led) == 0]
    return float(times[np.isin(seen, several)].sum() / max(times.sum(), 1))


def _needed_family(episodes: Episodes, settings: Settings) -> str:
    """The largest family that told states apart, if with it there are more than with the usual one."""
    usual = adact_h(episodes, settings)
    learned = adact_h(episodes, replace(settings, statistic=AdaptiveLanguages()))
    assert learned.needed is not None
    rungs = [r for r in learned.needed.layers if r >= 0]
    if not rungs or learned.rdp.n_states <= usual.rdp.n_states:
        return str(CONJUNCTIONS) if rungs else "none"
    return str(learned.needed.ladder[max(rungs)])
