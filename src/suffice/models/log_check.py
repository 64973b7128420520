"""The check of a log before learning: contents, problems, whether there is enough data, and what learning will cost.

How much a log shows cannot be computed beforehand, so the check learns from a sample of its episodes, and from parts of
the sample. If states still appear as episodes are added, or merges are undecided, more episodes would show more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD, STOP, Alphabet
from suffice.data.encoding.binning import Binning
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import Encoder
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_as
from suffice.data.report import ReadReport
from suffice.errors import SettingsError, is_number, parameter
from suffice.evidence.adaptive import AdaptiveLanguages
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.languages import CONJUNCTIONS
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.borderline import borderline_merges
from suffice.learning.layers import learn_layers
from suffice.models.log_options import MAX_VALUES, LogOptions
from suffice.planning.regorl import regorl

CHECK_SAMPLE = 20_000  # episodes: enough to see how states grow, in a second or two
SAMPLE_PARTS = (8, 4, 2)  # fractions of the sample that are learned from to see states grow
SAME_STATES = 0.02  # relative change in the number of states that counts as none
UNNOTICED_DIFFERENCE = 0.5  # of frequencies; if most merges would miss it, there are too few episodes
FAMILY_TRIAL_EPISODES = 2_000  # episodes on which all languages are tried
USUAL_FAMILIES = ("none", "1,1,1", "conjunctions")
REPORTED = ("rows", "episodes", "horizon", "lengths", "sorted", "cut", "padded", "dropped", "values", "observations")
Progress = Callable[[int, int], None]


def _silently(done: int, of: int) -> None:
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogCheck:
    """What a log contains, whether it is enough to learn from, and what learning will cost.

    `print(check)` shows the findings as text.

    Attributes
    ----------
    report : ReadReport
        How the log was read: rows, episodes, lengths, columns, distinct values, notes.
    trial : Trial
        What learning from a sample of the episodes found.
    n_steps : int
        Number of distinct steps (action, observation, reward).
    weighted : bool
        Whether a column states how many episodes each logged episode represents.

    Examples
    --------
    >>> check = suffice.check("log.parquet")
    >>> check.n_episodes, check.n_rows, check.columns
    (300, 1500, ['row', 'column', 'guard'])
    >>> check.enough, check.memory_matters
    (True, False)
    """

    report: ReadReport
    trial: Trial
    n_steps: int
    weighted: bool = False

    @property
    def n_episodes(self) -> int:
        """Return the number of episodes, weights counted."""
        return self.trial.episodes

    @property
    def n_rows(self) -> int:
        """Return the number of rows of the log."""
        return self.report.rows

    @property
    def horizon(self) -> int:
        """Return the largest number of decisions of an episode."""
        return self.report.horizon

    @property
    def columns(self) -> list[str]:
        """Return the names of the observation columns."""
        return list(self.report.encoder.features)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what is unusual about the log, in sentences."""
        return self.report.notes

    @property
    def enough(self) -> bool:
        """Return whether more episodes are unlikely to show more states."""
        return self.trial.enough

    @property
    def memory_matters(self) -> bool | None:
        """Return whether the last observation is not enough to act; None if there are too few episodes to tell."""
        return self.trial.memory_matters

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return sentences about the amount of data, the need of memory and the family of languages."""
        return self.trial.sentences

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as `suffice check --json` prints them, without the name of the log.

        Returns
        -------
        dict
            Plain values: numbers, texts, lists and dicts.
        """
        found: dict[str, Any] = {name: getattr(self.report, name) for name in REPORTED}
        found["bins"] = {name: list(binned.edges) for name, binned in self.report.bins.items()}
        if self.weighted:
            found["total"] = self.n_episodes
        return found | {"letters": self.n_steps, "notes": list(self.notes)} | self.trial.to_dict()

    @property
    def contents(self) -> dict[str, str]:
        """Return what is in the log and what learning will cost, as text by label; empty texts are to be left out."""
        report, trial = self.report, self.trial
        shortest, median, longest = report.lengths
        steps = f"{longest}" if shortest == longest else f"{shortest} to {longest} (median {median:g})"
        changed = {
            f"cut to {report.horizon}": report.cut,
            "end early": report.padded,
            "truncated and left out": report.dropped,
        }
        *values, rewards = (f"{name} {count:,}" for name, count in report.values.items())
        action, features = values[0], values[1:]
        together = f"; {report.observations:,} combinations" if len(features) > 1 else ""
        roles = {
            role: getattr(report.columns, role)
            for role in ("episode", "step", "weight", "terminated", "truncated", "done")
        }
        return {
            "episodes": f"{self.n_episodes:,} of {steps} decisions, {report.rows:,} rows"
            + (f" (weights counted; {report.episodes:,} distinct)" if self.weighted else ""),
            "of these": ", ".join(f"{count:,} {what}" for what, count in changed.items() if count),
            "columns": ", ".join(f"{role} in {name!r}" for role, name in roles.items() if name not in (None, role)),
            "distinct values": f"{action}; {', '.join(features)}{together}; {rewards}",
            "bins": "; ".join(
                f"{name} from {', '.join(f'{e:.4g}' for e in bins.edges)}" for name, bins in report.bins.items()
            ),
            "distinct steps": f"{self.n_steps:,} (action, observation, reward)",
            "learning takes": f"about {trial.seconds:.2g} s, and {math.ceil(trial.bytes / 1e6):,} MB beside the log; "
            f"up to {max(trial.languages):,} events are compared",
        }

    def __repr__(self) -> str:
        return (
            f"<LogCheck: {self.n_episodes:,} episodes, {self.n_rows:,} rows, {'enough' if self.enough else 'unsure'}>"
        )

    def __str__(self) -> str:
        contents = {name: text for name, text in self.contents.items() if text}
        width = max(map(len, contents))
        lines = [f"  {name:<{width}} {text}" for name, text in contents.items()]
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes), *self.sentences, self.conclusion])

    @property
    def conclusion(self) -> str:
        """Return the last line of the check, which refers to the notes if there are any."""
        return "No errors found, but read the notes above before learning." if self.notes else "No problems found."


def check(
    data: Any,
    *,
    columns: Columns | Mapping[str, Any] | str | None = None,
    observations: Sequence[str] | str | None = None,
    horizon: int | None = None,
    bins: Mapping[str, Binning | str] | None = None,
    drop_truncated: bool = False,
    max_values: int = MAX_VALUES,
    schema: Alphabet | str | Path | None = None,
    seconds: float | None = None,
    progress: Progress = _silently,
) -> LogCheck:
    """Inspect a log before learning from it.

    Reports what the log contains, whether there are enough episodes, whether memory is needed beyond the last
    observation, and what learning will cost. A sample of the episodes is learned from to find out.

    Parameters
    ----------
    data
        Anything that `read_log` accepts: a path, a DataFrame, arrays, or `Episodes`.
    columns, observations, horizon, bins, drop_truncated, max_values, schema
        How the log is read: as in `learn`.
    seconds
        Approximate time budget of the trial runs: a smaller sample is learned from if they would take longer. Default:
        no limit; the sample has at most 20,000 episodes.
    progress
        Called with the parts done and their number.

    Returns
    -------
    LogCheck
        Findings as data; `print(check)` shows them as text.

    Raises
    ------
    LogError
        If the log cannot be read. The message names file, row, column and the fix.

    Examples
    --------
    >>> suffice.check("log.parquet").n_episodes
    300
    """
    options = LogOptions(
        columns=columns,
        observations=observations,
        horizon=horizon,
        bins=bins,
        drop_truncated=drop_truncated,
        max_values=max_values,
        schema=schema,
    )
    if isinstance(data, Episodes):
        options.refuse_for_episodes(data)
        data = data if horizon is None or horizon >= data.horizon else data.cut(horizon)
        return check_episodes(data, getattr(data, "report", None) or _report_of(data), progress, seconds)
    return check_episodes(*read_as(data, options.read_options()), progress, seconds)


def check_episodes(
    episodes: Episodes, report: ReadReport, progress: Progress = _silently, seconds: float | None = None
) -> LogCheck:
    """Check a log that has been read."""
    trial = try_sample(episodes, progress, seconds)
    return LogCheck(report, trial, len(episodes.letters), episodes.weight is not None)


def _report_of(episodes: Episodes) -> ReadReport:
    """Make the report on episodes that were not read from a log."""
    alphabet, horizon, letters = episodes.alphabet, episodes.horizon, episodes.letters
    acts = letters[:, 0] > PAD
    lengths = acts[episodes.word[1:]].sum(axis=0)
    actions, rewards = np.unique(letters[acts, 0]), np.unique(letters[acts, 2])
    seen = [alphabet.observations[code - STOP - 1] for code in np.unique(letters[:, 1]).tolist() if code > STOP]
    values = {"action": len(actions)}
    values |= {name: len({observation[i] for observation in seen}) for i, name in enumerate(alphabet.features)}
    return ReadReport(
        rows=int(lengths.sum()),
        episodes=episodes.n,
        horizon=horizon,
        lengths=(int(lengths.min()), float(np.median(lengths)), int(lengths.max())),
        sorted=False,
        cut=0,
        padded=int(np.count_nonzero(lengths < horizon)),
        dropped=0,
        values=values | {"reward": len(rewards)},
        observations=len(seen),
        encoder=Encoder.of_features(alphabet.features),
        notes=(),
    )


def try_sample(episodes: Episodes, progress: Progress = _silently, seconds: float | None = None) -> Trial:
    """Learn from a sample of the episodes and from parts of it, and with all languages from a smaller sample."""
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise SettingsError(f"{parameter('seconds', seconds)} is not a time budget. Use a number above 0.")
    settings = Settings()
    sample = _spread(episodes, CHECK_SAMPLE)
    steps = len(SAMPLE_PARTS) + 2
    regorl(_spread(episodes, 100), settings)  # compile first
    growth, begun = [], perf_counter()
    for i, part in enumerate(SAMPLE_PARTS):
        progress(i, steps)
        fewer = _spread(sample, sample.n // part)
        if fewer.n < 10:
            continue
        start = perf_counter()
        states = learn_layers(fewer, settings).rdp.n_states
        if seconds is not None and 2 * perf_counter() - start - begun > seconds:  # the next part takes twice as long
            sample = fewer
            break
        growth.append((fewer.total, states))
    progress(len(SAMPLE_PARTS), steps)
    start = perf_counter()
    learned = regorl(sample, settings).learned
    seconds = (perf_counter() - start) * episodes.n / sample.n
    growth.append((sample.total, learned.rdp.n_states))
    close = borderline_merges(learned.rdp, learned.decisions, sample.total, settings.chosen_bound.measure.power)
    progress(len(SAMPLE_PARTS) + 1, steps)
    plan = LanguageCounts().plan(episodes.outline, settings.chosen_bound, settings.memory)
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
        bytes=plan.least_bytes(episodes.n) + plan.prepared_bytes(episodes.n) + 12 * episodes.n,
    )


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
