"""Trial runs on a sample of a log: how many states there are, whether memory matters, and what learning will cost.

How much a log shows cannot be computed beforehand, so a sample of its episodes is learned from, and parts of the
sample. If states still appear as episodes are added, or merges are undecided, more episodes would show more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes
from suffice.data.log import room_for_tables
from suffice.data.threads import ANSWERS_A_THREAD
from suffice.errors import MemoryLimitError, SettingsError, is_number, parameter
from suffice.evidence.adaptive import AdaptiveLanguages
from suffice.evidence.language_counts import LanguageCounts, LanguagePlan
from suffice.evidence.languages import CONJUNCTIONS
from suffice.evidence.statistic import PREPARED
from suffice.learning.adact_h import Learned, Settings, adact_h, half_of_memory
from suffice.learning.borderline import borderline_merges
from suffice.learning.layers import learn_layers
from suffice.learning.memory_needs import automaton_bytes, counts_bytes, refinement_bytes
from suffice.models.choices import all_cores
from suffice.planning.regorl import regorl

CHECK_MEMORY = 10**9  # bytes that the trial runs may take
CHECK_SAMPLE = 20_000  # episodes: enough to see how states grow, in a second or two
SAMPLE_PARTS = (8, 4, 2)  # fractions of the sample that are learned from to see states grow
SAME_STATES = 0.02  # relative change in the number of states that counts as none
UNNOTICED_DIFFERENCE = 0.5  # of frequencies; if most merges would miss it, there are too few episodes
FAMILY_TRIAL_EPISODES = 2_000  # episodes on which all languages are tried
USUAL_FAMILIES = ("none", "1,1,1", "conjunctions")
Progress = Callable[[int, int], None]


def silently(done: int, of: int) -> None:
    """Ignore progress; this is the default callback."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What learning from a sample of a log found, and what learning from all of it will cost."""

    episodes: int  # of the log
    tried: int  # of these
    growth: tuple[tuple[int, int], ...]  # number of episodes, and of the states learned from them
    undecided: int  # merges that were close
    wanted: float | None  # episodes that would decide all of them
    blind: bool  # most merges rest on too few episodes to notice even a large difference
    ambiguous: float  # share of the decisions whose state step and last observation do not determine
    family: str  # the largest that was needed
    languages: tuple[int, ...]  # |X| of the default family, layer by layer
    seconds: float  # to learn from the whole log
    bytes: int

    @property
    def states(self) -> int:
        """Return the number of states learned from the whole sample."""
        return self.growth[-1][1]

    @property
    def steady(self) -> int:
        """Return how often the last doublings of the episodes did not change the number of states."""
        found = [states for _, states in self.growth]
        steps = [after - before <= SAME_STATES * before for before, after in pairwise(found)]
        return next((i for i, same in enumerate(reversed(steps)) if not same), len(steps))

    @property
    def enough(self) -> bool:
        """Return whether more episodes are unlikely to show more."""
        return self.steady > 1 and not self.undecided and not self.blind

    @property
    def memory_matters(self) -> bool | None:
        """Return whether the last observation is not enough to act; None if there are too few episodes to tell."""
        return None if self.blind else self.ambiguous > 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return sentences about the amount of data, the need of memory and the family of languages."""
        return (self._is_it_enough(), self._is_memory_needed(), self._which_family())

    def to_dict(self) -> dict[str, Any]:
        """Return the findings under the keys of `suffice check --json`."""
        return {
            "languages": [0, *self.languages, 0],
            "learning_seconds": round(self.seconds, 3),
            "learning_bytes": self.bytes,
            "episodes_tried": self.tried,
            "states_by_episodes": [list(pair) for pair in self.growth],
            "enough": self.enough,
            "undecided_merges": self.undecided,
            "episodes_wanted": None if self.wanted is None else round(self.wanted),
            "memory_matters": self.memory_matters,
            "family_needed": self.family,
        }

    def _is_it_enough(self) -> str:
        grown = ", ".join(f"{states:,} from {episodes:,}" for episodes, states in self.growth)
        grown += f" of {self.episodes:,} episodes" if self.tried < self.episodes else " episodes"
        if self.blind:
            return (
                f"Too few episodes for layers: most histories are too rare to distinguish (states: {grown}). Log more "
                f"episodes, or learn with {parameter('stationary', True)}, which needs fewer."
            )
        if self.enough:
            return f"Probably enough: the number of states no longer changes ({grown}), and no merge was close."
        available = self.wanted is not None and self.wanted <= self.episodes  # though not within the sample
        if self.steady or available:
            answer = "Perhaps enough"
        else:
            answer = "All episodes will show more" if self.tried < self.episodes else "More episodes would show more"
        answer += f": states {grown}"
        if self.wanted is not None:
            what = "merge is" if self.undecided == 1 else "merges are"
            answer += f"; {self.undecided:,} {what} undecided, which takes about {self.wanted:,.0f} episodes"
            answer += " (the log has them)" if available else ""
        return f"{answer}. Learn anyway, and evaluate the plan on held-out episodes."

    def _is_memory_needed(self) -> str:
        if self.blind:
            return "Memory: unknown, because there are too few episodes."
        if self.ambiguous == 0:
            return (
                "Memory: none found; step and last observation determine the state. If more episodes confirm that, "
                "methods for Markov decision processes suffice."
            )
        return f"Memory matters: before {self.ambiguous:.0%} of the decisions the last observation is ambiguous."

    def _which_family(self) -> str:
        if self.blind:
            return "Languages: unknown, because there are too few episodes."
        if self.family in USUAL_FAMILIES:
            return "Languages: the default family suffices; larger ones distinguish no more states."
        return (
            f"Languages: the larger family {self.family} distinguishes more states. Try "
            f"{parameter('family', 'adaptive')}."
        )


def try_sample(
    episodes: Episodes, progress: Progress = silently, seconds: float | None = None, memory: int | None = None
) -> Trial:
    """Learn from a sample of the episodes and from parts of it, and with all languages from a smaller sample.

    The trial runs take at most `memory`, by default CHECK_MEMORY, and what learning takes is estimated for as much; by
    default for what `learn` may take.
    """
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise SettingsError(f"{parameter('seconds', seconds)} is not a time budget. Use a number above 0.")
    settings = Settings(memory=memory or min(CHECK_MEMORY, half_of_memory()))
    sample = _spread(episodes, CHECK_SAMPLE)
    steps = len(SAMPLE_PARTS) + 2
    regorl(_spread(episodes, 100), settings)  # compile first
    growth: list[tuple[int, int]] = []
    parts: list[Episodes] = []  # those of `growth`
    begun = perf_counter()
    for i, part in enumerate(SAMPLE_PARTS):
        progress(i, steps)
        fewer = _spread(sample, sample.n // part)
        if fewer.n < 10:
            continue
        start = perf_counter()
        try:
            states = learn_layers(fewer, settings).rdp.n_states
        except MemoryLimitError:
            if not growth:
                raise
            sample, _ = parts.pop(), growth.pop()
            break
        if seconds is not None and 2 * perf_counter() - start - begun > seconds:  # the next part takes twice as long
            sample = fewer
            break
        growth.append((fewer.total, states))
        parts.append(fewer)
    progress(len(SAMPLE_PARTS), steps)
    start = perf_counter()
    try:
        learned = regorl(sample, settings).learned
    except MemoryLimitError:
        if not growth:
            raise
        sample, _ = parts.pop(), growth.pop()
        start = perf_counter()
        learned = regorl(sample, settings).learned
    seconds = (perf_counter() - start) * episodes.n / sample.n
    growth.append((sample.total, learned.rdp.n_states))
    close = borderline_merges(learned.rdp, learned.decisions, sample.total, settings.chosen_bound.measure.power)
    progress(len(SAMPLE_PARTS) + 1, steps)
    plan = LanguageCounts().plan(episodes.outline, settings.chosen_bound, settings.memory)  # of the whole log
    return Trial(
        episodes=episodes.total,
        tried=sample.total,
        growth=tuple(growth),
        undecided=len(close),
        wanted=max(merge.episodes for merge in close) if close else None,
        blind=(learned.promise.detectable or 0.0) > UNNOTICED_DIFFERENCE,
        ambiguous=_ambiguous(learned.rdp),
        family=_needed_family(_spread(sample, FAMILY_TRIAL_EPISODES), settings),
        languages=tuple(plan.size(length, settings.delta) for length in range(episodes.horizon, 0, -1)),
        seconds=seconds,
        bytes=_learning_bytes(episodes, learned, plan, sample.n, memory),
    )


def _learning_bytes(episodes: Episodes, learned: Learned, plan: LanguagePlan, tried: int, memory: int | None) -> int:
    """Estimate the largest memory that learning layers from the log takes beside the log and the program.

    Each layer has as many states as the sample showed, and candidates in proportion to the episodes, up to one for each
    state and symbol.
    """
    settings = all_cores()
    rdp, n, room = learned.rdp, episodes.n, room_for_tables(memory or settings.memory, episodes)
    letters, answers = len(rdp.letters), ANSWERS_A_THREAD * settings.threads
    cells = int(np.count_nonzero(rdp.counts)) + rdp.n_states * rdp.alphabet.n_actions
    states, counting, refining = rdp.layers.tolist(), 0, 0
    for t in range(1, rdp.horizon + 1):
        candidates = min(states[t - 1] * len(rdp.symbols), -(-learned.candidates[t - 1] * n // tried))
        counting = max(counting, counts_bytes(candidates, states[t], plan.columns(t), answers, room))
        refining = max(refining, counts_bytes(candidates, states[t], cells, answers, room))
    prepared = plan.prepared_bytes(n)
    prepared = prepared if 4 * prepared <= room else PREPARED * settings.threads
    automaton = automaton_bytes(rdp.n_states, letters)
    first = plan.patterns_bytes + prepared + counting + automaton
    second = refining + refinement_bytes(2 * rdp.n_states, letters)
    return 12 * n + max(first, second)


def _spread(episodes: Episodes, most: int) -> Episodes:
    """Take at most this many episodes, evenly spread, because logs are often ordered."""
    if episodes.n <= most:
        return episodes
    return episodes.columns(np.linspace(0, episodes.n - 1, most).astype(np.int64))


def _ambiguous(rdp: RDP) -> float:
    """Return the share of arrivals before a decision whose layer and observation occur in several states."""
    layer, taken = rdp.layer_of(), rdp.taken()
    sources, symbols = np.nonzero((rdp.tau != UNSEEN) & (rdp.symbols[:, 1] != STOP))
    states, times = rdp.tau[sources, symbols], taken[sources, symbols]
    seen = layer[states] * rdp.alphabet.n_observations + rdp.symbols[symbols, 1]
    led = np.unique(np.stack([seen, states], axis=1), axis=0)[:, 0]
    several = led[:-1][np.diff(led) == 0]
    return float(times[np.isin(seen, several)].sum() / max(times.sum(), 1))


def _needed_family(episodes: Episodes, settings: Settings) -> str:
    """Return the largest family that distinguishes states, if there are more of them than with the default one."""
    usual = adact_h(episodes, settings)
    learned = adact_h(episodes, replace(settings, statistic=AdaptiveLanguages()))
    assert learned.needed is not None
    rungs = [r for r in learned.needed.layers if r >= 0]
    if not rungs or learned.rdp.n_states <= usual.rdp.n_states:
        return str(CONJUNCTIONS) if rungs else "none"
    return str(learned.needed.ladder[max(rungs)])
